"""Floor plans: rectangular rooms in two rows along a hallway, and the doors between them.

In some houses the living room spans the end of the hallway; some rooms are reached through another.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations

from wayword.core.geometry import Point, plain_sum
from wayword.datasets.procedural.tables import Table

# Rooms of a house: which it has, how large they are, and which are adjacent.

HALLWAY = "hallway"


@dataclass(frozen=True, slots=True)
class RoomType:
    """Ranges of width (along the hallway) and depth in metres; some rooms open wide to others."""

    width: tuple[float, float]
    depth: tuple[float, float]
    has_wide_openings: bool = False


ROOM_TYPES: Mapping[str, RoomType] = Table(
    "rooms", "types", lambda row, _: RoomType(**row)
)
"""In order around the hallway: day rooms first, then bedrooms and bathrooms."""

BASE = ("kitchen", "living room", "main bedroom", "bathroom")
EXTRA_WEIGHTS: Mapping[str, int] = Table("rooms", "extra_weights")
OUTER_ROOMS = {"shower room": "main bedroom", "pantry": "kitchen"}
"""Room -> the only room it can be entered from."""

DOOR_CHANCES: Mapping[str, float] = Table("rooms", "door_chances")
"""Probability of a direct door between two adjacent rooms (names in alphabetical order)."""

NO_HALL_DOOR = frozenset({"dining room", "library", "music room", "playroom"})
"""Rooms that may lack a door to the hallway if another room leads into them."""

SMALLEST, LARGEST = 5, 17  # rooms of a plan: the hallway, the base rooms, all others


# Width in metres of a door, and of a wide opening between day rooms
DOOR, OPENING = (
    0.9,
    1.6,
)
CORNER = 0.35
"""Minimum length of wall between an opening and a corner, metres."""


@dataclass(frozen=True, slots=True)
class PlanRoom:
    """A rectangle ``x0 < x1``, ``y0 < y1`` in metres; names are unique within a house."""

    name: str
    x0: float
    y0: float
    x1: float
    y1: float

    @property
    def area(self) -> float:
        return (self.x1 - self.x0) * (self.y1 - self.y0)

    @property
    def center(self) -> Point:
        return (self.x0 + self.x1) / 2, (self.y0 + self.y1) / 2


@dataclass(frozen=True, slots=True)
class PlanDoor:
    """An open doorway centered on ``x, y`` between two rooms (given by index).

    ``vertical``: its wall runs north to south. ``width`` is in metres.
    """

    rooms: tuple[int, int]
    x: float
    y: float
    vertical: bool
    width: float

    def other(self, room: int) -> int:
        return self.rooms[1] if room == self.rooms[0] else self.rooms[0]


@dataclass(frozen=True, slots=True)
class FloorPlan:
    """Rooms (the hallway first) and doors; the smallest x and y are 0."""

    rooms: tuple[PlanRoom, ...]
    doors: tuple[PlanDoor, ...]

    @property
    def cut_off(self) -> list[int]:
        """Indices of rooms that cannot be reached from room 0."""
        reached = {0}
        for _ in self.rooms:
            reached |= {
                room
                for door in self.doors
                if reached & {*door.rooms}
                for room in door.rooms
            }
        return [number for number in range(len(self.rooms)) if number not in reached]

    @property
    def size(self) -> Point:
        return max(room.x1 for room in self.rooms), max(room.y1 for room in self.rooms)


def draw_plan(rng: random.Random, count: int) -> FloorPlan:
    """Draw a plan of ``count`` rooms including the hallway; SMALLEST <= ``count`` <= LARGEST."""
    return turned(rng, draw_wing(rng, count))


def draw_wing(rng: random.Random, count: int) -> FloorPlan:
    """Draw a plan without rotation: the hallway runs east from (0, 0), and nothing has x < 0."""
    names = set(BASE)
    weights = dict(EXTRA_WEIGHTS)
    while len(names) < count - 1:
        (name,) = rng.choices(list(weights), weights=list(weights.values()))
        del weights[name]
        names.add(name)
    rooms = _lay_out(rng, [name for name in ROOM_TYPES if name in names])
    doors: list[PlanDoor] = []
    joined_rooms: set[int] = set()
    for i, j in combinations(range(len(rooms)), 2):
        chance = DOOR_CHANCES.get(
            ", ".join(sorted((rooms[i].name, rooms[j].name))), 0.0
        )
        door = _door_between(rng, rooms, i, j) if chance > 0 else None
        if door and rng.random() < chance:
            doors.append(door)
            joined_rooms |= {
                k for k in (i, j) if rooms[door.other(k)].name not in NO_HALL_DOOR
            }
    for j, room in enumerate(rooms[1:], start=1):
        if room.name in NO_HALL_DOOR and j in joined_rooms and rng.random() < 0.5:
            continue
        door = _door_between(rng, rooms, 0, j) if room.name not in OUTER_ROOMS else None
        doors += [door] if door else []
    return FloorPlan(tuple(rooms), tuple(doors))


def _lay_out(rng: random.Random, names: list[str]) -> list[PlanRoom]:
    """Place the hallway, a row of rooms on each side, and sometimes the living room at its end."""
    inner_rooms = {OUTER_ROOMS[name]: name for name in names if name in OUTER_ROOMS}
    end_room = "living room" if rng.random() < 0.5 else ""
    row_names = [name for name in names if name not in OUTER_ROOMS and name != end_room]
    widths = {name: rng.uniform(*ROOM_TYPES[name].width) for name in row_names}
    # Rooms form a ring around the hallway, so neighbors in the list stay neighbors. It is cut into
    # two rows of similar width, preferably with the bathroom on the main bedroom's side.
    options = []
    for shift in range(len(row_names)):
        ring = row_names[shift:] + row_names[:shift]
        for cut in range(1, len(ring)):
            rows = ring[:cut], ring[cut:][::-1]
            first, second = (plain_sum(widths[name] for name in row) for row in rows)
            separates_bedroom = len({"bathroom", "main bedroom"} & set(rows[0])) == 1
            options.append(
                (abs(first - second) + 4.0 * separates_bedroom, shift, cut, rows)
            )
    rows = rng.choice(sorted(options)[:4])[3]
    lengths = [plain_sum(widths[name] for name in row) for row in rows]
    hall_width = round(rng.uniform(2.0, 2.4), 2)
    length = round(max(lengths), 2)
    rooms = [PlanRoom(HALLWAY, 0.0, 0.0, length, hall_width)]
    for row, total, side in zip(rows, lengths, (1, -1), strict=True):
        scale = min(length / total, 1.3)
        edges = [0.0]
        for name in row:
            edges.append(min(length, round(edges[-1] + widths[name] * scale, 2)))
        if length - edges[-1] < 0.05:
            edges[-1] = length
        for name, x0, x1 in zip(row, edges, edges[1:], strict=False):
            near_y = hall_width if side > 0 else 0.0
            for each in (name, inner_rooms[name]) if name in inner_rooms else (name,):
                far_y = round(near_y + side * rng.uniform(*ROOM_TYPES[each].depth), 2)
                rooms.append(
                    PlanRoom(each, x0, min(near_y, far_y), x1, max(near_y, far_y))
                )
                near_y = far_y
    if end_room:
        below = rng.uniform(1.0, 2.2)
        above = hall_width + rng.uniform(1.0, 2.2)
        east = round(length + rng.uniform(*ROOM_TYPES[end_room].depth), 2)
        rooms.append(
            PlanRoom(end_room, length, -round(below, 2), east, round(above, 2))
        )
    return rooms


def _door_between(
    rng: random.Random, rooms: list[PlanRoom], i: int, j: int
) -> PlanDoor | None:
    """Return a door at a random position on the shared wall, or None if the wall is too short."""
    a = rooms[i]
    b = rooms[j]
    at_hallway = HALLWAY in (a.name, b.name)
    both_wide = all(
        r.name == HALLWAY or ROOM_TYPES[r.name].has_wide_openings for r in (a, b)
    )
    for vertical, line, low, high in shared_walls(a, b):
        width = OPENING if both_wide and high - low > OPENING + 1.0 else DOOR
        margin = width / 2 + CORNER
        if high - low < 2 * margin + (0.0 if at_hallway else 0.3):
            continue
        position = round(rng.uniform(low + margin, high - margin), 2)
        x, y = (line, position) if vertical else (position, line)
        return PlanDoor((i, j), x, y, vertical, width)
    return None


def shared_walls(
    a: PlanRoom, b: PlanRoom
) -> Iterator[tuple[bool, float, float, float]]:
    """Yield walls that two rooms share: (vertical, line, low, high)."""
    for vertical in (True, False):
        (a0, a1), (a_low, a_high) = ((a.x0, a.x1), (a.y0, a.y1))[
            :: 1 if vertical else -1
        ]
        (b0, b1), (b_low, b_high) = ((b.x0, b.x1), (b.y0, b.y1))[
            :: 1 if vertical else -1
        ]
        low = max(a_low, b_low)
        high = min(a_high, b_high)
        if high > low and (a1 <= b0 or b1 <= a0):
            for line in {a0, a1} & {b0, b1}:
                yield vertical, line, low, high


def turned(rng: random.Random, plan: FloorPlan) -> FloorPlan:
    """Apply a random symmetry of the square (one of eight) and shift the plan to the origin."""
    swap, flip_x, flip_y = (rng.random() < 0.5 for _ in range(3))

    def turn(x: float, y: float) -> Point:
        x, y = (y, x) if swap else (x, y)
        return (-x if flip_x else x), (-y if flip_y else y)

    corners = [turn(x, y) for r in plan.rooms for x, y in ((r.x0, r.y0), (r.x1, r.y1))]
    west = min(x for x, _ in corners)
    south = min(y for _, y in corners)

    def move(x: float, y: float) -> Point:
        x, y = turn(x, y)
        return round(x - west, 2) + 0.0, round(y - south, 2) + 0.0

    rooms = []
    for room in plan.rooms:
        (xa, ya), (xb, yb) = move(room.x0, room.y0), move(room.x1, room.y1)
        rooms.append(
            PlanRoom(room.name, min(xa, xb), min(ya, yb), max(xa, xb), max(ya, yb))
        )
    doors = tuple(
        PlanDoor(door.rooms, *move(door.x, door.y), door.vertical != swap, door.width)
        for door in plan.doors
    )
    return FloorPlan(tuple(rooms), doors)


def kind_of(room: str) -> str:
    """Return the type of a room without its number: ``kitchen`` for ``kitchen 2``."""
    return re.sub(r" \d+$", "", room)
