"""Approach: going up to a thing that was found from afar.

It goes to the reachable place nearest to the thing; where that is not near enough, it looks around
so that the map grows, or goes to the frontier nearest to the thing, a few times; then it faces the
thing. Whoever approaches judges by the last view whether the thing is there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from wayword.agents.parts.costmap import CELL, Costmap, distances, frontiers, shortest, taut
from wayword.core.action import Action
from wayword.core.geometry import Point, absolute, relative
from wayword.worlds.objectnav.base import goto, rotate
from wayword.worlds.objectnav.observation import View

NEAR_ENOUGH = 0.8
"""Metres from the middle of a found thing from which it is faced."""
LOOKS = 2
"""Full turns made to find a way to it."""
DETOURS = 3
RUNS = 30
"""Ways planned in all; bodies that run into things must end somewhere."""


@dataclass(slots=True)
class Approach:
    """One approach to a ``point`` (metres). ``resolution`` is the degrees between captures.

    ``next`` gives one motion after the other, None once the thing is faced.
    """

    point: Point
    resolution: float
    _plan: list[Action] = field(default_factory=list)
    _looks: int = LOOKS
    _detours: int = DETOURS
    _runs: int = RUNS

    def interrupted(self) -> None:
        """The last motion was cut short: the rest of the plan is void."""
        self._plan = []

    def next(self, view: View, costmap: Costmap) -> Action | None:
        """The next motion from where ``view`` was taken."""
        if not self._plan and self._runs > 0:
            self._runs -= 1
            self._plan = self._planned(view, costmap)
        if self._plan:
            return self._plan.pop(0)
        return facing(view, bearing((view.x, view.y), self.point))

    def _planned(self, view: View, costmap: Costmap) -> list[Action]:
        if math.dist(self.point, (view.x, view.y)) <= NEAR_ENOUGH:
            return []
        way = way_towards(view, costmap, self.point)
        if way:
            return way
        if self._looks > 0:
            self._looks -= 1
            return [rotate(self.resolution)] * max(1, round(360 / self.resolution))
        if self._detours > 0:
            self._detours -= 1
            self._looks = max(self._looks, 1)
            return self._detour(view, costmap)
        return []

    def _detour(self, view: View, costmap: Costmap) -> list[Action]:
        """To the frontier by which the thing is nearest, if the way goes on straight from it."""
        steps = distances(costmap.open_, costmap.cell(view.x, view.y)) * CELL
        cells = [c for group in frontiers(costmap.free, costmap.known) for c in group]
        cells = [cell for cell in cells if np.isfinite(steps[cell]) and steps[cell] > 0]
        if not cells:
            return []
        best = min(cells, key=lambda c: steps[c] + math.dist(costmap.point(*c), self.point))
        return way_to(view, costmap, best)


def way_towards(view: View, costmap: Costmap, point: Point) -> list[Action]:
    """Straight runs to the reachable cell nearest to a point; none where that is not nearer than
    the body is, by a cell."""
    steps = distances(costmap.open_, costmap.cell(view.x, view.y))
    cells = np.argwhere(np.isfinite(steps))
    xs, ys = costmap.x + cells[:, 1] * CELL, costmap.y + cells[:, 0] * CELL
    away = np.hypot(xs - point[0], ys - point[1])
    best = int(np.argmin(away + 0.01 * steps[cells[:, 0], cells[:, 1]]))
    if away[best] > math.dist(point, (view.x, view.y)) - CELL / 2:
        return []
    j, i = cells[best].tolist()
    return way_to(view, costmap, (j, i))


def way_to(view: View, costmap: Costmap, cell: tuple[int, int]) -> list[Action]:
    """Straight runs over open cells to a cell; none where there is no way, or it is there."""
    way = shortest(costmap.open_, costmap.cell(view.x, view.y), cell)
    corners = taut(way, costmap.clear) if way else []
    return [goto(*costmap.point(*corner)) for corner in corners[1:]]


def facing(view: View, heading: float) -> Action | None:
    """The turn that faces a heading; None where it is faced."""
    turn = relative(heading, view.heading)
    return rotate(turn) if abs(turn) >= 0.5 else None


def bearing(a: Point, b: Point) -> float:
    """The heading from one point to another."""
    return absolute(math.degrees(math.atan2(b[0] - a[0], b[1] - a[1])))


def ahead(at: Point, heading: float, metres: float) -> Point:
    """The point so many metres away in a direction."""
    angle = math.radians(heading)
    return at[0] + metres * math.sin(angle), at[1] + metres * math.cos(angle)
