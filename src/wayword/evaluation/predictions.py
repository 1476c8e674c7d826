from __future__ import annotations

from collections.abc import Sequence

from wayword.core.action import STOP, Action
from wayword.core.decision import Decision
from wayword.core.trajectory import Step, Trajectory
from wayword.core.world import Feedback


def trajectory_from_places(episode_id: str, places: Sequence[str], key: str) -> Trajectory:
    steps = [
        Step("agent", {}, Decision(Action("goto", (place,))), Feedback(), {key: place})
        for place in places[1:]
    ]
    return Trajectory(episode_id, {"agent": {key: places[0]}}, steps)
