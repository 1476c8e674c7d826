"""MA-Household: TEACh's tasks for a commander who knows the task and a follower who acts."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from pathlib import Path
from random import Random
from typing import Annotated, Any, cast

import numpy as np
from annotated_types import Ge, Le

from wayword.core.dataset import DrawnTasks, Task
from wayword.core.episode import Episode, Extra
from wayword.core.errors import DataError, UsageError, suggest
from wayword.core.files import cached_json, find, read_json, require_data, text_checksum
from wayword.datasets.procedural.homes import episodes as homes
from wayword.datasets.procedural.homes.home import home_name
from wayword.datasets.procedural.homes.objects import arrange
from wayword.datasets.sources import ithor, teach
from wayword.datasets.sources import teach_drawing as drawing
from wayword.worlds.household.picture import HouseholdPainter
from wayword.worlds.household.skills import PlannedReference
from wayword.worlds.household.verbs import Body, from_json
from wayword.worlds.household.world import HouseholdWorld

# Pairs: an episode for a commander and a follower, built from a drawn task.
#
# Source: TEACh (Padmakumar et al. 2022), section 3; LangSuitE (Jia et al. 2024), section 3.2,
# task V.

COMMANDER = "commander"
FOLLOWER = "follower"
ACTORS = (COMMANDER, FOLLOWER)
"""Actor names, also used as roles, in turn order."""
# Of a commander
MOVES = [
    "move_ahead",
    "turn_left",
    "turn_right",
    "pan_left",
    "pan_right",
]
# Minimum distance between the actors at the start, if there is room; metres.
SPACING = 1.0


@dataclass(frozen=True, eq=False)
class Pair:
    """An episode with everything needed to play it."""

    task: Task
    drawn: drawing.DrawnTask
    stage: drawing.Stage

    def world(self, body: Body) -> HouseholdWorld:
        """Return the house with the pair's initial scene. Names are shared, since
        actors talk."""
        scene = self.drawn.scene
        return HouseholdWorld(scene, body, named=True, layout=self.stage.layout(scene))

    def task_for(self, settings: MaHouseholdSettings) -> Task:
        """Return the task with the configured number of followers and commander's body.

        Further followers (``follower_2``, …) have the texts of the first, and starting positions at
        least ``SPACING`` metres from all others where the stage has such a position. They depend on
        the episode only: the second one starts at the same place with or without a third.
        """
        episode = self.task.episode
        reference = self.task.reference
        bodies = episode.start["bodies"]
        followers = settings.followers
        body = {**bodies[COMMANDER], **settings.commander}
        episode = replace(
            episode,
            start={**episode.start, "bodies": {**bodies, COMMANDER: body}},
        )
        if followers == 1 or not isinstance(reference, PlannedReference):
            return Task(episode, reference)

        # Poses of the added followers, each clear of those before it.
        added_actors = tuple(f"{FOLLOWER}_{n}" for n in range(2, followers + 1))
        rng = Random(f"{episode.id}/followers")
        poses = dict(episode.start["poses"])
        for actor in added_actors:
            used = [(pose["x"], pose["y"]) for pose in poses.values()]
            spots = [
                p
                for p in self.stage.starts
                if all(math.dist(p, q) >= SPACING for q in used)
            ]
            poses[actor] = homes.pose_at(
                rng,
                rng.choice(spots or list(self.stage.starts)),
            )

        # Texts, by kind and actor.
        texts = cast(Mapping[str, Mapping[str, str]], episode.extra)
        extra = {  # further followers get the same texts as the first
            key: {**texts[key], **dict.fromkeys(added_actors, texts[key][FOLLOWER])}
            for key in ("rules", "instructions", "roles")
        }
        joint_episode = replace(
            episode,
            instruction=drawing.TEXTS["more_together"],
            actors=(*episode.actors, *added_actors),
            start={**episode.start, "poses": poses},
            extra=cast(Extra, extra),
        )
        return Task(joint_episode, replace(reference, helpers=added_actors))


def draw_pair(
    scene: str,
    kind: str,
    number: int,
    classes: teach.Classes,
    stages: Iterable[tuple[Random, drawing.Stage]],
    check_task: Callable[[drawing.DrawnTask], None] = lambda drawn: None,
) -> Pair | str:
    """Draw the task of that kind and number in a scene; return the reason if it cannot be built.

    ``stages`` are scene states to try, each with its own generator; ``check_task`` raises
    ``Unbuildable`` to reject a task.
    """
    definition = teach.definitions()[kind]
    cause = ""
    for rng, stage in stages:
        try:
            drawn = drawing.draw_task(rng, definition, classes, stage.scene)
            check_task(drawn)
        except teach.Unbuildable as unfit:
            # Another arrangement may fit; the last reason is reported if none does.
            cause = str(unfit)
            continue
        place = rng.choice(stage.starts)
        # Apart from each other, unless the room is too small for it.
        free_points = [
            p
            for p in stage.starts
            if (p[0] - place[0]) ** 2 + (p[1] - place[1]) ** 2 >= SPACING**2
        ]
        partner = rng.choice(free_points or list(stage.starts))
        start = {
            "scene": scene,
            "task": kind,
            "number": number,
            "poses": {
                COMMANDER: homes.pose_at(rng, place),
                FOLLOWER: homes.pose_at(rng, partner),
            },
            "bodies": {
                COMMANDER: {"actions": [*MOVES, "wait", "chat", "stop"], "radius": 0.0}
            },
        }
        extra: Extra = {
            "roles": {actor: actor for actor in ACTORS},
            "rules": {
                role: f"{drawing.TEXTS[role]} {drawing.TEXTS['how']}" for role in ACTORS
            },
            "instructions": {
                COMMANDER: drawing.commander_task(drawn, stage.room_at),
                FOLLOWER: "Do what the commander asks of you.",
            },
        }
        name = f"{scene}_{kind.replace(' ', '_').lower()}_{number}"
        episode = Episode(
            name,
            drawing.TEXTS["together"],
            drawn.scene.name,
            start,
            ACTORS,
            extra,
        )
        goals = drawn.compiled.goals
        reference = PlannedReference(
            name,
            kind,
            goals,
            plan=drawn.plan,
            worker=FOLLOWER,
        )
        return Pair(Task(episode, reference), drawn, stage)
    return cause


# TEACh's tasks in generated homes.

GENERATED_TRIES = 6  # arrangements of a home to try per task
HOMES = 8  # homes to try per task: the episode's own, then others of its stream


_PAINTER = HouseholdPainter()
"""One for all: it keeps the meshes of the latest homes."""


class HouseholdPairs(ABC):
    """The episodes of a split.

    Subclasses draw a pair of scene, task kind and number; what cannot be built has a
    reason, and the next that can takes its place.
    """

    def __init__(self, split: str, settings: MaHouseholdSettings) -> None:
        self._split = split
        self._settings = settings
        self._kinds = settings.kinds()
        self.tasks: Sequence[Task] = DrawnTasks(settings.episodes, self._task)

    def world(self, episode: Episode) -> HouseholdWorld:
        """Return the house of an episode. Raises ``UsageError`` for an episode of other
        settings."""
        start = episode.start
        pair = self._pair(episode.scene, start["task"], start["number"])
        if not isinstance(pair, Pair):
            raise UsageError(f"{episode.id} is not an episode of this dataset: {pair}")
        return pair.world(self._settings.make_body())

    @abstractmethod
    def _pair(self, scene: str, kind: str, number: int) -> Pair | str:
        """Draw the task of that kind and number; return the reason if it cannot be built."""

    @abstractmethod
    def _task(self, number: int) -> Task:
        """Return the task of an episode, by its number."""


class GeneratedPairs(HouseholdPairs):
    """Episodes of one stream of homes.

    If a home lacks, say, a bathtub, another home of the stream replaces it; if all of them lack it
    (as one-room homes do), the next task kind is used. ``omissions`` counts such kinds.
    """

    files: Mapping[str, Path] = {}

    @property
    def omissions(self) -> Mapping[str, int]:
        """Task kinds that none of the first homes can host, by reason."""
        kinds = [kind for kind in self._kinds if self._first_pair(kind, 0) is None]
        cause = f"no home of {self._settings.rooms} rooms has the objects for {{}}"
        return {cause.format(kind): 1 for kind in kinds}

    def _pair(self, scene: str, kind: str, number: int) -> Pair | str:
        """Draw a pair in a generated home; a reason if it cannot be built."""
        return _generated_pair(scene, kind, number, self._settings.clutter)

    def _task(self, number: int) -> Task:
        """Return a task: the kind in turn, or the next kind that the home allows."""
        first = self._kinds.index(
            homes.kind_in_turn(self._kinds, number, self._settings.homes)
        )
        for kind in (*self._kinds[first:], *self._kinds[:first]):
            pair = self._first_pair(kind, number)
            if pair is not None:
                return pair.task_for(self._settings)
        raise UsageError(
            f"no home of {self._settings.rooms} rooms has the objects for {self._kinds[first]!r}; "
            "set dataset.rooms=5 or more"
        )

    def _first_pair(self, kind: str, number: int) -> Pair | None:
        """Return the episode in its own home, or in the first other home that can host it."""
        settings = self._settings
        for offset in range(HOMES):
            home = number % settings.homes + offset * settings.homes
            stream = self._split.rpartition("_")[2]
            scene = home_name(stream, settings.seed, settings.rooms, home)
            pair = _generated_pair(
                scene,
                kind,
                number // settings.homes,
                settings.clutter,
            )
            if isinstance(pair, Pair):
                return pair
        return None


@lru_cache(maxsize=256)
def _generated_pair(scene: str, kind: str, number: int, clutter: float) -> Pair | str:
    """Draw a pair by seed. Equal arguments give equal pairs, on every machine."""
    home = homes.cached_home(scene)

    def stages() -> Iterator[tuple[Random, drawing.Stage]]:
        """Yield a fresh arrangement for each attempt, with the generator that drew it."""
        for attempt in range(GENERATED_TRIES):
            rng = Random(f"teach/{scene}/{kind}/{number}/{attempt}")
            home_scene = arrange(rng, home, clutter).scene()
            full = drawing.furnish(
                rng,
                home_scene,
                home.starts,
                home.distance_from_floor,
            )
            yield (
                rng,
                drawing.Stage(
                    full,
                    home.starts,
                    home.layout.with_scene,
                    home.layout.room_at,
                ),
            )

    return draw_pair(scene, kind, number, teach.CLASSES, stages())


# TEACh's tasks in iTHOR's rooms, by TEACh's lists of floors.
#
# Read from TEACh: object classes, and the rooms of each split. Read from iTHOR's metadata: rooms
# and the objects in them. Drawn by seed, since TEACh publishes neither in these files: which task
# is played where, with which parameters, and the initial state of the room.

SPLITS = ("train", "valid_seen", "valid_unseen", "test_seen", "test_unseen")
"""TEACh's lists of floors."""
TRIES = 4  # room states to try per task
# Metres from the floor to objects to handle: a body reaches 1.5 m, from a cell
REACH_M = 1.3


