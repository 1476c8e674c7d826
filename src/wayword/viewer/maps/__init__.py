"""Maps of episodes, one module per family.

    map(trajectory, sources) -> Map | Html | None     in indoor.py, street.py, household.py

Shared parts: walks between poses with coordinates or by dead reckoning, and the map of an episode
of any family; ``drawing`` makes the SVG. A family's module adds the places of a graph, a floor plan
or a house. Without a graph, a walk is reckoned from the heading and length of each edge taken,
which is exact between viewpoints; a street without coordinates is drawn with blocks of equal
length, as its legend states.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from wayword.core.trajectory import Step, Trajectory
from wayword.metrics.recorded import finite, listed, place_of
from wayword.viewer.data import Sources
from wayword.viewer.maps.content import Map, Point, Waypoint
from wayword.viewer.maps.drawing import render
from wayword.viewer.markup import Html, Letters

# Of places around a walk: two rooms, a street, so that missed turns show
AROUND_METRES = 12.0


def walked(
    trajectory: Trajectory, positions: Mapping[str, Point] | None = None
) -> Map | None:
    """Return each actor's walk, through ``positions`` if given; None if no pose has a position."""
    walks = {}
    for actor in trajectory.start:
        walk = list(_walk(trajectory, actor, positions or {}))
        if walk:
            walks[actor] = walk
    if not walks:
        return None
    # Reckoned places are true between viewpoints and coordinates, not between panoramas.
    exact = not any("panorama" in pose for pose in trajectory.start.values())
    drawn = Map(walks, scale=bool(positions) or exact)
    if not positions:
        drawn.places = {stop.place: stop.point for stop in drawn.stops if stop.place}
    return drawn


def walked_on_graph(
    trajectory: Trajectory, sources: Sources, positions: Mapping[str, Point]
) -> Map | None:
    """Return the walks on a graph with places at ``positions``, with the gold path and the places
    nearby; by dead reckoning if no place has a position."""
    drawn = walked(trajectory, positions)
    if drawn is None:
        return None
    drawn.letters = letters_of(sources, trajectory)
    path = sources.gold(trajectory.episode_id)
    drawn.gold = [(place, positions[place]) for place in path if place in positions]
    if not positions:
        return drawn
    points = [stop.point for stop in drawn.stops]
    points += [point for _, point in drawn.gold]
    xs, ys = zip(*points, strict=True)
    margin = AROUND_METRES + 0.2 * max(max(xs) - min(xs), max(ys) - min(ys))
    west = min(xs) - margin
    east = max(xs) + margin
    south = min(ys) - margin
    north = max(ys) + margin
    drawn.places = {
        name: (x, y)
        for name, (x, y) in positions.items()
        if west <= x <= east and south <= y <= north
    }
    return drawn


def letters_of(sources: Sources, *walks: Trajectory) -> Letters:
    """Assign letters to an episode's places: the gold path, then visited places, then seen ones."""
    if sources.letters is not None:
        return sources.letters
    places = list(sources.gold(walks[0].episode_id))
    trials: list[Trajectory] = []
    for walk in walks:
        trials += [walk, *walk.earlier]
    for trial in trials:
        poses = (*trial.start.values(), *(step.pose for step in trial.steps))
        places += [place_of(pose) for pose in poses]
    for trial in trials:
        for step in trial.steps:
            neighbors = listed(step.observation, "neighbors")
            places += [str(each.get("viewpoint", "")) for each in neighbors]
    return Letters.of_ids(places)


def _walk(
    trajectory: Trajectory, actor: str, positions: Mapping[str, Point]
) -> Iterator[Waypoint]:
    """Return the actor's waypoints that have a position. Without ``positions``, a walk whose poses
    have no coordinates is reckoned from its start."""

    def point_of(pose: Mapping[str, Any]) -> Point | None:
        x = finite(pose.get("x"))
        y = finite(pose.get("y"))
        if x is None or y is None:
            return positions.get(place_of(pose))
        return x, y

    pose: Mapping[str, Any] = trajectory.start[actor]
    point = point_of(pose)
    if point is None and place_of(pose) and not positions:
        point = (0.0, 0.0)
    if point is None:
        return
    yield Waypoint(0, place_of(pose), point, finite(pose.get("heading")))
    for number, step in enumerate(trajectory.steps, 1):
        if step.actor != actor:
            continue
        moved = place_of(step.pose) != place_of(pose)
        following = point_of(step.pose)
        if following is None and not positions:
            following = _reckoned(point, step) if moved else point
        if following is None:
            return
        point = following
        pose = step.pose
        blocked = step.feedback.status == "blocked"
        yield Waypoint(
            number, place_of(pose), point, finite(pose.get("heading")), blocked
        )


