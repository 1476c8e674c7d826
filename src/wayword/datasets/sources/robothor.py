"""RoboTHOR's apartments as scenes: object metadata, and the floors inferred from episodes.

What stands where is published; walls and free floor are inferred (see ``floors``). The inferred
grids of an apartment are kept in the cache folder, under a checksum of all that they came from.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from wayword.core.errors import DataError
from wayword.core.files import (
    cache_folder,
    find,
    find_any,
    keep,
    parsed,
    read_bytes,
    read_field,
    read_json,
)
from wayword.core.geometry import Box, Point
from wayword.datasets.sources.thor import ObjectRecord, Records, add, read_records, scene_names
from wayword.worlds.household.builder import SceneBuilder
from wayword.worlds.household.scene import Scene

# Free floor and walls of RoboTHOR's apartments, inferred from published starts and paths.
#
# RoboTHOR publishes no walls and no list of reachable places. Each apartment is furnished in five
# ways (``FloorPlan_Train3_1`` … ``_5``), with the walls unchanged, and each furnishing has 1,800
# training episodes. What is inferred, on a grid of 0.05 m:
#
# * *Free* is where a published start or path puts the middle of the body, the straight ways between
#   starts that lie side by side on the 0.25 m grid, and gaps up to 0.2 m between such places: the
#   two sides of any wall are at least two radii of the body (0.4 m) apart.
# * *Open* is what lies within 0.1 m of a free place, in any of the furnishings.
# * A *wall* is what is never open although in some furnishing nothing stands within 0.3 m of it, so
# that only a wall explains it; what lies in a straight line between two such pieces, up to 2 m,
# is never open and is in no furniture; and, where such a piece is thin, what lengthens it up to
# the next open place, by 3 m at most. Specks of less than 0.4 m are dropped. Of that, what lies a
# body's radius from all free places is kept, and the middle line of narrower pieces. What is
# beyond the outermost boxes and places counts as wall, and what lies within a box does not.
# * Where a published path ends its target is in view: no wall stands on the line between. Where one
# starts within 0.85 m of its target and yet leads on, the target is not in view: what is never
# open on the line between, and in no box, is wall.
#
# Where furniture hides a wall in all five furnishings nothing is known, and looks pass.

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
SPACING = 0.05
GRID = 0.25
"""RoboTHOR's starts lie on multiples of this."""
RADIUS = 0.2
"""Of RoboTHOR's body."""
CLOSING = 0.1
"""Half of the widest gap that is closed."""
COVERS = 0.1
"""Of a body in a free place, this much around its middle counts as open for certain."""
EXPLAINS = 0.3
"""Furniture this near explains why nobody was at a place."""
BRIDGES = 2.0
"""The longest piece of wall taken for granted between two proven ones."""
THIN = 0.45
"""A wall between two rooms is no thicker than this, as it is inferred."""
LONGEST = 3.0
"""Such a wall is lengthened by this much at most where only furniture ends its proof."""
MARGIN = 0.4
"""Of wall around everything."""
SPECK = 0.4


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is published of one furnishing: ``starts`` (S, 2), the ends of the ``ways`` that
    shortest paths take (L, 4), and the ``boxes`` (west, south, east, north) of what stands there.
    ``seen`` and ``unseen`` (N, 4) are lines from places to targets that are in view from there, and
    that are not."""

    starts: Floats
    ways: Floats
    boxes: Sequence[Box]
    seen: Floats
    unseen: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Floors:
    """``free`` (K, H, W) and ``wall`` (K, H, W) for each of K furnishings, on one grid: the cell
    of row j and column i is centred on ``(x + i * SPACING, y + j * SPACING)``."""

    x: float
    y: float
    free: Bools
    wall: Bools


def infer(furnishings: Sequence[Evidence]) -> Floors:
    """The floors of an apartment from all of its furnishings."""
    west, south, wide, high = _frame(furnishings)
    free = np.stack([_free(one, west, south, (high, wide)) for one in furnishings])
    opened = np.asarray(np.stack([_grown(one, COVERS) for one in free]).any(axis=0))
    shape = high, wide
    bare = [~_boxes(one.boxes, EXPLAINS, west, south, shape) for one in furnishings]
    stands = [_boxes(one.boxes, -SPACING, west, south, shape) for one in furnishings]
    proven = _without_specks(~opened & np.any(bare, axis=0))
    for one, box in zip(furnishings, stands, strict=True):
        proven |= _line_cells(one.unseen, west, south, shape) & ~opened & ~box
    maybe = ~opened & ~np.any(stands, axis=0)
    wall = _bridged(proven, maybe) | _bridged(proven.T, maybe.T).T
    wall |= _lengthened(proven, opened)
    wall |= _lengthened(proven.T, opened.T).T
    wall &= _far_or_between(np.asarray(free.any(axis=0)))
    seen = [_line_cells(one.seen, west, south, shape) for one in furnishings]
    wall &= ~_grown(np.asarray(np.any(seen, axis=0)), SPACING)
    walls = np.stack([wall & ~box for box in stands])
    # Thin diagonal ways must hold together cell by cell, so they are drawn three cells wide.
    wide_ways = [_grown(_line_cells(one.ways, west, south, shape), SPACING) for one in furnishings]
    return Floors(west, south, (free | np.stack(wide_ways)) & ~walls, walls)


def _line_cells(lines: Floats, west: float, south: float, shape: tuple[int, int]) -> Bools:
    """The cells under straight lines (L, 4)."""
    cells = np.zeros(shape, dtype=np.bool_)
    xy = _along(lines)
    i = np.clip(np.round((xy[:, 0] - west) / SPACING).astype(np.intp), 0, shape[1] - 1)
    j = np.clip(np.round((xy[:, 1] - south) / SPACING).astype(np.intp), 0, shape[0] - 1)
    cells[j, i] = True
    return cells


def _lengthened(proven: Bools, opened: Bools) -> Bools:
    """Thin proven walls along the rows, lengthened at both ends up to the next open place."""
    reach = round(THIN / SPACING)
    thin = proven & _near_rows(opened, reach) & _near_rows(opened[::-1], reach)[::-1]
    found = np.zeros_like(proven)
    for row in np.flatnonzero(thin.any(axis=1)).tolist():
        for first, last in _runs(thin[row]):
            if last - first + 1 < SPECK / SPACING:
                continue
            left = np.flatnonzero(opened[row, :first])
            right = np.flatnonzero(opened[row, last + 1 :])
            start = int(left[-1]) + 1 if len(left) else first
            end = last + int(right[0]) if len(right) else last
            start = max(start, first - round(LONGEST / SPACING))
            found[row, start : min(end, last + round(LONGEST / SPACING)) + 1] = True
    return found


def _near_rows(cells: Bools, reach: int) -> Bools:
    """Whether a cell lies at most so many rows after one of the cells."""
    found = np.zeros_like(cells)
    for step in range(1, reach + 1):
        found[step:] |= cells[:-step]
    return found


def _far_or_between(free: Bools) -> Bools:
    """Where a wall can be: a body's radius from every free place, or half-way between two."""
    from scipy.ndimage import distance_transform_edt

    away = np.pad(np.asarray(distance_transform_edt(~free)) * SPACING, 1, mode="edge")
    here = away[1:-1, 1:-1]
    high, wide = free.shape
    found: Bools = here >= RADIUS - SPACING / 2
    for dj, di in ((0, 1), (1, 0), (1, 1), (1, -1)):
        after = away[1 + dj : 1 + dj + high, 1 + di : 1 + di + wide]
        before = away[1 - dj : 1 - dj + high, 1 - di : 1 - di + wide]
        found |= (here >= after) & (here >= before) & (here > 0)
    return found


