"""ALFRED's published trajectories as household episodes in iTHOR's rooms, one for each annotation.

    alfred/traj_train.jsonl.gz        6,574 trajectories, 21,025 annotations
    alfred/traj_valid_seen.jsonl.gz     251 trajectories,    820 annotations
    alfred/traj_valid_unseen.jsonl.gz   255 trajectories,    821 annotations

A line is a published ``traj_data.json``, whose pictures may be left out. A trajectory's scene names
what lies where; the furniture is that of iTHOR's metadata, which was published for a later build of
AI2-THOR.

Source: ALFRED (Shridhar et al. 2020), json_2.1.0.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Literal

from wayword.core.dataset import DrawnTasks, Task
from wayword.core.episode import Episode, Extra
from wayword.core.errors import DataError, UsageError
from wayword.core.files import find, read_bytes, read_field, remembered
from wayword.core.geometry import absolute
from wayword.datasets.sources import ithor, thor
from wayword.worlds.household.goals import (
    GoalCondition,
    Has,
    Held,
    HouseholdReference,
    Ids,
    Inside,
    Lit,
    Stacked,
    Trait,
)
from wayword.worlds.household.layout import Layout
from wayword.worlds.household.scene import Scene
from wayword.worlds.household.verbs import Body
from wayword.worlds.household.world import HouseholdWorld

FILES = "alfred/traj_{split}.jsonl"
NUMBER = (int, float)
CELLS_PER_METRE = 4.0
"""Plans give coordinates in cells of 0.25 m."""


@dataclass(frozen=True, slots=True, eq=False)
class AlfredEntry:
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
class ObjectPose:
    """Where a small thing lies: its label (``Mug``), pivot (metres) and heading (degrees)."""

    label: str
    position: thor.Point3
    heading: float


@dataclass(frozen=True, slots=True)
class Annotation:
    """One person's words: the goal, and the steps to it."""

    goal: str
    steps: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AlfredTrajectory:
    """A published trajectory, in this project's frame.

    ``start`` is x, y (metres) and heading (degrees), ``horizon`` how far one looks down (degrees).
    ``toggles`` says which labels are on or off at first. ``named`` lists the furniture that the
    published plan names: label and place, as older scenes had it.
    """

    entry: AlfredEntry
    start: tuple[float, float, float]
    horizon: float
    poses: tuple[ObjectPose, ...]
    toggles: Mapping[str, bool]
    dirty_and_empty: bool
    annotations: tuple[Annotation, ...]
    named: tuple[tuple[str, thor.Point3], ...]


