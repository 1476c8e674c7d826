"""A map as SVG: background shapes, graph, gold path, walked path and numbered steps.

    render(Map({"agent": waypoints}, gold=[("b", (2.0, 1.0))]))      # the map and its legend

A family describes what is below the walks by ``Shape``s, in metres; only this module draws. A
change during an episode is one shape per span of steps; the page's script shows those of the
selected step, and places names next to their marks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from wayword.core.geometry import Point
from wayword.viewer.maps.content import LANDMARK, Extent, Map
from wayword.viewer.maps.walks import Marker, draw_walk, number_signs, ring
from wayword.viewer.markup import Html, template_function
from wayword.viewer.markup import render as template

WIDTH = 520.0
TALLEST = 620.0
"""Size of a drawing, in its units, at most."""
_MARGIN = 2.2  # metres around a walk on nothing: room for its markers
_SMALLEST = 7.0  # metres that such a map shows at least: two viewpoints do not fill it
_ROOM_MARGIN = 0.4  # metres around walls and furniture, which bring their own room
_SMALL_ROOM = 3.0  # the same on a map with walls, where one small room is enough
_SMALL_STREET = 2.0  # edges of a street that a game shows, which have the length 1
_MOST_METRES = 40  # on a side: lines of more would be a pattern
_MOST_EDGES = 4000  # of a city: more would slow a browser down


class _Paper:
    """Transform from metres to the drawing's units, north up, that fits the whole map.

    A map with a ground ends at its walls, one without has room around the walk. The
    longer side is ``WIDTH`` or ``TALLEST`` units, whichever is reached first.
    """

    def __init__(self, where: Map) -> None:
        points = [stop.point for stop in where.stops]
        points += [point for _, point in where.gold]
        corners: list[Point] = []
        for shape in where.shapes:
            if shape.kind == LANDMARK:  # a sign next to the walk, not its ground
                points.append(shape.points[0])
            else:
                corners += shape.points
        # Beyond the ground nothing is drawn, so that views only count without one.
        if not corners:
            for rims in where.views.values():
                for rim in rims.values():
                    corners += rim
        if corners:
            margin = _ROOM_MARGIN
            least = _SMALL_ROOM
            if where.targets is not None and not where.scale:
                least = _SMALL_STREET
        else:
            margin = max(_MARGIN, 0.12 * Extent.of(points).longest)
            least = _SMALLEST
        sides = []
        for axis in zip(*points, *corners, strict=True):
            low = min(axis)
            high = max(axis)
            lacks = max(0.0, least - (high - low + 2 * margin))
            more = margin + lacks / 2
            sides.append((low - more, high + more))
        (west, east), (south, north) = sides
        self.west = west
        self.north = north
        wide = east - west
        tall = north - south
        self.unit = min(WIDTH / wide, TALLEST / tall)
        self.size = wide * self.unit, tall * self.unit

    def at(self, point: Point) -> Point:
        """Return a point in units from the upper left corner, to a tenth."""
        x, y = point
        right = (x - self.west) * self.unit
        down = (self.north - y) * self.unit
        return round(right, 1), round(down, 1)

    def path(self, corners: Sequence[Point]) -> str:
        """Return the closed outline of an area, as the data of an SVG path."""
        steps = [f"{x:g} {y:g}" for x, y in map(self.at, corners)]
        return f"M{'L'.join(steps)}Z"

    def metres(self) -> str:
        """Return the lines of a grid of metres, as data of one SVG path; none on a large map."""
        wide, tall = self.size
        if max(wide, tall) > _MOST_METRES * self.unit:
            return ""
        # A window wider or taller than the drawing shows what is next to it.
        more = max(wide, tall)
        around = math.ceil(more / self.unit)
        east = math.ceil(self.west) - self.west
        south = self.north - math.floor(self.north)
        lines = []
        for n in range(-around, 2 * around):
            across = (east + n) * self.unit
            down = (south + n) * self.unit
            lines.append(f"M{across:.1f} {-more:.0f}V{2 * more:.0f}")
            lines.append(f"M{-more:.0f} {down:.1f}H{2 * more:.0f}")
        return "".join(lines)

    def cells(self, middles: Sequence[Point], size: float) -> str:
        """Return squares of ``size`` metres around centers, as data of one SVG path."""
        half = size / 2
        side = f"{size * self.unit:.1f}"
        squares = []
        for x, y in middles:
            left, top = self.at((x - half, y + half))
            squares.append(f"M{left:g} {top:g}h{side}v{side}h-{side}z")
        return "".join(squares)


def render(where: Map) -> Html:
    """Render the map with its legend. Steps have ``data-step`` for the page's script.

    The map must have a walk. Of a city with more than ``_MOST_EDGES`` places or edges
    the rest is left out.
    """
    paper = _Paper(where)
    at = paper.at
    numbered: list[Marker] = []
    last = where.last
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
            middle = ((left + right) / 2, (bottom + top) / 2)
            missed.append(at(middle))
    rings = []
    for walk, drawn in zip(where.walks.values(), walks, strict=True):
        marked = ring(where, walk, drawn)
        if marked is not None:
            marker, drawn["wrong"] = marked
            rings.append(marker)
    gold = [at(point) for _, point in where.gold]
    on_path = {name for name, _ in where.gold}
    points = {name: at(point) for name, point in where.places.items()}
    stood = {stop.place: at(stop.point) for stop in where.stops}
    spots = dict(points)
    spots |= {name: at(point) for name, point in where.gold}
    spots |= stood
    goal = {name for name, _ in where.gold[-1:]}
    lettered = where.lettered
    if lettered is None:
        lettered = frozenset(spots)
    # On an episode's page, the other letters are shown with the step that names them.
    judged = where.failed or where.solved
    letters = []
    for name in where.letters.by_place:
        if name not in spots:
            continue
        is_shown = name in where.named
        if name in lettered and (name in on_path or not judged):
            is_shown = True
        if not (is_shown or judged):
            continue
        # Letters keep clear of the goal's star and of numbered stops.
        gap = 4.0
        if name in goal:
            gap = 20.0
        elif where.targets is not None:
            gap = 16.0  # and of the rings of a game
        elif name in stood:
            gap = 11.0
        letters.append((name, *spots[name], gap, is_shown))
    signs: list[tuple[str, str]] = []
    if where.targets is None:
        signs = number_signs(marker for drawn in walks for marker in drawn["stops"])
    # Those that the mistake's sentence names are placed first.
    letters.sort(key=lambda letter: letter[0] not in where.named)
    return template(
        "map.html",
        drawn=where,
        last=last,
        paper=paper,
        at=at,
        gold=gold,
        walks=walks,
        rings=rings,
        missed=missed,
        size=paper.size,
        letters=letters,
        signs=signs,
        points=dict([*points.items()][:_MOST_EDGES]),
        edges=where.edges[:_MOST_EDGES],
    )


@template_function
def g(value: float) -> str:
    """Format a coordinate to a tenth of a unit."""
    return f"{round(value, 1):g}"
