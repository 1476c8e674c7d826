"""Horizon: the length of task at which a player's success falls to one half.

    >>> import numpy as np
    >>> lengths, tried = np.array([2, 4, 8, 16, 32, 64]), np.full((1, 6), 12.0)
    >>> fitted = fit(lengths, np.array([[12.0, 11, 9, 4, 1, 0]]), tried)
    >>> bool(11 < fitted.at(0.5)[0] < 15)
    True

Success at length L is modeled as c + (u - c) * exp(-ln 2 * (L / H) ** k), by maximum likelihood:
c is the floor that chance reaches (given), u the ceiling that failures leave which no length
explains (0.5 to 1), H the horizon H50, where success is halfway from ceiling to floor, and k the
slope; k = 1 is a player who errs with the same chance at every step. Every attempt counts once. The
maximum is sought on a grid, for all resamples at once, so that no fit fails to converge. Where the
levels are separated (all solved up to one length and none beyond), the likelihood has no single
maximum, and Firth's penalty, half the log determinant of the information on H and k, is added.

Nothing is extrapolated: a horizon beyond the longest level is infinite, one below the shortest 0.
Intervals are percentiles over resamples of places, of episodes within a place and level, and of
attempts at an episode. Resamples without a finite horizon count as 0 or infinity. Few episodes
cannot tell a low ceiling from a short horizon, so every resample is fitted twice: freely, and with
the ceiling at 1 unless another one gains ``CEILING_COST``. The interval covers both.

Sources: Firth 1993, "Bias reduction of maximum likelihood estimates"; Heinze and Schemper 2002 on
separation; Davison and Hinkley 1997, section 3.8, on nested resampling.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from wayword.metrics.intervals import ALPHA, Floats, Interval

RESAMPLES = 500
_PER_OCTAVE = 12
_SLOPES = tuple(2.0 ** (n / 4) for n in range(-4, 9))  # 0.5 to 4
_CEILINGS = tuple(1 - n / 20 for n in range(11))  # 1 to 0.5
_EDGE = 1e-6
"""Probabilities are kept this far from 0 and 1: one stray success is unlikely, not impossible."""
CEILING_COST = 1.92
"""Log-likelihood that a parameter must gain to count at the 5% level (chi-squared 3.84)."""
_ROWS = 100
"""Resamples fitted at a time, so that memory stays below 100 MB."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try at one episode: its level (index), its place (what resampling draws), the outcome."""

    level: int
    place: Hashable
    episode: str
    success: bool


@dataclass(frozen=True, eq=False, slots=True)
class Fits:
    """Fitted parameters of each row of counts, arrays (B,). ``shortest`` and ``longest`` are the
    ends of the ladder."""

    h50: Floats
    slope: Floats
    ceiling: Floats
    shortest: float
    longest: float

    def at(self, share: float) -> Floats:
        """The lengths at which ``share`` of the ceiling is left: 0 below the ladder, infinite
        beyond it."""
        lengths = self.h50 * (math.log(share) / math.log(0.5)) ** (1 / self.slope)
        lengths = np.where(lengths > self.longest, math.inf, lengths)
        return np.where(lengths < self.shortest, 0.0, lengths)


@dataclass(frozen=True, slots=True)
class Horizon:
    """H50 and H80 with intervals, the ceiling, the slope, and the isotonic ``crossing`` (a check:
    where the monotone success rates pass the same height). ``rates``: success at each level."""

    h50: Interval
    h80: Interval
    ceiling: float
    slope: float
    crossing: float
    rates: tuple[float, ...]


