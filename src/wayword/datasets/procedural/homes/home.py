"""A home: its plan, its furniture, and where a body may stand, for one name.

The name says all there is to it: ``home-test-s0-r5-0003`` is the fourth home of five rooms of the
test stream of seed 0. Whatever small things lie about in it is ``arranging``'s.

The plan is one room, a few in a row, rooms along a hallway, or wings of such. Metres, x to the east
and y to the north. Rooms along a hallway are ``wayword.datasets.procedural.floorplans``'s. Larger
homes have several such wings, each with a hallway of its own, to both sides of a corridor that
joins them; rooms of the second wing are called ``kitchen 2`` and so on.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from wayword.core.errors import UsageError
from wayword.datasets.procedural.floorplans import (
    CORNER,
    DOOR,
    LARGEST,
    ROOM_TYPES,
    SMALLEST,
    FloorPlan,
    PlanDoor,
    PlanRoom,
    draw_plan,
    draw_wing,
    turned,
)
from wayword.datasets.procedural.homes.furniture import (
    FURNITURE_KINDS,
    FurniturePiece,
    Part,
    furnish,
)
from wayword.worlds.household.builder import SceneBuilder
from wayword.worlds.household.house import Fail, House
from wayword.worlds.household.layout import Layout, fits
from wayword.worlds.household.route import Trip
from wayword.worlds.household.scene import HouseObject, Point, Scene
from wayword.worlds.household.verbs import Body

FEWEST, MOST = 1, 100
STUDIO = "studio"
"""The one room of the smallest homes."""
STUDIO_WIDTH = (6.0, 7.0)
IN_A_ROW = ("kitchen", "living room", "main bedroom", "bathroom")
"""The rooms of homes that are too small for a hallway, in order."""
CORRIDOR, CORRIDOR_WIDTH = "corridor", 2.4
WING = 12
"""Rooms that a wing has at most, its hallway among them."""
BETWEEN = 0.4
"""Metres left between wings on the same side."""
ARCH = 1.2
"""The opening from the corridor into a wing's hallway, metres."""


def draw(rng: random.Random, count: int) -> FloorPlan:
    """A plan of ``count`` rooms (``FEWEST`` to ``MOST``), a hallway among them from five on."""
    if count > LARGEST:
        return _wings(rng, count)
    return draw_plan(rng, count) if count >= SMALLEST else _row(rng, count)


