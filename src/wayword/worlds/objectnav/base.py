"""Base: what any robot must offer so that an agent can search with it.

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
class Moved:
    """What came of a motion.

    ``status`` is ``"ok"``, ``"blocked"`` where something was in the way (the base stands before
    it), ``"refused"`` where the base would not try, or ``"lost"`` where its connection broke.
    ``metres`` is how far it went.
    """

    status: str = "ok"
    metres: float = 0.0
    reason: str = ""


def start_of(episode: Episode) -> tuple[float, float, float, float]:
    """x, y, heading and horizon (degrees down) of an episode's start. Raises ``DataError``."""
    start = episode.start
    try:
        heading, horizon = float(start.get("heading", 0.0)), float(start.get("horizon", 0.0))
        return float(start["x"]), float(start["y"]), absolute(heading), horizon
    except (KeyError, TypeError, ValueError) as error:
        problem = "needs numbers x and y (and heading, horizon)"
        raise DataError(f"episode {episode.id}", "field 'start'", problem) from error


@dataclass(slots=True)
class Odometer:
    """What a base has done since its start: ``metres`` gone, steps of 0.25 m, turns of 30 degrees,
    and how often something was in the way."""

    metres: float = 0.0
    moves: int = 0
    turns: int = 0
    bumps: int = 0

    def report(self, shown: Iterable[Shown]) -> dict[str, Json]:
        """The counts, and the things truly in view, as judges read them."""
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
        """Get ready for an episode; a simulated base is put at its start. Raises ``DataError``."""
        ...

    def capture(self) -> View:
        """What the camera shows now. Moves nothing."""
        ...

    def rotate(self, degrees: float) -> Moved:
        """Turn on the spot, right positive."""
        ...

    def go_to(self, x: float, y: float) -> Moved:
        """Face a point (metres) and go there in a straight line, or as the base's own planner
        sees fit."""
        ...

    def pose(self) -> Mapping[str, Json]:
        """``x``, ``y`` and ``heading``, as true as the base knows them."""
        ...

    def report(self) -> Mapping[str, Json]:
        """What judges need besides: metres gone, motions made, and the things truly in view."""
        ...

    def stop(self) -> None:
        """The search has ended: stand still."""
        ...


# The actions of a search, and their menu.
#
# ``rotate[degrees]`` turns on the spot (right positive), ``goto[x, y]`` faces a point and goes
# there in a straight line (metres), ``move_ahead`` goes one step of 0.25 m, ``stop`` ends the
# search.

AHEAD = Action("move_ahead")
LISTED = (AHEAD, Action("rotate", ("-30",)), Action("rotate", ("30",)), STOP)
"""The closed choices; any other well-formed ``rotate`` and ``goto`` is on the menu as well."""
_NUMBER = r"-?[0-9]+(\.[0-9]+)?"
FORMS = (rf"rotate\[{_NUMBER}\]", rf"goto\[{_NUMBER}, {_NUMBER}\]")
"""How these are written."""
FARTHEST = 1000.0
"""Numbers beyond this are no places and no turns."""


def rotate(degrees: float) -> Action:
    """Turn on the spot, right positive; written to a hundredth of a degree."""
    return Action("rotate", (f"{degrees:.2f}".rstrip("0").rstrip("."),))


def goto(x: float, y: float) -> Action:
    """Go to a point in a straight line; written to the millimetre."""
    return Action("goto", (f"{x:.3f}", f"{y:.3f}"))


def numbers(action: Action) -> tuple[float, ...] | None:
    """The arguments of a ``rotate`` or ``goto``; None where they are not what it takes."""
    if len(action.arguments) != {"rotate": 1, "goto": 2}.get(action.name, -1):
        return None
    try:
        found = tuple(float(text) for text in action.arguments)
    except (TypeError, ValueError):
        return None
    return found if all(math.isfinite(n) and abs(n) <= FARTHEST for n in found) else None


def is_motion(action: Action) -> bool:
    """Whether it is a listed motion or any other well-formed one."""
    return action in LISTED or numbers(action) is not None
