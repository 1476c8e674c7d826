"""The finding world: a base looks for a thing (object-goal navigation).

    >>> from wayword.core.action import Action
    >>> from wayword.core.episode import Episode
    >>> from wayword.worlds.household.builder import SceneBuilder
    >>> house = SceneBuilder("flat")
    >>> house.room("kitchen", [(0, 0), (4, 0), (4, 3), (0, 3)])
    >>> table = house.furniture("table", 2, 2.5, 1.0, 0.6, 0.8, receptacle="on")
    >>> mug = house.thing("mug", parent=table)
    >>> world = ObjectNavWorld.of(house.build(), {mug: "cat-shaped mug"})
    >>> start = {"x": 2.0, "y": 0.5, "heading": 90.0}
    >>> world.reset(Episode("1", "Find the cat-shaped mug.", "flat", start))
    >>> world.observe("agent").shown
    ()
    >>> world.step("agent", Action("rotate", ("-90",))).status
    'ok'
    >>> [(seen.words, seen.bearing, seen.away) for seen in world.observe("agent").shown]
    [('table', 0.0, 2.0), ('cat-shaped mug', 0.0, 2.0)]
    >>> world.step("agent", Action("goto", ("2", "2.6"))).status
    'blocked'

The world is a :class:`~wayword.worlds.objectnav.base.Base` with rules around it, so the same agents
search in a simulation and with a robot. Actions: ``wayword.worlds.objectnav.base``.

Sources: RoboTHOR (Deitke et al. 2020) for steps, turns and the camera; LGX (Dorbala et al. 2024,
section III) for rotating in place, depth, and going to a chosen point.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from wayword.core.action import STOP, Action, ActionSpace
from wayword.core.dataset import Solvable, Task, listed
from wayword.core.episode import Episode, Json, Reference
from wayword.core.errors import UsageError
from wayword.core.game import ActionPlan, PlanningFailed
from wayword.core.geometry import Point, bearing, relative, unit
from wayword.core.world import Feedback, World
from wayword.worlds.household.scene import HouseObject, Scene
from wayword.worlds.objectnav.base import (
    AHEAD,
    FORMS,
    LISTED,
    Base,
    Moved,
    goto,
    is_motion,
    numbers,
    rotate,
)
from wayword.worlds.objectnav.observation import Camera, View
from wayword.worlds.objectnav.simulated import STEP, SimulatedBase, SimulatedScene

# ObjectNavReference: the answer to an episode of object-goal navigation.


@dataclass(frozen=True, slots=True)
class ObjectNavReference(Reference):
    """What is to be found.

    ``targets`` are the ids of the objects that count, ``path`` the corners of the published
    shortest way (metres, x and y), empty where none is public, and ``shortest`` its length.
    ``within`` is how near to a target one must stop for the challenge's success (metres), and
    ``middles`` are the middles of the targets on the floor (metres), where they are known.
    """

    targets: frozenset[str]
    path: tuple[Point, ...] = ()
    shortest: float | None = None
    within: float = 1.0
    middles: tuple[Point, ...] = ()


# Places from which a thing counts as found.
#
# For references of generated episodes and for the oracle. Places are those on a grid of 0.25 m:
# RoboTHOR's own shortest paths end on it.

GRID = 0.25


def places_to_see(
    place: SimulatedScene, camera: Camera, targets: Collection[str], within: float
) -> list[Point]:
    """The free grid places within so many metres of a target's box that have it in sight."""
    found: list[Point] = []
    for number, thing in enumerate(place.surfaces.things):
        if thing.id not in targets:
            continue
        for x, y in _around(thing, within):
            near = place.ground.at(x, y) and gap(thing, x, y) <= within
            if near and place.sees(camera, x, y, number):
                found.append((x, y))
    return found


def gap(thing: HouseObject, x: float, y: float) -> float:
    """Metres along the floor from a place to the nearest point of a thing's box."""
    wide = max(abs(thing.x - x) - thing.width / 2, 0.0)
    deep = max(abs(thing.y - y) - thing.depth / 2, 0.0)
    return math.hypot(wide, deep)


def _around(thing: HouseObject, within: float) -> list[Point]:
    """The grid places of the square about a thing's box."""
    wide, deep = thing.width / 2 + within, thing.depth / 2 + within
    columns = range(math.ceil((thing.x - wide) / GRID), math.floor((thing.x + wide) / GRID) + 1)
    rows = range(math.ceil((thing.y - deep) / GRID), math.floor((thing.y + deep) / GRID) + 1)
    return [(i * GRID, j * GRID) for j in rows for i in columns]


MENU = ActionSpace(LISTED, accepts=is_motion, forms=FORMS)


