"""The fixed parts of a scene as arrays, and collisions with them.

The obstacles near a point are computed once per cell of a coarse grid and cached.
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

CELL_SIZE = 1.0  # metres, side of a cell: smaller ones cost memory, larger ones find more obstacles
# Distance from a cell's center to its corners
HALF_DIAGONAL = CELL_SIZE * math.sqrt(0.5)
# metres; a body this close to a room is indoors, as in a thick wall's doorway
DOORWAY_MARGIN = 0.3
# metres: no body's eye is lower, so lower furniture never blocks sight
LOWEST_EYE = 1.0
MAX_CELLS = 4096  # cells per cache; a full cache is cleared


@dataclass(frozen=True, slots=True, eq=False)
class Panels:
    """S upright rectangles, each from a point a to a point b in the plan.

    ``ends`` (S, 4) are a and b. The first ``walls`` of them are walls and doors, from floor to
    ceiling; ``door`` (S,) is the door's index or -1. ``boxes`` (6, S) gives, for the others, their
    lowest and highest points and the box of their furniture (west, south, east, north): they hide
    nothing within it or from an eye inside it. ``boxes_in``: boxes that overlap the cell for which
    these panels were selected. The rest is precomputed for sight: with s = b - a, ``span`` (S, 2)
    is (sy, -sx), ``along`` (S,) is a × s, and ``crosses`` (3 S, 3) times (rx, ry, r × -e) gives
    r × s, r × (a - e) and r × (b - e).
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
        sx = bx - ax
        sy = by - ay
        zeros = np.zeros_like(ax)
        ones = np.ones_like(ax)
        rows = (sy, -sx, zeros), (ay, -ax, ones), (by, -bx, ones)
        crosses = np.concatenate([np.stack(each, axis=1) for each in rows])
        object.__setattr__(self, "span", np.stack((sy, -sx), axis=1))
        object.__setattr__(self, "along", ax * sy - ay * sx)
        object.__setattr__(self, "crosses", crosses)


