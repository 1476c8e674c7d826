"""Brief: what a scripted actor is told before it starts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from wayword.core.action import Menu
from wayword.core.agent import Toolkit
from wayword.core.decision import Decision, Rejection
from wayword.core.episode import Episode
from wayword.core.world import Feedback
from wayword.datasets.homes.goals import RoomsReference
from wayword.worlds.housework.observation import RoomsObservation
from wayword.worlds.rooms import RoomsWorld


@dataclass(frozen=True, slots=True)
class Brief:
    """Who one is, and what is to be done.

    ``world`` is there to read off what a goal's object is called; where things are is no role's
    business, save a commander's, who knows the house. ``talk`` says whether it may speak.
    """

    actor: str
    episode: Episode
    reference: RoomsReference
    world: RoomsWorld
    toolkit: Toolkit
    talk: bool = True


class Role(Protocol):
    """One actor's script, built as ``cls(brief)`` at its first turn."""

    def act(self, observation: RoomsObservation, menu: Menu) -> Decision | Rejection:
        """Decide."""
        ...

    def told(self, decision: Decision | Rejection, feedback: Feedback) -> None:
        """What came of it."""
        ...
