"""Dataset: published files (or a generator) as episodes, references, worlds and solutions.

>>> from wayword.datasets.houses import dataset
>>> houses = dataset("test", None, dataset.Settings())
>>> task = houses.tasks[0]
>>> [str(action) for action in houses.solve(task)][-1]
'stop'
>>> houses.solve(task, "gold") == houses.solve(task, "shortest")
True
"""

from __future__ import annotations

import inspect
import random
import re
import threading
from abc import ABC, abstractmethod
from collections.abc import (
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar, overload

from wayword.core import registry
from wayword.core.action import STOP, Action
from wayword.core.agent import Demonstration
from wayword.core.blame import check_class, describe, is_own, is_shipped, place_of
from wayword.core.episode import Episode, Extra, NoSettings, PathReference, Reference
from wayword.core.errors import UsageError, suggest
from wayword.core.field_types import field_problem, value_problem
from wayword.core.files import Memo, source_checksum, text_checksum
from wayword.core.game import ActionPlan, CheckedPlan, Game, PlanningFailed
from wayword.core.perceiver import Perceiver
from wayword.core.sight import EyesSettings, Painter
from wayword.core.trajectory import Trajectory
from wayword.core.world import Family, World

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Task:
    """An item of a dataset: the question and, kept separate, the answer."""

    episode: Episode
    reference: Reference


@dataclass(frozen=True, slots=True)
class Clusters:
    """Dependence between the episodes of a dataset: those of a cluster share a ``unit``.

    >>> Clusters("path", r"(.+)_[0-9]+").of("5593_2")
    '5593'

    The cluster of an episode is group 1 of ``pattern`` in its id, the id itself without a match;
    with ``field``, the field of ``Episode.extra``. Intervals and tests take clusters as units.
    """

    unit: str
    pattern: str = "(.+)"
    field: str = ""

    def of(self, episode_id: str) -> str:
        """Return the cluster of an episode by its id."""
        # A full match: a pattern that fits only part of an id would merge unrelated
        # episodes.
        match = re.fullmatch(self.pattern, episode_id)
        return match[1] if match else episode_id

    def of_task(self, task: Task) -> str:
        """Return the cluster of a task's episode."""
        if self.field:
            return str(task.episode.extra.get(self.field))
        return self.of(task.episode.id)


INDEPENDENT = Clusters("episode")
"""For datasets whose episodes share nothing but their scenes."""

FIRST_WORDING = 1
"""The version of generated instructions in runs that were recorded before there was another."""


class DrawnTasks(Sequence[Task]):
    """``count`` tasks of a generated dataset, each made by ``make(number)`` on access.

    ``ids(number)`` is a task's id and ``scenes(number)`` its scene, both without making the task.
    A run plays the episodes of a scene consecutively if not all scenes fit in memory.
    """

    def __init__(
        self,
        count: int,
        make: Callable[[int], Task],
        ids: Callable[[int], str] | None = None,
        scenes: Callable[[int], str] | None = None,
    ) -> None:
        self._count = count
        self._make = make
        self.ids = ids
        self.scenes = scenes

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> Task: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Task]: ...
    def __getitem__(self, index: int | slice) -> Task | Sequence[Task]:
        # A range does the arithmetic of negative numbers and slices.
        numbers = range(self._count)[index]
        if isinstance(numbers, int):
            return self._make(numbers)
        return [*map(self._make, numbers)]


class DrawnItems(Generic[Item]):
    """Items of an iterator by number, each drawn at its first access. Threads can share it: a draw
    depends on those before it, so one is made at a time."""

    def __init__(self, source: Iterator[Item]) -> None:
        self._source = source
        self._drawn: list[Item] = []
        self._lock = threading.Lock()

    def get(self, number: int) -> Item | None:
        """Return the item, counted from 0; None if the iterator ends before it."""
        with self._lock:
            # Up to the item asked for: the iterator may be endless.
            missing = number + 1 - len(self._drawn)
            self._drawn += islice(self._source, max(0, missing))
        return self._drawn[number] if number < len(self._drawn) else None


