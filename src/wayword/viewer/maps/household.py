"""The map of a household episode: the house at each step, from a replay of the record.

The run folder has the actions, and the dataset has the house; the replay shows where each object
was at each step, which doors were open, and what each actor could see. If the replay differs from
the recording, the initial house is drawn.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from wayword.core.geometry import Box, Point, absolute, bearing, inside_polygon, unit
from wayword.core.trajectory import Step, Trajectory
from wayword.metrics.mistakes.household import first_views
from wayword.metrics.recorded import as_mapping
from wayword.runs.diagnosis import UNPLAYABLE
from wayword.viewer.data import Sources
from wayword.viewer.maps import walked
from wayword.viewer.maps.content import (
    Extent,
    Map,
    Shape,
    Waypoint,
    room_label,
    spans,
)
from wayword.worlds.household.goals import (
    OF_OBJECTS,
    AnswerReference,
    Lit,
    Near,
    Restored,
)
from wayword.worlds.household.house import Actor
from wayword.worlds.household.verbs import Body
from wayword.worlds.household.world import HouseholdWorld

FrameItem = tuple[int, Any]
"""An entity's index with True or False for a door that is open or closed, or with (x, y, held)
for an object: metres, and True in an actor's hand."""
START = ("", "the house at the start")
"""In the legend where the recording could not be played again."""
RAYS = 41
"""Looks that an actor's view is drawn by."""
_ON_WALL = 1e-6  # metres: an eye this near to an obstacle stands on it, by rounding
_AHEAD = 0.05  # metres along a look: less than the free floor in front of any wall
_MOST_GOALS = 12
"""Objects of the goal that are marked; where any of many will do, marking them says nothing."""


def map(trajectory: Trajectory, sources: Sources) -> Map | None:
    """Return the walks, in the house if the dataset has it; None if no pose has a position.

    If the replay fails or differs, the house is drawn as at the start, without views.
    """
    drawn = walked(trajectory)
    if drawn is None:
        return None
    # A frame for the state before each step, and one for the end.
    frames: list[list[FrameItem]] = []
    views: dict[str, dict[int, list[Point]]] = {}

    def take(world: HouseholdWorld, step: int, actor: str = "") -> None:
        house = world.house
        entities = house.entities
        doors = range(entities.object_count, entities.first_actor)
        # A held object, and what is in it, is where its actor is.
        held: dict[int, Point] = {}
        for holder in house.actors.values():
            for hand in holder.hands:
                place = (round(holder.x, 3), round(holder.y, 3))
                held |= dict.fromkeys(entities.with_contents(hand), place)
        # To millimetres: positions that differ by rounding alone are one shape.
        rounded = np.round((entities.x, entities.y), 3).T
        places = rounded[: entities.object_count].tolist()
        frame: list[FrameItem] = [(i, bool(entities.open[i])) for i in doors]
        for number, place in enumerate(places):
            x, y = held.get(number, place)
            frame.append((number, (x, y, number in held)))
        frames.append(frame)
        # The view after a step is that of the actor who took it.
        if step > 1:
            mover = trajectory.steps[step - 2].actor
            seen = clipped(view(world, house.actors[mover]), house.layout.bounds)
            views.setdefault(mover, {})[step - 1] = seen

    name = trajectory.episode_id
    try:
        world = sources.world(name)
        if not isinstance(world, HouseholdWorld):
            return drawn
        played = sources.played(trajectory, take)
        # What was taken before the replay failed is dropped; one frame stands for all.
        if played is None:
            world.reset(sources.tasks[name].episode)
            frames.clear()
            views.clear()
            take(world, 1)
            frames *= len(trajectory.steps) + 1
        shown = played or world
        bodies = {actor: shown.house.actors[actor].body for actor in drawn.walks}
    except UNPLAYABLE:
        return drawn  # the scene is not the recording's; the page has no house
    reference = sources.reference(name)
    goal = "goal object"
    # The state at the end: candidates that were not used are not marked.
    state = shown.now()
    goals = dict.fromkeys(_goals(reference, _PLACES, state), "destination")
    goals |= dict.fromkeys(_goals(reference, _OBJECTS, state), "goal-object")
    if isinstance(reference, AnswerReference):
        goal = "not seen"
        goals = _looks(shown, reference, first_views(trajectory))
    drawn.shapes = _shapes(shown, frames, goals)
    drawn.shapes += _arrows(shown, dict(frames[0]), reference)
    drawn.views = views
    for actor, walk in drawn.walks.items():
        routed = []
        for before, after in pairwise(walk):
            route = _route(before, trajectory.steps[after.step - 1], bodies[actor])
            routed.append(replace(after, route=route))
        walk[1:] = routed
    legend = _legend(drawn.shapes, goal)
    if played is None:
        legend.append(START)
    drawn.legend = legend
    return drawn


