"""Costmap: what depth images tell of the floor, as cells of 0.25 m.

    >>> import numpy as np
    >>> from wayword.worlds.objectnav.observation import DepthImage
    >>> from wayword.worlds.objectnav.observation import View
    >>> depth = DepthImage.of(np.array([[2.0]]), (0.0,), (-26.74,), 5.0)
    >>> costmap = Costmap(0.0, 0.0)
    >>> costmap.add(View("room", 0.0, 0.0, 90.0, 0.9, 80.0, depth))
    >>> bool(costmap.free[costmap.cell(1.75, 0.0)]), bool(costmap.known[costmap.cell(-1.0, 0.0)])
    (True, False)

A ray that meets something between knee and head height marks an obstacle; where a ray runs just
above the floor, the floor is free. Obstacles are kept on a grid five times finer, so that a
cell is closed to a body (*inflation*) exactly where its centre is nearer to one than the radius.

Source: LGX (Dorbala et al. 2024, section III-B), which has ROS's costmap_2d do this.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from wayword.core.geometry import Point
from wayword.worlds.objectnav.observation import View

# A*: shortest ways over the open cells of a grid, by eighths of a turn.
#
#     >>> import numpy as np
#     >>> open_ = np.array([[1, 1, 1], [1, 0, 1], [1, 1, 1]], dtype=bool)
#     >>> shortest(open_, (0, 0), (2, 2))
#     [(0, 0), (0, 1), (0, 2), (1, 2), (2, 2)]
#
# A diagonal step needs both of the cells that it passes between, so that no corner is cut.

Bools = NDArray[np.bool_]
Cell = tuple[int, int]
Spot = tuple[float, float]
"""Row and column, as those of a cell, of a place that may lie between the centres of cells."""
DIAGONAL = math.sqrt(2)
STRAIGHT = ((0, 1), (1, 0), (0, -1), (-1, 0))
SLANTED = ((1, 1), (1, -1), (-1, -1), (-1, 1))


def shortest(open_: Bools, start: Cell, goal: Cell) -> list[Cell] | None:
    """The cells of a shortest way, both ends included; None where there is none.

    The start may be closed (a body that stands too near to something must get away); every other
    cell of the way is open.
    """
    if not open_[goal] and goal != start:
        return None

    def left(cell: Cell) -> float:  # octile distance
        down, across = abs(cell[0] - goal[0]), abs(cell[1] - goal[1])
        return max(down, across) + (DIAGONAL - 1) * min(down, across)

    best: dict[Cell, float] = {start: 0.0}
    before: dict[Cell, Cell] = {}
    front = [(left(start), 0.0, start)]
    while front:
        _, gone, here = heapq.heappop(front)
        if here == goal:
            way = [goal]
            while way[-1] in before:
                way.append(before[way[-1]])
            return way[::-1]
        if gone > best[here]:
            continue
        for cell, cost in _neighbors(open_, here):
            total = gone + cost
            if total < best.get(cell, math.inf) - 1e-12:
                best[cell], before[cell] = total, here
                heapq.heappush(front, (total + left(cell), total, cell))
    return None


def _neighbors(open_: Bools, here: Cell) -> Iterator[tuple[Cell, float]]:
    """The open cells one step away, with the step's length in cells."""
    high, wide = open_.shape
    j, i = here

    def free(dj: int, di: int) -> bool:
        return 0 <= j + dj < high and 0 <= i + di < wide and bool(open_[j + dj, i + di])

    for dj, di in STRAIGHT:
        if free(dj, di):
            yield (j + dj, i + di), 1.0
    for dj, di in SLANTED:
        if free(dj, di) and free(dj, 0) and free(0, di):
            yield (j + dj, i + di), DIAGONAL


def distances(open_: Bools, start: Cell) -> NDArray[np.float64]:
    """(H, W) length in cells of a shortest way from the start; infinite where there is none."""
    from scipy.sparse.csgraph import dijkstra

    from wayword.worlds.objectnav.ground import grid_graph

    usable = open_.copy()
    usable[start] = True
    number = start[0] * open_.shape[1] + start[1]
    found = dijkstra(grid_graph(usable, 1.0), indices=number)
    return np.asarray(found.reshape(open_.shape))


