"""The published rearrangement episodes: where things are at first, and where they should be.

Source: Weihs et al. 2021, "Visual Room Rearrangement"; the 2021 episodes of
allenai/ai2thor-rearrangement, ``rearrangement/2021_*.json`` of the data folder.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from wayword.core.errors import DataError
from wayword.core.files import find, read_field, read_json
from wayword.core.geometry import absolute
from wayword.datasets.sources.ithor.furnish import carrier, lies, parents
from wayword.datasets.sources.ithor.objects import (
    NO_THING,
    ObjectRecord,
    Point3,
    Records,
    moved,
    preposition,
    read_point,
)
from wayword.worlds.household.goals import Restored

SPLITS = ("2021_train", "2021_val", "2021_test")


@dataclass(frozen=True, slots=True)
class PivotPose:
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
    start: Mapping[str, PivotPose]
    target: Mapping[str, PivotPose]
    openings: Mapping[str, tuple[float, float]]


def shuffles_path(folder: Path, split: str) -> Path:
    """The file of a split. Raises ``DataError`` where it is not there."""
    return find(folder, f"rearrangement/{split}.json")


class PublishedShuffles:
    """The episodes of a file, in its order: ``places`` are scene and number of each.

    Raises ``DataError`` for a file that holds none, and naming episode and field where one is read.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._scenes = path, read_json(path)
        if not isinstance(self._scenes, dict):
            raise DataError(path, "", "is not a mapping from scenes to episodes", "fetch it again")
        self.places = [
            (scene, number)
            for scene in self._scenes
            for number in range(len(read_field(path, "", self._scenes, scene, list)))
        ]

    def read(self, scene: str, number: int) -> Shuffled:
        """One episode."""
        return _shuffled(self._path, scene, number, self._scenes[scene][number])


def _shuffled(path: Path, scene: str, number: int, raw: Any) -> Shuffled:
    where = f"{scene}, episode {number}"
    x, y, _ = read_point(path, where, raw, "agent_position")
    openings = {
        read_field(path, where, each, "name", str): (
            float(read_field(path, where, each, "start_openness", (int, float))),
            float(read_field(path, where, each, "target_openness", (int, float))),
        )
        for each in read_field(path, where, raw, "openable_data", list)
    }
    return Shuffled(
        *(scene, number, x, y),
        absolute(float(read_field(path, where, raw, "agent_rotation", (int, float)))),
        _poses(path, where, raw, "starting_poses"),
        _poses(path, where, raw, "target_poses"),
        openings,
    )


def _poses(path: Path, where: str, raw: Any, name: str) -> dict[str, PivotPose]:
    found = {}
    for each in read_field(path, where, raw, name, list):
        try:
            called, heading = each["name"], each["rotation"]["y"] + 0.0
        except (KeyError, TypeError):  # say which field of which record it is
            turn = read_field(path, f"{where}, {name}", each, "rotation", dict)
            heading = float(read_field(path, f"{where}, {name}, rotation", turn, "y", (int, float)))
            called = read_field(path, f"{where}, {name}", each, "name", str)
        found[called] = PivotPose(read_point(path, f"{where}, {name}", each, "position"), heading)
    return found


# What a published rearrangement episode asks for in a world of words.
#
# AI2-THOR compares poses in space: a thing is right when its box overlaps the target's by half, a
# lid when it is open to within 0.2 of the target. Nobody aims like that by ``put``, so here:
#
# - A thing that lies in or on another receptacle than it should is displaced. It is right again
#   in or on the right one, wherever there.
# - A thing that lies elsewhere on the same piece of furniture is displaced when that is more than
#   ``NEAR`` away in the plan. It is right again within ``NEAR`` of its target, on that furniture.
#   Shorter moves, and those of things within things that are carried, are no changes.
# - A lid whose opening differs by more than ``LID`` is displaced: open is the wider of the two
#   openings, closed the narrower. Lids that differ by less are what they are: open above ``LID``.
#
# What a thing is in or on is judged by boxes at both poses: see ``support``.

NEAR = 0.5
"""Metres in the plan within which a thing is where it should be on its furniture."""
LID = 0.2
"""Share of the opening that counts as a change; the source's own threshold."""
MOVED = 0.01
"""Metres by which a pose differs from another; less is rounding."""
LOW = 0.15
"""Metres above the floor up to which a thing that is in or on nothing lies on the floor."""

NOWHERE = "nowhere"
"""What a thing should be in or on that hangs in the air by the published boxes."""

Cause = Literal["", "nothing_displaced", "unknown_object", "target_on_nothing_known"]
"""Why an episode is left out: no change is one here; a thing that moves is not in the metadata; a
target is neither on the floor nor in or on anything whose box is published."""


@dataclass(frozen=True, slots=True)
class JudgedStart:
    """What an episode comes to: the ``records`` of its start, each with what it is in or on; goals
    for what is ``displaced`` and for ``others``; or the ``cause`` why it is left out."""

    records: Records = ()
    displaced: tuple[Restored, ...] = ()
    others: tuple[Restored, ...] = ()
    crowds: Mapping[str, int] = field(default_factory=dict)
    """Receptacle -> how many things it holds at the start or should hold, whichever is more."""
    cause: Cause = ""
    spots: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """Where (x east, y north, metres) the middle of each thing that can be carried should be."""


