"""Conversions of published files to the layout of the data folder.

A conversion gets the published file or folder and a new folder for its results, which it fills with
the files that belong to ``Put.to``: one file of that name, or the files of that folder.
"""

from __future__ import annotations

import gzip
import json
import pickle
import zlib
from collections.abc import Callable, Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

from wayword.core.episode import JsonObject
from wayword.core.errors import DataError
from wayword.core.files import READER_ERRORS, describe_error, read_field, read_json

SCENES = {
    "bathrooms": [f"FloorPlan{number}" for number in range(401, 431)],
    "bedrooms": [f"FloorPlan{number}" for number in range(301, 331)],
    "kitchens": [f"FloorPlan{number}" for number in range(1, 31)],
    "living_rooms": [f"FloorPlan{number}" for number in range(201, 231)],
}
"""Kind of room -> iTHOR's scenes in the order of procthor's lists, which have no names."""
APARTMENTS = {"Train": 12, "Val": 3}
"""RoboTHOR's apartments; each has five furnishings."""
FURNISHINGS = 5
OMITTED = frozenset(
    {"axisAlignedBoundingBox", "objectOrientedBoundingBox", "visible", "distance"}
)
"""Fields that depend on a camera, or are kept in shorter form."""


def boxes(source: Path, out: Path) -> None:
    """REVERIE's boxes: one file per viewpoint, ``{scan}_{viewpoint}.json``, become one per scan.

    Raises ``DataError`` for a file that is no JSON object.
    """
    paths = sorted(source.glob("*_*.json"))
    for scan, files in groupby(paths, key=lambda path: path.name.partition("_")[0]):
        views = {path.stem.partition("_")[2]: read_json(path, dict) for path in files}
        _write(out / f"{scan}.json", views)


def trajectories(source: Path, out: Path) -> None:
    """ALFRED's ``TASK/TRIAL/traj_data.json`` become JSON lines, in the order of their paths.

    Lists of images and pixel masks, which nothing reads, are left out.
    Raises ``DataError`` for a file that is no JSON object.
    """
    # No time stamp in the file: the same content gives the same bytes.
    with (
        (out / "trajectories").open("wb") as raw,
        gzip.GzipFile(fileobj=raw, mode="wb", filename="", mtime=0) as file,
    ):
        for path in sorted(source.glob("*/*/traj_data.json")):
            record = read_json(path, dict)
            record.pop("images", None)
            for action in record.get("plan", {}).get("low_actions", []):
                action.get("discrete_action", {}).get("args", {}).pop("mask", None)
            file.write(_text(record) + b"\n")


def ithor_scenes(source: Path, out: Path) -> None:
    """procthor's object metadata becomes scene -> objects of iTHOR. Raises ``DataError``."""
    metadata = read_json(source, dict)
    scenes = dict[str, list[dict[str, Any]]]()
    for kind, names in SCENES.items():
        listed = read_field(source, kind, metadata, kind, list)
        scenes |= dict(_scenes(names, listed))
    _write(out / "scenes", scenes)


def robothor_scenes(source: Path, out: Path) -> None:
    """procthor's object metadata becomes scene -> objects of RoboTHOR. Raises ``DataError``."""
    metadata = read_json(source, dict)
    names = list[str]()
    for part, apartments in APARTMENTS.items():
        for apartment in range(1, apartments + 1):
            stem = f"FloorPlan_{part}{apartment}"
            names += [f"{stem}_{number}" for number in range(1, FURNISHINGS + 1)]
    listed = read_field(source, "robothor", metadata, "robothor", list)
    _write(out / "scenes", dict(_scenes(names, listed)))


def episodes(source: Path, out: Path) -> None:
    """Rearrangement's gzipped pickle of plain values becomes JSON. No code in it is run.

    Raises ``DataError`` if it holds anything but lists, mappings, texts and numbers.
    """
    try:
        with gzip.open(source) as file:
            _write(out / "episodes", _PlainUnpickler(file).load())
    except (
        pickle.UnpicklingError,
        EOFError,
        OSError,
        zlib.error,
        *READER_ERRORS,  # the unpickler's own, for a number or a key out of its range
    ) as error:
        raise DataError(
            source, "", f"is not a pickle of plain values ({describe_error(error)})"
        ) from None


class _PlainUnpickler(pickle.Unpickler):
    """Reads plain values; a pickle that names a class or function is refused."""

    def find_class(self, module: str, name: str) -> Any:
        """Refuse every name."""
        raise pickle.UnpicklingError(f"it names {module}.{name}")


FORMS: Mapping[str, Callable[[Path, Path], None]] = {
    "boxes": boxes,
    "trajectories": trajectories,
    "episodes": episodes,
    "ithor_scenes": ithor_scenes,
    "robothor_scenes": robothor_scenes,
}


def _scenes(
    names: list[str], listed: list[list[dict[str, Any]]]
) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield each scene's name and objects, with ``aabb`` (center and size) as their box."""
    for name, objects in zip(names, listed, strict=True):
        yield name, [_slim(record) for record in objects]


def _slim(record: JsonObject) -> dict[str, Any]:
    """An object's fields, with its box in short form."""
    box = record["axisAlignedBoundingBox"]
    kept = {key: record[key] for key in record if key not in OMITTED}
    return {**kept, "aabb": {"center": box["center"], "size": box["size"]}}


def _text(value: object) -> bytes:
    """JSON without spaces."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def _write(path: Path, value: object) -> None:
    """Write a JSON file."""
    path.write_bytes(_text(value))
