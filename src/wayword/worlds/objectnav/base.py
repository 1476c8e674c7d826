"""The interface of robots that agents search with, and the actions of a search.

Three motions are enough for LGX and for frontier exploration: take a picture with depth, turn on
the spot, go straight to a point. :class:`~wayword.worlds.objectnav.simulated.SimulatedBase` offers
them in a scene; an adapter to a real robot is one more class, and
:class:`~wayword.worlds.objectnav.world.ObjectNavWorld` turns any of them into a world.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from wayword.core.action import STOP, Action
from wayword.core.episode import Episode, Json
from wayword.core.errors import DataError
from wayword.core.geometry import absolute
from wayword.worlds.objectnav.observation import Shown, View


@dataclass(frozen=True, slots=True)
class MotionResult:
    """The result of a motion.

    ``status`` is ``"ok"``, ``"blocked"`` if something was in the path (the base stands before
    it), ``"refused"`` if the base would not try, or ``"lost"`` if its connection broke.
    ``metres`` is the distance traveled.
    """

    status: str = "ok"
    metres: float = 0.0
    reason: str = ""


def parse_start(episode: Episode) -> tuple[float, float, float, float]:
    """Return x, y, heading, horizon (degrees down) of an episode's start. Raises ``DataError``."""
    start = episode.start
    try:
        heading, horizon = float(start.get("heading", 0.0)), float(start.get("horizon", 0.0))
        return float(start["x"]), float(start["y"]), absolute(heading), horizon
    except (KeyError, TypeError, ValueError) as error:
        problem = "needs numbers x and y (and heading, horizon)"
        raise DataError(f"episode {episode.id}", "field 'start'", problem) from error


@dataclass(slots=True)
class Odometer:
    """Counts of a base since its start: ``metres`` gone, steps of 0.25 m, turns of 30 degrees, and
    motions that something blocked."""

    metres: float = 0.0
    moves: int = 0
    turns: int = 0
    bumps: int = 0

    def report(self, shown: Iterable[Shown]) -> dict[str, Json]:
        """Return the counts and the objects truly in view, in the judges' format."""
        return {
            "metres": round(self.metres, 4),
            "moves": self.moves,
            "turns": self.turns,
            "bumps": self.bumps,
            "in_view": [
                {"id": s.id, "kind": s.kind, "distance": s.distance, "fraction": s.fraction}
                for s in shown
            ],
        }


@runtime_checkable
class Base(Protocol):
    """A body with a camera. Methods block until the motion has ended."""

    def start(self, episode: Episode) -> None:
        """Prepare for an episode; a simulated base is placed at its start. Raises ``DataError``."""

    def capture(self) -> View:
        """Return the camera's view now. Moves nothing."""

    def rotate(self, degrees: float) -> MotionResult:
        """Turn in place, right positive."""

    def go_to(self, x: float, y: float) -> MotionResult:
        """Face a point (metres) and go there in a straight line, or by the route of the base's
        planner."""

    def pose(self) -> Mapping[str, Json]:
        """Return ``x``, ``y`` and ``heading``, as accurately as the base knows them."""

    def report(self) -> Mapping[str, Json]:
        """Return the other data for judges: metres traveled, motions, and objects truly in view."""

    def stop(self) -> None:
        """Stop moving at the end of the search."""


# The actions of a search, and their menu.
#
# ``rotate[degrees]`` turns in place (right positive), ``goto[x, y]`` faces a point and goes
# there in a straight line (metres), ``move_ahead`` goes one step of 0.25 m, ``stop`` ends the
# search.

MOVE_AHEAD = Action("move_ahead")
LISTED_MOTIONS = (MOVE_AHEAD, Action("rotate", ("-30",)), Action("rotate", ("30",)), STOP)
"""The closed choices; any other well-formed ``rotate`` and ``goto`` is accepted as well."""
_NUMBER = r"-?[0-9]+(\.[0-9]+)?"
MOTION_PATTERNS = (rf"rotate\[{_NUMBER}\]", rf"goto\[{_NUMBER}, {_NUMBER}\]")  # their patterns
MAX_NUMBER = 1000.0  # larger numbers are rejected as places and turns


def rotate(degrees: float) -> Action:
    """Turn in place, right positive; written to a hundredth of a degree."""
    return Action("rotate", (f"{degrees:.2f}".rstrip("0").rstrip("."),))


def goto(x: float, y: float) -> Action:
    """Go to a point in a straight line; written to the millimetre."""
    return Action("goto", (f"{x:.3f}", f"{y:.3f}"))


def parse_numbers(action: Action) -> tuple[float, ...] | None:
    """Return the arguments of a ``rotate`` or ``goto``; None if they do not fit the verb."""
    if len(action.arguments) != {"rotate": 1, "goto": 2}.get(action.name, -1):
        return None
    try:
        values = tuple(float(text) for text in action.arguments)
    except (TypeError, ValueError):
        return None
    return values if all(math.isfinite(n) and abs(n) <= MAX_NUMBER for n in values) else None


def is_motion(action: Action) -> bool:
    """True if it is a listed motion or any other well-formed one."""
    return action in LISTED_MOTIONS or parse_numbers(action) is not None
