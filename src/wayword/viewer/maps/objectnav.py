"""The map of an object search: what the camera saw free, step by step, and the rooms and targets
where the dataset has the scene.

Agents that keep a costmap (LGX and the other searchers) have that drawn instead, as they knew
it at each step: free and occupied cells, and the frontiers to choose from after a full turn.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from wayword.agents.search.costmap import CELL, Costmap, frontiers
from wayword.core.errors import WaywordError
from wayword.core.trajectory import TURN, Step, Trajectory
from wayword.viewer.data import Sources
from wayword.viewer.figures import as_mapping, free_rays
from wayword.viewer.maps import drawing as draw
from wayword.viewer.maps import finite, toward, walked
from wayword.viewer.maps.drawing import At, Layer, Map, Point
from wayword.viewer.markup import Html, tag
from wayword.worlds.household.scene import Scene
from wayword.worlds.objectnav.observation import DepthImage, FloorMap, View

_LARGE = 0.25  # square metres of floor from which an object is drawn though it is not a target
_LEAST = 3  # cells of the smallest frontier that is drawn: the one that the frontier agent goes to
_ALWAYS = 9_999_999


_KINDS = {
    "seenfree": ("seenfloor", "seen free"),
    "knownfree": ("seenfloor", "free in the costmap"),
    "frontier": ("frontier", "frontier after a turn"),
    "occupied": ("occupied", "occupied"),
}
"""Kinds of floor in the order they are drawn, as the legend has them: sign and words."""


@dataclass(frozen=True, slots=True)
class Sheet:
    """Floor of one kind, known from step ``first`` to step ``last``: a polygon's ``corners`` in
    metres, or the middles of square cells."""

    kind: str
    corners: Sequence[Point]
    first: int
    last: int = _ALWAYS
    cells: bool = False


def map(trajectory: Trajectory, sources: Sources) -> Map | None:
    """The walk over what was seen; None where no pose has a position."""
    drawn = walked(trajectory)
    if drawn is None:
        return None
    views: dict[str, dict[int, list[Point]]] = {actor: {} for actor in drawn.walks}
    for number, step in enumerate(trajectory.steps, 1):
        if step.actor in views and (rim := fan(as_mapping(step.observation))):
            views[step.actor][number] = rim
    fans = [(step, rim) for rims in views.values() for step, rim in rims.items()]
    sheets = [sheet for actor in drawn.walks for sheet in _costmap(trajectory, actor)]
    corners = [corner for _, rim in fans for corner in rim]
    corners += [corner for sheet in sheets for corner in sheet.corners]
    sheets = sheets or [Sheet("seenfree", rim, step) for step, rim in fans]
    sheets.sort(key=lambda sheet: list(_KINDS).index(sheet.kind))
    scene, reference = _scene(trajectory, sources), sources.reference(trajectory.episode_id)
    targets = frozenset(getattr(reference, "targets", ()) or ())
    middles: Sequence[Point] = ()
    if scene is None:
        middles = tuple(getattr(reference, "middles", ()) or ())
    else:
        corners += [corner for room in scene.rooms for corner in room.polygon]
    legend = [_KINDS[kind] for kind in dict.fromkeys(sheet.kind for sheet in sheets)]
    if targets or middles:
        legend.append(("goalthing", "target object"))
    paint = partial(_paint, scene, targets, middles, sheets)
    drawn.layer = Layer(paint, [*corners, *middles], views, legend)
    return drawn


def _costmap(trajectory: Trajectory, actor: str) -> Iterator[Sheet]:
    """Cells added to an actor's costmap at each step; nothing without a costmap."""
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
    costmap = Costmap(first.x, first.y, half=away + first.depth.reach + 1)

    def sheet(kind: str, cells: Sequence[Any], number: int, last: int = _ALWAYS) -> Sheet:
        return Sheet(
            kind, [costmap.point(row, column) for row, column in cells], number, last, True
        )

    free, occupied = costmap.free.copy(), costmap.occupied
    for number, view in views.items():
        costmap.add(view)
        now = costmap.free.copy(), costmap.occupied
        for kind, cells in (("knownfree", now[0] & ~free), ("occupied", now[1] & ~occupied)):
            if cells.any():
                yield sheet(kind, np.argwhere(cells).tolist(), number)
        free, occupied = now
        if number in ends:
            edge = [c for group in frontiers(free, free | occupied, _LEAST) for c in group]
            if edge:
                yield sheet("frontier", edge, number, ends[number])


