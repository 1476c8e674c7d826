"""A task file as a dataset of one episode, and its acceptance: the expert solves it first.

Its goal is in the goal language of ``worlds.household.goals``, a condition a line, by the name of
its class: ``- inside: {thing: mug, place: desk, dirty: false}``. A kind means any one of that kind;
a name that the file gave to a thing means that one.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, ClassVar

from wayword.core.dataset import Task, Training
from wayword.core.episode import Episode, Json
from wayword.core.errors import DataError, suggest
from wayword.core.game import PlanningFailed
from wayword.datasets.household import Household
from wayword.datasets.procedural.homes.episodes import (
    Case,
    EpisodeSource,
    HomesSettings,
    SourcedTasks,
    read_rules,
    start_in,
)
from wayword.datasets.procedural.homes.home import Home
from wayword.datasets.procedural.homes.objects import OBJECTS, Arrangement
from wayword.datasets.sources.own.building import arranged, check_room, digest, read_home
from wayword.datasets.sources.own.fields import Fields
from wayword.settings import load_yaml
from wayword.worlds.household.goals import (
    Beside,
    GoalCondition,
    Has,
    Held,
    HouseholdReference,
    Ids,
    Inside,
    Lit,
    Near,
    Stacked,
    Trait,
)
from wayword.worlds.household.house import FLAGS
from wayword.worlds.household.layout import fits
from wayword.worlds.household.scene import TEMPERATURES
from wayword.worlds.household.world import HouseholdWorld

GOAL_EXAMPLE = "inside: {thing: mug, place: desk}"
LAY = "lay one there, as in things: [{{kind: {kind}, place: desk}}]"


class _Reader:
    """Reads conditions about one arrangement; ``named`` are the file's own names of things."""

    def __init__(self, made: Arrangement, named: Mapping[str, str]) -> None:
        self._made, self._named = made, named

    def ids(self, given: Fields, name: str, room: str = "") -> Ids:
        """The ids of what a field names."""
        what = given.text(name)
        found = [self._named[what]] if what in self._named else [o.id for o in self._made.of(what)]
        if room:
            found = [i for i in found if self._made.room(self._made.objects[i]) == room]
        if not found:
            known = [*self._named, *sorted({o.type for o in self._made.objects.values()})]
            where = f"the {room}" if room else "the home"
            hint = LAY.format(kind=what) if what in OBJECTS else suggest(what, known)
            raise given.error(name, f"there is no {what!r} in {where}", hint)
        return tuple(found)

    def places(self, given: Fields) -> Ids:
        """The receptacles that ``place`` names, of one room where ``room`` says so."""
        room = given.text("room", "")
        check_room(self._made, given, room)
        found = self.ids(given, "place", room)
        if not self._made.objects[found[0]].receptacle:
            raise given.error("place", f"nothing goes into or onto a {given.text('place')}")
        return found

    def parts(self, given: Fields, things: Ids) -> int:
        """How many of the things it takes."""
        count = given.count("count", 1, 1)
        if count > len(things):
            raise given.error("count", f"asks for {count}, and there are {len(things)}")
        return count


def _traits(given: Fields) -> tuple[Trait, ...]:
    found: list[Trait] = [(f, given.flag(f, False)) for f in FLAGS if given.has(f)]
    if given.has("temperature"):
        found.append(("temperature", given.among("temperature", TEMPERATURES)))
    return tuple(found)


def _inside(read: _Reader, given: Fields) -> GoalCondition:
    things = read.ids(given, "thing")
    return Inside(things, read.places(given), _traits(given), read.parts(given, things))


def _has(read: _Reader, given: Fields) -> GoalCondition:
    things, traits = read.ids(given, "thing"), _traits(given)
    if not traits:
        raise given.error("", "names no state", f"there are: {', '.join((*FLAGS, 'temperature'))}")
    return Has(things, traits, read.parts(given, things))


def _stacked(read: _Reader, given: Fields) -> GoalCondition:
    movables = read.ids(given, "movable")
    return Stacked(read.ids(given, "thing"), movables, read.places(given), _traits(given))


READERS: Mapping[str, Callable[[_Reader, Fields], GoalCondition]] = {
    "inside": _inside,
    "has": _has,
    "stacked": _stacked,
    "held": lambda read, given: Held(read.ids(given, "thing")),
    "lit": lambda read, given: Lit(read.ids(given, "thing"), given.number("distance", 1.5)),
    "near": lambda read, given: Near(read.ids(given, "thing"), given.number("distance", 1.5)),
    "beside": lambda read, given: Beside(read.ids(given, "thing"), read.ids(given, "other")),
}


