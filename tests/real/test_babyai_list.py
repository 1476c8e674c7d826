"""The levels in the code are those of LangSuitE's published list."""

from __future__ import annotations

from pathlib import Path

import pytest

from wayword.datasets.grounding import LEVEL_NUMBERS


@pytest.mark.real
def test_the_listed_levels_and_numbers_are_the_published_ones(data: Path) -> None:
    path = data / "ithor" / "langsuite" / "babyai_task_list.txt"
    listed = [
        f"{level}-{number}"
        for level, numbers in LEVEL_NUMBERS.items()
        for number in numbers
    ]
    assert path.read_text(encoding="utf-8").split() == listed
    assert len(listed) == 50
