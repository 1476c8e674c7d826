"""TEACh's tasks in iTHOR's rooms, by TEACh's lists of floors.

Read from TEACh: task definitions, classes of objects, which rooms are in which split. Read from
iTHOR's metadata: rooms and the things in them. Not published with these, and drawn by seed: which
task is played where, with which parameters, and the state the room starts in.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wayword.core.dataset import Task
from wayword.core.episode import Episode
from wayword.core.errors import DataError, UsageError
from wayword.core.files import find, read_json
from wayword.datasets.drawn import DrawnTasks
from wayword.datasets.homes.episodes import HomesSettings
from wayword.datasets.teach.compiling import Unfit
from wayword.datasets.teach.definitions import FOLDER, Definition, read_definitions
from wayword.datasets.teach.drawing import Drawn, draw_task
from wayword.datasets.teach.kinds import Classes, read_classes
from wayword.datasets.teach.pairs import Pair, pair
from wayword.datasets.teach.props import FromFloor, Stage, shuffled
from wayword.datasets.thor import ithor
from wayword.worlds.rooms import RoomsWorld

SPLITS = ("train", "valid_seen", "valid_unseen", "test_seen", "test_unseen")
"""TEACh's lists of floors."""
TRIES = 4
"""States of a room that are tried for a task."""
REACH = 1.3
"""Metres from the floor to what must be touched, at most."""


class FloorPairs:
    """Episodes in the rooms of one of TEACh's lists; the tasks that some room can have take turns,
    and each goes to the rooms that can have it in turn."""

    def __init__(
        self,
        split: str,
        folder: Path,
        settings: HomesSettings,
        kinds: Sequence[str],
        followers: int,
    ) -> None:
        self._folder, self._settings, self._kinds = folder, settings, kinds
        self._split = split
        self.floors = read_floors(folder, split)
        self._followers = followers
        self.tasks: Sequence[Task] = DrawnTasks(settings.episodes, self._task)

    @cached_property
    def files(self) -> Mapping[str, Path]:
        """Definitions, classes, floors, and the rooms' own files."""
        place = self._folder / FOLDER
        mine = [*sorted((place / "task_definitions").glob("*.json"))]
        resources = place / "ai2thor_resources"
        mine += [
            find(resources, "custom_object_classes.json"),
            floors_file(self._folder, self._split),
        ]
        named = {str(path.relative_to(self._folder)): path for path in mine}
        return named | dict(ithor.files(self._folder, self.floors))

    @property
    def omissions(self) -> Mapping[str, int]:
        """Definitions that no room of the split can have, by cause."""
        found: dict[str, int] = {}
        for kind, (room, why) in self._tried.items():
            if not room:
                found[f"{kind}: {why}"] = 1
        return found

    def world(self, episode: Episode) -> RoomsWorld:
        """A fresh world; what never moves is shared."""
        start = episode.start
        made = self._pair(episode.scene, start["task"], start["number"])
        if isinstance(made, str):
            raise UsageError(f"{episode.id} is no episode of this dataset: {made}")
        return made.world(self._settings.body())

    @cached_property
    def _tried(self) -> dict[str, tuple[str, str]]:
        """Task -> the first room that can have it; else an empty name, and why the last cannot."""
        found = {}
        for kind in self._kinds:
            room, why = "", "no rooms"
            for room in self._shuffled(kind):
                made = self._pair(room, kind, 0)
                if isinstance(made, Pair):
                    break
                room, why = "", made
            found[kind] = room, why
        return found

    @cached_property
    def _possible(self) -> tuple[str, ...]:
        found = tuple(kind for kind, (room, _) in self._tried.items() if room)
        if not found:
            raise UsageError(f"no room of {self._split} can have {', '.join(self._kinds)}")
        return found

    def _shuffled(self, kind: str) -> list[str]:
        """The rooms in an order of the task's own."""
        rng = random.Random(f"teach/{self._split}/{kind}/{self._settings.seed}")
        return rng.sample(self.floors, len(self.floors))

    def _task(self, number: int) -> Task:
        kind, turn = self._possible[number % len(self._possible)], number // len(self._possible)
        rooms = self._shuffled(kind)
        for later in range(len(rooms)):
            made = self._pair(rooms[(turn + later) % len(rooms)], kind, turn)
            if isinstance(made, Pair):
                return made.joined(self._followers)
        raise UsageError(f"no room of {self._split} has another {kind!r}; ask for fewer episodes")

    def _pair(self, room: str, kind: str, number: int) -> Pair | str:
        return _pair(self._folder, room, kind, number, self._settings.seed)


def floors_file(folder: Path, split: str) -> Path:
    """The list of a split's floors. Raises ``DataError``."""
    return find(
        folder / FOLDER / "ai2thor_resources" / "alfred_split", f"alfred_{split}_floors.json"
    )


def read_floors(folder: Path, split: str) -> tuple[str, ...]:
    """The rooms of a split, by number. Raises ``DataError``."""
    path = floors_file(folder, split)
    record = read_json(path)
    if not isinstance(record, list) or not all(isinstance(each, str) for each in record):
        raise DataError(path, "", "is not a list of floors", "fetch it again")
    for each in record:
        if not each.startswith("FloorPlan"):
            raise DataError(path, f"floor {each!r}", "is no iTHOR scene, such as FloorPlan1")
    return tuple(sorted(set(record), key=lambda name: int(name.removeprefix("FloorPlan"))))


@lru_cache(maxsize=4)
def _tables(folder: Path) -> tuple[dict[str, Definition], Classes]:
    return read_definitions(folder), read_classes(folder)


@lru_cache(maxsize=512)
def _pair(folder: Path, room: str, kind: str, number: int, seed: int) -> Pair | str:
    """The task of that kind and number in that room, or why it cannot be had."""
    tasks, classes = _tables(folder)
    name = f"{room}_{kind.replace(' ', '_').lower()}_{number}"
    starts, why = ithor.cells(folder, room).main, ""
    for attempt in range(TRIES):
        rng = random.Random(f"teach/{room}/{kind}/{number}/{seed}/{attempt}")
        scene = shuffled(rng, ithor.scene(folder, room), _nearness(folder, room))
        try:
            drawn = draw_task(rng, tasks[kind], tasks, classes, scene)
            _in_reach(drawn, np.array(starts))
        except Unfit as unfit:
            why = str(unfit)
            continue
        stage = Stage(
            *(scene, starts),
            layout=lambda of: ithor.layout(folder, room, of),
            room_at=lambda x, y: ithor.room_of(room),
        )
        start = {"scene": room, "task": kind, "number": number}
        return pair(rng, name, drawn, stage, start)
    return why


def _in_reach(drawn: Drawn, places: NDArray[np.float64]) -> None:
    """Raises ``Unfit`` where something that must be touched is too far from the floor."""
    objects = {o.id: o for o in drawn.scene.objects}
    for thing in {each for order in drawn.plan for each in (order.thing, order.other) if each}:
        each = objects[thing]
        while each.parent and "openable" in objects[each.parent].affordances:
            each = objects[each.parent]  # one reaches for what it is shut in
        away = np.abs(places - (each.x, each.y)) - (each.width / 2, each.depth / 2)
        if np.hypot(*np.maximum(away, 0.0).T).min() > REACH:
            raise Unfit(f"{each.type} is out of reach")


def _nearness(folder: Path, room: str) -> FromFloor:
    """Metres from a point to the nearest place where one can stand."""
    return lambda x, y: ithor.start(folder, room, x, y)[1]
