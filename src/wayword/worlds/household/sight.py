"""Sight: which things a body sees, for all of them at once.

A thing is seen when its centre or the nearest point of its box lies within the view distance and
the view angle, and no panel stands in the line from the eye to that point: a wall, a shut door, or
a side of furniture that rises above the eye and that the line meets between its underside and its
top. What is in an open enclosing receptacle is seen when the receptacle is; what is in a shut one,
or held by an actor, is not. Bodies hide nothing.

Source: the view cone is LangSuitE's (Jia et al. 2024, section 3.1, Appendix E); what hides is this
project's own, as the paper says "unblocked by walls" without saying how.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wayword.core.geometry import Box, bearings, unit
from wayword.worlds.household.layout import CELL, HALF_DIAGONAL, Layout, Panels
from wayword.worlds.household.things import Things
from wayword.worlds.household.verbs import Body

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class VisibleThings:
    """What is seen: ``things`` in the scene's order, with ``bearing`` (degrees, relative, right
    positive) and ``distance`` (metres, to the nearest point); those inside an open receptacle
    have its bearing and distance."""

    things: list[int]
    bearing: list[float]
    distance: list[float]


NOTHING = VisibleThings([], [], [])
SHORT = 1 - 1e-9
"""A panel that a line of sight meets only at its very end does not stop it."""
EDGE = 1e-12
"""Slack of the test against the view's edge, so that a thing exactly on the edge is seen whichever
way the cosine was rounded."""


@dataclass(slots=True, eq=False)
class NearbyThings:
    """What is out in the open within sight of a cell, actors aside: ``things`` (C,).

    ``inner`` (I,) are the things inside open receptacles, ``slot`` (I,) whose (0 … C-1).
    """

    things: NDArray[np.intp]
    centre: Floats
    """(2, C) x and y; ``low`` and ``high`` the corners of the box, ``mid`` (C,) its level."""
    low: Floats
    high: Floats
    mid: Floats
    inner: list[int]
    slot: list[int]


@dataclass(slots=True, eq=False)
class VisiblePoints:
    """The P points that a body sees from where it stands, whichever way it has to face for it.

    ``slot`` (P,) says which of the things near; ``lines`` (P, 2) leads there from the eye, and
    ``least`` (P,) is how far ahead a point must lie to be within the view angle. Nearest points
    of boxes come before centres, so that a centre in view gives the bearing.
    """

    when: tuple[object, ...]
    """Where the body stands, and the state of the house."""
    near: NearbyThings
    slot: NDArray[np.intp]
    lines: Floats
    least: Floats
    distance: list[float]
    """To the nearest point of each thing near, metres."""


class Sight:
    """Which things a body sees. Keeps what is near a cell until something moves, and what is out
    in the open around a body while it turns."""

    def __init__(self, layout: Layout, things: Things) -> None:
        self._layout, self._things = layout, things
        self._near: dict[tuple[int, int, float], NearbyThings] = {}
        self._version = things.version
        self._outlooks: dict[int, VisiblePoints] = {}

    def look(self, body: Body, place: tuple[float, float, float], me: int) -> VisibleThings:
        """What a body at ``place`` (x, y, heading) sees. ``me`` is its own number."""
        x, y, heading = place
        outlook = self._outlook(body, x, y, me)
        if not len(outlook.slot):
            return NOTHING
        east, north = unit(heading)
        lines = outlook.lines
        inside = (lines[:, 0] * east + lines[:, 1] * north >= outlook.least).nonzero()[0]
        slot, lines = outlook.slot[inside], lines[inside]
        right, ahead = lines[:, 0] * north - lines[:, 1] * east, lines @ (east, north)
        turns = dict(zip(slot.tolist(), bearings(right, ahead).tolist(), strict=True))
        return _view(outlook.near, turns, outlook.distance)

    def _outlook(self, body: Body, x: float, y: float, me: int) -> VisiblePoints:
        """The one of before, if nobody has moved since and nothing was moved, opened or shut."""
        things = self._things
        when: tuple[object, ...] = (x, y, body, things.version)
        if things.actors > 1:
            first = things.first_actor
            when = (*when, things.x[first:].tobytes(), things.y[first:].tobytes())
        found = self._outlooks.get(me)
        if found is None or found.when != when:
            found = self._outlooks[me] = self._survey(body, x, y, me, when)
        return found

    def _survey(
        self, body: Body, x: float, y: float, me: int, when: tuple[object, ...]
    ) -> VisiblePoints:
        near = self._around(x, y, body.view_distance, me)
        count = len(near.things)
        eye = np.array(((x,), (y,)))
        # Two aims a thing, (2, xy, C): its centre, then the nearest point of its box.
        aims = np.empty((2, 2, count))
        np.subtract(near.centre, eye, out=aims[0])
        np.subtract(np.minimum(np.maximum(near.low, eye), near.high), eye, out=aims[1])
        away = np.sqrt(aims[:, 0] * aims[:, 0] + aims[:, 1] * aims[:, 1])
        kind, slot = np.divmod((away <= body.view_distance).ravel().nonzero()[0][::-1], count or 1)
        lines = aims[kind, :, slot]
        if len(slot):
            panels = self._layout.panes(x, y, body.view_distance, body.eye, self._things.shut)
            clear = unhidden(panels, (x, y, body.eye), lines.T, near.mid[slot])
            kind, slot, lines = kind[clear], slot[clear], lines[clear]
        least = math.cos(math.radians(body.view_angle / 2)) * away[kind, slot] - EDGE
        return VisiblePoints(when, near, slot, lines, least, away[1].tolist())

    def _around(self, x: float, y: float, within: float, me: int) -> NearbyThings:
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
        more = _near(things, others, [], [])
        return NearbyThings(
            np.concatenate((near.things, others)),
            np.concatenate((near.centre, more.centre), axis=1),
            np.concatenate((near.low, more.low), axis=1),
            np.concatenate((near.high, more.high), axis=1),
            np.concatenate((near.mid, more.mid)),
            near.inner,
            near.slot,
        )

    def _gather(self, cell: tuple[int, int, float]) -> NearbyThings:
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
        return _near(t, chosen, inner.tolist(), slot[inner].tolist())


def _near(t: Things, which: NDArray[np.intp], inner: list[int], slot: list[int]) -> NearbyThings:
    centre = np.stack((t.x[which], t.y[which]))
    low, high = np.stack((t.west[which], t.south[which])), np.stack((t.east[which], t.north[which]))
    return NearbyThings(which, centre, low, high, t.mid[which], inner, slot)


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
    inside = (ahead >= cone * far - EDGE) & (far <= body.view_distance)
    clear = unhidden(panels, (x, y, body.eye), np.stack((rx, ry)), np.full(2, mid))
    return bool((inside & clear).any())


def unhidden(
    panels: Panels, eye: tuple[float, float, float], aims: Floats, mids: Floats
) -> NDArray[np.bool_]:
    """(P,) whether nothing stands between the eye and the points that are ``aims`` (2, P) away
    from it, at the heights ``mids`` (P,)."""
    count, walls = len(panels.along), panels.walls
    # With e the eye, r an aim and s a panel from a to b, the panel is met at
    # t = (a - e) × s / (r × s), which must lie in (0, SHORT), and r × (a - e) and r × (b - e) must
    # not have the same sign: equal corners give equal signs, so that no line slips between walls.
    along = panels.along - (panels.span[:, 0] * eye[0] + panels.span[:, 1] * eye[1])
    inverse = np.divide(1.0, along, out=np.zeros(count), where=along != 0)
    lines = np.empty((3, aims.shape[1]))
    lines[:2] = aims
    lines[2] = aims[1] * eye[0] - aims[0] * eye[1]
    down, start, end = (panels.crosses @ lines).reshape(3, count, aims.shape[1])
    down *= inverse[:, None]  # 1 / t
    start *= end
    hits = down > 1 / SHORT
    hits &= start <= 0
    clear = np.logical_not(hits[:walls].any(axis=0))
    if walls < count:
        found = (hits[walls:] & clear).ravel().nonzero()[0]
        if len(found):
            which, points = np.divmod(found, aims.shape[1])
            which += walls
            t = 1 / down[which, points]
            clear[points[_hide(panels, eye, aims[:, points], mids[points], which, t)]] = False
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
    x, y = aims[0] + eye[0], aims[1] + eye[1]
    hides: NDArray[np.bool_] = (low <= level) & (level <= high)
    hides &= (x < west) | (x > east) | (y < south) | (y > north)
    if panels.around(eye[0], eye[1]):
        hides &= (eye[0] < west) | (eye[0] > east) | (eye[1] < south) | (eye[1] > north)
    return hides


def _view(near: NearbyThings, turns: dict[int, float], distance: list[float]) -> VisibleThings:
    """The view of the slots that have a bearing, and of what is inside them."""
    if not turns:
        return NOTHING
    things = near.things.tolist()
    rows = [(things[c], turn, distance[c]) for c, turn in turns.items()]
    rows += [
        (i, turns[c], distance[c]) for i, c in zip(near.inner, near.slot, strict=True) if c in turns
    ]
    rows.sort()
    return VisibleThings([r[0] for r in rows], [r[1] for r in rows], [r[2] for r in rows])
