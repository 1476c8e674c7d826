"""A map as SVG: background shapes, graph, gold path, walked path and numbered steps.

    render(Map({"agent": waypoints}, gold=[("b", (2.0, 1.0))]))      # the map and its legend

A family describes what is below the walks by ``Shape``s, in metres; only this module draws. A
change during an episode is one shape per span of steps; the page's script shows those of the
selected step, and places names next to their marks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal, TypeVar

from wayword.viewer.markup import Html, Letters, template_function
from wayword.viewer.markup import render as template

T = TypeVar("T", bound=Hashable)
Point = tuple[float, float]
"""Metres, x to the east, y to the north; or units of the drawing."""
At = Callable[[Point], Point]
"""From metres to the drawing's units."""

WIDTH, TALLEST = 520.0, 620.0
_MARGIN, _SMALLEST, _SMALL_ROOM = 2.2, 7.0, 3.0
_MOST_EDGES = 4000
_SHORT = 16  # moves up to this length are drawn as lines: an arrow would be all there is of them
_NEAR = 24  # between the start and the end, up to which they share a marker
_STRIP = 24  # below the map, for the scale bar


@dataclass(frozen=True, slots=True)
class Waypoint:
    """A point of an actor's walk. ``step`` is 0 at the start, else the step that led here;
    ``blocked`` is True if something was in the way of that step."""

    step: int
    place: str
    point: Point
    heading: float | None
    blocked: bool = False


@dataclass(frozen=True, slots=True)
class Shape:
    """A shape on a map, of some class, at points in metres.

    A ``line`` has two ends, a ``rect`` its south-western and north-eastern corners, an ``area`` all
    corners; a ``dot`` has a center and a radius, ``size`` in the drawing's units; ``cells`` have
    centers, and are ``size`` metres wide; a ``cone`` faces ``size`` degrees. ``label`` is placed in
    a ``rect`` if there is room, and next to any other shape. It is shown from step ``first`` to
    ``last``; always if ``first`` is 0.
    """

    form: Literal["line", "rect", "area", "dot", "cells", "cone", "label"]
    points: Sequence[Point]
    kind: str
    title: str = ""
    label: str = ""
    size: float = 0.0
    first: int = 0
    last: int = 0


def room_label(name: str, polygon: Sequence[Point]) -> Shape:
    """Return a room's name in its south-western corner."""
    corner = min(x for x, _ in polygon), min(y for _, y in polygon)
    return Shape("label", [corner], "roomname", label=name)


def square(middle: Point, kind: str, half: float = 0.5, **fields: Any) -> Shape:
    """Return a square of a grid around its center; ``half`` is half its side."""
    (x, y) = middle
    return Shape("rect", ((x - half, y - half), (x + half, y + half)), kind, **fields)


@dataclass(slots=True)
class Map:
    """Everything a map shows: each actor's walk over the places and edges of a graph.

    ``region`` has the places where a stop counts as success. ``floors`` maps places to storeys,
    from 0, if a walk or the gold path touches several. ``names`` describes places, for example by
    room; ``letters`` has their short names, drawn for all or for those in ``lettered``. ``scale``
    is True if lengths are true, in ``unit``. ``divergence`` is the point where compared walks
    diverge. ``failed`` marks the ends of the walks, and ``mistake`` is the step before which a ring
    is drawn, 0 for none; ``named`` are the places in its sentence, ``missed`` objects in view that
    were left alone. ``shapes`` are below the walks, ``legend`` has class and text of signs that
    only some maps have, and ``views``, for each actor and step, the corners of the actor's view
    before it. ``targets`` can be pressed on a game's map: position, text, and attributes for the
    page's script.
    """

    walks: dict[str, list[Waypoint]]
    places: dict[str, Point] = field(default_factory=dict)
    edges: list[tuple[str, str]] = field(default_factory=list)
    gold: list[tuple[str, Point]] = field(default_factory=list)
    shapes: list[Shape] = field(default_factory=list)
    views: Mapping[str, Mapping[int, Sequence[Point]]] = field(default_factory=dict)
    legend: Sequence[tuple[str, str]] = ()
    region: frozenset[str] = frozenset()
    floors: dict[str, int] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    scale: bool = True
    unit: str = "m"
    letters: Letters = field(default_factory=Letters)
    lettered: frozenset[str] | None = None
    divergence: Point | None = None
    failed: bool = False
    mistake: int = 0
    named: frozenset[str] = frozenset()
    missed: Collection[str] = ()
    targets: Sequence[tuple[Point, str, Mapping[str, Any]]] | None = None

    def title(self, place: str) -> str:
        """Return letter, id and name of a place: ``B, 545da9c1…, bedroom``."""
        name = self.names.get(place)
        return ", ".join(filter(None, (self.letters.title(place), name)))


