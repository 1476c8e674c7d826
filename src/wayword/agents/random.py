"""Random baseline: any action on the menu with equal probability, seeded by episode.

In the street it draws among forward, left and right where there is a choice, at the start and at
intersections, and goes forward in between, as VELMA's random baseline does: drawn at every step,
a turn would only ever be undone by the next one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from wayword.core.action import STOP, Action, ActionSpace, Decision, Rejection
from wayword.core.agent import Agent, Toolkit
from wayword.core.episode import Episode
from wayword.core.world import Feedback, Observation
from wayword.worlds.street.world import StreetObservation

MOVES = 5
STREET_MOVES = 39
FORWARD = Action("forward")
TURNS = (FORWARD, Action("left"), Action("right"))


@dataclass(frozen=True, slots=True)
class RandomSettings:
    """``steps`` moves before it stops; 0 stands for the family's own number (street 39, else 5).

    ``may_stop`` makes stopping one of the choices instead, as likely as any other.
    """

    steps: int = 0
    may_stop: bool = False


class RandomAgent(Agent):
    """Moves at random, and stops after as many moves as a usual route has."""

    Settings: ClassVar[type[RandomSettings]] = RandomSettings
    families: ClassVar[frozenset[str]] = frozenset()
    needs_model: ClassVar[bool] = False

    def __init__(self, settings: RandomSettings, toolkit: Toolkit) -> None:
        self._settings, self._rng, self._taken = settings, toolkit.rng, 0

    async def begin(self, episode: Episode) -> None:
        self._taken = 0

    async def act(self, observation: Observation, space: ActionSpace) -> Decision | Rejection:
        street = isinstance(observation, StreetObservation)
        if self._settings.may_stop:
            return Decision(space.listed[self._rng.randrange(len(space.listed))])
        if self._taken >= (self._settings.steps or (STREET_MOVES if street else MOVES)):
            return Decision(STOP)
        if isinstance(observation, StreetObservation):
            choice = observation.exits > 2 or self._taken == 0
            return Decision(self._rng.choice(TURNS) if choice else FORWARD)
        moves = [action for action in space.listed if action != STOP]
        return Decision(self._rng.choice(moves) if moves else STOP)

    def on_feedback(self, decision: Decision | Rejection, feedback: Feedback) -> None:
        self._taken += 1


agent = RandomAgent
