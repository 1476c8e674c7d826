"""Routes: gold paths, cut into the stretches that an instruction must describe.

A route is cut into stretches. A stretch ends at a doorway or a piece of furniture that is named
in the captions all along the stretch, or else goes one step on in a direction that only one
edge leads in. So the stretches, in order, suffice to find the goal.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from typing import Literal

import numpy as np

from wayword.core.geometry import relative
from wayword.datasets.procedural.houses.house import (
    LONGEST,
    GeneratedHouse,
    HousePlace,
    PlacedFurniture,
    project_onto,
)
from wayword.datasets.procedural.houses.views import doors_in_sight, named_furniture

ROUTE_HOPS = range(3, 7)
SHORTEST = 5.0
"""No route is shorter than this, in metres."""

BESIDE, BESIDE_MARGIN = 1.9, 0.25
"""A place is next to an object within this many metres, nearer by a margin than any other place."""

PASSING_RANGE = 1.7
"""An object is passed when it is this near the path (metres), before its last fifth."""

FIRST_STEP_ANGLE = 50.0
"""The first step of a stretch leads at most this many degrees away from the stretch's end."""

CLEAR_ANGLE = 20.0
"""A bare direction counts when every other edge is this many degrees further off."""

TOUR_DISTANCE = 3.0
"""Metres that a tour's goal is from its start at least, as nearer is as good as the goal."""
TOUR_DRAWS = 2_000  # draws after which a house has no more tours

Turn = Literal[
    "straight", "slightly right", "right", "sharply right", "around",
    "sharply left", "left", "slightly left",
]  # fmt: skip
TURN_ANGLES: dict[Turn, float] = {
    "straight": 0.0, "slightly right": 45.0, "right": 90.0, "sharply right": 135.0,
    "around": 180.0, "sharply left": -135.0, "left": -90.0, "slightly left": -45.0,
}  # fmt: skip
"""The angle that a turn word stands for, degrees, right positive."""


Side = Literal["left", "right"]


@dataclass(frozen=True, slots=True)
class Stretch:
    """Places ``start`` to ``end`` of a path, walked in ``room``.

    ``angle`` is the turn before the first step (degrees, right positive). ``door`` and ``to`` name
    the doorway it ends in and the room behind it, ``piece`` what it ends next to; where all are
    None it is one step straight on after the turn. ``past`` is an object on the way and its side.
    """

    start: int
    end: int
    room: int
    angle: float
    door: int | None = None
    to: int | None = None
    piece: int | None = None
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
    """Routes in a fixed order, computed on demand; all goals once, then again.

    A route leads from a place inside a room to one in no room of its, far enough away.
    """
    rng, places = random.Random(f"routes/{house.scene}"), house.places
    away = house.graph.distances
    pairs = [
        (places[i].id, places[j].id)
        for i, j in np.argwhere((away >= SHORTEST) & (away <= LONGEST * ROUTE_HOPS[-1])).tolist()
        if places[i].door is None and places[i].rooms[0] not in places[j].rooms
    ]
    rng.shuffle(pairs)
    planner = _Planner(house)
    used_goals: set[str] = set()
    remaining_pairs: list[tuple[str, str]] = []
    for start, goal in pairs:
        heading = rng.randrange(12) * 30.0
        if goal in used_goals:
            remaining_pairs.append((start, goal))
            continue
        route = planner.route(start, goal, heading)
        if route:
            used_goals.add(goal)
            yield route
    for start, goal in remaining_pairs:
        route = planner.route(start, goal, rng.randrange(12) * 30.0)
        if route:
            yield route


def find_tours(house: GeneratedHouse, hops: int) -> Iterator[Route]:
    """Routes of exactly that many steps in a fixed order, drawn on demand, none twice."""
    rng, planner = random.Random(f"tours/{house.scene}/{hops}"), _Planner(house)
    used: set[tuple[str, ...]] = set()
    for _ in range(TOUR_DRAWS):
        route = planner.tour(rng, hops)
        if route and route.path not in used:
            used.add(route.path)
            yield route


