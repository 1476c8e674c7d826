"""A map as SVG: floor, graph, gold path, walked path, numbered steps; and the shapes it is made of.

    render(Map({"agent": waypoints}, gold=[("b", (2.0, 1.0))]))      # the map and its legend

A family paints a ``Layer`` beneath the walks out of ``line``, ``rect``, ``square``, ``dot`` and
``area``. What changes in the course of an episode is drawn once for each span of steps in which it
was so, with the attributes of ``during``; the page's script shows those of the step at hand.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, TypeVar

from wayword.viewer.markup import Html, Letters, join, tag, template_function
from wayword.viewer.markup import render as template

T = TypeVar("T", bound=Hashable)
Point = tuple[float, float]
"""Metres, x to the east, y to the north; or units of the drawing."""
At = Callable[[Point], Point]
"""From metres to the drawing's units."""
Box = tuple[float, float, float, float]
"""Left, top, right and bottom, in a drawing's units."""

WIDTH, TALLEST = 520.0, 620.0
_MARGIN, _SMALLEST, _SMALL_ROOM = 2.2, 7.0, 3.0
_MOST_EDGES = 4000
_SHORT = 16  # moves up to this length are drawn as lines: an arrow would be all there is of them
_STRIP = 24  # below the map, for the scale bar
_LETTER = 7.4, 12.5  # width of a letter on a map and height of its line, in the drawing's units


@dataclass(frozen=True, slots=True)
class Waypoint:
    """An actor's place in a walk. ``step`` is 0 at the start, else the step that led here."""

    step: int
    place: str
    point: Point
    heading: float | None


@dataclass(frozen=True, slots=True)
class RoomShape:
    """A rectangle of a floor plan, from its south-west to its north-east corner."""

    name: str
    low: Point
    high: Point


@dataclass(frozen=True, slots=True)
class Layer:
    """A family's drawing beneath the walks: ``paint`` renders it, ``corners`` must fit the paper.

    ``views`` holds, for each actor and step, the corners of what the actor saw before that step;
    ``legend`` has the class and the words of each sign that is not common to all maps.
    """

    paint: Callable[[At], Html]
    corners: Sequence[Point]
    views: Mapping[str, Mapping[int, Sequence[Point]]]
    legend: Sequence[tuple[str, str]]


@dataclass(slots=True)
class Map:
    """Everything a map shows: each actor's walk over the places and edges of a graph.

    ``region`` holds the places where stopping counts as success. ``floors`` has the storey of each
    place, from 0, where a walk or the gold path touches several. ``names`` are words for places,
    such as their room; ``letters`` their short names, drawn for all or for those ``lettered``.
    ``scale`` is True if lengths are true, in ``unit``. ``divergence`` is where walks that are
    compared part. ``failed`` marks the ends of the walks, and ``mistake`` is the step before which
    a ring is drawn, 0 for none. ``over`` paints what can be pressed on a game's map.
    """

    walks: dict[str, list[Waypoint]]
    places: dict[str, Point] = field(default_factory=dict)
    edges: list[tuple[str, str]] = field(default_factory=list)
    gold: list[tuple[str, Point]] = field(default_factory=list)
    rooms: list[RoomShape] = field(default_factory=list)
    doors: list[tuple[Point, Point]] = field(default_factory=list)
    region: frozenset[str] = frozenset()
    floors: dict[str, int] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    scale: bool = True
    layer: Layer | None = None
    unit: str = "m"
    letters: Letters = field(default_factory=Letters)
    lettered: frozenset[str] | None = None
    divergence: Point | None = None
    failed: bool = False
    mistake: int = 0
    over: Callable[[At], Html] | None = None

    def title(self, place: str) -> str:
        """``B, 545da9c1…, bedroom``: the letter, id and name of a place."""
        name = self.names.get(place)
        return ", ".join(filter(None, (self.letters.title(place), name)))


# The shapes that maps are made of, by points in metres.


def line(a: Point, b: Point, at: At, kind: str, title: str = "", **more: Any) -> Html:
    """A straight line."""
    (x1, y1), (x2, y2) = at(a), at(b)
    return tag("line", _title(title), x1=x1, y1=y1, x2=x2, y2=y2, class_=kind, **more)


