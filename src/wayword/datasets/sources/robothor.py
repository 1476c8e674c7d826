"""RoboTHOR's apartments as scenes: published object metadata, floors and walls inferred from
episodes.

The inferred grids of an apartment are stored in the cache folder, keyed by a checksum of the
source files.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayword.core import files
from wayword.core.arrays import read_cached_arrays, write_cached_arrays
from wayword.core.errors import DataError
from wayword.core.geometry import Box, Point
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

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
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


@dataclass(frozen=True, slots=True)
class Evidence:
    """Published data of one furnishing: ``starts`` (S, 2), shortest paths as segments ``paths``
    (L, 4), and object ``boxes`` (west, south, east, north). ``visible`` and ``hidden`` (N, 4) are
    lines from positions to targets that are, or are not, in view from there. All in
    metres."""

    starts: Floats
    paths: Floats
    boxes: Sequence[Box]
    visible: Floats
    hidden: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Floors:
    """Masks ``free`` and ``wall`` (K, H, W) of K furnishings on one grid: the cell at row j and
    column i is centered on ``(x + i * SPACING, y + j * SPACING)``, in metres."""

    x: float
    y: float
    free: Bools
    wall: Bools


@dataclass(frozen=True, slots=True)
class _Grid:
    """Grid of an apartment: the center of its first cell, and its shape (rows, columns)."""

    x: float
    y: float
    shape: tuple[int, int]

    def points(self, xy: Floats) -> Bools:
        """Return a mask of the cells that contain points (P, 2)."""
        cells = np.zeros(self.shape, dtype=np.bool_)
        i = np.clip(
            np.round((xy[:, 0] - self.x) / SPACING).astype(np.intp),
            0,
            self.shape[1] - 1,
        )
        j = np.clip(
            np.round((xy[:, 1] - self.y) / SPACING).astype(np.intp),
            0,
            self.shape[0] - 1,
        )
        cells[j, i] = True
        return cells

    def boxes(self, boxes: Sequence[Box], by: float) -> Bools:
        """Return a mask of the cells covered by boxes, enlarged on all sides by ``by`` metres."""
        covered = np.zeros(self.shape, dtype=np.bool_)
        for west, south, east, north in boxes:
            i0 = round((west - by - self.x) / SPACING)
            j0 = round((south - by - self.y) / SPACING)
            i1 = round((east + by - self.x) / SPACING)
            j1 = round((north + by - self.y) / SPACING)
            covered[max(j0, 0) : max(j1 + 1, 0), max(i0, 0) : max(i1 + 1, 0)] = True
        return covered


def infer_floors(furnishings: Sequence[Evidence]) -> Floors:
    """Infer the floors of an apartment from all of its furnishings."""
    from scipy.ndimage import distance_transform_edt, find_objects, label

    points = [
        xy for one in furnishings for xy in (one.starts, one.paths.reshape(-1, 2))
    ]
    points += [np.array(one.boxes).reshape(-1, 2) for one in furnishings]
    all_points = np.concatenate(points)
    low = np.floor((all_points.min(axis=0) - OUTER_WALL) / GRID) * GRID
    high = np.ceil((all_points.max(axis=0) + OUTER_WALL) / GRID) * GRID
    columns, rows = np.round((high - low) / SPACING).astype(int).tolist()
    grid = _Grid(float(low[0]), float(low[1]), (rows + 1, columns + 1))
    free_cells = np.stack([_free_cells(grid, evidence) for evidence in furnishings])
    open_cells = np.asarray(
        np.any([_grow(one, OPEN_RADIUS) for one in free_cells], axis=0)
    )
    unfurnished = [~grid.boxes(evidence.boxes, EXPLAINED_M) for evidence in furnishings]
    furniture = [grid.boxes(evidence.boxes, -SPACING) for evidence in furnishings]
    proven_wall = np.asarray(~open_cells & np.any(unfurnished, axis=0))
    pieces, _ = label(proven_wall)
    for number, box in enumerate(find_objects(pieces), 1):
        if max(side.stop - side.start for side in box) * SPACING < SHORTEST_WALL:
            proven_wall[box] &= pieces[box] != number
    for evidence, boxes in zip(furnishings, furniture, strict=True):
        proven_wall |= grid.points(_sample(evidence.hidden)) & ~open_cells & ~boxes
    unexplained = ~open_cells & ~np.any(furniture, axis=0)
    wall = (
        _bridge_gaps(proven_wall, unexplained)
        | _bridge_gaps(proven_wall.T, unexplained.T).T
    )
    wall |= _lengthen_walls(proven_wall, open_cells)
    wall |= _lengthen_walls(proven_wall.T, open_cells.T).T
    # Walls are a radius from all free cells, or half-way between two.
    away = (
        np.asarray(distance_transform_edt(~np.asarray(free_cells.any(axis=0))))
        * SPACING
    )
    away = np.pad(away, 1, mode="edge")
    center, (high, wide) = away[1:-1, 1:-1], wall.shape
    possible = center >= RADIUS - SPACING / 2
    for dj, di in ((0, 1), (1, 0), (1, 1), (1, -1)):
        after = away[1 + dj : 1 + dj + high, 1 + di : 1 + di + wide]
        before = away[1 - dj : 1 - dj + high, 1 - di : 1 - di + wide]
        possible |= (center >= after) & (center >= before) & (center > 0)
    wall &= possible
    visible = [grid.points(_sample(evidence.visible)) for evidence in furnishings]
    wall &= ~_grow(np.asarray(np.any(visible, axis=0)), SPACING)
    walls = np.stack([wall & ~boxes for boxes in furniture])
    # Thin diagonal segments must stay connected, so they are drawn three cells wide.
    path_cells = [
        _grow(grid.points(_sample(evidence.paths)), SPACING) for evidence in furnishings
    ]
    return Floors(grid.x, grid.y, (free_cells | np.stack(path_cells)) & ~walls, walls)


def _free_cells(grid: _Grid, evidence: Evidence) -> Bools:
    """Mask of free cells: starts, paths, and lines between adjacent starts (diagonals included),
    with gaps up to twice ``GAP_RADIUS`` closed."""
    starts = {(round(x / GRID), round(y / GRID)) for x, y in evidence.starts.tolist()}
    segments = [
        (i * GRID, j * GRID, (i + di) * GRID, (j + dj) * GRID)
        for i, j in starts
        for di, dj in ((1, 0), (0, 1), (1, 1), (1, -1))
        if (i + di, j + dj) in starts
    ]
    lines = np.array(segments).reshape(-1, 4)
    cells = grid.points(
        np.concatenate((evidence.starts, _sample(lines), _sample(evidence.paths)))
    )
    return np.asarray(~_grow(~_grow(cells, GAP_RADIUS), GAP_RADIUS) | cells)


def _sample(lines: Floats) -> Floats:
    """Return (P, 2) points along lines (L, 4), at most half a cell apart."""
    start = lines[:, :2]
    step = lines[:, 2:] - lines[:, :2]
    count = (
        np.ceil(np.hypot(step[:, 0], step[:, 1]) / (SPACING / 2)).astype(np.intp) + 1
    )
    which = np.repeat(np.arange(len(lines)), count)
    first = np.repeat(np.cumsum(count) - count, count)
    t = (np.arange(len(which)) - first) / np.maximum(count[which] - 1, 1)
    return np.asarray(start[which] + t[:, None] * step[which])


def _lengthen_walls(proven: Bools, opened: Bools) -> Bools:
    """Extend thin proven walls along the rows, at both ends, up to the next open cell."""
    before, after = np.zeros((2, *proven.shape), dtype=np.bool_)  # near an open cell
    longest = round(MAX_WALL_EXTENSION / SPACING)
    for step in range(1, round(THICKEST_WALL / SPACING) + 1):
        before[step:] |= opened[:-step]
        after[:-step] |= opened[step:]
    thin_walls = proven & before & after
    extension = np.zeros_like(proven)
    for row in np.flatnonzero(thin_walls.any(axis=1)).tolist():
        for first, last in _true_runs(thin_walls[row]):
            if last - first + 1 < SHORTEST_WALL / SPACING:
                continue
            left = np.flatnonzero(opened[row, :first])
            right = np.flatnonzero(opened[row, last + 1 :])
            start = int(left[-1]) + 1 if len(left) else first
            end = last + int(right[0]) if len(right) else last
            extension[
                row, max(start, first - longest) : min(end, last + longest) + 1
            ] = True
    return extension


def _bridge_gaps(proven: Bools, maybe: Bools) -> Bools:
    """Add runs of possible wall that join two proven pieces in a row."""
    wall = proven.copy()
    for row in range(len(wall)):
        for first, last in _true_runs(maybe[row] & ~proven[row]):
            has_both_ends = first > 0 and last + 1 < wall.shape[1]
            if has_both_ends and last - first < LONGEST_BRIDGE / SPACING:
                wall[row, first : last + 1] = (
                    proven[row, first - 1] and proven[row, last + 1]
                )
    return wall


def _grow(cells: Bools, margin: float) -> Bools:
    """Return a mask of the cells within ``margin`` metres of the given ones."""
    from scipy.ndimage import distance_transform_edt

    away = np.asarray(distance_transform_edt(~cells))
    return np.asarray(away * SPACING <= margin + 1e-9)


def _true_runs(row: Bools) -> list[tuple[int, int]]:
    """Return the first and last index of each run of true values."""
    steps = np.diff(np.concatenate(([False], row, [False])).astype(np.int8))
    firsts = np.flatnonzero(steps == 1)
    lasts = np.flatnonzero(steps == -1) - 1
    return list(zip(firsts.tolist(), lasts.tolist(), strict=True))


def outline(floors: Floors, number: int) -> list[tuple[Point, Point]]:
    """Return the edges between wall and other cells of a furnishing, straight runs merged."""
    segments: list[tuple[Point, Point]] = []
    for turned in (False, True):
        wall = floors.wall[number].T if turned else floors.wall[number]
        before = np.pad(wall, ((1, 1), (0, 0)), constant_values=True)
        edges = before[:-1] != before[1:]  # edge j is below cell j
        for j in np.flatnonzero(edges.any(axis=1)).tolist():
            for first, last in _true_runs(edges[j]):
                ends = [
                    ((i - 0.5) * SPACING, (j - 0.5) * SPACING)
                    for i in (first, last + 1)
                ]
                a, b = (
                    (round(floors.x + u, 4), round(floors.y + v, 4))
                    for u, v in ([(v, u) for u, v in ends] if turned else ends)
                )
                segments.append((a, b))
    return segments


METADATA = "robothor_scene_objects_75.json"
SPLITS = ("train", "debug", "val", "test")
EPISODE = b'"initial_position"'
"""Occurs exactly once in each episode record."""
LOWEST_EDGE = 1.0
"""Objects with their underside above this height (metres) do not explain gaps in the floor."""
NEAR, FAR = 0.85, 0.5
"""A target closer than the first with a path longer than the second (metres) was not in view."""
VERSION = 7
"""Version of the inference; increase it on any change so that cached floors are recomputed."""


class EpisodeTexts(Sequence[bytes]):
    """The episode records of a scene as JSON texts, cut at the outermost braces: parsing all 1,800
    takes 100 times as long as the one that is needed, and three times the memory."""

    def __init__(self, text: bytes) -> None:
        characters = np.frombuffer(text, np.uint8)
        opening = np.flatnonzero(characters == ord("{"))
        closing = np.flatnonzero(characters == ord("}"))
        # The outermost braces: as many opened as closed before the first, after the last.
        closed_before = np.searchsorted(closing, opening)
        opened_before = np.searchsorted(opening, closing)
        self._text = text
        self._starts = opening[closed_before == np.arange(len(opening))]
        self._ends = closing[opened_before == np.arange(len(closing)) + 1] + 1
        self.is_regular = len(opening) == len(closing) and len(
            self._starts
        ) == text.count(EPISODE)

    def __len__(self) -> int:
        return len(self._starts)

    def __getitem__(self, number: Any) -> Any:
        return self._text[self._starts[number] : self._ends[number]]


def episodes_of(path: Path) -> Sequence[bytes]:
    """Return the episode records of a scene as JSON texts. Raises ``DataError``."""
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
    without = evaluated if evaluated and is_independent(folder, name, evaluated) else ""
    names, floors = floors_of(folder, apartment_of(name), without)
    if name not in names:
        raise DataError(
            folder / "episodes", f"scene {name!r}", "has no episodes in any split"
        )
    number = names.index(name)
    rows, columns = np.nonzero(floors.free[number])
    xs = floors.x + columns * SPACING
    ys = floors.y + rows * SPACING
    high, wide = floors.free[number].shape
    east = floors.x + (wide - 1) * SPACING
    north = floors.y + (high - 1) * SPACING
    corners = ((floors.x, floors.y), (east, floors.y), (east, north), (floors.x, north))
    builder = SceneBuilder(name)
    builder.room("apartment", corners, walls=False)
    for a, b in outline(floors, number):
        builder.wall(a, b)
    builder.floor(list(zip(xs.tolist(), ys.tolist(), strict=True)), SPACING)
    thor.add_objects(builder, records_of(folder, name))
    return builder.build()


@lru_cache(maxsize=16)
def floors_of(
    folder: Path, apartment: str, excluded: str = ""
) -> tuple[tuple[str, ...], Floors]:
    """Return the furnishings of an apartment with episodes in any split (except ``excluded``), and
    their floors."""
    found = [
        (path.name.partition(".")[0], path)
        for split in SPLITS
        if split != excluded
        for path in sorted((folder / "episodes" / split).glob(f"{apartment}_*.json*"))
    ]
    if not found:
        raise DataError(
            folder / "episodes", f"apartment {apartment!r}", "is not in any split"
        )
    names = tuple(
        sorted({name for name, _ in found}, key=lambda n: int(n.rpartition("_")[2]))
    )
    digest = hashlib.sha256(f"{VERSION}".encode())
    metadata = files.find_any(folder, METADATA)
    for path in (*(path for _, path in found), *([metadata] if metadata else [])):
        digest.update(path.read_bytes())
    cached = (
        files.cache_folder()
        / "robothor"
        / f"{apartment}-{digest.hexdigest()[:16]}.arrays"
    )
    arrays = read_cached_arrays(cached)
    if arrays is not None:
        x, y = arrays["corner"].tolist()
        return names, Floors(x, y, arrays["free"], arrays["wall"])
    floors = infer_floors([_evidence(folder, name, found) for name in names])
    corner = np.array([floors.x, floors.y])
    write_cached_arrays(cached, corner=corner, free=floors.free, wall=floors.wall)
    return names, floors


@lru_cache(maxsize=256)
def is_independent(folder: Path, scene: str, evaluated: str) -> bool:
    """True if a scene's floor can be inferred without the evaluated split: the other splits have
    at least as many episodes in it."""
    counts = dict.fromkeys(SPLITS, 0)
    for split in SPLITS:
        for path in (folder / "episodes" / split).glob(f"{scene}.json*"):
            counts[split] += files.read_bytes(path).count(EPISODE)
    own_count = counts.pop(evaluated)
    return sum(counts.values()) >= max(own_count, 1)


def _evidence(folder: Path, name: str, found: Sequence[tuple[str, Path]]) -> Evidence:
    records = records_of(folder, name)
    # A scene has one per target type
    targets = {record.label: record for record in records}
    starts: set[Point] = set()
    segments, visible, blocked = lines = [set[tuple[float, ...]]() for _ in range(3)]
    for path in (path for scene, path in found if scene == name):
        for number, record in enumerate(files.read_json(path)):
            where = f"record {number}"
            start = point_of(path, where, record, "initial_position")
            corners = corners_of(path, where, record)
            starts.add(start)
            segments.update((*a, *b) for a, b in pairwise(corners))
            target = targets.get(
                files.read_field(path, where, record, "object_type", str)
            )
            if corners and target is not None:
                middle = target.center[:2]
                visible.add((*corners[-1], *middle))
                length = files.read_field(
                    path, where, record, "shortest_path_length", (int, float)
                )
                west, south, east, north = _box(target)
                dx = max(west - start[0], start[0] - east, 0.0)
                dy = max(south - start[1], start[1] - north, 0.0)
                if length > FAR and np.hypot(dx, dy) <= NEAR:
                    blocked.add((*start, *middle))
    boxes = [_box(record) for record in records if record.bottom < LOWEST_EDGE]
    paths, in_view, hidden = (
        np.array(sorted(points)).reshape(-1, 4) for points in lines
    )
    return Evidence(np.array(sorted(starts)), paths, boxes, in_view, hidden)


def _box(record: thor.ObjectRecord) -> Box:
    (x, y, _), (wide, deep, _) = record.center, record.size
    return x - wide / 2, y - deep / 2, x + wide / 2, y + deep / 2


def records_of(folder: Path, name: str) -> thor.Records:
    """Return the objects of a scene; empty if unpublished."""
    path = files.find(folder, METADATA)
    return thor.read_records(path, name) if name in thor.read_scenes(path) else ()


def point_of(path: Path, where: str, record: Any, name: str) -> Point:
    """Read a published position on the floor, rounded to centimetres. Raises ``DataError``."""
    point = files.read_field(path, where, record, name, dict)
    return _floor_xy(path, f"{where}, field {name!r}", point)


def corners_of(path: Path, where: str, record: Mapping[str, Any]) -> list[Point]:
    """Read the corners of the published shortest path; empty if unpublished (test split)."""
    if "shortest_path" not in record:
        return []
    listed = files.read_field(path, where, record, "shortest_path", list)
    return [_floor_xy(path, f"{where}, shortest_path", point) for point in listed]


def _floor_xy(path: Path, where: str, point: Any) -> Point:
    x, z = (
        float(files.read_field(path, where, point, axis, (int, float))) for axis in "xz"
    )
    return round(x, 2), round(z, 2)
