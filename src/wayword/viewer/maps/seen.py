"""What an actor has seen up to now, on a map: for a person who plays, so without the answer.

    letters = Letters()
    seen([Look(pose, observation), …], letters)     # a figure's inside, or None without positions

Drawn from observations alone, whatever their family: ways to neighbors, exits of a street, things
with a bearing and a distance, squares ahead and to the right, free floor in a depth image. Where
poses have no coordinates the walk is reckoned from headings and lengths, as a walker would.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from wayword.core.geometry import relative
from wayword.viewer.letters import LabelSpace, Letters, box
from wayword.viewer.maps.babyai import paint_thing
from wayword.viewer.maps.drawing import (
    WIDTH,
    At,
    Layer,
    Map,
    Point,
    Stand,
    line,
    outline,
    render,
    square,
)
from wayword.viewer.maps.generic import finite, place_of
from wayword.viewer.maps.objectnav import fan
from wayword.viewer.markup import Html, tag
from wayword.viewer.words import as_mapping

_ARROWS = "↑↗→↘↓↙←↖"
_LABEL = 6.2, 12.0
"""Width of a character of a label and height of its line, in the drawing's units."""


@dataclass(frozen=True, slots=True)
class Look:
    """What an actor saw at a pose."""

    pose: Mapping[str, Any]
    seen: Any


def arrows(seen: Any) -> dict[str, str]:
    """Name -> where it is from here: ``↗ 2.3 m``, for what has a bearing."""
    return {
        name: f"{_ARROWS[round(turn / 45) % 8]} {far:.1f} {unit}"
        for name, turn, far, unit in _bearings(as_mapping(seen))
    }


def _bearings(held: Mapping[str, Any]) -> Iterator[tuple[str, float, float, str]]:
    """(name, degrees to the right, distance, its unit) of all that has a direction."""
    facing = finite(held.get("heading")) or 0.0
    for way in _listed(held, "neighbors"):
        turn, far = finite(way.get("heading")), finite(way.get("distance"))
        if turn is not None and far is not None:
            yield str(way.get("viewpoint")), relative(turn, facing), far, "m"
    for key in ("objects", "doors", "others", "shown"):
        for thing in _listed(held, key):
            turn, far = finite(thing.get("bearing")), finite(thing.get("distance"))
            if turn is not None and far is not None:
                yield str(thing.get("name") or thing.get("words")), turn, far, "m"
    for thing in _listed(held, "things"):
        ahead, right = finite(thing.get("ahead")), finite(thing.get("right"))
        if ahead is not None and right is not None:
            turn = math.degrees(math.atan2(right, ahead))
            yield str(thing.get("name")), turn, math.hypot(ahead, right), "squares"