@lru_cache(maxsize=32)
def _grid(lengths: tuple[float, ...], floor: tuple[float, ...]) -> tuple[Floats, ...]:
    """Candidates (G,): H, k and u, and success at each level (G, L)."""
    octaves = math.log2(lengths[-1] / lengths[0]) + 4
    horizons = (
        lengths[0]
        / 4
        * 2.0 ** (np.arange(round(octaves * _PER_OCTAVE) + 1) / _PER_OCTAVE)
    )
    mesh = np.meshgrid(horizons, _SLOPES, _CEILINGS, indexing="ij")
    h50, slope, ceiling = (axis.ravel() for axis in mesh)
    ratio = np.array(lengths)[None, :] / h50[:, None]
    left = 0.5 ** (ratio ** slope[:, None])
    success = np.array(floor) + (ceiling[:, None] - np.array(floor)) * left
    return h50, slope, ceiling, np.clip(success, _EDGE, 1 - _EDGE)


def fit(
    lengths: Sequence[float] | Floats,
    solved: Floats,
    tried: Floats,
    floor: Sequence[float] | None = None,
) -> Fits:
    """Fit each row of ``solved`` and ``tried`` (B, L), the counts at each of ``lengths`` (L,)."""
    return _fit(lengths, solved, tried, floor, (0.0,))[0]


def _fit(
    lengths: Sequence[float] | Floats,
    solved: Floats,
    tried: Floats,
    floor: Sequence[float] | None,
    costs: Sequence[float],
) -> list[Fits]:
    """The fits for each of ``costs``: what a ceiling below 1 must gain in log-likelihood."""
    steps = tuple(float(length) for length in lengths)
    chance = tuple(floor) if floor is not None else (0.0,) * len(steps)
    h50, slope, ceiling, success = _grid(steps, chance)
    # Single precision is enough for a maximum, and twice as fast.
    logs = np.concatenate([np.log(success).T, np.log1p(-success).T]).astype(np.float32)
    lowered = (ceiling < 1 - _EDGE).astype(np.float32)
    best = np.empty((len(costs), len(solved)), dtype=np.int64)
    for at in range(0, len(solved), _ROWS):
        rows = slice(at, at + _ROWS)
        right, wrong = solved[rows], tried[rows] - solved[rows]
        likelihood = np.concatenate([right, wrong], axis=1).astype(np.float32) @ logs
        separated = _is_separated(right, wrong)
        if separated.any():
            penalty = _information(
                np.array(steps), tried.mean(axis=0), slope, h50, success, chance
            )
            likelihood[separated] += penalty
        for number, cost in enumerate(costs):
            best[number, rows] = (likelihood - np.float32(cost) * lowered).argmax(
                axis=1
            )
    return [
        Fits(h50[row], slope[row], ceiling[row], steps[0], steps[-1]) for row in best
    ]


def _is_separated(
    right: Floats, wrong: Floats
) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """(B,): True where no level follows a failed attempt with a solved one."""
    failed_before = np.cumsum(wrong, axis=1) > 0
    return np.asarray(~((right > 0) & failed_before).any(axis=1))


def _information(
    lengths: Floats,
    tried: Floats,
    slope: Floats,
    h50: Floats,
    success: Floats,
    floor: object,
) -> Floats:
    """(G,): Firth's penalty of each candidate."""
    log_ratio = np.log(lengths)[None, :] - np.log(h50)[:, None]
    hazard = math.log(2) * np.exp(slope[:, None] * log_ratio)
    change = (
        success - np.asarray(floor)
    ) * hazard  # of success, by the log of the hazard
    weight = tried * change**2 / (success * (1 - success))
    sums = [(weight * log_ratio**power).sum(axis=1) for power in range(3)]
    determinant = np.maximum(sums[0] * sums[2] - sums[1] ** 2, 1e-12)
    # by log H the hazard changes k times as fast
    return np.asarray(0.5 * np.log(determinant * slope**2))


