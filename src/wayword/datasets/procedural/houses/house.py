"""A house: everything that a scene's name stands for."""

from __future__ import annotations

import math
import random
import re
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from wayword.core.errors import UsageError
from wayword.datasets.procedural.floorplans import (
    HALLWAY,
    LARGEST,
    SMALLEST,
    FloorPlan,
    PlanDoor,
    PlanRoom,
    draw_plan,
)
from wayword.datasets.procedural.houses.places import (
    HousePlace,
    Walls,
    build_walls,
    join_places,
    set_places,
    visible,
)
from wayword.worlds.indoor.graph import ViewpointGraph

# What furniture stands in which room, and what it may look like.
#
# No kind ends in another kind's words ("table lamp" would be fine, "coffee table" beside "table"
# would not), so that "the table" can never be two things.

WOOD = ("oak", "white", "black", "pine", "walnut", "grey")
CLOTH = ("blue", "red", "green", "grey", "yellow", "brown", "white", "striped", "orange")
METAL = ("steel", "white", "black", "red", "silver")
STONE = ("white", "grey", "marble", "black", "green")
CLAY = ("blue", "green", "white", "yellow", "terracotta", "black")
SIZE = ("tall", "small", "round", "large", "narrow")

LOOKS: dict[str, tuple[str, ...]] = {
    "sofa": CLOTH, "armchair": CLOTH, "piano": ("black", "white", "walnut"),
    "bookcase": WOOD, "television": ("large", "small", "flat"), "fireplace": STONE,
    "coffee table": ("glass", *WOOD), "floor lamp": METAL,
    "potted palm": ("tall", "small", "leafy"),
    "rocking chair": WOOD, "fish tank": SIZE, "record player": ("black", "red", "old"),
    "fridge": METAL, "stove": METAL, "sink": STONE, "dishwasher": METAL,
    "counter": STONE, "microwave": METAL, "bar stool": CLOTH, "spice rack": WOOD,
    "dining table": ("round", "long", *WOOD), "sideboard": WOOD, "china cabinet": WOOD,
    "high chair": CLOTH, "wine rack": WOOD, "grandfather clock": WOOD,
    "double bed": CLOTH, "single bed": CLOTH, "bunk bed": WOOD, "wardrobe": WOOD,
    "dresser": WOOD, "nightstand": WOOD, "vanity": WOOD, "cot": WOOD, "beanbag": CLOTH,
    "toilet": ("white", "grey", "cream"), "bathtub": STONE, "shower": ("glass", "tiled", "narrow"),
    "washbasin": STONE, "towel rail": METAL, "laundry basket": ("wicker", "white", "blue"),
    "mirror": ("tall", "round", "oval", "gilt", "large"), "bench": WOOD,
    "coat rack": WOOD, "shoe cabinet": WOOD, "umbrella stand": ("brass", *CLAY),
    "vase": CLAY, "painting": ("seascape", "portrait", "abstract", "landscape", "floral"),
    "wall clock": ("round", "square", "wooden"), "console": WOOD, "statue": ("bronze", *STONE),
    "desk": WOOD, "swivel chair": CLOTH, "filing cabinet": METAL, "printer": ("white", "black"),
    "whiteboard": SIZE, "globe": ("old", "large", "glowing"), "washing machine": METAL,
    "tumble dryer": METAL, "ironing board": CLOTH, "drying rack": METAL, "boiler": METAL,
    "car": ("red", "blue", "silver", "black"), "bicycle": ("red", "green", "yellow"),
    "workbench": WOOD, "toolbox": ("red", "green", "grey"), "ladder": ("steel", "wooden"),
    "lawnmower": ("red", "green", "orange"), "treadmill": METAL, "exercise bike": METAL,
    "weight rack": METAL, "yoga mat": CLOTH, "guitar": ("acoustic", "red", "black"),
    "drum kit": ("red", "black", "silver"), "cello": ("old", "brown"), "music stand": METAL,
    "toy chest": WOOD, "dollhouse": ("pink", "white", "wooden"), "play tent": CLOTH,
    "easel": WOOD, "flour bin": METAL, "freezer": METAL, "crate": ("wooden", "plastic"),
    "front door": ("red", "green", "blue", "oak", "white"),
}  # fmt: skip
"""Kind -> adjectives. A name is "adjective kind" and is used once in a house."""

