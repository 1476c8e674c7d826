"""Levels that no policy can solve are refused; those next to them are solved."""

from __future__ import annotations

import pytest

from wayword.core.errors import UsageError
from wayword.datasets.grounding import Grounding
from wayword.worlds.babyai.expert import expert_length


@pytest.mark.parametrize("number", ["N2", "N4"])
def test_a_level_without_a_solution_is_refused(number: str) -> None:
    level = f"OpenDoorsOrder{number}"
    # Once one of them has a solution, the package is mended, and this rule can go.
    assert None in [expert_length(f"{level}Debug", seed, 500) for seed in range(8)]
    with pytest.raises(UsageError, match=rf"{level}Debug .* use {level}$"):
        Grounding.Settings(levels=f"GoToObj,{level}Debug")


@pytest.mark.parametrize(
    "level", ["OpenDoorsOrderN2", "OpenDoorDebug", "OpenRedBlueDoorsDebug"]
)
def test_levels_next_to_them_are_solved(level: str) -> None:
    Grounding.Settings(levels=level)
    assert None not in [expert_length(level, seed, 500) for seed in range(8)]
