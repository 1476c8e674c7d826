"""Limits of rates at the levels of corrected tests."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from wayword.metrics.intervals import RATE, Interval, estimates


def interval(solved: int, n: int, alpha: float) -> Interval:
    """Return the interval of a rate at the level 1 - alpha."""
    values = np.repeat([1.0, 0.0], [solved, n - solved])
    (found,) = estimates(values[:, None], [RATE])
    return found.interval(alpha)


@pytest.mark.parametrize("alpha", [0.05, 1e-4, 1e-7])
@pytest.mark.parametrize("n", [18, 499, 500, 1_000])
def test_none_and_all_have_the_closed_form(n: int, alpha: float) -> None:
    limit = 1 - (alpha / 2) ** (1 / n)
    none = interval(0, n, alpha)
    every = interval(n, n, alpha)
    assert (none.low, none.high) == pytest.approx((0, limit), abs=1e-4)
    assert (every.low, every.high) == pytest.approx((1 - limit, 1), abs=1e-4)


def test_limits_increase_with_the_successes() -> None:
    found = [interval(solved, 100_000, 1e-11) for solved in (0, 10, 100, 1_000)]
    for fewer, more in pairwise(found):
        assert fewer.low < more.low
        assert fewer.high < more.high
