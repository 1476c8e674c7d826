"""RoboTHOR's apartments as scenes: published object metadata, floors and walls inferred from
episodes.

The inferred grids of an apartment are stored in the cache folder, keyed by a checksum of the
source files.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from wayword.core import files
from wayword.core.arrays import read_cached_arrays, write_cached_arrays
from wayword.core.episode import JsonObject
from wayword.core.errors import DataError
from wayword.core.geometry import (
    Bools,
    Box,
    Floats,
    Point,
    box_around,
    box_corners,
    box_distance,
)
from wayword.datasets.sources import thor
from wayword.worlds.household.builder import SceneBuilder
from wayword.worlds.household.scene import Scene

# Free floor and walls of RoboTHOR's apartments, inferred from published starts and paths.
#
# Each apartment has five furnishings (``FloorPlan_Train3_1`` … ``_5``) with the same walls, and
# each furnishing has 1,800 training episodes. The inference uses a grid of 0.05 m:
#
# * *Free* cells: published starts and paths (centers of the body), lines between starts that are
#   adjacent on the 0.25 m grid, and gaps up to 0.2 m between these: body centers on the two sides
#   of a wall are at least two radii (0.4 m) apart.
# * *Open* cells are within 0.1 m of a free cell, in any furnishing.
# * *Wall* cells are proven if never open although, in some furnishing, no furniture is within
#   0.3 m, so that only a wall explains them. Added are straight connections up to 2 m between
#   proven pieces that are never open and never in furniture, and straight extensions of thin
#   pieces up to the next open cell, by at most 3 m. Pieces below 0.4 m are dropped. Of the rest,
#   cells a radius off all free cells remain, and the center line of narrower pieces. Everything
#   beyond the outermost boxes and positions is wall; the inside of a box never is.
# * A published path ends with its target in view, so no wall is on the line to it. A path that
#   starts within 0.85 m of its target but continues does not have it in view: cells on that line
#   that are never open and in no box are wall.
#
# If furniture hides a wall in all five furnishings, it stays unknown and does not block the view.

SPACING = 0.05  # grid cell size; these constants are in metres
GRID = 0.25
"""RoboTHOR's starts are multiples of this."""
RADIUS = 0.2  # of RoboTHOR's body
GAP_RADIUS = 0.1  # half the width of the widest gap to close
OPEN_RADIUS = 0.1  # around a body's center, certainly open
EXPLAINED_M = 0.3  # furniture this near explains why no body was at a position
LONGEST_BRIDGE = 2.0  # of wall assumed between two proven pieces
THICKEST_WALL = 0.45  # of an inferred wall between two rooms
MAX_WALL_EXTENSION = 3.0  # of such a wall where furniture hides the evidence for it
OUTER_WALL = 0.4  # thickness of the wall around the apartment
SHORTEST_WALL = 0.4  # shorter pieces of wall are noise in the inference


@dataclass(frozen=True)
class Evidence:
    """Published data of one furnishing, all in metres on the floor.

    ``starts`` (S, 2): positions at which episodes start. ``paths`` (L, 4): segments of
    the shortest paths, each (x, y, x, y). ``boxes``: floor areas of the objects, each
    (west, south, east, north). ``visible`` (N, 4): lines from a position to a target in
    view from there. ``hidden`` (M, 4): lines from a position to a target that is not in
    view from there.
    """

    starts: Floats
    paths: Floats
    boxes: Sequence[Box]
    visible: Floats
    hidden: Floats


@dataclass(frozen=True, eq=False)
class Floors:
    """Floors of the K furnishings of an apartment, on one grid.

    ``x``, ``y``: center of the first cell in metres. The cell at row j and column i is centered on
    ``(x + i * SPACING, y + j * SPACING)``.
    ``free``, ``wall`` (K, H, W): cells for the center of a body, and cells that block it.
    """

    x: float
    y: float
    free: Bools
    wall: Bools