# Frontiers: where known free floor meets the unknown.
#
#     >>> import numpy as np
#     >>> free = np.array([[1, 1, 0, 0]], dtype=bool)
#     >>> known = np.array([[1, 1, 1, 0]], dtype=bool)
#     >>> frontiers(free, known), frontiers(free, free)
#     ([], [[(0, 1)]])
#
# Source: Yamauchi, "A frontier-based approach for autonomous exploration" (CIRA 1997).


def frontiers(free: Bools, known: Bools, least: int = 1) -> list[list[Cell]]:
    """Groups of neighbouring free cells that border on unknown ones (four-neighbours), of at
    least ``least`` cells, the largest first."""
    from scipy.ndimage import label

    unknown = np.pad(~known, 1)
    beside = unknown[:-2, 1:-1] | unknown[2:, 1:-1] | unknown[1:-1, :-2] | unknown[1:-1, 2:]
    parts, count = label(free & beside, structure=np.ones((3, 3)))
    found = [
        [(int(j), int(i)) for j, i in np.argwhere(parts == number)]
        for number in range(1, count + 1)
    ]
    kept = [group for group in found if len(group) >= least]
    return sorted(kept, key=lambda group: (-len(group), group[0]))


Floats = NDArray[np.float64]
CELL = 0.25
ON = 0.03
"""Metres from the centre of a cell within which a body counts as on it."""
FINE = 5
"""Obstacle cells along the side of a cell."""
FLOOR = 0.1
"""Rays that end lower than this (metres) end on the floor."""
HEAD = 1.4
"""What hangs higher than this is walked under."""
SKIM = 0.3
"""Where a ray runs lower than this (metres), the floor under it is free."""
NARROWEST = 0.08
"""The radius (metres) below which a body is not thought to be narrower."""
SAMPLES = 24
"""Places looked at along the low part of a ray."""


