"""Metrics: the success of an episode."""

from __future__ import annotations

import math

import pytest

from wayword.core.metric import is_solved


@pytest.mark.parametrize(
    ("success", "expected"),
    [(1.0, True), (0.0, False), (1 - 1e-9, True), (1e-9, False)],
)
def test_a_success_is_one_however_it_was_rounded(
    success: float, expected: bool
) -> None:
    assert is_solved(success) is expected


@pytest.mark.parametrize("success", [None, math.nan])
def test_an_episode_without_a_success_is_not_solved(success: float | None) -> None:
    assert is_solved(success) is False
