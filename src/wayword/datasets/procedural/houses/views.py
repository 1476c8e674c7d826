"""What is visible from a viewpoint, direction by direction, before it is put into words.

An instruction may mention only what is listed here, so that nothing it speaks of is hidden from
an agent that reads the captions.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from wayword.core.geometry import relative, sector
from wayword.core.perceiver import Percept, Sector, Sighting
from wayword.datasets.procedural.floorplans import PlanRoom
from wayword.datasets.procedural.houses.house import (
    GeneratedHouse,
    HousePlace,
    heading_and_distance,
)
from wayword.datasets.procedural.tables import Table

SECTORS = 8
NEAREST = 3
"""Things of the same room named in one direction; the nearest ones."""

BEYOND, BEYOND_RANGE = 1, 7.0
"""Things named through a doorway, and how far off (metres) they may be."""


@dataclass(frozen=True, slots=True)
class ThingInSight:
    """A thing or a doorway (``number`` in the house's list): heading (degrees), distance (m)."""

    number: int
    heading: float
    distance: float


@dataclass(frozen=True, slots=True)
class ViewSector:
    """One sector (45 degrees, where there are eight) centred on ``heading``.

    ``things`` and ``doors`` are those of the room one stands in (of both rooms in a doorway),
    ``beyond`` things of other rooms; nearest first. ``room`` is the room this way, None along the
    wall of a doorway; ``depth`` the metres to that room's wall.
    """

    heading: float
    room: int | None
    depth: float
    things: tuple[ThingInSight, ...]
    doors: tuple[ThingInSight, ...]
    beyond: tuple[ThingInSight, ...]


def look_around(
    house: GeneratedHouse, viewpoint: str, sectors: int = SECTORS, width: float = 0.0
) -> tuple[ViewSector, ...]:
    """The directions, clockwise from north; views of ``width`` degrees overlap where it is more
    than a direction's share of the circle."""
    place = house.place(viewpoint)
    things = things_in_sight(house, viewpoint)
    own = [seen for seen in things if house.things[seen.number].room in place.rooms]
    far = [seen for seen in things if house.things[seen.number].room not in place.rooms]
    beyond = [seen for seen in far if seen.distance <= BEYOND_RANGE]
    doors = doors_in_sight(house, viewpoint)
    directions = []
    for number in range(sectors):
        heading = number * 360.0 / sectors
        room = _room_towards(house, place, heading)
        depth = _depth(house.plan.rooms[room], place, heading) if room is not None else 0.0
        directions.append(
            ViewSector(
                heading,
                room,
                depth,
                _within(own, number, NEAREST, sectors, width),
                _within(doors, number, len(doors), sectors, width),
                _within(beyond, number, BEYOND, sectors, width),
            )
        )
    return tuple(directions)


def named_things(house: GeneratedHouse, viewpoint: str) -> frozenset[int]:
    """The things that the captions name at a viewpoint."""
    around = look_around(house, viewpoint)
    return frozenset(s.number for d in around for s in (*d.things, *d.beyond))


def things_in_sight(house: GeneratedHouse, viewpoint: str) -> list[ThingInSight]:
    """Everything in plain sight, nearest first."""
    spots = [(thing.x, thing.y) for thing in house.things]
    return _in_sight(
        house, viewpoint, house.sees_things[house.graph.index[viewpoint]].tolist(), spots
    )


def doors_in_sight(house: GeneratedHouse, viewpoint: str) -> list[ThingInSight]:
    """The doorways of the room one stands in, nearest first; not the one one stands in."""
    place = house.place(viewpoint)
    seen = house.sees_doors[house.graph.index[viewpoint]]
    doors = house.plan.doors
    own = [
        bool(seen[n]) and n != place.door and bool(set(door.rooms) & set(place.rooms))
        for n, door in enumerate(doors)
    ]
    return _in_sight(house, viewpoint, own, [(door.x, door.y) for door in doors])


def leads_to(house: GeneratedHouse, place: HousePlace, door: int) -> int:
    """The room that a doorway in sight leads to, as seen from a place."""
    one, other = house.plan.doors[door].rooms
    return other if one in place.rooms else one


def _in_sight(
    house: GeneratedHouse, viewpoint: str, seen: Iterable[bool], spots: list[tuple[float, float]]
) -> list[ThingInSight]:
    place = house.place(viewpoint)
    found = [
        ThingInSight(number, *heading_and_distance(place.x, place.y, *spot))
        for number, (spot, plain) in enumerate(zip(spots, seen, strict=True))
        if plain
    ]
    return sorted(found, key=lambda each: (each.distance, each.number))


def _within(
    seen: list[ThingInSight], number: int, most: int, sectors: int, width: float
) -> tuple[ThingInSight, ...]:
    share = 360.0 / sectors
    inside = [
        each
        for each in seen
        if sector(each.heading, sectors) == number
        or abs(relative(each.heading, number * share)) < width / 2
    ]
    return tuple(inside[:most])


def _room_towards(house: GeneratedHouse, place: HousePlace, heading: float) -> int | None:
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


def _depth(room: PlanRoom, place: HousePlace, heading: float) -> float:
    """Metres to the side of the rectangle that a heading leads to."""
    dx, dy = math.sin(math.radians(heading)), math.cos(math.radians(heading))
    across = (room.x1 - place.x if dx > 0 else room.x0 - place.x) / dx if abs(dx) > 0.1 else 99.0
    up = (room.y1 - place.y if dy > 0 else room.y0 - place.y) / dy if abs(dy) > 0.1 else 99.0
    return min(across, up)


# Views as sentences: the percept of a viewpoint, worded several ways, seeded by its name.

WORDS: Mapping[str, tuple[str, ...]] = Table("sentences", "views")
WITHIN = 3.0
"""Sightings reach this far, in metres, as in NavGPT's recorded observations."""

FAR = 3.0
"""Where nothing stands, a wall further off than this (metres) is called open floor."""


def percept(
    house: GeneratedHouse, viewpoint: str, sectors: int = SECTORS, width: float = 0.0
) -> Percept:
    """What there is around a viewpoint: its sectors, sightings within 3 m, and a summary.

    A sighting is told in the direction that is nearest to it, also where views overlap.
    """
    rng = random.Random(f"caption/{house.scene}/{viewpoint}")
    place = house.place(viewpoint)
    near = _sightings(house, place)
    parts = tuple(
        Sector(
            direction.heading,
            width or 360.0 / sectors,
            _caption(rng, house, place, direction),
            tuple(each for each in near if sector(each.heading, sectors) == number),
        )
        for number, direction in enumerate(look_around(house, viewpoint, sectors, width))
    )
    return Percept(parts, _summary(rng, house, place))


def _sightings(house: GeneratedHouse, place: HousePlace) -> list[Sighting]:
    found = [
        (house.things[seen.number].name, seen) for seen in things_in_sight(house, place.id)
    ] + [
        (f"doorway to the {house.room_name(leads_to(house, place, seen.number))}", seen)
        for seen in doors_in_sight(house, place.id)
    ]
    near = [(name, seen) for name, seen in found if seen.distance <= WITHIN]
    near.sort(key=lambda pair: (pair[1].distance, pair[0]))
    return [
        Sighting(name, round(seen.heading, 2) % 360.0, round(seen.distance, 2))
        for name, seen in near
    ]


def _caption(
    rng: random.Random, house: GeneratedHouse, place: HousePlace, direction: ViewSector
) -> str:
    things = [house.things[seen.number].name for seen in direction.things]
    doors = [house.room_name(leads_to(house, place, seen.number)) for seen in direction.doors]
    options: tuple[str, ...]
    if things or doors:
        options = (
            WORDS["both"] if things and doors else WORDS["things"] if things else WORDS["doors"]
        )
    elif direction.room is None:
        options = WORDS["frame"]
    elif place.door is not None:
        options = WORDS["into"]
    else:
        options = WORDS["space"] if direction.depth > FAR else WORDS["wall"]
    if direction.room is None:
        options = tuple(each for each in options if "{room}" not in each)
    room = "" if direction.room is None else house.room_name(direction.room)
    said = _fill(rng.choice(options), things, doors, room)
    for seen in direction.beyond:
        thing = house.things[seen.number]
        said += _fill(
            rng.choice(WORDS["beyond_door"]), [thing.name], [], house.room_name(thing.room)
        )
    return said


def _fill(pattern: str, things: list[str], doors: list[str], room: str) -> str:
    told = listed([with_article(name) for name in things])
    ways = doorways(doors)
    several = len(things) > 1 or (not things and len(doors) > 1)
    return pattern.format(
        things=told,
        Things=capital(told),
        doors=ways,
        Doors=capital(ways),
        room=room,
        be="are" if several else "is",
        stand="stand" if several else "stands",
    )


def _summary(rng: random.Random, house: GeneratedHouse, place: HousePlace) -> str:
    if place.door is not None:
        one, other = (house.room_name(number) for number in place.rooms)
        return rng.choice(WORDS["between"]).format(one=one, other=other)
    things = [
        house.things[seen.number].name
        for seen in things_in_sight(house, place.id)
        if house.things[seen.number].room in place.rooms
    ]
    doors = [
        house.room_name(leads_to(house, place, seen.number))
        for seen in doors_in_sight(house, place.id)[:3]
    ]
    near = f", near {listed([with_article(name) for name in things[:2]])}" if things else ""
    ways = f", with {doorways(doors)}" if doors else ""
    return rng.choice(WORDS["inside"]).format(
        room=house.room_name(place.rooms[0]), near=near, doors=ways
    )


def doorways(rooms: list[str]) -> str:
    """``doorways(["kitchen", "office"])`` is ``doorways to the kitchen and the office``."""
    word = "a doorway" if len(rooms) == 1 else "doorways"
    return f"{word} to {listed([f'the {name}' for name in rooms])}"


def with_article(name: str) -> str:
    """``with_article("oak bench")`` is ``an oak bench``."""
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


def listed(words: list[str]) -> str:
    """``listed(["a", "b", "c"])`` is ``a, b and c``."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def capital(words: str) -> str:
    """The words with a capital first letter."""
    return words[:1].upper() + words[1:]
