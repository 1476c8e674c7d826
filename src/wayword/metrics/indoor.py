"""Indoor metrics: TL, NE, OSR, SR, SPL, nDTW, sDTW and CLS of walks on viewpoint graphs.

A dataset of the family has ``graph(scene) -> ViewpointGraph`` and references that are paths. The
definitions are in :mod:`wayword.metrics.paths`.

Two definitions of SPL are in use. ``spl`` compares with the shortest distance from start to goal
(Anderson et al. 2018, and R2R's own scorer), ``spl_gold`` with the length of the annotated path, as
in the scorers of the HAMT family and NavGPT's release.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from wayword.core.action import Action, Decision
from wayword.core.dataset import Dataset, Task
from wayword.core.episode import PathReference
from wayword.core.errors import DataError, suggest
from wayword.core.geometry import Floats, exceeds
from wayword.core.trajectory import Trajectory
from wayword.core.world import World
from wayword.metrics import definitions, paths
from wayword.metrics.paths import Alignment, Paths
from wayword.metrics.scoring import Pair, Standing, walked_places, without_repeats
from wayword.worlds.indoor import SUCCESS_METRES
from wayword.worlds.indoor.graph import ViewpointGraph
from wayword.worlds.indoor.world import ObjectReference

METRICS = definitions.INDOOR


class IndoorScorer:
    """Scores walks on viewpoint graphs.

        >>> from wayword.metrics.scoring import scorer
        >>> [metric.key for metric in scorer("indoor").metrics][:3]
        ['sr', 'spl', 'osr']

    A rejected answer leaves the actor in place, so repeated viewpoints count once. An episode that
    failed before its world was ready is scored as a walk that never left its start.
    """

    metrics = METRICS

    def task_problem(self, dataset: Dataset, task: Task) -> str:
        """Return what is wrong with a reference path; empty if nothing is.

        It must begin at the start, and its viewpoints be adjacent: nDTW counts each of them. The
        dataset's shortest length is at most the graph's, and at least that of a straight line.
        """
        graph_of = getattr(dataset, "graph", None)
        if not isinstance(task.reference, PathReference) or graph_of is None:
            return ""
        path = task.reference.path
        if not path:
            return (
                "the path of its reference is empty; give a plain Reference without one"
            )
        graph = graph_of(task.episode.scene)
        for place in path:
            if place not in graph.index:
                return (
                    f"the path has {place!r}; {suggest(str(place), list(graph.index))}"
                )
        start = str(task.episode.start.get("viewpoint", path[0]))
        if start != path[0]:
            return f"the path begins at {path[0]!r}, and the episode at {start!r}"
        for one, other in pairwise(path):
            if (one, other) not in graph.moves:
                return f"the path has {one!r} and {other!r}, which are not adjacent"
        shortest = task.reference.shortest
        if shortest is None:
            return ""
        longest = graph.distance(path[0], path[-1])
        ends = [graph.positions[graph.index[place]] for place in (path[0], path[-1])]
        straight = math.dist(*ends)
        if exceeds(shortest, longest) or exceeds(straight, shortest):
            return (
                f"shortest is {shortest:g} m, but from {path[0]!r} to {path[-1]!r} the graph has "
                f"{longest:.2f} m, and a straight line {straight:.2f} m; SPL would be wrong: leave "
                "shortest out for the graph's"
            )
        return ""

    def score(self, dataset: Dataset, pairs: Sequence[Pair]) -> list[dict[str, float]]:
        """Return the metrics of each pair; empty if the split's references are not public.

        Raises ``DataError`` if a viewpoint is not in the scene's graph.
        """
        tasks = [task for task, _ in pairs]
        walks = [walked_places(*pair, "viewpoint") for pair in pairs]
        scores = self.score_walks(dataset, tasks, walks)
        for row, (task, trajectory) in zip(scores, pairs, strict=True):
            if row:
                row |= _object_scores(dataset, task, trajectory, row)
        return scores

    def score_walks(
        self,
        dataset: Dataset,
        tasks: Sequence[Task],
        walks: Sequence[Sequence[str]],
    ) -> list[dict[str, float]]:
        """Return the metrics of walks through places, as :meth:`score`, without an object's.

        ``walks`` are viewpoint ids, one walk per task.
        """
        # Test splits publish no reference paths: their episodes have no scores.
        scored = [n for n, task in enumerate(tasks) if _path(task)]
        scores: list[dict[str, float]] = [{} for _ in tasks]
        if scored:
            chosen = [tasks[n] for n in scored]
            columns = measure(align(dataset, chosen, [walks[n] for n in scored]))
            table = np.stack([*columns.values()], axis=1).tolist()
            for number, values in zip(scored, table, strict=True):
                scores[number] = dict(zip(columns, values, strict=True))
        return scores

    def standing(self, dataset: Dataset, task: Task, world: World) -> Standing | None:
        """Return the geodesic distance to the goal; None if the goal is not public.

        Success is below 3 m, or where the object that is sought is in view, stopped or not.
        """
        if not isinstance(task.reference, PathReference):
            return None
        graph = _graph(dataset, task)
        place = world.pose("agent")["viewpoint"]
        away = graph.distance(place, task.reference.goal)
        (near,) = self.reached(dataset, task, [place])
        return Standing(near, int(near), 1, away)

    def reached(self, dataset: Any, task: Task, places: Sequence[str]) -> list[bool]:
        """True within 3 m of the goal; where an object is sought, where it is in view."""
        if isinstance(task.reference, ObjectReference):
            return [place in task.reference.visible_from for place in places]
        if not isinstance(task.reference, PathReference):
            return []
        graph = _graph(dataset, task)
        goal = task.reference.goal
        return [graph.distance(place, goal) < SUCCESS_METRES for place in places]

    def illegal_moves(self, dataset: Dataset, task: Task, places: Sequence[str]) -> int:
        """Count moves that follow no edge, and a wrong start as one. Staying is not a move.

        Raises ``KeyError`` for a place that is not in the graph.
        """
        graph = _graph(dataset, task)
        jumps = places[0] != task.episode.start["viewpoint"]
        if not graph.moves.issuperset(pairwise(places)) or len(places) == 1:
            for place in places:
                graph.index[place]  # raises KeyError
            jumps += sum(move not in graph.moves for move in pairwise(places))
        return int(jumps)


def _graph(dataset: Any, task: Task) -> ViewpointGraph:
    """Return the viewpoint graph of a task's scene."""
    graph: ViewpointGraph = dataset.graph(task.episode.scene)
    return graph


