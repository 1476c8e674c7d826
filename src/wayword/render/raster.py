"""Draw a mesh from a camera: colors, depth, and which object each pixel shows.

    >>> from wayword.render.parts import MeshBuilder
    >>> builder = MeshBuilder()
    >>> number = builder.add_object("red sofa", "sofa", (0.0, 3.0), (0.0, -1.0))
    >>> frame = draw(builder.mesh(), PinholeCamera((0.0, 0.0, 1.5), 0.0))
    >>> frame.color.shape, bool((frame.ids == number).any())
    ((360, 480, 3), True)

Faces are convex polygons, drawn from near to far into a depth buffer. The same mesh and camera give
the same bytes on every machine and with any number of threads: all arithmetic is element by
element, where IEEE 754 fixes each result, and never a matrix product, whose order of additions
depends on the library. Vertices are snapped to 1/16 pixel, which absorbs the last bit of sine and
cosine.

Positions are metres: x east, y north, z up. Angles are degrees: headings clockwise from north,
elevations up.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wayword.core.geometry import Floats
from wayword.core.sight import Frame, PictureView

NEAR = 0.05
"""Distance in metres within which nothing is drawn, so that no division is by 0."""
SNAP = 16.0
"""Steps per pixel to which vertices are rounded."""
DIGITS = 12
"""Decimals of whatever comes from sines and cosines, whose last bits differ between C libraries."""
OUTLINED_WITHIN = 14.0
"""Distance in metres up to which outlines are drawn: farther objects would be all outline."""
OFFSET = 0.0137
"""Shift of patterns in metres, so that no wall on a round coordinate falls between two colors."""


@dataclass(frozen=True, slots=True)
class PinholeCamera:
    """A camera at ``position`` (x, y, z). ``width`` is the horizontal field of view; pixels are
    square."""

    position: tuple[float, float, float]
    heading: float
    elevation: float = 0.0
    width: float = 90.0


@dataclass(frozen=True, eq=False, slots=True)
class Mesh:
    """F convex faces, counterclockwise from outside, of at most K corners.

    ``corners`` (F, K, 3) repeat the last corner where a face has fewer than ``counts`` (F,).
    ``normals`` (F, 3) are unit vectors. ``colors`` (F, C, 3) are the C colors of a face's pattern;
    ``extents`` (F, 3) are how far each color extends along each axis, 0 without a limit.
    ``color_counts`` (F,) is 1 for a face without a pattern. ``ids`` (F,) number the objects from 1;
    0 is the building. ``sky`` is the color where there is no face.
    """

    corners: Floats
    counts: NDArray[np.int32]
    normals: Floats
    colors: NDArray[np.uint8]
    color_counts: NDArray[np.int32]
    extents: Floats
    ids: NDArray[np.int32]
    sky: tuple[int, int, int]


@dataclass(frozen=True, eq=False, slots=True)
class _Projection:
    """Faces that may be visible, nearest first.

    Their ``numbers`` in the mesh, corners in the camera's frame (N, K, 3), and in
    pixels from the picture's center (N, K) along ``u`` (right) and ``v`` (down).
    ``planes`` (N, 3): inverse depth is planes · (u, v, 1). ``nearest`` (N,): the depth
    of the nearest corner.
    """

    numbers: NDArray[np.intp]
    corners: Floats
    u: Floats
    v: Floats
    planes: Floats
    nearest: Floats


def draw_view(
    mesh: Mesh,
    eye: tuple[float, float, float],
    view: PictureView,
    size: tuple[int, int],
) -> Frame:
    """Draw an actor's view of a mesh from its ``eye`` (x, y, z); see :func:`draw`."""
    camera = PinholeCamera(eye, view.heading, view.elevation, view.width)
    return draw(mesh, camera, size)


