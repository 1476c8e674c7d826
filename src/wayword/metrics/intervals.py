"""How sure a mean is: bootstrap intervals, paired differences, and a permutation test.

All are seeded, so that the same scores give the same interval. Episodes that share a path or a
scene are not independent; given ``clusters``, whole clusters are drawn instead of episodes.

Sources: Efron and Tibshirani 1993, "An Introduction to the Bootstrap", chapters 13 (percentile
intervals) and 15 (permutation tests); Cameron, Gelbach and Miller 2008 on clustered resampling.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wayword.core.dataset import Task
from wayword.core.episode import PathReference

Floats = NDArray[np.float64]

RESAMPLES = 2_000
_DRAWS = 20_000_000
"""Draws for an interval at most: of more than 10,000 episodes fewer resamples are made, 200 at
least, as their means are so close to normal that the quantiles hardly move."""
PERMUTATIONS = 10_000
_CELLS = 1_000_000  # drawn at a time, so that memory stays small


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean and its 95% interval; ``low`` and ``high`` are NaN where there is nothing to draw.

    That is with fewer than two episodes (or clusters), and with values that are not finite. Where
    all episodes agree (SR 0 of 30, say), the bootstrap sees no spread and the interval has no
    width; the truth may still be off by up to about 3 / n.
    """

    mean: float
    low: float = math.nan
    high: float = math.nan

    @property
    def half(self) -> float:
        """Half the interval's width, for ``mean ± half``."""
        return (self.high - self.low) / 2


def bootstrap(
    values: Floats,
    clusters: Sequence[Hashable] | None = None,
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> list[Interval]:
    """Percentile bootstrap intervals of the mean of each column of ``values`` (episodes, metrics).

    NaN marks a missing value: the mean is over the others. ``clusters`` names each episode's
    cluster; the mean stays one over episodes.
    """
    sums, counts = _gather(values, clusters)
    resamples = min(resamples, max(200, _DRAWS // max(1, len(sums))))
    if len(values) == 0:
        return [Interval(math.nan)] * values.shape[1]
    with np.errstate(invalid="ignore", divide="ignore"):
        means = sums.sum(axis=0) / counts.sum(axis=0)
        usable = np.isfinite(means)
        sums[:, ~usable] = 0.0  # an endless value would spoil the products below
        drawn = np.concatenate(
            [
                (weights @ sums) / (weights @ counts)
                for weights in _draws(len(sums), resamples, np.random.default_rng(seed))
            ]
        )
    found = []
    for mean, sound, column in zip(means.tolist(), usable.tolist(), drawn.T, strict=True):
        column = column[~np.isnan(column)]
        if not sound or len(sums) < 2 or len(column) == 0:
            found.append(Interval(mean))
        else:
            low, high = np.quantile(column, (0.025, 0.975)).tolist()
            found.append(Interval(mean, min(low, mean), max(high, mean)))  # rounding apart
    return found


def permutation_test(
    differences: Floats,
    clusters: Sequence[Hashable] | None = None,
    *,
    seed: int = 0,
    permutations: int = PERMUTATIONS,
) -> list[float]:
    """Two-sided p-values of the mean being 0, for each column of (episodes, metrics).

    ``differences`` are paired. Under the null hypothesis each pair (with ``clusters``: all pairs of
    a cluster together) could as well have come the other way round. The observed order counts as
    one of those drawn, so the p-value is never 0. NaN where nothing finite is compared.
    """
    sums, counts = _gather(differences, clusters)
    observed = np.abs(sums.sum(axis=0))
    extreme = np.ones(differences.shape[1])
    rng = np.random.default_rng(seed)
    finite = np.isfinite(observed) & (counts.sum(axis=0) > 0)
    sums[:, ~finite] = 0.0
    for size in _chunks(len(sums), permutations):
        signs = rng.integers(0, 2, (size, len(sums)), dtype=np.int8) * 2.0 - 1.0
        extreme += (np.abs(signs @ sums) >= observed - 1e-9).sum(axis=0)
    chances: list[float] = np.where(finite, extreme / (permutations + 1), np.nan).tolist()
    return chances


def by_path(tasks: Sequence[Task]) -> list[Hashable]:
    """Each episode's cluster: those with the same reference path (R2R has three a path)."""
    return [
        (task.episode.scene, task.reference.path)
        if isinstance(task.reference, PathReference)
        else task.episode.id
        for task in tasks
    ]


def _gather(values: Floats, clusters: Sequence[Hashable] | None) -> tuple[Floats, Floats]:
    """Sums and counts (clusters, metrics) of each cluster or episode; missing values left out."""
    there = ~np.isnan(values)
    filled, counted = np.where(there, values, 0.0), there.astype(np.float64)
    if clusters is None:
        return filled, counted
    if len(clusters) != len(values):
        raise ValueError(f"{len(clusters)} clusters for {len(values)} episodes")
    numbers: dict[Hashable, int] = {}
    owner = [numbers.setdefault(cluster, len(numbers)) for cluster in clusters]
    sums = np.zeros((len(numbers), values.shape[1]))
    counts = np.zeros_like(sums)
    np.add.at(sums, owner, filled)
    np.add.at(counts, owner, counted)
    return sums, counts


def _draws(count: int, resamples: int, rng: np.random.Generator) -> Iterator[Floats]:
    """How often each of ``count`` things is drawn in a resample: (resamples of a chunk, count)."""
    for size in _chunks(count, resamples):
        drawn = rng.integers(0, count, (size, count))
        drawn += np.arange(size)[:, None] * count
        weights = np.bincount(drawn.ravel(), minlength=size * count)
        yield weights.reshape(size, count).astype(np.float64)


def _chunks(width: int, total: int) -> Iterator[int]:
    most = max(1, _CELLS // max(1, width))
    for begin in range(0, total, most):
        yield min(most, total - begin)
