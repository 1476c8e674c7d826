"""Decimals of narrow intervals in tables and comparisons."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from wayword.core.metric import Kind, Metric
from wayword.metrics.compare import compare, render
from wayword.metrics.intervals import Interval
from wayword.metrics.summary import Row, summarize
from wayword.metrics.table import cell

ROW = summarize("run", [{"sr": 1.0}, {"sr": 0.0}], family="indoor", of=2)


def printed(text: str) -> list[float]:
    """Return the numbers in a text."""
    numbers = re.findall(r"-?\d+(?:\.\d+)?", text.replace(",", ""))
    return [float(part) for part in numbers]


def test_a_significant_difference_of_small_costs_is_shown() -> None:
    rng = np.random.default_rng(0)
    first = rng.lognormal(0, 0.3, 60) * 1e-6
    second = first * rng.normal(1.5, 0.1, 60)
    runs = [
        {str(n): {"cost": value} for n, value in enumerate(values.tolist())}
        for values in (first, second)
    ]
    found = compare("a", runs[0], "b", runs[1], family="indoor")
    text = render(found, "markdown")
    line = next(each for each in text.splitlines() if "Cost" in each)
    mean, low, high = printed(line.split("|")[4])
    assert 0 < low <= mean <= high
    assert low < high


@pytest.mark.parametrize("kind", ["rate", "ratio", "metres", "hops", "count",
                                  "tokens", "seconds", "dollars"])  # fmt: skip
@pytest.mark.parametrize("width", [3e-4, 0.004, 0.03, 0.3, 0.9])
def test_ends_that_are_shown_hold_the_mean(kind: Kind, width: float) -> None:
    metric = Metric("sr", "Score", kind, "higher", "a score")
    for mean in (0.046, 0.47, 4.67, 46.7):
        value = Interval(mean, mean - 0.2 * width, mean + 0.8 * width)
        shown, ends = cell(_row(value), metric, 1)
        (middle,) = printed(shown)
        low, high = printed(ends.replace(", ", " "))
        assert low < high, (shown, ends)
        assert low <= middle <= high, (shown, ends)


def _row(value: Interval) -> Row:
    return replace(ROW, values={"sr": value})