def rect(low: Point, high: Point, at: At, kind: str, title: str = "", **more: Any) -> Html:
    """A rectangle from its south-west to its north-east corner."""
    (x0, y1), (x1, y0) = at(low), at(high)
    size = {"width": round(x1 - x0, 1), "height": round(y1 - y0, 1)}
    return tag("rect", _title(title), x=x0, y=y0, **size, class_=kind, **more)


def square(
    middle: Point, at: At, kind: str, inset: float = 0.0, title: str = "", **more: Any
) -> Html:
    """A square of a grid, less ``inset`` on each side."""
    (x, y), half = middle, 0.5 - inset
    return rect((x - half, y - half), (x + half, y + half), at, kind, title, **more)


def dot(point: Point, at: At, radius: float, kind: str, title: str = "", **more: Any) -> Html:
    """A circle; ``radius`` is in the drawing's units."""
    x, y = at(point)
    return tag("circle", _title(title), cx=x, cy=y, r=radius, class_=kind, **more)


def area(corners: Sequence[Point], at: At, kind: str, **more: Any) -> Html:
    """A polygon."""
    d = "M" + "L".join(f"{x:g} {y:g}" for x, y in map(at, corners)) + "Z"
    return tag("path", d=d, class_=kind, **more)


def cone(point: Point, heading: float, at: At, kind: str, **more: Any) -> Html:
    """An actor's place, and where it faces."""
    x, y = at(point)
    turn = f"translate({x:g} {y:g}) rotate({heading:.0f})"
    return tag("path", d="M0 0L-17 -36A40 40 0 0 1 17 -36Z", transform=turn, class_=kind, **more)


def room_name(name: str, polygon: Sequence[Point], at: At) -> Html:
    """A room's name in its south-western corner."""
    x, y = at((min(x for x, _ in polygon), min(y for _, y in polygon)))
    return tag("text", name.replace("_", " "), x=x + 5, y=y - 6, class_="roomname")


def goal_name(name: str, point: Point, at: At, kind: str = "goalname", **more: Any) -> Html:
    """The name of an object of the goal, above it."""
    x, y = at(point)
    return tag("text", name.replace("_", " "), x=x, y=round(y - 7, 1), class_=kind, **more)


def during(kind: str, first: int, last: int) -> dict[str, Any]:
    """Attributes of a shape that holds from one step to another; without a script the beginning
    is shown. ``kind`` are its other classes."""
    shown = f"{kind} on" if first == 1 else kind
    return {"kind": shown, "data_first": first, "data_last": last}


def spans(frames: Sequence[Sequence[T]]) -> Iterator[tuple[T, int, int]]:
    """Each item with the first and last step, from 1, at which it stood in the frames; the last
    frame is the end, after all steps."""
    since: dict[T, int] = {}
    steps = max(1, len(frames) - 1)
    for number, frame in enumerate(frames[:steps], 1):
        now = set(frame)
        for item in [each for each in since if each not in now]:
            yield item, since.pop(item), number - 1
        for item in frame:
            since.setdefault(item, number)
    yield from ((item, first, steps) for item, first in since.items())


def _title(text: str) -> Html | None:
    return tag("title", text) if text else None


# Labels, and the room they have.


def box(x: float, y: float, wide: float, high: float) -> Box:
    """A box around its middle."""
    return x - wide / 2, y - high / 2, x + wide / 2, y + high / 2


@dataclass(slots=True)
class LabelSpace:
    """The boxes taken on a drawing ``wide`` units wide, and where labels still fit."""

    wide: float
    taken: list[Box]

    def beside(
        self, text: str, x: float, y: float, size: tuple[float, float], gap: float = 9.0
    ) -> tuple[float, float] | None:
        """The middle of a label next to a mark, which is taken then; None where there is no room.

        ``size`` is the width of a character and the height of a line.
        """
        wide, high = size[0] * len(text) + 4, size[1]
        aside = wide / 2 + gap - 3
        for dx, dy in (
            (0, -gap), (0, gap + 4), (aside, 2), (-aside, 2),
            (aside, -gap), (-aside, -gap), (aside, gap + 2), (-aside, gap + 2),
        ):  # fmt: skip
            left, top, right, low = label = box(x + dx, y + dy, wide, high)
            if left >= 0 and right <= self.wide and top >= 0 and not any(
                right > a and c > left and low > b and d > top for a, b, c, d in self.taken
            ):  # fmt: skip
                self.taken.append(label)
                return round(x + dx, 1), round(y + dy + 3.5, 1)
        return None


