"""The map of a street episode: panoramas and links around the walk, on a plane."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from wayword.core.trajectory import Trajectory
from wayword.viewer.data import Sources
from wayword.viewer.maps import walked_on_graph
from wayword.viewer.maps.content import LANDMARK, Map, Point, Shape

METRES_PER_DEGREE = 111_320.0
"""Of latitude, and of longitude on the equator: the equator's 40,075 km over 360 degrees."""


def map(trajectory: Trajectory, sources: Sources) -> Map | None:
    """Return the walks on the street graph, with blocks of equal length if it has no coordinates;
    None if no pose names a panorama."""
    scene = sources.scene(trajectory.episode_id)
    graph = sources.graph(scene)
    positions = sources.layout(scene, lambda: _points(graph))
    drawn = walked_on_graph(trajectory, sources, positions)
    if drawn is None or not positions:
        return drawn
    # Letters stand at junctions, dead ends, and where a walk or the path ends; the panoramas
    # between, ten metres apart, have theirs as titles.
    ends = {name for name, _ in drawn.gold[-1:]}
    for walk in drawn.walks.values():
        ends |= {walk[0].place, walk[-1].place}
    corners = set()
    for name in drawn.letters.by_place:
        if name in graph.index:
            neighbors = {end for _, end in graph.exits(graph.index[name])}
            if len(neighbors) != 2:
                corners.add(name)
    drawn.lettered = frozenset(ends | corners)
    if drawn.gold:
        drawn.region = goal_region(graph, drawn.gold[-1][0], drawn.places)
    for name in drawn.places:
        ids = [graph.ids[end] for _, end in graph.exits(graph.index[name])]
        drawn.edges += [(name, end) for end in ids if end in drawn.places]
    # Traffic lights are shown at the places of the walk alone.
    passed = {name for name, _ in drawn.gold}
    passed |= {stop.place for stop in drawn.stops}
    drawn.shapes = [
        Shape("dot", [(each.x, each.y)], LANDMARK, each.name, each.name, 4)
        for each in sources.landmarks(trajectory.episode_id)
        if each.where != "light"
        or graph.ids[each.home] in passed  # a town has many lights
    ]
    if drawn.shapes:
        drawn.legend = [(LANDMARK, "named in the instruction")]
    return drawn


def goal_region(graph: Any, goal: str, places: Iterable[str]) -> frozenset[str]:
    """Return those of the panoramas where a stop counts as success: the goal and its neighbors."""
    goal_number = graph.index[goal]

    def leads_there(name: str) -> bool:
        return any(end == goal_number for _, end in graph.exits(graph.index[name]))

    near = {goal, *(graph.ids[end] for _, end in graph.exits(goal_number))}
    near |= {name for name in places if leads_there(name)}
    return frozenset(near)


def _points(graph: Any) -> dict[str, Point]:
    """Convert latitudes and longitudes to metres, with the longitude scale at the center."""
    positions = getattr(graph, "positions", None)
    ids = getattr(graph, "ids", ())
    if positions is None or len(positions) != len(ids) or not positions.any():
        return {}
    # Degrees of longitude are shorter away from the equator.
    shrink = math.cos(math.radians(float(positions[:, 0].mean())))
    return {
        name: (row[1] * METRES_PER_DEGREE * shrink, row[0] * METRES_PER_DEGREE)
        for name, row in zip(ids, positions.tolist(), strict=True)
    }
