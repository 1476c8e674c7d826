"""Solving: the actions that solve a task, which oracles, examples and the expert's length share.

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
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Protocol, runtime_checkable

from wayword.core.action import STOP, Action
from wayword.core.agent import Demonstration
from wayword.core.dataset import Dataset, Task
from wayword.core.episode import Episode, PathReference
from wayword.core.errors import UsageError
from wayword.core.files import Memo, source_checksum
from wayword.core.replay import ActionPlan, PlanningFailed, follow
from wayword.core.world import World


@dataclass(frozen=True, slots=True)
class Training:
    """The tasks that examples are drawn from, and the dataset that solves them.

    ``salt`` keeps the draw apart from other draws with the same seed. Published pools have none:
    tables were made with the bare seed.
    """

    dataset: Solvable
    tasks: Sequence[Task]
    salt: str = "demonstrations/"

    def rng(self, seed: int) -> random.Random:
        """What draws the examples."""
        return random.Random(f"{self.salt}{seed}" if self.salt else seed)


_DECIDING = ("core", "worlds", "datasets")
"""Packages whose text decides how long an expert's solutions are."""

MakeDemonstration = Callable[["Solvable", Task], Demonstration | None]
"""A dataset and one of its training tasks -> the task solved, None where it is not."""


class Solvable(ABC):
    """A dataset whose tasks can be solved by a planner that sees the reference.

    Each family of worlds has a subclass that makes the plans, and its datasets inherit from it.
    ``solutions`` lists the kinds of plans, the one that in-context examples use first: ``"gold"``
    (as published), ``"shortest"``, ``"expert"`` (planned from the goals).
    """

    solutions: ClassVar[tuple[str, ...]]

    @abstractmethod
    def world(self, episode: Episode) -> World:
        """A fresh world for the episode."""

    @abstractmethod
    def make_plan(self, task: Task, world: World, actor: str, how: str) -> ActionPlan:
        """What :meth:`plan` returns for one of ``solutions``."""

    def plan(self, task: Task, world: World, actor: str, how: str) -> ActionPlan:
        """How an actor solves the task from the world's present state, its stop included.

        Raises ``UsageError`` for a ``how`` that is not in ``solutions``, and for a task without a
        public answer; the plan raises ``PlanningFailed`` where it cannot go on.
        """
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
        world = self.world(task.episode)
        world.reset(task.episode)
        actor = world.actors[0]
        turns = follow(world, actor, self.plan(task, world, actor, how or self.solutions[0]))
        return tuple(turn.action for turn in turns if turn.action is not None)

    def expert_length(self, task: Task) -> int | None:
        """L*: how many actions :meth:`solve` takes, its stop included; None where it fails.

        It is a property of the task, so it is worked out once: kept in this process, and in the
        cache folder where :meth:`decided_by` tells what it depends on.
        """
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


@runtime_checkable
class Walkable(World, Protocol):
    """A world with places and ways between them."""

    def route(self, actor: str, goal: str) -> list[Action]:
        """A shortest way from where the actor is to a place, without the stop."""
        ...

    def along(self, actor: str, path: Sequence[str]) -> list[Action]:
        """A path, its first place the present one, as actions that end in ``stop``."""
        ...


class SolvableWalks(Solvable):
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


def plan_of(dataset: Dataset, task: Task, world: World, actor: str, how: str) -> ActionPlan:
    """How a dataset solves a task from here. Raises ``UsageError`` where it solves none."""
    if not isinstance(dataset, Solvable):
        raise UsageError(f"{type(dataset).__name__} solves no tasks: it is not a Solvable")
    return dataset.plan(task, world, actor, how)
