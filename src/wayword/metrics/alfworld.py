"""Metrics of ALFWorld's games: success, as the engine says, in all and by type of task.

Source: ALFWorld (Shridhar et al. 2021), Table 1: success rates by type, and the length of episodes.
"""

from __future__ import annotations

from typing import Any

from wayword.core.dataset import Dataset, Task
from wayword.core.trajectory import Trajectory
from wayword.core.world import World
from wayword.metrics import definitions
from wayword.metrics.scoring import EpisodeScorer, Standing
from wayword.worlds.alfworld.world import GameReference, GameWorld

METRICS = definitions.ALFWORLD
_KEYS = frozenset(metric.key for metric in METRICS)


class AlfworldScorer(EpisodeScorer):
    """Scores the end of a game.

    >>> from wayword.metrics.scoring import scorer
    >>> [metric.key for metric in scorer("alfworld").metrics][:2]
    ['sr', 'sr_pick_and_place_simple']
    """

    metrics = METRICS

    def score_episode(
        self,
        dataset: Any,
        task: Task,
        trajectory: Trajectory,
    ) -> dict[str, float]:
        """Return success, and success in the type of task."""
        success = float(bool((trajectory.state or {}).get("won")))
        scores = {"sr": success}
        if isinstance(task.reference, GameReference):
            key = f"sr_{task.reference.kind}"
            if key in _KEYS:
                scores[key] = success
        return scores

    def standing(self, dataset: Dataset, task: Task, world: World) -> Standing | None:
        """Return whether the game is won; the engine tells nothing of its conditions."""
        if not isinstance(world, GameWorld):
            return None
        won = bool(world.state()["won"])
        return Standing(won, int(won))


scorer = AlfworldScorer()