@dataclass(frozen=True)
class _Grid:
    """Grid of an apartment: the center of its first cell (metres), and its shape (rows,
    columns).
    """

    x: float
    y: float
    shape: tuple[int, int]

    def points(self, xy: Floats) -> Bools:
        """Return a mask of the cells that contain points (P, 2); those outside are
        drawn at its edge.
        """
        rows, columns = self.shape
        i = np.round((xy[:, 0] - self.x) / SPACING).astype(np.intp)
        j = np.round((xy[:, 1] - self.y) / SPACING).astype(np.intp)
        cells = np.zeros(self.shape, dtype=np.bool_)
        # Points outside the grid are drawn at its edge.
        cells[np.clip(j, 0, rows - 1), np.clip(i, 0, columns - 1)] = True
        return cells

    def boxes(self, boxes: Sequence[Box], by: float) -> Bools:
        """Return a mask of the cells covered by boxes.

        Boxes are enlarged on all sides by ``by`` metres; a negative number makes them smaller.
        """
        covered = np.zeros(self.shape, dtype=np.bool_)
        for west, south, east, north in boxes:
            i0 = round((west - by - self.x) / SPACING)
            # Rounded like the points above, so that a box covers the cells of its own
            # corners.
            j0 = round((south - by - self.y) / SPACING)
            i1 = round((east + by - self.x) / SPACING)
            j1 = round((north + by - self.y) / SPACING)
            # A negative index would count from the far edge.
            covered[max(j0, 0) : max(j1 + 1, 0), max(i0, 0) : max(i1 + 1, 0)] = True
        return covered


def infer_floors(furnishings: Sequence[Evidence]) -> Floors:
    """Infer the floors of an apartment from all of its furnishings.

    The rules are those at the head of this file, in the same order. Increase
    ``VERSION`` with any change of them.
    """
    grid = _grid_around(furnishings)
    # One mask per furnishing, as its own furniture decides where a body could be.
    free_cells = np.stack([_free_cells(grid, evidence) for evidence in furnishings])
    open_areas = [_grow(cells, OPEN_RADIUS) for cells in free_cells]
    open_cells = np.asarray(np.any(open_areas, axis=0))
    # A cell at the border of a box may be outside of it, hence the negative margin.
    furniture = [grid.boxes(evidence.boxes, -SPACING) for evidence in furnishings]

    # Proven walls: no furniture explains why no body was there, or they hide a target nearby.
    unfurnished = [~grid.boxes(evidence.boxes, EXPLAINED_M) for evidence in furnishings]
    proven_wall = np.asarray(~open_cells & np.any(unfurnished, axis=0))
    # Short pieces are noise: a few cells that no episode happened to cross.
    _drop_short_pieces(proven_wall)
    for evidence, boxes in zip(furnishings, furniture, strict=True):
        proven_wall |= grid.points(_sample(evidence.hidden)) & ~open_cells & ~boxes

    # Assumed walls: connections and extensions of proven ones, in both directions.
    unexplained = ~open_cells & ~np.any(furniture, axis=0)
    wall = _bridge_gaps(proven_wall, unexplained)
    wall |= _bridge_gaps(proven_wall.T, unexplained.T).T
    wall |= _lengthen_walls(proven_wall, open_cells)
    wall |= _lengthen_walls(proven_wall.T, open_cells.T).T

    # No wall is within reach of a body, on a line of sight, or inside a box.
    wall &= _off_free_cells(free_cells)
    visible = [grid.points(_sample(evidence.visible)) for evidence in furnishings]
    wall &= ~_grow(np.asarray(np.any(visible, axis=0)), SPACING)
    walls = np.stack([wall & ~boxes for boxes in furniture])

    # Thin diagonal segments must stay connected, so they are drawn three cells wide.
    # Paths go through the walls' safety distance, so their cells are free by evidence.
    path_lines = [grid.points(_sample(evidence.paths)) for evidence in furnishings]
    path_cells = np.stack([_grow(cells, SPACING) for cells in path_lines])
    return Floors(grid.x, grid.y, (free_cells | path_cells) & ~walls, walls)


