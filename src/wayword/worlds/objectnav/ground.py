"""Ground: free positions of a body's center as a fine grid, and shortest paths on it.

>>> from wayword.core.geometry import path_length
>>> from wayword.worlds.household.builder import SceneBuilder
>>> room = SceneBuilder("room")
>>> room.room("hall", [(0, 0), (4, 0), (4, 3), (0, 3)])
>>> ground = ground_of(room.build(), radius=0.2)
>>> ground.clear((0.5, 0.5), (3.5, 2.5)), ground.at(0.1, 0.1)
(True, False)
>>> path = ground.path((0.5, 0.5), [(3.5, 2.5)])
>>> [round(x, 1) for x, _ in path], round(path_length(path), 2)
([0.5, 3.5], 3.61)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayword.core.geometry import (
    Bools,
    Floats,
    Point,
    bounding_box,
    grid_index,
    grid_lookup,
    segment_distances,
    sides,
    string_pull,
)
from wayword.worlds.household.layout import DOORWAY_MARGIN, SLACK
from wayword.worlds.household.route import floor_cells, is_inside_polygon
from wayword.worlds.household.scene import Scene

SPACING = 0.05  # metres, side of a grid cell: a fifth of a step, so that narrow doors stay open


@dataclass(eq=False)
class Ground:
    """Free positions of a body's center, in metres.

    ``free`` (H, W) is true if the center may be at ``(x + i * spacing, y + j *
    spacing)`` for row j and column i. A point is looked up at its nearest cell; off the
    grid it is not free. Do not change ``free`` afterwards: the graph of steps is
    computed once.
    """

    x: float
    y: float
    free: Bools
    spacing: float = SPACING

    def cell(self, x: float, y: float) -> tuple[int, int]:
        """Return row and column of the cell nearest to a point; it may be off the grid."""
        row = grid_index(y, self.y, self.spacing)
        column = grid_index(x, self.x, self.spacing)
        return row, column

    def point(self, cell: int) -> Point:
        """Return the center (x, y) of a cell, by its flat index."""
        j, i = divmod(int(cell), self.free.shape[1])
        return self.x + i * self.spacing, self.y + j * self.spacing

    def at(self, x: float, y: float) -> bool:
        """True if the nearest cell to a point (metres) is free."""
        j, i = self.cell(x, y)
        rows, columns = self.free.shape
        # Off the grid counts as blocked: outside of all rooms.
        if not (0 <= j < rows and 0 <= i < columns):
            return False
        return bool(self.free[j, i])

    def clear(self, p: Point, q: Point) -> bool:
        """True if the straight line between two points is free, checked every half cell."""
        return bool(self._line_samples(p, q)[2].all())

    def stop_before(self, p: Point, q: Point) -> Point:
        """Return the last free point on the straight line from a free point ``p`` to ``q``.

        It is ``q`` itself if nothing is in the way, else a sample at most half a cell
        before the obstacle.
        """
        xs, ys, free = self._line_samples(p, q)
        if free.all():
            return q
        # ``argmin`` of a mask is its first blocked point. Point 0 is free by contract;
        # the floor at 0 holds for a start that rounding put into an obstacle.
        last_free = max(0, int(np.argmin(free)) - 1)
        return float(xs[last_free]), float(ys[last_free])

    def nearest(
        self,
        x: float,
        y: float,
        max_distance: float = math.inf,
    ) -> Point | None:
        """Return the free position nearest to a point.

        The point itself if free, else the center of a cell; None if there is none
        within ``max_distance`` metres.
        """
        # The point itself where possible, so that a free start keeps its exact
        # coordinates.
        if self.at(x, y):
            return x, y
        # Every free cell is compared: a few tens of thousands take less than a
        # millisecond.
        numbers, xs, ys = self._cells
        distances = np.hypot(xs - x, ys - y)
        if not len(distances) or float(distances.min()) > max_distance:
            return None
        return self.point(numbers[int(np.argmin(distances))])

    def reach(self, start: Point) -> Floats:
        """Return (H, W) shortest distances in metres over 8-connected cells; inf without a path."""
        return self._distance_field(start)[0].reshape(self.free.shape)

    def path(
        self,
        start: Point,
        goals: Sequence[Point],
    ) -> list[Point] | None:
        """Return the corners of a shortest path from ``start`` to the nearest of ``goals``.

        Both ends are exact, and the lines between corners are free. None if no goal is
        free and reachable.
        """
        metres, previous = self._distance_field(start)
        # Goals inside an obstacle are ignored; the nearest of the others by walking
        # distance wins.
        numbers = {goal: self._cell_number(goal) for goal in goals if self.at(*goal)}
        end = min(
            numbers,
            key=lambda goal: metres[numbers[goal]],
            default=None,
        )
        if end is None or not math.isfinite(metres[numbers[end]]):
            return None

        # The cells of the path, from its end to its start.
        cells = [numbers[end]]
        while previous[cells[-1]] >= 0:
            cells.append(int(previous[cells[-1]]))
        # The first and last cells are replaced by the exact points they stand for.
        corners = [
            start,
            *(self.point(cell) for cell in cells[-2:0:-1]),
            end,
        ]

        # Shortened from alternate ends: each pass removes corners that the last one kept.
        path = corners
        # Four passes: chosen without measurement; the loop mostly ends earlier, as no
        # corner goes.
        for _ in range(4):
            shorter = string_pull(path, self.clear, coarse=True)[::-1]
            if len(shorter) == len(path):
                break
            path = shorter
        # Every pass reverses the path, so an odd number of them leaves it from goal to
        # start.
        return path if path[0] == corners[0] else path[::-1]

    def _cell_number(self, point: Point) -> int:
        """Return the flat index of the cell nearest to a point, which must be on the grid."""
        j, i = self.cell(*point)
        return int(j * self.free.shape[1] + i)

    def _line_samples(
        self,
        p: Point,
        q: Point,
    ) -> tuple[Floats, Floats, Bools]:
        """Sample a line every half cell; return x, y and a mask of free points, both
        ends included.
        """
        # Half a cell: no obstacle as wide as a cell can lie between two samples.
        half_cells = 2 * math.dist(p, q) / self.spacing
        count = max(1, math.ceil(half_cells))
        t = np.arange(count + 1) / count
        dx = q[0] - p[0]
        dy = q[1] - p[1]
        x = p[0] + dx * t
        y = p[1] + dy * t
        free = grid_lookup(
            self.free,
            x,
            y,
            (self.x, self.y),
            self.spacing,
        )
        return x, y, free

    def _distance_field(self, start: Point) -> tuple[Floats, NDArray[np.int32]]:
        """Return metres from the start's cell to all cells, and predecessors, by flat index.

        Infinite and -1 for all if no free cell is within half a metre of the start.
        """
        from scipy.sparse.csgraph import dijkstra

        # A start may be just inside an obstacle.
        # Half a metre: more than a body's radius, less than the way to the next room.
        place = self.nearest(*start, max_distance=0.5)
        if place is None:
            size = self.free.size
            metres = np.full(size, np.inf)
            predecessors = np.full(size, -1, np.int32)
            return metres, predecessors
        number: Any = self._cell_number(place)
        return dijkstra(
            self._graph,
            indices=number,
            return_predecessors=True,
        )

    @cached_property
    def _cells(self) -> tuple[NDArray[np.intp], Floats, Floats]:
        """Flat index, x and y of each free cell."""
        numbers = np.flatnonzero(self.free)
        rows, columns = np.divmod(numbers, self.free.shape[1])
        xs = self.x + columns * self.spacing
        ys = self.y + rows * self.spacing
        return numbers, xs, ys

    @cached_property
    def _graph(self) -> Any:
        """Steps between free cells, computed at the first search."""
        return grid_graph(self.free, self.spacing)


def grid_graph(free: Bools, spacing: float) -> Any:
    """Return steps between free 8-connected cells, as a sparse matrix of distances in metres.

    ``free`` is (H, W), the matrix (H W, H W) by flat index. A diagonal step requires
    that both adjacent cells are free, so a body never cuts a corner.
    """
    from scipy.sparse import csr_array

    # Cells from which a step to the east, north, north-east and north-west is free. The offset
    # leads to the flat index of the other cell.
    # 32 bits, as scipy's searches convert all others at each call.
    number = np.arange(free.size, dtype=np.int32).reshape(free.shape)
    columns = free.shape[1]
    # A diagonal crosses the corner that four cells share, so all four must be free.
    diagonal = math.sqrt(2)
    is_open_east = free[:, :-1] & free[:, 1:]
    is_open_north = free[:-1] & free[1:]
    is_open_square = is_open_east[:-1] & is_open_east[1:]
    steps = (
        (number[:, :-1][is_open_east], 1, 1.0),
        (number[:-1][is_open_north], columns, 1.0),
        (
            number[:-1, :-1][is_open_square],
            columns + 1,
            diagonal,
        ),
        (
            number[:-1, 1:][is_open_square],
            columns - 1,
            diagonal,
        ),
    )
    starts = np.concatenate([cells for cells, _, _ in steps])
    ends = np.concatenate([cells + offset for cells, offset, _ in steps])
    lengths = [np.full(len(cells), cost * spacing) for cells, _, cost in steps]
    metres = np.concatenate(lengths)

    # Each step in both directions.
    sources = np.concatenate([starts, ends])
    targets = np.concatenate([ends, starts])
    weights = np.concatenate([metres, metres])
    shape = (free.size, free.size)
    return csr_array((weights, (sources, targets)), shape=shape)


def ground_of(scene: Scene, radius: float) -> Ground:
    """Return the ground of a scene for a body of that radius (metres).

    This is its published floor if any, else the indoor area clear of walls, solid
    furniture and closed doors. ``scene`` gives the state: doors that open later change
    nothing.
    """
    floor = scene.floor
    if floor is not None:
        return Ground(
            floor.x,
            floor.y,
            floor_cells(floor),
            floor.spacing,
        )

    # A grid over all rooms.
    corners = chain.from_iterable(room.polygon for room in scene.rooms)
    west, south, east, north = bounding_box(corners)
    columns = np.arange(west, east + SPACING, SPACING)
    rows = np.arange(south, north + SPACING, SPACING)
    x, y = np.meshgrid(columns, rows)
    free: Bools = np.zeros(x.shape, dtype=np.bool_)

    def distances(
        a: Point,
        b: Point,
        limit: float,
    ) -> tuple[tuple[slice, slice], Floats]:
        """Return the cells that may be within ``limit`` of a segment, and their distances."""
        margin = limit + SPACING
        x0, y0, x1, y1 = bounding_box((a, b))
        x_range = (x0 - margin, x1 + margin)
        y_range = (y0 - margin, y1 + margin)
        across = slice(*np.searchsorted(columns, x_range))
        up = slice(*np.searchsorted(rows, y_range))
        cells = (up, across)
        return cells, segment_distances(x[cells], y[cells], *a, *b)

    # Inside a room, or in a doorway or gap next to one.
    for room in scene.rooms:
        is_inside = is_inside_polygon(x.ravel(), y.ravel(), room.polygon)
        free |= is_inside.reshape(x.shape)
        # Doorways lie in the gap between two polygons, where neither contains a point.
        for a, b in sides(room.polygon):
            cells, away = distances(a, b, DOORWAY_MARGIN)
            free[cells] |= away < DOORWAY_MARGIN

    # Off walls and closed doors. Minus the slack, so a body may touch a wall, as in the household
    # world.
    lines = [(wall.a, wall.b) for wall in scene.walls]
    lines += [(door.a, door.b) for door in scene.doors if not door.open]
    closest = radius - SLACK
    for a, b in lines:
        cells, away = distances(a, b, radius)
        free[cells] &= away >= closest

    # Off furniture, whose box is enlarged by the radius.
    for o in scene.objects:
        if o.solid:
            clear_x = o.width / 2 + radius
            clear_y = o.depth / 2 + radius
            is_off_x = abs(x - o.x) >= clear_x
            is_off_y = abs(y - o.y) >= clear_y
            free &= is_off_x | is_off_y
    return Ground(west, south, free)
