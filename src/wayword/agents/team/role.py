"""The brief of a scripted actor: what it is given before it starts."""

from __future__ import annotations

from dataclasses import dataclass

from wayword.core.agent import Toolkit
from wayword.core.episode import Episode
from wayword.worlds.household.goals import HouseholdReference
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
