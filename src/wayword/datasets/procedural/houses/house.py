"""A house: rooms, walls, viewpoints, the ways between them, and furniture, by its scene's name."""

from __future__ import annotations

import hashlib
import math
import random
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayword.core.errors import UsageError
from wayword.core.geometry import bearing
from wayword.datasets.procedural.floorplans import (
    HALLWAY,
    LARGEST,
    SMALLEST,
    FloorPlan,
    PlanDoor,
    PlanRoom,
    draw_plan,
)
from wayword.datasets.procedural.tables import Table, Tables
from wayword.worlds.indoor.graph import ViewpointGraph, build

# Walls, and what can be seen past them.
#
# Walls are thin lines, solid save for the doors' openings. Furniture hides nothing.

EPS = 1e-6
Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False, slots=True)
class Walls:
    """Solid stretches of wall: rows (line, low, high) in metres.

    ``vertical`` (N, 3) stand on x = line and span y; ``horizontal`` (M, 3) the other way.
    """

    vertical: Array
    horizontal: Array


def build_walls(plan: FloorPlan) -> Walls:
    """The solid walls of every room, openings cut out."""
    vertical: set[tuple[float, float, float]] = set()
    horizontal: set[tuple[float, float, float]] = set()
    for room in plan.rooms:
        for line, is_vertical, low, high in _sides(room):
            gaps = sorted(_gap(d) for d in plan.doors if _on(d, line, is_vertical))
            kept = vertical if is_vertical else horizontal
            kept |= {(line, a, b) for a, b in _cut(low, high, gaps)}
    return Walls(_rows(vertical), _rows(horizontal))


def _rows(found: set[tuple[float, float, float]]) -> Array:
    return np.array(sorted(found), dtype=np.float64).reshape(-1, 3)


def _sides(room: PlanRoom) -> list[tuple[float, bool, float, float]]:
    return [
        (room.x0, True, room.y0, room.y1),
        (room.x1, True, room.y0, room.y1),
        (room.y0, False, room.x0, room.x1),
        (room.y1, False, room.x0, room.x1),
    ]


def _on(door: PlanDoor, line: float, vertical: bool) -> bool:
    return door.vertical == vertical and abs((door.x if vertical else door.y) - line) < EPS


def _gap(door: PlanDoor) -> tuple[float, float]:
    middle = door.y if door.vertical else door.x
    return middle - door.width / 2, middle + door.width / 2


