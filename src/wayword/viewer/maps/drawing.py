"""A map as SVG: background shapes, graph, gold path, walked path and numbered steps.

    render(Map({"agent": waypoints}, gold=[("b", (2.0, 1.0))]))      # the map and its legend

A family describes what is below the walks by ``Shape``s, in metres; only this module draws. A
change during an episode is one shape per span of steps; the page's script shows those of the
selected step, and places names next to their marks.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from wayword.viewer.maps.walks import Marker, draw_walk, ring
from wayword.viewer.markup import Html, Letters, template_function
from wayword.viewer.markup import render as template

T = TypeVar("T", bound=Hashable)
Point = tuple[float, float]
"""Metres, x to the east, y to the north; or units of the drawing."""
At = Callable[[Point], Point]
"""From metres to the drawing's units."""

WIDTH = 520.0
TALLEST = 620.0
_MARGIN = 2.2
_SMALLEST = 7.0
_SMALL_ROOM = 3.0
_MOST_EDGES = 4000
# Kind of shapes on a street, which need room around them like its walks
LANDMARK = "landmark"


@dataclass(frozen=True, slots=True)
class Waypoint:
    """A point of an actor's walk. ``step`` is 0 at the start, else the step that led here;
    ``blocked`` is True if something was in the way of that step, ``route`` the points between."""

    step: int
    place: str
    point: Point
    heading: float | None
    blocked: bool = False
    route: Sequence[Point] = ()


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
    """Return a room's name, at the corners of its outline's box."""
    ends = [
        (least(x for x, _ in polygon), least(y for _, y in polygon))
        for least in (min, max)
    ]
    return Shape("label", ends, "roomname", label=name)


def square(middle: Point, kind: str, half: float = 0.5, **fields: Any) -> Shape:
    """Return a square of a grid around its center; ``half`` is half its side."""
    (x, y) = middle
    return Shape("rect", ((x - half, y - half), (x + half, y + half)), kind, **fields)


@dataclass(slots=True)
class Map:
    """Everything a map shows: each actor's walk over the places and edges of a graph.

    ``region`` has the places where a stop counts as success. ``floors`` maps places to storeys,
    from 0, if a walk or the gold path touches several. ``names`` describes places, for example by
    room, and ``rooms`` has those that stand next to letters; ``letters`` has their short names,
    drawn for all or for those in ``lettered``. ``scale`` is True if lengths are true, in ``unit``.
    ``divergence`` is the point where compared walks diverge. ``failed`` marks the ends of the
    walks, and ``mistake`` is the step before which a ring is drawn, 0 for none, ``departed`` is
    True if it left the path for good; ``named`` are the
    places in its sentence, ``missed`` objects in view that were left alone. ``shapes`` are below
    the walks, ``legend`` has class and text of signs that only some maps have, and ``views``, for
    each actor and step, the corners of the actor's view before it. ``targets`` can be pressed on a
    game's map: position, text, and attributes for the page's script. ``expert`` has the paths of an
    expert. A ``small`` map has no legend.
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
    rooms: Mapping[str, str] = field(default_factory=dict)
    scale: bool = True
    unit: str = "m"
    letters: Letters = field(default_factory=Letters)
    lettered: frozenset[str] | None = None
    divergence: Point | None = None
    failed: bool = False
    mistake: int = 0
    departed: bool = False
    named: frozenset[str] = frozenset()
    missed: Collection[str] = ()
    targets: Sequence[tuple[Point, str, Mapping[str, Any]]] | None = None
    expert: Sequence[Sequence[Point]] = ()
    small: bool = False

    def title(self, place: str) -> str:
        """Return letter, id and name of a place: ``B, 545da9c1…, bedroom``."""
        name = self.names.get(place)
        return ", ".join(filter(None, (self.letters.title(place), name)))


def spans(frames: Sequence[Sequence[T]]) -> Iterator[tuple[T, int, int]]:
    """Return each item with the numbers (from 1) of the first and last frame that contain it: one
    frame per step, and the end."""
    since: dict[T, int] = {}
    for number, frame in enumerate(frames, 1):
        now = set(frame)
        for item in [each for each in since if each not in now]:
            yield item, since.pop(item), number - 1
        for item in frame:
            since.setdefault(item, number)
    yield from ((item, first, len(frames)) for item, first in since.items())


# The map.


class _Paper:
    """Transform from metres to the drawing's units, north up, that fits the whole map."""

    def __init__(self, where: Map) -> None:
        points = [stop.point for walk in where.walks.values() for stop in walk]
        points += [point for _, point in where.gold]
        points += [shape.points[0] for shape in where.shapes if shape.kind == LANDMARK]
        corners = [
            point
            for shape in where.shapes
            if shape.kind != LANDMARK
            for point in shape.points
        ]
        corners += [
            point
            for rims in where.views.values()
            for rim in rims.values()
            for point in rim
        ]
        margin, least = (0.4, _SMALL_ROOM) if corners else (_MARGIN, _SMALLEST)
        if not corners:
            extent = max(max(axis) - min(axis) for axis in zip(*points, strict=True))
            margin = max(margin, 0.12 * extent)
        sides = []
        for axis in zip(*points, *corners, strict=True):
            low = min(axis)
            high = max(axis)
            more = margin + max(0.0, least - (high - low + 2 * margin)) / 2
            sides.append((low - more, high + more))
        (west, east), (south, north) = sides
        self.low = (west, south)
        self.high = (east, north)
        self.unit = min(WIDTH / (east - west), TALLEST / (north - south))
        self.size = (east - west) * self.unit, (north - south) * self.unit

    def at(self, point: Point) -> Point:
        x = (point[0] - self.low[0]) * self.unit
        y = (self.high[1] - point[1]) * self.unit
        return round(x, 1), round(y, 1)

    def path(self, corners: Sequence[Point]) -> str:
        return "M" + "L".join(f"{x:g} {y:g}" for x, y in map(self.at, corners)) + "Z"

    def cells(self, middles: Sequence[Point], size: float) -> str:
        side = f"{size * self.unit:.1f}"
        corners = (self.at((x - size / 2, y + size / 2)) for x, y in middles)
        return "".join(f"M{x:g} {y:g}h{side}v{side}h-{side}z" for x, y in corners)


