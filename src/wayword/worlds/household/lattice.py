"""Lattice: the places a body gets to by whole steps, and the shortest ways between them.

The lattice is anchored at a body's own place and heading, so that every way on it is a list of
turns and steps that the body can carry out. It is kept with the layout: a body that only turns and
steps stays on one lattice.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wayword.core.geometry import Box, Point, Segment, grid_indices, segment_distances, unit
from wayword.worlds.household.layout import DOORWAY, SLACK, Floats, Ints, Layout
from wayword.worlds.household.scene import Floor, Room
from wayword.worlds.household.verbs import Body

MARGIN = -0.5 * SLACK
"""Ways keep half the slack of a step, so that rounding never makes a planned step fail."""
DIRECTIONS = ((0, 1), (1, 0), (0, -1), (-1, 0))
"""Ahead, right, back, left of the lattice's own north, as (i, j)."""


@dataclass(frozen=True, slots=True, eq=False)
class Lattice:
    """``x``, ``y`` (P,) places; ``ways`` (P, 4) the place a step leads to in each direction, -1
    for none. Direction k has the heading ``turn + 90 k``. ``doors`` gives, for each door, the
    (place, direction) pairs, flat indices into ``ways``, that it stops when shut."""

    turn: float
    wide: int
    x: Floats
    y: Floats
    ways: Ints
    doors: tuple[NDArray[np.intp], ...]

    def nearest(self, x: float, y: float) -> int:
        """The place nearest to a point."""
        return int(np.argmin((self.x - x) ** 2 + (self.y - y) ** 2))


def lattice(layout: Layout, body: Body, x: float, y: float, heading: float) -> Lattice:
    """The lattice through a body's place, its directions reached by whole pans and turns."""
    # Headings add up from many turns: round them, so that equal lattices share one key.
    turn = heading % body.fine_turn
    turn = 0.0 if turn < 1e-6 or body.fine_turn - turn < 1e-6 else round(turn, 6)
    east, north = unit(turn)
    offset = [_offset(x * north - y * east, body.step), _offset(x * east + y * north, body.step)]
    key = (turn, *offset, body.step, body.radius)
    found = layout.lattices.get(key)
    if not isinstance(found, Lattice):
        if len(layout.lattices) >= 64:
            layout.lattices.clear()
        found = layout.lattices[key] = _build(layout, body, turn, offset)
    return found


def field(ways: Ints, start: int) -> Ints:
    """(P,) steps from ``start`` to every place, -1 where there is no way."""
    # Lists: an array operation for each ring of places costs more than the rings of a home hold.
    flat = ways.ravel().tolist()
    steps = [-1] * len(ways)
    steps.append(0)  # where the way -1 leads: taken
    steps[start] = count = 0
    front = [start]
    while front:
        count += 1
        reached = []
        for here in front:
            for there in flat[4 * here : 4 * here + 4]:
                if steps[there] < 0:
                    steps[there] = count
                    reached.append(there)
        front = reached
    return np.array(steps[:-1], dtype=np.int32)


def path(ways: Ints, steps: Ints, goal: int) -> list[int]:
    """The directions of a shortest way to ``goal`` in a field of steps, with few turns."""
    found: list[int] = []
    here, last = goal, -1
    while steps[here] > 0:
        # Ways go both directions, so the way back from here names the place before.
        back = ways[here].tolist()
        options = [k for k in range(4) if back[k] >= 0 and steps[back[k]] == steps[here] - 1]
        last = last if last in options else options[0]
        found.append((last + 2) % 4)
        here = back[last]
    return found[::-1]


def _offset(value: float, step: float) -> float:
    return round(value - step * round(value / step), 6)


