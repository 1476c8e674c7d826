"""Layout: the parts of a scene that never move, as arrays.

Things are numbered objects first, then doors, then actors. Walls, door leaves and the sides of
tall furniture become *panels*: upright rectangles that stop looks. What lies near a place is
gathered once a cell of a coarse grid and kept.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from wayword.core.geometry import (
    Box,
    Point,
    Segment,
    box_distances,
    enters,
    inside_polygon,
    point_segment_distance,
    polygon_distance,
    segment_distance,
    segment_distances,
)
from wayword.worlds.household.scene import Floor, Room, Scene

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]

CELL = 1.0
"""Side of a cell of the coarse grid, metres."""
HALF_DIAGONAL = CELL * math.sqrt(0.5)
DOORWAY = 0.3
"""A body this close to a room (metres) is still in the house: rooms may leave gaps for walls."""
LOWEST_EYE = 1.0
"""Furniture lower than this never stops a look, whatever the body; metres."""


@dataclass(frozen=True, slots=True, eq=False)
class Panels:
    """Upright rectangles, S of them, each from a point a to a point b of the plan.

    ``ends`` (S, 4) are a and b. The first ``walls`` of them are walls and doors, from floor to
    ceiling; ``door`` (S,) is the door's number (0 …), or -1. ``boxes`` (6, S) says of the others
    between which heights they stand (low, high), and what furniture they belong to (west, south,
    east, north). Such a panel hides neither its own furniture, nor what lies within its box, nor
    anything from an eye inside the box. ``rim`` are the boxes that reach into the cell these panels
    were gathered for. The rest is worked out once for sight: with s = b - a, ``span`` (S, 2) is
    (sy, -sx), ``along`` (S,) is a × s, and ``crosses`` (3 S, 3) times (rx, ry, r × -e) gives
    r × s, r × (a - e) and r × (b - e).
    """

    ends: Floats
    boxes: Floats
    door: Ints
    walls: int
    rim: tuple[Box, ...] = ()
    span: Floats = field(init=False)
    along: Floats = field(init=False)
    crosses: Floats = field(init=False)

    def __post_init__(self) -> None:
        ax, ay, bx, by = self.ends.T
        sx, sy = bx - ax, by - ay
        zero, one = np.zeros_like(ax), np.ones_like(ax)
        crosses = np.concatenate(
            [np.stack(rows, axis=1) for rows in ((sy, -sx, zero), (ay, -ax, one), (by, -bx, one))]
        )
        object.__setattr__(self, "span", np.stack((sy, -sx), axis=1))
        object.__setattr__(self, "along", ax * sy - ay * sx)
        object.__setattr__(self, "crosses", crosses)

    def around(self, x: float, y: float) -> bool:
        """Whether a point of that cell is inside a box."""
        return any(w <= x <= e and s <= y <= n for w, s, e, n in self.rim)


@dataclass(frozen=True, slots=True)
class Nearby:
    """What may stop a body near a cell: walls, doors (with their numbers), solid boxes; and the
    rooms it may be in."""

    walls: tuple[Segment, ...]
    doors: tuple[tuple[int, Segment], ...]
    boxes: tuple[tuple[int, Box], ...]
    rooms: tuple[Room, ...]


class Layout:
    """A scene's still parts. Share one among all episodes whose rooms and furniture are alike."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.ids = [o.id for o in scene.objects] + [d.id for d in scene.doors]
        self.index = {name: i for i, name in enumerate(self.ids)}
        self.walls: tuple[Segment, ...] = tuple((w.a, w.b) for w in scene.walls)
        self.doors: tuple[Segment, ...] = tuple((d.a, d.b) for d in scene.doors)
        self.boxes: tuple[tuple[int, Box], ...] = tuple(
            (i, (o.x - o.width / 2, o.y - o.depth / 2, o.x + o.width / 2, o.y + o.depth / 2))
            for i, o in enumerate(scene.objects)
            if o.solid
        )
        self.panels = _panels(scene)
        self.bounds = _bounds(scene)
        self.lattices: dict[tuple[float, ...], object] = {}
        """Navigation grids made so far, by :func:`~.lattice.lattice`."""
        self._near: dict[tuple[int, int, float], Nearby] = {}
        self._panes: dict[tuple[int, int, float, float, bytes], Panels] = {}
        self._rooms_at: dict[tuple[float, float], str] = {}
        self.rooms = tuple(room.name for room in scene.rooms)
        self._shapes = (
            np.array([(*a, *b) for a, b in self.walls], dtype=np.float64).reshape(-1, 4).T,
            np.array([(*a, *b) for a, b in self.doors], dtype=np.float64).reshape(-1, 4).T,
            np.array([box for _, box in self.boxes], dtype=np.float64).reshape(-1, 4).T,
            np.array([_rim(room.polygon) for room in scene.rooms]).reshape(-1, 4).T,
        )
        """Ends of walls and doors, boxes, rims of rooms: (4, N) each, to measure all at once."""

    def with_things(self, scene: Scene) -> Layout:
        """The layout of a scene that differs in small things alone, its furniture listed first and
        in the same order: walls, ways and views are shared."""
        layout = copy.copy(self)
        layout.scene = scene
        layout.ids = [o.id for o in scene.objects] + [d.id for d in scene.doors]
        layout.index = {name: i for i, name in enumerate(layout.ids)}
        return layout

    def near(self, x: float, y: float, within: float) -> Nearby:
        """What may stop a body that stays within a distance of a point."""
        cell = (math.floor(x / CELL), math.floor(y / CELL), within)
        found = self._near.get(cell)
        if found is None:
            found = self._near[cell] = self._gather(*cell)
        return found

    def _gather(self, i: int, j: int, within: float) -> Nearby:
        x, y, reach = (i + 0.5) * CELL, (j + 0.5) * CELL, within + HALF_DIAGONAL
        walls, doors, boxes, rims = self._shapes
        return Nearby(
            tuple(self.walls[n] for n in _within(segment_distances(x, y, *walls), reach)),
            tuple((n, self.doors[n]) for n in _within(segment_distances(x, y, *doors), reach)),
            tuple(self.boxes[n] for n in _within(box_distances(x, y, boxes), reach)),
            tuple(self.scene.rooms[n] for n in _within(box_distances(x, y, rims), reach + DOORWAY)),
        )

    def panes(
        self, x: float, y: float, within: float, eye: float, shut: NDArray[np.bool_]
    ) -> Panels:
        """The panels within a distance of a place's cell that rise above the eye.

        ``shut`` (D,) says which doors are; the leaves of open ones are left out.
        """
        cell = (math.floor(x / CELL), math.floor(y / CELL), within, eye, shut.tobytes())
        found = self._panes.get(cell)
        if found is None:
            if len(self._panes) >= 4096:
                self._panes.clear()
            found = self._panes[cell] = self._cull(cell, shut)
        return found

    def _cull(self, cell: tuple[int, int, float, float, bytes], shut: NDArray[np.bool_]) -> Panels:
        p = self.panels
        x, y = (cell[0] + 0.5) * CELL, (cell[1] + 0.5) * CELL
        away = segment_distances(x, y, *p.ends.T)
        keep = (away <= cell[2] + HALF_DIAGONAL) & (p.boxes[1] > cell[3])
        if shut.size:
            keep &= (p.door < 0) | shut[p.door]
        which = np.flatnonzero(keep)
        boxes = p.boxes[:, which]
        _, _, west, south, east, north = boxes
        half = CELL / 2
        inside = (west <= x + half) & (east >= x - half) & (south <= y + half) & (north >= y - half)
        rim = {(w, s, e, n) for w, s, e, n in boxes[2:, inside].T.tolist()}
        walls = int(np.searchsorted(which, p.walls))
        return Panels(p.ends[which], boxes, p.door[which], walls, tuple(sorted(rim)))

    def room_at(self, x: float, y: float) -> str:
        """The room a point is in; in a doorway between two, the nearer one."""
        found = self._rooms_at.get((x, y))
        if found is None:
            if len(self._rooms_at) >= 4096:
                self._rooms_at.clear()
            found = self._rooms_at[x, y] = self._find_room(x, y)
        return found

    def _find_room(self, x: float, y: float) -> str:
        near = self.near(x, y, CELL).rooms
        for room in near:
            if inside_polygon(x, y, room.polygon):
                return room.name
        rooms = near or self.scene.rooms
        return min(rooms, key=lambda r: polygon_distance(x, y, r.polygon)).name