def of_ids(tasks: Sequence[Task], names: Iterable[str]) -> dict[str, Task]:
    """Return the tasks with these ids, in the order of the dataset.

    Stops at the last match, because a task may be costly to make. If ids are available without
    making the tasks, tasks are made scene by scene, because few scenes are kept in memory.
    """
    ids = set(names)
    # Without ids, every task has to be made to be compared; stop at the last match.
    if not isinstance(tasks, DrawnTasks) or tasks.ids is None:
        matching = (task for task in tasks if task.episode.id in ids)
        return {task.episode.id: task for task in islice(matching, len(ids))}
    # With ids, only the matching ones are made.
    matches = (number for number in range(len(tasks)) if tasks.ids(number) in ids)
    numbers = {tasks.ids(number): number for number in islice(matches, len(ids))}
    order: Iterable[int] = numbers.values()
    # Scene by scene, then back in the order of the dataset.
    if tasks.scenes:
        order = sorted(order, key=tasks.scenes)
    tasks_by_number = {number: tasks[number] for number in order}
    return {name: tasks_by_number[number] for name, number in numbers.items()}


def task_id(tasks: Sequence[Task], number: int) -> str:
    """Return the id of a task, without making the task if ids are available."""
    if isinstance(tasks, DrawnTasks) and tasks.ids is not None:
        return tasks.ids(number)
    return tasks[number].episode.id


@dataclass(frozen=True, slots=True)
class Training:
    """Source of examples: training tasks and the dataset that solves them. ``salt`` separates the
    draw from others with the same seed; it is empty where published results used the bare seed."""

    dataset: Dataset
    tasks: Sequence[Task]
    salt: str = "demonstrations/"

    def rng(self, seed: int) -> random.Random:
        """Return the random generator that draws the examples."""
        # A seed as text, so that it is the same on every version of Python.
        return random.Random(f"{self.salt}{seed}" if self.salt else seed)


MakeDemonstration = Callable[["Dataset", Task], Demonstration | None]
"""A dataset and one of its training tasks -> its demonstration, None if it cannot be solved."""


