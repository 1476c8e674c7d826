"""A map as SVG: background shapes, graph, gold path, walked path and numbered steps.

    render(Map({"agent": waypoints}, gold=[("b", (2.0, 1.0))]))      # the map and its legend

A family describes what is below the walks by ``Shape``s, in metres; only this module draws. A
change during an episode is one shape per span of steps; the page's script shows those of the
selected step, and places names next to their marks.
"""

from __future__ import annotations

from collections.abc import Sequence

from wayword.viewer.maps.content import LANDMARK, Map, Point
from wayword.viewer.maps.walks import Marker, draw_walk, ring
from wayword.viewer.markup import Html, template_function
from wayword.viewer.markup import render as template

WIDTH = 520.0
TALLEST = 620.0
"""Size of a drawing, in its units, at most."""
_MARGIN = 2.2  # metres around a walk on nothing: room for its markers
_SMALLEST = 7.0  # metres that such a map shows at least: two viewpoints do not fill it
_ROOM_MARGIN = 0.4  # metres around walls and furniture, which bring their own room
_SMALL_ROOM = 3.0
_MOST_EDGES = 4000  # of a city: more would slow a browser down


class _Paper:
    """Transform from metres to the drawing's units, north up, that fits the whole map."""

    def __init__(self, where: Map) -> None:
        points = [stop.point for stop in where.stops]
        points += [point for _, point in where.gold]
        corners: list[Point] = []
        for shape in where.shapes:
            if shape.kind == LANDMARK:  # a sign next to the walk, not its ground
                points.append(shape.points[0])
            else:
                corners += shape.points
        for rims in where.views.values():
            for rim in rims.values():
                corners += rim
        if corners:
            margin = _ROOM_MARGIN
            least = _SMALL_ROOM
        else:
            xs, ys = zip(*points, strict=True)
            extent = max(max(xs) - min(xs), max(ys) - min(ys))
            margin = max(_MARGIN, 0.12 * extent)
            least = _SMALLEST
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
    stops = where.stops
    last = max(stop.step for stop in stops)
    walks = [
        draw_walk(where, actor, number, at, numbered)
        for number, actor in enumerate(where.walks)
    ]
    missed = []
    for shape in where.shapes:
        is_there = shape.last == 0 or shape.last > last
        if shape.label in where.missed and is_there:
            left, bottom = shape.points[0]
            right, top = shape.points[-1]
            missed.append(at(((left + right) / 2, (bottom + top) / 2)))
    rings = []
    for walk, drawn in zip(where.walks.values(), walks, strict=True):
        marked = ring(where, walk, drawn)
        if marked is not None:
            marker, drawn["wrong"] = marked
            rings.append(marker)
    gold = [at(point) for _, point in where.gold]
    on_path = {name for name, _ in where.gold}
    points = {name: at(point) for name, point in where.places.items()}
    stood = {stop.place: at(stop.point) for stop in stops}
    spots = points | {name: at(point) for name, point in where.gold} | stood
    goal = {name for name, _ in where.gold[-1:]}
    letters = []
    for name in where.letters.by_place:
        if name not in spots:
            continue
        if where.lettered is not None and name not in where.lettered | where.named:
            continue
        # Letters keep clear of the goal's star and of numbered stops.
        gap = 4.0
        if name in goal:
            gap = 20.0
        elif name in stood:
            gap = 11.0
        letters.append((name, *spots[name], gap))
    # Those that the mistake's sentence names are placed first.
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
