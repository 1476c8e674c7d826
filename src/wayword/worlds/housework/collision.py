"""Collision: whether a body may go from one place to another in a straight line.

A body is a disc against walls, shut doors and other bodies. Against furniture it is a point, and
the furniture's box is grown by the body's radius on all sides. Where the scene publishes a floor,
the floor stands for walls and furniture.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from wayword.worlds.housework.geometry import (
    Point,
    Segment,
    enters,
    point_segment,
    segment_distance,
)
from wayword.worlds.housework.layout import Layout, indoors
from wayword.worlds.housework.scene import Floor

SLACK = 1e-6
"""Bodies may touch what stops them to within this (metres), against rounding."""
Others = Sequence[tuple[int, float, float, float]]
"""The other bodies: number, x, y, radius."""


def obstacle(
    layout: Layout, radius: float, way: Segment, shut: Sequence[bool], others: Others
) -> tuple[str, int] | None:
    """The first thing found in the way: ``("wall", -1)``, ``("furniture", object)``,
    ``("door", door)``, ``("body", actor)`` or, where the house ends, ``("edge", -1)``; None where
    the way is free."""
    p, q = way
    near = layout.near(*p, math.dist(p, q) + radius)
    radius -= SLACK
    for number, leaf in near.doors:
        if shut[number] and segment_distance(p, q, *leaf) < radius:
            return "door", number
    for number, x, y, other in others:
        if point_segment(x, y, *p, *q) < radius + other:
            return "body", number
    floor = layout.scene.floor
    if floor is not None:
        return None if _paved(floor, p, q) else ("wall", -1)
    for wall in near.walls:
        if segment_distance(p, q, *wall) < radius:
            return "wall", -1
    for number, (west, south, east, north) in near.boxes:
        if enters(p, q, (west - radius, south - radius, east + radius, north + radius)):
            return "furniture", number
    return None if indoors(near, *q) else ("edge", -1)


def fits(layout: Layout, radius: float, at: Point, shut: Sequence[bool]) -> bool:
    """Whether a body may stand at a point, other bodies left out."""
    return obstacle(layout, radius, (at, at), shut, ()) is None


def nearest_place(
    layout: Layout, radius: float, at: Point, shut: Sequence[bool], within: float = 3.0
) -> Point | None:
    """The free place nearest to a point on a grid of 0.05 m around it (or on the floor's own
    cells); for starts that a dataset puts into furniture. None where there is none."""
    floor = layout.scene.floor
    spacing = floor.spacing if floor else 0.05
    x0, y0 = at
    if floor:
        x0 = floor.x + round((at[0] - floor.x) / spacing) * spacing
        y0 = floor.y + round((at[1] - floor.y) / spacing) * spacing
    reach = math.ceil(within / spacing)
    steps = [(i, j) for i in range(-reach, reach + 1) for j in range(-reach, reach + 1)]
    places = [(x0 + i * spacing, y0 + j * spacing) for i, j in steps]
    places.sort(key=lambda place: (math.dist(place, at), place))
    if fits(layout, radius, at, shut):
        return at
    return next((p for p in places if fits(layout, radius, p, shut)), None)


def _paved(floor: Floor, p: Point, q: Point) -> bool:
    """Whether floor is under the whole way, looked at every half cell."""
    count = max(1, math.ceil(2 * math.dist(p, q) / floor.spacing))
    return all(
        floor.free(p[0] + (q[0] - p[0]) * i / count, p[1] + (q[1] - p[1]) * i / count)
        for i in range(count + 1)
    )
