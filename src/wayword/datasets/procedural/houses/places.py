"""Viewpoints: where one can stand in a house, and the straight ways between them."""

from __future__ import annotations

import hashlib
import math
import random
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wayword.core.geometry import bearing
from wayword.datasets.procedural.floorplans import HALLWAY, FloorPlan, PlanDoor, PlanRoom
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
