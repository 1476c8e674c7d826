"""A home: its plan, its furniture, and where a body may stand, for one name.

The name says all there is to it: ``home-test-s0-r5-0003`` is the fourth home of five rooms of the
test stream of seed 0. Whatever small things lie about in it is ``arranging``'s.
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
from wayword.datasets.procedural.floorplans import DOOR, FloorPlan
from wayword.datasets.procedural.homes.furniture import (
    FURNITURE_KINDS,
    FurniturePiece,
    Part,
    furnish,
)
from wayword.datasets.procedural.homes.plan import draw
from wayword.worlds.household.builder import SceneBuilder
from wayword.worlds.household.house import Fail, House
from wayword.worlds.household.layout import Layout, fits
from wayword.worlds.household.route import Trip
from wayword.worlds.household.scene import HouseObject, Point, Scene
from wayword.worlds.household.verbs import Body

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

    def with_things(self, scene: Scene) -> Layout:
        """The layout of a scene that adds things to this home's: walls, ways and views shared."""
        return self.layout.with_things(scene)


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
