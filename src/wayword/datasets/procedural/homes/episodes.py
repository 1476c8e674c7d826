"""Shared parts of datasets in generated homes: settings, tasks drawn on demand, worlds."""

from __future__ import annotations

import math
import random
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Protocol

from annotated_types import Ge, Gt, Le

from wayword.core.dataset import INDEPENDENT, DrawnTasks, Task, Training
from wayword.core.episode import Episode, Extra, Json
from wayword.core.errors import UsageError, suggest
from wayword.core.files import Memo, sha256, source_checksum, text_checksum
from wayword.core.game import PlanningFailed
from wayword.core.geometry import Point
from wayword.datasets.procedural.homes import home as plans
from wayword.datasets.procedural.homes.home import Home, home_name
from wayword.datasets.procedural.homes.objects import Arrangement, arrange
from wayword.datasets.sources.rules import read_rules
from wayword.settings import Checked, Count
from wayword.worlds import household
from wayword.worlds.household.expert import (
    SolvableHousehold,
    needs_high_level,
    solving_decisions,
)
from wayword.worlds.household.scene import Scene
from wayword.worlds.household.verbs import HIGH_LEVEL, LOW_LEVEL, VERBS, Body, from_json
from wayword.worlds.household.world import HouseholdWorld

CACHED_HOMES = 64  # an evicted home is rebuilt identically on demand

GENERATED = ("generated_test", "generated_train")
"""Splits of every dataset with generated homes; the first is the default."""
# Verbs of the hands, next to which a body with skills needs no other motion.
HAND_VERBS = (
    "pick_up",
    "drop",
    "put",
    "open",
    "close",
    "toggle_on",
    "toggle_off",
    "slice",
    "stop",
)
FEWEST_EPISODES = 100
"""Minimum number of generated episodes to draw few-shot examples from, however few are run."""
ACTIONS: dict[str, tuple[str, ...]] = {
    "all": tuple(VERBS),
    "low": (*LOW_LEVEL, "chat", "ask"),
    "high": (*HIGH_LEVEL, *HAND_VERBS, "wait", "chat", "ask"),
}
"""Named action sets; with ``high`` no agent moves a body step by step."""
# Parts of the action sets named ``paper``.
WALKING = ("move_ahead", "turn_left", "turn_right")
CARRYING = ("pick_up", "put", "open", "close")
HANDLING = (*WALKING, *CARRYING, "drop", "toggle_on", "toggle_off", "slice")
COOKING = ("slice", "heat", "cool", "clean")
"""Verbs used only in cooking and cleaning tasks."""


@dataclass(frozen=True)
class HomesSettings(Checked):
    """``rooms`` includes a hallway (homes with five or more rooms have one). Episodes cycle
    through the homes.

    ``actions``: ``all`` that the task can use, ``low`` (single motions), ``high`` (whole skills),
    ``paper`` (as many as LangSuitE's Table 1 counts for the task), or verbs by name, as in
    ``move_ahead,turn_left,stop``. ``body`` sets what a body sees, reaches and holds (LangSuitE's
    Table 8): ``dataset.body.view_distance=3`` and other fields of ``Body``. ``clutter`` multiplies
    the small objects. ``length``: expert actions in generated homes, within 1/8; 0: any number.
    """

    unused_verbs: ClassVar[tuple[str, ...]] = COOKING
    """Verbs that the task never uses, excluded from the set ``all``."""
    paper: ClassVar[tuple[str, ...]] = (*WALKING, *CARRYING, "stop")
    answers: ClassVar[bool] = False
    """True if the stop action answers a question."""
    hands: ClassVar[int] = 1

    homes: Count = 20
    episodes: Count = 140
    seed: int = 0
    rooms: Annotated[int, Ge(plans.MIN_ROOMS), Le(plans.MAX_ROOMS)] = 5
    clutter: Annotated[float, Gt(0), Le(50)] = 1.0
    length: Literal[0] | Annotated[int, Ge(2), Le(512)] = 0
    actions: str | tuple[str, ...] = "all"
    body: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        # Checked when the settings are made, not when the first episode is.
        self.make_body()

    def home(self, split: str, number: int) -> str:
        """Return the name of an episode's home; the split's last word names the random stream."""
        # ``generated_test`` and ``generated_train`` never share a home.
        stream = split.rpartition("_")[2]
        return home_name(
            stream,
            self.seed,
            self.rooms,
            number % self.homes,
        )

    def make_body(self) -> Body:
        """Return the body of every actor. Raises ``UsageError`` for an unknown field or verb."""
        base = Body(
            actions=self.verbs(),
            answers=self.answers,
            inventory_capacity=self.hands,
        )
        return from_json(self.body, base)

    def verbs(self) -> tuple[str, ...]:
        """Verbs of the body: a named set, or those listed. Raises ``UsageError`` for an
        unknown one."""
        if self.actions == "paper":
            return self.paper
        # Without the verbs that the task cannot use: they would only lengthen the menu.
        if isinstance(self.actions, str) and self.actions in ACTIONS:
            return tuple(v for v in ACTIONS[self.actions] if v not in self.unused_verbs)
        requested: Sequence[str] = self.actions
        if isinstance(self.actions, str):
            requested = self.actions.split(",")
        # Each verb once, in the order given.
        names = tuple(dict.fromkeys(name.strip() for name in requested if name.strip()))
        for name in names:
            if name not in VERBS:
                hint = suggest(name, [*ACTIONS, "paper", *VERBS])
                raise UsageError(f"actions: unknown action or set {name!r}; {hint}")
        # A body that cannot stop would never finish.
        return names if "stop" in names else (*names, "stop")


