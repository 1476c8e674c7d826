"""Lower bounds: agents without a model and without memory, except a count of steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from wayword.core.action import STOP, Action, ActionSpace, Decision, Rejection
from wayword.core.agent import Agent, Toolkit
from wayword.core.errors import UsageError
from wayword.core.geometry import relative
from wayword.core.world import Feedback, Observation
from wayword.worlds.indoor.world import IndoorObservation
from wayword.worlds.street.world import StreetObservation

INDOOR_MOVES = 5  # the median of R2R's paths, whose six viewpoints are five moves apart
# An average route has 40 panoramas: the number of VELMA's released code
STREET_MOVES = 39
FORWARD = Action("forward")
TURNS = (FORWARD, Action("left"), Action("right"))
# Maximum angle (degrees) between the heading and an indoor neighbor
WIDEST_ANGLE = 90.0


@dataclass(frozen=True)
class RandomSettings:
    """``steps``: number of moves before stopping; 0: 39 in the street, else 5."""

    steps: int = 0


class _Baseline(Agent):
    def __init__(self, settings: Any, toolkit: Toolkit) -> None:
        self._settings = settings
        self._rng = toolkit.rng
        self._moves_taken = 0

    def on_feedback(self, decision: Decision | Rejection, feedback: Feedback) -> None:
        """Count the moves, which limit a walk without an own end."""
        self._moves_taken += 1


class RandomAgent(_Baseline):
    """Takes listed actions with equal probability, seeded by episode, for the number of moves of a
    typical route.

    In the street it draws from forward, left and right at the start and at intersections, and goes
    forward in between, like VELMA's random baseline: if drawn at every step, each turn would soon
    be undone by another.
    """

    Settings = RandomSettings

    async def act(
        self,
        observation: Observation,
        space: ActionSpace,
    ) -> Decision | Rejection:
        """Return a random legal action, and a stop after the usual number of moves."""
        if isinstance(observation, StreetObservation):
            usual = STREET_MOVES
        else:
            usual = INDOOR_MOVES
        if self._moves_taken >= (self._settings.steps or usual):
            return Decision(STOP)
        if isinstance(observation, StreetObservation):
            if observation.exits > 2 or self._moves_taken == 0:
                return Decision(self._rng.choice(TURNS))
            return Decision(FORWARD)
        moves = [action for action in space.listed if action != STOP]
        if not moves:
            return Decision(STOP)
        return Decision(self._rng.choice(moves))


class ForwardAgent(_Baseline):
    """Goes straight ahead, and stops after the number of moves of a typical route.

    In the street it goes forward until it has seen 40 panoramas: the baseline of VELMA (Schumann et
    al. 2023, section 6.1). Indoors it takes the neighbor closest to its heading; it stops if none
    is within 90 degrees of it, or after five moves.
    """

    families = frozenset({"indoor", "street"})

    async def act(
        self,
        observation: Observation,
        space: ActionSpace,
    ) -> Decision | Rejection:
        """Go on straight ahead, with the least turn, and stop after the usual number of
        moves."""
        if isinstance(observation, StreetObservation):
            if self._moves_taken >= STREET_MOVES:
                return Decision(STOP)
            return Decision(FORWARD)
        if isinstance(observation, IndoorObservation):
            facing = observation.heading
            angles = {
                e: abs(relative(e.heading, facing)) for e in observation.neighbors
            }
            exit_ = min(angles, key=angles.__getitem__, default=None)
            has_gone = self._moves_taken >= INDOOR_MOVES
            if exit_ is None or angles[exit_] > WIDEST_ANGLE or has_gone:
                return Decision(STOP)
            return Decision(Action("goto", (exit_.viewpoint,)))
        raise UsageError(
            "forward acts in indoor and street worlds; choose another agent"
        )


agents = {"random": RandomAgent, "forward": ForwardAgent}
