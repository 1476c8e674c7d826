"""Walls, and what can be seen past them.

Walls are thin lines, solid save for the doors' openings. Furniture hides nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wayword.datasets.housing.floorplan import Door, FloorPlan, Room

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


def _sides(room: Room) -> list[tuple[float, bool, float, float]]:
    return [
        (room.x0, True, room.y0, room.y1),
        (room.x1, True, room.y0, room.y1),
        (room.y0, False, room.x0, room.x1),
        (room.y1, False, room.x0, room.x1),
    ]


def _on(door: Door, line: float, vertical: bool) -> bool:
    return door.vertical == vertical and abs((door.x if vertical else door.y) - line) < EPS


def _gap(door: Door) -> tuple[float, float]:
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
