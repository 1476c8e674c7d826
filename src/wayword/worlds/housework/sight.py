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
from wayword.worlds.housework.geometry import Box, unit
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


NOTHING = View([], [], [])


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
        return NOTHING
    away = np.sqrt(near[roots])
    # Two aims a thing: its centre, then the nearest point of its box.
    aim_x = np.concatenate((things.x[roots] - x, dx[roots]))
    aim_y = np.concatenate((things.y[roots] - y, dy[roots]))
    east, north = unit(heading)
    squares = aim_x * aim_x + aim_y * aim_y
    ahead = aim_x * east + aim_y * north
    narrow = math.cos(math.radians(body.view_angle / 2))
    aims = np.flatnonzero((ahead >= narrow * np.sqrt(squares) - 1e-12) & (squares <= limit))
    panels = layout.panes(x, y, body.view_distance, body.eye, things.shut)
    mids = things.mid[roots[aims % count]]
    aims = aims[_unhidden(panels, (x, y, body.eye), aim_x[aims], aim_y[aims], mids)]
    if not len(aims):
        return NOTHING
    # The nearest point first, the centre last, so that a centre in view gives the bearing.
    slot = np.full(things.size, -1)
    slot[roots[aims[::-1] % count]] = aims[::-1]
    of = slot[things.anchor]
    seen = np.flatnonzero((of >= 0) & things.exposed)
    chosen = of[seen]
    right, front = aim_x[chosen] * north - aim_y[chosen] * east, ahead[chosen]
    bearing = np.degrees(np.arctan2(right, front))
    return View(seen.tolist(), bearing.tolist(), away[chosen % count].tolist())


def sees_box(
    panels: Panels, body: Body, place: tuple[float, float, float], box: Box, mid: float
) -> bool:
    """Whether a body at ``place`` would see a thing with that (drawn in) box at height ``mid``."""
    x, y, heading = place
    east, north = unit(heading)
    west_, south_, east_, north_ = box
    rx = np.array([(west_ + east_) / 2 - x, min(max(x, west_), east_) - x])
    ry = np.array([(south_ + north_) / 2 - y, min(max(y, south_), north_) - y])
    far = np.hypot(rx, ry)
    ahead = rx * east + ry * north
    cone = math.cos(math.radians(body.view_angle / 2))
    inside = (ahead >= cone * far - 1e-12) & (far <= body.view_distance)
    clear = _unhidden(panels, (x, y, body.eye), rx, ry, np.full(2, mid))
    return bool((inside & clear).any())


def _unhidden(
    panels: Panels, eye: tuple[float, float, float], rx: Floats, ry: Floats, mids: Floats
) -> NDArray[np.bool_]:
    """(P,) whether nothing stands between the eye and the points (rx, ry, to the height mids)."""
    px, py = panels.ax - eye[0], panels.ay - eye[1]
    sx, sy, column_x, column_y = panels.sx, panels.sy, rx[:, None], ry[:, None]
    turn = column_x * sy - column_y * sx  # (P, S)
    along = px * sy - py * sx  # t = along / turn: how far down the line of sight, 0 to 1
    across = px * column_y - py * column_x  # u = across / turn: how far along the panel, 0 to 1
    size, sign = np.abs(turn), np.sign(turn)
    down, off = along * sign, across * sign
    hits = (down > 0) & (down < size * (1 - 1e-9)) & (off >= 0) & (off <= size)
    clear = np.logical_not((hits & panels.endless).any(axis=1))
    hits &= panels.bounded
    points, which = np.nonzero(hits)
    if len(points):
        t = down[points, which] / size[points, which]
        clear[_behind(panels, eye, rx[points], ry[points], mids[points], which, t, points)] = False
    return clear


def _behind(
    panels: Panels,
    eye: tuple[float, float, float],
    rx: Floats,
    ry: Floats,
    mids: Floats,
    which: NDArray[np.intp],
    t: Floats,
    points: NDArray[np.intp],
) -> NDArray[np.intp]:
    """Those of the points that the sides of furniture crossed at ``t`` hide, each (C,)."""
    west, south = panels.west[which], panels.south[which]
    east, north = panels.east[which], panels.north[which]
    x, y = eye[0] + rx, eye[1] + ry
    within = (west <= x) & (x <= east) & (south <= y) & (y <= north)
    within |= (west <= eye[0]) & (eye[0] <= east) & (south <= eye[1]) & (eye[1] <= north)
    level = eye[2] + t * (mids - eye[2])
    meets = (panels.low[which] <= level) & (level <= panels.high[which])
    return points[meets & ~within]
