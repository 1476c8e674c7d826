"""Tasks from a user's YAML file, and their acceptance by running the expert.

Goals use the goal language of ``worlds.household.goals``: one condition per line, under the name
of its class: ``- inside: {object: mug, place: desk, dirty: false}``. A kind matches any object of
that kind; a name given in the file matches that object only.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, ClassVar, cast

from wayword.core.dataset import Task, Training
from wayword.core.episode import Episode, Json, JsonObject
from wayword.core.errors import DataError, suggest
from wayword.core.files import one_record, read_text
from wayword.core.game import PlanningFailed
from wayword.core.other_files import but_is
from wayword.core.visible import single_line
from wayword.datasets.household import Household
from wayword.datasets.procedural.homes import episodes as homes
from wayword.datasets.procedural.homes.home import Home
from wayword.datasets.procedural.homes.objects import OBJECTS, Arrangement
from wayword.datasets.sources.own_fields import (
    CONDITIONS,
    FileFields,
    OnObject,
    Record,
    StartEntry,
    TaskEntry,
)
from wayword.datasets.sources.own_home import (
    arrange_objects,
    check_room,
    digest,
    read_home,
)
from wayword.datasets.sources.rules import read_rules
from wayword.settings import load_yaml
from wayword.worlds.household import goals
from wayword.worlds.household.entities import FLAGS
from wayword.worlds.household.expert import SolvableHousehold
from wayword.worlds.household.layout import can_stand
from wayword.worlds.household.verbs import Body
from wayword.worlds.household.world import HouseholdWorld

_STATES = (*FLAGS, "temperature")
MOST_CONDITIONS = 1_000  # each is checked at every step and planned by the expert


def _condition(
    path: Path,
    number: int,
    raw: Any,
    draft: Arrangement,
    named: Mapping[str, str],
) -> goals.GoalCondition:
    """Read condition ``number`` (from 1) of a goal.

    ``named``: name in the file -> object id. Raises ``DataError`` for an unknown
    condition or field, an object that is not in the home, and for more objects than
    there are.
    """
    where = Record(path, f"goal {number}")
    if not isinstance(raw, Mapping) or len(raw) != 1:
        raise where.error(f"must be one condition, as in {OnObject.example}")
    ((kind, fields),) = raw.items()
    if kind not in CONDITIONS:
        raise where.error(
            f"there is no condition {kind!r}",
            suggest(str(kind), CONDITIONS),
        )
    where = Record(path, f"goal {number} ({kind})")
    entry: Any = where.entry(CONDITIONS[kind], fields)
    check_room(where, getattr(entry, "room", ""), draft.home.rooms)

    ids = partial(_objects_of, where, entry, draft, named)

    # Every kind has objects; the other fields only some.
    objects = ids("object")
    count = getattr(entry, "count", 1)
    if count > len(objects):
        problem = (
            f"must be at most {len(objects)}, the number of these objects, got {count}"
        )
        raise where.error(problem, field="count")
    states = {name: getattr(entry, name, None) for name in _STATES}
    traits = tuple((name, v) for name, v in states.items() if v is not None)
    places: goals.Ids = ()
    if hasattr(entry, "place"):
        places = ids("place", entry.room)
        if not draft.objects[places[0]].receptacle:
            raise where.error(f"a {entry.place} cannot hold objects", field="place")

    match kind:
        case "inside":
            return goals.Inside(objects, places, traits, count)
        case "has" if not traits:
            remedy = f"add one of {', '.join(states)}"
            raise where.error("has no required state", remedy)
        case "has":
            return goals.Has(objects, traits, count)
        case "stacked":
            return goals.Stacked(objects, ids("movable"), places, traits)
        case "held":
            return goals.Held(objects)
        case "lit":
            return goals.Lit(objects, entry.distance)
        case "near":
            return goals.Near(objects, entry.distance)
        case "next_to":
            return goals.NextTo(objects, ids("other"))
    raise NotImplementedError(f"no goal for the condition {kind!r}")


def _objects_of(
    where: Record,
    entry: Any,
    draft: Arrangement,
    named: Mapping[str, str],
    field: str,
    room: str = "",
) -> goals.Ids:
    """Return the objects that a field refers to, by name or kind; only those in ``room``, if given.
    Raises ``DataError`` if there are none."""
    name = getattr(entry, field)
    matches = [named[name]] if name in named else draft.ids(name)
    matches = [i for i in matches if room in ("", draft.room(draft.objects[i]))]
    if not matches:
        inside = f"the {room}" if room else "the home"
        types = sorted({o.type for o in draft.objects.values()})
        hint = suggest(name, [*named, *types])
        if name in OBJECTS:
            hint = f"add one, as in objects: [{{kind: {name}, place: desk}}]"
        raise where.error(f"there is no {name!r} in {inside}", hint, field=field)
    return tuple(matches)


COMMENT = "# Checked by the expert; written by `wayword task new`."
"""Line above the expert's mark in a file; what follows it is replaced."""
MOST_BYTES = 1_000_000  # a task has a few kilobytes: a larger file is probably none
KIND = "own"


