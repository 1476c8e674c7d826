"""Searcher: rotates in place, looks for the target, goes where the strategy chooses, and repeats.

A strategy is a subclass with one method::

    class Mine(Searcher):
        async def choose(self, views: Sequence[View]) -> NextPoint | None:
            point = self.point_towards(views[0].heading)
            return NextPoint(point) if point else None

``choose`` gets the views of a full turn and returns the next point, or None to give up. It can use
``self.target`` (the description), ``self.toolkit`` (models, rng, notes), ``self.costmap`` and
``self.detector``; ``lgx.names_around`` and ``lgx.quarter_captions`` list what a turn shows.

If the target's score in a view reaches the threshold, the agent walks up to the object (with
``approach``), faces it, and stops. If the object is not confirmed from close by, the search
continues; in the end the agent goes back to the nearest sighting and stops there, as it does at an
object that it sees from nearby and cannot get closer to. Notes: ``turn``
(end of a full turn), ``grounded`` (score, bearing, distance), ``not_there`` (not confirmed from
close by), ``went_back`` (to the nearest sighting), ``blocked`` (by an obstacle), ``gave_up`` (it
stops without a sighting). Source: LGX (Dorbala et al. 2024, section III).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, cast

import numpy as np
from annotated_types import Ge, Le

from wayword.agents.search.costmap import (
    CELL,
    ON_CELL,
    Cell,
    Costmap,
    Spot,
    distances,
    shortest_route,
)
from wayword.core import geometry
from wayword.core.action import STOP, Action, ActionSpace, Decision, Rejection
from wayword.core.agent import Agent, Toolkit
from wayword.core.episode import Episode
from wayword.core.perceiver import GroundedRegion, Perceiver
from wayword.core.trajectory import GAVE_UP, GROUNDED, NOT_THERE, TURN, WENT_BACK
from wayword.core.world import Feedback
from wayword.perception.detectors import detector_called, target_threshold
from wayword.worlds.objectnav.base import goto, rotate
from wayword.worlds.objectnav.observation import View

REACH = 1.0
"""Metres to the center of a visible object within which it counts as reached: RoboTHOR's rule. It
is safe, because the challenge measures to the nearest point of the object's box."""
CLOSE = 1.5
"""Metres to the center of a visible object within which it counts as confirmed once no reachable
place is closer: the furniture that it lies on may keep the body off."""
MOST_AIM_TURNS = 3  # maximum turns to face one object
BEST_DISTANCE = 0.8  # metres to the object's center from which it is viewed best
# Metres around a place that was tried, within which the view is the same
SAME_PLACE_RADIUS = 0.4
MOST_MISSES = 3  # places tried without seeing the object before it is given up
FULL_TURNS = 1  # full turns to find a route to the object
DETOURS = 4  # frontiers visited for one object, so that a hopeless approach ends
MOST_ROUTES = 30  # routes planned for one object: a body that keeps colliding must stop


@dataclass(frozen=True)
class TargetSighting:
    """A sighting of the target: the viewing ``point`` (metres), and heading and distance to it.

    ``heading`` is absolute, in degrees.
    """

    point: geometry.Point
    heading: float
    distance: float


@dataclass
class Aim:
    """Turns that face one heading. Robots turn inexactly, so the number of turns is limited."""

    turns_left: int = MOST_AIM_TURNS

    def turn(self, view: View, heading: float) -> Action | None:
        """Return the turn that faces the heading, None if it is faced as well as possible."""
        off = geometry.relative(heading, view.heading)
        if abs(off) < 0.5 or self.turns_left <= 0:
            return None
        self.turns_left -= 1
        return rotate(off)