def _grid_around(furnishings: Sequence[Evidence]) -> _Grid:
    """Return the grid that holds all points and boxes, with room for the outer wall."""
    points = []
    for evidence in furnishings:
        points.append(evidence.starts)
        points.append(evidence.paths.reshape(-1, 2))
        points.append(np.array(evidence.boxes).reshape(-1, 2))
    all_points = np.concatenate(points)
    # On the grid of starts, so that starts are centers of cells.
    low = np.floor((all_points.min(axis=0) - OUTER_WALL) / GRID) * GRID
    high = np.ceil((all_points.max(axis=0) + OUTER_WALL) / GRID) * GRID
    columns, rows = np.round((high - low) / SPACING).astype(int).tolist()
    return _Grid(float(low[0]), float(low[1]), (rows + 1, columns + 1))


def _drop_short_pieces(wall: Bools) -> None:
    """Clear connected pieces whose longer side is below ``SHORTEST_WALL``."""
    from scipy.ndimage import find_objects, label

    # In place: the caller owns the mask.
    pieces, _ = label(wall)
    for number, box in enumerate(find_objects(pieces), 1):
        longer_side = max(side.stop - side.start for side in box)
        if longer_side * SPACING < SHORTEST_WALL:
            wall[box] &= pieces[box] != number


def _off_free_cells(free_cells: Bools) -> Bools:
    """Return a mask of the cells that may be wall.

    These are a body's radius from all free cells, or half-way between two of them.
    """
    from scipy.ndimage import distance_transform_edt

    is_free = np.asarray(free_cells.any(axis=0))
    rows, columns = is_free.shape
    distance = np.asarray(distance_transform_edt(~is_free)) * SPACING
    # Edge values are repeated, so that a cell at the edge has neighbors on all sides.
    padded = np.pad(distance, 1, mode="edge")
    # Half a cell of tolerance: distances are between centers of cells.
    possible = distance >= RADIUS - SPACING / 2
    for dj, di in ((0, 1), (1, 0), (1, 1), (1, -1)):
        after = padded[1 + dj : 1 + dj + rows, 1 + di : 1 + di + columns]
        before = padded[1 - dj : 1 - dj + rows, 1 - di : 1 - di + columns]
        possible |= (distance >= after) & (distance >= before) & (distance > 0)
    return np.asarray(possible)


def _free_cells(grid: _Grid, evidence: Evidence) -> Bools:
    """Return a mask of free cells: starts, paths, and lines between adjacent starts.

    Diagonals are included. Gaps up to twice ``GAP_RADIUS`` are closed.
    """
    # Whole numbers of grid steps can be compared exactly.
    starts = {(round(x / GRID), round(y / GRID)) for x, y in evidence.starts.tolist()}
    segments = []
    for i, j in starts:
        # Half of the eight directions: each pair of neighbors is visited from one side.
        for di, dj in ((1, 0), (0, 1), (1, 1), (1, -1)):
            if (i + di, j + dj) in starts:
                end = ((i + di) * GRID, (j + dj) * GRID)
                segments.append((i * GRID, j * GRID, *end))
    lines = np.array(segments).reshape(-1, 4)
    points = (evidence.starts, _sample(lines), _sample(evidence.paths))
    cells = grid.points(np.concatenate(points))
    # Grown and shrunk by one radius: narrower gaps stay closed.
    closed = ~_grow(~_grow(cells, GAP_RADIUS), GAP_RADIUS)
    return np.asarray(closed | cells)


