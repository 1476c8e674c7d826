"""The object-search world: a base looks for an object (object-goal navigation).

    >>> from wayword.core.action import Action
    >>> from wayword.core.episode import Episode
    >>> from wayword.worlds.household.builder import SceneBuilder
    >>> house = SceneBuilder("flat")
    >>> house.room("kitchen", [(0, 0), (4, 0), (4, 3), (0, 3)])
    >>> table = house.furniture("table", 2, 2.5, 1.0, 0.6, 0.8, receptacle="on")
    >>> mug = house.item("mug", parent=table)
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

The same agents search in simulation and with a real robot.

Sources: RoboTHOR (Deitke et al. 2020) for steps, turns and the camera; LGX (Dorbala et al. 2024,
section III) for rotating in place, depth, and going to a chosen point.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress, product
from typing import Literal

from wayword.core.action import STOP, Action, ActionSpace
from wayword.core.dataset import Dataset, Task, listed
from wayword.core.episode import Episode, JsonObject, Reference
from wayword.core.errors import UsageError
from wayword.core.game import ActionPlan, PlanningFailed
from wayword.core.geometry import Point, bearing, relative, unit
from wayword.core.world import Feedback, World
from wayword.worlds.household.scene import HouseObject, Scene
from wayword.worlds.objectnav.base import (
    LISTED_MOTIONS,
    MOTION_PATTERNS,
    MOVE_AHEAD,
    Base,
    goto,
    is_motion,
    parse_numbers,
    rotate,
)
from wayword.worlds.objectnav.observation import Camera, View
from wayword.worlds.objectnav.simulated import STEP, SimulatedBase, SimulatedScene


@dataclass(frozen=True, slots=True)
class ObjectNavReference(Reference):
    """The goal of an object search, in metres.

    ``targets`` are the ids of the objects that count, ``path`` the corners of the published
    shortest path (empty if unpublished), and ``shortest`` its length. ``within`` is the maximum
    distance to a target in the challenge; ``middles`` are the targets' centers, if known.
    """

    targets: frozenset[str]
    path: tuple[Point, ...] = ()
    shortest: float | None = None
    within: float = 1.0
    middles: tuple[Point, ...] = ()


# Metres between goal positions: RoboTHOR's shortest paths end on this grid.
GRID_SPACING = 0.25


def places_to_see(
    place: SimulatedScene,
    camera: Camera,
    targets: Collection[str],
    max_distance: float,
) -> list[Point]:
    """Return the free grid positions that have a target in sight.

    They are within ``max_distance`` metres of a target's box; ``targets`` are ids of
    objects.
    """
    places: list[Point] = []
    for number, obj in enumerate(place.surfaces.objects):
        if obj.id not in targets:
            continue
        ys = _grid_between(obj.y, obj.depth / 2 + max_distance)
        xs = _grid_between(obj.x, obj.width / 2 + max_distance)
        # The cheap tests first.
        near = [
            (x, y)
            for y, x in product(ys, xs)
            if place.ground.at(x, y) and floor_distance(obj, x, y) <= max_distance
        ]
        places += compress(near, place.sees(camera, near, number))
    return places


def _grid_between(middle: float, half: float) -> list[float]:
    """Return the grid's coordinates from ``middle - half`` to ``middle + half`` metres."""
    first = math.ceil((middle - half) / GRID_SPACING)
    last = math.floor((middle + half) / GRID_SPACING)
    return [number * GRID_SPACING for number in range(first, last + 1)]


def floor_distance(
    obj: HouseObject,
    x: float,
    y: float,
) -> float:
    """Return metres along the floor from a point to the nearest point of an object's box."""
    wide = max(abs(obj.x - x) - obj.width / 2, 0.0)
    deep = max(abs(obj.y - y) - obj.depth / 2, 0.0)
    return math.hypot(wide, deep)


MENU = ActionSpace(
    LISTED_MOTIONS,
    accepts=is_motion,
    forms=MOTION_PATTERNS,
)