def _looks(
    world: HouseholdWorld, reference: AnswerReference, seen: Container[str]
) -> dict[str, str]:
    """Return the class of the mark of each object that reveals an answer: seen or missed.

    ``seen`` are the actors' names of objects in view. Once enough were seen, the others
    are not marked.
    """
    looks = {}
    for name in reference.look:
        is_seen = any(world.name(actor, name) in seen for actor in world.actors)
        looks[name] = "looked-at" if is_seen else "goal-object"
    found = [name for name, kind in looks.items() if kind == "looked-at"]
    if 0 < reference.enough <= len(found):
        return dict.fromkeys(found, "looked-at")
    return looks


def _legend(shapes: Sequence[Shape], goal: str) -> list[tuple[str, str]]:
    """Return the signs that occur among the shapes, with ``goal`` as the words for goals."""
    # A kind may have several words, such as "furniture destination".
    kinds = set()
    for shape in shapes:
        kinds.add(shape.kind)
        kinds.update(shape.kind.split()[1:])
    # Goal objects are dots, or frames where they are furniture. The legend shows one sign.
    has_dots = "object goal-object" in kinds
    has_frames = "furniture goal-object" in kinds
    goal_sign = "goal-object" if has_dots else "furniture goal-object"
    if has_dots and has_frames:
        goal += ", dot or frame"
    signs = [
        ("leaf closed", "closed door"),
        ("leaf open", "open door"),
        (goal_sign, goal),
        ("looked-at", "seen"),
        ("destination", "where to"),
        ("carry", "from its first place"),
    ]
    return [sign for sign in signs if sign[0] in kinds]


def _route(before: Waypoint, step: Step, body: Body) -> list[Point]:
    """Return the corners of a high-level action's path, by its low-level actions.

    Empty for other actions, and if the low-level actions do not lead to the recorded
    end.
    """
    x, y = before.point
    heading = before.heading or 0.0
    route: list[Point] = []
    turns = {
        "turn_left": -90.0,
        "turn_right": 90.0,
        "pan_left": -body.pan_degrees,
        "pan_right": body.pan_degrees,
    }
    verbs = step.feedback.details.get("low_level")
    if not isinstance(verbs, list | tuple):
        return []
    last = ""
    for verb in verbs:
        heading = absolute(heading + turns.get(str(verb), 0.0))
        if verb == "move_ahead":
            east, north = unit(heading)
            x = x + body.step * east
            y = y + body.step * north
            if last == verb:
                route.pop()  # only the corners count
            route.append((x, y))
        last = verb
    # Where the actions do not lead to the recorded end, the path is unknown.
    pose = as_mapping(step.pose)
    end = (pose.get("x", x), pose.get("y", y))
    if math.dist((x, y), end) < body.step:
        return route
    return []


