"""Perspective views from full-sphere pictures: equirectangular panoramas and skyboxes.

An equirectangular picture (H, W, 3) has longitude along its columns and latitude along its rows:
the middle column faces the panorama's own heading, the top row is the zenith. A skybox is six
square faces of 90°. Sampling is bilinear, also across the seam. Angles are degrees: headings
clockwise, elevations up. ``width`` is the horizontal field of view.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from wayword.core.errors import DataError, UsageError, needing, suggest
from wayword.core.geometry import Floats
from wayword.core.model import Image
from wayword.core.perceiver import Picture

FACES = ("up", "north", "east", "south", "west", "down")
"""A skybox's faces in Matterport3D's order, which numbers them 0 to 5."""
FACE_AXES = {
    "up": (0.0, 90.0),
    "north": (0.0, 0.0),
    "east": (90.0, 0.0),
    "south": (180.0, 0.0),
    "west": (270.0, 0.0),
    "down": (0.0, -90.0),
}
"""Face -> heading and elevation (degrees) of its middle."""


def view(
    panorama: Picture,
    heading: float,
    elevation: float = 0.0,
    width: float = 60.0,
    size: tuple[int, int] = (480, 640),
) -> Picture:
    """Return the view of an equirectangular picture towards ``heading`` (0: its middle column).

    ``size`` is (rows, columns). Raises ``UsageError`` for a field of view that is not below 180°.
    """
    # Rays of a camera are cached: a survey cuts hundreds of views of one size.
    camera_rays = _camera_rays(float(width), (size[0], size[1]))
    rays = camera_rays @ _camera_axes(heading, elevation).T
    longitude, latitude = _ray_angles(rays)
    # Pixel centers are at half coordinates: column 0 is half a pixel from the edge.
    rows, columns = panorama.shape[:2]
    x = (longitude / (2 * np.pi) + 0.5) * columns - 0.5
    y = (0.5 - latitude / np.pi) * rows - 0.5
    return _interpolate(panorama, x, y)


def direction(
    row: float,
    column: float,
    towards: tuple[float, float],
    width: float,
    size: Sequence[int],
) -> tuple[float, float]:
    """Return the (heading, elevation) of a view's pixel in degrees; heading in (-180, 180].

    ``towards``: heading and elevation of the view. ``size``: its rows and columns.
    """
    rows, columns = size
    # From the field of view: half the width over the tangent of half the angle.
    focal = columns / 2 / np.tan(np.radians(width / 2))  # in pixels
    # From the middle of the picture, which lies between two pixels if their number is
    # even.
    right = column - (columns - 1) / 2
    down = row - (rows - 1) / 2
    ray = np.array([right, -down, focal])
    unit_ray = ray / np.linalg.norm(ray)
    axes = _camera_axes(*towards)
    longitude, latitude = _ray_angles(unit_ray @ axes.T)
    heading = float(np.degrees(longitude))
    elevation = float(np.degrees(latitude))
    return heading, elevation


def from_skybox(faces: Mapping[str, Picture], rows: int = 512) -> Picture:
    """Return the equirectangular picture (rows, 2 rows, 3) of six square faces.

    They are named as in ``FACES``. Raises ``UsageError`` for a face that is missing or
    not square.

    The four side faces are upright, clockwise from north, which becomes the middle
    column. ``up`` and ``down`` join the north face at its top and bottom edge.
    """
    # Checked before any work, so that the message names the face.
    for name in FACES:
        face = faces.get(name)
        if face is None or face.shape[0] != face.shape[1]:
            raise UsageError(f"skybox: the face {name!r} is missing or not square")
    # Twice as wide as high: 360 by 180 degrees.
    columns = 2 * rows
    y, x = np.mgrid[0:rows, 0:columns]
    # Shares of the picture's sides, at the centers of pixels.
    across = (x + 0.5) / columns
    down = (y + 0.5) / rows
    longitude = (across - 0.5) * 2 * np.pi
    latitude = (0.5 - down) * np.pi
    rays = _direction_vectors(longitude, latitude)

    # A ray meets the face along whose axis it goes farthest.
    face_rays = [rays @ _camera_axes(*FACE_AXES[name]) for name in FACES]
    forward = np.stack([ray[..., 2] for ray in face_rays])
    nearest = forward.argmax(axis=0)
    picture = np.empty((rows, columns, 3), np.uint8)
    for number, name in enumerate(FACES):
        is_nearest = nearest == number
        face = faces[name]
        side = len(face)
        # At distance 1 along its axis, a face extends from -1 to 1.
        ray = face_rays[number][is_nearest]
        right = ray[:, 0] / ray[:, 2]
        up = ray[:, 1] / ray[:, 2]
        face_x = (right + 1) / 2 * side - 0.5
        face_y = (1 - up) / 2 * side - 0.5
        # A ray along an edge may miss the last pixel by rounding.
        face_x = face_x.clip(0, side - 1)
        face_y = face_y.clip(0, side - 1)
        picture[is_nearest] = _interpolate(
            face,
            face_x,
            face_y,
            wrap=False,
        )
    return picture


@lru_cache(maxsize=64)
def _camera_rays(width: float, size: tuple[int, int]) -> Floats:
    """Return a camera's pixel rays in its own frame: right, up, forward (rows, columns, 3).

    ``width`` is its field of view in degrees. Cached and shared: callers must not
    change it.
    """
    if not 0.0 < width < 180.0:
        raise UsageError(
            f"a view's width must be between 0 and 180 degrees, got {width}"
        )
    rows, columns = size
    focal = columns / 2 / np.tan(np.radians(width / 2))  # in pixels
    across = np.arange(columns) - (columns - 1) / 2
    along = np.arange(rows) - (rows - 1) / 2
    right, down = np.meshgrid(across, along)
    rays = np.stack([right, -down, np.full_like(right, focal)], axis=-1)
    return np.asarray(rays / np.linalg.norm(rays, axis=-1, keepdims=True))


def _camera_axes(heading: float, elevation: float) -> Floats:
    """Return the camera's axes as columns (3, 3): right, up and forward, each in (east, up, north).

    Angles in degrees.
    """
    turn = np.radians(heading)
    rise = np.radians(elevation)
    right = np.array([np.cos(turn), 0.0, -np.sin(turn)])
    forward = _direction_vectors(turn, rise)
    return np.stack([right, np.cross(forward, right), forward], axis=1)


def _direction_vectors(longitude: Floats | float, latitude: Floats | float) -> Floats:
    """Return unit vectors (…, 3) in (east, up, north) of angles in radians."""
    # Shrinks towards the poles.
    level = np.cos(latitude)
    east = level * np.sin(longitude)
    north = level * np.cos(longitude)
    up = np.broadcast_to(np.sin(latitude), np.shape(east))
    return np.stack([east, up, north], axis=-1)


def _ray_angles(rays: Floats) -> tuple[Floats, Floats]:
    """Return longitude and latitude (radians) of unit vectors in (east, up, north)."""
    longitude = np.arctan2(rays[..., 0], rays[..., 2])
    # Rounding may take a unit vector's component just beyond 1.
    return longitude, np.arcsin(rays[..., 1].clip(-1.0, 1.0))


def _interpolate(
    picture: Picture,
    x: Floats,
    y: Floats,
    wrap: bool = True,
) -> Picture:
    """Return pixels at fractional positions by bilinear interpolation.

    ``picture`` (rows, columns, 3). ``x`` and ``y``: columns and rows of the positions, of any one
    shape; the result has that shape and a last axis of 3. Whole numbers are the centers of pixels.
    With ``wrap``, columns continue across the seam of a panorama; else positions beyond the first
    or last column have its color.
    """
    rows, columns = picture.shape[:2]
    # Rows do not continue beyond the poles.
    y = y.clip(0.0, rows - 1.0)
    left = np.floor(x).astype(np.int64)
    top = np.floor(y).astype(np.int64)
    x_share = (x - left)[..., None]
    y_share = (y - top)[..., None]
    below = (top + 1).clip(max=rows - 1)
    right = left + 1
    if wrap:
        left = left % columns
        right = right % columns
    else:
        left = left.clip(0, columns - 1)
        right = right.clip(0, columns - 1)
    # First along the rows, then between them.
    x_rest = 1 - x_share
    y_rest = 1 - y_share
    upper = picture[top, left] * x_rest + picture[top, right] * x_share
    lower = picture[below, left] * x_rest + picture[below, right] * x_share
    mixed = upper * y_rest + lower * y_share
    return np.asarray(np.rint(mixed), np.uint8)


# Layouts: the directions of the views in a survey.
#
# Sources: NavGPT (Zhou et al. 2024), section 3.2 and Table 2; DiscussNav (Long et al. 2024),
# section III-C; VELMA (Schumann et al. 2023), section 5.2; MatterSim's 36 views of 30°.


@dataclass(frozen=True)
class ViewLayout:
    """``headings`` (degrees from north, or from the front) times ``elevations``, top first.

    ``width`` is each view's horizontal field of view in degrees, ``size`` its rows and columns.
    """

    name: str
    headings: tuple[float, ...]
    elevations: tuple[float, ...]
    width: float
    size: tuple[int, int] = (480, 480)

    def views(self) -> Iterator[tuple[float, float]]:
        """Yield (heading, elevation) of every view: by heading, then from the top down."""
        return product(self.headings, self.elevations)


# Directions of 45 and of 30 degrees.
_EIGHT = tuple(45.0 * number for number in range(8))
_TWELVE = tuple(30.0 * number for number in range(12))
LAYOUTS: dict[str, ViewLayout] = {
    layout.name: layout
    for layout in (
        ViewLayout("navgpt24", _EIGHT, (30.0, 0.0, -30.0), 45.0),
        ViewLayout("navgpt12", _TWELVE, (0.0,), 60.0),
        ViewLayout("navgpt36", _TWELVE, (30.0, 0.0, -30.0), 30.0),
        ViewLayout("discussnav12", _TWELVE, (0.0,), 30.0),
        ViewLayout("velma5", (270.0, 315.0, 0.0, 45.0, 90.0), (0.0,), 60.0, (460, 800)),
    )
}
"""Layouts by name. The 12 views of NavGPT's Table 2 are 60° wide and 30° apart: they overlap."""