@dataclass(frozen=True)
class FileSettings(homes.HomesSettings):
    """``actions`` and ``body`` as in ``household``; the rest comes from the file."""

    unused_verbs = ()


@dataclass(frozen=True)
class TaskFile:
    """A task from a file.

    ``accepted`` is the expert's mark: ``steps``, ``task``, ``scene``; empty for a
    draft. ``checksum`` covers everything except the mark, and ``text`` is the task as
    it was written.
    """

    path: Path
    case: homes.Case
    max_steps: int
    accepted: Mapping[str, Json]
    checksum: str
    text: str

    @property
    def scene(self) -> str:
        """Checksum of the home as built by this version."""
        return digest(asdict(self.case.scene))


def read_tasks(path: Path) -> list[TaskFile]:
    """Read the tasks of a file, separated by ``---`` lines, or of all YAML files in a folder.

    Raises ``DataError``, also if two tasks have one name.
    """
    files = _files_in(path) if path.is_dir() else [path]
    tasks: dict[str, TaskFile] = {}
    for file in files:
        for task in _read_file(file):
            name = task.case.task.episode.id
            with one_record(task.path, f"task {name!r}"):
                if tasks.setdefault(name, task) is not task:
                    problem = f"{name!r} is the name of two tasks"
                    raise DataError(task.path, "field 'name'", problem)
    return list(tasks.values())


def _files_in(folder: Path) -> list[Path]:
    """Return the YAML files in a folder, sorted by name. Raises ``DataError`` without any."""
    files = sorted(folder.glob("*.[yY]*[mM][lL]"))
    if not files:
        remedy = (
            but_is(folder).removeprefix("; ") or "`wayword task example` prints one"
        )
        raise DataError(folder, "", "has no YAML file", remedy)
    return files


def _read_file(path: Path) -> list[TaskFile]:
    """Read the tasks of one file; the second of several is ``{file}-2`` unless it has a name.

    Raises ``DataError`` for a file that cannot be read, or is larger than ``MOST_BYTES``.
    """
    try:
        if path.stat().st_size > MOST_BYTES:
            problem = f"must be at most {MOST_BYTES:,} bytes long; is it a task file?"
            raise DataError(path, "", problem)
        content = read_text(path)
    except OSError as error:
        problem = error.strerror or str(error)
        remedy = "`wayword task example` prints one to start from"
        raise DataError(path, "", problem.lower(), remedy) from None
    texts = []
    comments = ""
    # The rest of a line of dashes is the task's, as in YAML.
    for part in re.split(r"^---+(?=\s|\Z)", content, flags=re.MULTILINE):
        # Blank lines and comments alone are no task: they belong to the next one.
        comments += part.removeprefix("\n")
        if re.search(r"^[^#\s]", part, re.MULTILINE):
            texts.append(comments)
            comments = ""
    # An empty file is a task with no fields; an author's last comments stay.
    texts = texts or [""]
    texts[-1] += comments
    if len(texts) == 1:
        return [_read_task(path, texts[0], path.stem)]
    tasks = []
    for number, text in enumerate(texts, 1):
        where = f"task {number}"
        with one_record(path, where):
            try:
                tasks.append(_read_task(path, text, f"{path.stem}-{number}"))
            except DataError as error:
                # Its fields are those of one task of several.
                where = ", ".join(filter(None, (where, error.where)))
                raise DataError(path, where, error.problem, error.remedy) from None
    return tasks