def _shapes(
    world: HouseholdWorld, frames: list[list[FrameItem]], goals: Mapping[str, str]
) -> list[Shape]:
    """Return floors, furniture, walls, doors, small objects and room names, in drawing order.

    ``frames`` are those of :func:`map`; ``goals`` maps ids of the scene to the class of
    a mark. Furniture does not move, so it is drawn where the scene has it.
    """
    scene = world.scene
    furniture = []
    doors = []
    objects = []
    # Frames are enough where there are many: the names would cover each other. What was looked at
    # has its name only if nothing was missed.
    kinds = Counter(goals.values())
    unnamed = {kind for kind, number in kinds.items() if number > _MOST_GOALS}
    if "goal-object" in kinds:
        unnamed.add("looked-at")
    for item in scene.objects:
        if "pickupable" in item.affordances:
            continue
        title = _title(world, item.id, item.type)
        extent = Extent.around((item.x, item.y), item.width, item.depth)
        kind = "furniture"
        if item.id in goals:
            kind = f"furniture {goals[item.id]}"
        label = title.partition(" (")[0]
        if goals.get(item.id) in unnamed:
            label = ""
        furniture.append(Shape("rect", extent.corners, kind, title, label))

    def area(box: Shape) -> float:
        (west, south), (east, north) = box.points
        return (east - west) * (north - south)

    # What stands on another piece is drawn later.
    furniture.sort(key=lambda box: -area(box))

    def entity_and_time(span: tuple[FrameItem, int, int]) -> tuple[int, int]:
        item, first, _ = span
        return item[0], first

    # In this order, shapes do not depend on when a span ended.
    shown = sorted(spans(frames), key=entity_and_time)
    for (i, value), first, last in shown:
        # Doors are numbered after the objects.
        if i >= len(scene.objects):
            door = scene.doors[i - len(scene.objects)]
            state = "open" if value else "closed"
            title = f"{_title(world, door.id, 'door')}, {state}"
            leaf = Shape(
                "line",
                (door.a, door.b),
                f"leaf {state}",
                title,
                first=first,
                last=last,
            )
            doors.append(leaf)
            continue
        item = scene.objects[i]
        if "pickupable" not in item.affordances:
            continue
        title = _title(world, item.id, item.type)
        x, y, is_held = value
        kind = "object"
        label = ""
        size = 2.6
        # Radii are in units of the drawing. A goal is larger, and has its name next to it.
        if item.id in goals:
            kind = f"object {goals[item.id]}"
            label = title.partition(" (")[0]
            if is_held:
                label += " (held)"
            size = 4.5
        dot = Shape(
            "dot",
            [(x, y)],
            kind,
            title,
            label,
            size,
            first,
            last,
        )
        objects.append(dot)
    floors = [Shape("area", room.polygon, "floor") for room in scene.rooms]
    walls = [Shape("line", (wall.a, wall.b), "wall") for wall in scene.walls]
    names = [room_label(room.name, room.polygon) for room in scene.rooms]
    return [*floors, *furniture, *walls, *doors, *objects, *names]


def _arrows(
    world: HouseholdWorld, places: Mapping[int, Any], reference: Any
) -> list[Shape]:
    """Return an arrow for each object to be restored, from its first place to the required one.

    ``places`` are the points of objects by index. An object that only has to be opened
    or closed has none.
    """
    arrows = []
    index = world.layout.index
    for goal in getattr(reference, "goals", ()):
        if not isinstance(goal, Restored) or not (goal.receptacle or goal.at):
            continue
        start = places.get(index[goal.object], ())[:2]
        end = goal.at
        if goal.receptacle:
            receptacle = world.scene.objects[index[goal.receptacle]]
            end = (receptacle.x, receptacle.y)
            size = (receptacle.width, receptacle.depth)
            if start and Extent.around(end, *size).contains(start):
                continue
        if start and end:
            arrow = Shape("arrow", (start, end), "carry", size=bearing(start, end))
            arrows.append(arrow)
    return arrows


def clipped(rim: Sequence[Point], box: Box) -> list[Point]:
    """Return the corners of a view, the camera first, without what lies outside of a box.

    Beyond the rooms nothing is drawn, and the view would shrink the map.
    """
    camera = rim[0]
    corners = [camera]
    for corner in rim[1:]:
        share = 1.0  # of the ray from the camera
        for axis in (0, 1):
            start = camera[axis]
            way = corner[axis] - start
            end = box[axis + 2] if way > 0 else box[axis]
            if way:
                share = min(share, max(0.0, (end - start) / way))
        x, y = (camera[axis] + share * (corner[axis] - camera[axis]) for axis in (0, 1))
        corners.append((x, y))
    return corners