def draw(
    mesh: Mesh,
    camera: PinholeCamera,
    size: tuple[int, int] = (360, 480),
) -> Frame:
    """Draw a mesh. ``size`` is (rows, columns).

    The same mesh, camera and size give the same bytes on every machine. Depth is in
    metres along the camera's axis, infinite for the sky.
    """
    half_view = math.radians(camera.width / 2)
    focal = size[1] / 2 / round(math.tan(half_view), DIGITS)
    faces = _project(mesh, camera, size, focal)
    inverse, shown = _fill(mesh, faces, size, focal)
    # The last row of these tables is the sky, which the number -1 selects.
    id_of = np.append(mesh.ids, np.int32(0))
    sky = np.array(mesh.sky, np.uint8)[None]
    first_colors = mesh.colors[:, 0]
    color_of = np.concatenate([first_colors, sky])
    ids = id_of[shown]
    color = color_of[shown]
    # The sky is infinitely far.
    with np.errstate(divide="ignore"):
        depth = 1.0 / inverse
    _paint_patterns(
        mesh,
        camera,
        focal,
        shown,
        depth,
        color,
    )
    _outline(color, shown, ids, depth)
    return Frame(color, depth, ids)


def _axes(camera: PinholeCamera) -> list[list[float]]:
    """Return the camera's axes in the world: right, down, ahead."""
    turn = math.radians(camera.heading)
    rise = math.radians(camera.elevation)
    # Rounded, so that all machines turn by the same numbers.
    sin_turn = round(math.sin(turn), DIGITS)
    cos_turn = round(math.cos(turn), DIGITS)
    sin_rise = round(math.sin(rise), DIGITS)
    cos_rise = round(math.cos(rise), DIGITS)
    right = [
        cos_turn,
        -sin_turn,
        0.0,
    ]
    down = [
        sin_turn * sin_rise,
        cos_turn * sin_rise,
        -cos_rise,
    ]
    ahead = [
        sin_turn * cos_rise,
        cos_turn * cos_rise,
        sin_rise,
    ]
    return [right, down, ahead]


def dot(vectors: Floats, axis: Sequence[float] | Floats) -> Floats:
    """Return the products of vectors (..., 3) with one axis, or with one axis each."""
    axes = np.asarray(axis)
    # One product after the other: a matrix product may add in any order.
    total: Floats = vectors[..., 0] * axes[..., 0]
    for axis_number in (1, 2):
        total += vectors[..., axis_number] * axes[..., axis_number]
    return total


def _project(
    mesh: Mesh,
    camera: PinholeCamera,
    size: tuple[int, int],
    focal: float,
) -> _Projection:
    """Project the faces that face the camera and touch its view."""
    rows, columns = size
    eye = np.array(camera.position)
    axes = _axes(camera)

    # Faces seen from behind are hidden by the front of their own solid.
    first_corners = mesh.corners[:, 0] - eye
    distances = dot(first_corners, mesh.normals)
    numbers = np.flatnonzero(distances < 0)

    # Their corners in the camera's frame.
    offsets = mesh.corners[numbers] - eye
    local = np.stack([dot(offsets, axis) for axis in axes], axis=-1)
    depth = local[..., 2]
    nearest = depth.min(axis=1)
    farthest = depth.max(axis=1)

    # And in pixels, snapped.
    scale = focal / np.maximum(depth, NEAR)
    u = np.rint(local[..., 0] * scale * SNAP) / SNAP
    v = np.rint(local[..., 1] * scale * SNAP) / SNAP
    touches_view = u.max(axis=1) > -columns / 2
    touches_view &= u.min(axis=1) < columns / 2
    touches_view &= v.max(axis=1) > -rows / 2
    touches_view &= v.min(axis=1) < rows / 2
    # A face that reaches behind the camera is clipped later; its pixels here mean nothing.
    visible = touches_view | (nearest < NEAR)
    visible &= farthest > NEAR

    # Nearest first: what is drawn later is then hidden most often. Stable, so that equal
    # distances keep the mesh's order.
    order = np.flatnonzero(visible)
    by_depth = np.argsort(nearest[order], kind="stable")
    order = order[by_depth]

    # On a plane n · p = d in the camera's frame, 1 / depth is affine on the screen.
    chosen = numbers[order]
    chosen_normals = mesh.normals[chosen]
    normals = np.stack([dot(chosen_normals, axis) for axis in axes], axis=-1)
    scaled_distances = distances[chosen] * focal
    planes = normals / scaled_distances[:, None]
    planes[:, 2] *= focal
    return _Projection(
        chosen,
        local[order],
        u[order],
        v[order],
        planes,
        nearest[order],
    )