def place_letters(
    letters: Letters, spots: Mapping[str, tuple[float, float, float]], room: LabelSpace
) -> Html:
    """The letters next to their places, as far as there is room.

    ``spots`` has for each place its middle and how far a label must keep from it.
    """
    room.taken += [box(x, y, 6, 6) for x, y, _ in spots.values()]
    parts = []
    for name, (x, y, gap) in spots.items():
        if middle := room.beside(letters.by_place[name], x, y, _LETTER, gap):
            title, at = tag("title", letters.title(name)), dict(zip("xy", middle, strict=True))
            parts.append(tag("text", title, letters.by_place[name], **at, class_="placeletter"))
    return tag("g", *parts)


# The map.


class _Paper:
    """From metres to the drawing's units, north up, so that all of a map fits."""

    def __init__(self, where: Map) -> None:
        points = [stop.point for walk in where.walks.values() for stop in walk]
        points += [point for _, point in where.gold]
        corners = [corner for room in where.rooms for corner in (room.low, room.high)]
        corners += where.layer.corners if where.layer else []
        margin, least = (0.4, _SMALL_ROOM) if corners else (_MARGIN, _SMALLEST)
        if not where.layer:
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


Point3 = tuple[float, float, float]
"""Middle and half the width of a marker with a number."""
_BARS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)


def render(where: Map) -> Html:
    """The map, with its legend below. Steps carry ``data-step``, for the page's script to point
    at."""
    paper = _Paper(where)
    at, (wide, tall) = paper.at, paper.size
    numbered: list[Point3] = []
    walks = [_walk(where, actor, n, paper, numbered) for n, actor in enumerate(where.walks)]
    ground = [rect(room.low, room.high, at, "room") for room in where.rooms]
    ground += [line(a, b, at, "door") for a, b in where.doors]
    ground += [room_name(room.name, [room.low], at) for room in where.rooms]
    rings, ends = [], []
    for walk in where.walks.values() if where.failed else ():
        before = [stop for stop in walk if stop.step < where.mistake]
        if any(stop.step == where.mistake for stop in walk) and before:
            rings.append(at(before[-1].point))
        ends.append(at(walk[-1].point))
    gold = [at(point) for _, point in where.gold]
    signs = (
        ("gold", gold, "gold path"),
        ("star", gold, "goal"),
        ("region", where.region, "stopping here counts"),
        ("mistake", where.failed and where.mistake, "the mistake"),
        ("cross", where.failed, "the end"),
        ("stairs", len(set(where.floors.values())) > 1, "between floors"),
        ("parted", where.divergence, "they diverge"),
    )
    bar = next((n for n in _BARS if n * paper.unit > 48), _BARS[-1])
    return template(
        "map.html", drawn=where, at=at, wide=wide, tall=tall + _STRIP, unit=paper.unit, bar=bar,
        ground=tag("g", *ground), graph=join(_graph(where, paper)), gold=gold, walks=walks,
        star=star_path(*gold[-1]) if gold else "", rings=rings, ends=ends, signs=signs,
        letters=_letters(where, paper, numbered),
    )  # fmt: skip


@template_function
def g(value: float) -> str:
    """A coordinate, to a tenth of a unit."""
    return f"{round(value, 1):g}"


def _graph(where: Map, paper: _Paper) -> Iterator[Html]:
    """Edges and places, those where stopping counts tinted; stairs join two floors."""
    points = {name: point for name, point in where.places.items() if paper.holds(point)}
    for name in where.region:
        if name in points:
            yield dot(points[name], paper.at, 11, "region", data_floor=where.floors.get(name))
    for a, b in where.edges[:_MOST_EDGES]:
        if a in points and b in points:
            floor, other = where.floors.get(a), where.floors.get(b)
            kind, floor = ("edge", floor) if floor == other else ("edge stairs", None)
            yield line(points[a], points[b], paper.at, kind, data_floor=floor)
    for name in [*points][:_MOST_EDGES]:
        title = where.title(name) + ("; stopping here counts" if name in where.region else "")
        floor = where.floors.get(name)
        yield dot(points[name], paper.at, 2.4, "place", title, data_floor=floor)


def star_path(x: float, y: float) -> str:
    """The path of a star, for a goal."""
    rim = [(14.0 if n % 2 == 0 else 6.0, math.radians(36 * n)) for n in range(10)]
    d = "L".join(f"{x + r * math.sin(turn):.1f} {y - r * math.cos(turn):.1f}" for r, turn in rim)
    return f"M{d}Z"


