"""The map of an object search: what the camera saw free, step by step, and the rooms and targets
where the dataset has the scene.

Agents that keep a costmap (LGX and the searchers beside it) have that drawn instead, as they knew
it at each step: free and occupied cells, and the frontiers to choose from after a full turn.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from wayword.agents.search.costmap import CELL, Costmap, frontiers
from wayword.core.errors import WaywordError
from wayword.core.trajectory import TURN, Step, Trajectory
from wayword.viewer.data import Sources
from wayword.viewer.figures import free_ways
from wayword.viewer.maps.drawing import At, Layer, Map, Point, line, outline, rect, room_name
from wayword.viewer.maps.generic import finite, walked
from wayword.viewer.markup import Html, tag
from wayword.viewer.words import as_mapping
from wayword.worlds.household.scene import HouseObject, Scene
from wayword.worlds.objectnav.observation import DepthImage, View

_LARGE = 0.25
"""Square metres of floor from which an object is drawn though nobody looks for it."""
_LEAST = 3
"""Cells of the smallest frontier that is drawn: the one that the frontier agent goes to."""
_ALWAYS = 9_999_999


def map(trajectory: Trajectory, sources: Sources) -> Map | None:
    """The walk over what was seen; None where no pose has a position."""
    drawn = walked(trajectory, {})
    if drawn is None:
        return None
    views = {actor: dict(_views(trajectory, actor)) for actor in drawn.walks}
    scene = _scene(trajectory, sources)
    reference = sources.reference(trajectory.episode_id)
    targets = frozenset(getattr(reference, "targets", ()) or ())
    corners = [corner for fans in views.values() for fan in fans.values() for corner in fan]
    if scene is not None:
        corners += [corner for room in scene.rooms for corner in room.polygon]
    middles = () if scene is not None else tuple(getattr(reference, "middles", ()) or ())
    corners += middles
    sheets = [sheet for actor in drawn.walks for sheet in _costmap(trajectory, actor)]
    corners += [corner for sheet in sheets for corner in sheet.corners]
    seen = sheets or [
        Sheet("seenfree", rim, step, _ALWAYS)
        for fans in views.values()
        for step, rim in fans.items()
    ]
    paint = partial(_paint, scene, targets, middles, seen)
    drawn.layer = Layer(paint, corners, views, _legend(bool(targets or middles), seen))
    return drawn


@dataclass(frozen=True, slots=True)
class Sheet:
    """Floor of one kind, known from step ``first`` to step ``last``: a polygon's ``corners`` in
    metres, or the middles of square cells."""

    kind: str
    corners: Sequence[Point]
    first: int
    last: int = _ALWAYS
    cells: bool = False


def _costmap(trajectory: Trajectory, actor: str) -> Iterator[Sheet]:
    """What an actor's costmap came to hold at each step; nothing for one that keeps none."""
    steps = [(n, step) for n, step in enumerate(trajectory.steps, 1) if step.actor == actor]
    turns = [n for n, step in steps if any(note.kind == TURN for note in step.notes)]
    if not turns:
        return
    ends = dict(zip(turns, [*(n - 1 for n in turns[1:]), _ALWAYS], strict=True))
    views = {number: view for number, step in steps if (view := _view(step)) is not None}
    if len(views) < len(steps):
        return
    first = views[steps[0][0]]
    away = max(math.dist((first.x, first.y), (view.x, view.y)) for view in views.values())
    known = Costmap(first.x, first.y, half=away + first.depth.reach + 1)
    free, occupied = known.free.copy(), known.occupied
    for number, view in views.items():
        known.add(view)
        now = known.free.copy(), known.occupied
        for kind, cells in (("knownfree", now[0] & ~free), ("occupied", now[1] & ~occupied)):
            if cells.any():
                yield Sheet(kind, _middles(known, np.argwhere(cells).tolist()), number, cells=True)
        free, occupied = now
        if number in ends:
            edge = [c for group in frontiers(free, free | occupied, _LEAST) for c in group]
            if edge:
                yield Sheet("frontier", _middles(known, edge), number, ends[number], cells=True)


def _middles(known: Costmap, cells: Iterable[Sequence[int]]) -> list[Point]:
    return [known.point(row, column) for row, column in cells]


def _view(step: Step) -> View | None:
    """The recorded view, None where its depth image cannot be read."""
    seen = as_mapping(step.observation)
    x, y, heading, eye = (finite(seen.get(key)) for key in ("x", "y", "heading", "eye"))
    depth = as_mapping(seen.get("depth") or {})
    if x is None or y is None or heading is None or eye is None or not free_ways(depth):
        return None
    across, up = (tuple(finite(each) or 0.0 for each in depth[key]) for key in _ANGLES)
    return View(
        "", x, y, heading, eye, 0.0, DepthImage(across, up, depth["reach"], depth["levels"])
    )


