"""The floor plan of a home: one room, a few in a row, rooms along a hallway, or wings of such.

Metres, x to the east and y to the north. Rooms along a hallway are
``wayword.datasets.procedural.floorplans``'s. Larger homes have several such wings, each with a
hallway of its own, to both sides of a corridor that joins them; rooms of the second wing are called
``kitchen 2`` and so on.
"""

from __future__ import annotations

import random
import re

from wayword.datasets.procedural.floorplans import (
    CORNER,
    DOOR,
    LARGEST,
    ROOM_TYPES,
    SMALLEST,
    FloorPlan,
    PlanDoor,
    PlanRoom,
    draw_plan,
    draw_wing,
    turned,
)

FEWEST, MOST = 1, 100
STUDIO = "studio"
"""The one room of the smallest homes."""
STUDIO_WIDTH = (6.0, 7.0)
IN_A_ROW = ("kitchen", "living room", "main bedroom", "bathroom")
"""The rooms of homes that are too small for a hallway, in order."""
CORRIDOR, CORRIDOR_WIDTH = "corridor", 2.4
WING = 12
"""Rooms that a wing has at most, its hallway among them."""
BETWEEN = 0.4
"""Metres left between wings on the same side."""
ARCH = 1.2
"""The opening from the corridor into a wing's hallway, metres."""


def draw(rng: random.Random, count: int) -> FloorPlan:
    """A plan of ``count`` rooms (``FEWEST`` to ``MOST``), a hallway among them from five on."""
    if count > LARGEST:
        return _wings(rng, count)
    return draw_plan(rng, count) if count >= SMALLEST else _row(rng, count)


def kind_of(room: str) -> str:
    """What a room is, whatever its number: ``kitchen 2`` is a ``kitchen``."""
    return re.sub(r" \d+$", "", room)


def _wings(rng: random.Random, count: int) -> FloorPlan:
    """A corridor from south to north, and wings to the east and the west of it in turn."""
    number = -(-(count - 1) // WING)
    sizes = [(count - 1 + n) // number for n in range(number)]
    rooms: list[PlanRoom] = []
    doors: list[PlanDoor] = []
    tops = [0.0, 0.0]
    for n, size in enumerate(sizes):
        wing, side = draw_wing(rng, size), n % 2
        up = round(tops[side] - min(room.y0 for room in wing.rooms), 2)
        first, suffix = 1 + len(rooms), f" {n + 1}" if n else ""
        rooms += [_moved(room, up, side, suffix) for room in wing.rooms]
        doors += [_led(door, up, side, first) for door in wing.doors]
        hall = rooms[first - 1]
        edge = CORRIDOR_WIDTH if side == 0 else 0.0
        middle = round((hall.y0 + hall.y1) / 2, 2)
        doors.append(PlanDoor((0, first), edge, middle, True, ARCH))
        tops[side] = round(up + max(room.y1 for room in wing.rooms) + BETWEEN, 2)
    corridor = PlanRoom(CORRIDOR, 0.0, 0.0, CORRIDOR_WIDTH, round(max(tops) - BETWEEN, 2))
    return turned(rng, FloorPlan((corridor, *rooms), tuple(doors)))


def _moved(room: PlanRoom, up: float, side: int, suffix: str) -> PlanRoom:
    """A wing's room where the wing lies: to the east of the corridor, or mirrored to the west."""
    x0, x1 = (_across(x, side) for x in (room.x0, room.x1))
    y0, y1 = round(room.y0 + up, 2), round(room.y1 + up, 2)
    return PlanRoom(f"{room.name}{suffix}", min(x0, x1), y0, max(x0, x1), y1)


def _led(door: PlanDoor, up: float, side: int, first: int) -> PlanDoor:
    one, other = door.rooms
    y = round(door.y + up, 2)
    return PlanDoor(
        (one + first, other + first), _across(door.x, side), y, door.vertical, door.width
    )


def _across(x: float, side: int) -> float:
    return round(-x if side else x + CORRIDOR_WIDTH, 2) + 0.0


def _row(rng: random.Random, count: int) -> FloorPlan:
    """Rooms side by side, each with a door to the next."""
    deep = round(rng.uniform(3.8, 4.6), 2)
    names = (STUDIO,) if count == 1 else IN_A_ROW[:count]
    edges = [0.0]
    for name in names:
        width = STUDIO_WIDTH if name == STUDIO else ROOM_TYPES[name].width
        edges.append(round(edges[-1] + max(3.0, rng.uniform(*width)), 2))
    rooms = tuple(
        PlanRoom(name, x0, 0.0, x1, deep)
        for name, x0, x1 in zip(names, edges, edges[1:], strict=False)
    )
    margin = DOOR / 2 + CORNER
    doors = tuple(
        PlanDoor((i, i + 1), edges[i + 1], round(rng.uniform(margin, deep - margin), 2), True, DOOR)
        for i in range(count - 1)
    )
    return FloorPlan(rooms, doors)