class FloorPairs(HouseholdPairs):
    """Episodes in the rooms of one of TEACh's lists.

    They cycle through the feasible tasks, and each task cycles through the rooms that
    can host it.
    """

    def __init__(self, split: str, folder: Path, settings: MaHouseholdSettings) -> None:
        super().__init__(split, settings)
        self._folder = folder
        self.floors = read_floors(folder, split)

    @cached_property
    def files(self) -> Mapping[str, Path]:
        """Published files that the episodes are read from, for checksums."""
        paths = teach.classes_file(self._folder), floors_file(self._folder, self._split)
        by_name = {str(path.relative_to(self._folder)): path for path in paths}
        return by_name | dict(ithor.files(self._folder, self.floors))

    @property
    def omissions(self) -> Mapping[str, int]:
        """Task definitions that no room of the split can host, by reason."""
        return {
            f"{kind}: {cause}": 1
            for kind, (room, cause) in self._room_of_kind.items()
            if not room
        }

    @cached_property
    def _room_of_kind(self) -> dict[str, tuple[str, str]]:
        """Task -> first room that can host it and ""; or "" and why the last room cannot."""

        def find_rooms() -> dict[str, tuple[str, str]]:
            """Return, for each kind, a room that it can be built in, or the reason why
            there is none."""
            found = dict.fromkeys(self._kinds, ("", "no rooms"))
            for kind in self._kinds:
                for room in self._shuffled_rooms(kind):
                    pair = self._pair(room, kind, 0)
                    if isinstance(pair, Pair):
                        found[kind] = room, ""
                        break
                    found[kind] = "", pair
            return found

        # The key has all that the rooms depend on, and a version of the drawing.
        kinds = text_checksum("/".join(self._kinds), 8)
        key = f"teach-3-{self._split}-{self._settings.seed}-{kinds}"
        rooms = cached_json(key, self.files.values(), find_rooms)
        return {kind: (room, cause) for kind, (room, cause) in rooms.items()}

    @cached_property
    def _playable(self) -> tuple[str, ...]:
        """Kinds that at least one room allows. Raises ``UsageError`` if none is left."""
        possible = tuple(kind for kind, (room, _) in self._room_of_kind.items() if room)
        if not possible:
            raise UsageError(
                f"no room of {self._split} fits the tasks {', '.join(self._kinds)}"
            )
        return possible

    def _shuffled_rooms(self, kind: str) -> list[str]:
        """Return the rooms in an order specific to the task."""
        rng = Random(f"teach/{self._split}/{kind}/{self._settings.seed}")
        return rng.sample(self.floors, len(self.floors))

    def _task(self, number: int) -> Task:
        """Return a task: kinds in turn, each in the first room from its own position
        on."""
        kind = self._playable[number % len(self._playable)]
        cycle = number // len(self._playable)
        rooms = self._shuffled_rooms(kind)
        for offset in range(len(rooms)):
            pair = self._pair(rooms[(cycle + offset) % len(rooms)], kind, cycle)
            if isinstance(pair, Pair):
                return pair.task_for(self._settings)
        raise UsageError(
            f"no room of {self._split} fits more {kind!r}; lower dataset.episodes"
        )

    def _pair(self, room: str, kind: str, number: int) -> Pair | str:
        """Draw a pair in a published room; a reason if it cannot be built."""
        return _floor_pair(self._folder, room, kind, number, self._settings.seed)


