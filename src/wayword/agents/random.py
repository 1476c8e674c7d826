"""Random baseline: any action on the menu with equal probability, seeded by episode."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from wayword.core.action import STOP, Action, Menu
from wayword.core.agent import Toolkit
from wayword.core.decision import Decision, Rejection
from wayword.core.episode import Episode
from wayword.core.world import Feedback, Observation


@dataclass(frozen=True, slots=True)
class RandomSettings:
    """``steps``: stop after this many moves; 0 makes stopping one of the choices."""

    steps: int = 5


class RandomAgent:
    """Moves at random and stops after ``steps`` moves.

    With ``steps=0`` stopping is one of the choices, as likely as any other.
    """

    Settings: ClassVar[type[RandomSettings]] = RandomSettings
    families: ClassVar[frozenset[str]] = frozenset()
    needs_model: ClassVar[bool] = False

    def __init__(self, settings: RandomSettings, toolkit: Toolkit) -> None:
        self._settings, self._rng, self._taken = settings, toolkit.rng, 0

    async def begin(self, episode: Episode) -> None:
        self._taken = 0

    async def act(self, observation: Observation, menu: Menu) -> Decision | Rejection:
        return Decision(self._draw(menu))

    def told(self, decision: Decision | Rejection, feedback: Feedback) -> None:
        self._taken += 1

    def _draw(self, menu: Menu) -> Action:
        if not self._settings.steps:
            return menu.actions[self._rng.randrange(len(menu.actions))]
        moves = [action for action in menu.actions if action != STOP]
        if self._taken >= self._settings.steps or not moves:
            return STOP
        return self._rng.choice(moves)


agent = RandomAgent
