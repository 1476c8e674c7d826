"""The ends of a ladder: a horizon exactly at the longest or the shortest level is a number."""

from __future__ import annotations

import math

import numpy as np

from wayword.bench.horizon import Fits


def fits(h50: float) -> Fits:
    values = np.array([h50])
    return Fits(values, np.array([1.0]), np.array([1.0]), 4.0, 64.0)


def test_a_horizon_at_an_end_of_the_ladder_is_finite_and_one_beyond_is_not() -> None:
    for length in (4.0, 5.0, 63.0, 64.0):
        assert fits(length).at(0.5)[0] == length
    assert fits(64.01).at(0.5)[0] == math.inf
    assert fits(3.99).at(0.5)[0] == 0.0
    assert fits(64.0).at(0.8)[0] == 64.0 * math.log(0.8) / math.log(0.5)
