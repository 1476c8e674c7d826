"""The floor plan: rectangular rooms in two rows along a hallway, and doors between them.

Some houses have the living room across the hallway's end; some rooms lie behind another. The plan
is then turned and mirrored at random, so that no heading is special.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass

from wayword.core.geometry import added

# The programme of a house: which rooms it has, how large they are, which belong side by side.

HALLWAY = "hallway"


@dataclass(frozen=True, slots=True)
class RoomType:
    """Ranges of width (along the hallway) and depth in metres; ``wide``: with wide openings."""

    width: tuple[float, float]
    depth: tuple[float, float]
    wide: bool = False


ROOM_TYPES: dict[str, RoomType] = {
    "garage": RoomType((4.0, 5.2), (4.6, 5.4)), "laundry room": RoomType((2.4, 3.0), (2.6, 3.6)),
    "pantry": RoomType((2.2, 2.6), (2.2, 2.8)), "kitchen": RoomType((3.8, 4.8), (3.6, 4.6)),
    "dining room": RoomType((3.6, 4.6), (3.6, 4.6), wide=True),
    "living room": RoomType((4.8, 6.2), (4.4, 5.4), wide=True),
    "library": RoomType((3.4, 4.2), (3.6, 4.4)), "music room": RoomType((3.4, 4.4), (3.6, 4.4)),
    "office": RoomType((3.0, 3.8), (3.2, 4.2)), "guest bedroom": RoomType((3.4, 4.2), (3.6, 4.4)),
    "bathroom": RoomType((2.5, 3.2), (2.8, 3.8)), "main bedroom": RoomType((4.0, 5.0), (3.8, 4.8)),
    "small bedroom": RoomType((3.0, 3.6), (3.2, 4.0)),
    "playroom": RoomType((3.4, 4.4), (3.6, 4.4)), "gym": RoomType((3.4, 4.2), (3.6, 4.4)),
    "shower room": RoomType((2.2, 2.8), (2.2, 2.8)),
}  # fmt: skip
"""Around the hallway in this order: the day rooms first, then the night rooms."""

BASE = ("kitchen", "living room", "main bedroom", "bathroom")
EXTRA_WEIGHTS = {
    "dining room": 9, "guest bedroom": 8, "office": 7, "shower room": 6, "laundry room": 6,
    "garage": 5, "small bedroom": 4, "library": 3, "playroom": 3, "music room": 3, "pantry": 3,
    "gym": 2,
}  # fmt: skip
BEHIND = {"shower room": "main bedroom", "pantry": "kitchen"}
"""Rooms that lie behind another and are reached through it alone."""

JOINED = {
    ("dining room", "kitchen"): 0.9, ("dining room", "living room"): 0.8,
    ("kitchen", "living room"): 0.7, ("library", "living room"): 0.6,
    ("living room", "music room"): 0.6, ("library", "office"): 0.5,
    ("kitchen", "laundry room"): 0.7, ("garage", "laundry room"): 0.8,
    ("bathroom", "main bedroom"): 0.4, ("playroom", "small bedroom"): 0.5,
}  # fmt: skip
"""Pairs (in alphabetical order) that get a door of their own where they touch, and how often."""

SKIPS_HALL = frozenset({"dining room", "library", "music room", "playroom"})
"""Rooms that may do without a door to the hallway when a neighbour leads into them."""

SMALLEST, LARGEST = 1 + len(BASE), 1 + len(BASE) + len(EXTRA_WEIGHTS)


def choose_rooms(rng: random.Random, count: int) -> list[str]:
    """``count`` - 1 different rooms besides the hallway, in the order of ``ROOM_TYPES``."""
    chosen, left = set(BASE), dict(EXTRA_WEIGHTS)
    while len(chosen) < count - 1:
        (name,) = rng.choices(list(left), weights=list(left.values()))
        del left[name]
        chosen.add(name)
    return [name for name in ROOM_TYPES if name in chosen]


def split_rows(
    rng: random.Random, names: list[str], widths: dict[str, float]
) -> tuple[list[str], list[str]]:
    """Two rows for the two sides of the hallway, near equal in width.

    The rooms go round the hallway as round a ring, so that neighbours in the programme stay
    neighbours in the house; the bathroom is kept on its bedroom's side.
    """
    options = []
    for turn in range(len(names)):
        ring = names[turn:] + names[:turn]
        for cut in range(1, len(ring)):
            one, other = ring[:cut], ring[cut:][::-1]
            uneven = abs(added(widths[n] for n in one) - added(widths[n] for n in other))
            apart = len({"bathroom", "main bedroom"} & set(one)) == 1
            options.append((uneven + 4.0 * apart, turn, cut))
    options.sort()
    _, turn, cut = rng.choice(options[:4])
    ring = names[turn:] + names[:turn]
    return ring[:cut], ring[cut:][::-1]


DOOR, OPENING = 0.9, 1.6
CORNER = 0.35
"""Wall left between an opening and a corner, metres."""

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class PlanRoom:
    """A rectangle ``x0 < x1``, ``y0 < y1`` in metres; names are unique in a house."""

    name: str
    x0: float
    y0: float
    x1: float
    y1: float

    @property
    def area(self) -> float:
        return (self.x1 - self.x0) * (self.y1 - self.y0)

    @property
    def centre(self) -> Point:
        return (self.x0 + self.x1) / 2, (self.y0 + self.y1) / 2


@dataclass(frozen=True, slots=True)
class PlanDoor:
    """An open doorway centred on ``x, y`` between two rooms (indices).

    ``vertical`` says that its wall runs north and south. ``width`` is in metres.
    """

    rooms: tuple[int, int]
    x: float
    y: float
    vertical: bool
    width: float

    def other(self, room: int) -> int:
        """The room on the other side."""
        return self.rooms[1] if room == self.rooms[0] else self.rooms[0]


@dataclass(frozen=True, slots=True)
class FloorPlan:
    """Rooms (the hallway first) and doors; the smallest x and y are 0."""

    rooms: tuple[PlanRoom, ...]
    doors: tuple[PlanDoor, ...]

    @property
    def size(self) -> Point:
        return max(room.x1 for room in self.rooms), max(room.y1 for room in self.rooms)


def draw_plan(rng: random.Random, count: int) -> FloorPlan:
    """A plan of ``count`` rooms, the hallway among them. ``count`` is in SMALLEST..LARGEST."""
    return turned(rng, draw_wing(rng, count))


def draw_wing(rng: random.Random, count: int) -> FloorPlan:
    """The same before it is turned: the hallway runs east from (0, 0), and nothing lies west."""
    rooms = _lay_out(rng, choose_rooms(rng, count))
    return FloorPlan(tuple(rooms), tuple(_doors(rng, rooms)))


def _lay_out(rng: random.Random, names: list[str]) -> list[PlanRoom]:
    behind = {BEHIND[name]: name for name in names if name in BEHIND}
    fronts = [name for name in names if name not in BEHIND]
    across = "living room" if rng.random() < 0.5 else ""
    row_names = [name for name in fronts if name != across]
    widths = {name: rng.uniform(*ROOM_TYPES[name].width) for name in row_names}
    rows = split_rows(rng, row_names, widths)
    lengths = [added(widths[name] for name in row) for row in rows]
    hall_width, length = round(rng.uniform(2.0, 2.4), 2), round(max(lengths), 2)
    rooms = [PlanRoom(HALLWAY, 0.0, 0.0, length, hall_width)]
    for row, total, side in zip(rows, lengths, (1, -1), strict=True):
        stretch = min(length / total, 1.3)
        edges = [0.0]
        for name in row:
            edges.append(min(length, round(edges[-1] + widths[name] * stretch, 2)))
        if length - edges[-1] < 0.05:
            edges[-1] = length
        for name, x0, x1 in zip(row, edges, edges[1:], strict=False):
            rooms += _slot(rng, name, behind.get(name, ""), (x0, x1), hall_width, side)
    if across:
        down, up = rng.uniform(1.0, 2.2), hall_width + rng.uniform(1.0, 2.2)
        deep = rng.uniform(*ROOM_TYPES[across].depth)
        edge = round(length + deep, 2)
        rooms.append(PlanRoom(across, length, -round(down, 2), edge, round(up, 2)))
    return rooms


def _slot(
    rng: random.Random, name: str, back: str, span: Point, hall_width: float, side: int
) -> list[PlanRoom]:
    """A room beside the hallway, and the one behind it where there is one."""
    near = hall_width if side > 0 else 0.0
    found = []
    for each in (name, back) if back else (name,):
        far = round(near + side * rng.uniform(*ROOM_TYPES[each].depth), 2)
        found.append(PlanRoom(each, span[0], min(near, far), span[1], max(near, far)))
        near = far
    return found


def _doors(rng: random.Random, rooms: list[PlanRoom]) -> list[PlanDoor]:
    doors: list[PlanDoor] = []
    joined: set[int] = set()
    for i, one in enumerate(rooms):
        for j in range(i + 1, len(rooms)):
            chance = _chance(one.name, rooms[j].name)
            door = _door_between(rng, rooms, i, j) if chance > 0 else None
            if door and rng.random() < chance:
                doors.append(door)
                joined |= {k for k in (i, j) if rooms[door.other(k)].name not in SKIPS_HALL}
    for j, room in enumerate(rooms[1:], start=1):
        if room.name in SKIPS_HALL and j in joined and rng.random() < 0.5:
            continue
        door = _door_between(rng, rooms, 0, j) if room.name not in BEHIND else None
        if door:
            doors.append(door)
    return doors


def _chance(one: str, other: str) -> float:
    if BEHIND.get(one) == other or BEHIND.get(other) == one:
        return 1.0
    pair = (one, other) if one < other else (other, one)
    return JOINED.get(pair, 0.0)


def _door_between(rng: random.Random, rooms: list[PlanRoom], i: int, j: int) -> PlanDoor | None:
    """A door somewhere on the shared wall, or None where that is too short."""
    a, b = rooms[i], rooms[j]
    hall = HALLWAY in (a.name, b.name)
    both_wide = all(r.name == HALLWAY or ROOM_TYPES[r.name].wide for r in (a, b))
    for vertical, line, low, high in _shared(a, b):
        width = OPENING if both_wide and high - low > OPENING + 1.0 else DOOR
        margin = width / 2 + CORNER
        if high - low < 2 * margin + (0.0 if hall else 0.3):
            continue
        along = round(rng.uniform(low + margin, high - margin), 2)
        x, y = (line, along) if vertical else (along, line)
        return PlanDoor((i, j), x, y, vertical, width)
    return None


def _shared(a: PlanRoom, b: PlanRoom) -> list[tuple[bool, float, float, float]]:
    """Walls two rooms share: (vertical, line, low, high)."""
    found = []
    for line in {a.x0, a.x1} & {b.x0, b.x1}:
        low, high = max(a.y0, b.y0), min(a.y1, b.y1)
        if high > low and (a.x1 <= b.x0 or b.x1 <= a.x0):
            found.append((True, line, low, high))
    for line in {a.y0, a.y1} & {b.y0, b.y1}:
        low, high = max(a.x0, b.x0), min(a.x1, b.x1)
        if high > low and (a.y1 <= b.y0 or b.y1 <= a.y0):
            found.append((False, line, low, high))
    return found


def turned(rng: random.Random, plan: FloorPlan) -> FloorPlan:
    """The plan under one of the eight symmetries of the square, moved to the origin."""
    swap, flip_x, flip_y = (rng.random() < 0.5 for _ in range(3))

    def turn(x: float, y: float) -> Point:
        x, y = (y, x) if swap else (x, y)
        return (-x if flip_x else x), (-y if flip_y else y)

    corners = [turn(room.x0, room.y0) + turn(room.x1, room.y1) for room in plan.rooms]
    left = min(min(c[0], c[2]) for c in corners)
    low = min(min(c[1], c[3]) for c in corners)

    def move(x: float, y: float) -> Point:
        x, y = turn(x, y)
        return round(x - left, 2) + 0.0, round(y - low, 2) + 0.0

    rooms = tuple(_room(room, move) for room in plan.rooms)
    doors = tuple(
        PlanDoor(door.rooms, *move(door.x, door.y), door.vertical != swap, door.width)
        for door in plan.doors
    )
    return FloorPlan(rooms, doors)


def _room(room: PlanRoom, move: Callable[[float, float], Point]) -> PlanRoom:
    (xa, ya), (xb, yb) = move(room.x0, room.y0), move(room.x1, room.y1)
    return PlanRoom(room.name, min(xa, xb), min(ya, yb), max(xa, xb), max(ya, yb))


def kind_of(room: str) -> str:
    """What a room is, whatever its number: ``kitchen 2`` is a ``kitchen``."""
    return re.sub(r" \d+$", "", room)
