"""The fixed parts of a scene as arrays, and collisions with them.

The obstacles near a point are computed once per cell of a coarse grid and cached.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain, product

import numpy as np
from numpy.typing import NDArray

from wayword.core import geometry as geo
from wayword.core.geometry import Bools, Box, Floats, Point, Segment
from wayword.worlds.household.scene import Door, Room, Scene, Wall

Ints = NDArray[np.int32]

CELL_SIZE = 1.0  # metres, side of a cell: smaller ones cost memory, larger ones find more obstacles
HALF_DIAGONAL = CELL_SIZE * math.sqrt(0.5)
"""Distance from a cell's center to its corners, in metres."""
# A body this close (metres) to a room is indoors, as in a thick wall's doorway.
DOORWAY_MARGIN = 0.3
# No body's eye is lower (metres), so lower furniture never blocks sight.
LOWEST_EYE = 1.0
MAX_CELLS = 4096
"""Entries of a cache that also depends on doors, eyes or exact points; a full one is cleared. The
cache of nearby obstacles has one per cell and distance of a step, so the house bounds it."""


@dataclass(frozen=True, slots=True, eq=False)
class Panels:
    """S upright rectangles, each from a point a to a point b in the plan.

    ``ends`` (S, 4) are a and b. The first ``wall_count`` of them are walls and doors, from floor to
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
    wall_count: int
    boxes_in: tuple[Box, ...] = ()
    span: Floats = field(init=False)
    along: Floats = field(init=False)
    crosses: Floats = field(init=False)

    def __post_init__(self) -> None:
        """Precompute the parts of the cross products of sight that depend on the panels alone."""
        # The cross products of sight that depend on the panel alone, for all lines of
        # sight at once.
        ax, ay, bx, by = self.ends.T
        sx = bx - ax
        sy = by - ay
        zeros = np.zeros_like(ax)
        ones = np.ones_like(ax)
        rows = (sy, -sx, zeros), (ay, -ax, ones), (by, -bx, ones)
        crosses = np.concatenate([np.stack(each, axis=1) for each in rows])
        # A frozen class sets its derived fields like this.
        object.__setattr__(self, "span", np.stack((sy, -sx), axis=1))
        object.__setattr__(self, "along", ax * sy - ay * sx)
        object.__setattr__(self, "crosses", crosses)


@dataclass(frozen=True, slots=True)
class NearbyObstacles:
    """Obstacles near a cell of the grid, and the rooms around it.

    ``walls`` are segments; ``doors`` are pairs of a door's number and its leaf, whether open
    or closed; ``boxes`` are pairs of an object's index and the box of solid furniture.
    """

    walls: tuple[Segment, ...]
    doors: tuple[tuple[int, Segment], ...]
    boxes: tuple[tuple[int, Box], ...]
    rooms: tuple[Room, ...]


class Layout:
    """A scene's fixed parts: rooms, walls, doors and furniture, with caches of what is near.

    Share one among all episodes with the same rooms and furniture. ``ids`` are those of
    objects, then of doors, in scene order, and ``index`` is the reverse: both agree with the
    arrays of ``Entities``. ``bounds`` is the box of all rooms, or of the published floor.
    """

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.ids = [o.id for o in scene.objects] + [d.id for d in scene.doors]
        self.index = {name: i for i, name in enumerate(self.ids)}
        # Ends as pairs for the exact tests, and as columns below for the fast ones.
        self.walls: tuple[Segment, ...] = tuple((w.a, w.b) for w in scene.walls)
        self.doors: tuple[Segment, ...] = tuple((d.a, d.b) for d in scene.doors)
        self.boxes: tuple[tuple[int, Box], ...] = tuple(
            (i, o.box) for i, o in enumerate(scene.objects) if o.solid
        )
        self.panels = _panels(scene)
        corners: Iterable[Point]
        corners = chain.from_iterable(room.polygon for room in scene.rooms)
        # A published floor may reach beyond the rooms.
        floor = scene.floor
        if floor is not None:
            columns = max(len(row) for row in floor.rows)
            rows = len(floor.rows)
            east = (columns - 1) * floor.spacing
            north = (rows - 1) * floor.spacing
            corners = [(floor.x, floor.y), (floor.x + east, floor.y + north)]
        self.bounds = geo.bounding_box(corners)
        # Caches. The first one is filled by ``route.find_lattice``.
        self.lattices: dict[tuple[float, ...], object] = {}
        self._near: dict[tuple[int, int, float], NearbyObstacles] = {}
        self._panes: dict[tuple[int, int, float, float, bytes], Panels] = {}
        self._rooms_at: dict[tuple[float, float], str] = {}
        self.rooms = tuple(room.name for room in scene.rooms)
        # Arrays (4, N), to measure all distances at once.
        self._wall_lines = _columns([(*a, *b) for a, b in self.walls])
        self._door_lines = _columns([(*a, *b) for a, b in self.doors])
        self._box_sides = _columns([box for _, box in self.boxes])
        room_boxes = [geo.bounding_box(room.polygon) for room in scene.rooms]
        self._room_sides = _columns(room_boxes)

    def with_scene(self, scene: Scene) -> Layout:
        """Return the layout of a scene that differs only in small objects, after its furniture.

        The caches are shared with this layout. The caller must make sure that rooms, doors and
        furniture are equal and come first: nothing checks it.
        """
        # Caches are shared on purpose: furniture, walls and doors are the same.
        layout = copy.copy(self)
        layout.scene = scene
        layout.ids = [o.id for o in scene.objects] + [d.id for d in scene.doors]
        layout.index = {name: i for i, name in enumerate(layout.ids)}
        return layout

    def near(
        self,
        x: float,
        y: float,
        distance: float,
    ) -> NearbyObstacles:
        """Return everything that may stop a body within a distance (metres) of a point.

        It may contain more than that: the result serves all points of a cell, and is cached.
        """
        # The distance is part of the key: bodies differ in radius and step. It is rounded up, so
        # that steps whose lengths differ by rounding find the same cell.
        distance = math.ceil(distance * 10) / 10
        cell = (
            math.floor(x / CELL_SIZE),
            math.floor(y / CELL_SIZE),
            distance,
        )
        cached = self._near.get(cell)
        if cached is None:
            # From the middle of the cell, as the result serves every point in it.
            x = (cell[0] + 0.5) * CELL_SIZE
            y = (cell[1] + 0.5) * CELL_SIZE
            # Within the distance of any point of the cell.
            limit = distance + HALF_DIAGONAL
            to_walls = geo.segment_distances(x, y, *self._wall_lines)
            to_doors = geo.segment_distances(x, y, *self._door_lines)
            to_boxes = geo.box_distances(x, y, self._box_sides)
            to_rooms = geo.box_distances(x, y, self._room_sides)
            walls = _within(limit, to_walls)
            doors = _within(limit, to_doors)
            boxes = _within(limit, to_boxes)
            # A room's margin counts, too: a body in a doorway is near both rooms.
            rooms = _within(limit, to_rooms - DOORWAY_MARGIN)
            cached = NearbyObstacles(
                tuple(self.walls[n] for n in walls),
                tuple((n, self.doors[n]) for n in doors),
                tuple(self.boxes[n] for n in boxes),
                tuple(self.scene.rooms[n] for n in rooms),
            )
            self._near[cell] = cached
        return cached

    def panels_near(
        self,
        x: float,
        y: float,
        distance: float,
        eye: float,
        closed_doors: Bools,
    ) -> Panels:
        """Return the panels that can block sight from a point's cell, for an eye height (metres).

        These are the panels within ``distance`` that rise above the eye, without open doors;
        ``closed_doors`` (D,) is a mask. Cached per cell, so a few panels beyond it are included.
        """
        cell = math.floor(x / CELL_SIZE), math.floor(y / CELL_SIZE)
        # Closed doors are part of the key: a leaf stops sight only while it is closed.
        key = (
            *cell,
            distance,
            eye,
            closed_doors.tobytes(),
        )
        cached = self._panes.get(key)
        if cached is None:
            # Cleared as a whole: a body that moves on rarely comes back to old cells.
            if len(self._panes) >= MAX_CELLS:
                self._panes.clear()
            p = self.panels
            half = CELL_SIZE / 2
            x = (cell[0] + 0.5) * CELL_SIZE
            y = (cell[1] + 0.5) * CELL_SIZE
            # The rule of sight: only what rises above the eye blocks it.
            distances = geo.segment_distances(x, y, *p.ends.T)
            is_selected = (distances <= distance + HALF_DIAGONAL) & (p.boxes[1] > eye)
            if closed_doors.size:
                is_selected &= (p.door < 0) | closed_doors[p.door]
            selected = np.flatnonzero(is_selected)
            boxes = p.boxes[:, selected]
            _, _, west, south, east, north = boxes
            # Boxes that overlap the cell, each once: a box has a panel on each side.
            inside = (west <= x + half) & (east >= x - half)
            inside &= (south <= y + half) & (north >= y - half)
            rims = {(w, s, e, n) for w, s, e, n in boxes[2:, inside].T.tolist()}
            # Selection keeps the order, so the walls still come first: count them.
            walls = int(np.searchsorted(selected, p.wall_count))
            cached = Panels(
                p.ends[selected],
                boxes,
                p.door[selected],
                walls,
                tuple(sorted(rims)),
            )
            self._panes[key] = cached
        return cached

    def room_at(self, x: float, y: float) -> str:
        """Return the name of the room that contains a point; in a doorway, of the nearer one.

        Every point has a room: outside of all it is the nearest one.
        """
        cached = self._rooms_at.get((x, y))
        if cached is None:
            if len(self._rooms_at) >= MAX_CELLS:
                self._rooms_at.clear()
            cached = self._find_room(x, y).name
            self._rooms_at[x, y] = cached
        return cached

    def _find_room(self, x: float, y: float) -> Room:
        """Return the room of a point, else the nearest one."""
        # Rooms may overlap by a wall's width; the first in scene order wins.
        near = self.near(x, y, CELL_SIZE).rooms
        for room in near:
            if geo.inside_polygon(x, y, room.polygon):
                return room
        # In a wall or off the floor: the nearest room, so that a body is always
        # somewhere.
        return min(
            near or self.scene.rooms,
            key=lambda room: geo.polygon_distance(x, y, room.polygon),
        )


def _columns(rows: Sequence[Sequence[float]]) -> Floats:
    """Return rows of four numbers as an array (4, N), also if there are none."""
    return np.array(rows, dtype=np.float64).reshape(-1, 4).T


def _within(limit: float, distances: Floats) -> list[int]:
    """Return the indices of the distances up to a limit."""
    indices: list[int] = np.flatnonzero(distances <= limit).tolist()
    return indices


def _panels(scene: Scene) -> Panels:
    """Return walls, then door leaves, then the four sides of tall opaque furniture."""
    fixed: list[Wall | Door] = [*scene.walls, *scene.doors]
    ends = [(*each.a, *each.b) for each in fixed]
    doors = [-1] * len(scene.walls) + list(range(len(scene.doors)))
    # From floor to ceiling, with an empty box (west > east), so that no point is in it.
    heights = -math.inf, math.inf
    no_box = math.inf, math.inf, -math.inf, -math.inf
    boxes = [(*heights, *no_box)] * len(fixed)
    for o in scene.objects:
        top = o.bottom + o.height
        # Things to carry move, and are too small to hide anything.
        if not o.opaque or "pickupable" in o.affordances or top <= LOWEST_EYE:
            continue
        for a, b in geo.sides(geo.box_corners(o.box)):
            ends.append((*a, *b))
            boxes.append((o.bottom, top, *o.box))
            doors.append(-1)
    return Panels(
        ends=np.array(ends, dtype=np.float64).reshape(-1, 4),
        boxes=np.array(boxes, dtype=np.float64).reshape(-1, 6).T.copy(),
        door=np.array(doors, dtype=np.int32),
        wall_count=len(fixed),
    )


# Collision: a body that moves in a straight line is a disc against walls, closed doors and other
# bodies. Against furniture it is a point, and the furniture's box is enlarged by its radius.

SLACK = 1e-6  # metres of overlap with an obstacle: else rounding could trap a body at a wall
OtherBodies = Sequence[tuple[int, float, float, float]]
"""The other bodies: index, x, y, radius."""


def first_obstacle(
    layout: Layout,
    radius: float,
    line: Segment,
    closed_doors: Sequence[bool],
    others: OtherBodies,
) -> tuple[str, int] | None:
    """Return what stops a body on a straight line; None if nothing does.

    Of several obstacles the first of this order, not the nearest: ``("door", number)`` of a closed
    door, ``("body", number)`` of another actor, ``("wall", -1)``, ``("furniture", number)`` of an
    object, and ``("edge", -1)`` if the line ends outside of the house. A body without a radius
    (metres) meets only the edge. ``closed_doors`` has one item per door.
    """
    p, q = line
    nearby = layout.near(*p, math.dist(p, q) + radius)
    if not radius:  # a body without a radius passes through everything
        return None if _is_indoors(nearby.rooms, q) else ("edge", -1)
    # An allowed overlap, so that a body that touches a wall can leave it.
    radius -= SLACK
    # Doors and bodies before walls: they can be opened or waited for, so they make the
    # better message.
    for number, leaf in nearby.doors:
        if closed_doors[number] and geo.segment_distance(p, q, *leaf) < radius:
            return "door", number
    for number, x, y, other_radius in others:
        if geo.point_segment_distance(x, y, *p, *q) < radius + other_radius:
            return "body", number
    # Walls and furniture of such scenes are part of the floor's mask.
    floor = layout.scene.floor
    if floor is not None:
        # It must be free under the whole line, checked every half cell. A cell is free where the
        # middle of a body may be, so the radius does not count.
        count = max(1, math.ceil(2 * math.dist(p, q) / floor.spacing))
        dx = q[0] - p[0]
        dy = q[1] - p[1]
        for i in range(count + 1):
            if not floor.is_free(p[0] + dx * i / count, p[1] + dy * i / count):
                return ("wall", -1)
        return None
    for wall in nearby.walls:
        if geo.segment_distance(p, q, *wall) < radius:
            return "wall", -1
    for number, (west, south, east, north) in nearby.boxes:
        enlarged = (west - radius, south - radius, east + radius, north + radius)
        if geo.enters(p, q, enlarged):
            return "furniture", number
    # The end of the line must be on the floor of a house, even without a wall to stop
    # it.
    return None if _is_indoors(nearby.rooms, q) else ("edge", -1)


def _is_indoors(rooms: Sequence[Room], point: Point) -> bool:
    """True if a point is in a room, or in a doorway next to one."""
    # Most points are in a room, and this test is the faster one.
    if any(geo.inside_polygon(*point, room.polygon) for room in rooms):
        return True
    return any(
        geo.polygon_distance(*point, room.polygon) < DOORWAY_MARGIN for room in rooms
    )


def can_stand(
    layout: Layout,
    radius: float,
    point: Point,
    closed_doors: Sequence[bool],
) -> bool:
    """True if a body may stand at a point (metres), ignoring other bodies."""
    return first_obstacle(layout, radius, (point, point), closed_doors, ()) is None


def nearest_place(
    layout: Layout,
    radius: float,
    point: Point,
    closed_doors: Sequence[bool],
) -> Point | None:
    """Return the free position nearest to a point, for published starts that are in furniture.

    The point itself if a body may stand there; else the nearest free point of a grid of
    0.05 m (or of the floor's own cells) up to 3 m around it; None if there is none.
    Other bodies are ignored.
    """
    # The exact point if possible, so that published starts stay as they are.
    if can_stand(layout, radius, point, closed_doors):
        return point
    x0, y0 = point
    # A quarter of the default body's radius.
    spacing = 0.05
    floor = layout.scene.floor
    # On the floor's own cells, as it is defined only there.
    if floor:
        spacing = floor.spacing
        column = round((x0 - floor.x) / spacing)
        row = round((y0 - floor.y) / spacing)
        x0 = floor.x + column * spacing
        y0 = floor.y + row * spacing
    # Three metres: a start that is farther off any floor is an error of the data.
    reach = math.ceil(3.0 / spacing)
    steps = product(range(-reach, reach + 1), repeat=2)
    places = [(x0 + i * spacing, y0 + j * spacing) for i, j in steps]
    # Of two at the same distance, the one in the west, then in the south.
    places.sort(key=lambda place: (math.dist(place, point), place))
    for place in places:
        if can_stand(layout, radius, place, closed_doors):
            return place
    return None
