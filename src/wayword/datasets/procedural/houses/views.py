"""Views from a viewpoint, by direction, and their captions: all that instructions mention."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from wayword.core.geometry import bearing, relative, sector
from wayword.core.perceiver import Percept, Sector, Sighting
from wayword.datasets.procedural.floorplans import PlanDoor, PlanRoom
from wayword.datasets.procedural.houses.house import (
    GeneratedHouse,
    HousePlace,
    PlacedFurniture,
)
from wayword.datasets.procedural.tables import Table, join_words, with_article

SECTORS = 8  # as in NavGPT's recorded observations
MOST_NAMED = 3
"""Maximum number of pieces captioned per direction within the room; the nearest ones."""

MOST_BEYOND, BEYOND_RANGE = 1, 7.0
"""Maximum number of pieces captioned through a doorway, and their maximum distance (metres)."""


@dataclass(frozen=True, slots=True)
class ItemInSight:
    """A piece or doorway (``number``: its index in the house): heading (degrees), distance (m)."""

    number: int
    heading: float
    distance: float


@dataclass(frozen=True, slots=True)
class ViewSector:
    """A sector centered on ``heading`` (45 degrees wide if there are eight).

    ``furniture`` and ``doors`` belong to the viewpoint's room (both rooms in a doorway),
    ``beyond`` to other rooms; nearest first. ``room``: the room ahead, None along the wall of a
    doorway; ``depth``: distance to that room's wall, metres.
    """

    heading: float
    room: int | None
    depth: float
    furniture: tuple[ItemInSight, ...]
    doors: tuple[ItemInSight, ...]
    beyond: tuple[ItemInSight, ...]


def look_around(
    house: GeneratedHouse, viewpoint: str, sectors: int = SECTORS, width: float = 0.0
) -> tuple[ViewSector, ...]:
    """Return the sectors, clockwise from north; they overlap if ``width`` (degrees) exceeds 360 /
    ``sectors``."""
    place = house.place(viewpoint)
    sector_width = 360.0 / sectors
    in_sight = furniture_in_sight(house, viewpoint)
    doors = doors_in_sight(house, viewpoint)
    near_items = [
        item for item in in_sight if house.furniture[item.number].room in place.rooms
    ]
    beyond = [
        item
        for item in in_sight
        if item not in near_items and item.distance <= BEYOND_RANGE
    ]
    directions = []
    for number in range(sectors):
        heading = number * 360.0 / sectors
        room = _room_towards(house, place, heading)
        pieces, exits, seen_beyond = (
            tuple(
                each
                for each in group
                if sector(each.heading, sectors) == number
                or abs(relative(each.heading, number * sector_width)) < width / 2
            )
            for group in (near_items, doors, beyond)
        )
        if room is not None:
            depth = _depth(house.plan.rooms[room], place, heading)
        else:
            depth = 0.0
        directions.append(
            ViewSector(
                heading,
                room,
                depth,
                pieces[:MOST_NAMED],
                exits,
                seen_beyond[:MOST_BEYOND],
            )
        )
    return tuple(directions)


def named_furniture(house: GeneratedHouse, viewpoint: str) -> frozenset[int]:
    """Return indices of the furniture mentioned in a viewpoint's captions."""
    around = look_around(house, viewpoint)
    return frozenset(s.number for d in around for s in (*d.furniture, *d.beyond))


def furniture_in_sight(house: GeneratedHouse, viewpoint: str) -> list[ItemInSight]:
    """Return all visible furniture, nearest first."""
    numbers = np.flatnonzero(
        house.sees_furniture[house.graph.index[viewpoint]]
    ).tolist()
    return _nearest_first(
        house.place(viewpoint), {n: house.furniture[n] for n in numbers}
    )


def doors_in_sight(house: GeneratedHouse, viewpoint: str) -> list[ItemInSight]:
    """Return the room's visible doorways, nearest first, except the viewpoint's own."""
    place = house.place(viewpoint)
    numbers = np.flatnonzero(house.sees_doors[house.graph.index[viewpoint]]).tolist()
    doors = {n: house.plan.doors[n] for n in numbers if n != place.door}
    inside = {n: door for n, door in doors.items() if {*door.rooms} & {*place.rooms}}
    return _nearest_first(place, inside)


def _nearest_first(
    place: HousePlace, visible: Mapping[int, PlacedFurniture | PlanDoor]
) -> list[ItemInSight]:
    eye = place.x, place.y
    items = [
        ItemInSight(
            number, bearing(eye, (each.x, each.y)), math.dist(eye, (each.x, each.y))
        )
        for number, each in visible.items()
    ]
    return sorted(items, key=lambda each: (each.distance, each.number))


def _room_towards(
    house: GeneratedHouse, place: HousePlace, heading: float
) -> int | None:
    """Return the room in the direction of a heading; None along the wall of a doorway."""
    if place.door is None:
        return place.rooms[0]
    door = house.plan.doors[place.door]
    angle = math.radians(heading)
    step = math.sin(angle) if door.vertical else math.cos(angle)
    if abs(step) < 0.1:
        return None
    at = door.x if door.vertical else door.y
    for number in door.rooms:
        center = house.plan.rooms[number].center[0 if door.vertical else 1]
        if (center - at) * step > 0:
            return number
    return None


