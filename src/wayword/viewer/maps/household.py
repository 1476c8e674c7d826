"""The map of a household episode: the house at each step, from a replay of the record.

The run folder has the actions, and the dataset has the house; the replay shows where each object
was at each step, which doors were open, and what each actor could see. If the replay differs from
the recording, the initial house is drawn.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from wayword.core.geometry import absolute, unit
from wayword.core.trajectory import Step, Trajectory
from wayword.metrics.recorded import as_mapping
from wayword.runs.diagnosis import UNPLAYABLE
from wayword.viewer.data import Sources
from wayword.viewer.maps import walked
from wayword.viewer.maps.content import Map, Point, Shape, Waypoint, room_label, spans
from wayword.worlds.household.goals import AnswerReference
from wayword.worlds.household.house import Actor
from wayword.worlds.household.verbs import Body
from wayword.worlds.household.world import HouseholdWorld

START = ("", "the house at the start")
"""In the legend where the recording could not be played again."""
RAYS = 41
"""Looks that an actor's view is drawn by."""
_MOST_GOALS = 12
"""Objects of the goal that are marked; where any of many will do, marking them says nothing."""


def map(trajectory: Trajectory, sources: Sources) -> Map | None:
    """Return the walks, in the house if the dataset has it; None if no pose has a position."""
    drawn = walked(trajectory)
    if drawn is None:
        return None
    # Doors open or closed, places of objects not held
    frames: list[list[tuple[int, Any]]] = []
    views: dict[str, dict[int, list[Point]]] = {}

    def take(world: HouseholdWorld, step: int, actor: str = "") -> None:
        house = world.house
        state = world.house.entities
        doors = range(state.objects, state.first_actor)
        held = {
            i
            for a in house.actors.values()
            for hand in a.hands
            for i in state.with_contents(hand)
        }
        places = np.round((state.x, state.y), 3).T[: state.objects].tolist()
        lying = [(i, (x, y)) for i, (x, y) in enumerate(places) if i not in held]
        frames.append([*((i, bool(state.open[i])) for i in doors), *lying])
        if actor:
            views.setdefault(actor, {})[step] = view(world, house.actors[actor])

    name = trajectory.episode_id
    try:
        world = sources.world(name)
        if not isinstance(world, HouseholdWorld):
            return drawn
        played = sources.played(trajectory, take)
        if played is None:
            world.reset(sources.tasks[name].episode)
            frames.clear()
            views.clear()
            take(world, 1)
            frames *= len(trajectory.steps) + 1
    except UNPLAYABLE:
        return drawn  # the scene is not the recording's; the page has no house
    reference = sources.reference(name)
    if isinstance(reference, AnswerReference):
        goal = "place to look at"
    else:
        goal = "goal object"
    goals = dict.fromkeys(_goals(reference, _PLACES), "destination")
    goals |= dict.fromkeys(_goals(reference, _OBJECTS), "goal-object")
    drawn.shapes = _shapes(played or world, frames, goals)
    drawn.views = views
    for actor, walk in drawn.walks.items():
        body = (played or world).house.actors[actor].body
        walk[1:] = [
            replace(after, route=_route(before, trajectory.steps[after.step - 1], body))
            for before, after in pairwise(walk)
        ]
    kinds = {
        part for shape in drawn.shapes for part in (shape.kind, *shape.kind.split()[1:])
    }
    # Goal objects are dots, or frames where they are furniture. The legend shows one sign.
    has_dots = "object goal-object" in kinds
    has_frames = "furniture goal-object" in kinds
    goal_sign = "goal-object" if has_dots else "furniture goal-object"
    if has_dots and has_frames:
        goal += ", dot or frame"
    signs = [("leaf closed", "closed door"), ("leaf open", "open door")]
    signs += [(goal_sign, goal), ("destination", "→ where to")]
    legend = [sign for sign in signs if sign[0] in kinds]
    if played is None:
        legend.append(START)
    drawn.legend = legend
    return drawn


def _route(before: Waypoint, step: Step, body: Body) -> list[Point]:
    """Return the corners of a high-level action's path, by its low-level actions; empty for other
    actions, and if they do not lead to its end."""
    (x, y), heading, route = before.point, before.heading or 0.0, list[Point]()
    pan = body.pan_degrees
    done = step.feedback.details.get("low_level")
    last = ""
    turns = {"turn_left": -90.0, "turn_right": 90.0, "pan_left": -pan, "pan_right": pan}
    for verb in done if isinstance(done, list | tuple) else ():
        heading = absolute(heading + turns.get(str(verb), 0.0))
        if verb == "move_ahead":
            east, north = unit(heading)
            x = x + body.step * east
            y = y + body.step * north
            route[len(route) - (last == verb) :] = [(x, y)]
        last = verb
    end = as_mapping(step.pose)
    if math.dist((x, y), (end.get("x", x), end.get("y", y))) < body.step:
        return route
    return []


