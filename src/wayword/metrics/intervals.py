"""Uncertainty of means and of paired differences: 95% intervals, and p-values by the same method.

The lower limit of a mean is a quantile of its Bayesian bootstrap (every cluster weighted by Exp(1))
with one more cluster at the lowest possible value, the upper limit that with one at the highest
possible value (Gaffke's bound). Therefore

* rates of independent episodes that succeed or fail have Clopper-Pearson intervals;
* the p-value of a paired difference of such rates is that of McNemar's exact test;
* an interval of equal values has a width: 0 of 30 is not 0 for certain.

Metrics without bounds (metres, steps, dollars) have no possible extreme: their extra cluster is as
far from the mean as the farthest one, and farther by the skewness of the sample. Below ``FEWEST``
clusters they have no interval. ``tools/coverage.py`` measures how often intervals hold the truth.

Draws are seeded. Episodes that share a path, a trajectory or a scene are not independent: given
``clusters``, weights belong to full clusters; means are still over episodes.

Sources: Rubin 1981, "The Bayesian Bootstrap"; Gaffke 2005, "Three test statistics for a
nonparametric one-sided hypothesis on the mean of a nonnegative variable"; Learned-Miller and Thomas
2020, "A New Confidence Interval for the Mean of a Bounded Random Variable"; Clopper and Pearson
1934; Holm 1979.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

ALPHA = 0.05
FEWEST = 30
"""Clusters below which a metric without bounds has no interval: of 20 episodes, one in eight
samples misses values that one episode in ten has."""
DRAWS = 4_000
TEST_DRAWS = 10_000
"""Draws of an interval, and of a test. Multiples of 40, so that no p-value is exactly 0.05."""
MAX_DRAWN = 10_000  # clusters above which the distribution of draws is taken as normal
_CELLS = 1_000_000  # numbers drawn at a time, to limit memory
_FARTHER = 0.5
"""Distance of the extra cluster by unit of skewness, relative to the farthest cluster. Log-normal
costs with a sigma of 1.5 need it: without it, intervals of 30 of them hold the truth in 88%."""
RATE = (0.0, 1.0)
POSITIVE = (0.0, math.inf)
Bounds = tuple[float, float]
"""The lowest and highest possible value."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean and its 95% interval, NaN where there is none: fewer than two clusters, non-finite
    values, and, without bounds, equal values or fewer than ``FEWEST`` clusters."""

    mean: float
    low: float = math.nan
    high: float = math.nan

    @property
    def half(self) -> float:
        return (self.high - self.low) / 2

    @property
    def is_symmetric(self) -> bool:
        """True if both ends are equally far from the mean, within a tenth of the width."""
        # 1e-9: rounding
        return abs(self.high + self.low - 2 * self.mean) <= 0.2 * self.half + 1e-9

    def times(self, factor: float) -> Interval:
        """Return the interval in another unit, such as percent."""
        return Interval(factor * self.mean, factor * self.low, factor * self.high)


@dataclass(frozen=True, slots=True, eq=False)
class MeanEstimate:
    """A mean with the sorted draws (draws,) of its lower and upper limits, empty if it has no
    interval."""

    mean: float
    bounds: Bounds
    lows: Floats
    highs: Floats

    def interval(self, alpha: float = ALPHA) -> Interval:
        """Return the interval of the level 1 - ``alpha``; it excludes 0 exactly if p < alpha."""
        draws = len(self.lows)
        if not draws:
            return Interval(self.mean)
        rank = math.ceil(alpha * (draws + 1) / 2) - 2
        if rank < 0:  # too few draws for this level
            return Interval(self.mean, *self.bounds)
        low = float(self.lows[rank])
        high = float(self.highs[-1 - rank])
        return Interval(self.mean, min(low, self.mean), max(high, self.mean))

    def p(self) -> float:
        """Return the two-sided p-value for a mean of 0, NaN without an interval."""
        draws = len(self.lows)
        if not draws:
            return math.nan
        low = int(np.searchsorted(self.lows, 0.0, side="right"))
        high = draws - int(np.searchsorted(self.highs, 0.0, side="left"))
        return min(1.0, 2 * (1 + min(low, high)) / (draws + 1))

    def detectable(self, alpha: float = ALPHA) -> float:
        """Return the smallest difference that has p < alpha in 80% of samples like this one."""
        standard_error = self.interval().half / 1.96
        return self.interval(alpha).half + 0.84 * standard_error


def mean_intervals(
    values: Floats,
    bounds: Sequence[Bounds],
    clusters: Iterable[Hashable] | None = None,
    *,
    seed: int = 0,
) -> list[Interval]:
    """Return the interval of the mean of each column of ``values`` (episodes, metrics), NaN where
    an episode has no value. ``bounds`` are those of each metric, ``clusters`` names each episode's
    cluster."""
    sums, counts = _by_cluster(values, clusters)
    found: dict[int, Interval] = {}
    for at in range(values.shape[1]):
        exact = _clopper_pearson(sums[:, at], counts[:, at], bounds[at])
        if exact is not None:
            found[at] = exact
    rest = [at for at in range(values.shape[1]) if at not in found]
    limits = [bounds[at] for at in rest]
    drawn = _estimates(sums[:, rest], counts[:, rest], limits, seed, DRAWS)
    found |= {at: each.interval() for at, each in zip(rest, drawn, strict=True)}
    return [found[at] for at in range(values.shape[1])]


def rate_interval(
    values: Floats, clusters: Iterable[Hashable] | None = None
) -> Interval:
    """Return the interval of the mean of ``values`` (episodes,), each from 0 to 1."""
    return mean_intervals(values[:, None], [RATE], clusters)[0]


def estimates(
    values: Floats,
    bounds: Sequence[Bounds],
    clusters: Iterable[Hashable] | None = None,
    *,
    seed: int = 0,
) -> list[MeanEstimate]:
    """Return the mean of each column of ``values`` with the draws for intervals and tests; of
    paired differences, ``bounds`` are those of a difference. Arguments as in
    ``mean_intervals``."""
    sums, counts = _by_cluster(values, clusters)
    return _estimates(sums, counts, bounds, seed, TEST_DRAWS)


def _clopper_pearson(sums: Floats, counts: Floats, bounds: Bounds) -> Interval | None:
    """Return the exact interval of a rate of independent episodes, None for another column."""
    with_values = counts > 0
    outcomes = sums[with_values]
    episodes = len(outcomes)
    independent = (counts[with_values] == 1).all()
    all_or_nothing = ((outcomes == 0) | (outcomes == 1)).all()
    if bounds != RATE or episodes < 2 or not independent or not all_or_nothing:
        return None
    from scipy.special import betaincinv

    hits = outcomes.sum()
    misses = episodes - hits
    low = float(betaincinv(hits, misses + 1, ALPHA / 2)) if hits else 0.0
    high = float(betaincinv(hits + 1, misses, 1 - ALPHA / 2)) if misses else 1.0
    return Interval(float(hits / episodes), low, high)


def _estimates(
    sums: Floats, counts: Floats, bounds: Sequence[Bounds], seed: int, least_draws: int
) -> list[MeanEstimate]:
    """MeanEstimate the ratio of the sums to the counts (clusters, metrics)."""
    clusters = (counts > 0).sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = sums.sum(axis=0) / counts.sum(axis=0)
    lows = np.empty(len(bounds))
    highs = np.empty(len(bounds))
    usable = np.zeros(len(bounds), dtype=bool)
    for at, limits in enumerate(bounds):
        if clusters[at] < 2 or not math.isfinite(means[at]):
            continue
        present = counts[:, at] > 0
        values = sums[present, at] / counts[present, at]
        lows[at], highs[at] = _extremes(values, float(means[at]), limits)
        bounded = math.isfinite(limits[0]) and math.isfinite(limits[1])
        enough = clusters[at] >= FEWEST and float(np.ptp(values)) > 0
        usable[at] = bounded or enough
    kept = np.flatnonzero(usable).tolist()
    below, above = _limits(
        sums[:, kept], counts[:, kept], lows[kept], highs[kept], seed, least_draws
    )
    none = np.empty(0)
    found = [
        MeanEstimate(mean, limits, none, none)
        for mean, limits in zip(means.tolist(), bounds, strict=True)
    ]
    for number, at in enumerate(kept):
        found[at] = MeanEstimate(
            float(means[at]), bounds[at], below[:, number], above[:, number]
        )
    return found


def _extremes(values: Floats, mean: float, bounds: Bounds) -> Bounds:
    """Return the value of the extra cluster of the lower limit, and of the upper one."""
    low, high = bounds
    deviations = values - values.mean()
    spread = float(deviations.std())
    skewness = float((deviations**3).mean()) / spread**3 if spread > 0 else 0.0
    if math.isinf(high):
        high = mean + (1 + _FARTHER * max(0.0, skewness)) * (float(values.max()) - mean)
    if math.isinf(bounds[1]) or math.isinf(low):
        below = (1 + _FARTHER * max(0.0, -skewness)) * (mean - float(values.min()))
        low = max(low, mean - below)
    return min(low, float(values.min())), max(high, float(values.max()))


def _limits(
    sums: Floats,
    counts: Floats,
    lows: Floats,
    highs: Floats,
    seed: int,
    least_draws: int,
) -> tuple[Floats, Floats]:
    """Return sorted draws (draws, metrics) of the lower and the upper limits."""
    clusters, metrics = counts.shape
    if not metrics:
        return counts, counts
    total = counts.sum(axis=0)
    # An extra cluster has as many episodes as that of an average episode.
    size = (counts**2).sum(axis=0) / total
    if clusters > MAX_DRAWN:
        return tuple(
            _normal_limits(sums, counts, size, each, least_draws)
            for each in (lows, highs)
        )  # type: ignore[return-value]
    # More draws where clusters are few: they are cheap, and their p-values are the largest.
    affordable = _CELLS // (clusters + 1) // 40 * 40
    draws = max(least_draws, min(affordable, 4 * least_draws))
    below = np.empty((draws, metrics))
    above = np.empty((draws, metrics))
    rng = np.random.default_rng(seed)
    rows = max(1, _CELLS // (clusters + 1))
    for start in range(0, draws, rows):
        part = slice(start, min(start + rows, draws))
        weights = rng.standard_exponential((part.stop - start, clusters + 1))
        extra = weights[:, -1:] * size
        weighted = weights[:, :-1] @ sums
        number = weights[:, :-1] @ counts + extra
        below[part] = (weighted + extra * lows) / number
        above[part] = (weighted + extra * highs) / number
    return np.sort(below, axis=0), np.sort(above, axis=0)


def _normal_limits(
    sums: Floats, counts: Floats, size: Floats, extreme: Floats, draws: int
) -> Floats:
    """Return the draws of one limit (draws, metrics) where clusters are many."""
    from scipy.special import ndtri

    number = counts.sum(axis=0) + size
    means = (sums.sum(axis=0) + size * extreme) / number
    squares = ((sums - means * counts) ** 2).sum(axis=0)
    squares += (size * (extreme - means)) ** 2
    quantiles = ndtri(np.arange(1, draws + 1) / (draws + 1))
    return np.asarray(means + quantiles[:, None] * np.sqrt(squares) / number)


def holm(chances: Sequence[float]) -> list[tuple[float, float]]:
    """Return, for each p-value of a family of tests, the corrected one and the ``alpha`` of an
    interval that agrees with it. NaN is kept and not counted.

    Intervals are Bonferroni's, which hold together in 95% of cases. A test that Holm rejects and
    Bonferroni does not has the interval of its step.
    """
    order = sorted((p, at) for at, p in enumerate(chances) if not math.isnan(p))
    corrected = [(p, ALPHA) for p in chances]
    tests = len(order)
    least = 0.0
    for rank, (p, at) in enumerate(order):
        least = max(least, min(1.0, p * (tests - rank)))
        divisor = tests
        if least < ALPHA <= p * tests:
            divisor = tests - rank
        corrected[at] = least, ALPHA / divisor
    return corrected


def _by_cluster(
    values: Floats, clusters: Iterable[Hashable] | None
) -> tuple[Floats, Floats]:
    """Return sums and counts (clusters, metrics) of the values that are not NaN; clusters are in
    order of first appearance. Without ``clusters``, each episode is one."""
    present = ~np.isnan(values)
    filled = np.where(present, values, 0.0)
    counted = present.astype(np.float64)
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
