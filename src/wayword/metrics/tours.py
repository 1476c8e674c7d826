"""Tours: the episodes of a scene in a row, and t-nDTW over their concatenated walks.

Source: Krantz et al. 2023, "Iterative Vision-and-Language Navigation" (IVLN), section 3.3. The
alignment at the ends of episodes follows the authors' ``tour_ndtw.py``.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from wayword.core.dataset import Task
from wayword.core.episode import PathReference
from wayword.core.metric import Metric
from wayword.metrics.compare import Comparison, Scores, compare
from wayword.metrics.paths import warp
from wayword.metrics.scoring import Pair, walked_places, without_repeats
from wayword.worlds.indoor import SUCCESS_METRES

Tour = tuple[str, int]
"""A scene and the number of one of its tours."""

TOUR_NDTW = Metric(
    "tndtw", "t-nDTW", "rate", "higher",
    "nDTW of a tour's concatenated walks, aligned where one episode ends and the next begins",
)  # fmt: skip


def tours_of(tasks: Sequence[Task]) -> dict[str, Tour]:
    """Return the tour of each episode id. A tour contains each path of its scene once; R2R
    describes each path three times, so its scenes have three tours."""
    counts = Counter[Hashable]()
    tours = dict[str, Tour]()
    for task in tasks:
        path: Hashable = task.episode.id
        if isinstance(task.reference, PathReference):
            path = task.episode.scene, task.reference.path
        tours[task.episode.id] = task.episode.scene, counts[path]
        counts[path] += 1
    return tours


def halves_of(
    tours: Mapping[Tour, Sequence[str]],
) -> tuple[dict[str, Sequence[str]], dict[str, Sequence[str]]]:
    """Return the episodes of the first and of the second half of each tour, by its text. The middle
    episode of an odd number is in neither."""
    first = {str(tour): ids[: len(ids) // 2] for tour, ids in tours.items()}
    second = {str(tour): ids[(len(ids) + 1) // 2 :] for tour, ids in tours.items()}
    return first, second


def tour_means(
    scores: Scores,
    tours: Mapping[str, Sequence[str]],
) -> dict[str, dict[str, float]]:
    """Return the mean of each metric over the episodes of each tour that have it; a tour without
    scores is left out."""
    means: dict[str, dict[str, float]] = {}
    for tour, ids in tours.items():
        rows = [scores[name] for name in ids if name in scores]
        if not rows:  # another run may have played other episodes
            continue
        means[tour] = {}
        for key in dict.fromkeys(chain.from_iterable(rows)):
            values = [row[key] for row in rows if key in row]
            means[tour][key] = float(np.mean(values))
    return means


def gains(
    scores: Scores,
    tours: Mapping[Tour, Sequence[str]],
) -> dict[str, dict[str, float]]:
    """Return what the second half of each tour gains over the first, in the metrics of both; a
    tour with scores in one half only is left out."""
    before, after = (tour_means(scores, half) for half in halves_of(tours))
    gained: dict[str, dict[str, float]] = {}
    for tour, means in before.items():
        later = after.get(tour)
        if later is None:
            continue
        gained[tour] = {key: later[key] - means[key] for key in means if key in later}
    return gained


def compare_gains(
    forgetting: tuple[str, Scores],
    remembering: tuple[str, Scores],
    tours: Mapping[Tour, Sequence[str]],
    family: str,
    metrics: Sequence[Metric],
) -> Comparison:
    """Return the test of memory: what a run gains from half to half, less what a run gains that
    forgets. Both play the same episodes in the same order, so easier episodes cancel. A run is its
    name and the scores of its episodes; scenes are the units.
    """
    scenes = {str(tour): tour[0] for tour in tours}
    return compare(
        f"{forgetting[0]}, gain",
        gains(forgetting[1], tours),
        f"{remembering[0]}, gain",
        gains(remembering[1], tours),
        family=family,
        metrics=metrics,
        clusters=scenes,
        unit="scene",
        items="tours",
        widest=2.0,  # of a gain from -1 to 1, to one from 1 to -1
    )


def tour_ndtw(dataset: Any, pairs: Sequence[Pair]) -> float:
    """Return t-nDTW of one tour: exp(-DTW / (3 m x places of all references)).

    ``dataset`` has ``graph(scene)``; the pairs are in the order in which they were played. NaN if
    a reference is not a public path, or without pairs: another run may lack the tour.
    """
    total = 0.0
    places = 0
    last = len(pairs) - 1
    for number, (task, trajectory) in enumerate(pairs):
        if not isinstance(task.reference, PathReference):
            return math.nan
        graph = dataset.graph(task.episode.scene)
        walk = without_repeats(walked_places(task, trajectory, "viewpoint"))
        rows = [graph.index[place] for place in walk]
        columns = [graph.index[place] for place in task.reference.path]
        metres = graph.distances[np.ix_(rows, columns)]
        # Where two episodes of a tour meet, both ends of the references match only those of the
        # walks. No alignment does so if a reference is too short for its walk; R2R has none.
        fixed = metres.copy()
        if number > 0:
            fixed[1:, 0] = math.inf
        if number < last:
            fixed[:-1, -1] = math.inf
        cost = warp(fixed.tolist())
        total += cost if math.isfinite(cost) else warp(metres.tolist())
        places += len(columns)
    if not places:
        return math.nan
    return math.exp(-total / (SUCCESS_METRES * places))
