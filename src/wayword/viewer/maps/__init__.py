"""Maps of episodes, one module a family, found by its name.

    map(trajectory, sources) -> Html | None     in indoor.py, street.py, household.py

``generic`` draws the families without one, and what the others share; ``drawing`` is the SVG.
"""

from __future__ import annotations

from wayword.core.trajectory import Trajectory
from wayword.viewer.data import Sources
from wayword.viewer.maps import generic
from wayword.viewer.markup import Html, tag


def draw(trajectory: Trajectory, sources: Sources) -> Html | None:
    """The family's map of an episode as a ``figure``, or None where nothing has a position."""
    family = sources.family()
    own = family.part("map") if family else None
    drawn = (own or generic.map)(trajectory, sources)
    return tag("figure", drawn) if drawn else None
