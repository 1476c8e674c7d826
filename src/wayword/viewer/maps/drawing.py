"""How a map is drawn, as SVG: floor, graph, gold path, walked path, numbered steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from wayword.viewer.letters import LabelSpace, Letters, box
from wayword.viewer.markup import Html, join, tag

Point = tuple[float, float]
"""Metres, x to the east, y to the north; or units of the drawing."""
At = Callable[[Point], Point]
"""From metres to the drawing's units."""

WIDTH, TALLEST = 520.0, 620.0
_MARGIN, _SMALLEST, _SMALL_ROOM = 2.2, 7.0, 3.0
_MOST_EDGES = 4000
_SHORT = 16
"""Moves up to this length are drawn as lines: an arrow would be all there is of them."""
_STRIP = 24  # below the map, for the scale bar


@dataclass(frozen=True, slots=True)
class Stand:
    """An actor at a place. ``step`` is 0 at the start, else the step that led here."""

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
    """What a family draws beneath the walks: ``paint`` gives it, ``corners`` must fit the paper.

    ``views`` holds, for each actor and step, the corners of what the actor saw before that step;
    ``legend`` has a line for each sign that is not common to all maps.
    """

    paint: Callable[[At], Html]
    corners: Sequence[Point]
    views: Mapping[str, Mapping[int, Sequence[Point]]]
    legend: Sequence[Html]


@dataclass(slots=True)
class Map:
    """Everything a map shows. ``walks`` holds each actor's stands; ``scale`` is whether lengths
    are true; ``radius`` that of the goal, metres, 0 where nearness is not judged that way. ``unit``
    is what lengths are in; ``letters`` are the short names of places, drawn for all or for those
    ``lettered``. ``parted`` is where walks that are compared part."""

    walks: dict[str, list[Stand]]
    places: dict[str, Point] = field(default_factory=dict)
    edges: list[tuple[Point, Point]] = field(default_factory=list)
    gold: list[tuple[str, Point]] = field(default_factory=list)
    rooms: list[RoomShape] = field(default_factory=list)
    doors: list[tuple[Point, Point]] = field(default_factory=list)
    scale: bool = True
    radius: float = 0.0
    layer: Layer | None = None
    unit: str = "m"
    letters: Letters = field(default_factory=Letters)
    lettered: frozenset[str] | None = None
    parted: Point | None = None


def _named(stands: Sequence[Stand], letters: Letters) -> list[Stand]:
    return [replace(stand, place=letters.title(stand.place)) for stand in stands]


def render(drawn: Map) -> Html:
    """The map and its legend."""
    return join([svg(drawn), legend(drawn)])


@dataclass(frozen=True, slots=True)
class _Paper:
    """From metres to the drawing's units, north up."""

    low: Point
    high: Point

    @property
    def unit(self) -> float:
        wide, tall = self.high[0] - self.low[0], self.high[1] - self.low[1]
        return min(WIDTH / wide, TALLEST / tall)

    @property
    def size(self) -> Point:
        unit = self.unit
        return (self.high[0] - self.low[0]) * unit, (self.high[1] - self.low[1]) * unit

    def at(self, point: Point) -> Point:
        unit = self.unit
        x, y = (point[0] - self.low[0]) * unit, (self.high[1] - point[1]) * unit
        return round(x, 1), round(y, 1)

    def holds(self, point: Point) -> bool:
        return all(a - 3 <= x <= b + 3 for a, x, b in zip(self.low, point, self.high, strict=True))


def svg(where: Map) -> Html:
    """The map. Steps carry ``data-step``, for the page's script to point at."""
    paper = _paper(where)
    wide, tall = paper.size
    layer = where.layer
    views = layer.views if layer else {}
    numbered: list[tuple[float, float, float]] = []
    walks = [
        _walk(_named(stands, where.letters), n, paper, numbered, views.get(actor))
        for n, (actor, stands) in enumerate(where.walks.items())
    ]
    parts = [
        _rooms(where, paper),
        layer.paint(paper.at) if layer else None,
        _graph(where, paper),
        _gold(where, paper),
        _parted(where.parted, paper) if where.parted else None,
        *reversed(walks),  # the first numbers that were placed lie on top of others' dots
        _letters(where, paper, numbered),
        _bar(where, paper),
    ]
    return tag(
        "svg", _arrowheads(), tag("g", *parts, aria_hidden="true"),
        viewBox=f"0 0 {wide:.0f} {tall + _STRIP:.0f}", class_="map",
        role="img", aria_label=_alternative(where),
    )  # fmt: skip


