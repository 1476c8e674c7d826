"""Views from a viewpoint, by direction, and their captions: all that instructions mention."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from wayword.core.geometry import bearing, relative, sector
from wayword.core.perceiver import Percept, Sector, Sighting
from wayword.core.visible import join_words, with_article
from wayword.datasets.procedural.floorplans import PlanDoor, PlanRoom
from wayword.datasets.procedural.houses.house import (
    GeneratedHouse,
    HousePlace,
    PlacedFurniture,
)
from wayword.datasets.procedural.tables import Table

SECTORS = 8  # as in NavGPT's recorded observations
MOST_NAMED = 3
"""Maximum number of pieces captioned per direction within the room; the nearest ones."""

MOST_BEYOND = 1
"""Maximum number of pieces captioned through a doorway."""
BEYOND_RANGE = 7.0
"""Maximum distance of a piece captioned through a doorway, in metres."""


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
    house: GeneratedHouse,
    viewpoint: str,
    sectors: int = SECTORS,
    width: float = 0.0,
) -> tuple[ViewSector, ...]:
    """Return the sectors of what a viewpoint shows, clockwise from north.

    They overlap if ``width`` (degrees) exceeds 360 / ``sectors``. Furniture of the room
    comes first; through doorways only near pieces are listed.
    """
    place = house.place(viewpoint)
    doors = doors_in_sight(house, viewpoint)
    pieces = furniture_in_sight(house, viewpoint)
    # The room's own pieces come first; through doorways only near ones are named.
    inside = [
        item for item in pieces if house.furniture[item.number].room in place.rooms
    ]
    beyond = [
        item for item in pieces if item not in inside and item.distance <= BEYOND_RANGE
    ]
    directions = []
    for number in range(sectors):
        heading = number * 360.0 / sectors
        room = _room_towards(house, place, heading)
        # Along the wall of a doorway there is nothing to see.
        depth = 0.0
        if room is not None:
            depth = _depth(house.plan.rooms[room], place, heading)
        direction = ViewSector(
            heading,
            room,
            depth,
            _in_sector(inside, number, sectors, width)[:MOST_NAMED],
            _in_sector(doors, number, sectors, width),
            _in_sector(beyond, number, sectors, width)[:MOST_BEYOND],
        )
        directions.append(direction)
    return tuple(directions)


def _in_sector(
    items: list[ItemInSight],
    number: int,
    sectors: int,
    width: float,
) -> tuple[ItemInSight, ...]:
    """Return the items in a sector, or in its overlap with others, in the same order.

    ``width`` in degrees; 0 for sectors that do not overlap.
    """
    # Sectors that overlap share their items.
    center = number * (360.0 / sectors)
    return tuple(
        item
        for item in items
        if sector(item.heading, sectors) == number
        or abs(relative(item.heading, center)) < width / 2
    )


def named_furniture(house: GeneratedHouse, viewpoint: str) -> frozenset[int]:
    """Return indices of the furniture mentioned in a viewpoint's captions."""
    numbers = set[int]()
    for direction in look_around(house, viewpoint):
        numbers.update(item.number for item in direction.furniture)
        numbers.update(item.number for item in direction.beyond)
    return frozenset(numbers)


def furniture_in_sight(house: GeneratedHouse, viewpoint: str) -> list[ItemInSight]:
    """Return all visible furniture of all rooms, nearest first."""
    # Visibility was computed once for the full house.
    numbers = np.flatnonzero(
        house.sees_furniture[house.graph.index[viewpoint]]
    ).tolist()
    return _nearest_first(
        house.place(viewpoint),
        {n: house.furniture[n] for n in numbers},
    )


def doors_in_sight(house: GeneratedHouse, viewpoint: str) -> list[ItemInSight]:
    """Return the room's visible doorways, nearest first, except the viewpoint's own."""
    place = house.place(viewpoint)
    numbers = np.flatnonzero(house.sees_doors[house.graph.index[viewpoint]]).tolist()
    doors = {n: house.plan.doors[n] for n in numbers if n != place.door}
    # Only doorways of the viewpoint's own rooms.
    inside = {n: door for n, door in doors.items() if {*door.rooms} & {*place.rooms}}
    return _nearest_first(place, inside)


