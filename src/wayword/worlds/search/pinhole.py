"""Depth images out of what cameras and lasers measure.

    >>> import numpy as np
    >>> flat = np.full((60, 80), 2.0)  # a wall 2 m ahead
    >>> image = from_camera(flat, field_of_view=80, reach=5.0, rows=(0.0, -10.0))
    >>> image.elevations, np.round(image.metres()[0, [0, 20]], 1).tolist()
    ((0.0, -10.0), [2.6, 2.0])
    >>> scan = from_laser(np.full(4, 1.0), (-45.0, -15.0, 15.0, 45.0), 0.9, 5.0, (0.0, -60.0))
    >>> np.round(scan.metres()[:, 0], 2).tolist()
    [1.0, 1.04]

Angles are degrees, bearings right positive, elevations up positive; lengths are metres.
"""

from __future__ import annotations

import math

import numpy as np

from wayword.worlds.search.camera import Camera, DepthImage, Floats

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