def view(world: HouseholdWorld, me: Actor) -> list[Point]:
    """Return the corners of an actor's view, its position first, up to the next obstacle.

    Points are in metres. Obstacles are walls, closed doors and furniture higher than
    the eye; without one, a look ends at the body's ``view_distance``.
    """
    body = me.body
    half = np.radians(body.view_angle / 2)
    turns = np.radians(me.heading) + np.linspace(-half, half, RAYS)
    dx = np.sin(turns)[:, None]
    dy = np.cos(turns)[:, None]
    # Walls, closed doors and furniture higher than the eye.
    panes = world.layout.panels_near(
        me.x,
        me.y,
        body.view_distance,
        body.eye,
        world.house.entities.closed_doors,
    )
    ax, ay, bx, by = panes.ends.T
    px = ax - me.x
    py = ay - me.y
    sx = bx - ax
    sy = by - ay
    # Where each look (rows) crosses the line of each obstacle (columns): metres along the look, and
    # the part of the obstacle's length. Parallels give no number, and meet nowhere.
    with np.errstate(divide="ignore", invalid="ignore"):
        cross = dx * sy - dy * sx
        along = (px * sy - py * sx) / cross
        across = (px * dy - py * dx) / cross
    # Rounding may put the eye itself on an obstacle; it would hide everything.
    is_across = (across >= 0) & (across <= 1)
    met = is_across & (along > _ON_WALL)
    blocked_at = np.where(met, along, np.inf)
    far = blocked_at.min(axis=1, initial=body.view_distance)
    # From an outer wall only the looks into a room see something.
    on_wall = is_across & (np.abs(along) <= _ON_WALL)
    for look in np.flatnonzero(on_wall.any(axis=1)):
        x = me.x + _AHEAD * dx[look, 0]
        y = me.y + _AHEAD * dy[look, 0]
        if not any(inside_polygon(x, y, r.polygon) for r in world.scene.rooms):
            far[look] = 0.0
    xs = me.x + far * dx[:, 0]
    ys = me.y + far * dy[:, 0]
    rim = zip(xs.tolist(), ys.tolist(), strict=True)
    return [(me.x, me.y), *rim]


def _title(world: HouseholdWorld, name: str, kind: str) -> str:
    """Return an object's name for the actors, and its id in the scene.

    Actors may know an object by different names; then each is given with its actor. One
    that no actor has seen has its kind instead.
    """
    called = {}
    for actor in world.actors:
        actor_name = world.name(actor, name)
        if actor_name:
            called[actor] = actor_name
    names = list(dict.fromkeys(called.values()))
    if not names:
        return f"{kind} ({name})"
    if len(names) == 1:
        return f"{names[0]} ({name})"
    listed = ", ".join(f"{actor}: {known}" for actor, known in called.items())
    return f"{kind} ({listed}; {name})"


_OBJECTS = ("objects", "lamps")
_PLACES = ("receptacles", "movables", "others")
# Conditions of which any candidate will do; other families have conditions of their own
_CHOICES = (*OF_OBJECTS, Lit, Near)


def _goals(reference: Any, keys: Sequence[str], state: Any) -> list[str]:
    """Return the ids that the goals have under some keys, ``_OBJECTS`` or ``_PLACES``.

    Left out are lists of more than ``_MOST_GOALS`` objects, because any of them then
    counts, and of a goal that is met in ``state`` the candidates that do not count for it.
    """
    goals: list[Any] = []
    for goal in getattr(reference, "goals", ()):
        # A meal is a goal for each part of its dishes.
        goals += getattr(goal, "singles", (goal,))
    named: list[Any] = []
    if keys == _OBJECTS:
        named += getattr(reference, "look", ())
    for goal in goals:
        for key in keys:
            ids = getattr(goal, key, ())
            if isinstance(goal, _CHOICES) and goal.met(state) == goal.parts:
                # One that counts does so as the only candidate, too.
                ids = [each for each in ids if _alone(goal, key, each).met(state)]
            if len(ids) <= _MOST_GOALS:
                named += ids
            named.append(getattr(goal, key[:-1], ""))  # a single one: ``receptacle``
    return [name for name in named if isinstance(name, str) and name]


def _alone(goal: Any, key: str, candidate: str) -> Any:
    """Return a goal with a single candidate under a key."""
    return replace(goal, **{key: (candidate,)})
