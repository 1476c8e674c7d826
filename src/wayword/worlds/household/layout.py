"""The parts of a scene that never move, as arrays, and collisions with them.

Walls, door leaves and the sides of tall furniture become *panels*: upright rectangles that block
sight. What lies near a place is gathered once a cell of a coarse grid and cached.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from wayword.core import geometry as geo
from wayword.core.geometry import Box, Point, Segment
from wayword.worlds.household.scene import Room, Scene

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]

CELL_SIZE = 1.0  # side of a cell of the coarse grid, metres
HALF_DIAGONAL = CELL_SIZE * math.sqrt(0.5)  # farthest place of a cell from its middle
DOORWAY_MARGIN = 0.3
"""A body this close to a room (metres) is still in the house: rooms may leave gaps for walls."""
LOWEST_EYE = 1.0  # furniture lower than this never blocks sight, whatever the body; metres
MAX_CELLS = 4096  # cells kept in each cache before it is emptied


@dataclass(frozen=True, slots=True, eq=False)
class Panels:
    """Upright rectangles, S of them, each from a point a to a point b of the plan.

    ``ends`` (S, 4) are a and b. The first ``walls`` of them are walls and doors, from floor to
    ceiling; ``door`` (S,) is the door's number (0 …), or -1. ``boxes`` (6, S) has the heights
    between which the others stand (low, high), and the furniture they belong to (west, south, east,
    north). Such a panel hides neither its own furniture, nor what lies within its box, nor anything
    from an eye inside the box. ``boxes_in`` are the boxes that reach into the cell these panels
    were gathered for. The rest is computed once for sight: with s = b - a, ``span`` (S, 2) is (sy,
    -sx), ``along`` (S,) is a × s, and ``crosses`` (3 S, 3) times (rx, ry, r × -e) gives r × s, r ×
    (a - e) and r × (b - e).
    """

    ends: Floats
    boxes: Floats
    door: Ints
    walls: int
    boxes_in: tuple[Box, ...] = ()
    span: Floats = field(init=False)
    along: Floats = field(init=False)
    crosses: Floats = field(init=False)

    def __post_init__(self) -> None:
        ax, ay, bx, by = self.ends.T
        sx, sy = bx - ax, by - ay
        zeros, ones = np.zeros_like(ax), np.ones_like(ax)
        crosses = np.concatenate(
            [
                np.stack(rows, axis=1)
                for rows in ((sy, -sx, zeros), (ay, -ax, ones), (by, -bx, ones))
            ]
        )
        object.__setattr__(self, "span", np.stack((sy, -sx), axis=1))
        object.__setattr__(self, "along", ax * sy - ay * sx)
        object.__setattr__(self, "crosses", crosses)

    def is_in_box(self, x: float, y: float) -> bool:
        """True if a point of that cell is inside a box."""
        return any(w <= x <= e and s <= y <= n for w, s, e, n in self.boxes_in)


@dataclass(frozen=True, slots=True)
class NearbyObstacles:
    """Obstacles to a body near a cell: walls, doors (with their numbers), solid boxes; and the
    rooms it may be in."""

    walls: tuple[Segment, ...]
    doors: tuple[tuple[int, Segment], ...]
    boxes: tuple[tuple[int, Box], ...]
    rooms: tuple[Room, ...]


class Layout:
    """A scene's fixed parts. Share one among all episodes with the same rooms and furniture."""

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
        self.bounds = _scene_bounds(scene)
        self.lattices: dict[tuple[float, ...], object] = {}  # filled by ``route.find_lattice``
        self._near: dict[tuple[int, int, float], NearbyObstacles] = {}
        self._panes: dict[tuple[int, int, float, float, bytes], Panels] = {}
        self._rooms_at: dict[tuple[float, float], str] = {}
        self.rooms = tuple(room.name for room in scene.rooms)
        self._shapes = (
            np.array([(*a, *b) for a, b in self.walls], dtype=np.float64).reshape(-1, 4).T,
            np.array([(*a, *b) for a, b in self.doors], dtype=np.float64).reshape(-1, 4).T,
            np.array([box for _, box in self.boxes], dtype=np.float64).reshape(-1, 4).T,
            np.array([_bounding_box(room.polygon) for room in scene.rooms]).reshape(-1, 4).T,
        )
        # Ends of walls and doors, boxes, rims of rooms: (4, N) each, to measure all at once.

    def with_scene(self, scene: Scene) -> Layout:
        """Return the layout of a scene that differs in small objects alone, its furniture listed
        first and in the same order: walls, lattices and panels are shared."""
        layout = copy.copy(self)
        layout.scene = scene
        layout.ids = [o.id for o in scene.objects] + [d.id for d in scene.doors]
        layout.index = {name: i for i, name in enumerate(layout.ids)}
        return layout

    def near(self, x: float, y: float, distance: float) -> NearbyObstacles:
        """Everything that may stop a body that stays within a distance of a point."""
        cell = (math.floor(x / CELL_SIZE), math.floor(y / CELL_SIZE), distance)
        cached = self._near.get(cell)
        if cached is None:
            x, y, reach = (
                (cell[0] + 0.5) * CELL_SIZE,
                (cell[1] + 0.5) * CELL_SIZE,
                distance + HALF_DIAGONAL,
            )
            walls, doors, boxes, room_boxes = self._shapes
            distances = [geo.segment_distances(x, y, *walls), geo.segment_distances(x, y, *doors)]
            distances += [
                geo.box_distances(x, y, boxes),
                geo.box_distances(x, y, room_boxes) - DOORWAY_MARGIN,
            ]
            by_kind = [np.flatnonzero(away <= reach).tolist() for away in distances]
            cached = self._near[cell] = NearbyObstacles(
                tuple(self.walls[n] for n in by_kind[0]),
                tuple((n, self.doors[n]) for n in by_kind[1]),
                tuple(self.boxes[n] for n in by_kind[2]),
                tuple(self.scene.rooms[n] for n in by_kind[3]),
            )
        return cached

    def panels_near(
        self, x: float, y: float, distance: float, eye: float, closed_doors: NDArray[np.bool_]
    ) -> Panels:
        """Return the panels within a distance of a place's cell that rise above the eye.

        ``closed_doors`` (D,) says which doors are; the leaves of open ones are left out.
        """
        cell = (
            math.floor(x / CELL_SIZE),
            math.floor(y / CELL_SIZE),
            distance,
            eye,
            closed_doors.tobytes(),
        )
        cached = self._panes.get(cell)
        if cached is None:
            if len(self._panes) >= MAX_CELLS:
                self._panes.clear()
            p, half = self.panels, CELL_SIZE / 2
            x, y = (cell[0] + 0.5) * CELL_SIZE, (cell[1] + 0.5) * CELL_SIZE
            distances = geo.segment_distances(x, y, *p.ends.T)
            is_selected = (distances <= distance + HALF_DIAGONAL) & (p.boxes[1] > eye)
            if closed_doors.size:
                is_selected &= (p.door < 0) | closed_doors[p.door]
            selected = np.flatnonzero(is_selected)
            boxes = p.boxes[:, selected]
            _, _, west, south, east, north = boxes
            inside = (west <= x + half) & (east >= x - half)
            inside &= (south <= y + half) & (north >= y - half)
            rims = {(w, s, e, n) for w, s, e, n in boxes[2:, inside].T.tolist()}
            walls = int(np.searchsorted(selected, p.walls))
            cached = Panels(p.ends[selected], boxes, p.door[selected], walls, tuple(sorted(rims)))
            self._panes[cell] = cached
        return cached

    def room_at(self, x: float, y: float) -> str:
        """Return the room a point is in; in a doorway between two, the nearer one."""
        cached = self._rooms_at.get((x, y))
        if cached is None:
            if len(self._rooms_at) >= MAX_CELLS:
                self._rooms_at.clear()
            near = self.near(x, y, CELL_SIZE).rooms
            room = next(
                (room for room in near if geo.inside_polygon(x, y, room.polygon)), None
            ) or min(near or self.scene.rooms, key=lambda r: geo.polygon_distance(x, y, r.polygon))
            cached = self._rooms_at[x, y] = room.name
        return cached


