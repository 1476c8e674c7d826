"""Generated indoor scenes with instructions: the default dataset; needs no data and no API key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from typing import Annotated, Literal

from annotated_types import Ge, Le

from wayword.core.dataset import (
    Clusters,
    DrawnItems,
    DrawnTasks,
    SolvableWalks,
    Task,
    Training,
)
from wayword.core.episode import Episode, PathReference
from wayword.core.errors import UsageError
from wayword.core.perceiver import Percept
from wayword.datasets.procedural.floorplans import HALLWAY, LARGEST, SMALLEST
from wayword.datasets.procedural.houses import routes
from wayword.datasets.procedural.houses.house import (
    GeneratedHouse,
    build_house,
    scene_name,
)
from wayword.datasets.procedural.houses.routes import Route, Stretch
from wayword.datasets.procedural.houses.scene import HousePainter
from wayword.datasets.procedural.houses.views import capitalized, percept
from wayword.datasets.procedural.tables import Table, Wording, choose_sentence
from wayword.perception.recorded import SymbolicPerceiver
from wayword.settings import Checked, Count
from wayword.worlds import indoor
from wayword.worlds.indoor.graph import ViewpointGraph
from wayword.worlds.indoor.world import IndoorWorld

WORDINGS = 3  # instructions per path, as in R2R
WORDS: Mapping[str, tuple[str, ...]] = Table("sentences", "houses")
TURNS: Mapping[str, tuple[str, ...]] = Table("sentences", "houses_turns")
"""Turn -> its wordings."""


@dataclass(frozen=True)
class _Style:
    """Style of an instruction: probabilities of optional parts, and how clauses are joined;
    ``terse`` omits the name of the current room and needless adjectives."""

    past: float
    side: float
    straight: float
    opening: float
    joiners: tuple[str, ...]
    terse: bool


STYLES = (
    _Style(0.2, 0.0, 0.0, 0.0, (". ", ", then "), terse=True),
    _Style(0.5, 0.5, 0.3, 0.0, (". ", ". Then ", ", and then "), terse=False),
    _Style(0.7, 0.7, 0.5, 0.7, (". ", ". After that, ", ". Next, "), terse=False),
)


def write_instruction(
    house: GeneratedHouse,
    route: Route,
    style_number: int,
    wording: Wording = 2,
) -> tuple[str, list[int]]:
    """Write a route's instruction in one of ``WORDINGS`` styles; return it with the character
    offset of each stretch's clause."""
    rng = Random(f"words/{house.scene}/{'-'.join(route.path)}/{style_number}")
    style = STYLES[style_number]
    last_number = len(route.stretches) - 1
    text = ""
    clause_starts = []
    for number, stretch in enumerate(route.stretches):
        is_last = number == last_number
        clause = _write_clause(
            rng,
            house,
            stretch,
            style,
            wording,
            is_last=is_last,
        )
        joiner = ""
        if number:
            joiner = rng.choice(style.joiners)
        if joiner in ("", ". "):  # the beginning of a sentence
            clause = capitalized(clause)
        clause_starts.append(len(text) + len(joiner))
        text += joiner + clause
    opening = ""
    if rng.random() < style.opening:
        first_room = house.room_name(route.stretches[0].room)
        opening = rng.choice(WORDS["openings"]).format(room=first_room)
    return f"{opening}{text}.", [len(opening) + begin for begin in clause_starts]


def _write_clause(
    rng: Random,
    house: GeneratedHouse,
    stretch: Stretch,
    style: _Style,
    wording: Wording,
    *,
    is_last: bool,
) -> str:
    """Write a stretch: the turn, an object on the way, and the end; the first two are optional."""
    parts = []
    room = house.room_name(stretch.room)
    turn = routes.turn_word(stretch.angle)
    # A clause without an end to name must say at least to go straight.
    has_no_target = stretch.door is None and stretch.piece is None
    if turn != "straight" or has_no_target or rng.random() < style.straight:
        parts.append(rng.choice(TURNS[turn]))
    if stretch.past and rng.random() < style.past:
        number, side = stretch.past
        # Drawn before the verb: another order of draws would change the instructions.
        says_side = rng.random() < style.side
        verb = rng.choice(("walk past", "go past", "pass"))
        past = f"{verb} the {_furniture_name(house, number, style)}"
        if says_side:
            past += f" on your {side}"
        parts.append(past)

    kind = _ending_kind(stretch, style, room, is_last)
    slots = {"room": room, "to": "", "thing": ""}
    if stretch.to is not None:
        slots["to"] = house.room_name(stretch.to)
    if stretch.piece is not None:
        slots["thing"] = _furniture_name(house, stretch.piece, style)
    target = choose_sentence(rng, WORDS[kind], wording).format(**slots)
    if not parts:
        return target
    return f"{', '.join(parts)} and {target}"


