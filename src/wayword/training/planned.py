"""The stepwise oracle of a home task: the expert's plan, made anew wherever the walk left it."""

from __future__ import annotations

from wayword.core.action import STOP, Action, Decision, Rejection
from wayword.core.agent import MakePlan
from wayword.core.replay import ActionPlan, PlanningFailed
from wayword.core.world import Feedback

UNKNOWN = Action("")
"""What the oracle says where it has no plan: no question is labelled there."""


class PlanGuide:
    """``best(place)`` is asked once a decision, in order; the place does not matter. ``took`` tells
    what came of the decision.

    While the walk does what the plan says, the plan goes on; else the next one begins at the state
    that the walk has come to.
    """

    reached, strayed = 0, False

    def __init__(self, make: MakePlan) -> None:
        self._make = make
        self._plan: ActionPlan | None = None
        self._said, self._feedback = UNKNOWN, Feedback()

    def best(self, place: str) -> Action:
        """The expert's next high-level action, ``UNKNOWN`` where it has none."""
        try:
            if self._plan is None:
                self._plan = self._make("errands")
                self._said = next(self._plan)
            else:
                self._said = self._plan.send(self._feedback)
        except StopIteration:
            self._plan, self._said = None, STOP
        except PlanningFailed:
            self._plan, self._said = None, UNKNOWN
        return self._said

    def took(self, decision: Decision | Rejection, feedback: Feedback) -> None:
        """Go on with the plan if it was followed."""
        self._feedback = feedback
        if not isinstance(decision, Decision) or decision.action != self._said:
            self._plan = None
