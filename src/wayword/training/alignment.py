"""Which clause of an instruction belongs to which step of the gold path.

Generated places know it: their instructions are written stretch by stretch, and a dataset with
``narrated(task)`` tells where in the text each stretch begins and at which place of the path it
ends. Published instructions have no such record. For walks indoors the clauses are laid along the
path in order (dynamic programming), by plain features: a turn that is told and made, stairs that
are told and climbed, words of the clause that the captions have, an even spread. In streets a
clause that tells a turn ends where that turn is made, and the others share what lies between.
Nothing of this is known to an agent; it makes labels for training only.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from wayword.agents.parts.clauses import Clause
from wayword.agents.parts.legs import legs
from wayword.agents.walker import STEEP
from wayword.core.action import Action
from wayword.core.dataset import Dataset, Task
from wayword.core.episode import PathReference
from wayword.core.geometry import relative, sector
from wayword.worlds.indoor.graph import ViewpointGraph
from wayword.worlds.street.graph import StreetGraph


@dataclass(frozen=True, slots=True)
class Laid:
    """Clauses laid along a path: for each, from 1, the index of the last place it is followed at.

    The place where a clause ends belongs to the next one.
    """

    ends: tuple[int, ...]

    def at(self, place: int) -> int:
        """The clause, from 1, that is followed at a place of the path (its index)."""
        return min(1 + sum(end <= place for end in self.ends), len(self.ends))


Narrated = Callable[[Sequence[Clause], int], Laid]
"""The agent's clauses and the number of the gold path's places -> the clauses laid along it."""


@runtime_checkable
class Narrator(Protocol):
    """A dataset whose instructions are written stretch by stretch."""

    def narrated(self, task: Task) -> Sequence[tuple[int, int]]:
        """For each stretch, the character where its words begin, and the path index of its end."""
        ...


def narrated(dataset: Dataset, task: Task, clauses: Sequence[Clause], places: int) -> Laid:
    """The clauses laid along the task's gold path; by their lengths if nothing else tells how."""
    if isinstance(dataset, Narrator):
        return _from_stretches(clauses, dataset.narrated(task))
    graph = getattr(dataset, "graph", None)
    perceiver = dataset.perceiver()
    reference = task.reference
    walked = graph(task.episode.scene) if graph is not None else None
    if isinstance(walked, StreetGraph):
        actions = dataset.solve(task) if dataset.solutions else ()
        return by_turns(clauses, turns_made(actions), places)
    if not isinstance(walked, ViewpointGraph) or not isinstance(reference, PathReference):
        return _spread(clauses, places)
    if perceiver is None:
        return _spread(clauses, places)
    heading = float(task.episode.start.get("heading", 0.0))  # type: ignore[arg-type]
    steps = _steps(walked, perceiver, task.episode.scene, reference.path, heading)
    return aligned(clauses, steps)


def _spread(clauses: Sequence[Clause], places: int) -> Laid:
    """Every clause as long as its share of the words."""
    sizes = np.cumsum([max(1, len(clause.text)) for clause in clauses])
    return Laid(tuple(round(share * (places - 1)) for share in (sizes / sizes[-1]).tolist()))


def _from_stretches(clauses: Sequence[Clause], stretches: Sequence[tuple[int, int]]) -> Laid:
    """Each clause ends with the last stretch that begins before the next clause does.

    Clauses that share a stretch divide its places evenly.
    """
    nexts = [clause.begin for clause in clauses[1:]]
    last = [max(i for i, (begin, _) in enumerate(stretches) if i == 0 or begin < following)
            for following in nexts] + [len(stretches) - 1]  # fmt: skip
    ends: list[int] = []
    for number, stretch in enumerate(last):
        sharing = [n for n, other in enumerate(last) if other == stretch]
        first = stretches[stretch - 1][1] if stretch else 0
        if len(sharing) > 1 and sharing[0] and last[sharing[0] - 1] < stretch - 1:
            first = stretches[last[sharing[0] - 1]][1]
        whole = stretches[stretch][1] - first
        part = (sharing.index(number) + 1) / len(sharing)
        ends.append(first + round(whole * part))
    return Laid(tuple(ends))


# Streets: a turn that is told is one that is made, in order.


def turns_made(actions: Sequence[Action]) -> list[tuple[int, str]]:
    """The turns of a walk: how many panoramas it had left behind, and the side."""
    made, place = [], 0
    for before, action in pairwise([Action(""), *actions]):
        if action.name in ("left", "right") and before.name != action.name:
            made.append((place, action.name))
        place += action.name == "forward"
    return made


