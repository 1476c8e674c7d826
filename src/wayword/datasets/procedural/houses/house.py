"""A house, determined by its scene name: rooms, walls, viewpoints, edges and furniture."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count, product

import numpy as np

from wayword.core.errors import UsageError
from wayword.core.files import text_checksum
from wayword.core.geometry import Bools, Floats, Point
from wayword.datasets.procedural import floorplans
from wayword.datasets.procedural.floorplans import HALLWAY, FloorPlan, PlanRoom
from wayword.datasets.procedural.tables import Table, Tables, expand_sets
from wayword.worlds.indoor.graph import ViewpointGraph, build

# Walls and visibility.
#
# Walls are thin lines, solid except for door openings. Furniture does not block the view.

EPS = 1e-6  # metres: tolerance for rounding when testing if a point is on a wall's line
Array = Floats
_WallRow = tuple[float, float, float]
"""A wall on a line: the line's coordinate, then the two ends along it, in metres."""


@dataclass(frozen=True, eq=False)
class Walls:
    """Solid wall segments: rows (line, low, high) in metres.

    ``vertical`` (N, 3) segments are at x = line and span y; ``horizontal`` (M, 3) vice versa.
    """

    vertical: Array
    horizontal: Array


def build_walls(plan: FloorPlan) -> Walls:
    """Build the solid walls of every room, with openings cut out."""
    # Sets, because two rooms share the wall between them.
    vertical: set[_WallRow] = set()
    horizontal: set[_WallRow] = set()
    for room in plan.rooms:
        for x in (room.x0, room.x1):
            openings = _openings(plan, x, is_vertical=True)
            vertical.update(_solid_parts(x, room.y0, room.y1, openings))
        for y in (room.y0, room.y1):
            openings = _openings(plan, y, is_vertical=False)
            horizontal.update(_solid_parts(y, room.x0, room.x1, openings))
    return Walls(_wall_array(vertical), _wall_array(horizontal))


def _wall_array(rows: set[_WallRow]) -> Array:
    """Return walls as an array (N, 3), sorted so that equal houses give equal arrays."""
    return np.array(sorted(rows), dtype=np.float64).reshape(-1, 3)


def _openings(
    plan: FloorPlan,
    line: float,
    is_vertical: bool,
) -> list[tuple[float, float]]:
    """Return the ends of the door openings in a wall line, sorted."""
    openings = []
    # A door opens a wall if it stands on the wall's line.
    for door in plan.doors:
        if door.vertical != is_vertical:
            continue
        across = door.x
        along = door.y
        if not is_vertical:
            across = door.y
            along = door.x
        half_width = door.width / 2
        if abs(across - line) < EPS:
            openings.append((along - half_width, along + half_width))
    return sorted(openings)


def _solid_parts(
    line: float,
    low: float,
    high: float,
    openings: Sequence[tuple[float, float]],
) -> Iterator[_WallRow]:
    """Yield the parts of a wall between its sorted openings."""
    # From low to high: each opening ends the part before it.
    for start, end in openings:
        if end > low and start < high:
            if start > low:
                yield line, low, start
            low = end
    if high > low:
        yield line, low, high


def visible(walls: Walls, eyes: Array, targets: Array) -> Bools:
    """Return an (N, M) mask: True if target (M, 2) is visible from eye (N, 2), both in metres.

    A point on a wall's line sees along it, unless a solid part is in between.
    """
    # Every eye against every target, then against every wall.
    p = eyes[:, None, None, :]
    q = targets[None, :, None, :]
    # A horizontal wall is a vertical one with the axes exchanged.
    flipped = p[..., ::-1], q[..., ::-1]
    blocked = _blocked(walls.vertical, p, q) | _blocked(walls.horizontal, *flipped)
    return np.asarray(~blocked)


