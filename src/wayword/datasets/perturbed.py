"""Seeded perturbations of any dataset: ``wayword run … --perturb typos=0.1``.

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
from typing import Annotated, Any, Literal

import numpy as np
from annotated_types import Ge, Le

from wayword.core.action import STOP, Action
from wayword.core.dataset import DrawnTasks, Task, of_ids
from wayword.core.episode import Episode, PathReference
from wayword.core.errors import UsageError
from wayword.core.geometry import absolute, sector
from wayword.core.model import Image
from wayword.core.perceiver import Perceiver, Percept, need
from wayword.core.world import SLIPPED, Feedback, World
from wayword.datasets.procedural.tables import Table
from wayword.perception.panorama import blank
from wayword.worlds.indoor.graph import ViewpointGraph, build

Rate = Annotated[float, Ge(0), Le(1)]
_table: Callable[[str], Table[tuple[str, ...]]] = partial(Table, "perturbations")


@dataclass(frozen=True)
class Perturbations:
    """Rates from 0 to 1, drawn by ``seed``.

    Of the instruction: ``typos`` in words of four letters or more, ``paraphrase`` of
    known phrases, ``landmarks`` by another name. Of the observation of a place:
    ``captions_missing`` and ``captions_wrong`` (those of the opposite direction), both
    of words and of pictures, and ``orders``, a sign in the scene that gives orders.
    ``doors``: blocked passages off the reference path. ``failing``: actions, except
    ``stop``, that change nothing.
    """

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
        """Return the random generator of one draw: the same for the same seed and ``key``."""
        return Random("/".join(map(str, (self.seed, *key))))

    def change_of_sight(
        self,
        scene: str,
        place: str,
        sector: int,
    ) -> Literal["missing", "wrong", ""]:
        """Return what happens to the words and the picture of a direction."""
        rng = self.rng("captions", scene, place, sector)
        if rng.random() < self.captions_missing:
            return "missing"
        if rng.random() < self.captions_wrong:
            return "wrong"
        return ""

    def active(self) -> dict[str, float]:
        """Return the rates above 0, and the seed if it is not 0."""
        return {name: rate for name, rate in asdict(self).items() if rate}


def perturbed(base: Any, rates: Perturbations) -> Any:
    """Return a subclass of the dataset's class ``base``, with perturbed tasks, worlds and percepts.

    References stay as they are. With rates of captions or orders, ``perceiver`` raises
    ``UsageError`` if the dataset has none; with doors, ``world`` does so without an
    indoor path.
    """
    # The rates by name: errors and the perceiver's name repeat what the user set.
    words = ", ".join(f"{name}={rate:g}" for name, rate in rates.active().items())

    class Perturbed(base):  # type: ignore[misc]
        @cached_property
        def tasks(self) -> Sequence[Task]:
            """Tasks with perturbed instructions; drawn ones stay lazy."""
            tasks: Sequence[Task] = super().tasks
            if not isinstance(tasks, DrawnTasks):
                return [_perturbed_task(task, rates) for task in tasks]
            make = lambda number: _perturbed_task(tasks[number], rates)  # noqa: E731
            return DrawnTasks(
                len(tasks),
                make,
                tasks.ids,
                tasks.scenes,
            )

        def perceiver(self) -> Any:
            """Return the dataset's perceiver, with missing or wrong captions, or signs."""
            if not (rates.captions_missing or rates.captions_wrong or rates.orders):
                return super().perceiver()
            other: Any = copy.copy(
                need(super().perceiver(), "perceive", f"--perturb {words}")
            )
            # A copy of another class keeps the state that the dataset gave its perceiver.
            other.__class__ = _perturbed_perceiver(type(other), rates)
            other.name = f"{other.name}, {words}"
            return other

        def world(self, episode: Episode) -> World:
            """Return the dataset's world, with closed passages and failing actions if
            the rates say so.
            """
            world: World = super().world(episode)
            if rates.doors:
                (task,) = of_ids(self.tasks, {episode.id}).values()
                # Set by name: only worlds of viewpoints declare a graph.
                vars(world)["graph"] = _close_passages(
                    getattr(world, "graph", None),
                    task,
                    rates,
                )
            if rates.failing:
                world.__class__ = _failing_world(type(world), rates)
            return world

        def decided_by(self) -> str:
            """Return the key of the expert's answers, which depend on the rates as well.

            Empty if the dataset has no key.
            """
            return f"{base_key} {rates!r}" if (base_key := super().decided_by()) else ""

    Perturbed.__name__ = base.__name__
    Perturbed.__qualname__ = base.__qualname__
    return Perturbed


def _perturbed_task(task: Task, rates: Perturbations) -> Task:
    """Return the task with its instructions perturbed, including those of single actors."""
    episode = task.episode
    extra = task.episode.extra.copy()

    def change(text: str) -> str:
        """Return a text with replaced phrases, then typing errors: the order is part of
        the seed."""
        for kind in ("paraphrase", "landmarks"):
            rng = rates.rng(kind, episode.id, text)
            text = _replace_phrases(text, kind, getattr(rates, kind), rng)
        return _add_typos(text, rates.typos, rates.rng("typos", episode.id, text))

    if isinstance(texts := extra.get("instructions"), dict):
        extra["instructions"] = {actor: change(text) for actor, text in texts.items()}
    instruction = change(episode.instruction)
    return replace(task, episode=replace(episode, instruction=instruction, extra=extra))