def _sample(lines: Floats) -> Floats:
    """Return (P, 2) points along lines (L, 4), at most half a cell apart."""
    start = lines[:, :2]
    extent = lines[:, 2:] - start
    length = np.hypot(extent[:, 0], extent[:, 1])
    # At most half a cell apart, so no cell on the line is skipped.
    count = np.ceil(length / (SPACING / 2)).astype(np.intp) + 1
    # All lines in one array: ``line`` is the number of the line of each point.
    line = np.repeat(np.arange(len(lines)), count)
    first = np.repeat(np.cumsum(count) - count, count)
    share = (np.arange(len(line)) - first) / np.maximum(count[line] - 1, 1)
    return np.asarray(start[line] + share[:, None] * extent[line])


def _lengthen_walls(proven: Bools, opened: Bools) -> Bools:
    """Extend thin proven walls along the rows, at both ends, up to the next open cell.

    By at most ``MAX_WALL_EXTENSION``. ``proven`` and ``opened`` (H, W) exclude each
    other; for columns pass both transposed.
    """
    # Thin walls have an open cell on both sides, at most a wall's thickness away.
    open_before, open_after = np.zeros((2, *proven.shape), dtype=np.bool_)
    for step in range(1, round(THICKEST_WALL / SPACING) + 1):
        open_before[step:] |= opened[:-step]
        open_after[:-step] |= opened[step:]
    thin_walls = proven & open_before & open_after

    # Beyond this length, furniture alone does not explain a missing wall.
    longest = round(MAX_WALL_EXTENSION / SPACING)
    extension = np.zeros_like(proven)
    for row in np.flatnonzero(thin_walls.any(axis=1)).tolist():
        for first, last in _true_runs(thin_walls[row]):
            if last - first + 1 < SHORTEST_WALL / SPACING:
                continue
            # An end without an open cell ahead stays where it is.
            # Up to the next open cell: a wall ends where bodies pass.
            start = first
            end = last
            open_left = np.flatnonzero(opened[row, :first])
            open_right = np.flatnonzero(opened[row, last + 1 :])
            if len(open_left):
                start = max(int(open_left[-1]) + 1, first - longest)
            if len(open_right):
                end = min(last + int(open_right[0]), last + longest)
            extension[row, start : end + 1] = True
    return extension


def _bridge_gaps(proven: Bools, maybe: Bools) -> Bools:
    """Return the proven walls, with gaps filled along each row: runs of possible wall between two
    proven cells, at most ``LONGEST_BRIDGE`` long.
    """
    wall = proven.copy()
    for row in range(len(wall)):
        for first, last in _true_runs(maybe[row] & ~proven[row]):
            # A run at the edge of the grid has a neighbor on one side only. ``last`` is inclusive.
            is_inside = first > 0 and last + 1 < wall.shape[1]
            if is_inside and last - first < LONGEST_BRIDGE / SPACING:
                # Filled only between two proven cells; else it stays false, as it was.
                wall[row, first : last + 1] = (
                    proven[row, first - 1] and proven[row, last + 1]
                )
    return wall


def _grow(cells: Bools, margin: float) -> Bools:
    """Return a mask of the cells within ``margin`` metres of the given ones."""
    from scipy.ndimage import distance_transform_edt

    away = np.asarray(distance_transform_edt(~cells))
    # 3 * 0.05 is above 0.15 in floating point, hence the tolerance.
    return np.asarray(away * SPACING <= margin + 1e-9)


def _true_runs(row: Bools) -> list[tuple[int, int]]:
    """Return the first and last index of each run of true values."""
    # Padding makes a run at the edge start and end like any other.
    steps = np.diff(np.concatenate(([False], row, [False])).astype(np.int8))
    firsts = np.flatnonzero(steps == 1)
    lasts = np.flatnonzero(steps == -1) - 1
    return list(zip(firsts.tolist(), lasts.tolist(), strict=True))