def _blocked(rows: Array, p: Array, q: Array) -> Bools:
    """Return True where a wall at constant first coordinate cuts the segment from p to q.

    ``rows`` (W, 3); ``p`` and ``q`` broadcast to (N, M, 1, 2); the result is (N, M).
    """
    line = rows[:, 0]
    low = rows[:, 1]
    high = rows[:, 2]
    # Signed distances to the wall's line: of different signs, the segment crosses it.
    before = p[..., 0] - line
    after = q[..., 0] - line

    # The segment crosses the wall's line between its ends. The inner ``where`` avoids 0 / 0.
    change = before - after
    crosses = (before * after < 0) & (np.abs(change) > EPS)
    share = np.where(crosses, before / np.where(crosses, change, 1.0), 0.0)
    crossing = p[..., 1] + share * (q[..., 1] - p[..., 1])
    hit = crosses & (crossing > low - EPS) & (crossing < high + EPS)

    # Two points on the same wall line see each other unless a solid segment is between them.
    in_wall_line = (np.abs(before) < EPS) & (np.abs(after) < EPS)
    first = np.minimum(p[..., 1], q[..., 1])
    last = np.maximum(p[..., 1], q[..., 1])
    hit |= in_wall_line & (first < high - EPS) & (last > low + EPS)
    return np.asarray(hit.any(axis=-1))


SPACING = 2.5
"""Approximate distance in metres between viewpoints of a room."""
HALL_SPACING = 2.8
"""The same in the hallway, whose viewpoints are on one line."""
JITTER_M = 0.2
"""Maximum offset of a viewpoint from its grid position along each axis, in metres."""
LONGEST = 4.2
"""Maximum edge length in metres, unless a longer edge is needed to connect the graph."""

DETOUR_ANGLE = 125.0
"""A third viewpoint counts as between two others if it sees them more than this angle apart."""
EYE_HEIGHT = 1.5  # metres above the floor


@dataclass(frozen=True, slots=True)
class HousePlace:
    """A viewpoint in metres. In a doorway, ``door`` is its index; ``rooms`` lists both sides."""

    id: str
    x: float
    y: float
    rooms: tuple[int, ...]
    door: int | None = None


def set_places(
    rng: random.Random,
    plan: FloorPlan,
    scene: str,
) -> tuple[HousePlace, ...]:
    """Place one to four viewpoints per room, more in the hallway, one per doorway.

    Sorted by id. Ids are opaque, so that they reveal nothing about the plan; they are
    drawn from ``scene`` and the viewpoint's number.
    """
    # Rooms: a jittered grid in each.
    spots: list[tuple[float, float, tuple[int, ...], int | None]] = []
    for number, room in enumerate(plan.rooms):
        width = room.x1 - room.x0
        height = room.y1 - room.y0
        columns, rows = _grid_shape(room)
        # Positions are drawn column by column: the order is part of the house.
        for i, j in product(range(columns), range(rows)):
            grid_x = room.x0 + width * (i + 0.5) / columns
            grid_y = room.y0 + height * (j + 0.5) / rows
            x = grid_x + rng.uniform(-JITTER_M, JITTER_M)
            y = grid_y + rng.uniform(-JITTER_M, JITTER_M)
            spots.append((round(x, 2), round(y, 2), (number,), None))
    for number, door in enumerate(plan.doors):
        spots.append((door.x, door.y, door.rooms, number))

    # Opaque ids: a name like "kitchen" would give the answer away.
    # Ids: the first six hexadecimal digits of a hash that no other viewpoint has.
    places: dict[str, HousePlace] = {}
    for number, spot in enumerate(spots):
        for attempt in count():
            text = f"{scene}/{number}/{attempt}"
            # Six digits are unique among some dozens of places; another attempt settles
            # a clash.
            name = text_checksum(text, 6)
            if name not in places:
                break
        places[name] = HousePlace(name, *spot)
    return tuple(places[name] for name in sorted(places))


def _grid_shape(room: PlanRoom) -> tuple[int, int]:
    """Return the numbers of columns and rows of a room's viewpoints; one line in the hallway."""
    width = room.x1 - room.x0
    height = room.y1 - room.y0
    if room.name != HALLWAY:
        columns = round(width / SPACING)
        rows = round(height / SPACING)
        # Two by two at most: a room needs no finer grid to be seen.
        return min(2, max(1, columns)), min(2, max(1, rows))
    if width > height:
        return max(1, round(width / HALL_SPACING)), 1
    if height > width:
        return 1, max(1, round(height / HALL_SPACING))
    return 1, 1