def _replace_phrases(
    text: str,
    table: str,
    rate: float,
    rng: Random,
) -> str:
    """Replace the table's phrases at that rate, keeping a capital at the start.

    ``rng`` draws for each phrase found, in the order of the text.
    """
    choices = {key.lower(): value for key, value in _table(table).items()}

    def other(match: re.Match[str]) -> str:
        """Return another phrase of the same set, keeping a capital at its start."""
        new: str = rng.choice(choices[match[0].lower()])
        new = new[0].upper() + new[1:] if match[0][0].isupper() else new
        return new if rng.random() < rate else match[0]

    keys = "|".join(re.escape(key) for key in sorted(choices, key=len, reverse=True))
    if rate:
        return re.sub(rf"\b(?:{keys})\b", other, text, flags=re.IGNORECASE)
    return text


def _add_typos(text: str, rate: float, rng: Random) -> str:
    """Drop, double or swap a letter in that share of the words of four letters or more."""

    def typo(match: re.Match[str]) -> str:
        """Return a word with one typing error inside: first and last letters stay."""
        word = match[0]
        at = rng.randrange(1, len(match[0]) - 1)
        before = word[:at]
        letter = word[at]
        after = word[at + 1 :]
        swapped = before + after[0] + letter + after[1:]
        forms = before + after, before + 2 * letter + after, swapped
        if rng.random() < rate:
            return rng.choice([form for form in forms if form != word])
        return word

    return re.sub(r"[^\W\d_]{4,}", typo, text)


def _perturbed_perceiver(base: Any, rates: Perturbations) -> Any:
    """Return a subclass of the perceiver's class ``base``, so that it keeps all other abilities.

    Each direction of a place has one draw, which its words and its picture share: they
    are missing or wrong together. A place has at most one sign. Draws depend on scene
    and place, not on the order of calls.
    """

    class PerturbedPerceiver(base):  # type: ignore[misc]
        def perceive(self, scene: str, place: str) -> Percept:
            """Return a percept with missing or wrong captions, and a sign that gives orders."""
            percept: Percept = super().perceive(scene, place)
            sectors = list(percept.sectors)
            # Wrong captions are those of the opposite direction; the sightings stay.
            for number, part in enumerate(percept.sectors):
                change = rates.change_of_sight(scene, place, number)
                if change == "missing":
                    sectors[number] = replace(part, caption="", sightings=())
                elif change == "wrong":
                    other = percept.sectors[(number + len(sectors) // 2) % len(sectors)]
                    sectors[number] = replace(part, caption=other.caption)
            # A sign stands in one direction, behind the caption that is left there.
            rng = rates.rng("orders", scene, place)
            if sectors and rng.random() < rates.orders:
                number = rng.randrange(len(sectors))
                sign = rng.choice(_table("orders")["signs"])
                text = f"{sectors[number].caption.rstrip('. ')}. {sign}".removeprefix(
                    ". "
                )
                sectors[number] = replace(sectors[number], caption=text)
            # A summary would repeat what was removed from the directions.
            return Percept(
                tuple(sectors),
                percept.summary if sectors == [*percept.sectors] else "",
            )

    class PerturbedPictures(PerturbedPerceiver):
        def picture(
            self,
            scene: str,
            place: str,
            heading: float,
            width: float,
            elevation: float = 0.0,
        ) -> Image:
            """Return the picture of what the words say: none of a missing direction, and that
            of the opposite direction where the words are wrong."""
            sectors = len(super().perceive(scene, place).sectors)
            change = rates.change_of_sight(scene, place, sector(heading, sectors))
            if change == "wrong":
                heading = absolute(heading + 180.0)
            image: Image = super().picture(
                scene,
                place,
                heading,
                width,
                elevation,
            )
            return blank(image) if change == "missing" else image

    # A perceiver without pictures must not seem to have them.
    shows_pictures = base.picture is not Perceiver.picture
    return PerturbedPictures if shows_pictures else PerturbedPerceiver


def _close_passages(graph: Any, task: Task, rates: Perturbations) -> ViewpointGraph:
    """Return the graph without randomly drawn passages that are off the reference path.

    Raises ``UsageError`` for another graph, or a task without a path.
    """
    if not isinstance(graph, ViewpointGraph) or not isinstance(
        task.reference,
        PathReference,
    ):
        raise UsageError(
            "--perturb doors needs a dataset of indoor routes; remove doors"
        )
    path_edges = {frozenset(pair) for pair in pairwise(task.reference.path)}
    rows = []
    for start, end in graph.edges.tolist():
        ends = frozenset((graph.ids[start], graph.ids[end]))
        draw = rates.rng("doors", task.episode.id, *sorted(ends)).random()
        rows += [(start, end)] if ends in path_edges or draw >= rates.doors else []
    edges = np.array(rows, dtype=np.int32).reshape(-1, 2)
    return build(graph.scan, graph.ids, graph.positions, edges)


def _failing_world(base: Any, rates: Perturbations) -> Any:
    """Return a subclass of the world's class in which some actions have no effect."""

    class FailingWorld(base):  # type: ignore[misc]
        def reset(self, episode: Episode) -> None:
            """Start an episode, and its draws of failures."""
            super().reset(episode)
            self._tried = dict.fromkeys(self.actors, 0)
            self._drawn_for = episode.id

        def step(self, actor: str, action: Action) -> Feedback:
            """Carry out an action unless it is drawn to fail; stops never fail."""
            self._tried[actor] += 1
            key = self._drawn_for, actor, self._tried[actor]
            draw = rates.rng("failing", *key).random()
            if action.name != STOP.name and draw < rates.failing:
                return Feedback(SLIPPED, {"action": action.name})
            feedback: Feedback = super().step(actor, action)
            return feedback

    return FailingWorld