def is_indoors(nearby: NearbyObstacles, x: float, y: float) -> bool:
    """True if a point is in one of the rooms near, or in a doorway next to one."""
    return any(geo.inside_polygon(x, y, room.polygon) for room in nearby.rooms) or any(
        geo.polygon_distance(x, y, room.polygon) < DOORWAY_MARGIN for room in nearby.rooms
    )


def _bounding_box(polygon: tuple[tuple[float, float], ...]) -> Box:
    xs, ys = [x for x, _ in polygon], [y for _, y in polygon]
    return min(xs), min(ys), max(xs), max(ys)


def _scene_bounds(scene: Scene) -> Box:
    if scene.floor is not None:
        floor = scene.floor
        columns = max(len(row) for row in floor.rows)
        return (
            floor.x,
            floor.y,
            floor.x + (columns - 1) * floor.spacing,
            floor.y + (len(floor.rows) - 1) * floor.spacing,
        )
    return _bounding_box(tuple(corner for room in scene.rooms for corner in room.polygon))


def _panels(scene: Scene) -> Panels:
    """Walls, then door leaves, then the four sides of each tall opaque piece of furniture."""
    unbounded = (-math.inf, math.inf, math.inf, math.inf, -math.inf, -math.inf)
    rows: list[tuple[float, ...]] = [(*w.a, *w.b, *unbounded, -1) for w in scene.walls]
    rows += [(*d.a, *d.b, *unbounded, number) for number, d in enumerate(scene.doors)]
    for o in scene.objects:
        if o.opaque and "pickupable" not in o.affordances and o.bottom + o.height > LOWEST_EYE:
            w, s, e, n = o.x - o.width / 2, o.y - o.depth / 2, o.x + o.width / 2, o.y + o.depth / 2
            corners = ((w, s), (e, s), (e, n), (w, n))
            sides = zip(corners, corners[1:] + corners[:1], strict=True)
            extent = (o.bottom, o.bottom + o.height, w, s, e, n, -1)
            rows += [(*a, *b, *extent) for a, b in sides]
    table = np.array(rows, dtype=np.float64).reshape(-1, 11)
    walls = len(scene.walls) + len(scene.doors)
    return Panels(table[:, :4], table[:, 4:10].T.copy(), table[:, 10].astype(np.int32), walls)