def join_places(
    places: tuple[HousePlace, ...],
    walls: Walls,
    scene: str,
) -> ViewpointGraph:
    """Build the viewpoint graph: lines of sight within one room, without intermediate viewpoints.

    Two viewpoints of a room are connected unless a third is so nearly between them that it sees
    them more than ``DETOUR_ANGLE`` degrees apart (a beta-skeleton). Every omitted edge has a
    detour over two shorter ones, so the house stays connected.
    """
    flat = np.array([(p.x, p.y) for p in places], dtype=np.float64)
    # No edge passes through a doorway without stopping at its viewpoint.
    rooms = [set(place.rooms) for place in places]
    # Doorways belong to two rooms, so they connect them.
    pairs_of_rooms = product(rooms, repeat=2)
    shared = np.array([not a.isdisjoint(b) for a, b in pairs_of_rooms], dtype=np.bool_)
    shares_room = shared.reshape(len(places), len(places))
    sees = visible(walls, flat, flat) & shares_room

    # An angle is larger than the limit if its cosine is smaller.
    # The law of cosines gives the angle at the third viewpoint (last axis).
    square = ((flat[:, None, :] - flat[None, :, :]) ** 2).sum(axis=-1)
    distances = np.sqrt(square)
    sides = distances[:, None, :] * distances[None, :, :]
    # The tolerance excludes the two ends, whose products are 0.
    limit = 2.0 * math.cos(math.radians(DETOUR_ANGLE)) * sides - 1e-9
    between = square[:, None, :] + square[None, :, :] - square[:, :, None] < limit
    has_detour = (between & sees[:, None, :] & sees[None, :, :]).any(axis=-1)
    joined = sees & ~has_detour
    # A place is not its own neighbor.
    np.fill_diagonal(joined, False)
    joined = joined & joined.T

    # Edges up to LONGEST, plus the fewest longer ones that connect all viewpoints.
    edges = joined & (square <= LONGEST**2)
    components = np.arange(len(joined))
    longer_edges = np.argwhere(np.triu(joined & ~edges)).tolist()
    # Shorter ones first, then by number, so that equal houses get equal edges.
    longer_edges.sort(key=lambda pair: (float(square[pair[0], pair[1]]), pair))
    for i, j in [*np.argwhere(np.triu(edges)).tolist(), *longer_edges]:
        if components[i] != components[j]:
            # Merging components: an edge inside one of them connects nothing new.
            components[components == components[i]] = components[j]
            # Only an edge that joins two parts is added beyond ``LONGEST``.
            edges[i, j] = edges[j, i] = True
    pairs = np.argwhere(edges).astype(np.int32)
    height = np.full((len(places), 1), EYE_HEIGHT)
    return build(scene, tuple(p.id for p in places), np.hstack([flat, height]), pairs)


def _looks(names: tuple[str, ...], tables: Tables) -> tuple[str, ...]:
    """Return the words for a kind of furniture, with named sets written out."""
    return expand_sets(names, tables["sets"])


LOOKS = Table[tuple[str, ...]]("looks", "looks", _looks)
"""Kind -> adjectives. A piece is named "adjective kind"; names are unique in a house."""
FURNITURE: Mapping[str, tuple[str, ...]] = Table("looks", "rooms")
"""Room -> furniture kinds, most characteristic first; a small room gets only the first few."""

# Furniture, placed along the walls and out of the way.

OFF_WALL = 0.3  # metres from the wall to the center of a piece
APART = 0.85
"""Minimum distance between two pieces, in metres."""
DOOR_CLEARANCE = 0.5
"""Minimum distance of a piece from the side of a doorway, in metres."""
PLACE_CLEARANCE = 0.6
"""Minimum distance of a piece from viewpoints, in metres."""
PATH_CLEARANCE = 0.4
"""Minimum distance of a piece from edges between viewpoints, in metres."""
TRIES = 25  # positions tried before a piece is omitted