def by_turns(clauses: Sequence[Clause], made: Sequence[tuple[int, str]], places: int) -> Laid:
    """Each clause that ends in a turn ends where that turn is made; others share what lies between.

    Runs of turns to the same sides are matched, the longest first, in order; a clause whose turn
    is matched with none counts as one without. ``places``: how many the path has.
    """
    told = [(number, side) for number, clause in enumerate(clauses) if (side := _side(clause))]
    ends = {len(clauses) - 1: places - 1}
    sides = [side for _, side in told], [side for _, side in made]
    for run in SequenceMatcher(None, *sides, autojunk=False).get_matching_blocks():
        for n in range(run.size):
            ends.setdefault(told[run.a + n][0], made[run.b + n][0])
    laid: list[int] = []
    before, began = 0, 0
    for last in sorted(ends):
        sizes = np.cumsum([max(1, len(one.text)) for one in clauses[began : last + 1]])
        stretch = max(ends[last], before) - before
        laid += [before + round(share * stretch) for share in (sizes / sizes[-1]).tolist()]
        before, began = laid[-1], last + 1
    return Laid(tuple(laid))


def _side(clause: Clause) -> str:
    """``left`` or ``right`` where a clause ends in a turn to that side; else nothing."""
    return legs(clause.text)[0].turn


# Instructions without a record: clauses and steps matched by what both speak of.


@dataclass(frozen=True, slots=True)
class GoldStep:
    """One step of a gold path: its turn and slope (degrees), and the words around it."""

    turn: float
    slope: float
    words: frozenset[str]
    ahead: frozenset[str]


_WORD = re.compile(r"[a-z]{3,}")
_DULL = """
    the and you your then into through past with from that there turn left right walk straight
    room stop wait head until when reach side end way front next down are will see area
"""


def _steps(
    graph: ViewpointGraph, perceiver: Any, scene: str, path: Sequence[str], heading: float
) -> list[GoldStep]:
    steps, facing = [], heading
    for here, there in pairwise(path):
        bearing, slope, _ = graph.bearing(here, there)
        sectors = perceiver.perceive(scene, here).sectors
        view = sectors[sector(bearing, len(sectors))]
        arrived = perceiver.perceive(scene, there)
        things = (thing.name for part in arrived.sectors for thing in part.sightings)
        around = _content(" ".join([arrived.summary, *things]))
        told = _content(" ".join([view.caption, *(thing.name for thing in view.sightings)]))
        steps.append(GoldStep(relative(bearing, facing), slope, around, told))
        facing = bearing
    return steps


def _content(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.lower())) - frozenset(_DULL.split())


def _fit(clause: str, step: GoldStep) -> float:
    """How well a clause tells a step; the terms' weights are set by hand."""
    words = clause.lower()
    named = _content(words)
    found = 0.6 * len(named & step.words) + 0.6 * len(named & step.ahead)
    score = float(found / max(1.0, len(named) ** 0.5))
    for side, sign in (("left", -1), ("right", 1)):
        if re.search(rf"\b(?:turn|veer|bear|take|make|hang)\b[^,.]*\b{side}\b", words):
            score += 1.0 if step.turn * sign > 30 else -0.5
    if re.search(r"\bstraight\b|\bforward\b", words) and abs(step.turn) < 25:
        score += 0.4
    if re.search(r"\bturn around\b", words):
        score += 1.0 if abs(step.turn) > 130 else -0.4
    climbs = re.search(r"\b(?:stair\w*|steps|flight)\b", words)
    if climbs or abs(step.slope) >= STEEP:
        told_up = bool(re.search(r"\bup\b|\bascend|\bclimb", words))
        steep = abs(step.slope) >= STEEP
        agrees = steep and told_up == (step.slope > 0)
        score += 1.5 if climbs and agrees else -0.7 if bool(climbs) != steep else 0.0
    return score


SPREAD = 2.0
"""What it costs a clause to lie half a path away from its place in the text, squared."""


def aligned(clauses: Sequence[Clause], steps: Sequence[GoldStep]) -> Laid:
    """The best order-keeping assignment of one clause to each step, by dynamic programming."""
    if not steps:
        return Laid((0,) * len(clauses))
    sizes = np.array([max(1, len(clause.text)) for clause in clauses], dtype=float)
    middles = (np.cumsum(sizes) - sizes / 2) / sizes.sum()
    fits = np.array([[_fit(clause.text, step) for clause in clauses] for step in steps])
    times = (np.arange(len(steps)) + 0.5) / len(steps)
    fits -= SPREAD * (2 * (times[:, None] - middles[None, :])) ** 2
    chosen = _best_path(fits)
    return Laid(tuple(sum(one <= number for one in chosen) for number in range(len(clauses))))


def _best_path(fits: NDArray[np.float64]) -> list[int]:
    """The column of each row with the largest sum, never going back."""
    best, came = fits[0].copy(), []
    for row in fits[1:]:
        reach = np.maximum.accumulate(best)
        came.append([int(np.argmax(best[: column + 1])) for column in range(len(row))])
        best = reach + row
    path = [int(np.argmax(best))]
    for back in reversed(came):
        path.append(back[path[-1]])
    return path[::-1]