def _wings(rng: random.Random, count: int) -> FloorPlan:
    """A corridor from south to north, and wings to the east and the west of it in turn."""
    number = -(-(count - 1) // WING)
    sizes = [(count - 1 + n) // number for n in range(number)]
    rooms: list[PlanRoom] = []
    doors: list[PlanDoor] = []
    tops = [0.0, 0.0]
    for n, size in enumerate(sizes):
        wing, side = draw_wing(rng, size), n % 2
        up = round(tops[side] - min(room.y0 for room in wing.rooms), 2)
        first, suffix = 1 + len(rooms), f" {n + 1}" if n else ""
        rooms += [_moved(room, up, side, suffix) for room in wing.rooms]
        doors += [_led(door, up, side, first) for door in wing.doors]
        hall = rooms[first - 1]
        edge = CORRIDOR_WIDTH if side == 0 else 0.0
        middle = round((hall.y0 + hall.y1) / 2, 2)
        doors.append(PlanDoor((0, first), edge, middle, True, ARCH))
        tops[side] = round(up + max(room.y1 for room in wing.rooms) + BETWEEN, 2)
    corridor = PlanRoom(CORRIDOR, 0.0, 0.0, CORRIDOR_WIDTH, round(max(tops) - BETWEEN, 2))
    return turned(rng, FloorPlan((corridor, *rooms), tuple(doors)))


def _moved(room: PlanRoom, up: float, side: int, suffix: str) -> PlanRoom:
    """A wing's room where the wing lies: to the east of the corridor, or mirrored to the west."""
    x0, x1 = (_across(x, side) for x in (room.x0, room.x1))
    y0, y1 = round(room.y0 + up, 2), round(room.y1 + up, 2)
    return PlanRoom(f"{room.name}{suffix}", min(x0, x1), y0, max(x0, x1), y1)


def _led(door: PlanDoor, up: float, side: int, first: int) -> PlanDoor:
    one, other = door.rooms
    y = round(door.y + up, 2)
    return PlanDoor(
        (one + first, other + first), _across(door.x, side), y, door.vertical, door.width
    )


def _across(x: float, side: int) -> float:
    return round(-x if side else x + CORRIDOR_WIDTH, 2) + 0.0


def _row(rng: random.Random, count: int) -> FloorPlan:
    """Rooms side by side, each with a door to the next."""
    deep = round(rng.uniform(3.8, 4.6), 2)
    names = (STUDIO,) if count == 1 else IN_A_ROW[:count]
    edges = [0.0]
    for name in names:
        width = STUDIO_WIDTH if name == STUDIO else ROOM_TYPES[name].width
        edges.append(round(edges[-1] + max(3.0, rng.uniform(*width)), 2))
    rooms = tuple(
        PlanRoom(name, x0, 0.0, x1, deep)
        for name, x0, x1 in zip(names, edges, edges[1:], strict=False)
    )
    margin = DOOR / 2 + CORNER
    doors = tuple(
        PlanDoor((i, i + 1), edges[i + 1], round(rng.uniform(margin, deep - margin), 2), True, DOOR)
        for i in range(count - 1)
    )
    return FloorPlan(rooms, doors)


# The plan with its furniture.

SHUT_DOORS = 0.35
"""Share of the doors that are shut at first."""
GRID = 0.25
"""Starts lie on multiples of this (metres), so that all walks in a home share one lattice."""
TRIES = 40
NEEDED = ("fridge", "counter_top", "kitchen_sink")
"""What every home must have for the tasks."""
LAMPS = ("floor_lamp", "lamp_table", "desk")
"""... and one of these."""


@dataclass(frozen=True, eq=False)
class Home:
    """A furnished home without small things.

    ``starts`` are the places (metres) from which every room and piece is in reach on foot.
    """

    name: str
    scene: Scene
    layout: Layout
    starts: tuple[Point, ...]

    def from_floor(self, x: float, y: float) -> float:
        """Metres from a point to the nearest place in its room where one can stand."""
        places = self.floors.get(self.layout.room_at(x, y))
        if places is None:
            return math.inf
        return float(np.sqrt(((places - (x, y)) ** 2).sum(axis=1).min()))

    @cached_property
    def floors(self) -> dict[str, NDArray[np.float64]]:
        """Room -> (P, 2) x and y of the starts in it."""
        rooms: dict[str, list[Point]] = {}
        for at in self.starts:
            rooms.setdefault(self.layout.room_at(*at), []).append(at)
        return {room: np.array(places) for room, places in rooms.items()}


def home_name(stream: str, seed: int, rooms: int, number: int) -> str:
    """The name of a home."""
    return f"home-{stream}-s{seed}-r{rooms}-{number:04d}"


def build_home(name: str) -> Home:
    """The home of that name. Raises ``UsageError`` for a name that is none."""
    match = re.fullmatch(r"home-[a-z]+-s-?\d+-r(\d+)-\d+", name)
    if match is None:
        raise UsageError(f"{name!r} names no generated home, such as {home_name('test', 0, 5, 0)}")
    for attempt in range(TRIES):
        rng = random.Random(f"{name}/{attempt}")
        plan = draw(rng, int(match[1]))
        pieces = furnish(rng, plan)
        kinds = {piece.kind for piece in pieces}
        if not kinds.issuperset(NEEDED) or kinds.isdisjoint(LAMPS):
            continue
        shut = [door.width <= DOOR and rng.random() < SHUT_DOORS for door in plan.doors]
        scene = build_scene(name, plan, pieces, shut)
        layout = Layout(scene)
        starts = reachable_starts(layout)
        if starts:
            return Home(name, scene, layout, starts)
    raise UsageError(f"{name}: no plan in {TRIES} leaves a way to everything; take another seed")


def build_scene(
    name: str, plan: FloorPlan, pieces: Sequence[FurniturePiece], shut: Sequence[bool]
) -> Scene:
    """The scene of a furnished plan; ``shut`` says of each of its doors whether it is."""
    builder = SceneBuilder(name)
    for room in plan.rooms:
        corners = ((room.x0, room.y0), (room.x1, room.y0), (room.x1, room.y1), (room.x0, room.y1))
        builder.room(room.name, corners)
    for number, door in enumerate(plan.doors, 1):
        half = door.width / 2
        a = (door.x, door.y - half) if door.vertical else (door.x - half, door.y)
        b = (door.x, door.y + half) if door.vertical else (door.x + half, door.y)
        if door.width > DOOR:
            builder.opening(a, b)
        else:
            builder.door(f"door|{number}", a, b, shut=shut[number - 1])
    for piece in pieces:
        _set_down(builder, piece)
    return builder.build()


def _set_down(builder: SceneBuilder, piece: FurniturePiece) -> None:
    spec = FURNITURE_KINDS[piece.kind]
    under = builder.furniture(
        *(piece.kind, piece.x, piece.y, piece.width, piece.depth, spec.height),
        *spec.affordances,
        receptacle=spec.receptacle,
        accepts=spec.accepts,
        capacity=spec.capacity,
    )
    before = ""
    for part in spec.parts:
        before = _build_on(builder, piece, part, under, before)


def _build_on(
    builder: SceneBuilder, piece: FurniturePiece, part: Part, under: str, before: str
) -> str:
    spec = FURNITURE_KINDS[part.kind]
    swap = piece.front[0] != 0
    width, depth = (spec.depth, spec.width) if swap else (spec.width, spec.depth)
    return builder.furniture(
        *(part.kind, *piece.at(part.along, part.deep), width, depth, spec.height),
        *spec.affordances,
        bottom=part.bottom,
        receptacle=spec.receptacle,
        accepts=spec.accepts,
        capacity=spec.capacity,
        parent=under if part.stands else "",
        controls=(before,) if part.controls else (),
        solid=False,
        opaque=False,
    )


def reachable_starts(layout: Layout) -> tuple[Point, ...]:
    """The places from which one gets to every room and sees and reaches every piece, once the
    doors are open; none where something is out of reach."""
    west, south, east, north = layout.bounds
    middle = GRID * round((west + east) / 2 / GRID), GRID * round((south + north) / 2 / GRID)
    house = House(layout, {"agent": Body()}, {"agent": (*middle, 0.0)})
    me = house.actors["agent"]
    for door in range(house.things.objects, house.things.first_actor):
        house.things.swing(door, True)
    grid = Trip(house, me).grid
    room = layout.scene.rooms[0].polygon
    x, y = (room[0][0] + room[2][0]) / 2, (room[0][1] + room[2][1]) / 2
    steps = (grid.ways >= 0).any(axis=1)
    places = np.flatnonzero(steps)
    if not len(places):
        return ()
    nearest = places[np.argmin((grid.x[places] - x) ** 2 + (grid.y[places] - y) ** 2)]
    house.stand(me, float(grid.x[nearest]), float(grid.y[nearest]))
    trip = Trip(house, me)
    try:
        for each in layout.scene.rooms:
            trip.into_room(each)
        for i in range(house.things.size - 1):
            trip.to_thing(i, None)
    except Fail:
        return ()
    shut = [True] * house.things.doors
    reached = [(float(grid.x[p]), float(grid.y[p])) for p in np.flatnonzero(trip.steps >= 0)]
    free = [at for at in reached if fits(layout, me.body.radius, at, shut)]
    return tuple((round(x, 6), round(y, 6)) for x, y in free)


def surfaces(scene: Scene) -> list[HouseObject]:
    """The furniture that things can be put in or on."""
    return [o for o in scene.objects if o.receptacle and "pickupable" not in o.affordances]