class Dataset(ABC):
    """Episodes of one split. Built as ``cls(split, folder, settings)``.

    ``folder`` is the data folder, None for generated data; ``settings`` is an instance of the
    frozen dataclass ``Settings``. A subclass sets ``family`` and ``tasks``, and makes a
    :meth:`world` for each episode. The rest has defaults.

    ``tasks`` holds every episode with its reference, in file order. ``files`` maps names to the
    files that were read, for checksums. ``caveats`` are the assumptions behind every score, one
    short clause each: ``"walls and floors are inferred"``. ``omissions`` counts the published
    records left out, by cause. ``replaced_by`` is the name of a user's file whose episodes replace
    those of the split. ``goals_from`` says where goal conditions come from if it is not the
    instruction, such as ``"ALFRED"``: the two may disagree.

    If a planner that sees the reference can solve the tasks, the dataset lists its ``solutions``
    and defines :meth:`make_plan`. Each family of worlds has a base class that does.
    """

    Settings: ClassVar[type[Any]] = NoSettings
    family: ClassVar[Family]
    """The family of its worlds, which decides on the metrics."""
    splits: ClassVar[tuple[str, ...]] = ("all",)
    """The names of its splits: see :meth:`default_split`."""
    live: ClassVar[bool] = False
    """True if its worlds are outside this program, such as a robot: episodes are played one at a
    time, and cannot be replayed."""
    names_objects: ClassVar[bool] = True
    """False if its observations name no objects, as a robot's: agents need a detector of their
    own."""
    max_steps: ClassVar[int] = 30
    """Maximum turns per actor; the episode is cut off after that."""
    clusters: ClassVar[Clusters | None] = None
    """Which episodes depend on each other, such as instructions for the same path, or
    ``INDEPENDENT``. None, unstated, counts as independent; the contract test then fails if episodes
    share their start and answer."""
    needs_stop: ClassVar[bool] = False
    """True if an episode that is cut off has failed; otherwise the state at its end counts."""
    slack: ClassVar[int] = 3
    """Allowed turns per unit of an episode's ``length``, for episodes with a set length."""
    folder: Any
    """A ``Path`` in a dataset of published files."""
    settings: Any
    """An instance of ``Settings``."""
    solutions: ClassVar[tuple[str, ...]] = ()
    """The kinds of plans: ``"gold"`` (as published), ``"shortest"``, ``"expert"`` (planned from
    the goals). In-context examples use the first one."""
    _arguments: tuple[tuple[Any, ...], Mapping[str, Any]]
    eyes: ClassVar[EyesSettings | None] = None
    """How agents see in a run with pictures."""

    def __repr__(self) -> str:
        """Return the class and family, and the number of tasks once they are read."""
        tasks = vars(self).get("tasks")
        count = f", {len(tasks):,} tasks" if isinstance(tasks, Sequence) else ""
        # A user's class may lack a family: errors show the object all the same.
        family = getattr(getattr(self, "family", None), "name", "no family")
        return f"<{type(self).__name__}: {family}{count}>"

    # At runtime plain attributes, which a subclass may assign or compute
    if TYPE_CHECKING:

        @property
        def tasks(self) -> Sequence[Task]: ...
        @property
        def files(self) -> Mapping[str, Path]: ...
        @property
        def caveats(self) -> tuple[str, ...]: ...
        @property
        def omissions(self) -> Mapping[str, int]: ...
        @property
        def replaced_by(self) -> str: ...
        @property
        def goals_from(self) -> str: ...

    else:
        replaced_by = ""
        goals_from = ""
        files = omissions = MappingProxyType({})
        caveats = ()

    def __new__(cls, *arguments: Any, **named: Any) -> Self:
        """Keep the arguments, also of a subclass whose constructor does not call this one's."""
        if cls.__abstractmethods__:
            check_class(cls, Dataset)
        self = super().__new__(cls)
        # A frozen dataclass refuses assignments.
        object.__setattr__(self, "_arguments", (arguments, named))
        given: dict[str, Any] = {}
        # Wrong arguments are the constructor's to refuse.
        with suppress(TypeError):
            signature = inspect.signature(cls.__init__)
            given = signature.bind_partial(self, *arguments, **named).arguments
        # A subclass may compute any of them: then its property counts.
        settings = given.get("settings")
        vars(self)["split"] = given.get("split") or cls.default_split()
        vars(self)["folder"] = given.get("folder")
        vars(self)["settings"] = cls.Settings() if settings is None else settings
        # A mapping would fail much later, as a missing attribute.
        if isinstance(settings, Mapping):
            form = f"{cls.Settings.__name__}({', '.join(settings)}=…)"
            raise UsageError(
                f"settings must be an instance such as {form}, got {settings!r}"
            )
        return self

    def __init__(
        self,
        split: str = "",
        folder: Path | str | None = None,
        settings: Any = None,
    ) -> None:
        """Raise ``UsageError`` for a split that is not in ``splits``."""
        self.split = split or self.default_split()
        # A notebook has the path as text.
        self.folder = None if folder is None else Path(folder)
        self.settings = self.Settings() if settings is None else settings
        if self.split not in self.splits:
            name = getattr(self, "name", type(self).__module__.rpartition(".")[2])
            raise UsageError(
                f"{name} has no split {split!r}; {suggest(split, self.splits)}"
            )
        # Tasks of a set length get turns in proportion to it.
        if length := getattr(self.settings, "length", 0):
            # overrides the class default, which applies to tasks of any length
            vars(self)["max_steps"] = self.slack * length
        self.open()

    def open(self) -> None:  # noqa: B027 - most datasets have nothing to open
        """Find the files and create caches, when the dataset is created. Override this method
        instead of the constructor."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the arguments that reopen the dataset, not the data it has read."""
        arguments, named = self._arguments
        return partial(type(self), *arguments, **named), ()

    @classmethod
    def default_split(cls) -> str:
        """Return the split that opens without a name: ``test`` of a user's dataset, else the
        first."""
        # Shipped datasets list the default first: the public test splits have no answers.
        if "test" in cls.splits and not is_shipped(cls):
            return "test"
        return cls.splits[0]

    def budget(self) -> Extra:
        """Return ``Episode.extra`` with the action limit of tasks with a set ``length``."""
        return {"budget": self.max_steps} if getattr(self.settings, "length", 0) else {}

    @abstractmethod
    def world(self, episode: Episode) -> World:
        """Make a world for the episode (not yet reset). Heavy parts are shared and read-only."""

    def perceiver(self) -> Perceiver | None:
        """Return the perceiver that turns places into words, None if observations need none."""
        return None

    def painter(self) -> Painter | None:
        """Return the painter that draws what actors see, None if the dataset has no pictures."""
        return None

    def succeeded(self, task: Task, trajectory: Trajectory) -> bool | None:
        """True if the episode was solved, None if unknown. Only for families without a scorer."""
        return None

    def distance(self, task: Task, world: World) -> float | None:
        """Remaining distance to the goal (m, links), which shapes rewards; None if unknown. Only
        for families whose scorer has no ``standing``."""
        return None

    def make_plan(self, task: Task, world: World, actor: str, kind: str) -> ActionPlan:
        """Make the plan for :meth:`plan`, which has checked that ``kind`` is in ``solutions``."""
        raise NotImplementedError

    def plan(self, task: Task, world: World, actor: str, kind: str) -> ActionPlan:
        """Return a plan that solves the task from the world's current state, including the stop.

        Raises ``UsageError`` if ``kind`` is not in ``solutions`` or the task has no public answer;
        the plan raises ``PlanningFailed`` if it cannot continue. That of a user's ``make_plan``
        has at most ``max_steps`` actions: ``CodeError`` above it.
        """
        # Both errors name what to change: the dataset, or the kind.
        if not self.solutions:
            raise UsageError(f"{type(self).__name__} has no solutions to its tasks")
        if kind not in self.solutions:
            only = " and ".join(self.solutions)
            raise UsageError(
                f"episode {task.episode.id} has no {kind!r} solution, only {only}"
            )
        plan = self.make_plan(task, world, actor, kind)
        if is_shipped(type(self)):
            return plan
        method = type(self).make_plan
        # The package's own plans end, and may be longer than a user's limit.
        limit = self.max_steps if is_own(method) else None
        return CheckedPlan(plan, method, limit)

    def training(self) -> Training:
        """Return the source of examples. Raises ``UsageError`` if there is no training split."""
        raise UsageError("this dataset has no solved examples to show; set shots=0")

    def solve(self, task: Task, kind: str = "") -> tuple[Action, ...]:
        """Return the actions that solve a task for its first actor, including the stop.

        ``kind`` is one of ``solutions``, by default the first. Raises ``PlanningFailed`` if the
        plan does not solve the task, and the errors of :meth:`plan`.
        """
        # The answer comes from a world of its own, so the caller's is untouched.
        game = Game(self.world(task.episode), task.episode)
        actor = game.world.actors[0]
        return game.actions(
            actor,
            self.plan(task, game.world, actor, kind or self.solutions[0]),
        )

    def expert_length(self, task: Task) -> int | None:
        """Return L*, the number of actions in :meth:`solve`, stop included; None if it fails or
        without ``solutions``. Cached in this process; also on disk if :meth:`decided_by` names what
        the lengths depend on."""
        # A dataset without a planner has no L*.
        if not self.solutions:
            return None
        episode = task.episode
        # Everything that the solution depends on, besides code and files.
        key = repr(
            (episode.id, episode.scene, episode.actors, episode.start, task.reference)
        )
        return self._lengths.get(key, lambda: self._length(task))

    @property
    def wording(self) -> int:
        """The version of the instructions that it writes; ``FIRST_WORDING`` if there is only one or
        if they are published."""
        # A dataset of one's own may have no settings.
        settings = getattr(self, "settings", None)
        version: int = getattr(settings, "wording", FIRST_WORDING)
        return version

    def decided_by(self) -> str:
        """Return the part of the disk cache's key besides task and code: settings, checksums of
        files. Empty disables the disk cache."""
        return ""

    @property
    def examples_caveat(self) -> str:
        """Sentence for the notes of runs with examples if these are not of the training data that
        belongs to the split; empty if they are."""
        return ""

    def demonstrations(
        self,
        count: int,
        seed: int,
        make: MakeDemonstration | None = None,
    ) -> Sequence[Demonstration]:
        """Return solved training episodes, drawn by seed; an unsolvable draw is replaced. ``make``
        solves them instead of :meth:`demonstration`. Raises ``UsageError`` if there is no training
        split or it has fewer than ``count`` tasks."""
        training = self.training()
        solved = make or (lambda dataset, task: dataset.demonstration(task))
        dataset = training.dataset
        tasks = training.tasks
        rng = training.rng(seed)
        # Drawn without repetition, so there must be enough tasks.
        if count > len(tasks):
            problem = f"{count} examples were requested but the training split has {len(tasks)}"
            raise UsageError(f"{problem}; lower shots")
        chosen = rng.sample(range(len(tasks)), count)
        tried = set(chosen)
        solved_tasks = [solved(dataset, tasks[number]) for number in chosen]
        # A draw that cannot be solved is replaced in place: the order of the others
        # stays.
        while None in solved_tasks and len(tried) < len(tasks):
            number = rng.choice([n for n in range(len(tasks)) if n not in tried])
            tried.add(number)
            solved_tasks[solved_tasks.index(None)] = solved(dataset, tasks[number])
        return [each for each in solved_tasks if each is not None]

    def demonstration(self, task: Task) -> Demonstration | None:
        """Return a task with the actions that solve it; None if none are known."""
        try:
            actions = self.solve(task)
        except PlanningFailed:
            return None
        return Demonstration(task.episode, actions, lambda: self.world(task.episode))

    @cached_property
    def _lengths(self) -> Memo:
        """Return the cache of lengths; one in memory where the answers have no key."""
        decided_by = self.decided_by()
        kind = type(self)
        # source_checksum does not cover datasets from outside the package: do not cache theirs.
        if not decided_by or not kind.__module__.startswith("wayword."):
            return Memo()
        # Any change of these packages may change a plan, so it starts a new cache.
        # These determine the solutions
        text = source_checksum("core", "worlds", "datasets")
        key = f"{kind.__module__} {kind.__qualname__} {decided_by} {text}"
        return Memo(f"expert-{text_checksum(key, 16)}")

    def _length(self, task: Task) -> int | None:
        """Return the number of actions of a task's solution; None if it has none."""
        try:
            return len(self.solve(task))
        except PlanningFailed:
            return None


