"""The map of an object search: the free floor seen by the camera at each step, and the rooms and
targets if the dataset has the scene.

For agents with a costmap (LGX and the other searchers), the map shows it instead, as known at each
step: free and occupied cells, and the frontiers after each full turn.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Any

import numpy as np

from wayword.agents.search.costmap import CELL, Costmap
from wayword.core.episode import JsonObject
from wayword.core.files import READER_ERRORS
from wayword.core.geometry import Point, displaced
from wayword.core.trajectory import TURN, Step, Trajectory
from wayword.core.visible import spaced
from wayword.metrics.detector_reports import MISREPORTED, reported_point
from wayword.metrics.recorded import as_mapping, finite
from wayword.runs.diagnosis import UNPLAYABLE
from wayword.viewer.data import Sources
from wayword.viewer.figures import free_rays
from wayword.viewer.maps import walked
from wayword.viewer.maps.content import (
    FALSE,
    Extent,
    Map,
    Shape,
    Waypoint,
    room_label,
)
from wayword.worlds.household.scene import Scene
from wayword.worlds.objectnav.observation import DepthImage, FloorMap, View

_LARGE = 0.25  # square metres of floor from which an object is drawn though it is not a target
# Metres up to which a target is a dot: its outline would be too small to see
_SMALL = 0.25
_LEAST = 3  # cells of the smallest frontier that is drawn: the one that the frontier agent goes to
# A step after the last one of any walk: what was seen stays in view
_ALWAYS = 9_999_999

_KINDS = {
    "seenfree": "seen free",
    "knownfree": "known to be free",
    "frontier": "edge of what is known",
    "occupied": "occupied",
}
"""Kinds of floor in the order they are drawn, with their words in the legend."""


def map(trajectory: Trajectory, sources: Sources) -> Map | None:
    """Return the walk over the floor that was seen; None if no pose has a position.

    The scene's rooms and objects are drawn if the dataset has them, else the positions
    of the targets alone.
    """
    drawn = walked(trajectory)
    if drawn is None:
        return None
    # The view that each step was decided on.
    views: dict[str, dict[int, list[Point]]] = {actor: {} for actor in drawn.walks}
    for number, step in enumerate(trajectory.steps, 1):
        if step.actor not in views:
            continue
        rim = fan(as_mapping(step.observation))
        if rim:
            views[step.actor][number] = rim
    drawn.views = {
        actor: _views_after(drawn.walks[actor], rims) for actor, rims in views.items()
    }
    seen = _seen(trajectory, views)
    scene = _scene(trajectory, sources)
    if scene is not None:
        # Cells next to the scene's own walls and furniture would double them.
        seen = [shape for shape in seen if shape.kind != "occupied"]
    kinds = {shape.kind for shape in seen}
    drawn.legend = [(kind, words) for kind, words in _KINDS.items() if kind in kinds]
    reference = sources.reference(trajectory.episode_id)
    # The only room of a scene is the box of its walls.
    rooms: Sequence[Any] = ()
    wall = "wall inferred"
    if scene and len(scene.rooms) > 1:
        rooms = scene.rooms
        wall = "wall"
    elif scene:
        drawn.legend.append((wall, "wall, inferred from paths"))
    drawn.shapes = [Shape("area", room.polygon, "floor") for room in rooms]
    drawn.shapes += seen
    words = "target object"
    reported = reported_point(trajectory)
    middles = getattr(reference, "middles", ()) or ()
    if scene is not None:
        targets = frozenset(getattr(reference, "targets", ()) or ())
        drawn.shapes += [Shape("line", (each.a, each.b), wall) for each in scene.walls]
        drawn.shapes += _objects(scene, targets)
        drawn.shapes += [room_label(room.name, room.polygon) for room in rooms]
    else:
        drawn.shapes += [_target(middle, "target") for middle in middles]
        # A robot's target has no true position.
        if reported is not None and not middles:
            drawn.shapes.append(_target(reported, "target"))
            words = "target, as the detector reported it"
    if reported is not None and middles:
        away = min(math.dist(reported, middle[:2]) for middle in middles)
        if away > MISREPORTED:
            label = "false report"
            drawn.shapes.append(Shape("dot", [reported], FALSE, label, label, size=6))
            drawn.legend.append((FALSE, "where the detector reported it"))
    shown = {shape.kind for shape in drawn.shapes}
    for kind in ("object goal-object", "furniture goal-object"):
        if kind in shown:
            drawn.legend.append((kind, words))
    return drawn


def _views_after(
    walk: Sequence[Waypoint], rims: Mapping[int, list[Point]]
) -> dict[int, list[Point]]:
    """Return an actor's view after each step: the one that its next step was decided on.

    ``rims`` are the views before the steps. After the last step nothing was observed; it
    has the view before it if the actor did not move.
    """
    after = {}
    for stop, following in pairwise(walk):
        if stop.step and following.step in rims:
            after[stop.step] = rims[following.step]
    if len(walk) < 2:
        return after
    before, end = walk[-2:]
    stayed = (before.point, before.heading) == (end.point, end.heading)
    if stayed and end.step in rims:
        after[end.step] = rims[end.step]
    return after


def _target(middle: Point, name: str) -> Shape:
    """Return the dot of a target object, five units of the drawing in radius."""
    return Shape("dot", [middle], "object goal-object", name, name, size=5)


def _seen(
    trajectory: Trajectory, views: Mapping[str, Mapping[int, list[Point]]]
) -> list[Shape]:
    """Return the floor as it became known: the actors' costmaps or, of agents without one, their
    views and the obstacles in them.

    In drawing order, which is that of ``_KINDS``.
    """
    seen: list[Shape] = []
    for actor in views:
        seen += _costmap(trajectory, actor)
    if all(shape.kind == "occupied" for shape in seen):
        for rims in views.values():
            for step, rim in rims.items():
                shape = Shape("area", rim, "seenfree", first=step, last=_ALWAYS)
                seen.append(shape)
    order = list(_KINDS)
    seen.sort(key=lambda shape: order.index(shape.kind))
    return seen


def _objects(scene: Scene, targets: frozenset[str]) -> list[Shape]:
    """Return the targets and the large objects; targets on top, small ones on large ones."""
    drawn = []
    for item in scene.objects:
        area = item.width * item.depth
        is_target = item.id in targets
        if is_target or area >= _LARGE:
            drawn.append((is_target, -area, item))
    drawn.sort(key=lambda each: each[:2])
    shapes = []
    for is_target, _, item in drawn:
        middle = (item.x, item.y)
        corners = Extent.around(middle, item.width, item.depth).corners
        name = spaced(item.type)
        if not is_target:
            shapes.append(Shape("rect", corners, "furniture", name, name))
        elif max(item.width, item.depth) < _SMALL:
            shapes.append(_target(middle, name))
        else:
            kind = "furniture goal-object"
            shapes.append(Shape("rect", corners, kind, name, name))
    return shapes


def _costmap(trajectory: Trajectory, actor: str) -> Iterator[Shape]:
    """Return the cells added to an actor's costmap at each step, and the frontiers after each turn.

    Only obstacles for an agent without full turns, which has no costmap; empty if a step has no
    readable depth image. The map is built from the recorded images.
    """
    turns = []
    views = {}
    for number, step in enumerate(trajectory.steps, 1):
        if step.actor != actor:
            continue
        view = _view(step)
        if view is None:
            return
        views[number] = view
        if any(note.kind == TURN for note in step.notes):
            turns.append(number)
    if not views:
        return
    # A frontier is shown until the next turn draws another one, and not at the end, where none
    # was chosen.
    until = [turn - 1 for turn in turns[1:]]
    ends = dict(zip(turns, [*until, len(trajectory.steps)], strict=bool(turns)))
    first = next(iter(views.values()))
    start = (first.x, first.y)
    # Metres from the center: the farthest step and the range of the depth images, plus a margin of
    # one metre.
    places = [(view.x, view.y) for view in views.values()]
    away = max(math.dist(start, place) for place in places)
    half = away + first.depth.reach + 1
    costmap = Costmap(first.x, first.y, half=half)

    def cells(
        kind: str,
        indices: Sequence[Any],
        number: int,
        last: int = _ALWAYS,
    ) -> Shape:
        """Return cells by their (row, column), shown from a step on."""
        points = [costmap.point(row, column) for row, column in indices]
        return Shape("cells", points, kind, size=CELL, first=number, last=last)

    # Copied, as the map adds to the same array; ``occupied`` is computed at each access.
    free = costmap.free.copy()
    occupied = costmap.occupied
    for number, view in views.items():
        costmap.add(view)
        added = {
            "knownfree": costmap.free & ~free,
            "occupied": costmap.occupied & ~occupied,
        }
        for kind, new in added.items():
            if new.any() and (turns or kind == "occupied"):
                yield cells(kind, np.argwhere(new).tolist(), number)
        free = costmap.free.copy()
        occupied = costmap.occupied
        if number in ends:
            edge: list[Any] = []
            for group in costmap.frontiers(_LEAST):
                edge += group
            if edge:
                yield cells("frontier", edge, number, ends[number])


def _view(step: Step) -> View | None:
    """Return a step's recorded view; None if its pose or depth image is unreadable."""
    observation = as_mapping(step.observation)
    x = finite(observation.get("x"))
    y = finite(observation.get("y"))
    heading = finite(observation.get("heading"))
    eye = finite(observation.get("eye"))
    depth = as_mapping(observation.get("depth") or {})
    if x is None or y is None or heading is None or eye is None:
        return None
    if not free_rays(depth):
        return None
    bearings = tuple(finite(angle) or 0.0 for angle in depth["bearings"])
    elevations = tuple(finite(angle) or 0.0 for angle in depth["elevations"])
    image = DepthImage(
        bearings,
        elevations,
        depth["reach"],
        depth["levels"],
    )
    floor = _floor(as_mapping(observation.get("floor") or {}))
    return View("", x, y, heading, eye, 0.0, image, floor=floor)


