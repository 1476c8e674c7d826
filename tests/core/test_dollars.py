"""Dollars as text: no cost above nothing is shown as nothing."""

from __future__ import annotations

import pytest

from wayword.core.visible import in_dollars


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (0.0, "$0.00"),
        (0.000042, "$0.000042"),
        (0.0049, "$0.0049"),
        (0.00999, "$0.01"),
        (0.01, "$0.01"),
        (0.125, "$0.12"),
        (1234.5, "$1,234.50"),
    ],
)
def test_a_cost_below_a_cent_keeps_two_digits(amount: float, text: str) -> None:
    assert in_dollars(amount) == text
