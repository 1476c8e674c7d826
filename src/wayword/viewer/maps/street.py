"""The map of a street episode: panoramas and links around the walk, laid flat."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from wayword.core.trajectory import Trajectory
from wayword.viewer.data import Sources
from wayword.viewer.maps.drawing import Map, Point
from wayword.viewer.maps.generic import add_gold, letters_of, nearby, walked
from wayword.worlds.street import family

METRES_PER_DEGREE = 111_320.0
"""Of latitude, and of longitude on the equator: the equator's 40,075 km over 360 degrees."""


def map(trajectory: Trajectory, sources: Sources) -> Map | None:
    """Walks on the street graph, blocks of equal length without coordinates; None where no pose
    names a panorama."""
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
    drawn.lettered = _corners(graph, drawn)
    drawn.places = nearby(drawn, known)
    drawn.edges = list(_edges(graph, drawn.places))
    return drawn


def _corners(graph: Any, drawn: Map) -> frozenset[str]:
    """Where letters stand on the map: junctions, dead ends, and where a walk or the path ends. The
    panoramas between, ten metres apart, have theirs as titles."""
    ends = [walk[n].place for walk in drawn.walks.values() for n in (0, -1)]
    ends += [name for name, _ in drawn.gold[-1:]]
    ways = {name: len({end for _, end in graph.exits(n)}) for name, n in graph.index.items()
            if name in drawn.letters.known}  # fmt: skip
    return frozenset(ends) | {name for name, count in ways.items() if count != 2}


def _points(graph: Any) -> dict[str, Point]:
    """Latitudes and longitudes as metres east and north, exact enough within a city: one scale of
    longitude, that of its middle."""
    positions, ids = getattr(graph, "positions", None), getattr(graph, "ids", ())
    if positions is None or len(positions) != len(ids) or not positions.any():
        return {}
    shrink = math.cos(math.radians(float(positions[:, 0].mean())))
    return {
        name: (row[1] * METRES_PER_DEGREE * shrink, row[0] * METRES_PER_DEGREE)
        for name, row in zip(ids, positions.tolist(), strict=True)
    }


def _edges(graph: Any, near: Mapping[str, Point]) -> Iterator[tuple[Point, Point]]:
    """Links between these places, in each direction in which they can be taken."""
    pairs = ((name, graph.ids[end]) for name in near for _, end in graph.exits(graph.index[name]))
    yield from ((near[a], near[b]) for a, b in pairs if b in near)