def _bridged(proven: Bools, maybe: Bools) -> Bools:
    """The proven wall, and the runs of what may be wall between two pieces of it in a row."""
    wall = proven.copy()
    for row in range(len(wall)):
        for first, last in _runs(maybe[row] & ~proven[row]):
            between = first > 0 and last + 1 < wall.shape[1]
            if between and last - first < BRIDGES / SPACING:
                wall[row, first : last + 1] = proven[row, first - 1] and proven[row, last + 1]
    return wall


def _frame(furnishings: Sequence[Evidence]) -> tuple[float, float, int, int]:
    """West and south edge, and the cells to the east and to the north."""
    points = [one.starts for one in furnishings] + [one.ways.reshape(-1, 2) for one in furnishings]
    corners = [np.array(one.boxes).reshape(-1, 2, 2).reshape(-1, 2) for one in furnishings]
    every = np.concatenate([*points, *corners])
    low = np.floor((every.min(axis=0) - MARGIN) / GRID) * GRID
    high = np.ceil((every.max(axis=0) + MARGIN) / GRID) * GRID
    wide, tall = np.round((high - low) / SPACING).astype(int).tolist()
    return float(low[0]), float(low[1]), wide + 1, tall + 1


def _free(one: Evidence, west: float, south: float, shape: tuple[int, int]) -> Bools:
    places = [one.starts, _between_starts(one.starts), _along(one.ways)]
    xy = np.concatenate(places)
    free = np.zeros(shape, dtype=np.bool_)
    i = np.round((xy[:, 0] - west) / SPACING).astype(np.intp)
    j = np.round((xy[:, 1] - south) / SPACING).astype(np.intp)
    free[j, i] = True
    return _closed(free)


