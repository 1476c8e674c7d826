"""Places from which a thing counts as found.

For references of generated episodes and for the oracle. Places are those on a grid of 0.25 m:
RoboTHOR's own shortest paths end on it.
"""

from __future__ import annotations

import math
from collections.abc import Collection

from wayword.worlds.housework.geometry import Point
from wayword.worlds.housework.scene import HouseObject
from wayword.worlds.search.camera import Camera
from wayword.worlds.search.simulated import Place

GRID = 0.25


def places_to_see(
    place: Place, camera: Camera, targets: Collection[str], within: float
) -> list[Point]:
    """The free grid places within so many metres of a target's box that have it in sight."""
    found: list[Point] = []
    for number, thing in enumerate(place.surfaces.things):
        if thing.id not in targets:
            continue
        for x, y in _around(thing, within):
            near = place.ground.at(x, y) and gap(thing, x, y) <= within
            if near and place.sees(camera, x, y, number):
                found.append((x, y))
    return found


def gap(thing: HouseObject, x: float, y: float) -> float:
    """Metres along the floor from a place to the nearest point of a thing's box."""
    wide = max(abs(thing.x - x) - thing.width / 2, 0.0)
    deep = max(abs(thing.y - y) - thing.depth / 2, 0.0)
    return math.hypot(wide, deep)


def _around(thing: HouseObject, within: float) -> list[Point]:
    """The grid places of the square about a thing's box."""
    wide, deep = thing.width / 2 + within, thing.depth / 2 + within
    columns = range(math.ceil((thing.x - wide) / GRID), math.floor((thing.x + wide) / GRID) + 1)
    rows = range(math.ceil((thing.y - deep) / GRID), math.floor((thing.y + deep) / GRID) + 1)
    return [(i * GRID, j * GRID) for j in rows for i in columns]
