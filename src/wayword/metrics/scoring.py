"""Scorer: the metrics of one family, and everything that an episode is scored by.

``metrics/indoor.py`` scores the family ``indoor``: the module's attribute ``scorer``. A family from
outside the tree brings its own: see :class:`~wayword.core.world.Family`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from typing import Protocol, runtime_checkable

from wayword.core import registry
from wayword.core.dataset import Dataset, Task
from wayword.core.errors import UsageError
from wayword.core.metric import Metric
from wayword.core.rollout import Judge
from wayword.core.trajectory import Trajectory
from wayword.core.world import Family, World
from wayword.metrics import accounting, state_accuracy

# Trials: how often an episode was tried, and how much of the answer the agent was shown.
#
# An agent that learns (Reflexion) may play an episode again after a trial that failed. Its
# family's metrics judge the last trial alone, so its SR is the share of episodes solved within that
# many trials. That is no SR of an agent that tries once: the judge who ends the trials at a
# success gives away a bit each time, and where the task is a question, "wrong" is half of the
# answer to a yes or no. So such runs say how many trials they had, how many verdicts they were
# shown, and what the first trial alone would have scored.
#
# Source: Reflexion (Shinn et al. 2023), section 3; the accounting of verdicts is our own.

TRIAL_METRICS: tuple[Metric, ...] = (
    Metric("sr_first", "1st trial", "rate", "higher", "success on the first trial"),
    Metric("trials", "Trials", "count", "lower", "trials played; the last one is scored"),
    Metric("verdicts", "Verdicts", "count", None,
           "trials whose outcome the judge revealed, and so ended them or not"),
)  # fmt: skip


def measure_trials(by: Scorer, dataset: Dataset, pairs: Sequence[Pair]) -> list[dict[str, float]]:
    """The metrics of each pair; none where there could be but one trial."""
    tried = [n for n, (_, last) in enumerate(pairs) if last.earlier or last.verdict is not None]
    firsts = [(task, trajectory.trials()[0]) for task, trajectory in (pairs[n] for n in tried)]
    rows: list[dict[str, float]] = [{} for _ in pairs]
    for n, first in zip(tried, _successes(by, dataset, firsts), strict=True):
        trials = pairs[n][1].trials()
        verdicts = [trial.verdict for trial in trials if trial.verdict is not None]
        judged = sum(verdict.succeeded is not None for verdict in verdicts)
        rows[n] = {} if first is None else {"sr_first": first}
        rows[n] |= {"trials": len(trials), "verdicts": judged}
    return rows


def _successes(by: Scorer, dataset: Dataset, pairs: Sequence[Pair]) -> list[float | None]:
    """Each trial's success, None where it cannot be judged."""
    scores = by.score(dataset, pairs) if pairs else []
    return [one.get(dataset.family.success) for one in scores]


Pair = tuple[Task, Trajectory]
"""An episode with its answer, and what an agent did in it."""


def walked_places(task: Task, trajectory: Trajectory, key: str) -> list[str]:
    """The places of a walk, one entry a step; ``key`` names a place in a pose.

    An episode that failed before its world was ready never left its start.
    """
    if not trajectory.start:
        return [task.episode.start[key]]
    moved = [step.pose[key] for step in trajectory.steps if step.actor == "agent"]
    return [trajectory.start["agent"][key], *moved]


@runtime_checkable
class Scorer(Protocol):
    """Judges finished trajectories of one family."""

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """The family's own metrics, in the order tables show them."""
        ...

    def score(self, dataset: Dataset, pairs: Sequence[Pair]) -> list[dict[str, float]]:
        """The family's metrics of each pair, in order: many at once, so that it can be fast."""
        ...


@runtime_checkable
class PlaceScorer(Protocol):
    """A scorer that can also score places alone, without any action."""

    def illegal_moves(self, dataset: Dataset, task: Task, places: Sequence[str]) -> int:
        """Number of moves no actor can make; a start elsewhere than the episode's counts as one.

        Raises ``KeyError`` for a place that the scene does not have.
        """
        ...


