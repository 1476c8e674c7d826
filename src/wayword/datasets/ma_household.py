"""MA-Household: TEACh's tasks, for a commander who knows and a follower who acts."""

from __future__ import annotations

import hashlib
import math
import random
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from wayword.core.dataset import DrawnTasks, Task
from wayword.core.episode import Episode, Extra, Json
from wayword.core.errors import DataError, UsageError, suggest
from wayword.core.files import find, read_json, remembered
from wayword.datasets.procedural.homes.episodes import (
    CARRY,
    GENERATED,
    WALK,
    EpisodeSource,
    HomesSettings,
    SourcedTasks,
    home_of,
    turn,
)
from wayword.datasets.procedural.homes.home import home_name
from wayword.datasets.procedural.homes.objects import arrange
from wayword.datasets.sources import ithor, teach
from wayword.datasets.sources import teach_drawing as drawing
from wayword.datasets.sources.teach_drawing import (
    DrawnTask,
    FromFloor,
    Stage,
    draw_task,
    furnished,
    shuffled,
)
from wayword.worlds.household.errands import PlannedReference
from wayword.worlds.household.scene import Point
from wayword.worlds.household.verbs import Body
from wayword.worlds.household.world import HouseholdWorld

# Pairs: an episode for a commander and a follower out of a task that was drawn.
#
# The commander knows the task and where things are, floats, and touches nothing; the follower acts
# and knows what it sees and is told. Everything has one name for both.
#
# Source: TEACh (Padmakumar et al. 2022), section 3; LangSuitE (Jia et al. 2024), section 3.2,
# task V.

COMMANDER, FOLLOWER = ACTORS = ("commander", "follower")
"""Their names, which are their roles, in turn order."""
LOOKING = (
    *("move_ahead", "turn_left", "turn_right", "pan_left", "pan_right", "wait", "chat", "stop"),
)
"""What the commander is able to do."""
APART = 1.0
"""Metres between the two at first, where there is room."""


@dataclass(frozen=True, eq=False)
class Pair:
    """An episode with all it takes to play it."""

    task: Task
    drawn: DrawnTask
    stage: Stage

    def world(self, body: Body) -> HouseholdWorld:
        scene = self.drawn.scene
        return HouseholdWorld(scene, body, named=True, layout=self.stage.layout(scene))

    def joined(self, followers: int) -> Task:
        """The episode with so many followers: ``follower``, ``follower_2`` …"""
        episode, reference = self.task.episode, self.task.reference
        if followers == 1 or not isinstance(reference, PlannedReference):
            return self.task
        more = tuple(f"{FOLLOWER}_{n}" for n in range(2, followers + 1))
        rng = random.Random(f"{episode.id}/followers")
        placed = dict(episode.start["poses"])
        for actor in more:
            placed[actor] = _beside(rng, self.stage.starts, placed.values())
        told = episode.extra
        extra: Extra = {
            "rules": _given_to(more, cast(Mapping[str, str], told["rules"])),
            "instructions": _given_to(more, told["instructions"]),
            "roles": _given_to(more, told["roles"]),
        }
        together = replace(
            episode,
            instruction=drawing.MORE_TOGETHER,
            actors=(*episode.actors, *more),
            start={**episode.start, "poses": placed},
            extra=extra,
        )
        return Task(together, replace(reference, helpers=more))


def _given_to(more: Iterable[str], told: Mapping[str, str]) -> dict[str, str]:
    """The same for each further follower as for the first."""
    return {**told, **dict.fromkeys(more, told[FOLLOWER])}


def pair(
    rng: random.Random, name: str, drawn: DrawnTask, stage: Stage, start: dict[str, Json]
) -> Pair:
    """The episode of that name; ``start`` says what its dataset needs to build it again."""
    told = {
        COMMANDER: drawing.commander_task(drawn, stage.room_at),
        FOLLOWER: "Do what the commander asks of you.",
    }
    extra: Extra = {
        "roles": {actor: actor for actor in ACTORS},
        "rules": {COMMANDER: drawing.COMMANDER, FOLLOWER: drawing.FOLLOWER},
        "instructions": told,
    }
    begin = {
        **start,
        "poses": poses(rng, stage.starts),
        "bodies": {COMMANDER: {"actions": list(LOOKING), "radius": 0.0}},
    }
    episode = Episode(name, drawing.TOGETHER, drawn.scene.name, begin, ACTORS, extra)
    reference = PlannedReference(
        name, drawn.definition.name, drawn.compiled.goals, plan=drawn.plan, worker=FOLLOWER
    )
    return Pair(Task(episode, reference), drawn, stage)


