"""View: one capture of a robot's camera, with its depth image."""

from __future__ import annotations

import math
import zlib
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from wayword.core.geometry import apparent_size, bearing, elevation, relative
from wayword.core.world import Family, Observation
from wayword.worlds import objectnav

Floats = NDArray[np.float64]
NO_HIT = 255  # the level of pixels with nothing within reach


@dataclass(frozen=True, slots=True)
class DepthImage:
    """A depth image of E rows and C columns, in 8 bits.

    ``elevations`` (E) of the rows and ``bearings`` (C) of the columns are degrees, up and right
    positive, relative to where the camera faces. ``levels`` holds a byte a pixel, row by row:
    metres along the ray in steps of ``reach`` / 254, 255 for nothing within ``reach``.

    >>> import numpy as np
    >>> image = DepthImage.of(np.array([[1.0, np.inf]]), (-1.0, 1.0), (0.0,), reach=5.0)
    >>> np.round(image.metres(), 2).tolist()
    [[1.0, inf]]
    """

    bearings: tuple[float, ...]
    elevations: tuple[float, ...]
    reach: float
    levels: bytes

    @staticmethod
    def of(
        metres: Floats, bearings: tuple[float, ...], elevations: tuple[float, ...], reach: float
    ) -> DepthImage:
        """Return the image of ``metres`` (E, C), infinite where nothing is within ``reach``."""
        steps = np.where(np.isfinite(metres), np.round(metres / reach * (NO_HIT - 1)), NO_HIT)
        levels = np.clip(steps, 0, NO_HIT).astype(np.uint8).tobytes()
        return DepthImage(bearings, elevations, reach, levels)

    def metres(self) -> Floats:
        """Return (E, C) metres along each ray, infinite where nothing is within reach."""
        shape = len(self.elevations), len(self.bearings)
        levels = np.frombuffer(self.levels, np.uint8).reshape(shape)
        metres = levels * (self.reach / (NO_HIT - 1))
        return np.asarray(np.where(levels == NO_HIT, np.inf, metres))

    def points(self, eye: float) -> tuple[Floats, Floats, Floats]:
        """Return (P,) each: the ends of the rays that met something, as metres ahead, metres to the
        right and the height above the floor, for a camera at height ``eye``."""
        metres = self.metres()
        is_hit = np.isfinite(metres)
        elevations = np.broadcast_to(np.radians(self.elevations)[:, None], metres.shape)[is_hit]
        bearings = np.broadcast_to(np.radians(self.bearings)[None, :], metres.shape)[is_hit]
        floor_metres = metres[is_hit] * np.cos(elevations)
        return (
            floor_metres * np.cos(bearings),
            floor_metres * np.sin(bearings),
            eye + metres[is_hit] * np.sin(elevations),
        )


@dataclass(frozen=True, slots=True)
class Camera:
    """An RGB-D camera at height ``eye``: ``Camera(field_of_view=80, reach=5)``.

    ``field_of_view`` is its width in degrees (RoboTHOR's LoCoBot: 79), ``reach`` how far depth is
    measured and ``sight`` how far objects are recognized, in metres. ``column`` is the width of a
    depth column in degrees and ``rows`` the elevations of the depth rows. Vertically the camera
    sees from ``floor`` to ``top`` degrees: the range it covers if tilted once up and once down.
    """

    field_of_view: float = 80.0
    eye: float = 0.9
    reach: float = 5.0
    sight: float = 10.0
    column: float = 2.0
    rows: tuple[float, ...] = (0, -5, -10, -13, -16, -20, -26, -32, -40, -52)
    floor: float = -60.0
    top: float = 40.0

    @property
    def bearings(self) -> tuple[float, ...]:
        """The middles of the depth columns, from left to right."""
        return _columns(self.field_of_view, self.column)

    @property
    def slopes(self) -> Floats:
        """(E, 1) how far the rays of each row rise, metres a metre of floor."""
        return np.asarray(np.tan(np.radians(self.rows))[:, None])

    def across(self, heading: float) -> Floats:
        """Return (C, 2) unit vectors east and north of the columns, for a camera that faces so."""
        along = np.radians(heading + np.array(self.bearings))
        return np.stack((np.sin(along), np.cos(along)), axis=1)


@lru_cache(maxsize=64)
def _columns(field_of_view: float, column: float) -> tuple[float, ...]:
    count = max(1, round(field_of_view / column))
    return tuple((k + 0.5) * column - count * column / 2 for k in range(count))