def _between_starts(starts: Floats) -> Floats:
    """Points on the straight ways between starts side by side, diagonals included."""
    cells = {(round(x / GRID), round(y / GRID)) for x, y in starts.tolist()}
    lines = [
        (i * GRID, j * GRID, (i + di) * GRID, (j + dj) * GRID)
        for i, j in cells
        for di, dj in ((1, 0), (0, 1), (1, 1), (1, -1))
        if (i + di, j + dj) in cells
    ]
    return _along(np.array(lines).reshape(-1, 4))


def _along(lines: Floats) -> Floats:
    """(P, 2) points on all the lines (L, 4), half a cell apart."""
    if not len(lines):
        return np.zeros((0, 2))
    start, step = lines[:, :2], lines[:, 2:] - lines[:, :2]
    count = np.ceil(np.hypot(step[:, 0], step[:, 1]) / (SPACING / 2)).astype(np.intp) + 1
    which = np.repeat(np.arange(len(lines)), count)
    first = np.repeat(np.cumsum(count) - count, count)
    t = (np.arange(len(which)) - first) / np.maximum(count[which] - 1, 1)
    return np.asarray(start[which] + t[:, None] * step[which])


def _boxes(
    boxes: Sequence[Box], by: float, west: float, south: float, shape: tuple[int, int]
) -> Bools:
    """The cells that boxes cover, grown on all sides."""
    covered = np.zeros(shape, dtype=np.bool_)
    for box in boxes:
        i0, j0 = _index(box[0] - by - west), _index(box[1] - by - south)
        i1, j1 = _index(box[2] + by - west), _index(box[3] + by - south)
        covered[max(j0, 0) : max(j1 + 1, 0), max(i0, 0) : max(i1 + 1, 0)] = True
    return covered


def _index(metres: float) -> int:
    return round(metres / SPACING)


def _grown(cells: Bools, by: float) -> Bools:
    """What lies within so many metres of the cells."""
    from scipy.ndimage import distance_transform_edt

    away = np.asarray(distance_transform_edt(~cells))
    return np.asarray(away * SPACING <= by + 1e-9)


