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
from wayword.worlds.housework.layout import CELL, HALF_DIAGONAL, Layout, Panels
from wayword.worlds.housework.things import Things

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """What is seen: ``things`` in the scene's order, with ``bearing`` (degrees, relative, right
    positive) and ``distance`` (metres, to the nearest point); those inside an open receptacle
    have its bearing and distance."""

    things: list[int]
    bearing: list[float]
    distance: list[float]


NOTHING = View([], [], [])
SHORT = 1 - 1e-9
"""A panel that a line of sight meets only at its very end does not stop it."""


@dataclass(slots=True, eq=False)
class Near:
    """What is out in the open within sight of a cell, actors aside: ``things`` (C,).

    ``inner`` (I,) are the things inside open receptacles, ``slot`` (I,) whose (0 … C-1).
    """

    things: NDArray[np.intp]
    boxes: Floats
    """(7, C): centre x and y, west, south, east, north, middle height."""
    inner: list[int]
    slot: list[int]


class Sight:
    """Which things a body sees. Keeps what is near a cell until something moves."""

    def __init__(self, layout: Layout, things: Things) -> None:
        self._layout, self._things = layout, things
        self._near: dict[tuple[int, int, float], Near] = {}
        self._version = things.version

    def look(self, body: Body, place: tuple[float, float, float], me: int) -> View:
        """What a body at ``place`` (x, y, heading) sees. ``me`` is its own number."""
        x, y, heading = place
        near = self._around(x, y, body.view_distance, me)
        if not len(near.things):
            return NOTHING
        # Two aims a thing, (2, C): its centre, then the nearest point of its box.
        centre_x, centre_y, west_, south_, east_, north_, mid = near.boxes
        aim_x, aim_y = np.empty((2, 2, len(near.things)))
        np.subtract(centre_x, x, out=aim_x[0])
        np.subtract(centre_y, y, out=aim_y[0])
        np.subtract(np.minimum(np.maximum(west_, x), east_), x, out=aim_x[1])
        np.subtract(np.minimum(np.maximum(south_, y), north_), y, out=aim_y[1])
        east, north = unit(heading)
        away = np.sqrt(aim_x * aim_x + aim_y * aim_y)
        ahead = aim_x * east + aim_y * north
        seen = ahead >= math.cos(math.radians(body.view_angle / 2)) * away - 1e-12
        seen &= away <= body.view_distance
        chosen = np.flatnonzero(seen)
        if not len(chosen):
            return NOTHING
        column = chosen % len(near.things)
        panels = self._layout.panes(x, y, body.view_distance, body.eye, self._things.shut)
        aims = np.empty((len(chosen), 2))
        aims[:, 0], aims[:, 1] = aim_x.ravel()[chosen], aim_y.ravel()[chosen]
        clear = unhidden(panels, (x, y, body.eye), aims, mid[column])
        # The nearest point first, the centre last, so that a centre in view gives the bearing.
        chosen = chosen[clear][::-1]
        right = aim_x.ravel()[chosen] * north - aim_y.ravel()[chosen] * east
        bearing = np.degrees(np.arctan2(right, ahead.ravel()[chosen]))
        turns = dict(zip(column[clear][::-1].tolist(), bearing.tolist(), strict=True))
        return _view(near, turns, away[1].tolist())

    def _around(self, x: float, y: float, within: float, me: int) -> Near:
        things = self._things
        if things.version != self._version:
            self._near.clear()
            self._version = things.version
        cell = (math.floor(x / CELL), math.floor(y / CELL), within)
        near = self._near.get(cell)
        if near is None:
            near = self._near[cell] = self._gather(cell)
        if things.actors == 1:
            return near
        others = np.array([i for i in range(things.first_actor, things.size) if i != me])
        return Near(
            np.concatenate((near.things, others)),
            np.concatenate((near.boxes, _boxes(things, others)), axis=1),
            near.inner,
            near.slot,
        )

    def _gather(self, cell: tuple[int, int, float]) -> Near:
        t = self._things
        x, y = (cell[0] + 0.5) * CELL, (cell[1] + 0.5) * CELL
        dx = np.minimum(np.maximum(t.west, x), t.east) - x
        dy = np.minimum(np.maximum(t.south, y), t.north) - y
        keep = t.root & (np.hypot(dx, dy) <= cell[2] + HALF_DIAGONAL)
        keep[t.first_actor :] = False
        chosen = np.flatnonzero(keep)
        position = np.full(t.size, -1)
        position[chosen] = np.arange(len(chosen))
        slot = position[t.anchor]
        inner = np.flatnonzero((slot >= 0) & t.exposed & ~t.root)
        return Near(chosen, _boxes(t, chosen), inner.tolist(), slot[inner].tolist())


