"""A slow ray-caster in plain Python: the definition of sight, one thing and one panel at a time.

It shares no code with ``housework.sight``: it asks the scene and the state record, not arrays.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from wayword.worlds.household.scene import Door, HouseObject, Scene
from wayword.worlds.household.verbs import Body

Pose = tuple[float, float, float]


def visible(scene: Scene, state: Mapping[str, Any], body: Body, pose: Pose) -> set[str]:
    """The ids of the objects and doors that a body sees at a pose (x, y, heading)."""
    objects = {obj.id: obj for obj in scene.objects}
    found = set()
    for obj in scene.objects:
        target = obj
        hidden = bool(state["objects"][obj.id]["held"])
        at = state["objects"][obj.id]["in"]
        while at:
            if "openable" in objects[at].affordances:
                target = objects[at]
                hidden = hidden or not state["objects"][at]["open"]
            at = state["objects"][at]["in"]
        if not hidden and _seen(scene, state, body, pose, target):
            found.add(obj.id)
    return found | {d.id for d in scene.doors if _seen(scene, state, body, pose, d)}


def _seen(
    scene: Scene,
    state: Mapping[str, Any],
    body: Body,
    pose: Pose,
    item: HouseObject | Door,
) -> bool:
    return any(
        _aimed(scene, state, body, pose, item, aim) for aim in _aims(item, state, pose)
    )


def _aims(
    item: HouseObject | Door, state: Mapping[str, Any], pose: Pose
) -> list[tuple[float, float]]:
    """The center of a thing, and the point of its box, drawn in by 5 cm, nearest to the eye."""
    if isinstance(item, Door):
        (ax, ay), (bx, by) = item.a, item.b
        cx = (ax + bx) / 2
        cy = (ay + by) / 2
        wide = abs(bx - ax) / 2
        deep = abs(by - ay) / 2
    else:
        now = state["objects"][item.id]
        cx = now["x"]
        cy = now["y"]
        wide = item.width / 2
        deep = item.depth / 2
    wide = wide - min(0.05, wide)
    deep = deep - min(0.05, deep)
    near = (
        max(cx - wide, min(pose[0], cx + wide)),
        max(cy - deep, min(pose[1], cy + deep)),
    )
    return [(cx, cy), near]


def _bearing(pose: Pose, x: float, y: float) -> float:
    turn = math.degrees(math.atan2(x - pose[0], y - pose[1])) - pose[2]
    return (turn + 180) % 360 - 180


def _aimed(
    scene: Scene,
    state: Mapping[str, Any],
    body: Body,
    pose: Pose,
    item: HouseObject | Door,
    aim: tuple[float, float],
) -> bool:
    away = math.hypot(aim[0] - pose[0], aim[1] - pose[1])
    if away > body.view_distance:
        return False
    if away > 1e-9 and abs(_bearing(pose, *aim)) > body.view_angle / 2:
        return False
    eye = (pose[0], pose[1])
    for wall in scene.walls:
        if _meet(eye, aim, wall.a, wall.b) is not None:
            return False
    for door in scene.doors:
        if not state["doors"][door.id] and _meet(eye, aim, door.a, door.b) is not None:
            return False
    if isinstance(item, Door):
        level = 1.0
    else:
        level = state["objects"][item.id]["bottom"] + item.height / 2
    return not any(_hides(other, body, eye, aim, level) for other in scene.objects)


def _hides(
    other: HouseObject,
    body: Body,
    eye: tuple[float, float],
    aim: tuple[float, float],
    level: float,
) -> bool:
    """Whether a side of tall furniture stands in the line to an aim at that level."""
    top = other.bottom + other.height
    if (
        not other.opaque
        or "pickupable" in other.affordances
        or top <= max(body.eye, 1.0)
    ):
        return False
    west = other.x - other.width / 2
    east = other.x + other.width / 2
    south = other.y - other.depth / 2
    north = other.y + other.depth / 2
    for x, y in (eye, aim):
        if west <= x <= east and south <= y <= north:
            return False
    corners = [(west, south), (east, south), (east, north), (west, north)]
    for a, b in zip(corners, corners[1:] + corners[:1], strict=True):
        t = _meet(eye, aim, a, b)
        if t is not None and other.bottom <= body.eye + t * (level - body.eye) <= top:
            return True
    return False


def _meet(
    p: tuple[float, float],
    q: tuple[float, float],
    a: tuple[float, float],
    b: tuple[float, float],
) -> float | None:
    """How far along p–q it meets a–b, strictly between p and q; None where it does not."""
    rx = q[0] - p[0]
    ry = q[1] - p[1]
    sx = b[0] - a[0]
    sy = b[1] - a[1]
    turn = rx * sy - ry * sx
    if turn == 0:
        return None
    t = ((a[0] - p[0]) * sy - (a[1] - p[1]) * sx) / turn
    u = ((a[0] - p[0]) * ry - (a[1] - p[1]) * rx) / turn
    return t if 0 < t < 1 - 1e-9 and 0 <= u <= 1 else None
