"""What all datasets of generated homes share: settings, tasks made when asked for, worlds."""

from __future__ import annotations

import math
import random
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from importlib import resources
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from wayword.core.dataset import DrawnTasks, Task, Training
from wayword.core.episode import Episode, Extra, Json
from wayword.core.errors import UsageError, suggest
from wayword.core.files import sha256
from wayword.core.world import Family
from wayword.datasets.procedural.homes.home import FEWEST, MOST, Home, build_home, home_name
from wayword.datasets.procedural.homes.objects import Arrangement, arrange
from wayword.worlds import household
from wayword.worlds.household.expert import SolvableHousehold
from wayword.worlds.household.scene import Point, Scene
from wayword.worlds.household.verbs import HIGH_LEVEL, LOW_LEVEL, VERBS, Body, from_json
from wayword.worlds.household.world import HouseholdWorld

KEPT = 64
"""Homes held in memory at a time; one left out is built again, the same, when asked for."""


GENERATED = ("generated_test", "generated_train")
"""Splits that every dataset of generated homes has, the one to test on first."""
HANDS = ("pick_up", "drop", "put", "open", "close", "toggle_on", "toggle_off", "slice", "stop")
TRAINED = 100
"""Generated episodes that there are at least to draw examples from, however few are played."""
ACTIONS: dict[str, tuple[str, ...]] = {
    "all": tuple(VERBS),
    "low": (*LOW_LEVEL, "chat", "ask"),
    "high": (*HIGH_LEVEL, *HANDS, "wait", "chat", "ask"),
}
"""Sets of actions; with ``high`` nobody steers a body step by step."""
WALK = ("move_ahead", "turn_left", "turn_right")
CARRY = ("pick_up", "put", "open", "close")
TREAT = ("slice", "heat", "cool", "clean")
"""What no task but cooking and cleaning takes."""


@dataclass(frozen=True)
class HomesSettings:
    """``rooms`` counts a hallway, which homes have from five on. Episodes take homes in turn.

    ``actions`` says what bodies are able to do: ``all`` that the task may take, ``low`` (single
    motions), ``high`` (whole errands), ``paper`` (as many as LangSuitE's Table 1 counts for the
    task), or verbs by name, as in ``move_ahead,turn_left,stop``. ``body`` changes what a body sees,
    reaches and holds: ``dataset.body.view_distance=3``, and the other fields of ``Body``
    (LangSuitE's Table 8). ``plenty`` multiplies the small things lying about.
    """

    useless: ClassVar[tuple[str, ...]] = TREAT
    """Verbs that the task never takes, so that the set ``all`` goes without them."""
    paper: ClassVar[tuple[str, ...]] = (*WALK, *CARRY, "stop")
    answers: ClassVar[bool] = False
    """Whether the task is a question, and a stop gives the answer."""
    hands: ClassVar[int] = 1

    homes: int = 20
    episodes: int = 140
    seed: int = 0
    rooms: int = 5
    plenty: float = 1.0
    actions: str | tuple[str, ...] = "all"
    body: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.homes < 1 or self.episodes < 1:
            raise UsageError("the settings homes and episodes must be at least 1")
        if not FEWEST <= self.rooms <= MOST:
            raise UsageError(f"rooms={self.rooms} must lie between {FEWEST} and {MOST}")
        if not 0 < self.plenty <= 50:
            raise UsageError(f"plenty={self.plenty} must lie above 0 and at most at 50")
        self.make_body()

    def home(self, split: str, number: int) -> str:
        """The name of the home of an episode's number; the split's last word names the stream."""
        stream = split.rpartition("_")[2]
        return home_name(stream, self.seed, self.rooms, number % self.homes)

    def make_body(self) -> Body:
        """Everybody's body. Raises ``UsageError`` for a field or a verb that there is not."""
        base = Body(actions=self.verbs(), answers=self.answers, inventory_capacity=self.hands)
        return from_json(self.body, base)

    def verbs(self) -> tuple[str, ...]:
        """What bodies are able to do."""
        if self.actions == "paper":
            return self.paper
        if isinstance(self.actions, str) and self.actions in ACTIONS:
            return tuple(v for v in ACTIONS[self.actions] if v not in self.useless)
        given = self.actions.split(",") if isinstance(self.actions, str) else self.actions
        names = tuple(dict.fromkeys(name.strip() for name in given if name.strip()))
        for name in names:
            if name not in VERBS:
                hint = suggest(name, [*ACTIONS, "paper", *VERBS])
                raise UsageError(f"actions={self.actions!r}: no action or set {name!r}; {hint}")
        return names if "stop" in names else (*names, "stop")


