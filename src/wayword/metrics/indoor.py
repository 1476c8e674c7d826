"""Indoor metrics: TL, NE, OSR, SR, SPL, nDTW, sDTW and CLS of walks on viewpoint graphs.

A dataset of the family has ``graph(scene) -> ViewpointGraph`` and references that are paths. The
definitions are in :mod:`wayword.metrics.paths`.

Two SPLs are in use. ``spl`` divides by the shortest distance from start to goal (Anderson et al.
2018, and R2R's own scorer). ``spl_gold`` divides by the length of the annotated path, as the
scorers of the HAMT family do, NavGPT's released one among them. They differ where an annotated
path is not a shortest one.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from itertools import chain, groupby, pairwise, repeat
from typing import Protocol, cast

import numpy as np

from wayword.core.action import Decision
from wayword.core.dataset import Dataset, Task
from wayword.core.episode import PathReference
from wayword.core.errors import DataError
from wayword.core.metric import Metric
from wayword.core.trajectory import Trajectory
from wayword.core.world import World
from wayword.metrics import paths
from wayword.metrics.paths import Alignment, Floats, Padded
from wayword.metrics.scoring import Pair, Standing
from wayword.worlds.indoor import SUCCESS_METRES
from wayword.worlds.indoor.graph import ViewpointGraph
from wayword.worlds.indoor.world import ObjectReference

_NEAR = f"less than {SUCCESS_METRES:g} m from the goal"

METRICS: tuple[Metric, ...] = (
    Metric("sr", "SR", "rate", "higher", f"final viewpoint {_NEAR}"),
    Metric("spl", "SPL", "rate", "higher", "success weighted by g / max(TL, g)"),
    Metric("osr", "OSR", "rate", "higher", f"any viewpoint {_NEAR}"),
    Metric("ne", "NE", "metres", "lower", "geodesic distance from the final viewpoint to the goal"),
    Metric("tl", "TL", "metres", None, "length of the path"),
    Metric("ndtw", "nDTW", "rate", "higher", "exp(-DTW / (3 m x places of the reference))"),
    Metric("sdtw", "sDTW", "rate", "higher", "nDTW of the successful episodes, else 0"),
    Metric("cls", "CLS", "rate", "higher", "coverage of the reference times the length score"),
    Metric("spl_gold", "SPL gold", "rate", "higher",
           "success weighted by G / max(TL, G), G being the length of the reference's path"),
    Metric("rgs", "RGS", "rate", "higher", "the object named at the stop is the one meant"),
    Metric("rgspl", "RGSPL", "rate", "higher", "RGS weighted as SPL gold"),
)  # fmt: skip

OF_OBJECTS = frozenset({"rgs", "rgspl"})
"""Metrics of datasets whose references name an object; other rows do not have them."""


class IndoorDataset(Protocol):
    """What a dataset of the family offers beyond :class:`~wayword.core.dataset.Dataset`."""

    def graph(self, scene: str) -> ViewpointGraph:
        """The scene's graph, shared and read-only."""
        ...


class IndoorScorer:
    """Scores walks on viewpoint graphs.

        >>> from wayword.metrics.scoring import scorer
        >>> [metric.key for metric in scorer("indoor").metrics][:3]
        ['sr', 'spl', 'osr']

    A rejected answer leaves the actor where it is, so repeated viewpoints count once. An episode
    that failed before its world was ready is scored as one that never left its start.
    """

    metrics = METRICS
    clustered = "path"

    def cluster(self, episode_id: str) -> Hashable:
        """The path: ``{path}_{k}`` are instructions for one path."""
        stem, _, index = episode_id.rpartition("_")
        return stem if stem and index.isdigit() else episode_id

    def score(self, dataset: Dataset, pairs: Sequence[Pair]) -> list[dict[str, float]]:
        """The metrics of each pair; none where the split's references are not public.

        Raises ``DataError`` where a viewpoint is not in the scene's graph.
        """
        known = [n for n, (task, _) in enumerate(pairs) if _path(task)]
        scores: list[dict[str, float]] = [{} for _ in pairs]
        if not known:
            return scores
        columns = measure(align(cast("IndoorDataset", dataset), [pairs[n] for n in known]))
        table = zip(*(column.tolist() for column in columns.values()), strict=True)
        for number, values in zip(known, table, strict=True):
            scores[number] = dict(zip(columns, values, strict=True))
            scores[number] |= _object_scores(dataset, *pairs[number], scores[number])
        return scores

    def standing(self, dataset: Dataset, task: Task, world: World) -> Standing | None:
        """Metres to the goal by the shortest way; success is less than 3 m, stopped or not."""
        if not isinstance(task.reference, PathReference):
            return None
        graph = cast("IndoorDataset", dataset).graph(task.episode.scene)
        here, goal = graph.index[world.pose("agent")["viewpoint"]], graph.index[task.reference.goal]
        away = float(graph.distances[here, goal])
        near = away < SUCCESS_METRES
        return Standing(near, int(near), 1, away)

    def illegal_moves(self, dataset: Dataset, task: Task, places: Sequence[str]) -> int:
        """Moves along no edge, and a start elsewhere than the episode's. Staying is no move."""
        near = cast("IndoorDataset", dataset).graph(task.episode.scene).neighbours
        for place in places:
            near[place]  # raises KeyError
        moves = pairwise(places)
        jumps = sum(here != there and there not in near[here] for here, there in moves)
        return jumps + int(places[0] != task.episode.start["viewpoint"])


