"""Recipes: everything that decides about a training run, from YAML files and the command line.

Shipped recipes are in ``recipe_files/``. Settings of the command line replace single fields.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml

from wayword.core.errors import UsageError, suggest
from wayword.training.examples import Source
from wayword.training.labels import Method
from wayword.training.shape import Shape


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

    ``pieces``: epochs over single decisions (:mod:`~wayword.training.batches`) before all else,
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
    (:mod:`~wayword.training.student`), worth its minute of compiling where all weights of a small
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
    folder = files("wayword.training") / "recipe_files"
    return sorted(one.name.removesuffix(".yaml") for one in folder.iterdir() if ".yaml" in one.name)


def recipe(name: str, changes: Mapping[str, Any] | None = None) -> Recipe:
    """A shipped recipe by name, or a YAML file by path. Raises ``UsageError``."""
    path = Path(name)
    if path.suffix == ".yaml" and path.is_file():
        text = path.read_text(encoding="utf-8")
    elif name in names():
        text = (files("wayword.training") / "recipe_files" / f"{name}.yaml").read_text("utf-8")
    else:
        raise UsageError(f"no recipe is called {name!r}; {suggest(name, names())}")
    record = {**yaml.safe_load(text), **(changes or {})}
    tasks = [_task(name, one) for one in record.pop("tasks", [])]
    shape = _make(Shape, name, record.pop("shape", {}))
    words = [_make(Source, name, one) for one in record.pop("words", [])]
    made: Recipe = _make(Recipe, name, {**record, "tasks": tasks, "shape": shape, "words": words})
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


# What the command line asks for.

HELD_OUT = 20
"""Every so-and-so-th training episode is a dev episode where no dev split is named."""

TRAINED_WITH: Mapping[str, Mapping[str, Any]] = {
    "velma": {"shots": 0},
    "act": {"layout": "walk"},
}
"""Settings of an agent without which its prompt cannot be trained on, or would be long."""

DEV = 60
"""Dev episodes an evaluation plays at most."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The command's arguments."""

    agent: str
    on: Sequence[str] = ()
    dev: str = ""
    method: Method = "ft"
    name: str = "small"
    base: str = ""
    start: str = ""
    limit: int = 0
    changes: Mapping[str, Any] = field(default_factory=dict)

    def recipe(self) -> Recipe:
        """The named recipe with what was asked put on top. Raises ``UsageError``."""
        found = recipe(self.name, self.changes)
        rounds = 0 if self.method == "ft" else found.rounds or 2
        shape = replace(found.shape, base=self.base) if self.base else found.shape
        if self.start:
            shape = replace(shape, layers=0, merges=0, width=0)
            found = replace(found, words=())
        return replace(
            found,
            tasks=[self._task(found.tasks)],
            method=self.method,
            rounds=rounds,
            shape=shape,
            start=self.start or found.start,
        )

    def _task(self, known: Sequence[Task]) -> Task:
        own = [task for task in known if task.agent == self.agent]
        settings = own[0].settings if own else TRAINED_WITH.get(self.agent, {})
        if not self.on:
            if not own:
                raise UsageError(f"train {self.agent}: name a training split with --on")
            return own[0]
        held = 0 if self.dev else HELD_OUT
        sources = [Source(on, limit=self.limit, skip=held, area=_area(on)) for on in self.on]
        dev = Source(self.dev or self.on[0], limit=DEV, only=held, area=_area(self.on[0]))
        return Task(self.agent, sources, replace(dev, area="") if self.dev else dev, settings)


def _area(on: str) -> str:
    """Map2seq's *seen* files hold routes that leave the training area; only the others count."""
    return "seen" if on.startswith("map2seq:seen_") else ""
