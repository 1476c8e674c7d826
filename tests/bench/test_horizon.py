"""Horizons of players whose horizon is known, and of those who have none."""

from __future__ import annotations

import math

import numpy as np
import pytest

from wayword.bench.horizon import (
    Attempt,
    Horizon,
    fit,
    horizon,
    isotonic_crossing,
    resample,
)

LENGTHS = (2, 4, 8, 16, 32, 64)


def attempts(rates: list[float], seed: int = 0, episodes: int = 16) -> list[Attempt]:
    rng = np.random.default_rng(seed)
    return [
        Attempt(
            level, f"house {number}", f"{level}/{number}", bool(rng.random() < rate)
        )
        for level, rate in enumerate(rates)
        for number in range(episodes)
    ]


def straying(chance: float, failing: float = 0.0, seed: int = 0) -> Horizon:
    """A player that strays for good with the same chance at each step, and may fail anyhow."""
    rates = [(1 - failing) * (1 - chance) ** length for length in LENGTHS]
    return horizon(LENGTHS, attempts(rates, seed), resamples=200)


@pytest.mark.parametrize("failing", [0.0, 0.25])
def test_intervals_hold_the_known_horizon(failing: float) -> None:
    held = 0
    for chance in (0.02, 0.05, 0.1, 0.2):
        true = math.log(0.5) / math.log(1 - chance)
        found = [straying(chance, failing, seed).h50 for seed in range(3)]
        held += sum(each.low <= true <= each.high for each in found)
        expected = 400 * (1 - failing) * (1 - chance) ** np.array([LENGTHS])
        (fitted,) = fit(LENGTHS, expected, np.full((1, 6), 400.0)).at(0.5)
        assert fitted == pytest.approx(true, rel=0.15)
    assert held >= 11  # of 12


def test_players_at_the_ends_of_the_ladder_are_not_extrapolated() -> None:
    expert, chance = (
        horizon(LENGTHS, attempts([rate] * 6), resamples=50) for rate in (1.0, 0.0)
    )
    assert (expert.h50.mean, expert.h50.low, expert.crossing) == (math.inf,) * 3
    assert (chance.h50.mean, chance.h50.high, chance.crossing) == (0.0,) * 3
    floor = [0.3] * 6
    lucky = horizon(LENGTHS, attempts(floor), floor, resamples=50)
    assert lucky.h50.mean == 0.0


def test_a_separated_ladder_has_a_horizon_between_its_last_and_first_failed_level() -> (
    None
):
    counts = np.array([[12.0, 12, 12, 0, 0, 0]])
    (h50,) = fit(LENGTHS, counts, np.full((1, 6), 12.0)).at(0.5)
    assert 8 < h50 < 16


def test_a_ceiling_takes_failures_that_length_does_not_explain() -> None:
    counts = np.array([[300.0, 300, 300, 290, 160, 25]])
    fitted = fit(LENGTHS, counts, np.full((1, 6), 400.0))
    assert fitted.ceiling[0] == pytest.approx(0.75)
    assert 28 < fitted.h50[0] < 40


def test_the_isotonic_crossing_pools_levels_that_rise() -> None:
    tried = np.full(4, 10.0)
    crossing = isotonic_crossing((2, 4, 8, 16), np.array([10.0, 4, 8, 0]), tried, 0.5)
    assert crossing == pytest.approx(8 * 2 ** (0.1 / 0.6))


def test_resamples_draw_places_whole_and_attempts_within_episodes() -> None:
    pairs = [
        Attempt(level, "a" if n < 4 else "b", f"{n}", n < 4)
        for level in (0, 1)
        for n in range(8)
    ]
    solved, tried = resample(pairs, 2, 50)
    assert (tried == 8).all()
    assert (solved[:, 0] == solved[:, 1]).all()
    assert set(solved[1:, 0].tolist()) == {0.0, 4.0, 8.0}
    repeated = [Attempt(0, "a", "1", outcome) for outcome in (True, False, False)]
    solved, tried = resample(repeated, 1, 50)
    assert (tried == 3).all()
    assert solved[0] == 1
    assert len(set(solved[1:, 0].tolist())) > 2
