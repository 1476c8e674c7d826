"""Maps of episodes, one module a family, found by its name.

    map(trajectory, sources) -> Html | None     in indoor.py, street.py, household.py

``generic`` draws the families without one, and what the others share; ``drawing`` is the SVG.
"""

from __future__ import annotations

import math
import sys

from wayword.core.trajectory import Trajectory
from wayword.viewer.data import Sources
from wayword.viewer.maps import generic
from wayword.viewer.maps.drawing import Map
from wayword.viewer.markup import Html, tag


def distances(trajectory: Trajectory, sources: Sources) -> list[float]:
    """Metres from the goal as the crow flies, at the start and after each step of the first actor;
    empty where there is no gold path."""
    drawn = geography(trajectory, sources)
    if drawn is None or not drawn.gold or len(drawn.walks) != 1:
        return []
    (stands,) = drawn.walks.values()
    _, goal = drawn.gold[-1]
    return [math.dist(stand.point, goal) for stand in stands]


def geography(trajectory: Trajectory, sources: Sources) -> Map | None:
    """What the family's map draws, as data; None where it has none to give."""
    family = sources.family()
    own = family.part("map") if family else None
    made = getattr(sys.modules.get(getattr(own, "__module__", "")), "geography", None)
    found: Map | None = made(trajectory, sources) if made else None
    return found


def draw(trajectory: Trajectory, sources: Sources) -> Html | None:
    """The family's map of an episode as a ``figure``, or None where nothing has a position."""
    family = sources.family()
    own = family.part("map") if family else None
    drawn = (own or generic.map)(trajectory, sources)
    return tag("figure", drawn) if drawn else None
