"""Indoor metrics: TL, NE, OSR, SR, SPL, nDTW, sDTW and CLS of walks on viewpoint graphs.

A dataset of the family has ``graph(scene) -> ViewpointGraph`` and references that are paths. The
definitions are in :mod:`wayword.evaluation.paths`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, repeat
from typing import Protocol, cast

import numpy as np

from wayword.core.dataset import Dataset, Task
from wayword.core.episode import PathReference
from wayword.core.errors import DataError, UsageError
from wayword.core.trajectory import Trajectory
from wayword.evaluation import paths
from wayword.evaluation.metric import Metric
from wayword.evaluation.paths import Alignment, Floats, Padded
from wayword.evaluation.scorer import Pair
from wayword.worlds.viewpoints import ViewpointGraph

METRICS: tuple[Metric, ...] = (
    Metric("sr", "SR", "rate", "higher", "final viewpoint less than 3 m from the goal"),
    Metric("spl", "SPL", "rate", "higher", "success weighted by g / max(TL, g)"),
    Metric("osr", "OSR", "rate", "higher", "any viewpoint less than 3 m from the goal"),
    Metric("ne", "NE", "metres", "lower", "geodesic distance from the final viewpoint to the goal"),
    Metric("tl", "TL", "metres", None, "length of the path"),
    Metric("ndtw", "nDTW", "rate", "higher", "exp(-DTW / (3 m x places of the reference))"),
    Metric("sdtw", "sDTW", "rate", "higher", "nDTW of the successful episodes, else 0"),
    Metric("cls", "CLS", "rate", "higher", "coverage of the reference times the length score"),
)


class IndoorDataset(Protocol):
    """What a dataset of the family offers beyond :class:`~wayword.core.dataset.Dataset`."""

    def graph(self, scene: str) -> ViewpointGraph:
        """The scene's graph, shared and read-only."""
        ...


class IndoorScorer:
    """Scores walks on viewpoint graphs.

        >>> from wayword.evaluation.scorer import scorer
        >>> [metric.key for metric in scorer("indoor").metrics][:3]
        ['sr', 'spl', 'osr']

    A rejected answer leaves the actor where it is, so repeated viewpoints count once. An episode
    that failed before its world was ready is scored as one that never left its start.
    """

    family = "indoor"
    metrics = METRICS

    def score(self, dataset: Dataset, pairs: Sequence[Pair]) -> list[dict[str, float]]:
        """Raises ``DataError`` where a viewpoint is not in the scene's graph."""
        if not pairs:
            return []
        columns = measure(align(cast("IndoorDataset", dataset), pairs))
        table = zip(*(column.tolist() for column in columns.values()), strict=True)
        return [dict(zip(columns, values, strict=True)) for values in table]


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
    }


def align(dataset: IndoorDataset, pairs: Sequence[Pair]) -> Alignment:
    """Measure the walks against their references. Raises as :meth:`IndoorScorer.score` does."""
    scenes = dict.fromkeys(task.episode.scene for task, _ in pairs)
    graphs = {scene: dataset.graph(scene) for scene in scenes}
    places = {scene: number for number, scene in enumerate(graphs)}
    references = [_reference(task) for task, _ in pairs]
    owners = [graphs[task.episode.scene] for task, _ in pairs]
    batch = paths.align(
        [graph.distances for graph in graphs.values()],
        [places[task.episode.scene] for task, _ in pairs],
        _indices(owners, [_walk(*pair) for pair in pairs], "path", pairs),
        _indices(owners, [reference.path for reference in references], "reference", pairs),
    )
    given = np.array([np.nan if r.shortest is None else r.shortest for r in references])
    np.copyto(batch.shortest, given, where=~np.isnan(given))
    return batch


def _reference(task: Task) -> PathReference:
    if not isinstance(task.reference, PathReference) or not task.reference.path:
        raise UsageError(f"episode {task.episode.id}: indoor metrics need a path as reference")
    return task.reference


def _walk(task: Task, trajectory: Trajectory) -> list[str]:
    """The viewpoints, one entry a step."""
    if not trajectory.start:
        return [task.episode.start["viewpoint"]]
    moved = [step.where["viewpoint"] for step in trajectory.steps if step.actor == "agent"]
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