_ANGLES = ("bearings", "elevations")


def _scene(trajectory: Trajectory, sources: Sources) -> Scene | None:
    try:
        world = sources.world(trajectory.episode_id)
    except (WaywordError, LookupError, TypeError, ValueError):
        return None
    scene = getattr(getattr(getattr(world, "base", None), "place", None), "scene", None)
    return scene if isinstance(scene, Scene) else None


def _views(trajectory: Trajectory, actor: str) -> Iterator[tuple[int, list[Point]]]:
    """The corners of what lay free before the camera at each step, the camera first."""
    for number, step in enumerate(trajectory.steps, 1):
        if step.actor == actor and (rim := fan(as_mapping(step.observation))):
            yield number, rim


def fan(seen: Mapping[str, Any]) -> list[Point]:
    """The corners of what lay free before the camera, the camera first; empty without depth."""
    x, y, heading = (finite(seen.get(key)) for key in ("x", "y", "heading"))
    depth = as_mapping(seen.get("depth") or {})
    if x is None or y is None or heading is None:
        return []
    turns = [(math.radians(heading + bearing), far) for bearing, far in free_ways(depth)]
    rim = [(x + far * math.sin(turn), y + far * math.cos(turn)) for turn, far in turns]
    return [(x, y), *rim] if rim else []


_SIGNS = {
    "seenfree": ("seenfloor", "seen free"),
    "knownfree": ("seenfloor", "free in the costmap"),
    "frontier": ("frontier", "frontier after a turn"),
    "occupied": ("occupied", "occupied"),
}
"""Kinds of floor, as the legend has them: sign and words."""


def _legend(targets: bool, seen: Sequence[Sheet]) -> list[Html]:
    kinds = dict.fromkeys(sheet.kind for sheet in seen)
    signs = [*(_SIGNS[kind] for kind in kinds)]
    signs += [("goalthing", "what is looked for")] if targets else []
    return [tag("li", tag("i", class_=f"k {sign}"), words) for sign, words in signs]


def _paint(
    scene: Scene | None,
    targets: frozenset[str],
    middles: Sequence[Point],
    seen: Sequence[Sheet],
    at: At,
) -> Html:
    parts: list[Html] = []
    if scene is not None:
        parts += [tag("path", d=outline(room.polygon, at), class_="floor") for room in scene.rooms]
    order = list(_SIGNS)
    parts += [_sheet(sheet, at) for sheet in sorted(seen, key=lambda each: order.index(each.kind))]
    if scene is not None:
        large = [o for o in scene.objects if o.id in targets or o.width * o.depth >= _LARGE]
        large.sort(key=lambda o: (o.id in targets, -o.width * o.depth))
        parts += [_box(each, each.id in targets, at) for each in large]
        parts += [line(wall.a, wall.b, at, "wall") for wall in scene.walls]
        parts += [room_name(room.name, room.polygon, at) for room in scene.rooms]
    parts += [_target(middle, at) for middle in middles]
    return tag("g", *parts, class_="house")


def _sheet(sheet: Sheet, at: At) -> Html:
    shown = f"{sheet.kind} on" if sheet.first == 1 else sheet.kind
    d = _squares(sheet.corners, at) if sheet.cells else outline(sheet.corners, at)
    return tag("path", d=d, class_=shown, data_first=sheet.first, data_last=sheet.last)


def _squares(middles: Sequence[Point], at: At) -> str:
    """Cells of a costmap as one path."""
    (x0, _), (x1, _) = at((0.0, 0.0)), at((CELL, 0.0))
    side = round(x1 - x0, 1)
    corners = (at((x - CELL / 2, y + CELL / 2)) for x, y in middles)
    return "".join(f"M{x:g} {y:g}h{side:g}v{side:g}h-{side:g}z" for x, y in corners)


def _box(thing: HouseObject, target: bool, at: At) -> Html:
    half = thing.width / 2, thing.depth / 2
    low, high = (thing.x - half[0], thing.y - half[1]), (thing.x + half[0], thing.y + half[1])
    (x0, y1), (x1, y0) = at(low), at(high)
    if target and max(x1 - x0, y1 - y0) < 9:
        return _target((thing.x, thing.y), at, thing.type)
    kind = "furniture goalthing" if target else "furniture"
    return rect(low, high, at, kind, thing.type.replace("_", " "), rx=2)


def _target(middle: Point, at: At, name: str = "target") -> Html:
    x, y = at(middle)
    return tag("circle", tag("title", name), cx=x, cy=y, r=5, class_="thing goalthing")
