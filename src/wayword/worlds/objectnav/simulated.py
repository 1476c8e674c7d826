"""SimulatedBase: a base in a scene of the household world.

It goes in steps of 0.25 m and turns in steps of 30 degrees, which are counted as single motions,
as RoboTHOR counts them; the last step of a motion may be shorter. Odometry is exact.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from wayword.core.episode import Episode, Json
from wayword.core.errors import DataError
from wayword.core.geometry import (
    Point,
    absolute,
    angles_apart,
    bearing,
    bearings,
    elevations,
    relative,
)
from wayword.worlds.household.scene import HouseObject, Scene
from wayword.worlds.objectnav.base import Moved, Odometer, start_of
from wayword.worlds.objectnav.ground import Ground, ground_of
from wayword.worlds.objectnav.observation import Camera, DepthImage, Shown, View, sighting

# Surfaces: the walls and boxes that stop looks, in three dimensions.
#
# Walls reach from floor to ceiling. Furniture is its axis-aligned box, taken as solid: looks go
# over a low table and end at a tall cupboard. A thing is looked at in nine points of its box;
# those that no wall and no other furniture hides make its visible fraction. Furniture that a
# point lies in or on (within 2 cm) does not hide it, nor do the shelves and tables that the thing
# is listed as lying on. What lies in a shut receptacle is not seen.

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
LEAST_HEIGHT = 0.03
"""Flatter things (rugs) stop nothing."""
TOUCH = 0.02
"""A point this close to a box (metres) counts as on it: what lies on a shelf need not touch it."""
END = 1e-9
"""Margin in multiples of a ray. A surface met at the very start or end of a ray is the one that the
eye or the thing is at, and hides nothing; a ray through the seam of two walls is stopped."""
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

    def ranges(self, eye: Floats, across: Floats, slopes: Floats, most: float) -> Floats:
        """(E, C) metres from the ``eye`` (3,) to the first surface, the floor included; infinite
        beyond ``most``. Column c of the rays goes along the unit vector ``across`` (C, 2), east and
        north, and rises by ``slopes`` (E, C) or (E, 1) metres a metre of floor.

        Walls and the sides of boxes are upright, so they are met once a column for all its rays.
        """
        down = np.where(slopes < 0, slopes, -1.0)
        floor = np.where(slopes < 0, -eye[2] / down, np.inf)
        found = np.minimum(floor, self._to_walls(eye, across))
        found = np.minimum(found, self._to_boxes(eye, across, slopes, most))
        found = found * np.hypot(slopes, 1.0)  # from metres of floor to metres along the ray
        found[found > most] = np.inf
        return np.asarray(found)

    def fractions(self, eye: Floats, which: NDArray[np.intp]) -> Floats:
        """(N,) visible share of the nine points of some things from the ``eye`` (3,)."""
        if not len(which):
            return np.zeros(0)
        ends = self.points[which].reshape(-1, 3)
        rays = ends - eye
        clear = self._to_walls(eye, rays) >= 1 - END
        boxes = np.flatnonzero(self.hides)
        if len(boxes):
            near, far = _slabs(rays[:, None], self.low[boxes] - eye, self.high[boxes] - eye)
            # Boxes that the point or the eye is in, or that the thing lies on, hide nothing.
            inside = _within(ends, self.low[boxes], self.high[boxes])
            inside |= _within(eye[None], self.low[boxes], self.high[boxes])
            inside |= np.repeat(self.free[which][:, boxes], 9, axis=0)
            hit = (near < far) & (near < 1 - END) & (far > 0) & ~inside
            clear &= ~hit.any(axis=1)
        return np.asarray(clear.reshape(-1, 9).mean(axis=1))

    def _to_walls(self, eye: Floats, rays: Floats) -> Floats:
        """(R,) the multiple of each ray, (R, 2) or (R, 3), at which it meets the first wall."""
        found = np.full(len(rays), np.inf)
        if not len(self.walls):
            return found
        sx, sy = self.walls[:, 2] - self.walls[:, 0], self.walls[:, 3] - self.walls[:, 1]
        dx, dy = self.walls[:, 0] - eye[0], self.walls[:, 1] - eye[1]
        cross = rays[:, :1] * sy - rays[:, 1:2] * sx  # (R, W)
        with np.errstate(divide="ignore", invalid="ignore"):
            t = (dx * sy - dy * sx) / cross
            u = (dx * rays[:, 1:2] - dy * rays[:, :1]) / cross
        met = (t > END) & (u >= -END) & (u <= 1 + END)
        return np.asarray(np.where(met, t, np.inf).min(axis=1))

    def _to_boxes(self, eye: Floats, across: Floats, slopes: Floats, most: float) -> Floats:
        """(E, C) metres of floor to the first box."""
        gap = np.maximum(np.maximum(self.low[:, :2] - eye[:2], eye[:2] - self.high[:, :2]), 0)
        near_by = np.hypot(gap[:, 0], gap[:, 1]) <= most
        if not near_by.any():
            return np.full((1, len(across)), np.inf)
        low, high = self.low[near_by] - eye, self.high[near_by] - eye
        near, far = _slabs(across[:, None], low[:, :2], high[:, :2])
        above, beyond = _slabs(slopes[..., None, None], low[:, 2:], high[:, 2:])
        near, far = np.maximum(near, above), np.minimum(far, beyond)  # (E, C, B)
        met = (near <= far) & (near > 0)  # a box that the eye is in stops nothing
        return np.asarray(np.where(met, near, np.inf).min(axis=2))


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


def _slabs(rays: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """The multiples of rays (…, 1, D) at which they enter and leave boxes whose corners, (B, D),
    are relative to where the rays begin: (…, B) each."""
    # Rays parallel to a face: any tiny number keeps the slab test free of 0 / 0.
    safe = np.where(np.abs(rays) < 1e-12, 1e-12, rays)
    one, two = low / safe, high / safe
    near, far = np.minimum(one, two), np.maximum(one, two)
    # By dimension: numpy's own reduction over so short an axis takes many times as long.
    most = functools.reduce(np.maximum, np.moveaxis(near, -1, 0))
    return most, functools.reduce(np.minimum, np.moveaxis(far, -1, 0))


def _within(points: Floats, low: Floats, high: Floats) -> Bools:
    """(P, B) whether a point is in a box, or as good as on it."""
    after = points[:, None, :] >= low - TOUCH
    before = points[:, None, :] <= high + TOUCH
    return np.asarray((after & before).all(axis=2))


STEP = 0.25
TURN = 30.0


@dataclass(frozen=True, eq=False)
class SimulatedScene:
    """A scene with what was worked out of it, shared by all episodes in it.

    ``words`` maps an object's id to how a person would call it, where that is more than its type.
    """

    scene: Scene
    words: Mapping[str, str]
    radius: float = 0.2

    @cached_property
    def ground(self) -> Ground:
        """Where a body's centre may be."""
        return ground_of(self.scene, self.radius)

    @cached_property
    def surfaces(self) -> Surfaces:
        """What stops looks."""
        return surfaces_of(self.scene)

    def seen_from(self, camera: Camera, x: float, y: float, heading: float) -> tuple[Shown, ...]:
        """What a camera at a place that faces ``heading`` truly sees, nearest first."""
        surfaces = self.surfaces
        which = self._in_view(camera, x, y, heading)
        fractions = surfaces.fractions(np.array((x, y, camera.eye)), which)
        found = []
        for i, fraction in zip(which.tolist(), fractions.tolist(), strict=True):
            if fraction > 0:
                o = surfaces.things[i]
                words = self.words.get(o.id, o.type.replace("_", " "))
                box = (o.x, o.y, o.width, o.depth, o.bottom, o.height)
                at = (x, y, heading)
                found.append(sighting(o.id, o.type, words, box, at, camera.eye, fraction))
        return tuple(sorted(found, key=lambda one: (one.distance, one.id)))

    def sees(self, camera: Camera, x: float, y: float, number: int) -> bool:
        """Whether a camera at a place sees a thing (by its number) once it faces it."""
        thing = self.surfaces.things[number]
        heading = bearing((x, y), (thing.x, thing.y))
        return number in self._in_view(camera, x, y, heading) and bool(
            self.surfaces.fractions(np.array((x, y, camera.eye)), np.array([number]))[0] > 0
        )

    def _in_view(self, camera: Camera, x: float, y: float, heading: float) -> NDArray[np.intp]:
        """The things whose middle is within the camera's angles and sight."""
        middles = self.surfaces.points[:, 0]
        dx, dy, dz = middles[:, 0] - x, middles[:, 1] - y, middles[:, 2] - camera.eye
        away = np.hypot(dx, dy)
        off = angles_apart(bearings(dx, dy), heading)
        up = elevations(dz, np.maximum(away, 1e-6))
        inside = (off <= camera.field_of_view / 2 + 1e-9) & (away <= camera.sight)
        return np.flatnonzero(inside & (up >= camera.floor) & (up <= camera.top))