def _alternative(where: Map) -> str:
    """The map for those who do not see it: its pieces are hidden from screen readers."""
    walks = where.walks.items()
    told = (f"; {who}: {len({s.point for s in stands})} places" for who, stands in walks)
    return f"Map of the episode, north up{''.join(told)}"


def legend(where: Map) -> Html:
    """What the lines mean."""
    items = [
        tag("li", tag("i", class_=f"k walk{n % 4}"), f"walked{_of(where, n)}")
        for n in range(max(1, len(where.walks)))
    ]
    if where.gold:
        items.append(tag("li", tag("i", class_="k gold"), "gold path"))
    if where.radius:
        items.append(tag("li", tag("i", class_="k near"), f"{where.radius:g} m around the goal"))
    if where.parted:
        items.append(tag("li", tag("i", class_="k parted"), "they part"))
    if where.layer:
        items += where.layer.legend
    if not where.scale:
        items.append(tag("li", "reckoned from headings, not to scale"))
    return tag("ul", *items, class_="legend")


def _of(where: Map, number: int) -> str:
    return f" by {list(where.walks)[number]}" if len(where.walks) > 1 else ""


def _paper(where: Map) -> _Paper:
    points = [stand.point for stands in where.walks.values() for stand in stands]
    points += [point for _, point in where.gold]
    if where.radius:
        (x, y), r = points[-1], where.radius
        points += [(x - r, y - r), (x + r, y + r)]
    corners = [corner for room in where.rooms for corner in (room.low, room.high)]
    corners += where.layer.corners if where.layer else []
    margin = 0.4 if corners else _MARGIN
    if not where.layer and (not where.scale or where.radius == 0):
        (west, south), (east, north) = _box(points)
        margin = max(margin, 0.12 * max(east - west, north - south))
    low, high = _box([*points, *corners])
    out = []
    least = _SMALL_ROOM if corners else _SMALLEST
    for a, b in zip(low, high, strict=True):
        more = margin + max(0.0, least - (b - a + 2 * margin)) / 2
        out.append((a - more, b + more))
    (west, east), (south, north) = out
    return _Paper((west, south), (east, north))


def _box(points: Sequence[Point]) -> tuple[Point, Point]:
    xs, ys = zip(*points, strict=True)
    return (min(xs), min(ys)), (max(xs), max(ys))


def _rooms(where: Map, paper: _Paper) -> Html:
    drawn = [rect(room.low, room.high, paper.at, "room") for room in where.rooms]
    drawn += [line(a, b, paper.at, "door") for a, b in where.doors]
    for room in where.rooms:
        x, y = paper.at(room.low)
        drawn.append(tag("text", room.name, x=x + 6, y=y - 7, class_="roomname"))
    return tag("g", *drawn)


def _graph(where: Map, paper: _Paper) -> Html:
    near = [edge for edge in where.edges if paper.holds(edge[0]) and paper.holds(edge[1])]
    lines = [line(a, b, paper.at, "edge") for a, b in near[:_MOST_EDGES]]
    dots: list[Html] = []
    for name, point in where.places.items():
        if paper.holds(point) and len(dots) < _MOST_EDGES:
            x, y = paper.at(point)
            title = tag("title", where.letters.title(name))
            dots.append(tag("circle", title, cx=x, cy=y, r=2.4, class_="place"))
    return tag("g", *lines, *dots)


def _gold(where: Map, paper: _Paper) -> Html | None:
    if not where.gold:
        return None
    points = [paper.at(point) for _, point in where.gold]
    x, y = points[-1]
    ring = where.radius * paper.unit
    near = tag("circle", cx=x, cy=y, r=round(ring, 1), class_="near") if ring else None
    told = " ".join(f"{x:g},{y:g}" for x, y in points)
    line = tag("polyline", points=told, class_="gold") if len(points) > 1 else None
    goal = tag("circle", tag("title", "goal"), cx=x, cy=y, r=13, class_="goal")
    return tag("g", near, line, goal)


def _parted(point: Point, paper: _Paper) -> Html:
    x, y = paper.at(point)
    return tag("circle", tag("title", "they part here"), cx=x, cy=y, r=17, class_="parted")


