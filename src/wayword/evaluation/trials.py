"""Trials: how often an episode was tried, and how much of the answer the agent was told.

An agent that learns (Reflexion) may play an episode again after a trial that failed. Its family's
metrics judge the last trial alone, so its SR is the share of episodes solved within so many trials.
That is no SR of an agent that tries once: the judge who ends the trials at a success gives away a
bit each time, and where the task is a question, "wrong" is half of the answer to a yes or no. So
such runs say how many trials they had, how many verdicts they were told, and what the first trial
alone would have scored.

Source: Reflexion (Shinn et al. 2023), section 3; the accounting of verdicts is our own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from wayword.core.dataset import Dataset, Task
from wayword.core.errors import UsageError
from wayword.core.rollout import Judge
from wayword.core.trajectory import Trajectory
from wayword.evaluation.metric import Metric

if TYPE_CHECKING:
    from wayword.evaluation.scorer import Pair, Scorer

SUCCESS = ("sr", "tc")
"""The metrics that say whether an episode was solved, one of each family."""

METRICS: tuple[Metric, ...] = (
    Metric("sr_first", "1st trial", "rate", "higher", "success on the first trial"),
    Metric("trials", "Trials", "count", "lower", "trials played; the last one is scored"),
    Metric(
        "verdicts",
        "Verdicts",
        "count",
        None,
        "trials after which the judge told whether they had succeeded, so ending them or not",
    ),
)


def judge(own: Scorer, dataset: Dataset) -> Judge:
    """Whether a trial succeeded, by the family's own metric; see :func:`.scorer.judge`."""

    def succeeded(task: Task, trial: Trajectory) -> bool:
        (found,) = _successes(own, dataset, [(task, trial)])
        if found is None:
            raise UsageError(
                f"episode {task.episode.id}: nothing here tells whether a trial succeeded; "
                "set verdict=self or verdict=none"
            )
        return found > 0.5

    return succeeded


def measure(own: Scorer, dataset: Dataset, pairs: Sequence[Pair]) -> list[dict[str, float]]:
    """The metrics of each pair; none where there could be but one trial."""
    tried = [n for n, (_, trajectory) in enumerate(pairs) if _has_trials(trajectory)]
    firsts = [(task, trajectory.trials()[0]) for task, trajectory in (pairs[n] for n in tried)]
    found: list[dict[str, float]] = [{} for _ in pairs]
    for n, first in zip(tried, _successes(own, dataset, firsts), strict=True):
        trials = pairs[n][1].trials()
        told = [t for t in trials if t.verdict is not None and t.verdict.succeeded is not None]
        found[n] = {} if first is None else {"sr_first": first}
        found[n] |= {"trials": len(trials), "verdicts": len(told)}
    return found


def _has_trials(trajectory: Trajectory) -> bool:
    """Whether there could have been another trial than the one that is scored."""
    return bool(trajectory.earlier) or trajectory.verdict is not None


def _successes(own: Scorer, dataset: Dataset, pairs: Sequence[Pair]) -> list[float | None]:
    """Each trial's success, None where it cannot be judged."""
    scores = own.score(dataset, pairs) if pairs else []
    return [next((one[key] for key in SUCCESS if key in one), None) for one in scores]