FURNITURE: dict[str, tuple[str, ...]] = {
    "hallway": (
        "front door", "mirror", "coat rack", "bench", "painting", "vase", "console", "shoe cabinet",
        "umbrella stand", "statue", "painting", "wall clock", "mirror", "vase", "painting",
    ),
    "living room": (
        "sofa", "television", "fireplace", "armchair", "piano", "coffee table", "bookcase",
        "floor lamp", "potted palm", "rocking chair", "fish tank", "painting", "armchair",
    ),
    "kitchen": (
        "fridge", "stove", "sink", "counter", "dishwasher", "microwave", "bar stool", "spice rack",
        "wall clock",
    ),
    "dining room": (
        "dining table", "sideboard", "china cabinet", "wine rack", "grandfather clock",
        "high chair", "painting", "vase",
    ),
    "main bedroom": (
        "double bed", "wardrobe", "dresser", "nightstand", "vanity", "armchair", "mirror",
        "floor lamp",
    ),
    "guest bedroom": (
        "double bed", "wardrobe", "nightstand", "desk", "painting", "floor lamp", "bench",
    ),
    "small bedroom": ("single bed", "wardrobe", "desk", "beanbag", "toy chest", "cot"),
    "bathroom": (
        "toilet", "bathtub", "washbasin", "towel rail", "laundry basket", "mirror", "shower",
    ),
    "shower room": ("shower", "toilet", "washbasin", "towel rail", "mirror"),
    "office": (
        "desk", "swivel chair", "filing cabinet", "bookcase", "printer", "whiteboard", "globe",
    ),
    "library": (
        "bookcase", "armchair", "globe", "bookcase", "desk", "floor lamp", "bookcase", "statue",
    ),
    "music room": (
        "piano", "drum kit", "guitar", "cello", "music stand", "record player", "armchair",
    ),
    "playroom": ("toy chest", "dollhouse", "play tent", "easel", "beanbag", "beanbag"),
    "gym": ("treadmill", "exercise bike", "weight rack", "yoga mat", "mirror", "bench"),
    "laundry room": (
        "washing machine", "tumble dryer", "ironing board", "drying rack", "laundry basket",
        "boiler",
    ),
    "pantry": ("freezer", "flour bin", "crate", "wine rack", "crate"),
    "garage": (
        "car", "workbench", "bicycle", "toolbox", "ladder", "lawnmower", "freezer", "bicycle",
    ),
}  # fmt: skip
"""Room -> what stands there, the most telling first; a small room takes the first few."""


# Furniture, set along the walls where nobody walks.

OFF_WALL = 0.3
APART, DOOR_CLEARANCE, PLACE_CLEARANCE, WAY_CLEARANCE = 0.85, 0.5, 0.6, 0.4
TRIES = 25

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class PlacedFurniture:
    """A piece of furniture at a point (metres); ``name`` is used once in a house."""

    name: str
    kind: str
    x: float
    y: float
    room: int


@dataclass(frozen=True, slots=True)
class _Floor:
    """What furniture must keep clear of in one room."""

    room: PlanRoom
    doors: list[PlanDoor]
    places: list[Point]
    ways: list[tuple[Point, Point]]


def furnish(
    rng: random.Random, plan: FloorPlan, places: tuple[HousePlace, ...], graph: ViewpointGraph
) -> tuple[PlacedFurniture, ...]:
    """Things for every room, clear of doors, places and ways, each with a name of its own."""
    things: list[PlacedFurniture] = []
    taken: set[str] = set()
    for number, room in enumerate(plan.rooms):
        floor = _floor(number, plan, places, graph)
        spots: list[Point] = []
        for kind in FURNITURE[room.name][: _amount(room)]:
            free = [f"{look} {kind}" for look in LOOKS[kind] if f"{look} {kind}" not in taken]
            spot = _free_spot(rng, floor, spots) if free else None
            if spot:
                name = rng.choice(free)
                taken.add(name)
                spots.append(spot)
                things.append(PlacedFurniture(name, kind, *spot, number))
    return tuple(things)


def _amount(room: PlanRoom) -> int:
    if room.name == HALLWAY:
        return round(max(room.x1 - room.x0, room.y1 - room.y0) / 1.3)
    return max(3, min(9, round(room.area / 2.2)))


def _floor(
    number: int, plan: FloorPlan, places: tuple[HousePlace, ...], graph: ViewpointGraph
) -> _Floor:
    inside = {place.id: (place.x, place.y) for place in places if number in place.rooms}
    ways = [
        (inside[a], inside[b]) for a in inside for b in graph.neighbours[a] if b in inside and a < b
    ]
    doors = [door for door in plan.doors if number in door.rooms]
    return _Floor(plan.rooms[number], doors, list(inside.values()), ways)


def _free_spot(rng: random.Random, floor: _Floor, spots: list[Point]) -> Point | None:
    for _ in range(TRIES):
        spot = _along_walls(rng, floor.room)
        if _is_free(floor, spots, spot):
            return spot
    return None


