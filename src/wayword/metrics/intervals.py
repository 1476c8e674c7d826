"""How sure a mean is: bootstrap intervals, paired differences, and a permutation test.

All are seeded, so that the same scores give the same interval. Episodes that share a path or a
scene are not independent; given ``clusters``, whole clusters are drawn instead of episodes.

Sources: Efron and Tibshirani 1993, "An Introduction to the Bootstrap", chapters 13 (percentile
intervals) and 15 (permutation tests); Cameron, Gelbach and Miller 2008 on clustered resampling.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayword.core.dataset import Task
from wayword.core.episode import PathReference

Floats = NDArray[np.float64]
Ints = NDArray[np.integer[Any]]
Columns = Sequence[Floats] | Floats
"""An array over the episodes for each metric."""

RESAMPLES = 2_000
_DRAWS = 20_000_000
"""Draws for an interval at most: of more than 10,000 episodes fewer resamples are made, 200 at
least, as their means are so close to normal that the quantiles hardly move."""
PERMUTATIONS = 10_000
TOGETHER = 1 << 16
"""Clusters whose sums are in memory at a time."""
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
    clusters: Iterable[Hashable] | None = None,
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> list[Interval]:
    """Percentile bootstrap intervals of the mean of each column of ``values`` (episodes, metrics).

    NaN marks a missing value: the mean is over the others. ``clusters`` names each episode's
    cluster; the mean stays one over episodes.
    """
    return bootstrap_columns(values.T, len(values), clusters, seed=seed, resamples=resamples)


def bootstrap_columns(
    columns: Columns,
    episodes: int,
    clusters: Iterable[Hashable] | None = None,
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> list[Interval]:
    """:func:`bootstrap` of columns that are asked for one by one.

    Of more than ``TOGETHER`` clusters only so many are in memory at a time: how often a resample
    draws from each such part is drawn first.
    """
    metrics = len(columns)
    if episodes == 0:
        return [Interval(math.nan)] * metrics
    owner, count = (None, episodes) if clusters is None else _numbered(clusters, episodes)
    resamples = min(resamples, max(200, _DRAWS // max(1, count)))
    rng = np.random.default_rng(seed)
    parts = [range(at, min(at + TOGETHER, count)) for at in range(0, count, TOGETHER)]
    shares = (
        rng.multinomial(count, [len(p) / count for p in parts], resamples) if parts[1:] else None
    )
    total, drawn = np.zeros((2, metrics)), np.zeros((2, resamples, metrics))
    with np.errstate(invalid="ignore", divide="ignore"):
        for number, part in enumerate(parts):
            sums, counts = _gathered(columns, owner, part)
            whole = sums.sum(axis=0)
            total += whole, counts.sum(axis=0)
            sums[:, ~np.isfinite(whole)] = 0.0  # an endless value would spoil the products below
            own = None if shares is None else shares[:, number]
            at = 0
            for weights in _draws(len(part), resamples, rng, own):
                rows = slice(at, at := at + len(weights))
                drawn[0, rows] += weights @ sums
                drawn[1, rows] += weights @ counts
        means, means_drawn = total[0] / total[1], drawn[0] / drawn[1]
    found = []
    for mean, column in zip(means.tolist(), means_drawn.T, strict=True):
        column = column[~np.isnan(column)]
        if not math.isfinite(mean) or count < 2 or len(column) == 0:
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
    owner, count = (
        (None, len(differences)) if clusters is None else _numbered(clusters, len(differences))
    )
    sums, counts = _gathered(differences.T, owner, range(count))
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


def _gathered(columns: Columns, owner: Ints | None, part: range) -> tuple[Floats, Floats]:
    """Sums and counts (clusters, metrics) of the clusters with the numbers of a ``part``. ``owner``
    is the number of each episode's cluster, its own where there are none."""
    sums, counts = np.zeros((2, len(part), len(columns)))
    inside: slice | NDArray[np.bool_] = slice(part.start, part.stop)
    if owner is not None:
        inside = (owner >= part.start) & (owner < part.stop)
        owner = owner[inside] - part.start
    for number in range(len(columns)):
        values = columns[number][inside]
        there = ~np.isnan(values)
        values = np.where(there, values, 0.0)
        if owner is None:
            sums[:, number], counts[:, number] = values, there
        else:
            sums[:, number] = np.bincount(owner, values, len(part))
            counts[:, number] = np.bincount(owner, there, len(part))
    return sums, counts


def _numbered(clusters: Iterable[Hashable], episodes: int) -> tuple[Ints, int]:
    """(episodes,) each one's cluster, by number in the order of first appearance, and how many
    clusters there are."""
    codes = np.fromiter(_codes(clusters), np.int64)
    if len(codes) != episodes:
        raise ValueError(f"{len(codes)} clusters for {episodes} episodes")
    _, first, found = np.unique(codes, return_index=True, return_inverse=True)
    numbers = np.empty(len(first), np.int32)
    numbers[np.argsort(first)] = np.arange(len(first))
    return numbers[found], len(first)


def _codes(clusters: Iterable[Hashable]) -> Iterator[int]:
    """A number for each cluster. Strings are told apart by their hashes, as a million of them would
    take more memory than their scores; two of a million have the same one in 1 of 30 million runs.
    Hashes of numbers are no such draw: -1 and -2 share one."""
    others: dict[Hashable, int] = {}
    for cluster in clusters:
        if isinstance(cluster, str):
            yield hash(cluster)
        else:
            yield hash(("", others.setdefault(cluster, len(others))))


def _draws(
    count: int, resamples: int, rng: np.random.Generator, shares: Ints | None = None
) -> Iterator[Floats]:
    """How often each of ``count`` things is drawn in a resample: (resamples of a chunk, count).

    Each resample draws ``count`` times, or its one of ``shares`` (resamples,).
    """
    at = 0
    for size in _chunks(count, resamples):
        if shares is not None:
            own = (rng.integers(0, count, share) for share in shares[at : at + size].tolist())
            yield np.array([np.bincount(each, minlength=count) for each in own], dtype=np.float64)
            at += size
            continue
        drawn = rng.integers(0, count, (size, count))
        drawn += np.arange(size)[:, None] * count
        weights = np.bincount(drawn.ravel(), minlength=size * count)
        yield weights.reshape(size, count).astype(np.float64)


def _chunks(width: int, total: int) -> Iterator[int]:
    most = max(1, _CELLS // max(1, width))
    for begin in range(0, total, most):
        yield min(most, total - begin)
