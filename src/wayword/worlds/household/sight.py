"""Sight: the entities visible to a body, computed for all at once.

An object is visible if the center or the nearest point of its box is within the view distance and
the view angle, and no panel blocks the line from the eye to that point: a wall, a closed door, or a
side of furniture that rises above the eye and is crossed by the line between its bottom and its
top. Objects in an open enclosing receptacle are visible if the receptacle is; objects in a closed
one, or held by an actor, are not. Bodies block nothing.

Source: the view cone is LangSuitE's (Jia et al. 2024, section 3.1, Appendix E); occlusion is this
project's own: the paper requires "unblocked by walls" without giving a method.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from wayword.core.geometry import Bools, Box, Floats, bearings, unit
from wayword.worlds.household.entities import Entities
from wayword.worlds.household.layout import CELL_SIZE, HALF_DIAGONAL, Layout, Panels
from wayword.worlds.household.verbs import Body


@dataclass(slots=True, eq=False)
class VisibleEntities:
    """The view of a body: indices of ``entities`` in scene order, with two values for each.

    ``bearing`` is relative to the heading (degrees, right positive), ``distance`` is to
    the nearest point (metres). Contents of a receptacle have those of the receptacle.
    ``indices`` are the ``entities`` as an array, to index those of :class:`Entities`.
    """

    entities: list[int]
    bearing: list[float]
    distance: list[float]
    indices: NDArray[np.intp] = field(init=False)

    def __post_init__(self) -> None:
        self.indices = np.array(self.entities, dtype=np.intp)


EMPTY_VIEW = VisibleEntities([], [], [])
# A panel met only at the end of a line of sight is the object's own, or behind
RAY_END = 1 - 1e-9
SLACK = 1e-12  # metres: rounding of the cosine must not hide an object on the edge of the view


@dataclass(slots=True, eq=False)
class NearbyEntities:
    """Unenclosed objects and doors within sight of a cell, without actors.

    ``entities`` (C,) are indices, ``center`` (2, C) positions, ``low`` and ``high`` (2,
    C) the corners of their inset boxes, and ``mid_height`` (C,) the heights of their
    middles; all metres. ``enclosed`` (I,) are objects inside open receptacles, and
    ``slot`` (I,) are the receptacles' positions among the C.
    """

    entities: NDArray[np.intp]
    center: Floats
    low: Floats
    high: Floats
    mid_height: Floats
    enclosed: list[int]
    slot: list[int]


@dataclass(slots=True, eq=False)
class VisiblePoints:
    """The P points visible to a body from its position, for any heading.

    ``slot`` (P,) gives the nearby object of each point; ``lines`` (2, P) leads there from the eye,
    and ``min_ahead`` (P,) is the forward distance required to be within the view angle. Nearest
    points of boxes come before centers, so that a visible center determines the bearing.
    ``distance`` is to the nearest point of each nearby object, metres, and ``entities`` are the
    indices of these objects.
    """

    cache_key: tuple[object, ...]
    near: NearbyEntities
    slot: NDArray[np.intp]
    lines: Floats
    min_ahead: Floats
    distance: list[float]
    entities: list[int]


class Sight:
    """Computes views.

    Caches the entities near a cell until something moves (``Entities.version``), and
    the visible points around a body while it only turns.
    """

    def __init__(self, layout: Layout, entities: Entities) -> None:
        self._layout = layout
        self._entities = entities
        self._near: dict[tuple[int, int, float], NearbyEntities] = {}
        self._version = entities.version
        self._points: dict[int, VisiblePoints] = {}

    def look(
        self,
        body: Body,
        place: tuple[float, float, float],
        me: int,
    ) -> VisibleEntities:
        """Return the view of a body at ``place``: x and y (metres) and heading (degrees).

        ``me`` is the index of the body's actor, which does not see itself.
        """
        x, y, heading = place
        points = self.visible_points(body, x, y, me)
        # Nothing near enough: the usual case in an empty corridor, so it is worth an
        # exit.
        if not len(points.slot):
            return EMPTY_VIEW

        # The points within the view angle.
        # A point is in view if it is far enough ahead, which spares an arc cosine per
        # point.
        east, north = unit(heading)
        x, y = points.lines
        # Zero without a sign: an object at the eye is straight ahead, not behind.
        ahead = x * east + y * north + 0.0
        rightward = x * north - y * east
        is_in_view = (ahead >= points.min_ahead).nonzero()[0]
        slot = points.slot[is_in_view].tolist()

        # Objects in view: a later point of the same object replaces the bearing of an earlier one.
        turns = bearings(rightward[is_in_view], ahead[is_in_view]).tolist()
        bearing_of = dict(zip(slot, turns, strict=True))
        # Nothing within the angle.
        if not bearing_of:
            return EMPTY_VIEW
        near = points.near
        distance = points.distance
        entities = points.entities
        rows = [(entities[c], turn, distance[c]) for c, turn in bearing_of.items()]
        # Exposed contents are seen with the receptacle that encloses them.
        enclosed = zip(near.enclosed, near.slot, strict=True)
        rows += [
            (i, bearing_of[c], distance[c]) for i, c in enclosed if c in bearing_of
        ]
        # In scene order, so that names are given in the same order every time.
        rows.sort()
        return VisibleEntities(*map(list, zip(*rows, strict=True)))

    def visible_points(self, body: Body, x: float, y: float, me: int) -> VisiblePoints:
        """Return the points visible from a position with any heading.

        Cached until the body or another one moves, or anything else moves, opens or
        closes.
        """
        t = self._entities
        # Turning on the spot leaves visible points as they were, so the heading is no
        # part of the key.
        cache_key: tuple[object, ...] = (x, y, body, t.version)
        # Other bodies move without changing the version.
        if t.actor_count > 1:
            first = t.first_actor
            cache_key = (*cache_key, t.x[first:].tobytes(), t.y[first:].tobytes())
        cached = self._points.get(me)
        if cached is not None and cached.cache_key == cache_key:
            return cached
        near = self._nearby(x, y, body.view_distance, me)
        count = len(near.entities)
        eye = np.array(((x,), (y,)))
        # Two aims per object, (xy, 2 C): the centers, then the nearest points of the boxes.
        nearest = np.minimum(np.maximum(near.low, eye), near.high)
        aims = np.concatenate((near.center, nearest), axis=1) - eye
        # Not ``hypot``, which takes twice as long for hundreds of objects.
        away = np.sqrt(aims[0] * aims[0] + aims[1] * aims[1])
        # Reversed, so that nearest points come before centers, as ``VisiblePoints``
        # requires.
        chosen = (away <= body.view_distance).nonzero()[0][::-1]
        # Walls last, since they cost most: distances have thinned out the points.
        if len(chosen):
            panels = self._layout.panels_near(
                x,
                y,
                body.view_distance,
                body.eye,
                t.closed_doors,
            )
            is_clear = is_unhidden(
                panels,
                (x, y, body.eye),
                aims[:, chosen],
                near.mid_height[chosen % count],
            )
            chosen = chosen[is_clear]
        # The cosine of half the view angle, times the distance, is the forward part at
        # its edge.
        edge = math.cos(math.radians(body.view_angle / 2))
        points = VisiblePoints(
            cache_key,
            near,
            chosen % (count or 1),
            aims[:, chosen],
            edge * away[chosen] - SLACK,
            away[count:].tolist(),
            near.entities.tolist(),
        )
        self._points[me] = points
        return points

    def _nearby(self, x: float, y: float, distance: float, me: int) -> NearbyEntities:
        """Return the entities within ``distance`` of a point, and maybe a few beyond; all metres.

        ``me`` is the index of the actor at the point, which is left out. Objects and doors are
        cached by cells of ``CELL_SIZE``, so that a walking body searches again only in a new cell;
        other actors are added at every call.
        """
        t = self._entities
        # Any change anywhere empties the cache; nothing changes while a body walks.
        if t.version != self._version:
            self._near.clear()
            self._version = t.version
        cell = (math.floor(x / CELL_SIZE), math.floor(y / CELL_SIZE), distance)
        near = self._near.get(cell)
        # Boxes within the distance of some point of the cell.
        if near is None:
            x = (cell[0] + 0.5) * CELL_SIZE
            y = (cell[1] + 0.5) * CELL_SIZE
            dx = np.minimum(np.maximum(t.west, x), t.east) - x
            dy = np.minimum(np.maximum(t.south, y), t.north) - y
            is_near = t.is_root & (np.hypot(dx, dy) <= distance + HALF_DIAGONAL)
            # Actors move too often to be cached: they are added below.
            is_near[t.first_actor :] = False
            chosen = np.flatnonzero(is_near)
            # From an entity to its place among the chosen, -1 if it is not among them.
            position = np.full(t.size, -1)
            position[chosen] = np.arange(len(chosen))
            slot = position[t.anchor]
            enclosed = np.flatnonzero((slot >= 0) & t.is_exposed & ~t.is_root)
            near = self._near[cell] = _gather(
                t,
                chosen,
                enclosed.tolist(),
                slot[enclosed].tolist(),
            )
        # Alone, the cached arrays are complete.
        if t.actor_count == 1:
            return near
        others = _gather(
            t,
            np.array([i for i in range(t.first_actor, t.size) if i != me]),
            [],
            [],
        )
        fields = ("entities", "center", "low", "high", "mid_height")
        entities, center, low, high, mid_height = (
            np.concatenate((getattr(near, name), getattr(others, name)), axis=-1)
            for name in fields
        )
        return NearbyEntities(
            entities,
            center,
            low,
            high,
            mid_height,
            near.enclosed,
            near.slot,
        )


def _gather(
    t: Entities,
    i: NDArray[np.intp],
    enclosed: list[int],
    slot: list[int],
) -> NearbyEntities:
    """Return the shapes of entities ``i``, with what they enclose."""
    center = np.stack((t.x[i], t.y[i]))
    low = np.stack((t.west[i], t.south[i]))
    high = np.stack((t.east[i], t.north[i]))
    return NearbyEntities(i, center, low, high, t.mid_height[i], enclosed, slot)


def sees_box(
    panels: Panels,
    body: Body,
    place: tuple[float, float, float],
    box: Box,
    mid_height: float,
) -> bool:
    """True if a body at ``place`` (x, y, heading) would see an object with that box.

    ``box`` is inset, ``mid_height`` the height of its middle (metres); ``panels`` are
    those near the place. As :meth:`Sight.look`, but for an object that need not be
    there.
    """
    x, y, heading = place
    west, south, east, north = box
    # Two aims: the center of the box, and its nearest point.
    rx = np.array([(west + east) / 2 - x, min(max(x, west), east) - x])
    ry = np.array([(south + north) / 2 - y, min(max(y, south), north) - y])
    distance = np.hypot(rx, ry)
    ahead_x, ahead_y = unit(heading)
    cone = math.cos(math.radians(body.view_angle / 2))
    is_in_view = rx * ahead_x + ry * ahead_y >= cone * distance - SLACK
    is_in_view &= distance <= body.view_distance
    heights = np.full(2, mid_height)
    is_clear = is_unhidden(panels, (x, y, body.eye), np.stack((rx, ry)), heights)
    return bool((is_in_view & is_clear).any())


def is_unhidden(
    panels: Panels,
    eye: tuple[float, float, float],
    aims: Floats,
    mid_heights: Floats,
) -> Bools:
    """Return a (P,) mask of points without an obstacle between them and the eye.

    ``eye`` is x, y and height; ``aims`` (2, P) are offsets from the eye,
    ``mid_heights`` (P,) heights above the floor; all metres.
    """
    count = len(panels.along)
    walls = panels.wall_count
    # With e the eye, r an aim and s a panel from a to b, the panel is met at
    # t = (a - e) × s / (r × s), which must be in (0, RAY_END), and r × (a - e) and r × (b - e) must
    # differ in sign or be 0. Two walls with a common corner compute the same number for it, so no
    # line slips between them.
    along = panels.along - (panels.span[:, 0] * eye[0] + panels.span[:, 1] * eye[1])
    inverse = np.divide(1.0, along, out=np.zeros(count), where=along != 0)
    # rx, ry and r × -e, as ``Panels.crosses`` expects
    lines = np.empty((3, aims.shape[1]))
    lines[:2] = aims
    lines[2] = aims[1] * eye[0] - aims[0] * eye[1]
    inverse_t, start, end = (panels.crosses @ lines).reshape(3, count, aims.shape[1])
    inverse_t *= inverse[:, None]  # 1 / t
    sign = np.multiply(start, end, out=start)
    is_hit = inverse_t > 1 / RAY_END
    is_hit &= sign <= 0
    is_clear = np.logical_not(is_hit[:walls].any(axis=0))
    if walls < count:
        crossings = (is_hit[walls:] & is_clear).ravel().nonzero()[0]
        if len(crossings):
            side, point = np.divmod(crossings, aims.shape[1])
            side += walls
            # Sides of furniture hide points behind them, but no point within their own box.
            line_height = eye[2] + 1 / inverse_t[side, point] * (
                mid_heights[point] - eye[2]
            )
            low, high, west, south, east, north = panels.boxes[:, side]
            x = aims[0, point] + eye[0]
            y = aims[1, point] + eye[1]
            is_hidden = (low <= line_height) & (line_height <= high)
            is_hidden &= (x < west) | (x > east) | (y < south) | (y > north)
            # An eye inside a box is not hidden by its sides. Skipped unless some box holds the eye.
            if any(
                w <= eye[0] <= e and s <= eye[1] <= n for w, s, e, n in panels.boxes_in
            ):
                is_hidden &= (
                    (eye[0] < west)
                    | (eye[0] > east)
                    | (eye[1] < south)
                    | (eye[1] > north)
                )
            is_clear[point[is_hidden]] = False
    return is_clear
