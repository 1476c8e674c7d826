"""Costmap: the floor seen in depth images, as a grid with cells of 0.25 m.

A ray that ends between knee and head height marks an obstacle; below a ray that runs just above
the floor, the floor is free. Obstacles are stored on a grid five times finer: a cell is closed to
a body (*inflation*) exactly if its center is nearer to an obstacle than the body's radius. Source:
LGX (Dorbala et al. 2024, section III-B), which has ROS's costmap_2d do this.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayword.core.geometry import Point
from wayword.worlds.objectnav.observation import View

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Cell = tuple[int, int]
Spot = tuple[float, float]  # row and column of any place, as fractions of cells


def shortest_route(open_: Bools, start: Cell, goal: Cell) -> list[Cell] | None:
    """Return the cells of a shortest route in eight directions, both ends included; None without a
    route. All cells but the start are open: a body too near to an obstacle must get away. A
    diagonal step needs both cells that it passes between to be open, so it cuts no corner."""
    if not open_[goal] and goal != start:
        return None
    lengths, predecessors = _dijkstra(open_, start)
    # No route: the predecessors would lead nowhere.
    if not np.isfinite(lengths[goal]):
        return None
    route = [goal]
    while route[-1] != start:
        row, column = divmod(int(predecessors[route[-1]]), open_.shape[1])
        route.append((row, column))
    return route[::-1]


def distances(open_: Bools, start: Cell) -> Floats:
    """Return the length (H, W) of a shortest route to each cell, in cells; infinite if
    unreachable."""
    return _dijkstra(open_, start)[0]


def _dijkstra(open_: Bools, start: Cell) -> tuple[Floats, NDArray[np.int32]]:
    """Return lengths (H, W) in cells, and the flat index of each cell's predecessor."""
    from scipy.sparse.csgraph import dijkstra

    from wayword.worlds.objectnav.ground import grid_graph

    # The start is usable even if it is too near to an obstacle.
    usable = open_.copy()
    usable[start] = True
    start_index = start[0] * open_.shape[1] + start[1]
    graph = grid_graph(usable, 1.0)
    lengths, predecessors = dijkstra(
        graph,
        indices=start_index,
        return_predecessors=True,
    )
    return lengths.reshape(open_.shape), predecessors.reshape(open_.shape)


def frontiers(free: Bools, explored: Bools, min_cells: int = 1) -> list[list[Cell]]:
    """Return connected groups of free cells next to unknown ones (four neighbors), with at least
    ``min_cells`` cells each, largest first.

    Source: Yamauchi, "A frontier-based approach for autonomous exploration" (CIRA 1997).
    """
    from scipy.ndimage import label

    # Unknown beyond the edge of the map, too.
    unknown = np.pad(~explored, 1)
    border = (
        unknown[:-2, 1:-1] | unknown[2:, 1:-1] | unknown[1:-1, :-2] | unknown[1:-1, 2:]
    )
    labels, count = label(free & border, structure=np.ones((3, 3)))
    groups = []
    for number in range(1, count + 1):
        group = [(int(j), int(i)) for j, i in np.argwhere(labels == number)]
        if len(group) >= min_cells:
            groups.append(group)
    # By the first cell where sizes are equal.
    return sorted(groups, key=lambda group: (-len(group), group[0]))


CELL = 0.25
ON_CELL = 0.03  # metres from the center of a cell within which a body counts as on it
SUBCELLS = 5  # obstacle cells along the side of a cell
FLOOR_HEIGHT = 0.1  # metres below which a ray ends on the floor
HEAD_HEIGHT = 1.4  # metres above which an object is no obstacle
SKIM_HEIGHT = 0.3  # metres below which the floor under a ray is free
NARROWEST_RADIUS = 0.08  # minimum radius (metres) that ``narrow_body`` plans for
# Levels of a robot's own map: too near for its center, an obstacle
INSCRIBED = 99
LETHAL = 100
RAY_SAMPLES = 24  # samples along the low part of a ray


