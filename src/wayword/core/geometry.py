"""Plane geometry: headings, distances, segments, boxes. Lengths in metres, angles in degrees.

Headings are degrees clockwise from north (+y). Array versions of functions broadcast and have
plural names (``bearing``, ``bearings``): :mod:`math` and numpy may round the last bit differently,
and replay of recorded episodes depends on it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise, product
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Point = tuple[float, float]
"""x (east), y (north)"""
Segment = tuple[Point, Point]
Box = tuple[float, float, float, float]
"""west, south, east, north"""
Corner = TypeVar("Corner")


def plain_sum(values: Iterable[float]) -> float:
    """Return the sum, rounded after each term.

    The built-in ``sum`` compensates for rounding since Python 3.12, and generated
    places must be identical on every version of Python.
    """
    total = 0.0
    for value in values:
        total += value
    return total


def path_length(path: Sequence[Sequence[float]]) -> float:
    """Return the length of a path, in the unit of its coordinates."""
    return plain_sum(math.dist(p, q) for p, q in pairwise(path))


def exceeds(metres: float, other: float) -> bool:
    """True if a path's length is above another by more than half a metre and a tenth, which other
    grids and bodies explain.

    >>> exceeds(4.2, 3.73), exceeds(9.0, 3.73)
    (False, True)
    """
    return metres > 1.1 * other + 0.5


# Headings and angles.

_CARDINAL_UNITS = {
    0.0: (0.0, 1.0),
    90.0: (1.0, 0.0),
    180.0: (0.0, -1.0),
    270.0: (-1.0, 0.0),
}
"""Heading -> its exact direction (east, north)."""


def absolute(degrees: float) -> float:
    """Return the same heading in [0, 360)."""
    wrapped = degrees % 360.0
    return 0.0 if wrapped == 360.0 else wrapped  # -1e-15 % 360 rounds up to 360.0


HALF_TURN = 180.0 + 1e-9
"""Turns up to this angle are to the right (degrees). Processors differ in the last bits of an
arctangent, and a half turn would be ``right 180.00`` on one and ``left 180.00`` on another."""


def relative(heading: float, facing: float) -> float:
    """Return the angle from ``facing`` to ``heading`` in (-180, 180], right positive.

    >>> relative(180.0 + 1e-13, 0.0), relative(181.0, 0.0)
    (180.0, -179.0)
    """
    turn = absolute(heading - facing)
    if turn > HALF_TURN:
        return turn - 360.0
    return min(turn, 180.0)


def angles_apart(headings: Floats, facing: float) -> Floats:
    """Return (N,) unsigned angles between headings and ``facing``, 0 to 180."""
    # Shifted by half a turn, so that the modulus folds to the nearer side.
    return np.asarray(np.abs((headings - facing + 180) % 360 - 180))


def sector(heading: float, sectors: int = 8) -> int:
    """Return the sector of a heading: sector 0 is centered on north, the others clockwise."""
    # The modulus joins the two halves of north.
    return round(absolute(heading) / (360.0 / sectors)) % sectors


def unit(heading: float) -> Point:
    """Return the direction (east, north) of a heading, exact in the four cardinal directions.

    cos(90°) is 6e-17 in floating point, which would make a body drift off its axis.
    """
    exact = _CARDINAL_UNITS.get(heading)
    if exact is not None:
        return exact
    angle = math.radians(heading)
    return math.sin(angle), math.cos(angle)


def displaced(start: Point, heading: float, length: float) -> Point:
    """Return the point at a length from ``start`` in the direction of a heading."""
    angle = math.radians(heading)
    x, y = start
    return x + length * math.sin(angle), y + length * math.cos(angle)


def bearing(start: Point, end: Point) -> float:
    """Return the heading from one point to another, in [0, 360); 0 if the points are equal.

    >>> bearing((0, 0), (1, 0)), bearing((2, 2), (1, 1))
    (90.0, 225.0)
    """
    east = end[0] - start[0]
    north = end[1] - start[1]
    return absolute(math.degrees(math.atan2(east, north)))


def bearings(east: ArrayLike, north: ArrayLike) -> Floats:
    """Return headings of displacements, in [-180, 180]."""
    return np.asarray(np.degrees(np.arctan2(east, north)))


def elevation(rise: float, away: float) -> float:
    """Return the angle above the horizon of a point ``rise`` metres up and ``away`` metres off."""
    return math.degrees(math.atan2(rise, away))


def elevations(rise: ArrayLike, away: ArrayLike) -> Floats:
    """Return angles above the horizon; array version of :func:`elevation`."""
    return np.asarray(np.degrees(np.arctan2(rise, away)))


def apparent_size(
    width_m: float,
    bottom: float,
    top: float,
    away: float,
) -> tuple[float, float]:
    """Return the angular width and height (degrees) of an object ``width_m`` wide, seen from
    ``away`` metres; ``bottom`` and ``top`` are heights relative to the eye."""
    # Both halves of the width subtend the same angle.
    angular_width = 2 * math.degrees(math.atan(width_m / 2 / away))
    angular_height = math.atan2(top, away) - math.atan2(bottom, away)
    return angular_width, math.degrees(angular_height)


# Points, segments, polygons and boxes.


def inside_polygon(x: float, y: float, polygon: tuple[Point, ...]) -> bool:
    """True if a point is inside (even-odd rule)."""
    # Each edge that a ray to the east crosses changes the side.
    inside = False
    ax, ay = polygon[-1]
    for bx, by in polygon:
        if (ay > y) != (by > y) and x < (bx - ax) * (y - ay) / (by - ay) + ax:
            inside = not inside
        ax = bx
        ay = by
    return inside


def polygon_distance(x: float, y: float, polygon: tuple[Point, ...]) -> float:
    """Return the distance from a point to the outline of a polygon."""
    return min(point_segment_distance(x, y, *a, *b) for a, b in sides(polygon))


def sides(polygon: tuple[Point, ...]) -> list[Segment]:
    """Return the sides of a polygon, each from a corner to the next one, the last closing it."""
    return list(zip(polygon, polygon[1:] + polygon[:1], strict=True))


def point_segment_distance(
    x: float,
    y: float,
    ax: float,
    ay: float,
    bx: float,
    by: float,
) -> float:
    """Return the distance from a point to a segment."""
    sx = bx - ax
    sy = by - ay
    squared = sx * sx + sy * sy
    if squared == 0:
        # Both ends in one place: the segment is a point.
        t = 0.0
    else:
        # Clipped to the segment: beyond its ends, an end is the nearest point.
        t = min(1.0, max(0.0, ((x - ax) * sx + (y - ay) * sy) / squared))
    return math.hypot(ax + t * sx - x, ay + t * sy - y)


def segment_distances(
    x: ArrayLike,
    y: ArrayLike,
    ax: ArrayLike,
    ay: ArrayLike,
    bx: ArrayLike,
    by: ArrayLike,
) -> Floats:
    """Return distances from points to segments, broadcast."""
    sx = np.subtract(bx, ax)
    sy = np.subtract(by, ay)
    # A zero-length segment would divide 0 by 0; with the floor, t is 0: the distance to a.
    squared = np.maximum(sx * sx + sy * sy, 1e-12)  # square metres
    along = np.subtract(x, ax) * sx + np.subtract(y, ay) * sy
    t = np.clip(along / squared, 0.0, 1.0)
    return np.asarray(np.hypot(ax + t * sx - x, ay + t * sy - y))


def crossing(p: Point, q: Point, a: Point, b: Point) -> bool:
    """True if two segments cross or touch; False for parallel ones, even if they overlap.

    ``segment_distance`` measures those at their ends.
    """
    # Solve p + t r = a + u s for t and u.
    rx = q[0] - p[0]
    ry = q[1] - p[1]
    sx = b[0] - a[0]
    sy = b[1] - a[1]
    denominator = rx * sy - ry * sx
    # Parallel lines have no single crossing. Exact: nearly parallel ones have one far away, or at
    # an end.
    if denominator == 0:
        return False
    dx = a[0] - p[0]
    dy = a[1] - p[1]
    t = (dx * sy - dy * sx) / denominator
    u = (dx * ry - dy * rx) / denominator
    return 0 <= t <= 1 and 0 <= u <= 1


def segment_distance(p: Point, q: Point, a: Point, b: Point) -> float:
    """Return the distance between two segments, 0 if they cross."""
    # Two crossing segments meet; others are nearest at one of their four ends.
    if crossing(p, q, a, b):
        return 0.0
    return min(
        point_segment_distance(*p, *a, *b),
        point_segment_distance(*q, *a, *b),
        point_segment_distance(*a, *p, *q),
        point_segment_distance(*b, *p, *q),
    )


def bounding_box(points: Iterable[Point]) -> Box:
    """Return the smallest box around points, of which there must be at least one."""
    xs, ys = zip(*points, strict=True)
    return min(xs), min(ys), max(xs), max(ys)


def box_around(x: float, y: float, width: float, depth: float) -> Box:
    """Return the box of a width (east) and a depth (north) around its center."""
    half_width = width / 2
    half_depth = depth / 2
    return x - half_width, y - half_depth, x + half_width, y + half_depth


def box_corners(box: Box) -> tuple[Point, Point, Point, Point]:
    """Return the corners of a box, counterclockwise from the south-west."""
    west, south, east, north = box
    return (
        (west, south),
        (east, south),
        (east, north),
        (west, north),
    )


def box_distance(x: float, y: float, box: Box) -> float:
    """Return the distance from a point to a box, 0 inside."""
    west, south, east, north = box
    # 0 on each axis along which the point is inside.
    dx = max(west - x, 0.0, x - east)
    dy = max(south - y, 0.0, y - north)
    return math.hypot(dx, dy)


def box_distances(x: float, y: float, boxes: Floats) -> Floats:
    """Return distances (N,) from a point to boxes (4, N), 0 inside."""
    west, south, east, north = boxes
    dx = np.maximum(west - x, x - east)
    dy = np.maximum(south - y, y - north)
    return np.asarray(np.hypot(np.maximum(dx, 0.0), np.maximum(dy, 0.0)))


def enters(p: Point, q: Point, box: Box) -> bool:
    """True if the segment from ``p`` to ``q`` passes through the interior of a box (slab test)."""
    # The shares of the segment at which it enters and leaves the slabs of both axes.
    enter = 0.0
    leave = 1.0
    for start, end, low, high in (
        (p[0], q[0], box[0], box[2]),
        (p[1], q[1], box[1], box[3]),
    ):
        step = end - start
        # Parallel to this axis: inside the slab all along, or never.
        if step == 0:
            if start <= low or start >= high:
                return False
            continue
        t_in = (low - start) / step
        t_out = (high - start) / step
        enter = max(enter, min(t_in, t_out))
        leave = min(leave, max(t_in, t_out))
    # Touching an edge is no entry.
    return enter < leave


_MIN_WALL_M = 1e-9
"""Pieces of wall up to this length (metres) are rounding errors and dropped."""


def leftover(wall: Segment, gap: Segment, slack: float = 0.15) -> list[Segment]:
    """Return the parts of a wall outside a gap, such as a doorway; the full wall if it has no gap.

    The gap belongs to the wall if both its ends are within ``slack`` metres of the wall's line:
    doors may be recorded on either face of the real wall.
    """
    (ax, ay), (bx, by) = wall
    length = math.hypot(bx - ax, by - ay)
    if length == 0:
        return []
    # Unit vector along the wall; across it is at a right angle.
    ux = (bx - ax) / length
    uy = (by - ay) / length
    along = sorted((x - ax) * ux + (y - ay) * uy for x, y in gap)
    offset = max(abs((x - ax) * uy - (y - ay) * ux) for x, y in gap)
    # Only the part of the gap that is on the wall counts.
    start = max(0.0, along[0])
    end = min(length, along[1])
    if offset > slack or end - start < _MIN_WALL_M:
        return [wall]
    # What is left on both sides.
    pieces = []
    if start > _MIN_WALL_M:
        pieces.append(((ax, ay), (ax + start * ux, ay + start * uy)))
    if length - end > _MIN_WALL_M:
        pieces.append(((ax + end * ux, ay + end * uy), (bx, by)))
    return pieces


# Grids and paths.

_CELL_TOLERANCE = 1e-6
"""Fraction of a cell. A point on the border of two cells belongs to the upper one, even if rounding
put it slightly below."""


def grid_rectangles(
    cells: Iterable[tuple[int, int]],
) -> list[tuple[int, int, int, int]]:
    """Return rectangles that together cover cells (row, column), none twice.

    First and last column, first and last row, the last ones excluded. Each is as long as its first
    row allows.
    """
    free = set(cells)
    runs = []
    while free:
        top, left = min(free)
        right = left
        while (top, right) in free:
            right += 1
        bottom = top + 1
        # Down as long as the whole row is set: a stem of a letter is one rectangle.
        while all((bottom, column) in free for column in range(left, right)):
            bottom += 1
        runs.append((left, right, top, bottom))
        free.difference_update(product(range(top, bottom), range(left, right)))
    return runs


def cut_out(box: Box, holes: Iterable[Box]) -> list[Box]:
    """Return boxes that together cover a box outside of some holes."""
    west, south, east, north = box
    # No hole reaches beyond the box.
    clipped = []
    for w, s, e, n in holes:
        hole = max(w, west), max(s, south), min(e, east), min(n, north)
        if hole[0] < hole[2] and hole[1] < hole[3]:
            clipped.append(hole)
    # A grid through all sides.
    xs = sorted(
        {west, east, *(hole[0] for hole in clipped), *(hole[2] for hole in clipped)}
    )
    ys = sorted(
        {south, north, *(hole[1] for hole in clipped), *(hole[3] for hole in clipped)}
    )
    cells = set(product(range(len(ys) - 1), range(len(xs) - 1)))
    for w, s, e, n in clipped:
        rows = range(ys.index(s), ys.index(n))
        columns = range(xs.index(w), xs.index(e))
        cells.difference_update(product(rows, columns))
    return [(xs[w], ys[s], xs[e], ys[n]) for w, e, s, n in grid_rectangles(cells)]


def grid_index(x: float, origin: float, spacing: float) -> int:
    """Return the index i of the nearest cell center, ``origin + i * spacing``."""
    return math.floor((x - origin) / spacing + 0.5 + _CELL_TOLERANCE)


def grid_lookup(
    cells: Bools,
    x: Floats,
    y: Floats,
    origin: Point,
    spacing: float,
) -> Bools:
    """Return values (N,) of the ``cells`` (H, W) nearest to N points, False outside the grid."""
    # The same rule as ``grid_index``, for arrays.
    i = np.floor((x - origin[0]) / spacing + 0.5 + _CELL_TOLERANCE).astype(np.intp)
    j = np.floor((y - origin[1]) / spacing + 0.5 + _CELL_TOLERANCE).astype(np.intp)
    rows, columns = cells.shape
    inside = (i >= 0) & (j >= 0) & (i < columns) & (j < rows)
    found = np.zeros(inside.shape, dtype=np.bool_)
    found[inside] = cells[j[inside], i[inside]]
    return found


def string_pull(
    path: Sequence[Corner],
    clear: Callable[[Corner, Corner], bool],
    coarse: bool = False,
) -> list[Corner]:
    """Return the path without the corners that can be skipped (greedy string pulling).

    >>> string_pull([0, 1, 2, 3, 4], lambda a, b: b - a <= 2)
    [0, 2, 4]

    Each kept corner is followed by the last one to which the straight line is ``clear``. With
    ``coarse``, the search shortens the line by a quarter at a time, then extends it corner by
    corner: far fewer checks on long paths, but it may keep a corner that the full search skips.
    """
    corners = [path[0]]
    current = 0
    last = len(path) - 1
    while current < last:
        # Back from the end of the path to a corner with a clear line.
        step = last - current
        while step > 1 and not clear(path[current], path[current + step]):
            # By a quarter: a compromise between checks and skipped corners; chosen
            # without measurement.
            step = max(1, step * 3 // 4) if coarse else step - 1
        while (
            coarse
            and current + step < last
            and clear(path[current], path[current + step + 1])
        ):
            step += 1
        current += step
        corners.append(path[current])
    return corners