class ObjectNavWorld(World):
    """A search with a base; family ``"objectnav"``.

    Its state combines the base's pose and report; judges read from it the objects truly
    in view at the end.
    """

    def __init__(self, base: Base) -> None:
        self.base = base
        self._stopped = False
        self._view: View | None = None

    @staticmethod
    def of(
        scene: Scene,
        words: Mapping[str, str] | None = None,
        camera: Camera | None = None,
    ) -> ObjectNavWorld:
        """Create a simulated search in a scene. ``words``: object id -> description."""
        return ObjectNavWorld(SimulatedBase(SimulatedScene(scene, words or {}), camera))

    @property
    def read_only(self) -> tuple[object, ...]:
        """The scene of a simulated base; a robot has none."""
        return (self.base.place,) if isinstance(self.base, SimulatedBase) else ()

    def reset(self, episode: Episode) -> None:
        """Start an episode. Raises ``DataError`` if its start is not a free position."""
        self.base.start(episode)
        self._stopped = False
        self._view = None

    def observe(self, actor: str) -> View:
        """Return the camera's view. It is captured once after each motion."""
        if self._view is None:
            self._view = self.base.capture()
        return self._view

    def action_space(self, actor: str) -> ActionSpace:
        """Return the motions of a search, the same at every position."""
        return MENU

    def step(self, actor: str, action: Action) -> Feedback:
        """Carry out a motion. Raises ``ValueError`` for any other action.

        The status is that of the base (:class:`MotionResult`); a stop ends the search.
        """
        if action not in MENU:
            raise ValueError(f"{action} is not on the menu")
        if action == STOP:
            self._stopped = True
            self.base.stop()
            return Feedback("ok", {"action": "stop"})
        # Dropped before the motion: even one that fails may change the view.
        self._view = None
        numbers = parse_numbers(action) or ()
        if action == MOVE_AHEAD:
            pose = self.base.pose()
            east, north = unit(pose["heading"])
            moved = self.base.go_to(pose["x"] + STEP * east, pose["y"] + STEP * north)
        elif action.name == "rotate":
            moved = self.base.rotate(*numbers)
        else:
            moved = self.base.go_to(*numbers)
        details = {"action": action.name, "metres": moved.metres}
        if moved.reason:
            details["reason"] = moved.reason
        return Feedback(moved.status, details)

    def done(self, actor: str) -> bool:
        """True once the actor has stopped."""
        return self._stopped

    def pose(self, actor: str) -> JsonObject:
        """Return x and y (metres) and heading (degrees), as estimated by the base."""
        return self.base.pose()

    def state(self) -> JsonObject:
        """Return the pose, the base's report, and if the actor has stopped."""
        return {
            **self.base.pose(),
            **self.base.report(),
            "stopped": self._stopped,
        }

    def find(
        self,
        targets: Collection[str],
        within: float,
    ) -> tuple[list[Action], Literal["", "no_target", "out_of_sight", "no_way"]]:
        """Return the actions along :meth:`path_to` a target that end facing it, and the problem if
        there is no path. For oracles; only in simulations."""
        corners, problem = self.path_to(targets, within)
        if problem:
            return [], problem
        return self.walk(corners, targets), ""

    def path_to(
        self,
        targets: Collection[str],
        within: float,
    ) -> tuple[list[Point], Literal["", "no_target", "out_of_sight", "no_way"]]:
        """Return the corners of a shortest path to where a target is in view, and the problem if
        there is none.

        ``targets`` are ids of objects, ``within`` is the maximum distance to their
        boxes (metres). Only in simulations.
        """
        base = self._simulated_base()
        place = base.place
        if not any(obj.id in targets for obj in place.surfaces.objects):
            return [], "no_target"
        goals = places_to_see(
            place,
            base.camera,
            targets,
            within,
        )
        if not goals:
            return [], "out_of_sight"
        pose = base.pose()
        corners = place.ground.path((pose["x"], pose["y"]), goals)
        if not corners:
            return [], "no_way"
        return corners, ""

    def walk(
        self,
        corners: Sequence[Point],
        targets: Collection[str],
    ) -> list[Action]:
        """Return actions along the corners of a path that end facing the nearest target.

        ``corners`` begin with the body's own position.
        """
        base = self._simulated_base()
        actions = [goto(x, y) for x, y in corners[1:]]
        end = corners[-1]
        objects = [o for o in base.place.surfaces.objects if o.id in targets]
        if not objects:
            return actions
        nearest = min(objects, key=lambda obj: floor_distance(obj, *end))
        facing = base.pose()["heading"]
        if len(corners) > 1 and math.dist(corners[-2], end) > 1e-3:
            facing = bearing(corners[-2], end)
        turn = relative(bearing(end, (nearest.x, nearest.y)), facing)
        return [*actions, rotate(turn)]

    def _simulated_base(self) -> SimulatedBase:
        """Return the base if it is a simulation. Raises ``UsageError`` for a robot."""
        if not isinstance(self.base, SimulatedBase):
            raise UsageError(
                "oracles need a simulation: a robot does not know where objects are"
            )
        return self.base


class SolvableSearches(Dataset):
    """Object searches with solutions.

    ``shortest`` leads to the nearest position with a target in view within the
    reference's distance, ``gold`` along the published path; both end facing a target.
    """

    needs_stop = True

    solutions = ("shortest", "gold")

    def make_plan(
        self,
        task: Task,
        world: World,
        actor: str,
        kind: str,
    ) -> ActionPlan:
        """Return the plan of a solution. Raises ``UsageError`` for a task without a search's goal.

        The plan itself raises ``PlanningFailed`` if no target can be seen or reached, or if no path
        is published.
        """
        reference = task.reference
        if not isinstance(reference, ObjectNavReference) or not isinstance(
            world,
            ObjectNavWorld,
        ):
            missing = "path to follow" if kind == "gold" else "goal to go to"
            raise UsageError(f"episode {task.episode.id} has no published {missing}")
        searches = world
        targets = reference.targets
        path = reference.path

        def shortest() -> list[Action]:
            """Return the actions of a search for the nearest target, and a stop."""
            actions, problem = searches.find(targets, reference.within)
            if problem:
                raise PlanningFailed(problem)
            return [*actions, STOP]

        def gold() -> list[Action]:
            """Return the actions along the published path, and a stop."""
            if not path:
                raise PlanningFailed("no_path")
            return [*searches.walk(path, targets), STOP]

        return listed(shortest if kind == "shortest" else gold)


world = ObjectNavWorld