@dataclass(frozen=True, slots=True)
class NearbyObstacles:
    """Walls, doors and solid boxes (with their indices) near a cell, and the rooms around it."""

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
            (
                i,
                (
                    o.x - o.width / 2,
                    o.y - o.depth / 2,
                    o.x + o.width / 2,
                    o.y + o.depth / 2,
                ),
            )
            for i, o in enumerate(scene.objects)
            if o.solid
        )
        self.panels = _panels(scene)
        corners = [corner for room in scene.rooms for corner in room.polygon]
        if (floor := scene.floor) is not None:
            columns = max(len(row) for row in floor.rows)
            rows = len(floor.rows)
            east = (columns - 1) * floor.spacing
            north = (rows - 1) * floor.spacing
            corners = [(floor.x, floor.y), (floor.x + east, floor.y + north)]
        self.bounds = _bounding_box(corners)
        # Filled by ``route.find_lattice``
        self.lattices: dict[tuple[float, ...], object] = {}
        self._near: dict[tuple[int, int, float], NearbyObstacles] = {}
        self._panes: dict[tuple[int, int, float, float, bytes], Panels] = {}
        self._rooms_at: dict[tuple[float, float], str] = {}
        self.rooms = tuple(room.name for room in scene.rooms)
        self._shapes = (  # (4, N) each, to measure all distances at once
            np.array([(*a, *b) for a, b in self.walls], dtype=np.float64)
            .reshape(-1, 4)
            .T,
            np.array([(*a, *b) for a, b in self.doors], dtype=np.float64)
            .reshape(-1, 4)
            .T,
            np.array([box for _, box in self.boxes], dtype=np.float64).reshape(-1, 4).T,
            np.array([_bounding_box(room.polygon) for room in scene.rooms])
            .reshape(-1, 4)
            .T,
        )

    def with_scene(self, scene: Scene) -> Layout:
        """Return the layout of a scene that differs only in small objects, after its furniture."""
        layout = copy.copy(self)
        layout.scene = scene
        layout.ids = [o.id for o in scene.objects] + [d.id for d in scene.doors]
        layout.index = {name: i for i, name in enumerate(layout.ids)}
        return layout

    def near(self, x: float, y: float, distance: float) -> NearbyObstacles:
        """Return everything that may stop a body within a distance (metres) of a point."""
        cell = (math.floor(x / CELL_SIZE), math.floor(y / CELL_SIZE), distance)
        cached = self._near.get(cell)
        if cached is None:
            x = (cell[0] + 0.5) * CELL_SIZE
            y = (cell[1] + 0.5) * CELL_SIZE
            walls, doors, boxes, rooms = self._shapes
            near_walls, near_doors, near_boxes, near_rooms = (
                np.flatnonzero(away <= distance + HALF_DIAGONAL).tolist()
                for away in (
                    geo.segment_distances(x, y, *walls),
                    geo.segment_distances(x, y, *doors),
                    geo.box_distances(x, y, boxes),
                    geo.box_distances(x, y, rooms) - DOORWAY_MARGIN,
                )
            )
            cached = self._near[cell] = NearbyObstacles(
                tuple(self.walls[n] for n in near_walls),
                tuple((n, self.doors[n]) for n in near_doors),
                tuple(self.boxes[n] for n in near_boxes),
                tuple(self.scene.rooms[n] for n in near_rooms),
            )
        return cached

    def panels_near(
        self,
        x: float,
        y: float,
        distance: float,
        eye: float,
        closed_doors: NDArray[np.bool_],
    ) -> Panels:
        """Return the panels within a distance of a point's cell that rise above the eye, without
        open doors; ``closed_doors`` (D,) is a mask."""
        cell = math.floor(x / CELL_SIZE), math.floor(y / CELL_SIZE)
        key = (*cell, distance, eye, closed_doors.tobytes())
        cached = self._panes.get(key)
        if cached is None:
            if len(self._panes) >= MAX_CELLS:
                self._panes.clear()
            p = self.panels
            half = CELL_SIZE / 2
            x = (cell[0] + 0.5) * CELL_SIZE
            y = (cell[1] + 0.5) * CELL_SIZE
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
            cached = Panels(
                p.ends[selected], boxes, p.door[selected], walls, tuple(sorted(rims))
            )
            self._panes[key] = cached
        return cached

    def room_at(self, x: float, y: float) -> str:
        """Return the room that contains a point; in a doorway, the nearer one."""
        cached = self._rooms_at.get((x, y))
        if cached is None:
            if len(self._rooms_at) >= MAX_CELLS:
                self._rooms_at.clear()
            near = self.near(x, y, CELL_SIZE).rooms
            room = next(
                (room for room in near if geo.inside_polygon(x, y, room.polygon)), None
            ) or min(
                near or self.scene.rooms,
                key=lambda r: geo.polygon_distance(x, y, r.polygon),
            )
            cached = self._rooms_at[x, y] = room.name
        return cached


def _bounding_box(polygon: Sequence[Point]) -> Box:
    xs = [x for x, _ in polygon]
    ys = [y for _, y in polygon]
    return min(xs), min(ys), max(xs), max(ys)


def _panels(scene: Scene) -> Panels:
    """Return walls, then door leaves, then the four sides of tall opaque furniture."""
    unbounded = (-math.inf, math.inf, math.inf, math.inf, -math.inf, -math.inf)
    rows: list[tuple[float, ...]] = [(*w.a, *w.b, *unbounded, -1) for w in scene.walls]
    rows += [(*d.a, *d.b, *unbounded, number) for number, d in enumerate(scene.doors)]
    for o in scene.objects:
        if (
            o.opaque
            and "pickupable" not in o.affordances
            and o.bottom + o.height > LOWEST_EYE
        ):
            w = o.x - o.width / 2
            s = o.y - o.depth / 2
            e = o.x + o.width / 2
            n = o.y + o.depth / 2
            corners = ((w, s), (e, s), (e, n), (w, n))
            sides = zip(corners, corners[1:] + corners[:1], strict=True)
            extent = (o.bottom, o.bottom + o.height, w, s, e, n, -1)
            rows += [(*a, *b, *extent) for a, b in sides]
    table = np.array(rows, dtype=np.float64).reshape(-1, 11)
    walls = len(scene.walls) + len(scene.doors)
    return Panels(
        table[:, :4], table[:, 4:10].T.copy(), table[:, 10].astype(np.int32), walls
    )