def _beside(
    rng: random.Random, places: Sequence[Point], taken: Iterable[Mapping[str, float]]
) -> dict[str, float]:
    """A free place apart from those that are taken, and one of twelve headings."""
    there = [(pose["x"], pose["y"]) for pose in taken]
    away = [p for p in places if all(math.dist(p, other) >= APART for other in there)]
    x, y = rng.choice(away or list(places))
    return {"x": x, "y": y, "heading": 30.0 * rng.randrange(12)}


def poses(rng: random.Random, places: Sequence[Point]) -> dict[str, dict[str, float]]:
    """A free place for each, apart from the other's, and one of twelve headings."""
    one = rng.choice(places)
    away = [p for p in places if (p[0] - one[0]) ** 2 + (p[1] - one[1]) ** 2 >= APART**2]
    other = rng.choice(away or list(places))
    return {
        actor: {"x": x, "y": y, "heading": 30.0 * rng.randrange(12)}
        for actor, (x, y) in ((COMMANDER, one), (FOLLOWER, other))
    }


# TEACh's tasks in generated homes.

GENERATED_TRIES = 6
"""Arrangements of a home that are tried for a task."""
HOMES = 8
"""Homes that are tried: the episode's own, then others of its stream."""


class HouseholdPairs(ABC):
    """The episodes of a split; ``kinds`` of tasks take turns."""

    def __init__(self, split: str, settings: MaHouseholdSettings) -> None:
        self._split, self._settings, self._kinds = split, settings, settings.kinds()
        self.tasks: Sequence[Task] = DrawnTasks(settings.episodes, self._task)

    def world(self, episode: Episode) -> HouseholdWorld:
        start = episode.start
        made = self._pair(episode.scene, start["task"], start["number"])
        if not isinstance(made, Pair):
            raise UsageError(f"{episode.id} is no episode of this dataset: {made}")
        return made.world(self._settings.make_body())

    @abstractmethod
    def _pair(self, scene: str, kind: str, number: int) -> Pair | str:
        """The task of that kind and number in that scene, or why it cannot be had."""

    @abstractmethod
    def _task(self, number: int) -> Task: ...


