"""Searcher: rotate in place, look for the target, go where the strategy chooses, again.

A strategy is a subclass with one method::

    class Mine(Searcher):
        async def choose(self, views: Sequence[View]) -> NextPoint | None:
            point = self.point_towards(views[0].heading)
            return NextPoint(point) if point else None

``choose`` is called after each full turn with its views and says where to go next; None gives up.
What it can use: ``self.target`` (the phrase), ``self.toolkit`` (models, rng, notes),
``self.costmap``, ``self.reachable()``, ``self.point_towards(heading)``, ``self.detector``, and
``lgx.names_around`` and ``lgx.quarters`` for the names and captions of a turn.

The searcher grounds the target in each view of a turn. A score at or above the threshold ends the
search: the agent walks up to the thing if ``approach`` is set, faces it, and stops. If the thing is
not confirmed from close by, the search goes on; in the end the agent goes back to the nearest
sighting and stops there. Notes: ``turn`` (a full turn has ended), ``grounded`` (score, distance),
``not_there`` (what was approached does not look like the target from close up), ``went_back`` (to
the nearest sighting), ``blocked`` (ran into something), ``gave_up`` (it stops without believing
that it found anything).

Source: LGX (Dorbala et al. 2024, section III).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from wayword.agents.search.costmap import (
    CELL,
    ON,
    Costmap,
    Spot,
    distances,
    frontiers,
    shortest,
)
from wayword.core.action import STOP, Action, ActionSpace, Decision, Rejection
from wayword.core.agent import Agent, Toolkit
from wayword.core.episode import Episode
from wayword.core.errors import UsageError
from wayword.core.geometry import (
    Point,
    absolute,
    angles_apart,
    bearing,
    bearings,
    relative,
    string_pull,
)
from wayword.core.perceiver import GroundedRegion, Perceiver
from wayword.core.trajectory import GAVE_UP, GROUNDED, TURN
from wayword.core.world import Feedback
from wayword.perception.detectors import detector_called
from wayword.worlds.objectnav.base import goto, rotate
from wayword.worlds.objectnav.observation import View

# Approach: going up to a thing that was found from afar, until it is seen from near by.
#
# It goes to a reachable place near the thing and faces it. Where the thing cannot be seen from
# there (a shelf's back, a wall between), it tries another place, a few times; where none can be
# reached, it looks around so that the map grows, or goes to the frontier nearest to the thing. An
# approach that is over without having seen the thing from near by leaves ``best``, the nearest
# sighting: a searcher may go back to it.

CLOSE = 1.0
"""Metres to the middle of a thing within which it counts as reached once it is seen: RoboTHOR's
rule, and safe, as the challenge measures to the nearest point of the thing's box."""
AIMS = 3
"""Turns made to face one thing."""
BEST = 0.8
"""Metres to the middle at which places are taken first."""
APART = 0.4
"""A place this near (metres) to one that was tried shows the same."""
MISSES = 3
"""Places tried from which the thing is not seen, before it is given up."""
LOOKS = 1
"""Full turns made to find a way to it."""
DETOURS = 4
RUNS = 30
"""Ways planned in all; bodies that run into things must end somewhere."""


@dataclass(frozen=True, slots=True)
class TargetSighting:
    """Where the target was seen from (metres), the heading to it, and how far its middle was."""

    at: Point
    heading: float
    distance: float


@dataclass(slots=True)
class Aim:
    """Facing one heading. Robots turn inexactly, often by some degrees: after ``AIMS`` turns what
    is left counts as faced, for there might be no end to it."""

    turns: int = AIMS

    def turn(self, view: View, heading: float) -> Action | None:
        """The turn that faces it; None where it is faced as well as can be."""
        off = relative(heading, view.heading)
        if abs(off) < 0.5 or self.turns <= 0:
            return None
        self.turns -= 1
        return rotate(off)