def _clipped(corners: Floats, focal: float) -> tuple[list[float], list[float]]:
    """Return the corners (u, v) of the part of a face that is at least ``NEAR`` in front.

    ``corners`` (corners, 3) are metres to the right, down and forward of the camera; u and v are
    pixels from the center of the picture, as is the focal length. Both lists are empty for a face
    that is nearer, or behind the camera.
    """
    u = []
    v = []
    start_x, start_y, start_z = corners[-1].tolist()
    for end_x, end_y, end_z in corners.tolist():
        # An edge adds its end if that is in front, and where it passes the near plane.
        kept = []
        starts_in_front = start_z >= NEAR
        ends_in_front = end_z >= NEAR
        if starts_in_front != ends_in_front:
            share = (NEAR - start_z) / (end_z - start_z)
            x = start_x + (end_x - start_x) * share
            y = start_y + (end_y - start_y) * share
            kept.append((x, y, NEAR))
        if ends_in_front:
            kept.append((end_x, end_y, end_z))
        for x, y, z in kept:
            # Snapped, like all other corners.
            u.append(round(x * focal / z * SNAP) / SNAP)
            v.append(round(y * focal / z * SNAP) / SNAP)
        start_x = end_x
        start_y = end_y
        start_z = end_z
    return u, v


def _fill(
    mesh: Mesh,
    faces: _Projection,
    size: tuple[int, int],
    focal: float,
) -> tuple[Floats, NDArray[np.int32]]:
    """Return inverse depth and the number of the face in each pixel, both (rows, columns).

    0 and -1 for the sky.
    """
    rows, columns = size
    inverse = np.zeros(size)
    shown = np.full(size, -1, np.int32)
    x = _pixel_centers(columns)
    y = _pixel_centers(rows)
    # Lists, because single numbers of arrays are slow to read.
    counts = mesh.counts[faces.numbers].tolist()
    numbers = faces.numbers.tolist()
    nearest = faces.nearest.tolist()
    planes = faces.planes.tolist()
    all_u = faces.u.tolist()
    all_v = faces.v.tolist()
    for index, count in enumerate(counts):
        u = all_u[index][:count]
        v = all_v[index][:count]
        if nearest[index] < NEAR:
            u, v = _clipped(faces.corners[index, :count], focal)
            if len(u) < 3:
                continue
        left, right = _pixel_range(u, columns)
        top, bottom = _pixel_range(v, rows)
        if left >= right or top >= bottom:
            continue
        old = inverse[top:bottom, left:right]
        # Most far faces are hidden completely: no corner is nearer than what is there.
        depth = nearest[index]
        if depth > NEAR and old.min() * depth >= 1.0:
            continue
        xs = x[left:right]
        ys = y[top:bottom]
        low, high = _spans(u, v, ys)
        across, along, constant = planes[index]
        of_row = along * ys + constant
        value = of_row[:, None] + across * xs
        # Pixels between the polygon's edges that nothing nearer covers.
        visible = value > old
        visible &= xs >= low[:, None]
        visible &= xs <= high[:, None]
        np.copyto(old, value, where=visible)
        part = shown[top:bottom, left:right]
        np.copyto(part, numbers[index], where=visible)
    return inverse, shown


def _pixel_centers(count: int) -> Floats:
    """Return the centers of a row's or a column's pixels, from the center of the picture."""
    first = 0.5 - count / 2
    return np.arange(count, dtype=np.float64) + first


