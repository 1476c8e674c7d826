"""The map of a BabyAI episode: the grid with its walls, doors and objects at each step.

The recorded actions are played again, which gives all positions; without the package, or
where the replay goes otherwise than the recording, the grid is drawn as it was at the end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from wayword.core.errors import WaywordError
from wayword.core.trajectory import Trajectory
from wayword.viewer.data import Sources
from wayword.viewer.maps import walked
from wayword.viewer.maps.drawing import At, Layer, Map, dot, during, spans, square
from wayword.viewer.markup import Html, tag

GridObject = tuple[str, str, str, int, int]
"""Kind, colour, state, x to the east and y to the south, in squares."""

MEANT = "meant by the instruction"
_COLOURS = frozenset({"red", "green", "blue", "purple", "yellow", "grey"})


def map(trajectory: Trajectory, sources: Sources) -> Map | None:
    """The walk on its grid; None where no pose has a position."""
    drawn = walked(trajectory)
    if drawn is None:
        return None
    for walk in drawn.walks.values():  # y grows to the south on a grid
        walk[:] = [replace(stop, point=(stop.point[0], -stop.point[1])) for stop in walk]
    drawn.unit = "squares"
    rows = trajectory.state.get("walls")
    if isinstance(rows, list | tuple) and rows and all(isinstance(row, str) for row in rows):
        frames = _replayed(trajectory, sources)
        legend = [("meant", MEANT)]
        if frames is None:
            legend = [("", "the grid at the end")]
            frames = [_objects(trajectory.state)] * (len(trajectory.steps) + 1)
        tall, wide = len(rows), max(len(row) for row in rows)
        corners = [(-0.5, 0.5), (wide - 0.5, 0.5 - tall)]
        drawn.layer = Layer(partial(_paint, rows, frames), corners, {}, legend)
    return drawn


def _replayed(trajectory: Trajectory, sources: Sources) -> list[list[GridObject]] | None:
    """The objects before each step and at the end, with a mark where the instruction means one;
    None where that is not known."""
    frames: list[list[GridObject]] = []

    def take(world: Any, step: int, actor: str) -> None:
        level = getattr(world, "level", None)
        marks = (
            [(MEANT, "", "", x, y) for x, y in level.target_squares()] if level is not None else []
        )
        frames.append([*marks, *_objects(world.state())])

    try:
        played = sources.played(trajectory, take)
    except (WaywordError, LookupError, TypeError, ValueError):
        return None  # the page does without
    return None if played is None else frames


def _objects(state: Mapping[str, Any]) -> list[GridObject]:
    listed = state.get("things")
    return [
        grid_object(each, int(each["x"]), int(each.get("y", 0)))
        for each in (listed if isinstance(listed, list | tuple) else ())
        if isinstance(each, Mapping) and isinstance(each.get("x"), int)
    ]


def grid_object(item: Mapping[str, Any], x: int, y: int) -> GridObject:
    """An object of a state or an observation, on its square."""
    kind, colour, state = (str(item.get(key) or "") for key in ("kind", "colour", "state"))
    return kind, colour, state, x, y


def _paint(rows: Sequence[str], frames: Sequence[Sequence[GridObject]], at: At) -> Html:
    floor = [
        square((x, -y), at, "cell wall-cell" if mark == "#" else "cell")
        for y, row in enumerate(rows)
        for x, mark in enumerate(row)
    ]
    return tag("g", *floor, *(paint_object(*span, at) for span in spans(frames)), class_="grid")


def paint_object(item: GridObject, first: int, last: int, at: At) -> Html:
    """An object on its square, as it was from step ``first`` to step ``last``."""
    kind, colour, state, x, y = item
    words = " ".join(part for part in (state, colour, kind) if part)
    paint = f"c-{colour}" if colour in _COLOURS else "c-grey"
    look, inset = f"grid{kind} {paint}", 0.2
    if kind == MEANT:
        look, inset = "meant", 0.03
    elif kind == "door":
        look, inset = f"griddoor {'open' if state == 'open' else 'shut'} {paint}", 0.06
    elif kind not in ("box", "key"):
        look = f"gridball {paint}"
    middle, span = (float(x), -float(y)), during(look, first, last)
    if kind in (MEANT, "door", "box"):
        return square(middle, at, inset=inset, title=words, **span)
    cx, cy = at(middle)
    size = abs(at((middle[0] + 0.3, middle[1]))[0] - cx)
    if kind != "key":
        return dot(middle, at, round(size, 1), title=words, **span)
    r = f"{size / 2:.1f}"
    ring = f"a{r} {r} 0 1 1 {size:.1f} 0a{r} {r} 0 1 1 {-size:.1f} 0"
    d = f"M{cx - size:.1f} {cy:.1f}{ring}M{cx:.1f} {cy:.1f}h{size:.1f}v{r}"
    return tag("path", tag("title", words), d=d, class_=span.pop("kind"), **span)
