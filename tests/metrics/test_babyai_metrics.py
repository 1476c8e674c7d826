"""The grid world's metrics by hand: what counts as an action, and the path weight."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest

from wayword.core.action import Action, Decision, Rejection
from wayword.core.dataset import Dataset, Task
from wayword.core.episode import Episode, Reference
from wayword.core.game import ActionPlan
from wayword.core.trajectory import Step, Trajectory
from wayword.core.world import Feedback, World
from wayword.metrics.scoring import Judged, scorer

TASK = Task(Episode("1", "go to the red ball", "GoToRedBall", {}), Reference("1"))


class Solved(Dataset):
    """Levels of which the expert's length is known, or that it does not solve."""

    solutions = ("expert",)

    def __init__(self, best: int | None) -> None:
        self.best = best

    def world(self, episode: Episode) -> World:
        raise NotImplementedError

    def make_plan(self, task: Task, world: World, actor: str, how: str) -> ActionPlan:
        raise NotImplementedError

    def expert_length(self, task: Task) -> int | None:
        return self.best


def scores(dataset: object, success: bool = True) -> dict[str, float]:
    """Ten of the level's actions; two turns without one; an answer that was no action."""
    state = {"success": success, "reward": 0.75 * success, "steps": 10, "idle": 2}
    turns = Decision(Action("forward")), Rejection("no_action", "prose")
    steps = [Step("agent", {}, turn, Feedback(), {}) for turn in turns]
    walk = Trajectory("1", {"agent": {}}, steps, state)
    (found,) = scorer("babyai").score(cast("Dataset", dataset), [(TASK, walk)])
    return found


def test_turns_that_came_to_nothing_count_as_actions() -> None:
    found = scores(Solved(None))
    assert found == {"sr": 1, "reward": 0.75, "low_level": 13}, (
        "no expert, no path weight"
    )


@pytest.mark.parametrize(("best", "share"), [(6, 6 / 13), (13, 1), (20, 1)])
def test_the_path_weight_divides_by_the_longer_of_the_two(
    best: int, share: float
) -> None:
    assert scores(Solved(best))["plw_sr"] == pytest.approx(share)
    assert scores(Solved(best), success=False)["plw_sr"] == 0


def test_a_level_that_the_expert_does_not_solve_has_no_path_weight() -> None:
    assert "plw_sr" not in scores(Solved(None))


def test_an_episode_that_failed_before_its_end_scores_nothing() -> None:
    failed = Trajectory("1", start={}, ended="failed", error="x")
    found = scorer("babyai").score(cast("Dataset", Solved(6)), [(TASK, failed)])
    assert found == [{"sr": 0, "reward": 0, "low_level": 0, "plw_sr": 0}]


def test_only_the_grid_world_can_be_judged_under_way() -> None:
    judge = scorer("babyai")
    assert isinstance(judge, Judged)
    elsewhere = cast("World", SimpleNamespace())
    assert judge.standing(cast("Dataset", Solved(6)), TASK, elsewhere) is None
