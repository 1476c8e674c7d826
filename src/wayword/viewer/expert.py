"""What an expert would have done at the steps of a recorded episode."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from wayword.agents.person import answered
from wayword.core.action import STOP, Action, Decision
from wayword.core.dataset import Solvable
from wayword.core.errors import WaywordError
from wayword.core.game import Game, PlanningFailed, ReplayDiffers
from wayword.core.trajectory import Step, Trajectory
from wayword.runs.replaying import recorded_answers
from wayword.viewer.data import Sources
from wayword.viewer.steps import SPOKEN
from wayword.worlds.household.verbs import HIGH_LEVEL

WAYS = ("expert", "shortest", "gold")
"""Ways to solve a task, those to ask first."""
ERRANDS = "errands"
"""The way that takes the place of ``expert`` for actors who run whole errands."""
OVER = "nothing more"
"""Where a plan ends: everything is done, as far as the expert goes."""


def experts(told: Trajectory, sources: Sources, patience: float = 5.0) -> list[tuple[str, bool]]:
    """At each step, the expert's next action and whether it is what was done.

    Empty words where no expert knows a way on; nothing at all where the dataset has none, or where
    the world answers otherwise than it did. The recorded actions are played again, and a plan is
    made before each of them, ``patience`` seconds long at most.
    """
    dataset, task = sources.dataset, sources.tasks.get(told.episode_id)
    if task is None or dataset is None or not isinstance(dataset, Solvable):
        return []
    end = time.monotonic() + patience
    found: list[tuple[str, bool]] = [("", False)] * len(told.steps)
    high = _run_errands(told) if ERRANDS in dataset.solutions else set()
    for how in WAYS:
        for number, world in _played(told, task, dataset):
            step = told.steps[number]
            if found[number][0] or _spoke(step):
                continue
            own = ERRANDS if how == "expert" and step.actor in high else how
            try:
                action: Action | None = next(dataset.plan(task, world, step.actor, own))
            except StopIteration:
                action = None
            except (PlanningFailed, WaywordError, LookupError, ValueError):
                continue
            if action == STOP and len(told.start) > 1:
                continue  # of several, one may have nothing to do
            did = getattr(step.decision, "action", None)
            found[number] = (OVER if action is None else str(action)), action == did
            if time.monotonic() > end:
                return found
        if any(words for words, _ in found):
            break  # one expert for the whole episode
    return found


def _spoke(step: Step) -> bool:
    """Whether something was said: experts work, and say nothing."""
    return isinstance(step.decision, Decision) and step.decision.action.name in SPOKEN


def _run_errands(told: Trajectory) -> set[str]:
    """The actors who took high-level actions: low-level advice would be beside the point."""
    decided = ((step.actor, step.decision) for step in told.steps)
    return {a for a, d in decided if isinstance(d, Decision) and d.action.name in HIGH_LEVEL}


def _played(told: Trajectory, task: Any, dataset: Any) -> Iterator[tuple[int, Any]]:
    """(number of a step, from 0, and the world before it), as long as it answers as it did."""
    game = Game(answered(dataset.world(task.episode), recorded_answers(told)), task.episode)
    try:
        for number, _ in enumerate(game.replay(told.steps)):
            yield number, game.world
    except ReplayDiffers:
        return