def _along_walls(rng: random.Random, room: PlanRoom) -> Point:
    x0, y0, x1, y1 = room.x0 + OFF_WALL, room.y0 + OFF_WALL, room.x1 - OFF_WALL, room.y1 - OFF_WALL
    wide, high = x1 - x0, y1 - y0
    at = rng.uniform(0.0, 2 * (wide + high))
    if at < 2 * wide:
        x, y = x0 + at % wide, (y0 if at < wide else y1)
    else:
        at -= 2 * wide
        x, y = (x0 if at < high else x1), y0 + at % high
    return round(x, 2), round(y, 2)


def _is_free(floor: _Floor, spots: list[Point], spot: Point) -> bool:
    return (
        all(math.dist(spot, other) >= APART for other in spots)
        and all(math.dist(spot, (d.x, d.y)) >= d.width / 2 + DOOR_CLEARANCE for d in floor.doors)
        and all(math.dist(spot, place) >= PLACE_CLEARANCE for place in floor.places)
        and all(from_line(spot, *way)[0] >= WAY_CLEARANCE for way in floor.ways)
    )


def from_line(spot: Point, start: Point, end: Point) -> tuple[float, float]:
    """Distance (metres) of a spot from a stretch, and how far along its foot lies (0 to 1)."""
    dx, dy = end[0] - start[0], end[1] - start[1]
    square = dx * dx + dy * dy
    share = ((spot[0] - start[0]) * dx + (spot[1] - start[1]) * dy) / square if square else 0.0
    share = min(1.0, max(0.0, share))
    return math.dist(spot, (start[0] + share * dx, start[1] + share * dy)), share


@dataclass(frozen=True, eq=False)
class GeneratedHouse:
    """One scene. ``places`` stand in the order of ``graph.ids``; coordinates are metres."""

    scene: str
    plan: FloorPlan
    walls: Walls
    places: tuple[HousePlace, ...]
    graph: ViewpointGraph
    things: tuple[PlacedFurniture, ...]

    @cached_property
    def sees_things(self) -> NDArray[np.bool_]:
        """(places, things): whether the thing is in plain sight."""
        return self._sees([(thing.x, thing.y) for thing in self.things])

    @cached_property
    def sees_doors(self) -> NDArray[np.bool_]:
        """(places, doors): whether the middle of the doorway is in plain sight."""
        return self._sees([(door.x, door.y) for door in self.plan.doors])

    @cached_property
    def nearest_place(self) -> tuple[tuple[str, float], ...]:
        """For each thing, the nearest place that sees it, and by how many metres it is nearest."""
        eyes = np.array([(place.x, place.y) for place in self.places])
        found = []
        for number, thing in enumerate(self.things):
            away = np.hypot(eyes[:, 0] - thing.x, eyes[:, 1] - thing.y)
            away = np.where(self.sees_things[:, number], away, np.inf)
            best, second = np.argsort(away, kind="stable")[:2]
            found.append((self.places[best].id, float(away[second] - away[best])))
        return tuple(found)

    def place(self, viewpoint: str) -> HousePlace:
        """The place of a viewpoint id."""
        return self.places[self.graph.index[viewpoint]]

    def room_name(self, number: int) -> str:
        """What a room is called."""
        return self.plan.rooms[number].name

    def _sees(self, targets: list[tuple[float, float]]) -> NDArray[np.bool_]:
        eyes = np.array([(place.x, place.y) for place in self.places])
        return visible(self.walls, eyes, np.array(targets, dtype=np.float64).reshape(-1, 2))


def scene_name(split: str, seed: int, rooms: int, number: int) -> str:
    """``scene_name("test", 0, 9, 3)`` is ``test-s0-r9-0003``; the name says all there is to say."""
    return f"{split}-s{seed}-r{rooms}-{number:04d}"


def build_house(scene: str) -> GeneratedHouse:
    """The house of a scene name, the same on every machine.

    Raises ``UsageError`` for a name that ``scene_name`` does not make.
    """
    match = re.fullmatch(r"[a-z]+-s-?\d+-r(\d+)-\d+", scene)
    if match is None or not SMALLEST <= int(match[1]) <= LARGEST:
        raise UsageError(f"{scene!r} names no generated house; one reads 'test-s0-r9-0003'")
    rng = random.Random(f"house/{scene}")
    plan = draw_plan(rng, int(match[1]))
    while not _connected(plan):  # rare: a shared wall too short for its door
        plan = draw_plan(rng, int(match[1]))
    walls = build_walls(plan)
    places = set_places(rng, plan, scene)
    graph = join_places(places, walls, scene)
    return GeneratedHouse(scene, plan, walls, places, graph, furnish(rng, plan, places, graph))


def _connected(plan: FloorPlan) -> bool:
    """Whether doors lead to every room."""
    reached, frontier = {0}, [0]
    while frontier:
        here = frontier.pop()
        for door in plan.doors:
            if here in door.rooms and door.other(here) not in reached:
                reached.add(door.other(here))
                frontier.append(door.other(here))
    return len(reached) == len(plan.rooms)