def _build(layout: Layout, body: Body, turn: float, offset: list[float]) -> Lattice:
    east, north = unit(turn)
    west_, south_, east_, north_ = layout.bounds
    corners = [(cx, cy) for cx in (west_, east_) for cy in (south_, north_)]
    us = [cx * north - cy * east for cx, cy in corners]
    vs = [cx * east + cy * north for cx, cy in corners]
    step = body.step
    i = np.arange(math.floor(min(us) / step) - 1, math.ceil(max(us) / step) + 2)
    j = np.arange(math.floor(min(vs) / step) - 1, math.ceil(max(vs) / step) + 2)
    u, v = np.meshgrid(i * step + offset[0], j * step + offset[1])  # (high, wide)
    x, y = (u * north + v * east).ravel(), (v * north - u * east).ravel()
    high, wide = u.shape
    free = _Ways(x, y, (high, wide), step)
    if layout.scene.floor is not None:
        free.pave(layout.scene.floor)
    else:
        free.keep(free.indoors(layout.scene.rooms))
        for wall in layout.walls:
            free.cut(free.close_to(wall, body.radius))
        for _, box in layout.boxes:
            free.cut(free.through(box, body.radius))
    doors = tuple(free.flat(free.close_to(leaf, body.radius)) for leaf in layout.doors)
    return Lattice(turn, wide, x, y, free.ways(), doors)


def within(x: Floats, y: Floats, polygon: tuple[Point, ...]) -> NDArray[np.bool_]:
    """(P,) which points are inside a polygon (even-odd rule)."""
    inside = np.zeros(len(x), dtype=np.bool_)
    ax, ay = polygon[-1]
    for bx, by in polygon:
        if by != ay:
            inside ^= ((ay > y) != (by > y)) & (x < (bx - ax) * (y - ay) / (by - ay) + ax)
        ax, ay = bx, by
    return inside


class _Ways:
    """The steps of a lattice under construction, cut one obstacle at a time.

    Only steps ahead and to the right are held (``open`` (2, P)); the others are their mirrors.
    """

    def __init__(self, x: Floats, y: Floats, shape: tuple[int, int], step: float) -> None:
        self.x, self.y, self.step = x, y, step
        high, wide = shape
        number = np.arange(high * wide).reshape(shape)
        ahead, right = np.full((2, high, wide), -1)
        ahead[:-1], right[:, :-1] = number[1:], number[:, 1:]
        self.to = np.stack([ahead.ravel(), right.ravel()])
        self.open = self.to >= 0
        self.order = np.argsort(x, kind="stable")
        self.sorted_x = x[self.order]

    def keep(self, free: NDArray[np.bool_]) -> None:
        """Cut every step that leaves or enters a place that is not free."""
        self.open &= free & free[self.to]

    def indoors(self, rooms: tuple[Room, ...]) -> NDArray[np.bool_]:
        """(P,) which places are in a room, or in a doorway beside one."""
        inside = np.zeros(len(self.x), dtype=np.bool_)
        for room in rooms:
            inside |= within(self.x, self.y, room.polygon)
            corners = room.polygon
            for a, b in zip(corners, corners[1:] + corners[:1], strict=True):
                box = (min(a[0], b[0]), min(a[1], b[1]), max(a[0], b[0]), max(a[1], b[1]))
                near = self._around(box, DOORWAY)
                away = segment_distances(self.x[near], self.y[near], *a, *b)
                inside[near[away < DOORWAY + MARGIN]] = True
        return inside

    def pave(self, floor: Floor) -> None:
        """Cut every step without floor under it, looked at every half cell."""
        count = max(1, math.ceil(2 * self.step / floor.spacing))
        for k in range(2):
            for n in range(count + 1):
                x = self.x + (self.x[self.to[k]] - self.x) * n / count
                y = self.y + (self.y[self.to[k]] - self.y) * n / count
                self.open[k] &= _free(floor, x, y)

    def cut(self, found: tuple[NDArray[np.intp], NDArray[np.bool_]]) -> None:
        near, hit = found
        for k in range(2):
            self.open[k, near[hit[k]]] = False

    def flat(self, found: tuple[NDArray[np.intp], NDArray[np.bool_]]) -> NDArray[np.intp]:
        """Both directions of the steps found, as flat indices into ``ways``."""
        near, hit = found
        pairs: list[NDArray[np.intp]] = []
        for k in range(2):
            start = near[hit[k]]
            start = start[self.to[k, start] >= 0]
            pairs += [start * 4 + k, self.to[k, start] * 4 + k + 2]
        return np.concatenate(pairs)

    def ways(self) -> Ints:
        """(P, 4) as in ``Lattice``."""
        ways = np.full((len(self.x), 4), -1, dtype=np.int32)
        for k in range(2):
            start = np.flatnonzero(self.open[k])
            end = self.to[k, start]
            ways[start, k], ways[end, k + 2] = end, start
        return ways

    def close_to(self, wall: Segment, radius: float) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        """The places around a wall, and which of their steps come closer to it than a radius."""
        (ax, ay), (bx, by) = wall
        box = (min(ax, bx), min(ay, by), max(ax, bx), max(ay, by))
        near = self._around(box, radius + self.step)
        px, py = self.x[near], self.y[near]
        hit = np.zeros((2, len(near)), dtype=np.bool_)
        for k in range(2):
            qx, qy = self.x[self.to[k, near]], self.y[self.to[k, near]]
            hit[k] = _segments((px, py), (qx, qy), wall) < radius + MARGIN
        return near, hit

    def through(self, box: Box, radius: float) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        """The places around a box, and which of their steps enter it, grown by a radius."""
        near = self._around(box, radius + self.step)
        grown = radius + MARGIN
        low, high = (box[0] - grown, box[1] - grown), (box[2] + grown, box[3] + grown)
        hit = np.zeros((2, len(near)), dtype=np.bool_)
        for k in range(2):
            first, last = np.zeros(len(near)), np.ones(len(near))
            for axis, values in enumerate((self.x, self.y)):
                start, step = values[near], values[self.to[k, near]] - values[near]
                # A step along the other axis: any tiny number keeps the slab test free of 0 / 0.
                step = np.where(np.abs(step) < 1e-9, 1e-9, step)
                one, two = (low[axis] - start) / step, (high[axis] - start) / step
                first = np.maximum(first, np.minimum(one, two))
                last = np.minimum(last, np.maximum(one, two))
            hit[k] = first <= last
        return near, hit

    def _around(self, box: Box, by: float) -> NDArray[np.intp]:
        """The places within a box grown by so much."""
        left = int(np.searchsorted(self.sorted_x, box[0] - by))
        right = int(np.searchsorted(self.sorted_x, box[2] + by, side="right"))
        near = self.order[left:right]
        y = self.y[near]
        return near[(y >= box[1] - by) & (y <= box[3] + by)]


