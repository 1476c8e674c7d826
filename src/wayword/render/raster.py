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

from wayword.core.sight import Frame

Floats = NDArray[np.float64]

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
    """Faces that may be visible, nearest first: their ``numbers`` in the mesh, corners in the
    camera's frame (N, K, 3), and in pixels from the picture's center (N, K) along ``u`` (right)
    and ``v`` (down). ``planes`` (N, 3): inverse depth is planes · (u, v, 1). ``nearest`` (N,): the
    depth of the nearest corner."""

    numbers: NDArray[np.intp]
    corners: Floats
    u: Floats
    v: Floats
    planes: Floats
    nearest: Floats


def draw(
    mesh: Mesh, camera: PinholeCamera, size: tuple[int, int] = (360, 480)
) -> Frame:
    """Draw a mesh. ``size`` is (rows, columns)."""
    focal = size[1] / 2 / math.tan(math.radians(camera.width / 2))
    faces = _project(mesh, camera, size, focal)
    inverse, shown = _fill(mesh, faces, size, focal)
    # The last row of these tables is the sky, which the number -1 selects.
    ids = np.append(mesh.ids, np.int32(0))[shown]
    sky = np.array(mesh.sky, np.uint8)[None]
    color = np.concatenate([mesh.colors[:, 0], sky])[shown]
    with np.errstate(divide="ignore"):
        depth = 1.0 / inverse
    _paint_patterns(mesh, camera, focal, shown, depth, color)
    _outline(color, shown, ids, depth)
    return Frame(color, depth, ids)


def _axes(camera: PinholeCamera) -> list[list[float]]:
    """Return the camera's axes in the world: right, down, ahead."""
    turn = math.radians(camera.heading)
    rise = math.radians(camera.elevation)
    sin_turn = round(math.sin(turn), DIGITS)
    cos_turn = round(math.cos(turn), DIGITS)
    sin_rise = round(math.sin(rise), DIGITS)
    cos_rise = round(math.cos(rise), DIGITS)
    right = [cos_turn, -sin_turn, 0.0]
    down = [sin_turn * sin_rise, cos_turn * sin_rise, -cos_rise]
    ahead = [sin_turn * cos_rise, cos_turn * cos_rise, sin_rise]
    return [right, down, ahead]


def dot(vectors: Floats, axis: Sequence[float] | Floats) -> Floats:
    """Return the products of vectors (..., 3) with one axis, or with one axis each."""
    axes = np.asarray(axis)
    total: Floats = vectors[..., 0] * axes[..., 0]
    total += vectors[..., 1] * axes[..., 1]
    total += vectors[..., 2] * axes[..., 2]
    return total


def _project(
    mesh: Mesh, camera: PinholeCamera, size: tuple[int, int], focal: float
) -> _Projection:
    """Project the faces that face the camera and touch its view."""
    rows, columns = size
    eye = np.array(camera.position)
    axes = _axes(camera)

    # Faces seen from behind are hidden by the front of their own solid.
    distances = dot(mesh.corners[:, 0] - eye, mesh.normals)
    numbers = np.flatnonzero(distances < 0)
    offsets = mesh.corners[numbers] - eye
    local = np.stack([dot(offsets, axis) for axis in axes], axis=-1)
    nearest = local[..., 2].min(axis=1)
    farthest = local[..., 2].max(axis=1)

    scale = focal / np.maximum(local[..., 2], NEAR)
    u = np.rint(local[..., 0] * scale * SNAP) / SNAP
    v = np.rint(local[..., 1] * scale * SNAP) / SNAP
    across = (u.max(axis=1) > -columns / 2) & (u.min(axis=1) < columns / 2)
    along = (v.max(axis=1) > -rows / 2) & (v.min(axis=1) < rows / 2)
    # A face that reaches behind the camera is clipped later; its pixels here mean nothing.
    visible = (farthest > NEAR) & ((nearest < NEAR) | (across & along))
    order = np.flatnonzero(visible)
    order = order[np.argsort(nearest[order], kind="stable")]

    # On a plane n · p = d in the camera's frame, 1 / depth is affine on the screen.
    chosen = numbers[order]
    normals = np.stack([dot(mesh.normals[chosen], axis) for axis in axes], axis=-1)
    planes = normals / (distances[chosen] * focal)[:, None]
    planes[:, 2] *= focal
    return _Projection(chosen, local[order], u[order], v[order], planes, nearest[order])


