"""Walking a plan that needs no feedback: what the oracles ``oracle`` and ``gold`` share."""

from __future__ import annotations

from typing import Any, ClassVar

from wayword.core.action import STOP, Action, ActionSpace, Decision, Rejection
from wayword.core.agent import MakePlan, Toolkit
from wayword.core.episode import Episode, Reference
from wayword.core.replay import PlanningFailed
from wayword.core.world import Feedback, Observation, World


class PlannedWalk:
    """Takes the actions of the dataset's plan in order, then stops.

    Subclasses say ``how`` the plan is made. Where there is no plan it stops at once, and a note
    ``no_way`` says why.
    """

    how: ClassVar[str]
    families: ClassVar[frozenset[str]] = frozenset({"indoor", "street", "objectnav"})
    needs_model: ClassVar[bool] = False
    sees_answer: ClassVar[bool] = True

    def __init__(self, settings: Any, toolkit: Toolkit) -> None:
        self._toolkit = toolkit
        self._plan: list[Action] = []

    def reveal(self, reference: Reference, world: World, plan: MakePlan) -> None:
        self._make = plan

    async def begin(self, episode: Episode) -> None:
        """Plan from the start."""
        try:
            self._plan = list(self._make(self.how))
        except PlanningFailed as problem:
            self._toolkit.note("no_way", cause=str(problem))

    async def act(self, observation: Observation, space: ActionSpace) -> Decision | Rejection:
        return Decision(self._plan.pop(0) if self._plan else STOP)

    def on_feedback(self, decision: Decision | Rejection, feedback: Feedback) -> None:
        """The plan stays as it is."""
