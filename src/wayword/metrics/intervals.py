"""Uncertainty of means: 95% intervals, and a paired test with a matching interval.

* Rates of episodes that succeed or fail: Clopper-Pearson, which covers the true rate in at least
  95% of cases at any n and rate.
* Other means: percentile bootstrap; above 10,000 clusters, the normal interval.
* Differences of paired runs: permutation test. The interval contains the differences that the test
  does not reject, so p < 0.05 exactly if the interval excludes 0.

Draws are seeded. Episodes that share a path or a scene are not independent; given ``clusters``,
full clusters are drawn instead of episodes, and a rate's interval is that of a smaller number of
independent episodes.

Sources: Efron and Tibshirani 1993, "An Introduction to the Bootstrap", chapters 13 and 15; Cameron,
Gelbach and Miller 2008 on clustered resampling; Clopper and Pearson 1934; Korn and Graubard 1998 on
rates of clusters; Hartigan 1969, "Using Subsample Values as Typical Values".
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from wayword.core.dataset import Task
from wayword.core.episode import PathReference

Floats = NDArray[np.float64]

ALPHA = 0.05
RESAMPLES = 2_000
MAX_RESAMPLED = 10_000  # number of clusters above which the normal interval is used
PERMUTATIONS = 10_000
_CELLS = 1_000_000  # numbers drawn at a time, to limit memory


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean and its 95% interval, NaN for fewer than two episodes (or clusters) and non-finite
    values."""

    mean: float
    low: float = math.nan
    high: float = math.nan

    @property
    def half(self) -> float:
        return (self.high - self.low) / 2

    @property
    def is_symmetric(self) -> bool:
        """True if both ends are equally far from the mean, within a tenth of the width."""
        return (
            abs(self.high + self.low - 2 * self.mean) <= 0.2 * self.half + 1e-9
        )  # 1e-9: rounding

    def times(self, factor: float) -> Interval:
        """Return the interval in another unit, such as percent."""
        return Interval(factor * self.mean, factor * self.low, factor * self.high)


def rate_interval(
    values: Floats, clusters: Iterable[Hashable] | None = None
) -> Interval:
    """Return the interval of a rate: the mean of ``values`` (episodes,), each 0, 1 or NaN. With
    ``clusters``, n is the number of independent episodes with the same variance."""
    sums, sizes = (column[:, 0] for column in _by_cluster(values[:, None], clusters))
    sums, sizes = sums[sizes > 0], sizes[sizes > 0]
    count, episodes = len(sizes), sizes.sum()
    if count < 2:
        return Interval(float(sums.sum() / episodes) if count else math.nan)
    from scipy.special import betaincinv

    # Half a cluster of successes and half a cluster of failures are added to estimate the variance:
    # if few clusters differ from the others, the sample variance is often far too small by chance.
    size = (sizes**2).sum() / episodes
    share = (sums.sum() + size / 2) / (episodes + size)
    squares = ((sums - share * sizes) ** 2).sum() + size**2 * (
        share**2 + (1 - share) ** 2
    ) / 2
    alike = (
        share
        * (1 - share)
        * (episodes + size)
        * episodes
        * (count - 1)
        / (count * squares)
    )
    independent = min(max(alike, episodes / size), episodes)
    mean = float(sums.sum() / episodes)
    hits, misses = mean * independent, (1 - mean) * independent
    low = float(betaincinv(hits, misses + 1, ALPHA / 2)) if hits else 0.0
    high = float(betaincinv(hits + 1, misses, 1 - ALPHA / 2)) if misses else 1.0
    return Interval(mean, low, high)


