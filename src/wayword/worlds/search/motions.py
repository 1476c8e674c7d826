"""The actions of a search, and their menu.

``rotate[degrees]`` turns on the spot (right positive), ``goto[x, y]`` faces a point and goes there
in a straight line (metres), ``move_ahead`` goes one step of 0.25 m, ``stop`` ends the search.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import overload

from wayword.core.action import STOP, Action

AHEAD = Action("move_ahead")
LISTED = (AHEAD, Action("rotate", ("-30",)), Action("rotate", ("30",)), STOP)
"""The closed choices; any other well-formed ``rotate`` and ``goto`` is on the menu as well."""
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


class Motions(Sequence[Action]):
    """The closed choices listed, and every well-formed motion contained."""

    def __contains__(self, action: object) -> bool:
        return isinstance(action, Action) and (action in LISTED or numbers(action) is not None)

    def __len__(self) -> int:
        return len(LISTED)

    @overload
    def __getitem__(self, index: int) -> Action: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Action]: ...
    def __getitem__(self, index: int | slice) -> Action | Sequence[Action]:
        return LISTED[index]

    def __iter__(self) -> Iterator[Action]:
        return iter(LISTED)
