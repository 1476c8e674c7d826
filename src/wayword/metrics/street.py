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
An agent that runs into the step limit beside the goal has completed the task by it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import groupby, pairwise
from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray

from wayword.core.dataset import Dataset, Task
from wayword.core.episode import PathReference
from wayword.core.errors import DataError
from wayword.core.metric import Metric
from wayword.core.trajectory import Trajectory
from wayword.core.world import World
from wayword.metrics.scoring import Pair, Standing
from wayword.worlds.street.graph import StreetGraph

METRICS: tuple[Metric, ...] = (
    Metric("tc", "TC", "rate", "higher", "final panorama is the goal or linked with it"),
    Metric("spd", "SPD", "hops", "lower", "links from the final panorama to the goal"),
    Metric(
        "kpa", "KPA", "rate", "higher", "right decisions at the first step, junctions and the goal"
    ),
    Metric("kpa_released", "KPA (rel.)", "rate", "higher", "KPA as VELMA's released code counts"),
    Metric("ndtw", "nDTW", "rate", "higher", "exp(-DTW / panoramas of the route), DTW in links"),
)

BATCH = 256
"""Walks measured together; bounds the memory that nDTW takes (some 60 MB)."""


class StreetDataset(Protocol):
    """What a dataset of the family offers beyond :class:`~wayword.core.dataset.Dataset`."""

    def graph(self, scene: str) -> StreetGraph:
        """The street graph, shared and read-only."""
        ...


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
        scores: list[dict[str, float]] = [{} for _ in pairs]
        scenes: dict[str, list[int]] = {}
        for number, (task, _) in enumerate(pairs):
            if isinstance(task.reference, PathReference):
                scenes.setdefault(task.episode.scene, []).append(number)
        for scene, numbers in scenes.items():
            graph = cast("StreetDataset", dataset).graph(scene)
            for first in range(0, len(numbers), BATCH):
                batch = numbers[first : first + BATCH]
                found = _measure(graph, [pairs[number] for number in batch])
                for number, values in zip(batch, found, strict=True):
                    scores[number] = values
        return scores

    def standing(self, dataset: Dataset, task: Task, world: World) -> Standing | None:
        """Links to the goal; success is at most one, either way round, stopped or not."""
        if not isinstance(task.reference, PathReference):
            return None
        graph = cast("StreetDataset", dataset).graph(task.episode.scene)
        here = graph.index[world.pose("agent")["panorama"]]
        goal = graph.index[task.reference.goal]
        there, back = graph.hops([here, goal], [goal, here]).tolist()
        near = min(there, back) <= 1
        return Standing(near, int(near), 1, float(there), "links")

    def illegal_moves(self, dataset: Dataset, task: Task, places: Sequence[str]) -> int:
        """Moves along no link, and a start that is not the episode's.

        Raises ``KeyError`` for a panorama that the graph does not have.
        """
        graph = cast("StreetDataset", dataset).graph(task.episode.scene)
        walk = [graph.index[place] for place, _ in groupby(places)]
        gaps = sum(end not in [to for _, to in graph.exits(start)] for start, end in pairwise(walk))
        return gaps + int(places[0] != task.episode.start["panorama"])


def _measure(graph: StreetGraph, pairs: Sequence[Pair]) -> list[dict[str, float]]:
    walks = [_numbers(graph, task, _walk(task, trajectory)) for task, trajectory in pairs]
    routes = [
        _numbers(graph, task, cast("PathReference", task.reference).path) for task, _ in pairs
    ]
    finals, goals = [walk[-1] for walk in walks], [route[-1] for route in routes]
    spd = graph.hops(finals, goals)
    near = np.minimum(spd, graph.hops(goals, finals)) <= 1
    ndtw = _ndtw(graph, walks, routes)
    scores = []
    for i, (_, trajectory) in enumerate(pairs):
        reached = bool(near[i])
        stopped = trajectory.ended == "stopped"
        scores.append(
            {
                "tc": float(reached),
                "spd": float(spd[i]),
                "kpa": kpa(graph, walks[i], routes[i], reached and stopped),
                "kpa_released": kpa_released(graph, walks[i], routes[i], reached),
                "ndtw": ndtw[i],
            }
        )
    return scores


def kpa(graph: StreetGraph, walk: Sequence[int], route: Sequence[int], stopped: bool) -> float:
    """The paper's key-point accuracy; ``stopped`` says whether the actor did so near the goal."""
    points = len(route) > 1
    right = points and list(walk[:2]) == list(route[:2])
    due = _turns(graph, route, 1)
    taken = due & _turns(graph, walk, 0)
    return (right + taken.total() + stopped) / (points + due.total() + 1)


def kpa_released(
    graph: StreetGraph, walk: Sequence[int], route: Sequence[int], reached: bool
) -> float:
    """Key-point accuracy as the released code computes it, to the digit.

    A junction that the route passes twice the same way counts twice below and once above the line.
    """
    due = _turns(graph, route, 0)
    first_two = set(route[:2]) if len(route) > 1 else set()
    begun = set(walk[:2]) if len(walk) > 1 else set()
    right = len(first_two & begun) + len(due.keys() & _turns(graph, walk, 0).keys())
    points = (2 if len(route) > 1 else 0) + due.total()
    return (right + reached) / (points + 1)


def _turns(graph: StreetGraph, path: Sequence[int], first: int) -> Counter[tuple[int, int]]:
    """Where the path goes on from each junction it passes, from its ``first`` panorama on."""
    return Counter(step for step in pairwise(path[first:]) if graph.degree(step[0]) > 2)


def _ndtw(
    graph: StreetGraph, walks: Sequence[Sequence[int]], routes: Sequence[Sequence[int]]
) -> list[float]:
    """exp(-DTW / panoramas of the route): the success threshold is one link."""
    starts = np.concatenate(
        [np.repeat(walk, len(route)) for walk, route in zip(walks, routes, strict=True)]
    )
    ends = np.concatenate(
        [np.tile(route, len(walk)) for walk, route in zip(walks, routes, strict=True)]
    )
    costs, at, found = graph.hops(starts, ends), 0, []
    for walk, route in zip(walks, routes, strict=True):
        size = len(walk) * len(route)
        table = costs[at : at + size].reshape(len(walk), len(route))
        found.append(float(np.exp(-_dtw(table) / len(route))))
        at += size
    return found


def _dtw(costs: NDArray[np.float64]) -> float:
    """Least total cost of a monotone alignment of rows and columns."""
    line: list[float] = np.cumsum(costs[0]).tolist()
    for row in costs[1:].tolist():
        before = line[0]
        last = line[0] = before + row[0]
        for j in range(1, len(row)):
            above = line[j]
            least = min(above, before, last)
            before = above
            last = line[j] = least + row[j]
    return line[-1]


def _walk(task: Task, trajectory: Trajectory) -> list[str]:
    """The panoramas, one entry a step."""
    if not trajectory.start:
        return [task.episode.start["panorama"]]
    moved = [step.pose["panorama"] for step in trajectory.steps if step.actor == "agent"]
    return [trajectory.start["agent"]["panorama"], *moved]


def _numbers(graph: StreetGraph, task: Task, places: Sequence[str]) -> list[int]:
    try:
        return [graph.index[place] for place, _ in groupby(places)]
    except KeyError as error:
        where = f"episode {task.episode.id}"
        problem = f"{error.args[0]!r} is not in this street graph"
        raise DataError(graph.name, where, problem) from None


scorer = StreetScorer()
