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

import hashlib
import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, overload

from wayword.core.action import STOP, Action
from wayword.core.agent import Demonstration
from wayword.core.episode import Episode, NoSettings, PathReference, Reference
from wayword.core.errors import UsageError, suggest
from wayword.core.files import Memo, source_checksum
from wayword.core.game import ActionPlan, Game, PlanningFailed
from wayword.core.perceiver import Perceiver
from wayword.core.trajectory import Trajectory
from wayword.core.world import Family, World


@dataclass(frozen=True, slots=True)
class Task:
    """One line of a dataset: the question and, apart from it, the answer."""

    episode: Episode
    reference: Reference


def of_ids(tasks: Iterable[Task], wanted: Set[str]) -> dict[str, Task]:
    """The tasks of these ids; stops at the last one, as a task may cost something to make. Tasks
    that know their ids without being made are not made for it."""
    if isinstance(tasks, DrawnTasks) and tasks.ids is not None:
        return tasks.of_ids(wanted)
    found: dict[str, Task] = {}
    for task in tasks:
        if len(found) == len(wanted):
            break
        if task.episode.id in wanted:
            found[task.episode.id] = task
    return found


# Tasks that are made when they are looked at, for generated datasets.


class DrawnTasks(Sequence[Task]):
    """``count`` tasks, each made by ``make(number)`` when it is asked for; a slice makes its own.

    ``ids`` tells a task's id without making it, ``scenes`` what its world is built from: a run
    plays the episodes of a scene one after the other where not all scenes are kept in memory.

    >>> len(DrawnTasks(3, lambda number: None))
    3
    """

    def __init__(
        self,
        count: int,
        make: Callable[[int], Task],
        ids: Callable[[int], str] | None = None,
        scenes: Callable[[int], str] | None = None,
    ) -> None:
        self._count, self._make = count, make
        self.ids, self.scenes = ids, scenes

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> Task: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Task]: ...
    def __getitem__(self, index: int | slice) -> Task | Sequence[Task]:
        if isinstance(index, slice):
            return [self._make(number) for number in range(*index.indices(self._count))]
        if not -self._count <= index < self._count:
            raise IndexError(index)
        return self._make(index % self._count)

    def of_ids(self, wanted: Set[str]) -> dict[str, Task]:
        """The tasks of these ids, by number. Those of a scene are made one after the other, as few
        scenes are kept in memory."""
        assert self.ids is not None
        found: dict[str, int] = {}
        for number in range(self._count):
            if len(found) == len(wanted):
                break
            if (name := self.ids(number)) in wanted:
                found[name] = number
        order = sorted(found.values(), key=self.scenes) if self.scenes else found.values()
        made = {number: self._make(number) for number in order}
        return {name: made[number] for name, number in found.items()}


def task_id(tasks: Sequence[Task], number: int) -> str:
    """The id of a task, which is not made for it where the tasks know their ids."""
    if isinstance(tasks, DrawnTasks) and tasks.ids is not None:
        return tasks.ids(number)
    return tasks[number].episode.id


@dataclass(frozen=True, slots=True)
class Training:
    """The tasks that examples are drawn from, and the dataset that solves them.

    ``salt`` keeps the draw apart from other draws with the same seed. Published pools have none:
    tables were made with the bare seed.
    """

    dataset: Dataset
    tasks: Sequence[Task]
    salt: str = "demonstrations/"

    def rng(self, seed: int) -> random.Random:
        """What draws the examples."""
        return random.Random(f"{self.salt}{seed}" if self.salt else seed)


_DECIDING = ("core", "worlds", "datasets")
"""Packages whose text decides how long an expert's solutions are."""

MakeDemonstration = Callable[["Dataset", Task], Demonstration | None]
"""A dataset and one of its training tasks -> the task solved, None where it is not."""