# Collision: a body that moves in a straight line is a disc against walls, closed doors and other
# bodies. Against furniture it is a point, and the furniture's box is enlarged by its radius.

SLACK = 1e-6  # metres of overlap with an obstacle: else rounding could trap a body at a wall
# The other bodies: index, x, y, radius
OtherBodies = Sequence[tuple[int, float, float, float]]


def first_obstacle(
    layout: Layout,
    radius: float,
    line: Segment,
    closed_doors: Sequence[bool],
    others: OtherBodies,
) -> tuple[str, int] | None:
    """Return the first obstacle on a line: ``("wall", -1)``, ``("furniture", object)``, ``("door",
    door)``, ``("body", actor)``, or ``("edge", -1)`` of the house; None if the line is free."""
    p, q = line
    nearby = layout.near(*p, math.dist(p, q) + radius)
    if not radius:  # a body without a radius passes through everything
        return None if _is_indoors(nearby.rooms, q) else ("edge", -1)
    radius -= SLACK
    for number, leaf in nearby.doors:
        if closed_doors[number] and geo.segment_distance(p, q, *leaf) < radius:
            return "door", number
    for number, x, y, other_radius in others:
        if geo.point_segment_distance(x, y, *p, *q) < radius + other_radius:
            return "body", number
    floor = layout.scene.floor
    if floor is not None:  # must be free under the whole line, checked every half cell
        count = max(1, math.ceil(2 * math.dist(p, q) / floor.spacing))
        dx = q[0] - p[0]
        dy = q[1] - p[1]
        samples = (
            (p[0] + dx * i / count, p[1] + dy * i / count) for i in range(count + 1)
        )
        if all(floor.is_free(*sample) for sample in samples):
            return None
        return ("wall", -1)
    for wall in nearby.walls:
        if geo.segment_distance(p, q, *wall) < radius:
            return "wall", -1
    for number, (west, south, east, north) in nearby.boxes:
        if geo.enters(
            p, q, (west - radius, south - radius, east + radius, north + radius)
        ):
            return "furniture", number
    return None if _is_indoors(nearby.rooms, q) else ("edge", -1)


def _is_indoors(rooms: Sequence[Room], point: Point) -> bool:
    return any(geo.inside_polygon(*point, room.polygon) for room in rooms) or any(
        geo.polygon_distance(*point, room.polygon) < DOORWAY_MARGIN for room in rooms
    )


def can_stand(
    layout: Layout, radius: float, point: Point, closed_doors: Sequence[bool]
) -> bool:
    """True if a body may stand at a point, ignoring other bodies."""
    return first_obstacle(layout, radius, (point, point), closed_doors, ()) is None


def nearest_place(
    layout: Layout, radius: float, point: Point, closed_doors: Sequence[bool]
) -> Point | None:
    """Return the free position nearest to a point, on a grid of 0.05 m (or the floor's own cells)
    up to 3 m around it, for published starts that are in furniture. None if there is none."""
    if can_stand(layout, radius, point, closed_doors):
        return point
    (x0, y0), floor = point, layout.scene.floor
    spacing = floor.spacing if floor else 0.05
    if floor:
        x0 = floor.x + round((x0 - floor.x) / spacing) * spacing
        y0 = floor.y + round((y0 - floor.y) / spacing) * spacing
    reach = math.ceil(3.0 / spacing)
    steps = [(i, j) for i in range(-reach, reach + 1) for j in range(-reach, reach + 1)]
    places = [(x0 + i * spacing, y0 + j * spacing) for i, j in steps]
    places.sort(key=lambda place: (math.dist(place, point), place))
    return next((p for p in places if can_stand(layout, radius, p, closed_doors)), None)
