"""The map of a street episode: panoramas and links around the walk, on a plane."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from wayword.core.trajectory import Trajectory
from wayword.viewer.data import Sources
from wayword.viewer.maps import plane_of, walked_on_graph
from wayword.viewer.maps.content import LANDMARK, Map, Shape


def map(trajectory: Trajectory, sources: Sources) -> Map | None:
    """Return the walks on the street graph, with blocks of equal length if it has no coordinates.

    None if no pose names a panorama.
    """
    graph = sources.graph(sources.scene(trajectory.episode_id))
    positions = plane_of(graph)
    drawn = walked_on_graph(trajectory, sources, positions)
    if drawn is None or not positions:
        return drawn
    # Letters stand at junctions, dead ends, and where a walk or the path ends; the panoramas
    # between, ten metres apart, have theirs as titles.
    ends = {name for name, _ in drawn.gold[-1:]}
    for walk in drawn.walks.values():
        ends |= {walk[0].place, walk[-1].place}
    for name in drawn.letters.by_place:
        if name in graph.index and len(set(_exits(graph, name))) != 2:
            ends.add(name)
    drawn.lettered = frozenset(ends)
    if drawn.gold:
        goal, _ = drawn.gold[-1]
        drawn.region = goal_region(graph, goal, drawn.places)
    for name in drawn.places:
        for end in _exits(graph, name):
            if end in drawn.places:
                drawn.edges.append((name, end))
    # A town has many traffic lights: they are shown at the places of the walk alone.
    passed = {name for name, _ in drawn.gold}
    passed |= {stop.place for stop in drawn.stops}
    for each in sources.landmarks(trajectory.episode_id):
        if each.where != "light" or graph.ids[each.home] in passed:
            at = (each.x, each.y)
            sign = Shape("dot", [at], LANDMARK, each.name, each.name, size=4)
            drawn.shapes.append(sign)
    if drawn.shapes:
        drawn.legend = [(LANDMARK, "named in the instruction")]
    return drawn


def goal_region(graph: Any, goal: str, places: Iterable[str]) -> frozenset[str]:
    """Return the panoramas of ``places`` where a stop counts as success.

    The goal and its neighbors, in either direction of a one-way street.
    """
    near = {goal, *_exits(graph, goal)}
    for name in places:
        if goal in _exits(graph, name):
            near.add(name)
    return frozenset(near)


def _exits(graph: Any, name: str) -> list[str]:
    """Return the panoramas that the exits of one lead to."""
    number = graph.index[name]
    return [graph.ids[end] for _, end in graph.exits(number)]
