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
from itertools import chain
from typing import Any

from wayword.core import registry
from wayword.core.blame import CodeError, describe
from wayword.core.blame import place_of as place_of_code
from wayword.core.episode import JsonObject
from wayword.core.errors import WaywordError
from wayword.core.field_types import field_problem
from wayword.core.geometry import Point, displaced
from wayword.core.trajectory import Step, Trajectory
from wayword.core.visible import join_words
from wayword.metrics.recorded import finite, listed, place_of
from wayword.viewer.data import Sources
from wayword.viewer.maps.content import Extent, Map, Waypoint
from wayword.viewer.maps.drawing import render
from wayword.viewer.markup import Html, Letters

# Of places around a walk: two rooms, a street, so that missed turns show
AROUND_METRES = 12.0
# Fields of a pose that a sentence names: more would not fit on a line.
MOST_FIELDS = 6


def walked(
    trajectory: Trajectory, positions: Mapping[str, Point] | None = None
) -> Map | None:
    """Return each actor's walk; None if no pose has a position.

    ``positions`` maps places to metres, for poses without coordinates. Without them,
    such a walk is reckoned from headings and lengths, and its places are those of the
    walk.
    """
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
    """Return the walks on a graph, with the gold path and the places nearby.

    ``positions`` are those of the graph's places, in metres; if it is empty, walks are
    reckoned and the map has no gold path. Places up to ``AROUND_METRES`` and a fifth of
    the extent around walk and path are kept. None if no pose has a position.
    """
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
    extent = Extent.of(points)
    around = extent.grown(AROUND_METRES + 0.2 * extent.longest)
    drawn.places = {
        name: point for name, point in positions.items() if around.contains(point)
    }
    return drawn


def plane_of(graph: Any) -> Mapping[str, Point]:
    """Return the places of a graph in metres (east, north); empty without a graph or positions."""
    positions: Mapping[str, Point] = getattr(graph, "plane", {})
    return positions


def letters_of(sources: Sources, *walks: Trajectory) -> Letters:
    """Return the letters of an episode's places: the gold path, then visited, then seen ones.

    If ``sources`` has letters, returns those, so that several maps share them.
    ``walks``: at least one, all of one episode.
    """
    if sources.letters is not None:
        return sources.letters
    places = list(sources.gold(walks[0].episode_id))
    trials: list[Trajectory] = []
    for walk in walks:
        trials += [walk, *walk.earlier]
    for trial in trials:
        places += [place_of(pose) for pose in trial.start.values()]
        places += [place_of(step.pose) for step in trial.steps]
    for trial in trials:
        for step in trial.steps:
            neighbors = listed(step.observation, "neighbors")
            # Empty names get no letter.
            places += [str(each.get("viewpoint", "")) for each in neighbors]
    return Letters.of_ids(places)


def _walk(
    trajectory: Trajectory, actor: str, positions: Mapping[str, Point]
) -> Iterator[Waypoint]:
    """Yield the actor's waypoints, up to the first pose that has no position.

    Without ``positions``, a walk whose poses have no coordinates is reckoned from its
    start, which is the origin.
    """

    def point_of(pose: JsonObject) -> Point | None:
        x = finite(pose.get("x"))
        y = finite(pose.get("y"))
        if x is None or y is None:
            return positions.get(place_of(pose))
        return x, y

    pose: JsonObject = trajectory.start[actor]
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
        # A gap would be drawn as a straight line, so the walk ends before it.
        if following is None:
            return
        point = following
        pose = step.pose
        yield Waypoint(
            step=number,
            place=place_of(pose),
            point=point,
            heading=finite(pose.get("heading")),
            blocked=step.feedback.status == "blocked",
        )


def _reckoned(point: Point, step: Step) -> Point:
    """Return the end of the edge that a step took from ``point``.

    One unit along the heading after the step if the observation before it does not list
    the edge.
    """
    heading = finite(step.pose.get("heading")) or 0.0
    length = 1.0
    for neighbor in listed(step.observation, "neighbors"):
        if neighbor.get("viewpoint") == place_of(step.pose):
            heading, length = heading_and_length(neighbor)
    return displaced(point, heading, length)


def heading_and_length(neighbor: JsonObject) -> tuple[float, float]:
    """Return the degrees, and metres over the ground, of an edge that may lead up or down."""
    heading = finite(neighbor.get("heading")) or 0.0
    distance = finite(neighbor.get("distance")) or 0.0
    slope = math.radians(finite(neighbor.get("elevation")) or 0.0)
    return heading, distance * math.cos(slope)


# The map of an episode, whatever its family.


