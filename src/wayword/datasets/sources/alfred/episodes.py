"""ALFRED's trajectories as episodes: one for each annotation, built when it is asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from wayword.core.dataset import DrawnTasks, Task
from wayword.core.episode import Episode, Extra
from wayword.core.errors import DataError, UsageError
from wayword.core.files import remembered
from wayword.datasets.sources.alfred import files
from wayword.datasets.sources.alfred.files import (
    AlfredEntry,
    AlfredTrajectory,
    Annotation,
    Trajectories,
)
from wayword.datasets.sources.ithor import rooms as ithor
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
        """The trajectories, and what the scenes they play in are read from."""
        scenes = sorted({entry.scene for entry in self._entries.values()})
        own = {f"alfred/{self._read.path.name}": self._read.path}
        return own | ithor.files(self.folder, scenes)

    def world(self, episode: Episode) -> HouseholdWorld:
        """A fresh world; what never moves is shared by all episodes of a scene."""
        scene, layout = self._scene(str(episode.start["arrangement"]))
        return HouseholdWorld(scene, self._body, layout=layout)

    def start_away(self, number: int) -> float:
        """How far (metres) the published place of a task's start is from the cell it begins on."""
        return files.start(self.folder, self._read.read(self._numbers[number][0]))[1]

    def _build(self, task_id: str) -> tuple[Scene, Layout]:
        entry = self._entries.get(task_id)
        if entry is None:
            raise UsageError(f"household: no trajectory {task_id!r} in {self._read.path.name}")
        scene = files.scene(self.folder, self._read.read(entry))
        return scene, ithor.layout(self.folder, entry.scene, scene)

    def _id(self, number: int) -> str:
        entry, annotation = self._numbers[number]
        return f"{entry.task_id}_{annotation}"

    def _task(self, number: int) -> Task:
        entry, annotation = self._numbers[number]
        trajectory, name = self._read.read(entry), self._id(number)
        pose, _ = files.start(self.folder, trajectory)
        start = {"scene": entry.scene, "arrangement": entry.task_id, "poses": {"agent": pose}}
        words = worded(trajectory.annotations[annotation], self._instructions)
        extra: Extra = {"horizon": trajectory.horizon}
        episode = Episode(name, words, entry.scene, start, extra=extra)
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
                there = files.has_furniture(self.folder, entry.scene, label) or bool(
                    files.furniture(self.folder, self._read.read(entry), label)
                )
            if not (label and there):
                return f"no_{name}"
        return ""

    def _targets(self, trajectory: AlfredTrajectory) -> Targets:
        """The ids that a trajectory's parameters name."""
        entry = trajectory.entry
        small = files.thing_ids(trajectory.poses)
        found: dict[str, Ids] = {}
        for name in NEEDS[entry.kind]:
            label = entry.target(FIELDS[name])
            if name == "movable":
                found["movables"] = _labelled(small, label)
            else:
                found[f"{name}s"] = files.furniture(self.folder, trajectory, label)
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