@dataclass(slots=True)
class Approach:
    """One approach to a ``point`` (metres). ``resolution`` is the degrees between captures.

    ``next`` gives one motion after the other, None once it is over. ``tried`` lists the places that
    the thing was faced from; several approaches of one search share it. ``best`` is the nearest
    sighting so far.
    """

    point: Point
    resolution: float
    tried: list[Point] = field(default_factory=list)
    best: TargetSighting | None = None
    _plan: list[Action] = field(default_factory=list)
    _facing: bool = False
    _aim: Aim = field(default_factory=Aim)
    _looks: int = LOOKS
    _detours: int = DETOURS
    _runs: int = RUNS
    _misses: int = 0

    def interrupted(self) -> None:
        """Drop the rest of the plan: the last motion was cut short."""
        self._plan = []

    def next(self, view: View, costmap: Costmap, seen: TargetSighting | None) -> Action | None:
        """The next motion from where ``view`` was taken, the thing being ``seen`` in it or not."""
        if seen is not None:
            if self.best is None or seen.distance < self.best.distance:
                self.best = seen
            if seen.distance <= CLOSE:
                return self._aim.turn(view, seen.heading)
        if self._plan:
            self._aim = Aim()
            return self._plan.pop(0)
        here = (view.x, view.y)
        if self._facing:
            turn = self._aim.turn(view, bearing(here, self.point))
            if turn is not None:
                return turn
            self._facing = False
            self.tried.append(here)
            self._misses += seen is None
        if self._runs <= 0 or self._misses >= MISSES:
            return None
        self._runs -= 1
        self._plan, self._aim = self._planned(view, costmap), Aim()
        return self._plan.pop(0) if self._plan else None

    def _planned(self, view: View, costmap: Costmap) -> list[Action]:
        way = self._to_place(view, costmap)
        if way:
            self._facing = True
            return way
        if self._looks > 0:
            self._looks -= 1
            return [rotate(self.resolution)] * max(1, round(360 / self.resolution))
        if self._detours <= 0:
            return []
        self._detours -= 1
        self._looks = max(self._looks, 1)
        # To the frontier by which the thing is nearest, if the way goes on straight from it.
        steps = distances(costmap.open_, costmap.cell(view.x, view.y)) * CELL
        cells = [c for group in frontiers(costmap.free, costmap.known) for c in group]
        cells = [cell for cell in cells if np.isfinite(steps[cell]) and steps[cell] > 0]
        if not cells:
            return []
        best = min(cells, key=lambda c: steps[c] + math.dist(costmap.point(*c), self.point))
        return way_to(view, costmap, best)

    def _to_place(self, view: View, costmap: Costmap) -> list[Action]:
        """To a place near the thing that was not tried; else nearer to the thing than it is."""
        steps = distances(costmap.open_, costmap.cell(view.x, view.y))
        cells = np.argwhere(np.isfinite(steps))
        xs, ys = costmap.x + cells[:, 1] * CELL, costmap.y + cells[:, 0] * CELL
        away = np.hypot(xs - self.point[0], ys - self.point[1])
        gone = steps[cells[:, 0], cells[:, 1]] * CELL
        fresh = np.ones(len(cells), dtype=np.bool_)
        for x, y in self.tried:
            fresh &= np.hypot(xs - x, ys - y) > APART
        near = fresh & (away <= CLOSE)
        if near.any():
            cost = np.where(near, gone + 4 * np.maximum(away - BEST, 0.0), np.inf)
        else:
            nearer = math.dist(self.point, (view.x, view.y)) - CELL / 2
            fresh &= away <= nearer
            if not fresh.any():
                return []
            cost = np.where(fresh, away + 0.01 * gone, np.inf)
        j, i = cells[int(np.argmin(cost))].tolist()
        return way_to(view, costmap, (j, i))


@dataclass(slots=True)
class Return:
    """Going back to where the target was seen from, and facing it: ``next`` as in an approach."""

    goal: TargetSighting
    _plan: list[Action] = field(default_factory=list)
    _aim: Aim = field(default_factory=Aim)
    _runs: int = 4

    def interrupted(self) -> None:
        self._plan = []

    def next(self, view: View, costmap: Costmap, seen: TargetSighting | None) -> Action | None:
        """The next motion; it ends as soon as the target is seen from as near as before."""
        if seen is not None and seen.distance <= self.goal.distance + CELL:
            return self._aim.turn(view, seen.heading)
        if not self._plan and self._runs > 0:
            self._runs -= 1
            self._plan = way_towards(view, costmap, self.goal.at)
        if self._plan:
            return self._plan.pop(0)
        return self._aim.turn(view, self.goal.heading)


def way_towards(view: View, costmap: Costmap, point: Point) -> list[Action]:
    """Straight runs to the reachable cell nearest to a point; none where that is not nearer than
    the body is, by a cell."""
    steps = distances(costmap.open_, costmap.cell(view.x, view.y))
    cells = np.argwhere(np.isfinite(steps))
    xs, ys = costmap.x + cells[:, 1] * CELL, costmap.y + cells[:, 0] * CELL
    away = np.hypot(xs - point[0], ys - point[1])
    best = int(np.argmin(away + 0.01 * steps[cells[:, 0], cells[:, 1]]))
    if away[best] > math.dist(point, (view.x, view.y)) - CELL / 2:
        return []
    j, i = cells[best].tolist()
    return way_to(view, costmap, (j, i))


