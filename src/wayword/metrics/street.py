"""Street metrics: TC, SPD, KPA and nDTW of walks on street graphs. Distances are in links (hops).

A dataset of the family has ``graph(scene) -> StreetGraph`` and references that are paths.

Key-point accuracy has two definitions, because the paper and its released code differ, and the
published numbers come from the code:

* ``kpa``, from the paper (Schumann et al. 2023, section 6.1): the share of the route's key points
  (first step, each junction on the way, goal) with a right decision: a first move to the route's
  second panorama, leaving a junction to the route's next one, a stop at the goal or next to it.
* ``kpa_released`` counts the route's first two panoramas as two key points, each right if it is
  among the walk's first two; then every junction on the way (the first panorama again, if it is
  one); and the goal, right if the walk ends at most one link from it, even without a stop.

``tc`` also follows the released code and does not require a stop: only the last panorama counts.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from wayword.core.dataset import Dataset, Task
from wayword.core.episode import PathReference
from wayword.core.errors import DataError
from wayword.core.geometry import Floats
from wayword.core.trajectory import Trajectory
from wayword.core.world import World
from wayword.metrics import definitions
from wayword.metrics.scoring import (
    EpisodeScorer,
    Standing,
    walked_places,
    without_repeats,
)
from wayword.worlds.street.graph import StreetGraph

METRICS = definitions.STREET

FAR = 1e9  # replaces infinite distances in DTW, where differences of sums would be NaN


class StreetScorer(EpisodeScorer):
    """Scores walks on street graphs.

        >>> from wayword.metrics.scoring import scorer
        >>> [metric.key for metric in scorer("street").metrics]
        ['tc', 'spd', 'kpa', 'kpa_released', 'ndtw', 'ndtw_released']

    Consecutive repeats of a panorama count once. An episode that failed before its world was ready
    is scored as a walk that never left its start.
    """

    metrics = METRICS

    def score_episode(
        self,
        dataset: Any,
        task: Task,
        trajectory: Trajectory,
    ) -> dict[str, float]:
        """Return the scores of a walk; none without a published route.

        Raises ``DataError`` for a panorama that is not in the graph.
        """
        if not isinstance(task.reference, PathReference):
            return {}
        graph = _graph(dataset, task)
        walk = _indices(graph, task, walked_places(task, trajectory, "panorama"))
        route = _indices(graph, task, task.reference.path)
        spd = warp = 0.0  # of a walk that is the route
        if walk != route:
            # One table of links serves the distance at the end and the alignment.
            costs = graph.hops.table(walk, route)
            spd = float(costs[-1, -1])
            warp = dtw(costs)
        # `spd` follows link directions; next to the goal also counts by a link from the goal.
        reached = spd <= 1 or _is_linked(graph, route[-1], walk[-1])
        stopped = trajectory.ended == "stopped"
        return {
            "tc": float(reached),
            "spd": spd,
            **key_points(
                graph,
                walk,
                route,
                reached=reached,
                stopped=reached and stopped,
            ),
            **ndtw(warp, len(route)),
        }

    def standing(self, dataset: Dataset, task: Task, world: World) -> Standing | None:
        """Return the links to the goal; success is at most one, in either direction."""
        if not isinstance(task.reference, PathReference):
            return None
        graph = _graph(dataset, task)
        position = graph.index[world.pose("agent")["panorama"]]
        goal = graph.index[task.reference.goal]
        ahead, back = graph.hops([position, goal], [goal, position]).tolist()
        # Streets have one-way links; being next to the goal counts in both directions.
        near = min(ahead, back) <= 1
        return Standing(near, int(near), 1, float(ahead), "links")

    def reached(self, dataset: Any, task: Task, places: Sequence[str]) -> list[bool]:
        """True at most one link from the goal, in either direction."""
        if not isinstance(task.reference, PathReference):
            return []
        graph = _graph(dataset, task)
        goal = graph.index[task.reference.goal]
        # The goal itself, and all that it leads to; the links to it are tested below.
        near = {goal, *(end for _, end in graph.exits(goal))}
        numbers = [graph.index[place] for place in places]
        return [number in near or _is_linked(graph, number, goal) for number in numbers]

    def illegal_moves(self, dataset: Dataset, task: Task, places: Sequence[str]) -> int:
        """Return the number of moves that follow no link, and of a wrong start."""
        graph = _graph(dataset, task)
        walk = [graph.index[place] for place in without_repeats(places)]
        gaps = sum(not _is_linked(graph, *move) for move in pairwise(walk))
        return gaps + int(places[0] != task.episode.start["panorama"])


def _graph(dataset: Any, task: Task) -> StreetGraph:
    """Return the street graph of a task's scene."""
    graph: StreetGraph = dataset.graph(task.episode.scene)
    return graph


