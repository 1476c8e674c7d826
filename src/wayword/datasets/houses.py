"""Generated indoor scenes with instructions: the embedded default, no data and no key needed."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import ClassVar, Literal

from wayword.core.dataset import DrawnTasks, SolvableWalks, Task, Training
from wayword.core.episode import Episode, PathReference
from wayword.core.errors import UsageError
from wayword.core.perceiver import Percept
from wayword.core.world import Family
from wayword.datasets.procedural.floorplans import HALLWAY, LARGEST, SMALLEST
from wayword.datasets.procedural.houses.house import GeneratedHouse, build_house, scene_name
from wayword.datasets.procedural.houses.routes import Route, Stretch, find_routes, turn_word
from wayword.datasets.procedural.houses.views import capital, percept
from wayword.datasets.procedural.tables import Table
from wayword.perception.recorded import SymbolicPerceiver
from wayword.worlds import indoor
from wayword.worlds.indoor.graph import ViewpointGraph
from wayword.worlds.indoor.world import IndoorWorld

WORDINGS = 3
WORDS: Mapping[str, tuple[str, ...]] = Table("sentences", "houses")
TURNS: Mapping[str, tuple[str, ...]] = Table("sentences", "houses_turns")


@dataclass(frozen=True, slots=True)
class _Manner:
    """How talkative a wording is: chances of optional parts, and how clauses are joined.

    A ``terse`` one names no room that one is in, and drops an adjective that nothing hangs on.
    """

    past: float
    side: float
    straight: float
    opening: float
    joints: tuple[str, ...]
    terse: bool


MANNERS = (
    _Manner(0.2, 0.0, 0.0, 0.0, (". ", ", then "), terse=True),
    _Manner(0.5, 0.5, 0.3, 0.0, (". ", ". Then ", ", and then "), terse=False),
    _Manner(0.7, 0.7, 0.5, 0.7, (". ", ". After that, ", ". Next, "), terse=False),
)


def instruct(house: GeneratedHouse, route: Route, wording: int) -> str:
    """The instruction of a route in one of ``WORDINGS`` manners."""
    return told(house, route, wording)[0]


def told(house: GeneratedHouse, route: Route, wording: int) -> tuple[str, tuple[int, ...]]:
    """The instruction, and the character at which the words of each stretch begin."""
    rng = random.Random(f"words/{house.scene}/{'-'.join(route.path)}/{wording}")
    manner = MANNERS[wording]
    last = len(route.stretches) - 1
    text, begins = "", []
    for number, stretch in enumerate(route.stretches):
        clause = _clause(rng, house, stretch, manner, ends=number == last)
        joint = rng.choice(manner.joints) if number else ""
        starts = not text or joint == ". "
        begins.append(len(text) + len(joint))
        text += joint + (capital(clause) if starts else clause)
    opening = rng.choice(WORDS["openings"]) if rng.random() < manner.opening else ""
    opening = opening.format(room=house.room_name(route.stretches[0].room))
    return opening + text + ".", tuple(len(opening) + begin for begin in begins)


def _clause(
    rng: random.Random, house: GeneratedHouse, stretch: Stretch, manner: _Manner, *, ends: bool
) -> str:
    parts = []
    turn = turn_word(stretch.angle)
    bare = stretch.door is None and stretch.thing is None
    if turn != "straight" or bare or rng.random() < manner.straight:
        parts.append(rng.choice(TURNS[turn]))
    if stretch.past and rng.random() < manner.past:
        number, side = stretch.past
        told = f" on your {side}" if rng.random() < manner.side else ""
        verb = rng.choice(("walk past", "go past", "pass"))
        parts.append(f"{verb} the {_name(house, number, manner)}{told}")
    names = {
        "room": house.room_name(stretch.room),
        "to": house.room_name(stretch.to) if stretch.to is not None else "",
        "thing": _name(house, stretch.thing, manner) if stretch.thing is not None else "",
    }
    parts.append(rng.choice(_target(stretch, names["room"], manner, ends=ends)).format(**names))
    if len(parts) == 1:
        return parts[0]
    return f"{', '.join(parts[:-1])} and {parts[-1]}"


def _target(stretch: Stretch, room: str, manner: _Manner, *, ends: bool) -> tuple[str, ...]:
    if stretch.door is not None:
        if ends:
            return WORDS["finish_door"]
        if manner.terse:
            return WORDS["enter"]
        return (
            WORDS["leave"]
            if stretch.start == 0
            else WORDS["along"]
            if room == HALLWAY
            else WORDS["cross"]
        )
    if stretch.thing is not None:
        return WORDS["finish" if ends else "reach"]
    return WORDS["step"]


def _name(house: GeneratedHouse, number: int, manner: _Manner) -> str:
    """The full name, or the kind alone where the house has one of the kind and manners allow."""
    thing = house.things[number]
    alone = sum(other.kind == thing.kind for other in house.things) == 1
    return thing.kind if alone and manner.terse else thing.name


# The dataset itself.

MOST_PATHS = 12
KEPT = 64
"""Houses held in memory at a time; one left out is built again, the same, when asked for."""


LAID_OUT = {12: (12, 60.0), 24: (8, 45.0), 36: (12, 30.0)}
"""Views around a viewpoint -> directions that are told apart, and degrees across each."""


@dataclass(frozen=True)
class HousesSettings:
    """``rooms`` counts the hallway. ``episodes`` are dealt out evenly over the houses.

    ``views`` around a viewpoint, as in NavGPT's Table 2: 24 are told in eight directions of 45
    degrees and 36 in twelve of 30, three elevations together; 12 in twelve that overlap, 60 degrees
    each at one elevation. The houses, paths and instructions stay the same.
    """

    houses: int = 20
    episodes: int = 180
    seed: int = 0
    rooms: int = 9
    views: Literal[12, 24, 36] = 24

    def __post_init__(self) -> None:
        if self.houses < 1 or self.episodes < 1:
            raise UsageError("houses: the settings houses and episodes must be at least 1")
        if not SMALLEST <= self.rooms <= LARGEST:
            raise UsageError(
                f"houses: rooms={self.rooms} must lie between {SMALLEST} and {LARGEST}"
            )
        if self.episodes > self.houses * MOST_PATHS * WORDINGS:
            most = self.houses * MOST_PATHS * WORDINGS
            raise UsageError(
                f"houses: {self.houses} houses have at most {most} episodes; "
                f"ask for fewer than {self.episodes}, or for more houses"
            )


@dataclass(eq=False)
class _Home:
    """A house with what has been worked out of it so far."""

    house: GeneratedHouse
    _source: Iterator[Route]
    _routes: list[Route]

    def route(self, number: int) -> Route:
        self._routes += islice(self._source, max(0, number + 1 - len(self._routes)))
        if number >= len(self._routes):
            raise UsageError(f"{self.house.scene} has only {len(self._routes)} paths")
        return self._routes[number]


class _Percepts(dict[str, Percept]):
    """The percepts of a house, each worded when first looked at."""

    def __init__(self, house: GeneratedHouse, views: int) -> None:
        self._house, self._laid_out = house, LAID_OUT[views]

    def __missing__(self, viewpoint: str) -> Percept:
        if viewpoint not in self._house.graph.index:
            raise KeyError(viewpoint)
        self[viewpoint] = percept(self._house, viewpoint, *self._laid_out)
        return self[viewpoint]


class Houses(SolvableWalks):
    """Generated houses: rooms, doors, viewpoints, furniture, and ways to be told through them.

        >>> houses = Houses("test", None, Houses.Settings(houses=2, episodes=6))
        >>> task = houses.tasks[0]
        >>> len(houses.perceiver().perceive(task.episode.scene, task.reference.path[0]).sectors)
        8

    An episode starts somewhere in a room, facing any of twelve ways, and ends in another room,
    three to six steps on, beside a named thing or in a doorway. A path has three instructions.
    The first episodes of a split lie in different houses. A scene's name says all there is to
    it, so an episode's id means the same for any number of houses and episodes. Test and train
    houses come from different streams.

    The sentences are written from the floor plan, so perception is perfect and the vocabulary
    small: scores here say whether an agent can follow and act, not how it fares in real rooms.
    """

    Settings: ClassVar[type[HousesSettings]] = HousesSettings
    family: ClassVar[Family] = indoor.family
    splits: ClassVar[tuple[str, ...]] = ("test", "train")
    max_steps: ClassVar[int] = 15
    settings: HousesSettings

    def __init__(
        self, split: str = "", folder: Path | None = None, settings: HousesSettings | None = None
    ) -> None:
        super().__init__(split, folder, settings)
        self._home = lru_cache(maxsize=KEPT)(_open)
        views = self.settings.views
        percepts = lru_cache(maxsize=KEPT)(lambda scene: _Percepts(self.house(scene), views))
        name = "symbolic" if self.settings.views == 24 else f"symbolic:{self.settings.views}"
        self._perceiver = SymbolicPerceiver(name, percepts)

    @property
    def tasks(self) -> Sequence[Task]:
        scenes = None if self.settings.houses <= KEPT else self._scene_of
        return DrawnTasks(self.settings.episodes, self.task, self._id, scenes)

    def _scene_of(self, number: int) -> str:
        return self.scene(number % self.settings.houses)

    def _id(self, number: int) -> str:
        path, wording = divmod(number // self.settings.houses, WORDINGS)
        return f"{self._scene_of(number)}_{path}_{wording}"

    def task(self, number: int) -> Task:
        """The task of that number, houses in turn."""
        scene = self._scene_of(number)
        path, wording = divmod(number // self.settings.houses, WORDINGS)
        home = self._home(scene)
        route = home.route(path)
        episode = Episode(
            self._id(number),
            instruct(home.house, route, wording),
            scene,
            {"viewpoint": route.path[0], "heading": route.heading},
        )
        shortest = home.house.graph.distance(route.path[0], route.path[-1])
        return Task(episode, PathReference(episode.id, route.path, shortest))

    def scene(self, number: int) -> str:
        """The name of a house."""
        return scene_name(self.split, self.settings.seed, self.settings.rooms, number)

    def house(self, scene: str) -> GeneratedHouse:
        """The house itself: plan, places, furniture."""
        return self._home(scene).house

    def route(self, scene: str, path: int) -> Route:
        """A path of a house, with what its instructions must say."""
        return self._home(scene).route(path)

    def narrated(self, task: Task) -> Sequence[tuple[int, int]]:
        """For each stretch, the character where its words begin, and the path index of its end."""
        _, path, wording = task.episode.id.rsplit("_", 2)
        home = self._home(task.episode.scene)
        route = home.route(int(path))
        begins = told(home.house, route, int(wording))[1]
        return [(at, part.end) for at, part in zip(begins, route.stretches, strict=True)]

    def graph(self, scene: str) -> ViewpointGraph:
        """The viewpoint graph of a house; positions in metres, eyes 1.5 m above the floor."""
        return self._home(scene).house.graph

    def world(self, episode: Episode) -> IndoorWorld:
        return IndoorWorld(self.graph(episode.scene))

    def perceiver(self) -> SymbolicPerceiver:
        return self._perceiver

    def training(self) -> Training:
        source = self if self.split == "train" else Houses("train", None, self.settings)
        return Training(source, source.tasks)


def _open(scene: str) -> _Home:
    house = build_house(scene)
    return _Home(house, find_routes(house), [])


dataset = Houses