@dataclass
class Approach:
    """Approach to an object at ``point`` (metres).

    The body goes to a reachable place near the object and faces it. If the object is not visible
    from there (a shelf's back, a wall between), it tries another place. If no place can be reached,
    it looks around to extend the map, or goes to the frontier nearest to the object.

    ``resolution`` is the angle between captures (degrees). ``plan`` holds the next motions; the
    searcher clears it after a collision. ``tried_points``: places from which the object was faced,
    in all approaches of a search.
    """

    point: geometry.Point
    resolution: float
    tried_points: list[geometry.Point] = field(default_factory=list)
    nearest_sighting: TargetSighting | None = None
    plan: list[Action] = field(default_factory=list)
    _facing: bool = False
    _aim: Aim = field(default_factory=Aim)
    _turns_left: int = FULL_TURNS
    _detours_left: int = DETOURS
    _routes_left: int = MOST_ROUTES
    _misses: int = 0
    _is_in_view: bool = False  # when the body last faced it

    @property
    def is_confirmed(self) -> bool:
        """True if the object was in view from nearby, and when it was last faced."""
        nearest = self.nearest_sighting
        return nearest is not None and nearest.distance <= CLOSE and self._is_in_view

    def step(
        self, view: View, costmap: Costmap, sighting: TargetSighting | None
    ) -> Action | None:
        """Return the next motion, None at the end.

        ``sighting`` is the object, if it is in ``view``. The caller clears ``plan``
        after a collision; the approach then plans another route, ``MOST_ROUTES`` in
        all.
        """
        if sighting is not None:
            nearest = self.nearest_sighting
            if nearest is None or sighting.distance < nearest.distance:
                self.nearest_sighting = sighting
            if sighting.distance <= REACH:
                return self._aim.turn(view, sighting.heading)
        # A plan is finished first; the next facing starts with all of its turns.
        if self.plan:
            self._aim = Aim()
            return self.plan.pop(0)
        position = (view.x, view.y)
        if self._facing:
            turn = self._aim.turn(view, geometry.bearing(position, self.point))
            if turn is not None:
                return turn
            self._facing = False
            # Recorded even if the target is in view: another route needs another place.
            self.tried_points.append(position)
            self._is_in_view = sighting is not None
            if sighting is None:
                self._misses += 1
        if self._routes_left <= 0 or self._misses >= MOST_MISSES:
            return None
        self._routes_left -= 1
        self.plan = self._plan_motions(view, costmap)
        self._aim = Aim()
        if not self.plan:
            return None
        return self.plan.pop(0)

    def _plan_motions(self, view: View, costmap: Costmap) -> list[Action]:
        """Plan the route to an untried place near the object, else to one closer than
        now, else a full turn, else the route to a frontier.

        Empty if nothing is left to try. Places within ``REACH`` are chosen by the
        metres of the route, plus four for each metre beyond ``BEST_DISTANCE``; farther
        ones by their distance to the object, with the route as a tie-break.
        """
        cells, xs, ys, metres = costmap.reachable(view.x, view.y)
        away_m = np.hypot(xs - self.point[0], ys - self.point[1])
        untried = np.ones(len(cells), dtype=np.bool_)
        for x, y in self.tried_points:
            untried &= np.hypot(xs - x, ys - y) > SAME_PLACE_RADIUS
        candidates = untried & (away_m <= REACH)
        cost = metres + 4 * np.maximum(away_m - BEST_DISTANCE, 0.0)
        # No place within reach: one that is closer than now may show more of the map.
        if not candidates.any():
            own_m = math.dist(self.point, (view.x, view.y))
            candidates = untried & (away_m <= own_m - CELL / 2)
            cost = away_m + 0.01 * metres
        if candidates.any():
            best = cells[int(np.argmin(np.where(candidates, cost, np.inf)))]
            if route := route_to(view, costmap, best):
                self._facing = True
                return route
        if self._turns_left > 0:
            self._turns_left -= 1
            return [rotate(self.resolution)] * max(1, round(360 / self.resolution))
        # No place is closer, and a turn has shown what is around: other rooms show no more.
        if self._detours_left <= 0 or self.is_confirmed:
            return []
        self._detours_left -= 1
        self._turns_left = max(self._turns_left, 1)
        # To the frontier with the shortest route to the object, if straight from the frontier on.
        lengths = distances(costmap.open_, costmap.cell(view.x, view.y)) * CELL
        borders: list[Cell] = []
        # A cell that contains an obstacle is closed to all but a narrow body.
        for group in costmap.frontiers(with_obstacles=True):
            borders += [cell for cell in group if 0 < lengths[cell] < math.inf]
        if not borders:
            return []

        def metres_to_object(cell: Cell) -> float:
            beyond = math.dist(costmap.point(*cell), self.point)
            return float(lengths[cell]) + beyond

        nearest = min(borders, key=metres_to_object)
        return route_to(view, costmap, nearest)