def _shapes(
    world: HouseholdWorld, frames: list[list[tuple[int, Any]]], goals: Mapping[str, str]
) -> list[Shape]:
    """Return floors, furniture, walls, doors and small objects, in drawing order."""
    scene = world.scene
    furniture = []
    doors = []
    objects = []
    for each in scene.objects:
        if "pickupable" not in each.affordances:
            title = _title(world, each.id, each.type)
            dx = each.width / 2
            dy = each.depth / 2
            corners = (each.x - dx, each.y - dy), (each.x + dx, each.y + dy)
            kind = " ".join(("furniture", *filter(None, [goals.get(each.id)])))
            furniture.append(
                Shape("rect", corners, kind, title, title.partition(" (")[0])
            )
    # What stands on another piece is drawn later.
    furniture.sort(
        key=lambda box: -math.prod(b - a for a, b in zip(*box.points, strict=True))
    )
    for (i, value), first, last in sorted(
        spans(frames), key=lambda span: (span[0][0], span[1])
    ):
        if i >= len(scene.objects):
            door = scene.doors[i - len(scene.objects)]
            title = f"{_title(world, door.id, 'door')}, {'open' if value else 'closed'}"
            kind = "leaf open" if value else "leaf closed"
            doors.append(
                Shape("line", (door.a, door.b), kind, title, first=first, last=last)
            )
        elif "pickupable" in (each := scene.objects[i]).affordances:
            title = _title(world, each.id, each.type)
            goal = goals.get(each.id)
            kind, size = (f"object {goal}", 4.5) if goal else ("object", 2.6)
            label = title.partition(" (")[0] if goal else ""
            objects.append(Shape("dot", [value], kind, title, label, size, first, last))
    floors = [Shape("area", room.polygon, "floor") for room in scene.rooms]
    walls = [Shape("line", (wall.a, wall.b), "wall") for wall in scene.walls]
    names = [room_label(room.name, room.polygon) for room in scene.rooms]
    return [*floors, *furniture, *walls, *doors, *objects, *names]


def view(world: HouseholdWorld, me: Actor) -> list[Point]:
    """Return the corners of an actor's view, its position first, up to the next obstacle."""
    body = me.body
    half = np.radians(me.body.view_angle / 2)
    turns = np.radians(me.heading) + np.linspace(-half, half, RAYS)
    dx = np.sin(turns)[:, None]
    dy = np.cos(turns)[:, None]
    closed = world.house.entities.closed_doors
    panes = world.layout.panels_near(me.x, me.y, body.view_distance, body.eye, closed)
    ax, ay, bx, by = panes.ends.T
    px = ax - me.x
    py = ay - me.y
    sx = bx - ax
    sy = by - ay
    with np.errstate(divide="ignore", invalid="ignore"):
        cross = dx * sy - dy * sx
        along = (px * sy - py * sx) / cross
        across = (px * dy - py * dx) / cross
    met = (along > 1e-6) & (across >= 0) & (across <= 1)
    far = np.where(met, along, np.inf).min(axis=1, initial=body.view_distance)
    rim = np.stack((me.x + far * dx[:, 0], me.y + far * dy[:, 0]), axis=1)
    return [(me.x, me.y), *((x, y) for x, y in rim.tolist())]


def _title(world: HouseholdWorld, name: str, kind: str) -> str:
    """Return an object's name for the actors, and its id in the scene."""
    called = {
        actor: each for actor in world.actors if (each := world.name(actor, name))
    }
    names = list(dict.fromkeys(called.values()))
    if len(names) < 2:
        return f"{names[0] if names else kind} ({name})"
    return f"{kind} ({', '.join(f'{a}: {n}' for a, n in called.items())}; {name})"


_OBJECTS = ("objects", "lamps")
_PLACES = ("receptacles", "movables", "others")


def _goals(reference: Any, keys: Sequence[str]) -> list[str]:
    """Return the ids that the goals have under some keys; none of those that are many, because any
    of them then counts."""
    goals = [part for each in getattr(reference, "goals", ())
             for part in getattr(each, "dishes", (each,))]  # fmt: skip
    named = [*getattr(reference, "look", ())] if keys == _OBJECTS else []
    for goal in goals:
        for key in keys:
            ids = getattr(goal, key, ())
            named += [
                *(ids if len(ids) <= _MOST_GOALS else ()),
                getattr(goal, key[:-1], ""),
            ]
    return [name for name in named if isinstance(name, str) and name]
