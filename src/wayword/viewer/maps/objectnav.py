"""The map of an object search: what the camera saw free, step by step, and the rooms and targets
where the dataset has the scene.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from wayword.core.errors import WaywordError
from wayword.core.trajectory import Trajectory
from wayword.viewer.data import Sources
from wayword.viewer.maps.drawing import At, Layer, Map, Point, outline, render
from wayword.viewer.maps.generic import finite, walked
from wayword.viewer.markup import Html, tag
from wayword.viewer.words import as_mapping, free_ways
from wayword.worlds.household.scene import HouseObject, Scene

_LARGE = 0.25
"""Square metres of floor from which an object is drawn though nobody looks for it."""


def map(trajectory: Trajectory, sources: Sources) -> Html | None:
    """The map, or None where no pose has a position."""
    drawn = geography(trajectory, sources)
    return render(drawn) if drawn else None


def geography(trajectory: Trajectory, sources: Sources) -> Map | None:
    """The walk over what was seen."""
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
    paint = partial(_paint, scene, targets, middles, views)
    drawn.layer = Layer(paint, corners, views, _legend(bool(targets or middles)))
    return drawn


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


def _legend(targets: bool) -> list[Html]:
    lines = [tag("li", tag("i", class_="k seenfloor"), "seen free")]
    if targets:
        lines.append(tag("li", tag("i", class_="k goalthing"), "what is looked for"))
    return lines


def _paint(
    scene: Scene | None,
    targets: frozenset[str],
    middles: Sequence[Point],
    views: Mapping[str, Mapping[int, Sequence[Point]]],
    at: At,
) -> Html:
    parts: list[Html] = []
    if scene is not None:
        parts += [tag("path", d=outline(room.polygon, at), class_="floor") for room in scene.rooms]
    parts += [
        tag("path", d=outline(rim, at), class_="seenfree", data_first=step, data_last=9_999_999)
        for fans in views.values()
        for step, rim in fans.items()
    ]
    if scene is not None:
        large = [o for o in scene.objects if o.id in targets or o.width * o.depth >= _LARGE]
        large.sort(key=lambda o: (o.id in targets, -o.width * o.depth))
        parts += [_box(each, each.id in targets, at) for each in large]
        parts += [_wall(wall.a, wall.b, at) for wall in scene.walls]
        parts += [_name(room.name, room.polygon, at) for room in scene.rooms]
    parts += [_target(middle, at) for middle in middles]
    return tag("g", *parts, class_="house")


def _box(thing: HouseObject, target: bool, at: At) -> Html:
    (x0, y1), (x1, y0) = (
        at((thing.x - thing.width / 2, thing.y - thing.depth / 2)),
        at((thing.x + thing.width / 2, thing.y + thing.depth / 2)),
    )
    if target and max(x1 - x0, y1 - y0) < 9:
        return _target((thing.x, thing.y), at, thing.type)
    return tag(
        "rect", tag("title", thing.type.replace("_", " ")), x=x0, y=y0, rx=2,
        width=round(x1 - x0, 1), height=round(y1 - y0, 1),
        class_="furniture goalthing" if target else "furniture",
    )  # fmt: skip


def _target(middle: Point, at: At, name: str = "target") -> Html:
    x, y = at(middle)
    return tag("circle", tag("title", name), cx=x, cy=y, r=5, class_="thing goalthing")


def _wall(a: Point, b: Point, at: At) -> Html:
    (x1, y1), (x2, y2) = at(a), at(b)
    return tag("line", x1=x1, y1=y1, x2=x2, y2=y2, class_="wall")


def _name(name: str, polygon: Sequence[Point], at: At) -> Html:
    x, y = at((min(x for x, _ in polygon), min(y for _, y in polygon)))
    return tag("text", name.replace("_", " "), x=x + 5, y=y - 6, class_="roomname")
