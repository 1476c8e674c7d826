"""The house of an episode in the household world, step by step, by replaying what was recorded.

A run folder holds actions, and the dataset the house; replayed they show where everything was
at every step, which doors were open, and what lay open to each actor's eyes. Where the replay goes
otherwise than the recording, the house is drawn as it was at first.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from wayword.core.errors import WaywordError
from wayword.core.trajectory import Trajectory
from wayword.viewer.data import Sources
from wayword.viewer.maps import drawing as draw
from wayword.viewer.maps import walked
from wayword.viewer.maps.drawing import At, Layer, Map, Point
from wayword.viewer.markup import Html, tag
from wayword.worlds.household.house import Actor
from wayword.worlds.household.world import HouseholdWorld

RAYS = 41
"""Looks that an actor's view is drawn by."""
_MOST_GOALS = 12
"""Objects of the goal that are marked; where any of many will do, marking them says nothing."""
_LETTER = 5.3  # width of a letter of a label, about, in the drawing's units


@dataclass(frozen=True, slots=True)
class FurnitureOutline:
    """A piece of furniture, from its south-west to its north-east corner."""

    label: str
    title: str
    low: Point
    high: Point
    goal: bool = False


@dataclass(frozen=True, slots=True)
class Leaf:
    """A door from ``a`` to ``b``, as it was from step ``first`` to step ``last``."""

    a: Point
    b: Point
    title: str
    open: bool
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class SmallObject:
    """Place of an object from step ``first`` to step ``last``; no actor held it then."""

    title: str
    point: Point
    goal: bool
    first: int
    last: int


@dataclass(slots=True)
class HousePlan:
    """A house on paper, metres. ``views`` holds, for each actor and step, the corners of what lay
    open to its eyes before it acted. ``still`` is whether only the beginning is known."""

    rooms: list[tuple[str, tuple[Point, ...]]]
    walls: list[tuple[Point, Point]]
    boxes: list[FurnitureOutline] = field(default_factory=list)
    leaves: list[Leaf] = field(default_factory=list)
    objects: list[SmallObject] = field(default_factory=list)
    views: dict[str, dict[int, list[Point]]] = field(default_factory=dict)
    still: bool = False


def map(trajectory: Trajectory, sources: Sources) -> Map | None:
    """The walks, in the house where the dataset has it; None where no pose has a position."""
    drawn = walked(trajectory)
    house = home(trajectory, sources) if drawn else None
    if drawn and house:
        corners = [corner for _, polygon in house.rooms for corner in polygon]
        legend = []
        if any(not leaf.open for leaf in house.leaves):
            legend.append(("leaf", "closed door"))
        if any(box.goal for box in house.boxes) or any(each.goal for each in house.objects):
            legend.append(("goalthing", "part of the goal"))
        if house.still:
            legend.append(("", "the house at the start"))
        drawn.layer = Layer(partial(_paint, house), corners, house.views, legend)
    return drawn