class Walkable(World):
    """A world with places and routes between them."""

    @abstractmethod
    def route(self, actor: str, goal: str) -> list[Action]:
        """Return a shortest route from the actor to a place, without the stop."""

    @abstractmethod
    def along(self, actor: str, path: Sequence[str]) -> list[Action]:
        """Return the actions along a path from the current place, ending in ``stop``."""


class SolvableWalks(Dataset):
    """Tasks whose reference is a path over places: ``gold`` is that path, ``shortest`` a shortest
    route to its end."""

    solutions = ("gold", "shortest")

    def make_plan(self, task: Task, world: World, actor: str, kind: str) -> ActionPlan:
        """Return the expert's plan for a task: the published path if ``kind`` is ``gold``, else a
        shortest route from the actor's place to the goal. Both end in ``stop``.

        Raises ``UsageError`` for a task without a path, or a world without routes.
        """
        reference = task.reference
        if not isinstance(reference, PathReference):
            missing = "path to follow" if kind == "gold" else "goal to go to"
            raise UsageError(f"episode {task.episode.id} has no published {missing}")
        if not isinstance(world, Walkable):
            raise UsageError(
                f"{type(world).__name__} must define route() and along() to be solved"
            )
        # Actions are computed at the plan's first request, from where the actor is then.
        if kind == "gold":
            return listed(lambda: world.along(actor, reference.path))
        return listed(lambda: [*world.route(actor, reference.goal), STOP])