def read_goals(
    task: Fields, made: Arrangement, named: Mapping[str, str]
) -> tuple[GoalCondition, ...]:
    """The conditions that the file lists, at least one."""
    listed, read = task.list_("goal"), _Reader(made, named)
    if not listed:
        raise task.error("goal", "is missing", f"list conditions, as in - {GOAL_EXAMPLE}")
    return tuple(_condition(task, read, n, given) for n, given in enumerate(listed, 1))


def _condition(task: Fields, read: _Reader, number: int, given: object) -> GoalCondition:
    outer = Fields(task.path, f"goal {number}", given, GOAL_EXAMPLE)
    kinds = list(given) if isinstance(given, Mapping) else []
    if len(kinds) != 1:
        raise outer.error("", f"must be one condition, as in {GOAL_EXAMPLE}")
    kind = str(kinds[0])
    if kind not in READERS:
        raise outer.error("", f"there is no condition {kind!r}", suggest(kind, list(READERS)))
    inner = Fields(task.path, f"goal {number} ({kind})", outer.get(kind), GOAL_EXAMPLE)
    condition = READERS[kind](read, inner)
    inner.end()
    return condition


# The dataset.

MARK = "# Checked by the expert; written by `wayword task new`."
EXAMPLE = "words: Put a mug on the desk."
MOST_BYTES = 1_000_000
KIND = "own"


@dataclass(frozen=True)
class OwnSettings(HomesSettings):
    """``actions`` and ``body`` as in ``household``; the file says everything else."""

    useless: ClassVar[tuple[str, ...]] = ()


@dataclass(frozen=True, slots=True)
class TaskFile:
    """What a file says. ``accepted`` is the expert's mark: ``steps``, ``task``, ``scene``; empty
    for a draft. ``checksum`` is that of all but that mark."""

    path: Path
    case: Case
    reference: HouseholdReference
    rules: str
    max_steps: int
    accepted: Mapping[str, Json]
    checksum: str

    @property
    def scene(self) -> str:
        """The checksum of the home as this version builds it."""
        return digest(self.case.scene.to_json())


def read_task(path: Path) -> TaskFile:
    """The task of a file. Raises ``DataError`` with one line for what is wrong with it."""
    tree = _tree(path)
    given = Fields(path, "", tree, EXAMPLE)
    name = given.text("name", path.stem)
    words = given.text("words")
    home = read_home(given)
    made, named = arranged(given, home)
    goals = read_goals(given, made, named)
    start = _start(given, home, made)
    rules = given.text("rules", read_rules("household"))
    max_steps = given.count("max_steps", 500, 1, 100_000)
    accepted = given.get("accepted") or {}
    given.end()
    episode = Episode(name, words, home.name, start, extra={"rules": rules})
    steps = accepted.get("steps") if isinstance(accepted, Mapping) else None
    reference = HouseholdReference(name, KIND, goals, steps if isinstance(steps, int) else None)
    case = Case(Task(episode, reference), home, made.scene())
    own = {key: value for key, value in tree.items() if key != "accepted"}
    return TaskFile(path, case, reference, rules, max_steps, accepted, digest(own))


def accept(path: Path, out: Path | None = None) -> TaskFile:
    """Have the expert solve a file's task, and write the file with the mark that says so.

    ``out`` is the file itself where it is None; everything in it stays as it is, comments too.
    Raises ``DataError`` for what is wrong with the file, for a task that is done before it begins,
    and for one that the expert cannot solve, with the reason.
    """
    task = read_task(path)
    reference = task.reference
    world = task.case.world(OwnSettings().make_body())
    world.reset(task.case.task.episode)
    if (
        isinstance(reference, HouseholdReference)
        and reference.met(world.state()) == reference.parts()
    ):
        raise DataError(path, "field 'goal'", "holds already at the start", "ask for a change")
    try:
        steps = len(OwnTasks.of(task).solve(task.case.task))
    except PlanningFailed as reason:
        remedy = "see that the home has what it takes, and that no goals contradict"
        raise DataError(path, "", f"the expert cannot solve this: {reason}", remedy) from reason
    if steps > task.max_steps:
        problem = f"is {task.max_steps}, and the expert takes {steps}"
        raise DataError(path, "field 'max_steps'", problem)
    mark = {"steps": steps, "task": task.checksum, "scene": task.scene}
    text = path.read_text(encoding="utf-8").partition(MARK)[0].rstrip()
    target = out or path
    target.write_text(f"{text}\n\n{MARK}\naccepted: {json.dumps(mark)}\n", encoding="utf-8")
    return read_task(target)