def _path(task: Task) -> tuple[str, ...]:
    """Return the reference's path; empty if it is not public."""
    return task.reference.path if isinstance(task.reference, PathReference) else ()


def _object_scores(
    dataset: Dataset,
    task: Task,
    trajectory: Trajectory,
    walked: Mapping[str, float],
) -> dict[str, float]:
    """Return REVERIE's metrics, which replace those by distance; none without an object.

    The object is in view at the end (SR), in view anywhere on the path (OSR), and named
    at the stop (RGS). ``walked`` are the metrics of the walk.
    """
    target = task.reference
    if not isinstance(target, ObjectReference):
        return {}
    # Success is by sight, so the distances of the walk do not decide it.
    walk = walked_places(task, trajectory, "viewpoint")
    graph = _graph(dataset, task)
    success = float(walk[-1] in target.visible_from)
    gold = sum(graph.distance(a, b) for a, b in pairwise(target.path))
    shares = {}
    for key, length in (
        ("spl", graph.distance(target.path[0], target.goal)),
        ("spl_gold", gold),
    ):
        # if the start is the goal, the weight is 1 for an agent that did not move, else 0
        if length:
            shares[key] = length / max(length, walked["tl"])
        else:
            shares[key] = float(not walked["tl"])
    # The object is named by the stop, and by nothing else.
    last = trajectory.steps[-1].decision if trajectory.steps else None
    named = isinstance(last, Decision) and last.action == Action(
        "stop",
        (target.object_id,),
    )
    return {
        "sr": success,
        "osr": float(any(place in target.visible_from for place in walk)),
        **{key: success * share for key, share in shares.items()},
        "sdtw": success * walked["ndtw"],
        "rgs": float(named),
        "rgspl": named * shares["spl_gold"],
    }