def outline(floors: Floors, number: int) -> list[tuple[Point, Point]]:
    """Return the edges between wall and other cells of a furnishing, straight runs merged.

    ``number`` is that of the furnishing. Segments are pairs of points in metres: first
    those from west to east, then those from south to north. Everything outside the grid
    counts as wall.
    """
    wall = floors.wall[number]
    segments: list[tuple[Point, Point]] = []
    for j, start, end in _runs_of_edges(wall):
        y = round(floors.y + j, 4)
        a = (round(floors.x + start, 4), y)
        b = (round(floors.x + end, 4), y)
        segments.append((a, b))
    for i, start, end in _runs_of_edges(wall.T):
        x = round(floors.x + i, 4)
        a = (x, round(floors.y + start, 4))
        b = (x, round(floors.y + end, 4))
        segments.append((a, b))
    return segments


def _runs_of_edges(wall: Bools) -> list[tuple[float, float, float]]:
    """Return the edges along the rows of a mask, each as its row, its start and its end.

    Metres from the center of the first cell.
    """
    # Everything outside the grid is wall, which closes the outline.
    padded = np.pad(wall, ((1, 1), (0, 0)), constant_values=True)
    edges = padded[:-1] != padded[1:]  # edge j is below cell j
    # Padding makes a run at the edge start and end like any other.
    steps = np.diff(np.pad(edges, ((0, 0), (1, 1))).astype(np.int8), axis=1)
    rows, firsts = np.nonzero(steps == 1)
    _, ends = np.nonzero(steps == -1)
    metres = (np.stack((rows, firsts, ends), axis=1) - 0.5) * SPACING
    runs: list[tuple[float, float, float]] = metres.tolist()
    return runs


METADATA = "robothor_scene_objects_75.json"
"""File of the objects in all 75 published furnishings."""
SPLITS = ("train", "debug", "val", "test")
EPISODE = b'"initial_position"'
"""Occurs exactly once in each episode record."""
LOWEST_EDGE = 1.0
"""Objects with their underside above this height (metres) do not explain gaps in the floor."""
# A target closer than NEAR with a path longer than FAR (metres) was not in view.
NEAR = 0.85
FAR = 0.5
VERSION = 7
"""Version of the inference; increase it on any change so that cached floors are recomputed."""


class EpisodeTexts(Sequence[bytes]):
    """The episode records of a scene as JSON texts, cut at the outermost braces.

    Parsing all 1,800 takes 100 times as long as parsing the one that is needed, and
    three times the memory. The cuts can be trusted only if ``is_regular``.
    """

    def __init__(self, text: bytes) -> None:
        # Brackets by number, not by parsing: only their order matters.
        characters = np.frombuffer(text, np.uint8)
        opening = np.flatnonzero(characters == ord("{"))
        closing = np.flatnonzero(characters == ord("}"))
        # The outermost braces: as many opened as closed before the first, after the last.
        closed_before = np.searchsorted(closing, opening)
        opened_before = np.searchsorted(opening, closing)
        self._text = text
        self._starts = opening[closed_before == np.arange(len(opening))]
        self._ends = closing[opened_before == np.arange(len(closing)) + 1] + 1
        # False where braces in names, or damage, may have led to wrong cuts.
        is_balanced = len(opening) == len(closing)
        # A regular file has one start position in each cut.
        self.is_regular = is_balanced and len(self._starts) == text.count(EPISODE)

    def __len__(self) -> int:
        return len(self._starts)

    def __getitem__(self, number: Any) -> Any:
        """Return the text of a record, which is not parsed."""
        return self._text[self._starts[number] : self._ends[number]]


def episodes_of(path: Path) -> Sequence[bytes]:
    """Return the episode records of a scene as JSON texts. Raises ``DataError``.

    Braces in names, or damage, make it parse the file; the texts are the same then.
    """
    texts = EpisodeTexts(files.read_bytes(path))
    if texts.is_regular:
        return texts
    # Damaged, or with braces in names.
    return [json.dumps(record).encode() for record in files.read_json(path, list)]


def apartment_of(scene: str) -> str:
    """Return the apartment of a scene: ``FloorPlan_Train3`` for ``FloorPlan_Train3_4``."""
    return re.sub(r"_\d+$", "", scene)