@dataclass(frozen=True)
class KindSettings(HomesSettings):
    """Settings of tasks of several kinds; ``kind`` limits them to one."""

    all_kinds: ClassVar[tuple[str, ...]] = ()

    kind: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.kind and self.kind not in self.all_kinds:
            hint = suggest(self.kind, self.all_kinds)
            raise UsageError(f"dataset.kind: unknown kind {self.kind!r}; {hint}")

    @property
    def kinds(self) -> tuple[str, ...]:
        """Kinds of tasks to draw: the one that is set, else all."""
        return (self.kind,) if self.kind else self.all_kinds


@dataclass(frozen=True, eq=False)
class Case:
    """An episode with everything needed to play it."""

    task: Task
    home: Home
    scene: Scene

    def world(self, body: Body, **naming: Any) -> HouseholdWorld:
        """Return the home with the case's initial scene."""
        layout = self.home.layout.with_scene(self.scene)
        return HouseholdWorld(
            self.scene,
            body,
            layout=layout,
            **naming,
        )


cached_home = lru_cache(maxsize=CACHED_HOMES)(plans.build_home)


class EpisodeSource(Protocol):
    """Source of a household dataset's episodes: a generator, or published files."""

    @property
    def tasks(self) -> Sequence[Task]:
        """Its tasks, each built when it is first read."""

    @property
    def files(self) -> Mapping[str, Path]:
        """Files that the episodes are read from, for checksums; none for a generator."""

    def world(self, episode: Episode) -> HouseholdWorld:
        """Return a new world of an episode, before its reset."""


