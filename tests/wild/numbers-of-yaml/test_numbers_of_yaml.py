"""Numbers in recipes and settings, as people write them."""

from __future__ import annotations

from pathlib import Path

import pytest

from wayword.core.errors import UsageError
from wayword.runs.plan import read_recipe
from wayword.settings import load_yaml, parse

VALUES = {
    "010": 10, "08": 8, "-007": -7, "+5": 5, "1_000": 1000, "0": 0,
    "1e-3": 0.001, "1E3": 1000.0, "2.5e-1": 0.25, ".5": 0.5, "1.": 1.0, ".inf": float("inf"),
    "1:30": "1:30", "12:30:45": "12:30:45", "1:30.5": "1:30.5", "0,7": "0,7", "1,000": "1,000",
    "0x10": "0x10", "1e": "1e", "e5": "e5", "1.2.3": "1.2.3", "-": "-", "true": True, "~": None,
}  # fmt: skip


def test_numbers_are_those_of_yaml_1_2() -> None:
    results = {text: load_yaml(text) if text != "-" else "-" for text in VALUES}
    assert results == VALUES
    kinds = {text: type(value) for text, value in results.items()}
    assert kinds == {text: type(value) for text, value in VALUES.items()}


def test_a_setting_is_read_alike() -> None:
    assert parse(["seed=010", "rate=1e-3"]) == {"seed": 10, "rate": 0.001}


@pytest.mark.parametrize("limit", ["1,5", "1:30", "1.5"])
def test_another_number_is_refused(limit: str, tmp_path: Path) -> None:
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(f"agent: random\non: houses\nlimit: {limit}\n")
    with pytest.raises(UsageError, match="limit must be a whole number"):
        read_recipe(recipe)
