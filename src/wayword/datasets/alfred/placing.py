"""A trajectory's start as a scene: its small things where ``object_poses`` puts them.

Furniture, lamps and taps are those of iTHOR's metadata; every small thing there gives way to those
of the trajectory, as in ALFRED's simulator. Published are a label, a pivot and a turn for each.
Inferred are its box (that of a thing of the same label, in the same scene where there is one) and
what it lies in or on (by boxes: ``thor.support``). The metadata is of a later build of AI2-THOR
than the trajectories: furniture it lacks is looked up by place, see :func:`furniture`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from wayword.core.errors import DataError
from wayword.datasets.alfred.trajectories import Pose, Trajectory
from wayword.datasets.thor import ithor
from wayword.datasets.thor.changing import moved
from wayword.datasets.thor.kinds import NO_THING, preposition
from wayword.datasets.thor.metadata import ObjectRecord, Records
from wayword.worlds.housework.scene import Scene

LOOKS_LIKE = {"Glassbottle": "Bottle"}
"""Label that the metadata does not have -> the label whose box it gets."""
SWITCHED = ("dirtyable", "isDirty", True), ("canFillWithLiquid", "isFilledWithLiquid", False)
"""What ``dirty_and_empty`` does: to things with the first flag, the second gets the value."""
SAME_PLACE, VERY_PLACE = 0.3, 0.1
"""Metres between a piece of furniture in both builds, at most; the smaller where its label now is
not one of those expected."""
PARTS = ("Drawer", "Cabinet", "StoveBurner", "SinkBasin")
"""Labels of what is built into other furniture, which the same place may mean."""
TOPS = ("DiningTable", "CoffeeTable", "SideTable", "Desk", "Dresser", "TVStand", "CounterTop")
RENAMED = {
    **dict.fromkeys((*TOPS, "Cart", "Shelf"), TOPS),
    "BathtubBasin": ("Bathtub",),
    "SinkBasin": ("Sink",),
}
"""Label in older scenes -> the labels the same piece may have in the metadata."""


def scene(folder: Path, trajectory: Trajectory) -> Scene:
    """The scene as it is before the first step. Raises ``DataError``."""
    name = trajectory.entry.scene
    return ithor.from_records(folder, name, records(folder, trajectory))


def records(folder: Path, trajectory: Trajectory) -> Records:
    """All objects of a trajectory's scene: furniture in the metadata's order, then small things in
    that of ``object_poses``."""
    name = trajectory.entry.scene
    fixed = [r for r in ithor.records(folder, name) if not r.pickupable]
    small = [
        moved(replace(model(folder, name, pose.label), id=thing), pose.position, pose.heading)
        for pose, thing in zip(trajectory.poses, thing_ids(trajectory.poses), strict=True)
    ]
    if trajectory.dirty_and_empty:
        small = [_dirtied(record) for record in small]
    toggled = trajectory.toggles
    return tuple(
        _switched(r, toggled[r.label]) if r.label in toggled else r for r in (*fixed, *small)
    )


def thing_ids(poses: Iterable[Pose]) -> list[str]:
    """Ids as AI2-THOR makes them: ``Mug|-01.25|+00.90|+00.31``, by label, x, height and y.

    Published plans call the things so. A second one at the same place gets ``|2``.
    """
    found: dict[str, None] = {}
    for pose in poses:
        x, y, z = pose.position
        name = "|".join((pose.label, *(f"{value:+06.2f}" for value in (x, z, y))))
        number = 1
        while (unique := f"{name}|{number}" if number > 1 else name) in found:
            number += 1
        found[unique] = None
    return list(found)


def stands(folder: Path, scene_name: str, label: str) -> bool:
    """Whether a scene's metadata has furniture of that label."""
    return label in _fixed_labels(folder, scene_name)


def furniture(folder: Path, trajectory: Trajectory, label: str) -> tuple[str, ...]:
    """The ids of all furniture of a label in a trajectory's scene.

    What its plan calls by another label at the same place counts as that: a cart that is a side
    table now, a side table that is a desk. Empty where there is nothing.
    """
    fixed = [r for r in ithor.records(folder, trajectory.entry.scene) if not r.pickupable]
    once = _renamed(fixed, trajectory)
    found = tuple(r.id for r in fixed if once.get(r.id, r.label) == label)
    return found or tuple(r.id for r in fixed if r.label == label)


def _renamed(fixed: Sequence[ObjectRecord], trajectory: Trajectory) -> dict[str, str]:
    """Id of a piece of furniture -> the other label that a trajectory's plan knows it by."""
    found: dict[str, str] = {}
    small = {pose.label for pose in trajectory.poses}
    for label, place in trajectory.named:
        if label in small or label.endswith("Lamp"):
            continue
        away = {r.id: math.dist(place[:2], r.position[:2]) for r in fixed}
        if any(r.label == label and away[r.id] <= SAME_PLACE for r in fixed):
            continue
        likely = [r for r in fixed if preposition(r) and r.label not in PARTS]
        alike = [
            (away[r.id], r.id)
            for r in likely
            if away[r.id] <= (SAME_PLACE if r.label in RENAMED.get(label, ()) else VERY_PLACE)
        ]
        if alike:
            found[min(alike)[1]] = label
    return found


def start(folder: Path, trajectory: Trajectory) -> tuple[dict[str, float], float]:
    """Where a body starts, on the cell nearest to the published place, and how far that is (m)."""
    x, y, heading = trajectory.start
    (x, y), away = ithor.start(folder, trajectory.entry.scene, x, y)
    return {"x": x, "y": y, "heading": heading}, away


def model(folder: Path, scene_name: str, label: str) -> ObjectRecord:
    """A thing of a label to take the box from: of the scene, else of the first scene with one.

    Raises ``DataError`` where no scene has such a thing.
    """
    label_there = LOOKS_LIKE.get(label, label)
    for record in ithor.records(folder, scene_name):
        if record.pickupable and record.label == label_there:
            return replace(record, label=label)
    found = _models(folder).get(label_there)
    if found is None:
        problem = f"has no thing of type {label!r}, which trajectories in {scene_name} put there"
        raise DataError(folder / ithor.OBJECTS, "", problem, "fetch both again")
    return replace(found, label=label)


@lru_cache(maxsize=2)
def _models(folder: Path) -> dict[str, ObjectRecord]:
    """Label -> the first thing of it in any scene."""
    found: dict[str, ObjectRecord] = {}
    for name in ithor.names(folder):
        for record in ithor.records(folder, name):
            if record.pickupable and record.label not in NO_THING:
                found.setdefault(record.label, record)
    return found


@lru_cache(maxsize=256)
def _fixed_labels(folder: Path, scene_name: str) -> frozenset[str]:
    listed = ithor.records(folder, scene_name)
    return frozenset(record.label for record in listed if not record.pickupable)


def _dirtied(record: ObjectRecord) -> ObjectRecord:
    for able, flag, value in SWITCHED:
        if able in record.flags:
            record = _flagged(record, flag, value)
    return record


def _switched(record: ObjectRecord, on: bool) -> ObjectRecord:
    return _flagged(record, "isToggled", on)


def _flagged(record: ObjectRecord, flag: str, value: bool) -> ObjectRecord:
    others = record.flags - {flag}
    return replace(record, flags=others | {flag} if value else others)