class SourcedTasks(SolvableHousehold):
    """Base of every household dataset, with one source of episodes per split.

    ``published_train`` is the split that provides few-shot examples for published splits.
    """

    name: ClassVar[str]
    Settings: ClassVar[type[Any]]
    family = household.family
    clusters = INDEPENDENT
    splits: ClassVar[tuple[str, ...]] = GENERATED
    published_train: ClassVar[str] = ""
    redrawn: ClassVar[str] = ""
    """Note on the inferred or redrawn parts of the published splits."""

    def open(self) -> None:
        """Open the split's episodes. Raises ``UsageError`` for a length that the split
        cannot draw."""
        self._source = self.source(self.split)
        # Published tasks have the length that they have.
        if self.settings.length and not isinstance(self._source, Generated):
            raise UsageError(
                f"{self.name}:{self.split} has tasks of fixed length; set length=0"
            )

    @abstractmethod
    def source(self, split: str) -> EpisodeSource:
        """Return the source of a split's episodes."""

    @property
    def tasks(self) -> Sequence[Task]:
        """Tasks of the source, with the rules of the dataset in their episodes."""
        tasks = self._source.tasks
        rules = self.rules()
        # Ids are known without making the tasks.
        ids = tasks.ids if isinstance(tasks, DrawnTasks) else None

        def with_rules(number: int) -> Task:
            """Return the task with the rules in its episode, unless it has rules of its own."""
            task = tasks[number]
            # Rules of the episode itself, as of a file, win over the dataset's.
            extra: Extra = {"rules": rules} if rules else {}
            extra = {**extra, **task.episode.extra, **self.budget()}
            return Task(replace(task.episode, extra=extra), task.reference)

        return DrawnTasks(len(tasks), with_rules, ids)

    def rules(self) -> str:
        """Return the rules given to an agent, the same for all episodes: ``rules/{name}.txt``."""
        return read_rules(self.name)

    @property
    def files(self) -> Mapping[str, Path]:
        """Files that the episodes are read from, for checksums."""
        return self._source.files

    @property
    def caveats(self) -> tuple[str, ...]:
        """Notes on inferred or redrawn parts; none for generated homes, which are exact."""
        return (self.redrawn,) if self.redrawn and self.split not in GENERATED else ()

    @property
    def omissions(self) -> Mapping[str, int]:
        """Counts of omitted episodes, by cause; empty if the source omits none."""
        return getattr(self._source, "omissions", {})

    def world(self, episode: Episode) -> HouseholdWorld:
        """Return the world of an episode, as its source builds it."""
        return self._source.world(episode)

    def decided_by(self) -> str:
        """Split, settings and file checksums."""
        # Sorted, so that the key does not depend on the order of reading.
        sums = [f"{sha256(path)}  {name}" for name, path in sorted(self.files.items())]
        return "\n".join((self.split, repr(self.settings), *sums))

    def training(self) -> Training:
        """Return the train split: the published one if this split is published."""
        train = GENERATED[1] if self.split in GENERATED else self.published_train
        # A train split is its own source of examples.
        if self.split == train:
            return Training(self, self.tasks)
        # Few episodes would give the same examples in every run.
        episodes = max(self.settings.episodes, FEWEST_EPISODES)
        settings = replace(self.settings, episodes=episodes)
        source = type(self)(train, self.folder, settings)
        return Training(source, source.tasks)


Draw = Callable[[random.Random, Arrangement, str], Task | None]
"""Draw a task from a furnished home (may change its objects) and an arrangement's name; None if
this draw has no task."""
TRIES = 50  # arrangements drawn before giving up on a kind of task in a home
LENGTH_TRIES = 2_000
"""Tasks drawn to find one of a given length."""
TASKS_PER_ARRANGEMENT = 10
"""Tasks drawn in one arrangement while searching: an arrangement costs more than a task."""


def episode_id(scene: str, arrangement: str) -> str:
    """Return the id of a generated episode."""
    return f"{scene}_{arrangement.replace('/', '_')}"


