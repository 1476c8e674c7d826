"""Routes: gold paths, and what an instruction must say about each stretch of one.

A route is cut into stretches. A stretch ends at a doorway or a piece of furniture that is named
in the captions all along the stretch, or else goes one step on in a direction that only one
way leads in. So the stretches, in order, suffice to find the goal.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from wayword.core.geometry import relative
from wayword.datasets.procedural.houses.house import LONGEST, GeneratedHouse, from_line
from wayword.datasets.procedural.houses.views import doors_in_sight, named_things

HOPS = range(3, 7)
SHORTEST = 5.0
"""No route is shorter than this, in metres."""

BESIDE, MARGIN = 1.9, 0.25
"""A place is beside a thing within so many metres, nearer by a margin than any other place."""

PASSING = 1.7
"""A thing is passed when it lies this near the way (metres), before its last fifth."""

ASIDE = 50.0
"""The first step of a stretch leads at most so many degrees away from the stretch's end."""

CLEAR = 20.0
"""A bare direction counts when every other way is so many degrees further off."""

Turn = Literal[
    "straight", "slightly right", "right", "sharply right", "around",
    "sharply left", "left", "slightly left",
]  # fmt: skip
NOMINAL: dict[Turn, float] = {
    "straight": 0.0, "slightly right": 45.0, "right": 90.0, "sharply right": 135.0,
    "around": 180.0, "sharply left": -135.0, "left": -90.0, "slightly left": -45.0,
}  # fmt: skip
"""The angle that a turn word stands for, degrees, right positive."""


Side = Literal["left", "right"]


@dataclass(frozen=True, slots=True)
class Stretch:
    """Places ``start`` to ``end`` of a path, walked in ``room``.

    ``angle`` is the turn before the first step (degrees, right positive). ``door`` and ``to`` name
    the doorway it ends in and the room behind it, ``thing`` what it ends beside; where all are
    None it is one step straight on after the turn. ``past`` is a thing on the way and its side.
    """

    start: int
    end: int
    room: int
    angle: float
    door: int | None = None
    to: int | None = None
    thing: int | None = None
    past: tuple[int, Side] | None = None


@dataclass(frozen=True, slots=True)
class Route:
    """A shortest path, the heading one starts with (degrees), and its stretches."""

    path: tuple[str, ...]
    heading: float
    stretches: tuple[Stretch, ...]


def turn_word(angle: float) -> Turn:
    """The word for a turn: straight within 25 degrees, slightly to 65, sharply from 115 to 155."""
    size, side = abs(angle), "right" if angle > 0 else "left"
    if size <= 25.0:
        return "straight"
    if size > 155.0:
        return "around"
    kind = "slightly " if size <= 65.0 else "sharply " if size > 115.0 else ""
    return f"{kind}{side}"  # type: ignore[return-value]


def find_routes(house: GeneratedHouse) -> Iterator[Route]:
    """Routes in a fixed order, worked out as they are asked for; all goals once, then again."""
    rng = random.Random(f"routes/{house.scene}")
    pairs = _far_apart(house)
    rng.shuffle(pairs)
    planner = _Planner(house)
    used: set[str] = set()
    left: list[tuple[str, str]] = []
    for start, goal in pairs:
        heading = rng.randrange(12) * 30.0
        if goal in used:
            left.append((start, goal))
            continue
        route = planner.route(start, goal, heading)
        if route:
            used.add(goal)
            yield route
    for start, goal in left:
        route = planner.route(start, goal, rng.randrange(12) * 30.0)
        if route:
            yield route


def _far_apart(house: GeneratedHouse) -> list[tuple[str, str]]:
    """Pairs of a place inside a room and one in no room of its, far enough for a route."""
    away, found = house.graph.distances, []
    longest = LONGEST * HOPS[-1]
    for i, j in np.argwhere((away >= SHORTEST) & (away <= longest)).tolist():
        start, goal = house.places[i], house.places[j]
        if start.door is None and start.rooms[0] not in goal.rooms:
            found.append((start.id, goal.id))
    return found


