"""Forward baseline: keep going straight on, and stop after as many moves as a usual route has.

In the street it says forward until it has seen 40 panoramas, an average route, and then stop: the
baseline of VELMA (Schumann et al. 2023, section 6.1; the 40 is the released code's). Indoors it
takes the way out closest to its heading, and stops where none lies within 90 degrees of it, or
after five moves: the median of R2R's paths, whose six viewpoints are five moves apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from wayword.core.action import STOP, Action, ActionSpace, Decision, Rejection
from wayword.core.agent import Agent, Toolkit
from wayword.core.episode import Episode
from wayword.core.errors import UsageError
from wayword.core.geometry import relative
from wayword.core.world import Feedback, Observation
from wayword.worlds.indoor.graph import Neighbor
from wayword.worlds.indoor.world import IndoorObservation
from wayword.worlds.street.world import StreetObservation

FORWARD = Action("forward")
STREET_MOVES = 39
INDOOR_MOVES = 5
WIDEST = 90.0
"""The most that an indoor way may be off the heading, in degrees."""


@dataclass(frozen=True, slots=True)
class ForwardSettings:
    """``moves`` before it stops; 0 stands for the family's own number (street 39, indoors 5)."""

    moves: int = 0


class ForwardAgent(Agent):
    """Goes straight on; no model, no memory but a count."""

    Settings: ClassVar[type[ForwardSettings]] = ForwardSettings
    families: ClassVar[frozenset[str]] = frozenset({"indoor", "street"})
    needs_model: ClassVar[bool] = False

    def __init__(self, settings: ForwardSettings, toolkit: Toolkit) -> None:
        self._moves, self._taken = settings.moves, 0

    async def begin(self, episode: Episode) -> None:
        self._taken = 0

    async def act(self, observation: Observation, space: ActionSpace) -> Decision | Rejection:
        if isinstance(observation, StreetObservation):
            return Decision(FORWARD if self._taken < (self._moves or STREET_MOVES) else STOP)
        if isinstance(observation, IndoorObservation):
            way = _ahead(observation.neighbors, observation.heading)
            if way is None or self._taken >= (self._moves or INDOOR_MOVES):
                return Decision(STOP)
            return Decision(Action("goto", (way.viewpoint,)))
        raise UsageError("the forward baseline knows no way ahead in this world; try `random`")

    def on_feedback(self, decision: Decision | Rejection, feedback: Feedback) -> None:
        self._taken += 1


def _ahead(ways: Sequence[Neighbor], heading: float) -> Neighbor | None:
    """The way closest to the heading, None where it lies more than ``WIDEST`` off."""

    def off(way: Neighbor) -> float:
        return abs(relative(way.heading, heading))

    nearest = min(ways, key=off, default=None)
    return nearest if nearest is not None and off(nearest) <= WIDEST else None


agent = ForwardAgent
