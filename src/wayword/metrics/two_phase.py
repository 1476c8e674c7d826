"""Metrics of the two-phase test: success, and success in each phase.

Source: LGX (Dorbala et al. 2024), section V-E and Table V. Phase 1 fails if the agent does not go
to the hallway, phase 2 if it goes from there to a room without the target.
"""

from __future__ import annotations

from typing import Any

from wayword.core.dataset import Dataset, Task
from wayword.core.episode import JsonObject
from wayword.core.trajectory import Trajectory
from wayword.core.world import World
from wayword.metrics import definitions
from wayword.metrics.accounting import psr
from wayword.metrics.scoring import EpisodeScorer, Standing
from wayword.worlds.two_phase.world import TwoPhaseReference

METRICS = definitions.TWO_PHASE


class TwoPhaseScorer(EpisodeScorer):
    """Scores the room in which the test ended.

        >>> from wayword.metrics.scoring import scorer
        >>> [metric.key for metric in scorer("two_phase").metrics]
        ['sr', 'phase_1', 'phase_2', 'psr', 'psr_released']

    Agents that ask a model write a note ``asked`` per answer, with ``valid`` true or false.
    """

    metrics = METRICS

    def score_episode(
        self,
        dataset: Any,
        task: Task,
        trajectory: Trajectory,
    ) -> dict[str, float]:
        """Return success, and that of each phase."""
        phases = _phases(task, trajectory.state or {})
        if phases is None:
            return {}
        first, second = phases
        scores = {"sr": float(second), "phase_1": float(first)}
        if first:
            scores["phase_2"] = float(second)
        return {**scores, **psr(trajectory)}

    def standing(self, dataset: Dataset, task: Task, world: World) -> Standing | None:
        """Return the episode's standing, with the two phases as conditions."""
        phases = _phases(task, world.state())
        return None if phases is None else Standing(phases[1], sum(phases), 2)


def _phases(task: Task, state: JsonObject) -> tuple[bool, bool] | None:
    """Return True for each passed phase; None for a reference of another family."""
    if not isinstance(task.reference, TwoPhaseReference):
        return None
    in_hallway = state.get("phase") == 2
    return in_hallway, in_hallway and state.get("place") == task.reference.room


scorer = TwoPhaseScorer()