@lru_cache(maxsize=96)
def scene_of(folder: Path, name: str, evaluated: str = "") -> Scene:
    """Build a furnished apartment. Raises ``DataError``.

    Episodes of the ``evaluated`` split do not contribute if other splits have enough episodes in
    the scene (``is_independent``). A scene without object metadata (as in the test split) has no
    objects, and its floor is inferred from starts only.
    """
    # A score must not depend on the paths of the episodes that it scores.
    excluded = ""
    if evaluated and is_independent(folder, name, evaluated):
        excluded = evaluated
    names, floors = floors_of(folder, apartment_of(name), excluded)
    if name not in names:
        raise DataError(
            folder / "episodes",
            f"scene {name!r}",
            "has no episodes in any split",
        )
    # Furnishings share walls but not furniture, so each has its own floor.
    number = names.index(name)
    free = floors.free[number]
    rows, columns = free.shape

    # The whole apartment is one room: its published data name no rooms.
    west = floors.x
    south = floors.y
    east = west + (columns - 1) * SPACING
    north = south + (rows - 1) * SPACING
    border = box_corners((west, south, east, north))
    builder = SceneBuilder(name)
    builder.room("apartment", border, walls=False)
    # Inferred walls follow the grid, and are merged to straight runs.
    for a, b in outline(floors, number):
        builder.wall(a, b)
    free_rows, free_columns = np.nonzero(free)
    xs = west + free_columns * SPACING
    ys = south + free_rows * SPACING
    builder.floor(np.stack((xs, ys), axis=1), SPACING)
    thor.add_objects(builder, records_of(folder, name))
    return builder.build(is_published=True)


@lru_cache(maxsize=16)
def floors_of(
    folder: Path,
    apartment: str,
    excluded: str = "",
) -> tuple[tuple[str, ...], Floors]:
    """Return the furnishings of an apartment with episodes in any split, and their floors.

    Episodes of the split ``excluded`` do not count. Furnishings are in the order of
    their numbers, as in the floors' arrays. Raises ``DataError`` for an apartment
    without episodes.
    """
    found: list[tuple[str, Path]] = []
    for split in SPLITS:
        if split == excluded:
            continue
        # Sorted, as folders list files in any order.
        paths = sorted((folder / "episodes" / split).glob(f"{apartment}_*.json*"))
        found += [(path.name.partition(".")[0], path) for path in paths]
    if not found:
        raise DataError(
            folder / "episodes",
            f"apartment {apartment!r}",
            "is not in any split",
        )
    # By number: as texts, _10 would come before _2.
    scenes = {name for name, _ in found}
    names = tuple(sorted(scenes, key=lambda name: int(name.rpartition("_")[2])))

    # The cache is keyed by everything that the inference reads.
    sources = [path for _, path in found]
    metadata = files.find_any(folder, METADATA)
    if metadata:
        sources.append(metadata)
    # The version, too: a changed rule must not meet old arrays.
    digest = hashlib.sha256(f"{VERSION}".encode())
    for path in sources:
        digest.update(path.read_bytes())
    file_name = f"{apartment}-{digest.hexdigest()[:16]}.arrays"
    cached = files.cache_folder() / "robothor" / file_name
    arrays = read_cached_arrays(cached)
    if arrays is not None:
        x, y = arrays["corner"].tolist()
        return names, Floors(x, y, arrays["free"], arrays["wall"])
    floors = infer_floors([_evidence(folder, name, found) for name in names])
    corner = np.array([floors.x, floors.y])
    write_cached_arrays(
        cached,
        corner=corner,
        free=floors.free,
        wall=floors.wall,
    )
    return names, floors