class ObjectNavWorld:
    """One base and its search; family ``"objectnav"``.

    ``base`` is what moves and looks. The world's state, ``base.report()`` with the place and
    whether the search was stopped, names what is truly in view at the end: judges read it.
    """

    def __init__(self, base: Base) -> None:
        self.base = base
        self._stopped = False
        self._view: View | None = None

    @staticmethod
    def of(
        scene: Scene, words: Mapping[str, str] | None = None, camera: Camera | None = None
    ) -> ObjectNavWorld:
        """A simulated search in a scene. ``words``: how a person would call an object, by id."""
        return ObjectNavWorld(SimulatedBase(SimulatedScene(scene, words or {}), camera))

    @property
    def read_only(self) -> tuple[object, ...]:
        """What no episode changes, so that copies of the world may share it."""
        return (self.base.place,) if isinstance(self.base, SimulatedBase) else ()

    @property
    def actors(self) -> tuple[str, ...]:
        return ("agent",)

    def reset(self, episode: Episode) -> None:
        """Start an episode. Raises ``DataError`` for a start that is no free place."""
        self.base.start(episode)
        self._stopped, self._view = False, None

    def observe(self, actor: str) -> View:
        if self._view is None:
            self._view = self.base.capture()
        return self._view

    def action_space(self, actor: str) -> ActionSpace:
        return MENU

    def step(self, actor: str, action: Action) -> Feedback:
        """Carry out a motion. Raises ``ValueError`` for any other action."""
        if action not in MENU:
            raise ValueError(f"{action} is not on the menu")
        if action == STOP:
            self._stopped = True
            self.base.stop()
            return Feedback("ok", {"action": "stop"})
        self._view = None
        moved = self._move(action)
        details = {"action": action.name, "metres": moved.metres}
        if moved.reason:
            details["reason"] = moved.reason
        return Feedback(moved.status, details)

    def done(self, actor: str) -> bool:
        return self._stopped

    def pose(self, actor: str) -> Mapping[str, Json]:
        return self.base.pose()

    def state(self) -> Mapping[str, Json]:
        return {**self.base.pose(), **self.base.report(), "stopped": self._stopped}

    def find(
        self, targets: Collection[str], within: float
    ) -> tuple[list[Action], Literal["", "no_target", "out_of_sight", "no_way"]]:
        """A shortest way to where a target is in view within so many metres, facing it; and what
        is wrong where there is none. For oracles, in simulations only."""
        base = self._simulated()
        place = base.place
        if not any(thing.id in targets for thing in place.surfaces.things):
            return [], "no_target"
        goals = places_to_see(place, base.camera, targets, within)
        if not goals:
            return [], "out_of_sight"
        here = base.pose()
        way = place.ground.way((here["x"], here["y"]), goals)
        return (self.walk(way, targets), "") if way else ([], "no_way")

    def walk(self, corners: Sequence[Point], targets: Collection[str]) -> list[Action]:
        """Go along the corners of a way, the first of them being here, then face the target
        nearest to its end. For oracles."""
        base = self._simulated()
        actions = [goto(x, y) for x, y in corners[1:]]
        end = corners[-1]
        things = [o for o in base.place.surfaces.things if o.id in targets]
        if not things:
            return actions
        nearest = min(things, key=lambda thing: gap(thing, *end))
        facing = base.pose()["heading"]
        if len(corners) > 1 and math.dist(corners[-2], end) > 1e-3:
            facing = bearing(corners[-2], end)
        turn = relative(bearing(end, (nearest.x, nearest.y)), facing)
        return [*actions, rotate(turn)]

    def _simulated(self) -> SimulatedBase:
        if not isinstance(self.base, SimulatedBase):
            raise UsageError("only a simulation knows where things truly are")
        return self.base

    def _move(self, action: Action) -> Moved:
        if action == AHEAD:
            here = self.base.pose()
            east, north = unit(here["heading"])
            return self.base.go_to(here["x"] + STEP * east, here["y"] + STEP * north)
        given = numbers(action) or ()
        return self.base.rotate(*given) if action.name == "rotate" else self.base.go_to(*given)


class SolvableSearches(Solvable):
    """Object searches: ``shortest`` leads to the nearest place that has a target in view within the
    reference's distance, ``gold`` along the published way; both end facing a target."""

    solutions: ClassVar[tuple[str, ...]] = ("shortest", "gold")

    def make_plan(self, task: Task, world: World, actor: str, how: str) -> ActionPlan:
        reference = task.reference
        if not isinstance(reference, ObjectNavReference) or not isinstance(world, ObjectNavWorld):
            missing = "path to follow" if how == "gold" else "goal to go to"
            raise UsageError(f"episode {task.episode.id} has no published {missing}")
        found, targets = reference, reference.targets
        if how == "shortest":
            return listed(lambda: [*_found(world, found), STOP])
        return listed(lambda: [*(world.walk(found.path, targets) if found.path else ()), STOP])


def _found(world: ObjectNavWorld, reference: ObjectNavReference) -> list[Action]:
    actions, problem = world.find(reference.targets, reference.within)
    if problem:
        raise PlanningFailed(problem)
    return actions


world = ObjectNavWorld
