"""Random exploration with a grounding model: the "random with GLIP" baseline."""

from __future__ import annotations

from collections.abc import Sequence

from wayword.agents.search.searcher import NextPoint, Searcher
from wayword.core.geometry import absolute
from wayword.worlds.objectnav.observation import View


class WanderAgent(Searcher):
    """Goes in a random direction after each turn, until the target is grounded.

        wayword run wander --on apartments --set grounding=glip

    All else is LGX's: ``turns`` rotations in place, the exploratory distance, the threshold.
    Source: LGX (Dorbala et al. 2024, section V-B), "Random with GLIP".
    """

    async def choose(self, views: Sequence[View]) -> NextPoint | None:
        """Any direction, and a point in it."""
        heading = absolute(self.toolkit.rng.uniform(0.0, 360.0))
        return NextPoint(self.point_towards(heading), f"Any direction: {heading:.0f} degrees.")


agent = WanderAgent