@dataclass(frozen=True, slots=True)
class PlacedFurniture:
    """A piece of furniture at a point (metres); ``name`` is unique in the house."""

    name: str
    kind: str
    x: float
    y: float
    room: int


def furnish(
    rng: random.Random,
    plan: FloorPlan,
    places: tuple[HousePlace, ...],
    graph: ViewpointGraph,
) -> tuple[PlacedFurniture, ...]:
    """Furnish every room with uniquely named pieces.

    They are clear of doors, viewpoints and edges. A piece without a free spot is left out.
    """
    pieces: dict[str, PlacedFurniture] = {}
    for number, room in enumerate(plan.rooms):
        room_places = {
            place.id: (place.x, place.y) for place in places if number in place.rooms
        }
        # Points to keep away from, each with its distance.
        obstacles = [(point, PLACE_CLEARANCE) for point in room_places.values()]
        for door in plan.doors:
            if number in door.rooms:
                clearance = door.width / 2 + DOOR_CLEARANCE
                obstacles.append(((door.x, door.y), clearance))
        paths = []
        for a, start in room_places.items():
            # Edges are listed in both directions.
            ends = [b for b in graph.adjacent[a] if b in room_places and a < b]
            paths += [(start, room_places[b]) for b in ends]
        # The most characteristic pieces come first in the table.
        for kind in FURNITURE[room.name][: _piece_count(room)]:
            names = [f"{look} {kind}" for look in LOOKS[kind]]
            free_names = [name for name in names if name not in pieces]
            # A house has no two pieces of the same name.
            if not free_names:
                continue
            # Without a free spot, the piece is left out.
            spot = _free_spot(rng, room, obstacles, paths)
            if spot:
                name = rng.choice(free_names)
                obstacles.append((spot, APART))
                pieces[name] = PlacedFurniture(
                    name,
                    kind,
                    *spot,
                    number,
                )
    return tuple(pieces.values())


def _piece_count(room: PlanRoom) -> int:
    """Return the number of pieces to try: one per 2.2 m², or per 1.3 m of hallway."""
    if room.name == HALLWAY:
        return round(max(room.x1 - room.x0, room.y1 - room.y0) / 1.3)
    # At least three, so that each room has its character; nine fill it.
    return max(3, min(9, round(room.area / 2.2)))


def _free_spot(
    rng: random.Random,
    room: PlanRoom,
    near: Sequence[tuple[Point, float]],
    paths: Sequence[tuple[Point, Point]],
) -> Point | None:
    """Return a spot along the walls, clear of points and paths; None after ``TRIES`` draws.

    ``near`` are points, each with its clearance (metres); ``paths`` keep ``PATH_CLEARANCE``.
    """
    x0 = room.x0 + OFF_WALL
    y0 = room.y0 + OFF_WALL
    x1 = room.x1 - OFF_WALL
    y1 = room.y1 - OFF_WALL
    width = x1 - x0
    height = y1 - y0
    for _ in range(TRIES):
        # A position along the perimeter: south and north walls first, then west and east.
        perimeter_m = rng.uniform(0.0, 2 * (width + height))
        if perimeter_m < 2 * width:
            x = x0 + perimeter_m % width
            y = y0 if perimeter_m < width else y1
        else:
            perimeter_m -= 2 * width
            x = x0 if perimeter_m < height else x1
            y = y0 + perimeter_m % height
        spot = round(x, 2), round(y, 2)
        off_points = all(
            math.dist(spot, point) >= clearance for point, clearance in near
        )
        if off_points and all(
            project_onto(spot, *path)[0] >= PATH_CLEARANCE for path in paths
        ):
            return spot
    return None


