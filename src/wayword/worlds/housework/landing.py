"""Landing: where a thing comes to lie that a hand puts in or on a receptacle, and from where a body
must put it so that it lies near a given point."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from wayword.core.angles import absolute
from wayword.worlds.housework import statuses as st
from wayword.worlds.housework.geometry import Point, unit
from wayword.worlds.housework.house import Actor, Fail, House
from wayword.worlds.housework.lattice import path
from wayword.worlds.housework.layout import box_distance
from wayword.worlds.housework.route import Trip, true_box, walk
from wayword.worlds.housework.sight import sees_box

AHEAD = 0.3
"""How far beyond the edge of a receptacle a hand puts things, metres."""
ARM = 0.6
"""How far ahead one puts things who stands within the box, in the bend of a counter; metres."""
Pose = tuple[float, float, float]
"""x, y (metres) and heading (degrees)."""


def landing(house: House, me: Actor, i: int, r: int, at: Pose) -> tuple[float, float, float]:
    """Where a thing ``i`` lies that one who stands ``at`` a pose puts in or on ``r``: ahead, within
    its edges and one's reach. x, y and underside (metres)."""
    t = house.things
    wide, deep = max(t.half_x[r] - t.half_x[i], 0.0), max(t.half_y[r] - t.half_y[i], 0.0)
    east, north = unit(at[2])
    ahead = AHEAD
    if house.holder(r) != me.number:
        away = box_distance(at[0], at[1], true_box(house, r))
        ahead = ARM if away == 0 else ahead + away
    spot = (0.0, 0.0)
    for forward in (ahead, 0.0):
        x, y = at[0] + forward * east, at[1] + forward * north
        spot = (
            float(min(max(x, t.x[r] - wide), t.x[r] + wide)),
            float(min(max(y, t.y[r] - deep), t.y[r] + deep)),
        )
        if math.dist(spot, at[:2]) ** 2 <= me.body.manipulation_distance**2:
            break
    rise = t.height[r] if t.specs[r].receptacle == "on" else t.height[r] / 2
    return (*spot, float(t.bottom[r] + rise))


def route_to_put(house: House, me: Actor, i: int, r: int, at: Point, within: float) -> list[str]:
    """Verbs that bring ``me`` where a thing ``i`` put in or on ``r`` comes to lie within a distance
    (metres) of a point, by the fewest steps. Raises ``Fail`` where no place will do."""
    trip = Trip(house, me)
    grid, box = trip.grid, true_box(house, r)
    dx = np.maximum(np.maximum(box[0] - grid.x, grid.x - box[2]), 0.0)
    dy = np.maximum(np.maximum(box[1] - grid.y, grid.y - box[3]), 0.0)
    reach = me.body.manipulation_distance - 1e-6
    goals = np.flatnonzero((trip.steps >= 0) & (dx * dx + dy * dy <= reach * reach))
    mid = float(house.things.mid[house.things.anchor[r]])
    for goal in goals[np.argsort(trip.steps[goals], kind="stable")].tolist():
        x, y = (me.x, me.y) if goal == trip.start else (float(grid.x[goal]), float(grid.y[goal]))
        panels = house.layout.panes(x, y, me.body.view_distance, me.body.eye, house.things.shut)
        for heading in _headings(me, grid.turn):
            spot = landing(house, me, i, r, (x, y, heading))
            near = math.dist(spot[:2], at) <= within
            if near and sees_box(panels, me.body, (x, y, heading), box, mid):
                return walk(me, grid, path(trip.ways, trip.steps, goal), heading)
    raise Fail(st.NO_PATH, place=house.name(me, r))


def _headings(me: Actor, turn: float) -> Iterator[float]:
    for part in range(round(360 / me.body.fine_turn)):
        yield absolute(round(turn + part * me.body.fine_turn, 6))