def _cut(low: float, high: float, gaps: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """What is left of an interval after the gaps, which are sorted, are taken out."""
    kept = []
    for start, end in gaps:
        if end <= low or start >= high:
            continue
        if start > low:
            kept.append((low, start))
        low = max(low, end)
    return [*kept, (low, high)] if high > low else kept


def visible(walls: Walls, eyes: Array, targets: Array) -> NDArray[np.bool_]:
    """Whether each target (M, 2) is seen from each eye (N, 2), both in metres: (N, M)."""
    p, q = eyes[:, None, None, :], targets[None, :, None, :]
    flipped = p[..., ::-1], q[..., ::-1]
    blocked = _blocked(walls.vertical, p, q) | _blocked(walls.horizontal, *flipped)
    return np.asarray(~blocked)


def _blocked(rows: Array, p: Array, q: Array) -> NDArray[np.bool_]:
    """Whether walls standing on the first axis cut the lines from p to q."""
    line, low, high = rows[:, 0], rows[:, 1], rows[:, 2]
    before, after = p[..., 0] - line, q[..., 0] - line
    apart = before - after
    crosses = (before * after < 0) & (np.abs(apart) > EPS)
    share = np.where(crosses, before / np.where(crosses, apart, 1.0), 0.0)
    at = p[..., 1] + share * (q[..., 1] - p[..., 1])
    hit = crosses & (at > low - EPS) & (at < high + EPS)
    # Two points in the same wall line see each other only where no solid stretch lies between.
    along = (np.abs(before) < EPS) & (np.abs(after) < EPS)
    first, last = np.minimum(p[..., 1], q[..., 1]), np.maximum(p[..., 1], q[..., 1])
    hit |= along & (first < high - EPS) & (last > low + EPS)
    return np.asarray(hit.any(axis=-1))


SPACING, HALL_SPACING = 2.5, 2.8
LONGEST = 4.2
"""No way is longer than this (metres) unless the graph would fall apart without it."""

ASIDE = 125.0
EYE_HEIGHT = 1.5


@dataclass(frozen=True, slots=True)
class HousePlace:
    """A viewpoint in metres. In a doorway ``door`` is its index and ``rooms`` names both sides."""

    id: str
    x: float
    y: float
    rooms: tuple[int, ...]
    door: int | None = None


def set_places(rng: random.Random, plan: FloorPlan, scene: str) -> tuple[HousePlace, ...]:
    """One to four places a room, more in the hallway, and one in every doorway; sorted by id.

    The ids are opaque: six hexadecimal digits of a hash, so that they tell nothing of the plan.
    """
    spots: list[tuple[float, float, tuple[int, ...], int | None]] = []
    for number, room in enumerate(plan.rooms):
        spots += [(x, y, (number,), None) for x, y in _spots(rng, room)]
    for number, door in enumerate(plan.doors):
        spots.append((door.x, door.y, door.rooms, number))
    names: set[str] = set()
    places = []
    for number, spot in enumerate(spots):
        name = _opaque(scene, number, names)
        names.add(name)
        places.append(HousePlace(name, *spot))
    return tuple(sorted(places, key=lambda place: place.id))


def _opaque(scene: str, number: int, taken: set[str]) -> str:
    for attempt in range(1 << 16):
        name = hashlib.sha256(f"{scene}/{number}/{attempt}".encode()).hexdigest()[:6]
        if name not in taken:
            return name
    raise AssertionError("six digits do not suffice for this house")


def _spots(rng: random.Random, room: PlanRoom) -> list[tuple[float, float]]:
    """A loose grid over the room."""
    wide, high = room.x1 - room.x0, room.y1 - room.y0
    if room.name == HALLWAY:
        columns = max(1, round(wide / HALL_SPACING)) if wide > high else 1
        rows = max(1, round(high / HALL_SPACING)) if high > wide else 1
    else:
        columns, rows = (min(2, max(1, round(side / SPACING))) for side in (wide, high))
    spots = []
    for i in range(columns):
        for j in range(rows):
            x = room.x0 + wide * (i + 0.5) / columns + rng.uniform(-0.2, 0.2)
            y = room.y0 + high * (j + 0.5) / rows + rng.uniform(-0.2, 0.2)
            spots.append((round(x, 2), round(y, 2)))
    return spots


def join_places(places: tuple[HousePlace, ...], walls: Walls, scene: str) -> ViewpointGraph:
    """The graph of ways: straight lines in one room, past no solid wall and no third place.

    Two places of a room are joined unless a third lies so nearly between them that it sees them
    more than ``ASIDE`` degrees apart (a beta-skeleton). Every way left out then has a
    detour by two shorter ones, so the house never falls apart.
    """
    flat = np.array([(p.x, p.y) for p in places], dtype=np.float64)
    sees = visible(walls, flat, flat) & _share_a_room(places)
    square = ((flat[:, None, :] - flat[None, :, :]) ** 2).sum(axis=-1)
    joined = _direct(sees, square)
    short = joined & (square <= LONGEST**2)
    edges = np.argwhere(_repaired(short, joined, square)).astype(np.int32)
    height = np.full((len(places), 1), EYE_HEIGHT)
    return build(scene, tuple(p.id for p in places), np.hstack([flat, height]), edges)


def _share_a_room(places: tuple[HousePlace, ...]) -> NDArray[np.bool_]:
    """No way leads through a doorway without standing in it."""
    rows = [[not set(a.rooms).isdisjoint(b.rooms) for b in places] for a in places]
    return np.array(rows, dtype=np.bool_)


def _direct(sees: NDArray[np.bool_], square: NDArray[np.float64]) -> NDArray[np.bool_]:
    """``square`` (N, N) holds squared distances; the law of cosines gives the angle at a third."""
    away = np.sqrt(square)
    legs = away[:, None, :] * away[None, :, :]
    limit = 2.0 * math.cos(math.radians(ASIDE)) * legs - 1e-9
    between = square[:, None, :] + square[None, :, :] - square[:, :, None] < limit
    detour = (between & sees[:, None, :] & sees[None, :, :]).any(axis=-1)
    joined = sees & ~detour
    np.fill_diagonal(joined, False)
    return np.asarray(joined & joined.T)


def _repaired(
    short: NDArray[np.bool_], joined: NDArray[np.bool_], square: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """``short`` with the fewest longer ways of ``joined`` added that connect every place."""
    group = list(range(len(short)))

    def root(i: int) -> int:
        while group[i] != i:
            i = group[i]
        return i

    kept = short.copy()
    for i, j in np.argwhere(np.triu(short)).tolist():
        group[root(i)] = root(j)
    longer = np.argwhere(np.triu(joined & ~short)).tolist()
    for i, j in sorted(longer, key=lambda pair: (float(square[pair[0], pair[1]]), pair)):
        if root(i) != root(j):
            group[root(i)] = root(j)
            kept[i, j] = kept[j, i] = True
    return kept


def heading_and_distance(x0: float, y0: float, x1: float, y1: float) -> tuple[float, float]:
    """Heading (degrees clockwise from +y, in [0, 360)) and distance (metres) of a point."""
    heading = bearing((x0, y0), (x1, y1))
    return heading, math.hypot(x1 - x0, y1 - y0)


def _looks(value: Any, tables: Tables) -> tuple[str, ...]:
    return tuple(look for name in value for look in tables["sets"].get(name, (name,)))


LOOKS: Mapping[str, tuple[str, ...]] = Table("looks", "looks", _looks)
"""Kind -> adjectives. A name is "adjective kind" and is used once in a house."""
FURNITURE: Mapping[str, tuple[str, ...]] = Table("looks", "rooms")
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
