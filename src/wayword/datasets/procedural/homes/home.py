"""Generated homes: plan, furniture and standing positions, determined by a name.

``home-test-s0-r5-0003`` is the fourth five-room home of the test stream with seed 0. Small objects
are placed by ``objects``.

A plan is one room, a few rooms in a row, rooms along a hallway (see ``floorplans``), or several
such wings on both sides of a connecting corridor; rooms of the second wing are named ``kitchen 2``
and so on. Metres, x east and y north.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from wayword.core.errors import UsageError
from wayword.core.geometry import Floats, Point
from wayword.datasets.procedural import floorplans
from wayword.datasets.procedural.floorplans import (
    CORNER,
    DOOR,
    FloorPlan,
    PlanDoor,
    PlanRoom,
)
from wayword.datasets.procedural.homes.furniture import (
    FURNITURE_KINDS,
    FurniturePiece,
    furnish,
)
from wayword.worlds.household.builder import SceneBuilder
from wayword.worlds.household.house import Fail, House
from wayword.worlds.household.layout import Layout, can_stand
from wayword.worlds.household.route import Trip
from wayword.worlds.household.scene import HouseObject, Scene
from wayword.worlds.household.verbs import Body

MIN_ROOMS = 1
MAX_ROOMS = 100
"""Range of rooms that a home can be drawn with."""
STUDIO = "studio"
"""The only room of the smallest homes."""
STUDIO_WIDTH = (6.0, 7.0)  # metres: wide, since it holds all furniture of a home
ROW_ROOMS = ("kitchen", "living room", "main bedroom", "bathroom")
"""Rooms, in order, of homes too small for a hallway."""
CORRIDOR = "corridor"
CORRIDOR_WIDTH = 2.4  # metres, as the widest hallway
WING_ROOMS = 12
"""Maximum number of rooms per wing, including its hallway."""
WING_GAP = 0.4
"""Gap between wings on the same side, metres."""
ARCH_WIDTH = 1.2
"""Width of the opening from the corridor into a wing's hallway, metres."""


def draw_home_plan(rng: random.Random, count: int) -> FloorPlan:
    """Draw a plan of ``count`` rooms.

    With five or more, one of them is a hallway; fewer stand in a row, each with a door
    to the next. The order of draws is part of all homes: keep it.
    """
    # More rooms than one hallway can serve need wings.
    if count > floorplans.LARGEST:
        return _draw_wings(rng, count)
    if count >= floorplans.SMALLEST:
        return floorplans.draw_plan(rng, count)

    # All rooms of the row are equally deep.
    # A row of rooms from west to east.
    depth = round(rng.uniform(3.8, 4.6), 2)
    names = (STUDIO,) if count == 1 else ROW_ROOMS[:count]
    edges = [0.0]
    for name in names:
        width = STUDIO_WIDTH if name == STUDIO else floorplans.ROOM_TYPES[name].width
        # Three metres at least: a bathroom needs room to turn.
        edges.append(round(edges[-1] + max(3.0, rng.uniform(*width)), 2))
    spans = zip(names, edges, edges[1:], strict=False)
    rooms = tuple(PlanRoom(name, x0, 0.0, x1, depth) for name, x0, x1 in spans)
    # Half a door and a corner from each end of the wall.
    margin = DOOR / 2 + CORNER
    doors = []
    for i in range(count - 1):
        y = round(rng.uniform(margin, depth - margin), 2)
        doors.append(PlanDoor((i, i + 1), edges[i + 1], y, True, DOOR))
    return FloorPlan(rooms, tuple(doors))


