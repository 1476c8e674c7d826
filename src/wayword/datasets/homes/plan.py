"""The floor plan of a home: one room, a few in a row, or rooms along a hallway.

Metres, x to the east and y to the north. Larger plans are those of ``wayword.datasets.housing``.
"""

from __future__ import annotations

import random

from wayword.datasets.housing.floorplan import CORNER, DOOR, Door, FloorPlan, Room, draw_plan
from wayword.datasets.housing.programme import LARGEST, ROOM_TYPES, SMALLEST

FEWEST, MOST = 1, LARGEST
STUDIO = "studio"
"""The one room of the smallest homes."""
STUDIO_WIDTH = (6.0, 7.0)
IN_A_ROW = ("kitchen", "living room", "main bedroom", "bathroom")
"""The rooms of homes that are too small for a hallway, in order."""


def draw(rng: random.Random, count: int) -> FloorPlan:
    """A plan of ``count`` rooms (``FEWEST`` to ``MOST``), a hallway among them from five on."""
    return draw_plan(rng, count) if count >= SMALLEST else _row(rng, count)


def _row(rng: random.Random, count: int) -> FloorPlan:
    """Rooms side by side, each with a door to the next."""
    deep = round(rng.uniform(3.8, 4.6), 2)
    names = (STUDIO,) if count == 1 else IN_A_ROW[:count]
    edges = [0.0]
    for name in names:
        width = STUDIO_WIDTH if name == STUDIO else ROOM_TYPES[name].width
        edges.append(round(edges[-1] + max(3.0, rng.uniform(*width)), 2))
    rooms = tuple(
        Room(name, x0, 0.0, x1, deep) for name, x0, x1 in zip(names, edges, edges[1:], strict=False)
    )
    margin = DOOR / 2 + CORNER
    doors = tuple(
        Door((i, i + 1), edges[i + 1], round(rng.uniform(margin, deep - margin), 2), True, DOOR)
        for i in range(count - 1)
    )
    return FloorPlan(rooms, doors)
