"""The map of any family: walks between poses with coordinates, or reckoned from what was seen.

    map      the entry point that each family's map module has: ``map(trajectory, sources)``
    Map      everything that ``drawing.render`` draws, in metres, x to the east, y to the north

A map module of a family (``indoor.py``, ``street.py``, ``household.py``) adds what it knows: the
places of a graph, a floor plan, a house. Without a graph, a walk is reckoned from the heading and
length of each way taken, which is exact between viewpoints; a street without coordinates is drawn
with blocks of equal length, and its legend says so.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from wayword.core.trajectory import Trajectory
from wayword.viewer.data import Sources
from wayword.viewer.letters import Letters
from wayword.viewer.maps.drawing import Map, Point, Stand, render
from wayword.viewer.markup import Html, tag

AROUND_METRES = 12.0
"""Margin around a walk within which the places of a graph are drawn: about two rooms or a street's
width, so that the reader sees the turns that were not taken."""


def map(trajectory: Trajectory, sources: Sources) -> Map | None:
    """The walks alone."""
    drawn = walked(trajectory, {})
    if drawn:
        drawn.letters = letters_of(sources, trajectory)
    return drawn


def walked(trajectory: Trajectory, known: Mapping[str, Point]) -> Map | None:
    """Each actor's walk, by the points of ``known`` places if there are any, or None where no
    pose has a position."""
    walks = {
        actor: list(_walk(trajectory, actor, known))
        for actor in trajectory.start
        if isinstance(trajectory.start[actor], Mapping)
    }
    walks = {actor: stands for actor, stands in walks.items() if stands}
    if not walks:
        return None
    drawn = Map(walks, scale=bool(known) or _exact(trajectory))
    if not known:
        for stands in walks.values():
            drawn.places |= {stand.place: stand.point for stand in stands if stand.place}
    return drawn


def add_gold(drawn: Map, path: Sequence[str], known: Mapping[str, Point], radius: float) -> None:
    """The gold path where its places are known, and the circle within which an episode succeeds."""
    drawn.gold = [(place, known[place]) for place in path if place in known]
    drawn.radius = radius if drawn.gold else 0.0


def nearby(drawn: Map, known: Mapping[str, Point]) -> dict[str, Point]:
    """The places around the walks and the gold path."""
    points = [stand.point for stands in drawn.walks.values() for stand in stands]
    points += [point for _, point in drawn.gold]
    xs, ys = [x for x, _ in points], [y for _, y in points]
    margin = AROUND_METRES + 0.2 * max(max(xs) - min(xs), max(ys) - min(ys))
    west, east = min(xs) - margin, max(xs) + margin
    south, north = min(ys) - margin, max(ys) + margin
    return {
        name: (x, y) for name, (x, y) in known.items() if west <= x <= east and south <= y <= north
    }


def place_of(where: Any) -> str:
    """The name of a place in ``step.where``, or empty."""
    if not isinstance(where, Mapping):
        return ""
    return str(where.get("viewpoint") or where.get("panorama") or "")


def letters_of(sources: Sources, *walks: Trajectory) -> Letters:
    """Letters for the places of an episode: the gold path first, then those walked to, then those
    that were seen. Off the gold path, letters go on where it ended."""
    if sources.letters is not None:
        return sources.letters
    places = list(sources.gold(walks[0].episode_id))
    trials = [trial for told in walks for trial in (told, *told.earlier)]
    for trial in trials:
        poses = (*trial.start.values(), *(step.pose for step in trial.steps))
        places += [place_of(pose) for pose in poses]
    places += [name for each in trials for step in each.steps for name in _ways(step.observation)]
    return Letters.of_ids(places)


def _ways(seen: Any) -> Iterator[str]:
    """The places that an observation names as ways."""
    ways = seen.get("neighbors") if isinstance(seen, Mapping) else getattr(seen, "neighbors", ())
    for way in ways if isinstance(ways, list | tuple) else ():
        yield str(way.get("viewpoint", "") if isinstance(way, Mapping) else way.viewpoint)


def _walk(trajectory: Trajectory, actor: str, known: Mapping[str, Point]) -> Iterator[Stand]:
    """The actor's stands, as far as they have a position."""
    where: Mapping[str, Any] = trajectory.start[actor]
    point = _own_point(where, known) or ((0.0, 0.0) if place_of(where) and not known else None)
    if point is None:
        return
    yield Stand(0, place_of(where), point, finite(where.get("heading")))
    for number, step in enumerate(trajectory.steps, 1):
        if step.actor != actor or not isinstance(step.pose, Mapping):
            continue
        moved = place_of(step.pose) != place_of(where)
        reckoned = _reckoned(point, step.observation, step.pose) if moved else point
        found = _own_point(step.pose, known) or (None if known else reckoned)
        if found is None:
            return
        point, where = found, step.pose
        yield Stand(number, place_of(where), point, finite(where.get("heading")))


