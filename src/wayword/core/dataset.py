"""Dataset: published files (or a generator) as episodes, references and worlds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol, overload, runtime_checkable

from wayword.core.agent import Demonstration
from wayword.core.episode import Episode, Reference
from wayword.core.family import Family
from wayword.core.perceiver import Perceiver
from wayword.core.world import World


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


@runtime_checkable
class Dataset(Protocol):
    """Episodes of one split. Built as ``cls(split, folder, settings)``.

    ``folder`` is the data folder, None for generated data; ``settings`` an instance of the frozen
    dataclass ``Settings``. ``family`` is that of its worlds, and says what the metrics are.
    ``splits`` lists the names it answers to, the default first.
    """

    Settings: ClassVar[type[Any]]
    family: ClassVar[Family]
    splits: ClassVar[tuple[str, ...]]
    max_steps: ClassVar[int]

    @property
    def tasks(self) -> Sequence[Task]:
        """Every episode with its reference, in file order."""
        ...

    @property
    def files(self) -> Mapping[str, Path]:
        """The files it read, for checksums: name -> path. Empty for generated data."""
        ...

    @property
    def caveats(self) -> tuple[str, ...]:
        """What every figure made here rests on, a short clause each: ``"walls and floors are
        inferred"``. Empty where worlds are exact. Tables, their JSON and pages repeat it."""
        ...

    def world(self, episode: Episode) -> World:
        """A fresh world for the episode (not yet reset). Heavy parts are shared and read-only."""
        ...

    def perceiver(self) -> Perceiver | None:
        """What turns places into words here, or None where observations say it all."""
        ...

    def demonstrations(self, count: int, seed: int) -> Sequence[Demonstration]:
        """Solved episodes of a training split. Raises ``UsageError`` where there is none."""
        ...


@runtime_checkable
class Incomplete(Protocol):
    """A dataset that cannot give every published episode."""

    @property
    def omissions(self) -> Mapping[str, int]:
        """How many records were left out, by cause."""
        ...


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