@dataclass
class Return:
    """Return to the place of a sighting, to face the target.

    Has the methods of an :class:`Approach`; ``goal`` is the sighting.
    """

    goal: TargetSighting
    plan: list[Action] = field(default_factory=list)
    _aim: Aim = field(default_factory=Aim)
    _routes_left: int = 4

    def step(
        self, view: View, costmap: Costmap, sighting: TargetSighting | None
    ) -> Action | None:
        """Return the next motion, None once the target is seen from as near as in the sighting.

        If no route leads there, the body faces the heading of the sighting where it is.
        """
        if sighting is not None and sighting.distance <= self.goal.distance + CELL:
            return self._aim.turn(view, sighting.heading)
        if not self.plan and self._routes_left > 0:
            self._routes_left -= 1
            self.plan = route_towards(view, costmap, self.goal.point)
        if self.plan:
            return self.plan.pop(0)
        return self._aim.turn(view, self.goal.heading)


def route_towards(view: View, costmap: Costmap, point: geometry.Point) -> list[Action]:
    """Return the straight runs to the reachable cell nearest to a point.

    Empty if it is less than half a cell nearer than the body.
    """
    cells, xs, ys, metres = costmap.reachable(view.x, view.y)
    x, y = point
    away_m = np.hypot(xs - x, ys - y)
    # Of cells at about the same distance, the one with the shortest route
    best = int(np.argmin(away_m + 0.01 * metres / CELL))
    own_m = math.dist(point, (view.x, view.y))
    if away_m[best] > own_m - CELL / 2:
        return []
    return route_to(view, costmap, cells[best])


def route_to(view: View, costmap: Costmap, cell: Iterable[int]) -> list[Action]:
    """Return the straight runs over open cells to a cell; empty without a route, or at the cell."""
    row, column = cell
    here = costmap.cell(view.x, view.y)
    route = shortest_route(costmap.open_, here, (int(row), int(column)))
    if not route:
        return []
    # Start at the body's exact position, since a straight run from it may not be clear of obstacles
    # although one from the cell's center is.
    start = costmap.spot(view.x, view.y)
    path: list[Spot] = route if start == route[0] else [start, *route]
    return [
        goto(*costmap.point(*corner))
        for corner in geometry.string_pull(path, costmap.is_clear)[1:]
    ]


@dataclass(frozen=True)
class SearchSettings:
    """Settings of all searchers; symbols in parentheses are LGX's.

    ``grounding``: the detector that looks for the target: ``glip``, ``owl``, ``clip`` or
    ``perfect``, or a network for real pictures (``owlv2:WEIGHTS``). ``quality`` changes the
    parameters of a simulated one (``--set quality.recall=0.8``), ``detector_seed`` redraws its
    errors. ``grounding_threshold`` (G_th): minimum score of a target, by default 0.85, or the
    least score that a network with lower ones reports (``owlv2`` 0.1, ``groundingdino`` 0.25).
    ``approach``: walk up to the object that was grounded; otherwise face it and stop.

    ``turns`` (n_r): number of full turns before the agent gives up; after the last one it goes to
    the chosen point without looking around there. 0: no limit except the run's ``max_steps``.
    ``resolution`` (r): angle between captures, degrees. ``distance`` (e_d): metres to go in a
    chosen direction. ``radius``: radius of the body for planning, metres.
    """

    grounding: str = "glip"
    quality: Mapping[str, float] = field(default_factory=dict)
    detector_seed: int = 0
    grounding_threshold: Annotated[float, Ge(0.0), Le(1.0)] | None = None
    approach: bool = False
    turns: Annotated[int, Ge(0)] = 5
    resolution: Annotated[float, Ge(1.0), Le(360.0)] = 30.0
    distance: Annotated[float, Ge(0.1), Le(50.0)] = 5.0
    radius: Annotated[float, Ge(0.01), Le(1.0)] = 0.18

    def __post_init__(self) -> None:
        self.detectors()
        if self.grounding_threshold is None:
            # Recorded as a number: runs keep their threshold if a default changes.
            usual = target_threshold(self.grounding)
            object.__setattr__(self, "grounding_threshold", usual)

    @property
    def least_score(self) -> float:
        """The minimum score of a target."""
        return cast(float, self.grounding_threshold)

    def detectors(self) -> tuple[Perceiver, ...]:
        """Return the detectors that the settings name, the one of the target first."""
        return (detector_called(self.grounding, self.detector_seed, **self.quality),)

    @property
    def captures(self) -> int:
        """The views of a full turn."""
        return max(1, round(360 / self.resolution))


