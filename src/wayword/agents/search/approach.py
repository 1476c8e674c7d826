"""Approach: going up to a thing that was found from afar, until it is seen from near by.

It goes to a reachable place near the thing and faces it. Where the thing cannot be seen from there
(a shelf's back, a wall between), it tries another place, a few times; where none can be reached, it
looks around so that the map grows, or goes to the frontier nearest to the thing. An approach that
is over without having seen the thing from near by leaves ``best``, the nearest sighting: a searcher
may go back to it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from wayword.agents.search.costmap import CELL, Costmap, Spot, distances, frontiers, shortest
from wayword.core.action import Action
from wayword.core.geometry import Point, bearing, relative, string_pull
from wayword.worlds.objectnav.base import goto, rotate
from wayword.worlds.objectnav.observation import View

CLOSE = 1.0
"""Metres to the middle of a thing within which it counts as reached once it is seen: RoboTHOR's
rule, and safe, as the challenge measures to the nearest point of the thing's box."""
AIMS = 3
"""Turns made to face one thing."""
BEST = 0.8
"""Metres to the middle at which places are taken first."""
APART = 0.4
"""A place this near (metres) to one that was tried shows the same."""
MISSES = 3
"""Places tried from which the thing is not seen, before it is given up."""
LOOKS = 1
"""Full turns made to find a way to it."""
DETOURS = 4
RUNS = 30
"""Ways planned in all; bodies that run into things must end somewhere."""


@dataclass(frozen=True, slots=True)
class TargetSighting:
    """Where the target was seen from (metres), the heading to it, and how far its middle was."""

    at: Point
    heading: float
    distance: float


@dataclass(slots=True)
class Aim:
    """Facing one heading. Robots turn inexactly, often by some degrees: after ``AIMS`` turns what
    is left counts as faced, for there might be no end to it."""

    turns: int = AIMS

    def turn(self, view: View, heading: float) -> Action | None:
        """The turn that faces it; None where it is faced as well as can be."""
        off = relative(heading, view.heading)
        if abs(off) < 0.5 or self.turns <= 0:
            return None
        self.turns -= 1
        return rotate(off)


@dataclass(slots=True)
class Approach:
    """One approach to a ``point`` (metres). ``resolution`` is the degrees between captures.

    ``next`` gives one motion after the other, None once it is over. ``tried`` lists the places that
    the thing was faced from; several approaches of one search share it. ``best`` is the nearest
    sighting so far.
    """

    point: Point
    resolution: float
    tried: list[Point] = field(default_factory=list)
    best: TargetSighting | None = None
    _plan: list[Action] = field(default_factory=list)
    _facing: bool = False
    _aim: Aim = field(default_factory=Aim)
    _looks: int = LOOKS
    _detours: int = DETOURS
    _runs: int = RUNS
    _misses: int = 0

    def interrupted(self) -> None:
        """Drop the rest of the plan: the last motion was cut short."""
        self._plan = []

    def next(self, view: View, costmap: Costmap, seen: TargetSighting | None) -> Action | None:
        """The next motion from where ``view`` was taken, the thing being ``seen`` in it or not."""
        if seen is not None:
            if self.best is None or seen.distance < self.best.distance:
                self.best = seen
            if seen.distance <= CLOSE:
                return self._aim.turn(view, seen.heading)
        if self._plan:
            self._aim = Aim()
            return self._plan.pop(0)
        here = (view.x, view.y)
        if self._facing:
            turn = self._aim.turn(view, bearing(here, self.point))
            if turn is not None:
                return turn
            self._facing = False
            self.tried.append(here)
            self._misses += seen is None
        if self._runs <= 0 or self._misses >= MISSES:
            return None
        self._runs -= 1
        self._plan, self._aim = self._planned(view, costmap), Aim()
        return self._plan.pop(0) if self._plan else None

    def _planned(self, view: View, costmap: Costmap) -> list[Action]:
        way = self._to_place(view, costmap)
        if way:
            self._facing = True
            return way
        if self._looks > 0:
            self._looks -= 1
            return [rotate(self.resolution)] * max(1, round(360 / self.resolution))
        if self._detours <= 0:
            return []
        self._detours -= 1
        self._looks = max(self._looks, 1)
        # To the frontier by which the thing is nearest, if the way goes on straight from it.
        steps = distances(costmap.open_, costmap.cell(view.x, view.y)) * CELL
        cells = [c for group in frontiers(costmap.free, costmap.known) for c in group]
        cells = [cell for cell in cells if np.isfinite(steps[cell]) and steps[cell] > 0]
        if not cells:
            return []
        best = min(cells, key=lambda c: steps[c] + math.dist(costmap.point(*c), self.point))
        return way_to(view, costmap, best)

    def _to_place(self, view: View, costmap: Costmap) -> list[Action]:
        """To a place near the thing that was not tried; else nearer to the thing than it is."""
        steps = distances(costmap.open_, costmap.cell(view.x, view.y))
        cells = np.argwhere(np.isfinite(steps))
        xs, ys = costmap.x + cells[:, 1] * CELL, costmap.y + cells[:, 0] * CELL
        away = np.hypot(xs - self.point[0], ys - self.point[1])
        gone = steps[cells[:, 0], cells[:, 1]] * CELL
        fresh = np.ones(len(cells), dtype=np.bool_)
        for x, y in self.tried:
            fresh &= np.hypot(xs - x, ys - y) > APART
        near = fresh & (away <= CLOSE)
        if near.any():
            cost = np.where(near, gone + 4 * np.maximum(away - BEST, 0.0), np.inf)
        else:
            nearer = math.dist(self.point, (view.x, view.y)) - CELL / 2
            fresh &= away <= nearer
            if not fresh.any():
                return []
            cost = np.where(fresh, away + 0.01 * gone, np.inf)
        j, i = cells[int(np.argmin(cost))].tolist()
        return way_to(view, costmap, (j, i))


@dataclass(slots=True)
class Return:
    """Going back to where the target was seen from, and facing it: ``next`` as in an approach."""

    goal: TargetSighting
    _plan: list[Action] = field(default_factory=list)
    _aim: Aim = field(default_factory=Aim)
    _runs: int = 4

    def interrupted(self) -> None:
        self._plan = []

    def next(self, view: View, costmap: Costmap, seen: TargetSighting | None) -> Action | None:
        """The next motion; it ends as soon as the target is seen from as near as before."""
        if seen is not None and seen.distance <= self.goal.distance + CELL:
            return self._aim.turn(view, seen.heading)
        if not self._plan and self._runs > 0:
            self._runs -= 1
            self._plan = way_towards(view, costmap, self.goal.at)
        if self._plan:
            return self._plan.pop(0)
        return self._aim.turn(view, self.goal.heading)


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
    if not way:
        return []
    # Where the body stands off its cell's centre, and nothing is clear from there, the centre is.
    here = costmap.spot(view.x, view.y)
    path: list[Spot] = way if here == way[0] else [here, *way]
    return [goto(*costmap.point(*corner)) for corner in string_pull(path, costmap.clear)[1:]]


def ahead(at: Point, heading: float, metres: float) -> Point:
    """The point so many metres away in a direction."""
    angle = math.radians(heading)
    return at[0] + metres * math.sin(angle), at[1] + metres * math.cos(angle)
