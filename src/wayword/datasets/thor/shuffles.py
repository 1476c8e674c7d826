"""The published rearrangement episodes: where things are at first, and where they should be.

Source: Weihs et al. 2021, "Visual Room Rearrangement"; the 2021 episodes of
allenai/ai2thor-rearrangement, ``rearrangement/2021_*.json`` of the data folder.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wayword.core.angles import absolute
from wayword.core.errors import DataError
from wayword.core.files import field, find, read_json
from wayword.datasets.thor.metadata import Point3, read_point

SPLITS = ("2021_train", "2021_val", "2021_test")


@dataclass(frozen=True, slots=True)
class Pose:
    """Where an object's pivot is (x east, y north, z up, metres) and its heading (degrees)."""

    position: Point3
    heading: float


@dataclass(frozen=True, slots=True)
class Shuffled:
    """One published episode. ``start`` and ``target`` give the pose of things by name, ``openings``
    (start, target) how far lids are open, from 0 to 1, by name."""

    scene: str
    number: int
    x: float
    y: float
    heading: float
    start: Mapping[str, Pose]
    target: Mapping[str, Pose]
    openings: Mapping[str, tuple[float, float]]


def shuffles_path(folder: Path, split: str) -> Path:
    """The file of a split. Raises ``DataError`` where it is not there."""
    return find(folder, f"rearrangement/{split}.json")


def read_shuffles(path: Path) -> list[Shuffled]:
    """Every episode of a file, in its order. Raises ``DataError`` naming episode and field."""
    scenes = read_json(path)
    if not isinstance(scenes, dict):
        raise DataError(path, "", "is not a mapping from scenes to episodes", "fetch it again")
    return [
        _shuffled(path, scene, number, raw)
        for scene in scenes
        for number, raw in enumerate(field(path, "", scenes, scene, list))
    ]


def _shuffled(path: Path, scene: str, number: int, raw: Any) -> Shuffled:
    where = f"{scene}, episode {number}"
    x, y, _ = read_point(path, where, raw, "agent_position")
    openings = {
        field(path, where, each, "name", str): (
            float(field(path, where, each, "start_openness", (int, float))),
            float(field(path, where, each, "target_openness", (int, float))),
        )
        for each in field(path, where, raw, "openable_data", list)
    }
    return Shuffled(
        *(scene, number, x, y),
        absolute(float(field(path, where, raw, "agent_rotation", (int, float)))),
        _poses(path, where, raw, "starting_poses"),
        _poses(path, where, raw, "target_poses"),
        openings,
    )


def _poses(path: Path, where: str, raw: Any, name: str) -> dict[str, Pose]:
    found = {}
    for each in field(path, where, raw, name, list):
        try:
            called, heading = each["name"], each["rotation"]["y"] + 0.0
        except (KeyError, TypeError):  # say which field of which record it is
            turn = field(path, f"{where}, {name}", each, "rotation", dict)
            heading = float(field(path, f"{where}, {name}, rotation", turn, "y", (int, float)))
            called = field(path, f"{where}, {name}", each, "name", str)
        found[called] = Pose(read_point(path, f"{where}, {name}", each, "position"), heading)
    return found