@dataclass(frozen=True, slots=True)
class Shown:
    """An object that is truly in a view, for simulated detectors and judges.

    ``kind`` is its type (``alarm_clock``) and ``words`` what a person would call it
    (``"cat-shaped mug"``). ``bearing`` is relative (degrees, right positive), of its middle;
    ``elevation`` likewise, up positive. ``distance`` is the metres along the floor to the nearest
    point of its box, ``away`` those to its middle. ``width`` and ``height`` are degrees it takes in
    the view, ``fraction`` the visible share of it, above 0.
    """

    id: str
    kind: str
    words: str
    bearing: float
    elevation: float
    distance: float
    away: float
    width: float
    height: float
    fraction: float


def sighting(
    name: str,
    kind: str,
    words: str,
    box: tuple[float, float, float, float, float, float],
    pose: tuple[float, float, float],
    eye: float,
    fraction: float = 1.0,
) -> Shown:
    """An object as seen from a place (x, y, heading) at height ``eye``. ``box``: the middle, x and
    y, width, depth, underside, height (metres). Its width in view is that of the box's diagonal."""
    x, y, box_width, box_depth, bottom, box_height = box
    dx, dy = x - pose[0], y - pose[1]
    away = math.hypot(dx, dy)
    distance = math.hypot(max(abs(dx) - box_width / 2, 0.0), max(abs(dy) - box_depth / 2, 0.0))
    low, diagonal = bottom - eye, math.hypot(box_width, box_depth)
    width, height = apparent_size(diagonal, low, bottom + box_height - eye, max(away, 0.1))
    turn = relative(bearing(pose[:2], (x, y)), pose[2])
    up = elevation(bottom + box_height / 2 - eye, max(away, 1e-6))
    return Shown(
        *(name, kind, words, round(turn, 2), round(up, 2), round(distance, 3), round(away, 3)),
        *(round(width, 2), round(height, 2), round(fraction, 3)),
    )


@dataclass(frozen=True, slots=True)
class FloorMap:
    """A map of the floor that a robot keeps itself, in square cells of ``cell`` metres.

    ``x`` and ``y`` (metres) are the middle of the first cell; rows of ``columns`` cells follow each
    other to the north. ``levels`` is a byte a cell, packed by zlib: 0 free, 1 to 98 free but near
    to an obstacle, 99 too near for the robot's middle, 100 an obstacle, 255 unknown. These are the
    costs of ROS's ``nav_msgs/OccupancyGrid``.
    """

    x: float
    y: float
    cell: float
    columns: int
    levels: bytes = field(repr=False)

    def at(self, xs: NDArray[Any], ys: NDArray[Any]) -> NDArray[np.uint8]:
        """Return the levels at places (metres); 255 outside."""
        levels = np.frombuffer(zlib.decompress(self.levels), np.uint8).reshape(-1, self.columns)
        xs, ys = np.broadcast_arrays(xs, ys)
        i = np.floor((xs - self.x) / self.cell + 0.5).astype(np.intp)
        j = np.floor((ys - self.y) / self.cell + 0.5).astype(np.intp)
        inside = (i >= 0) & (j >= 0) & (i < levels.shape[1]) & (j < levels.shape[0])
        found = np.full(xs.shape, 255, np.uint8)
        found[inside] = levels[j[inside], i[inside]]
        return found


@dataclass(frozen=True, slots=True)
class View(Observation):
    """A capture of a base: its place by its own odometry, and its camera's output.

    ``x`` and ``y`` are metres, ``heading`` degrees clockwise from north. ``eye`` is the camera's
    height and ``field_of_view`` its width in degrees. ``depth`` is the depth image. ``image`` is
    an encoded picture (PNG or JPEG) from a real camera, and ``shown`` the objects truly in view in
    a simulation, None if that is unknown: both are for detectors
    (:mod:`wayword.perception.detectors`); agents decide on the output of their detector.
    ``floor`` is the robot's own map, None if it gives none.
    """

    family: ClassVar[Family | None] = objectnav.family

    scene: str
    x: float
    y: float
    heading: float
    eye: float
    field_of_view: float
    depth: DepthImage
    shown: tuple[Shown, ...] | None = None
    image: bytes = field(default=b"", repr=False)
    floor: FloorMap | None = None


# Depth images out of what cameras and lasers measure.
#
# Angles are degrees, bearings right positive, elevations up positive; lengths are metres.

ROW_ELEVATIONS = Camera().rows
COLUMN_DEGREES = 2.0  # degrees of a column