class SimulatedBase:
    """A disc-shaped body with an RGB-D camera in a scene.

    Its start is ``Episode.start``: ``{"x", "y", "heading"}``.
    """

    def __init__(self, place: SimulatedScene, camera: Camera | None = None) -> None:
        self.place, self.camera = place, camera or Camera()
        self._at: Point = (0.0, 0.0)
        self._heading = 0.0
        self._done = Odometer()

    def start(self, episode: Episode) -> None:
        x, y, heading, _ = start_of(episode)
        if not self.place.ground.at(x, y):
            problem = f"({x:g}, {y:g}) is in a wall, in furniture or outside"
            where = f"in scene {self.place.scene.name}, field 'start'"
            raise DataError(f"episode {episode.id}", where, problem)
        self._at, self._heading = (x, y), heading
        self._done = Odometer()

    def capture(self) -> View:
        camera, (x, y) = self.camera, self._at
        eye = np.array((x, y, camera.eye))
        across = camera.across(self._heading)
        metres = self.place.surfaces.ranges(eye, across, camera.slopes, camera.reach)
        depth = DepthImage.of(metres, camera.bearings, camera.rows, camera.reach)
        shown = self.place.seen_from(camera, x, y, self._heading)
        name = self.place.scene.name
        fov = camera.field_of_view
        return View(name, x, y, self._heading, camera.eye, fov, depth, shown)

    def rotate(self, degrees: float) -> Moved:
        self._done.turns += math.ceil(abs(degrees) / TURN - 1e-9)
        self._heading = absolute(round(self._heading + degrees, 6))
        return Moved()

    def go_to(self, x: float, y: float) -> Moved:
        away = math.dist(self._at, (x, y))
        if away < 1e-9:
            return Moved()
        way = bearing(self._at, (x, y))
        self.rotate(relative(way, self._heading))
        end = self.place.ground.stop_before(self._at, (x, y))
        gone = math.dist(self._at, end)
        self._at = (round(end[0], 6), round(end[1], 6))
        self._done.metres += gone
        self._done.moves += max(1, math.ceil(gone / STEP - 1e-9))
        if gone < away - 1e-6:
            self._done.bumps += 1
            return Moved("blocked", round(gone, 4), "something is in the way")
        return Moved("ok", round(gone, 4))

    def pose(self) -> Mapping[str, Json]:
        return {"x": self._at[0], "y": self._at[1], "heading": self._heading}

    def report(self) -> Mapping[str, Json]:
        shown = self.place.seen_from(self.camera, *self._at, self._heading)
        return self._done.report(shown)

    def stop(self) -> None:
        """A simulated body stands still by itself."""
