"""Intervals of samples from public reports."""

from __future__ import annotations

import tomllib
from math import nan
from pathlib import Path
from typing import Any

import pytest

from wayword.metrics.summary import summarize

CASES = tomllib.loads(
    (Path(__file__).parent / "cases.toml").read_text(encoding="utf-8")
)["case"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_a_sample_has_the_interval_of_its_clusters(case: dict[str, Any]) -> None:
    scores = []
    clusters = []
    for number, group in enumerate(case["values"]):
        scores += [{"sr": float(value)} for value in group]
        clusters += [number] * len(group)
    row = summarize("run", scores, family="indoor", of=len(scores), clusters=clusters)
    found = row.values["sr"]
    right = (case.get("low", nan), case.get("high", nan))
    assert (found.low, found.high) == pytest.approx(right, abs=1e-3, nan_ok=True)