def listed(actions: Callable[[], Iterable[Action]]) -> ActionPlan:
    """Yield the listed actions, ignoring feedback; they are computed at the first request."""
    for action in actions():  # noqa: UP028 - `yield from` would send the feedback to a list
        yield action


def capable_actors(
    verbs: Mapping[str, Collection[str]],
    needed: Sequence[str],
    setting: str,
) -> list[str]:
    """Return the actors whose ``verbs`` include every verb that the expert needs. Raises
    ``UsageError`` if there are none; ``dataset.actions=setting`` allows the verbs."""
    capable = []
    problem = ""
    # All actors are looked at, as any one of them may be able.
    for actor, able in verbs.items():
        lacking = [verb for verb in needed if verb not in able]
        if not lacking:
            capable.append(actor)
        elif not problem:
            problem = f"but {actor} cannot {lacking[0]}"
    if not capable:
        raise UsageError(
            f"the expert uses low-level actions, {problem}; set dataset.actions={setting}"
        )
    return capable


_PARTS: Sequence[tuple[str, Any, str]] = (
    (
        "clusters",
        Clusters | None,
        "INDEPENDENT or Clusters(…) (from wayword.core.dataset import INDEPENDENT, Clusters)",
    ),
    ("eyes", EyesSettings | None, "EyesSettings(…) or None"),
    ("files", Mapping, 'a dict of paths, such as {"tasks": Path("tasks.json")}'),
    ("caveats", tuple[str, ...], "a tuple of texts"),
    ("solutions", tuple[str, ...], 'a tuple of texts, such as ("expert",)'),
    ("max_steps", int, "a whole number"),
)
"""Attributes of a dataset that a run reads: name, type, and what to write."""


