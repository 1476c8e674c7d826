"""SimulatedBase: a base in a scene of the household world, with exact odometry. Its steps of 0.25 m
and turns of 30 degrees are counted as in RoboTHOR; the last one of a motion may be shorter.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from wayword.core import geometry as geo
from wayword.core.episode import Episode, JsonObject
from wayword.core.errors import DataError
from wayword.core.geometry import Bools, Floats, Point
from wayword.core.visible import spaced
from wayword.worlds.household.scene import HouseObject, Scene
from wayword.worlds.objectnav.base import MotionResult, Odometer, parse_start
from wayword.worlds.objectnav.ground import Ground, ground_of
from wayword.worlds.objectnav.observation import (
    Camera,
    DepthImage,
    Shown,
    View,
    sighting,
)

# Sight: walls reach from floor to ceiling, and furniture is a solid axis-aligned box. An object has
# nine test points in its box; its visible fraction is the share that walls and other furniture do
# not hide. Furniture does not hide a point in or on it (within 2 cm), nor objects that the scene
# lists as in or on it. Objects in a closed receptacle are not visible.

MIN_HEIGHT = 0.03  # flatter objects (rugs) block nothing; metres
CONTACT_GAP = 0.02  # a point this close to a box (metres) counts as on it
# Tolerance as a fraction of a ray. A surface at the very start or end of a ray touches the eye or
# the object and hides nothing; a ray through the seam of two walls is blocked.
RAY_SLACK = 1e-9
# Offset of outer test points from the center, as a share of the extents.
POINT_SPREAD = 0.4


@dataclass(frozen=True, eq=False)
class Surfaces:
    """Surfaces that stop sight, and the test points of the objects to see; metres.

    ``walls`` (W, 4): x and y of both ends. ``low`` and ``high`` (B, 3): corners of boxes that stop
    rays; those with ``is_opaque`` (B,) hide objects behind them. ``points`` (T, 9, 3): test points
    of the ``objects``; ``is_ignored`` (T, B): boxes that do not hide them.
    """

    walls: Floats
    low: Floats
    high: Floats
    is_opaque: Bools
    objects: tuple[HouseObject, ...]
    points: Floats
    is_ignored: Bools

    def ranges(
        self,
        eye: Floats,
        directions: Floats,
        slopes: Floats,
        limit: float,
    ) -> Floats:
        """Return (E, C) metres from the ``eye`` (3,) to the first surface, including the floor.

        Infinite beyond ``limit``. The rays of column c go along the unit vector
        ``directions`` (C, 2), east and north, and rise by ``slopes`` (E, C) or (E, 1)
        metres per metre of floor.

        Walls and sides of boxes are vertical, so all rays of a column meet them at
        once.
        """
        # The floor and walls. The inner ``where`` avoids a division by 0 for level rays.
        # A ray that does not fall never meets the floor.
        down = np.where(slopes < 0, slopes, -1.0)
        floor = np.where(slopes < 0, -eye[2] / down, np.inf)
        metres = np.minimum(floor, self._first_wall(eye, directions))

        # Boxes whose distance on the floor is within the limit.
        before = self.low[:, :2] - eye[:2]
        behind = eye[:2] - self.high[:, :2]
        gap = np.maximum(np.maximum(before, behind), 0)
        nearby = np.hypot(gap[:, 0], gap[:, 1]) <= limit
        if nearby.any():
            low = self.low[nearby] - eye
            high = self.high[nearby] - eye
            near, far = box_crossings(
                directions[:, None],
                low[:, :2],
                high[:, :2],
            )
            above, beyond = box_crossings(
                slopes[..., None, None],
                low[:, 2:],
                high[:, 2:],
            )
            near = np.maximum(near, above)  # (E, C, B)
            far = np.minimum(far, beyond)
            # A box that contains the eye stops nothing.
            met = (near <= far) & (near > 0)
            metres = np.minimum(metres, np.where(met, near, np.inf).min(axis=2))

        # From metres along the floor to metres along the ray.
        metres = metres * np.hypot(slopes, 1.0)
        # What a depth camera cannot measure is infinite, as if nothing were there.
        metres[metres > limit] = np.inf
        return np.asarray(metres)

    def fractions(
        self,
        eyes: Floats,
        numbers: NDArray[np.intp],
    ) -> Floats:
        """Return (N,) the visible share of each object's nine points, 0 to 1.

        ``numbers`` (N,) are indices of ``objects``; ``eyes`` (N, 3) one for each, or
        one for all (1, 3). The direction and angle of a camera play no part.
        """
        # All nine points of all objects in one pass.
        eyes = eyes[:, None]
        ends = self.points[numbers]
        rays = ends - eyes
        is_clear = self._first_wall(eyes, rays) >= 1 - RAY_SLACK
        # Glass and other see-through furniture stops bodies and depth, not sight.
        boxes = np.flatnonzero(self.is_opaque)
        if len(boxes):
            low = self.low[boxes]
            high = self.high[boxes]
            seat = eyes[:, None]
            near, far = box_crossings(
                rays[..., None, :],
                low - seat,
                high - seat,
            )
            # Boxes that contain the point or the eye, or carry the object, hide nothing.
            is_inside = is_in_boxes(ends, low, high)
            is_inside |= is_in_boxes(eyes, low, high)
            is_inside |= self.is_ignored[numbers][:, None, boxes]
            is_hit = (near < far) & (far > 0)
            is_hit &= near < 1 - RAY_SLACK
            is_hit &= ~is_inside
            is_clear &= ~is_hit.any(axis=2)
        # The share of nine points that are clear.
        return np.asarray(is_clear.mean(axis=1))

    def _first_wall(self, eyes: Floats, rays: Floats) -> Floats:
        """Return (…) fractions of rays, (…, 2) or (…, 3), at which they meet the first wall."""
        # The crossing of two lines: t along the ray, u along the wall. Parallel ones give no hit.
        sx = self.walls[:, 2] - self.walls[:, 0]
        sy = self.walls[:, 3] - self.walls[:, 1]
        dx = self.walls[:, 0] - eyes[..., :1]
        dy = self.walls[:, 1] - eyes[..., 1:2]
        rx = rays[..., :1]
        ry = rays[..., 1:2]
        cross = rx * sy - ry * sx  # (…, W)
        with np.errstate(divide="ignore", invalid="ignore"):
            t = (dx * sy - dy * sx) / cross
            u = (dx * ry - dy * rx) / cross
        is_hit = t > RAY_SLACK
        is_hit &= (u >= -RAY_SLACK) & (u <= 1 + RAY_SLACK)
        return np.asarray(
            np.min(
                t,
                axis=-1,
                initial=np.inf,
                where=is_hit,
            )
        )


def surfaces_of(scene: Scene, all_hide: bool = False) -> Surfaces:
    """Return the surfaces of a scene in its current state, including closed doors.

    ``all_hide``: every box hides what is behind it, as in a picture; else only opaque
    furniture does.
    """
    # A closed door stops sight like a wall; an open one leaves its gap.
    lines = [(*wall.a, *wall.b) for wall in scene.walls]
    lines += [(*door.a, *door.b) for door in scene.doors if not door.open]
    by_id = scene.by_id()

    def holders(o: HouseObject) -> list[HouseObject]:
        """Return the objects that an object is in or on."""
        chain = []
        # Parents of parents: a key in a bowl on a table is held by both.
        while o.parent in by_id:
            o = by_id[o.parent]
            chain.append(o)
        return chain

    def is_closed(o: HouseObject) -> bool:
        """True for a receptacle that hides its contents."""
        return o.receptacle == "in" and "openable" in o.affordances and not o.open

    # Boxes; the reshapes below are for scenes without any.
    boxes = [o for o in scene.objects if o.height > MIN_HEIGHT]
    number_of = {box.id: number for number, box in enumerate(boxes)}
    low = [(*o.box[:2], o.bottom) for o in boxes]
    high = [(*o.box[2:], o.bottom + o.height) for o in boxes]
    # Things to carry are too small to hide what is behind them.
    is_opaque = [
        all_hide or (o.opaque and "pickupable" not in o.affordances) for o in boxes
    ]

    # Objects, and the boxes that do not hide them: their own, and those that hold them.
    # What is in a closed receptacle is invisible, at any depth of nesting.
    visible = tuple(o for o in scene.objects if not any(map(is_closed, holders(o))))
    points = [visible_points(o) for o in visible]
    is_ignored = np.zeros((len(visible), len(boxes)), dtype=np.bool_)
    for row, o in enumerate(visible):
        for related in (o, *holders(o)):
            if related.id in number_of:
                is_ignored[row, number_of[related.id]] = True
    return Surfaces(
        np.array(lines, dtype=np.float64).reshape(-1, 4),
        np.array(low).reshape(-1, 3),
        np.array(high).reshape(-1, 3),
        np.array(is_opaque, dtype=np.bool_),
        visible,
        np.array(points).reshape(-1, 9, 3),
        is_ignored,
    )


def visible_points(obj: HouseObject) -> list[tuple[float, float, float]]:
    """Return nine test points (x, y, z) of an object: the center, and the corners of a
    smaller box at 1/3 and 2/3 of the height.
    """
    # Corners of the full box would touch the neighbors and the ground.
    wide = obj.width * POINT_SPREAD
    deep = obj.depth * POINT_SPREAD
    offsets = (
        (-wide, -deep),
        (wide, -deep),
        (wide, deep),
        (-wide, deep),
    )
    points = [(obj.x, obj.y, obj.bottom + obj.height / 2)]
    for z in (obj.bottom + obj.height / 3, obj.bottom + obj.height * 2 / 3):
        points += [(obj.x + dx, obj.y + dy, z) for dx, dy in offsets]
    return points


def box_crossings(
    rays: Floats,
    low: Floats,
    high: Floats,
) -> tuple[Floats, Floats]:
    """Return the fractions of rays at which they enter and leave boxes, by the slab test.

    ``rays`` (…, 1, D), corners ``low`` and ``high`` (…, B, D) relative to the ray's
    origin; results (…, B) each. A ray meets a box if it enters before it leaves.
    """
    # For rays parallel to a face, a tiny number avoids 0 / 0 in the slab test.
    safe = np.where(np.abs(rays) < 1e-12, 1e-12, rays)
    one = low / safe
    two = high / safe
    near = np.minimum(one, two)
    far = np.maximum(one, two)
    # One dimension at a time: numpy's reduction over such a short axis is many times slower.
    most = functools.reduce(np.maximum, np.moveaxis(near, -1, 0))
    return most, functools.reduce(np.minimum, np.moveaxis(far, -1, 0))


def is_in_boxes(
    points: Floats,
    low: Floats,
    high: Floats,
) -> Bools:
    """Return a (…, B) mask of points (…, 3) in a box or within ``CONTACT_GAP`` of it."""
    after = points[..., None, :] >= low - CONTACT_GAP
    before = points[..., None, :] <= high + CONTACT_GAP
    return functools.reduce(np.logical_and, np.moveaxis(after & before, -1, 0))


# One counted motion, as in RoboTHOR.
STEP = 0.25  # metres
TURN = 30.0  # degrees


@dataclass(frozen=True, eq=False)
class SimulatedScene:
    """A scene with its ground and surfaces, shared by all episodes: never change it.

    ``words`` maps an object's id to its description, if that is more than its type.
    ``radius`` is the body's, in metres. ``all_hide``: small objects hide others.
    """

    scene: Scene
    words: Mapping[str, str]
    radius: float = 0.2
    all_hide: bool = False

    @cached_property
    def ground(self) -> Ground:
        """Where a body of that radius may be."""
        return ground_of(self.scene, self.radius)

    @cached_property
    def surfaces(self) -> Surfaces:
        """What stops sight, for the state of the scene."""
        return surfaces_of(self.scene, self.all_hide)

    def visible_from(
        self,
        camera: Camera,
        x: float,
        y: float,
        heading: float,
    ) -> tuple[Shown, ...]:
        """Return the objects truly in view of a camera facing ``heading`` (degrees), nearest first.

        At least one of an object's test points must be visible, and the visible area at
        least the camera's ``least_area``.
        """
        # A cheap test of angles first: it leaves few objects for the rays.
        middles = self.surfaces.points[:, 0]
        off = geo.angles_apart(
            geo.bearings(middles[:, 0] - x, middles[:, 1] - y), heading
        )
        # The tolerance is for rounding at the edge of the view.
        is_in_view = off <= camera.field_of_view / 2 + 1e-9
        eyes = np.array([(x, y, camera.eye)])
        is_in_view &= in_range(camera, eyes, middles)
        numbers = np.flatnonzero(is_in_view)
        fractions = self.surfaces.fractions(eyes, numbers)
        shown = []
        pose = (x, y, heading)
        for i, fraction in zip(
            numbers.tolist(),
            fractions.tolist(),
            strict=True,
        ):
            # One of nine points is enough: annotators name objects of which little
            # shows.
            if fraction > 0:
                seen = self._sighting(
                    i,
                    pose,
                    camera.eye,
                    fraction,
                )
                if visible_area(seen) >= camera.least_area:
                    shown.append(seen)
        # Ids break ties, so that equal scenes give equal observations.
        return tuple(sorted(shown, key=lambda one: (one.distance, one.id)))

    def _sighting(
        self,
        i: int,
        pose: tuple[float, float, float],
        eye: float,
        fraction: float,
    ) -> Shown:
        """Return an object (by index) as seen from a pose (x, y, heading)."""
        o = self.surfaces.objects[i]
        words = self.words.get(o.id, spaced(o.type))
        box = (
            o.x,
            o.y,
            o.width,
            o.depth,
            o.bottom,
            o.height,
        )
        return sighting(
            o.id,
            o.type,
            words,
            box,
            pose,
            eye,
            fraction,
        )

    def sees(
        self,
        camera: Camera,
        places: Sequence[Point],
        number: int,
    ) -> Bools:
        """Return a (P,) mask: True if a camera at (x, y) sees an object (by index) when facing it.

        So only its elevation, range and obstacles decide, not the camera's field of
        view.
        """
        eyes = np.array([(x, y, camera.eye) for x, y in places]).reshape(-1, 3)
        is_seen = in_range(camera, eyes, self.surfaces.points[number, 0])
        numbers = np.full(np.count_nonzero(is_seen), number)
        fractions = self.surfaces.fractions(eyes[is_seen], numbers)
        enough = fractions > 0
        if camera.least_area:
            seen = np.flatnonzero(is_seen).tolist()
            for row, place in enumerate(seen):
                pose = (*places[place], 0.0)
                shown = self._sighting(
                    number,
                    pose,
                    camera.eye,
                    float(fractions[row]),
                )
                enough[row] = visible_area(shown) >= camera.least_area
        is_seen[is_seen] = enough
        return is_seen


def visible_area(seen: Shown) -> float:
    """Return the visible area of an object in square degrees."""
    return seen.width * seen.height * seen.fraction


def in_range(
    camera: Camera,
    eyes: Floats,
    middles: Floats,
) -> Bools:
    """Return a (N,) mask of points (N, 3) within a camera's range and elevations.

    Either of ``eyes`` and ``middles`` may be one for all.
    """
    east, north, up = np.moveaxis(middles - eyes, -1, 0)
    away = np.hypot(east, north)
    up = geo.elevations(up, np.maximum(away, 1e-6))  # not of a point at the eye
    is_seen = away <= camera.sight
    is_seen &= (up >= camera.floor) & (up <= camera.top)
    return np.asarray(is_seen)


class SimulatedBase:
    """A disc-shaped body with an RGB-D camera, at ``Episode.start``: ``{"x", "y", "heading"}``.

    Its odometry is exact, and it stops where it would touch an obstacle.
    """

    def __init__(
        self,
        place: SimulatedScene,
        camera: Camera | None = None,
    ) -> None:
        self.place = place
        self.camera = camera or Camera()
        self._at: Point = (0.0, 0.0)
        self._heading = 0.0
        self._counts = Odometer()

    def start(self, episode: Episode) -> None:
        """Place the body at its start. Raises ``DataError`` if that is not free."""
        # Starts come from files, so a wrong one is an error of the data and names its
        # episode.
        x, y, heading, _ = parse_start(episode)
        if not self.place.ground.at(x, y):
            problem = f"must be a free position, got ({x:g}, {y:g}) in a wall, furniture or outside"
            where = f"in scene {self.place.scene.name}, field 'start'"
            raise DataError(f"episode {episode.id}", where, problem)
        self._at = (x, y)
        self._heading = heading
        self._counts = Odometer()

    def capture(self) -> View:
        """Return the view of the camera: its depth image, and the objects truly in view."""
        camera = self.camera
        x, y = self._at
        heading = self._heading
        eye = np.array((x, y, camera.eye))
        across = camera.across(heading)
        metres = self.place.surfaces.ranges(
            eye,
            across,
            camera.slopes,
            camera.reach,
        )
        depth = DepthImage.of(
            metres,
            camera.bearings,
            camera.rows,
            camera.reach,
        )
        shown = self.place.visible_from(
            camera,
            x,
            y,
            heading,
        )
        scene = self.place.scene.name
        return View(
            scene,
            x,
            y,
            heading,
            camera.eye,
            camera.field_of_view,
            depth,
            shown,
        )

    def rotate(self, degrees: float) -> MotionResult:
        """Turn in place by degrees, positive to the right. Counts a turn for every 30 degrees."""
        # Rounding must not count a turn more: 60 degrees in floating point are two
        # turns.
        self._counts.turns += math.ceil(abs(degrees) / TURN - 1e-9)
        # Six digits, so that many small turns add up to the same heading on every
        # machine.
        self._heading = geo.absolute(round(self._heading + degrees, 6))
        return MotionResult()

    def go_to(self, x: float, y: float) -> MotionResult:
        """Turn to a point and go straight to it, up to the first obstacle.

        The status is ``blocked`` if an obstacle stopped it. Counts a step for every
        0.25 m.
        """
        distance = math.dist(self._at, (x, y))
        # Already there: a motion of nothing is no step, and has no direction to turn
        # to.
        if distance < 1e-9:
            return MotionResult()
        towards = geo.bearing(self._at, (x, y))
        self.rotate(geo.relative(towards, self._heading))
        end = self.place.ground.stop_before(self._at, (x, y))
        traveled = math.dist(self._at, end)
        self._at = (round(end[0], 6), round(end[1], 6))
        self._counts.metres += traveled
        # A push against a wall is a step as well: the robot tried.
        self._counts.moves += max(1, math.ceil(traveled / STEP - 1e-9))
        # A micrometre of slack: rounding alone is no collision.
        if traveled < distance - 1e-6:
            self._counts.bumps += 1
            return MotionResult(
                "blocked",
                round(traveled, 4),
                "something is in the way",
            )
        return MotionResult("ok", round(traveled, 4))

    def pose(self) -> JsonObject:
        """Return x and y (metres) and the heading (degrees), which are exact."""
        return {
            "x": self._at[0],
            "y": self._at[1],
            "heading": self._heading,
        }

    def report(self) -> JsonObject:
        """Return the counts of motions, and the objects truly in view."""
        return self._counts.report(
            self.place.visible_from(self.camera, *self._at, self._heading)
        )

    def stop(self) -> None:
        """Do nothing: a simulated body needs no stopping."""
