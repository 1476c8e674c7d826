"""View: one capture of a robot's camera, with its depth image. Lengths are metres, angles degrees;
bearings are positive to the right, elevations up."""

from __future__ import annotations

import math
import zlib
from dataclasses import dataclass, field
from functools import lru_cache
from numbers import Real
from typing import Annotated, Any

import numpy as np
from annotated_types import Ge, Le
from numpy.typing import NDArray

from wayword.core.geometry import (
    Bools,
    Floats,
    apparent_size,
    bearing,
    elevation,
    relative,
)
from wayword.core.world import Observation
from wayword.worlds import objectnav

NO_HIT = 255  # level of pixels with no surface within reach
UNMEASURED = 0  # level of pixels that measured nothing; a surface is never at 0 m
FieldOfView = Annotated[float, Ge(10), Le(180)]  # horizontal, degrees
Range = Annotated[float, Ge(0.5), Le(50)]  # of depth, metres


@dataclass(frozen=True, slots=True)
class DepthImage:
    """A depth image of E rows and C columns, in 8 bits.

    ``elevations`` (E) of the rows and ``bearings`` (C) of the columns are degrees, positive up and
    to the right, relative to the camera's heading. ``levels`` holds one byte per pixel, row by row:
    metres along the ray in steps of ``reach`` / 254; 255 if there is no surface within ``reach``, 0
    if nothing was measured: such a ray is neither free nor an obstacle.

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
        metres: Floats,
        bearings: tuple[float, ...],
        elevations: tuple[float, ...],
        reach: float,
    ) -> DepthImage:
        """Encode ``metres`` (E, C) along the rays in 8 bits.

        They are infinite if there is no surface within ``reach`` (metres), NaN or
        negative if nothing was measured. Raises ``ValueError`` for another shape.
        """
        shape = len(elevations), len(bearings)
        if metres.shape != shape:
            raise ValueError(
                f"depth has the shape {metres.shape}, not {shape}: elevations, bearings"
            )
        # Twice the reach, since infinity is no number of steps.
        shares = np.minimum(metres, 2 * reach) / reach
        steps = np.round(shares * (NO_HIT - 1))
        levels = np.clip(steps, 1, NO_HIT)
        levels = np.where(metres >= 0, levels, UNMEASURED)
        packed = levels.astype(np.uint8).tobytes()
        return DepthImage(
            bearings,
            elevations,
            reach,
            packed,
        )

    def metres(self) -> Floats:
        """Return (E, C) metres along each ray, infinite if no surface was seen within reach."""
        levels = self._level_rows()
        metres = levels * (self.reach / (NO_HIT - 1))
        is_surface = (levels != NO_HIT) & (levels != UNMEASURED)
        return np.asarray(np.where(is_surface, metres, np.inf))

    def measured(self) -> Bools:
        """Return (E, C), False for rays whose distance is unknown."""
        return np.asarray(self._level_rows() != UNMEASURED)

    def _level_rows(self) -> NDArray[np.uint8]:
        """Return (E, C) the levels of the pixels."""
        shape = len(self.elevations), len(self.bearings)
        return np.frombuffer(self.levels, np.uint8).reshape(shape)

    def points(self, eye: float) -> tuple[Floats, Floats, Floats]:
        """Return where rays hit a surface, for a camera at height ``eye``.

        Three arrays (P,): metres ahead, metres to the right, and height above the
        floor. Rays without a surface have no point.
        """
        metres = self.metres()
        is_hit = np.isfinite(metres)
        row, column = np.nonzero(is_hit)
        elevations = np.radians(self.elevations)[row]
        bearings = np.radians(self.bearings)[column]
        hit_metres = metres[is_hit]
        floor_metres = hit_metres * np.cos(elevations)
        rise = hit_metres * np.sin(elevations)
        return (
            floor_metres * np.cos(bearings),
            floor_metres * np.sin(bearings),
            eye + rise,
        )


@dataclass(frozen=True, slots=True)
class Camera:
    """An RGB-D camera at height ``eye``: ``Camera(field_of_view=80, reach=5)``.

    ``field_of_view`` is horizontal, in degrees; ``reach`` is the maximum range of depth and
    ``sight`` of object recognition, in metres. ``column`` is the width of a depth column in degrees
    and ``rows`` the elevations of the depth rows. Vertically the view extends from ``floor`` to
    ``top`` degrees, as if the camera tilted up and down. Objects are recognized from a visible area
    of ``least_area`` square degrees.
    """

    field_of_view: float = 80.0
    eye: float = 0.9
    reach: float = 5.0
    sight: float = 10.0
    column: float = 2.0
    rows: tuple[float, ...] = (0, -5, -10, -13, -16, -20, -26, -32, -40, -52)
    floor: float = -60.0
    top: float = 40.0
    least_area: float = 0.0

    @property
    def bearings(self) -> tuple[float, ...]:
        """Bearings of the depth columns in degrees, from left to right."""
        return columns(max(1, round(self.field_of_view / self.column)), self.column)

    @property
    def slopes(self) -> Floats:
        """(E, 1) slope of the rays in each row: rise in metres per metre of floor."""
        return np.asarray(np.tan(np.radians(self.rows))[:, None])

    def across(self, heading: float) -> Floats:
        """Return (C, 2) unit vectors (east, north) of the columns for a camera heading."""
        along = np.radians(heading + np.array(self.bearings))
        return np.stack((np.sin(along), np.cos(along)), axis=1)


@lru_cache(maxsize=64)
def columns(count: int, column: float) -> tuple[float, ...]:
    """Return the bearings of the centers of ``count`` columns of a width, from left to right."""
    return tuple((k + 0.5) * column - count * column / 2 for k in range(count))


@dataclass(frozen=True, slots=True)
class Shown:
    """An object that is truly in view, for simulated detectors and judges.

    ``kind`` is its type (``alarm_clock``), ``words`` its name in plain words (``"cat-shaped
    mug"``). ``bearing`` and ``elevation`` are to its center, relative, in degrees. ``distance``
    (metres along the floor) is to the nearest point of its box, ``away`` to its center. ``width``
    and ``height`` are its extent in view in degrees, ``fraction`` is its visible share.
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

    @staticmethod
    def of(name: str, bearing: float, distance: float, size: float = 10.0) -> Shown:
        """Return an object that your own detector found, for ``View.shown``.

        ``name`` is what a search asks for (``"cat-shaped mug"``), ``bearing`` is in degrees to the
        right of the camera, ``distance`` in metres along the floor, and ``size`` its width and
        height in view in degrees.
        """
        numbers = {"bearing": bearing, "distance": distance, "size": size}
        for key, number in numbers.items():
            if not isinstance(number, int | float) or not math.isfinite(number):
                raise ValueError(
                    f"Shown.of({name!r}): {key} must be a finite number, got {number!r:.60}"
                )
        if abs(bearing) > 360 or min(distance, size) < 0:
            raise ValueError(
                f"Shown.of({name!r}): bearing must be within 360 degrees, distance and size at "
                f"least 0, got {numbers}"
            )
        if not isinstance(name, str) or not name.strip():
            raise ValueError(f"Shown.of: name must be text, got {name!r:.60}")
        return Shown(
            id=name,
            kind=name,
            words=name,
            bearing=float(bearing),
            elevation=0.0,
            distance=float(distance),
            away=float(distance),
            width=float(size),
            height=float(size),
            fraction=1.0,
        )


def sighting(
    name: str,
    kind: str,
    words: str,
    box: tuple[float, float, float, float, float, float],
    pose: tuple[float, float, float],
    eye: float,
    fraction: float = 1.0,
) -> Shown:
    """Return an object as seen from a pose (x, y, heading) at height ``eye``.

    ``box``: center x and y, width, depth, underside, height (metres). Its width in view
    is that of its diagonal, whatever its orientation. Values are rounded, since they
    are recorded.
    """
    x, y, box_width, box_depth, bottom, box_height = box
    dx = x - pose[0]
    dy = y - pose[1]
    away = math.hypot(dx, dy)
    distance = math.hypot(
        max(abs(dx) - box_width / 2, 0.0),
        max(abs(dy) - box_depth / 2, 0.0),
    )
    low = bottom - eye
    diagonal = math.hypot(box_width, box_depth)
    # The eye may be at the object's center, where no angle is defined.
    width, height = apparent_size(
        diagonal,
        low,
        bottom + box_height - eye,
        max(away, 0.1),
    )
    turn = relative(bearing(pose[:2], (x, y)), pose[2])
    up = elevation(bottom + box_height / 2 - eye, max(away, 1e-6))
    return Shown(
        *(
            name,
            kind,
            words,
            round(turn, 2),
            round(up, 2),
            round(distance, 3),
            round(away, 3),
        ),
        *(
            round(width, 2),
            round(height, 2),
            round(fraction, 3),
        ),
    )


MOST_FLOOR_CELLS = 2**28
"""Most cells of a map: 800 by 800 metres in cells of 5 cm."""


@dataclass(frozen=True, slots=True)
class FloorMap:
    """A robot's own map of the floor, in square cells of ``cell`` metres.

    ``x`` and ``y`` (metres) are the center of the first cell; rows of ``columns`` cells follow from
    south to north. ``levels`` has one byte per cell, compressed by zlib: 0 free, 1 to 98 free but
    near an obstacle, 99 too near for the robot's center, 100 an obstacle, 255 unknown. These are
    the costs of ROS's ``nav_msgs/OccupancyGrid``.
    """

    x: float
    y: float
    cell: float
    columns: int
    levels: bytes = field(repr=False)

    def at(self, xs: NDArray[Any], ys: NDArray[Any]) -> NDArray[np.uint8]:
        """Return the levels at points (metres); 255 outside the map. Raises ``ValueError`` for
        levels that are damaged, or more than ``MOST_FLOOR_CELLS``."""
        # A record may be another person's, and few bytes can unzip to any size.
        unzip = zlib.decompressobj()
        try:
            content = unzip.decompress(self.levels, MOST_FLOOR_CELLS)
        except zlib.error as error:
            raise ValueError(f"a map of the floor is damaged: {error}") from None
        if not unzip.eof:
            raise ValueError("a map of the floor is incomplete, or too large")
        levels = np.frombuffer(content, np.uint8).reshape(-1, self.columns)
        xs, ys = np.broadcast_arrays(xs, ys)
        i = np.floor((xs - self.x) / self.cell + 0.5).astype(np.intp)
        j = np.floor((ys - self.y) / self.cell + 0.5).astype(np.intp)
        rows, columns = levels.shape
        inside = (i >= 0) & (i < columns)
        inside &= (j >= 0) & (j < rows)
        levels_at = np.full(xs.shape, 255, np.uint8)
        levels_at[inside] = levels[j[inside], i[inside]]
        return levels_at


@dataclass(frozen=True, slots=True)
class View(Observation):
    """A capture of a base: its position by its own odometry, and its camera's output.

    ``x`` and ``y`` are metres, ``heading`` degrees clockwise from north. ``eye`` is the camera's
    height and ``field_of_view`` its horizontal angle in degrees. ``image`` is an encoded picture
    (PNG or JPEG) from a real camera; ``shown`` lists the objects truly in view in a simulation,
    None if unknown. Both are for detectors (:mod:`wayword.perception.detectors`); agents use only
    the output of their detector. ``floor`` is the robot's own map, None if it has none.
    """

    family = objectnav.family

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


FARTHEST_MEDIANS = {"camera": 50.0, "laser": 100.0}
"""Metres: no depth camera or laser of a robot sees so far with half of its rays. Centimetres reach
a camera's from a view of half a metre on."""

NEAREST_MEDIAN = 0.02
"""Metres: half of the rays of a camera or laser that stands anywhere are longer."""

METRES = "give metres, infinite where nothing was in range"


def unit_problem(distances: Floats, sensor: str) -> str:
    """Return why distances of a ``camera`` or ``laser`` cannot be metres; empty if they can."""
    measured = distances[np.isfinite(distances) & (distances > 0)]
    if not len(measured):
        return ""
    median = float(np.median(measured))
    if NEAREST_MEDIAN < median < FARTHEST_MEDIANS[sensor]:
        return ""
    return f"has a median of {round(median, 3):g} m: its unit is not the metre"


def _check_number(name: str, number: Any, low: float, high: float) -> None:
    """Raise ``ValueError`` unless a number of metres or degrees is at least ``low`` and below
    ``high``."""
    if not isinstance(number, Real) or not low <= float(number) < high:
        raise ValueError(
            f"{name} must be at least {low:g} and below {high:g}, got {number!r:.60}"
        )


def _checked_depth(
    depth: Any, name: str, dimensions: int, reach: float, sensor: str
) -> Floats:
    """Return distances as an array. Raises ``ValueError`` for another type, shape or unit, and for
    a ``reach`` that is no length."""
    try:
        distances = np.asarray(depth, float)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be numbers, got {depth!r:.60}") from None
    if distances.ndim != dimensions or not distances.size:
        raise ValueError(
            f"{name} must have {dimensions} dimensions and not be empty, got the shape "
            f"{distances.shape}"
        )
    _check_number("reach", reach, 0.01, math.inf)
    if problem := unit_problem(distances, sensor):
        raise ValueError(f"{name}: {problem}; {METRES}")
    return distances


ROW_ELEVATIONS = Camera().rows
LOW_EYE = 0.3  # metres below which a laser's depth image has rows that look up
UPWARD_ROWS = (20.0, 10.0)  # degrees
COLUMN_DEGREES = 2.0  # width of a depth column in degrees


def from_camera(
    depth: Floats,
    field_of_view: float,
    reach: float,
    rows: tuple[float, ...] = ROW_ELEVATIONS,
    tilt: float = 0.0,
) -> DepthImage:
    """Convert a pinhole camera's ``depth`` (H, W): metres along its axis; infinite if no surface is
    in range; NaN, negative or 0 if nothing was measured. Raises ``ValueError`` for another unit.

    ``field_of_view`` is horizontal, ``tilt`` is positive up. Of ``rows`` (elevations), only those
    fully inside the picture are kept, so that unseen areas do not count as empty.

    >>> import numpy as np
    >>> flat = np.full((60, 80), 2.0)  # a wall 2 m ahead
    >>> image = from_camera(flat, field_of_view=80, reach=5.0, rows=(0.0, -10.0))
    >>> image.elevations, np.round(image.metres()[0, [0, 20]], 1).tolist()
    ((0.0, -10.0), [2.6, 2.0])
    >>> scan = from_laser(np.full(4, 1.0), (-45.0, -15.0, 15.0, 45.0), 0.9, 5.0, (0.0, -60.0))
    >>> np.round(scan.metres()[:, 0], 2).tolist()
    [1.0, 1.04]
    """
    depth = _checked_depth(depth, "depth", 2, reach, "camera")
    _check_number("field_of_view", field_of_view, 10.0, 180.0)
    picture_height, picture_width = depth.shape
    focal = picture_width / 2 / math.tan(math.radians(field_of_view / 2))
    bearings = columns(max(1, int(field_of_view / COLUMN_DEGREES)), COLUMN_DEGREES)
    # (E, C) each: unit rays as the camera's right, up and ahead.
    level = np.radians(np.array(rows))[:, None]
    across = np.radians(np.array(bearings))[None, :]
    right = np.cos(level) * np.sin(across)
    forward = np.cos(level) * np.cos(across)
    height = np.broadcast_to(np.sin(level), right.shape)
    tilt_angle = math.radians(tilt)
    ahead = forward * math.cos(tilt_angle) + height * math.sin(tilt_angle)
    up = height * math.cos(tilt_angle) - forward * math.sin(tilt_angle)
    with np.errstate(divide="ignore", invalid="ignore"):
        x = picture_width / 2 + focal * right / ahead
        y = picture_height / 2 - focal * up / ahead
    inside = ahead > 1e-6
    inside &= (x >= 0) & (x < picture_width)
    inside &= (y >= 0) & (y < picture_height)
    is_full_row = inside.all(axis=1)
    i = np.where(inside, x, 0).astype(np.intp)[is_full_row]
    j = np.where(inside, y, 0).astype(np.intp)[is_full_row]
    metres = depth[j, i] / ahead[is_full_row]
    metres = np.where(metres > 0, metres, np.nan)
    metres = np.where(metres > reach, np.inf, metres)
    elevations = tuple(
        row for row, keep in zip(rows, is_full_row.tolist(), strict=True) if keep
    )
    return DepthImage.of(
        metres,
        bearings,
        elevations,
        reach,
    )


def from_laser(
    ranges: Floats,
    bearings: tuple[float, ...],
    eye: float,
    reach: float,
    rows: tuple[float, ...] = ROW_ELEVATIONS,
) -> DepthImage:
    """Return the depth image of a camera at height ``eye``, with a wall wherever a laser hit.

    ``ranges`` (C,) are metres along the floor, infinite without a hit. Nothing was measured where
    they are NaN, negative or 0, or too far for any laser (100 m). A laser measures a single plane:
    lower and higher obstacles are unknown, and floor is assumed up to the hit. A low eye also looks
    up, as all of a wall that it sees level or below would be floor. Raises ``ValueError`` for
    another unit.
    """
    ranges = _checked_depth(ranges, "ranges", 1, reach, "laser")
    if not np.all(np.diff(bearings) > 0):
        raise ValueError(f"bearings must ascend, got {bearings!r:.60}")
    if eye < LOW_EYE:
        rows = (*UPWARD_ROWS, *rows)
    is_distance = (ranges > 0) & (ranges < FARTHEST_MEDIANS["laser"])
    ranges = np.where(is_distance | (ranges == np.inf), ranges, np.nan)
    slope = np.tan(np.radians(np.array(rows)))[:, None]
    with np.errstate(divide="ignore"):
        floor = np.where(slope < 0, eye / np.maximum(-slope, 1e-9), np.inf)
    metres = np.minimum(ranges[None, :], floor) / np.cos(np.arctan(slope))
    return DepthImage.of(
        np.where(metres > reach, np.inf, metres),
        bearings,
        rows,
        reach,
    )


def nearest_per_column(ranges: Floats, bearings: Floats) -> tuple[Floats, Floats]:
    """Return ranges and bearings of columns from left to right, for a laser's rays.

    ``ranges`` (N,) and ``bearings`` (N,) in any order. A column has the nearest range
    in it; NaN if most of its rays measured nothing and none hit anything.
    """
    numbers = np.floor((bearings + 180.0) / COLUMN_DEGREES).astype(np.intp)
    found = np.unique(numbers)
    metres = np.empty(len(found))
    for at, number in enumerate(found):
        column = ranges[numbers == number]
        is_measured = ~np.isnan(column)
        nearest = column[is_measured].min(initial=np.inf)
        is_known = np.isfinite(nearest) or is_measured.mean() >= MIN_MEASURED
        metres[at] = nearest if is_known else np.nan
    return metres, np.asarray((found + 0.5) * COLUMN_DEGREES - 180.0)


BODY_HEIGHTS = (0.1, 1.4)  # metres above the floor, ankle and head: obstacles of a body
HALF_WIDTH = 0.25  # metres to the side of a body's middle that it needs free
# Degrees to the side of a bearing whose rays decide if it was measured: half a body at 1 m.
MEASURED_SIDE = 14.0
MIN_MEASURED = 0.5  # share of these rays; depth cameras leave holes of single pixels


def obstacle_ahead(
    image: DepthImage,
    eye: float,
    bearing: float,
) -> float:
    """Return metres towards a bearing to the nearest obstacle of a body.

    It is within ``HALF_WIDTH`` to the side and at ``BODY_HEIGHTS``; infinite if none
    was measured. ``eye`` is the camera's height (metres), ``bearing`` relative to its
    heading.
    """
    ahead, right, up = image.points(eye)
    angle = math.radians(bearing)
    along = ahead * math.cos(angle) + right * math.sin(angle)
    aside = right * math.cos(angle) - ahead * math.sin(angle)
    low, high = BODY_HEIGHTS
    is_blocking = (along > 0) & (np.abs(aside) <= HALF_WIDTH)
    is_blocking &= (up > low) & (up < high)
    return float(along[is_blocking].min(initial=math.inf))


def clear_ahead(
    image: DepthImage,
    eye: float,
    bearing: float,
) -> float:
    """Return metres free towards a bearing, by :func:`obstacle_ahead`, at most the image's reach.

    0 if most rays in that direction measured nothing: unknown is not free.
    """
    if not is_measured(image, bearing):
        return 0.0
    return min(obstacle_ahead(image, eye, bearing), image.reach)


def is_measured(image: DepthImage, bearing: float) -> bool:
    """True if at least half of the rays towards a bearing measured something."""
    off = np.abs((np.array(image.bearings) - bearing + 180.0) % 360.0 - 180.0)
    rays = image.measured()[:, off <= max(MEASURED_SIDE, off.min())]
    return rays.size > 0 and float(rays.mean()) >= MIN_MEASURED
