"""What is visible from a viewpoint, direction by direction, before it is put into words.

An instruction may mention only what is listed here, so that nothing it speaks of is hidden from
an agent that reads the captions.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from wayword.core.angles import sector
from wayword.datasets.housing.floorplan import Room
from wayword.datasets.housing.house import House
from wayword.datasets.housing.places import Place, bearing

SECTORS = 8
NEAREST = 3
"""Things of the same room named in one direction; the nearest ones."""

BEYOND, BEYOND_RANGE = 1, 7.0
"""Things named through a doorway, and how far off (metres) they may be."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A thing or a doorway (``number`` in the house's list): heading (degrees), distance (m)."""

    number: int
    heading: float
    distance: float


@dataclass(frozen=True, slots=True)
class Direction:
    """One sector (45 degrees, where there are eight) centred on ``heading``.

    ``things`` and ``doors`` are those of the room one stands in (of both rooms in a doorway),
    ``beyond`` things of other rooms; nearest first. ``room`` is the room this way, None along the
    wall of a doorway; ``depth`` the metres to that room's wall.
    """

    heading: float
    room: int | None
    depth: float
    things: tuple[Seen, ...]
    doors: tuple[Seen, ...]
    beyond: tuple[Seen, ...]


def look_around(house: House, viewpoint: str, sectors: int = SECTORS) -> tuple[Direction, ...]:
    """The directions, clockwise from north."""
    place = house.place(viewpoint)
    things = things_in_sight(house, viewpoint)
    own = [seen for seen in things if house.things[seen.number].room in place.rooms]
    far = [seen for seen in things if house.things[seen.number].room not in place.rooms]
    doors = doors_in_sight(house, viewpoint)
    directions = []
    for number in range(sectors):
        heading = number * 360.0 / sectors
        room = _room_towards(house, place, heading)
        depth = _depth(house.plan.rooms[room], place, heading) if room is not None else 0.0
        directions.append(
            Direction(
                heading,
                room,
                depth,
                _within(own, number, NEAREST, sectors),
                _within(doors, number, len(doors), sectors),
                _within(
                    [seen for seen in far if seen.distance <= BEYOND_RANGE], number, BEYOND, sectors
                ),
            )
        )
    return tuple(directions)


def named_things(house: House, viewpoint: str) -> frozenset[int]:
    """The things that the captions name at a viewpoint."""
    around = look_around(house, viewpoint)
    return frozenset(s.number for d in around for s in (*d.things, *d.beyond))


def things_in_sight(house: House, viewpoint: str) -> list[Seen]:
    """Everything in plain sight, nearest first."""
    spots = [(thing.x, thing.y) for thing in house.things]
    return _in_sight(
        house, viewpoint, house.sees_things[house.graph.index[viewpoint]].tolist(), spots
    )


def doors_in_sight(house: House, viewpoint: str) -> list[Seen]:
    """The doorways of the room one stands in, nearest first; not the one one stands in."""
    place = house.place(viewpoint)
    seen = house.sees_doors[house.graph.index[viewpoint]]
    doors = house.plan.doors
    own = [
        bool(seen[n]) and n != place.door and bool(set(door.rooms) & set(place.rooms))
        for n, door in enumerate(doors)
    ]
    return _in_sight(house, viewpoint, own, [(door.x, door.y) for door in doors])


def leads_to(house: House, place: Place, door: int) -> int:
    """The room that a doorway in sight leads to, as seen from a place."""
    one, other = house.plan.doors[door].rooms
    return other if one in place.rooms else one


def _in_sight(
    house: House, viewpoint: str, seen: Iterable[bool], spots: list[tuple[float, float]]
) -> list[Seen]:
    place = house.place(viewpoint)
    found = [
        Seen(number, *bearing(place.x, place.y, *spot))
        for number, (spot, plain) in enumerate(zip(spots, seen, strict=True))
        if plain
    ]
    return sorted(found, key=lambda each: (each.distance, each.number))


def _within(seen: list[Seen], number: int, most: int, sectors: int) -> tuple[Seen, ...]:
    return tuple([each for each in seen if sector(each.heading, sectors) == number][:most])


def _room_towards(house: House, place: Place, heading: float) -> int | None:
    if place.door is None:
        return place.rooms[0]
    door = house.plan.doors[place.door]
    angle = math.radians(heading)
    step = math.sin(angle) if door.vertical else math.cos(angle)
    if abs(step) < 0.1:
        return None
    here = door.x if door.vertical else door.y
    for number in door.rooms:
        centre = house.plan.rooms[number].centre[0 if door.vertical else 1]
        if (centre - here) * step > 0:
            return number
    return None


def _depth(room: Room, place: Place, heading: float) -> float:
    """Metres to the side of the rectangle that a heading leads to."""
    dx, dy = math.sin(math.radians(heading)), math.cos(math.radians(heading))
    across = (room.x1 - place.x if dx > 0 else room.x0 - place.x) / dx if abs(dx) > 0.1 else 99.0
    up = (room.y1 - place.y if dy > 0 else room.y0 - place.y) / dy if abs(dy) > 0.1 else 99.0
    return min(across, up)
