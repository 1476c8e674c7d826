"""Exploration with a grounding model and no language model: frontiers, and random directions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from wayword.agents.search.costmap import CELL, frontiers
from wayword.agents.search.searcher import NextPoint, Searcher, SearchSettings
from wayword.core.agent import Toolkit
from wayword.core.geometry import Point, absolute
from wayword.worlds.objectnav.observation import View

Cells = NDArray[np.intp]
Floats = NDArray[np.float64]
WITHIN = 2.5
"""A frontier is looked at from the nearest place at most this many cells away from it."""
FORGIVES = 2
"""Times that it tries again where it ran into something, once nothing else is left."""
SPENT = 0.3
"""Places this near (metres) to one that was looked around from before show nothing new."""


@dataclass(frozen=True)
class FrontierSettings(SearchSettings):
    """As all searchers; it goes up to what it finds, and searches until it may not go on.

    ``least`` is the fewest cells of a frontier that is gone to, ``pick`` which one: the ``nearest``
    by the way there (Yamauchi 1997), or the ``largest``. Frontiers within ``reach`` metres of a
    full turn are done with.
    """

    approach: bool = True
    turns: int = 0
    resolution: float = 60.0
    least: int = 3
    reach: float = 1.2
    pick: Literal["nearest", "largest"] = "nearest"


class FrontierAgent(Searcher):
    """Goes to where known floor meets the unknown, until the target is grounded (CoW, GoW).

        wayword run frontier --on apartments --set grounding=clip      CoW: CLIP on wheels
        wayword run frontier --on apartments --set grounding=owl       OWL-CoW
        wayword run frontier --on apartments --set grounding=glip      GoW: GLIP on wheels

    With ``grounding=clip``, ``owl`` or ``glip`` it takes the place of CoW, OWL-CoW (Gadre et al.
    2023) and GLIP on Wheels (LGX, Table III), with simulated detectors: see ``detecting``. The
    target is looked for in every view, also on the way. Source of the exploration: Yamauchi 1997.
    """

    Settings: ClassVar[type[FrontierSettings]] = FrontierSettings
    looks_on_the_way: ClassVar[bool] = True

    def __init__(self, settings: FrontierSettings, toolkit: Toolkit) -> None:
        super().__init__(settings, toolkit)
        self._spent: list[Point] = []
        self._forgives = FORGIVES

    async def choose(self, views: Sequence[View]) -> NextPoint | None:
        here = views[-1]
        self._spent.append((here.x, here.y))
        options = self._options()
        if not options and self._forgives > 0:
            self._forgives -= 1
            self.costmap.forget_bumps()
            self.costmap.squeeze()
            options = self._options()
        if not options:
            return None
        best = min(options) if self.settings.pick == "nearest" else options[0]
        self._spent.append(best[1])
        return NextPoint(best[1], f"The {self.settings.pick} of {len(options)} frontiers.")

    def _options(self) -> list[tuple[float, Point]]:
        """The way's length to each frontier that can be reached, and where to look at it from."""
        steps = self.reachable()
        options: list[tuple[float, Point]] = []
        for group in map(
            np.array, frontiers(self.costmap.free, self.costmap.known, self.settings.least)
        ):
            # Where a full turn was made near by, what is still unknown cannot be seen.
            xs, ys = self.costmap.x + group[:, 1] * CELL, self.costmap.y + group[:, 0] * CELL
            kept = np.ones(len(group), dtype=np.bool_)
            for x, y in self._spent:
                kept &= np.hypot(xs - x, ys - y) > self.settings.reach
            if (option := self._nearest(group[kept], steps)) is not None:
                options.append(option)
        return options

    def _nearest(self, group: Cells, steps: Floats) -> tuple[float, Point] | None:
        """The way's length to the nearest place beside a frontier that is not spent, and where."""
        places = np.argwhere(np.isfinite(steps))
        if len(group) < self.settings.least or not len(places):
            return None
        away = np.hypot(
            places[:, :1] - group[:, 0][None, :], places[:, 1:] - group[:, 1][None, :]
        ).min(axis=1)
        beside = places[away <= WITHIN]
        metres = steps[beside[:, 0], beside[:, 1]]
        for n in np.argsort(metres, kind="stable").tolist():
            point = self.costmap.point(*beside[n].tolist())
            if all(math.dist(point, spent) > SPENT for spent in self._spent):
                return float(metres[n]), point
        return None


class WanderAgent(Searcher):
    """Goes in a random direction after each turn, until the target is grounded.

        wayword run wander --on apartments --set grounding=glip

    All else is LGX's: ``turns`` rotations in place, the exploratory distance, the threshold.
    Source: LGX (Dorbala et al. 2024, section V-B), "Random with GLIP".
    """

    async def choose(self, views: Sequence[View]) -> NextPoint | None:
        heading = absolute(self.toolkit.rng.uniform(0.0, 360.0))
        return NextPoint(self.point_towards(heading), f"Any direction: {heading:.0f} degrees.")


agents = {"frontier": FrontierAgent, "wander": WanderAgent}
