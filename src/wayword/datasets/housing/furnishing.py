"""Furniture, set along the walls where nobody walks."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass

from wayword.datasets.housing.catalogue import FURNITURE, LOOKS
from wayword.datasets.housing.floorplan import Door, FloorPlan, Room
from wayword.datasets.housing.places import Place
from wayword.datasets.housing.programme import HALLWAY
from wayword.worlds.viewpoints import ViewpointGraph

OFF_WALL = 0.3
APART, DOOR_CLEARANCE, PLACE_CLEARANCE, WAY_CLEARANCE = 0.85, 0.5, 0.6, 0.4
TRIES = 25

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Thing:
    """A piece of furniture at a point (metres); ``name`` is used once in a house."""

    name: str
    kind: str
    x: float
    y: float
    room: int


@dataclass(frozen=True, slots=True)
class _Floor:
    """What furniture must keep clear of in one room."""

    room: Room
    doors: list[Door]
    places: list[Point]
    ways: list[tuple[Point, Point]]


def furnish(
    rng: random.Random, plan: FloorPlan, places: tuple[Place, ...], graph: ViewpointGraph
) -> tuple[Thing, ...]:
    """Things for every room, clear of doors, places and ways, each with a name of its own."""
    things: list[Thing] = []
    taken: set[str] = set()
    for number, room in enumerate(plan.rooms):
        floor = _floor(number, plan, places, graph)
        spots: list[Point] = []
        for kind in FURNITURE[room.name][: _amount(room)]:
            free = [f"{look} {kind}" for look in LOOKS[kind] if f"{look} {kind}" not in taken]
            spot = _free_spot(rng, floor, spots) if free else None
            if spot:
                name = rng.choice(free)
                taken.add(name)
                spots.append(spot)
                things.append(Thing(name, kind, *spot, number))
    return tuple(things)


def _amount(room: Room) -> int:
    if room.name == HALLWAY:
        return round(max(room.x1 - room.x0, room.y1 - room.y0) / 1.3)
    return max(3, min(9, round(room.area / 2.2)))


def _floor(
    number: int, plan: FloorPlan, places: tuple[Place, ...], graph: ViewpointGraph
) -> _Floor:
    inside = {place.id: (place.x, place.y) for place in places if number in place.rooms}
    ways = [
        (inside[a], inside[b]) for a in inside for b in graph.neighbours[a] if b in inside and a < b
    ]
    doors = [door for door in plan.doors if number in door.rooms]
    return _Floor(plan.rooms[number], doors, list(inside.values()), ways)


def _free_spot(rng: random.Random, floor: _Floor, spots: list[Point]) -> Point | None:
    for _ in range(TRIES):
        spot = _along_walls(rng, floor.room)
        if _is_free(floor, spots, spot):
            return spot
    return None


def _along_walls(rng: random.Random, room: Room) -> Point:
    x0, y0, x1, y1 = room.x0 + OFF_WALL, room.y0 + OFF_WALL, room.x1 - OFF_WALL, room.y1 - OFF_WALL
    wide, high = x1 - x0, y1 - y0
    at = rng.uniform(0.0, 2 * (wide + high))
    if at < 2 * wide:
        x, y = x0 + at % wide, (y0 if at < wide else y1)
    else:
        at -= 2 * wide
        x, y = (x0 if at < high else x1), y0 + at % high
    return round(x, 2), round(y, 2)


def _is_free(floor: _Floor, spots: list[Point], spot: Point) -> bool:
    return (
        all(math.dist(spot, other) >= APART for other in spots)
        and all(math.dist(spot, (d.x, d.y)) >= d.width / 2 + DOOR_CLEARANCE for d in floor.doors)
        and all(math.dist(spot, place) >= PLACE_CLEARANCE for place in floor.places)
        and all(from_line(spot, *way)[0] >= WAY_CLEARANCE for way in floor.ways)
    )


def from_line(spot: Point, start: Point, end: Point) -> tuple[float, float]:
    """Distance (metres) of a spot from a stretch, and how far along its foot lies (0 to 1)."""
    dx, dy = end[0] - start[0], end[1] - start[1]
    square = dx * dx + dy * dy
    share = ((spot[0] - start[0]) * dx + (spot[1] - start[1]) * dy) / square if square else 0.0
    share = min(1.0, max(0.0, share))
    return math.dist(spot, (start[0] + share * dx, start[1] + share * dy)), share
