"""The map of a BabyAI episode: the grid with its walls, doors and objects at each step.

The recorded actions are replayed, which gives all positions; without the package, or if the replay
differs from the recording, the map shows the final grid.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

from wayword.core.episode import JsonObject
from wayword.core.geometry import Point, displaced
from wayword.core.trajectory import Trajectory
from wayword.metrics.recorded import listed
from wayword.viewer.data import Sources
from wayword.viewer.maps import walked
from wayword.viewer.maps.content import SQUARES, Extent, Map, Shape, spans, square
from wayword.worlds.babyai.level import visible_squares

MEANT = "meant by the instruction"
"""Kind of the mark on a square that the instruction means, and its words in the legend."""
# BabyAI's palette; the style sheet has a class for each.
_COLORS = frozenset({"red", "green", "blue", "purple", "yellow", "grey"})


class GridItem(NamedTuple):
    """An object on a grid, or the mark ``MEANT`` on a square of it.

    ``x`` grows to the east and ``y`` to the south, in squares, as in BabyAI's states.
    """

    kind: str
    color: str
    state: str
    x: int
    y: int
    held: bool = False

    @property
    def point(self) -> Point:
        """Its square on a map, where north is up: y is negated."""
        return float(self.x), -float(self.y)


def map(trajectory: Trajectory, sources: Sources) -> Map | None:
    """Return the walk on its grid, with the objects at each step.

    None if no pose has a position. A record without its grid gives the walk alone; one
    that cannot be replayed gives the objects where they were at the end.
    """
    drawn = walked(trajectory)
    if drawn is None:
        return None
    for walk in drawn.walks.values():
        for number, stop in enumerate(walk):
            x, y = stop.point
            # y grows to the south on a grid
            walk[number] = replace(stop, point=(x, -y))
    drawn.unit = SQUARES
    rows = trajectory.state.get("walls")
    # A record without its grid, or with something else in its place, has the walk alone.
    if not isinstance(rows, list | tuple) or not rows:
        return drawn
    if not all(isinstance(row, str) for row in rows):
        return drawn
    frames: list[list[GridItem]] = []
    seen: list[Shape] = []

    def take(world: Any, step: int, actor: str) -> None:
        # Levels of the package have targets and a view; other grids have neither.
        level = getattr(world, "level", None)
        objects = _objects(world.state())
        if level is None:
            frames.append(objects)
            return
        named = {(item.x, item.y): f"{item.color} {item.kind}" for item in objects}
        if (carried := level.carried) is not None:
            x, y = level.place
            in_hand = GridItem(carried.type, carried.color, "held", x, y, held=True)
            objects = [*objects, in_hand]
        marks = []
        for x, y in level.target_squares():
            meant = named.get((x, y), "")
            marks.append(GridItem(MEANT, meant, "", x, y))
        frames.append([*marks, *objects])
        # The map's y grows to the north, the grid's to the south.
        squares = [(x, -y) for x, y in visible_squares(level)]
        view = Shape(
            "cells",
            squares,
            "inview",
            size=1,
            first=step,
            last=step,
        )
        seen.append(view)

    drawn.legend = [
        ("meant goal-object", MEANT),
        ("inview", "in view"),
        ("wall-cell", "wall"),
        ("griddoor locked", "locked door"),
        ("griddoor closed", "closed door"),
        ("griddoor open", "open door"),
        ("held", "held"),
    ]
    if sources.played(trajectory, take) is None:
        drawn.legend = [("", "the grid at the end")]
        at_the_end = _objects(trajectory.state)
        frames = [at_the_end] * (len(trajectory.steps) + 1)
    for y, row in enumerate(rows):
        for x, mark in enumerate(row):
            drawn.shapes.append(cell((x, -y), mark == "#"))
    drawn.shapes += seen
    drawn.shapes += [item_shape(*span) for span in spans(frames)]
    return drawn


def _objects(state: JsonObject) -> list[GridItem]:
    """Return the objects that lie on the grid; a carried one has no position."""
    items = []
    for each in listed(state, "things"):
        x = each.get("x")
        y = each.get("y")
        if isinstance(x, int) and isinstance(y, int):
            items.append(grid_item(each, x, y))
    return items


def grid_item(item: JsonObject, x: int, y: int) -> GridItem:
    """Return an object of a state or an observation, on square (x, y) of the grid."""
    # A state says ``colour``, an observation ``color``.
    color = item.get("color") or item.get("colour")
    return GridItem(
        kind=str(item.get("kind") or ""),
        color=str(color or ""),
        state=str(item.get("state") or ""),
        x=x,
        y=y,
    )


def cell(middle: Point, wall: bool) -> Shape:
    """Return the shape of a square: free floor or wall, with ``middle`` in map coordinates."""
    return square(middle, "cell wall-cell" if wall else "cell")


def crop(drawn: Map) -> None:
    """Crop a grid to its walk, the expert's path and the objects that the instruction means.

    An object that is no longer on the grid at the end is drawn on its first square, at
    every step. Changes ``drawn`` in place; it must have a walk.
    """
    placed = []
    meant = set()
    remaining = set()
    for shape in drawn.shapes:
        # A view covers many squares, and is left out.
        if shape.form == "cells":
            continue
        at = _middle(shape)
        placed.append((at, shape))
        # Spans count steps from 1: what is shown from the first on was there at the start.
        if shape.first == 1 and shape.title == MEANT:
            meant.add(at)
        if shape.last > drawn.last:
            remaining.add(at)
    gone = meant - remaining
    points = [stop.point for stop in drawn.stops]
    points += meant
    for path in drawn.expert:
        points += path
    # Two squares around it show what the walk passed.
    kept = Extent.of(points).grown(2)
    drawn.shapes = []
    for at, shape in placed:
        if not kept.contains(at):
            continue
        if at in gone and shape.first == 1:
            shape = replace(shape, first=0, last=0)
        drawn.shapes.append(shape)


def _middle(shape: Shape) -> Point:
    """Return the square that a shape lies on: the middle of its extent, rounded."""
    extent = Extent.of(shape.points)
    x = (extent.west + extent.east) / 2
    y = (extent.south + extent.north) / 2
    return float(round(x)), float(round(y))


_LEAVES = ("open", "locked")
"""States of a door that have a look of their own; all others are drawn closed."""
_IN_HAND = 0.6  # squares to the north of an actor at which what it holds is drawn
_KEY = (
    (-3, 0),
    (-1.5, 1.5),
    (0, 0.4),
    (3, 0.4),
    (3, -1.5),
    (1.8, -1.5),
    (1.8, -0.4),
    (0, -0.4),
    (-1.5, -1.5),
)
"""Corners of a key, tenths of a square."""


def item_shape(item: GridItem, first: int = 0, last: int = 0) -> Shape:
    """Return an object on its square, shown from step ``first`` to step ``last``.

    Zeros show it at all steps. An object of unknown kind is drawn as a ball.
    """
    kind, color, state, *_ = item
    words = " ".join(part for part in (state, color, kind) if part)
    paint = f"c-{color}" if color in _COLORS else "c-grey"
    span: dict[str, Any] = {"title": words, "first": first, "last": last}
    middle = item.point
    if item.held:
        x, y = middle
        middle = (x, y + _IN_HAND)  # above the mark of its holder
        paint += " held"
    # Sides of less than a square keep what lies on neighboring ones apart.
    if kind == MEANT:
        span["title"] = MEANT
        return square(middle, "meant goal-object", 0.94, label=color, **span)
    if kind == "door":
        leaf = state if state in _LEAVES else "closed"
        return square(middle, f"griddoor {leaf} {paint}", 0.88, **span)
    if kind == "box":
        return square(middle, f"gridbox {paint}", 0.6, **span)
    if kind == "key":
        x, y = middle
        outline = [
            (x + dx / 10, y + dy / 10) for dx, dy in _KEY
        ]  # in tenths of a square
        return Shape("area", outline, f"gridkey {paint}", **span)
    # A ball is an outline as well, so that it takes the class of its color like the others:
    # 18 corners, one for each 20 degrees, look round.
    rim = [displaced(middle, 20 * n, 0.3) for n in range(18)]
    return Shape("area", rim, f"gridball {paint}", **span)