def _listed(held: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    found = held.get(key)
    return [as_mapping(each) for each in found] if isinstance(found, list | tuple) else []


@dataclass(slots=True)
class _Known:
    """The map in the making."""

    letters: Letters
    points: dict[str, Point] = field(default_factory=dict)
    """Places by their names."""
    edges: dict[tuple[str, str], tuple[Point, Point]] = field(default_factory=dict)
    stubs: list[tuple[Point, Point]] = field(default_factory=list)
    things: dict[str, tuple[Point, str]] = field(default_factory=dict)
    squares: dict[Point, bool] = field(default_factory=dict)
    """Squares of a grid: whether each is a wall."""
    grid: dict[str, tuple[str, str, str, int, int]] = field(default_factory=dict)
    fans: list[list[Point]] = field(default_factory=list)
    here: tuple[Point, float | None] = ((0.0, 0.0), None)
    exact: bool = True


def seen(looks: Sequence[Look], letters: Letters) -> Html | None:
    """The map of what was seen, the last look being now; None where there is nothing to draw."""
    if not looks:
        return None
    known = _Known(letters)
    stands: list[Stand] = []
    for number, look in enumerate(looks):
        point = _point(look, known, stands)
        if point is None:
            return None
        place, heading = place_of(look.pose), finite(look.pose.get("heading"))
        letters.learn(place)
        stands.append(Stand(number, letters.of(place), point, heading))
        known.here = point, heading
        if place:
            known.points[place] = point
        _learn(known, place, point, as_mapping(look.seen), look.pose)
    paint = partial(_paint, known, [stand.point for stand in stands])
    corners = [*known.points.values(), *known.squares, *(p for p, _ in known.things.values())]
    corners += [end for _, end in known.stubs] + [p for rim in known.fans for p in rim]
    legend = [tag("li", tag("i", class_="k here"), "you, and where you face")]
    drawn = Map({"you": stands}, scale=known.exact)
    drawn.edges = list(known.edges.values())
    drawn.layer = Layer(paint, corners, {}, legend)
    drawn.unit = "squares" if known.squares else "m"
    return render(drawn)


def _point(look: Look, known: _Known, stands: Sequence[Stand]) -> Point | None:
    """Where a look was taken: its coordinates, its place where that was seen before, else a unit
    along the new heading."""
    x, y = finite(look.pose.get("x")), finite(look.pose.get("y"))
    if x is not None and y is not None:
        return (x, -y) if "walls" in as_mapping(look.seen) else (x, y)
    place = place_of(look.pose)
    if not place:
        return None
    if place in known.points or not stands:
        return known.points.get(place, (0.0, 0.0))
    known.exact = False
    turn = math.radians(finite(look.pose.get("heading")) or 0.0)
    (before_x, before_y) = stands[-1].point
    return before_x + math.sin(turn), before_y + math.cos(turn)


def _learn(
    known: _Known, place: str, here: Point, held: Mapping[str, Any], pose: Mapping[str, Any]
) -> None:
    """What an observation adds."""
    facing = finite(pose.get("heading", held.get("heading"))) or 0.0
    for way in _listed(held, "neighbors"):
        name, angle = str(way.get("viewpoint")), finite(way.get("heading")) or 0.0
        slope = math.radians(finite(way.get("elevation")) or 0.0)
        far = (finite(way.get("distance")) or 0.0) * math.cos(slope)
        known.letters.learn(name)
        known.points.setdefault(name, _off(here, angle, far))
        known.edges[place, name] = here, known.points[name]
    for turn in held.get("angles") or ():
        known.stubs.append((here, _off(here, facing + (finite(turn) or 0.0), 0.55)))
        known.exact = False
    for key in ("objects", "doors", "others", "shown"):
        for thing in _listed(held, key):
            aside, away = finite(thing.get("bearing")), finite(thing.get("distance"))
            if aside is not None and away is not None:
                name = str(thing.get("name") or thing.get("words"))
                known.things[name] = _off(here, facing + aside, away), key
    if "walls" in held:
        _grid(known, here, facing, held)
    if "depth" in held:
        known.fans.append(fan(held))


def _grid(known: _Known, here: Point, facing: float, held: Mapping[str, Any]) -> None:
    """Squares of a grid: those on the way to a wall, and those that hold something."""

    def cell(ahead: float, right: float) -> Point:
        forth = _off(here, facing, ahead)
        x, y = _off(forth, facing + 90, right)
        return float(round(x)), float(round(y))

    known.squares[cell(0, 0)] = False
    walls = held.get("walls")
    for steps, (ahead, right) in zip(
        walls if isinstance(walls, list | tuple) else (), ((1, 0), (0, -1), (0, 1)), strict=False
    ):
        reach = finite(steps)
        for n in range(1, 4 if reach is None else int(reach)):
            known.squares.setdefault(cell(n * ahead, n * right), False)
        if reach is not None:
            known.squares[cell(int(reach) * ahead, int(reach) * right)] = True
    for thing in _listed(held, "things"):
        ahead_, right_ = finite(thing.get("ahead")), finite(thing.get("right"))
        if ahead_ is None or right_ is None:
            continue
        x, y = cell(ahead_, right_)
        known.squares[x, y] = False
        words = (str(thing.get(key) or "") for key in ("kind", "colour", "state"))
        known.grid[str(thing.get("name"))] = (*words, int(x), int(-y))  # type: ignore[assignment]


def _off(here: Point, heading: float, far: float) -> Point:
    turn = math.radians(heading)
    return here[0] + far * math.sin(turn), here[1] + far * math.cos(turn)


def _paint(known: _Known, stood: Sequence[Point], at: At) -> Html:
    parts: list[Html | None] = [
        tag("path", d=outline(rim, at), class_="seenfree") for rim in known.fans if rim
    ]
    parts += [
        square(middle, at, "cell wall-cell" if wall else "cell")
        for middle, wall in known.squares.items()
    ]
    parts += [paint_thing(each, 1, 9_999_999, at) for each in known.grid.values()]
    parts += [line(a, b, at, "stub") for a, b in known.stubs]
    marks = [(known.letters.of(name), point, "place") for name, point in known.points.items()]
    marks += [(name, point, f"seen-{kind}") for name, (point, kind) in known.things.items()]
    room = LabelSpace(WIDTH, [box(*at(point), 26.0, 22.0) for point in stood])
    for label, point, kind in marks:
        x, y = at(point)
        dot = tag("circle", tag("title", label), cx=x, cy=y, r=3.4, class_=f"mark-{kind}")
        parts += [dot, _label(label, x, y, room)]
    return tag("g", *parts, _me(*known.here, at), class_="house seenmap")


def _label(text: str, x: float, y: float, room: LabelSpace) -> Html | None:
    """The label where there is room beside its mark; without room the mark has a title alone."""
    shown = text.replace("_", " ")
    middle = room.beside(shown, x, y, _LABEL)
    return tag("text", shown, x=middle[0], y=middle[1], class_="label") if middle else None


def _me(point: Point, heading: float | None, at: At) -> Html | None:
    """The actor now: a cone that shows where it faces."""
    x, y = at(point)
    if heading is None:
        return tag("circle", cx=x, cy=y, r=14, class_="me")
    turn = f"translate({x:g} {y:g}) rotate({heading:.0f})"
    return tag("path", d="M0 0L-17 -36A40 40 0 0 1 17 -36Z", transform=turn, class_="me")
