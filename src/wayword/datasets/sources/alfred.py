"""ALFRED's published trajectories as household episodes in iTHOR's rooms, one per annotation.

Each line of ``alfred/traj_{split}.jsonl`` is a published ``traj_data.json``; its image lists may be
missing. A trajectory's scene lists small objects and their poses; furniture comes from iTHOR's
metadata, published for a later build of AI2-THOR.

Source: ALFRED (Shridhar et al. 2020), json_2.1.0.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import Any, Literal

from wayword.core.dataset import DrawnTasks, Task
from wayword.core.episode import Episode, Extra
from wayword.core.errors import DataError, UsageError, suggest
from wayword.core.files import (
    NUMBER,
    cached_json,
    check_kind,
    collects_bad_records,
    find,
    find_any,
    find_own,
    one_record,
    parse_at,
    read_bytes,
    read_field,
    require_data,
)
from wayword.core.geometry import absolute
from wayword.core.visible import single_line
from wayword.datasets.procedural.homes import chores
from wayword.datasets.sources import ithor, thor
from wayword.worlds.household import goals as conditions
from wayword.worlds.household.layout import Layout
from wayword.worlds.household.scene import Scene
from wayword.worlds.household.verbs import Body
from wayword.worlds.household.world import HouseholdWorld

FILES = "alfred/traj_{split}.jsonl"
RELEASED = "alfred/json_2.1.0"
"""Folder that ALFRED's own download unpacks to."""
CELLS_PER_METRE = 4.0
"""Plans give coordinates in cells of 0.25 m, i.e. four per metre."""


@dataclass(frozen=True, slots=True, eq=False)
class AlfredEntry:
    """Index entry of a trajectory: ``line`` in the file (from 1), number of ``annotations``."""

    line: int
    task_id: str
    kind: str
    scene: str
    annotations: int
    params: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ObjectPose:
    """Pose of a small object: its label (``Mug``), pivot (metres) and heading (degrees)."""

    label: str
    position: thor.Point3
    heading: float


@dataclass(frozen=True)
class AlfredTrajectory:
    """A published trajectory, in this project's frame.

    ``start`` is x, y (metres) and heading (degrees), ``horizon`` the downward camera tilt
    (degrees). ``toggles``: label -> initially on. ``named``: label and place of the furniture in
    the published plan. Each of ``annotations`` is a goal, then steps.
    """

    entry: AlfredEntry
    start: tuple[float, float, float]
    horizon: float
    poses: tuple[ObjectPose, ...]
    toggles: Mapping[str, bool]
    dirty_and_empty: bool
    annotations: tuple[tuple[str, ...], ...]
    named: tuple[tuple[str, thor.Point3], ...]