def _read_task(path: Path, text: str, name: str) -> TaskFile:
    """Read one task; ``name`` applies if the text has none.

    Builds its home, places its objects, and reads the goal. Raises ``DataError`` for text that is
    no valid YAML, a wrong field, a home that cannot be built, and a goal without conditions or with
    over ``MOST_CONDITIONS``.
    """
    import yaml

    try:
        tree = load_yaml(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        problem = single_line(error)
        raise DataError(path, "", f"is not valid YAML: {problem}") from None
    if not isinstance(tree, Mapping):
        raise DataError(path, "", f"must have fields, as in {FileFields.example}")
    entry = Record(path).entry(TaskEntry, tree)
    # The home's name depends on the content only, not on the file name.
    home_name = f"own-{digest([tree.get('rooms'), tree.get('doors')])}"
    home = read_home(path, entry, home_name)
    draft, named = arrange_objects(path, entry, home)

    if not entry.goal:
        remedy = f"list conditions, as in - {OnObject.example}"
        raise Record(path).error("is missing", remedy, field="goal")
    if len(entry.goal) > MOST_CONDITIONS:
        problem = (
            f"must have at most {MOST_CONDITIONS:,} conditions, got {len(entry.goal):,}"
        )
        raise Record(path).error(problem, "split the task", field="goal")
    required = tuple(
        _condition(path, n, e, draft, named) for n, e in enumerate(entry.goal, 1)
    )

    name = entry.name or name
    rules = entry.rules or read_rules("household")
    start = _pose(path, entry.start, home)
    episode = Episode(
        name,
        entry.instruction,
        home.name,
        start,
        extra={"rules": rules},
    )

    # The result of ``accept``, if the file has one: the expert's number of steps. It is no part of
    # the task, so the digest leaves it out.
    accepted = entry.accepted or {}
    steps = accepted.get("steps") if isinstance(accepted, Mapping) else None
    # A file can hold anything: True is an integer to Python.
    expert_length = steps if type(steps) is int and steps > 0 else None
    reference = goals.HouseholdReference(
        name,
        KIND,
        required,
        expert_length,
    )
    case = homes.Case(Task(episode, reference), home, draft.scene())
    content = {key: value for key, value in tree.items() if key != "accepted"}
    return TaskFile(
        path,
        case,
        entry.max_steps,
        accepted,
        digest(content),
        text,
    )


def accept(path: Path, target_path: Path | None = None) -> list[TaskFile]:
    """Solve a file's tasks with the expert, and write the file with the acceptance marks.

    Without ``target_path`` the file (or every file of a folder) is updated in place; comments are
    preserved. Raises ``DataError`` for a folder with ``target_path``, and if a file is invalid, a
    task is already solved at the start, or the expert cannot solve it.
    """
    if path.is_dir():
        if target_path:
            problem = "is a folder, whose files are updated in place"
            raise DataError(path, "", problem, "remove --out, or name one of its files")
        read_tasks(path)  # names must differ across files, too
        accepted: list[TaskFile] = []
        for file in _files_in(path):
            accepted += accept(file)
        return accepted
    texts = []
    for task in read_tasks(path):
        item = task.case.task
        source = _FileSource([task], FileSettings())
        world = source.world(item.episode)
        reference = item.reference
        world.reset(item.episode)
        assert isinstance(reference, goals.HouseholdReference)
        if reference.met(world.state()) == reference.parts():
            raise DataError(
                path,
                "field 'goal'",
                "is met at the start",
                "require a change",
            )
        try:
            steps = len(source.solve(item))
        except PlanningFailed as reason:
            remedy = "check that the home has the objects and tools, and that no goals conflict"
            raise DataError(
                path,
                "",
                f"the expert cannot solve this: {reason}",
                remedy,
            ) from reason
        if steps > task.max_steps:
            problem = (
                f"must be at least {steps}, the expert's steps, got {task.max_steps}"
            )
            raise DataError(path, "field 'max_steps'", problem)
        mark = {
            "steps": steps,
            "task": task.checksum,
            "scene": task.scene,
        }
        # Only what follows the mark is replaced, which keeps the author's comments.
        text = task.text.partition(COMMENT)[0].rstrip()
        texts.append(f"{text}\n\n{COMMENT}\naccepted: {json.dumps(mark)}\n")
    # Written after all tasks have passed: an error leaves the file as it was.
    target = (target_path or path).resolve()
    # Another file first: on a full disk, the author's would be cut.
    new = target.with_name(f".{target.name}.new")
    try:
        new.write_text("---\n".join(texts), encoding="utf-8")
        if target.exists():
            shutil.copymode(target, new)  # a private file stays private
        new.replace(target)
    except OSError as error:
        new.unlink(missing_ok=True)
        problem = f"cannot be written ({error.strerror})"
        raise DataError(path, "", problem, "the file is as it was") from error
    return _read_file(target_path or path)


class FileTasks(homes.SourcedTasks):
    """The tasks of a file or folder, as used by ``wayword run AGENT --on ./task.yaml``.

    Raises ``DataError`` for a task that was not accepted, or was changed since.
    """

    name = KIND
    Settings = FileSettings
    splits = ("test",)
    file: ClassVar[Path]
    max_steps = 500

    def source(self, split: str) -> homes.EpisodeSource:
        """Return the tasks of the file. Raises ``DataError`` for one that the expert
        has not solved.
        """
        tasks = read_tasks(self.file)
        for task in tasks:
            name = task.case.task.episode.id
            mark = task.accepted if isinstance(task.accepted, Mapping) else {}
            problem = ""
            if not task.accepted:
                problem = "has not been solved by the expert yet"
            elif mark.get("task") != task.checksum:
                problem = "was changed since the expert solved it"
            elif mark.get("scene") != task.scene:
                problem = "was accepted by another version of Wayword, which builds another home"
            if problem:
                remedy = f"check it with `wayword task new {self.file}`"
                with one_record(task.path, f"task {name!r}"):
                    raise DataError(task.path, f"task {name!r}", problem, remedy)
        # As set in the files; none is left if all of them are bad. The class attribute is shared by
        # all datasets, so this one's value goes into its own namespace.
        vars(self)["max_steps"] = max([1, *(task.max_steps for task in tasks)])
        return _FileSource(tasks, self.settings)

    def training(self) -> Training:
        """Return tasks to learn from: generated homes, as the file has no train split."""
        return Household("generated_train", None, Household.Settings()).training()


class _FileSource(SolvableHousehold):
    """Worlds and expert of tasks from files."""

    tasks: Sequence[Task]
    files: Mapping[str, Path]

    def __init__(
        self,
        tasks: Sequence[TaskFile],
        settings: homes.HomesSettings,
    ) -> None:
        self._cases = {task.case.task.episode.id: task.case for task in tasks}
        self._body = settings.make_body()
        self.tasks = tuple(case.task for case in self._cases.values())
        self.files = {task.path.name: task.path for task in tasks}

    def world(self, episode: Episode) -> HouseholdWorld:
        """Return the home of an episode."""
        return self._cases[episode.id].world(self._body)


def dataset_of(path: Path) -> type[FileTasks]:
    """Return the dataset class for a task file or folder, as used by ``--on ./task.yaml``."""
    return cast("type[FileTasks]", type("FileTasks", (FileTasks,), {"file": path}))


def _pose(path: Path, entry: StartEntry | None, home: Home) -> JsonObject:
    """Return the agent's start: the given position, or a free one in the given or any room."""
    rng = Random(f"{home.name}/start")
    if entry is None:
        return homes.draw_start(rng, home, KIND)
    where = Record(path, "field 'start'")
    check_room(where, entry.room, home.rooms)
    places = [at for at in home.starts if entry.room in ("", home.layout.room_at(*at))]
    # Drawn even if a position is given, for the fields that it lacks.
    start = homes.draw_start(rng, home, KIND, places)
    if entry.at:
        x, y = entry.at
        # The default body, as for the free positions; one of another radius is checked at reset.
        closed_doors = [True] * len(home.scene.doors)
        if not can_stand(home.layout, Body().radius, (x, y), closed_doors):
            raise where.error(f"is no free position: [{x:g}, {y:g}]", field="at")
        start["poses"]["agent"].update(x=x, y=y)
    if entry.heading is not None:
        start["poses"]["agent"]["heading"] = entry.heading % 360
    return start
