"""The map of a BabyAI episode: the grid with its walls, doors and objects at each step.

The recorded actions are replayed, which gives all positions; without the package, or if the replay
differs from the recording, the map shows the final grid.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from wayword.core.trajectory import Trajectory
from wayword.metrics.recorded import listed
from wayword.viewer.data import Sources
from wayword.viewer.maps import toward, walked
from wayword.viewer.maps.content import Map, Point, Shape, spans, square
from wayword.worlds.babyai.level import visible_squares

GridObject = tuple[str, str, str, int, int]
"""Kind, color, state, x to the east and y to the south, in squares."""

MEANT = "meant by the instruction"
_COLORS = frozenset({"red", "green", "blue", "purple", "yellow", "grey"})


def map(trajectory: Trajectory, sources: Sources) -> Map | None:
    """Return the walk on its grid; None if no pose has a position."""
    drawn = walked(trajectory)
    if drawn is None:
        return None
    for walk in drawn.walks.values():  # y grows to the south on a grid
        walk[:] = [
            replace(stop, point=(stop.point[0], -stop.point[1])) for stop in walk
        ]
    drawn.unit = "squares"
    rows = trajectory.state.get("walls")
    # A record without its grid, or with something else in its place, has the walk alone.
    if not isinstance(rows, list | tuple) or not rows:
        return drawn
    if not all(isinstance(row, str) for row in rows):
        return drawn
    frames: list[list[GridObject]] = []
    seen: list[Shape] = []

    def take(world: Any, step: int, actor: str) -> None:
        # Levels of the package have targets and a view; other grids have neither.
        level = getattr(world, "level", None)
        objects = _objects(world.state())
        if level is None:
            frames.append(objects)
            return
        named = {(x, y): f"{color} {kind}" for kind, color, _, x, y in objects}
        marks = [
            (MEANT, named.get((x, y), ""), "", x, y) for x, y in level.target_squares()
        ]
        frames.append([*marks, *objects])
        if actor:
            squares = [(x, -y) for x, y in visible_squares(level)]
            view = Shape("cells", squares, "inview", size=1, first=step, last=step)
            seen.append(view)

    drawn.legend = [("meant goal-object", MEANT), ("inview", "in view")]
    if sources.played(trajectory, take) is None:
        drawn.legend = [("", "the grid at the end")]
        frames = [_objects(trajectory.state)] * (len(trajectory.steps) + 1)
    for y, row in enumerate(rows):
        drawn.shapes += [cell((x, -y), mark == "#") for x, mark in enumerate(row)]
    drawn.shapes += seen
    drawn.shapes += [object_shape(*span) for span in spans(frames)]
    return drawn


def _objects(state: Mapping[str, Any]) -> list[GridObject]:
    held = [each for each in listed(state, "things") if isinstance(each.get("x"), int)]
    return [grid_object(each, int(each["x"]), int(each.get("y", 0))) for each in held]


def grid_object(item: Mapping[str, Any], x: int, y: int) -> GridObject:
    """An object of a state or an observation, on its square."""
    # A state says ``colour``, an observation ``color``.
    color = item.get("color") or item.get("colour")
    return (
        str(item.get("kind") or ""),
        str(color or ""),
        str(item.get("state") or ""),
        x,
        y,
    )


def cell(middle: Point, wall: bool) -> Shape:
    """A square of the floor."""
    return square(middle, "cell wall-cell" if wall else "cell")


def crop(drawn: Map) -> None:
    """Crop a grid to its walk, the expert's path and the objects that the instruction means. One
    that is not on the grid at the end is drawn on its first square."""
    stops = drawn.stops
    end = max(stop.step for stop in stops)
    placed = [
        (_middle(shape), shape) for shape in drawn.shapes if shape.form != "cells"
    ]
    meant = {at for at, shape in placed if shape.first == 1 and shape.title == MEANT}
    gone = meant - {at for at, shape in placed if shape.last > end}
    points = [*(stop.point for stop in stops), *meant]
    for path in drawn.expert:
        points += path
    # Two squares around it show what the walk passed.
    xs, ys = zip(*points, strict=True)
    west = min(xs) - 2
    east = max(xs) + 2
    south = min(ys) - 2
    north = max(ys) + 2
    drawn.shapes = []
    for (x, y), shape in placed:
        if not (west <= x <= east and south <= y <= north):
            continue
        if (x, y) in gone and shape.first == 1:
            shape = replace(shape, first=0, last=0)
        drawn.shapes.append(shape)


def _middle(shape: Shape) -> Point:
    x, y = ((min(axis) + max(axis)) / 2 for axis in zip(*shape.points, strict=True))
    return float(round(x)), float(round(y))


_KEY = ((-3, 0), (-1.5, 1.5), (0, 0.4), (3, 0.4), (3, -1.5), (1.8, -1.5), (1.8, -0.4), (0, -0.4),
        (-1.5, -1.5))  # fmt: skip
"""Corners of a key, tenths of a square."""


def object_shape(item: GridObject, first: int = 0, last: int = 0) -> Shape:
    """Return an object on its square, shown from step ``first`` to step ``last``."""
    kind, color, state, x, y = item
    words = " ".join(part for part in (state, color, kind) if part)
    paint = f"c-{color}" if color in _COLORS else "c-grey"
    span: dict[str, Any] = {"title": words, "first": first, "last": last}
    middle = float(x), -float(y)
    if kind == MEANT:
        span["title"] = MEANT
        return square(middle, "meant goal-object", 0.47, label=color, **span)
    if kind == "door":
        leaf = "open" if state == "open" else "closed"
        return square(middle, f"griddoor {leaf} {paint}", 0.44, **span)
    if kind == "box":
        return square(middle, f"gridbox {paint}", 0.3, **span)
    if kind == "key":
        corners = [(middle[0] + dx / 10, middle[1] + dy / 10) for dx, dy in _KEY]
        return Shape("area", corners, f"gridkey {paint}", **span)
    # A ball is an outline as well, so that it takes the class of its color like the others.
    rim = [toward(middle, 20 * n, 0.3) for n in range(18)]
    return Shape("area", rim, f"gridball {paint}", **span)
