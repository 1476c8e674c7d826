"""Sight: which things a body sees, for all of them at once.

A thing is seen when its centre or the nearest point of its box lies within the view distance and
the view angle, and no panel stands in the line from the eye to that point: a wall, a shut door, or
a side of furniture that rises above the eye and that the line meets between its underside and its
top. What is in an open enclosing receptacle is seen when the receptacle is; what is in a shut one,
or in somebody's hands, is not. Bodies hide nothing.

Source: the view cone is LangSuitE's (Jia et al. 2024, section 3.1, Appendix E); what hides is this
project's own, as the paper says "unblocked by walls" without saying how.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wayword.worlds.housework.body import Body
from wayword.worlds.housework.geometry import unit
from wayword.worlds.housework.layout import Layout, Panels
from wayword.worlds.housework.things import Things

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """What is seen: ``things`` (K,) in the scene's order, with ``bearing`` (degrees, relative,
    right positive) and ``distance`` (metres, to the nearest point); those inside an open
    receptacle have its bearing and distance."""

    things: list[int]
    bearing: list[float]
    distance: list[float]


def look(
    layout: Layout, things: Things, body: Body, place: tuple[float, float, float], me: int
) -> View:
    """What a body at ``place`` (x, y, heading) sees. ``me`` is its own number."""
    x, y, heading = place
    limit = body.view_distance**2
    dx = np.minimum(np.maximum(things.west, x), things.east) - x
    dy = np.minimum(np.maximum(things.south, y), things.north) - y
    near = dx * dx + dy * dy
    within = near <= limit
    within &= things.root
    within[me] = False
    roots = np.flatnonzero(within)
    count = len(roots)
    if not count:
        return View([], [], [])
    away = np.sqrt(near[roots])
    # Two aims a thing: its centre, then the nearest point of its box.
    aim_x, aim_y = np.empty((2, count)), np.empty((2, count))
    aim_x[0], aim_y[0] = things.x[roots] - x, things.y[roots] - y
    aim_x[1], aim_y[1] = dx[roots], dy[roots]
    aim_x, aim_y = aim_x.ravel(), aim_y.ravel()
    east, north = unit(heading)
    squares = aim_x * aim_x + aim_y * aim_y
    ahead = aim_x * east + aim_y * north
    narrow = math.cos(math.radians(body.view_angle / 2))
    aims = np.flatnonzero((ahead >= narrow * np.sqrt(squares) - 1e-12) & (squares <= limit))
    panels = layout.panes(x, y, body.view_distance, body.eye, things.shut)
    whose = roots[aims % count]
    clear = _unhidden(panels, (x, y, body.eye), aim_x[aims], aim_y[aims], things, whose)
    aims = aims[clear]
    if not len(aims):
        return View([], [], [])
    # The nearest point first, the centre last, so that a centre in view gives the bearing.
    slot = np.full(things.size, -1)
    slot[roots[aims[::-1] % count]] = aims[::-1]
    of = slot[things.anchor]
    seen = np.flatnonzero((of >= 0) & things.exposed)
    chosen = of[seen]
    right, front = aim_x[chosen] * north - aim_y[chosen] * east, ahead[chosen]
    bearing = np.degrees(np.arctan2(right, front))
    return View(seen.tolist(), bearing.tolist(), away[chosen % count].tolist())


def _unhidden(
    panels: Panels,
    eye: tuple[float, float, float],
    rx: Floats,
    ry: Floats,
    things: Things,
    whose: NDArray[np.intp],
) -> NDArray[np.bool_]:
    """(P,) whether nothing stands between the eye and the points (rx, ry) away from it."""
    px, py = panels.ax - eye[0], panels.ay - eye[1]
    turn = rx[:, None] * panels.sy - ry[:, None] * panels.sx  # (P, S)
    along = px * panels.sy - py * panels.sx  # t = along / turn: how far down the line of sight
    across = px * ry[:, None] - py * rx[:, None]  # u = across / turn: how far along the panel
    size = np.abs(turn)
    sign = np.sign(turn)
    down, off = along * sign, across * sign
    limit = size * (1 - 1e-9)
    hits = (down > 0) & (down < limit) & (off >= 0) & (off <= size)
    clear = np.ones(len(rx), dtype=np.bool_)
    points, which = np.nonzero(hits)
    if not len(points):
        return clear
    tall = np.isfinite(panels.high[which])
    clear[points[~tall]] = False
    points, which = points[tall], which[tall]
    if len(points):
        t = down[points, which] / size[points, which]
        clear[_behind(panels, eye, (rx, ry), things, whose, points, which, t)] = False
    return clear


def _behind(
    panels: Panels,
    eye: tuple[float, float, float],
    aim: tuple[Floats, Floats],
    things: Things,
    whose: NDArray[np.intp],
    points: NDArray[np.intp],
    which: NDArray[np.intp],
    t: Floats,
) -> NDArray[np.intp]:
    """Those points that a side of furniture hides, out of the crossings (points, which, t)."""
    west, south = panels.west[which], panels.south[which]
    east, north = panels.east[which], panels.north[which]
    x, y = eye[0] + aim[0][points], eye[1] + aim[1][points]
    within = (west <= x) & (x <= east) & (south <= y) & (y <= north)
    within |= (west <= eye[0]) & (eye[0] <= east) & (south <= eye[1]) & (eye[1] <= north)
    level = eye[2] + t * (things.mid[whose[points]] - eye[2])
    meets = (panels.low[which] <= level) & (level <= panels.high[which])
    return points[meets & ~within]
