"""Uncertainty of means and of paired differences: 95% intervals, and p-values by the same method.

The lower limit of a mean is a quantile of its Bayesian bootstrap (every cluster weighted by Exp(1))
with one more cluster at the lowest possible value, the upper limit that with one at the highest
possible value (Gaffke's bound). Therefore

* rates of independent episodes that succeed or fail have Clopper-Pearson intervals;
* the p-value of a paired difference of such rates is that of McNemar's exact test;
* an interval of equal values has a width: 0 of 30 is not 0 for certain.

Nothing is drawn: the share of weights whose mean is below a value is a distribution function of a
weighted sum of exponential variables, which is integrated numerically.

Metrics without bounds (metres, steps, dollars) have no possible extreme: their extra cluster is as
far from the mean as the farthest one, and farther by the skewness of the sample. Of a difference
that fewer than ``FEWEST`` clusters show, it is as large as the largest, in either direction. Below
``FEWEST`` clusters they have no interval. ``tools/coverage.py`` measures how often intervals hold
the truth.

Episodes that share a path, a trajectory or a scene are not independent: given ``clusters``
(:attr:`wayword.core.dataset.Dataset.clusters` states them), weights belong to full clusters; means
are still over episodes.

Sources: Rubin 1981, "The Bayesian Bootstrap"; Gaffke 2005, "Three test statistics for a
nonparametric one-sided hypothesis on the mean of a nonnegative variable"; Learned-Miller and Thomas
2020, "A New Confidence Interval for the Mean of a Bounded Random Variable"; Clopper and Pearson
1934; Lugannani and Rice 1980, "Saddle Point Approximation for the Distribution of the Sum of
Independent Random Variables"; Anderson and Björck 1973, "A New High Order Method of Regula Falsi
Type"; Holm 1979.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from statistics import NormalDist

import numpy as np

from wayword.core.geometry import Floats

ALPHA = 0.05  # level of tests; intervals have that of 1 - ALPHA
FEWEST = 60
"""Clusters below which a metric without bounds has no interval: samples may miss values that one
episode in ten has. Of 30, intervals hold the truth in 92%; of 40, those of differences from a run
that seldom has large values in 92.5%."""
_FARTHER = 0.5
"""Distance of the extra cluster by unit of skewness, relative to the farthest cluster. Log-normal
costs with a sigma of 1.5 need it: without it, intervals of 30 of them hold the truth in 88%."""
_INTEGRATED = 30
"""Different values above which a share is approximated. Below 0.1, its error is at most a tenth."""
_KEPT_CLUSTERS = 1_000
"""Clusters up to which an estimate is kept for equal outcomes: 16 kB each."""
_STEP = 0.2
_NODES = _STEP * np.arange(30)
"""Nodes of the integral: its error is below 1e-6 from three clusters on."""
_NORMAL = NormalDist()
_TINY = 1e-300  # instead of 0, whose normal quantile is infinite
_NEAR = 1e-12  # standard errors between a limit and the exact one
_UNDERFLOW = 690.0  # -log(_TINY)
_ROUNDING = 1e-9  # share of a value by which equal ones may differ
Bounds = tuple[float, float]
"""The lowest and highest possible value."""
RATE: Bounds = (0.0, 1.0)
POSITIVE: Bounds = (0.0, math.inf)
UNBOUNDED: Bounds = (-math.inf, math.inf)
"""Of a difference, since a metric without bounds is never negative itself."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean and its 95% interval, NaN where there is none.

    There is none for fewer than two clusters, for non-finite values, and, without
    bounds, for equal values or fewer than ``FEWEST`` clusters.
    """

    mean: float
    low: float = math.nan
    high: float = math.nan

    @property
    def half(self) -> float:
        """Half of the interval's width."""
        return (self.high - self.low) / 2

    @property
    def is_symmetric(self) -> bool:
        """True if both ends are equally far from the mean, within a tenth of the width."""
        # 1e-9: rounding
        return abs(self.high + self.low - 2 * self.mean) <= 0.2 * self.half + 1e-9

    def times(self, factor: float) -> Interval:
        """Return the interval in another unit, such as percent."""
        return Interval(factor * self.mean, factor * self.low, factor * self.high)


