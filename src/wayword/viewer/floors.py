"""The drawing of a house: floors, walls, doors, furniture, things, and what an actor saw.

What changes in the course of an episode is drawn once for each span of steps in which it was so;
``data-first`` and ``data-last`` tell the page's script, which shows those of the step at hand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from wayword.viewer.homes import Box, Home, Leaf, Point, Thing
from wayword.viewer.markup import Html, tag

At = Callable[[Point], Point]
"""From metres to the drawing's units."""

_LETTER = 5.3
"""Width of a letter of a label, about."""


def floor(home: Home, at: At) -> Html:
    """Everything but those who act."""
    parts = [_room(polygon, at) for _, polygon in home.rooms]
    parts += [_box(box, at) for box in _largest_first(home.boxes)]
    parts += [_line(a, b, at, "wall") for a, b in home.walls]
    parts += [_leaf(leaf, at) for leaf in home.leaves]
    parts += [_thing(thing, at) for thing in home.things]
    parts += [label for box in home.boxes if (label := _label(box, at)) is not None]
    parts += [_name(name, polygon, at) for name, polygon in home.rooms]
    return tag("g", *parts, class_="house")


def view(rim: Sequence[Point], step: int, at: At) -> Html:
    """What lay open to an actor's eyes before a step; seen for one step at a time."""
    return tag("path", d=_outline(rim, at), class_="pose", data_step=step)


def _room(polygon: Sequence[Point], at: At) -> Html:
    return tag("path", d=_outline(polygon, at), class_="floor")


def _outline(points: Sequence[Point], at: At) -> str:
    return "M" + "L".join(f"{x:g} {y:g}" for x, y in map(at, points)) + "Z"


def _name(name: str, polygon: Sequence[Point], at: At) -> Html:
    """The room's name in its south-western corner."""
    west, south = min(x for x, _ in polygon), min(y for _, y in polygon)
    x, y = at((west, south))
    return tag("text", name.replace("_", " "), x=x + 5, y=y - 6, class_="roomname")


def _line(a: Point, b: Point, at: At, kind: str) -> Html:
    (x1, y1), (x2, y2) = at(a), at(b)
    return tag("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=kind)


def _leaf(leaf: Leaf, at: At) -> Html:
    (x1, y1), (x2, y2) = at(leaf.a), at(leaf.b)
    kind = "leaf open" if leaf.open else "leaf"
    return tag(
        "line", tag("title", leaf.title), x1=x1, y1=y1, x2=x2, y2=y2,
        class_=_then(kind, leaf.first), data_first=leaf.first, data_last=leaf.last,
    )  # fmt: skip


def _thing(thing: Thing, at: At) -> Html:
    x, y = at(thing.point)
    kind, size = ("thing goalthing", 4.5) if thing.goal else ("thing", 2.6)
    return tag(
        "circle", tag("title", thing.title), cx=x, cy=y, r=size,
        class_=_then(kind, thing.first), data_first=thing.first, data_last=thing.last,
    )  # fmt: skip


def _then(kind: str, first: int) -> str:
    """The classes of what holds for a while; without a script the beginning is shown."""
    return f"{kind} on" if first == 1 else kind


def _box(box: Box, at: At) -> Html:
    (x0, y1), (x1, y0) = at(box.low), at(box.high)
    return tag(
        "rect", tag("title", box.title), x=x0, y=y0, rx=2,
        width=round(x1 - x0, 1), height=round(y1 - y0, 1),
        class_="furniture goalthing" if box.goal else "furniture",
    )  # fmt: skip


def _label(box: Box, at: At) -> Html | None:
    """The name of furniture with room for it, along its longer side."""
    (x0, y1), (x1, y0) = at(box.low), at(box.high)
    x, y, long = (x0 + x1) / 2, (y0 + y1) / 2, _LETTER * len(box.label) + 2
    upright = y1 - y0 > x1 - x0
    if max(x1 - x0, y1 - y0) < long or min(x1 - x0, y1 - y0) < 9:
        return None
    turn = f"rotate(-90 {x:g} {y:g})" if upright else None
    return tag("text", box.label, x=round(x, 1), y=round(y + 3, 1), transform=turn, class_="label")


def _largest_first(boxes: Sequence[Box]) -> list[Box]:
    """So that what stands on something is drawn above it."""

    def size(box: Box) -> float:
        return (box.high[0] - box.low[0]) * (box.high[1] - box.low[1])

    return sorted(boxes, key=size, reverse=True)