def _is_linked(graph: StreetGraph, start: int, end: int) -> bool:
    """True if a link leads from a panorama to another one."""
    return any(target == end for _, target in graph.exits(start))


def key_points(
    graph: StreetGraph,
    walk: Sequence[int],
    route: Sequence[int],
    reached: bool,
    stopped: bool,
) -> dict[str, float]:
    """Return key-point accuracy: ``kpa`` as in the paper, ``kpa_released`` as in the released code.

    ``walk`` and ``route`` are numbers of panoramas without repeats; ``reached``: the walk
    ends at most one link from the goal, and ``stopped`` if the actor stopped there. In the
    released code, a junction left twice the same way counts twice in the denominator, once
    in the numerator.
    """
    turns = _turns(graph, walk)
    expected = _turns(graph, route)
    counted = Counter(expected)
    # The first direction is a point of its own; a route of one panorama has none.
    points = len(route) > 1
    right = points and list(walk[:2]) == list(route[:2])
    if points and route[0] in graph.junctions:
        counted[route[0], route[1]] -= 1
    # A junction that the route passes twice must be left right twice.
    taken = counted & Counter(turns)
    accuracy = (right + taken.total() + stopped) / (points + counted.total() + 1)
    # A set: equal turns count once, as in the released code.
    right_released = len({*expected} & {*turns})
    if points and len(walk) > 1:
        right_released += len({*route[:2]} & {*walk[:2]})
    released = (right_released + reached) / (len(expected) + 2 * points + 1)
    return {"kpa": accuracy, "kpa_released": released}


def ndtw(alignment: float, length: int) -> dict[str, float]:
    """Return both normalizations of a DTW distance (links) to a route of ``length`` panoramas.

    ``ndtw``: Ilharco et al. 2019, with a success threshold of one link. ``ndtw_released``: the
    scorer of VLN-Transformer (``touchdown/env.py``: threshold 2, square root of the length), which
    map2seq's release shares.
    """
    return {
        "ndtw": math.exp(-alignment / length),
        "ndtw_released": math.exp(-alignment / (2.0 * math.sqrt(length))),
    }


def _turns(graph: StreetGraph, path: Sequence[int]) -> list[tuple[int, int]]:
    """Return each junction on a path with the next panorama on the path."""
    junctions = graph.junctions
    return [step for step in pairwise(path) if step[0] in junctions]


def dtw(costs: Floats) -> float:
    """Return the minimum total cost (integers or inf) of a monotone alignment of rows and columns.

    Within a row, reaching a cell from the left adds the costs in between: with prefix sums this is
    a running minimum, exact for integers.
    """
    # The longer side along the columns, where numpy works at once.
    table = np.minimum(costs if len(costs) <= costs.shape[1] else costs.T, FAR)
    sums = np.cumsum(table, axis=1)
    before = sums - table
    line = np.full(table.shape[1] + 1, np.inf)
    # The row above, and the same shifted by one column
    above = line[1:]
    aside = line[:-1]
    above[:] = sums[0]
    best = np.empty(table.shape[1])
    for total, left in zip(sums[1:], before[1:], strict=True):
        np.minimum(above, aside, out=best)
        best -= left
        np.minimum.accumulate(best, out=best)
        np.add(best, total, out=above)
    return float(line[-1])


def _indices(graph: StreetGraph, task: Task, places: Sequence[str]) -> list[int]:
    """Return the numbers of panoramas, repeats merged. Raises ``DataError`` for an unknown one."""
    index = graph.index
    try:
        return [index[place] for place in without_repeats(places)]
    except KeyError as error:
        problem = f"{error.args[0]!r} is not in this street graph"
        raise DataError(graph.name, f"episode {task.episode.id}", problem) from None


scorer = StreetScorer()