def from_camera(
    depth: Floats,
    field_of_view: float,
    reach: float,
    rows: tuple[float, ...] = ROW_ELEVATIONS,
    tilt: float = 0.0,
    column: float = COLUMN_DEGREES,
) -> DepthImage:
    """Return the image of a pinhole camera's ``depth`` (H, W): metres along its axis; not finite or
    not positive where nothing was measured.

    ``field_of_view`` is its width, ``tilt`` how far it looks up. Only those ``rows`` (elevations)
    are kept that lie in the picture over its full width, so that unseen places do not count as
    empty.

    >>> import numpy as np
    >>> flat = np.full((60, 80), 2.0)  # a wall 2 m ahead
    >>> image = from_camera(flat, field_of_view=80, reach=5.0, rows=(0.0, -10.0))
    >>> image.elevations, np.round(image.metres()[0, [0, 20]], 1).tolist()
    ((0.0, -10.0), [2.6, 2.0])
    >>> scan = from_laser(np.full(4, 1.0), (-45.0, -15.0, 15.0, 45.0), 0.9, 5.0, (0.0, -60.0))
    >>> np.round(scan.metres()[:, 0], 2).tolist()
    [1.0, 1.04]
    """
    picture_height, picture_width = depth.shape
    focal = picture_width / 2 / math.tan(math.radians(field_of_view / 2))
    count = max(1, int(field_of_view / column))
    bearings = tuple((k + 0.5) * column - count * column / 2 for k in range(count))
    # (E, C) each: unit rays as the camera's right, up and ahead.
    level, across = np.radians(np.array(rows))[:, None], np.radians(np.array(bearings))[None, :]
    right, forward = np.cos(level) * np.sin(across), np.cos(level) * np.cos(across)
    height, tilt_angle = np.broadcast_to(np.sin(level), right.shape), math.radians(tilt)
    ahead = forward * math.cos(tilt_angle) + height * math.sin(tilt_angle)
    up = height * math.cos(tilt_angle) - forward * math.sin(tilt_angle)
    with np.errstate(divide="ignore", invalid="ignore"):
        x, y = picture_width / 2 + focal * right / ahead, picture_height / 2 - focal * up / ahead
    inside = (ahead > 1e-6) & (x >= 0) & (x < picture_width) & (y >= 0) & (y < picture_height)
    is_full_row = inside.all(axis=1)
    i = np.where(inside, x, 0).astype(np.intp)[is_full_row]
    j = np.where(inside, y, 0).astype(np.intp)[is_full_row]
    metres = depth[j, i] / ahead[is_full_row]
    metres = np.where(np.isfinite(metres) & (metres > 0) & (metres <= reach), metres, np.inf)
    elevations = tuple(row for row, keep in zip(rows, is_full_row.tolist(), strict=True) if keep)
    return DepthImage.of(metres, bearings, elevations, reach)


def from_laser(
    ranges: Floats,
    bearings: tuple[float, ...],
    eye: float,
    reach: float,
    rows: tuple[float, ...] = ROW_ELEVATIONS,
) -> DepthImage:
    """The image that a camera at height ``eye`` would have of walls where a laser met something.

    ``ranges`` (C,) are metres along the floor, infinite where nothing was met. A laser sees one
    plane: what is lower or higher is unknown, and the floor is assumed up to what was met. Rows
    that look up end at the walls as well.
    """
    slope = np.tan(np.radians(np.array(rows)))[:, None]
    with np.errstate(divide="ignore"):
        floor = np.where(slope < 0, eye / np.maximum(-slope, 1e-9), np.inf)
    metres = np.minimum(ranges[None, :], floor) / np.cos(np.arctan(slope))
    return DepthImage.of(np.where(metres <= reach, metres, np.inf), bearings, rows, reach)


def nearest_per_column(
    ranges: Floats, bearings: Floats, column: float = COLUMN_DEGREES
) -> tuple[Floats, Floats]:
    """Ranges and bearings of columns, from left to right: the nearest of what falls in each."""
    numbers = np.floor((bearings + 180.0) / column).astype(np.intp)
    columns = np.unique(numbers)
    metres = np.array([ranges[numbers == n].min() for n in columns])
    return metres, np.asarray((columns + 0.5) * column - 180.0)


def clear_ahead(image: DepthImage, eye: float, bearing: float, half_width: float = 0.25) -> float:
    """Return metres a body can go towards a bearing before something stands within ``half_width``
    to its side, between ankle and head; the image's reach where nothing does."""
    ahead, right, up = image.points(eye)
    angle = math.radians(bearing)
    along = ahead * math.cos(angle) + right * math.sin(angle)
    aside = right * math.cos(angle) - ahead * math.sin(angle)
    is_blocking = (np.abs(aside) <= half_width) & (along > 0) & (up > 0.1) & (up < 1.4)
    return float(min(along[is_blocking].min(), image.reach)) if is_blocking.any() else image.reach