def _view(step: Step) -> View | None:
    """The recorded view, None where its depth image cannot be read."""
    observation = as_mapping(step.observation)
    x, y, heading, eye = (finite(observation.get(key)) for key in ("x", "y", "heading", "eye"))
    depth = as_mapping(observation.get("depth") or {})
    if x is None or y is None or heading is None or eye is None or not free_rays(depth):
        return None
    across, up = (
        tuple(finite(each) or 0.0 for each in depth[key]) for key in ("bearings", "elevations")
    )
    image = DepthImage(across, up, depth["reach"], depth["levels"])
    floor = None
    with suppress(KeyError, TypeError):
        keys, recorded = ("x", "y", "cell", "columns", "levels"), observation.get("floor")
        floor = FloorMap(**{key: recorded[key] for key in keys}) if recorded else None
    return View("", x, y, heading, eye, 0.0, image, floor=floor)


def _scene(trajectory: Trajectory, sources: Sources) -> Scene | None:
    try:
        world = sources.world(trajectory.episode_id)
    except (WaywordError, LookupError, TypeError, ValueError):
        return None
    scene = getattr(getattr(getattr(world, "base", None), "place", None), "scene", None)
    return scene if isinstance(scene, Scene) else None


def fan(observation: Mapping[str, Any]) -> list[Point]:
    """The corners of what lay free before the camera, the camera first; empty without depth."""
    x, y, heading = (finite(observation.get(key)) for key in ("x", "y", "heading"))
    if x is None or y is None or heading is None:
        return []
    free = free_rays(as_mapping(observation.get("depth") or {}))
    rim = [toward((x, y), heading + bearing, far) for bearing, far in free]
    return [(x, y), *rim] if rim else []


def _paint(
    scene: Scene | None,
    targets: frozenset[str],
    middles: Sequence[Point],
    sheets: Sequence[Sheet],
    at: At,
) -> Html:
    parts = [draw.area(room.polygon, at, "floor") for room in scene.rooms] if scene else []
    names = [("target", middle) for middle in middles]
    (x0, _), (x1, _) = at((0.0, 0.0)), at((CELL, 0.0))
    side = round(x1 - x0, 1)
    for sheet in sheets:
        span = draw.during(sheet.kind, sheet.first, sheet.last)
        if sheet.cells:  # all of them as one path
            corners = (at((x - CELL / 2, y + CELL / 2)) for x, y in sheet.corners)
            d = "".join(f"M{x:g} {y:g}h{side:g}v{side:g}h-{side:g}z" for x, y in corners)
            parts.append(tag("path", d=d, class_=span.pop("kind"), **span))
        else:
            parts.append(draw.area(sheet.corners, at, **span))
    if scene is not None:
        names += [(o.type, (o.x, o.y + o.depth / 2)) for o in scene.objects if o.id in targets]
        large = [o for o in scene.objects if o.id in targets or o.width * o.depth >= _LARGE]
        for each in sorted(large, key=lambda o: (o.id in targets, -o.width * o.depth)):
            dx, dy, target = each.width / 2, each.depth / 2, each.id in targets
            low, high = (each.x - dx, each.y - dy), (each.x + dx, each.y + dy)
            (left, below), (right, above) = at(low), at(high)
            if target and max(right - left, below - above) < 9:
                parts.append(draw.dot((each.x, each.y), at, 5, "thing goalthing", each.type))
            else:
                kind = "furniture goalthing" if target else "furniture"
                parts.append(draw.rect(low, high, at, kind, each.type.replace("_", " "), rx=2))
        parts += [draw.line(wall.a, wall.b, at, "wall") for wall in scene.walls]
        parts += [draw.room_name(room.name, room.polygon, at) for room in scene.rooms]
    parts += [draw.dot(middle, at, 5, "thing goalthing", "target") for middle in middles]
    labels = [draw.goal_name(name, point, at) for name, point in names]
    return tag("g", *parts, *labels, class_="house")