def _closed(cells: Bools) -> Bools:
    """The cells with gaps up to twice ``CLOSING`` closed."""
    return np.asarray(~_grown(~_grown(cells, CLOSING), CLOSING) | cells)


def _without_specks(wall: Bools) -> Bools:
    from scipy.ndimage import find_objects, label

    parts, _ = label(wall)
    kept = wall.copy()
    for number, box in enumerate(find_objects(parts), 1):
        extent = max(side.stop - side.start for side in box) * SPACING
        if extent < SPECK:
            kept[box] &= parts[box] != number
    return kept


def outline(floors: Floors, number: int) -> list[tuple[Point, Point]]:
    """The edges between wall and what is not, in one furnishing, straight runs joined."""
    found: list[tuple[Point, Point]] = []
    for turned in (False, True):
        wall = floors.wall[number].T if turned else floors.wall[number]
        before = np.pad(wall, ((1, 1), (0, 0)), constant_values=True)
        edges = before[:-1] != before[1:]  # edge j lies below cell j
        for j in np.flatnonzero(edges.any(axis=1)).tolist():
            for first, last in _runs(edges[j]):
                across = (j - 0.5) * SPACING
                a, b = (first - 0.5) * SPACING, (last + 0.5) * SPACING
                ends = ((across, a), (across, b)) if turned else ((a, across), (b, across))
                found.append((_at(floors, ends[0]), _at(floors, ends[1])))
    return found


def _at(floors: Floors, offset: Point) -> Point:
    return round(floors.x + offset[0], 4), round(floors.y + offset[1], 4)


def _runs(row: Bools) -> list[tuple[int, int]]:
    """First and last index of each run of true values."""
    padded = np.concatenate(([False], row, [False])).astype(np.int8)
    steps = np.diff(padded)
    firsts, lasts = np.flatnonzero(steps == 1), np.flatnonzero(steps == -1) - 1
    return list(zip(firsts.tolist(), lasts.tolist(), strict=True))


METADATA = "robothor_scene_objects_75.json"
SPLITS = ("train", "debug", "val", "test")
LOW = 1.0
"""Things whose underside is higher than this (metres) explain no gap in the free floor."""
NEAR, FAR = 0.85, 0.5
"""A target nearer than this (metres) that a path longer than this leads to was not in view."""
VERSION = 6
"""Of the inference: raise it when it changes, so that cached floors are made again."""


def episodes_of(folder: Path, split: str, scene: str) -> Sequence[Any]:
    """The records of a scene's episodes in a split. Raises ``DataError``, also when one is looked
    at."""
    path = find(folder / "episodes" / split, f"{scene}.json")
    text = read_bytes(path).strip()
    starts = [found.start() for found in _RECORD.finditer(text)]
    if (text[:1], text[-1:]) == (b"[", b"]") and 0 < len(starts) == text.count(EPISODE):
        return _Records(path, text, starts)
    return _all_records(path)  # not laid out as published: broken, or written by others


EPISODE = b'"initial_position"'
"""Every record of an episode has it once."""
_RECORD = re.compile(rb'\{\s*"id"\s*:')


class _Records(Sequence[Any]):
    """Records parsed when they are looked at: a scene has 1,800, of which a run plays few."""

    def __init__(self, path: Path, text: bytes, starts: Sequence[int]) -> None:
        self._path, self._text, self._bounds = path, text, [*starts, len(text)]

    def __len__(self) -> int:
        return len(self._bounds) - 1

    def __getitem__(self, number: Any) -> Any:
        piece = self._text[self._bounds[number] : self._bounds[number + 1]].rstrip(b" \r\n\t,]")
        try:
            return parsed(piece)
        except (ValueError, RecursionError):
            return self._whole[number]

    @cached_property
    def _whole(self) -> list[Any]:
        return _all_records(self._path)


def _all_records(path: Path) -> list[Any]:
    records = read_json(path)
    if not isinstance(records, list):
        raise DataError(path, "", "is not a list of episodes", "fetch it again")
    return records