def layout(name: str) -> ViewLayout:
    """Return the layout with that name. Raises ``UsageError``."""
    if name not in LAYOUTS:
        raise UsageError(f"no layout is called {name!r}; {suggest(name, LAYOUTS)}")
    return LAYOUTS[name]


# Reading picture files, and encoding pictures for messages.

# In this order, so that of two files with one name the same is read each time.
SUFFIXES = (".jpg", ".jpeg", ".png", ".webp")
GRAY = 128  # of 255: a picture without content is neither dark nor bright


def read(source: Path | BinaryIO, name: str = "") -> Picture:
    """Return the pixels of a picture file (rows, columns, 3), which is called ``name`` in errors.

    Upright, as its camera was held, and with white behind what is transparent. Raises
    ``DataError`` for a file that is no picture, ``UsageError`` without pillow.
    """
    # Pillow is optional and imported when a picture is read.
    pillow = _pillow()
    try:
        with pillow.open(source) as picture:
            return _pixels(picture)
    # An oversized picture is refused by pillow itself.
    except (OSError, ValueError, pillow.DecompressionBombError) as error:
        # Pillow names what it read: of bytes in memory that is an address.
        reason = str(error).removesuffix(f" {source!r}")
        problem = f"cannot be read as a picture ({reason})"
        remedy = "convert it to JPEG or PNG"
        raise DataError(name or str(source), "", problem, remedy) from error