def _floor(recorded: JsonObject) -> FloorMap | None:
    """Return a step's recorded map of the floor; None if there is none, or an unreadable one."""
    x, y, cell = (finite(recorded.get(key)) for key in ("x", "y", "cell"))
    if x is None or y is None or cell is None or cell <= 0:
        return None
    # A record may have been changed by hand: its levels show when they are read.
    with suppress(*READER_ERRORS):
        floor = FloorMap(x, y, cell, recorded["columns"], recorded["levels"])
        floor.at(np.array([x]), np.array([y]))
        return floor
    return None


def _scene(trajectory: Trajectory, sources: Sources) -> Scene | None:
    """Return the scene of an episode; None if the dataset does not have it."""
    world = None
    with suppress(*UNPLAYABLE):
        world = sources.world(trajectory.episode_id)
    place = getattr(getattr(world, "base", None), "place", None)
    scene = getattr(place, "scene", None)
    if not isinstance(scene, Scene):
        return None
    return scene


def fan(observation: JsonObject) -> list[Point]:
    """Return the corners of the free floor in view, the camera first; empty without depth.

    ``observation`` has the camera's ``x``, ``y`` (metres), ``heading`` and ``depth``.
    """
    x = finite(observation.get("x"))
    y = finite(observation.get("y"))
    heading = finite(observation.get("heading"))
    free = free_rays(as_mapping(observation.get("depth") or {}))
    if x is None or y is None or heading is None or not free:
        return []
    rim = [displaced((x, y), heading + bearing, far) for bearing, far in free]
    return [(x, y), *rim]