def _ending_kind(stretch: Stretch, style: _Style, room: str, is_last: bool) -> str:
    """Return the kind of wording for the end of a stretch: a key of ``WORDS``."""
    if stretch.piece is not None:
        return "finish" if is_last else "reach"
    if stretch.door is None:
        return "step"
    if is_last:
        return "finish_door"
    if style.terse:
        return "enter"
    if stretch.start == 0:
        return "leave"
    return "along" if room == HALLWAY else "cross"


def _furniture_name(house: GeneratedHouse, number: int, style: _Style) -> str:
    """Return the full name; in a terse style only the kind, if the house has one of its kind."""
    piece = house.furniture[number]
    is_only_one = sum(other.kind == piece.kind for other in house.furniture) == 1
    return piece.kind if is_only_one and style.terse else piece.name


# The dataset itself.

MOST_PATHS = 12  # per house; every house has at least as many
CACHED = 64  # houses; an evicted one is rebuilt identically on demand
SECTORS = {12: (12, 60.0), 24: (8, 45.0), 36: (12, 30.0)}
"""Number of views -> number of directions described, and the width of each in degrees."""


@dataclass(frozen=True)
class HousesSettings(Checked):
    """``rooms`` includes the hallway. ``episodes`` are spread evenly over the houses.

    ``views`` around a viewpoint, as in NavGPT's Table 2: 24 are described in eight directions of 45
    degrees and 36 in twelve of 30, merging three elevations; 12 in twelve overlapping directions
    of 60 degrees at one elevation. Houses, paths and instructions do not depend on it.

    ``length``: actions per gold path including stop; houses stay the same. Long paths lead through
    several rooms. 0: as generated, 4 to 7. ``wording``: version of the instructions; 1 is that of
    bench 2026, where "the hallway doorway" could lead to the hallway or out of it.
    """

    houses: Count = 20
    episodes: Count = 180
    seed: int = 0
    rooms: Annotated[int, Ge(SMALLEST), Le(LARGEST)] = 9
    views: Literal[12, 24, 36] = 24
    length: Literal[0] | Annotated[int, Ge(2), Le(128)] = 0
    wording: Wording = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.episodes > (limit := self.houses * MOST_PATHS * WORDINGS):
            problem = f"episodes must be at most {limit:,} in {self.houses:,} houses"
            raise UsageError(
                f"{problem}, got {self.episodes:,}; lower it or raise houses"
            )


class _CachedHouse:
    """A house and the paths generated so far."""

    def __init__(self, scene: str, length: int) -> None:
        self.house = build_house(scene)
        if length:
            found = routes.find_tours(self.house, length - 1)
        else:
            found = routes.find_routes(self.house)
        self._routes = DrawnItems(found)

    def route(self, number: int) -> Route:
        """Return a route of the house by number. Raises ``UsageError`` if the house has
        too few."""
        route = self._routes.get(number)
        if route is None:
            problem = f"{self.house.scene} has no {number + 1} paths"
            raise UsageError(f"{problem}; lower dataset.episodes")
        return route


class _Percepts(dict[str, Percept]):
    """Percepts of a house by viewpoint, generated on first access."""

    def __init__(self, house: GeneratedHouse, views: int) -> None:
        self._house = house
        self._sectors = SECTORS[views]

    def __missing__(self, viewpoint: str) -> Percept:
        if viewpoint not in self._house.graph.index:
            raise KeyError(viewpoint)
        self[viewpoint] = percept(self._house, viewpoint, *self._sectors)
        return self[viewpoint]


