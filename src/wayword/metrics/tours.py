"""Tours: the episodes of a scene in a row, and t-nDTW over their concatenated walks.

Source: Krantz et al. 2023, "Iterative Vision-and-Language Navigation" (IVLN), section 3.3. The
alignment at the ends of episodes follows the authors' ``tour_ndtw.py``.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from itertools import groupby
from typing import Any

import numpy as np

from wayword.core.dataset import Task
from wayword.core.episode import PathReference
from wayword.core.metric import Metric
from wayword.metrics.intervals import Floats
from wayword.metrics.scoring import Pair, walked_places
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


def tour_ndtw(dataset: Any, pairs: Sequence[Pair]) -> float:
    """Return t-nDTW of one tour: exp(-DTW / (3 m x places of all references)).

    ``dataset`` has ``graph(scene)``; the pairs are in the order in which they were played. NaN if
    a reference is not a public path.
    """
    total = 0.0
    places = 0
    last = len(pairs) - 1
    for number, (task, trajectory) in enumerate(pairs):
        if not isinstance(task.reference, PathReference):
            return math.nan
        graph = dataset.graph(task.episode.scene)
        walk = [
            place for place, _ in groupby(walked_places(task, trajectory, "viewpoint"))
        ]
        rows, columns = (
            [graph.index[at] for at in path] for path in (walk, task.reference.path)
        )
        metres = graph.distances[np.ix_(rows, columns)]
        # Where two episodes of a tour meet, both ends of the references match only those of the
        # walks. No alignment does so if a reference is too short for its walk; R2R has none.
        fixed = metres.copy()
        if number > 0:
            fixed[1:, 0] = math.inf
        if number < last:
            fixed[:-1, -1] = math.inf
        cost = _warp(fixed)
        total += cost if math.isfinite(cost) else _warp(metres)
        places += len(columns)
    return math.exp(-total / (SUCCESS_METRES * places))


def _warp(metres: Floats) -> float:
    """Return the minimum total of a monotone alignment of rows and columns."""
    table = np.full((metres.shape[0] + 1, metres.shape[1] + 1), math.inf)
    table[0, 0] = 0.0
    for i, row in enumerate(metres, 1):
        for j, cost in enumerate(row, 1):
            table[i, j] = cost + min(
                table[i - 1, j], table[i, j - 1], table[i - 1, j - 1]
            )
    return float(table[-1, -1])