def _pixel_range(positions: list[float], count: int) -> tuple[int, int]:
    """Return the first pixel whose center may be within a face's corners, and the one
    after the last.
    """
    middle = count / 2
    first = math.ceil(min(positions) + middle - 0.5)
    last = math.floor(max(positions) + middle - 0.5)
    return max(0, first), min(count, last + 1)


def _spans(
    u: list[float],
    v: list[float],
    ys: Floats,
) -> tuple[Floats, Floats]:
    """Return, for each row, the first and last column coordinate inside a convex polygon.

    All coordinates are pixels from the center of the picture, v and ``ys`` downwards. ``u`` and
    ``v`` are the corners, counterclockwise in the picture; ``ys`` (rows,) must not lie above or
    below them, since edges count as endless lines. Both results are (rows,).
    """
    low = np.full(len(ys), -np.inf)
    high = np.full(len(ys), np.inf)
    for corner, (end_u, end_v) in enumerate(zip(u, v, strict=True)):
        start_u = u[corner - 1]
        start_v = v[corner - 1]
        change = end_v - start_v
        if change == 0.0:  # a level edge bounds rows, not columns
            continue
        # Where the edge's line crosses each row.
        slope = (end_u - start_u) / change
        crossing = start_u + slope * (ys - start_v)
        # Counterclockwise, a polygon lies right of the edges that go down the picture.
        if change > 0.0:
            np.maximum(low, crossing, out=low)
        else:
            np.minimum(high, crossing, out=high)
    # Snapped corners leave cracks where one face's corner lies on another's edge: one step of the
    # grid closes them.
    return low - 1.0 / SNAP, high + 1.0 / SNAP


def _paint_patterns(
    mesh: Mesh,
    camera: PinholeCamera,
    focal: float,
    shown: NDArray[np.int32],
    depth: Floats,
    color: NDArray[np.uint8],
) -> None:
    """Paint faces with several colors by their points' positions in the world, in ``color``.

    ``shown`` and ``depth`` (rows, columns) are those of :func:`_fill`, depth in metres.
    """
    rows, columns = shown.shape
    patterned = np.append(mesh.color_counts > 1, np.False_)
    row, column = np.nonzero(patterned[shown])
    if not len(row):
        return
    face = shown[row, column]

    # Each pixel's point in the camera's frame.
    distance = depth[row, column]
    from_middle_u = column + (0.5 - columns / 2)
    from_middle_v = row + (0.5 - rows / 2)
    right = from_middle_u * distance / focal
    down = from_middle_v * distance / focal

    # The number of its cell: the sum over the axes along which the pattern repeats.
    right_axis, down_axis, ahead_axis = _axes(camera)
    cell = np.zeros(len(row), np.int64)
    for axis in range(3):
        point = right * right_axis[axis]
        point = point + down * down_axis[axis]
        point = point + distance * ahead_axis[axis]
        point += camera.position[axis] + OFFSET
        extent = mesh.extents[face, axis]
        repeats = extent > 0.0
        steps = np.floor(point[repeats] / extent[repeats])
        cell[repeats] += steps.astype(np.int64)
    turn = cell % mesh.color_counts[face]
    color[row, column] = mesh.colors[face, turn]


def _outline(
    color: NDArray[np.uint8],
    shown: NDArray[np.int32],
    ids: NDArray[np.int32],
    depth: Floats,
) -> None:
    """Darken the borders of faces a little, and those of objects more, in ``color``."""
    near = depth < OUTLINED_WITHIN
    for plane, eighths in ((shown, 7), (ids, 5)):
        # Pixels that differ from the one to the left, or from the one above.
        border = np.zeros(plane.shape, np.bool_)
        border[:, 1:] = plane[:, 1:] != plane[:, :-1]
        border[1:] |= plane[1:] != plane[:-1]
        border &= near
        # Wider numbers, so that the product does not overflow.
        bright = color[border].astype(np.uint16)
        color[border] = bright * eighths // 8