def home(trajectory: Trajectory, sources: Sources) -> HousePlan | None:
    """The house of an episode, or None where the dataset has none."""
    frames: list[list[tuple[int, Any]]] = []  # doors open or closed, places of objects not held
    views: dict[str, dict[int, list[Point]]] = {}

    def take(world: HouseholdWorld, step: int, actor: str = "") -> None:
        house, state = world.house, world.house.entities
        doors = range(state.objects, state.first_actor)
        held = {
            i for a in house.actors.values() for hand in a.hands for i in state.with_contents(hand)
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
            return None
        played = sources.played(trajectory, take)
        if played is None:
            world.reset(sources.tasks[name].episode)
            frames.clear()
            views.clear()
            take(world, 1)
            frames *= len(trajectory.steps) + 1
    except (WaywordError, LookupError, TypeError, ValueError):
        return None  # the scene is not what the recording says; the page does without
    world, goals = played or world, _goals(sources.reference(name))
    scene = world.scene
    rooms = [(room.name, room.polygon) for room in scene.rooms]
    plan = HousePlan(
        rooms, [(wall.a, wall.b) for wall in scene.walls], views=views, still=played is None
    )
    for each in scene.objects:
        if "pickupable" not in each.affordances:
            title, half = _title(world, each.id, each.type), (each.width / 2, each.depth / 2)
            low = each.x - half[0], each.y - half[1]
            high = each.x + half[0], each.y + half[1]
            label = title.partition(" (")[0]
            plan.boxes.append(FurnitureOutline(label, title, low, high, each.id in goals))
    for (i, value), first, last in sorted(
        draw.spans(frames), key=lambda span: (span[0][0], span[1])
    ):
        if i >= len(scene.objects):
            door = scene.doors[i - len(scene.objects)]
            title = f"{_title(world, door.id, 'door')}, {'open' if value else 'closed'}"
            plan.leaves.append(Leaf(door.a, door.b, title, value, first, last))
        elif "pickupable" in (each := scene.objects[i]).affordances:
            title = _title(world, each.id, each.type)
            plan.objects.append(SmallObject(title, value, each.id in goals, first, last))
    return plan


def view(world: HouseholdWorld, me: Actor) -> list[Point]:
    """The corners of what lies open to an actor's eyes, itself first: up to the next wall, closed
    door or tall piece of furniture, or as far as it sees."""
    body, half = me.body, np.radians(me.body.view_angle / 2)
    turns = np.radians(me.heading) + np.linspace(-half, half, RAYS)
    dx, dy = np.sin(turns)[:, None], np.cos(turns)[:, None]
    closed = world.house.entities.closed_doors
    panes = world.layout.panels_near(me.x, me.y, body.view_distance, body.eye, closed)
    ax, ay, bx, by = panes.ends.T
    px, py, sx, sy = ax - me.x, ay - me.y, bx - ax, by - ay
    with np.errstate(divide="ignore", invalid="ignore"):
        cross = dx * sy - dy * sx
        along, across = (px * sy - py * sx) / cross, (px * dy - py * dx) / cross
    met = (along > 1e-6) & (across >= 0) & (across <= 1)
    far = np.where(met, along, np.inf).min(axis=1, initial=body.view_distance)
    rim = np.stack((me.x + far * dx[:, 0], me.y + far * dy[:, 0]), axis=1)
    return [(me.x, me.y), *((x, y) for x, y in rim.tolist())]


def _title(world: HouseholdWorld, name: str, kind: str) -> str:
    """An object's name among the actors, and its id in the scene."""
    called = {actor: each for actor in world.actors if (each := world.name(actor, name))}
    names = list(dict.fromkeys(called.values()))
    if len(names) < 2:
        return f"{names[0] if names else kind} ({name})"
    return f"{kind} ({', '.join(f'{a}: {n}' for a, n in called.items())}; {name})"


def _goals(reference: Any) -> set[str]:
    """The ids that the goals speak of; none where they are many, as any one will do then."""
    named: list[Any] = [*getattr(reference, "look", ())]
    goals = getattr(reference, "goals", ())
    for goal in (part for each in goals for part in getattr(each, "dishes", (each,))):
        for key in ("objects", "receptacles", "movables", "lamps", "others"):
            if len(ids := getattr(goal, key, ())) <= _MOST_GOALS:
                named += ids
        named += (getattr(goal, "object", ""), getattr(goal, "receptacle", ""))
    return {name for name in named if isinstance(name, str) and name}


def _paint(home: HousePlan, at: At) -> Html:
    """Floors, walls, doors, furniture and small objects."""
    parts = [draw.area(polygon, at, "floor") for _, polygon in home.rooms]
    labels = []

    def size(box: FurnitureOutline) -> float:
        return (box.high[0] - box.low[0]) * (box.high[1] - box.low[1])

    for box in sorted(home.boxes, key=size, reverse=True):  # what stands on another is drawn later
        kind = "furniture goalthing" if box.goal else "furniture"
        parts.append(draw.rect(box.low, box.high, at, kind, box.title, rx=2))
    parts += [draw.line(a, b, at, "wall") for a, b in home.walls]
    for leaf in home.leaves:
        span = draw.during("leaf open" if leaf.open else "leaf", leaf.first, leaf.last)
        parts.append(draw.line(leaf.a, leaf.b, at, title=leaf.title, **span))
    for each in home.objects:
        span = draw.during("thing goalthing" if each.goal else "thing", each.first, each.last)
        parts.append(draw.dot(each.point, at, 4.5 if each.goal else 2.6, title=each.title, **span))
        if each.goal:
            span["kind"] = span["kind"].replace("thing goalthing", "goalname")
            labels.append(draw.goal_name(each.title.partition(" (")[0], each.point, at, **span))
    for box in home.boxes:  # a name where there is room for it, along the longer side
        (x0, y1), (x1, y0) = at(box.low), at(box.high)
        x, y, upright = (x0 + x1) / 2, (y0 + y1) / 2, y1 - y0 > x1 - x0
        short, long = sorted((x1 - x0, y1 - y0))
        if box.goal:
            labels.append(
                draw.goal_name(box.label, ((box.low[0] + box.high[0]) / 2, box.high[1]), at)
            )
        elif short >= 9 and long >= _LETTER * len(box.label) + 2:
            turn = f"rotate(-90 {x:g} {y:g})" if upright else None
            middle = {"x": round(x, 1), "y": round(y + 3, 1)}
            labels.append(tag("text", box.label, **middle, transform=turn, class_="label"))
    names = [draw.room_name(name, polygon, at) for name, polygon in home.rooms]
    return tag("g", *parts, *labels, *names, class_="house")