def check_opened(dataset: Any) -> None:
    """Raise ``UsageError`` for a user's dataset without a family or tasks, with an attribute of
    another type, or whose tasks are no tasks or share an id. Tasks that are made on access are not
    made here."""
    cls = type(dataset)
    # A user's class has to be found: the message names file and line.
    where = f"{place_of(cls)}: {cls.__name__}"
    family = getattr(dataset, "family", None)
    if not isinstance(family, Family):
        given = "no family" if family is None else f"the family {family!r}"
        remedy = 'set family = Family("line") in it'
        # A text that names a shipped family: the class needs that one, with its verbalizer.
        if isinstance(family, str) and family in registry.names("scorer"):
            remedy = (
                f"set family = {family}.family (from wayword.worlds import {family})"
            )
        raise UsageError(f"{where} has {given}; {remedy}")
    if problem := field_problem(family):
        raise UsageError(f"{where}: family: {problem}")
    for name, hint, expected in _PARTS:
        value = getattr(dataset, name)
        if value_problem(value, hint, name):
            raise UsageError(f"{where}.{name} must be {expected}, got {value!r:.60}")
    if dataset.max_steps < 1:
        raise UsageError(
            f"{where}.max_steps must be at least 1, got {dataset.max_steps}"
        )
    if dataset.solutions and cls.make_plan is Dataset.make_plan:
        raise UsageError(
            f"{where}.solutions is {dataset.solutions!r}, but it does not define make_plan(self, "
            "task, world, actor, kind)"
        )
    try:
        tasks = dataset.tasks
    except AttributeError as error:
        # An error inside a property is the user's own, and shown as such.
        if "tasks" not in str(error):
            raise UsageError(describe(error)) from error
        raise UsageError(
            f"{where} has no tasks; set tasks = [Task(…), …] in it"
        ) from None
    if not isinstance(tasks, Sequence):
        raise UsageError(f"{where}.tasks must be a list of Task(…), got {tasks!r:.60}")
    if not len(tasks):
        raise UsageError(f"{where}.tasks is empty; give at least one Task(…)")
    # Tasks that are made on access are checked when they are made.
    if isinstance(tasks, list | tuple):
        _check_tasks(where, tasks)


def _check_tasks(where: str, tasks: Sequence[Any]) -> None:
    """Raise ``UsageError`` for tasks of a user's dataset that are no tasks or share an id."""
    ids: set[Any] = set()
    for task in tasks:
        if not isinstance(task, Task):
            raise UsageError(f"{where}.tasks must hold Task(…), got {task!r:.60}")
        name = task.episode.id
        if not isinstance(name, str):
            raise UsageError(f"{where}: an episode's id must be text, got {name!r}")
        text = task.episode.instruction
        if not isinstance(text, str):
            raise UsageError(
                f"{where}: the instruction of {name!r} must be text, got {text!r:.60}"
            )
        if name in ids:
            raise UsageError(
                f"{where}: two tasks have the id {name!r}; give each its own"
            )
        ids.add(name)
        if problem := field_problem(task):
            raise UsageError(f"{where}: task {name!r}: {problem}")
        if task.reference.episode_id != name:
            raise UsageError(
                f"{where}: task {name!r}: its reference is of {task.reference.episode_id!r}; "
                "give it the episode's id"
            )
