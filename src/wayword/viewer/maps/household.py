"""The house of an episode in the household world, step by step, by replaying what was recorded.

A run folder holds actions, and the dataset the house; played again they tell where everything was
at every step, which doors were open, and what lay open to each actor's eyes. Where the replay goes
otherwise than the recording, the house is drawn as it was at first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from wayword.core.errors import WaywordError
from wayword.core.trajectory import Trajectory
from wayword.viewer.data import Sources
from wayword.viewer.maps.drawing import At, Layer, Map, Point, line, outline, rect, room_name
from wayword.viewer.maps.generic import walked
from wayword.viewer.markup import Html, tag
from wayword.worlds.household.house import Actor
from wayword.worlds.household.scene import HouseObject
from wayword.worlds.household.world import HouseholdWorld

RAYS = 41
"""Looks that an actor's view is drawn by."""
_MOST_GOALS = 12
"""Things of the goal that are marked; where any of many will do, marking them says nothing."""


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
class Thing:
    """A small thing where it lay from step ``first`` to step ``last``; nobody held it then."""

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
    things: list[Thing] = field(default_factory=list)
    views: dict[str, dict[int, list[Point]]] = field(default_factory=dict)
    still: bool = False

    def layer(self) -> Layer:
        """The house as what lies beneath the walks."""
        corners = [corner for _, polygon in self.rooms for corner in polygon]
        return Layer(partial(floor, self), corners, self.views, _legend(self))


Placed = tuple[float, float] | None
"""Where a thing lies; None while an actor holds it."""


@dataclass(slots=True)
class _Film:
    """What changed and when: each value with the step from which it held."""

    doors: dict[int, list[tuple[int, bool]]] = field(default_factory=dict)
    things: dict[int, list[tuple[int, Placed]]] = field(default_factory=dict)
    views: dict[str, dict[int, list[Point]]] = field(default_factory=dict)

    def take(self, world: HouseholdWorld, step: int, actor: str = "") -> None:
        """A picture before a step, with what the actor sees whose turn it is."""
        house = world.house
        things, first = house.things, house.things.objects
        for i in range(first, things.first_actor):
            _note(self.doors.setdefault(i, []), step, bool(things.open[i]))
        held = {i for a in house.actors.values() for hand in a.hands for i in things.family(hand)}
        for i, place in enumerate(np.round((things.x, things.y), 3).T[:first].tolist()):
            at = None if i in held else (place[0], place[1])
            _note(self.things.setdefault(i, []), step, at)
        if actor:
            self.views.setdefault(actor, {})[step] = view(world, house.actors[actor])


def _note(told: list[tuple[int, Any]], step: int, value: Any) -> None:
    if not told or told[-1][1] != value:
        told.append((step, value))


def map(trajectory: Trajectory, sources: Sources) -> Map | None:
    """The walks, in the house where the dataset has it; None where no pose has a position."""
    drawn = walked(trajectory, {})
    house = home(trajectory, sources) if drawn else None
    if drawn and house:
        drawn.layer = house.layer()
    return drawn


def home(trajectory: Trajectory, sources: Sources) -> HousePlan | None:
    """The house of an episode, or None where the dataset has none."""
    film, name = _Film(), trajectory.episode_id
    try:
        world = sources.world(name)
        if not isinstance(world, HouseholdWorld):
            return None
        played = sources.played(trajectory, film.take)
        if played is None:
            world.reset(sources.tasks[name].episode)
            film = _Film()
            film.take(world, 1)
    except (WaywordError, LookupError, TypeError, ValueError):
        return None  # the scene is not what the recording says; the page does without
    steps = max(1, len(trajectory.steps))
    return _drawn(played or world, film, steps, sources, trajectory, played is None)


def view(world: HouseholdWorld, me: Actor) -> list[Point]:
    """The corners of what lies open to an actor's eyes, itself first: up to the next wall, shut
    door or tall piece of furniture, or as far as it sees."""
    body, half = me.body, np.radians(me.body.view_angle / 2)
    turns = np.radians(me.heading) + np.linspace(-half, half, RAYS)
    dx, dy = np.sin(turns)[:, None], np.cos(turns)[:, None]
    shut = world.house.things.shut
    panes = world.layout.panes(me.x, me.y, body.view_distance, body.eye, shut)
    ax, ay, bx, by = panes.ends.T
    px, py, sx, sy = ax - me.x, ay - me.y, bx - ax, by - ay
    with np.errstate(divide="ignore", invalid="ignore"):
        cross = dx * sy - dy * sx
        along, across = (px * sy - py * sx) / cross, (px * dy - py * dx) / cross
    met = (along > 1e-6) & (across >= 0) & (across <= 1)
    far = np.where(met, along, np.inf).min(axis=1, initial=body.view_distance)
    rim = np.stack((me.x + far * dx[:, 0], me.y + far * dy[:, 0]), axis=1)
    return [(me.x, me.y), *((x, y) for x, y in rim.tolist())]