def _walk(
    stands: Sequence[Stand],
    number: int,
    paper: _Paper,
    numbered: list[tuple[float, float, float]],
    views: Mapping[int, Sequence[Point]] | None = None,
) -> Html:
    """One actor's way. ``views`` tell what it saw at each step; else a cone stands for it.
    ``numbered`` are the markers with a number up to now, of all actors."""
    moves = []
    for before, after in pairwise(stands):
        (x1, y1), (x2, y2) = paper.at(before.point), paper.at(after.point)
        length = ((x2 - x1) ** 2 + (y2 - y1) ** 2) ** 0.5
        if length > 1:
            arrow = length > _SHORT
            cut = 1 - 12 / length if arrow else 1.0  # it ends at the edge of the next marker
            end = (round(x1 + (x2 - x1) * cut, 1), round(y1 + (y2 - y1) * cut, 1))
            tip = f"url(#tip{number % 4})" if arrow else None
            moves.append(
                tag(
                    "line", x1=x1, y1=y1, x2=end[0], y2=end[1], class_="move", marker_end=tip,
                    data_step=after.step,
                )
            )  # fmt: skip
    poses: list[Html | None] = [_pose(stand, after, paper) for stand, after in pairwise(stands)]
    if views:
        poses = [
            tag("path", d=outline(rim, paper.at), class_="pose", data_step=step)
            for step, rim in views.items()
        ]
    spots = _spots(_gathered(stands), paper, numbered)
    return tag("g", *moves, *poses, *spots, class_=f"walk walk{number % 4}")


def line(a: Point, b: Point, at: At, kind: str, title: str = "", **more: Any) -> Html:
    """A straight line."""
    (x1, y1), (x2, y2) = at(a), at(b)
    told = tag("title", title) if title else None
    return tag("line", told, x1=x1, y1=y1, x2=x2, y2=y2, class_=kind, **more)


def rect(
    low: Point,
    high: Point,
    at: At,
    kind: str,
    title: str = "",
    rx: float | None = None,
    **more: Any,
) -> Html:
    """A rectangle from its south-west to its north-east corner."""
    (x0, y1), (x1, y0) = at(low), at(high)
    size = {"width": round(x1 - x0, 1), "height": round(y1 - y0, 1)}
    told = tag("title", title) if title else None
    return tag("rect", told, x=x0, y=y0, rx=rx, **size, class_=kind, **more)


def square(
    middle: Point, at: At, kind: str, inset: float = 0.0, title: str = "", **more: Any
) -> Html:
    """A square of a grid, less ``inset`` on each side."""
    (x, y), half = middle, 0.5 - inset
    return rect((x - half, y - half), (x + half, y + half), at, kind, title, **more)


def room_name(name: str, polygon: Sequence[Point], at: At) -> Html:
    """A room's name in its south-western corner."""
    x, y = at((min(x for x, _ in polygon), min(y for _, y in polygon)))
    return tag("text", name.replace("_", " "), x=x + 5, y=y - 6, class_="roomname")


def outline(points: Sequence[Point], at: At) -> str:
    """A closed polygon, as the ``d`` of a path."""
    return "M" + "L".join(f"{x:g} {y:g}" for x, y in map(at, points)) + "Z"


def _pose(stand: Stand, after: Stand, paper: _Paper) -> Html | None:
    """A cone that shows where the actor looked before it decided; seen for one step at a time."""
    if stand.heading is None:
        return None
    x, y = paper.at(stand.point)
    turn = f"translate({x:g} {y:g}) rotate({stand.heading:.0f})"
    return tag(
        "path", d="M0 0L-17 -36A40 40 0 0 1 17 -36Z",
        transform=turn, class_="pose", data_step=after.step,
    )  # fmt: skip


def _gathered(stands: Sequence[Stand]) -> list[list[Stand]]:
    """Stands at one point together: they share a marker."""
    found: dict[Point, list[Stand]] = {}
    for stand in stands:
        found.setdefault((round(stand.point[0], 2), round(stand.point[1], 2)), []).append(stand)
    return list(found.values())


