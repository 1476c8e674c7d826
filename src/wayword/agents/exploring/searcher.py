"""Searcher: rotate in place, look for the target, go where the strategy chooses, again.

A strategy is a subclass with one method::

    class Mine(Searcher):
        async def choose(self, views: Sequence[View]) -> Choice | None:
            return Choice(self.point_towards(views[0].heading))

``choose`` is called after each full turn with its views and says where to go next; None gives up.
What it can use: ``self.target`` (the phrase), ``self.costmap``, ``self.toolkit`` (models, rng,
notes), ``self.detector``, ``self.point_towards(heading)``, ``self.reachable()``, and the views'
detections through ``around``.

The searcher grounds the target in each view. A score from the threshold on ends the search: it
faces the place, goes there first if it is set to, and stops. Notes: ``turn`` (a full turn ended),
``grounded`` (score, distance), ``blocked`` (ran into something), ``gave_up``.

Source: LGX (Dorbala et al. 2024, section III).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from wayword.agents.exploring.costmap import CELL, Costmap
from wayword.agents.exploring.planning import distances, shortest, taut
from wayword.agents.exploring.settings import SearchSettings
from wayword.core.action import STOP, Menu
from wayword.core.agent import Toolkit
from wayword.core.angles import absolute, relative
from wayword.core.decision import Decision, Rejection
from wayword.core.episode import Episode
from wayword.core.errors import UsageError
from wayword.core.world import Feedback, Observation
from wayword.perception.detecting import Grounding
from wayword.worlds.housework.geometry import Point
from wayword.worlds.search.motions import goto, rotate
from wayword.worlds.search.observation import View

NEAR_ENOUGH = 0.7
"""Metres from a found thing at which a searcher that goes there is content."""
REPLANS = 4
"""Ways to one goal that are tried before the next turn."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Where to go next (metres), why, and the rejected answer where a fallback chose."""

    point: Point | None
    thought: str = ""
    fallback_for: Rejection | None = None


