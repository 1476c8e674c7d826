"""Shortest-path oracle: shown the goal, it goes there the shortest way and stops.

An upper bound, and a test that world, references and metrics agree: its success rate must be 1.
In object-goal navigation it goes to the nearest place that has a target in view within the
reference's distance; where the world knows none it stops at once, and a note ``no_way`` says why.
The oracle ``gold`` walks its plan in the same way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from wayword.core.action import STOP, Action, ActionSpace, Decision, Rejection
from wayword.core.agent import Agent, MakePlan, Toolkit
from wayword.core.episode import Episode, Reference
from wayword.core.game import PlanningFailed
from wayword.core.world import Feedback, Observation, World


class PlannedWalk(Agent):
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


@dataclass(frozen=True, slots=True)
class OracleSettings:
    """Nothing to set."""


class ShortestPathOracle(PlannedWalk):
    """Follows a shortest path from the start to the reference's goal, or to a thing to find."""

    Settings: ClassVar[type[OracleSettings]] = OracleSettings
    families: ClassVar[frozenset[str]] = PlannedWalk.families | {"two_phase"}
    how: ClassVar[str] = "shortest"


agent = ShortestPathOracle