def apartment_of(scene: str) -> str:
    """``FloorPlan_Train3_4`` -> ``FloorPlan_Train3``: the apartment that a scene furnishes."""
    return re.sub(r"_\d+$", "", scene)


@lru_cache(maxsize=96)
def scene_of(folder: Path, name: str, evaluated: str = "") -> Scene:
    """One furnished apartment. Raises ``DataError``.

    Where a split is ``evaluated`` and others have enough episodes in the scene, its own open no
    floor and no wall: see ``independent``. A scene without object metadata (those of the test
    split) holds no objects, and its floor is inferred from its starts alone.
    """
    without = evaluated if evaluated and independent(folder, name, evaluated) else ""
    names, floors = floors_of(folder, apartment_of(name), without)
    if name not in names:
        raise DataError(folder / "episodes", f"scene {name!r}", "no split has episodes in it")
    number = names.index(name)
    free = floors.free[number]
    high, wide = free.shape
    east, north = floors.x + (wide - 1) * SPACING, floors.y + (high - 1) * SPACING
    corners = ((floors.x, floors.y), (east, floors.y), (east, north), (floors.x, north))
    builder = SceneBuilder(name)
    builder.room("apartment", corners, walls=False)
    for a, b in outline(floors, number):
        builder.wall(a, b)
    builder.floor(_places(floors, free), SPACING)
    add(builder, records_of(folder, name))
    return builder.build()


def _places(floors: Floors, free: NDArray[np.bool_]) -> list[tuple[float, float]]:
    rows, columns = np.nonzero(free)
    xs, ys = floors.x + columns * SPACING, floors.y + rows * SPACING
    return list(zip(xs.tolist(), ys.tolist(), strict=True))


@lru_cache(maxsize=16)
def floors_of(folder: Path, apartment: str, without: str = "") -> tuple[tuple[str, ...], Floors]:
    """The furnishings of an apartment that any split has episodes in, one left out if asked, and
    their floors."""
    files = _files(folder, apartment, without)
    if not files:
        raise DataError(folder / "episodes", f"apartment {apartment!r}", "no split has it")
    names = tuple(sorted({name for name, _ in files}, key=_number))
    kept = cache_folder() / "robothor" / f"{apartment}-{_digest(folder, files)}.npz"
    found = _read(kept)
    if found is None:
        found = infer([_evidence(folder, name, files) for name in names])
        _write(kept, found)
    return names, found


@lru_cache(maxsize=256)
def independent(folder: Path, scene: str, evaluated: str) -> bool:
    """Whether a scene's floor can be inferred from other episodes than the evaluated split's: those
    of the other splits there are at least as many."""
    others = [
        path
        for split in SPLITS
        if split != evaluated
        for path in (folder / "episodes" / split).glob(f"{scene}.json*")
    ]
    if not others:
        return False
    own = find(folder / "episodes" / evaluated, f"{scene}.json")
    return sum(map(_episodes_in, others)) >= _episodes_in(own)


def _episodes_in(path: Path) -> int:
    return read_bytes(path).count(EPISODE)


def _files(folder: Path, apartment: str, without: str = "") -> list[tuple[str, Path]]:
    """Scene and file of all episodes in the apartment, whatever the split but the one left out."""
    return [
        (path.name.partition(".")[0], path)
        for split in SPLITS
        if split != without
        for path in sorted((folder / "episodes" / split).glob(f"{apartment}_*.json*"))
    ]


def _number(name: str) -> int:
    return int(name.rpartition("_")[2])


def _digest(folder: Path, files: Sequence[tuple[str, Path]]) -> str:
    found = hashlib.sha256(f"{VERSION}".encode())
    metadata = find_any(folder, METADATA)
    for path in (*(path for _, path in files), *([metadata] if metadata else [])):
        found.update(path.read_bytes())
    return found.hexdigest()[:16]