def way_to(view: View, costmap: Costmap, cell: tuple[int, int]) -> list[Action]:
    """Straight runs over open cells to a cell; none where there is no way, or it is there."""
    way = shortest(costmap.open_, costmap.cell(view.x, view.y), cell)
    if not way:
        return []
    # Where the body stands off its cell's centre, and nothing is clear from there, the centre is.
    here = costmap.spot(view.x, view.y)
    path: list[Spot] = way if here == way[0] else [here, *way]
    return [goto(*costmap.point(*corner)) for corner in string_pull(path, costmap.clear)[1:]]


def ahead(at: Point, heading: float, metres: float) -> Point:
    """The point so many metres away in a direction."""
    angle = math.radians(heading)
    return at[0] + metres * math.sin(angle), at[1] + metres * math.cos(angle)


# SearchSettings: what every searcher can be set to.


@dataclass(frozen=True)
class SearchSettings:
    """``grounding`` names the detector that looks for the target: ``glip``, ``owl``, ``clip`` or
    ``perfect``, or a network for real pictures (``owlv2:WEIGHTS``). ``quality`` changes numbers of
    a simulated one (``--set quality.recall=0.8``), and ``detector_seed`` draws other errors. A
    score at or above ``grounding_threshold`` (LGX's G_th) counts as found; with ``approach`` the
    searcher then walks up to what it found, else it faces it and stops.

    ``turns`` (n_r) is how often it rotates in place, and chooses where to go, before it gives up:
    after the last choice it goes there, and does not look around again. 0: no limit but the run's
    ``max_steps``. ``resolution`` (r) is the degrees between captures, ``distance`` (e_d) how far it
    goes in a chosen direction, metres. ``radius`` is the body's for planning, metres.
    """

    grounding: str = "glip"
    quality: Mapping[str, float] = field(default_factory=dict)
    detector_seed: int = 0
    grounding_threshold: float = 0.85
    approach: bool = False
    turns: int = 5
    resolution: float = 30.0
    distance: float = 5.0
    radius: float = 0.18

    def __post_init__(self) -> None:
        self.detector()
        if not 1 <= self.resolution <= 360:
            raise UsageError(f"resolution={self.resolution:g} must lie in 1 to 360 degrees")
        if self.turns < 0 or not 0 < self.distance <= 50 or not 0 < self.radius <= 1:
            raise UsageError(
                "turns must not be negative, distance lie in 0 to 50, radius in 0 to 1"
            )

    def detector(self) -> Perceiver:
        return detector_called(self.grounding, self.detector_seed, **self.quality)

    @property
    def captures(self) -> int:
        """Views of a turn: 360 / r. (One more would only repeat the first.)"""
        return max(1, round(360 / self.resolution))


REPLANS = 4
"""Ways to one goal that are tried before the next turn."""
APPROACHES = 4
"""Things approached before the nearest sighting is taken for the target."""
WIDENING = (60.0, 90.0, 135.0, 180.0)
"""Degrees to each side, tried in turn when the field of view holds no cell that can be reached."""


@dataclass(frozen=True, slots=True)
class NextPoint:
    """Where to go next (metres), why, and the rejected answer where a fallback chose."""

    point: Point | None
    thought: str = ""
    fallback_for: Rejection | None = None


