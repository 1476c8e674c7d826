"""Metrics of the grid world: success and reward of the level, and path-weighted success.

The path weight is L* / max(L*, L), as in ALFRED (Shridhar et al. 2020, section 4.3). L* is the
number of low-level actions of the expert (BabyAI's bot, which explores as it goes). L is the number
carried out, including those inside skills and the stop, plus one per turn without an action.
"""

from __future__ import annotations

from typing import Any

from wayword.core.action import Rejection
from wayword.core.dataset import Dataset, Task
from wayword.core.trajectory import Trajectory
from wayword.core.world import World
from wayword.metrics import definitions
from wayword.metrics.scoring import EpisodeScorer, Standing
from wayword.worlds.babyai.world import BabyAIWorld

METRICS = definitions.BABYAI


class BabyAIScorer(EpisodeScorer):
    """Scores the final state of the grid world.

        >>> from wayword.metrics.scoring import scorer
        >>> [metric.key for metric in scorer("babyai").metrics]
        ['sr', 'plw_sr', 'reward', 'low_level']

    The path-weighted metric is left out if the expert does not solve the episode. An episode that
    failed before its end scores 0.
    """

    metrics = METRICS

    def score_episode(
        self,
        dataset: Any,
        task: Task,
        trajectory: Trajectory,
    ) -> dict[str, float]:
        """Return success and counts of an episode."""
        state = trajectory.state
        success = float(bool(state.get("success")))
        rejected = sum(
            isinstance(step.decision, Rejection) for step in trajectory.steps
        )
        length = int(state.get("steps", 0)) + int(state.get("idle", 0)) + rejected
        scores = {
            "sr": success,
            "reward": float(state.get("reward", 0.0)),
            "low_level": float(length),
        }
        best = dataset.expert_length(task)
        if best is not None:
            scores["plw_sr"] = success * best / max(best, length)
        return scores

    def standing(self, dataset: Dataset, task: Task, world: World) -> Standing | None:
        """Return the level's status; each part of a compound instruction is a condition."""
        if not isinstance(world, BabyAIWorld):
            return None
        return Standing(world.level.reward > 0, *world.level.met())


scorer = BabyAIScorer()
