"""Routes: gold paths, divided into stretches that an instruction must describe.

A stretch ends at a doorway or a piece of furniture that the captions mention along the full
stretch, or else is a single step in an unambiguous direction. The stretches, in order, are
therefore enough to find the goal.
"""

from __future__ import annotations

import math
import random
from collections.abc import Container, Iterator
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

ROUTE_HOPS = range(3, 7)  # steps of a route; a tour of more is made of such legs
SHORTEST = 5.0
"""Minimum length of a route in metres."""

BESIDE = 1.9
"""Maximum distance (metres) of an object "next to" a viewpoint."""
BESIDE_MARGIN = 0.25
"""Minimum lead (metres) of the nearest viewpoint over the next one, so that "next to" is clear."""

PASSING_RANGE = 1.7
"""Maximum distance (metres) from the path to an object that it passes."""

FIRST_STEP_ANGLE = 50.0
"""Maximum angle (degrees) between the first step of a stretch and the direction of its end."""

CLEAR_ANGLE = 20.0
"""Minimum lead (degrees) of a direction over all other edges to be unambiguous."""

TOUR_DISTANCE = 3.0
"""Minimum distance of a tour's goal from its start, in metres: closer counts as success."""
TOUR_DRAWS = 2_000  # failed draws after which a house has no more tours

TURN_ANGLES = {
    "straight": 0.0, "slightly right": 45.0, "right": 90.0, "sharply right": 135.0,
    "around": 180.0, "sharply left": -135.0, "left": -90.0, "slightly left": -45.0,
}  # fmt: skip
"""Turn -> its typical angle in degrees, positive to the right."""
Side = Literal["left", "right"]


@dataclass(frozen=True)
class Stretch:
    """Part of a path from index ``start`` to ``end``, within ``room``.

    ``angle`` is the turn before the first step (degrees, positive to the right). ``door`` and
    ``to``: the doorway it ends in and the room beyond; ``piece``: the furniture it ends next to.
    ``past``: an object on the way, and its side.
    """

    start: int
    end: int
    room: int
    angle: float
    door: int | None = None
    to: int | None = None
    piece: int | None = None
    past: tuple[int, Side] | None = None


@dataclass(frozen=True)
class Route:
    """A path of viewpoints, the initial heading (degrees), and its stretches.

    The stretches follow each other without a gap from the first viewpoint to the last.
    """

    path: tuple[str, ...]
    heading: float
    stretches: tuple[Stretch, ...]


def turn_word(angle: float) -> str:
    """Return the word for a turn: straight up to 25 degrees, slightly to 65, sharply from 115."""
    size = abs(angle)
    side = "right" if angle > 0 else "left"
    if size <= 25.0:
        return "straight"
    if size > 155.0:
        return "around"
    if size <= 65.0:
        return f"slightly {side}"
    if size > 115.0:
        return f"sharply {side}"
    return side


def find_routes(house: GeneratedHouse) -> Iterator[Route]:
    """Yield routes in a fixed order, computed on demand: one per goal, then the remaining pairs.

    A route leads from a place inside a room to a place in another room, far enough away.
    """
    # No route of the most hops is longer than this.
    rng = random.Random(f"routes/{house.scene}")
    places = house.places
    distances = house.graph.distances
    # Too short is no task, too long needs more hops than allowed.
    in_range = (distances >= SHORTEST) & (distances <= LONGEST * ROUTE_HOPS[-1])
    pairs = [
        (places[i].id, places[j].id)
        for i, j in np.argwhere(in_range).tolist()
        # From inside a room, to another room.
        if places[i].door is None and places[i].rooms[0] not in places[j].rooms
    ]
    rng.shuffle(pairs)

    # One route per goal. Pairs put off are drawn later, so that goals vary.
    planner = _Planner(house)
    used_goals = set[str]()
    remaining_pairs: list[tuple[str, str]] = []
    for start, goal in pairs:
        # The heading is drawn for every pair, also for those put off: draws keep their
        # order.
        heading = rng.randrange(12) * 30.0
        if goal in used_goals:
            remaining_pairs.append((start, goal))
        # A goal is used once before any is used twice.
        elif route := planner.route(start, goal, heading):
            used_goals.add(goal)
            yield route
    for start, goal in remaining_pairs:
        if route := planner.route(start, goal, rng.randrange(12) * 30.0):
            yield route


