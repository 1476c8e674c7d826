"""Ground: where a body's centre may be, as a fine grid, and the shortest ways over it.

>>> from wayword.core.geometry import way_length
>>> from wayword.worlds.household.builder import SceneBuilder
>>> room = SceneBuilder("room")
>>> room.room("hall", [(0, 0), (4, 0), (4, 3), (0, 3)])
>>> ground = ground_of(room.build(), radius=0.2)
>>> ground.clear((0.5, 0.5), (3.5, 2.5)), ground.at(0.1, 0.1)
(True, False)
>>> way = ground.way((0.5, 0.5), [(3.5, 2.5)])
>>> [round(x, 1) for x, _ in way], round(way_length(way), 2)
([0.5, 3.5], 3.61)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayword.core.geometry import Point, grid_index, grid_lookup, segment_distances, string_pull
from wayword.worlds.household.layout import DOORWAY, SLACK
from wayword.worlds.household.route import floor_cells, within
from wayword.worlds.household.scene import Scene

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
SPACING = 0.05
"""Side of a cell, metres: a fifth of a step."""


@dataclass(eq=False)
class Ground:
    """``free`` (H, W) says whether a body's centre may be at ``(x + i * spacing, y + j * spacing)``
    for row j and column i. A place counts as its nearest cell."""

    x: float
    y: float
    free: Bools
    spacing: float = SPACING
    _fields: dict[int, tuple[Floats, NDArray[np.int32]]] = field(default_factory=dict, repr=False)

    def cell(self, x: float, y: float) -> tuple[int, int]:
        """Row and column of the cell nearest to a place; it may lie off the grid."""
        i = grid_index(x, self.x, self.spacing)
        j = grid_index(y, self.y, self.spacing)
        return j, i

    def point(self, cell: int) -> Point:
        """The centre of a cell, by its flat number."""
        j, i = divmod(int(cell), self.free.shape[1])
        return self.x + i * self.spacing, self.y + j * self.spacing

    def at(self, x: float, y: float) -> bool:
        """Whether a place is free."""
        j, i = self.cell(x, y)
        rows, columns = self.free.shape
        return 0 <= j < rows and 0 <= i < columns and bool(self.free[j, i])

    def clear(self, p: Point, q: Point) -> bool:
        """Whether the straight way is free, looked at every half cell."""
        return bool(self._under(*self._samples(p, q)).all())

    def stop_before(self, p: Point, q: Point) -> Point:
        """The last free place on the straight way from a free place ``p`` to ``q``."""
        xs, ys = self._samples(p, q)
        free = self._under(xs, ys)
        if free.all():
            return q
        last = max(0, int(np.argmin(free)) - 1)
        return float(xs[last]), float(ys[last])

    def nearest(self, x: float, y: float, most: float = math.inf) -> Point | None:
        """The free place nearest to a point: the point itself where it is free, else the centre
        of a cell; None where none lies within ``most`` metres."""
        if self.at(x, y):
            return x, y
        away = np.hypot(self._xs - x, self._ys - y)
        if not len(away) or float(away.min()) > most:
            return None
        return self.point(self._numbers[int(np.argmin(away))])

    def reach(self, start: Point) -> Floats:
        """(H, W) metres of the shortest way in eight directions; infinite where there is none."""
        return self._field(start)[0].reshape(self.free.shape)

    def way(self, start: Point, goals: Sequence[Point]) -> list[Point] | None:
        """A shortest way from ``start`` to the nearest of some places, its corners in order.

        None where no goal is free and in reach.
        """
        steps, before = self._field(start)
        best, found = math.inf, -1
        end = start
        for goal in goals:
            if not self.at(*goal):
                continue
            j, i = self.cell(*goal)
            number = j * self.free.shape[1] + i
            if steps[number] < best:
                best, found, end = float(steps[number]), number, goal
        if found < 0:
            return None
        cells = [found]
        while before[cells[-1]] >= 0:
            cells.append(int(before[cells[-1]]))
        corners = [start, *(self.point(cell) for cell in cells[-2:0:-1]), end]
        pulled = corners
        for _ in range(4):  # from both ends in turn: each pass frees corners that the last one left
            shorter = string_pull(pulled, self.clear, coarse=True)[::-1]
            if len(shorter) == len(pulled):
                break
            pulled = shorter
        return pulled if pulled[0] == corners[0] else pulled[::-1]

    def _samples(self, p: Point, q: Point) -> tuple[Floats, Floats]:
        count = max(1, math.ceil(2 * math.dist(p, q) / self.spacing))
        t = np.arange(count + 1) / count
        return p[0] + (q[0] - p[0]) * t, p[1] + (q[1] - p[1]) * t

    def _under(self, xs: Floats, ys: Floats) -> Bools:
        return grid_lookup(self.free, xs, ys, (self.x, self.y), self.spacing)

    def _field(self, start: Point) -> tuple[Floats, NDArray[np.int32]]:
        """Metres to every cell from the start's, and the cell before it; kept for a few starts."""
        from scipy.sparse.csgraph import dijkstra

        place = self.nearest(*start, most=0.5)
        if place is None:
            size = self.free.size
            return np.full(size, np.inf), np.full(size, -1, np.int32)
        j, i = self.cell(*place)
        number = j * self.free.shape[1] + i
        if number not in self._fields:
            if len(self._fields) >= 16:
                self._fields.clear()
            self._fields[number] = dijkstra(self._graph, indices=number, return_predecessors=True)
        return self._fields[number]

    @cached_property
    def _numbers(self) -> NDArray[np.intp]:
        return np.flatnonzero(self.free)

    @cached_property
    def _xs(self) -> Floats:
        return np.asarray(self.x + (self._numbers % self.free.shape[1]) * self.spacing)

    @cached_property
    def _ys(self) -> Floats:
        return np.asarray(self.y + (self._numbers // self.free.shape[1]) * self.spacing)

    @cached_property
    def _graph(self) -> Any:
        return grid_graph(self.free, self.spacing)


def grid_graph(free: Bools, spacing: float) -> Any:
    """The ways between free cells and their eight neighbours, as a sparse matrix of metres.

    A diagonal step needs both of the cells that it passes between.
    """
    from scipy.sparse import csr_array

    number = np.arange(free.size).reshape(free.shape)
    pairs: list[tuple[Any, Any, float]] = []
    pairs.append((number[:, :-1][free[:, :-1] & free[:, 1:]], 1, 1.0))
    pairs.append((number[:-1][free[:-1] & free[1:]], free.shape[1], 1.0))
    square = free[:-1, :-1] & free[1:, :-1] & free[:-1, 1:] & free[1:, 1:]
    pairs.append((number[:-1, :-1][square], free.shape[1] + 1, math.sqrt(2)))
    pairs.append((number[:-1, 1:][square], free.shape[1] - 1, math.sqrt(2)))
    starts = np.concatenate([first for first, _, _ in pairs])
    ends = np.concatenate([first + offset for first, offset, _ in pairs])
    metres = np.concatenate([np.full(len(first), cost * spacing) for first, _, cost in pairs])
    both = np.concatenate([starts, ends]), np.concatenate([ends, starts])
    return csr_array((np.concatenate([metres, metres]), both), shape=(free.size, free.size))


def ground_of(scene: Scene, radius: float) -> Ground:
    """The ground of a scene for a body of that radius (metres): its published floor where it has
    one, else what is indoors and clear of walls, solid furniture and shut doors."""
    if scene.floor is not None:
        floor = scene.floor
        return Ground(floor.x, floor.y, floor_cells(floor), floor.spacing)
    corners = [corner for room in scene.rooms for corner in room.polygon]
    west, east = min(x for x, _ in corners), max(x for x, _ in corners)
    south, north = min(y for _, y in corners), max(y for _, y in corners)
    x, y = np.meshgrid(
        np.arange(west, east + SPACING, SPACING), np.arange(south, north + SPACING, SPACING)
    )
    free: Bools = np.zeros(x.shape, dtype=np.bool_)
    for room in scene.rooms:  # what lies in a room, or in a doorway or a gap beside one
        free |= within(x.ravel(), y.ravel(), room.polygon).reshape(x.shape)
        for a, b in zip(room.polygon, room.polygon[1:] + room.polygon[:1], strict=True):
            free |= segment_distances(x, y, *a, *b) < DOORWAY
    lines = [(w.a, w.b) for w in scene.walls] + [(d.a, d.b) for d in scene.doors if not d.open]
    for a, b in lines:  # less the slack, so that a body may touch a wall, as in the household world
        free &= segment_distances(x, y, *a, *b) >= radius - SLACK
    for o in scene.objects:
        if o.solid:
            free &= (abs(x - o.x) >= o.width / 2 + radius) | (abs(y - o.y) >= o.depth / 2 + radius)
    return Ground(west, south, free)