class _Planner:
    """Cuts paths of one house into stretches."""

    def __init__(self, house: GeneratedHouse) -> None:
        self.house = house
        self._names = cache(lambda viewpoint: named_furniture(house, viewpoint))
        self._doors = cache(
            lambda viewpoint: {door.number for door in doors_in_sight(house, viewpoint)}
        )

    def route(self, start: str, goal: str, heading: float) -> Route | None:
        """The route, or None where it cannot be described without doubt."""
        path = self.house.graph.shortest_path(start, goal)
        if len(path) - 1 not in ROUTE_HOPS:
            return None
        stretches = self._stretches(path, [], heading)
        return Route(tuple(path), heading, tuple(stretches)) if stretches else None

    def tour(self, rng: random.Random, hops: int) -> Route | None:
        """A route of exactly that many steps, by way of places in other rooms where no shortest
        path is so long; None where the draw leads nowhere sensible."""
        graph, inside = self.house.graph, [p.id for p in self.house.places if p.door is None]
        start, heading = rng.choice(inside), rng.randrange(12) * 30.0
        path, stretches = [start], list[Stretch]()
        while remaining := hops + 1 - len(path):
            for goal in rng.sample(graph.ids, len(graph.ids)):
                leg = graph.shortest_path(path[-1], goal)[1:]
                last = remaining <= ROUTE_HOPS[-1]
                if len(leg) != remaining if last else len(leg) not in ROUTE_HOPS:
                    continue
                if last and (goal in path or graph.distance(start, goal) <= TOUR_DISTANCE):
                    continue
                described = self._stretches([*path, *leg], stretches, heading)
                if described:
                    path, stretches = [*path, *leg], described
                    break
            else:
                return None
        return Route(tuple(path), heading, tuple(stretches))

    def _stretches(
        self, path: list[str], before: list[Stretch], heading: float
    ) -> list[Stretch] | None:
        """The stretches of a path whose first ones are known; None where the rest cannot be
        described, or does not end at something that has a name."""
        stretches, at = list(before), before[-1].end if before else 0
        while at < len(path) - 1:
            reached = stretches[-1].piece if stretches else None
            facing = self.house.graph.bearing(path[at - 1], path[at])[0] if at else heading
            stretch = self._stretch_from(path, at, facing, reached)
            if stretch is None:
                return None
            stretches.append(stretch)
            at = stretch.end
        return None if stretches[-1].door is None and stretches[-1].piece is None else stretches

    def _stretch_from(
        self, path: list[str], at: int, facing: float, reached: int | None
    ) -> Stretch | None:
        """The longest stretch from here, up to the next doorway; ``reached`` is the piece that the
        last one ended next to."""
        graph, places = self.house.graph, [self.house.place(each) for each in path]
        doors = [i for i in range(at + 1, len(path)) if places[i].door is not None]
        first = graph.bearing(path[at], path[at + 1])[0]
        (room,) = {*places[at].rooms} & {*places[at + 1].rooms}
        angle = relative(first, facing)
        for end in range(doors[0] if doors else len(path) - 1, at, -1):
            if abs(relative(first, graph.bearing(path[at], path[end])[0])) > FIRST_STEP_ANGLE:
                continue
            stretch = Stretch(at, end, room, angle)
            full = self._up_to_door(path, stretch) or self._up_to_furniture(path, stretch)
            if full and self._is_direct(path, full):
                return replace(full, past=self._passed_object(path, full, {full.piece, reached}))
        # One step on, in a direction that only one edge leads in.
        turn_angle = TURN_ANGLES[turn_word(angle)]
        offsets = {
            neighbor.viewpoint: abs(relative(neighbor.heading, facing + turn_angle))
            for neighbor in graph.neighbors(path[at])
        }
        gold_offset = offsets.pop(path[at + 1])
        is_ambiguous = any(other < gold_offset + CLEAR_ANGLE for other in offsets.values())
        if is_ambiguous or places[at + 1].door is not None:
            return None
        return Stretch(at, at + 1, room, angle)

    def _up_to_door(self, path: list[str], stretch: Stretch) -> Stretch | None:
        """The stretch, if it ends in a doorway that the captions name all along it."""
        door = self.house.place(path[stretch.end]).door
        along = path[stretch.start : stretch.end]
        if door is None or not all(door in self._doors(each) for each in along):
            return None
        return replace(stretch, door=door, to=self.house.plan.doors[door].other(stretch.room))

    def _up_to_furniture(self, path: list[str], stretch: Stretch) -> Stretch | None:
        """The stretch, if it ends next to an object that the captions name all along it."""
        place = self.house.place(path[stretch.end])
        if place.door is not None:
            return None
        names = [self._names(each) for each in path[stretch.start : stretch.end + 1]]
        for number in sorted(frozenset.intersection(*names)):
            piece = self.house.furniture[number]
            nearest, margin = self.house.nearest_place[number]
            beside = math.dist((piece.x, piece.y), (place.x, place.y)) <= BESIDE
            unmistakable = beside and nearest == place.id and margin >= BESIDE_MARGIN
            if piece.room == stretch.room and unmistakable:
                return replace(stretch, piece=number)
        return None

    def _is_direct(self, path: list[str], stretch: Stretch) -> bool:
        """True if, at every step, no other edge leads nearer to where the stretch ends."""
        graph = self.house.graph
        end: PlacedFurniture | HousePlace = self.house.place(path[stretch.end])
        if stretch.piece is not None:
            end = self.house.furniture[stretch.piece]
        for at in range(stretch.start, stretch.end):
            distances = {
                neighbor: math.dist(
                    (end.x, end.y), graph.positions[graph.index[neighbor]][:2].tolist()
                )
                for neighbor in graph.adjacent[path[at]]
            }
            if min(distances, key=lambda near: distances[near]) != path[at + 1]:
                return False
        return True

    def _passed_object(
        self, path: list[str], stretch: Stretch, named: set[int | None]
    ) -> tuple[int, Side] | None:
        """The object nearest the path that is in sight at its start and then falls behind."""
        passed: list[tuple[float, int, Side]] = []
        steps = [self.house.place(each) for each in path[stretch.start : stretch.end + 1]]
        for number in self._names(path[stretch.start]) - named:
            piece = self.house.furniture[number]
            for one, other in pairwise(steps) if piece.room == stretch.room else ():
                distance, share = project_onto(
                    (piece.x, piece.y), (one.x, one.y), (other.x, other.y)
                )
                offset_x, offset_y = piece.x - one.x, piece.y - one.y
                leftward = (other.x - one.x) * offset_y - (other.y - one.y) * offset_x
                if distance <= PASSING_RANGE and 0.2 <= share <= 0.8:
                    passed.append((distance, number, "left" if leftward > 0 else "right"))
        return min(passed)[1:] if passed else None
