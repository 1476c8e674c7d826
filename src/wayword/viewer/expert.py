"""What an expert would have done at a step of a recorded episode."""

from __future__ import annotations

from wayword.agents.parts.person import answered
from wayword.core.errors import UsageError, WaywordError
from wayword.core.replay import PlanningFailed, replay
from wayword.core.solving import Solvable
from wayword.core.trajectory import Trajectory
from wayword.runs.replaying import recorded_answers
from wayword.viewer.data import Sources

WAYS = ("expert", "shortest", "gold")
"""Ways to solve a task, those to ask first."""


def expert_at(told: Trajectory, sources: Sources, step: int) -> str:
    """The expert's next action before step ``step`` (from 1), in a line; or why there is none.

    The recorded actions up to there are played again. Raises ``UsageError`` for a step that the
    episode does not have.
    """
    if not 1 <= step <= len(told.steps):
        raise UsageError(f"episode {told.episode_id!r} has no step {step}")
    dataset, task = sources.dataset, sources.tasks.get(told.episode_id)
    if task is None or dataset is None:
        return sources.notice or "the dataset of this run is not here"
    if not isinstance(dataset, Solvable):
        return "this dataset has no expert"
    actor = told.steps[step - 1].actor
    for how in WAYS:
        world = answered(dataset.world(task.episode), recorded_answers(told))
        turns = replay(world, task.episode, told)
        for number, (turn, recorded) in enumerate(zip(turns, told.steps, strict=True), 1):
            if number == step:
                break
            if turn.execute().status != recorded.feedback.status:
                return "the world answers otherwise than it did, so nobody can say"
        try:
            action = next(dataset.plan(task, world, actor, how))
        except StopIteration:
            return f"nothing: its plan ({how}) is over here"
        except (PlanningFailed, WaywordError, LookupError, ValueError):
            continue
        did = told.steps[step - 1].decision
        same = getattr(did, "action", None) == action
        return f"{action}{', as was done' if same else ''}   (plan: {how})"
    return "no plan leads on from here"
