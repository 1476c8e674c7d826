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
_MARGIN = 2.2
_SMALLEST = 7.0
_SMALL_ROOM = 3.0
_MOST_EDGES = 4000


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
