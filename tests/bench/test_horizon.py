"""Horizons of players whose horizon is known, and of those who have none."""

from __future__ import annotations

import math

import numpy as np
import pytest

from wayword.bench.horizon import Attempt, horizon, isotonic_crossing, mean_success

LENGTHS = (2, 4, 8, 16, 32, 64)


def attempts(solved: list[int], places: int = 16) -> list[Attempt]:
    return [
        Attempt(level, f"house {place}", f"{place}/{level}", place < wins)
        for level, wins in enumerate(solved)
        for place in range(places)
    ]


def test_the_interval_is_read_off_the_levels_that_are_above_and_below_one_half() -> (
    None
):
    found = horizon(LENGTHS, attempts([16, 15, 14, 8, 3, 0]))
    assert (found.h50.low, found.h50.mean, found.h50.high) == (8, 16, 32)
    assert found.is_monotone
    assert (found.ceiling.mean, found.rates[2].mean) == (1.0, 14 / 16)


def test_players_at_the_ends_of_the_ladder_are_not_extrapolated() -> None:
    expert = horizon(LENGTHS, attempts([16] * 6)).h50
    assert (expert.low, expert.mean, expert.high) == (math.inf,) * 3
    for hopeless in ([0] * 6, [0, 0]):
        chance = horizon(LENGTHS, attempts(hopeless)).h50
        assert (chance.low, chance.mean, chance.high) == (0.0,) * 3


def test_a_guesser_has_no_horizon() -> None:
    quarter = horizon(LENGTHS, attempts([4, 3, 5, 4, 3, 5]))
    assert (quarter.h50.mean, quarter.ceiling.mean) == (0.0, 5 / 16)
    coin = horizon(LENGTHS, attempts([8, 9, 7, 8, 9, 8])).h50
    assert (coin.low, coin.high) == (0.0, math.inf)
    above_chance = horizon(LENGTHS, attempts([14] * 6), floor=[0.75] * 6).h50
    assert above_chance.low == 0.0


def test_success_that_rises_is_marked_and_the_horizon_is_the_last_fall() -> None:
    found = horizon(LENGTHS, attempts([4, 16, 16, 15, 2, 0]))
    assert not found.is_monotone
    assert (found.h50.low, found.h50.high) == (16, 32)


def test_the_mean_counts_levels_not_played_as_failed() -> None:
    found = mean_success(attempts([16, 0]), 6)
    assert found.mean == pytest.approx(1 / 6)
    nothing = mean_success(attempts([0, 0]), 6)
    assert (nothing.mean, nothing.low) == (0.0, 0.0)
    assert nothing.high == pytest.approx(1 - 0.025 ** (1 / 16))


def test_the_isotonic_crossing_pools_levels_that_rise() -> None:
    rates = np.array([1.0, 0.4, 0.8, 0.0]).tolist()
    crossing = isotonic_crossing((2, 4, 8, 16), rates, [10] * 4, 0.5)
    assert crossing == pytest.approx(8 * 2 ** (0.1 / 0.6))


def test_pooled_levels_count_by_their_episodes() -> None:
    rates = [1.0, 0.4, 0.8, 0.0]
    crossing = isotonic_crossing((2, 4, 8, 16), rates, [10, 10, 30, 10], 0.5)
    assert crossing == pytest.approx(8 * 2 ** (0.2 / 0.7)), "0.7 over the two"
    none = isotonic_crossing((2, 4, 8, 16), rates, [10, 0, 0, 10], 0.5)
    assert none == pytest.approx(8 * 2 ** (0.1 / 0.6)), "at least one each"
