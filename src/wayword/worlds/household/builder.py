"""SceneBuilder: builds a validated Scene from rooms, doors and objects."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from itertools import combinations, count, product
from numbers import Real
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from wayword.core.errors import DataError
from wayword.core.geometry import (
    Point,
    bounding_box,
    inside_polygon,
    leftover,
    point_segment_distance,
    polygon_distance,
    sides,
)
from wayword.worlds.household.scene import (
    Door,
    Floor,
    HouseObject,
    Preposition,
    Room,
    Scene,
    Wall,
    validate,
)

FLAT_HEIGHT = 0.05  # metres: bodies walk over flatter objects (rugs, mats)
HEADROOM = 1.5  # metres: bodies walk under objects that hang higher (wall cabinets)
OUTSIDE = 0.05  # metres beyond a room's edge at which an object is still in it
WALL_SLACK = 0.15  # metres from a wall's line at which a door is in it
LONGEST_ROOM = 100.0  # metres: a longer room is in another unit
SAMPLES = 20  # points a side of the box in which two rooms may overlap
_METRES = ("x", "y", "width", "depth", "bottom", "height")
BESIDE_DOOR = 0.3  # metres from a door's middle at which a point is in one of its rooms


@lru_cache(maxsize=4096)  # a home has hundreds of objects of a few dozen labels
def type_name(label: str) -> str:
    """Convert a dataset's label to a type: ``CounterTop`` to ``counter_top``."""
    # Before a capital after a small letter or digit, and before the last capital of an
    # acronym: ``TVStand`` is ``tv_stand``.
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", label)
    return re.sub(r"[^a-z0-9]+", "_", words.lower()).strip("_")