class Dataset(ABC):
    """Episodes of one split. Built as ``cls(split, folder, settings)``.

    ``folder`` is the data folder, None for generated data; ``settings`` an instance of the frozen
    dataclass ``Settings``. A dataset sets ``family``, gives ``tasks`` and makes a :meth:`world` for
    each episode. The rest has defaults.

    ``tasks`` is every episode with its reference, in file order. ``files`` are the files it read,
    by name, for checksums. ``caveats`` are what every figure made here rests on, a short clause
    each: ``"walls and floors are inferred"``. Tables and pages repeat them. ``omissions`` counts
    the published records that were left out, by cause.

    A dataset whose tasks can be solved by a planner that sees the reference lists its ``solutions``
    and defines :meth:`make_plan`. Each family of worlds has a subclass that does so.
    """

    Settings: ClassVar[type[Any]] = NoSettings
    family: ClassVar[Family]
    """The family of its worlds, which decides on the metrics."""
    splits: ClassVar[tuple[str, ...]] = ("all",)
    """The names of its splits, the default first."""
    max_steps: ClassVar[int] = 30
    """The turns of each actor after which an episode is cut off."""
    folder: Any
    """A ``Path`` in a dataset of published files."""
    settings: Any
    """An instance of ``Settings``."""
    solutions: ClassVar[tuple[str, ...]] = ()
    """The kinds of plans, the one that in-context examples use first: ``"gold"`` (as published),
    ``"shortest"``, ``"expert"`` (planned from the goals)."""

    if TYPE_CHECKING:  # at runtime plain attributes, which a subclass may assign or compute

        @property
        def tasks(self) -> Sequence[Task]: ...
        @property
        def files(self) -> Mapping[str, Path]: ...
        @property
        def caveats(self) -> tuple[str, ...]: ...
        @property
        def omissions(self) -> Mapping[str, int]: ...

    else:
        files = omissions = MappingProxyType({})
        caveats = ()

    def __init__(self, split: str = "", folder: Path | None = None, settings: Any = None) -> None:
        """The default split and settings where none are given. Raises ``UsageError`` for a split
        that is not in ``splits``."""
        self.split, self.folder = split or self.splits[0], folder
        self.settings = self.Settings() if settings is None else settings
        if self.split not in self.splits:
            name = getattr(self, "name", type(self).__module__.rpartition(".")[2])
            raise UsageError(f"{name} has no split {split!r}; {suggest(split, list(self.splits))}")

    @abstractmethod
    def world(self, episode: Episode) -> World:
        """A new world for the episode (not yet reset). Heavy parts are shared and read-only."""

    def perceiver(self) -> Perceiver | None:
        """The perceiver that turns places into words, None if observations need none."""
        return None

    def succeeded(self, task: Task, trajectory: Trajectory) -> bool | None:
        """True if the episode was solved, None if that cannot be judged.

        Asked only where the family has no scorer of its own."""
        return None

    def make_plan(self, task: Task, world: World, actor: str, how: str) -> ActionPlan:
        """The result of :meth:`plan` for one of ``solutions``."""
        raise NotImplementedError

    def plan(self, task: Task, world: World, actor: str, how: str) -> ActionPlan:
        """How an actor solves the task from the world's present state, its stop included.

        Raises ``UsageError`` for a ``how`` that is not in ``solutions``, and for a task without a
        public answer; the plan raises ``PlanningFailed`` where it cannot go on.
        """
        if not self.solutions:
            raise UsageError(f"{type(self).__name__} solves no tasks: it has no solutions")
        if how not in self.solutions:
            known = " and ".join(self.solutions)
            raise UsageError(f"episode {task.episode.id} has no {how!r} solution, only {known}")
        return self.make_plan(task, world, actor, how)

    def training(self) -> Training:
        """Where examples are drawn from. Raises ``UsageError`` where there is no training split."""
        raise UsageError("this dataset has no solved examples to show; set shots=0")

    def solve(self, task: Task, how: str = "") -> tuple[Action, ...]:
        """The actions that solve a task for its first actor, the stop included.

        ``how`` is one of ``solutions``, the first by default. Raises ``PlanningFailed`` if the plan
        does not solve the task, and whatever :meth:`plan` raises.
        """
        game = Game(self.world(task.episode), task.episode)
        actor = game.world.actors[0]
        return game.actions(actor, self.plan(task, game.world, actor, how or self.solutions[0]))

    def expert_length(self, task: Task) -> int | None:
        """L*: how many actions :meth:`solve` takes, its stop included; None where it fails.

        It is a property of the task, so it is computed once: cached in this process, and in the
        cache folder where :meth:`decided_by` names what it depends on. None without ``solutions``.
        """
        if not self.solutions:
            return None
        episode = task.episode
        key = repr((episode.id, episode.scene, episode.actors, episode.start, task.reference))
        return self._lengths.get(key, lambda: self._length(task))

    def decided_by(self) -> str:
        """What decides how long solutions are, the task and the program text aside: settings,
        checksums of files. Empty where that is not known, so that nothing is kept on disk."""
        return ""

    def demonstrations(
        self, count: int, seed: int, make: MakeDemonstration | None = None
    ) -> Sequence[Demonstration]:
        """Solved training episodes, drawn by seed; where one cannot be solved, another is drawn.

        ``make`` solves one where :meth:`demonstration` is not to. Raises ``UsageError`` where there
        is no training split or it has fewer than ``count``.
        """
        training = self.training()
        solved = make or (lambda dataset, task: dataset.demonstration(task))
        dataset, tasks, rng = training.dataset, training.tasks, training.rng(seed)
        if count > len(tasks):
            raise UsageError(
                f"{count} examples were asked for and {len(tasks)} training episodes are here; "
                "lower shots"
            )
        chosen = rng.sample(range(len(tasks)), count)
        tried, found = set(chosen), [solved(dataset, tasks[number]) for number in chosen]
        while None in found and len(tried) < len(tasks):
            number = rng.choice([n for n in range(len(tasks)) if n not in tried])
            tried.add(number)
            found[found.index(None)] = solved(dataset, tasks[number])
        return [each for each in found if each is not None]

    def demonstration(self, task: Task) -> Demonstration | None:
        """A task with the actions that solve it; None where none are known."""
        try:
            actions = self.solve(task)
        except PlanningFailed:
            return None
        return Demonstration(task.episode, actions, lambda: self.world(task.episode))

    @cached_property
    def _lengths(self) -> Memo:
        own, kind = self.decided_by(), type(self)
        # The program text of a dataset from outside the tree is not looked at, so nothing is kept.
        if not own or not kind.__module__.startswith("wayword."):
            return Memo()
        told = f"{kind.__module__} {kind.__qualname__} {own} {source_checksum(*_DECIDING)}"
        return Memo(f"expert-{hashlib.sha256(told.encode()).hexdigest()[:16]}")

    def _length(self, task: Task) -> int | None:
        try:
            return len(self.solve(task))
        except PlanningFailed:
            return None


