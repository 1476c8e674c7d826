"""Where an episode happened, on paper: metres, x to the east, y to the north.

Places come from the dataset's graph where it could be opened. Without it they are reckoned from
what the agent saw (the heading and length of each way it took), which is exact for a walk between
viewpoints; a street without coordinates is drawn with blocks of equal length, and says so.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from wayword.core.trajectory import Trajectory
from wayword.viewer.data import Sources
from wayword.viewer.household import Home, home
from wayword.worlds.household import family as household_family

Point = tuple[float, float]

METRES_PER_DEGREE = 111_320.0
"""Of latitude; of longitude on the equator."""
_AROUND = 12.0
STOREY = 1.5
"""Places that lie so many metres higher or lower are on another floor."""


@dataclass(frozen=True, slots=True)
class Stand:
    """Somebody at a place. ``step`` is 0 at the start, else the step that led here."""

    step: int
    place: str
    point: Point
    heading: float | None


@dataclass(frozen=True, slots=True)
class Room:
    """A rectangle of a floor plan, from its south-west to its north-east corner."""

    name: str
    low: Point
    high: Point


@dataclass(slots=True)
class Geography:
    """Everything a map shows. ``walks`` holds each actor's stands; ``scale`` is whether lengths
    are true; ``radius`` that of the goal, metres, 0 where nearness is not judged that way;
    ``home`` the house around them, in the household world."""

    walks: dict[str, list[Stand]]
    places: dict[str, Point] = field(default_factory=dict)
    edges: list[tuple[Point, Point]] = field(default_factory=list)
    gold: list[tuple[str, Point]] = field(default_factory=list)
    rooms: list[Room] = field(default_factory=list)
    doors: list[tuple[Point, Point]] = field(default_factory=list)
    scale: bool = True
    radius: float = 0.0
    home: Home | None = None


def geography(trajectory: Trajectory, sources: Sources) -> Geography | None:
    """The map of an episode, or None where places have no position at all."""
    name, scene = trajectory.episode_id, sources.scene(trajectory.episode_id)
    graph = sources.graph(scene)
    if scene not in sources.layouts:
        sources.layouts[scene] = _positions(graph)
    known = sources.layouts[scene]
    walks = {
        actor: list(_walk(trajectory, actor, known))
        for actor in trajectory.start
        if isinstance(trajectory.start[actor], Mapping)
    }
    walks = {actor: stands for actor, stands in walks.items() if stands}
    if not walks:
        return None
    family = sources.dataset.family if sources.dataset else None
    drawn = Geography(walks, scale=bool(known) or _exact(trajectory))
    drawn.gold = [(place, known[place]) for place in sources.gold(name) if place in known]
    drawn.radius = family.goal_radius if family and drawn.gold else 0.0
    if known:
        drawn.places = _nearby(graph, drawn, known)
        drawn.edges = list(_edges(graph, drawn.places))
        _furnish(drawn, sources.plan(scene))
    else:
        for stands in walks.values():
            drawn.places |= {stand.place: stand.point for stand in stands if stand.place}
        drawn.home = home(trajectory, sources) if family is household_family else None
    return drawn


def place_of(where: Any) -> str:
    """The name of a place in ``step.where``, or empty."""
    if not isinstance(where, Mapping):
        return ""
    return str(where.get("viewpoint") or where.get("panorama") or "")


def _positions(graph: Any) -> dict[str, Point]:
    """Every place's point; those of a street, latitude and longitude, are laid flat."""
    positions, ids = getattr(graph, "positions", None), getattr(graph, "ids", ())
    if positions is None or len(positions) != len(ids):
        return {}
    if positions.shape[1] == 3:
        return {name: (row[0], row[1]) for name, row in zip(ids, positions.tolist(), strict=True)}
    if not positions.any():
        return {}
    middle = math.cos(math.radians(float(positions[:, 0].mean())))
    return {
        name: (row[1] * METRES_PER_DEGREE * middle, row[0] * METRES_PER_DEGREE)
        for name, row in zip(ids, positions.tolist(), strict=True)
    }


