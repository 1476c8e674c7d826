"""The ends of a ladder: beyond the longest level a horizon is infinite, at it it is a number."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wayword.bench.horizon import (
    Attempt,
    horizon,
    isotonic_crossing,
    mean_success,
    place_means,
)

LENGTHS = [2, 4, 8, 16]


def attempts(*solved: int, of: int = 16) -> list[Attempt]:
    return [
        Attempt(level, place, f"{place}/{level}", place < wins)
        for level, wins in enumerate(solved)
        for place in range(of)
    ]


def test_a_crossing_within_the_last_level_is_finite() -> None:
    tried = [16] * 4
    assert isotonic_crossing(LENGTHS, [1, 1, 1, 0.5], tried, 0.5) == math.inf
    assert isotonic_crossing(LENGTHS, [1, 1, 1, 0.49], tried, 0.5) < 16
    assert isotonic_crossing(LENGTHS, [0.49, 0, 0, 0], tried, 0.5) == 0.0
    assert isotonic_crossing(LENGTHS, [1, 0.5, 0, 0], tried, 0.5) == pytest.approx(4)
    unplayed = isotonic_crossing(
        LENGTHS, [1, 0, math.nan, math.nan], [16, 16, 0, 0], 0.5
    )
    assert 2 < unplayed < 4


def test_the_ends_of_an_interval_are_levels_or_beyond_the_ladder() -> None:
    all_solved = horizon(LENGTHS, attempts(16, 16, 16, 16)).h50
    assert (all_solved.mean, all_solved.low, all_solved.high) == (math.inf,) * 3
    last_lost = horizon(LENGTHS, attempts(16, 16, 16, 0)).h50
    assert (last_lost.low, last_lost.high) == (8.0, 16.0)
    assert 8 < last_lost.mean < 16
    last_unclear = horizon(LENGTHS, attempts(16, 16, 16, 8)).h50
    assert (last_unclear.low, last_unclear.high) == (8.0, math.inf)
    none_solved = horizon(LENGTHS, attempts(0, 0, 0, 0)).h50
    assert (none_solved.mean, none_solved.low, none_solved.high) == (0.0, 0.0, 0.0)


@given(st.lists(st.integers(0, 12), min_size=1, max_size=5))
def test_a_horizon_lies_within_its_interval_whatever_the_levels_were(
    solved: list[int],
) -> None:
    """Also where success rises with length, so that no falling sequence fits."""
    lengths = [2.0**n for n in range(1, len(solved) + 1)]
    found = horizon(lengths, attempts(*solved, of=12))
    assert found.h50.low <= found.h50.mean <= found.h50.high
    ends = {0.0, *lengths, math.inf}
    assert {found.h50.low, found.h50.high} <= ends
    rates = found.rates
    rises = any(
        later.low > earlier.high
        for at, earlier in enumerate(rates)
        for later in rates[at + 1 :]
    )
    assert found.is_monotone == (not rises)


@pytest.mark.parametrize("played", range(1, 5))
def test_levels_that_were_not_played_count_as_failed_in_every_number(
    played: int,
) -> None:
    """A ladder that ends is read as if its other levels had been lost."""
    solved = [12, 0, 0, 0]
    ended = attempts(*solved[:played], of=12)
    all_played = attempts(*solved, of=12)
    assert place_means(ended, 4) == place_means(all_played, 4)
    assert mean_success(ended, 4) == mean_success(all_played, 4)
    assert horizon(LENGTHS, ended).h50.high == 4.0
