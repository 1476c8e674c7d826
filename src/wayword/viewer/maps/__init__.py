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

from wayword.core.trajectory import Trajectory
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
    walks = {
        actor: list(_walk(trajectory, actor, positions or {}))
        for actor, start in trajectory.start.items()
        if isinstance(start, Mapping)
    }
    walks = {actor: walk for actor, walk in walks.items() if walk}
    if not walks:
        return None
    # Reckoned places are true between viewpoints and coordinates, not between panoramas.
    exact = not any("panorama" in pose for pose in trajectory.start.values())
    drawn = Map(walks, scale=bool(positions) or exact)
    if not positions:
        for waypoints in walks.values():
            drawn.places |= {stop.place: stop.point for stop in waypoints if stop.place}
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
    if positions:
        points = [stop.point for walk in drawn.walks.values() for stop in walk]
        xs, ys = zip(*points, *(point for _, point in drawn.gold), strict=True)
        margin = AROUND_METRES + 0.2 * max(max(xs) - min(xs), max(ys) - min(ys))
        drawn.places = {
            name: (x, y)
            for name, (x, y) in positions.items()
            if min(xs) - margin <= x <= max(xs) + margin
            if min(ys) - margin <= y <= max(ys) + margin
        }
    return drawn


def letters_of(sources: Sources, *walks: Trajectory) -> Letters:
    """Assign letters to an episode's places: the gold path, then visited places, then seen ones."""
    if sources.letters is not None:
        return sources.letters
    places = list(sources.gold(walks[0].episode_id))
    trials = [trial for walk in walks for trial in (walk, *walk.earlier)]
    for trial in trials:
        poses = (*trial.start.values(), *(step.pose for step in trial.steps))
        places += [place_of(pose) for pose in poses]
    for observation in (step.observation for trial in trials for step in trial.steps):
        places += [
            str(each.get("viewpoint", "")) for each in listed(observation, "neighbors")
        ]
    return Letters.of_ids(places)


def _walk(
    trajectory: Trajectory, actor: str, positions: Mapping[str, Point]
) -> Iterator[Waypoint]:
    """Return the actor's waypoints that have a position."""

    def point_of(pose: Mapping[str, Any]) -> Point | None:
        x = finite(pose.get("x"))
        y = finite(pose.get("y"))
        return positions.get(place_of(pose)) if x is None or y is None else (x, y)

    pose: Mapping[str, Any] = trajectory.start[actor]
    point = point_of(pose) or ((0.0, 0.0) if place_of(pose) and not positions else None)
    if point is None:
        return
    yield Waypoint(0, place_of(pose), point, finite(pose.get("heading")))
    for number, step in enumerate(trajectory.steps, 1):
        if step.actor != actor or not isinstance(step.pose, Mapping):
            continue
        moved = place_of(step.pose) != place_of(pose)
        reckoned = point
        if moved:  # along the edge taken, by one unit if its length is unknown
            held = step.observation
            edge = (finite(step.pose.get("heading")) or 0.0, 1.0)
            for neighbor in (
                held.get("neighbors", ()) if isinstance(held, Mapping) else ()
            ):
                if isinstance(neighbor, Mapping):
                    place = neighbor.get("viewpoint")
                else:
                    place = None
                if place == place_of(step.pose):
                    edge = heading_and_length(neighbor)
                else:
                    edge = edge
            reckoned = toward(point, *edge)
        located = point_of(step.pose) or (None if positions else reckoned)
        if located is None:
            return
        point = located
        pose = step.pose
        blocked = step.feedback.status == "blocked"
        yield Waypoint(
            number, place_of(pose), point, finite(pose.get("heading")), blocked
        )


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
    drawn: Map | Html | None = family_map(trajectory, sources) if family_map else None
    if family_map is None and (drawn := walked(trajectory)):
        drawn.letters = letters_of(sources, trajectory)
    return drawn


def figure(drawn: Map | Html | None) -> Html | None:
    """A map as a ``figure``."""
    if drawn is None:
        return None
    return Html("<figure>{}</figure>").format(
        render(drawn) if isinstance(drawn, Map) else drawn
    )


def together(
    walks: Sequence[tuple[str, Trajectory]],
    sources: Sources,
    divergence: int = 0,
    small: bool = False,
) -> Html | None:
    """Draw walks of one episode, by run name, on one map, which marks where they diverge: before
    step ``divergence`` (from 1; 0: nowhere). None if the family has no places.

    A ``small`` map has only the walks and, of several, the gold path; it needs no replay."""
    replayed = (
        not small or sources.graph(sources.scene(walks[0][1].episode_id)) is not None
    )
    drawn = [map_of(walk, sources) if replayed else walked(walk) for _, walk in walks]
    maps = [each for each in drawn if isinstance(each, Map)]
    if len(maps) < len(walks):
        return None
    alike = len({name for name, _ in walks}) < len(walks)
    walked_by = {}
    for number, ((name, _), each) in enumerate(zip(walks, maps, strict=True), 1):
        title = f"{name} ({number})" if alike else name
        for actor, walk in each.walks.items():
            walked_by[title if len(each.walks) == 1 else f"{title}, {actor}"] = walk
    first = maps[0]
    point = None
    steps = walks[0][1].steps
    if 0 < divergence <= len(steps):
        walked_first = first.walks.get(steps[divergence - 1].actor, [])
        point = next(
            (each.point for each in reversed(walked_first) if each.step < divergence),
            None,
        )
    if small:
        gold = first.gold if len(walks) > 1 else []
        return render(Map(walked_by, gold=gold, divergence=point, small=True))
    both = replace(
        first, walks=walked_by, divergence=point,
        places={name: point for each in reversed(maps) for name, point in each.places.items()},
        edges=list(dict.fromkeys(edge for each in maps for edge in each.edges)),
        lettered=None if first.lettered is None
        else frozenset().union(*(each.lettered or () for each in maps)),
        views={},
    )  # fmt: skip
    return Html('<figure class="both">{}</figure>').format(render(both))