# Collision: a body goes from one place to another in a straight line.
#
# It is a disc against walls, closed doors and other bodies. Against furniture it is a point, and
# the furniture's box is grown by the body's radius on all sides. Where the scene publishes a floor,
# the floor stands for walls and furniture.

SLACK = 1e-6
"""Metres by which a body may overlap an obstacle: rounding must not wedge one that just touches a
wall."""
OtherBodies = Sequence[tuple[int, float, float, float]]  # the other bodies: number, x, y, radius


def first_obstacle(
    layout: Layout, radius: float, line: Segment, closed_doors: Sequence[bool], others: OtherBodies
) -> tuple[str, int] | None:
    """Return the first obstacle on a line: ``("wall", -1)``, ``("furniture", object)``,
    ``("door", door)``, ``("body", actor)`` or, where the house ends, ``("edge", -1)``; None if
    the line is free."""
    p, q = line
    nearby = layout.near(*p, math.dist(p, q) + radius)
    radius -= SLACK
    for number, leaf in nearby.doors:
        if closed_doors[number] and geo.segment_distance(p, q, *leaf) < radius:
            return "door", number
    for number, x, y, other_radius in others:
        if geo.point_segment_distance(x, y, *p, *q) < radius + other_radius:
            return "body", number
    floor = layout.scene.floor
    if floor is not None:  # it has to be under the whole line, checked every half cell
        count = max(1, math.ceil(2 * math.dist(p, q) / floor.spacing))
        for i in range(count + 1):
            if not floor.is_free(
                p[0] + (q[0] - p[0]) * i / count, p[1] + (q[1] - p[1]) * i / count
            ):
                return "wall", -1
        return None
    for wall in nearby.walls:
        if geo.segment_distance(p, q, *wall) < radius:
            return "wall", -1
    for number, (west, south, east, north) in nearby.boxes:
        if geo.enters(p, q, (west - radius, south - radius, east + radius, north + radius)):
            return "furniture", number
    return None if is_indoors(nearby, *q) else ("edge", -1)


def can_stand(layout: Layout, radius: float, point: Point, closed_doors: Sequence[bool]) -> bool:
    """True if a body may stand at a point, other bodies ignored."""
    return first_obstacle(layout, radius, (point, point), closed_doors, ()) is None


def nearest_place(
    layout: Layout,
    radius: float,
    point: Point,
    closed_doors: Sequence[bool],
    max_distance: float = 3.0,
) -> Point | None:
    """Return the free place nearest to a point on a grid of 0.05 m around it (or on the floor's own
    cells); for starts that a dataset puts into furniture. None if there is none."""
    floor = layout.scene.floor
    spacing = floor.spacing if floor else 0.05
    x0, y0 = point
    if floor:
        x0 = floor.x + round((point[0] - floor.x) / spacing) * spacing
        y0 = floor.y + round((point[1] - floor.y) / spacing) * spacing
    reach = math.ceil(max_distance / spacing)
    steps = [(i, j) for i in range(-reach, reach + 1) for j in range(-reach, reach + 1)]
    places = [(x0 + i * spacing, y0 + j * spacing) for i, j in steps]
    places.sort(key=lambda place: (math.dist(place, point), place))
    if can_stand(layout, radius, point, closed_doors):
        return point
    return next((p for p in places if can_stand(layout, radius, p, closed_doors)), None)