class Walkable(World):
    """A world with places and routes between them."""

    @abstractmethod
    def route(self, actor: str, goal: str) -> list[Action]:
        """A shortest route from where the actor is to a place, without the stop."""

    @abstractmethod
    def along(self, actor: str, path: Sequence[str]) -> list[Action]:
        """A path, its first place the present one, as actions that end in ``stop``."""


class SolvableWalks(Dataset):
    """Tasks whose reference is a path over places: ``gold`` is that path, ``shortest`` a shortest
    way to its end."""

    solutions: ClassVar[tuple[str, ...]] = ("gold", "shortest")

    def make_plan(self, task: Task, world: World, actor: str, how: str) -> ActionPlan:
        reference = task.reference
        if not isinstance(reference, PathReference):
            missing = "path to follow" if how == "gold" else "goal to go to"
            raise UsageError(f"episode {task.episode.id} has no published {missing}")
        if not isinstance(world, Walkable):
            raise UsageError(f"{type(world).__name__} has no route() and along() to walk paths by")
        path, goal, walked = reference.path, reference.goal, world
        if how == "gold":
            return listed(lambda: walked.along(actor, path))
        return listed(lambda: [*walked.route(actor, goal), STOP])


def listed(actions: Callable[[], Sequence[Action]]) -> ActionPlan:
    """A plan that needs no feedback; the actions are worked out when the first is asked for."""
    for action in actions():  # noqa: UP028 - `yield from` would send the feedback to a list
        yield action


def able(verbs: Mapping[str, Collection[str]], needed: Sequence[str], setting: str) -> list[str]:
    """The actors whose ``verbs`` are all that an expert needs.

    Raises ``UsageError`` where nobody has them; ``setting`` is the value of ``dataset.actions``
    that grants them.
    """
    missing = {actor: [v for v in needed if v not in own] for actor, own in verbs.items()}
    found = [actor for actor, verbs in missing.items() if not verbs]
    if not found:
        actor, lacking = next(iter(missing.items()))
        raise UsageError(
            f"the expert acts by low-level actions, and {actor} knows no {lacking[0]}; "
            f"set dataset.actions={setting}"
        )
    return found
