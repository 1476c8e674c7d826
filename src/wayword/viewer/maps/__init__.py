"""Maps of episodes, one module a family, found by its name.

    map(trajectory, sources) -> Html | None     in indoor.py, street.py, household.py

``generic`` draws the families without one, and what the others share; ``drawing`` is the SVG.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import replace

from wayword.core.trajectory import Trajectory
from wayword.viewer.data import Sources
from wayword.viewer.maps import generic
from wayword.viewer.maps.drawing import Map, Point, render
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


def together(
    walks: Sequence[tuple[str, Trajectory]], sources: Sources, apart: int = 0
) -> Html | None:
    """Walks of one episode, by the names of their runs, in one map, and where they part: before
    step ``apart``, from 1; 0 where they do not. None where the family has no places to draw."""
    drawn = [geography(told, sources) for _, told in walks]
    whole = [each for each in drawn if each is not None]
    if len(whole) < len(walks):
        return None
    names = [name if len({n for n, _ in walks}) == len(walks) else f"{name} ({number})"
             for number, (name, _) in enumerate(walks, 1)]  # fmt: skip
    stands = {
        name if len(each.walks) == 1 else f"{name}, {actor}": walk
        for name, each in zip(names, whole, strict=True)
        for actor, walk in each.walks.items()
    }
    first = whole[0]
    places = {name: point for each in reversed(whole) for name, point in each.places.items()}
    edges = list(dict.fromkeys(edge for each in whole for edge in each.edges))
    parted = _before(walks[0][1], first, apart) if apart else None
    lettered = None if first.lettered is None else frozenset().union(
        *(each.lettered or frozenset() for each in whole)
    )  # fmt: skip
    layer = first.layer and replace(first.layer, views={})
    both = replace(
        first, walks=stands, places=places, edges=edges, lettered=lettered, layer=layer,
        parted=parted,
    )  # fmt: skip
    return tag("figure", render(both), class_="both")


def _before(told: Trajectory, drawn: Map, step: int) -> Point | None:
    """Where the actor of a step stood before it."""
    if step > len(told.steps):
        return None
    stands = drawn.walks.get(told.steps[step - 1].actor, [])
    return next((each.point for each in reversed(stands) if each.step < step), None)


def draw(trajectory: Trajectory, sources: Sources) -> Html | None:
    """The family's map of an episode as a ``figure``, or None where nothing has a position."""
    family = sources.family()
    own = family.part("map") if family else None
    drawn = (own or generic.map)(trajectory, sources)
    return tag("figure", drawn) if drawn else None