@dataclass(frozen=True, eq=False)
class MeanEstimate:
    """A mean of clusters, for intervals and tests.

    ``sums`` and ``counts`` (clusters,) are those of the values in each cluster; ``extremes``
    the values of the extra clusters of both limits, None if it has no interval.
    """

    mean: float
    sums: Floats
    counts: Floats
    extremes: Bounds | None
    _found: dict[float, Interval] = field(default_factory=dict, repr=False)

    def interval(self, alpha: float = ALPHA) -> Interval:
        """Return the interval of the level 1 - ``alpha``; it excludes 0 exactly if p < alpha."""
        if self.extremes is None:
            return Interval(self.mean)
        if alpha not in self._found:
            low = -self._limit(-1.0, alpha / 2)
            high = self._limit(1.0, alpha / 2)
            self._found[alpha] = Interval(self.mean, low, high)
        return self._found[alpha]

    @cached_property
    def p(self) -> float:
        """The two-sided p-value for a mean of 0, NaN without an interval."""
        if self.extremes is None:
            return math.nan
        share = min(self._share(-1.0, 0.0), self._share(1.0, 0.0))
        # At least that of a sign test: without bounds, 0 may lie beyond all means of weights, and
        # no sample is impossible.
        least = max(_TINY, 2.0 ** (1 - len(self.counts)))
        return min(1.0, max(least, 2 * share))

    def detectable(self, alpha: float = ALPHA) -> float:
        """Return the smallest difference that has p < alpha in 80% of samples like this one."""
        standard_error = self.interval().half / 1.96
        return self.interval(alpha).half + 0.84 * standard_error

    def _limit(self, sign: float, share: float) -> float:
        """Return the value that the weighted mean times ``sign`` is at least, for a ``share`` of
        weights.

        ``sign`` is 1 for the upper limit; with -1 the result is the negative of the lower one.
        Searched in that scale from the mean upwards to the extreme on its side.
        """
        low = sign * self.mean
        high = max(sign * extreme for extreme in self.extremes or ())
        required = _quantile(share)

        # The normal quantile of the share is almost linear.
        def excess(value: float) -> float:
            """Return how far the share at a value is above the required one."""
            return _quantile(self._share(sign, value)) - required

        if high <= low or (above := excess(low)) <= 0:
            return low
        # All values are equal, but for rounding
        if (below := excess(high)) >= 0:
            return high

        # Regula falsi, where the value of the end that stays shrinks: by 1 - gap / (old value of
        # the end that moves), or by half where that is not positive (Anderson and Björck 1973).
        for _ in range(100):
            value = low + (high - low) * above / (above - below)
            gap = excess(value)
            if abs(gap) < _NEAR:
                break
            if gap > 0:
                below *= max(1 - gap / above, 0) or 0.5
                above = gap
                low = value
            else:
                above *= max(1 - gap / below, 0) or 0.5
                below = gap
                high = value
        return value

    def _share(self, sign: float, value: float) -> float:
        """Return the share of weights whose mean, times ``sign``, is at least ``value``."""
        extreme = max(sign * extreme for extreme in self.extremes or ())
        # The extra cluster is as large as the one that a randomly drawn episode lies in.
        size = (self.counts**2).sum() / self.counts.sum()
        gaps = value * self.counts - sign * self.sums
        gaps, weights = np.unique(
            np.append(gaps, size * (value - extreme)),
            return_counts=True,
        )
        return share_below(gaps, weights.astype(np.float64))


def _quantile(share: float) -> float:
    """Return the normal quantile of a share, finite also for 0 and 1."""
    return _NORMAL.inv_cdf(min(max(_TINY, share), math.nextafter(1, 0)))