def spans(frames: Sequence[Sequence[T]]) -> Iterator[tuple[T, int, int]]:
    """Return each item with the first and last step (from 1) of the frames that contain it; the
    last frame is the end."""
    since: dict[T, int] = {}
    steps = max(1, len(frames) - 1)
    for number, frame in enumerate(frames[:steps], 1):
        now = set(frame)
        for item in [each for each in since if each not in now]:
            yield item, since.pop(item), number - 1
        for item in frame:
            since.setdefault(item, number)
    yield from ((item, first, steps) for item, first in since.items())


# The map.


class _Paper:
    """Transform from metres to the drawing's units, north up, that fits the whole map."""

    def __init__(self, where: Map) -> None:
        points = [stop.point for walk in where.walks.values() for stop in walk]
        points += [point for _, point in where.gold]
        corners = [point for shape in where.shapes for point in shape.points]
        corners += [
            point for rims in where.views.values() for rim in rims.values() for point in rim
        ]
        margin, least = (0.4, _SMALL_ROOM) if corners else (_MARGIN, _SMALLEST)
        if not corners:
            extent = max(max(axis) - min(axis) for axis in zip(*points, strict=True))
            margin = max(margin, 0.12 * extent)
        sides = []
        for axis in zip(*points, *corners, strict=True):
            low, high = min(axis), max(axis)
            more = margin + max(0.0, least - (high - low + 2 * margin)) / 2
            sides.append((low - more, high + more))
        (west, east), (south, north) = sides
        self.low, self.high = (west, south), (east, north)
        self.unit = min(WIDTH / (east - west), TALLEST / (north - south))
        self.size = (east - west) * self.unit, (north - south) * self.unit

    def at(self, point: Point) -> Point:
        x, y = (point[0] - self.low[0]) * self.unit, (self.high[1] - point[1]) * self.unit
        return round(x, 1), round(y, 1)

    def holds(self, point: Point) -> bool:
        return all(a - 3 <= x <= b + 3 for a, x, b in zip(self.low, point, self.high, strict=True))

    def path(self, corners: Sequence[Point]) -> str:
        return "M" + "L".join(f"{x:g} {y:g}" for x, y in map(self.at, corners)) + "Z"

    def cells(self, middles: Sequence[Point], size: float) -> str:
        side = f"{size * self.unit:.1f}"
        corners = (self.at((x - size / 2, y + size / 2)) for x, y in middles)
        return "".join(f"M{x:g} {y:g}h{side}v{side}h-{side}z" for x, y in corners)


_BARS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)


def render(where: Map) -> Html:
    """Render the map with its legend. Steps have ``data-step`` for the page's script."""
    paper = _Paper(where)
    at, numbered = paper.at, list[tuple[float, float, float]]()
    last = max(stop.step for walk in where.walks.values() for stop in walk)
    walks = [_walk(where, actor, n, at, numbered) for n, actor in enumerate(where.walks)]
    missed = [
        at(((x + right) / 2, (y + top) / 2)) for shape in where.shapes
        if shape.label in where.missed and shape.last in (0, last)
        for (x, y), (right, top) in [(shape.points[0], shape.points[-1])]
    ]  # fmt: skip
    rings, on_path = list[tuple[float, float, float]](), {name for name, _ in where.gold}
    for walk, drawn in zip(where.walks.values(), walks, strict=True):
        before = [stop for stop in walk if stop.step < where.mistake]
        if where.failed and any(stop.step == where.mistake for stop in walk) and before:
            after = [m[-1] for m in drawn["moves"] if m[-1] >= where.mistake]
            places = {stop.step: stop.place for stop in walk}
            back = (n for n, step in enumerate(after, 1) if places[step] in on_path)
            drawn["wrong"] = after[: next(back, len(after)) if on_path else 1]
            here = next(each for each in drawn["stops"] if before[-1].step in each["steps"])
            rings.append((here["x"], here["y"], max(16.0, here["half"] + 6)))
    gold = [at(point) for _, point in where.gold]
    points = {name: at(point) for name, point in where.places.items() if paper.holds(point)}
    # Letters keep clear of the goal's star and of numbered stops.
    stood = {stop.place: at(stop.point) for walk in where.walks.values() for stop in walk}
    goal = {name for name, _ in where.gold[-1:]}
    spots = points | {name: at(point) for name, point in where.gold} | stood
    letters = [
        (name, *spots[name], 28.0 if name in goal else 17.0 if name in stood else 9.5)
        for name in where.letters.by_place
        if name in spots and (where.lettered is None or name in where.lettered | where.named)
    ]
    letters.sort(key=lambda letter: letter[0] not in where.named)
    signs = (
        ("gold", gold, "gold path"),
        ("star", gold, "goal"),
        ("region", where.region, "stops here count as success"),
        ("mistake", rings, "the mistake"),
        ("missed", missed, "in view, left alone"),
        ("cross", where.failed, "the end"),
        ("blocked", any(walk["blocked"] for walk in walks), "blocked"),
        ("facing", any(walk["facing"] for walk in walks), "facing at the end"),
        ("stairs", len(set(where.floors.values())) > 1, "between floors"),
        ("parted", where.divergence, "they diverge"),
    )
    bar = next((n for n in _BARS if n * paper.unit > 48), _BARS[-1])
    return template(
        "map.html", drawn=where, paper=paper, at=at, bar=bar, gold=gold, walks=walks, rings=rings,
        missed=missed,
        wide=paper.size[0], tall=paper.size[1] + _STRIP, signs=signs, letters=letters,
        points=dict([*points.items()][:_MOST_EDGES]), edges=where.edges[:_MOST_EDGES],
    )  # fmt: skip


