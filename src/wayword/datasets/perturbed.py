"""Perturbations by seed, of any dataset: ``wayword run … --perturb typos=0.1``.

Each leaves the reference as it is, and the episode solvable by the dataset's expert, which repeats
actions that fail. The same settings give the same changes, so a recorded run replays.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from itertools import pairwise
from random import Random
from typing import Annotated, Any

import numpy as np
from annotated_types import Ge, Le

from wayword.core.action import STOP, Action
from wayword.core.dataset import DrawnTasks, Task, of_ids
from wayword.core.episode import Episode, PathReference
from wayword.core.errors import UsageError
from wayword.core.perceiver import Percept, need
from wayword.core.world import SLIPPED, Feedback, World
from wayword.datasets.procedural.tables import Table
from wayword.worlds.indoor.graph import ViewpointGraph, build

Rate = Annotated[float, Ge(0), Le(1)]
_table: Callable[[str], Table[tuple[str, ...]]] = partial(Table, "perturbations")


@dataclass(frozen=True, slots=True)
class Perturbations:
    """Rates from 0 to 1, drawn by ``seed``. Of the instruction: ``typos`` in words of four letters
    or more, ``paraphrase`` of known phrases, ``landmarks`` by another name. Of the
    observation of a place: ``captions_missing``, ``captions_wrong`` (those of another direction),
    and ``orders``, a sign in the scene that gives orders. ``doors``: blocked passages off the
    reference path. ``failing``: actions, except ``stop``, that change nothing."""

    typos: Rate = 0.0
    paraphrase: Rate = 0.0
    landmarks: Rate = 0.0
    captions_missing: Rate = 0.0
    captions_wrong: Rate = 0.0
    orders: Rate = 0.0
    doors: Rate = 0.0
    failing: Rate = 0.0
    seed: int = 0

    def rng(self, *key: object) -> Random:
        """Return the random generator of one draw."""
        return Random("/".join(map(str, (self.seed, *key))))

    def active(self) -> dict[str, float]:
        """Return the rates above 0, and the seed if it is not 0."""
        return {name: rate for name, rate in asdict(self).items() if rate}


def perturbed(base: Any, how: Perturbations) -> Any:
    """Return the dataset's class with perturbed episodes, worlds and percepts."""
    words = ", ".join(f"{name}={rate:g}" for name, rate in how.active().items())

    class Perturbed(base):  # type: ignore[misc]
        @cached_property
        def tasks(self) -> Sequence[Task]:
            tasks: Sequence[Task] = super().tasks
            if not isinstance(tasks, DrawnTasks):
                return [_reworded(task, how) for task in tasks]
            make = lambda number: _reworded(tasks[number], how)  # noqa: E731
            return DrawnTasks(len(tasks), make, tasks.ids, tasks.scenes)

        def perceiver(self) -> Any:
            if not (how.captions_missing or how.captions_wrong or how.orders):
                return super().perceiver()
            other: Any = copy.copy(need(super().perceiver(), "perceive", f"--perturb {words}"))
            other.__class__, other.name = _misled(type(other), how), f"{other.name}, {words}"
            return other

        def world(self, episode: Episode) -> World:
            world: World = super().world(episode)
            if how.doors:
                (task,) = of_ids(self.tasks, {episode.id}).values()
                vars(world)["graph"] = _shut(getattr(world, "graph", None), task, how)
            world.__class__ = _failing(type(world), how) if how.failing else type(world)
            return world

        def decided_by(self) -> str:
            return f"{known} {how!r}" if (known := super().decided_by()) else ""

    Perturbed.__name__, Perturbed.__qualname__ = base.__name__, base.__qualname__
    return Perturbed


def _reworded(task: Task, how: Perturbations) -> Task:
    """Return the task with its instructions perturbed, including those of single actors."""
    episode, extra = task.episode, task.episode.extra.copy()

    def change(text: str) -> str:
        for kind in ("paraphrase", "landmarks"):
            text = _renamed(text, kind, getattr(how, kind), how.rng(kind, episode.id, text))
        return _mistyped(text, how.typos, how.rng("typos", episode.id, text))

    if isinstance(texts := extra.get("instructions"), dict):
        extra["instructions"] = {actor: change(text) for actor, text in texts.items()}
    instruction = change(episode.instruction)
    return replace(task, episode=replace(episode, instruction=instruction, extra=extra))