def indoors(near: Nearby, x: float, y: float) -> bool:
    """Whether a point is in one of the rooms near, or in a doorway beside one."""
    return any(inside_polygon(x, y, room.polygon) for room in near.rooms) or any(
        polygon_distance(x, y, room.polygon) < DOORWAY for room in near.rooms
    )


def _within(distances: Floats, reach: float) -> list[int]:
    found: list[int] = np.flatnonzero(distances <= reach).tolist()
    return found


def _rim(polygon: tuple[tuple[float, float], ...]) -> Box:
    xs, ys = [x for x, _ in polygon], [y for _, y in polygon]
    return min(xs), min(ys), max(xs), max(ys)


def _bounds(scene: Scene) -> Box:
    if scene.floor is not None:
        f = scene.floor
        wide = max(len(row) for row in f.rows)
        return f.x, f.y, f.x + (wide - 1) * f.spacing, f.y + (len(f.rows) - 1) * f.spacing
    return _rim(tuple(corner for room in scene.rooms for corner in room.polygon))


def _panels(scene: Scene) -> Panels:
    """Walls, then door leaves, then the four sides of each tall opaque piece of furniture."""
    endless = (-math.inf, math.inf, math.inf, math.inf, -math.inf, -math.inf)
    rows: list[tuple[float, ...]] = [(*w.a, *w.b, *endless, -1) for w in scene.walls]
    rows += [(*d.a, *d.b, *endless, number) for number, d in enumerate(scene.doors)]
    for o in scene.objects:
        if o.opaque and "pickupable" not in o.affordances and o.bottom + o.height > LOWEST_EYE:
            w, s, e, n = o.x - o.width / 2, o.y - o.depth / 2, o.x + o.width / 2, o.y + o.depth / 2
            corners = ((w, s), (e, s), (e, n), (w, n))
            sides = zip(corners, corners[1:] + corners[:1], strict=True)
            reach = (o.bottom, o.bottom + o.height, w, s, e, n, -1)
            rows += [(*a, *b, *reach) for a, b in sides]
    table = np.array(rows, dtype=np.float64).reshape(-1, 11)
    walls = len(scene.walls) + len(scene.doors)
    return Panels(table[:, :4], table[:, 4:10].T.copy(), table[:, 10].astype(np.int32), walls)


# Collision: whether a body may go from one place to another in a straight line.
#
# A body is a disc against walls, shut doors and other bodies. Against furniture it is a point,
# and the furniture's box is grown by the body's radius on all sides. Where the scene publishes a
# floor, the floor stands for walls and furniture.

SLACK = 1e-6
"""Metres by which a body may overlap what stops it: rounding must not wedge one that just touches
a wall."""
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
        if point_segment_distance(x, y, *p, *q) < radius + other:
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