class Generated:
    """Episodes in generated homes, drawn by ``draw``; they cycle through ``kinds``.

    An arrangement is named after its task's kind and a number, unique within the home. ``seed``
    starts the random seed, ``identify`` makes an episode's id from scene and arrangement, and
    ``naming`` sets how the worlds name objects.
    """

    files: Mapping[str, Path] = {}

    def __init__(
        self,
        split: str,
        settings: HomesSettings,
        draw: Draw,
        kinds: Sequence[str] = (),
        seed: str = "{scene}",
        identify: Callable[[str, str], str] = episode_id,
        **naming: Any,
    ) -> None:
        self.settings = settings
        self._split = split
        self._draw = draw
        self._kinds = kinds
        self._seed = seed
        self._naming = naming
        # Episodes are drawn again on demand: only some are kept.
        self._case = lru_cache(maxsize=256)(self._make)
        # The last arrangement: tasks of a search come from it one after the other.
        self._arrangement = lru_cache(maxsize=1)(
            lambda seed, scene: arrange(
                random.Random(seed),
                cached_home(scene),
                settings.clutter,
            )
        )
        if settings.length:  # the search takes seconds, so cache its results on disk
            text = f"{settings} {draw.__module__} {source_checksum('core', 'worlds', 'datasets')}"
            self._found = Memo(f"draws-{text_checksum(text, 16)}")
        self.tasks: Sequence[Task] = DrawnTasks(
            settings.episodes,
            lambda number: self._case(*self._code(number)).task,
            lambda number: identify(*self._code(number)),
        )

    def world(self, episode: Episode) -> HouseholdWorld:
        """Return the home of an episode in its arrangement."""
        case = self._case(episode.scene, episode.start["arrangement"])
        return case.world(self.settings.make_body(), **self._naming)

    def _code(self, number: int) -> tuple[str, str]:
        """Return the scene and the arrangement's name of an episode."""
        homes = self.settings.homes
        # Home after home, so the number counts rounds.
        code = f"{number // homes}"
        if self._kinds:
            code = f"{kind_in_turn(self._kinds, number, homes)}/{code}"
        if self.settings.length:
            code += f"/l{self.settings.length}"
        return self.settings.home(self._split, number), code

    def _make(self, scene: str, code: str) -> Case:
        """Draw an episode. Raises ``UsageError`` if the home has no task of its kind."""
        length = self.settings.length
        # With a length, the found draw alone; without one, the first that has a task.
        attempts = range(TRIES)
        if length:
            found = self._found.get(f"{scene}/{code}", lambda: self._find(scene, code))
            attempts = range(0) if found is None else range(found, found + 1)
        for attempt in attempts:
            case = self._draw_case(scene, code, attempt)
            if case is not None:
                return case
        task = f"{code.partition('/')[0]!r} task"
        hint = "increase dataset.clutter"
        if length:
            task += f" of length={length}"
            hint = "change dataset.length"
        raise UsageError(f"{scene} has no {task}; {hint} or dataset.rooms")

    def _draw_case(
        self,
        scene: str,
        code: str,
        attempt: int,
    ) -> Case | None:
        """Draw a task; None if this draw has none. Each attempt has its own random seed."""
        seed = f"{self._seed.format(scene=scene)}/{code}"
        rng = random.Random(f"{seed}/{attempt}")
        # Several tasks are drawn in one arrangement, as arranging is slow.
        if self.settings.length:
            number = attempt // TASKS_PER_ARRANGEMENT
            arrangement = self._arrangement(f"{seed}/arrangement {number}", scene)
            # A copy of the objects: a draw may change them.
            arrangement = replace(arrangement, objects=dict(arrangement.objects))
        else:
            arrangement = arrange(rng, cached_home(scene), self.settings.clutter)
        task = self._draw(rng, arrangement, code)
        if task is None:
            return None
        return Case(task, arrangement.home, arrangement.scene())

    def _find(self, scene: str, code: str) -> int | None:
        """Return the number of the first draw of the required length; None if there is none.

        Its task takes the expert ``length`` actions within 1/8, counted at the level of
        actions that the bodies have.
        """
        # Within an eighth, which keeps the search short.
        tolerance = self.settings.length // 8
        least = self.settings.length - tolerance
        most = self.settings.length + tolerance
        for attempt in range(LENGTH_TRIES):
            case = self._draw_case(scene, code, attempt)
            if case is None:
                continue
            # The expert decides, with the actions that the body has.
            world = case.world(self.settings.make_body(), **self._naming)
            world.reset(case.task.episode)
            high_level = needs_high_level(world, world.actors[0])
            with suppress(PlanningFailed):
                if len(solving_decisions(world, case.task, high_level, most)) >= least:
                    return attempt
        return None


def kind_in_turn(kinds: Sequence[str], number: int, homes: int) -> str:
    """Return the kind of an episode. Kinds alternate and, over time, each home gets every kind.

    >>> [kind_in_turn(("fetch", "wash"), number, homes=2) for number in range(4)]
    ['fetch', 'wash', 'wash', 'fetch']
    """
    # Shifted by one after each round in which every home had every kind in turn.
    return kinds[(number + number // math.lcm(homes, len(kinds))) % len(kinds)]


def draw_start(
    rng: random.Random,
    home: Home,
    arrangement: str,
    places: Sequence[Point] = (),
) -> dict[str, Json]:
    """Draw an episode's start: a free position, one of twelve headings, the arrangement's name.

    The position is one of ``places`` (metres), by default any of the home.
    """
    # Without given places, anywhere that everything can be reached from.
    pose = pose_at(rng, rng.choice(places or home.starts))
    return {
        "scene": home.name,
        "arrangement": arrangement,
        "poses": {"agent": pose},
    }


def pose_at(rng: random.Random, point: Point) -> dict[str, float]:
    """Return a pose at ``point`` with one of twelve random headings (degrees)."""
    return {
        "x": point[0],
        "y": point[1],
        "heading": 30.0 * rng.randrange(12),
    }