def _renamed(text: str, table: str, rate: float, rng: Random) -> str:
    """Replace the table's phrases at that rate, keeping a capital at the start."""
    choices = {key.lower(): value for key, value in _table(table).items()}

    def other(match: re.Match[str]) -> str:
        new: str = rng.choice(choices[match[0].lower()])
        new = new[0].upper() + new[1:] if match[0][0].isupper() else new
        return new if rng.random() < rate else match[0]

    keys = "|".join(re.escape(key) for key in sorted(choices, key=len, reverse=True))
    return re.sub(rf"\b(?:{keys})\b", other, text, flags=re.IGNORECASE) if rate else text


def _mistyped(text: str, rate: float, rng: Random) -> str:
    """Drop, double or swap a letter in that share of the words."""

    def typo(match: re.Match[str]) -> str:
        word, at = match[0], rng.randrange(1, len(match[0]) - 1)
        before, here, after = word[:at], word[at], word[at + 1 :]
        forms = (before + after, before + here + here + after, before + after[0] + here + after[1:])
        return rng.choice([form for form in forms if form != word]) if rng.random() < rate else word

    return re.sub(r"[^\W\d_]{4,}", typo, text)


def _misled(base: Any, how: Perturbations) -> Any:
    """Return the perceiver's class with captions missing or wrong, and with orders in the scene."""

    class Misled(base):  # type: ignore[misc]
        def perceive(self, scene: str, place: str) -> Percept:
            percept: Percept = super().perceive(scene, place)
            sectors = list(percept.sectors)
            for number, part in enumerate(percept.sectors):
                rng = how.rng("captions", scene, place, number)
                if rng.random() < how.captions_missing:
                    sectors[number] = replace(part, caption="", sightings=())
                elif rng.random() < how.captions_wrong:
                    other = percept.sectors[(number + len(sectors) // 2) % len(sectors)]
                    sectors[number] = replace(part, caption=other.caption)
            rng = how.rng("orders", scene, place)
            if sectors and rng.random() < how.orders:
                number, sign = rng.randrange(len(sectors)), rng.choice(_table("orders")["signs"])
                text = f"{sectors[number].caption.rstrip('. ')}. {sign}".removeprefix(". ")
                sectors[number] = replace(sectors[number], caption=text)
            return Percept(tuple(sectors), percept.summary if sectors == [*percept.sectors] else "")

    return Misled


def _shut(graph: Any, task: Task, how: Perturbations) -> ViewpointGraph:
    """Return the graph without randomly drawn passages that are off the reference path."""
    if not isinstance(graph, ViewpointGraph) or not isinstance(task.reference, PathReference):
        raise UsageError("--perturb doors needs a dataset of indoor routes; remove doors")
    kept, rows = {frozenset(pair) for pair in pairwise(task.reference.path)}, []
    for start, end in graph.edges.tolist():
        ends = frozenset((graph.ids[start], graph.ids[end]))
        draw = how.rng("doors", task.episode.id, *sorted(ends)).random()
        rows += [(start, end)] if ends in kept or draw >= how.doors else []
    edges = np.array(rows, dtype=np.int32).reshape(-1, 2)
    return build(graph.scan, graph.ids, graph.positions, edges)


def _failing(base: Any, how: Perturbations) -> Any:
    """Return the world's class with actions that fail by chance."""

    class Failing(base):  # type: ignore[misc]
        def reset(self, episode: Episode) -> None:
            super().reset(episode)
            self._tried, self._drawn_for = dict.fromkeys(self.actors, 0), episode.id

        def step(self, actor: str, action: Action) -> Feedback:
            self._tried[actor] += 1
            key = self._drawn_for, actor, self._tried[actor]
            draw = how.rng("failing", *key).random()
            slips = action.name != STOP.name and draw < how.failing
            return (
                Feedback(SLIPPED, {"action": action.name}) if slips else super().step(actor, action)
            )

    return Failing
