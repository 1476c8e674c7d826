"""SceneBuilder: rooms, doors and things in, a checked Scene out."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from wayword.core.geometry import inside_polygon, leftover, polygon_distance
from wayword.worlds.household.scene import (
    Door,
    Floor,
    HouseObject,
    Point,
    Preposition,
    Room,
    Scene,
    Wall,
    validate,
)

FLAT = 0.05
"""Things lower than this (rugs, mats) are walked over; metres."""
HEADROOM = 1.5
"""Things that hang higher than this are walked under; metres."""


def type_name(label: str) -> str:
    """A dataset's label as a type: ``CounterTop`` -> ``counter_top``, ``TVStand`` -> ``tv_stand``.

    Spaces and other signs become underscores.
    """
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", label)
    return re.sub(r"[^a-z0-9]+", "_", words.lower()).strip("_")


class SceneBuilder:
    """Builds a scene piece by piece.

        >>> house = SceneBuilder("flat")
        >>> house.room("kitchen", [(0, 0), (4, 0), (4, 3), (0, 3)])
        >>> house.room("hall", [(4, 0), (6, 0), (6, 3), (4, 3)])
        >>> door = house.door("door", (4, 1), (4, 2), shut=True)
        >>> fridge = house.furniture("fridge", 0.4, 2.6, 0.8, 0.8, 1.8, "openable", "cooler",
        ...                          receptacle="in")
        >>> apple = house.thing("apple", parent=fridge)
        >>> scene = house.build()
        >>> (len(scene.walls), scene.doors[0].rooms)
        (8, ('kitchen', 'hall'))

    The edges of the rooms' polygons become walls, and doors and openings cut their gaps into them.
    Lengths are metres.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._rooms: list[Room] = []
        self._walls: list[Wall] = []
        self._doors: list[Door] = []
        self._gaps: list[tuple[Point, Point]] = []
        self._objects: dict[str, HouseObject] = {}
        self._floor: Floor | None = None

    def room(self, name: str, polygon: Iterable[Point], walls: bool = True) -> None:
        """A room with a wall along each edge of its polygon, or none where ``walls`` is false."""
        corners = tuple((float(x), float(y)) for x, y in polygon)
        self._rooms.append(Room(name, corners))
        if walls:
            for a, b in zip(corners, corners[1:] + corners[:1], strict=True):
                self.wall(a, b)

    def wall(self, a: Point, b: Point) -> None:
        """A wall from ``a`` to ``b``. One that two rooms share is kept once."""
        wall = Wall(a, b)
        if wall not in self._walls and Wall(b, a) not in self._walls:
            self._walls.append(wall)

    def opening(self, a: Point, b: Point) -> None:
        """A gap in every wall along ``a``–``b`` (up to 0.15 m aside): a doorway without a door."""
        self._gaps.append((a, b))

    def door(
        self, name: str, a: Point, b: Point, *, shut: bool = False, openable: bool = True
    ) -> str:
        """A door in a gap of its own. The rooms on its sides are found from the polygons."""
        self.opening(a, b)
        self._doors.append(Door(name, a, b, (), not shut, openable))
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
        **more: Any,
    ) -> str:
        """Something that stays where it is, by its box: centre, extents and underside.

        It is ``solid`` unless flat, hung high or standing on something, and ``opaque`` unless told
        otherwise in ``more``, which takes every other field of ``HouseObject``. Returns the id.
        """
        stands = height > FLAT and bottom < HEADROOM and not more.get("parent")
        more = {"solid": stands, "opaque": True, **more}
        return self.add(
            HouseObject(
                name or self._fresh(kind),
                kind,
                x,
                y,
                width,
                depth,
                bottom,
                height,
                affordances=frozenset(affordances),
                receptacle=receptacle,
                **more,
            )
        )

    def thing(
        self,
        kind: str,
        *affordances: str,
        parent: str = "",
        x: float | None = None,
        y: float | None = None,
        name: str = "",
        **more: Any,
    ) -> str:
        """Something to pick up, in or on ``parent`` or on the floor.

        Without ``x`` and ``y`` it lies at its parent's centre. ``more`` takes every other field of
        ``HouseObject``. Returns the id.
        """
        under = self._objects.get(parent)
        if under is not None:
            x, y = under.x if x is None else x, under.y if y is None else y
            raised = under.height if under.receptacle == "on" else under.height / 2
            more.setdefault("bottom", under.bottom + raised)
        what = frozenset(("pickupable", *affordances))
        made = HouseObject(
            name or self._fresh(kind), kind, x or 0.0, y or 0.0, parent=parent, affordances=what
        )
        return self.add(replace(made, **more))

    def add(self, thing: HouseObject) -> str:
        """An object as it is: what importers of boxes use. Returns its id."""
        self._objects[thing.id] = thing
        return thing.id

    def floor(self, cells: Iterable[Point], spacing: float) -> None:
        """Where a body may stand: points on a grid (iTHOR's reachable positions)."""
        points = list(cells)
        left, low = min(x for x, _ in points), min(y for _, y in points)
        places = {(round((x - left) / spacing), round((y - low) / spacing)) for x, y in points}
        wide, high = max(i for i, _ in places) + 1, max(j for _, j in places) + 1
        rows = tuple(
            "".join("." if (i, j) in places else "#" for i in range(wide)) for j in range(high)
        )
        self._floor = Floor(left, low, spacing, rows)

    def build(self) -> Scene:
        """The scene. Raises ``DataError`` where it does not hang together."""
        walls = list(self._walls)
        for gap in self._gaps:
            walls = [Wall(*rest) for wall in walls for rest in leftover((wall.a, wall.b), gap)]
        doors = tuple(replace(door, rooms=self._beside(door)) for door in self._doors)
        objects = tuple(self._objects.values())
        scene = Scene(self.name, tuple(self._rooms), tuple(walls), doors, objects, self._floor)
        validate(scene)
        return scene

    def _beside(self, door: Door) -> tuple[str, ...]:
        """The rooms 0.3 m to either side of a door's middle."""
        (ax, ay), (bx, by) = door.a, door.b
        length = max(((bx - ax) ** 2 + (by - ay) ** 2) ** 0.5, 1e-9)
        nx, ny = 0.3 * (by - ay) / length, -0.3 * (bx - ax) / length
        found: list[str] = []
        for side in (-1, 1):
            x, y = (ax + bx) / 2 + side * nx, (ay + by) / 2 + side * ny
            near = [r for r in self._rooms if inside_polygon(x, y, r.polygon)]
            near = near or [r for r in self._rooms if polygon_distance(x, y, r.polygon) < 0.3]
            found += [room.name for room in near[:1] if room.name not in found]
        return tuple(found)

    def _fresh(self, kind: str) -> str:
        number = 1
        while f"{kind}|{number}" in self._objects:
            number += 1
        return f"{kind}|{number}"
