"""Straying: a player of the bench whose horizon is known, ln ½ / ln(1 − p).

    wayword bench --agent tools/straying.py --tracks grid,act,ask --set chance=0.05
    wayword bench --agent tools/straying.py --tracks follow,street,find --set plan=gold
    wayword bench --agent tools/straying.py --tracks together --set plan=skills

It plays the expert's actions until, with probability ``chance`` at each step, it strays: it stops,
or, with ``wanders=true``, takes random actions until the episode ends, which may solve the task by
luck. Further actors stop at once. On ``find`` an action is several motions, so there the horizon
is not known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge, Le

from wayword.core.action import STOP, ActionSpace, Decision, Rejection
from wayword.core.agent import Agent, MakePlan, Toolkit
from wayword.core.episode import Episode, Reference
from wayword.core.game import ActionPlan, PlanningFailed
from wayword.core.world import Feedback, Observation, World


@dataclass(frozen=True, slots=True)
class StrayingSettings:
    """``chance``: probability of straying at each step. ``plan``: the kind of the expert's plan.
    ``wanders``: go on at random after straying instead of stopping."""

    chance: Annotated[float, Ge(0.0), Le(1.0)] = 0.05
    plan: str = "expert"
    wanders: bool = False


class Straying(Agent):
    """Plays the expert's plan until it strays for good."""

    Settings = StrayingSettings
    sees_answer = True

    def __init__(self, settings: StrayingSettings, toolkit: Toolkit) -> None:
        self._settings = settings
        self._rng = toolkit.rng
        self._strayed = False
        self._plan: ActionPlan | None = None
        self._feedback = Feedback()

    def reveal(self, reference: Reference, world: World, plan: MakePlan) -> None:
        self._make_plan = plan

    async def begin(self, episode: Episode) -> None:
        self._first = episode.actors[0]

    async def act(
        self, observation: Observation, space: ActionSpace
    ) -> Decision | Rejection:
        if getattr(observation, "actor", self._first) != self._first:
            return Decision(STOP)
        self._strayed = self._strayed or self._rng.random() < self._settings.chance
        if self._strayed:
            moves = [action for action in space.listed if action != STOP]
            is_over = not (self._settings.wanders and moves)
            return Decision(STOP if is_over else self._rng.choice(moves))
        try:
            if self._plan is None:
                self._plan = self._make_plan(self._settings.plan)
                return Decision(next(self._plan))
            return Decision(self._plan.send(self._feedback))
        except (StopIteration, PlanningFailed):
            return Decision(STOP)

    def on_feedback(self, decision: Decision | Rejection, feedback: Feedback) -> None:
        self._feedback = feedback


agent = Straying