def _free(floor: Floor, x: Floats, y: Floats) -> NDArray[np.bool_]:
    wide, high = max(len(row) for row in floor.rows), len(floor.rows)
    cells = np.array([list(row.ljust(wide, "#")) for row in floor.rows]) == "."
    i = grid_indices(x, floor.x, floor.spacing)
    j = grid_indices(y, floor.y, floor.spacing)
    inside = (i >= 0) & (j >= 0) & (i < wide) & (j < high)
    found: NDArray[np.bool_] = cells[np.clip(j, 0, high - 1), np.clip(i, 0, wide - 1)]
    return inside & found


Line = tuple[Floats, Floats]


def _segments(p: Line, q: Line, wall: Segment) -> Floats:
    """Distances from segments p–q to a wall, 0 where they cross."""
    a, b = wall
    rx, ry, sx, sy = q[0] - p[0], q[1] - p[1], b[0] - a[0], b[1] - a[1]
    turn = rx * sy - ry * sx
    dx, dy = a[0] - p[0], a[1] - p[1]
    safe = np.where(turn == 0, 1.0, turn)
    t, u = (dx * sy - dy * sx) / safe, (dx * ry - dy * rx) / safe
    cross = (turn != 0) & (t >= 0) & (t <= 1) & (u >= 0) & (u <= 1)
    away = np.minimum.reduce(
        [
            segment_distances(*p, *a, *b),
            segment_distances(*q, *a, *b),
            segment_distances(*a, *p, *q),
            segment_distances(*b, *p, *q),
        ]
    )
    return np.where(cross, 0.0, away)
