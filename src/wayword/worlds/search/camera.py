"""Camera and DepthImage: how far the surfaces are, column by column.

>>> import numpy as np
>>> image = DepthImage.of(np.array([[1.0, np.inf]]), (-1.0, 1.0), (0.0,), reach=5.0)
>>> np.round(image.metres(), 2).tolist()
[[1.0, inf]]
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
NOTHING = 255
"""The level that says: nothing within reach."""


@dataclass(frozen=True, slots=True)
class DepthImage:
    """A depth image of E rows and C columns, in 8 bits.

    ``elevations`` (E) of the rows and ``bearings`` (C) of the columns are degrees, up and right
    positive, relative to where the camera faces. ``levels`` holds a byte a pixel, row by row:
    metres along the ray in steps of ``reach`` / 254, 255 for nothing within ``reach``.
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
        count = max(1, round(self.field_of_view / self.column))
        return tuple((k + 0.5) * self.column - count * self.column / 2 for k in range(count))

    def rays(self, heading: float) -> Floats:
        """(E * C, 3) unit vectors east, north, up, row by row, for a camera that faces so."""
        across = np.radians(heading + np.array(self.bearings))[None, :]
        up = np.radians(self.rows)[:, None]
        east, north = np.cos(up) * np.sin(across), np.cos(up) * np.cos(across)
        height = np.broadcast_to(np.sin(up), east.shape)
        return np.stack((east, north, height), axis=-1).reshape(-1, 3)
