"""Costmap: the floor seen in depth images, as a grid with cells of 0.25 m.

A ray that ends above ``FLOOR_HEIGHT`` and below ``HEAD_HEIGHT`` marks an obstacle; below a ray
that runs just above the floor, the floor is free. Obstacles are stored on a grid five times finer:
a cell is closed to a body (*inflation*) exactly if its center is nearer to an obstacle than the
body's radius. Source: LGX (Dorbala et al. 2024, section III-B), which has ROS's costmap_2d do this.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayword.core.geometry import Bools, Floats, Point
from wayword.worlds.objectnav.observation import FloorMap, View

Cell = tuple[int, int]
Spot = tuple[float, float]  # row and column of any place, as fractions of cells


def shortest_route(open_: Bools, start: Cell, goal: Cell) -> list[Cell] | None:
    """Return the cells of a shortest route in eight directions, both ends included.

    None without a route. All cells but the start are open: a body too near to an
    obstacle must get away. A diagonal step needs both cells that it passes between to
    be open, so it cuts no corner. ``open_`` has shape (H, W).
    """
    if not open_[goal] and goal != start:
        return None
    lengths, predecessors = _dijkstra(open_, start)
    # No route: the predecessors would lead nowhere.
    if not np.isfinite(lengths[goal]):
        return None
    # Backwards from the goal, by each cell's predecessor.
    route = [goal]
    while route[-1] != start:
        row, column = divmod(int(predecessors[route[-1]]), open_.shape[1])
        route.append((row, column))
    return route[::-1]


def distances(open_: Bools, start: Cell) -> Floats:
    """Return the length (H, W) of a shortest route to each cell, in cells; infinite if
    unreachable.
    """
    return _dijkstra(open_, start)[0]


def _dijkstra(open_: Bools, start: Cell) -> tuple[Floats, NDArray[np.int32]]:
    """Return lengths (H, W) in cells, and the flat index (H, W) of the cell before each on its
    route (negative for none); unreachable lengths are infinite.
    """
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
    """Return connected groups of free cells next to unknown ones (four neighbors), largest first.

    Groups of fewer than ``min_cells`` cells are left out. ``free`` and ``explored``
    have shape (H, W). Source: Yamauchi, "A frontier-based approach for autonomous
    exploration" (CIRA 1997).
    """
    from scipy.ndimage import label

    # Unknown beyond the edge of the map, too.
    unknown = np.pad(~explored, 1)
    # Cells with an unknown one to the south, north, west or east.
    border = unknown[:-2, 1:-1] | unknown[2:, 1:-1]
    border |= unknown[1:-1, :-2] | unknown[1:-1, 2:]
    # Cells of a group may touch at corners.
    labels, count = label(free & border, structure=np.ones((3, 3)))
    groups = []
    for number in range(1, count + 1):
        group = [(int(j), int(i)) for j, i in np.argwhere(labels == number)]
        if len(group) >= min_cells:
            groups.append(group)
    # By the first cell where sizes are equal.
    return sorted(groups, key=lambda group: (-len(group), group[0]))


CELL = 0.25  # side of a cell in metres: the length of a body's step
ON_CELL = 0.03  # metres from the center of a cell within which a body counts as on it
SUBCELLS = 5  # obstacle cells along the side of a cell
FLOOR_HEIGHT = 0.1  # metres below which a ray ends on the floor
HEAD_HEIGHT = 1.4  # metres above which an object is no obstacle
SKIM_HEIGHT = 0.3  # metres below which the floor under a ray is free
NARROWEST_RADIUS = 0.08  # minimum radius (metres) that ``narrow_body`` plans for
# Levels of a robot's own map, as in ROS: too near for its center, an obstacle
INSCRIBED = 99
LETHAL = 100
RAY_SAMPLES = 24  # samples along the low part of a ray


class Costmap:
    """A grid map of the floor explored so far, centered on a cell at (``x``, ``y``), in metres.

    Cells are (row, column): rows to the north, columns to the east, up to ``half``
    metres from the center. A cell is *free* (its floor was seen, or the body stood
    there), *occupied* (it contains an obstacle), or unknown. ``open_`` (H, W) are the
    cells that a body of ``radius`` may enter: free, no nearer than the radius to any
    obstacle, and without a collision so far. Whatever changes the map or the radius
    drops the cached arrays.
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
        column = math.floor((x - self.x) / CELL + 0.5 + 1e-9)
        row = math.floor((y - self.y) / CELL + 0.5 + 1e-9)
        last = self._cells - 1
        row = min(max(row, 0), last)
        column = min(max(column, 0), last)
        return row, column

    def spot(self, x: float, y: float) -> Spot:
        """Return fractional row and column of a place; within ``ON_CELL`` of a cell's
        center, its own.
        """
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

    def frontiers(
        self,
        min_cells: int = 1,
        with_obstacles: bool = False,
    ) -> list[list[Cell]]:
        """Return the frontiers of the floor (:func:`frontiers`), of cells without obstacles.

        The near side of a wall is free, and what is beyond it unknown, but nothing more is seen
        from there. ``with_obstacles``: also of cells that contain some, as all those of a gap that
        is narrower than two cells do.
        """
        floor = self.free if with_obstacles else self.free & ~self.occupied
        return frontiers(floor, self.explored, min_cells)

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

            def span(indices: NDArray[np.intp]) -> slice:
                """Return the range of some indices with a margin, within the map."""
                low = max(0, indices.min() - reach)
                high = min(last, indices.max() + reach + 1)
                return slice(low, high)

            # Only around obstacles: the transform of the full map is slow.
            window = span(rows), span(columns)
            cells = np.asarray(distance_transform_edt(~self._obstacles[window]))
            clearance[window] = cells * (CELL / SUBCELLS)
        return clearance

    def is_clear(self, a: Spot, b: Spot) -> bool:
        """True if a body can move straight from ``a`` to ``b``, in fractional rows and columns.

        It moves over free cells, except the first one, and farther from every obstacle
        than its radius.
        """
        # Five samples per cell, as many as obstacle cells.
        row, column = a
        down = b[0] - row
        across = b[1] - column
        count = math.ceil(max(abs(down), abs(across), 1)) * SUBCELLS
        t = np.arange(1, count + 1) / count
        rows = row + down * t
        columns = column + across * t
        j = np.floor(rows + 0.5).astype(np.intp)
        i = np.floor(columns + 0.5).astype(np.intp)
        usable = (self.free & ~self.bumped_cells)[j, i]
        usable |= (j == math.floor(row + 0.5)) & (i == math.floor(column + 0.5))
        half = SUBCELLS // 2
        y = np.round(rows * SUBCELLS).astype(np.intp) + half
        x = np.round(columns * SUBCELLS).astype(np.intp) + half
        # Half an obstacle cell of slack: positions are rounded to them.
        is_wide = self._clearance[y, x] >= self.radius - CELL / SUBCELLS / 2
        return bool((usable & is_wide).all())

    def narrow_body(self, reopen: bool = False) -> None:
        """Plan for a body that is a third narrower.

        A gap may only seem too narrow on the grid. A collision closes the cell again;
        with ``reopen``, those closed before are open.
        """
        # Never below the narrowest radius, and never wider than before.
        self.radius = max(min(self.radius, NARROWEST_RADIUS), self.radius * 2 / 3)
        self.bumped_cells &= not reopen
        vars(self).pop("open_", None)

    def add(self, view: View) -> None:
        """Add a view's depth image, and the body's cell as free.

        A robot's own map of the floor, if the view has one, replaces everything.
        """
        # Cached arrays of the old map.
        for cached in ("open_", "_clearance"):
            vars(self).pop(cached, None)
        # A robot's own map is better than what one view shows.
        if view.floor is not None:
            self._copy_floor(view.floor)
            self.free[self.cell(view.x, view.y)] = True
            return
        self.free[self.cell(view.x, view.y)] = True
        # Points of the depth image, from the camera's frame to the map's.
        ahead, right, up = view.depth.points(view.eye)
        angle = math.radians(view.heading)
        east = view.x + ahead * math.sin(angle) + right * math.cos(angle)
        north = view.y + ahead * math.cos(angle) - right * math.sin(angle)
        # Between floor and head
        is_obstacle = (up > FLOOR_HEIGHT) & (up < HEAD_HEIGHT)
        side = CELL / SUBCELLS
        # From the edge of the first cell: ``self.x`` is its center.
        i = np.floor((east[is_obstacle] - self.x + CELL / 2) / side).astype(np.intp)
        j = np.floor((north[is_obstacle] - self.y + CELL / 2) / side).astype(np.intp)
        _mark(self._obstacles, j, i)
        self._free_floor(view)

    def _copy_floor(self, floor: FloorMap) -> None:
        """Replace free cells and obstacles by those of a robot's own map."""
        # Metres from the first cell, of cells and of the finer obstacle cells
        cells = np.arange(self._cells) * CELL
        numbers = np.arange(self._cells * SUBCELLS) - SUBCELLS // 2
        parts = numbers * (CELL / SUBCELLS)
        levels = floor.at(self.x + cells[None, :], self.y + cells[:, None])
        obstacles = floor.at(self.x + parts[None, :], self.y + parts[:, None])
        self.free = levels < INSCRIBED
        self._obstacles = obstacles == LETHAL

    def reachable(
        self,
        x: float,
        y: float,
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], Floats]:
        """Return the cells that a body can reach from a place: N of them.

        Indices (N, 2), then x and y of the centers and the lengths of the routes, each
        (N,) in metres.
        """
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
        """Mark the floor that a view sees as free: below rays that look down and meet nothing.

        A ray frees the floor below its part under ``SKIM_HEIGHT``, sampled
        ``RAY_SAMPLES`` times.
        """
        elevations = np.radians(np.array(view.depth.elevations))
        looks_down = elevations < -1e-6
        if not looks_down.any():
            return
        tilt = -elevations[looks_down][:, None]
        metres = np.minimum(view.depth.metres()[looks_down], view.depth.reach)
        metres[~view.depth.measured()[looks_down]] = 0.0  # such a ray frees no floor
        skims_at = (view.eye - SKIM_HEIGHT) / np.sin(tilt)
        low_start = np.broadcast_to(skims_at, metres.shape).copy()
        # Up to the obstacle, or to where the ray meets the floor.
        low_end = np.minimum(metres, view.eye / np.sin(tilt))
        # If the steepest ray meets the floor, nothing stands between that point and the body.
        steepest = int(np.argmax(tilt))
        floor_at = (view.eye - FLOOR_HEIGHT) / np.sin(tilt[steepest])
        low_start[steepest][metres[steepest] >= floor_at] = 0.0
        t = np.linspace(0.0, 1.0, RAY_SAMPLES)
        along = low_start[..., None] + (low_end - low_start)[..., None] * t
        along *= np.cos(tilt)[..., None]
        is_low = np.broadcast_to((low_end > low_start)[..., None], along.shape)
        bearings = np.radians(view.heading + np.array(view.depth.bearings))
        bearings = bearings[None, :, None]
        east = (view.x + along * np.sin(bearings))[is_low]
        north = (view.y + along * np.cos(bearings))[is_low]
        i = np.floor((east - self.x) / CELL + 0.5).astype(np.intp)
        j = np.floor((north - self.y) / CELL + 0.5).astype(np.intp)
        _mark(self.free, j, i)


def _mark(
    cells: Bools,
    rows: NDArray[np.intp],
    columns: NDArray[np.intp],
) -> None:
    """Set cells of a map to true, in place; indices outside of it are ignored."""
    inside = (rows >= 0) & (rows < cells.shape[0])
    inside &= (columns >= 0) & (columns < cells.shape[1])
    cells[rows[inside], columns[inside]] = True