class GeneratedPairs(HouseholdPairs):
    """Episodes of one stream of homes.

    Where a home has no bathtub, say, another home of the stream takes its place; where none has, as
    among homes of one room, the next kind of task does. ``omissions`` counts such kinds.
    """

    files: Mapping[str, Path] = {}

    @property
    def omissions(self) -> Mapping[str, int]:
        """Definitions that none of the first homes can have, by cause."""
        kinds = [kind for kind in self._kinds if self._made(kind, 0) is None]
        why = f"no home of {self._settings.rooms} rooms has what {{}} takes"
        return {why.format(kind): 1 for kind in kinds}

    def _pair(self, scene: str, kind: str, number: int) -> Pair | str:
        return (
            _generated_pair(scene, kind, number, self._settings.plenty)
            or "it has not what it takes"
        )

    def _task(self, number: int) -> Task:
        first = self._kinds.index(turn(self._kinds, number, self._settings.homes))
        for kind in (*self._kinds[first:], *self._kinds[:first]):
            made = self._made(kind, number)
            if made is not None:
                return made.joined(self._settings.followers)
        raise UsageError(
            f"no home of {self._settings.rooms} rooms has what {self._kinds[first]!r} takes; "
            "set dataset.rooms=5 or more"
        )

    def _made(self, kind: str, number: int) -> Pair | None:
        """The episode in its own home, or in the first other that has what it takes."""
        settings = self._settings
        for other in range(HOMES):
            home = number % settings.homes + other * settings.homes
            stream = self._split.rpartition("_")[2]
            scene = home_name(stream, settings.seed, settings.rooms, home)
            made = _generated_pair(scene, kind, number // settings.homes, settings.plenty)
            if made is not None:
                return made
        return None


@lru_cache(maxsize=256)
def _generated_pair(scene: str, kind: str, number: int, plenty: float) -> Pair | None:
    """The task of that kind and number in that home, None where it has not what it takes."""
    tasks = teach.definitions()
    home = home_of(scene)
    for attempt in range(GENERATED_TRIES):
        rng = random.Random(f"teach/{scene}/{kind}/{number}/{attempt}")
        made = arrange(rng, home, plenty)
        full = furnished(rng, made.scene(), home.starts, home.from_floor)
        try:
            drawn = draw_task(rng, tasks[kind], tasks, teach.CLASSES, full)
        except teach.Unbuildable:
            continue
        stage = Stage(full, home.starts, home.layout.with_things, home.layout.room_at)
        name = f"{scene}_{kind.replace(' ', '_').lower()}_{number}"
        start = {"scene": scene, "task": kind, "number": number}
        return pair(rng, name, drawn, stage, start)
    return None


# TEACh's tasks in iTHOR's rooms, by TEACh's lists of floors.
#
# Read from TEACh: task definitions, classes of objects, which rooms are in which split. Read from
# iTHOR's metadata: rooms and the things in them. Not published with these, and drawn by seed:
# which task is played where, with which parameters, and the state the room starts in.

SPLITS = ("train", "valid_seen", "valid_unseen", "test_seen", "test_unseen")
"""TEACh's lists of floors."""
TRIES = 4
"""States of a room that are tried for a task."""
REACH = 1.3
"""Metres from the floor to what must be touched, at most."""


class FloorPairs(HouseholdPairs):
    """Episodes in the rooms of one of TEACh's lists; the tasks that some room can have take turns,
    and each goes to the rooms that can have it in turn."""

    def __init__(self, split: str, folder: Path, settings: MaHouseholdSettings) -> None:
        super().__init__(split, settings)
        self._folder, self.floors = folder, read_floors(folder, split)

    @cached_property
    def files(self) -> Mapping[str, Path]:
        place = self._folder / teach.FOLDER
        mine = [*sorted((place / "task_definitions").glob("*.json"))]
        mine.append(find(place / "ai2thor_resources", "custom_object_classes.json"))
        mine.append(floors_file(self._folder, self._split))
        named = {str(path.relative_to(self._folder)): path for path in mine}
        return named | dict(ithor.files(self._folder, self.floors))

    @property
    def omissions(self) -> Mapping[str, int]:
        """Definitions that no room of the split can have, by cause."""
        return {f"{kind}: {why}": 1 for kind, (room, why) in self._tried.items() if not room}

    @cached_property
    def _tried(self) -> dict[str, tuple[str, str]]:
        """Task -> the first room that can have it; else an empty name, and why the last cannot."""
        kinds = hashlib.sha256("/".join(self._kinds).encode()).hexdigest()[:8]
        name = f"teach-1-{self._split}-{self._settings.seed}-{kinds}"
        found = remembered(name, self.files.values(), self._try)
        return {kind: (room, why) for kind, (room, why) in found.items()}

    def _try(self) -> dict[str, tuple[str, str]]:
        found = {}
        for kind in self._kinds:
            room, why = "", "no rooms"
            for room in self._shuffled(kind):
                made = self._pair(room, kind, 0)
                if isinstance(made, Pair):
                    break
                room, why = "", made
            found[kind] = room, why
        return found

    @cached_property
    def _possible(self) -> tuple[str, ...]:
        found = tuple(kind for kind, (room, _) in self._tried.items() if room)
        if not found:
            raise UsageError(f"no room of {self._split} can have {', '.join(self._kinds)}")
        return found

    def _shuffled(self, kind: str) -> list[str]:
        """The rooms in an order of the task's own."""
        rng = random.Random(f"teach/{self._split}/{kind}/{self._settings.seed}")
        return rng.sample(self.floors, len(self.floors))

    def _task(self, number: int) -> Task:
        kind, turn = self._possible[number % len(self._possible)], number // len(self._possible)
        rooms = self._shuffled(kind)
        for later in range(len(rooms)):
            made = self._pair(rooms[(turn + later) % len(rooms)], kind, turn)
            if isinstance(made, Pair):
                return made.joined(self._settings.followers)
        raise UsageError(f"no room of {self._split} has another {kind!r}; ask for fewer episodes")

    def _pair(self, room: str, kind: str, number: int) -> Pair | str:
        return _pair(self._folder, room, kind, number, self._settings.seed)


def floors_file(folder: Path, split: str) -> Path:
    """The list of a split's floors. Raises ``DataError``."""
    return find(
        folder / teach.FOLDER / "ai2thor_resources" / "alfred_split", f"alfred_{split}_floors.json"
    )


def read_floors(folder: Path, split: str) -> tuple[str, ...]:
    """The rooms of a split, by number. Raises ``DataError``."""
    path = floors_file(folder, split)
    record = read_json(path)
    if not isinstance(record, list) or not all(isinstance(each, str) for each in record):
        raise DataError(path, "", "is not a list of floors", "fetch it again")
    for each in record:
        if not each.startswith("FloorPlan"):
            raise DataError(path, f"floor {each!r}", "is no iTHOR scene, such as FloorPlan1")
    return tuple(sorted(set(record), key=lambda name: int(name.removeprefix("FloorPlan"))))


@lru_cache(maxsize=4)
def _tables(folder: Path) -> tuple[dict[str, teach.Definition], teach.Classes]:
    return teach.read_definitions(folder), teach.read_classes(folder)


@lru_cache(maxsize=512)
def _pair(folder: Path, room: str, kind: str, number: int, seed: int) -> Pair | str:
    """The task of that kind and number in that room, or why it cannot be had."""
    tasks, classes = _tables(folder)
    name = f"{room}_{kind.replace(' ', '_').lower()}_{number}"
    starts, why = ithor.cells(folder, room).main, ""
    for attempt in range(TRIES):
        rng = random.Random(f"teach/{room}/{kind}/{number}/{seed}/{attempt}")
        scene = shuffled(rng, ithor.scene(folder, room), _nearness(folder, room))
        try:
            drawn = draw_task(rng, tasks[kind], tasks, classes, scene)
            _in_reach(drawn, np.array(starts))
        except teach.Unbuildable as unfit:
            why = str(unfit)
            continue
        stage = Stage(
            *(scene, starts),
            layout=lambda of: ithor.layout(folder, room, of),
            room_at=lambda x, y: ithor.room_of(room),
        )
        start = {"scene": room, "task": kind, "number": number}
        return pair(rng, name, drawn, stage, start)
    return why


def _in_reach(drawn: DrawnTask, places: NDArray[np.float64]) -> None:
    """Raises ``Unbuildable`` where something that must be touched is too far from the floor."""
    objects = {o.id: o for o in drawn.scene.objects}
    for thing in {each for order in drawn.plan for each in (order.thing, order.other) if each}:
        each = objects[thing]
        while each.parent and "openable" in objects[each.parent].affordances:
            each = objects[each.parent]  # one reaches for what it is shut in
        away = np.abs(places - (each.x, each.y)) - (each.width / 2, each.depth / 2)
        if np.hypot(*np.maximum(away, 0.0).T).min() > REACH:
            raise teach.Unbuildable(f"{each.type} is out of reach")


def _nearness(folder: Path, room: str) -> FromFloor:
    """Metres from a point to the nearest place where one can stand."""
    return lambda x, y: ithor.start(folder, room, x, y)[1]


@dataclass(frozen=True)
class MaHouseholdSettings(HomesSettings):
    """``task`` limits the episodes to one of TEACh's, by its name: ``Coffee``, ``Salad`` …

    ``followers`` do the work, one as in TEACh, or up to three. ``homes``, ``rooms`` and ``plenty``
    are about generated homes alone.
    """

    useless: ClassVar[tuple[str, ...]] = ()
    paper: ClassVar[tuple[str, ...]] = (
        *(*WALK, *CARRY, "drop", "toggle_on", "toggle_off", "slice", "chat", "stop"),
    )

    task: str = ""
    followers: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= self.followers <= 3:
            raise UsageError(f"ma_household: followers={self.followers} must lie between 1 and 3")
        if self.task and self.task not in teach.definitions():
            hint = suggest(self.task, list(teach.definitions()))
            raise UsageError(f"ma_household: no task {self.task!r}; {hint}")

    def kinds(self) -> tuple[str, ...]:
        """The tasks that take turns."""
        return (self.task,) if self.task else tuple(teach.definitions())


class MaHousehold(SourcedTasks[MaHouseholdSettings]):
    """A commander tells a follower what to do: coffee, toast, a salad, a tidy desk …

        >>> pairs = MaHousehold(settings=MaHousehold.Settings(homes=1, episodes=2))
        >>> pairs.tasks[0].episode.actors
        ('commander', 'follower')

    The commander alone is told the task and where things are; it floats, looks and talks. The
    follower acts on what it sees and hears. Everything has one name for both. The tasks are TEACh's
    twenty-five definitions, read from its files for iTHOR's rooms (splits ``train``, ``valid_seen``
    … are TEACh's lists of floors) and restated here for generated homes. TEACh's games are not
    read: which task with which parameters, and the state a room starts in, is drawn by seed.
    ``omissions`` counts the definitions that no room of a split can have, by cause.
    """

    name: ClassVar[str] = "ma_household"
    Settings: ClassVar[type[MaHouseholdSettings]] = MaHouseholdSettings
    splits: ClassVar[tuple[str, ...]] = (*GENERATED, *SPLITS)
    published_train: ClassVar[str] = SPLITS[0]
    redrawn: ClassVar[str] = (
        "TEACh's games are not read: parameters and the rooms' first state are drawn by seed"
    )
    max_steps: ClassVar[int] = 1000

    def source(self, split: str) -> EpisodeSource:
        if split in GENERATED:
            return GeneratedPairs(split, self.settings)
        if self.folder is None:
            raise UsageError(f"ma_household:{split} needs the data folder; name it with --data")
        return FloorPairs(split, self.folder, self.settings)


dataset = MaHousehold