class SceneBuilder:
    """Builder for scenes.

        >>> house = SceneBuilder("flat")
        >>> house.room("kitchen", [(0, 0), (4, 0), (4, 3), (0, 3)])
        >>> house.room("hall", [(4, 0), (6, 0), (6, 3), (4, 3)])
        >>> door = house.door("door", (4, 1), (4, 2), closed=True)
        >>> fridge = house.furniture("fridge", 0.4, 2.6, 0.8, 0.8, 1.8, "openable", "cooler",
        ...                          receptacle="in")
        >>> apple = house.item("apple", parent=fridge)
        >>> scene = house.build()
        >>> (len(scene.walls), scene.doors[0].rooms)
        (8, ('kitchen', 'hall'))

    The edges of the rooms' polygons become walls; doors and openings cut gaps into them.
    Lengths are metres.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._rooms: list[Room] = []
        self._walls: dict[frozenset[Point], Wall] = {}
        self._doors: list[Door] = []
        self._wall_cuts: list[tuple[Point, Point]] = []
        self._objects: dict[str, HouseObject] = {}
        self._floor: Floor | None = None
        # Part -> file and line that added it, for errors.
        self._lines: dict[str, str] = {}

    def room(
        self,
        name: str,
        polygon: Iterable[Point],
        walls: bool = True,
    ) -> None:
        """Add a room, with a wall along each edge of its polygon unless ``walls`` is false."""
        # As floats, so that hand-made and imported scenes give equal points.
        self._keep_line(f"room {name!r}")
        corners = self._points(f"room {name!r}", polygon)
        self._rooms.append(Room(name, corners))
        if walls:
            for a, b in sides(corners):
                self.wall(a, b)

    def wall(self, a: Point, b: Point) -> None:
        """Add a wall, unless it was added before, by a room on its other side."""
        # A set of ends: the other room names the same wall in the other direction.
        self._walls.setdefault(frozenset((a, b)), Wall(a, b))

    def opening(self, a: Point, b: Point) -> None:
        """Cut a gap into every wall along ``a``–``b`` (within 0.15 m): a doorway without a door."""
        part = f"the opening from {a} to {b}"
        self._keep_line(part)
        self._points(part, (a, b))
        self._wall_cuts.append((a, b))

    def door(
        self,
        name: str,
        a: Point,
        b: Point,
        *,
        closed: bool = False,
    ) -> str:
        """Add a door in its gap. The rooms on its sides are inferred from the polygons."""
        # Walls are cut when the scene is built, since rooms may be added later.
        self._keep_line(f"door {name!r}")
        self._points(f"door {name!r}", (a, b))
        self._wall_cuts.append((a, b))
        self._doors.append(Door(name, a, b, open=not closed))
        return name

    def furniture(
        self,
        kind: str,
        x: float,
        y: float,
        width: float,
        depth: float,
        height: float,
        *affordances: str,
        name: str = "",
        bottom: float = 0.0,
        receptacle: Preposition = "",
        **fields: Any,
    ) -> str:
        """Add a fixed object by its box (metres): center, extents and height of its underside. It
        is ``solid`` unless flat, hung high or standing on something, and ``opaque``; ``fields``
        sets these and any other field of ``HouseObject``. Returns the id."""
        # A rug can be walked on, a cabinet on the wall walked under; what stands on
        # something is met by that.
        stops_bodies = (
            height > FLAT_HEIGHT and bottom < HEADROOM and not fields.get("parent")
        )
        # Given fields win, so an importer can say that glass is not opaque.
        fields = {"solid": stops_bodies, "opaque": True, **fields}
        box = x, y, width, depth, bottom, height
        fields |= {
            "affordances": frozenset(affordances),
            "receptacle": receptacle,
        }
        return self.add(
            HouseObject(
                name or self._new_id(kind),
                kind,
                *box,
                **fields,
            )
        )

    def item(
        self,
        kind: str,
        *affordances: str,
        parent: str = "",
        x: float | None = None,
        y: float | None = None,
        name: str = "",
        **fields: Any,
    ) -> str:
        """Add a portable object, in or on ``parent`` (by default at its center) or on the floor.
        ``fields`` sets any other field of ``HouseObject``. Returns the id."""
        support = self._objects.get(parent)
        # At the middle of its support, on top of it or halfway up inside.
        if support is not None:
            x = support.x if x is None else x
            y = support.y if y is None else y
            if support.receptacle == "on":
                offset = support.height
            else:
                offset = support.height / 2
            fields.setdefault("bottom", support.bottom + offset)
        # An item can always be carried.
        able = frozenset(("pickupable", *affordances))
        fields = {"parent": parent, "affordances": able, **fields}
        return self.add(
            HouseObject(
                name or self._new_id(kind),
                kind,
                x or 0.0,
                y or 0.0,
                **fields,
            )
        )

    def add(self, obj: HouseObject) -> str:
        """Add a complete object, as importers do. Returns its id."""
        self._objects[obj.id] = obj
        self._keep_line(f"object {obj.id!r}")
        for field in _METRES:
            value = getattr(obj, field)
            if not isinstance(value, Real):
                problem = f"{field} must be a number of metres, got {value!r:.60}"
                self._refuse(f"object {obj.id!r}", problem)
        return obj.id

    def _keep_line(self, part: str) -> None:
        """Keep the line outside of this file that adds a part."""
        frame = sys._getframe(1)
        while frame.f_back is not None and frame.f_code.co_filename == __file__:
            frame = frame.f_back
        self._lines[part] = f"{frame.f_code.co_filename}:{frame.f_lineno}"

    def floor(self, cells: ArrayLike, spacing: float) -> None:
        """Set the positions (N, 2) where a body may stand: points of a grid with that spacing
        (metres)."""
        # Published positions are rounded, so they are snapped to the grid that they
        # came from.
        points = np.asarray(cells)
        corner = points.min(axis=0)
        columns, rows = np.rint((points - corner) / spacing).astype(np.intp).T
        # Single bytes: rows become text without a loop over cells.
        marks = np.full((rows.max() + 1, columns.max() + 1), b"#")
        marks[rows, columns] = b"."
        lines = (row.tobytes().decode() for row in marks)
        west, south = corner.tolist()
        self._floor = Floor(
            west,
            south,
            spacing,
            tuple(lines),
        )

    def build(self, is_published: bool = False) -> Scene:
        """Build the scene. Raises ``DataError`` if it is inconsistent.

        ``is_published``: data of others is taken as it is, although its rooms may overlap, its
        furniture stand outside of them, and its doors be on no wall.
        """
        # Rooms first: with a wrong one, all that stands in it seems to be wrong.
        if not is_published:
            self._check_rooms()
        walls = list(self._walls.values())
        # Each gap cuts every wall it touches, so a wall may fall into several pieces.
        for gap in self._wall_cuts:
            walls = [
                Wall(*piece)
                for wall in walls
                for piece in leftover((wall.a, wall.b), gap)
            ]
        doors = tuple(
            replace(door, rooms=self._rooms_next_to(door)) for door in self._doors
        )
        objects = tuple(self._objects.values())
        scene = Scene(
            self.name,
            tuple(self._rooms),
            tuple(walls),
            doors,
            objects,
            self._floor,
        )
        # Checked here, for errors to name the user's line and not the first step in the scene.
        try:
            validate(scene)
        except DataError as error:
            if is_published:
                raise
            self._refuse(error.where, error.problem)
        # Last: an object without its parent stands at no place.
        if not is_published:
            self._check_plan()
        return scene

    def _check_rooms(self) -> None:
        """Raise ``DataError`` for a room that is no area, or is too long for metres."""
        for room in self._rooms:
            part = f"room {room.name!r}"
            corners = len(set(room.polygon))
            if corners < 3:
                problem = f"must have at least three corners, got {corners}"
                self._refuse(part, problem, "give each corner of its floor")
            west, south, east, north = bounding_box(room.polygon)
            length = max(east - west, north - south)
            if length > LONGEST_ROOM:
                problem = f"is {length:g} m long: corners are in metres"
                self._refuse(part, problem, "divide by 100 if these are centimetres")

    def _check_plan(self) -> None:
        """Raise ``DataError`` for rooms that overlap, and for doors and objects that are in none.

        It names the file and line that added the part."""
        for one, other in combinations(self._rooms, 2):
            if _overlap(one, other):
                problem = f"overlaps room {one.name!r}"
                self._refuse(
                    f"room {other.name!r}", problem, "move a corner of one of them"
                )
        walls = list(self._walls.values())
        doors = {(door.a, door.b): f"door {door.id!r}" for door in self._doors}
        for gap in self._wall_cuts:
            # Both ends count: a wall may already have the gap. Rooms without walls are open.
            is_on_wall = all(
                any(
                    point_segment_distance(*end, *wall.a, *wall.b) <= WALL_SLACK
                    for wall in walls
                )
                for end in gap
            )
            if walls and not is_on_wall:
                a, b = gap
                part = doors.get(gap, f"the opening from {a} to {b}")
                remedy = "give two points on an edge of a room"
                self._refuse(part, f"from {a} to {b} is on no wall", remedy)
        for obj in self._objects.values():
            in_room = any(
                inside_polygon(obj.x, obj.y, room.polygon)
                or polygon_distance(obj.x, obj.y, room.polygon) <= OUTSIDE
                for room in self._rooms
            )
            if self._rooms and not in_room:
                problem = f"at ({obj.x:g}, {obj.y:g}) is outside every room"
                self._refuse(
                    f"object {obj.id!r}", problem, "correct its x and y (metres)"
                )

    def _points(self, part: str, points: Any) -> tuple[Point, ...]:
        """Return the points of a part as floats. Raises ``DataError`` for one that is no pair of
        numbers, such as texts of a file."""
        pairs: list[Point] = []
        for point in points:
            is_pair = isinstance(point, Iterable) and not isinstance(point, str)
            pair = tuple(point) if is_pair else ()
            if len(pair) != 2 or not all(isinstance(each, Real) for each in pair):
                self._refuse(
                    part, f"a point must be two numbers (x, y), got {point!r:.60}"
                )
            pairs.append((float(pair[0]), float(pair[1])))
        return tuple(pairs)

    def _refuse(self, part: str, problem: str, remedy: str = "") -> NoReturn:
        """Raise ``DataError`` for a part of the plan."""
        where = self._lines.get(part, f"scene {self.name}")
        raise DataError(where, part, problem, remedy)

    def _rooms_next_to(self, door: Door) -> tuple[str, ...]:
        """Return the rooms on the two sides of a door, only one if it leads outside."""
        (ax, ay), (bx, by) = door.a, door.b
        # A point has no direction
        length = max(((bx - ax) ** 2 + (by - ay) ** 2) ** 0.5, 1e-9)
        # The normal of the door's line: one point on each side.
        nx = BESIDE_DOOR * (by - ay) / length
        ny = -BESIDE_DOOR * (bx - ax) / length
        rooms: dict[str, None] = {}
        for side in (-1, 1):
            x = (ax + bx) / 2 + side * nx
            y = (ay + by) / 2 + side * ny
            # A thick wall may keep the point out of both polygons; then the nearest
            # room counts.
            inside = [r for r in self._rooms if inside_polygon(x, y, r.polygon)]
            near = [
                r
                for r in self._rooms
                if polygon_distance(x, y, r.polygon) < BESIDE_DOOR
            ]
            # At most one room on each side, in a fixed order.
            rooms.update(dict.fromkeys(room.name for room in (inside or near)[:1]))
        return tuple(rooms)

    def _new_id(self, kind: str) -> str:
        """Return the first free id of a type: ``mug|1``."""
        ids = (f"{kind}|{number}" for number in count(1))
        return next(name for name in ids if name not in self._objects)


def _overlap(one: Room, other: Room) -> bool:
    """True if two rooms share floor, more than a rounding error along an edge."""
    west, south, east, north = bounding_box(one.polygon)
    other_west, other_south, other_east, other_north = bounding_box(other.polygon)
    west = max(west, other_west)
    south = max(south, other_south)
    east = min(east, other_east)
    north = min(north, other_north)
    if east - west <= OUTSIDE or north - south <= OUTSIDE:
        return False
    for i, j in product(range(SAMPLES), repeat=2):
        x = west + (i + 0.5) / SAMPLES * (east - west)
        y = south + (j + 0.5) / SAMPLES * (north - south)
        polygons = (one.polygon, other.polygon)
        if all(
            inside_polygon(x, y, polygon)
            and polygon_distance(x, y, polygon) > OUTSIDE / 2
            for polygon in polygons
        ):
            return True
    return False