class Searcher:
    """What all searchers share; a strategy says where to go after each turn."""

    Settings: ClassVar[type[SearchSettings]] = SearchSettings
    families: ClassVar[frozenset[str]] = frozenset({"objectnav"})
    needs_model: ClassVar[bool] = False
    looks_on_the_way: ClassVar[bool] = False
    """Whether the target is also looked for between turns, on the way to the next one."""

    def __init__(self, settings: Any, toolkit: Toolkit) -> None:
        self.settings, self.toolkit = settings, toolkit
        self.detector = settings.detector()
        self.target = ""
        self.costmap = Costmap(0.0, 0.0, settings.radius)
        self.here: View | None = None
        self.turn = 0
        self._views: list[View] = []
        self._plan: list[Decision] = []
        self._goal: Choice | None = None
        self._found: Point | None = None
        self._final = False
        self._replans = 0
        self._bumped_into: Point | None = None

    async def begin(self, episode: Episode) -> None:
        """Read what is looked for: ``extra["target"]``, else the whole instruction."""
        self.target = str(episode.extra.get("target") or episode.instruction)

    async def choose(self, views: Sequence[View]) -> Choice | None:
        """Where to go after a full turn; None gives up. Strategies implement this."""
        raise NotImplementedError

    async def act(self, observation: Observation, menu: Menu) -> Decision | Rejection:
        if not isinstance(observation, View):
            raise UsageError("searchers act in the finding world only")
        self._take_in(observation)
        if self._plan:
            return self._next()
        if self._final:
            return self._conclude()
        if self._goal is None and len(self._views) < self.settings.captures:
            return Decision(rotate(self.settings.resolution))
        return await self._after_turn()

    def told(self, decision: Decision | Rejection, feedback: Feedback) -> None:
        """A motion that was cut short closes the cell ahead, and the way is planned anew."""
        if isinstance(decision, Rejection) or feedback.ok or feedback.status == "rejected":
            return
        self._plan = []
        self.toolkit.note("blocked", status=feedback.status, action=str(decision.action))
        if decision.action.name == "goto":
            x, y = decision.action.arguments
            self._bumped_into = float(x), float(y)

    def _take_in(self, view: View) -> None:
        """Map, views of the turn, and whether the target is there."""
        first = self.here is None
        if first:
            self.costmap = Costmap(view.x, view.y, self.settings.radius)
        self.here = view
        self.costmap.add(view)
        if self._bumped_into is not None:
            self._close_ahead(view, self._bumped_into)
            self._bumped_into = None
        turning = self._goal is None and not self._final
        if turning:
            self._views.append(view)
        if not self._final and (turning or self.looks_on_the_way):
            self._look(view)

    def _look(self, view: View) -> None:
        seen = self.detector.ground(view, self.target)
        if seen is None or seen.score < self.settings.grounding_threshold:
            return
        self.toolkit.note(
            "grounded", score=round(seen.score, 3), distance=seen.distance, turn=self.turn
        )
        self._final, self._goal, self._views, self._replans = True, None, [], 0
        self._plan = self._approach(view, seen)

    def _approach(self, view: View, seen: Grounding) -> list[Decision]:
        """Go up to what was found, if set to and there is a way; then face it."""
        heading = absolute(view.heading + seen.bearing)
        if not self.settings.approach or seen.distance is None:
            self._found = None
            return _facing(view.heading, heading)
        self._found = _ahead((view.x, view.y), heading, seen.distance)
        return self._way_to_found(view)

    def _way_to_found(self, view: View) -> list[Decision]:
        assert self._found is not None
        if math.dist(self._found, (view.x, view.y)) > NEAR_ENOUGH:
            way = self._way(self._found)
            if way:
                return way
        return _facing(view.heading, _bearing((view.x, view.y), self._found))

    def _conclude(self) -> Decision:
        """Go on towards what was found where something was in the way; face it; stop."""
        view = self.here
        assert view is not None
        if self._found is not None:
            self._replans += 1
            on = self._way_to_found(view) if self._replans <= REPLANS else []
            on = on or _facing(view.heading, _bearing((view.x, view.y), self._found))
            if on:
                self._plan = on
                return self._next()
        return Decision(STOP, "I have found it.")

    def _next(self) -> Decision:
        return self._plan.pop(0)

    async def _after_turn(self) -> Decision | Rejection:
        """The turn or the way is at its end: choose, or look around again."""
        view = self.here
        assert view is not None
        if self._goal is not None:
            if self._wants_another_way(view):
                way = self._way(self._goal.point) if self._goal.point else []
                self._replans += 1
                if way:
                    self._plan = way
                    return self._next()
            self._goal, self._views = None, [view]
            self._look(view)
            if self._final:
                return self._next() if self._plan else self._conclude()
            if self.settings.captures > 1:
                return Decision(rotate(self.settings.resolution))
        self.turn += 1
        views, self._views = self._views, []
        self.toolkit.note("turn", number=self.turn, known=int(self.costmap.known.sum()))
        if self.settings.turns and self.turn >= self.settings.turns:
            return self._give_up("no turns are left")
        choice = await self.choose(views)
        if choice is None:
            return self._give_up("there is nowhere left to look")
        return self._set_out(choice)

    def _set_out(self, choice: Choice) -> Decision:
        self._goal, self._replans = choice, 0
        way = self._way(choice.point) if choice.point else []
        first = way[0].action if way else rotate(self.settings.resolution)
        self._plan = way[1:]
        return Decision(first, choice.thought, choice.fallback_for)

    def _wants_another_way(self, view: View) -> bool:
        goal = self._goal.point if self._goal else None
        near = goal is None or math.dist(goal, (view.x, view.y)) < 1.5 * CELL
        return not near and REPLANS - self._replans > 0

    def _give_up(self, why: str) -> Decision:
        self.toolkit.note("gave_up", why=why, turn=self.turn)
        return Decision(STOP, f"I give up: {why}.")

    def _way(self, to: Point) -> list[Decision]:
        """Straight runs over the costmap to the reachable cell nearest to a point; none where the
        body is there or cannot get nearer."""
        view, costmap = self.here, self.costmap
        assert view is not None
        open_ = costmap.open_
        start = costmap.cell(view.x, view.y)
        steps = distances(open_, start)
        cells = np.argwhere(np.isfinite(steps))
        xs, ys = costmap.x + cells[:, 1] * CELL, costmap.y + cells[:, 0] * CELL
        away = np.hypot(xs - to[0], ys - to[1]) + 0.01 * steps[cells[:, 0], cells[:, 1]]
        j, i = cells[int(np.argmin(away))].tolist()
        if (j, i) == start:
            return []
        way = shortest(open_, start, (j, i))
        corners = taut(open_, way) if way else []
        return [Decision(goto(*costmap.point(*cell))) for cell in corners[1:]]

    def _close_ahead(self, view: View, meant: Point) -> None:
        """Half a cell and a whole cell ahead of where the body came to a halt."""
        heading = _bearing((view.x, view.y), meant)
        here = self.costmap.cell(view.x, view.y)
        for step in (0.6 * CELL, CELL):
            x, y = _ahead((view.x, view.y), heading, step)
            if self.costmap.cell(x, y) != here:
                self.costmap.bump(x, y)
                return

    def reachable(self) -> NDArray[np.float64]:
        """(H, W) metres to each cell of the costmap over open cells; infinite where there is no
        way."""
        view = self.here
        assert view is not None
        start = self.costmap.cell(view.x, view.y)
        return np.asarray(distances(self.costmap.open_, start) * CELL)

    def point_towards(self, heading: float, width: float | None = None) -> Point | None:
        """A reachable point at the exploratory distance in a direction (absolute degrees).

        One at random of those within ``width`` degrees (the field of view by default) that come
        nearest to the distance; where nothing lies there, the direction is opened up. None where
        the body cannot move at all.
        """
        view = self.here
        assert view is not None
        steps = self.reachable()
        cells = np.argwhere(np.isfinite(steps) & (steps > 0))
        if not len(cells):
            return None
        dx = self.costmap.x + cells[:, 1] * CELL - view.x
        dy = self.costmap.y + cells[:, 0] * CELL - view.y
        off = np.abs((np.degrees(np.arctan2(dx, dy)) - heading + 180) % 360 - 180)
        away = np.hypot(dx, dy)
        least = 2 * CELL
        for half in ((width or view.field_of_view) / 2, 60.0, 90.0, 135.0, 180.0):
            there = np.flatnonzero((off <= half) & (away >= least))
            if len(there):
                miss = np.abs(away[there] - self.settings.distance)
                best = there[miss <= miss.min() + CELL]
                chosen = cells[best[self.toolkit.rng.randrange(len(best))]]
                return self.costmap.point(*chosen.tolist())
        j, i = cells[self.toolkit.rng.randrange(len(cells))].tolist()
        return self.costmap.point(j, i)


def _facing(now: float, heading: float) -> list[Decision]:
    turn = relative(heading, now)
    return [Decision(rotate(turn))] if abs(turn) >= 0.5 else []


def _bearing(a: Point, b: Point) -> float:
    return absolute(math.degrees(math.atan2(b[0] - a[0], b[1] - a[1])))


def _ahead(at: Point, heading: float, metres: float) -> Point:
    angle = math.radians(heading)
    return at[0] + metres * math.sin(angle), at[1] + metres * math.cos(angle)