def _spots(
    groups: Sequence[list[Stand]], paper: _Paper, numbered: list[tuple[float, float, float]]
) -> list[Html]:
    """Markers, numbered where there is room: the start and the end first, then in order."""
    dots, labels = [], []
    for group in [groups[0], *groups[:0:-1][:1], *groups[1:-1]]:
        x, y = paper.at(group[0].point)
        half = _half(_label([stand.step for stand in group]))
        if any(abs(x - a) < half + other + 2 and abs(y - b) < 19 for a, b, other in numbered):
            dots.append(_spot(group, paper, small=True))
        else:
            numbered.append((x, y, half))
            labels.append(_spot(group, paper))
    return [*dots, *labels]


def _half(text: str) -> float:
    """Half the width of a marker with that label."""
    return max(9.0, 3.6 * len(text) + 4)


def _spot(group: Sequence[Stand], paper: _Paper, small: bool = False) -> Html:
    x, y = paper.at(group[0].point)
    steps = [stand.step for stand in group]
    text = "" if small else _label(steps)
    half, tall = (4.0, 4.0) if small else (_half(text), 9.0)
    shape = tag(
        "rect", x=round(x - half, 1), y=round(y - tall, 1), width=2 * half, height=2 * tall,
        rx=tall, class_="spot start" if steps[0] == 0 else "spot",
    )  # fmt: skip
    label = None if small else tag("text", text, x=x, y=y + 3.7, class_="number")
    told = ", ".join("start" if step == 0 else f"after step {step}" for step in steps)
    title = tag("title", f"{group[0].place}: {told}" if group[0].place else told)
    first = next((step for step in steps if step), None)
    names = " ".join(str(step) for step in steps)
    return tag("g", title, shape, label, class_="stop", data_steps=names, data_go=first)


def _letters(where: Map, paper: _Paper, numbered: Sequence[tuple[float, float, float]]) -> Html:
    """The letters of places, each beside its place where there is room."""
    goal, walks = dict(where.gold[-1:]), where.walks.values()
    stood = {stand.place: stand.point for walk in walks for stand in walk}
    points = {**where.places, **dict(where.gold), **stood}
    taken = [box(x, y, 2 * half + 2, 20) for x, y, half in numbered]
    taken += [box(*paper.at(point), 30, 30) for point in goal.values()]
    for room in where.rooms:
        x, y = paper.at(room.low)
        taken.append((x, y - 18, x + 12 + 6.5 * len(room.name), y))
    spots = {
        name: (*paper.at(points[name]), 22.0 if name in goal else 17.0 if name in stood else 9.5)
        for name in where.letters.known
        if name in points and paper.holds(points[name])
        if where.lettered is None or name in where.lettered
    }
    return where.letters.drawn(spots, LabelSpace(paper.size[0], taken))


def _label(steps: Sequence[int]) -> str:
    """``S`` for the start; ``2·5``; ``3–8`` for a stay; ``2…14`` for more than three visits."""
    names = ["S" if step == 0 else str(step) for step in steps]
    if len(steps) > 2 and steps[-1] - steps[0] == len(steps) - 1:
        return f"{names[0]}–{names[-1]}"
    return "·".join(names) if len(names) <= 3 else f"{names[0]}…{names[-1]}"


def _arrowheads() -> Html:
    tips = [
        tag(
            "marker", tag("path", d="M0 0L7 3.5L0 7Z", class_=f"tip walk{number}"),
            id=f"tip{number}", viewBox="0 0 7 7", refX=6, refY=3.5,
            markerWidth=11, markerHeight=11, markerUnits="userSpaceOnUse", orient="auto",
        )
        for number in range(4)
    ]  # fmt: skip
    return tag("defs", *tips)


def _bar(where: Map, paper: _Paper) -> Html | None:
    """A scale bar of a round length, bottom right."""
    if not where.scale:
        return None
    wide, tall = paper.size
    lengths = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
    length = next((n for n in lengths if n * paper.unit > 48), lengths[-1])
    told = f"{length} {where.unit}" if length > 1 else f"1 {where.unit.removesuffix('s')}"
    x1, x2, y = wide - 6 - length * paper.unit, wide - 6, tall + _STRIP - 4
    return tag(
        "g",
        tag("path", d=f"M{x1:.1f} {y - 4:.1f}v4H{x2:.1f}v-4", class_="bar"),
        tag(
            "text", told, x=round((x1 + x2) / 2, 1), y=round(y - 5, 1), class_="barlabel",
        ),
    )  # fmt: skip