def _nearest_first(
    place: HousePlace,
    visible: Mapping[int, PlacedFurniture | PlanDoor],
) -> list[ItemInSight]:
    """Return the visible targets with heading (degrees) and distance (metres), nearest first."""
    eye = (place.x, place.y)
    items = []
    for number, target in visible.items():
        point = (target.x, target.y)
        items.append(ItemInSight(number, bearing(eye, point), math.dist(eye, point)))
    # By number where distances are equal.
    return sorted(items, key=lambda item: (item.distance, item.number))


def _room_towards(
    house: GeneratedHouse,
    place: HousePlace,
    heading: float,
) -> int | None:
    """Return the number of the room in the direction of a heading (degrees).

    None along the wall of a doorway.
    """
    if place.door is None:
        return place.rooms[0]
    # The axis that crosses the doorway's wall: x for a wall from north to south.
    door = house.plan.doors[place.door]
    angle = math.radians(heading)
    axis = 1
    step = math.cos(angle)
    position = door.y
    if door.vertical:
        axis = 0
        step = math.sin(angle)
        position = door.x
    if abs(step) < PARALLEL:
        return None
    for number in door.rooms:
        # The room on that side of the wall.
        if (house.plan.rooms[number].center[axis] - position) * step > 0:
            return number
    return None


def _depth(room: PlanRoom, place: HousePlace, heading: float) -> float:
    """Return the distance to a room's wall in the direction of a heading, in metres."""
    # The nearer of the two walls ahead.
    dx = math.sin(math.radians(heading))
    dy = math.cos(math.radians(heading))
    across = _distance_to_wall(place.x, dx, room.x0, room.x1)
    up = _distance_to_wall(place.y, dy, room.y0, room.y1)
    return min(across, up)


def _distance_to_wall(start: float, step: float, low: float, high: float) -> float:
    """Return the distance to a wall at ``low`` or ``high`` along one axis (metres).

    ``step`` is the sine of the angle to that wall, signed by direction; 99 along the wall.
    """
    if abs(step) <= PARALLEL:
        # Farther than any wall of a house.
        return 99.0
    wall = high if step > 0 else low
    return (wall - start) / step


PARALLEL = 0.1
"""Directions with a smaller sine of the angle to a wall count as parallel to it."""


# Views as sentences: several wordings, chosen by a seed from the viewpoint's name.

WORDS: Mapping[str, tuple[str, ...]] = Table("sentences", "views")
SIGHTING_RANGE = 3.0
"""Maximum distance of sightings in metres, as in NavGPT's recorded observations."""

OPEN_FLOOR = 3.0
"""Beyond this distance (metres) a bare wall is captioned as open floor."""


def percept(
    house: GeneratedHouse,
    viewpoint: str,
    sectors: int = SECTORS,
    width: float = 0.0,
) -> Percept:
    """Return the percept of a viewpoint: sectors, sightings within 3 m, and a summary.

    A sighting belongs to the nearest direction even if views overlap. The same house,
    viewpoint and sectors give the same words.
    """
    place = house.place(viewpoint)

    # Sightings: furniture and doorways, nearest first.
    named = [
        (house.furniture[item.number].name, item)
        for item in furniture_in_sight(house, viewpoint)
    ]
    named += [
        (f"doorway to the {_room_behind(house, place, item)}", item)
        for item in doors_in_sight(house, viewpoint)
    ]
    # By distance, then by name, whatever kind they are.
    named.sort(key=lambda pair: (pair[1].distance, pair[0]))
    sightings: list[list[Sighting]] = [[] for _ in range(sectors)]
    for name, item in named:
        # Farther sightings are captioned, not listed.
        if item.distance <= SIGHTING_RANGE:
            heading = round(item.heading, 2) % 360.0
            sighting = Sighting(name, heading, round(item.distance, 2))
            sightings[sector(heading, sectors)].append(sighting)

    # Captions, then the summary: all wordings are drawn from one generator, in this order.
    rng = random.Random(f"caption/{house.scene}/{viewpoint}")
    sector_width = width or 360.0 / sectors
    parts = []
    for number, direction in enumerate(look_around(house, viewpoint, sectors, width)):
        caption = _caption(rng, house, place, direction)
        in_sector = tuple(sightings[number])
        parts.append(Sector(direction.heading, sector_width, caption, in_sector))
    return Percept(tuple(parts), _summary(rng, house, place))


