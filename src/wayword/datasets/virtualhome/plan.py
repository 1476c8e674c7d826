"""Rooms from floor tiles, doorways from doors and jambs.

VirtualHome's room nodes have boxes that include what sticks out of them (in one home a stray piece
of wall makes a bathroom four metres too long), so a room is the rectangle that its floor tiles
fill: all rooms published are such.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

from wayword.core.errors import DataError
from wayword.datasets.virtualhome.graph import Box, Graph
from wayword.worlds.housework.scene import Point

APART = 0.4
"""Metres to either side of a doorway at which one is in the rooms it joins."""
WIDTH = 0.93
"""Width of VirtualHome's door frames, metres."""


@dataclass(frozen=True, slots=True)
class Doorway:
    """A gap from ``a`` to ``b`` between two rooms; ``door`` is a door node's id, 0 for none."""

    a: Point
    b: Point
    door: int


def rooms_of(graph: Graph, source: str) -> dict[int, tuple[str, Box]]:
    """Room node -> its name and rectangle. Names are ``kitchen``, ``living room``, ``bedroom 2``.

    Raises ``DataError`` for a room without floor.
    """
    found: dict[int, tuple[str, Box]] = {}
    count: Counter[str] = Counter()
    for number, node in graph.nodes.items():
        if node.category != "Rooms":
            continue
        tiles = [
            tile.box
            for n, tile in graph.nodes.items()
            if tile.kind == "floor" and tile.box is not None and graph.rooms.get(n) == number
        ]
        if not tiles:
            raise DataError(source, f"node {number}", f"{node.kind} has no floor tiles")
        west, south = min(t.x - t.width / 2 for t in tiles), min(t.y - t.depth / 2 for t in tiles)
        east, north = max(t.x + t.width / 2 for t in tiles), max(t.y + t.depth / 2 for t in tiles)
        words = "living room" if node.kind == "livingroom" else node.kind
        count[words] += 1
        name = words if count[words] == 1 else f"{words} {count[words]}"
        middle = (west + east) / 2, (south + north) / 2
        found[number] = name, Box(*middle, east - west, north - south, 0.0, 2.5)
    return found


def doorways_of(graph: Graph, rooms: list[Box]) -> tuple[list[Doorway], int]:
    """The doorways between rooms, and how many others lead out of the house."""
    places: list[tuple[float, float, int]] = []
    for number, node in graph.nodes.items():
        if node.category != "Doors" or node.box is None:
            continue
        x, y, leaf = node.box.x, node.box.y, number if node.kind == "door" else 0
        twin = next((p for p in places if math.dist(p[:2], (x, y)) < 0.5), None)
        if twin:
            places[places.index(twin)] = (*twin[:2], twin[2] or leaf)
        else:
            places.append((x, y, leaf))
    found, outer = [], 0
    for x, y, leaf in places:
        half = WIDTH / 2
        if _joins(rooms, (x - APART, y), (x + APART, y)):
            found.append(Doorway((x, y - half), (x, y + half), leaf))
        elif _joins(rooms, (x, y - APART), (x, y + APART)):
            found.append(Doorway((x - half, y), (x + half, y), leaf))
        else:
            outer += 1
    return found, outer


def _joins(rooms: list[Box], one: Point, other: Point) -> bool:
    """Whether two points are in two different rooms."""
    first = next((room for room in rooms if room.holds(*one)), None)
    second = next((room for room in rooms if room.holds(*other)), None)
    return first is not None and second is not None and first is not second