def render(where: Map) -> Html:
    """Render the map with its legend. Steps have ``data-step`` for the page's script."""
    paper = _Paper(where)
    at = paper.at
    numbered: list[Marker] = []
    last = max(stop.step for walk in where.walks.values() for stop in walk)
    walks = [
        draw_walk(where, actor, number, at, numbered)
        for number, actor in enumerate(where.walks)
    ]
    missed = [
        at(((x + right) / 2, (y + top) / 2)) for shape in where.shapes
        if shape.label in where.missed and (shape.last == 0 or shape.last > last)
        for (x, y), (right, top) in [(shape.points[0], shape.points[-1])]
    ]  # fmt: skip
    rings = []
    on_path = {name for name, _ in where.gold}
    for walk, drawn in zip(where.walks.values(), walks, strict=True):
        if (found := ring(where, walk, drawn)) is not None:
            marker, drawn["wrong"] = found
            rings.append(marker)
    gold = [at(point) for _, point in where.gold]
    points = {name: at(point) for name, point in where.places.items()}
    # Letters keep clear of the goal's star and of numbered stops.
    stood = {
        stop.place: at(stop.point) for walk in where.walks.values() for stop in walk
    }
    goal = {name for name, _ in where.gold[-1:]}
    spots = points | {name: at(point) for name, point in where.gold} | stood
    letters = [
        (name, *spots[name], 20.0 if name in goal else 11.0 if name in stood else 4.0)
        for name in where.letters.by_place
        if name in spots
        and (where.lettered is None or name in where.lettered | where.named)
    ]
    letters.sort(key=lambda letter: letter[0] not in where.named)
    return template(
        "map.html", drawn=where, last=last, paper=paper, at=at, gold=gold, walks=walks, rings=rings,
        missed=missed, size=paper.size, letters=letters, visited={*on_path, *stood},
        points=dict([*points.items()][:_MOST_EDGES]), edges=where.edges[:_MOST_EDGES],
    )  # fmt: skip


@template_function
def g(value: float) -> str:
    """Format a coordinate to a tenth of a unit."""
    return f"{round(value, 1):g}"