class Trajectories:
    """Reader of a trajectory file, a JSON record a line.

    ``file`` is a user's own, in place of the split's. Raises ``DataError`` if it is
    missing or broken.
    """

    def __init__(
        self,
        folder: Path,
        split: str,
        file: str = "",
    ) -> None:
        # A user's own file replaces the split's.
        if file:
            self.path = find_own(Path(file))
        else:
            name = FILES.format(split=split)
            released = folder / RELEASED / split
            if released.is_dir() and find_any(folder, name) is None:
                problem = "holds a file for each trajectory"
                files = f"find {released} -name traj_data.json | sort"
                remedy = f"join them: {files} | xargs jq -c . > {folder / name}"
                raise DataError(released, "", problem, remedy)
            self.path = find(folder, name)
        # One record at a time: a line holds a whole trajectory.
        self._record = lru_cache(maxsize=1)(
            lambda line: parse_at(self.path, f"line {line}", self._lines[line])
        )
        self.read = lru_cache(maxsize=256)(self._parse)

    @cached_property
    def _lines(self) -> dict[int, bytes]:
        """Lines of the file by number, from 1; blank ones are left out."""
        content = read_bytes(self.path)
        lines = content.splitlines()
        # A record or a list of them in several lines, as ALFRED's own files
        if content.lstrip().startswith(b"[") or lines[:1] == [b"{"]:
            records = parse_at(self.path, "", content)
            listed = records if isinstance(records, list) else [records]
            lines = [json.dumps(record).encode() for record in listed]
        # By line number, as errors and the index name lines.
        return {number: line for number, line in enumerate(lines, 1) if line.strip()}

    @property
    def lines(self) -> Iterable[int]:
        """Numbers of the lines that hold a record."""
        return self._lines.keys()

    def entry(self, line: int) -> AlfredEntry:
        """Return the index entry of a line. Raises ``DataError``."""
        where = f"line {line}"
        raw = self._record(line)
        read = partial(read_field, self.path, where, raw)
        scene = read("scene", dict)
        return AlfredEntry(
            line,
            read("task_id", str),
            read("task_type", str),
            read_field(self.path, where, scene, "floor_plan", str),
            len(self._annotations(where, raw)),
            read("pddl_params", dict),
        )

    def _annotations(self, where: str, raw: Any) -> list[Any]:
        """Return the annotations of a record. Raises ``DataError``."""
        table = read_field(self.path, where, raw, "turk_annotations", dict)
        return read_field(self.path, where, table, "anns", list)  # type: ignore[no-any-return]

    def _parse(self, entry: AlfredEntry) -> AlfredTrajectory:
        """Read a trajectory. Raises ``DataError`` naming line and field.

        Positions are metres, headings and the horizon degrees. An annotation is its goal, then its
        steps.
        """
        path = self.path
        where = f"line {entry.line}"
        raw = self._record(entry.line)

        # The start of the agent.
        read = partial(read_field, path, where)
        scene = read(raw, "scene", dict)
        action = read(scene, "init_action", dict)
        at = f"{where}, init_action"
        pose = {"horizon": 0.0, **action}
        # Unity's y axis points up, so the floor is x and z.
        x, y, turn, horizon = (
            float(read_field(path, at, pose, name, NUMBER))
            for name in ("x", "z", "rotation", "horizon")
        )

        # Poses name objects by label and a number of Unity's, which is not needed.
        poses = []
        for n, pose in enumerate(read(scene, "object_poses", list)):
            at = f"{where}, object_poses {n}"
            label = read_field(path, at, pose, "objectName", str).partition("_")[0]
            rotation = read_field(path, at, pose, "rotation", dict)
            heading = absolute(float(read_field(path, at, rotation, "y", NUMBER)))
            point = thor.read_point(path, at, pose, "position")
            poses.append(ObjectPose(label, point, heading))

        annotations = []
        for n, each in enumerate(self._annotations(where, raw)):
            at = f"{where}, annotation {n}"
            steps = read_field(path, at, each, "high_descs", list)
            goal = read_field(path, at, each, "task_desc", str)
            if not goal.strip():
                raise DataError(path, f"{at}, field 'task_desc'", "is empty")
            for number, step in enumerate(steps):
                check_kind(path, f"{at}, high_descs {number}", step, str)
            # Annotators left stray blanks and line breaks.
            texts = [single_line(text) for text in (goal, *steps)]
            annotations.append(tuple(texts))

        # Appliances by type: true if they are on.
        toggles = {
            read(each, "objectType", str): bool(each.get("isOn"))
            for each in read(scene, "object_toggles", list)
        }

        # Furniture that the plan names: its label, and its position in cells.
        named = []
        # Plans are optional: some published records have none.
        for step in (raw.get("plan") or {}).get("high_pddl", ()):
            action = step.get("planner_action", {})
            receptacle = action.get("coordinateReceptacleObjectId")
            if receptacle and len(receptacle[1]) == 6:  # x, then y, then z, each twice
                metres = [value / CELLS_PER_METRE for value in receptacle[1]]
                position = (metres[0], metres[2], metres[4])
                named.append((str(receptacle[0]), position))
        return AlfredTrajectory(
            entry,
            (x, y, absolute(turn)),
            horizon,
            tuple(poses),
            toggles,
            bool(scene.get("dirty_and_empty")),
            tuple(annotations),
            tuple(named),
        )


# The initial scene of a trajectory, with small objects at their ``object_poses``.
#
# Small objects of iTHOR's metadata are replaced by those of the trajectory, as in ALFRED's
# simulator. Label, pivot and rotation of each are published. Its box is inferred (from an object
# with the same label, if possible in the same scene), and so is the receptacle it is in or on
# (from boxes). Furniture that the metadata lacks is matched by position, see :func:`furniture`.