class _Planner:
    """Cuts paths of one house into stretches."""

    def __init__(self, house: GeneratedHouse) -> None:
        self.house = house
        self._named: dict[str, frozenset[int]] = {}
        self._offered: dict[str, frozenset[int]] = {}

    def route(self, start: str, goal: str, heading: float) -> Route | None:
        """The route, or None where it cannot be told without doubt."""
        path = self.house.graph.shortest_path(start, goal)
        if len(path) - 1 not in HOPS:
            return None
        stretches: list[Stretch] = []
        here, facing = 0, heading
        while here < len(path) - 1:
            reached = stretches[-1].thing if stretches else None
            stretch = self._next(path, here, facing, reached)
            if stretch is None:
                return None
            stretches.append(stretch)
            facing = self.house.graph.bearing(path[stretch.end - 1], path[stretch.end])[0]
            here = stretch.end
        if stretches[-1].door is None and stretches[-1].thing is None:
            return None
        return Route(tuple(path), heading, tuple(stretches))

    def _next(
        self, path: list[str], here: int, facing: float, reached: int | None
    ) -> Stretch | None:
        doors = [i for i in range(here + 1, len(path)) if self._door(path[i]) is not None]
        limit = doors[0] if doors else len(path) - 1
        angle = relative(self.house.graph.bearing(path[here], path[here + 1])[0], facing)
        for end in range(limit, here, -1):
            if not self._leads_there(path, here, end):
                continue
            found = self._to_door(path, here, end, angle) or self._to_thing(path, here, end, angle)
            if found and self._is_direct(path, found):
                past = self._past(path, here, end, {found.thing, reached})
                return replace(found, past=past)
        return self._ahead(path, here, facing, angle)

    def _door(self, viewpoint: str) -> int | None:
        return self.house.place(viewpoint).door

    def _room(self, path: list[str], here: int) -> int:
        (room,) = set(self.house.place(path[here]).rooms) & set(
            self.house.place(path[here + 1]).rooms
        )
        return room

    def _leads_there(self, path: list[str], here: int, end: int) -> bool:
        graph = self.house.graph
        first, whole = (graph.bearing(path[here], path[i])[0] for i in (here + 1, end))
        return abs(relative(first, whole)) <= ASIDE

    def _is_direct(self, path: list[str], stretch: Stretch) -> bool:
        """Whether, at every step, no other way leads nearer to where the stretch ends."""
        graph = self.house.graph
        if stretch.thing is not None:
            thing = self.house.things[stretch.thing]
            spot = thing.x, thing.y
        else:
            end = self.house.place(path[stretch.end])
            spot = end.x, end.y
        for here in range(stretch.start, stretch.end):
            left = {
                near: math.dist(spot, graph.positions[graph.index[near]][:2].tolist())
                for near in graph.neighbours[path[here]]
            }
            if min(left, key=lambda near: left[near]) != path[here + 1]:
                return False
        return True

    def _to_door(self, path: list[str], here: int, end: int, angle: float) -> Stretch | None:
        door, room = self._door(path[end]), self._room(path, here)
        if door is None or not all(self._offers(each, door) for each in path[here:end]):
            return None
        to = self.house.plan.doors[door].other(room)
        return Stretch(here, end, room, angle, door=door, to=to)

    def _to_thing(self, path: list[str], here: int, end: int, angle: float) -> Stretch | None:
        if self._door(path[end]) is not None:
            return None
        place, room = self.house.place(path[end]), self._room(path, here)
        names = [self._names(each) for each in path[here : end + 1]]
        for number in sorted(frozenset.intersection(*names)):
            thing = self.house.things[number]
            nearest, margin = self.house.nearest_place[number]
            near = math.dist((thing.x, thing.y), (place.x, place.y)) <= BESIDE
            if thing.room == room and nearest == path[end] and margin >= MARGIN and near:
                return Stretch(here, end, room, angle, thing=number)
        return None

    def _ahead(self, path: list[str], here: int, facing: float, angle: float) -> Stretch | None:
        nominal = NOMINAL[turn_word(angle)]
        off = {
            way.viewpoint: abs(relative(way.heading, facing + nominal))
            for way in self.house.graph.neighbors(path[here])
        }
        gold = off.pop(path[here + 1])
        if any(other < gold + CLEAR for other in off.values()):
            return None
        room = self._room(path, here)
        if self._door(path[here + 1]) is not None:
            return None
        return Stretch(here, here + 1, room, angle)

    def _past(
        self, path: list[str], here: int, end: int, told: set[int | None]
    ) -> tuple[int, Side] | None:
        """The thing nearest the way that is in sight at its start and then falls behind."""
        room, found = self._room(path, here), []
        for number in sorted(self._names(path[here]) - told):
            if self.house.things[number].room == room:
                pairs = zip(path[here:end], path[here + 1 : end + 1], strict=True)
                found += [self._passing(number, a, b) for a, b in pairs]
        passed = sorted(each for each in found if each[0] <= PASSING)
        return passed[0][1:] if passed else None

    def _passing(self, number: int, start: str, end: str) -> tuple[float, int, Side]:
        """How near (metres) a step passes a thing, and the thing's side; inf if not midway."""
        thing, one, other = (
            self.house.things[number],
            self.house.place(start),
            self.house.place(end),
        )
        away, share = from_line((thing.x, thing.y), (one.x, one.y), (other.x, other.y))
        across, along = thing.x - one.x, thing.y - one.y
        leftward = (other.x - one.x) * along - (other.y - one.y) * across
        near = away if 0.2 <= share <= 0.8 else math.inf
        return near, number, "left" if leftward > 0 else "right"

    def _offers(self, viewpoint: str, door: int) -> bool:
        """Whether the captions name a doorway at a viewpoint."""
        if viewpoint not in self._offered:
            seen = doors_in_sight(self.house, viewpoint)
            self._offered[viewpoint] = frozenset(each.number for each in seen)
        return door in self._offered[viewpoint]

    def _names(self, viewpoint: str) -> frozenset[int]:
        if viewpoint not in self._named:
            self._named[viewpoint] = named_things(self.house, viewpoint)
        return self._named[viewpoint]