@dataclass(frozen=True, slots=True)
class Standing:
    """State of an unfinished episode: what it would be worth if it ended here.

    ``success`` is by the family's metric; ``met`` of ``parts`` goal conditions hold. ``distance``:
    what is still to go, in ``unit`` (``m``; ``links`` of a street graph), None where the family has
    no such distance.
    """

    success: bool
    met: int
    parts: int = 1
    distance: float | None = None
    unit: str = "m"


@runtime_checkable
class Judged(Protocol):
    """A scorer that can also judge an episode before it ends."""

    def standing(self, dataset: Dataset, task: Task, world: World) -> Standing | None:
        """The episode's standing; None where its answer is not public."""
        ...


@runtime_checkable
class Clustered(Protocol):
    """A scorer of a family whose episodes are not independent of each other."""

    @property
    def clustered(self) -> str:
        """Name of what episodes of a cluster share: ``"path"``, ``"scene"``."""
        ...

    def cluster(self, episode_id: str) -> Hashable:
        """The cluster of an episode; intervals resample whole clusters."""
        ...


class SuccessScorer:
    """The scorer of a family that has none: its datasets judge success."""

    def __init__(self, family: Family) -> None:
        self._key = family.success
        self.metrics = (Metric(self._key, self._key.upper(), "rate", "higher", "episodes solved"),)

    def score(self, dataset: Dataset, pairs: Sequence[Pair]) -> list[dict[str, float]]:
        """The success of each pair; nothing for one that cannot be judged."""
        judged = [dataset.succeeded(task, trajectory) for task, trajectory in pairs]
        return [{} if success is None else {self._key: float(success)} for success in judged]


def scorer(family: Family | str) -> Scorer:
    """The scorer of a family, or of that name. Raises ``UsageError`` for something else."""
    resolved: Family = registry.load("family", family) if isinstance(family, str) else family
    return _in_tree(resolved.name) if resolved.scorer is None else _checked(resolved)


def success_of(family: str) -> str:
    """The key of a family's metric of success; ``sr`` for a family that is not known here."""
    registered = family in registry.names("family")
    return str(registry.load("family", family).success) if registered else "sr"


@cache  # asked for once an episode
def _in_tree(name: str) -> Scorer:
    return _checked(Family(name))


def _checked(family: Family) -> Scorer:
    checked = family.part("scorer") or SuccessScorer(family)
    if not isinstance(checked, Scorer):
        raise UsageError(f"the scorer of the family {family.name!r} must have metrics and score()")
    return checked


def columns(family: Family | str) -> tuple[Metric, ...]:
    """Every metric an episode of the family gets: its own, then the accounting."""
    return (*scorer(family).metrics, *accounting.METRICS)


def by_key(family_metrics: Iterable[Metric]) -> dict[str, Metric]:
    """Every metric that an episode or a prediction can have, by key in the order of columns."""
    others = (TRIAL_METRICS, accounting.PREDICTED_METRICS, state_accuracy.METRICS,
              accounting.ADVICE_METRICS, accounting.CUT_METRICS, accounting.METRICS)  # fmt: skip
    return {metric.key: metric for metric in (*family_metrics, *chain(*others))}


def score(dataset: Dataset, pairs: Sequence[Pair]) -> list[dict[str, float]]:
    """Everything an episode is scored by, for each pair in order.

    Family metrics, of the last trial; trials, where there could be several; state accuracy where
    the agent stated where it is; accounting.
    """
    by, rows = scorer(dataset.family), []
    scored = by.score(dataset, pairs)
    trials = measure_trials(by, dataset, pairs)
    for scores, tried, (_, trajectory) in zip(scored, trials, pairs, strict=True):
        row = {**scores, **tried}
        if next(trajectory.notes(), None) is not None:
            row |= state_accuracy.measure(trajectory) | accounting.measure(trajectory)
        rows.append(row | accounting.account(trajectory))
    return rows


def judge(dataset: Dataset) -> Judge:
    """A judge of trials by the family's metric of success.

    The judge raises ``UsageError`` where an episode's answer is not public.
    """
    family_scorer = scorer(dataset.family)

    def succeeded(task: Task, trial: Trajectory) -> bool:
        (success,) = _successes(family_scorer, dataset, [(task, trial)])
        if success is None:
            raise UsageError(
                f"episode {task.episode.id}: cannot tell whether a trial succeeded; "
                "set verdict=self or verdict=none"
            )
        return success > 0.5

    return succeeded