class Costmap:
    """The floor as known so far, around a first place (metres) that is the centre of a cell.

    Cells are (row, column), rows to the north, columns to the east; ``half`` metres to each side
    are kept. A cell is *free* (floor was seen in it, or the body stood there), *occupied* (an
    obstacle's centre lies in it), or unknown. ``open_`` (H, W) is where a body of that ``radius``
    may be: free, and no obstacle nearer to the cell's centre than the radius, nor any place where
    the body ran into something.
    """

    def __init__(self, x: float, y: float, radius: float = 0.18, half: float = 16.0) -> None:
        self.radius = radius
        self._cells = 2 * math.ceil(half / CELL) + 1
        self.x, self.y = x - (self._cells // 2) * CELL, y - (self._cells // 2) * CELL
        self.free: Bools = np.zeros((self._cells, self._cells), dtype=np.bool_)
        self.bumped: Bools = np.zeros_like(self.free)
        self._fine: Bools = np.zeros((self._cells * FINE, self._cells * FINE), dtype=np.bool_)
        self._open: Bools | None = None
        self._distance: Floats | None = None

    def cell(self, x: float, y: float) -> tuple[int, int]:
        i = math.floor((x - self.x) / CELL + 0.5 + 1e-9)
        j = math.floor((y - self.y) / CELL + 0.5 + 1e-9)
        last = self._cells - 1
        return min(max(j, 0), last), min(max(i, 0), last)

    def spot(self, x: float, y: float) -> Spot:
        """Row and column of a place between the centres of cells; a centre's own where the place is
        within ``ON`` of it."""
        row, column = self.cell(x, y)
        if math.dist(self.point(row, column), (x, y)) < ON:
            return row, column
        return (y - self.y) / CELL, (x - self.x) / CELL

    def point(self, row: float, column: float) -> Point:
        return self.x + column * CELL, self.y + row * CELL

    @property
    def occupied(self) -> Bools:
        """(H, W) cells with an obstacle in them."""
        blocks = self._fine.reshape(self._cells, FINE, self._cells, FINE)
        return np.asarray(blocks.any(axis=(1, 3)))

    @property
    def known(self) -> Bools:
        return np.asarray(self.free | self.occupied)

    @property
    def open_(self) -> Bools:
        if self._open is None:
            half = FINE // 2
            off = self._away[half::FINE, half::FINE] >= self.radius
            self._open = np.asarray(self.free & off & ~self.bumped)
        return self._open

    @property
    def _away(self) -> Floats:
        """(5 H, 5 W) metres to the nearest obstacle."""
        from scipy.ndimage import distance_transform_edt

        if self._distance is None:
            rows, columns = np.nonzero(self._fine)
            self._distance = np.full(self._fine.shape, np.inf)
            if len(rows):
                last = len(self._fine)
                reach = 2 * FINE
                part = (
                    slice(max(0, rows.min() - reach), min(last, rows.max() + reach + 1)),
                    slice(max(0, columns.min() - reach), min(last, columns.max() + reach + 1)),
                )
                away = np.asarray(distance_transform_edt(~self._fine[part]))
                self._distance[part] = away * (CELL / FINE)
        return self._distance

    def clear(self, a: Spot, b: Spot) -> bool:
        """Whether a body gets in a straight line from the centre of a cell, or from a place between
        them, to the centre of another: off all obstacles by its radius, over free cells, the first
        one aside."""
        count = math.ceil(max(abs(b[0] - a[0]), abs(b[1] - a[1]), 1)) * FINE
        first = math.floor(a[0] + 0.5), math.floor(a[1] + 0.5)
        t = np.arange(1, count + 1) / count
        rows, columns = a[0] + (b[0] - a[0]) * t, a[1] + (b[1] - a[1]) * t
        j, i = np.floor(rows + 0.5).astype(np.intp), np.floor(columns + 0.5).astype(np.intp)
        usable = (self.free & ~self.bumped)[j, i] | ((j == first[0]) & (i == first[1]))
        half = FINE // 2
        y, x = np.round(rows * FINE).astype(np.intp), np.round(columns * FINE).astype(np.intp)
        off = self._away[y + half, x + half] >= self.radius - CELL / FINE / 2
        return bool((usable & off).all())

    def forget_bumps(self) -> None:
        """Open what was closed because the body ran into something: to try again."""
        self.bumped[:] = False
        self._open = None

    def squeeze(self) -> None:
        """Plan for a body that is a third narrower: gaps that only seem too narrow on this grid.
        Where the body does run into something, the cell is closed again."""
        self.radius = max(min(self.radius, NARROWEST), self.radius * 2 / 3)
        self._open = None

    def add(self, view: View) -> None:
        """Take in what a view's depth image tells, and that the body stands where it stands."""
        self._open = self._distance = None
        self.free[self.cell(view.x, view.y)] = True
        ahead, right, up = view.depth.points(view.eye)
        angle = math.radians(view.heading)
        east = view.x + ahead * math.sin(angle) + right * math.cos(angle)
        north = view.y + ahead * math.cos(angle) - right * math.sin(angle)
        met = (up > FLOOR) & (up < HEAD)
        side = CELL / FINE
        i = np.floor((east[met] - self.x + CELL / 2) / side).astype(np.intp)
        j = np.floor((north[met] - self.y + CELL / 2) / side).astype(np.intp)
        high, wide = self._fine.shape
        inside = (i >= 0) & (j >= 0) & (i < wide) & (j < high)
        self._fine[j[inside], i[inside]] = True
        self._clear(view)

    def bump(self, x: float, y: float) -> None:
        """The body cannot be in the cell of that place: it ran into something on its way there."""
        self.bumped[self.cell(x, y)] = True
        self._open = None

    def _clear(self, view: View) -> None:
        """Floor under the parts of rays that run low."""
        down = np.radians(np.array(view.depth.elevations)) < -1e-6
        if not down.any():
            return
        tilt = -np.radians(np.array(view.depth.elevations))[down][:, None]
        metres = np.minimum(view.depth.metres()[down], view.depth.reach)
        first = np.broadcast_to((view.eye - SKIM) / np.sin(tilt), metres.shape).copy()
        last = np.minimum(metres, view.eye / np.sin(tilt))
        # Where the steepest ray meets the floor, nothing stands between it and the body.
        steepest = int(np.argmax(tilt))
        floor = metres[steepest] >= (view.eye - FLOOR) / np.sin(tilt[steepest])
        first[steepest][floor] = 0.0
        t = np.linspace(0.0, 1.0, SAMPLES)
        along = (first[..., None] + (last - first)[..., None] * t) * np.cos(tilt)[..., None]
        use = np.broadcast_to((last > first)[..., None], along.shape)
        across = np.radians(view.heading + np.array(view.depth.bearings))[None, :, None]
        east = (view.x + along * np.sin(across))[use]
        north = (view.y + along * np.cos(across))[use]
        i = np.floor((east - self.x) / CELL + 0.5).astype(np.intp)
        j = np.floor((north - self.y) / CELL + 0.5).astype(np.intp)
        inside = (i >= 0) & (j >= 0) & (i < self._cells) & (j < self._cells)
        self.free[j[inside], i[inside]] = True