def _clipped(corners: Floats, focal: float) -> tuple[list[float], list[float]]:
    """Return the pixels (u, v) of the part of a face that is in front of the camera."""
    u = []
    v = []
    before = corners[-1].tolist()
    for corner in corners.tolist():
        kept = []
        if (before[2] >= NEAR) != (corner[2] >= NEAR):
            share = (NEAR - before[2]) / (corner[2] - before[2])
            x = before[0] + (corner[0] - before[0]) * share
            y = before[1] + (corner[1] - before[1]) * share
            kept.append((x, y, NEAR))
        if corner[2] >= NEAR:
            kept.append(corner)
        for x, y, z in kept:
            u.append(round(x * focal / z * SNAP) / SNAP)
            v.append(round(y * focal / z * SNAP) / SNAP)
        before = corner
    return u, v


def _fill(
    mesh: Mesh, faces: _Projection, size: tuple[int, int], focal: float
) -> tuple[Floats, NDArray[np.int32]]:
    """Return inverse depth (rows, columns) and the number of the face in each pixel, -1 for the
    sky."""
    rows, columns = size
    inverse = np.zeros(size)
    shown = np.full(size, -1, np.int32)
    # Pixel centers, from the center of the picture.
    x = np.arange(columns, dtype=np.float64) + (0.5 - columns / 2)
    y = np.arange(rows, dtype=np.float64) + (0.5 - rows / 2)
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
        left = max(0, math.ceil(min(u) + columns / 2 - 0.5))
        right = min(columns, math.floor(max(u) + columns / 2 - 0.5) + 1)
        top = max(0, math.ceil(min(v) + rows / 2 - 0.5))
        bottom = min(rows, math.floor(max(v) + rows / 2 - 0.5) + 1)
        if left >= right or top >= bottom:
            continue
        old = inverse[top:bottom, left:right]
        # Most far faces are hidden completely: no corner is nearer than what is there.
        if nearest[index] > NEAR and old.min() * nearest[index] >= 1.0:
            continue
        xs = x[left:right]
        ys = y[top:bottom]
        low, high = _spans(u, v, ys)
        across, along, constant = planes[index]
        value = (along * ys + constant)[:, None] + across * xs
        visible = value > old
        visible &= xs >= low[:, None]
        visible &= xs <= high[:, None]
        np.copyto(old, value, where=visible)
        np.copyto(shown[top:bottom, left:right], numbers[index], where=visible)
    return inverse, shown


def _spans(u: list[float], v: list[float], ys: Floats) -> tuple[Floats, Floats]:
    """Return, for each row, the first and last column coordinate inside a convex polygon."""
    low = np.full(len(ys), -np.inf)
    high = np.full(len(ys), np.inf)
    for corner, (end_u, end_v) in enumerate(zip(u, v, strict=True)):
        start_u = u[corner - 1]
        start_v = v[corner - 1]
        change = end_v - start_v
        if change == 0.0:
            continue
        crossing = start_u + (end_u - start_u) / change * (ys - start_v)
        # Counterclockwise, a polygon lies right of the edges that go down the picture.
        if change > 0.0:
            np.maximum(low, crossing, out=low)
        else:
            np.minimum(high, crossing, out=high)
    # Snapped corners leave cracks where one face's corner lies on another's edge.
    return low - 1.0 / SNAP, high + 1.0 / SNAP


def _paint_patterns(
    mesh: Mesh,
    camera: PinholeCamera,
    focal: float,
    shown: NDArray[np.int32],
    depth: Floats,
    color: NDArray[np.uint8],
) -> None:
    """Paint faces with several colors by their points' positions in the world."""
    rows, columns = shown.shape
    patterned = np.append(mesh.color_counts > 1, np.False_)
    row, column = np.nonzero(patterned[shown])
    if not len(row):
        return
    face = shown[row, column]
    distance = depth[row, column]
    right = (column + (0.5 - columns / 2)) * distance / focal
    down = (row + (0.5 - rows / 2)) * distance / focal
    axes = _axes(camera)
    cell = np.zeros(len(row), np.int64)
    for axis in range(3):
        point = right * axes[0][axis] + down * axes[1][axis] + distance * axes[2][axis]
        point += camera.position[axis] + OFFSET
        extent = mesh.extents[face, axis]
        counted = extent > 0.0
        cell[counted] += np.floor(point[counted] / extent[counted]).astype(np.int64)
    color[row, column] = mesh.colors[face, cell % mesh.color_counts[face]]


def _outline(
    color: NDArray[np.uint8],
    shown: NDArray[np.int32],
    ids: NDArray[np.int32],
    depth: Floats,
) -> None:
    """Darken the borders of faces a little, and those of objects more."""
    near = depth < OUTLINED_WITHIN
    for plane, numerator in ((shown, 7), (ids, 5)):
        border = np.zeros(plane.shape, np.bool_)
        border[:, 1:] = plane[:, 1:] != plane[:, :-1]
        border[1:] |= plane[1:] != plane[:-1]
        border &= near
        color[border] = color[border].astype(np.uint16) * numerator // 8
