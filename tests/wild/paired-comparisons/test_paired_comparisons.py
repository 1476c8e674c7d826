"""P-values of paired scores from public reports."""

from __future__ import annotations

import math
import tomllib
from pathlib import Path
from typing import Any

import pytest

from wayword.core.metric import Kind, Metric
from wayword.metrics.compare import Comparison, compare
from wayword.metrics.intervals import holm

CASES = tomllib.loads(
    (Path(__file__).parent / "cases.toml").read_text(encoding="utf-8")
)["case"]


def compared(case: dict[str, Any], *, is_reversed: bool) -> Comparison:
    """Compare the scores of a case, with the second run in another order."""
    metric = Metric("score", "Score", case["kind"], "higher", "a score of an episode")
    runs = []
    for name in ("first", "second"):
        values = [*case["times"] * case[name], *[0.0] * case.get("ties", 0)]
        runs.append({str(n): {"score": float(v)} for n, v in enumerate(values)})
    first, second = runs
    if is_reversed:
        second = dict(reversed(second.items()))
    return compare("a", first, "b", second, family="indoor", metrics=[metric])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_pairs_have_the_exact_p_value(case: dict[str, Any]) -> None:
    (line,) = compared(case, is_reversed=False).lines
    assert line.p == pytest.approx(case.get("p", math.nan), abs=1e-6, nan_ok=True)
    assert line.p != 0.0
    if "p" in case:
        gap = line.difference
        assert (gap.low > 0 or gap.high < 0) == (line.p < 0.05)


def test_episodes_are_paired_by_their_ids() -> None:
    """Report: https://github.com/kassambara/ggpubr/pull/724"""
    case = next(case for case in CASES if "ties" in case)
    (line,) = compared(case, is_reversed=True).lines
    assert (line.wins, line.losses) == (19, 6)
    assert line.p == pytest.approx(case["p"], abs=1e-6)


@pytest.mark.parametrize("kind", ["rate", "metres"])
def test_exchanged_runs_have_the_same_p_value(kind: Kind) -> None:
    """Report: https://github.com/scipy/scipy/issues/19872"""
    # Of the report, and more of them: metrics without bounds need 60 pairs.
    first = [62, 66, 61, 68, 74, 62, 68, 62, 55, 59] * 6
    second = [71, 71, 69, 61, 75, 71, 77, 72, 62, 65] * 6
    metric = Metric("score", "Score", kind, "higher", "a score of an episode")
    runs = [
        {str(n): {"score": value / 100} for n, value in enumerate(values)}
        for values in (first, second)
    ]
    there, back = (
        compare("a", a, "b", b, family="indoor", metrics=[metric]).lines[0]
        for a, b in (runs, runs[::-1])
    )
    assert there.p == pytest.approx(back.p, rel=1e-6)
    assert there.difference.low == pytest.approx(-back.difference.high, abs=1e-9)


def test_a_metric_without_p_value_is_no_test_of_the_family() -> None:
    """Report: https://github.com/statsmodels/statsmodels/issues/2899"""
    corrected = [p for p, _ in holm([0.01, math.nan, 0.04])]
    assert corrected[0] == pytest.approx(0.02)
    assert math.isnan(corrected[1])
    assert corrected[2] == pytest.approx(0.04)
