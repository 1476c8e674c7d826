"""Surfaces: the walls and boxes that stop looks, in three dimensions.

Walls reach from floor to ceiling. Furniture is its axis-aligned box, taken as solid: looks go over
a low table and end at a tall cupboard. A thing is looked at in nine points of its box; those that
no wall and no other furniture hides make its visible fraction. Furniture that a point lies in or
on (within 2 cm) does not hide it, nor do the shelves and tables that the thing is listed as lying
on. What lies in a shut receptacle is not seen.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wayword.worlds.housework.scene import HouseObject, Scene

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
CEILING = 2.5
LEAST_HEIGHT = 0.03
"""Flatter things (rugs) stop nothing."""
TOUCH = 0.02
SPREAD = 0.4
"""The outer points looked at lie at this share of the extents from the middle."""


@dataclass(frozen=True, eq=False)
class Surfaces:
    """``walls`` (W, 4): x and y of both ends. ``low`` and ``high`` (B, 3): the corners of the
    boxes that stop rays; ``hides`` (B,) of them hide what is behind them. ``things`` are the
    objects that can be seen, ``points`` (T, 9, 3) where they are looked at, and ``free`` (T, B)
    which boxes do not hide them."""

    walls: Floats
    low: Floats
    high: Floats
    hides: Bools
    things: tuple[HouseObject, ...]
    points: Floats
    free: Bools

    def ranges(self, eye: Floats, rays: Floats, most: float) -> Floats:
        """(R,) metres along unit ``rays`` (R, 3) from the ``eye`` (3,) to the first surface, the
        floor included; infinite beyond ``most``."""
        found = np.full(len(rays), np.inf)
        down = rays[:, 2] < 0
        found[down] = -eye[2] / rays[down, 2]
        found = np.minimum(found, self._to_walls(eye, rays))
        found = np.minimum(found, self._to_boxes(eye, rays, most))
        found[found > most] = np.inf
        return np.asarray(found)

    def fractions(self, eye: Floats, which: NDArray[np.intp]) -> Floats:
        """(N,) visible share of the nine points of some things from the ``eye`` (3,)."""
        if not len(which):
            return np.zeros(0)
        ends = self.points[which].reshape(-1, 3)
        rays = ends - eye
        clear = self._to_walls(eye, rays) >= 1 - 1e-9
        boxes = np.flatnonzero(self.hides)
        if len(boxes):
            near, far = _slabs(eye, rays, self.low[boxes], self.high[boxes])
            # Boxes that the point or the eye is in, or that the thing lies on, hide nothing.
            inside = _within(ends, self.low[boxes], self.high[boxes])
            inside |= _within(eye[None], self.low[boxes], self.high[boxes])
            inside |= np.repeat(self.free[which][:, boxes], 9, axis=0)
            hit = (near < far) & (near < 1 - 1e-9) & (far > 0) & ~inside
            clear &= ~hit.any(axis=1)
        return np.asarray(clear.reshape(-1, 9).mean(axis=1))

    def _to_walls(self, eye: Floats, rays: Floats) -> Floats:
        """(R,) the multiple of each ray at which it meets the first wall."""
        found = np.full(len(rays), np.inf)
        if not len(self.walls):
            return found
        sx, sy = self.walls[:, 2] - self.walls[:, 0], self.walls[:, 3] - self.walls[:, 1]
        dx, dy = self.walls[:, 0] - eye[0], self.walls[:, 1] - eye[1]
        cross = rays[:, :1] * sy - rays[:, 1:2] * sx  # (R, W)
        with np.errstate(divide="ignore", invalid="ignore"):
            t = (dx * sy - dy * sx) / cross
            u = (dx * rays[:, 1:2] - dy * rays[:, :1]) / cross
        met = (t > 1e-9) & (u >= -1e-9) & (u <= 1 + 1e-9)
        return np.asarray(np.where(met, t, np.inf).min(axis=1))

    def _to_boxes(self, eye: Floats, rays: Floats, most: float) -> Floats:
        gap = np.maximum(np.maximum(self.low[:, :2] - eye[:2], eye[:2] - self.high[:, :2]), 0)
        near_by = np.flatnonzero(np.hypot(gap[:, 0], gap[:, 1]) <= most)
        if not len(near_by):
            return np.full(len(rays), np.inf)
        near, far = _slabs(eye, rays, self.low[near_by], self.high[near_by])
        met = (near <= far) & (near > 0)  # a box that the eye is in stops nothing
        return np.asarray(np.where(met, near, np.inf).min(axis=1))


def surfaces_of(scene: Scene) -> Surfaces:
    """The surfaces of a scene as it is, doors included where they are shut."""
    lines = [(*w.a, *w.b) for w in scene.walls]
    lines += [(*d.a, *d.b) for d in scene.doors if not d.open]
    boxes = [o for o in scene.objects if o.height > LEAST_HEIGHT]
    by_id = {o.id: o for o in scene.objects}
    things = tuple(o for o in scene.objects if not _shut_in(o, by_id))
    low = np.array([(o.x - o.width / 2, o.y - o.depth / 2, o.bottom) for o in boxes])
    high = np.array([(o.x + o.width / 2, o.y + o.depth / 2, o.bottom + o.height) for o in boxes])
    holders = [_holders(o, by_id) for o in things]
    free = [[box.id in held for box in boxes] for held in holders]
    return Surfaces(
        np.array(lines, dtype=np.float64).reshape(-1, 4),
        low.reshape(-1, 3),
        high.reshape(-1, 3),
        np.array([o.opaque and "pickupable" not in o.affordances for o in boxes], dtype=np.bool_),
        things,
        np.array([_points(o) for o in things]).reshape(-1, 9, 3),
        np.array(free, dtype=np.bool_).reshape(len(things), len(boxes)),
    )


def _points(thing: HouseObject) -> list[tuple[float, float, float]]:
    """The centre, and the corners of a smaller box at a third and two thirds of the height."""
    wide, deep = thing.width * SPREAD, thing.depth * SPREAD
    corners = ((-wide, -deep), (wide, -deep), (wide, deep), (-wide, deep))
    levels = (thing.bottom + thing.height / 3, thing.bottom + thing.height * 2 / 3)
    outer = [(thing.x + dx, thing.y + dy, z) for z in levels for dx, dy in corners]
    return [(thing.x, thing.y, thing.bottom + thing.height / 2), *outer]


def _holders(thing: HouseObject, by_id: dict[str, HouseObject]) -> set[str]:
    """The thing itself and what it lies in or on."""
    found = {thing.id}
    while thing.parent and thing.parent in by_id:
        thing = by_id[thing.parent]
        found.add(thing.id)
    return found


def _shut_in(thing: HouseObject, by_id: dict[str, HouseObject]) -> bool:
    """Whether the thing is in something that is shut."""
    while thing.parent and thing.parent in by_id:
        thing = by_id[thing.parent]
        if thing.receptacle == "in" and "openable" in thing.affordances and not thing.open:
            return True
    return False


def _slabs(eye: Floats, rays: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """(R, B) the multiples of each ray at which it enters and leaves each box."""
    safe = np.where(np.abs(rays) < 1e-12, 1e-12, rays)[:, None, :]
    one, two = (low - eye) / safe, (high - eye) / safe
    return np.minimum(one, two).max(axis=2), np.maximum(one, two).min(axis=2)


def _within(points: Floats, low: Floats, high: Floats) -> Bools:
    """(P, B) whether a point is in a box, or as good as on it."""
    after = points[:, None, :] >= low - TOUCH
    before = points[:, None, :] <= high + TOUCH
    return np.asarray((after & before).all(axis=2))


def apparent(thing: HouseObject, away: float, eye: float) -> tuple[float, float]:
    """How wide and how high a thing appears, in degrees, from ``away`` metres and height ``eye``.

    Its width is that of its box's diagonal on the floor.
    """
    away = max(away, 0.1)
    wide = 2 * math.degrees(math.atan(math.hypot(thing.width, thing.depth) / 2 / away))
    top, bottom = thing.bottom + thing.height - eye, thing.bottom - eye
    return wide, math.degrees(math.atan2(top, away) - math.atan2(bottom, away))