def _boxes(t: Things, which: NDArray[np.intp]) -> Floats:
    return np.stack([v[which] for v in (t.x, t.y, t.west, t.south, t.east, t.north, t.mid)])


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
    clear = unhidden(panels, (x, y, body.eye), np.stack((rx, ry), axis=1), np.full(2, mid))
    return bool((inside & clear).any())


def unhidden(
    panels: Panels, eye: tuple[float, float, float], aims: Floats, mids: Floats
) -> NDArray[np.bool_]:
    """(P,) whether nothing stands between the eye and the points that are ``aims`` (P, 2) away
    from it, at the heights ``mids`` (P,)."""
    count, walls = len(panels.ax), panels.walls
    px, py = panels.ax - eye[0], panels.ay - eye[1]
    along = px * panels.sy - py * panels.sx
    sign = np.sign(along) * SHORT
    # With r an aim and s a panel: r × s, r × the panel's start and r × its end, one below another.
    table = np.empty((3, count, 2))
    table[0, :, 0], table[0, :, 1] = panels.sy * sign, panels.sx * -sign
    table[1, :, 0], table[1, :, 1] = py, -px
    table[2, :, 0], table[2, :, 1] = py + panels.sy, -(px + panels.sx)
    down, start, end = (table.reshape(-1, 2) @ aims.T).reshape(3, count, len(aims))
    # The line meets the panel at t = along / (r × s), which must lie in (0, SHORT), and the
    # panel's ends must not lie on the same side of the line.
    along = np.abs(along)
    hits = down > along[:, None]
    start *= end
    hits &= start <= 0
    clear = np.logical_not(hits[:walls].any(axis=0))
    if walls < count:
        found = np.flatnonzero(hits[walls:] & clear)
        if len(found):
            which, points = np.divmod(found, len(aims))
            which += walls
            t = along[which] * SHORT / down[which, points]
            clear[points[_hide(panels, eye, aims[points], mids[points], which, t)]] = False
    return clear


def _hide(
    panels: Panels,
    eye: tuple[float, float, float],
    aims: Floats,
    mids: Floats,
    which: NDArray[np.intp],
    t: Floats,
) -> NDArray[np.bool_]:
    """(C,) whether the sides of furniture crossed at ``t`` hide what lies behind them."""
    level = eye[2] + t * (mids - eye[2])
    low, high, west, south, east, north = panels.boxes[:, which]
    x, y = aims[:, 0] + eye[0], aims[:, 1] + eye[1]
    hides: NDArray[np.bool_] = (low <= level) & (level <= high)
    hides &= (x < west) | (x > east) | (y < south) | (y > north)
    if panels.around(eye[0], eye[1]):
        hides &= (eye[0] < west) | (eye[0] > east) | (eye[1] < south) | (eye[1] > north)
    return hides


def _view(near: Near, turns: dict[int, float], distance: list[float]) -> View:
    """The view of the slots that have a bearing, and of what is inside them."""
    if not turns:
        return NOTHING
    things = near.things.tolist()
    rows = [(things[c], turn, distance[c]) for c, turn in turns.items()]
    rows += [
        (i, turns[c], distance[c]) for i, c in zip(near.inner, near.slot, strict=True) if c in turns
    ]
    rows.sort()
    return View([r[0] for r in rows], [r[1] for r in rows], [r[2] for r in rows])