def judge(published: Records, shuffled: Shuffled) -> JudgedStart:
    """What an episode asks for in a scene with these objects."""
    goals = _displaced(published, shuffled)
    why = _cause(published, shuffled, goals)
    if why:
        return JudgedStart(cause=why)
    first, last = (tuple(_then(r, shuffled, which) for r in _things(published)) for which in (0, 1))
    under, over = _under(first), _under(last)
    named = {goal.thing for goal in goals}
    others = tuple(
        Restored(r.id, under.get(r.id, ""), "isOpen" in r.flags)
        for r in first
        if (r.pickupable or "openable" in r.flags) and r.id not in named
    )
    settled = tuple(replace(r, parents=(under.get(r.id, "Floor"),)) for r in first)
    crowds = Counter(under.values()) | Counter(over.values())
    spots = {r.id: r.centre[:2] for r in last if r.pickupable}
    return JudgedStart(settled, goals, others, crowds, spots=spots)


def cause(published: Records, shuffled: Shuffled) -> Cause:
    """Why an episode is left out; empty where it is not."""
    return _cause(published, shuffled, _displaced(published, shuffled))


def _cause(published: Records, shuffled: Shuffled, goals: tuple[Restored, ...]) -> Cause:
    names = {record.name for record in published}
    for name, pose in shuffled.target.items():
        if name not in names and _away(pose, shuffled.start.get(name, pose)) > MOVED:
            return "unknown_object"
    if any(goal.receptacle == NOWHERE for goal in goals):
        return "target_on_nothing_known"
    return "" if goals else "nothing_displaced"


def _displaced(published: Records, shuffled: Shuffled) -> tuple[Restored, ...]:
    """How the displaced things should be."""
    things = _things(published)
    receptacles = [r for r in things if preposition(r)]
    ways = [[_then(r, shuffled, which) for r in receptacles] for which in (0, 1)]
    goals = [
        _goal(_then(r, shuffled, 0), _then(r, shuffled, 1), ways)
        for r in things
        if _differs(r, shuffled)
    ]
    return tuple(goal for goal in goals if goal is not None)


def _differs(record: ObjectRecord, shuffled: Shuffled) -> bool:
    """Whether something has another pose or opening at the end."""
    start, target = shuffled.start.get(record.name), shuffled.target.get(record.name)
    moves = start is not None and target is not None and _away(start, target) > MOVED
    return moves or record.name in shuffled.openings


def _goal(now: ObjectRecord, then: ObjectRecord, ways: list[list[ObjectRecord]]) -> Restored | None:
    """How a thing should be that differs in the two records; None where that is no change."""
    lid = "isOpen" in then.flags
    if not now.pickupable:
        return Restored(now.id, _still(now, ways[0]), lid) if now.flags != then.flags else None
    here, there = _carrier(now, ways[0]), _carrier(then, ways[1])
    if (here and here.id) != (there and there.id):
        floor = "" if then.bottom <= LOW else NOWHERE
        return Restored(now.id, there.id if there else floor, lid)
    x, y, _ = then.centre
    if there is None or there.pickupable or math.dist(now.centre[:2], (x, y)) <= NEAR:
        return None
    return Restored(now.id, there.id, lid, at=(x, y), within=NEAR)


def _under(records: Records) -> dict[str, str]:
    """Thing -> what it is in or on; furniture and what stands on it as published."""
    found = parents(records, [r for r in records if not r.pickupable and lies(r)])
    receptacles = [record for record in records if preposition(record)]
    for record in records:
        if record.pickupable:
            best = _carrier(record, receptacles)
            if best is not None:
                found[record.id] = best.id
    return found


def _carrier(record: ObjectRecord, receptacles: list[ObjectRecord]) -> ObjectRecord | None:
    return carrier(record, receptacles, loose=record.bottom > LOW)


def _still(record: ObjectRecord, receptacles: list[ObjectRecord]) -> str:
    """What a fixed thing stands on, as published."""
    found = parents((*receptacles, record), [record]) if lies(record) else {}
    return found.get(record.id, "")


def _things(published: Records) -> Records:
    return tuple(record for record in published if record.label not in NO_THING)


def _then(record: ObjectRecord, shuffled: Shuffled, which: int) -> ObjectRecord:
    """An object at the start (0) of an episode, or as it should be (1)."""
    poses = (shuffled.start, shuffled.target)[which]
    return _swung(_put(record, poses.get(record.name)), shuffled, which)


def _put(record: ObjectRecord, pose: PivotPose | None) -> ObjectRecord:
    return record if pose is None else moved(record, pose.position, pose.heading)


def _swung(record: ObjectRecord, shuffled: Shuffled, which: int) -> ObjectRecord:
    """The record with its lid as it is at the start (0) or should be (1)."""
    both = shuffled.openings.get(record.name)
    if both is None:
        return record
    changes = abs(both[0] - both[1]) > LID
    opens = both[which] == max(both) if changes else min(both) > LID
    flags = record.flags | {"isOpen"} if opens else record.flags - {"isOpen"}
    return replace(record, flags=flags)


def _away(one: PivotPose, other: PivotPose) -> float:
    return math.dist(one.position, other.position)
