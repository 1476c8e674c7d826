"""Kinds of furniture, their parts, and the rooms they belong in.

Types are AI2-THOR's, so generated homes and imported rooms use the same names. Units are metres.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass

from wayword.core.episode import JsonObject
from wayword.core.geometry import Box, box_around
from wayword.datasets.procedural.floorplans import (
    FloorPlan,
    PlanDoor,
    PlanRoom,
    kind_of,
)
from wayword.datasets.procedural.tables import Table, Tables
from wayword.worlds.household.scene import Preposition


@dataclass(frozen=True)
class Part:
    """An object built into or standing on a piece of furniture.

    ``along`` (right) and ``deep`` (front) are offsets from the center as fractions of the piece's
    half extents. ``stands``: it is on top, like any object. ``controls``: it switches the previous
    part.
    """

    kind: str
    along: float
    deep: float
    bottom: float
    stands: bool = False
    controls: bool = False


@dataclass(frozen=True)
class FurnitureKind:
    """A kind of furniture: extents along the wall, off the wall and up, and its affordances.

    ``free`` pieces stand away from walls. ``capacity``: maximum number of objects, 0 for any.
    """

    width: float
    depth: float
    height: float
    receptacle: Preposition = ""
    affordances: tuple[str, ...] = ()
    accepts: tuple[str, ...] = ()
    capacity: int = 0
    parts: tuple[Part, ...] = ()
    free: bool = False


def _kind(row: JsonObject, tables: Tables) -> FurnitureKind:
    """Convert a row of the table to a kind of furniture."""
    rest = {**row, "parts": tuple(Part(**part) for part in row.get("parts", ()))}
    return FurnitureKind(*rest.pop("size"), **rest)


FURNITURE_KINDS: Mapping[str, FurnitureKind] = Table("furniture", "kinds", _kind)
FURNITURE: Mapping[str, tuple[tuple[str, float], ...]] = Table("furniture", "rooms")
"""Room -> pieces and their probabilities, most important first."""


# Furniture placed along the walls and in the middle of rooms, with a path left to each piece.

FRONT = 0.75
"""Clearance in front of a piece, and around a free-standing one, in metres."""
THRESHOLD = 0.9
"""Clearance on either side of a doorway, in metres."""
OFF_WALL = 0.03  # metres: a piece flush with the wall would be hidden by it
TRIES = 60  # positions tried before a piece is omitted

SIDES = ((0, 1), (1, 0), (0, -1), (-1, 0))


@dataclass(frozen=True)
class FurniturePiece:
    """A piece of furniture with its center and extents (x and y) in metres.

    ``front`` is the direction it faces, ``room`` the index of its room in the plan.
    """

    kind: str
    x: float
    y: float
    width: float
    depth: float
    front: tuple[int, int]
    room: int

    @property
    def box(self) -> Box:
        """Sides of the piece in the plan, metres."""
        return box_around(self.x, self.y, self.width, self.depth)

    def at(self, along: float, deep: float) -> tuple[float, float]:
        """Return a point, given as fractions of the half extents to the right and to the front."""
        fx, fy = self.front
        # Rotated: for a piece that faces north, right is east.
        x = along * fy + deep * fx
        y = -along * fx + deep * fy
        point_x = self.x + x * self.width / 2
        point_y = self.y + y * self.depth / 2
        return round(point_x, 4), round(point_y, 4)


def furnish(rng: random.Random, plan: FloorPlan) -> list[FurniturePiece]:
    """Furnish every room, important pieces first; pieces that do not fit are omitted."""
    pieces: list[FurniturePiece] = []
    for number, room in enumerate(plan.rooms):
        boxes: list[Box] = []
        clear_boxes = [threshold(door) for door in plan.doors if number in door.rooms]
        for kind, chance in FURNITURE[kind_of(room.name)]:
            if rng.random() < chance:
                piece = find_place(rng, kind, number, room, boxes, clear_boxes)
                if piece is not None:
                    boxes.append(piece.box)
                    clear_boxes.append(front_of(piece))
                    pieces.append(piece)
    return pieces


def find_place(
    rng: random.Random,
    kind: str,
    number: int,
    room: PlanRoom,
    taken: list[Box],
    clear: list[Box],
) -> FurniturePiece | None:
    """Try random positions; return the first whose box and front are free, or None.

    ``number`` is the room's index in its plan. ``taken`` are boxes of pieces in the room, ``clear``
    areas to keep free, of doors and in front of pieces. All lengths are metres.
    """
    spec = FURNITURE_KINDS[kind]
    for _ in range(TRIES):
        front = rng.choice(SIDES)
        width = spec.width
        depth = spec.depth
        if front[0]:  # it faces east or west, so its sides are swapped
            width, depth = depth, width

        # Anywhere in the room, or with its back against a wall. The order of the sums matters:
        # another one would round differently, and generated homes would change.
        x = rng.uniform(room.x0 + width / 2 + OFF_WALL, room.x1 - width / 2 - OFF_WALL)
        y = rng.uniform(room.y0 + depth / 2 + OFF_WALL, room.y1 - depth / 2 - OFF_WALL)
        if not spec.free:
            if front[0] > 0:
                x = room.x0 + OFF_WALL + width / 2
            elif front[0] < 0:
                x = room.x1 - OFF_WALL - width / 2
            elif front[1] > 0:
                y = room.y0 + OFF_WALL + depth / 2
            else:
                y = room.y1 - OFF_WALL - depth / 2
        piece = FurniturePiece(
            kind,
            round(x, 2),
            round(y, 2),
            width,
            depth,
            front,
            number,
        )

        # The box within the walls and clear of everything, the front clear of other boxes.
        west, south, east, north = piece.box
        is_inside_x = room.x0 < west and east < room.x1
        is_inside_y = room.y0 < south and north < room.y1
        if not is_inside_x or not is_inside_y:
            continue
        if any(_overlap(piece.box, other) for other in (*taken, *clear)):
            continue
        # Several pieces may share the free area in front of them.
        front_box = front_of(piece)
        west, south, east, north = front_box
        has_front_x = room.x0 <= west and east <= room.x1
        has_front_y = room.y0 <= south and north <= room.y1
        if not has_front_x or not has_front_y:
            continue
        if not any(_overlap(front_box, other) for other in taken):
            return piece
    return None


def front_of(piece: FurniturePiece) -> Box:
    """Return the area to keep free in front of a piece."""
    west, south, east, north = piece.box
    if FURNITURE_KINDS[piece.kind].free:
        return west - FRONT, south - FRONT, east + FRONT, north + FRONT
    fx, fy = piece.front
    if fx:
        if fx > 0:
            return (east, south, east + FRONT, north)
        return (west - FRONT, south, west, north)
    if fy > 0:
        return (west, north, east, north + FRONT)
    return (west, south - FRONT, east, south)


def threshold(door: PlanDoor) -> Box:
    """Return the area to keep free around a doorway."""
    half = door.width / 2 + 0.05  # metres of the frame on either side
    if door.vertical:
        return door.x - THRESHOLD, door.y - half, door.x + THRESHOLD, door.y + half
    return door.x - half, door.y - THRESHOLD, door.x + half, door.y + THRESHOLD


def _overlap(one: Box, other: Box) -> bool:
    """True if two boxes have more than an edge in common."""
    west, south, east, north = one
    other_west, other_south, other_east, other_north = other
    overlaps_x = west < other_east and other_west < east
    overlaps_y = south < other_north and other_south < north
    return overlaps_x and overlaps_y