class Trajectories:
    """A trajectory file. Raises ``DataError`` for one that is missing or broken."""

    def __init__(self, folder: Path, split: str) -> None:
        self.path = find(folder, FILES.format(split=split))
        self._read = lru_cache(maxsize=256)(self._parse)

    @cached_property
    def _lines(self) -> dict[int, bytes]:
        lines = read_bytes(self.path).splitlines()
        return {number: line for number, line in enumerate(lines, 1) if line.strip()}

    def index(self) -> tuple[AlfredEntry, ...]:
        """What each line is about, in file order."""
        return tuple(_entry(self.path, n, line) for n, line in self._lines.items())

    def read(self, entry: AlfredEntry) -> AlfredTrajectory:
        """The trajectory of an entry. Raises ``DataError`` naming line and field."""
        return self._read(entry)

    def mentions(self, entry: AlfredEntry, label: str) -> bool:
        """Whether a small thing of that label lies in a trajectory's scene; does not parse it."""
        return bool(_objects(label).search(self._lines[entry.line]))

    def _parse(self, entry: AlfredEntry) -> AlfredTrajectory:
        where = f"line {entry.line}"
        raw = _parsed(self.path, where, self._lines[entry.line])
        scene = read_field(self.path, where, raw, "scene", dict)
        action = read_field(self.path, where, scene, "init_action", dict)
        x, y, turn = (float(read_field(self.path, where, action, k, NUMBER)) for k in _START)
        told = read_field(self.path, where, raw, "turk_annotations", dict)
        anns = read_field(self.path, where, told, "anns", list)
        return AlfredTrajectory(
            entry,
            (x, y, absolute(turn)),
            float(action.get("horizon", 0.0)),
            tuple(
                _pose(self.path, f"{where}, object_poses {n}", pose)
                for n, pose in enumerate(read_field(self.path, where, scene, "object_poses", list))
            ),
            {
                read_field(self.path, where, each, "objectType", str): bool(each.get("isOn"))
                for each in read_field(self.path, where, scene, "object_toggles", list)
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


def _entry(path: Path, number: int, line: bytes) -> AlfredEntry:
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
    return AlfredEntry(
        number, task_id, kind, scene, count, _parsed(path, f"line {number}", params[1])
    )


@lru_cache(maxsize=256)
def _objects(label: str) -> re.Pattern[bytes]:
    return re.compile(rb'"objectName": *"%s_' % re.escape(label.encode()))


def _parsed(path: Path, where: str, text: bytes) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        problem = f"is not valid JSON ({error})"
        raise DataError(path, where, problem, "fetch it again") from error


def _pose(path: Path, where: str, raw: Any) -> ObjectPose:
    label = read_field(path, where, raw, "objectName", str).partition("_")[0]
    turn = read_field(path, where, raw, "rotation", dict)
    heading = absolute(float(read_field(path, where, turn, "y", NUMBER)))
    return ObjectPose(label, thor.read_point(path, where, raw, "position"), heading)


def _annotation(path: Path, where: str, raw: Any) -> Annotation:
    steps = read_field(path, where, raw, "high_descs", list)
    words = read_field(path, where, raw, "task_desc", str)
    return Annotation(_plain(words), tuple(_plain(str(step)) for step in steps))


def _plain(words: str) -> str:
    """Without the blanks and line ends that people leave."""
    return " ".join(words.split())


def _named(plan: Mapping[str, Any]) -> list[tuple[str, thor.Point3]]:
    """The furniture of a plan: label and place. Plans list x twice, then z twice, then y twice."""
    found: list[tuple[str, thor.Point3]] = []
    for step in plan.get("high_pddl", ()):
        told = step.get("planner_action", {}).get("coordinateReceptacleObjectId")
        if told and len(told[1]) == 6:
            x, _, y, _, z, _ = (value / CELLS_PER_METRE for value in told[1])
            found.append((str(told[0]), (x, y, z)))
    return found


# A trajectory's start as a scene: its small things where ``object_poses`` puts them.
#
# Furniture, lamps and taps are those of iTHOR's metadata; every small thing there gives way to
# those of the trajectory, as in ALFRED's simulator. Published are a label, a pivot and a turn for
# each. Inferred are its box (that of a thing of the same label, in the same scene where there is
# one) and what it lies in or on (by boxes). The metadata is of a later build of
# AI2-THOR than the trajectories: furniture it lacks is looked up by place, see :func:`furniture`.

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


def scene(folder: Path, trajectory: AlfredTrajectory) -> Scene:
    """The scene as it is before the first step. Raises ``DataError``."""
    name = trajectory.entry.scene
    return ithor.from_records(folder, name, records(folder, trajectory))


def records(folder: Path, trajectory: AlfredTrajectory) -> thor.Records:
    """All objects of a trajectory's scene: furniture in the metadata's order, then small things in
    that of ``object_poses``."""
    name = trajectory.entry.scene
    fixed = [r for r in ithor.records(folder, name) if not r.pickupable]
    small = [
        thor.moved(replace(model(folder, name, pose.label), id=thing), pose.position, pose.heading)
        for pose, thing in zip(trajectory.poses, thing_ids(trajectory.poses), strict=True)
    ]
    if trajectory.dirty_and_empty:
        small = [_dirtied(record) for record in small]
    toggled = trajectory.toggles
    return tuple(
        _switched(r, toggled[r.label]) if r.label in toggled else r for r in (*fixed, *small)
    )


def thing_ids(poses: Iterable[ObjectPose]) -> list[str]:
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


def has_furniture(folder: Path, scene_name: str, label: str) -> bool:
    """Whether a scene's metadata has furniture of that label."""
    return label in _fixed_labels(folder, scene_name)


def furniture(folder: Path, trajectory: AlfredTrajectory, label: str) -> tuple[str, ...]:
    """The ids of all furniture of a label in a trajectory's scene.

    What its plan calls by another label at the same place counts as that: a cart that is a side
    table now, a side table that is a desk. Empty where there is nothing.
    """
    fixed = [r for r in ithor.records(folder, trajectory.entry.scene) if not r.pickupable]
    once = _renamed(fixed, trajectory)
    found = tuple(r.id for r in fixed if once.get(r.id, r.label) == label)
    return found or tuple(r.id for r in fixed if r.label == label)


def _renamed(fixed: Sequence[thor.ObjectRecord], trajectory: AlfredTrajectory) -> dict[str, str]:
    """Id of a piece of furniture -> the other label that a trajectory's plan knows it by."""
    found: dict[str, str] = {}
    small = {pose.label for pose in trajectory.poses}
    for label, place in trajectory.named:
        if label in small or label.endswith("Lamp"):
            continue
        away = {r.id: math.dist(place[:2], r.position[:2]) for r in fixed}
        if any(r.label == label and away[r.id] <= SAME_PLACE for r in fixed):
            continue
        likely = [r for r in fixed if thor.preposition(r) and r.label not in PARTS]
        alike = [
            (away[r.id], r.id)
            for r in likely
            if away[r.id] <= (SAME_PLACE if r.label in RENAMED.get(label, ()) else VERY_PLACE)
        ]
        if alike:
            found[min(alike)[1]] = label
    return found


def start(folder: Path, trajectory: AlfredTrajectory) -> tuple[dict[str, float], float]:
    """The start pose on the cell nearest to the published place, and the distance to it (m)."""
    x, y, heading = trajectory.start
    (x, y), away = ithor.start(folder, trajectory.entry.scene, x, y)
    return {"x": x, "y": y, "heading": heading}, away


def model(folder: Path, scene_name: str, label: str) -> thor.ObjectRecord:
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
def _models(folder: Path) -> dict[str, thor.ObjectRecord]:
    """Label -> the first thing of it in any scene."""
    found: dict[str, thor.ObjectRecord] = {}
    for name in ithor.names(folder):
        for record in ithor.records(folder, name):
            if record.pickupable and record.label not in thor.NO_THING:
                found.setdefault(record.label, record)
    return found


@lru_cache(maxsize=256)
def _fixed_labels(folder: Path, scene_name: str) -> frozenset[str]:
    listed = ithor.records(folder, scene_name)
    return frozenset(record.label for record in listed if not record.pickupable)


def _dirtied(record: thor.ObjectRecord) -> thor.ObjectRecord:
    for able, flag, value in SWITCHED:
        if able in record.flags:
            record = _flagged(record, flag, value)
    return record


def _switched(record: thor.ObjectRecord, on: bool) -> thor.ObjectRecord:
    return _flagged(record, "isToggled", on)


def _flagged(record: thor.ObjectRecord, flag: str, value: bool) -> thor.ObjectRecord:
    others = record.flags - {flag}
    return replace(record, flags=others | {flag} if value else others)


# What a trajectory's task type and parameters ask for, as goal conditions on the final state.
#
# They count as ALFRED's do: a slice is a condition of its own; being in place, being hot, cold or
# clean, and both at once are three; an object in a movable one, that in its place, and both are
# three; two objects in one place are two. Hot, cold and clean mean that it was ever made so.
#
# One difference: ALFRED finds objects by a part of their name, so that there a pencil passes for a
# pen and a potato for a pot. Here a type is a type.
#
# Source: ALFRED (Shridhar et al. 2020), section 4.3, and ``env/tasks.py`` of its code.

SLICED: Trait = ("sliced", True)


@dataclass(frozen=True, slots=True)
class Targets:
    """The ids a task is about: any of ``things``, any of ``receptacles`` and so on will do."""

    things: Ids
    receptacles: Ids = ()
    movables: Ids = ()
    lamps: Ids = ()
    sliced: bool = False

    @property
    def traits(self) -> tuple[Trait, ...]:
        """What a thing must be, whatever is done with it."""
        return (SLICED,) if self.sliced else ()


def goals(kind: str, targets: Targets) -> tuple[GoalCondition, ...]:
    """The conditions of a type of task. Raises ``KeyError`` for one that ALFRED does not have."""
    count = 2 if kind == "pick_two_obj_and_place" else 1
    slices = (Has(targets.things, targets.traits, count),) if targets.sliced else ()
    return (*slices, *_MAKE[kind](targets))


def _place(targets: Targets) -> tuple[GoalCondition, ...]:
    return (Inside(targets.things, targets.receptacles, targets.traits),)


def _two(targets: Targets) -> tuple[GoalCondition, ...]:
    return (Inside(targets.things, targets.receptacles, targets.traits, parts=2),)


def _light(targets: Targets) -> tuple[GoalCondition, ...]:
    return Held(targets.things), Lit(targets.lamps)


def _treated(done: str) -> Callable[[Targets], tuple[GoalCondition, ...]]:
    def make(targets: Targets) -> tuple[GoalCondition, ...]:
        things, places = targets.things, targets.receptacles
        both = (*targets.traits, (done, True))
        return (
            Inside(things, places, targets.traits),
            Has(things, both),
            Inside(things, places, both),
        )

    return make


def _stacked(targets: Targets) -> tuple[GoalCondition, ...]:
    things, movables, places = targets.things, targets.movables, targets.receptacles
    return (
        Inside(things, movables, targets.traits),
        Inside(movables, places),
        Stacked(things, movables, places, targets.traits),
    )


_MAKE: dict[str, Callable[[Targets], tuple[GoalCondition, ...]]] = {
    "pick_and_place_simple": _place,
    "pick_two_obj_and_place": _two,
    "look_at_obj_in_light": _light,
    "pick_heat_then_place_in_recep": _treated("heated"),
    "pick_cool_then_place_in_recep": _treated("cooled"),
    "pick_clean_then_place_in_recep": _treated("cleaned"),
    "pick_and_place_with_movable_recep": _stacked,
}
KINDS = tuple(_MAKE)
"""ALFRED's names for its types of tasks."""
SPLITS = ("train", "valid_seen", "valid_unseen")
Instructions = Literal["goal", "steps"]
"""What an agent is told: the goal alone, or the steps to it as well."""
STEPS = "Somebody who watched it being done tells it step by step:"
FIELDS = {
    "object": "object_target",
    "receptacle": "parent_target",
    "movable": "mrecep_target",
    "lamp": "toggle_target",
}
"""What a task is about -> the parameter that names its label."""
NEEDS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(KINDS, ("receptacle",)),
    "look_at_obj_in_light": ("lamp",),
    "pick_and_place_with_movable_recep": ("receptacle", "movable"),
}
"""Type of task -> what it is about, the object aside."""
KEPT = 32
"""Scenes held in memory at a time."""


class Alfred:
    """The episodes of a split, ``{task_id}_{annotation}``, in file order.

    ``kind`` limits them to one type of task. ``omissions`` counts the trajectories left out, by
    cause: ``no_object``, ``no_movable``, ``no_receptacle``, ``no_lamp`` where the scene has nothing
    of a type that the task is about, ``no_annotation`` where nobody put it into words.
    """

    def __init__(
        self,
        split: str,
        folder: Path | None,
        body: Body,
        kind: str = "",
        instructions: Instructions = "goal",
    ) -> None:
        if folder is None:
            raise UsageError(f"household:{split} needs data; name its folder with --data")
        self.folder, self._body, self._instructions = folder, body, instructions
        self._read = Trajectories(folder, split)
        meant = [pair for pair in self._judged() if kind in ("", pair[0].kind)]
        self.omissions: Mapping[str, int] = dict(Counter(cause for _, cause in meant if cause))
        self._entries = {entry.task_id: entry for entry, cause in meant if not cause}
        self._numbers = [(e, n) for e in self._entries.values() for n in range(e.annotations)]
        self.tasks = DrawnTasks(len(self._numbers), self._task, self._id)
        self._scene = lru_cache(maxsize=KEPT)(self._build)

    def _judged(self) -> list[tuple[AlfredEntry, str]]:
        """Every entry, and why it is left out; empty where it is not."""
        sources = (self._read.path, *ithor.files(self.folder, ()).values())

        def judged() -> list[tuple[Any, ...]]:
            return [(*_fields(entry), self._lacks(entry)) for entry in self._read.index()]

        found = remembered("alfred-1", sources, judged)
        return [(AlfredEntry(*entry), cause) for *entry, cause in found]

    @property
    def files(self) -> Mapping[str, Path]:
        scenes = sorted({entry.scene for entry in self._entries.values()})
        own = {f"alfred/{self._read.path.name}": self._read.path}
        return own | ithor.files(self.folder, scenes)

    def world(self, episode: Episode) -> HouseholdWorld:
        scene, layout = self._scene(str(episode.start["arrangement"]))
        return HouseholdWorld(scene, self._body, layout=layout)

    def start_away(self, number: int) -> float:
        """How far (metres) the published place of a task's start is from the cell it begins on."""
        return start(self.folder, self._read.read(self._numbers[number][0]))[1]

    def _build(self, task_id: str) -> tuple[Scene, Layout]:
        entry = self._entries.get(task_id)
        if entry is None:
            raise UsageError(f"household: no trajectory {task_id!r} in {self._read.path.name}")
        built = scene(self.folder, self._read.read(entry))
        return built, ithor.layout(self.folder, entry.scene, built)

    def _id(self, number: int) -> str:
        entry, annotation = self._numbers[number]
        return f"{entry.task_id}_{annotation}"

    def _task(self, number: int) -> Task:
        entry, annotation = self._numbers[number]
        trajectory, name = self._read.read(entry), self._id(number)
        pose, _ = start(self.folder, trajectory)
        begin = {"scene": entry.scene, "arrangement": entry.task_id, "poses": {"agent": pose}}
        words = worded(trajectory.annotations[annotation], self._instructions)
        extra: Extra = {"horizon": trajectory.horizon}
        episode = Episode(name, words, entry.scene, begin, extra=extra)
        conditions = goals(entry.kind, self._targets(trajectory))
        return Task(episode, HouseholdReference(name, entry.kind, conditions))

    def _lacks(self, entry: AlfredEntry) -> str:
        """Why a task cannot be played, ``no_object`` and so on; empty where nothing is missing.

        Raises ``DataError`` for a type of task that is none.
        """
        if entry.kind not in NEEDS:
            problem = f"is no type of task: {entry.kind!r}"
            raise DataError(self._read.path, f"line {entry.line}, field 'task_type'", problem)
        if not entry.annotations:
            return "no_annotation"
        for name in ("object", *NEEDS[entry.kind]):
            label = entry.target(FIELDS[name])
            if name in ("object", "movable"):
                there = self._read.mentions(entry, label)
            else:
                there = has_furniture(self.folder, entry.scene, label) or bool(
                    furniture(self.folder, self._read.read(entry), label)
                )
            if not (label and there):
                return f"no_{name}"
        return ""

    def _targets(self, trajectory: AlfredTrajectory) -> Targets:
        """The ids that a trajectory's parameters name."""
        entry = trajectory.entry
        small = thing_ids(trajectory.poses)
        found: dict[str, Ids] = {}
        for name in NEEDS[entry.kind]:
            label = entry.target(FIELDS[name])
            if name == "movable":
                found["movables"] = _labelled(small, label)
            else:
                found[f"{name}s"] = furniture(self.folder, trajectory, label)
        things = _labelled(small, entry.target("object_target"))
        return Targets(things, sliced=bool(entry.params.get("object_sliced")), **found)


def _fields(entry: AlfredEntry) -> tuple[Any, ...]:
    return tuple(getattr(entry, each.name) for each in fields(entry))


def worded(annotation: Annotation, instructions: Instructions) -> str:
    """What an agent is told."""
    if instructions == "goal" or not annotation.steps:
        return annotation.goal
    steps = [f"{number}. {step}" for number, step in enumerate(annotation.steps, 1)]
    return "\n".join((annotation.goal, STEPS, *steps))


def _labelled(ids: list[str], label: str) -> Ids:
    return tuple(name for name in ids if name.partition("|")[0] == label)
