"""Mending: published boxes are boxes around furniture at any angle, and often too big to get past.

What is inferred: a piece that reaches into a doorway is walked past; and where a room is still out
of reach, so is one piece after another, the one that opens most floor first.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from wayword.datasets.virtualhome.plan import Doorway
from wayword.worlds.housework.body import Body
from wayword.worlds.housework.collision import fits
from wayword.worlds.housework.house import Fail, House
from wayword.worlds.housework.layout import Layout
from wayword.worlds.housework.route import Trip
from wayword.worlds.housework.scene import HouseObject, Point, Scene

CLEAR = 0.65
"""Metres kept free on either side of a doorway."""
TRIES = 30


def clear_doorways(
    objects: list[HouseObject], doorways: list[Doorway]
) -> tuple[list[HouseObject], int]:
    """The objects, those before a doorway made passable; and how many those are."""
    made, count = [], 0
    for thing in objects:
        if thing.solid and any(_before(thing, way) for way in doorways):
            thing = replace(thing, solid=False, opaque=False)
            count += 1
        made.append(thing)
    return made, count


def connect(scene: Scene) -> tuple[Scene, Layout, tuple[Point, ...], int]:
    """A scene all of whose rooms are within reach of each other on foot, its layout, the places
    to stand, and how many pieces were made passable for it."""
    opened = 0
    layout = Layout(scene)
    places, missing = _reach(layout)
    while missing and opened < TRIES:
        tried = [
            (len(missing), len(places), number)
            for number, thing in enumerate(scene.objects)
            if thing.solid and layout.room_at(thing.x, thing.y) in missing
        ]
        if not tried:
            break
        # The widest piece in a room that is cut off is the likeliest to be what cuts it off.
        number = max((n for *_, n in tried), key=lambda n: _area(scene.objects[n]))
        objects = list(scene.objects)
        objects[number] = replace(objects[number], solid=False, opaque=False)
        scene = replace(scene, objects=tuple(objects))
        layout, opened = Layout(scene), opened + 1
        places, missing = _reach(layout)
    return scene, layout, places, opened


def _area(thing: HouseObject) -> float:
    return thing.width * thing.depth


def _reach(layout: Layout) -> tuple[tuple[Point, ...], set[str]]:
    """The places from which most rooms are within reach, all doors open, and the other rooms."""
    body = Body()
    west, south, east, north = layout.bounds
    x, y = round((west + east) / 2 * 4) / 4, round((south + north) / 2 * 4) / 4
    house = House(layout, {"agent": body}, {"agent": (x, y, 0.0)})
    me = house.actors["agent"]
    for door in range(house.things.objects, house.things.first_actor):
        house.things.swing(door, True)
    grid = Trip(house, me).grid
    left = {int(p) for p in np.flatnonzero((grid.ways >= 0).any(axis=1))}
    rooms = {room.name for room in layout.scene.rooms}
    best: tuple[tuple[Point, ...], set[str]] = ((), rooms)
    while left:
        start = min(left)
        house.stand(me, float(grid.x[start]), float(grid.y[start]))
        steps = Trip(house, me).steps
        part = {int(p) for p in np.flatnonzero(steps >= 0)}
        left -= part | {start}
        missing = set(rooms)
        for p in part:
            missing.discard(layout.room_at(float(grid.x[p]), float(grid.y[p])))
        if (len(missing), -len(part)) < (len(best[1]), -len(best[0])):
            spots = [(round(float(grid.x[p]), 6), round(float(grid.y[p]), 6)) for p in part]
            best = tuple(sorted(spots)), missing
    shut = [True] * len(layout.doors)
    return tuple(at for at in best[0] if fits(layout, body.radius, at, shut)), best[1]


def reachable(layout: Layout, start: Point, ids: list[str]) -> set[str]:
    """Which objects a body at a place gets to, sees and reaches, all doors open."""
    house = House(layout, {"agent": Body()}, {"agent": (*start, 0.0)})
    for door in range(house.things.objects, house.things.first_actor):
        house.things.swing(door, True)
    trip = Trip(house, house.actors["agent"])
    found = set()
    for name in ids:
        try:
            trip.to_thing(layout.index[name], None)
        except Fail:
            continue
        found.add(name)
    return found


def _before(thing: HouseObject, way: Doorway) -> bool:
    """Whether a piece reaches into the strip that leads through a doorway."""
    (ax, ay), (bx, by) = way.a, way.b
    along_x = abs(bx - ax) > abs(by - ay)
    wide, deep = (abs(bx - ax) / 2 - 0.1, CLEAR) if along_x else (CLEAR, abs(by - ay) / 2 - 0.1)
    x, y = (ax + bx) / 2, (ay + by) / 2
    over_x = abs(thing.x - x) < thing.width / 2 + wide
    over_y = abs(thing.y - y) < thing.depth / 2 + deep
    return over_x and over_y