@dataclass(frozen=True, eq=False)
class Case:
    """An episode with all it takes to play it."""

    task: Task
    home: Home
    scene: Scene

    def world(self, body: Body, **naming: Any) -> HouseholdWorld:
        """A fresh world; the home's layout is shared."""
        layout = self.home.layout.with_things(self.scene)
        return HouseholdWorld(self.scene, body, layout=layout, **naming)


@lru_cache(maxsize=KEPT)
def home_of(name: str) -> Home:
    """The home of that name, built once."""
    return build_home(name)


class EpisodeSource(Protocol):
    """The source of a household dataset's episodes: a generator, or published files."""

    @property
    def tasks(self) -> Sequence[Task]:
        """Every episode with its reference."""
        ...

    @property
    def files(self) -> Mapping[str, Path]:
        """The files it read, for checksums."""
        ...

    def world(self, episode: Episode) -> HouseholdWorld: ...


S = TypeVar("S", bound=HomesSettings)


class SourcedTasks(SolvableHousehold, Generic[S]):
    """What every dataset of the household world does with its sources, one a split.

    A dataset gives its ``name``, ``Settings`` and ``splits``, the ``published_train`` split that
    examples for published ones are drawn from, and ``source``. Raises ``UsageError`` for a split
    that is none.
    """

    name: ClassVar[str]
    Settings: ClassVar[type[Any]]
    family: ClassVar[Family] = household.family
    splits: ClassVar[tuple[str, ...]] = GENERATED
    published_train: ClassVar[str] = ""
    redrawn: ClassVar[str] = ""
    """What of the published splits' rooms is not published, and so inferred or drawn anew."""

    def __init__(
        self, split: str = GENERATED[0], folder: Path | None = None, settings: S | None = None
    ) -> None:
        super().__init__(split, folder, settings)
        self._source = self.source(split)

    @abstractmethod
    def source(self, split: str) -> EpisodeSource:
        """Where a split's episodes come from."""

    @property
    def tasks(self) -> Sequence[Task]:
        tasks, rules = self._source.tasks, self.rules()
        ids = tasks.ids if isinstance(tasks, DrawnTasks) else None
        return DrawnTasks(len(tasks), lambda number: _ruled(tasks[number], rules), ids)

    def rules(self) -> str:
        """What an agent is told of the task, the same for all episodes: ``rules/{name}.txt``."""
        return read_rules(self.name)

    @property
    def files(self) -> Mapping[str, Path]:
        """What it read; nothing for generated homes."""
        return self._source.files

    @property
    def caveats(self) -> tuple[str, ...]:
        """What is inferred or redrawn; nothing in generated homes, which are exact."""
        return (self.redrawn,) if self.redrawn and self.split not in GENERATED else ()

    @property
    def omissions(self) -> Mapping[str, int]:
        return getattr(self._source, "omissions", {})

    def world(self, episode: Episode) -> HouseholdWorld:
        return self._source.world(episode)

    def decided_by(self) -> str:
        """The split, its settings and its files."""
        sums = [f"{sha256(path)}  {name}" for name, path in sorted(self.files.items())]
        return "\n".join((self.split, repr(self.settings), *sums))

    def training(self) -> Training:
        """The train split: the published one for a published split."""
        train = GENERATED[1] if self.split in GENERATED else self.published_train
        settings = replace(self.settings, episodes=max(self.settings.episodes, TRAINED))
        source = self if self.split == train else type(self)(train, self.folder, settings)
        return Training(source, source.tasks)