@template_function
def g(value: float) -> str:
    """Format a coordinate to a tenth of a unit."""
    return f"{round(value, 1):g}"


def _walk(
    where: Map, actor: str, number: int, at: At, numbered: list[tuple[float, float, float]]
) -> dict[str, Any]:
    """Draw an actor's walk: ``moves`` are lines, with or without an arrow, and their steps,
    ``poses`` the position and heading before each step, and ``stops`` the markers of its visits.

    Stops at the same point share a marker, numbered if there is room: the start and the end first,
    then in order. ``numbered`` has the center and half width of all markers numbered so far. The
    page's script goes to a stop's ``first`` step; None if it cannot be pressed.
    """
    waypoints, moves, groups = where.walks[actor], [], dict[Point, list[Waypoint]]()
    for before, after in pairwise(waypoints):
        (x1, y1), (x2, y2) = at(before.point), at(after.point)
        if (length := math.dist((x1, y1), (x2, y2))) > 1:
            arrow = length > _SHORT
            cut = 1 - 12 / length if arrow else 1.0  # it ends at the edge of the next marker
            moves.append((x1, y1, x1 + (x2 - x1) * cut, y1 + (y2 - y1) * cut, arrow, after.step))
    poses = [
        (after.step, at(before.point), before.heading)
        for before, after in pairwise(waypoints)
        if before.heading is not None and not where.views.get(actor)
    ]
    for stop in waypoints:
        groups.setdefault((round(stop.point[0], 2), round(stop.point[1], 2)), []).append(stop)
    start, *others = groups.values()
    if where.failed and others and math.dist(at(start[0].point), at(others[-1][0].point)) < _NEAR:
        start += others.pop()  # the end would be hidden below the start's number
    stops = list[dict[str, Any]]()
    for group in (start, *others[-1:], *others[:-1]):
        (x, y), place = at(group[0].point), group[0].place
        steps = [stop.step for stop in group]
        end = where.failed and waypoints[-1] in group
        text = _label(steps) + (" ✕" if end else "")
        half = max(9.0, 4.1 * len(text) + 4)  # numbers are larger on a phone
        when = ", ".join("start" if step == 0 else f"after step {step}" for step in steps)
        if any(abs(x - a) < half + other + 2 and abs(y - b) < 19 for a, b, other in numbered):
            half, text = 4.0, ""
        else:
            numbered.append((x, y, half))
        stops.append({
            "steps": steps, "words": ": ".join(filter(None, (where.title(place), when))),
            "floor": where.floors.get(place), "x": x, "y": y, "half": half, "text": text,
            "end": end,
            "first": next((step for step in steps if step and where.targets is None), None),
        })  # fmt: skip
    views = where.views.get(actor) or {}
    barred = [stop for stop in waypoints if stop.blocked and stop.heading is not None]
    bars = {(at(stop.point), stop.heading): 12.0 for stop in barred}
    facing, final = dict[tuple[Point, float | None], float](), waypoints[-1]
    if where.failed and not where.gold and final.heading is not None:
        wide = max(0.0, next(each["half"] for each in stops if each["end"]) - 10)
        reach = 18 + wide * abs(math.sin(math.radians(final.heading)))  # outside the ring
        facing[at(final.point), final.heading] = reach
        bars |= {pose: reach + 16 for pose in facing if pose in bars}
    return {
        "number": number, "moves": moves, "poses": poses, "views": views, "stops": stops,
        "wrong": (), "blocked": bars, "facing": facing,
    }  # fmt: skip


def _label(steps: Sequence[int]) -> str:
    """Label a marker: ``S`` (start), ``2·5``, ``3–8`` (a stay), ``2…14`` (over three visits)."""
    names = ["S" if step == 0 else str(step) for step in steps]
    if len(steps) > 2 and steps[-1] - steps[0] == len(steps) - 1:
        return f"{names[0]}–{names[-1]}"
    return "·".join(names) if len(names) <= 3 else f"{names[0]}…{names[-1]}"