class Searcher(Agent):
    """What all searchers share; a strategy says where to go after each turn."""

    Settings: ClassVar[type[SearchSettings]] = SearchSettings
    families: ClassVar[frozenset[str]] = frozenset({"objectnav"})
    ends_itself: ClassVar[bool] = True
    looks_on_the_way: ClassVar[bool] = False
    """Whether the target is also looked for on the way from one turn to the next."""

    def __init__(self, settings: Any, toolkit: Toolkit) -> None:
        self.settings, self.toolkit = settings, toolkit
        self.detector = settings.detector()
        self.eyes: Sequence[Perceiver] = (self.detector,)
        """The detectors it looks with."""
        self.target = ""
        self.costmap = Costmap(0.0, 0.0, settings.radius)
        self.turn = 0
        self._here: View | None = None
        self._views: list[View] = []
        self._plan: list[Action] = []
        self._goal: Point | None = None
        self._traveling = False
        self._replans = 0
        self._approach: Approach | Return | None = None
        self._approached = 0
        self._tried: list[Point] = []
        self._best: TargetSighting | None = None
        self._target_heading: float | None = None
        self._aim = Aim()
        self._blocked_at: Point | None = None
        self._last_free_point: Point = (0.0, 0.0)
        self._backing_off = False
        self._went = True  # to where it starts

    @property
    def here(self) -> View:
        if self._here is None:
            raise UsageError("the searcher has not seen anything yet")
        return self._here

    async def begin(self, episode: Episode) -> None:
        """Read what is looked for: ``extra["target"]``, else the whole instruction."""
        self.target = str(episode.extra.get("target") or episode.instruction)

    @abstractmethod
    async def choose(self, views: Sequence[View]) -> NextPoint | None:
        """Where to go after a full turn; None gives up."""

    async def act(self, observation: View, space: ActionSpace) -> Decision | Rejection:
        self._take_in(observation)
        if self._blocked_at is not None:
            self._blocked_at = None
            if math.dist(self._last_free_point, (observation.x, observation.y)) > ON:
                self._backing_off = True
                return Decision(goto(*self._last_free_point), "Something is in the way.")
        self._backing_off = False
        ending = self._stop_when_found()
        if ending is not None:
            return ending
        if self._traveling:
            action = self._onwards()
            if action is not None:
                return Decision(action)
            # The way has ended: the next turn, if there is one, begins with the present view.
            self._traveling, self._goal, self._views = False, None, [observation]
            if not self.looks_on_the_way and not self._spent_turns():
                self._look(observation)
            ending = self._stop_when_found()
            if ending is not None:
                return ending
        if self._spent_turns():
            return self._give_up("no turns are left")
        if len(self._views) < self.settings.captures:
            return Decision(rotate(self.settings.resolution))
        self.turn += 1
        views, self._views = self._views, []
        self.toolkit.note(TURN, number=self.turn, known=int(self.costmap.known.sum()))
        choice = await self.choose(views)
        if choice is None:
            return self._give_up("there is nowhere left to look")
        self._traveling, self._goal, self._replans = True, choice.point, 0
        action = self._onwards() or rotate(self.settings.resolution)
        return Decision(action, choice.thought, choice.fallback_for)

    def on_feedback(self, decision: Decision | Rejection, feedback: Feedback) -> None:
        """A motion that was cut short marks the cell ahead as blocked, and the way is replanned."""
        if isinstance(decision, Rejection) or feedback.status == "rejected":
            return
        if feedback.ok:
            self._went = decision.action.name != "rotate"
            return
        self.toolkit.note("blocked", status=feedback.status, action=str(decision.action))
        backs_off = self._backing_off
        self._plan, self._backing_off = [], False
        if self._approach is not None:
            self._approach.interrupted()
        if feedback.status == "lost":
            return  # a broken connection says nothing of what is ahead
        if decision.action.name == "goto" and not backs_off:
            x, y = decision.action.arguments
            self._blocked_at = float(x), float(y)

    def _take_in(self, view: View) -> None:
        """Map, views of the turn, and whether the target is there."""
        if self._here is None:
            for eye in self.eyes:
                eye.check_view(view)
            self.costmap = Costmap(view.x, view.y, self.settings.radius)
        self._here = view
        self.costmap.add(view)
        if self._blocked_at is not None:
            # Close the first cell ahead of where the body came to a halt, its last safe one aside.
            heading = bearing((view.x, view.y), self._blocked_at)
            safe = self.costmap.cell(*self._last_free_point)
            for step in (0.4 * CELL, 0.8 * CELL, 1.2 * CELL):
                x, y = ahead((view.x, view.y), heading, step)
                if self.costmap.cell(x, y) != safe:
                    self.costmap.bump(x, y)
                    break
        elif self._went:
            self._last_free_point = view.x, view.y
        self._went = False
        if self._approach is None and self._target_heading is None:
            if not self._traveling:
                self._views.append(view)
            if not self._traveling or self.looks_on_the_way:
                self._look(view)

    def _look(self, view: View) -> None:
        seen = self._seen(view)
        if seen is None:
            return
        self.toolkit.note(
            GROUNDED, score=round(seen.score, 3), distance=seen.distance, turn=self.turn
        )
        heading = absolute(view.heading + seen.bearing)
        self._traveling, self._plan, self._views = False, [], []
        if self.settings.approach and seen.distance is not None:
            point = ahead((view.x, view.y), heading, seen.distance)
            self._approach = Approach(point, self.settings.resolution, self._tried)
            self._approached += 1
        else:
            self._target_heading, self._aim = heading, Aim()

    def _seen(self, view: View) -> GroundedRegion | None:
        """The target's grounding where its score is high enough."""
        seen = self.detector.ground(view, self.target)
        enough = seen is not None and seen.score >= self.settings.grounding_threshold
        return seen if enough else None

    def _stop_when_found(self) -> Decision | None:
        """The stop rule: the next action once the target has been grounded (approach it, face it,
        stop); None while the search goes on."""
        view = self.here
        if self._target_heading is not None:
            turn = self._aim.turn(view, self._target_heading)
            return Decision(turn or STOP, "" if turn else "I see it.")
        if self._approach is None:
            return None
        sighting = self._sighting(view)
        action = self._approach.next(view, self.costmap, sighting)
        if action is not None:
            return Decision(action)
        if isinstance(self._approach, Return) or (sighting and sighting.distance <= CLOSE):
            return Decision(STOP, "I have found it.")
        best = self._approach.best
        if best and (self._best is None or best.distance < self._best.distance):
            self._best = best
        if self._approached >= APPROACHES and self._best is not None:
            return self._go_back()
        self.toolkit.note("not_there", turn=self.turn)
        self._approach, self._views = None, [view]
        self.costmap.squeeze()  # a gap may only have seemed too narrow
        return None

    def _sighting(self, view: View) -> TargetSighting | None:
        """Where the target is in a view, if it is grounded there and its distance is known."""
        seen = self._seen(view)
        if seen is None or seen.distance is None:
            return None
        return TargetSighting(
            (view.x, view.y), absolute(view.heading + seen.bearing), seen.distance
        )

    def _go_back(self) -> Decision:
        assert self._best is not None
        self.toolkit.note("went_back", distance=round(self._best.distance, 3), turn=self.turn)
        self._approach, self._traveling = Return(self._best), False
        action = self._approach.next(self.here, self.costmap, None)
        return Decision(action or STOP, "I go back to where I saw it.")

    def _onwards(self) -> Action | None:
        """The next run of the way to the goal; a new way where something was in the way of the
        last one; None at its end."""
        if self._plan:
            return self._plan.pop(0)
        view, goal = self.here, self._goal
        if goal is None or math.dist(goal, (view.x, view.y)) < 1.5 * CELL:
            return None
        if self._replans >= REPLANS:
            return None
        self._replans += 1
        self._plan = way_towards(view, self.costmap, goal)
        return self._plan.pop(0) if self._plan else None

    def _spent_turns(self) -> bool:
        return bool(self.settings.turns) and self.turn >= self.settings.turns

    def _give_up(self, why: str) -> Decision:
        if self._best is not None:
            return self._go_back()
        self.toolkit.note(GAVE_UP, why=why, turn=self.turn)
        return Decision(STOP, f"I give up: {why}.")

    def reachable(self) -> NDArray[np.float64]:
        """(H, W) metres to each cell of the costmap over open cells; infinite where there is no
        way."""
        start = self.costmap.cell(self.here.x, self.here.y)
        return np.asarray(distances(self.costmap.open_, start) * CELL)

    def point_towards(self, heading: float, width: float | None = None) -> Point | None:
        """A reachable point at the exploratory distance in a direction (absolute degrees).

        One at random of those within ``width`` degrees (the field of view by default) that come
        nearest to the distance; where there is none, the direction is widened. None where
        the body cannot move at all.
        """
        view, steps = self.here, self.reachable()
        cells = np.argwhere(np.isfinite(steps) & (steps > 0))
        dx = self.costmap.x + cells[:, 1] * CELL - view.x
        dy = self.costmap.y + cells[:, 0] * CELL - view.y
        off = angles_apart(bearings(dx, dy), heading)
        away = np.hypot(dx, dy)
        for half in ((width or view.field_of_view) / 2, *WIDENING):
            there = np.flatnonzero((off <= half) & (away >= 2 * CELL))
            if len(there):
                miss = np.abs(away[there] - self.settings.distance)
                best = there[miss <= miss.min() + CELL]
                chosen = cells[best[self.toolkit.rng.randrange(len(best))]]
                return self.costmap.point(*chosen.tolist())
        return None