MOST_CANCELLED = 2  # ends of one goal for no reason in view, before one is assumed
REPLANS = 4  # routes to one goal before the next full turn
# Objects approached before the nearest sighting is accepted as the target
APPROACHES = 4
WIDENING = (60.0, 90.0, 135.0, 180.0)
"""Half-widths (degrees) tried in order if no cell in the field of view can be reached."""


@dataclass(frozen=True)
class NextPoint:
    """The next place (metres), the reason, and the rejected answer if it is a fallback for one."""

    point: geometry.Point | None
    thought: str = ""
    fallback_for: Rejection | None = None


class Searcher(Agent):
    """Base of all searchers; a strategy defines :meth:`choose`.

    A search alternates between full turns, whose views ``choose`` gets, and travels to
    the chosen point. A grounded target interrupts it: ``_approach`` is set (or
    ``_target_heading`` without ``approach``) until the object is confirmed or given up.
    """

    Settings = SearchSettings
    families = frozenset({"objectnav"})
    ends_itself = True
    looks_en_route: ClassVar[bool] = False
    """True if the target is also looked for while traveling between two full turns."""

    @classmethod
    def caveats(cls, settings: Any, perceiver: Perceiver | None) -> tuple[str, ...]:
        """Return the caveats of the detectors."""
        caveats: list[str] = []
        for detector in settings.detectors():
            caveats += detector.caveats
        return tuple(caveats)

    @classmethod
    def load_detectors(cls, settings: Any) -> None:
        """Load the weights of the detectors, before a robot waits for them."""
        for detector in settings.detectors():
            detector.load_weights()

    def __init__(self, settings: Any, toolkit: Toolkit) -> None:
        self.settings = settings
        self.toolkit = toolkit
        self.detectors: Sequence[Perceiver] = settings.detectors()
        self.detector = self.detectors[0]
        self.target = ""
        self.turns = 0
        self._taken = 0
        self.costmap = Costmap(0.0, 0.0, settings.radius)
        self.earlier_map: Costmap | None = None
        """The map of the scene's earlier episodes, if it is remembered."""
        self.view: View
        self._has_started = False
        self._views: list[View] = []
        self._plan: list[Action] = []
        self._goal: geometry.Point | None = None
        self._replans = 0
        self._approach_count = 0
        self._approach: Approach | Return | None = None
        self._tried_points: list[geometry.Point] = []
        self._nearest_sighting: TargetSighting | None = None
        self._target_heading: float | None = None
        self._aim = Aim()
        self._blocked_at: geometry.Point | None = None
        self._cancelled: Counter[Action] = Counter()
        self._last_free_point: geometry.Point = (0.0, 0.0)
        self._is_traveling = False
        self._is_backing_off = False
        self._has_moved = True  # to where it starts

    async def begin(self, episode: Episode) -> None:
        """Read the description of the target: the episode's, else its instruction."""
        self.target = str(episode.extra.get("target") or episode.instruction)

    @abstractmethod
    async def choose(self, views: Sequence[View]) -> NextPoint | None:
        """Return the next point after a full turn, None to give up.

        ``views`` are those of the turn, the first one in the heading before it.
        """

    async def act(self, observation: View, space: ActionSpace) -> Decision | Rejection:
        """Return the next motion.

        In this order: back off after a collision, follow the stop rule, travel, turn,
        choose.
        """
        self._take_in(observation)
        if self._blocked_at is not None:
            self._blocked_at = None
            away = math.dist(self._last_free_point, (observation.x, observation.y))
            if away > ON_CELL:
                self._is_backing_off = True
                back = goto(*self._last_free_point)
                return Decision(back, "Something is in the way.")
        self._is_backing_off = False
        if (decision := self._stop_at_target()) is not None:
            return decision
        # The limit applies to turns; a route in progress is still finished.
        no_turns_left = bool(self.settings.turns) and self.turns >= self.settings.turns
        if self._is_traveling:
            if (action := self._next_run()) is not None:
                return Decision(action)
            # The route has ended: the next turn, if there is one, begins with the present view.
            self._is_traveling = False
            self._goal = None
            self._views = [observation]
            if not self.looks_en_route and not no_turns_left:
                self._look_for_target(observation)
            if (decision := self._stop_at_target()) is not None:
                return decision
        if no_turns_left:
            return self._give_up("no turns are left")
        if len(self._views) < self.settings.captures:
            return Decision(rotate(self.settings.resolution))
        self.turns += 1
        views = self._views
        self._views = []
        self.toolkit.note(
            TURN, number=self.turns, known=int(self.costmap.explored.sum())
        )
        choice = await self.choose(views)
        if choice is None:
            return self._give_up("there is nowhere left to look")
        self._is_traveling = True
        self._goal = choice.point
        self._replans = 0
        action = self._next_run() or rotate(self.settings.resolution)
        return Decision(action, choice.thought, choice.fallback_for)

    def actions_left(self) -> int:
        """Return the actions left as prompts state them, 0 if they do not."""
        limit = self.toolkit.max_steps
        if getattr(self.settings, "step_limit", "hidden") == "hidden" or not limit:
            return 0
        return max(1, limit - self._taken)

    def on_feedback(self, decision: Decision | Rejection, feedback: Feedback) -> None:
        """After a collision, clear the route; the next ``act`` marks the cell ahead as blocked."""
        self._taken += 1
        if isinstance(decision, Rejection) or feedback.status == "rejected":
            return
        if feedback.ok:
            self._has_moved = decision.action.name != "rotate"
            return
        self.toolkit.note(
            "blocked", status=feedback.status, action=str(decision.action)
        )
        was_backing_off = self._is_backing_off
        self._plan = []
        self._is_backing_off = False
        if self._approach is not None:
            self._approach.plan = []
        # Neither a broken connection nor another client is an obstacle. A goal that ends again and
        # again is: by one that depth does not show, as of a table above the laser.
        if feedback.status in ("lost", "cancelled"):
            self._cancelled[decision.action] += feedback.status == "cancelled"
            if self._cancelled[decision.action] < MOST_CANCELLED:
                return
        # Only a goto has a cell ahead to close; backing off follows a known free route.
        if decision.action.name == "goto" and not was_backing_off:
            x, y = decision.action.arguments
            self._blocked_at = float(x), float(y)

    def _take_in(self, view: View) -> None:
        """Add a view to the map, mark the cell of a collision, and look for the target.

        At the first view, the detectors check that they can read it.
        """
        if not self._has_started:
            for eye in self.detectors:
                eye.check_view(view)
            self.costmap = self.earlier_map or Costmap(
                view.x, view.y, self.settings.radius
            )
        self._has_started = True
        self.view = view
        self.costmap.add(view)
        if self._blocked_at is not None:
            # Close the first cell ahead of the collision, except the body's last safe cell.
            heading = geometry.bearing((view.x, view.y), self._blocked_at)
            safe = self.costmap.cell(*self._last_free_point)
            for step in (0.4 * CELL, 0.8 * CELL, 1.2 * CELL):
                x, y = geometry.displaced((view.x, view.y), heading, step)
                if self.costmap.cell(x, y) != safe:
                    self.costmap.close_cell(x, y)
                    break
        elif self._has_moved:
            self._last_free_point = view.x, view.y
        self._has_moved = False
        if self._approach is None and self._target_heading is None:
            if not self._is_traveling:
                self._views.append(view)
            if not self._is_traveling or self.looks_en_route:
                self._look_for_target(view)

    def _look_for_target(self, view: View) -> None:
        """Start to approach the target, or to face it, if the view shows it."""
        sighted = self._sighting(view)
        if sighted is None:
            return
        detection, heading = sighted
        self.toolkit.note(
            GROUNDED,
            score=round(detection.score, 3),
            bearing=round(detection.bearing, 1),
            distance=detection.distance,
            turn=self.turns,
        )
        # Travel to a frontier ends here: the target itself is in view.
        self._is_traveling = False
        self._plan = []
        self._views = []
        # Without a distance there is no point to approach: the body only turns to it.
        if self.settings.approach and detection.distance is not None:
            here = (view.x, view.y)
            point = geometry.displaced(here, heading, detection.distance)
            self._approach = Approach(
                point, self.settings.resolution, self._tried_points
            )
            self._approach_count += 1
        else:
            self._target_heading = heading
            self._aim = Aim()

    def _sighting(self, view: View) -> tuple[GroundedRegion, float] | None:
        """Return the target's region and the absolute heading to it; None below the threshold."""
        detection = self.detector.ground(view, self.target)
        if detection is None or detection.score < self.settings.least_score:
            return None
        return detection, geometry.absolute(view.heading + detection.bearing)

    def _stop_at_target(self) -> Decision | None:
        """Return the next action once the target has been grounded; None while the
        search continues.

        The stop rule: approach it, face it, stop. An object that is not confirmed from
        close by is given up, and after ``APPROACHES`` of them the nearest sighting is
        accepted.
        """
        view = self.view
        # Without an approach, facing the target is all that the stop rule asks for.
        if self._target_heading is not None:
            turn = self._aim.turn(view, self._target_heading)
            if turn is None:
                return Decision(STOP, "I see it.")
            return Decision(turn)
        if self._approach is None:
            return None
        sighted = self._sighting(view)
        sighting = None
        if sighted is not None:
            detection, heading = sighted
            if detection.distance is not None:
                here = (view.x, view.y)
                sighting = TargetSighting(here, heading, detection.distance)
        action = self._approach.step(view, self.costmap, sighting)
        if action is not None:
            return Decision(action)
        is_reached = sighting is not None and sighting.distance <= REACH
        if is_reached or isinstance(self._approach, Return):
            return Decision(STOP, "I have found it.")
        best = self._approach.nearest_sighting
        nearest = self._nearest_sighting
        if best and (nearest is None or best.distance < nearest.distance):
            self._nearest_sighting = best
        is_last = self._approach_count >= APPROACHES or self._approach.is_confirmed
        if is_last and self._nearest_sighting is not None:
            return self._go_back(self._nearest_sighting)
        # Not confirmed from close by: the search resumes with the present view.
        self.toolkit.note(NOT_THERE, turn=self.turns)
        self._approach = None
        self._views = [view]
        self.costmap.narrow_body()  # a gap may only have seemed too narrow
        return None

    def _go_back(self, best: TargetSighting) -> Decision:
        """Return the first motion back to the best sighting, where the search ends."""
        self.toolkit.note(WENT_BACK, distance=round(best.distance, 3), turn=self.turns)
        self._approach = Return(best)
        self._is_traveling = False
        action = self._approach.step(self.view, self.costmap, None)
        return Decision(action or STOP, "I go back to where I saw it.")

    def _next_run(self) -> Action | None:
        """Return the next straight run to the goal; None if it is reached or cannot be.

        A goal counts as reached within 1.5 cells, and gets ``REPLANS`` routes.
        """
        view = self.view
        goal = self._goal
        if not self._plan:
            if goal is None or self._replans >= REPLANS:
                return None
            if math.dist(goal, (view.x, view.y)) < 1.5 * CELL:
                return None  # arrived
            self._replans += 1
            self._plan = route_towards(view, self.costmap, goal)
        if not self._plan:
            return None
        return self._plan.pop(0)

    def _give_up(self, why: str) -> Decision:
        """Return to the nearest sighting if there is one; else stop, with a note of the reason."""
        if self._nearest_sighting is not None:
            return self._go_back(self._nearest_sighting)
        self.toolkit.note(GAVE_UP, why=why, turn=self.turns)
        return Decision(STOP, f"I give up: {why}.")

    def point_towards(self, heading: float) -> geometry.Point | None:
        """Return a reachable point at about ``settings.distance`` in a direction
        (absolute degrees).

        It is drawn from the nearest cells in the field of view, which is widened if no
        cell there can be reached. None if the body cannot move.
        """
        view = self.view
        cells, xs, ys, metres = self.costmap.reachable(view.x, view.y)
        angles = geometry.angles_apart(
            geometry.bearings(xs - view.x, ys - view.y), heading
        )
        away_m = np.hypot(xs - view.x, ys - view.y)
        usable = (away_m >= 2 * CELL) & (metres > 0)
        for half_width in (view.field_of_view / 2, *WIDENING):
            candidates = np.flatnonzero((angles <= half_width) & usable)
            if len(candidates):
                error = np.abs(away_m[candidates] - self.settings.distance)
                best = candidates[error <= error.min() + CELL]
                chosen = cells[best[self.toolkit.rng.randrange(len(best))]]
                return self.costmap.point(*chosen.tolist())
        return None
