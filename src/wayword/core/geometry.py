"""Plane geometry on plain numbers: polygons, segments, boxes. Lengths in metres."""

from __future__ import annotations

import math

# The heading convention: degrees clockwise from north (+y).
#
# Convert once, at the dataset's door.


def absolute(degrees: float) -> float:
    """The same heading in [0, 360)."""
    wrapped = degrees % 360.0
    return 0.0 if wrapped == 360.0 else wrapped  # -1e-15 % 360 rounds up to 360.0


def relative(heading: float, facing: float) -> float:
    """The angle from ``facing`` to ``heading`` in (-180, 180], right positive."""
    turn = absolute(heading - facing)
    return turn - 360.0 if turn > 180.0 else turn


def sector(heading: float, sectors: int = 8) -> int:
    """The sector a heading falls in; sector 0 is centred on north, and they go clockwise."""
    return round(absolute(heading) / (360.0 / sectors)) % sectors


Point = tuple[float, float]
Segment = tuple[Point, Point]
Box = tuple[float, float, float, float]
"""west, south, east, north"""

_EXACT = {0.0: (0.0, 1.0), 90.0: (1.0, 0.0), 180.0: (0.0, -1.0), 270.0: (-1.0, 0.0)}


def unit(heading: float) -> Point:
    """The direction (east, north) of a heading, exact at the four main ones."""
    found = _EXACT.get(heading)
    if found is None:
        angle = math.radians(heading)
        found = (math.sin(angle), math.cos(angle))
    return found


def inside_polygon(x: float, y: float, polygon: tuple[Point, ...]) -> bool:
    """Whether a point is inside (even-odd rule)."""
    inside = False
    ax, ay = polygon[-1]
    for bx, by in polygon:
        if (ay > y) != (by > y) and x < (bx - ax) * (y - ay) / (by - ay) + ax:
            inside = not inside
        ax, ay = bx, by
    return inside


def polygon_distance(x: float, y: float, polygon: tuple[Point, ...]) -> float:
    """From a point to a polygon's rim."""
    ends = polygon[1:] + polygon[:1]
    return min(point_segment(x, y, *a, *b) for a, b in zip(polygon, ends, strict=True))


def point_segment(x: float, y: float, ax: float, ay: float, bx: float, by: float) -> float:
    """From a point to a segment."""
    sx, sy = bx - ax, by - ay
    long = sx * sx + sy * sy
    t = 0.0 if long == 0 else min(1.0, max(0.0, ((x - ax) * sx + (y - ay) * sy) / long))
    return math.hypot(ax + t * sx - x, ay + t * sy - y)


def crossing(p: Point, q: Point, a: Point, b: Point) -> bool:
    """Whether two segments cross or touch, parallel ones left out."""
    rx, ry, sx, sy = q[0] - p[0], q[1] - p[1], b[0] - a[0], b[1] - a[1]
    denominator = rx * sy - ry * sx
    if denominator == 0:
        return False
    dx, dy = a[0] - p[0], a[1] - p[1]
    t, u = (dx * sy - dy * sx) / denominator, (dx * ry - dy * rx) / denominator
    return 0 <= t <= 1 and 0 <= u <= 1


def segment_distance(p: Point, q: Point, a: Point, b: Point) -> float:
    """Between two segments."""
    if crossing(p, q, a, b):
        return 0.0
    return min(
        point_segment(*p, *a, *b),
        point_segment(*q, *a, *b),
        point_segment(*a, *p, *q),
        point_segment(*b, *p, *q),
    )


def enters(p: Point, q: Point, box: Box) -> bool:
    """Whether the segment from ``p`` to ``q`` passes through the inside of a box."""
    first, last = 0.0, 1.0
    for start, end, low, high in ((p[0], q[0], box[0], box[2]), (p[1], q[1], box[1], box[3])):
        step = end - start
        if step == 0:
            if start <= low or start >= high:
                return False
            continue
        near, far = (low - start) / step, (high - start) / step
        first, last = max(first, min(near, far)), min(last, max(near, far))
    return first < last


def leftover(wall: Segment, gap: Segment, aside: float = 0.15) -> list[Segment]:
    """What remains of a wall once a gap along it is cut out; the wall itself where none is.

    The gap counts where both its ends lie within ``aside`` of the wall's line.
    """
    (ax, ay), (bx, by) = wall
    length = math.hypot(bx - ax, by - ay)
    if length == 0:
        return []
    ux, uy = (bx - ax) / length, (by - ay) / length
    along = sorted((x - ax) * ux + (y - ay) * uy for x, y in gap)
    off = max(abs((x - ax) * uy - (y - ay) * ux) for x, y in gap)
    start, end = max(0.0, along[0]), min(length, along[1])
    if off > aside or end - start < 1e-9:
        return [wall]
    parts = []
    if start > 1e-9:
        parts.append(((ax, ay), (ax + start * ux, ay + start * uy)))
    if length - end > 1e-9:
        parts.append(((ax + end * ux, ay + end * uy), (bx, by)))
    return parts