BOX_LABELS = {"Glassbottle": "Bottle"}
"""Label missing from the metadata -> label whose box is used instead."""
SAME_PLACE = 0.3
"""Maximum distance (metres) between positions of one piece of furniture in the two builds."""
EXACT_PLACE = 0.1
"""The same for a piece whose new label is not an expected one."""
_MOVED_NUMBERS = (3, 201, 207, 211, 307, 319, 320, 323, 413, 417, 426, 430)
MOVED_ROOMS = tuple(f"FloorPlan{number}" for number in _MOVED_NUMBERS)
"""Rooms where some furniture that opens or holds objects is more than a metre from every piece
of its label in ALFRED's own layouts; the old furniture positions were never published."""
BUILT_IN_LABELS = (
    "Drawer",
    "Cabinet",
    "StoveBurner",
    "SinkBasin",
)
"""Labels of parts of other furniture, excluded because they share its position."""
TABLES = (
    "DiningTable",
    "CoffeeTable",
    "SideTable",
    "Desk",
    "Dresser",
    "TVStand",
    "CounterTop",
)
LATER_LABELS = {
    **dict.fromkeys((*TABLES, "Cart", "Shelf"), TABLES),
    "BathtubBasin": ("Bathtub",),
    "SinkBasin": ("Sink",),
}
"""Label in older scenes -> labels that the same piece may have in the metadata."""


def records(folder: Path, trajectory: AlfredTrajectory) -> thor.Records:
    """Return all objects of a trajectory's initial scene, in their states at the start.

    Furniture in the order of the metadata, then small objects in the order of
    ``object_poses``. Raises ``DataError`` for an object whose size is published nowhere.
    """
    name = trajectory.entry.scene
    published = ithor.records(folder, name)
    # The label alone decides the size: shapes of single objects were not published.
    furniture_records = [r for r in published if not r.pickupable]
    # Small objects, with the box of an object of the label: in this scene, else in the first one
    # that has any.
    small_records = []
    # Reversed, so that the first object of each label wins.
    examples = {r.label: r for r in reversed(published) if r.pickupable}
    for pose, item in zip(trajectory.poses, item_ids(trajectory.poses), strict=True):
        listed = BOX_LABELS.get(pose.label, pose.label)
        example = examples.get(listed) or _examples(folder).get(listed)
        if example is None:
            problem = f"has no object of type {pose.label!r}, which trajectories in {name} contain"
            raise DataError(
                folder / ithor.OBJECTS,
                "",
                problem,
                "fetch both again",
            )
        # The pose's own label is kept even if another one lent the box.
        example = replace(example, id=item, label=pose.label)
        small_records.append(thor.move_record(example, pose.position, pose.heading))

    # States at the start.
    updated = []
    for record in (*furniture_records, *small_records):
        flags = set(record.flags)
        # ALFRED's option: everything starts dirty and empty.
        if trajectory.dirty_and_empty and record.pickupable:
            if "dirtyable" in flags:
                flags.add("isDirty")
            if "canFillWithLiquid" in flags:
                flags.discard("isFilledWithLiquid")
        # Toggles list every object of a label.
        if record.label in trajectory.toggles:
            flags.discard("isToggled")
            if trajectory.toggles[record.label]:
                flags.add("isToggled")
        if flags != record.flags:
            record = replace(record, flags=frozenset(flags))
        updated.append(record)
    return tuple(updated)


def item_ids(poses: Iterable[ObjectPose]) -> list[str]:
    """Return ids in AI2-THOR's format, ``Mug|-01.25|+00.90|+00.31``: label, x, height and y.

    Published plans use these ids. A second object at the same position gets the suffix ``|2``.
    """
    count = Counter[str]()
    ids = []
    for pose in poses:
        x, y, z = pose.position
        name = f"{pose.label}|{x:+06.2f}|{z:+06.2f}|{y:+06.2f}"
        # Two objects in one place are rare but exist.
        count[name] += 1
        ids.append(f"{name}|{count[name]}" if count[name] > 1 else name)
    return ids


