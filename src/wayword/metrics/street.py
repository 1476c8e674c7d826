"""Street metrics: TC, SPD, KPA and nDTW of walks on street graphs. Distances are in links (hops).

A dataset of the family has ``graph(scene) -> StreetGraph`` and references that are paths.

Two definitions of key-point accuracy stand side by side, because the paper's and its released
code's differ and published numbers come from the code:

* ``kpa``, as the paper has it (Schumann et al. 2023, section 6.1): of the route's key points (the
  initial step, each junction on the way, the goal) those where the decision was right. Right are:
  the first move of all going to the route's second panorama; leaving a junction to the route's
  next panorama; stopping at the goal or next to it.
* ``kpa_released`` counts the route's first two panoramas as two key points, each right where it is
  among the walk's own first two, then every junction on the way, a first one once more, and the
  goal, reached or one link off, whether or not the agent stopped there.

``tc`` is the released one, too, and does not ask for a stop: it looks at the last panorama only.
An agent that runs into the step limit next to the goal has completed the task by it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import groupby, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayword.core.dataset import Dataset, Task
from wayword.core.episode import PathReference
from wayword.core.errors import DataError
from wayword.core.metric import Metric
from wayword.core.trajectory import Trajectory
from wayword.core.world import World
from wayword.metrics.scoring import Pair, Standing, walked_places
from wayword.worlds.street.graph import StreetGraph

METRICS: tuple[Metric, ...] = (
    Metric("tc", "TC", "rate", "higher", "final panorama is the goal or linked with it"),
    Metric("spd", "SPD", "hops", "lower", "links from the final panorama to the goal"),
    Metric("kpa", "KPA", "rate", "higher",
           "right decisions at the first step, junctions and the goal"),
    Metric("kpa_released", "KPA (rel.)", "rate", "higher", "KPA as VELMA's released code counts"),
    Metric("ndtw", "nDTW", "rate", "higher", "exp(-DTW / panoramas of the route), DTW in links"),
)  # fmt: skip

FAR = 1e9
"""Stands for an endless distance in nDTW: finite, so that sums can be subtracted again."""


class StreetScorer:
    """Scores walks on street graphs.

        >>> from wayword.metrics.scoring import scorer
        >>> [metric.key for metric in scorer("street").metrics]
        ['tc', 'spd', 'kpa', 'kpa_released', 'ndtw']

    Staying at a panorama counts once. An episode that failed before its world was ready is scored
    as one that never left its start.
    """

    metrics = METRICS

    def score(self, dataset: Dataset, pairs: Sequence[Pair]) -> list[dict[str, float]]:
        """The metrics of each pair; none where the split's references are not public.

        Raises ``DataError`` where a panorama is not in the graph.
        """
        return [_measure(dataset, *pair) for pair in pairs]

    def standing(self, dataset: Dataset, task: Task, world: World) -> Standing | None:
        """Links to the goal; success is at most one, either way round, stopped or not."""
        if not isinstance(task.reference, PathReference):
            return None
        graph = _graph(dataset, task)
        position = graph.index[world.pose("agent")["panorama"]]
        goal = graph.index[task.reference.goal]
        ahead, back = graph.hops([position, goal], [goal, position]).tolist()
        near = min(ahead, back) <= 1
        return Standing(near, int(near), 1, float(ahead), "links")

    def illegal_moves(self, dataset: Dataset, task: Task, places: Sequence[str]) -> int:
        """Moves along no link, and a start that is not the episode's.

        Raises ``KeyError`` for a panorama that the graph does not have.
        """
        graph = _graph(dataset, task)
        walk = [graph.index[place] for place, _ in groupby(places)]
        gaps = sum(end not in [to for _, to in graph.exits(start)] for start, end in pairwise(walk))
        return gaps + int(places[0] != task.episode.start["panorama"])


def _graph(dataset: Any, task: Task) -> StreetGraph:
    graph: StreetGraph = dataset.graph(task.episode.scene)
    return graph


def _measure(dataset: Dataset, task: Task, trajectory: Trajectory) -> dict[str, float]:
    if not isinstance(task.reference, PathReference):
        return {}
    graph = _graph(dataset, task)
    walk = _numbers(graph, task, walked_places(task, trajectory, "panorama"))
    route = _numbers(graph, task, task.reference.path)
    costs = graph.hops.table(walk, route)
    spd = float(costs[-1, -1])
    reached = spd <= 1 or any(target == walk[-1] for _, target in graph.exits(route[-1]))
    stopped = trajectory.ended == "stopped"
    return {
        "tc": float(reached),
        "spd": spd,
        "kpa": kpa(graph, walk, route, reached and stopped),
        "kpa_released": kpa_released(graph, walk, route, reached),
        "ndtw": float(np.exp(-dtw(costs) / len(route))),  # the success threshold is one link
    }


def kpa(graph: StreetGraph, walk: Sequence[int], route: Sequence[int], stopped: bool) -> float:
    """The paper's key-point accuracy; ``stopped``: the actor stopped near the goal."""
    points = len(route) > 1
    right = points and list(walk[:2]) == list(route[:2])
    due = Counter(_turns(graph, route[1:]))
    taken = due & Counter(_turns(graph, walk))
    return (right + taken.total() + stopped) / (points + due.total() + 1)


def kpa_released(
    graph: StreetGraph, walk: Sequence[int], route: Sequence[int], reached: bool
) -> float:
    """Key-point accuracy as the released code computes it, to the digit.

    A junction that the route passes twice the same way counts twice below and once above the line.
    """
    due = _turns(graph, route)
    first_two = set(route[:2]) if len(route) > 1 else set()
    first_walked = set(walk[:2]) if len(walk) > 1 else set()
    right = len(first_two & first_walked) + len(set(due).intersection(_turns(graph, walk)))
    points = (2 if len(route) > 1 else 0) + len(due)
    return (right + reached) / (points + 1)


def _turns(graph: StreetGraph, path: Sequence[int]) -> list[tuple[int, int]]:
    """Each junction on a path with the panorama that the path visits next."""
    junctions = graph.junctions
    return [step for step in pairwise(path) if step[0] in junctions]


def dtw(costs: NDArray[np.float64]) -> float:
    """The least total cost of a monotone alignment of rows and columns.

    Costs are whole numbers or inf. Within a row, reaching a cell from the left adds the costs in
    between: with prefix sums this is a running minimum, exact for whole numbers.
    """
    table = np.minimum(costs if len(costs) <= costs.shape[1] else costs.T, FAR)
    sums = np.cumsum(table, axis=1)
    before = sums - table
    line = np.full(table.shape[1] + 1, np.inf)
    above, aside = line[1:], line[:-1]  # the row above, and the same from one column further left
    above[:] = sums[0]
    best = np.empty(table.shape[1])
    for total, left in zip(sums[1:], before[1:], strict=True):
        np.minimum(above, aside, out=best)
        best -= left
        np.minimum.accumulate(best, out=best)
        np.add(best, total, out=above)
    return float(line[-1])


def _numbers(graph: StreetGraph, task: Task, places: Sequence[str]) -> list[int]:
    try:
        return [graph.index[place] for place, _ in groupby(places)]
    except KeyError as error:
        problem = f"{error.args[0]!r} is not in this street graph"
        raise DataError(graph.name, f"episode {task.episode.id}", problem) from None


scorer = StreetScorer()