def _room_behind(house: GeneratedHouse, place: HousePlace, door: ItemInSight) -> str:
    """Return the name of the room behind a door, as seen from a place."""
    one, other = house.plan.doors[door.number].rooms
    return house.room_name(other if one in place.rooms else one)


def _caption(
    rng: random.Random,
    house: GeneratedHouse,
    place: HousePlace,
    direction: ViewSector,
) -> str:
    """Word a direction: its furniture and doorways, else the room or wall ahead.

    Draws once for the sentence, and once for each piece behind a doorway.
    """
    pieces = [house.furniture[item.number].name for item in direction.furniture]
    doors = [_room_behind(house, place, item) for item in direction.doors]
    # Pieces and doorways, one of them, or neither; then what the room shows.
    if pieces and doors:
        kind = "both"
    elif pieces:
        kind = "things"
    elif doors:
        kind = "doors"
    elif direction.room is None:
        kind = "frame"
    elif place.door is not None:
        kind = "into"
    elif direction.depth > OPEN_FLOOR:
        kind = "space"
    else:
        kind = "wall"
    options = WORDS[kind]
    room = ""
    # Without a room, no wording may name one.
    if direction.room is None:
        options = tuple(pattern for pattern in options if "{room}" not in pattern)
    else:
        room = house.room_name(direction.room)
    caption = _fill_pattern(rng.choice(options), pieces, doors, room)
    # One sentence more for each piece behind a doorway.
    for item in direction.beyond:
        piece = house.furniture[item.number]
        pattern = rng.choice(WORDS["beyond_door"])
        caption += _fill_pattern(pattern, [piece.name], [], house.room_name(piece.room))
    return caption


def _fill_pattern(pattern: str, pieces: list[str], doors: list[str], room: str) -> str:
    """Fill a sentence: the verb agrees with the number of pieces, or of doorways without pieces."""
    # The verb agrees with the pieces, or with the doorways if there are no pieces.
    words = {"be": "is", "stand": "stands"}
    if len(pieces or doors) > 1:
        words = {"be": "are", "stand": "stand"}
    words["things"] = join_words([with_article(name) for name in pieces])
    words["doors"] = doorway_words(doors)
    # The same words with a capital, for the start of a sentence.
    starts = {name.title(): capitalized(words[name]) for name in ("things", "doors")}
    return pattern.format(room=room, **words, **starts)


def _summary(rng: random.Random, house: GeneratedHouse, place: HousePlace) -> str:
    """Return one sentence for the full place: its room, nearest pieces and doorways.

    For a doorway it names the two rooms.
    """
    if place.door is not None:
        one, other = (house.room_name(number) for number in place.rooms)
        return rng.choice(WORDS["between"]).format(one=one, other=other)
    # The two nearest pieces and the three nearest doorways of the room.
    near = ""
    in_sight = furniture_in_sight(house, place.id)
    pieces = [house.furniture[item.number] for item in in_sight]
    names = [with_article(piece.name) for piece in pieces if piece.room in place.rooms]
    if names:
        # Two pieces and three doorways: one sentence stays readable.
        near = f", near {join_words(names[:2])}"
    doors = ""
    doorways = doors_in_sight(house, place.id)[:3]
    rooms = [_room_behind(house, place, item) for item in doorways]
    if rooms:
        doors = f", with {doorway_words(rooms)}"
    room = house.room_name(place.rooms[0])
    return rng.choice(WORDS["inside"]).format(room=room, near=near, doors=doors)


def doorway_words(rooms: list[str]) -> str:
    """Return ``doorways to the kitchen and the office`` for ``["kitchen", "office"]``."""
    word = "a doorway" if len(rooms) == 1 else "doorways"
    return f"{word} to {join_words([f'the {name}' for name in rooms])}"


def capitalized(words: str) -> str:
    """Return the text with its first letter capitalized."""
    return words[:1].upper() + words[1:]