def floors_file(folder: Path, split: str) -> Path:
    """Return the file that lists a split's floors. Raises ``DataError``."""
    return find(
        folder / teach.FOLDER / "ai2thor_resources" / "alfred_split",
        f"alfred_{split}_floors.json",
    )


def read_floors(folder: Path, split: str) -> tuple[str, ...]:
    """Return the rooms of a split, by number. Raises ``DataError``."""
    path = floors_file(folder, split)
    record = read_json(path)
    if not isinstance(record, list) or not all(
        isinstance(floor, str) for floor in record
    ):
        raise DataError(path, "", "must be a list of scene names", "fetch it again")
    for floor in record:
        if not floor.startswith("FloorPlan"):
            raise DataError(
                path,
                f"floor {floor!r}",
                "is not an iTHOR scene such as FloorPlan1",
            )
    return tuple(
        sorted(set(record), key=lambda name: int(name.removeprefix("FloorPlan")))
    )


@lru_cache(maxsize=512)
def _floor_pair(
    folder: Path,
    room: str,
    kind: str,
    number: int,
    seed: int,
) -> Pair | str:
    """Draw a pair in a published iTHOR room; return the reason as text if none can be built.

    The room's objects are shuffled again in each of ``TRIES`` attempts. ``room`` is its scene's
    name, ``kind`` and ``number`` are the task's, ``seed`` the dataset's.
    """
    # Standing positions (positions, 2) in metres: all tasks are handled from these.
    starts = ithor.cells(folder, room).main
    places = np.array(starts)

    def stages() -> Iterator[tuple[Random, drawing.Stage]]:
        """Yield a shuffled room for each attempt, with the generator that drew it."""
        for attempt in range(TRIES):
            rng = Random(f"teach/{room}/{kind}/{number}/{seed}/{attempt}")
            scene = drawing.shuffle_room(rng, ithor.scene(folder, room), from_floor)
            yield (
                rng,
                drawing.Stage(
                    scene,
                    starts,
                    partial(ithor.layout, folder, room),
                    lambda x, y: ithor.room_of(room),
                ),
            )

    def from_floor(x: float, y: float) -> float:
        """Return metres from a point to the nearest standing position."""
        return ithor.start(folder, room, x, y)[1]

    def check_reach(drawn: drawing.DrawnTask) -> None:
        """Raise ``Unbuildable`` if an object that must be handled is too far from the floor."""
        objects = drawn.scene.by_id()
        handled = {order.object for order in drawn.plan}
        handled |= {order.other for order in drawn.plan if order.other}
        for name in handled:
            item = objects[name]
            while item.parent and "openable" in objects[item.parent].affordances:
                item = objects[item.parent]  # the closed container must be reached
            half_size = (item.width / 2, item.depth / 2)
            # From each position to the nearest point of the object's box; negative within it.
            away = np.abs(places - (item.x, item.y)) - half_size
            if np.hypot(*np.maximum(away, 0.0).T).min() > REACH_M:
                raise teach.Unbuildable(f"{item.type} is out of reach")

    return draw_pair(
        room,
        kind,
        number,
        teach.read_classes(folder),
        stages(),
        check_reach,
    )