def _depth(room: PlanRoom, place: HousePlace, heading: float) -> float:
    dx = math.sin(math.radians(heading))
    dy = math.cos(math.radians(heading))
    if abs(dx) > 0.1:
        across = (room.x1 - place.x if dx > 0 else room.x0 - place.x) / dx
    else:
        across = 99.0
    if abs(dy) > 0.1:
        up = (room.y1 - place.y if dy > 0 else room.y0 - place.y) / dy
    else:
        up = 99.0
    return min(across, up)


# Views as sentences: several wordings, chosen by a seed from the viewpoint's name.

WORDS: Mapping[str, tuple[str, ...]] = Table("sentences", "views")
SIGHTING_RANGE = 3.0
"""Maximum distance of sightings in metres, as in NavGPT's recorded observations."""

OPEN_FLOOR = 3.0
"""Beyond this distance (metres) a bare wall is captioned as open floor."""


def percept(
    house: GeneratedHouse, viewpoint: str, sectors: int = SECTORS, width: float = 0.0
) -> Percept:
    """Return the percept of a viewpoint: sectors, sightings within 3 m, and a summary.

    A sighting belongs to the nearest direction even if views overlap.
    """
    rng = random.Random(f"caption/{house.scene}/{viewpoint}")
    place = house.place(viewpoint)
    doors = doors_in_sight(house, viewpoint)
    named = [
        (house.furniture[one.number].name, one)
        for one in furniture_in_sight(house, viewpoint)
    ]
    named += [
        (f"doorway to the {_room_behind(house, place, item)}", item) for item in doors
    ]
    named.sort(key=lambda pair: (pair[1].distance, pair[0]))
    sightings = [
        Sighting(name, round(item.heading, 2) % 360.0, round(item.distance, 2))
        for name, item in named
        if item.distance <= SIGHTING_RANGE
    ]
    parts = tuple(
        Sector(
            direction.heading,
            width or 360.0 / sectors,
            _caption(rng, house, place, direction),
            tuple(
                each for each in sightings if sector(each.heading, sectors) == number
            ),
        )
        for number, direction in enumerate(
            look_around(house, viewpoint, sectors, width)
        )
    )
    return Percept(parts, _summary(rng, house, place))


def _room_behind(house: GeneratedHouse, place: HousePlace, door: ItemInSight) -> str:
    one, other = house.plan.doors[door.number].rooms
    return house.room_name(other if one in place.rooms else one)


def _caption(
    rng: random.Random, house: GeneratedHouse, place: HousePlace, direction: ViewSector
) -> str:
    pieces = [house.furniture[item.number].name for item in direction.furniture]
    doors = [_room_behind(house, place, item) for item in direction.doors]
    if pieces or doors:
        kind = "both" if pieces and doors else "things" if pieces else "doors"
    elif direction.room is None:
        kind = "frame"
    elif place.door is not None:
        kind = "into"
    else:
        kind = "space" if direction.depth > OPEN_FLOOR else "wall"
    options = WORDS[kind]
    room = ""
    if direction.room is None:
        options = tuple(each for each in options if "{room}" not in each)
    else:
        room = house.room_name(direction.room)
    caption = _fill_pattern(rng.choice(options), pieces, doors, room)
    for item in direction.beyond:
        piece = house.furniture[item.number]
        pattern = rng.choice(WORDS["beyond_door"])
        caption += _fill_pattern(pattern, [piece.name], [], house.room_name(piece.room))
    return caption


def _fill_pattern(pattern: str, pieces: list[str], doors: list[str], room: str) -> str:
    several = len(pieces) > 1 or (not pieces and len(doors) > 1)
    if several:
        words = {"be": "are", "stand": "stand"}
    else:
        words = {"be": "is", "stand": "stands"}
    words["things"] = join_words([with_article(name) for name in pieces])
    words["doors"] = doorway_words(doors)
    starts = {name.title(): capitalized(words[name]) for name in ("things", "doors")}
    return pattern.format(room=room, **words, **starts)


def _summary(rng: random.Random, house: GeneratedHouse, place: HousePlace) -> str:
    if place.door is not None:
        one, other = (house.room_name(number) for number in place.rooms)
        return rng.choice(WORDS["between"]).format(one=one, other=other)
    in_sight = [
        house.furniture[item.number] for item in furniture_in_sight(house, place.id)
    ]
    pieces = [
        with_article(piece.name) for piece in in_sight if piece.room in place.rooms
    ]
    doors = [
        _room_behind(house, place, item) for item in doors_in_sight(house, place.id)[:3]
    ]
    return rng.choice(WORDS["inside"]).format(
        room=house.room_name(place.rooms[0]),
        near=f", near {join_words(pieces[:2])}" if pieces else "",
        doors=f", with {doorway_words(doors)}" if doors else "",
    )


def doorway_words(rooms: list[str]) -> str:
    """Return ``doorways to the kitchen and the office`` for ``["kitchen", "office"]``."""
    word = "a doorway" if len(rooms) == 1 else "doorways"
    return f"{word} to {join_words([f'the {name}' for name in rooms])}"


def capitalized(words: str) -> str:
    """Return the text with its first letter capitalized."""
    return words[:1].upper() + words[1:]
