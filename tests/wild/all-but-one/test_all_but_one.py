"""Rates near 0 and 100% in tables, comparisons, pages and cards."""

from __future__ import annotations

import pytest

from wayword.bench.card_text import percents
from wayword.core.metric import Metric
from wayword.metrics.summary import summarize
from wayword.metrics.table import number, render
from wayword.viewer.figures import value

SR = Metric("sr", "SR", "rate", "higher", "success")


@pytest.mark.parametrize(
    ("failed", "of", "shown"),
    [
        (3, 7_151, "99.96"),
        (1, 2_000, "99.95"),
        (1, 100_000, "99.999"),
        (0, 50, "100.0"),
    ],
)
def test_a_table_shows_that_one_failed(failed: int, of: int, shown: str) -> None:
    scores = [{"sr": float(n >= failed)} for n in range(of)]
    row = summarize("run", scores, family="indoor", metrics=[SR], of=of)
    assert f" {shown}" in render([row])
    assert number(SR, row.values["sr"].mean) == shown
    assert value(SR, 1 - failed / of) == (f"{shown}%" if failed else "100%")


def test_one_success_of_many_is_not_none() -> None:
    assert number(SR, 1 / 7_151) == "0.01"
    assert number(SR, 0.0) == "0.0"
    assert number(SR, 1 - 1e-12) == "100.0"


def test_a_card_shows_that_one_failed() -> None:
    assert percents((671 / 672, 0.99, 1.0)) == ("99.9%", "[99, 100]")
    assert percents((1 / 672, 0.0, 0.01)) == ("0.1%", "[0, 1]")
    assert percents((1.0, 0.9, 1.0)) == ("100%", "[90, 100]")
    assert percents((0.5, 0.4, 0.6)) == ("50%", "[40, 60]")