def find_tours(house: GeneratedHouse, hops: int) -> Iterator[Route]:
    """Yield distinct routes of exactly ``hops`` steps, in a fixed order, drawn on demand.

    Ends after ``TOUR_DRAWS`` draws, whatever they gave.
    """
    rng = random.Random(f"tours/{house.scene}/{hops}")
    planner = _Planner(house)
    used: set[tuple[str, ...]] = set()
    for _ in range(TOUR_DRAWS):
        # Distinct paths only: the same walk would be two episodes.
        route = planner.tour(rng, hops)
        if route and route.path not in used:
            used.add(route.path)
            yield route


class _Planner:
    """Divides paths of one house into stretches that an instruction can describe.

    A path without an unambiguous description gives None.
    """

    def __init__(self, house: GeneratedHouse) -> None:
        self.house = house
        # Cached by place: stretches ask for the same places again and again.
        self._names = cache(lambda place: named_furniture(house, place))
        self._doors = cache(
            lambda place: {door.number for door in doors_in_sight(house, place)}
        )

    def route(
        self,
        start: str,
        goal: str,
        heading: float,
    ) -> Route | None:
        """Return the shortest route.

        None if it has no unambiguous description, or if its hops are not in ``ROUTE_HOPS``.
        """
        path = self.house.graph.shortest_path(start, goal)
        if len(path) - 1 not in ROUTE_HOPS:
            return None
        stretches = self._stretches(path, [], heading)
        if not stretches:
            return None
        return Route(tuple(path), heading, tuple(stretches))

    def tour(self, rng: random.Random, hops: int) -> Route | None:
        """Draw a route of exactly ``hops`` steps; None if the draw fails.

        It leads through several rooms if it is longer than any shortest path.
        """
        graph = self.house.graph
        # In a room, not in a doorway, so that the start can be described.
        inside = [p.id for p in self.house.places if p.door is None]
        start = rng.choice(inside)
        heading = rng.randrange(12) * 30.0
        path = [start]
        stretches = list[Stretch]()
        while remaining := hops + 1 - len(path):
            # Legs of a usual length, then one of exactly the remaining hops to a new place.
            leg_lengths: Container[int] = ROUTE_HOPS
            last = remaining <= ROUTE_HOPS[-1]
            if last:
                leg_lengths = (remaining,)
            # All places in random order: the first that can be described is taken.
            for goal in rng.sample(graph.ids, len(graph.ids)):
                leg = graph.shortest_path(path[-1], goal)[1:]
                if len(leg) not in leg_lengths:
                    continue
                # The last leg leads somewhere new, and far enough from the start.
                if last and (
                    goal in path or graph.distance(start, goal) <= TOUR_DISTANCE
                ):
                    continue
                described = self._stretches([*path, *leg], stretches, heading)
                if described:
                    path = [*path, *leg]
                    stretches = described
                    break
            else:
                return None
        return Route(tuple(path), heading, tuple(stretches))

    def _stretches(
        self,
        path: list[str],
        before: list[Stretch],
        heading: float,
    ) -> list[Stretch] | None:
        """Extend the stretches ``before`` to the end of the path.

        ``heading`` (degrees) is that of the start. None if the rest cannot be described
        or ends at nothing that has a name.
        """
        stretches = list(before)
        # Where the last stretch ended.
        at = before[-1].end if before else 0
        while at < len(path) - 1:
            reached = stretches[-1].piece if stretches else None
            facing = heading
            if at:
                # The first stretch turns from the start's heading, later ones from the
                # walk.
                facing = self.house.graph.bearing(path[at - 1], path[at])[0]
            stretch = self._stretch_from(path, at, facing, reached)
            if stretch is None:
                return None
            stretches.append(stretch)
            at = stretch.end
        # A walk that ends at nothing with a name could not say "stop there".
        if stretches[-1].door is None and stretches[-1].piece is None:
            return None
        return stretches

    def _stretch_from(
        self,
        path: list[str],
        at: int,
        facing: float,
        reached: int | None,
    ) -> Stretch | None:
        """Return the longest stretch from index ``at``, up to the next doorway.

        ``facing`` is the heading there (degrees), ``reached`` the piece where the last
        stretch ended. None if no end has a name, and a single step is ambiguous.
        """
        graph = self.house.graph
        places = [self.house.place(viewpoint) for viewpoint in path]
        first = graph.bearing(path[at], path[at + 1])[0]
        # Two neighbors share exactly one room.
        (room,) = {*places[at].rooms} & {*places[at + 1].rooms}
        angle = relative(first, facing)

        # The longest one that ends at something with a name; no stretch passes a doorway.
        doors = [i for i in range(at + 1, len(path)) if places[i].door is not None]
        farthest = doors[0] if doors else len(path) - 1
        for end in range(farthest, at, -1):
            direction = graph.bearing(path[at], path[end])[0]
            # The first step must lead towards the end, or "go to" would mislead.
            if abs(relative(first, direction)) > FIRST_STEP_ANGLE:
                continue
            stretch = Stretch(at, end, room, angle)
            named = self._up_to_door(path, stretch)
            # A doorway is the clearer end, so it is tried first.
            named = named or self._up_to_furniture(path, stretch)
            if named and self._is_direct(path, named):
                past = self._passed_object(path, named, {named.piece, reached})
                return replace(named, past=past)

        # Otherwise a single step in an unambiguous direction.
        turn_angle = TURN_ANGLES[turn_word(angle)]
        offsets = {
            neighbor.viewpoint: abs(relative(neighbor.heading, facing + turn_angle))
            # All other ways out must be clearly farther from the turn's direction.
            for neighbor in graph.neighbors(path[at])
        }
        gold_offset = offsets.pop(path[at + 1])
        is_ambiguous = any(
            other < gold_offset + CLEAR_ANGLE for other in offsets.values()
        )
        if is_ambiguous or places[at + 1].door is not None:
            return None
        return Stretch(at, at + 1, room, angle)

    def _up_to_door(self, path: list[str], stretch: Stretch) -> Stretch | None:
        """Return the stretch if it ends in a doorway that is captioned all along it, else None."""
        door = self.house.place(path[stretch.end]).door
        # A doorway can be followed only if it is in sight all along.
        along = path[stretch.start : stretch.end]
        if door is None or not all(door in self._doors(place) for place in along):
            return None
        room_beyond = self.house.plan.doors[door].other(stretch.room)
        return replace(stretch, door=door, to=room_beyond)

    def _up_to_furniture(self, path: list[str], stretch: Stretch) -> Stretch | None:
        """Return the stretch if it ends next to a piece that is captioned all along it, or None."""
        place = self.house.place(path[stretch.end])
        if place.door is not None:
            return None
        names = [self._names(each) for each in path[stretch.start : stretch.end + 1]]
        # The lowest number of those in sight all along: a fixed choice.
        for number in sorted(frozenset.intersection(*names)):
            piece = self.house.furniture[number]
            nearest, margin = self.house.nearest_place[number]
            beside = math.dist((piece.x, piece.y), (place.x, place.y)) <= BESIDE
            # No other place may be as near, or "next to" would fit two.
            unmistakable = beside and nearest == place.id and margin >= BESIDE_MARGIN
            if piece.room == stretch.room and unmistakable:
                return replace(stretch, piece=number)
        return None

    def _is_direct(self, path: list[str], stretch: Stretch) -> bool:
        """True if at every step the path takes the edge that leads closest to the end.

        So a walker who heads for what is named takes this path.
        """
        end: PlacedFurniture | HousePlace = self.house.place(path[stretch.end])
        if stretch.piece is not None:
            end = self.house.furniture[stretch.piece]

        def distance(viewpoint: str) -> float:
            """Return the straight distance (metres) from a viewpoint to the end."""
            place = self.house.place(viewpoint)
            return math.dist((end.x, end.y), (place.x, place.y))

        adjacent = self.house.graph.adjacent
        steps = range(stretch.start, stretch.end)
        # Greedy: who walks towards what is named, takes this path.
        return all(
            min(adjacent[path[at]], key=distance) == path[at + 1] for at in steps
        )

    def _passed_object(
        self,
        path: list[str],
        stretch: Stretch,
        named: set[int | None],
    ) -> tuple[int, Side] | None:
        """Return the object nearest to the path that is visible at its start and then passed.

        ``named`` are pieces that the instruction names anyway. The side is that of the walker.
        """
        passed: list[tuple[float, int, Side]] = []
        along = path[stretch.start : stretch.end + 1]
        places = [self.house.place(viewpoint) for viewpoint in along]
        steps = list(pairwise([(place.x, place.y) for place in places]))
        for number in self._names(path[stretch.start]) - named:
            # What the instruction names anyway is no landmark on the way.
            piece = self.house.furniture[number]
            if piece.room != stretch.room:
                continue
            for start, end in steps:
                distance, share = project_onto((piece.x, piece.y), start, end)
                # The middle of a step: an object at its ends is "next to" a viewpoint.
                if distance > PASSING_RANGE or not 0.2 <= share <= 0.8:
                    continue
                # The cross product is positive if the object is to the left of the step.
                dx = piece.x - start[0]
                dy = piece.y - start[1]
                leftward = (end[0] - start[0]) * dy - (end[1] - start[1]) * dx
                passed.append((distance, number, "left" if leftward > 0 else "right"))
        # The nearest; of equal ones, the lowest number.
        return min(passed)[1:] if passed else None