def resample(
    attempts: Sequence[Attempt], levels: int, resamples: int = RESAMPLES, seed: int = 0
) -> tuple[Floats, Floats]:
    """Counts (1 + B, L) of solved and tried attempts: those observed first, then each resample's.

    The draws depend on places, episodes and seed alone, so players of the same episodes share them.
    """
    rng = np.random.default_rng(seed)
    places = sorted({attempt.place for attempt in attempts}, key=str)
    weights = np.ones((1 + resamples, len(places)))
    weights[1:] = rng.multinomial(
        len(places), np.full(len(places), 1 / len(places)), resamples
    )
    solved, tried = np.zeros((2, 1 + resamples, levels))
    strata: dict[tuple[int, Hashable], dict[str, list[bool]]] = {}
    for attempt in attempts:
        stratum = strata.setdefault((attempt.level, attempt.place), {})
        stratum.setdefault(attempt.episode, []).append(attempt.success)
    for (level, place), episodes in sorted(
        strata.items(), key=lambda item: str(item[0])
    ):
        drawn = _redrawn(rng, weights[:, places.index(place)], len(episodes))
        for times, (_, outcomes) in zip(drawn, sorted(episodes.items()), strict=True):
            for count, outcome in zip(
                _redrawn(rng, times, len(outcomes)), outcomes, strict=True
            ):
                tried[:, level] += count
                solved[:, level] += count * outcome
    return solved, tried


def _redrawn(rng: np.random.Generator, times: Floats, members: int) -> Iterator[Floats]:
    """How often each of some members is drawn where their group is, ``times`` (1 + B,); the first
    row is as observed."""
    if members == 1:
        yield times
        return
    drawn = rng.multinomial(
        (times * members).astype(np.int64), np.full(members, 1 / members)
    )
    drawn[0] = times[0]
    yield from drawn.T.astype(np.float64)


def interval(*readings: Floats) -> Interval:
    """The first value of the first reading, with the percentile interval of the others of each;
    0 and infinity are values."""
    value, ends = float(readings[0][0]), (ALPHA / 2, 1 - ALPHA / 2)
    quantiles = [
        np.quantile(each[1:], ends, method="inverted_cdf") for each in readings
    ]
    low, high = min(float(q[0]) for q in quantiles), max(float(q[1]) for q in quantiles)
    return Interval(value, min(low, value), max(high, value))


def horizon(
    lengths: Sequence[float],
    attempts: Sequence[Attempt],
    floor: Sequence[float] | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Horizon:
    """The horizon of a player with its interval; ``floor``: success by chance at each level."""
    solved, tried = resample(attempts, len(lengths), resamples, seed)
    fits, sparing = _fit(lengths, solved, tried, floor, (0.0, CEILING_COST))
    with np.errstate(invalid="ignore"):
        rates = solved[0] / tried[0]
    low = float(np.mean(floor)) if floor is not None else 0.0
    height = low + (fits.ceiling[0] - low) / 2
    crossing = isotonic_crossing(lengths, solved[0], tried[0], height)
    h50, h80 = (interval(fits.at(share), sparing.at(share)) for share in (0.5, 0.8))
    ceiling, slope = float(fits.ceiling[0]), float(fits.slope[0])
    return Horizon(h50, h80, ceiling, slope, crossing, tuple(rates.tolist()))


def isotonic_crossing(
    lengths: Sequence[float], solved: Floats, tried: Floats, height: float
) -> float:
    """The length at which the best falling sequence of success rates passes a height: linear in
    log length between levels, 0 below the ladder, infinite beyond it."""
    from scipy.optimize import isotonic_regression

    played = tried > 0
    steps = np.log2(np.asarray(lengths, dtype=float)[played])
    rates = solved[played] / tried[played]
    falling = isotonic_regression(rates, weights=tried[played], increasing=False).x
    if falling[0] < height:
        return 0.0
    if falling[-1] >= height:
        return math.inf
    after = int(np.argmax(falling < height))
    (x0, x1), (y0, y1) = steps[after - 1 : after + 1], falling[after - 1 : after + 1]
    return float(2 ** (x0 + (y0 - height) / (y0 - y1) * (x1 - x0)))
