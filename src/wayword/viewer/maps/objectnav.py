"""The map of an object search: the free floor seen by the camera at each step, and the rooms and
targets if the dataset has the scene.

For agents with a costmap (LGX and the other searchers), the map shows it instead, as known at each
step: free and occupied cells, and the frontiers after each full turn.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from wayword.agents.search.costmap import CELL, Costmap, frontiers
from wayword.core.trajectory import TURN, Step, Trajectory
from wayword.metrics.recorded import as_mapping, finite
from wayword.runs.diagnosis import UNPLAYABLE
from wayword.viewer.data import Sources
from wayword.viewer.figures import free_rays
from wayword.viewer.maps import toward, walked
from wayword.viewer.maps.content import Map, Point, Shape, room_label
from wayword.worlds.household.scene import Scene
from wayword.worlds.objectnav.observation import DepthImage, FloorMap, View

_LARGE = 0.25  # square metres of floor from which an object is drawn though it is not a target
# Metres up to which a target is a dot: its outline would be too small to see
_SMALL = 0.25
_LEAST = 3  # cells of the smallest frontier that is drawn: the one that the frontier agent goes to
_ALWAYS = 9_999_999

_KINDS = {
    "seenfree": "seen free",
    "knownfree": "free in the costmap",
    "frontier": "frontier after a turn",
    "occupied": "occupied",
}
"""Kinds of floor in the order they are drawn, with their words in the legend."""


def map(trajectory: Trajectory, sources: Sources) -> Map | None:
    """Return the walk over the floor that was seen; None if no pose has a position."""
    drawn = walked(trajectory)
    if drawn is None:
        return None
    views: dict[str, dict[int, list[Point]]] = {actor: {} for actor in drawn.walks}
    for number, step in enumerate(trajectory.steps, 1):
        if step.actor in views and (rim := fan(as_mapping(step.observation))):
            views[step.actor][number] = rim
    seen = [shape for actor in drawn.walks for shape in _costmap(trajectory, actor)] or [
        Shape("area", rim, "seenfree", first=step, last=_ALWAYS)
        for rims in views.values() for step, rim in rims.items()
    ]  # fmt: skip
    seen.sort(key=lambda shape: list(_KINDS).index(shape.kind))
    scene = _scene(trajectory, sources)
    reference = sources.reference(trajectory.episode_id)
    targets = frozenset(getattr(reference, "targets", ()) or ())
    drawn.views = views
    drawn.legend = [
        (kind, _KINDS[kind]) for kind in dict.fromkeys(shape.kind for shape in seen)
    ]
    # One is the box of its walls
    rooms = scene.rooms if scene and len(scene.rooms) > 1 else ()
    drawn.shapes = [*(Shape("area", room.polygon, "floor") for room in rooms), *seen]
    if scene is not None:
        large = [
            o for o in scene.objects if o.id in targets or o.width * o.depth >= _LARGE
        ]
        for each in sorted(large, key=lambda o: (o.id in targets, -o.width * o.depth)):
            dx = each.width / 2
            dy = each.depth / 2
            name = each.type.replace("_", " ")
            corners = ((each.x - dx, each.y - dy), (each.x + dx, each.y + dy))
            at = (each.x, each.y)
            goal, label = (" goal-object", name) if each.id in targets else ("", "")
            if goal and max(each.width, each.depth) < _SMALL:
                drawn.shapes.append(Shape("dot", [at], f"object{goal}", name, label, 5))
            else:
                drawn.shapes.append(
                    Shape("rect", corners, f"furniture{goal}", name, label)
                )
        drawn.shapes += [
            Shape("line", (wall.a, wall.b), "wall") for wall in scene.walls
        ]
        drawn.shapes += [room_label(room.name, room.polygon) for room in rooms]
    middles = () if scene else tuple(getattr(reference, "middles", ()) or ())
    drawn.shapes += [
        Shape("dot", [middle], "object goal-object", "target", "target", 5)
        for middle in middles
    ]
    for kind in {"object goal-object", "furniture goal-object"} & {
        s.kind for s in drawn.shapes
    }:
        drawn.legend.append((kind, "target object"))
    return drawn


def _costmap(trajectory: Trajectory, actor: str) -> Iterator[Shape]:
    """Return the cells added to an actor's costmap at each step; empty without a costmap."""
    steps = [
        (n, step) for n, step in enumerate(trajectory.steps, 1) if step.actor == actor
    ]
    turns = [n for n, step in steps if any(note.kind == TURN for note in step.notes)]
    if not turns:
        return
    ends = dict(zip(turns, [*(n - 1 for n in turns[1:]), _ALWAYS], strict=True))
    views = {
        number: view for number, step in steps if (view := _view(step)) is not None
    }
    if len(views) < len(steps):
        return
    first = views[steps[0][0]]
    away = max(
        math.dist((first.x, first.y), (view.x, view.y)) for view in views.values()
    )
    costmap = Costmap(first.x, first.y, half=away + first.depth.reach + 1)

    def cells(
        kind: str, indices: Sequence[Any], number: int, last: int = _ALWAYS
    ) -> Shape:
        points = [costmap.point(row, column) for row, column in indices]
        return Shape("cells", points, kind, size=CELL, first=number, last=last)

    free = costmap.free.copy()
    occupied = costmap.occupied
    for number, view in views.items():
        costmap.add(view)
        now = costmap.free.copy(), costmap.occupied
        for kind, new in (
            ("knownfree", now[0] & ~free),
            ("occupied", now[1] & ~occupied),
        ):
            if new.any():
                yield cells(kind, np.argwhere(new).tolist(), number)
        free, occupied = now
        if number in ends:
            edge = [
                c for group in frontiers(free, free | occupied, _LEAST) for c in group
            ]
            if edge:
                yield cells("frontier", edge, number, ends[number])


def _view(step: Step) -> View | None:
    """Return the recorded view; None if its depth image is unreadable."""
    observation = as_mapping(step.observation)
    x, y, heading, eye = (
        finite(observation.get(key)) for key in ("x", "y", "heading", "eye")
    )
    depth = as_mapping(observation.get("depth") or {})
    if x is None or y is None or heading is None or eye is None or not free_rays(depth):
        return None
    across, up = (
        tuple(finite(each) or 0.0 for each in depth[key])
        for key in ("bearings", "elevations")
    )
    image = DepthImage(across, up, depth["reach"], depth["levels"])
    floor = None
    with suppress(KeyError, TypeError):
        keys = ("x", "y", "cell", "columns", "levels")
        recorded = observation.get("floor")
        floor = FloorMap(**{key: recorded[key] for key in keys}) if recorded else None
    return View("", x, y, heading, eye, 0.0, image, floor=floor)


def _scene(trajectory: Trajectory, sources: Sources) -> Scene | None:
    world = None
    with suppress(*UNPLAYABLE):
        world = sources.world(trajectory.episode_id)
    scene = getattr(getattr(getattr(world, "base", None), "place", None), "scene", None)
    return scene if isinstance(scene, Scene) else None


def fan(observation: Mapping[str, Any]) -> list[Point]:
    """Return the corners of the free floor in view, the camera first; empty without depth."""
    x, y, heading = (finite(observation.get(key)) for key in ("x", "y", "heading"))
    if x is None or y is None or heading is None:
        return []
    free = free_rays(as_mapping(observation.get("depth") or {}))
    rim = [toward((x, y), heading + bearing, far) for bearing, far in free]
    return [(x, y), *rim] if rim else []
