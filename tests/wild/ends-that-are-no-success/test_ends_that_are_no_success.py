"""What ends an episode, and what makes it a success."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from wayword.core.dataset import Task
from wayword.core.episode import Episode, Reference
from wayword.core.trajectory import Trajectory
from wayword.metrics.scoring import scorer
from wayword.worlds.alfworld.world import GameReference
from wayword.worlds.household.goals import Held, HouseholdReference
from wayword.worlds.objectnav.world import ObjectNavReference

DATASET = cast("Any", SimpleNamespace(expert_length=lambda task: None))


def scores(family: str, reference: Reference, state: Any, ended: str) -> Any:
    """The scores of an episode with this final state."""
    task = Task(Episode("1", "Find a mug.", "flat", {}), reference)
    trajectory = Trajectory("1", {}, [], state, ended=cast("Any", ended))
    return scorer(family).score(DATASET, [(task, trajectory)])[0]


@pytest.mark.parametrize("ended", ["step_limit", "stopped"])
@pytest.mark.parametrize("won", [True, False])
def test_a_game_is_won_if_its_engine_says_so(won: bool, ended: str) -> None:
    state = {"won": won, "stopped": ended == "stopped", "commands": ["look"]}
    reference = GameReference("1", "pick_and_place_simple")
    assert scores("alfworld", reference, state, ended)["sr"] == won


@pytest.mark.parametrize(
    ("stopped", "metres", "visible", "challenge"),
    [(True, 0.9, 1.0, 1.0), (True, 1.1, 1.0, 0.0), (False, 0.9, 0.0, 0.0)],
)
def test_a_search_stops_with_its_target_in_view(
    stopped: bool, metres: float, visible: float, challenge: float
) -> None:
    in_view = [{"id": "mug_1", "distance": metres}]
    state = {"stopped": stopped, "in_view": in_view, "metres": 2.0}
    reference = ObjectNavReference("1", frozenset({"mug_1"}), shortest=2.0)
    ended = "stopped" if stopped else "step_limit"
    result = scores("objectnav", reference, state, ended)
    assert result["success_visible"] == result["spl_visible"] == visible
    assert result["success_challenge"] == result["spl_challenge"] == challenge


@pytest.mark.parametrize("stopped", [True, False])
def test_a_task_in_a_home_needs_its_stop(stopped: bool) -> None:
    actor = {"stopped": stopped, "low_level": 3, "sees": {}}
    state = {"objects": {"mug_1": {"held": True}}, "actors": {"agent": actor}}
    reference = HouseholdReference("1", "pick", goals=(Held(("mug_1",)),))
    result = scores("household", reference, state, "step_limit")
    assert (result["sr"], result["goal_sr"]) == (float(stopped), 1.0)