def _draw_wings(rng: random.Random, count: int) -> FloorPlan:
    """Draw a corridor from south to north, with wings alternating between east and west."""
    # The rooms besides the corridor, in wings of almost equal size, at most ``WING_ROOMS``.
    wing_count = math.ceil((count - 1) / WING_ROOMS)
    sizes = [(count - 1 + n) // wing_count for n in range(wing_count)]
    rooms: list[PlanRoom] = []
    doors: list[PlanDoor] = []
    next_y = [0.0, 0.0]  # of the next wing in the east, and in the west
    for n, size in enumerate(sizes):
        side = n % 2
        drawn = floorplans.draw_wing(rng, size)
        first = 1 + len(rooms)  # the corridor is room 0
        # The lowest room of the wing goes above the last wing on this side.
        lowest = min(room.y0 for room in drawn.rooms)
        wing = _moved(drawn, side, round(next_y[side] - lowest, 2), first)
        # Rooms of later wings have a number, so that names stay unique.
        suffix = f" {n + 1}" if n else ""
        rooms += [replace(room, name=f"{room.name}{suffix}") for room in wing.rooms]
        doors += wing.doors
        # Its hallway, the first of its rooms, opens to the corridor.
        hall = wing.rooms[0]
        edge = CORRIDOR_WIDTH if side == 0 else 0.0
        middle = round((hall.y0 + hall.y1) / 2, 2)
        doors.append(PlanDoor((0, first), edge, middle, True, ARCH_WIDTH))
        # The gap keeps the walls of two wings apart.
        top = max(room.y1 for room in wing.rooms)
        next_y[side] = round(top + WING_GAP, 2)
    length = round(max(next_y) - WING_GAP, 2)
    corridor = PlanRoom(CORRIDOR, 0.0, 0.0, CORRIDOR_WIDTH, length)
    # Turned at the end, so that corridors run in any direction.
    return floorplans.turned(rng, FloorPlan((corridor, *rooms), tuple(doors)))


def _moved(wing: FloorPlan, side: int, shift_y: float, first: int) -> FloorPlan:
    """Move a wing along its side of the corridor; its rooms get the numbers from ``first``."""
    rooms = []
    for room in wing.rooms:
        x0, x1 = sorted((_mirror_x(room.x0, side), _mirror_x(room.x1, side)))
        y0 = round(room.y0 + shift_y, 2)
        y1 = round(room.y1 + shift_y, 2)
        rooms.append(PlanRoom(room.name, x0, y0, x1, y1))
    doors = []
    for door in wing.doors:
        one, other = door.rooms
        x = _mirror_x(door.x, side)
        y = round(door.y + shift_y, 2)
        pair = (one + first, other + first)
        doors.append(PlanDoor(pair, x, y, door.vertical, door.width))
    return FloorPlan(tuple(rooms), tuple(doors))


def _mirror_x(x: float, side: int) -> float:
    """Shift a wing's x east of the corridor (side 0), or mirror it to the west (side 1)."""
    moved = -x if side else x + CORRIDOR_WIDTH
    return round(moved, 2) + 0.0  # 0.0 rather than -0.0


# The furnished plan.

CLOSED_DOORS = 0.35
"""Share of doors that are closed at the start."""
GRID = 0.25
"""Starts are multiples of this (metres), so that all walks in a home share one lattice."""
TRIES = 40  # plans drawn before a home is declared impassable; most need one or two
NEEDED_FURNITURE = ("fridge", "counter_top", "kitchen_sink")
"""Furniture that the tasks need in every home."""
LAMPS = ("floor_lamp", "lamp_table", "desk")
"""... and at least one of these."""


@dataclass(frozen=True, eq=False)
class Home:
    """A furnished home without small objects.

    ``starts``: positions (metres) from which every room and piece can be reached on foot.
    """

    name: str
    scene: Scene
    layout: Layout
    starts: tuple[Point, ...]

    @property
    def rooms(self) -> list[str]:
        """Names of the rooms."""
        return [room.name for room in self.scene.rooms]

    def distance_from_floor(self, x: float, y: float) -> float:
        """Return metres from a point to the nearest standing position in its room; inf if none."""
        places = self.floors.get(self.layout.room_at(x, y))
        # No start in that room: nothing in it can be reached.
        if places is None:
            return math.inf
        return float(np.sqrt(((places - (x, y)) ** 2).sum(axis=1).min()))

    @cached_property
    def floors(self) -> dict[str, Floats]:
        """Room -> (P, 2) array of the starts in it (x, y in metres)."""
        rooms: dict[str, list[Point]] = {}
        for at in self.starts:
            rooms.setdefault(self.layout.room_at(*at), []).append(at)
        return {room: np.array(places) for room, places in rooms.items()}


def home_name(
    stream: str,
    seed: int,
    rooms: int,
    number: int,
) -> str:
    """Return the name of a home."""
    return f"home-{stream}-s{seed}-r{rooms}-{number:04d}"


def build_home(name: str) -> Home:
    """Build the home of that name. Raises ``UsageError`` for an invalid name."""
    match = re.fullmatch(r"home-[a-z]+-s-?\d+-r(\d+)-\d+", name)
    if match is None:
        raise UsageError(
            f"{name!r} is not a generated home such as {home_name('test', 0, 5, 0)}"
        )
    for attempt in range(TRIES):
        # A generator per attempt: a failed plan does not shift the next one.
        rng = random.Random(f"{name}/{attempt}")
        plan = draw_home_plan(rng, int(match[1]))
        pieces = furnish(rng, plan)
        kinds = {piece.kind for piece in pieces}
        # Tasks need these pieces in every home.
        if not kinds.issuperset(NEEDED_FURNITURE) or kinds.isdisjoint(LAMPS):
            continue
        # Wide openings have no door to close.
        # Drawn after the furniture: the order of draws is part of the home.
        closed = [
            door.width <= DOOR and rng.random() < CLOSED_DOORS for door in plan.doors
        ]
        scene = build_scene(name, plan, pieces, closed)
        layout = Layout(scene)
        starts = reachable_starts(layout)
        if starts:
            return Home(name, scene, layout, starts)
    raise UsageError(
        f"{name}: all {TRIES} floor plans are impassable; change dataset.seed"
    )


def build_scene(
    name: str,
    plan: FloorPlan,
    pieces: Sequence[FurniturePiece],
    closed: Sequence[bool],
) -> Scene:
    """Build the scene of a furnished plan.

    ``closed`` has one flag per door, in the plan's order; those of archways have no effect. Doors
    are called ``door|1`` and so on. Parts of a piece, such as the basin of a sink, are built after
    it, in the order of its kind.
    """
    builder = SceneBuilder(name)
    for room in plan.rooms:
        builder.room(room.name, room.corners)
    for number, door in enumerate(plan.doors, 1):
        # Archways are openings, doors have a leaf.
        if door.width > DOOR:
            builder.opening(*door.ends)
        else:
            is_closed = closed[number - 1]
            builder.door(f"door|{number}", *door.ends, closed=is_closed)
    for piece in pieces:
        center = (piece.x, piece.y)
        piece_id = _add_furniture(
            builder,
            piece.kind,
            center,
            piece.width,
            piece.depth,
        )
        part_id = ""
        # Parts are placed relative to their piece, which may face any side.
        for part in FURNITURE_KINDS[piece.kind].parts:
            kind = FURNITURE_KINDS[part.kind]
            if piece.front[0]:  # the piece faces east or west, so its sides are swapped
                width = kind.depth
                depth = kind.width
            else:
                width = kind.width
                depth = kind.depth
            # A part that controls works the part listed before it: a tap its basin.
            controls = (part_id,) if part.controls else ()
            part_id = _add_furniture(
                builder,
                part.kind,
                piece.at(part.along, part.deep),
                width,
                depth,
                bottom=part.bottom,
                parent=piece_id if part.stands else "",
                controls=controls,
                solid=False,
                opaque=False,
            )
    return builder.build(is_published=True)


def _add_furniture(
    builder: SceneBuilder,
    kind: str,
    at: Point,
    width: float,
    depth: float,
    **more: Any,
) -> str:
    """Add furniture of a kind, centered on a point (metres). Returns its id.

    ``more`` are further fields of ``HouseObject``.
    """
    spec = FURNITURE_KINDS[kind]
    return builder.furniture(
        kind,
        *at,
        width,
        depth,
        spec.height,
        *spec.affordances,
        receptacle=spec.receptacle,
        accepts=spec.accepts,
        capacity=spec.capacity,
        **more,
    )


def house_at(layout: Layout, start: Point) -> House:
    """Return a house with one body at ``start`` and all doors open."""
    house = House(layout, {"agent": Body()}, {"agent": (*start, 0.0)})
    # Open doors, so that reach does not depend on which doors are closed.
    for door in range(house.entities.object_count, house.entities.first_actor):
        house.entities.set_open(door, True)
    return house


def reachable_starts(layout: Layout) -> tuple[Point, ...]:
    """Return positions from which every room and piece can be reached once the doors are open.

    Empty if a room or piece cannot be reached from the largest part of the floor.
    """
    # The lattice begins in the middle of the home.
    # The body's lattice has multiples of GRID only if its origin is one.
    west, south, east, north = layout.bounds
    middle_x = GRID * round((west + east) / 2 / GRID)
    middle_y = GRID * round((south + north) / 2 / GRID)
    house = house_at(layout, (middle_x, middle_y))
    walker = house.actors["agent"]
    grid = Trip(house, walker).grid

    # From the free position nearest to the middle of the first room to every room and object.
    room = layout.scene.rooms[0].polygon
    x = (room[0][0] + room[2][0]) / 2
    y = (room[0][1] + room[2][1]) / 2
    places = np.flatnonzero((grid.neighbors >= 0).any(axis=1))
    # Furniture may fill a home so that no step is free.
    if not len(places):
        return ()
    nearest = places[np.argmin((grid.x[places] - x) ** 2 + (grid.y[places] - y) ** 2)]
    house.stand(walker, *grid.point(nearest))
    trip = Trip(house, walker)
    try:
        for target_room in layout.scene.rooms:
            trip.nearest_goal(target_room)
        # The walker itself is no goal.
        for number in range(house.entities.size - 1):  # the last one is the walker
            trip.nearest_goal(number)
    except Fail:
        return ()

    # Closed doors are obstacles to stand in, too.
    # All positions on the way that are also free with the doors closed.
    closed = [True] * house.entities.door_count
    radius = walker.body.radius
    starts = []
    for cell in np.flatnonzero(trip.steps >= 0).tolist():
        point = grid.point(cell)
        if can_stand(layout, radius, point, closed):
            starts.append((round(point[0], 6), round(point[1], 6)))
    return tuple(starts)


def surfaces(scene: Scene) -> list[HouseObject]:
    """Return the furniture that can hold objects."""
    return [
        o for o in scene.objects if o.receptacle and "pickupable" not in o.affordances
    ]