class OwnTasks(SourcedTasks[OwnSettings]):
    """The task of one file, as ``wayword run AGENT --on ./task.yaml`` plays it.

    Examples of solved tasks (``shots``) are drawn from ``household``'s generated ones. Raises
    ``DataError`` for a file that was not accepted, or was changed after that.
    """

    name: ClassVar[str] = KIND
    Settings: ClassVar[type[Any]] = OwnSettings
    splits: ClassVar[tuple[str, ...]] = ("test",)
    file: ClassVar[Path]
    max_steps: ClassVar[int] = 500

    def source(self, split: str) -> EpisodeSource:
        """The file's one task."""
        task = self._read()
        vars(self)["max_steps"] = task.max_steps  # this file's own
        return _One(task, self.settings)

    def _read(self) -> TaskFile:
        task = read_task(self.file)
        again = f"check it with `wayword task new {self.file}`"
        if not task.accepted:
            raise DataError(self.file, "", "is a draft that the expert has not solved", again)
        mark = task.accepted if isinstance(task.accepted, Mapping) else {}
        if mark.get("task") != task.checksum:
            raise DataError(self.file, "", "was changed after the expert had solved it", again)
        if mark.get("scene") != task.scene:
            problem = "was accepted by another version of Wayword, whose home is a different one"
            raise DataError(self.file, "", problem, again)
        return task

    def training(self) -> Training:
        """Generated household tasks."""
        return Household("generated_train", None, Household.Settings()).training()

    @classmethod
    def of(cls, task: TaskFile) -> OwnTasks:
        """The dataset of a file that was just read."""

        class Read(cls):  # type: ignore[misc, valid-type]
            file = task.path

            def _read(self) -> TaskFile:
                return task

        return Read("test")


class _One:
    """The source of one task."""

    def __init__(self, task: TaskFile, settings: HomesSettings) -> None:
        self._case, self._body = task.case, settings.make_body()
        self.tasks: Sequence[Task] = (task.case.task,)
        self.files: Mapping[str, Path] = {task.path.name: task.path}

    def world(self, episode: Episode) -> HouseholdWorld:
        """A fresh world."""
        return self._case.world(self._body)


def dataset_of(path: Path) -> type[OwnTasks]:
    """The dataset class of a task file: what ``--on ./task.yaml`` opens."""

    class Own(OwnTasks):
        file = path

    Own.__name__ = Own.__qualname__ = "OwnTasks"
    return Own


def _tree(path: Path) -> Mapping[str, Any]:
    import yaml

    try:
        if path.stat().st_size > MOST_BYTES:
            raise DataError(path, "", f"is larger than {MOST_BYTES:,} bytes", "is it a task file?")
        tree = load_yaml(path.read_text(encoding="utf-8"))
    except OSError as error:
        remedy = "`wayword task example` prints one to start from"
        raise DataError(path, "", (error.strerror or str(error)).lower(), remedy) from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        problem = " ".join(str(error).split())
        raise DataError(path, "", f"is not valid YAML: {problem}") from None
    if not isinstance(tree, Mapping):
        raise DataError(path, "", f"must hold fields, as in {EXAMPLE}")
    return tree


def _start(task: Fields, home: Home, made: Arrangement) -> dict[str, Json]:
    """Where the agent starts: a place of its own, a free one of a room, or any free one."""
    rng = random.Random(f"{home.name}/start")
    if not task.has("start"):
        task.get("start")
        return start_in(rng, home, KIND)
    given = task.inner("start", "start: {room: kitchen}")
    room = given.text("room", "")
    check_room(made, given, room)
    places = [at for at in home.starts if room in ("", home.layout.room_at(*at))]
    start = start_in(rng, home, KIND, places)
    if given.has("at"):
        x, y = given.pair("at")
        if not fits(home.layout, 0.2, (x, y), [True] * len(home.scene.doors)):
            raise given.error("at", f"nobody can stand at {x:g}, {y:g}")
        start["poses"]["agent"].update(x=x, y=y)
    if given.has("heading"):
        start["poses"]["agent"]["heading"] = given.number("heading") % 360
    given.end()
    return start


def example() -> str:
    """A task file to start from."""
    text = resources.files("wayword.datasets.sources.own") / "example.yaml"
    return text.read_text(encoding="utf-8")