def project_onto(spot: Point, start: Point, end: Point) -> tuple[float, float]:
    """Return the distance (m) from a spot to a segment, and its projection onto it (0 to 1)."""
    dx = end[0] - start[0]
    dy = end[1] - start[1]
    square = dx * dx + dy * dy
    share = 0.0  # for a segment of length 0
    if square:
        share = ((spot[0] - start[0]) * dx + (spot[1] - start[1]) * dy) / square
    share = min(1.0, max(0.0, share))
    return math.dist(spot, (start[0] + share * dx, start[1] + share * dy)), share


@dataclass(frozen=True, eq=False)
class GeneratedHouse:
    """A generated house, in metres.

    ``places`` are in the order of ``graph.ids``; ``furniture`` lists the pieces room by room.
    """

    scene: str
    plan: FloorPlan
    walls: Walls
    places: tuple[HousePlace, ...]
    graph: ViewpointGraph
    furniture: tuple[PlacedFurniture, ...]

    @cached_property
    def sees_furniture(self) -> Bools:
        """(places, furniture) mask: True if the piece is visible from the viewpoint."""
        return self._sees([(piece.x, piece.y) for piece in self.furniture])

    @cached_property
    def sees_doors(self) -> Bools:
        """(places, doors) mask: True if the doorway's center is visible from the viewpoint."""
        return self._sees([(door.x, door.y) for door in self.plan.doors])

    @cached_property
    def nearest_place(self) -> tuple[tuple[str, float], ...]:
        """For each piece, the nearest viewpoint that sees it and its lead over the next (metres).

        The lead is infinite if no other sees it.
        """
        eyes = np.array([(place.x, place.y) for place in self.places])
        nearest = []
        for number, piece in enumerate(self.furniture):
            distances = np.hypot(eyes[:, 0] - piece.x, eyes[:, 1] - piece.y)
            distances = np.where(self.sees_furniture[:, number], distances, np.inf)
            # Stable, so that of two equally near places the first one counts.
            best, second = np.argsort(distances, kind="stable")[:2]
            lead = float(distances[second] - distances[best])
            nearest.append((self.places[best].id, lead))
        return tuple(nearest)

    def place(self, viewpoint: str) -> HousePlace:
        """Return the place that a viewpoint stands for."""
        return self.places[self.graph.index[viewpoint]]

    def room_name(self, number: int) -> str:
        """Return the name of a room by its number."""
        return self.plan.rooms[number].name

    def _sees(self, targets: list[tuple[float, float]]) -> Bools:
        """Return a mask (places, targets): true if a target (x, y) is in sight from a place."""
        eyes = np.array([(place.x, place.y) for place in self.places])
        # Reshaped for the case of no targets.
        points = np.array(targets, dtype=np.float64).reshape(-1, 2)
        return visible(self.walls, eyes, points)


def scene_name(
    split: str,
    seed: int,
    rooms: int,
    number: int,
) -> str:
    """Return a scene name, which determines the house: ``test-s0-r9-0003``."""
    return f"{split}-s{seed}-r{rooms}-{number:04d}"


def build_house(scene: str) -> GeneratedHouse:
    """Build the house of a scene name, identical on every machine.

    Raises ``UsageError`` for a name not produced by ``scene_name``.
    """
    match = re.fullmatch(r"[a-z]+-s-?\d+-r(\d+)-\d+", scene)
    if match is None or not floorplans.SMALLEST <= int(match[1]) <= floorplans.LARGEST:
        raise UsageError(
            f"{scene!r} is not a generated house such as 'test-s0-r9-0003'"
        )
    room_count = int(match[1])
    rng = random.Random(f"house/{scene}")
    plan = floorplans.draw_plan(rng, room_count)
    # Drawn again with the same generator, which has moved on.
    while plan.cut_off:  # rare: a shared wall is too short for its door
        plan = floorplans.draw_plan(rng, room_count)
    walls = build_walls(plan)
    places = set_places(rng, plan, scene)
    graph = join_places(places, walls, scene)
    furniture = furnish(rng, plan, places, graph)
    return GeneratedHouse(
        scene,
        plan,
        walls,
        places,
        graph,
        furniture,
    )