def _drawn(
    world: HouseholdWorld,
    film: _Film,
    steps: int,
    sources: Sources,
    trajectory: Trajectory,
    still: bool,
) -> HousePlan:
    scene, goals = world.scene, _goals(sources.reference(trajectory.episode_id))
    drawn = HousePlan(
        [(room.name, room.polygon) for room in scene.rooms],
        [(wall.a, wall.b) for wall in scene.walls],
        views=film.views,
        still=still,
    )
    for i, thing in enumerate(scene.objects):
        small, title = "pickupable" in thing.affordances, _title(world, thing.id, thing.type)
        if not small:
            label = title.partition(" (")[0]
            drawn.boxes.append(FurnitureOutline(label, title, *_corners(thing), thing.id in goals))
            continue
        for first, last, place in _spans(film.things[i], steps):
            if place is not None:
                drawn.things.append(Thing(title, place, thing.id in goals, first, last))
    for i, door in enumerate(scene.doors, len(scene.objects)):
        for first, last, is_open in _spans(film.doors[i], steps):
            title = f"{_title(world, door.id, 'door')}, {'open' if is_open else 'closed'}"
            drawn.leaves.append(Leaf(door.a, door.b, title, is_open, first, last))
    return drawn


def _spans(told: Sequence[tuple[int, Any]], steps: int) -> Iterator[tuple[int, int, Any]]:
    """First and last step of each value; those that nobody was to see are left out."""
    ends = [*(first - 1 for first, _ in told[1:]), steps]
    for (first, value), last in zip(told, ends, strict=True):
        if first <= min(last, steps):
            yield first, last, value


def _corners(thing: HouseObject) -> tuple[Point, Point]:
    half = thing.width / 2, thing.depth / 2
    return (thing.x - half[0], thing.y - half[1]), (thing.x + half[0], thing.y + half[1])


def _title(world: HouseholdWorld, name: str, kind: str) -> str:
    """What the actors came to call it, and its id in the scene."""
    called = {actor: world.name(actor, name) for actor in world.actors}
    names = list(dict.fromkeys(each for each in called.values() if each))
    if len(names) < 2:
        return f"{names[0] if names else kind} ({name})"
    return f"{kind} ({', '.join(f'{a}: {n}' for a, n in called.items() if n)}; {name})"


def _goals(reference: Any) -> set[str]:
    """The ids that the goals speak of; none where they are many, as any one will do then."""
    found: set[str] = set()
    for goal in getattr(reference, "goals", ()):
        for key in ("things", "receptacles", "movables", "lamps"):
            found.update(_ids(getattr(goal, key, ())))
        found.update(_ids((getattr(goal, "thing", ""), getattr(goal, "receptacle", ""))))
    return found if len(found) <= _MOST_GOALS else set()


def _ids(given: Mapping[str, Any] | Sequence[Any]) -> Iterator[str]:
    return (name for name in given if isinstance(name, str) and name)


# The drawing of a house: floors, walls, doors, furniture, things, and what an actor saw.
#
# What changes in the course of an episode is drawn once for each span of steps in which it was so;
# ``data-first`` and ``data-last`` tell the page's script, which shows those of the step at hand.

_LETTER = 5.3
"""Width of a letter of a label, about."""


def floor(home: HousePlan, at: At) -> Html:
    """Everything but those who act."""

    def floor_space(box: FurnitureOutline) -> float:
        return (box.high[0] - box.low[0]) * (box.high[1] - box.low[1])

    parts = [tag("path", d=outline(polygon, at), class_="floor") for _, polygon in home.rooms]
    parts += [
        rect(box.low, box.high, at, _kind("furniture", box.goal), box.title, rx=2)
        for box in sorted(home.boxes, key=floor_space, reverse=True)  # what stands on it, later
    ]
    parts += [line(a, b, at, "wall") for a, b in home.walls]
    for leaf in home.leaves:
        kind = _then("leaf open" if leaf.open else "leaf", leaf.first)
        span = {"data_first": leaf.first, "data_last": leaf.last}
        parts.append(line(leaf.a, leaf.b, at, kind, leaf.title, **span))
    parts += [_thing(thing, at) for thing in home.things]
    parts += [label for box in home.boxes if (label := _label(box, at)) is not None]
    parts += [room_name(name, polygon, at) for name, polygon in home.rooms]
    return tag("g", *parts, class_="house")


def _kind(name: str, goal: bool) -> str:
    return f"{name} goalthing" if goal else name


def _legend(house: HousePlan) -> list[Html]:
    marked = any(box.goal for box in house.boxes) or any(thing.goal for thing in house.things)
    shut = any(not leaf.open for leaf in house.leaves)
    doors = [tag("li", tag("i", class_="k leaf"), "closed door")] if shut else []
    goals = [tag("li", tag("i", class_="k goalthing"), "part of the goal")] if marked else []
    still = [tag("li", "the house as it was at first")] if house.still else []
    return [*doors, *goals, *still]


def _thing(thing: Thing, at: At) -> Html:
    x, y = at(thing.point)
    kind = _then(_kind("thing", thing.goal), thing.first)
    return tag(
        "circle", tag("title", thing.title), cx=x, cy=y, r=4.5 if thing.goal else 2.6,
        class_=kind, data_first=thing.first, data_last=thing.last,
    )  # fmt: skip


def _then(kind: str, first: int) -> str:
    """The classes of what holds for a while; without a script the beginning is shown."""
    return f"{kind} on" if first == 1 else kind


def _label(box: FurnitureOutline, at: At) -> Html | None:
    """The name of furniture with room for it, along its longer side."""
    (x0, y1), (x1, y0) = at(box.low), at(box.high)
    x, y, long = (x0 + x1) / 2, (y0 + y1) / 2, _LETTER * len(box.label) + 2
    upright = y1 - y0 > x1 - x0
    if max(x1 - x0, y1 - y0) < long or min(x1 - x0, y1 - y0) < 9:
        return None
    turn = f"rotate(-90 {x:g} {y:g})" if upright else None
    return tag("text", box.label, x=round(x, 1), y=round(y + 3, 1), transform=turn, class_="label")