def share_below(values: Floats, weights: Floats) -> float:
    """Return the chance that a weighted sum is at most 0.

    The sum of independent Gamma(``weights``) variables (n,), each times its value in
    ``values`` (n,).
    """
    weights = weights[values != 0]
    values = values[values != 0]
    if not len(values) or values[-1] < 0:
        return 1.0
    if values[0] > 0:
        return 0.0
    point, spread = _saddle_point(values, weights)
    with np.errstate(divide="ignore", invalid="ignore"):
        exponent = float(weights @ np.log1p(-point * values))
    if not exponent < _UNDERFLOW:
        return float(point > 0)
    if len(values) > _INTEGRATED:
        # Lugannani and Rice's formula, whose two last terms cancel at 0.
        root = math.copysign(math.sqrt(max(0.0, 2 * exponent)), point)
        if abs(root) < 1e-3:
            return 0.5
        density = math.exp(-exponent) / math.sqrt(2 * math.pi)
        return _NORMAL.cdf(root) + density * (1 / root - spread / point)

    # With M, the moment generating function of the sum S, the integral of M(t) / t along a parallel
    # of the imaginary axis, over 2 pi i, is P(S > 0) to the right of 0 and -P(S <= 0) to the left.
    # The parallel runs through the saddle point, where M falls off fastest, but keeps away from the
    # pole at 0: by half the way to the next pole of M, at most. With sinh, few nodes reach far.
    nearest = 0.5 * min(spread, -1 / values[0], 1 / values[-1])
    if abs(point) < nearest:
        point = math.copysign(nearest, point)
    nodes = point + 1j * spread * np.sinh(_NODES)
    terms = np.exp(-np.log1p(-np.outer(nodes, values)) @ weights) / nodes
    heights = terms.real * np.cosh(_NODES)
    integral = _STEP * spread / math.pi * float(heights.sum() - heights[0] / 2)
    return 1 - integral if point > 0 else -integral


def _saddle_point(values: Floats, weights: Floats) -> tuple[float, float]:
    """Return the zero of the derivative of the cumulant generating function of the sum of
    ``share_below``, and the standard deviation of an approximation around it."""
    low = 1 / values[0]
    high = 1 / values[-1]
    point = 0.0
    spread = 0.0
    for _ in range(200):  # Newton's method, bisection where it leaves the bracket
        scaled = values / (1 - point * values)
        slope = float(weights @ scaled)
        if slope > 0:
            high = point
        else:
            low = point
        spread = 1 / math.sqrt(float(weights @ scaled**2))
        following = point - slope * spread**2
        if abs(slope * spread) < 1e-6:
            break
        if not low < following < high:
            following = (low + high) / 2
        point = following
    return point, spread


def mean_intervals(
    values: Floats,
    bounds: Sequence[Bounds],
    clusters: Iterable[Hashable] | None = None,
) -> list[Interval]:
    """Return the interval of the mean of each column of ``values`` (episodes, metrics), NaN where
    an episode has no value. ``bounds`` are those of each metric, ``clusters`` names each episode's
    cluster."""
    return [each.interval() for each in estimates(values, bounds, clusters)]


def rate_interval(
    values: Floats,
    clusters: Iterable[Hashable] | None = None,
) -> Interval:
    """Return the interval of the mean of ``values`` (episodes,), each from 0 to 1."""
    return mean_intervals(values[:, None], [RATE], clusters)[0]


