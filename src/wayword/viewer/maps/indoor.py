"""The map of an indoor episode: viewpoints and edges of the floors walked on, and a floor plan."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

from wayword.core.episode import PathReference
from wayword.core.trajectory import Trajectory
from wayword.viewer.data import Sources
from wayword.viewer.maps import plane_of, walked_on_graph
from wayword.viewer.maps.content import Extent, Map, Shape, room_label
from wayword.worlds.indoor import SUCCESS_METRES
from wayword.worlds.indoor.world import ObjectReference

STOREY_METRES = 1.2
"""Places that lie so much higher or lower are on another floor: flights of stairs have viewpoints
between the floors."""
_SLOPE = 0.35
"""Metres between two viewpoints of one floor, at most: a few steps, a sunken room."""
_LANDING = 3  # viewpoints of a level part below which it belongs to the nearest floor


def map(trajectory: Trajectory, sources: Sources) -> Map | None:
    """Return the walks on the scene's graph, or by dead reckoning without one.

    Shows the floors that the walks and the gold path touch. None if no pose names a
    viewpoint.
    """
    scene = sources.scene(trajectory.episode_id)
    graph = sources.graph(scene)
    positions = plane_of(graph)
    drawn = walked_on_graph(trajectory, sources, positions)
    if drawn is None or not positions:
        return drawn
    drawn.region = goal_region(graph, sources.reference(trajectory.episode_id))
    # The floors that the walks and the gold path touch.
    gold = [name for name, _ in drawn.gold]
    touched = [stop.place for stop in drawn.stops]
    touched += gold
    storeys = floors(graph)
    levels = sorted({storeys[place] for place in touched if place in storeys})
    drawn.places = {
        name: point
        for name, point in drawn.places.items()
        if storeys.get(name) in levels
    }
    if len(levels) > 1:
        drawn.floors = {name: levels.index(storeys[name]) for name in drawn.places}
    for a, b in graph.edges.tolist():
        ends = (graph.ids[a], graph.ids[b])
        # An edge of both directions is drawn once.
        if a < b and drawn.places.keys() >= set(ends):
            drawn.edges.append(ends)
    for place in dict.fromkeys(touched):
        percept = sources.percept(scene, place)
        room = room_in(percept.summary) if percept else ""
        if room:
            drawn.names[place] = room
    plan = sources.plan(scene)
    if plan is None:
        _name_rooms(drawn, dict.fromkeys([*gold, *touched]))
        return drawn
    labels = []
    for part in plan.rooms:
        extent = Extent(part.x0, part.y0, part.x1, part.y1)
        drawn.shapes.append(Shape("rect", extent.corners, "room"))
        labels.append(room_label(part.name, extent.corners))
    for door in plan.doors:
        middle = (door.x, door.y)
        if door.vertical:
            opening = Extent.around(middle, 0.0, door.width)
        else:
            opening = Extent.around(middle, door.width, 0.0)
        drawn.shapes.append(Shape("line", opening.corners, "door"))
    drawn.shapes += labels
    return drawn


def _name_rooms(drawn: Map, places: Iterable[str]) -> None:
    """Name rooms where they change along the gold path, then along the walks."""
    rooms = {}
    last = ""
    for place in places:
        room = drawn.names.get(place, last)
        if room != last:
            rooms[place] = room
        last = room
    drawn.rooms = rooms
    if rooms:
        drawn.legend = [("", "rooms as in captions")]


def goal_region(graph: Any, reference: Any) -> frozenset[str]:
    """Return the viewpoints where a stop counts as success.

    Those less than ``SUCCESS_METRES`` from the goal by the shortest path or, if the
    goal is an object, those with a view of it. Empty without a goal on this graph.
    """
    if isinstance(reference, ObjectReference):
        return reference.visible_from
    if not isinstance(reference, PathReference) or reference.goal not in graph.index:
        return frozenset()
    # To the goal, as walks are scored; a graph's edges may be one-way.
    goal = graph.index[reference.goal]
    lengths = graph.distances[:, goal].tolist()
    pairs = zip(graph.ids, lengths, strict=True)
    return frozenset(name for name, length in pairs if length < SUCCESS_METRES)


def floors(graph: Any) -> dict[str, int]:
    """Return the storey of each viewpoint, from 0.

    Level parts of the graph, joined by edges of slope up to ``_SLOPE``, are one storey
    if at about the same height; viewpoints between storeys belong to the nearest one.
    """
    heights: list[float] = graph.positions[:, 2].tolist()
    # The lowest number of a viewpoint that is level with each
    part = list(range(len(heights)))

    def root(n: int) -> int:
        while part[n] != n:
            n = part[n]
        return n

    for a, b in graph.edges.tolist():
        if a < b and abs(heights[a] - heights[b]) <= _SLOPE:
            one, other = sorted((root(a), root(b)))
            part[other] = one
    # Small level parts are landings of stairs, no storeys.
    sizes = Counter(root(n) for n in range(len(heights)))
    level_parts = [heights[n] for n, size in sizes.items() if size >= _LANDING]
    levels: list[float] = []
    for height in sorted(level_parts):
        if not levels or height - levels[-1] > STOREY_METRES:
            levels.append(height)
    if not levels:
        return dict.fromkeys(graph.ids, 0)
    nearest = []
    for height in heights:
        gaps = [abs(level - height) for level in levels]
        nearest.append(gaps.index(min(gaps)))
    return dict(zip(graph.ids, nearest, strict=True))


_ROOM = re.compile(
    r"\b((?:living|dining|family|laundry|game|meeting|conference|utility|media) (?:room|area)"
    r"|bedroom|bathroom|kitchen|hallway|hall|corridor|staircase|stairs|foyer|lobby|office|closet"
    r"|entryway|entrance|porch|patio|balcony|garage|library|gym|lounge|restroom|toilet|spa"
    r"|pool|deck|terrace|garden|bar|basement|attic|pantry|church|museum)\b"
    # of an object, not a place: a bar stool, a pool table
    r"(?! (?:stool|chair|table|seat|paper|towel|hose|bag|cart|cue)s?\b)"
)


def room_in(summary: str) -> str:
    """Return the first room named in a description; empty if there is none."""
    match = _ROOM.search(summary.lower())
    if match is None:
        return ""
    return match[1]
