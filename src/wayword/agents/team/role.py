"""A role in a team: what a scripted actor is given before it starts, and what it does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from wayword.core.action import ActionSpace, Decision, Rejection
from wayword.core.agent import Toolkit
from wayword.core.episode import Episode
from wayword.core.world import Feedback
from wayword.worlds.household.goals import HouseholdReference
from wayword.worlds.household.observation import HouseholdObservation
from wayword.worlds.household.world import HouseholdWorld


@dataclass(frozen=True, slots=True)
class Brief:
    """Who one is, and what is to be done.

    ``world`` is there to read off what a goal's object is called; where things are is no role's
    business, save a commander's, who knows the house. ``talk`` says whether it may speak.
    """

    actor: str
    episode: Episode
    reference: HouseholdReference
    world: HouseholdWorld
    toolkit: Toolkit
    talk: bool = True


class Role(Protocol):
    """One actor's script, built as ``cls(brief)`` at its first turn."""

    def act(self, observation: HouseholdObservation, space: ActionSpace) -> Decision | Rejection:
        """Decide."""
        ...

    def on_feedback(self, decision: Decision | Rejection, feedback: Feedback) -> None:
        """What came of it."""
        ...