@lru_cache(maxsize=256)
def is_independent(folder: Path, scene: str, evaluated: str) -> bool:
    """True if a scene's floor can be inferred without the evaluated split.

    The other splits must have at least as many episodes in it.
    """

    def count(split: str) -> int:
        """Return the number of episodes of the scene in a split."""
        paths = (folder / "episodes" / split).glob(f"{scene}.json*")
        return sum(files.read_bytes(path).count(EPISODE) for path in paths)

    # With as many episodes elsewhere, little is lost by leaving the split out.
    others = sum(count(split) for split in SPLITS if split != evaluated)
    return others > 0 and others >= count(evaluated)  # most scenes are in one split


def _evidence(folder: Path, name: str, found: Sequence[tuple[str, Path]]) -> Evidence:
    """Read the evidence of furnishing ``name`` from the ``found`` episode files (scene, path).

    Raises ``DataError`` naming the file, the record and the field.
    """
    records = records_of(folder, name)
    # A scene has one object per target type.
    targets = {record.label: record for record in records}
    starts: set[Point] = set()
    segments: set[_Line] = set()
    visible: set[_Line] = set()
    hidden: set[_Line] = set()
    for path in (path for scene, path in found if scene == name):
        for number, record in enumerate(files.read_json(path)):
            where = f"record {number}"
            read = partial(files.read_field, path, where, record)
            start = point_of(path, where, record, "initial_position")
            corners = corners_of(path, where, record)
            # Sets: episodes repeat starts and segments hundreds of times.
            starts.add(start)
            segments.update((*a, *b) for a, b in pairwise(corners))
            label = read("object_type", str)
            target = targets.get(label)
            if not corners or target is None:
                continue  # records of the test split have no path
            middle = target.center[:2]
            # A path ends where its target is in view.
            visible.add((*corners[-1], *middle))
            length = read("shortest_path_length", files.NUMBER)
            # Near its target, yet walking on: something hid it.
            if length > FAR and box_distance(*start, _box(target)) <= NEAR:
                hidden.add((*start, *middle))
    # High objects let bodies pass below, so they explain nothing.
    boxes = [_box(record) for record in records if record.bottom < LOWEST_EDGE]
    return Evidence(
        np.array(sorted(starts)),
        _lines(segments),
        boxes,
        _lines(visible),
        _lines(hidden),
    )


_Line = tuple[float, ...]
"""Two points on the floor: x, y, x, y in metres."""


def _lines(lines: set[_Line]) -> Floats:
    """Return an array (N, 4), sorted so that equal data give equal arrays."""
    return np.array(sorted(lines)).reshape(-1, 4)


def _box(record: thor.ObjectRecord) -> Box:
    """Return the sides of an object's box in the plan."""
    x, y, _ = record.center
    wide, deep, _ = record.size
    return box_around(x, y, wide, deep)


def records_of(folder: Path, name: str) -> thor.Records:
    """Return the objects of a scene; empty if unpublished, as for the test split."""
    path = files.find(folder, METADATA)
    return thor.read_records(path, name) if name in thor.read_scenes(path) else ()


def point_of(
    path: Path,
    where: str,
    record: Any,
    name: str,
) -> Point:
    """Read a published position on the floor, rounded to centimetres. Raises ``DataError``."""
    point = files.read_field(path, where, record, name, dict)
    return _floor_xy(path, f"{where}, field {name!r}", point)


def corners_of(path: Path, where: str, record: JsonObject) -> list[Point]:
    """Read the corners of the published shortest path; empty if unpublished (test split)."""
    if "shortest_path" not in record:
        return []
    listed = files.read_field(path, where, record, "shortest_path", list)
    return [_floor_xy(path, f"{where}, shortest_path", point) for point in listed]


def _floor_xy(path: Path, where: str, point: Any) -> Point:
    """Return a point on the floor in this project's frame, rounded to centimetres."""
    # Unity's y axis points up, so the floor is x and z.
    read = partial(files.read_field, path, where, point)
    x = float(read("x", files.NUMBER))
    z = float(read("z", files.NUMBER))
    # Rounded, so that equal positions compare equal.
    return round(x, 2), round(z, 2)