def _pixels(picture: Any) -> Picture:
    """Return an open picture as a viewer would show it."""
    upright = import_module("PIL.ImageOps").exif_transpose(picture)
    # Pillow cuts 16-bit values off at 255 in place of scaling them: all is white.
    if upright.mode.startswith("I"):
        gray = (np.asarray(upright) >> 8).astype(np.uint8)
        return np.repeat(gray[..., None], 3, axis=2)
    if upright.has_transparency_data:
        # Behind what is transparent, a file may have any color.
        ground = _pillow().new("RGBA", upright.size, "white")
        upright = _pillow().alpha_composite(ground, upright.convert("RGBA"))
    return np.asarray(upright.convert("RGB"))


cached_read = lru_cache(maxsize=16)(read)
"""``read``, with a cache: an agent looks at the same panorama several times."""


def encode(picture: Picture, quality: int = 90) -> Image:
    """Return a picture as JPEG, for a message to a model."""
    # The quality was chosen without measurement.
    buffer = io.BytesIO()
    _pillow().fromarray(picture).save(buffer, "JPEG", quality=quality)
    return Image(buffer.getvalue(), "image/jpeg")


def blank(image: Image) -> Image:
    """Return a gray picture of the same size."""
    return encode(np.full_like(read(io.BytesIO(image.data), "picture"), GRAY))


def picture_at(stem: Path) -> Path | None:
    """Return the picture file with this stem and a known suffix, None if there is none."""
    paths = (stem.with_name(stem.name + suffix) for suffix in SUFFIXES)
    return next((path for path in paths if path.is_file()), None)


def listed(folder: Path) -> dict[str, Path]:
    """Return every picture in a folder, by name without suffix, sorted.

    Raises ``UsageError`` if the folder is missing or contains no pictures.
    """
    if not folder.is_dir():
        raise UsageError(f"{folder}: no such folder")
    # Sorted, as folders list files in any order.
    files = sorted(folder.iterdir())
    pictures: dict[str, Path] = {}
    for path in files:
        if path.suffix.lower() in SUFFIXES:
            other = pictures.setdefault(path.stem, path)
            if other != path:
                raise UsageError(f"{path}: {other.name} is of the same place; keep one")
    if not pictures:
        raise UsageError(f"{folder}: contains no pictures ({', '.join(SUFFIXES)})")
    return pictures


def outlined(
    picture: Picture,
    boxes: Sequence[tuple[str, float, float, float, float]],
) -> Image:
    """Return a picture with labeled boxes, as JPEG.

    Boxes are (label, left, top, right, bottom) in pixels.
    """
    pillow = _pillow()
    drawing: Any = import_module("PIL.ImageDraw")
    canvas = pillow.fromarray(picture)
    pen = drawing.Draw(canvas)
    for label, left, top, right, bottom in boxes:
        # Colors were chosen without measurement.
        pen.rectangle(
            (
                left,
                top,
                right,
                bottom,
            ),
            outline=(255, 80, 0),
            width=2,
        )
        pen.text((left + 3, top + 2), label, fill=(255, 255, 0))
    return encode(np.asarray(canvas))


def _pillow() -> Any:
    """Return pillow's module for pictures. Raises ``UsageError`` where it is not installed."""
    with needing("pictures need pillow", "images"):
        return import_module("PIL.Image")