def measure(batch: Alignment) -> dict[str, Floats]:
    """Return every metric of a batch, each (B,), by key in the order of ``METRICS``."""
    success = paths.success(batch)
    ndtw = paths.ndtw(batch)
    return {
        "sr": success,
        "spl": paths.spl(batch),
        "osr": paths.oracle_success(batch),
        "ne": batch.final,
        "tl": batch.traveled,
        "ndtw": ndtw,
        "sdtw": success * ndtw,
        "cls": paths.cls(batch),
        "spl_gold": paths.spl_gold(batch),
    }


def align(
    dataset: Dataset,
    tasks: Sequence[Task],
    walks: Sequence[Sequence[str]],
) -> Alignment:
    """Measure B walks against their references: arrays (B,) or (B, ...), lengths in metres.

    ``walks`` are viewpoint ids, one walk per task; every task has a reference path. Same errors as
    :meth:`IndoorScorer.score`. The dataset's own shortest length (metres), if given, replaces the
    graph's.
    """
    scenes = [task.episode.scene for task in tasks]
    graphs: dict[str, ViewpointGraph] = {}
    for scene, task in zip(scenes, tasks, strict=True):
        if scene not in graphs:
            graphs[scene] = _graph(dataset, task)
    owners = [graphs[scene] for scene in scenes]
    golds = [_path(task) for task in tasks]
    # Runs score their episodes one by one, tables and predictions in batches. For a place that is
    # not in the graph there is no result: the batch raises the error that names it.
    batch = _align_one(owners[0], walks[0], golds[0]) if len(tasks) == 1 else None
    if batch is None:
        numbers = {scene: number for number, scene in enumerate(graphs)}
        batch = paths.align(
            [graph.distances for graph in graphs.values()],
            [numbers[scene] for scene in scenes],
            _indices(owners, walks, "path", tasks),
            _indices(owners, golds, "reference", tasks),
        )
    # A split may publish shortest lengths of its own, which replace those of the graph.
    shortest = [getattr(task.reference, "shortest", None) for task in tasks]
    published = np.array(shortest, dtype=np.float64)  # None becomes NaN
    np.copyto(batch.shortest, published, where=~np.isnan(published))
    return batch


def _align_one(
    graph: ViewpointGraph,
    walk: Sequence[str],
    gold: Sequence[str],
) -> Alignment | None:
    """Measure one walk, as a run scores its episodes; None if a place is not in the graph."""
    try:
        path = [graph.index[name] for name in without_repeats(walk)]
        reference = [graph.index[name] for name in without_repeats(gold)]
    except KeyError:
        return None
    return paths.align_one(graph.distances, path, reference)


def _indices(
    graphs: Sequence[ViewpointGraph],
    walks: Sequence[Sequence[str]],
    source: str,
    tasks: Sequence[Task],
) -> Paths:
    """Return the walks as indices of places, without consecutive repeats.

    ``graphs`` has the graph of each walk; ``source`` says in errors what the walks are. Raises
    ``DataError`` for the first viewpoint that is not in its scan.
    """
    places: list[int] = []
    for task, graph, walk in zip(tasks, graphs, walks, strict=True):
        try:
            places += map(graph.index.__getitem__, walk)
        except KeyError as error:
            where = f"episode {task.episode.id}, {source}"
            problem = f"{error.args[0]!r} is not in this scan's graph"
            raise DataError(graph.scan, where, problem) from None
    return Paths(np.array(places), np.array([*map(len, walks)])).without_repeats()


scorer = IndoorScorer()
