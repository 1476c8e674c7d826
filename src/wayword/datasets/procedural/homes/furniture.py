"""What furniture there is, what is built onto it, and in which rooms it stands.

Types are AI2-THOR's, so that generated homes and imported rooms speak alike. Metres.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from wayword.datasets.procedural.floorplans import FloorPlan, PlanDoor, PlanRoom, kind_of
from wayword.worlds.household.scene import Preposition

HEATABLE = (
    *("apple", "bread", "cup", "egg", "mug", "plate", "potato", "tomato", "bowl"),
)  # fmt: skip
"""What goes into a microwave (ALFRED's heat & place), and bowls."""


@dataclass(frozen=True, slots=True)
class Part:
    """Something built into or standing on a piece: another kind, and where.

    ``along`` and ``deep`` are fractions of the piece's half extents from its middle, right and to
    the front positive; ``bottom`` is its underside. ``stands`` says it is on top, as any thing
    would be. ``controls`` says it switches the part before it.
    """

    kind: str
    along: float
    deep: float
    bottom: float
    stands: bool = False
    controls: bool = False


@dataclass(frozen=True, slots=True)
class FurnitureKind:
    """A kind of furniture: extents along the wall, off the wall and up, and what it can do.

    ``free`` pieces stand away from walls. ``capacity`` counts things (0: any number).
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


_OPENS = ("openable",)
_LAMP = ("toggleable",)

FURNITURE_KINDS: dict[str, FurnitureKind] = {
    # kitchens
    "fridge": FurnitureKind(0.8, 0.7, 1.8, "in", ("openable", "cooler")),
    "counter_top": FurnitureKind(
        1.8, 0.6, 0.9, "on",
        parts=(
            Part("microwave", -0.65, -0.2, 0.9, stands=True),
            Part("coffee_machine", 0.8, -0.3, 0.9, stands=True),
        ),
    ),
    "kitchen_sink": FurnitureKind(
        0.8, 0.6, 0.9,
        parts=(Part("sink_basin", 0.0, 0.1, 0.7), Part("faucet", 0.0, -0.7, 0.9, controls=True)),
    ),
    "stove": FurnitureKind(
        0.6, 0.6, 0.9,
        parts=(
            Part("stove_burner", -0.5, 0.0, 0.88),
            Part("stove_knob", -0.5, 0.9, 0.8, controls=True),
            Part("stove_burner", 0.5, 0.0, 0.88),
            Part("stove_knob", 0.5, 0.9, 0.8, controls=True),
        ),
    ),
    "cabinet": FurnitureKind(0.8, 0.4, 0.95, "in", _OPENS, capacity=8),
    "garbage_can": FurnitureKind(0.35, 0.35, 0.6, "in", capacity=8),
    "dining_table": FurnitureKind(1.3, 0.8, 0.75, "on", free=True),
    "shelf": FurnitureKind(0.9, 0.3, 0.8, "on", capacity=10),
    # living rooms, bedrooms, offices
    "sofa": FurnitureKind(1.9, 0.8, 0.7, "on"),
    "arm_chair": FurnitureKind(0.8, 0.8, 0.7, "on", capacity=4),
    "coffee_table": FurnitureKind(0.9, 0.5, 0.45, "on", free=True),
    "tv_stand": FurnitureKind(1.3, 0.4, 0.5, "on"),
    "side_table": FurnitureKind(0.5, 0.45, 0.6, "on", capacity=6),
    "lamp_table": FurnitureKind(
        0.5, 0.45, 0.6, "on", parts=(Part("desk_lamp", 0.0, -0.5, 0.6, stands=True),), capacity=6
    ),
    "floor_lamp": FurnitureKind(0.35, 0.35, 1.6, affordances=_LAMP),
    "bookcase": FurnitureKind(0.9, 0.35, 1.9, "on"),
    "safe": FurnitureKind(0.5, 0.45, 0.6, "in", _OPENS, capacity=6),
    "bed": FurnitureKind(1.6, 2.0, 0.6, "on"),
    "dresser": FurnitureKind(
        1.1, 0.5, 0.9, "on", parts=(Part("drawer", -0.5, 0.2, 0.4), Part("drawer", 0.5, 0.2, 0.4))
    ),
    "desk": FurnitureKind(
        1.2, 0.6, 0.75, "on",
        parts=(Part("desk_lamp", -0.75, -0.5, 0.75, stands=True), Part("drawer", 0.5, 0.1, 0.4)),
    ),
    "laundry_hamper": FurnitureKind(0.45, 0.45, 0.6, "in", _OPENS, capacity=8),
    # bathrooms
    "bathroom_sink": FurnitureKind(
        0.7, 0.5, 0.85,
        parts=(Part("sink_basin", 0.0, 0.1, 0.65), Part("faucet", 0.0, -0.7, 0.85, controls=True)),
    ),
    "toilet": FurnitureKind(0.45, 0.65, 0.45, "on", capacity=3),
    "bathtub": FurnitureKind(1.6, 0.75, 0.55, "in"),
    "cart": FurnitureKind(0.6, 0.4, 0.8, "on", capacity=8),
    # parts
    "microwave": FurnitureKind(
        0.5, 0.4, 0.3, "in", ("openable", "toggleable", "heater"), accepts=HEATABLE, capacity=3
    ),
    "coffee_machine": FurnitureKind(
        0.25, 0.25, 0.35, "in", ("toggleable", "filler"), accepts=("mug", "cup"), capacity=1
    ),
    "sink_basin": FurnitureKind(0.5, 0.4, 0.2, "in", ("cleaner", "filler"), capacity=6),
    "faucet": FurnitureKind(0.1, 0.1, 0.2, affordances=("toggleable",)),
    "stove_burner": FurnitureKind(
        0.25, 0.25, 0.02, "on", ("heater",), accepts=("pan", "pot", "kettle"), capacity=1
    ),
    "stove_knob": FurnitureKind(0.05, 0.05, 0.05, affordances=("toggleable",)),
    "desk_lamp": FurnitureKind(0.15, 0.15, 0.4, affordances=_LAMP),
    "drawer": FurnitureKind(0.5, 0.35, 0.2, "in", _OPENS, capacity=6),
}  # fmt: skip

_BEDROOM = (("bed", 1.0), ("dresser", 1.0), ("lamp_table", 1.0), ("side_table", 0.5),
            ("arm_chair", 0.4), ("laundry_hamper", 0.5), ("shelf", 0.4), ("safe", 0.4))  # fmt: skip
_BATHROOM = (("bathroom_sink", 1.0), ("toilet", 1.0), ("bathtub", 0.9), ("garbage_can", 0.8),
             ("cart", 0.6), ("shelf", 0.5))  # fmt: skip

FURNITURE: dict[str, tuple[tuple[str, float], ...]] = {
    "hallway": (("side_table", 0.7), ("shelf", 0.5)),
    "corridor": (("side_table", 0.8), ("shelf", 0.6), ("floor_lamp", 0.5), ("shelf", 0.5)),
    "kitchen": (
        ("counter_top", 1.0), ("fridge", 1.0), ("kitchen_sink", 1.0), ("stove", 1.0),
        ("cabinet", 1.0), ("dining_table", 0.7), ("cabinet", 0.7), ("garbage_can", 1.0),
        ("shelf", 0.4),
    ),
    "studio": (
        ("counter_top", 1.0), ("fridge", 1.0), ("kitchen_sink", 1.0), ("bed", 1.0),
        ("lamp_table", 1.0), ("desk", 0.8), ("sofa", 0.7), ("cabinet", 1.0), ("coffee_table", 0.7),
        ("garbage_can", 0.8), ("shelf", 0.6), ("stove", 0.6),
    ),
    "living room": (
        ("sofa", 1.0), ("tv_stand", 1.0), ("coffee_table", 0.9), ("floor_lamp", 1.0),
        ("arm_chair", 0.8), ("bookcase", 0.7), ("side_table", 0.7), ("arm_chair", 0.4),
    ),
    "dining room": (
        ("dining_table", 1.0), ("cabinet", 0.8), ("side_table", 0.7), ("shelf", 0.5),
        ("floor_lamp", 0.5),
    ),
    "main bedroom": _BEDROOM,
    "guest bedroom": _BEDROOM,
    "small bedroom": (("bed", 1.0), ("desk", 1.0), ("shelf", 0.6), ("laundry_hamper", 0.5)),
    "office": (
        ("desk", 1.0), ("bookcase", 0.9), ("shelf", 0.6), ("arm_chair", 0.6), ("safe", 0.6),
        ("garbage_can", 0.8), ("floor_lamp", 0.4),
    ),
    "library": (
        ("bookcase", 1.0), ("bookcase", 1.0), ("arm_chair", 0.9), ("lamp_table", 0.9),
        ("desk", 0.5), ("sofa", 0.5),
    ),
    "music room": (("sofa", 0.9), ("shelf", 0.9), ("arm_chair", 0.7), ("floor_lamp", 0.7)),
    "playroom": (("shelf", 1.0), ("sofa", 0.7), ("coffee_table", 0.7), ("cart", 0.5)),
    "gym": (("shelf", 0.9), ("cart", 0.6), ("side_table", 0.6)),
    "garage": (("shelf", 1.0), ("cabinet", 0.9), ("garbage_can", 0.9), ("cart", 0.6)),
    "pantry": (("shelf", 1.0), ("cabinet", 0.9)),
    "laundry room": (("laundry_hamper", 1.0), ("shelf", 0.9), ("cabinet", 0.7)),
    "bathroom": _BATHROOM,
    "shower room": (("bathroom_sink", 1.0), ("toilet", 1.0), ("garbage_can", 0.6)),
}  # fmt: skip
"""Room -> its pieces, the ones that matter most first, and how often each is there."""


# Furniture set down along the walls and in the middle of rooms, with a way left to each piece.

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
class FurniturePiece:
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


def furnish(rng: random.Random, plan: FloorPlan) -> list[FurniturePiece]:
    """Pieces for every room, those that a room should have first; what finds no place is left."""
    pieces: list[FurniturePiece] = []
    for number, room in enumerate(plan.rooms):
        doors = [door for door in plan.doors if number in door.rooms]
        taken: list[Box] = []
        kept = [threshold(door) for door in doors]
        for kind, chance in FURNITURE[kind_of(room.name)]:
            piece = (
                find_place(rng, kind, number, room, taken, kept) if rng.random() < chance else None
            )
            if piece is not None:
                taken.append(piece.box)
                kept += front_of(piece)
                pieces.append(piece)
    return pieces


def find_place(
    rng: random.Random, kind: str, number: int, room: PlanRoom, taken: list[Box], kept: list[Box]
) -> FurniturePiece | None:
    """The first of some random places whose box and front are free."""
    for piece in _tries(rng, kind, number, room):
        box = piece.box
        inside = room.x0 < box[0] and room.y0 < box[1] and box[2] < room.x1 and box[3] < room.y1
        if not inside or any(_overlap(box, other) for other in (*taken, *kept)):
            continue
        fronts = front_of(piece)
        reach = all(_within(front, room) for front in fronts)
        if reach and not any(_overlap(front, other) for front in fronts for other in taken):
            return piece
    return None


def _tries(rng: random.Random, kind: str, number: int, room: PlanRoom) -> Iterator[FurniturePiece]:
    spec = FURNITURE_KINDS[kind]
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
        yield FurniturePiece(kind, round(x, 2), round(y, 2), width, depth, front, number)


def front_of(piece: FurniturePiece) -> list[Box]:
    """What must stay free before a piece."""
    west, south, east, north = piece.box
    if FURNITURE_KINDS[piece.kind].free:
        return [(west - FRONT, south - FRONT, east + FRONT, north + FRONT)]
    fx, fy = piece.front
    if fx:
        return [
            (east, south, east + FRONT, north) if fx > 0 else (west - FRONT, south, west, north)
        ]
    return [(west, north, east, north + FRONT) if fy > 0 else (west, south - FRONT, east, south)]


def threshold(door: PlanDoor) -> Box:
    """What must stay free around a doorway."""
    half = door.width / 2 + 0.05
    if door.vertical:
        return door.x - THRESHOLD, door.y - half, door.x + THRESHOLD, door.y + half
    return door.x - half, door.y - THRESHOLD, door.x + half, door.y + THRESHOLD


def _overlap(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _within(box: Box, room: PlanRoom) -> bool:
    return room.x0 <= box[0] and room.y0 <= box[1] and box[2] <= room.x1 and box[3] <= room.y1
