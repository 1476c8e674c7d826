"""Means and intervals of incomplete scores from public reports."""

from __future__ import annotations

import tomllib
from math import isnan
from pathlib import Path
from typing import Any

import pytest

from wayword.core.metric import Metric
from wayword.metrics.summary import FAILED_0, Row, summarize
from wayword.metrics.table import render

CASES = tomllib.loads(
    (Path(__file__).parent / "cases.toml").read_text(encoding="utf-8")
)["case"]
SCORE = Metric("score", "Score", "rate", "higher", "score of an episode")


def row_of(case: dict[str, Any]) -> Row:
    scores: list[dict[str, float]] = []
    for value in case["scores"]:
        scores.append({"length": 1.0})
        if value != "none":
            scores[-1]["score"] = float(value)
    return summarize(
        "run", scores, family="indoor", metrics=[SCORE], of=len(scores), success="score",
        failed=case.get("failed", 0), clusters=case.get("clusters"),
    )  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_a_mean_is_over_the_episodes_that_have_the_metric(case: dict[str, Any]) -> None:
    row = row_of(case)
    if case.get("count") == 0:
        assert "score" not in row.values
        return
    found = row.values["score"]
    assert found.mean == pytest.approx(case["mean"], abs=1e-4)
    assert row.counts.get("score") == case.get("count")
    assert isnan(found.low) or found.low <= found.mean <= found.high
    failed = row.values.get("score" + FAILED_0)
    assert (failed is not None) == ("mean_with_failed" in case)
    if failed is not None:
        assert failed.mean == pytest.approx(case["mean_with_failed"], abs=1e-4)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_a_table_names_the_episodes_of_a_metric_and_is_the_same_each_time(
    case: dict[str, Any],
) -> None:
    text = render([row_of(case)])
    assert text == render([row_of(case)])
    named = f"Episodes with the metric: Score {case.get('count')}."
    assert (named in text) == bool(case.get("count"))
    assert (f"{case.get('failed')} failed" in text) == ("failed" in case)


def test_repeated_items_narrow_no_interval() -> None:
    case = next(each for each in CASES if "four runs of" in each["name"])
    once = {**case, "scores": [1, 0], "clusters": [0, 1]}
    assert row_of(case).values["score"].low == pytest.approx(
        row_of(once).values["score"].low
    )


def test_a_rate_beyond_1_is_named() -> None:
    """Report: https://github.com/UKGovernmentBEIS/inspect_ai/issues/4286"""
    named = "Note: Score has values outside 0 to 1, which are no rates."
    assert named in render([row_of({"scores": [85, 20, 0]})])
    assert named not in render([row_of({"scores": [0.85, 1 + 1e-12, 0]})])


def test_one_episode_has_no_interval() -> None:
    assert isnan(row_of({"scores": [1]}).values["score"].low)