@dataclass(frozen=True)
class MaHouseholdSettings(homes.HomesSettings):
    """``task`` limits the episodes to one of TEACh's tasks by name: ``Coffee``, ``Salad`` …

    ``followers``: 1 as in TEACh, up to 3. ``commander`` changes the commander's body, as ``body``
    changes every body: ``dataset.commander.view_distance=10``. ``homes``, ``rooms`` and ``clutter``
    apply only to generated homes.
    """

    unused_verbs = ()
    paper = (*homes.HANDLING, "chat", "stop")

    task: str = ""
    followers: Annotated[int, Ge(1), Le(3)] = 1
    commander: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        from_json(self.commander, self.make_body())
        if self.task and self.task not in teach.definitions():
            hint = suggest(self.task, teach.definitions())
            raise UsageError(f"ma_household: unknown task {self.task!r}; {hint}")

    def kinds(self) -> tuple[str, ...]:
        """Return the task kinds that the episodes cycle through."""
        return (self.task,) if self.task else tuple(teach.definitions())


class MaHousehold(homes.SourcedTasks):
    """TEACh's tasks, by instructions to a follower: coffee, toast, a salad, a tidy desk …

        >>> pairs = MaHousehold(settings=MaHousehold.Settings(homes=1, episodes=2))
        >>> pairs.tasks[0].episode.actors
        ('commander', 'follower')

    Only the commander knows the task and where objects are; it floats, looks and talks. The
    follower acts on what it sees and hears. Both use the same object names. The tasks are TEACh's
    25 definitions, in generated homes or in iTHOR's rooms (splits ``train``, ``valid_seen`` … are
    TEACh's lists of floors). TEACh's games are not read: task, parameters and initial room state of
    an episode are drawn by seed. ``omissions`` counts the definitions that no room of a split can
    host, by reason.
    """

    name = "ma_household"
    Settings = MaHouseholdSettings
    splits = (*homes.GENERATED, *SPLITS)
    published_train = SPLITS[0]
    redrawn = "TEACh's games are not read: parameters and initial room states are drawn by seed"
    max_steps = 1000

    def painter(self) -> HouseholdPainter | None:
        # Published rooms have kinds and headings without looks.
        if self.split not in homes.GENERATED:
            return None
        return _PAINTER

    def source(self, split: str) -> homes.EpisodeSource:
        """Return the episodes of a split: generated homes, or published rooms."""
        if split in homes.GENERATED:
            return GeneratedPairs(split, self.settings)
        return FloorPairs(
            split,
            require_data(self.folder, f"{self.name}:{split}"),
            self.settings,
        )


dataset = MaHousehold