def _reckoned(point: Point, step: Step) -> Point:
    """Return the end of the edge that a step took: one unit along the heading after it if the
    observation before it does not list the edge."""
    heading = finite(step.pose.get("heading")) or 0.0
    length = 1.0
    for neighbor in listed(step.observation, "neighbors"):
        if neighbor.get("viewpoint") == place_of(step.pose):
            heading, length = heading_and_length(neighbor)
    return toward(point, heading, length)


def heading_and_length(neighbor: Mapping[str, Any]) -> tuple[float, float]:
    """Degrees, and metres over the ground, of an edge that may lead up or down."""
    slope = math.radians(finite(neighbor.get("elevation")) or 0.0)
    length = (finite(neighbor.get("distance")) or 0.0) * math.cos(slope)
    return finite(neighbor.get("heading")) or 0.0, length


def toward(point: Point, heading: float, length: float) -> Point:
    """Return the point at a distance in a direction (degrees clockwise from north)."""
    turn = math.radians(heading)
    return point[0] + length * math.sin(turn), point[1] + length * math.cos(turn)


# The map of an episode, whatever its family.


def map_of(trajectory: Trajectory, sources: Sources) -> Map | Html | None:
    """Return the family's map of an episode, or only the walks if the family has no map; None if
    nothing has a position."""
    family = sources.family()
    family_map = family.part("map") if family else None
    if family_map is not None:
        shown: Map | Html | None = family_map(trajectory, sources)
        return shown
    drawn = walked(trajectory)
    if drawn is not None:
        drawn.letters = letters_of(sources, trajectory)
    return drawn


def figure(drawn: Map | Html | None) -> Html | None:
    """A map as a ``figure``."""
    if drawn is None:
        return None
    if isinstance(drawn, Map):
        drawn = render(drawn)
    return Html("<figure>{}</figure>").format(drawn)


def together(
    walks: Sequence[tuple[str, Trajectory]],
    sources: Sources,
    divergence: int = 0,
    small: bool = False,
) -> Html | None:
    """Draw walks of one episode, by run name, on one map, which marks where they diverge: before
    step ``divergence`` (from 1; 0: nowhere). None if the family has no places.

    A ``small`` map has only the walks and, of several, the gold path; it needs no replay."""
    first_walk = walks[0][1]
    # The map of a family without a graph replays the episode, which a small map cannot wait for.
    only_walks = small and sources.graph(sources.scene(first_walk.episode_id)) is None
    maps = []
    for _, walk in walks:
        drawn = walked(walk) if only_walks else map_of(walk, sources)
        if not isinstance(drawn, Map):
            return None
        maps.append(drawn)
    names = [name for name, _ in walks]
    if len(set(names)) < len(names):
        names = [f"{name} ({number})" for number, name in enumerate(names, 1)]
    walked_by = {}
    for name, each in zip(names, maps, strict=True):
        for actor, waypoints in each.walks.items():
            title = name if len(each.walks) == 1 else f"{name}, {actor}"
            walked_by[title] = waypoints
    first = maps[0]
    point = None
    if 0 < divergence <= len(first_walk.steps):
        mover = first_walk.steps[divergence - 1].actor
        for stop in first.walks.get(mover, []):
            if stop.step < divergence:
                point = stop.point  # the last one before they diverge
    if small:
        gold = first.gold if len(walks) > 1 else []
        return render(Map(walked_by, gold=gold, divergence=point, small=True))
    # Where two maps differ on a place, the first one counts.
    places: dict[str, Point] = {}
    for each in reversed(maps):
        places |= each.places
    edges: dict[tuple[str, str], None] = {}
    for each in maps:
        edges.update(dict.fromkeys(each.edges))
    lettered = first.lettered
    if lettered is not None:
        lettered = lettered.union(*(each.lettered or () for each in maps))
    both = replace(
        first, walks=walked_by, divergence=point, places=places, edges=list(edges),
        lettered=lettered, views={},
    )  # fmt: skip
    return Html('<figure class="both">{}</figure>').format(render(both))