def _evidence(folder: Path, name: str, files: Sequence[tuple[str, Path]]) -> Evidence:
    records = records_of(folder, name)
    targets = {record.label: record for record in records}  # one of each target type a scene
    starts: set[tuple[float, ...]] = set()
    ways: set[tuple[float, ...]] = set()
    seen: set[tuple[float, ...]] = set()
    unseen: set[tuple[float, ...]] = set()
    for scene, path in files:
        for number, record in enumerate(read_json(path) if scene == name else ()):
            where = f"record {number}"
            start = flat(path, where, record, "initial_position")
            corners = corners_of(path, where, record)
            starts.add(start)
            ways.update((*a, *b) for a, b in pairwise(corners))
            target = targets.get(read_field(path, where, record, "object_type", str))
            if corners and target is not None:
                middle = target.centre[:2]
                seen.add((*corners[-1], *middle))
                length = read_field(path, where, record, "shortest_path_length", (int, float))
                if length > FAR and _gap(target, start) <= NEAR:
                    unseen.add((*start, *middle))
    boxes = [_box(record) for record in records if record.bottom < LOW]
    lines = (np.array(sorted(found)).reshape(-1, 4) for found in (ways, seen, unseen))
    ways_, seen_, unseen_ = lines
    return Evidence(np.array(sorted(starts)), ways_, boxes, seen_, unseen_)


def _gap(record: ObjectRecord, at: tuple[float, float]) -> float:
    """Metres along the floor from a place to a thing's box."""
    west, south, east, north = _box(record)
    wide = max(west - at[0], at[0] - east, 0.0)
    return float(np.hypot(wide, max(south - at[1], at[1] - north, 0.0)))


def _box(record: ObjectRecord) -> tuple[float, float, float, float]:
    (x, y, _), (wide, deep, _) = record.centre, record.size
    return x - wide / 2, y - deep / 2, x + wide / 2, y + deep / 2


def records_of(folder: Path, name: str) -> Records:
    """The objects of a scene; none where none are published."""
    known = name in scene_names(folder, METADATA)
    return read_records(folder, METADATA, name) if known else ()


def flat(path: Path, where: str, record: Any, name: str) -> tuple[float, float]:
    """A published position on the floor: its x and z, to the centimetre. Raises ``DataError``."""
    return _flat(path, f"{where}, field {name!r}", read_field(path, where, record, name, dict))


def corners_of(path: Path, where: str, record: Mapping[str, Any]) -> list[tuple[float, float]]:
    """The corners of the published shortest path; none where there is none (test split)."""
    if "shortest_path" not in record:
        return []
    listed = read_field(path, where, record, "shortest_path", list)
    return [_flat(path, f"{where}, shortest_path", point) for point in listed]


def _flat(path: Path, where: str, point: Any) -> tuple[float, float]:
    x, z = (float(read_field(path, where, point, axis, (int, float))) for axis in "xz")
    return round(x, 2), round(z, 2)


def _read(path: Path) -> Floors | None:
    """Cached floors; None where there are none or they cannot be read."""
    try:
        with np.load(path) as kept:
            shape = tuple(kept["shape"].tolist())
            count = int(np.prod(shape))
            free, wall = (
                np.unpackbits(kept[name], count=count).astype(np.bool_).reshape(shape)
                for name in ("free", "wall")
            )
            x, y = kept["corner"].tolist()
            return Floors(x, y, free, wall)
    except Exception:  # noqa: BLE001 - however a cached file is damaged, it is made again
        return None


def _write(path: Path, floors: Floors) -> None:
    def write(file: BinaryIO) -> None:
        np.savez_compressed(
            file,
            shape=np.array(floors.free.shape),
            corner=np.array([floors.x, floors.y]),
            free=np.packbits(floors.free),
            wall=np.packbits(floors.wall),
        )

    keep(path, write)
