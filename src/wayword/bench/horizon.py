"""Horizon: the longest task at which a player still solves half of the episodes.

    >>> solved = [12, 11, 9, 1, 0, 0]
    >>> attempts = [
    ...     Attempt(level, place, f"{place}/{level}", place < wins)
    ...     for level, wins in enumerate(solved)
    ...     for place in range(12)
    ... ]
    >>> found = horizon([2, 4, 8, 16, 32, 64], attempts)
    >>> (found.h50.low, found.h50.high), 8 < found.h50.mean < 16
    ((4.0, 16.0), True)

H50 is where success crosses one half. No curve is fitted. The interval is read off the intervals of
the levels: its lower end is the longest level whose success is above one half with 95% confidence,
its upper end the shortest level such that it and all longer ones are below one half (levels that
were not played, because those before them were hopeless, are). The value is where the best falling
sequence of success rates (isotonic regression) crosses one half, linear in log length between
levels. Nothing is extrapolated: a horizon beyond the longest level is infinite, one below the
shortest 0.

Why it holds: the upper end is wrong only if the longest level at or above one half is rejected, a
single test; the lower end only if a level beyond it is. Neither needs a shape of the curve.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from wayword.metrics.intervals import Interval, rate_interval

HALF = 0.5
"""Success rate that defines the horizon."""


@dataclass(frozen=True)
class Attempt:
    """One try at one episode: its level (index), its place (the unit of intervals), the outcome."""

    level: int
    place: Hashable
    episode: str
    success: bool


@dataclass(frozen=True)
class Horizon:
    """H50 with its interval; 0 is below the ladder, infinity beyond it.

    ``rates``: success at each level, NaN where it was not played. ``ceiling``: success
    at the best level. ``is_monotone``: no level is solved significantly more often than
    a shorter one.
    """

    h50: Interval
    rates: tuple[Interval, ...]
    ceiling: Interval
    is_monotone: bool


def mean_success(attempts: Sequence[Attempt], levels: int) -> Interval:
    """Return the mean success over the levels of a ladder; those not played count as failed."""
    return rate_interval(np.array(list(place_means(attempts, levels).values())))


def place_means(attempts: Sequence[Attempt], levels: int) -> dict[Hashable, float]:
    """Return the mean success of each place, over all levels of the ladder."""
    played = len({each.level for each in attempts})
    # Each place has an episode at each level that was played.
    outcomes: dict[Hashable, list[bool]] = {}
    for each in attempts:
        outcomes.setdefault(each.place, []).append(each.success)
    means = {}
    for place, won in outcomes.items():
        # Levels not played are failures: they follow hopeless ones.
        means[place] = float(np.mean(won)) * played / levels
    return means


def horizon(
    lengths: Sequence[float],
    attempts: Sequence[Attempt],
    floor: Sequence[float] | None = None,
) -> Horizon:
    """Return the horizon of a player on a ladder with these ``lengths`` (L,), in rising order.

    ``floor`` (L,) is the success of policies that solve nothing, which a level must
    exceed too. At least one level must have been played.
    """
    least = [max(HALF, chance) for chance in floor or [0.0] * len(lengths)]
    # Players that guess exceed the floor by chance alone, so it counts next to one half.
    rates = []
    counts = []
    for level in range(len(lengths)):
        # Episodes of one place depend on each other, so the place is the unit.
        tried = [each for each in attempts if each.level == level]
        won = np.array([each.success for each in tried], dtype=float)
        rates.append(rate_interval(won, [each.place for each in tried]))
        counts.append(len(tried))
    # Levels that are solved more often than one half, with confidence.
    above = [
        number
        for number, (rate, share) in enumerate(zip(rates, least, strict=True))
        if rate.low > share
    ]
    low = 0.0
    if above:
        low = float(lengths[above[-1]])
    # Beyond the longest level nothing is known, so nothing bounds the horizon.
    if above and above[-1] == len(lengths) - 1:
        low = math.inf
    high = math.inf
    # From the longest level down, as long as all are below one half.
    for length, rate in zip(reversed(lengths), reversed(rates), strict=True):
        if not (rate.high < HALF or math.isnan(rate.mean)):
            break
        high = float(length)
    if high == lengths[0]:
        high = 0.0  # every level is below
    # The value may fall outside of the interval, which is more reliable.
    value = isotonic_crossing(
        lengths,
        [rate.mean for rate in rates],
        counts,
        HALF,
    )
    h50 = Interval(min(max(value, low), high), low, high)

    played = [rate for rate in rates if not math.isnan(rate.mean)]
    # A level above a shorter one is a sign that length is not what makes it hard.
    pairs = combinations(played, 2)
    rises = any(later.low > earlier.high for earlier, later in pairs)
    # The ceiling: H50 of a player that solves at most 60% says less than the number alone.
    best = max(played, key=lambda rate: rate.mean)
    return Horizon(h50, tuple(rates), best, not rises)


def isotonic_crossing(
    lengths: Sequence[float],
    rates: Sequence[float],
    tried: Sequence[int],
    height: float,
) -> float:
    """Return the length at which the best falling sequence of success rates passes a height.

    Linear in log length between levels, 0 below the ladder, infinite beyond it.
    ``rates`` (L,) are weighted by ``tried`` (L,), the episodes of each level.
    """
    from scipy.optimize import isotonic_regression

    # Levels that were not played follow hopeless ones.
    means = np.nan_to_num(np.array(rates, dtype=float))
    falling = isotonic_regression(
        means,
        weights=np.maximum(1, tried),
        increasing=False,
    ).x
    # Nothing is extrapolated.
    if falling[0] < height:
        return 0.0
    if falling[-1] >= height:
        return math.inf
    # The first level below the height.
    after = int(np.argmax(falling < height))
    # Levels double, so they are evenly spaced in the logarithm.
    steps = np.log2(np.asarray(lengths, dtype=float))
    share = (falling[after - 1] - height) / (falling[after - 1] - falling[after])
    return float(2 ** (steps[after - 1] + share * (steps[after] - steps[after - 1])))
