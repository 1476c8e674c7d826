"""Everything that decides about a training run, from a YAML file in this folder or a user's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import yaml

from recipes.language.shape import Shape
from wayword.core import dataset as core
from wayword.core import registry
from wayword.core.errors import UsageError, suggest
from wayword.settings import make
from wayword.training.examples import Method

HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Source:
    """A dataset to learn from: ``data`` is ``name:split``, ``settings`` its own.

    ``limit``: number of episodes, from the first (0: all). ``scenes`` keeps or, with ``leave_out``,
    drops scenes; ``area`` keeps the routes wholly in an area of a street graph (``seen``).
    ``skip`` leaves out every N-th episode, ``only`` keeps just these: a split in two parts.
    """

    data: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    limit: int = 0
    scenes: Sequence[str] = ()
    leave_out: Sequence[str] = ()
    area: str = ""
    skip: int = 0
    only: int = 0

    def open(self, folder: Path | None) -> tuple[core.Dataset, list[core.Task]]:
        """The dataset and the selected tasks. Raises ``UsageError``, ``DataError``."""
        name, _, split = self.data.partition(":")
        cls = registry.load("dataset", name)
        settings = make(cls.Settings, self.settings, name)
        dataset: core.Dataset = cls(split or cls.splits[0], folder, settings)
        listed: Sequence[core.Task] = dataset.tasks
        if self.area:
            if not hasattr(dataset, "in_area"):
                raise UsageError(f"{self.data}: has no areas")
            listed = dataset.in_area(self.area)
        tasks = []
        for number in range(len(listed)):
            if (self.skip and number % self.skip == 0) or (
                self.only and number % self.only
            ):
                continue  # before the task is looked at: some are made only then
            task = listed[number]
            scene = task.episode.scene
            if (
                not self.scenes or scene in self.scenes
            ) and scene not in self.leave_out:
                tasks.append(task)
        if not tasks:
            raise UsageError(f"{self.data}: no episodes left to learn from")
        return dataset, tasks[: self.limit or None]


@dataclass(frozen=True, slots=True)
class Task:
    """What one agent learns from: ``sources`` to train on, ``dev`` to choose by."""

    agent: str
    sources: Sequence[Source]
    dev: Source
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Recipe:
    """All that decides about a training run.

    ``pieces``: epochs over single decisions (:mod:`recipes.language.batches`) before all else,
    in batches of four times as many. ``epochs`` over the gold walks; then ``rounds`` of student
    walks, one epoch each, with ``walks`` own walks a task, and ``mix`` times as many gold ones
    (VELMA's lambda of 0.5 is ``mix`` 1; its student walks with the newest weights, ours with
    those of the round's start). ``batch`` sequences a step, read in parts of at most ``tokens``
    tokens; longer ones than ``length`` are left out. ``warm_up`` is a fraction of all steps;
    the rate then falls linearly to zero. ``start`` goes on from a ``best/`` folder instead of
    the base. ``words``: datasets whose instructions and captions keep their tokens where the
    student's are cut down. ``language`` weighs the loss of all the text against that of the
    choices. ``mirror``: every epoch draws each walk as it was or with left and right exchanged.
    ``near``: where the agent is asked whether the last clause is done, yes is right wherever a stop
    counts as success, not at the goal alone; gold walks go on to the goal all the same.
    ``evaluate`` and ``checkpoint``: steps and seconds between. ``patience``: evaluations without a
    better dev score before it stops (0: never). ``compiled``: a forward pass made for the machine
    (:mod:`recipes.language.student`), worth its minute of compiling where all weights of a small
    network are trained on a CPU. ``together``: how many episodes the student plays at once, dev
    ones and its own walks. On a GPU hundreds cost little more than one; on a CPU keep 1, as several
    read whole prompts anew at every question and one reads only what is new.
    """

    tasks: Sequence[Task]
    shape: Shape = field(default_factory=Shape)
    method: Method = "ft"
    start: str = ""
    words: Sequence[Source] = ()
    pieces: float = 0.0
    epochs: float = 3.0
    rounds: int = 0
    walks: int = 500
    mix: float = 1.0
    batch: int = 8
    tokens: int = 6000
    length: int = 1536
    rate: float = 3e-4
    decay: float = 0.01
    warm_up: float = 0.1
    clip: float = 1.0
    language: float = 0.0
    mirror: bool = False
    near: bool = False
    seed: int = 0
    evaluate: int = 200
    checkpoint: float = 180.0
    patience: int = 0
    threads: int = 1
    compiled: bool = False
    together: int = 1


def names() -> list[str]:
    """The shipped recipes."""
    return sorted(path.stem for path in HERE.glob("*.yaml"))


def recipe(name: str, changes: Mapping[str, Any] | None = None) -> Recipe:
    """A shipped recipe by name, or a YAML file by path. Raises ``UsageError``."""
    path = Path(name)
    if path.suffix == ".yaml" and path.is_file():
        text = path.read_text(encoding="utf-8")
    elif name in names():
        text = (HERE / f"{name}.yaml").read_text("utf-8")
    else:
        raise UsageError(f"no recipe is called {name!r}; {suggest(name, names())}")
    record = {**yaml.safe_load(text), **(changes or {})}
    tasks = [_task(name, one) for one in record.pop("tasks", [])]
    shape = _make(Shape, name, record.pop("shape", {}))
    words = [_make(Source, name, one) for one in record.pop("words", [])]
    made: Recipe = _make(
        Recipe, name, {**record, "tasks": tasks, "shape": shape, "words": words}
    )
    return made


def _task(name: str, record: Mapping[str, Any]) -> Task:
    known = dict(record)
    sources = [_make(Source, name, one) for one in known.pop("sources", [])]
    dev = _make(Source, name, known.pop("dev", {}))
    made: Task = _make(Task, name, {**known, "sources": sources, "dev": dev})
    return made


def _make(cls: Any, name: str, record: Mapping[str, Any]) -> Any:
    known = [one.name for one in fields(cls)]
    for key in record:
        if key not in known:
            raise UsageError(
                f"recipe {name}: {cls.__name__.lower()} has no field {key!r}; {suggest(key, known)}"
            )
    try:
        return cls(**record)
    except TypeError as error:
        raise UsageError(f"recipe {name}: {error}") from None
