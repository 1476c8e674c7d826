"""Families of p-values from public reports."""

from __future__ import annotations

import math
import tomllib
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from wayword.metrics.intervals import holm

CASES = tomllib.loads(
    (Path(__file__).parent / "cases.toml").read_text(encoding="utf-8")
)["case"]


def numbers(values: list[Any]) -> list[float]:
    return [math.nan if value == "none" else float(value) for value in values]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_p_values_are_corrected_alike_in_any_order(case: dict[str, Any]) -> None:
    pairs = list(zip(numbers(case["p"]), numbers(case["corrected"]), strict=True))
    for order in permutations(pairs):
        found = [p for p, _ in holm([p for p, _ in order])]
        right = [corrected for _, corrected in order]
        assert found == pytest.approx(right, nan_ok=True)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_the_level_of_the_interval_decides_as_the_corrected_p(
    case: dict[str, Any],
) -> None:
    chances = numbers(case["p"])
    for p, (corrected, alpha) in zip(chances, holm(chances), strict=True):
        assert (p < alpha) == (corrected < 0.05)