def furniture(
    folder: Path,
    trajectory: AlfredTrajectory,
    label: str,
) -> tuple[str, ...]:
    """Return the ids of all furniture with a label in a trajectory's scene.

    Furniture that the plan lists under this label at the same position counts too: a cart that is
    a side table now.
    """
    fixed = [
        r for r in ithor.records(folder, trajectory.entry.scene) if not r.pickupable
    ]
    holders = [
        r for r in fixed if thor.preposition(r) and r.label not in BUILT_IN_LABELS
    ]
    # Names of small objects are never furniture.
    small_labels = {pose.label for pose in trajectory.poses}
    labels = {r.id: r.label for r in fixed}
    # Only furniture that the plan names may be renamed.
    for old_label, place in trajectory.named:
        away = {r.id: math.dist(place[:2], r.position[:2]) for r in fixed}
        # A lamp has no receptacle to be matched.
        is_known = any(r.label == old_label and away[r.id] <= SAME_PLACE for r in fixed)
        if is_known or old_label in small_labels or old_label.endswith("Lamp"):
            continue
        # The nearest receptacle at the same place gets the old label.
        later = LATER_LABELS.get(old_label, ())
        candidates = []
        for r in holders:
            tolerance = SAME_PLACE if r.label in later else EXACT_PLACE
            if away[r.id] <= tolerance:
                candidates.append((away[r.id], r.id))
        if candidates:
            # Of equal distances, the id decides.
            labels[min(candidates)[1]] = old_label
    matches = tuple(name for name, each in labels.items() if each == label)
    # If the old label matched nothing, the new one counts.
    return matches or tuple(r.id for r in fixed if r.label == label)


@lru_cache(maxsize=2)
def _examples(folder: Path) -> dict[str, thor.ObjectRecord]:
    """Map each label to the first object that has it, in any scene."""
    examples: dict[str, thor.ObjectRecord] = {}
    for name in ithor.names(folder):
        for record in ithor.records(folder, name):
            if record.pickupable and thor.is_object(record):
                examples.setdefault(record.label, record)
    return examples


# Goal conditions on the final state, from a trajectory's task type and parameters.
#
# They are counted as in ALFRED: "sliced" is a separate condition; a treated object gives three
# (in place; hot, cold or clean; both at once); a stack gives three (object in movable, movable in
# place, both); two objects in one place give two. Hot, cold and clean mean ever made so.
#
# One difference: ALFRED matches object names by substring, so a pencil counts as a pen and a
# potato as a pot. Here types must match exactly.
#
# Source: ALFRED (Shridhar et al. 2020), section 4.3, and ``env/tasks.py`` in its code.

TREATMENTS = {
    chores.PICK_HEAT: "heated",
    chores.PICK_COOL: "cooled",
    chores.PICK_CLEAN: "cleaned",
}
"""Task type -> the state that the object must have been brought to."""
PARAMETERS = {
    "object": "object_target",
    "receptacle": "parent_target",
    "movable": "mrecep_target",
    "lamp": "toggle_target",
}
"""Role of an object in a task -> the parameter with its label."""
SMALL = ("object", "movable")
"""Roles of small objects, whose poses are in the trajectory; the others are furniture."""
SLICED = ("true", "false")
"""Values of ``object_sliced``; some published files write them as text."""
MOST_MOVED = 3.0
"""Distance (metres) by which a start may be moved to the nearest cell: published ones, of an older
build of the rooms, are moved by up to 2.1 m."""
NEEDS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(chores.KINDS, ("object", "receptacle")),
    chores.LOOK_IN_LIGHT: ("object", "lamp"),
    chores.PICK_STACK: ("object", "receptacle", "movable"),
}
"""Task type -> its roles."""


def goals(
    kind: str,
    ids: Mapping[str, conditions.Ids],
    sliced: bool = False,
) -> tuple[conditions.GoalCondition, ...]:
    """Return the goal conditions of a task type.

    ``ids``: role -> ids of interchangeable objects, for all roles in ``NEEDS``.
    ``sliced``: the object has to be sliced as well.
    """
    objects = ids["object"]
    # Places are absent for a task with a lamp.
    places = ids.get("receptacle", ())
    count = 2 if kind == chores.PICK_TWO else 1
    traits: tuple[conditions.Trait, ...] = ()
    required: list[conditions.GoalCondition] = []
    # Sliced is a condition of its own, and part of all others.
    if sliced:
        traits = (("sliced", True),)
        required.append(conditions.Has(objects, traits, count))
    # Two conditions: the object in hand, and the lamp lit.
    if kind == chores.LOOK_IN_LIGHT:
        required.append(conditions.Held(objects))
        required.append(conditions.Lit(ids["lamp"]))
    elif kind == chores.PICK_STACK:
        movables = ids["movable"]
        # Three conditions, as in ALFRED: the object, the movable, and both together.
        required.append(conditions.Inside(objects, movables, traits))
        required.append(conditions.Inside(movables, places))
        required.append(
            conditions.Stacked(
                objects,
                movables,
                places,
                traits,
            )
        )
    else:
        required.append(
            conditions.Inside(
                objects,
                places,
                traits,
                parts=count,
            )
        )
    # Two more for a treatment: done at all, and done before it was put down.
    if kind in TREATMENTS:
        treated = (*traits, (TREATMENTS[kind], True))
        required.append(conditions.Has(objects, treated))
        required.append(conditions.Inside(objects, places, treated))
    return tuple(required)