class Costmap:
    """A grid map of the floor explored so far, centered on a cell at (``x``, ``y``), in metres.

    Cells are (row, column): rows to the north, columns to the east, up to ``half`` metres from the
    center. A cell is *free* (its floor was seen, or the body stood there), *occupied* (it contains
    an obstacle), or unknown. ``open_`` (H, W) are the cells that a body of ``radius`` may enter:
    free, farther than the radius from every obstacle, and without a collision so far.
    """

    def __init__(
        self,
        x: float,
        y: float,
        radius: float = 0.18,
        half: float = 16.0,
    ) -> None:
        self.radius = radius
        # An odd number, so that the body starts in the middle of a cell.
        self._cells = 2 * math.ceil(half / CELL) + 1
        self.x = x - (self._cells // 2) * CELL
        self.y = y - (self._cells // 2) * CELL
        self.free: Bools = np.zeros((self._cells, self._cells), dtype=np.bool_)
        self.bumped_cells: Bools = np.zeros_like(self.free)
        self._obstacles: Bools = np.zeros([self._cells * SUBCELLS] * 2, dtype=np.bool_)

    def cell(self, x: float, y: float) -> tuple[int, int]:
        """Return row and column of a point; points off the map are at its edge."""
        # The tolerance puts a point on a border into the upper cell, whatever the
        # rounding.
        i = math.floor((x - self.x) / CELL + 0.5 + 1e-9)
        j = math.floor((y - self.y) / CELL + 0.5 + 1e-9)
        last = self._cells - 1
        return min(max(j, 0), last), min(max(i, 0), last)

    def spot(self, x: float, y: float) -> Spot:
        """Return fractional row and column of a place; within ``ON_CELL`` of a cell's center, its
        own."""
        row, column = self.cell(x, y)
        if math.dist(self.point(row, column), (x, y)) < ON_CELL:
            return row, column
        return (y - self.y) / CELL, (x - self.x) / CELL

    def point(self, row: float, column: float) -> Point:
        """Return the center of a cell, x and y in metres."""
        return self.x + column * CELL, self.y + row * CELL

    @property
    def occupied(self) -> Bools:
        """Cells with an obstacle in them, (H, W)."""
        blocks = self._obstacles.reshape(self._cells, SUBCELLS, self._cells, SUBCELLS)
        return np.asarray(blocks.any(axis=(1, 3)))

    @property
    def explored(self) -> Bools:
        """Cells that were seen, free or occupied."""
        return np.asarray(self.free | self.occupied)

    @cached_property
    def open_(self) -> Bools:
        """Cells where a body fits: free, wide enough, and without a collision."""
        # The clearance at the middle of each cell.
        half = SUBCELLS // 2
        is_wide = self._clearance[half::SUBCELLS, half::SUBCELLS] >= self.radius
        return np.asarray(self.free & is_wide & ~self.bumped_cells)

    @cached_property
    def _clearance(self) -> Floats:
        """Distance (5 H, 5 W) to the nearest obstacle, metres."""
        from scipy.ndimage import distance_transform_edt

        clearance = np.full(self._obstacles.shape, np.inf)
        rows, columns = np.nonzero(self._obstacles)
        if len(rows):
            last = len(self._obstacles)
            reach = 2 * SUBCELLS
            # Only around obstacles: the transform of the full map is slow.
            window = (
                slice(max(0, rows.min() - reach), min(last, rows.max() + reach + 1)),
                slice(
                    max(0, columns.min() - reach),
                    min(last, columns.max() + reach + 1),
                ),
            )
            cells = np.asarray(distance_transform_edt(~self._obstacles[window]))
            clearance[window] = cells * (CELL / SUBCELLS)
        return clearance

    def is_clear(self, a: Spot, b: Spot) -> bool:
        """True if a body can move straight from ``a`` to ``b``: over free cells, except the first
        one, and farther from every obstacle than its radius."""
        # Five samples per cell, as many as obstacle cells.
        count = math.ceil(max(abs(b[0] - a[0]), abs(b[1] - a[1]), 1)) * SUBCELLS
        start = math.floor(a[0] + 0.5), math.floor(a[1] + 0.5)
        t = np.arange(1, count + 1) / count
        rows = a[0] + (b[0] - a[0]) * t
        columns = a[1] + (b[1] - a[1]) * t
        j = np.floor(rows + 0.5).astype(np.intp)
        i = np.floor(columns + 0.5).astype(np.intp)
        usable = (self.free & ~self.bumped_cells)[j, i] | (
            (j == start[0]) & (i == start[1])
        )
        half = SUBCELLS // 2
        y, x = (
            np.round(at * SUBCELLS).astype(np.intp) + half for at in (rows, columns)
        )
        # Half an obstacle cell of slack: positions are rounded to them.
        is_wide = self._clearance[y, x] >= self.radius - CELL / SUBCELLS / 2
        return bool((usable & is_wide).all())

    def narrow_body(self, reopen: bool = False) -> None:
        """Plan for a body that is a third narrower, because a gap may only seem too narrow on the
        grid. A collision closes the cell again; with ``reopen``, those closed before are open."""
        # Never below the narrowest radius, and never wider than before.
        self.radius = max(min(self.radius, NARROWEST_RADIUS), self.radius * 2 / 3)
        self.bumped_cells &= not reopen
        vars(self).pop("open_", None)

    def add(self, view: View) -> None:
        """Add a view's depth image, and the body's cell as free. A robot's own map of the floor, if
        the view has one, replaces everything."""
        # Both depend on the map that changes now.
        for cached in ("open_", "_clearance"):
            vars(self).pop(cached, None)
        # A robot's own map is better than what one view shows.
        if view.floor is not None:
            cells = np.arange(self._cells) * CELL
            parts = (np.arange(self._cells * SUBCELLS) - SUBCELLS // 2) * (
                CELL / SUBCELLS
            )
            levels, fine_levels = (
                view.floor.at(self.x + at[None, :], self.y + at[:, None])
                for at in (cells, parts)
            )
            self.free = levels < INSCRIBED
            self._obstacles = fine_levels == LETHAL
        self.free[self.cell(view.x, view.y)] = True
        if view.floor is not None:
            return
        # Points of the depth image, from the camera's frame to the map's.
        ahead, right, up = view.depth.points(view.eye)
        angle = math.radians(view.heading)
        east = view.x + ahead * math.sin(angle) + right * math.cos(angle)
        north = view.y + ahead * math.cos(angle) - right * math.sin(angle)
        # Between floor and head: what a body would run into.
        is_obstacle = (up > FLOOR_HEIGHT) & (up < HEAD_HEIGHT)
        side = CELL / SUBCELLS
        i = np.floor((east[is_obstacle] - self.x + CELL / 2) / side).astype(np.intp)
        j = np.floor((north[is_obstacle] - self.y + CELL / 2) / side).astype(np.intp)
        rows, columns = self._obstacles.shape
        inside = (i >= 0) & (j >= 0) & (i < columns) & (j < rows)
        self._obstacles[j[inside], i[inside]] = True
        self._free_floor(view)

    def reachable(
        self,
        x: float,
        y: float,
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], Floats]:
        """Return the cells (N, 2) that a body can reach from a place, their centers' x and y, and
        the route lengths, each (N,) in metres."""
        metres = distances(self.open_, self.cell(x, y)) * CELL
        cells = np.argwhere(np.isfinite(metres))
        xs = self.x + cells[:, 1] * CELL
        ys = self.y + cells[:, 0] * CELL
        return cells, xs, ys, metres[cells[:, 0], cells[:, 1]]

    def close_cell(self, x: float, y: float) -> None:
        """Close a cell in which the body collided."""
        self.bumped_cells[self.cell(x, y)] = True
        vars(self).pop("open_", None)

    def _free_floor(self, view: View) -> None:
        """Mark the floor that a view sees as free: rays that look down and meet
        nothing."""
        looks_down = np.radians(np.array(view.depth.elevations)) < -1e-6
        if not looks_down.any():
            return
        tilt = -np.radians(np.array(view.depth.elevations))[looks_down][:, None]
        metres = np.minimum(view.depth.metres()[looks_down], view.depth.reach)
        metres[~view.depth.measured()[looks_down]] = 0.0  # such a ray frees no floor
        low_start = np.broadcast_to(
            (view.eye - SKIM_HEIGHT) / np.sin(tilt),
            metres.shape,
        ).copy()
        # Up to the obstacle, or to where the ray meets the floor.
        low_end = np.minimum(metres, view.eye / np.sin(tilt))
        # If the steepest ray meets the floor, nothing stands between that point and the body.
        steepest = int(np.argmax(tilt))
        meets_floor = metres[steepest] >= (view.eye - FLOOR_HEIGHT) / np.sin(
            tilt[steepest]
        )
        low_start[steepest][meets_floor] = 0.0
        t = np.linspace(0.0, 1.0, RAY_SAMPLES)
        along = low_start[..., None] + (low_end - low_start)[..., None] * t
        along *= np.cos(tilt)[..., None]
        is_low = np.broadcast_to((low_end > low_start)[..., None], along.shape)
        bearings = np.radians(view.heading + np.array(view.depth.bearings))[
            None, :, None
        ]
        east = (view.x + along * np.sin(bearings))[is_low]
        north = (view.y + along * np.cos(bearings))[is_low]
        i = np.floor((east - self.x) / CELL + 0.5).astype(np.intp)
        j = np.floor((north - self.y) / CELL + 0.5).astype(np.intp)
        inside = (i >= 0) & (j >= 0) & (i < self._cells) & (j < self._cells)
        self.free[j[inside], i[inside]] = True
