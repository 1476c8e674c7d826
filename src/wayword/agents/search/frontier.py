"""Exploration without a language model: to frontiers, or in random directions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from wayword.agents.search.costmap import CELL
from wayword.agents.search.searcher import NextPoint, Searcher, SearchSettings
from wayword.core.agent import Toolkit
from wayword.core.geometry import Point, absolute
from wayword.worlds.objectnav.observation import View

VIEWING_CELLS = 2.5  # maximum distance in cells from which a frontier is viewed
RETRIES = 2  # how often blocked cells are tried again once no frontier is left
# Metres around the place of a full turn, where another one shows nothing new
SPENT_RADIUS = 0.3


@dataclass(frozen=True)
class FrontierSettings(SearchSettings):
    """Settings of the frontier agent, in addition to those of all searchers. By default it
    approaches the target and has no limit on ``turns``.

    ``least``: minimum number of cells of a frontier. ``reach``: frontiers within this distance
    (metres) of a full turn are ignored.
    """

    approach: bool = True
    turns: int = 0
    resolution: float = 60.0
    least: int = 3
    reach: float = 1.2


@dataclass(frozen=True, order=True)
class Frontier:
    """A border of the explored floor.

    ``metres`` of route to the ``point`` to view it from, its ``middle`` and its
    ``width`` in metres. Frontiers are ordered by the route.
    """

    metres: float
    point: Point
    middle: Point = (0.0, 0.0)
    width: float = 0.0


class FrontierAgent(Searcher):
    """Goes to frontiers, where explored floor meets unknown space, until the target is grounded.

        wayword run frontier --on apartments --set grounding=clip      CoW: CLIP on wheels
        wayword run frontier --on apartments --set grounding=owl       OWL-CoW
        wayword run frontier --on apartments --set grounding=glip      GoW: GLIP on wheels

    With simulated detectors, it stands in for CoW, OWL-CoW (Gadre et al. 2023) and GLIP on Wheels
    (LGX, Table III). The target is looked for in every view, also on the way. The nearest frontier
    by route length is next (Yamauchi 1997).
    """

    Settings: ClassVar[type[FrontierSettings]] = FrontierSettings
    looks_en_route = True

    def __init__(self, settings: FrontierSettings, toolkit: Toolkit) -> None:
        super().__init__(settings, toolkit)
        self._viewed_points: list[Point] = []
        self._retries = RETRIES

    async def choose(self, views: Sequence[View]) -> NextPoint | None:
        """Return the next frontier; a narrower body is tried before giving up."""
        current = views[-1]
        self._viewed_points.append((current.x, current.y))
        options = self._options()
        # Gaps that are narrower than the cells of the map
        if not options:
            options = self._options(with_obstacles=True)
        if not options and self._retries > 0:
            self._retries -= 1
            self.costmap.narrow_body(reopen=True)
            options = self._options(with_obstacles=True)
        if not options:
            return None
        best = await self.pick(options)
        if best.point is not None:
            self._viewed_points.append(best.point)
        return best

    async def pick(self, options: Sequence[Frontier]) -> NextPoint:
        """Choose one of the frontiers, of which there is at least one: the nearest."""
        nearest = min(options)
        return NextPoint(nearest.point, f"The nearest of {len(options)} frontiers.")

    def _options(self, with_obstacles: bool = False) -> list[Frontier]:
        """Return the reachable frontiers, each with the nearest point to view it from.

        Points where a full turn was made before are no points to view from. ``with_obstacles``:
        also of cells that contain some.
        """
        places, xs, ys, metres = self.costmap.reachable(self.view.x, self.view.y)
        nearest_first = np.argsort(metres, kind="stable")
        options: list[Frontier] = []
        for group in self.costmap.frontiers(self.settings.least, with_obstacles):
            # Cells near a full turn that are still unknown cannot be seen.
            cells = []
            for cell in group:
                center = self.costmap.point(*cell)
                if self._is_off(center, self.settings.reach):
                    cells.append(cell)
            if len(cells) < self.settings.least:
                continue
            # From each place (rows) to each cell of the frontier, in cells
            gaps = places[:, None] - np.array(cells)[None]
            distances = np.hypot(gaps[..., 0], gaps[..., 1])
            is_close = distances.min(axis=1) <= VIEWING_CELLS
            for n in nearest_first[is_close[nearest_first]]:
                point = float(xs[n]), float(ys[n])
                if self._is_off(point, SPENT_RADIUS):
                    row, column = np.mean(cells, axis=0).round().astype(int)
                    middle = self.costmap.point(int(row), int(column))
                    width = len(cells) * CELL
                    options.append(Frontier(float(metres[n]), point, middle, width))
                    break
        return options

    def _is_off(self, point: Point, metres: float) -> bool:
        """True if a point is farther than ``metres`` from the place of every full turn."""
        return all(math.dist(point, viewed) > metres for viewed in self._viewed_points)


class WanderAgent(Searcher):
    """Goes in a random direction after each turn, until the target is grounded.

        wayword run wander --on apartments --set grounding=glip

    The number of turns, the distance and the threshold are LGX's. Source: LGX (Dorbala et al.
    2024, section V-B), "Random with GLIP".
    """

    async def choose(self, views: Sequence[View]) -> NextPoint | None:
        """Return a point in a random direction."""
        heading = absolute(self.toolkit.rng.uniform(0.0, 360.0))
        return NextPoint(
            self.point_towards(heading),
            f"Any direction: {heading:.0f} degrees.",
        )


agents = {"frontier": FrontierAgent, "wander": WanderAgent}
