"""REVERIE: find an object in another room from one sentence, and say which it is (Qi et al. 2020).

    wayword run react --on reverie:val_unseen --model openai:NAME --data DATA

Reads ``reverie/annotations/REVERIE_{split}.json`` (or beside it) as published: ``id`` or
``path_id`` and ``objId``, ``path``, ``instructions``. Objects in view are those of
``reverie/bbox_by_scan/{scan}.json`` that have a visible box. Graphs and text are beside ``r2r/``.

An episode succeeds where the object is in view from the last viewpoint, as in the authors'
evaluation; ``rgs`` asks that the object named at the stop is the one meant.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, ClassVar

from wayword.core.action import STOP, Action
from wayword.core.dataset import DrawnTasks, Task, listed
from wayword.core.episode import Episode, Reference
from wayword.core.errors import DataError
from wayword.core.files import find, find_any, read_field, read_json
from wayword.core.game import ActionPlan
from wayword.core.geometry import added
from wayword.core.world import World
from wayword.datasets.procedural.homes.episodes import read_rules
from wayword.datasets.r2r import R2R, task_of
from wayword.worlds.indoor.world import ObjectReference, ObjectsWorld, VisibleObject

VIEW_STEP = 30.0
"""Degrees of heading between the views that ``visible_pos`` numbers, twelve a row."""


class Reverie(R2R):
    """REVERIE: remote objects, referred to in one sentence.

    Raises what R2R raises.
    """

    name: ClassVar[str] = "reverie"
    splits: ClassVar[tuple[str, ...]] = ("val_seen", "val_unseen", "train", "test")
    max_steps: ClassVar[int] = 20

    @cached_property
    def _boxes(self) -> Path:
        return self.folder.parent / "reverie" / "bbox_by_scan"

    def _annotations(self, part: str) -> Path:
        if self.settings.annotations:
            return super()._annotations(part)
        folder, name = self.folder.parent / "reverie", f"REVERIE_{part}.json"
        return find_any(folder / "annotations", name) or find(folder, name)

    @cached_property
    def tasks(self) -> Sequence[Task]:
        """Every episode; the boxes of its scan are read when one of its tasks is looked at."""
        walks = self._walks

        def task(number: int) -> Task:
            walk, target = walks[number]
            return Task(walk.episode, self._meant(walk, target))

        return DrawnTasks(len(walks), task, lambda number: walks[number][0].episode.id)

    @cached_property
    def _walks(self) -> list[tuple[Task, str]]:
        """Each episode as a walk to a place, and the ID of the object that is meant."""
        return list(self._records(self.split))

    @cached_property
    def scans(self) -> list[str]:
        return sorted({walk.episode.scene for walk, _ in self._walks})

    @cached_property
    def files(self) -> Mapping[str, Path]:
        found = {f"bbox/{scan}": find(self._boxes, f"{scan}.json") for scan in self.scans}
        return {**super().files, **found}

    def world(self, episode: Episode) -> ObjectsWorld:
        scan = episode.scene
        return ObjectsWorld(self.graph(scan), lambda place: self.objects(scan, place))

    def objects(self, scan: str, place: str) -> Sequence[VisibleObject]:
        """The objects in view from a viewpoint, by ID."""
        found: Sequence[VisibleObject] = self._visible(scan).get(place, ())
        return found

    def make_plan(self, task: Task, world: World, actor: str, how: str) -> ActionPlan:
        """As of any walk, but the stop names the object where it is in view."""
        plan = super().make_plan(task, world, actor, how)
        name = getattr(task.reference, "object_id", "")
        there = {thing.id for thing in self.objects(task.episode.scene, _goal(task))}
        last = Action("stop", (name,)) if name in there else STOP
        return listed(lambda: [last if action == STOP else action for action in plan])

    def _records(self, part: str) -> Iterator[tuple[Task, str]]:
        path = self._annotations(part)
        rules = read_rules("reverie")
        for number, record in enumerate(read_json(path)):
            where = f"record {number}"
            texts = read_field(path, where, record, "instructions", list)
            target = str(record.get("objId", ""))
            stem = str(record.get("id") or f"{record.get('path_id')}_{target}")
            for index, text in enumerate(texts):
                if not isinstance(text, str) or not text.strip():
                    raise DataError(path, f"{where}, instruction {index}", "is empty")
                extra = {"rules": rules}
                yield task_of(path, where, record, f"{stem}_{index}", text.strip(), extra), target

    def _meant(self, task: Task, target: str) -> Reference:
        """The reference, with the object and where it can be seen from; bare where unpublished."""
        path = getattr(task.reference, "path", ())
        if not path or not target:
            return Reference(task.episode.id)
        around = self._seen_from(task.episode.scene).get(target, frozenset())
        return ObjectReference(task.episode.id, path, None, target, around or frozenset(path[-1:]))

    @cached_property
    def _visible(self) -> Any:
        return lru_cache(maxsize=None)(self._read_objects)

    @cached_property
    def _seen_from(self) -> Any:
        return lru_cache(maxsize=None)(self._places_of)

    def _read_objects(self, scan: str) -> dict[str, tuple[VisibleObject, ...]]:
        boxes = read_json(find(self._boxes, f"{scan}.json"))
        found = {}
        for place, inside in boxes.items():
            things = inside.get(place, inside)
            found[place] = tuple(
                VisibleObject(number, box["name"].replace("#", " "), _heading(box["visible_pos"]))
                for number, box in sorted(things.items(), key=lambda item: int(item[0]))
                if box["visible_pos"]
            )
        return found

    def _places_of(self, scan: str) -> dict[str, frozenset[str]]:
        """Object ID -> the viewpoints with it in view."""
        places: dict[str, set[str]] = {}
        for place, things in self._visible(scan).items():
            for thing in things:
                places.setdefault(thing.id, set()).add(place)
        return {name: frozenset(around) for name, around in places.items()}


def _goal(task: Task) -> str:
    path: Sequence[str] = getattr(task.reference, "path", ("",))
    return path[-1]


def _heading(views: Sequence[int]) -> float:
    """The mean heading (degrees) of the views that show an object."""
    angles = [math.radians(VIEW_STEP * (view % 12)) for view in views]
    east, north = added(map(math.sin, angles)), added(map(math.cos, angles))
    return math.degrees(math.atan2(east, north)) % 360.0


dataset = Reverie
