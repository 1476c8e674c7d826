"""ALFRED's trajectory files: one JSON record a line, indexed at once, parsed when asked for.

    alfred/traj_train.jsonl.gz        6,574 trajectories, 21,025 annotations
    alfred/traj_valid_seen.jsonl.gz     251 trajectories,    820 annotations
    alfred/traj_valid_unseen.jsonl.gz   255 trajectories,    821 annotations

A line is a published ``traj_data.json``, whose pictures may be left out. To index a file takes a
fraction of a second; its records are parsed one by one, and a few hundred are remembered.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from wayword.core.angles import absolute
from wayword.core.errors import DataError
from wayword.core.files import field, find, read_bytes
from wayword.datasets.thor.metadata import Point3, read_point

FILES = "alfred/traj_{split}.jsonl"
NUMBER = (int, float)
QUARTER = 4.0
"""Plans give coordinates in cells of 0.25 m."""


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """What the index knows of a trajectory: ``line`` counts from 1 in the file."""

    line: int
    task_id: str
    kind: str
    scene: str
    annotations: int
    params: Mapping[str, Any]

    def target(self, parameter: str) -> str:
        """The label that a parameter names, ``object_target`` say; empty for none."""
        return str(self.params.get(parameter) or "")


@dataclass(frozen=True, slots=True)
class Pose:
    """Where a small thing lies: its label (``Mug``), pivot (metres) and heading (degrees)."""

    label: str
    position: Point3
    heading: float


@dataclass(frozen=True, slots=True)
class Annotation:
    """One person's words: the goal, and the steps to it."""

    goal: str
    steps: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Trajectory:
    """A published trajectory, in this project's frame.

    ``start`` is x, y (metres) and heading (degrees), ``horizon`` how far one looks down (degrees).
    ``toggles`` says which labels are on or off at first. ``named`` lists the furniture that the
    published plan names: label and place, as older scenes had it.
    """

    entry: Entry
    start: tuple[float, float, float]
    horizon: float
    poses: tuple[Pose, ...]
    toggles: Mapping[str, bool]
    dirty_and_empty: bool
    annotations: tuple[Annotation, ...]
    named: tuple[tuple[str, Point3], ...]


class Trajectories:
    """A trajectory file. Raises ``DataError`` for one that is missing or broken."""

    def __init__(self, folder: Path, split: str) -> None:
        self.path = find(folder, FILES.format(split=split))
        lines = read_bytes(self.path).splitlines()
        self._lines = {number: line for number, line in enumerate(lines, 1) if line.strip()}
        self.entries = tuple(_entry(self.path, n, line) for n, line in self._lines.items())
        self._read = lru_cache(maxsize=256)(self._parse)

    def read(self, entry: Entry) -> Trajectory:
        """The trajectory of an entry. Raises ``DataError`` naming line and field."""
        return self._read(entry)

    def mentions(self, entry: Entry, label: str) -> bool:
        """Whether a small thing of that label lies in a trajectory's scene; does not parse it."""
        return bool(_objects(label).search(self._lines[entry.line]))

    def _parse(self, entry: Entry) -> Trajectory:
        where = f"line {entry.line}"
        raw = _parsed(self.path, where, self._lines[entry.line])
        scene = field(self.path, where, raw, "scene", dict)
        action = field(self.path, where, scene, "init_action", dict)
        x, y, turn = (float(field(self.path, where, action, k, NUMBER)) for k in _START)
        told = field(self.path, where, raw, "turk_annotations", dict)
        anns = field(self.path, where, told, "anns", list)
        return Trajectory(
            entry,
            (x, y, absolute(turn)),
            float(action.get("horizon", 0.0)),
            tuple(
                _pose(self.path, f"{where}, object_poses {n}", pose)
                for n, pose in enumerate(field(self.path, where, scene, "object_poses", list))
            ),
            {
                field(self.path, where, each, "objectType", str): bool(each.get("isOn"))
                for each in field(self.path, where, scene, "object_toggles", list)
            },
            bool(scene.get("dirty_and_empty")),
            tuple(
                _annotation(self.path, f"{where}, annotation {n}", a) for n, a in enumerate(anns)
            ),
            tuple(_named(raw.get("plan") or {})),
        )


_START = ("x", "z", "rotation")
_FLAT = rb'"%s": *"((?:[^"\\]|\\.)*)"'
_FIELDS = {
    name: re.compile(_FLAT % name.encode()) for name in ("task_id", "task_type", "floor_plan")
}
_PARAMS = re.compile(rb'"pddl_params": *(\{[^{}]*\})')
_ANNOTATION = re.compile(rb'"task_desc" *:')


def _entry(path: Path, number: int, line: bytes) -> Entry:
    """What the index needs of a line, found without parsing the whole of it."""
    texts = {name: pattern.search(line) for name, pattern in _FIELDS.items()}
    params = _PARAMS.search(line)
    missing = [name for name, found in {**texts, "pddl_params": params}.items() if found is None]
    if missing or params is None:
        raise DataError(
            path, f"line {number}, field {missing[0]!r}", "is missing", "fetch it again"
        )
    task_id, kind, scene = (found[1].decode() for found in texts.values() if found)
    count = len(_ANNOTATION.findall(line))
    return Entry(number, task_id, kind, scene, count, _parsed(path, f"line {number}", params[1]))


@lru_cache(maxsize=256)
def _objects(label: str) -> re.Pattern[bytes]:
    return re.compile(rb'"objectName": *"%s_' % re.escape(label.encode()))


def _parsed(path: Path, where: str, text: bytes) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        problem = f"is not valid JSON ({error})"
        raise DataError(path, where, problem, "fetch it again") from error


def _pose(path: Path, where: str, raw: Any) -> Pose:
    label = field(path, where, raw, "objectName", str).partition("_")[0]
    turn = field(path, where, raw, "rotation", dict)
    heading = absolute(float(field(path, where, turn, "y", NUMBER)))
    return Pose(label, read_point(path, where, raw, "position"), heading)


def _annotation(path: Path, where: str, raw: Any) -> Annotation:
    steps = field(path, where, raw, "high_descs", list)
    words = field(path, where, raw, "task_desc", str)
    return Annotation(_plain(words), tuple(_plain(str(step)) for step in steps))


def _plain(words: str) -> str:
    """Without the blanks and line ends that people leave."""
    return " ".join(words.split())


def _named(plan: Mapping[str, Any]) -> list[tuple[str, Point3]]:
    """The furniture of a plan: label and place. Plans list x twice, then z twice, then y twice."""
    found: list[tuple[str, Point3]] = []
    for step in plan.get("high_pddl", ()):
        told = step.get("planner_action", {}).get("coordinateReceptacleObjectId")
        if told and len(told[1]) == 6:
            x, _, y, _, z, _ = (value / QUARTER for value in told[1])
            found.append((str(told[0]), (x, y, z)))
    return found