class Houses(SolvableWalks):
    """Generated houses: rooms, doors, viewpoints, furniture, and routes described through them.

        >>> houses = Houses("test", None, Houses.Settings(houses=2, episodes=6))
        >>> task = houses.tasks[0]
        >>> len(houses.perceiver().perceive(task.episode.scene, task.reference.path[0]).sectors)
        8

    An episode starts in a room, facing one of twelve directions, and ends three to six steps
    later in another room, next to a named object or in a doorway. Each path has three instructions.
    An episode id means the same for any number of houses and episodes.

    Instructions are generated from the floor plan, so perception is perfect and the vocabulary
    small: scores show whether an agent can follow and act, not how it performs in real rooms.
    """

    Settings = HousesSettings
    family = indoor.family
    clusters = Clusters("path", r"(.+)_\d+")
    splits = ("test", "train")
    max_steps = 15
    settings: HousesSettings

    def open(self) -> None:
        """Prepare caches: a house is drawn once and shared by its episodes."""
        length = self.settings.length
        self._cached_house = lru_cache(maxsize=CACHED)(
            lambda scene: _CachedHouse(scene, length)
        )
        views = self.settings.views
        percepts = lru_cache(maxsize=CACHED)(
            lambda scene: _Percepts(self.house(scene), views)
        )
        if self.settings.views == 24:
            name = "symbolic"
        else:
            name = f"symbolic:{self.settings.views}"
        self._perceiver = SymbolicPerceiver(name, percepts)
        self._painter = HousePainter(self.house)

    @property
    def tasks(self) -> Sequence[Task]:
        """Tasks of the split, drawn on demand; those of one house are grouped if not
        all fit the cache."""
        scenes = None if self.settings.houses <= CACHED else self._scene_of
        return DrawnTasks(
            self.settings.episodes,
            self.task,
            self._id,
            scenes,
        )

    def _scene_of(self, number: int) -> str:
        """Return the house of an episode's number."""
        return self.scene(number % self.settings.houses)

    def _path_and_wording(self, number: int) -> tuple[int, int]:
        """Return path and wording of an episode; with ``length``, a path has one wording only."""
        turn = number // self.settings.houses
        if self.settings.length:
            return (turn, number % WORDINGS)
        return divmod(turn, WORDINGS)

    def _id(self, number: int) -> str:
        """Return an episode's id: house, length, path and wording."""
        path, wording = self._path_and_wording(number)
        length = f"_l{self.settings.length}" if self.settings.length else ""
        return f"{self._scene_of(number)}{length}_{path}_{wording}"

    def task(self, number: int) -> Task:
        """Return the task of a number: paths are spread evenly over the houses."""
        scene = self._scene_of(number)
        path, wording = self._path_and_wording(number)
        home = self._cached_house(scene)
        route = home.route(path)
        text, _ = self._write(home.house, route, wording)
        start = {"viewpoint": route.path[0], "heading": route.heading}
        episode = Episode(
            self._id(number),
            text,
            scene,
            start,
            extra=self.budget(),
        )
        shortest = home.house.graph.distance(route.path[0], route.path[-1])
        return Task(episode, PathReference(episode.id, route.path, shortest))

    def _write(
        self, house: GeneratedHouse, route: Route, style_number: int
    ) -> tuple[str, list[int]]:
        """Return the instruction of a route, in one of the styles."""
        return write_instruction(
            house,
            route,
            style_number,
            self.settings.wording,
        )

    def scene(self, number: int) -> str:
        """Return the name of a house, from which it is drawn."""
        return scene_name(self.split, self.settings.seed, self.settings.rooms, number)

    def house(self, scene: str) -> GeneratedHouse:
        """Return a generated house; cached."""
        return self._cached_house(scene).house

    def route(self, scene: str, path: int) -> Route:
        """Return a path of a house, with the facts its instructions must state."""
        return self._cached_house(scene).route(path)

    def narrated(self, task: Task) -> Sequence[tuple[int, int]]:
        """Return, for each stretch, the offset of its clause and the path index of its end."""
        _, path, wording = task.episode.id.rsplit("_", 2)
        home = self._cached_house(task.episode.scene)
        route = home.route(int(path))
        _, starts = self._write(home.house, route, int(wording))
        return [
            (at, part.end) for at, part in zip(starts, route.stretches, strict=True)
        ]

    def graph(self, scene: str) -> ViewpointGraph:
        """Return the viewpoint graph of a house."""
        return self._cached_house(scene).house.graph

    def world(self, episode: Episode) -> IndoorWorld:
        """Return a walk on the graph of the episode's house."""
        return IndoorWorld(self.graph(episode.scene))

    def perceiver(self) -> SymbolicPerceiver:
        """Return percepts from the ground truth of the houses."""
        return self._perceiver

    def painter(self) -> HousePainter:
        """Return the painter of schematic views."""
        return self._painter

    def training(self) -> Training:
        """Return tasks to learn from: houses of the train split, whose seeds no test
        split has."""
        source = self if self.split == "train" else Houses("train", None, self.settings)
        return Training(source, source.tasks)


dataset = Houses