@cache
def read_rules(name: str) -> str:
    """The rules of a task in words, empty where there are none."""
    text = resources.files("wayword.datasets") / "rules" / f"{name}.txt"
    return text.read_text(encoding="utf-8").strip() if text.is_file() else ""


def _ruled(task: Task, rules: str) -> Task:
    """The task, its episode told the rules; those of its own come first."""
    if not rules or "rules" in task.episode.extra:
        return task
    extra: Extra = {**task.episode.extra, "rules": rules}
    return Task(replace(task.episode, extra=extra), task.reference)


Draw = Callable[[random.Random, Arrangement, str], Task | None]
"""A home with things in it and the name of an arrangement -> the task, which may change the things;
None where there is none this time."""
TRIES = 50


class Generated:
    """Episodes in generated homes, drawn by ``draw`` with a generator that ``seed`` begins.

    An arrangement, the name of an episode within its home, is the kind of its task and a number;
    the ``kinds`` take turns. ``naming`` says how the worlds name things.
    """

    files: Mapping[str, Path] = {}

    def __init__(
        self,
        split: str,
        settings: HomesSettings,
        draw: Draw,
        kinds: Sequence[str] = (),
        seed: str = "{scene}",
        **naming: Any,
    ) -> None:
        self.settings, self._split, self._draw = settings, split, draw
        self._kinds, self._seed, self._naming = kinds, seed, naming
        self._case = lru_cache(maxsize=256)(self._make)
        self.tasks: Sequence[Task] = DrawnTasks(settings.episodes, self._task)

    def world(self, episode: Episode) -> HouseholdWorld:
        case = self._case(episode.scene, episode.start["arrangement"])
        return case.world(self.settings.make_body(), **self._naming)

    def _task(self, number: int) -> Task:
        homes = self.settings.homes
        kind = f"{turn(self._kinds, number, homes)}/" if self._kinds else ""
        scene = self.settings.home(self._split, number)
        return self._case(scene, f"{kind}{number // homes}").task

    def _make(self, scene: str, arrangement: str) -> Case:
        home, seed = home_of(scene), self._seed.format(scene=scene)
        for attempt in range(TRIES):
            rng = random.Random(f"{seed}/{arrangement}/{attempt}")
            made = arrange(rng, home, self.settings.plenty)
            task = self._draw(rng, made, arrangement)
            if task is not None:
                return Case(task, home, made.scene())
        kind = arrangement.partition("/")[0]
        raise UsageError(
            f"{scene} has nothing for {kind!r}; ask for more rooms, or things (plenty)"
        )


def turn(kinds: Sequence[str], number: int, homes: int) -> str:
    """The kind of an episode: kinds take turns, so that in time each home has each of them.

    >>> [turn(("fetch", "wash"), number, homes=2) for number in range(4)]
    ['fetch', 'wash', 'wash', 'fetch']
    """
    return kinds[(number + number // math.lcm(homes, len(kinds))) % len(kinds)]


def named(scene: str, arrangement: str) -> str:
    """The id of a generated episode."""
    return f"{scene}_{arrangement.replace('/', '_')}"


def check_kind(kind: str, kinds: Sequence[str]) -> None:
    """Raises ``UsageError`` for a kind of task that there is not; empty means all."""
    if kind and kind not in kinds:
        raise UsageError(f"dataset.kind: no kind {kind!r}; {suggest(kind, list(kinds))}")


def start_in(
    rng: random.Random, home: Home, arrangement: str, places: Sequence[Point] = ()
) -> dict[str, Json]:
    """An episode's start: a free place (of ``places``, or any), one of twelve headings, and which
    arrangement it is."""
    x, y = rng.choice(places or home.starts)
    pose = {"x": x, "y": y, "heading": 30.0 * rng.randrange(12)}
    return {"scene": home.name, "arrangement": arrangement, "poses": {"agent": pose}}
