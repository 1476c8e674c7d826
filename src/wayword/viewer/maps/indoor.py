"""The map of an indoor episode: viewpoints and edges of the floors walked on, and a floor plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from wayword.core.trajectory import Trajectory
from wayword.viewer.data import Sources
from wayword.viewer.maps.drawing import Map, Point, RoomShape
from wayword.viewer.maps.generic import add_gold, letters_of, nearby, walked
from wayword.worlds.indoor import family

STOREY_METRES = 1.5
"""Places that lie so much higher or lower are on another floor: half a storey, as flights of stairs
have viewpoints between the floors."""


def map(trajectory: Trajectory, sources: Sources) -> Map | None:
    """Walks on the scene's graph, reckoned ones without a graph; None where no pose names a
    viewpoint."""
    name, scene = trajectory.episode_id, sources.scene(trajectory.episode_id)
    graph = sources.graph(scene)
    known = sources.layout(scene, lambda: _points(graph))
    drawn = walked(trajectory, known)
    if drawn is None:
        return None
    drawn.letters = letters_of(sources, trajectory)
    if not known:
        return drawn
    add_gold(drawn, sources.gold(name), known, family.goal_radius)
    drawn.places = _same_floor(graph, drawn, nearby(drawn, known))
    drawn.edges = list(_edges(graph, drawn.places))
    _furnish(drawn, sources.plan(scene))
    return drawn


def _points(graph: Any) -> dict[str, Point]:
    positions, ids = getattr(graph, "positions", None), getattr(graph, "ids", ())
    if positions is None or len(positions) != len(ids):
        return {}
    return {name: (row[0], row[1]) for name, row in zip(ids, positions.tolist(), strict=True)}


def _same_floor(graph: Any, drawn: Map, near: Mapping[str, Point]) -> dict[str, Point]:
    """The places on the floors that the walks and the gold path touch."""
    touched = [stand.place for stands in drawn.walks.values() for stand in stands]
    touched += [name for name, _ in drawn.gold]
    heights: list[float] = graph.positions[:, 2].tolist()
    levels = [heights[graph.index[place]] for place in touched if place in graph.index]
    low, high = min(levels, default=0.0), max(levels, default=0.0)
    return {
        name: point
        for name, point in near.items()
        if low - STOREY_METRES <= heights[graph.index[name]] <= high + STOREY_METRES
    }


def _edges(graph: Any, near: Mapping[str, Point]) -> Iterator[tuple[Point, Point]]:
    pairs = ((graph.ids[a], graph.ids[b]) for a, b in graph.edges.tolist() if a < b)
    yield from ((near[a], near[b]) for a, b in pairs if a in near and b in near)


def _furnish(drawn: Map, plan: Any) -> None:
    """Rooms and doors of a generated house."""
    for room in getattr(plan, "rooms", ()):
        drawn.rooms.append(RoomShape(room.name, (room.x0, room.y0), (room.x1, room.y1)))
    for door in getattr(plan, "doors", ()):
        half = door.width / 2
        dx, dy = (0.0, half) if door.vertical else (half, 0.0)
        drawn.doors.append(((door.x - dx, door.y - dy), (door.x + dx, door.y + dy)))