def _own_point(where: Mapping[str, Any], known: Mapping[str, Point]) -> Point | None:
    x, y = finite(where.get("x")), finite(where.get("y"))
    if x is not None and y is not None:
        return x, y
    return known.get(place_of(where))


def _reckoned(point: Point, seen: Any, where: Mapping[str, Any]) -> Point:
    """Along the way that was taken; a unit along the new heading where its length is unknown."""
    place, heading, length = place_of(where), finite(where.get("heading")) or 0.0, 1.0
    for way in seen.get("neighbors", ()) if isinstance(seen, Mapping) else ():
        if isinstance(way, Mapping) and way.get("viewpoint") == place:
            heading = finite(way.get("heading")) or 0.0
            slope = math.radians(finite(way.get("elevation")) or 0.0)
            length = (finite(way.get("distance")) or 0.0) * math.cos(slope)
    angle = math.radians(heading)
    return point[0] + length * math.sin(angle), point[1] + length * math.cos(angle)


def _exact(trajectory: Trajectory) -> bool:
    """Whether reckoned places are true: viewpoints and coordinates are, panoramas are not."""
    return not any("panorama" in where for where in trajectory.start.values())


def finite(value: Any) -> float | None:
    """A finite number, or None: a folder from elsewhere may hold anything."""
    usable = isinstance(value, int | float) and abs(value) < 1e9
    return float(value) if usable else None


# The map of an episode, whatever its family.


def distances(trajectory: Trajectory, sources: Sources) -> list[float]:
    """Metres from the goal as the crow flies, at the start and after each step of the first actor;
    empty where there is no gold path."""
    drawn = geography(trajectory, sources)
    if drawn is None or not drawn.gold or len(drawn.walks) != 1:
        return []
    (stands,) = drawn.walks.values()
    _, goal = drawn.gold[-1]
    return [math.dist(stand.point, goal) for stand in stands]


def _drawn(trajectory: Trajectory, sources: Sources, other: Any) -> Any:
    """What the family's own map gives, or ``other``."""
    family = sources.family()
    return ((family.part("map") if family else None) or other)(trajectory, sources)


def geography(trajectory: Trajectory, sources: Sources) -> Map | None:
    """What the family's map draws, as data; None where it has none to give."""
    found = _drawn(trajectory, sources, lambda *_: None)
    return found if isinstance(found, Map) else None


def together(
    walks: Sequence[tuple[str, Trajectory]], sources: Sources, apart: int = 0
) -> Html | None:
    """Walks of one episode, by the names of their runs, in one map, and where they part: before
    step ``apart``, from 1; 0 where they do not. None where the family has no places to draw."""
    drawn = [geography(told, sources) for _, told in walks]
    whole = [each for each in drawn if each is not None]
    if len(whole) < len(walks):
        return None
    names = [name if len({n for n, _ in walks}) == len(walks) else f"{name} ({number})"
             for number, (name, _) in enumerate(walks, 1)]  # fmt: skip
    stands = {
        name if len(each.walks) == 1 else f"{name}, {actor}": walk
        for name, each in zip(names, whole, strict=True)
        for actor, walk in each.walks.items()
    }
    first = whole[0]
    places = {name: point for each in reversed(whole) for name, point in each.places.items()}
    edges = list(dict.fromkeys(edge for each in whole for edge in each.edges))
    parted = _before(walks[0][1], first, apart) if apart else None
    lettered = None if first.lettered is None else frozenset().union(
        *(each.lettered or frozenset() for each in whole)
    )  # fmt: skip
    layer = first.layer and replace(first.layer, views={})
    both = replace(
        first, walks=stands, places=places, edges=edges, lettered=lettered, layer=layer,
        parted=parted,
    )  # fmt: skip
    return tag("figure", render(both), class_="both")


def _before(told: Trajectory, drawn: Map, step: int) -> Point | None:
    """Where the actor of a step stood before it."""
    if step > len(told.steps):
        return None
    stands = drawn.walks.get(told.steps[step - 1].actor, [])
    return next((each.point for each in reversed(stands) if each.step < step), None)


def draw(trajectory: Trajectory, sources: Sources) -> Html | None:
    """The family's map of an episode as a ``figure``, or None where nothing has a position."""
    drawn = _drawn(trajectory, sources, map)
    drawn = render(drawn) if isinstance(drawn, Map) else drawn
    return tag("figure", drawn) if drawn else None
