"""Clauses of published indoor instructions laid along the gold path, in order, by plain features.

The features of a step and a clause: a turn in both text and walk, stairs in both, words of the
clause that the captions have, and an even spread. Labels for training only: no agent sees them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayword.agents.clauses import Clause
from wayword.agents.walker.agent import STEEP
from wayword.core.dataset import Dataset, Task
from wayword.core.episode import PathReference
from wayword.core.geometry import relative, sector
from wayword.training.examples import ClauseEnds, align_clauses
from wayword.worlds.indoor.graph import ViewpointGraph


def align(
    dataset: Dataset, task: Task, clauses: Sequence[Clause], places: int
) -> ClauseEnds:
    """Align by features where views have captions, else as ``align_clauses`` does."""
    graph_of = getattr(dataset, "graph", None)
    perceiver = dataset.perceiver()
    graph = graph_of(task.episode.scene) if graph_of else None
    reference = task.reference
    published = isinstance(graph, ViewpointGraph) and not hasattr(dataset, "narrated")
    if not published or perceiver is None or not isinstance(reference, PathReference):
        return align_clauses(dataset, task, clauses, places)
    heading = float(task.episode.start.get("heading", 0.0))  # type: ignore[arg-type]
    steps = _steps(graph, perceiver, task.episode.scene, reference.path, heading)
    return align_by_features(clauses, steps)


@dataclass(frozen=True, slots=True)
class GoldStep:
    """A step of a gold path: its turn and slope (degrees), and the words around it."""

    turn: float
    slope: float
    words: frozenset[str]
    ahead: frozenset[str]


_WORD = re.compile(r"[a-z]{3,}")
_STOP_WORDS = """
    the and you your then into through past with from that there turn left right walk straight
    room stop wait head until when reach side end way front next down are will see area
"""


def _steps(
    graph: ViewpointGraph,
    perceiver: Any,
    scene: str,
    path: Sequence[str],
    heading: float,
) -> list[GoldStep]:
    steps = []
    facing = heading
    for start, end in pairwise(path):
        bearing, slope, _ = graph.bearing(start, end)
        sectors = perceiver.perceive(scene, start).sectors
        view = sectors[sector(bearing, len(sectors))]
        arrived = perceiver.perceive(scene, end)
        names = (each.name for part in arrived.sectors for each in part.sightings)
        around = _content_words(" ".join([arrived.summary, *names]))
        ahead = _content_words(
            " ".join([view.caption, *(each.name for each in view.sightings)])
        )
        steps.append(GoldStep(relative(bearing, facing), slope, around, ahead))
        facing = bearing
    return steps


def _content_words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.lower())) - frozenset(_STOP_WORDS.split())


def _score_clause(clause: str, step: GoldStep) -> float:
    """Score of a clause for a step; the weights of the terms are set by hand."""
    words = clause.lower()
    named = _content_words(words)
    overlap = 0.6 * len(named & step.words) + 0.6 * len(named & step.ahead)
    score = float(overlap / max(1.0, len(named) ** 0.5))
    for side, sign in (("left", -1), ("right", 1)):
        if re.search(rf"\b(?:turn|veer|bear|take|make|hang)\b[^,.]*\b{side}\b", words):
            score += 1.0 if step.turn * sign > 30 else -0.5
    if re.search(r"\bstraight\b|\bforward\b", words) and abs(step.turn) < 25:
        score += 0.4
    if re.search(r"\bturn around\b", words):
        score += 1.0 if abs(step.turn) > 130 else -0.4
    climbs = re.search(r"\b(?:stair\w*|steps|flight)\b", words)
    if climbs or abs(step.slope) >= STEEP:
        upward = bool(re.search(r"\bup\b|\bascend|\bclimb", words))
        steep = abs(step.slope) >= STEEP
        agrees = steep and upward == (step.slope > 0)
        score += 1.5 if climbs and agrees else -0.7 if bool(climbs) != steep else 0.0
    return score


SPREAD = 2.0
"""Cost of a clause that is half a path away from its place in the text, squared."""


def align_by_features(
    clauses: Sequence[Clause], steps: Sequence[GoldStep]
) -> ClauseEnds:
    """The best order-keeping assignment of one clause to each step, by dynamic programming."""
    if not steps:
        return ClauseEnds((0,) * len(clauses))
    sizes = np.array([max(1, len(clause.text)) for clause in clauses], dtype=float)
    middles = (np.cumsum(sizes) - sizes / 2) / sizes.sum()
    scores = np.array(
        [[_score_clause(clause.text, step) for clause in clauses] for step in steps]
    )
    times = (np.arange(len(steps)) + 0.5) / len(steps)
    scores -= SPREAD * (2 * (times[:, None] - middles[None, :])) ** 2
    chosen = _best_path(scores)
    return ClauseEnds(
        tuple(sum(one <= number for one in chosen) for number in range(len(clauses)))
    )


def _best_path(fits: NDArray[np.float64]) -> list[int]:
    """The column of each row with the largest sum, never going back."""
    best = fits[0].copy()
    came = []
    for row in fits[1:]:
        came.append([int(np.argmax(best[: column + 1])) for column in range(len(row))])
        best = np.maximum.accumulate(best) + row
    path = [int(np.argmax(best))]
    for back in reversed(came):
        path.append(back[path[-1]])
    return path[::-1]