def map_of(trajectory: Trajectory, sources: Sources) -> Map | Html | None:
    """Return the family's map of an episode, or the walks alone if the family has no map.

    None if nothing has a position; a sentence for a user's world whose poses have other fields. A
    family's map may be a drawing of its own, as ``Html``.
    """
    family = sources.family()
    family_map = None
    if family is not None:
        family_map = family.part("map")
    if family is not None and family.map is not None:
        return _users_map(family.map, trajectory, sources)
    if family_map is not None:
        shown: Map | Html | None = family_map(trajectory, sources)
        return shown
    drawn = walked(trajectory)
    name = sources.family_name
    if family is not None:
        name = family.name
    is_users = name not in registry.names("map")
    fields = dict.fromkeys(chain.from_iterable(trajectory.start.values()))
    if drawn is None and is_users and fields:
        given = join_words([*fields][:MOST_FIELDS])
        problem = f"No map: pose() has {given}, and a map needs numbers x and y"
        return Html('<p class="dim">{}</p>').format(f"{problem}.")
    if drawn is not None:
        drawn.letters = letters_of(sources, trajectory)
        # Only the families of Wayword count in metres: a scale of another would be invented.
        if is_users:
            drawn.unit = ""
    return drawn


def _users_map(
    draw: Any, trajectory: Trajectory, sources: Sources
) -> Map | Html | None:
    """Return the map of a user's family; a sentence if it cannot be drawn, as the rest of the page
    does not depend on it."""
    try:
        return checked_map(draw, trajectory, sources)
    except WaywordError as error:
        problem = str(error)
    except Exception as error:  # noqa: BLE001 - a user's code may raise anything
        problem = describe(error)
    problem = f"The map cannot be drawn: {problem}"
    if problem not in sources.problems:
        sources.problems.append(problem)
    return Html('<p class="dim">{}</p>').format(problem)


def checked_map(
    draw: Any, trajectory: Trajectory, sources: Sources
) -> Map | Html | None:
    """Return what a user's ``draw`` returns. Raises ``CodeError`` if it is no map."""
    drawn: Map | Html | None = draw(trajectory, sources)
    problem = field_problem(drawn) if isinstance(drawn, Map) else ""
    if problem or not isinstance(drawn, Map | Html | None):
        shown = problem or f"got {drawn!r:.80}"
        raise CodeError(
            f"{place_of_code(draw)}: map must return Map(…), Html(…) or None: {shown}"
        )
    return drawn


def figure(drawn: Map | Html | None) -> Html | None:
    """Return a map as an HTML ``figure``; None for None."""
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
    """Draw walks of one episode, by run name, on one map, which marks where they diverge.

    ``divergence`` is the step (from 1) before which they do, 0 for none. A ``small``
    map has only the walks and, of several, the gold path; it needs no replay. None if
    the family has no places.
    """
    first_walk = walks[0][1]
    # The map of a family without a graph replays the episode, which a small map cannot wait for.
    graph = sources.graph(sources.scene(first_walk.episode_id))
    only_walks = small and graph is None
    maps = []
    for _, walk in walks:
        drawn = walked(walk) if only_walks else map_of(walk, sources)
        if not isinstance(drawn, Map):
            return None
        maps.append(drawn)
    walked_by = _walks_by_title([name for name, _ in walks], maps)
    first = maps[0]
    point = None
    if 0 < divergence <= len(first_walk.steps):
        mover = first_walk.steps[divergence - 1].actor
        for stop in first.walks.get(mover, []):
            if stop.step < divergence:
                point = stop.point  # the last one before they diverge
    if small:
        sketch = Map(walked_by, divergence=point, small=True)
        if len(walks) > 1:
            sketch.gold = first.gold
        return render(sketch)
    # Where two maps differ on a place, the first one counts.
    places: dict[str, Point] = {}
    for each in reversed(maps):
        places |= each.places
    edges: dict[tuple[str, str], None] = {}
    for each in maps:
        edges.update(dict.fromkeys(each.edges))
    lettered = first.lettered
    if lettered is not None:
        for each in maps:
            lettered |= each.lettered or set()
    both = replace(
        first,
        walks=walked_by,
        divergence=point,
        places=places,
        edges=list(edges),
        lettered=lettered,
        views={},
    )
    return Html('<figure class="both">{}</figure>').format(render(both))


def _walks_by_title(
    names: Sequence[str], maps: Sequence[Map]
) -> dict[str, list[Waypoint]]:
    """Return the walks of several maps by run and, where there are several, actor.

    Equal names get numbers, so that no walk replaces another.
    """
    if len(set(names)) < len(names):
        names = [f"{name} ({number})" for number, name in enumerate(names, 1)]
    walks = {}
    for name, each in zip(names, maps, strict=True):
        for actor, waypoints in each.walks.items():
            title = name if len(each.walks) == 1 else f"{name}, {actor}"
            walks[title] = waypoints
    return walks
