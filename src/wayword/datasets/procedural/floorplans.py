"""Floor plans: rectangular rooms in two rows along a hallway, and the doors between them.

In some houses the living room spans the end of the hallway; some rooms are reached through another.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations

from wayword.core.geometry import Point, Segment, bounding_box, box_corners, plain_sum
from wayword.datasets.procedural.tables import Table

# Rooms of a house: which it has, how large they are, and which are adjacent.

HALLWAY = "hallway"


@dataclass(frozen=True)
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

NO_HALL_DOOR = frozenset(
    {
        "dining room",
        "library",
        "music room",
        "playroom",
    }
)
"""Rooms that may lack a door to the hallway if another room leads into them."""

# Rooms of a plan: the hallway and the base rooms; with all others
SMALLEST = 5
LARGEST = 17


DOOR = 0.9
"""Width of a door in metres."""
OPENING = 1.6
"""Width of an opening between day rooms in metres."""
CORNER = 0.35
"""Minimum length of wall between an opening and a corner, metres."""


@dataclass(frozen=True)
class PlanRoom:
    """A rectangle ``x0 < x1``, ``y0 < y1`` in metres; names are unique within a house."""

    name: str
    x0: float
    y0: float
    x1: float
    y1: float

    @property
    def corners(self) -> tuple[Point, ...]:
        """Corners in metres, counterclockwise from the south-west."""
        return box_corners((self.x0, self.y0, self.x1, self.y1))

    @property
    def area(self) -> float:
        """Floor area in square metres."""
        return (self.x1 - self.x0) * (self.y1 - self.y0)

    @property
    def center(self) -> Point:
        """Center of the room, x and y in metres."""
        return (self.x0 + self.x1) / 2, (self.y0 + self.y1) / 2


@dataclass(frozen=True)
class PlanDoor:
    """An open doorway centered on ``x, y`` between two rooms (given by index).

    ``vertical``: its wall runs north to south. ``width`` is in metres.
    """

    rooms: tuple[int, int]
    x: float
    y: float
    vertical: bool
    width: float

    @property
    def ends(self) -> Segment:
        """The two posts of the doorway in metres, from west to east or from south to north."""
        half = self.width / 2
        if self.vertical:
            return (self.x, self.y - half), (self.x, self.y + half)
        return (self.x - half, self.y), (self.x + half, self.y)

    def other(self, room: int) -> int:
        """Return the room on the other side of the door."""
        return self.rooms[1] if room == self.rooms[0] else self.rooms[0]


@dataclass(frozen=True)
class FloorPlan:
    """Rooms (the hallway first) and doors; the smallest x and y are 0."""

    rooms: tuple[PlanRoom, ...]
    doors: tuple[PlanDoor, ...]

    @property
    def cut_off(self) -> list[int]:
        """Indices of rooms that cannot be reached from room 0."""
        # Doors join rooms in both directions; repeated until nothing changes.
        reached = {0}
        for _ in self.rooms:  # no path through the house has more steps
            for door in self.doors:
                if not reached.isdisjoint(door.rooms):
                    reached.update(door.rooms)
        return [number for number in range(len(self.rooms)) if number not in reached]

    @property
    def size(self) -> Point:
        """East-west and north-south extent in metres; the south-west corner is the
        origin."""
        return max(room.x1 for room in self.rooms), max(room.y1 for room in self.rooms)


def draw_plan(rng: random.Random, count: int) -> FloorPlan:
    """Draw a plan of ``count`` rooms including the hallway; SMALLEST <= ``count`` <= LARGEST."""
    return turned(rng, draw_wing(rng, count))


def draw_wing(rng: random.Random, count: int) -> FloorPlan:
    """Draw a plan without rotation: the hallway runs east from (0, 0), and nothing has x < 0.

    The order of the draws is part of the identity of all houses: keep it.
    """
    # Rooms: the base, then extra ones by weight, in the order of the table.
    names = set(BASE)
    weights = dict(EXTRA_WEIGHTS)
    while len(names) < count - 1:
        # Without replacement: a house has one room of a type.
        (name,) = rng.choices(list(weights), weights=list(weights.values()))
        del weights[name]
        names.add(name)
    rooms = _lay_out(rng, [name for name in ROOM_TYPES if name in names])

    # Doors between rooms. Those that lead from a room with a hall door may replace a hall door.
    doors: list[PlanDoor] = []
    joined_rooms: set[int] = set()
    # Every pair of rooms, in a fixed order of draws.
    for i, j in combinations(range(len(rooms)), 2):
        pair = ", ".join(sorted((rooms[i].name, rooms[j].name)))
        chance = DOOR_CHANCES.get(pair, 0.0)
        if chance <= 0:
            continue
        door = _door_between(rng, rooms, i, j)
        # Drawn only if a door fits, so that chances are those of the table.
        if door and rng.random() < chance:
            doors.append(door)
            for room_number in door.rooms:
                if rooms[door.other(room_number)].name not in NO_HALL_DOOR:
                    joined_rooms.add(room_number)

    # Doors to the hallway, room 0.
    for j, room in enumerate(rooms[1:], start=1):
        # Half of these rooms keep their hall door as well.
        if room.name in NO_HALL_DOOR and j in joined_rooms and rng.random() < 0.5:
            continue
        if room.name in OUTER_ROOMS:
            continue
        door = _door_between(rng, rooms, 0, j)
        if door:
            doors.append(door)
    return FloorPlan(tuple(rooms), tuple(doors))


def _lay_out(rng: random.Random, names: list[str]) -> list[PlanRoom]:
    """Place the hallway, a row of rooms on each side, and sometimes the living room at its end.

    ``names`` are in the order around the hallway. The hallway comes first in the result.
    """
    # Rooms behind others leave the ring: they have no door to the hallway.
    inner_rooms = {OUTER_ROOMS[name]: name for name in names if name in OUTER_ROOMS}
    end_room = ""
    if rng.random() < 0.5:
        # The living room, which is large, closes half of the hallways.
        end_room = "living room"
    row_names = [name for name in names if name not in OUTER_ROOMS and name != end_room]
    widths = {name: rng.uniform(*ROOM_TYPES[name].width) for name in row_names}

    # Rooms form a ring around the hallway, so neighbors in the list stay neighbors. It is cut into
    # two rows of similar width, preferably with the bathroom on the main bedroom's side.
    options = []
    for shift in range(len(row_names)):
        ring = row_names[shift:] + row_names[:shift]
        for cut in range(1, len(ring)):
            north_row = ring[:cut]
            south_row = ring[cut:][::-1]
            cost = abs(_row_length(north_row, widths) - _row_length(south_row, widths))
            if len({"bathroom", "main bedroom"} & set(north_row)) == 1:
                cost += 4.0  # a penalty of as many metres of difference
            options.append((cost, shift, cut, (north_row, south_row)))
    # One of the four best, so that houses differ.
    rows = rng.choice(sorted(options)[:4])[3]

    # The hallway is as long as the longer row; the shorter one is stretched, by 30% at most.
    lengths = [_row_length(row, widths) for row in rows]
    hall_width = round(rng.uniform(2.0, 2.4), 2)
    length = round(max(lengths), 2)
    rooms = [PlanRoom(HALLWAY, 0.0, 0.0, length, hall_width)]
    for row, total, side in zip(rows, lengths, (1, -1), strict=True):
        scale = min(length / total, 1.3)
        # A short row ends before the hallway does.
        edges = [0.0]
        for name in row:
            edges.append(min(length, round(edges[-1] + widths[name] * scale, 2)))
        if length - edges[-1] < 0.05:
            edges[-1] = length  # the rest is due to rounding
        for name, x0, x1 in zip(row, edges, edges[1:], strict=False):
            near_y = hall_width if side > 0 else 0.0
            rooms_outward = [name]
            if name in inner_rooms:
                # A room behind another is as wide as it.
                rooms_outward.append(inner_rooms[name])
            for room in rooms_outward:
                far_y = round(near_y + side * rng.uniform(*ROOM_TYPES[room].depth), 2)
                south, north = sorted((near_y, far_y))
                rooms.append(PlanRoom(room, x0, south, x1, north))
                near_y = far_y

    # A room across the end of the hallway reaches 1.0 to 2.2 m beyond it on both sides.
    # Within this range it has wall for a door to the rooms next to it.
    if end_room:
        below = rng.uniform(1.0, 2.2)
        above = hall_width + rng.uniform(1.0, 2.2)
        east = round(length + rng.uniform(*ROOM_TYPES[end_room].depth), 2)
        rooms.append(
            PlanRoom(
                end_room,
                length,
                -round(below, 2),
                east,
                round(above, 2),
            )
        )
    return rooms


def _row_length(row: list[str], widths: Mapping[str, float]) -> float:
    """Return the width of a row of rooms in metres."""
    return plain_sum(widths[name] for name in row)


def _door_between(
    rng: random.Random,
    rooms: list[PlanRoom],
    i: int,
    j: int,
) -> PlanDoor | None:
    """Return a door at a random position on the shared wall, or None if the wall is too short.

    ``i`` and ``j`` are indices of ``rooms``. Nothing is drawn without a wall.
    """
    a = rooms[i]
    b = rooms[j]
    at_hallway = HALLWAY in (a.name, b.name)
    both_wide = all(
        r.name == HALLWAY or ROOM_TYPES[r.name].has_wide_openings for r in (a, b)
    )
    # Doors between rooms need some play, so that they differ from house to house.
    play = 0.0 if at_hallway else 0.3
    for vertical, line, low, high in shared_walls(a, b):
        width = DOOR
        # An opening needs a metre of wall next to it.
        if both_wide and high - low > OPENING + 1.0:
            width = OPENING
        margin = width / 2 + CORNER
        if high - low < 2 * margin + play:
            continue
        position = round(rng.uniform(low + margin, high - margin), 2)
        if vertical:
            return PlanDoor(
                (i, j),
                line,
                position,
                vertical,
                width,
            )
        return PlanDoor((i, j), position, line, vertical, width)
    return None


def shared_walls(
    a: PlanRoom,
    b: PlanRoom,
) -> Iterator[tuple[bool, float, float, float]]:
    """Yield walls that two rooms share: (vertical, line, low, high)."""
    # Rooms that overlap share no wall.
    # Walls from north to south, then those from west to east.
    low = max(a.y0, b.y0)
    high = min(a.y1, b.y1)
    if high > low and (a.x1 <= b.x0 or b.x1 <= a.x0):
        for line in {a.x0, a.x1} & {b.x0, b.x1}:
            yield True, line, low, high
    low = max(a.x0, b.x0)
    high = min(a.x1, b.x1)
    if high > low and (a.y1 <= b.y0 or b.y1 <= a.y0):
        for line in {a.y0, a.y1} & {b.y0, b.y1}:
            yield False, line, low, high


def turned(rng: random.Random, plan: FloorPlan) -> FloorPlan:
    """Apply a random symmetry of the square (one of eight) and shift the plan to the origin.

    The south-west corner of the result is at (0, 0); coordinates are metres, to the centimetre.
    """
    # Three draws: each of the eight symmetries is equally likely.
    swap = rng.random() < 0.5
    x_sign = -1 if rng.random() < 0.5 else 1
    y_sign = -1 if rng.random() < 0.5 else 1

    def turn(x: float, y: float) -> Point:
        """Mirror a point, and swap its axes if drawn so."""
        if swap:
            return x_sign * y, y_sign * x
        return x_sign * x, y_sign * y

    corners = [turn(room.x0, room.y0) for room in plan.rooms]
    corners += [turn(room.x1, room.y1) for room in plan.rooms]
    west, south, _, _ = bounding_box(corners)

    def move(x: float, y: float) -> Point:
        """Return a point of the turned plan, with its south-west corner at the origin."""
        x, y = turn(x, y)
        # Adding 0.0 turns -0.0 into 0.0.
        return round(x - west, 2) + 0.0, round(y - south, 2) + 0.0

    # A symmetry may exchange the corners of a room, and the direction of a door's wall.
    rooms = []
    for room in plan.rooms:
        opposite = (move(room.x0, room.y0), move(room.x1, room.y1))
        rooms.append(PlanRoom(room.name, *bounding_box(opposite)))
    doors = tuple(
        PlanDoor(
            door.rooms,
            *move(door.x, door.y),
            door.vertical != swap,
            door.width,
        )
        for door in plan.doors
    )
    return FloorPlan(tuple(rooms), doors)


def kind_of(room: str) -> str:
    """Return the type of a room without its number: ``kitchen`` for ``kitchen 2``."""
    return re.sub(r" \d+$", "", room)