def bootstrap(
    values: Floats,
    clusters: Iterable[Hashable] | None = None,
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> list[Interval]:
    """Return the interval of the mean of each column of ``values`` (episodes, metrics), without
    NaNs. ``clusters`` names each episode's cluster; means are still over episodes."""
    if not len(values):
        return [Interval(math.nan)] * values.shape[1]
    sums, counts = _by_cluster(values, clusters)
    count, rng = len(sums), np.random.default_rng(seed)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = sums.sum(axis=0) / counts.sum(axis=0)
        sums[:, ~np.isfinite(means)] = 0.0  # inf would make the products below NaN
        if count > MAX_RESAMPLED:
            errors = np.sqrt(((sums - means * counts) ** 2).sum(axis=0)) / counts.sum(
                axis=0
            )
            halves = errors * NormalDist().inv_cdf(1 - ALPHA / 2)
            return [
                Interval(mean, mean - half, mean + half)
                if math.isfinite(mean)
                else Interval(mean)
                for mean, half in zip(means.tolist(), halves.tolist(), strict=True)
            ]
        drawn = []
        for size in _chunks(count, resamples):
            picks = (
                rng.integers(0, count, (size, count)) + np.arange(size)[:, None] * count
            )
            weights = np.bincount(
                picks.ravel(), minlength=size * count
            )  # how often each is drawn
            w = weights.reshape(size, count).astype(np.float64)
            drawn.append((w @ sums) / (w @ counts))
    intervals = []
    for mean, column in zip(means.tolist(), np.concatenate(drawn).T, strict=True):
        column = column[~np.isnan(column)]
        if not math.isfinite(mean) or count < 2 or len(column) == 0:
            intervals.append(Interval(mean))
        else:
            low, high = np.quantile(column, (ALPHA / 2, 1 - ALPHA / 2)).tolist()
            intervals.append(
                Interval(mean, min(low, mean), max(high, mean))
            )  # rounding
    return intervals


def permutation_test(
    differences: Floats,
    clusters: Sequence[Hashable] | None = None,
    *,
    seed: int = 0,
    permutations: int = PERMUTATIONS,
) -> list[tuple[Interval, float]]:
    """Return, for each column of ``differences`` (episodes, metrics), the mean with its interval
    and the two-sided p-value for a mean of 0.

    Differences are paired. Under the null hypothesis each pair (with ``clusters``: all pairs of a
    cluster together) is equally likely to be swapped. The observed order counts as one of the
    draws, so p is never 0; it is NaN without finite values. The interval contains every shift of
    the differences with p >= 0.05; for fewer than six pairs it is unbounded.
    """
    sums, counts = _by_cluster(differences, clusters)
    total, pairs = sums.sum(axis=0), counts.sum(axis=0)
    finite = np.isfinite(total) & (pairs > 0)
    sums[:, ~finite] = 0.0
    extreme = np.ones(differences.shape[1])
    lows, highs = [], []
    rng = np.random.default_rng(seed)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = total / pairs
        for size in _chunks(len(sums), permutations):
            kept = rng.integers(0, 2, (size, len(sums)), dtype=np.int8).astype(
                np.float64
            )
            part, part_pairs = kept @ sums, kept @ counts
            # 1e-9: a draw that equals the observed difference must count despite rounding
            extreme += (np.abs(2 * part - total) >= np.abs(total) - 1e-9).sum(axis=0)
            # A draw rejects a shift d if the mean of its kept pairs and that of its swapped pairs
            # are on the same side of d. Means below 1e-12 are 0 up to rounding.
            halves = np.array(
                [part / part_pairs, (total - part) / (pairs - part_pairs)]
            )
            halves[np.abs(halves) < 1e-12] = 0.0
            lows.append(np.where(np.isnan(halves), -np.inf, halves).min(axis=0))
            highs.append(np.where(np.isnan(halves), np.inf, halves).max(axis=0))
    low, high = (
        np.sort(np.concatenate(lows), axis=0),
        np.sort(np.concatenate(highs), axis=0),
    )
    rank = math.ceil(ALPHA * (permutations + 1)) - 2  # the first shift with p >= 0.05
    results = []
    for at, mean in enumerate(means.tolist()):
        if not finite[at]:
            results.append((Interval(mean), math.nan))
        elif len(sums) < 2:
            results.append((Interval(mean), 1.0))
        elif not sums[:, at].any():  # the runs are identical
            results.append((Interval(mean, mean, mean), 1.0))
        else:
            ends = (
                min(float(low[rank, at]), mean),
                max(float(high[-1 - rank, at]), mean),
            )
            results.append(
                (Interval(mean, *ends), float(extreme[at] / (permutations + 1)))
            )
    return results


def holm(chances: Sequence[float]) -> list[float]:
    """Return p-values corrected for multiple tests (Holm 1979); NaN is kept and not counted."""
    order = sorted((p, at) for at, p in enumerate(chances) if not math.isnan(p))
    corrected, least = list(chances), 0.0
    for rank, (p, at) in enumerate(order):
        corrected[at] = least = max(least, min(1.0, p * (len(order) - rank)))
    return corrected


def by_path(tasks: Sequence[Task]) -> list[Hashable]:
    """Return each episode's cluster: its reference path (R2R has three episodes per path)."""
    return [
        (task.episode.scene, task.reference.path)
        if isinstance(task.reference, PathReference)
        else task.episode.id
        for task in tasks
    ]


def _by_cluster(
    values: Floats, clusters: Iterable[Hashable] | None
) -> tuple[Floats, Floats]:
    """Return sums and counts (clusters, metrics) of the values that are not NaN; clusters are in
    order of first appearance. Without ``clusters``, each episode is one."""
    present = ~np.isnan(values)
    filled, counted = np.where(present, values, 0.0), present.astype(np.float64)
    if clusters is None:
        return filled, counted
    numbers: dict[Hashable, int] = {}
    owner = [numbers.setdefault(cluster, len(numbers)) for cluster in clusters]
    if len(owner) != len(values):
        raise ValueError(f"{len(owner)} clusters for {len(values)} episodes")
    sums, counts = np.zeros((2, len(numbers), values.shape[1]))
    np.add.at(sums, owner, filled)
    np.add.at(counts, owner, counted)
    return sums, counts


def _chunks(width: int, total: int) -> Iterator[int]:
    most = max(1, _CELLS // max(1, width))
    for begin in range(0, total, most):
        yield min(most, total - begin)