@dataclass(frozen=True, slots=True)
class Stop:
    """A marker of an actor's visits to a point, small where it has no text. The page's script goes
    to the ``first`` step, None where it cannot be pressed."""

    steps: Sequence[int]
    words: str
    floor: int | None
    first: int | None
    x: float
    y: float
    half: float = 4.0
    text: str = ""


@dataclass(frozen=True, slots=True)
class WalkShapes:
    """An actor's walk on paper: ``moves`` are lines with an arrow or none and their step, ``poses``
    what it saw before each step (else a cone)."""

    number: int
    moves: Sequence[tuple[float, float, float, float, bool, int]]
    poses: Sequence[Html]
    stops: Sequence[Stop]


def _walk(where: Map, actor: str, number: int, paper: _Paper, numbered: list[Point3]) -> WalkShapes:
    """An actor's walk. Stops at one point share a marker, numbered where there is room: the start
    and the end first, then in order. ``numbered`` are the markers of all actors that have a number
    by now."""
    waypoints = where.walks[actor]
    views = where.layer.views.get(actor) if where.layer else None
    moves, poses = [], []
    for before, after in pairwise(waypoints):
        (x1, y1), (x2, y2) = paper.at(before.point), paper.at(after.point)
        if (length := math.dist((x1, y1), (x2, y2))) > 1:
            arrow = length > _SHORT
            cut = 1 - 12 / length if arrow else 1.0  # it ends at the edge of the next marker
            moves.append((x1, y1, x1 + (x2 - x1) * cut, y1 + (y2 - y1) * cut, arrow, after.step))
        if not views and before.heading is not None:
            poses.append(cone(before.point, before.heading, paper.at, "pose", data_step=after.step))
    if views:
        poses = [area(rim, paper.at, "pose", data_step=step) for step, rim in views.items()]
    groups: dict[Point, list[Waypoint]] = {}
    for stop in waypoints:
        groups.setdefault((round(stop.point[0], 2), round(stop.point[1], 2)), []).append(stop)
    start, *others = groups.values()
    stops = []
    for group in (start, *others[-1:], *others[:-1]):
        (x, y), place = paper.at(group[0].point), group[0].place
        steps = [stop.step for stop in group]
        text = _label(steps)
        half = max(9.0, 3.6 * len(text) + 4)
        when = ", ".join("start" if step == 0 else f"after step {step}" for step in steps)
        words = ": ".join(filter(None, (where.title(place), when)))
        first = next((step for step in steps if step and where.over is None), None)
        shared = steps, words, where.floors.get(place), first, x, y
        if any(abs(x - a) < half + other + 2 and abs(y - b) < 19 for a, b, other in numbered):
            stops.append(Stop(*shared))
        else:
            numbered.append((x, y, half))
            stops.append(Stop(*shared, half, text))
    return WalkShapes(number, moves, poses, stops)


def _label(steps: Sequence[int]) -> str:
    """``S`` for the start; ``2·5``; ``3–8`` for a stay; ``2…14`` for more than three visits."""
    names = ["S" if step == 0 else str(step) for step in steps]
    if len(steps) > 2 and steps[-1] - steps[0] == len(steps) - 1:
        return f"{names[0]}–{names[-1]}"
    return "·".join(names) if len(names) <= 3 else f"{names[0]}…{names[-1]}"


def _letters(where: Map, paper: _Paper, numbered: Sequence[Point3]) -> Html:
    """The letters of places, each next to its place where there is room."""
    goal, walks = dict(where.gold[-1:]), where.walks.values()
    stood = {stop.place: stop.point for walk in walks for stop in walk}
    points = {**where.places, **dict(where.gold), **stood}
    taken = [box(x, y, 2 * half + 2, 20) for x, y, half in numbered]
    taken += [box(*paper.at(point), 30, 30) for point in goal.values()]
    for room in where.rooms:
        x, y = paper.at(room.low)
        taken.append((x, y - 18, x + 12 + 6.5 * len(room.name), y))
    spots = {
        name: (*paper.at(points[name]), 22.0 if name in goal else 17.0 if name in stood else 9.5)
        for name in where.letters.by_place
        if name in points and paper.holds(points[name])
        if where.lettered is None or name in where.lettered
    }
    return place_letters(where.letters, spots, LabelSpace(paper.size[0], taken))
