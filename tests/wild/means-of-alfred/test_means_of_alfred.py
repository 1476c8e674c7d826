"""The means of ALFRED's code differ from those over episodes, and definitions say so."""

from __future__ import annotations

import pytest

from wayword.metrics import definitions
from wayword.metrics.household import score_state
from wayword.runs.reproduce import open_recipe
from wayword.worlds.household.goals import Has, HouseholdReference

STATE = {
    "objects": {f"mug_{n}": {"dirty": n > 0} for n in range(3)},
    "actors": {"agent": {"stopped": True}},
}


def goal_share(conditions: int) -> tuple[float, int]:
    """Goal-SR with one met condition of so many, and their number."""
    goals = tuple(Has((f"mug_{n}",), (("dirty", False),)) for n in range(conditions))
    reference = HouseholdReference("1", goals=goals)
    return score_state(reference, STATE)["goal_sr"], reference.met(STATE)


def test_a_mean_of_episodes_is_not_that_of_all_conditions() -> None:
    shares, met = zip(*(goal_share(count) for count in (1, 3)), strict=True)
    assert sum(shares) / 2 == pytest.approx(2 / 3)
    assert sum(met) / (1 + 3) == 0.5  # ALFRED's code


@pytest.mark.parametrize("key", ["goal_sr", "plw_sr", "plw_goal_sr"])
def test_the_definition_says_what_the_code_of_alfred_does(key: str) -> None:
    (metric,) = [each for each in definitions.HOUSEHOLD if each.key == key]
    assert "ALFRED's code" in metric.doc


def test_a_recipe_with_a_published_value_says_so() -> None:
    assert "mean over episodes" in open_recipe("llm_planner/alfred").differs