def _object_scores(
    dataset: Dataset, task: Task, trajectory: Trajectory, walked: Mapping[str, float]
) -> dict[str, float]:
    """What REVERIE's evaluation has in place of distances: the object is in view at the end (SR),
    was in view on the way (OSR), and was named (RGS). Empty for walks that end at a place."""
    if not isinstance(task.reference, ObjectReference):
        return {}
    walk, meant = _walk(task, trajectory), task.reference
    success = float(walk[-1] in meant.seen_from)
    graph = cast("IndoorDataset", dataset).graph(task.episode.scene)
    gold = sum(graph.distance(here, there) for here, there in pairwise(meant.path))
    lengths = {"spl": graph.distance(meant.path[0], meant.goal), "spl_gold": gold}
    shares = {key: _share(length, walked["tl"]) for key, length in lengths.items()}
    last = trajectory.steps[-1].decision if trajectory.steps else None
    named = last.action.arguments if isinstance(last, Decision) else ()
    stopped = isinstance(last, Decision) and last.action.name == "stop"
    rgs = float(stopped and named == (meant.object_id,))
    return {
        "sr": success,
        "osr": float(any(place in meant.seen_from for place in walk)),
        **{key: success * share for key, share in shares.items()},
        "sdtw": success * walked["ndtw"],
        "rgs": rgs,
        "rgspl": rgs * shares["spl_gold"],
    }


def _share(shortest: float, travelled: float) -> float:
    """What an SPL weights a success with; a walk of no length is as short as can be."""
    return shortest / max(shortest, travelled) if shortest else float(not travelled)


def measure(batch: Alignment) -> dict[str, Floats]:
    """Every metric of a batch, each (B,), by key in the order of ``METRICS``."""
    success, ndtw = paths.success(batch), paths.ndtw(batch)
    return {
        "sr": success,
        "spl": paths.spl(batch),
        "osr": paths.oracle_success(batch),
        "ne": paths.navigation_error(batch),
        "tl": paths.trajectory_length(batch),
        "ndtw": ndtw,
        "sdtw": success * ndtw,
        "cls": paths.cls(batch),
        "spl_gold": paths.spl_gold(batch),
    }


def align(dataset: IndoorDataset, pairs: Sequence[Pair]) -> Alignment:
    """Measure the walks against their references. Raises as :meth:`IndoorScorer.score` does."""
    batch = _align_one(dataset, pairs) if len(pairs) == 1 else _align_many(dataset, pairs)
    given = np.array([_shortest(task) for task, _ in pairs])
    np.copyto(batch.shortest, given, where=~np.isnan(given))
    return batch


def _align_one(dataset: IndoorDataset, pairs: Sequence[Pair]) -> Alignment:
    """A run scores its episodes one by one, as they end."""
    ((task, trajectory),) = pairs
    graph = dataset.graph(task.episode.scene)
    found: list[list[int]] = []
    for names, what in ((_walk(task, trajectory), "path"), (_path(task), "reference")):
        places = [graph.index.get(name, -1) for name in names]
        if -1 in places:
            raise _stranger([graph], [names], what, pairs)
        found.append([place for place, _ in groupby(places)])
    return paths.align_one(graph.distances, *found)


def _align_many(dataset: IndoorDataset, pairs: Sequence[Pair]) -> Alignment:
    scenes = dict.fromkeys(task.episode.scene for task, _ in pairs)
    graphs = {scene: dataset.graph(scene) for scene in scenes}
    places = {scene: number for number, scene in enumerate(graphs)}
    owners = [graphs[task.episode.scene] for task, _ in pairs]
    return paths.align(
        [graph.distances for graph in graphs.values()],
        [places[task.episode.scene] for task, _ in pairs],
        _indices(owners, [_walk(*pair) for pair in pairs], "path", pairs),
        _indices(owners, [_path(task) for task, _ in pairs], "reference", pairs),
    )


def _path(task: Task) -> tuple[str, ...]:
    """The reference's path; empty where it is not public."""
    return task.reference.path if isinstance(task.reference, PathReference) else ()


def _shortest(task: Task) -> float:
    """The dataset's own shortest length in metres; NaN leaves it to the graph."""
    given = task.reference.shortest if isinstance(task.reference, PathReference) else None
    return math.nan if given is None else given


def _walk(task: Task, trajectory: Trajectory) -> list[str]:
    """The viewpoints, one entry a step."""
    if not trajectory.start:
        return [task.episode.start["viewpoint"]]
    moved = [step.pose["viewpoint"] for step in trajectory.steps if step.actor == "agent"]
    return [trajectory.start["agent"]["viewpoint"], *moved]


def _indices(
    graphs: Sequence[ViewpointGraph],
    walks: Sequence[Sequence[str]],
    what: str,
    pairs: Sequence[Pair],
) -> Padded:
    lengths = np.fromiter(map(len, walks), np.intp, len(walks))
    found = chain.from_iterable(
        map(graph.index.get, walk, repeat(-1)) for graph, walk in zip(graphs, walks, strict=True)
    )
    flat = np.fromiter(found, np.intp, int(lengths.sum()))
    if flat.min() < 0:
        raise _stranger(graphs, walks, what, pairs)
    return paths.pad_flat(*paths.without_repeats(flat, lengths))


def _stranger(
    graphs: Sequence[ViewpointGraph],
    walks: Sequence[Sequence[str]],
    what: str,
    pairs: Sequence[Pair],
) -> DataError:
    """The error for the first viewpoint that its scan does not have."""
    episode, graph, name = next(
        (task.episode, graph, name)
        for (task, _), graph, walk in zip(pairs, graphs, walks, strict=True)
        for name in walk
        if name not in graph.index
    )
    where = f"episode {episode.id}, {what}"
    return DataError(graph.scan, where, f"{name!r} is not in this scan's graph")


scorer = IndoorScorer()
