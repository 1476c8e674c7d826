"""Only an obstacle makes a motion ``blocked``, closes a cell and counts as a collision."""

from __future__ import annotations

from typing import Any

import pytest

from helpers.rosbridge_server import serving
from wayword.agents.search.frontier import WanderAgent
from wayword.core.action import Decision
from wayword.core.agent import Toolkit
from wayword.core.world import Feedback
from wayword.worlds.objectnav.base import goto
from worlds.objectnav.test_rosbase import driven, ended, robot_at

NO_CODE: dict[str, Any] = {}
PREEMPTED = {"error_code": 0, "error_msg": ""}
NO_TRANSFORM = {"error_code": 102, "error_msg": "no transform from map"}
NO_PATH = {"error_code": 208, "error_msg": "no valid path"}
AHEAD = (3.0, 1.5)
BEHIND_THE_WALL = (1.0, -3.0)


def outcome(
    goal: tuple[float, float], status: int, values: dict[str, Any]
) -> tuple[str, dict[str, Any]]:
    """Status of a motion whose goal the robot ends at once, and its counts."""
    robot = robot_at(1.0, 0.5, 90.0 if goal == AHEAD else 180.0)
    robot.results[1] = (status, values)
    with serving(robot) as url:
        world = driven(url)
        feedback = world.step("agent", goto(*goal))
        state = ended(world)
    return feedback.status, dict(state)


@pytest.mark.parametrize(
    ("status", "values"),
    [(5, NO_CODE), (6, PREEMPTED), (6, NO_CODE), (6, NO_TRANSFORM)],
    ids=["cancelled", "preempted", "no code", "no transform"],
)
def test_a_goal_that_ends_in_free_space_is_cancelled(
    status: int, values: dict[str, Any]
) -> None:
    ended_as, counts = outcome(AHEAD, status, values)

    assert ended_as == "cancelled"
    assert (counts["bumps"], counts["cancelled"]) == (0, 1)


@pytest.mark.parametrize(
    ("goal", "values"),
    [(AHEAD, NO_PATH), (BEHIND_THE_WALL, PREEMPTED), (BEHIND_THE_WALL, NO_CODE)],
    ids=["no path", "a wall, code 0", "a wall, no code"],
)
def test_an_obstacle_blocks(goal: tuple[float, float], values: dict[str, Any]) -> None:
    ended_as, counts = outcome(goal, 6, values)

    assert ended_as == "blocked"
    assert (counts["bumps"], counts["cancelled"]) == (1, 0)


@pytest.mark.parametrize("status", ["cancelled", "lost"])
def test_a_searcher_closes_no_cell_for_it(status: str) -> None:
    searcher = WanderAgent(WanderAgent.Settings(), Toolkit())

    searcher.on_feedback(Decision(goto(1.0, 2.0)), Feedback(status))
    assert searcher._blocked_at is None
    searcher.on_feedback(Decision(goto(1.0, 2.0)), Feedback("blocked"))
    assert searcher._blocked_at == (1.0, 2.0)