def estimates(
    values: Floats,
    bounds: Sequence[Bounds],
    clusters: Iterable[Hashable] | None = None,
) -> list[MeanEstimate]:
    """Return the mean of each column of ``values`` (episodes, metrics), for intervals and tests.

    Of paired differences, ``bounds`` are those of a difference. Arguments as in
    ``mean_intervals``.
    """
    all_sums, all_counts = by_cluster(values, clusters)
    found = []
    for sums, counts, limits in zip(all_sums.T, all_counts.T, bounds, strict=True):
        # A cluster without values of this metric has no mean.
        sums = sums[counts > 0]
        counts = counts[counts > 0]
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = float(sums.sum() / counts.sum())
        extremes = None
        if len(counts) > 1 and math.isfinite(mean):
            extremes = _extremes(sums / counts, mean, limits)
        # Arrays of many clusters would take too much memory to be kept.
        if len(counts) > _KEPT_CLUSTERS:
            found.append(MeanEstimate(mean, sums, counts, extremes))
            continue
        # Sorted, so that the same outcomes in another order find the same estimate.
        order = np.lexsort((counts, sums))
        key = sums[order].tobytes(), counts[order].tobytes()
        found.append(_kept_estimate(mean, *key, extremes))
    return found


@lru_cache(maxsize=256)
def _kept_estimate(
    mean: float,
    sums: bytes,
    counts: bytes,
    extremes: Bounds | None,
) -> MeanEstimate:
    """Return one object for equal clusters, so that its limits are found once: levels of a ladder
    and rows of a board often have the same outcomes."""
    return MeanEstimate(mean, np.frombuffer(sums), np.frombuffer(counts), extremes)


def _extremes(values: Floats, mean: float, bounds: Bounds) -> Bounds | None:
    """Return the values of the extra clusters of the lower and the upper limit.

    None if too little is known for an interval.
    """
    low, high = bounds
    least = float(values.min())
    most = float(values.max())
    if not (math.isfinite(low) and math.isfinite(high)):
        # Equal values may differ by rounding, from which any interval would be exact.
        is_equal = most - least <= _ROUNDING * max(abs(least), abs(most))
        if len(values) < FEWEST or is_equal:
            return None
        deviations = values - values.mean()
        skewness = float((deviations**3).mean() / (deviations**2).mean() ** 1.5)
        farther = 1 + _FARTHER * abs(skewness)
        # The long tail is on one side; on the other, the sample has seen the extremes.
        below = farther if skewness < 0 else 1.0
        above = farther if skewness > 0 else 1.0
        low = max(low, mean - below * (mean - least))
        high = min(high, mean + above * (most - mean))
        # Where few clusters differ at all, the next one may undo the largest difference: two of 120
        # in one direction say little.
        if bounds == UNBOUNDED and np.count_nonzero(values) < FEWEST:
            reach = max(-least, most)
            low = min(low, -reach)
            high = max(high, reach)
    return min(low, least), max(high, most)


def holm(chances: Sequence[float]) -> list[tuple[float, float]]:
    """Return, for each p-value of a family of tests, the corrected one and the ``alpha`` of an
    interval that agrees with it. NaN is kept and not counted.

    Intervals are Bonferroni's, which hold together in 95% of cases. A test that Holm rejects and
    Bonferroni does not has the interval of its step.
    """
    # The smallest p-value is compared with the number of all tests, the next with one less.
    order = sorted((p, at) for at, p in enumerate(chances) if not math.isnan(p))
    corrected = [(p, ALPHA) for p in chances]
    tests = len(order)
    least = 0.0
    for rank, (p, at) in enumerate(order):
        least = max(least, min(1.0, p * (tests - rank)))
        divisor = tests
        bonferroni = p * tests
        is_rejected_by_holm_alone = least < ALPHA <= bonferroni
        if is_rejected_by_holm_alone:
            divisor = tests - rank
        corrected[at] = least, ALPHA / divisor
    return corrected


def by_cluster(
    values: Floats,
    clusters: Iterable[Hashable] | None,
) -> tuple[Floats, Floats]:
    """Return sums and counts (clusters, metrics) of the values that are not NaN.

    Clusters are in order of first appearance. Without ``clusters``, each episode is one.
    """
    # A mean over episodes: a cluster weighs as much as it has episodes with the metric.
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
