"""The ends of a ladder: beyond the longest level a horizon is infinite, at it it is a number."""

from __future__ import annotations

import math

import pytest

from wayword.bench.horizon import Attempt, horizon, isotonic_crossing

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
