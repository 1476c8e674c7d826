"""RoboTHOR's apartments as scenes: object metadata, and the floors inferred from episodes.

What stands where is published; walls and free floor are inferred (see ``floors``). The inferred
grids of an apartment are kept in the cache folder, under a checksum of all that they came from.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
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
from wayword.datasets.sources.ithor import furnish
from wayword.datasets.sources.ithor.objects import ObjectRecord, Records, read_records, scene_names
from wayword.datasets.sources.robothor.floors import SPACING, Evidence, Floors, infer, outline
from wayword.worlds.household.builder import SceneBuilder
from wayword.worlds.household.scene import Scene

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
    furnish.add(builder, records_of(folder, name))
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