def _nearby(graph: Any, drawn: Geography, known: Mapping[str, Point]) -> dict[str, Point]:
    """The places around the walk and the gold path, on the floors that these touch."""
    points = [stand.point for stands in drawn.walks.values() for stand in stands]
    points += [point for _, point in drawn.gold]
    xs, ys = [x for x, _ in points], [y for _, y in points]
    margin = _AROUND + 0.2 * max(max(xs) - min(xs), max(ys) - min(ys))
    west, east = min(xs) - margin, max(xs) + margin
    south, north = min(ys) - margin, max(ys) + margin
    near = {
        name: (x, y) for name, (x, y) in known.items() if west <= x <= east and south <= y <= north
    }
    return near if graph.positions.shape[1] < 3 else _same_floor(graph, drawn, near)


def _same_floor(graph: Any, drawn: Geography, near: Mapping[str, Point]) -> dict[str, Point]:
    touched = [stand.place for stands in drawn.walks.values() for stand in stands]
    touched += [name for name, _ in drawn.gold]
    heights: list[float] = graph.positions[:, 2].tolist()
    levels = [heights[graph.index[place]] for place in touched if place in graph.index]
    low, high = min(levels, default=0.0) - STOREY, max(levels, default=0.0) + STOREY
    return {n: point for n, point in near.items() if low <= heights[graph.index[n]] <= high}


def _edges(graph: Any, near: Mapping[str, Point]) -> Iterator[tuple[Point, Point]]:
    """Edges between these places; those of a street in each direction they can be taken."""
    ids = graph.ids
    if hasattr(graph, "edges"):
        pairs = ((ids[a], ids[b]) for a, b in graph.edges.tolist() if a < b)
    else:
        pairs = ((name, ids[end]) for name in near for _, end in graph.exits(graph.index[name]))
    yield from ((near[a], near[b]) for a, b in pairs if a in near and b in near)


def _furnish(drawn: Geography, plan: Any) -> None:
    for room in getattr(plan, "rooms", ()):
        drawn.rooms.append(Room(room.name, (room.x0, room.y0), (room.x1, room.y1)))
    for door in getattr(plan, "doors", ()):
        half = door.width / 2
        dx, dy = (0.0, half) if door.vertical else (half, 0.0)
        drawn.doors.append(((door.x - dx, door.y - dy), (door.x + dx, door.y + dy)))


def _walk(trajectory: Trajectory, actor: str, known: Mapping[str, Point]) -> Iterator[Stand]:
    """The actor's stands, as far as they have a position."""
    where: Mapping[str, Any] = trajectory.start[actor]
    point = _own_point(where, known) or ((0.0, 0.0) if place_of(where) and not known else None)
    if point is None:
        return
    yield Stand(0, place_of(where), point, _number(where.get("heading")))
    for number, step in enumerate(trajectory.steps, 1):
        if step.actor != actor or not isinstance(step.pose, Mapping):
            continue
        moved = place_of(step.pose) != place_of(where)
        reckoned = _reckoned(point, step.observation, step.pose) if moved else point
        found = _own_point(step.pose, known) or (None if known else reckoned)
        if found is None:
            return
        point, where = found, step.pose
        yield Stand(number, place_of(where), point, _number(where.get("heading")))


def _own_point(where: Mapping[str, Any], known: Mapping[str, Point]) -> Point | None:
    x, y = _number(where.get("x")), _number(where.get("y"))
    if x is not None and y is not None:
        return x, y
    return known.get(place_of(where))


def _reckoned(point: Point, seen: Any, where: Mapping[str, Any]) -> Point:
    """Along the way that was taken; a unit along the new heading where its length is unknown."""
    place, heading, length = place_of(where), _number(where.get("heading")) or 0.0, 1.0
    for way in seen.get("neighbors", ()) if isinstance(seen, Mapping) else ():
        if isinstance(way, Mapping) and way.get("viewpoint") == place:
            heading = _number(way.get("heading")) or 0.0
            slope = math.radians(_number(way.get("elevation")) or 0.0)
            length = (_number(way.get("distance")) or 0.0) * math.cos(slope)
    angle = math.radians(heading)
    return point[0] + length * math.sin(angle), point[1] + length * math.cos(angle)


def _exact(trajectory: Trajectory) -> bool:
    """Whether reckoned places are true: viewpoints and coordinates are, panoramas are not."""
    return not any("panorama" in where for where in trajectory.start.values())


def _number(value: Any) -> float | None:
    """A finite number, or None: a folder from elsewhere may hold anything."""
    usable = isinstance(value, int | float) and abs(value) < 1e9
    return float(value) if usable else None
