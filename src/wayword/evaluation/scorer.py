"""Scorer: the metrics of one family of datasets, found by the family's name.

``evaluation/indoor.py`` scores the family ``indoor``: the module's attribute ``scorer``. A new
family is a new file.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from wayword.core.dataset import Dataset, Task
from wayword.core.errors import UsageError
from wayword.core.rollout import Judge
from wayword.core.trajectory import Trajectory
from wayword.evaluation import accounting, advice, state_accuracy, trials
from wayword.evaluation.metric import Metric

Pair = tuple[Task, Trajectory]
"""An episode with its answer, and what an agent did in it."""


@runtime_checkable
class Scorer(Protocol):
    """Judges finished trajectories of one family."""

    @property
    def family(self) -> str:
        """The family's name, which is the module's."""
        ...

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """The family's own metrics, in the order tables show them."""
        ...

    def score(self, dataset: Dataset, pairs: Sequence[Pair]) -> list[dict[str, float]]:
        """The family's metrics of each pair, in order: many at once, so that it can be fast."""
        ...


@runtime_checkable
class Walks(Protocol):
    """What a family's scorer also offers where places alone can be scored, without any action."""

    @property
    def place(self) -> str:
        """What a place is called in ``step.where``: ``"viewpoint"``, ``"panorama"``."""
        ...

    def illegal_moves(self, dataset: Dataset, task: Task, places: Sequence[str]) -> int:
        """How many moves no actor can make; a start elsewhere than the episode's counts as one.

        Raises ``KeyError`` for a place that the scene does not have.
        """
        ...


def scorer(family: str) -> Scorer:
    """The scorer of a family. Raises ``UsageError`` where there is none."""
    name = f"wayword.evaluation.{family}"
    found: object = None
    if family.isidentifier() and importlib.util.find_spec(name) is not None:
        found = getattr(importlib.import_module(name), "scorer", None)
    if not isinstance(found, Scorer) or found.family != family:
        raise UsageError(
            f"no metrics for datasets of the family {family!r}; they belong into "
            f"evaluation/{family}.py as 'scorer'"
        )
    return found


def columns(family: str) -> tuple[Metric, ...]:
    """Every metric an episode of the family gets: its own, then the accounting."""
    return (*scorer(family).metrics, *accounting.METRICS)


def score(dataset: Dataset, pairs: Sequence[Pair]) -> list[dict[str, float]]:
    """Everything an episode is scored by, for each pair in order.

    Family metrics, of the last trial; trials, where there could be several; state accuracy where
    the agent stated where it is; accounting.
    """
    own = scorer(dataset.family)
    found = zip(own.score(dataset, pairs), trials.measure(own, dataset, pairs), pairs, strict=True)
    return [
        {
            **scores,
            **tried,
            **state_accuracy.measure(told),
            **advice.measure(told),
            **accounting.account(told),
        }
        for scores, tried, (_, told) in found
    ]


def judge(dataset: Dataset) -> Judge:
    """Who tells whether a trial succeeded: the family's metric of success.

    The judge raises ``UsageError`` where the family has none or an episode's answer is not public.
    """
    return trials.judge(scorer(dataset.family), dataset)
