"""View: what one capture shows."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from wayword.core.geometry import apparent_size, bearing, elevation, relative
from wayword.core.world import Family, Observation
from wayword.worlds import objectnav

# How far the surfaces are, column by column.

Floats = NDArray[np.float64]
NOTHING = 255
"""The level that says: nothing within reach."""


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
        """The image of ``metres`` (E, C), infinite where nothing is within ``reach``."""
        steps = np.where(np.isfinite(metres), np.round(metres / reach * (NOTHING - 1)), NOTHING)
        levels = np.clip(steps, 0, NOTHING).astype(np.uint8).tobytes()
        return DepthImage(bearings, elevations, reach, levels)

    def metres(self) -> Floats:
        """(E, C) metres along each ray, infinite where nothing is within reach."""
        shape = len(self.elevations), len(self.bearings)
        levels = np.frombuffer(self.levels, np.uint8).reshape(shape)
        found = levels * (self.reach / (NOTHING - 1))
        return np.asarray(np.where(levels == NOTHING, np.inf, found))

    def points(self, eye: float) -> tuple[Floats, Floats, Floats]:
        """(P,) each: where the rays that met something end, as metres ahead, metres to the right
        and the height above the floor, for a camera at height ``eye``."""
        metres = self.metres()
        met = np.isfinite(metres)
        up = np.broadcast_to(np.radians(self.elevations)[:, None], metres.shape)[met]
        right = np.broadcast_to(np.radians(self.bearings)[None, :], metres.shape)[met]
        flat = metres[met] * np.cos(up)
        return flat * np.cos(right), flat * np.sin(right), eye + metres[met] * np.sin(up)


@dataclass(frozen=True, slots=True)
class Camera:
    """An RGB-D camera at height ``eye``: ``Camera(field_of_view=80, reach=5)``.

    ``field_of_view`` is its width in degrees (RoboTHOR's LoCoBot: 79), ``reach`` how far depth is
    measured and ``sight`` how far things can be told apart, in metres. ``column`` is the width of a
    depth column in degrees and ``rows`` the elevations of the depth rows. Vertically the camera
    sees from ``floor`` to ``top`` degrees: what tilting it once each way would cover.
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
        """(C, 2) unit vectors east and north of the columns, for a camera that faces so."""
        along = np.radians(heading + np.array(self.bearings))
        return np.stack((np.sin(along), np.cos(along)), axis=1)


@lru_cache(maxsize=64)
def _columns(field_of_view: float, column: float) -> tuple[float, ...]:
    count = max(1, round(field_of_view / column))
    return tuple((k + 0.5) * column - count * column / 2 for k in range(count))


@dataclass(frozen=True, slots=True)
class Shown:
    """A thing that is truly in a view, for simulated detectors and judges.

    ``kind`` is its type (``alarm_clock``) and ``words`` how a person would call it
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
    at: tuple[float, float, float],
    eye: float,
    fraction: float = 1.0,
) -> Shown:
    """A thing as seen from a place (x, y, heading) at height ``eye``. ``box``: the middle, x and y,
    width, depth, underside, height (metres). Its width in view is that of the box's diagonal."""
    x, y, wide, deep, bottom, high = box
    dx, dy = x - at[0], y - at[1]
    away = math.hypot(dx, dy)
    near = math.hypot(max(abs(dx) - wide / 2, 0.0), max(abs(dy) - deep / 2, 0.0))
    low, across = bottom - eye, math.hypot(wide, deep)
    width, height = apparent_size(across, low, bottom + high - eye, max(away, 0.1))
    turn = relative(bearing(at[:2], (x, y)), at[2])
    up = elevation(bottom + high / 2 - eye, max(away, 1e-6))
    angles = round(turn, 2), round(up, 2)
    return Shown(
        *(name, kind, words, *angles, round(near, 3), round(away, 3)),
        *(round(width, 2), round(height, 2), round(fraction, 3)),
    )


@dataclass(frozen=True, slots=True)
class View(Observation):
    """One capture of a base: where it stands by its own reckoning, and what its camera gives.

    ``x`` and ``y`` are metres, ``heading`` degrees clockwise from north. ``eye`` is the camera's
    height and ``field_of_view`` its width in degrees. ``depth`` is the depth image. ``image`` is
    an encoded picture where there is a real camera (PNG or JPEG), and ``shown`` what is truly in
    view where there is a simulation, None where nobody knows: both are for detectors
    (:mod:`wayword.perception.detectors`); agents decide on what their detector tells them.
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


# Depth images out of what cameras and lasers measure.
#
# Angles are degrees, bearings right positive, elevations up positive; lengths are metres.

ROWS = Camera().rows
COLUMN = 2.0
"""Degrees of a column."""


def from_camera(
    depth: Floats,
    field_of_view: float,
    reach: float,
    rows: tuple[float, ...] = ROWS,
    tilt: float = 0.0,
    column: float = COLUMN,
) -> DepthImage:
    """The image of a pinhole camera's ``depth`` (H, W): metres along its axis; not finite or not
    positive where nothing was measured.

    ``field_of_view`` is its width, ``tilt`` how far it looks up. Of the ``rows`` (elevations) those
    are kept that lie in the picture over its whole width, so that what was not looked at is not
    taken for empty.

    >>> import numpy as np
    >>> flat = np.full((60, 80), 2.0)  # a wall 2 m ahead
    >>> image = from_camera(flat, field_of_view=80, reach=5.0, rows=(0.0, -10.0))
    >>> image.elevations, np.round(image.metres()[0, [0, 20]], 1).tolist()
    ((0.0, -10.0), [2.6, 2.0])
    >>> scan = from_laser(np.full(4, 1.0), (-45.0, -15.0, 15.0, 45.0), 0.9, 5.0, (0.0, -60.0))
    >>> np.round(scan.metres()[:, 0], 2).tolist()
    [1.0, 1.04]
    """
    high, wide = depth.shape
    focal = wide / 2 / math.tan(math.radians(field_of_view / 2))
    count = max(1, int(field_of_view / column))
    bearings = tuple((k + 0.5) * column - count * column / 2 for k in range(count))
    right, up, ahead = _rays(rows, bearings, tilt)
    with np.errstate(divide="ignore", invalid="ignore"):
        x, y = wide / 2 + focal * right / ahead, high / 2 - focal * up / ahead
    inside = (ahead > 1e-6) & (x >= 0) & (x < wide) & (y >= 0) & (y < high)
    kept = inside.all(axis=1)
    i = np.where(inside, x, 0).astype(np.intp)[kept]
    j = np.where(inside, y, 0).astype(np.intp)[kept]
    metres = depth[j, i] / ahead[kept]
    metres = np.where(np.isfinite(metres) & (metres > 0) & (metres <= reach), metres, np.inf)
    elevations = tuple(row for row, keep in zip(rows, kept.tolist(), strict=True) if keep)
    return DepthImage.of(metres, bearings, elevations, reach)


def from_laser(
    ranges: Floats,
    bearings: tuple[float, ...],
    eye: float,
    reach: float,
    rows: tuple[float, ...] = ROWS,
) -> DepthImage:
    """The image that a camera at height ``eye`` would have of walls where a laser met something.

    ``ranges`` (C,) are metres along the floor, infinite where nothing was met. A laser sees one
    plane: what is lower or higher is not known of, and the floor is taken to be there up to what
    was met. Rows that look up end at the walls as well.
    """
    slope = np.tan(np.radians(np.array(rows)))[:, None]
    with np.errstate(divide="ignore"):
        floor = np.where(slope < 0, eye / np.maximum(-slope, 1e-9), np.inf)
    along = np.minimum(ranges[None, :], floor) / np.cos(np.arctan(slope))
    return DepthImage.of(np.where(along <= reach, along, np.inf), bearings, rows, reach)


def nearest(ranges: Floats, bearings: Floats, column: float = COLUMN) -> tuple[Floats, Floats]:
    """Ranges and bearings of columns, from left to right: the nearest of what falls in each."""
    numbers = np.floor((bearings + 180.0) / column).astype(np.intp)
    columns = np.unique(numbers)
    found = np.array([ranges[numbers == n].min() for n in columns])
    return found, np.asarray((columns + 0.5) * column - 180.0)


def _rays(
    rows: tuple[float, ...], bearings: tuple[float, ...], tilt: float
) -> tuple[Floats, Floats, Floats]:
    """(E, C) each: unit rays as the camera's right, up and ahead."""
    level, across = np.radians(np.array(rows))[:, None], np.radians(np.array(bearings))[None, :]
    right = np.cos(level) * np.sin(across)
    forward = np.cos(level) * np.cos(across)
    height = np.broadcast_to(np.sin(level), right.shape)
    rise = math.radians(tilt)
    ahead = forward * math.cos(rise) + height * math.sin(rise)
    return right, height * math.cos(rise) - forward * math.sin(rise), ahead


def clear_ahead(image: DepthImage, eye: float, bearing: float, half: float = 0.25) -> float:
    """Metres a body can go towards a bearing before something stands within ``half`` to its side,
    between ankle and head; the image's reach where nothing does."""
    ahead, right, up = image.points(eye)
    turn = math.radians(bearing)
    along = ahead * math.cos(turn) + right * math.sin(turn)
    aside = right * math.cos(turn) - ahead * math.sin(turn)
    there = (np.abs(aside) <= half) & (along > 0) & (up > 0.1) & (up < 1.4)
    return float(min(along[there].min(), image.reach)) if there.any() else image.reach
