"""Furniture set down along the walls and in the middle of rooms, with a way left to each piece."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from wayword.datasets.homes.furniture import FURNITURE, KINDS
from wayword.datasets.homes.plan import kind_of
from wayword.datasets.housing.floorplan import Door, FloorPlan, Room

FRONT = 0.75
"""Metres kept free before a piece, and on all sides of one that stands away from the walls."""
THRESHOLD = 0.9
"""Metres kept free on either side of a doorway."""
OFF_WALL = 0.03
TRIES = 60

Box = tuple[float, float, float, float]
"""west, south, east, north"""
SIDES = ((0, 1), (1, 0), (0, -1), (-1, 0))


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of furniture with its centre and extents (x and y) in metres.

    ``front`` is the direction it faces, ``room`` the number of its room in the plan.
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
        wide, deep = self.width / 2, self.depth / 2
        return self.x - wide, self.y - deep, self.x + wide, self.y + deep

    def at(self, along: float, deep: float) -> tuple[float, float]:
        """A point by fractions of the half extents: to the right of who faces it, to the front."""
        fx, fy = self.front
        x = along * fy + deep * fx
        y = -along * fx + deep * fy
        return round(self.x + x * self.width / 2, 4), round(self.y + y * self.depth / 2, 4)


def furnish(rng: random.Random, plan: FloorPlan) -> list[Piece]:
    """Pieces for every room, those that a room should have first; what finds no place is left."""
    pieces: list[Piece] = []
    for number, room in enumerate(plan.rooms):
        doors = [door for door in plan.doors if number in door.rooms]
        taken: list[Box] = []
        kept = [_threshold(door) for door in doors]
        for kind, chance in FURNITURE[kind_of(room.name)]:
            piece = _place(rng, kind, number, room, taken, kept) if rng.random() < chance else None
            if piece is not None:
                taken.append(piece.box)
                kept += _front(piece)
                pieces.append(piece)
    return pieces


def _place(
    rng: random.Random, kind: str, number: int, room: Room, taken: list[Box], kept: list[Box]
) -> Piece | None:
    """The first of some random places whose box and front are free."""
    for piece in _tries(rng, kind, number, room):
        box = piece.box
        inside = room.x0 < box[0] and room.y0 < box[1] and box[2] < room.x1 and box[3] < room.y1
        if not inside or any(_overlap(box, other) for other in (*taken, *kept)):
            continue
        fronts = _front(piece)
        reach = all(_within(front, room) for front in fronts)
        if reach and not any(_overlap(front, other) for front in fronts for other in taken):
            return piece
    return None


def _tries(rng: random.Random, kind: str, number: int, room: Room) -> Iterator[Piece]:
    spec = KINDS[kind]
    for _ in range(TRIES):
        front = rng.choice(SIDES)
        swap = front[0] != 0
        width, depth = (spec.depth, spec.width) if swap else (spec.width, spec.depth)
        x = rng.uniform(room.x0 + width / 2 + OFF_WALL, room.x1 - width / 2 - OFF_WALL)
        y = rng.uniform(room.y0 + depth / 2 + OFF_WALL, room.y1 - depth / 2 - OFF_WALL)
        if not spec.free:  # its back to the wall behind it
            if front[0]:
                x = (
                    room.x0 + OFF_WALL + width / 2
                    if front[0] > 0
                    else room.x1 - OFF_WALL - width / 2
                )
            else:
                y = (
                    room.y0 + OFF_WALL + depth / 2
                    if front[1] > 0
                    else room.y1 - OFF_WALL - depth / 2
                )
        yield Piece(kind, round(x, 2), round(y, 2), width, depth, front, number)


def _front(piece: Piece) -> list[Box]:
    """What must stay free before a piece."""
    west, south, east, north = piece.box
    if KINDS[piece.kind].free:
        return [(west - FRONT, south - FRONT, east + FRONT, north + FRONT)]
    fx, fy = piece.front
    if fx:
        return [
            (east, south, east + FRONT, north) if fx > 0 else (west - FRONT, south, west, north)
        ]
    return [(west, north, east, north + FRONT) if fy > 0 else (west, south - FRONT, east, south)]


def _threshold(door: Door) -> Box:
    half = door.width / 2 + 0.05
    if door.vertical:
        return door.x - THRESHOLD, door.y - half, door.x + THRESHOLD, door.y + half
    return door.x - half, door.y - THRESHOLD, door.x + half, door.y + THRESHOLD


def _overlap(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _within(box: Box, room: Room) -> bool:
    return room.x0 <= box[0] and room.y0 <= box[1] and box[2] <= room.x1 and box[3] <= room.y1