SPLITS = ("train", "valid_seen", "valid_unseen")
Instructions = Literal["goal", "steps", "rooms"]
STEPS_HEADING = "Step by step, as described by a person who watched it:"
CACHED_SCENES = 32  # enough for episodes that are played side by side


class Alfred:
    """The episodes of a split, ``{task_id}_{annotation}``, in file order.

    ``kind`` limits them to one task type; ``file`` has a user's own trajectories, which
    replace those of the split. ``omissions`` counts excluded trajectories by reason:
    ``no_lamp`` and the like if the scene has none, ``no_annotation`` without a description.
    """

    def __init__(
        self,
        split: str,
        folder: Path | None,
        body: Body,
        kind: str = "",
        instructions: Instructions = "goal",
        file: str = "",
    ) -> None:
        self.folder = folder = require_data(folder, f"household:{split}")
        self._body = body
        self._instructions = instructions
        self._read = Trajectories(folder, split, file)
        self._is_own = bool(file)
        self._rooms = ithor.names(folder)
        # The index takes a reading of the full file, so it is cached.
        sources = (self._read.path, *ithor.files(folder, ()).values())
        # Collecting bad records needs all of them read now.
        if collects_bad_records():
            survey = self._survey()
        else:
            # Raise the number with every change of what is left out: caches hold the survey.
            kept = "alfred-own-2" if file else "alfred-2"
            survey = cached_json(kept, sources, self._survey)
        entries = [(AlfredEntry(*entry), cause) for *entry, cause in survey]
        # An empty kind takes all.
        entries = [pair for pair in entries if kind in ("", pair[0].kind)]
        causes = [cause for _, cause in entries if cause]
        self.omissions: Mapping[str, int] = dict(Counter(causes))
        self._entries = {entry.task_id: entry for entry, cause in entries if not cause}

        # One episode per annotation.
        self._order: list[tuple[AlfredEntry, int]] = []
        for entry in self._entries.values():
            self._order += [(entry, number) for number in range(entry.annotations)]
        self.tasks = DrawnTasks(len(self._order), self._task, self._id)
        # A scene takes longer than an episode, and annotations share it.
        self._scene = lru_cache(maxsize=CACHED_SCENES)(self._build)

    def _survey(self) -> list[tuple[Any, ...]]:
        """Return the fields of each index entry, then the reason to exclude it.

        Bad lines raise ``DataError``, or are left out where the caller collects them.
        """
        path = self._read.path
        rows = []
        first_lines: dict[str, int] = {}
        for line in self._read.lines:
            with one_record(path, f"line {line}"):
                entry = self._read.entry(line)
                omission = self._omission(entry)
                # Last, as it would hide the record's other faults.
                first = first_lines.setdefault(entry.task_id, line)
                if first != line:
                    problem = f"has the same task_id as line {first}: {entry.task_id!r}"
                    raise DataError(path, f"line {line}", problem)
                values = [getattr(entry, field.name) for field in fields(entry)]
                rows.append((*values, omission))
        return rows

    @property
    def files(self) -> Mapping[str, Path]:
        """Files that the episodes are read from, for checksums."""
        scenes = sorted({entry.scene for entry in self._entries.values()})
        published = {f"alfred/{self._read.path.name}": self._read.path}
        return published | ithor.files(self.folder, scenes)

    def world(self, episode: Episode) -> HouseholdWorld:
        """Return the room with the objects of the episode's trajectory."""
        # The trajectory, not the room: small objects differ between trajectories of a
        # room.
        scene, layout = self._scene(str(episode.start["arrangement"]))
        return HouseholdWorld(scene, self._body, layout=layout)

    def _build(self, task_id: str) -> tuple[Scene, Layout]:
        """Build the scene of a trajectory and its layout. Raises ``UsageError`` if it
        is unknown."""
        entry = self._entries.get(task_id)
        if entry is None:
            raise UsageError(
                f"household: {self._read.path.name} has no trajectory {task_id!r}"
            )
        listed = records(self.folder, self._read.read(entry))
        scene = ithor.from_records(self.folder, entry.scene, listed)
        return scene, ithor.layout(self.folder, entry.scene, scene)

    def _id(self, number: int) -> str:
        """Return an episode's id: its trajectory and the number of the annotation."""
        entry, annotation = self._order[number]
        return f"{entry.task_id}_{annotation}"

    def _task(self, number: int) -> Task:
        """Return the task of an annotation, which is read from the file when it is needed."""
        entry, annotation = self._order[number]
        trajectory = self._read.read(entry)
        # The nearest cell, as starts come from an older build.
        (x, y), _ = ithor.start(self.folder, entry.scene, *trajectory.start[:2])
        pose = {"x": x, "y": y, "heading": trajectory.start[2]}
        begin = {
            "scene": entry.scene,
            "arrangement": entry.task_id,
            "poses": {"agent": pose},
        }
        words, *steps = trajectory.annotations[annotation]
        # Annotations without steps keep the goal alone.
        if self._instructions == "steps" and steps:
            numbered = (f"{number}. {step}" for number, step in enumerate(steps, 1))
            words = "\n".join((words, STEPS_HEADING, *numbered))
        # For agents that see pictures; the world itself has no tilt.
        extra: Extra = {"horizon": trajectory.horizon}
        episode = Episode(
            self._id(number),
            words,
            entry.scene,
            begin,
            extra=extra,
        )
        ids = self._ids(entry, trajectory)
        # Also the text "False", which is true as a value
        sliced = str(entry.params.get("object_sliced")).lower() == "true"
        required = goals(entry.kind, ids, sliced)
        return Task(
            episode,
            conditions.HouseholdReference(episode.id, entry.kind, required),
        )

    def _omission(self, entry: AlfredEntry) -> str:
        """Return the reason to exclude a task, such as ``no_object``; empty to keep it.

        Raises ``DataError`` for a task that is invalid, and for each of a user's own that could
        not be played: no one else knows that it is missing.
        """
        where = f"line {entry.line}"

        def error(field: str, problem: str, remedy: str = "") -> DataError:
            """Return the error of a field of the record."""
            return DataError(
                self._read.path, f"{where}, field {field!r}", problem, remedy
            )

        if entry.kind not in NEEDS:
            problem = f"must be a task type of ALFRED, got {entry.kind!r}"
            raise error("task_type", problem, suggest(entry.kind, NEEDS))
        if entry.scene not in self._rooms:
            problem = f"is not a room of iTHOR: {entry.scene!r}"
            raise error("floor_plan", problem, suggest(entry.scene, self._rooms))
        sliced = entry.params.get("object_sliced", False)
        if str(sliced).lower() not in SLICED:
            raise error("object_sliced", f"must be true or false, got {sliced!r}")
        # Nothing to give to an agent.
        if not entry.annotations:
            if self._is_own:
                raise error("anns", "is empty")
            return "no_annotation"
        trajectory = self._read.read(entry)
        x, y, _ = trajectory.start
        _, away = ithor.start(self.folder, entry.scene, x, y)
        if not away <= MOST_MOVED:  # as of NaN
            problem = (
                f"starts at x={x:g}, z={y:g}, {away:,.1f} m from the nearest place of "
                f"{entry.scene} to stand; must be at most {MOST_MOVED:g} m"
            )
            raise DataError(self._read.path, f"{where}, init_action", problem)
        # Every role must be filled, or the goal is impossible.
        for role, ids in self._ids(entry, trajectory).items():
            if ids:
                continue
            if not self._is_own:
                return f"no_{role}"
            label = entry.params.get(PARAMETERS[role])
            labels = {pose.label for pose in trajectory.poses}
            source = "object_poses"
            if role not in SMALL:
                published = ithor.records(self.folder, entry.scene)
                labels = {each.label for each in published if not each.pickupable}
                source = entry.scene
            problem = f"is not the label of an object of {source}: {label!r}"
            raise error(PARAMETERS[role], problem, suggest(str(label), labels))
        return ""

    def _ids(
        self,
        entry: AlfredEntry,
        trajectory: AlfredTrajectory,
    ) -> dict[str, conditions.Ids]:
        """Map the roles of a task to the ids of the objects that fit them."""
        small_ids = item_ids(trajectory.poses)
        ids = dict[str, conditions.Ids]()
        for role in NEEDS[entry.kind]:
            label = entry.params.get(PARAMETERS[role]) or ""
            # Small objects are matched by label, furniture through the plan.
            if role in SMALL:
                ids[role] = tuple(
                    name for name in small_ids if name.partition("|")[0] == label
                )
            else:
                ids[role] = furniture(self.folder, trajectory, label)
        return ids
