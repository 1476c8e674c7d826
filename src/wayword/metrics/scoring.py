"""Scorer: the metrics of a family, and all scores of an episode.

The family ``indoor`` is scored by the attribute ``scorer`` of ``metrics/indoor.py``. A family from
outside the package has its own: see :class:`~wayword.core.world.Family`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from itertools import chain, groupby, islice
from operator import eq
from typing import Any, Protocol, runtime_checkable

from wayword.core import registry
from wayword.core.blame import (
    CodeError,
    describe,
    finite,
    is_own,
    is_shipped,
    line_without_return,
    of_users_data,
    place_of,
    returns_nothing,
)
from wayword.core.dataset import Dataset, Task
from wayword.core.errors import DataError, UsageError, WaywordError, suggest
from wayword.core.field_types import value_problem
from wayword.core.metric import Metric, bounds, is_solved
from wayword.core.rollout import Judge
from wayword.core.trajectory import Trajectory
from wayword.core.world import Family, World
from wayword.metrics import accounting, definitions, state_accuracy

# An agent that learns (Reflexion, Shinn et al. 2023, section 3) may play an episode again after a
# failed trial. The family's metrics score the last trial, so its SR is the share of episodes solved
# within that many trials. It is not comparable with the SR of a single trial: a judge that ends the
# trials at a success reveals one bit each time, and "wrong" almost gives the answer to a yes/no
# question. Such runs therefore report the trials, the verdicts revealed, and the first success.

TRIAL_METRICS = definitions.TRIALS


def measure_trials(
    by: Scorer,
    dataset: Dataset,
    pairs: Sequence[Pair],
) -> list[dict[str, float]]:
    """Return the trial metrics of each pair; empty if only one trial was possible."""
    rows: list[dict[str, float]] = [{} for _ in pairs]
    tried: list[tuple[dict[str, float], Sequence[Trajectory]]] = []
    firsts: list[Pair] = []
    for row, (task, trajectory) in zip(rows, pairs, strict=True):
        if trajectory.earlier or trajectory.verdict is not None:
            tried.append((row, trajectory.trials()))
            firsts.append((task, trajectory.trials()[0]))
    # All first trials are scored in one batch, for speed.
    successes = _successes(by, dataset, firsts)
    for (row, trials), first in zip(tried, successes, strict=True):
        if first is not None:
            row["sr_first"] = first
        row["trials"] = len(trials)
        # The agent's own verdict reveals nothing.
        verdicts = [trial.verdict for trial in trials if trial.verdict is not None]
        row["verdicts"] = sum(each.succeeded is not None for each in verdicts)
    return rows


def _successes(
    by: Scorer,
    dataset: Dataset,
    pairs: Sequence[Pair],
) -> list[float | None]:
    """Return each trial's success, None if it cannot be judged."""
    if not pairs:
        return []
    return [each.get(dataset.family.success) for each in rows_of(by, dataset, pairs)]


Pair = tuple[Task, Trajectory]
"""An episode with its answer, and a trajectory of it."""


def walked_places(task: Task, trajectory: Trajectory, key: str) -> list[str]:
    """Return the places of a walk: the start, then one per step. ``key`` is their field in poses.

    An episode that failed before its world was ready has only its start.
    """
    # No world was ready, so nothing was recorded.
    if not trajectory.start:
        return [task.episode.start[key]]
    moved = [step.pose[key] for step in trajectory.steps if step.actor == "agent"]
    return [trajectory.start["agent"][key], *moved]


def without_repeats(places: Sequence[str]) -> Sequence[str]:
    """Return a walk without consecutive repeats: turning in place is no move."""
    # Most walks have none, which is found out at a third of the cost of another list.
    if any(map(eq, places, islice(places, 1, None))):
        return [place for place, _ in groupby(places)]
    return places


@runtime_checkable
class Scorer(Protocol):
    """Judges finished trajectories of one family."""

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """The family's own metrics, in the order of columns in tables."""

    def score(self, dataset: Dataset, pairs: Sequence[Pair]) -> list[dict[str, float]]:
        """Return the family's metrics of each pair, in order. Takes a batch for speed."""


@runtime_checkable
class PlaceScorer(Protocol):
    """A scorer that can also score a list of places, without actions."""

    def illegal_moves(self, dataset: Dataset, task: Task, places: Sequence[str]) -> int:
        """Count impossible moves; a wrong start counts as one. Raises ``KeyError`` for
        a place that is not in the scene."""


@runtime_checkable
class WalkScorer(PlaceScorer, Protocol):
    """A scorer that needs no more than the places of a walk."""

    def score_walks(
        self, dataset: Dataset, tasks: Sequence[Task], walks: Sequence[Sequence[str]]
    ) -> list[dict[str, float]]:
        """Return the metrics of the walk of each task, in order."""


@dataclass(frozen=True)
class Standing:
    """Score of an episode as if it ended now: ``met`` of ``parts`` goal conditions hold, and the
    remaining ``distance`` is in ``unit``: ``m`` or ``links`` (None if the family has none), along a
    path unless it is ``straight``."""

    success: bool
    met: int
    parts: int = 1
    distance: float | None = None
    unit: str = "m"
    straight: bool = False


@runtime_checkable
class Judged(Protocol):
    """A scorer that can also score an unfinished episode."""

    def standing(self, dataset: Dataset, task: Task, world: World) -> Standing | None:
        """Return the interim score; None if the episode's answer is not public."""


def standing_of(
    by: Judged, dataset: Dataset, task: Task, world: World
) -> Standing | None:
    """Return a scorer's standing. Raises ``CodeError`` for anything else that a user's gives: NaN
    would be rewarded."""
    standing = by.standing(dataset, task, world)
    if is_shipped(type(by)):
        return standing
    if problem := value_problem(standing, Standing | None, "standing: its answer"):
        raise CodeError(f"{place_of(by.standing)}: {problem}")
    _check_distance(by.standing, standing and standing.distance)
    return standing


def distance_of(dataset: Dataset, task: Task, world: World) -> float | None:
    """Return what is left to the goal by the dataset. Raises ``CodeError`` for no number."""
    distance = dataset.distance(task, world)
    _check_distance(dataset.distance, distance)
    return distance


def _check_distance(method: Callable[..., Any], distance: Any) -> None:
    """Raise ``CodeError`` unless a user's method gave a finite number from 0, or None."""
    if distance is None:
        return
    number = finite(distance)
    # Sums of lengths end near 0, also below it.
    if number is None or number < -1e-6:
        raise CodeError(
            f"{place_of(method)}: {method.__name__} must give a finite number as the distance, or "
            f"None where it is unknown, got {distance!r:.80}; it is at least 0"
        )


@runtime_checkable
class GoalScorer(Protocol):
    """A scorer whose success depends on the place where a walk ends."""

    def reached(self, dataset: Any, task: Task, places: Sequence[str]) -> list[bool]:
        """Return True for each place where a stop would be a success. Raises ``KeyError`` for
        a place that is not in the scene."""


@runtime_checkable
class TaskChecker(Protocol):
    """A scorer that finds mistakes in a task, which would make its scores meaningless."""

    def task_problem(self, dataset: Dataset, task: Task) -> str:
        """Return what is wrong with a task; empty if nothing is."""


MOST_CHECKED = 50
"""Tasks of a user's dataset that its scorer checks, spread over it: each needs a world."""


def reached(
    dataset: Dataset | None, task: Task | None, places: Sequence[str]
) -> list[bool]:
    """Return True for each place where a stop would be a success; empty if that is unknown."""
    if dataset is None or task is None:
        return []
    judge = scorer(dataset.family)
    with suppress(WaywordError, LookupError):
        if isinstance(judge, GoalScorer):
            return judge.reached(dataset, task, places)
    return []


class EpisodeScorer(ABC):
    """A scorer that scores each episode on its own."""

    metrics: tuple[Metric, ...]

    def score(self, dataset: Dataset, pairs: Sequence[Pair]) -> list[dict[str, float]]:
        """Return the metrics of each pair."""
        return [self.score_episode(dataset, *pair) for pair in pairs]

    @abstractmethod
    def score_episode(
        self,
        dataset: Any,
        task: Task,
        trajectory: Trajectory,
    ) -> dict[str, float]:
        """Return the metrics of an episode; empty if its reference is not public."""


class SuccessScorer(EpisodeScorer):
    """The default scorer of a family without one: its datasets judge success."""

    def __init__(self, family: Family) -> None:
        self._key = family.success
        self.metrics = (
            Metric(self._key, self._key.upper(), "rate", "higher", "episodes solved"),
        )

    def score_episode(
        self,
        dataset: Any,
        task: Task,
        trajectory: Trajectory,
    ) -> dict[str, float]:
        """Return the success that the dataset decides; nothing where it cannot."""
        try:
            success = dataset.succeeded(task, trajectory)
        except KeyError as error:
            if trajectory.state:
                raise
            raise CodeError(
                f"{describe(error)}: the world's state is empty; define state(self) in it, which "
                "returns a dict"
            ) from error
        if success is None:
            return {}
        # Numbers and numpy's booleans are fine, but a share would be averaged as if it were a rate.
        with suppress(TypeError, ValueError):
            if float(success) in (0.0, 1.0):
                return {self._key: float(success)}
        where = place_of(type(dataset).succeeded)
        expected = "succeeded must return True, False or None"
        raise CodeError(f"{where}: {expected}, got {success!r:.60}")


# Finds succeded, suceeded, succeed and is_succeeded, but neither seeded nor success.
_SIMILAR_NAME = 0.85


def missing_success(dataset: Dataset) -> str:
    """Return that a dataset has no success metric, as neither its family nor itself judges success;
    empty if it has one. A misspelled ``succeeded`` and one without ``return`` are named."""
    judge = dataset.succeeded
    is_inherited = getattr(judge, "__func__", None) is Dataset.succeeded
    by = scorer(dataset.family)
    if not isinstance(by, SuccessScorer):
        return ""
    if not is_inherited:
        if not returns_nothing(judge):
            return ""
        # Without its file: tables have this as a note.
        return (
            f"no success metric: {type(dataset).__name__}.succeeded returns nothing; write "
            "`return` before its answer"
        )
    problem = (
        f"no success metric: {type(dataset).__name__} defines no "
        "succeeded(task, trajectory)"
    )
    if similar := misspelled_success(dataset):
        return f"{problem}; did you mean it by {similar!r}?"
    return problem


def check_success(dataset: Dataset) -> None:
    """Raise ``UsageError`` for a user's dataset whose family names a success that its scorer does
    not measure, or with a task that has a mistake: no episode would be solved."""
    family = dataset.family
    if is_shipped(type(dataset)):
        return
    judge = dataset.succeeded
    if is_own(judge) and (line := line_without_return(judge)):
        raise UsageError(
            f"{place_of(judge)}: succeeded returns nothing where it ends at line {line}, and such "
            "episodes would have no success; write `return False`, or `return None` for unknown"
        )
    by: Any = scorer(family)
    if isinstance(by, type):
        raise UsageError(
            f"{place_of(by)}: the scorer of family {family.name!r} is a class; give an object: "
            f"{by.__name__}()"
        )
    if not is_shipped(type(by)):
        _check_metrics(by)
    keys = [metric.key for metric in by.metrics]
    if family.success not in keys:
        raise UsageError(
            f"{place_of(type(dataset))}: family {family.name!r} names success "
            f"{family.success!r}; {suggest(family.success, keys)}"
        )
    tasks = dataset.tasks
    # Tasks that are made on access are not made here.
    if not isinstance(by, TaskChecker) or not isinstance(tasks, list | tuple):
        return
    for task in tasks[:: math.ceil(len(tasks) / MOST_CHECKED)]:
        where = f"{place_of(type(dataset))}: episode {task.episode.id!r}"
        try:
            problem = by.task_problem(dataset, task)
        except DataError as error:
            raise UsageError(of_users_data(error, type(dataset))) from error
        except WaywordError:
            raise
        # A user's world may raise anything.
        except Exception as error:
            raise UsageError(f"{where}: {describe(error)}") from error
        if problem:
            raise UsageError(f"{where}: {problem}")


def misspelled_success(dataset: Dataset) -> str:
    """Return the name of a user's method that resembles ``succeeded``; empty if there is none."""
    added = set(dir(type(dataset))) - set(dir(Dataset))
    similar = get_close_matches("succeeded", sorted(added), n=1, cutoff=_SIMILAR_NAME)
    return similar[0] if similar else ""


def scorer(family: Family | str) -> Scorer:
    """Return the scorer of a family or family name. Raises ``UsageError`` for an invalid scorer."""
    if isinstance(family, str):
        resolved: Family = registry.load("family", family)
    else:
        resolved = family
    if resolved.scorer is None:
        return _shipped_scorer(resolved.name)
    return _checked(resolved)


def success_of(family: str) -> str:
    """Return the key of a family's success metric; ``sr`` for an unknown family."""
    if family in registry.names("family"):
        return str(registry.load("family", family).success)
    return "sr"


@cache  # called once per episode
def _shipped_scorer(name: str) -> Scorer:
    """Return the scorer of a shipped family; cached."""
    return _checked(Family(name))


def _checked(family: Family) -> Scorer:
    """Return a family's scorer. Raises ``UsageError`` if it is no scorer."""
    # A family from outside may leave scoring to its datasets.
    checked = family.part("scorer") or SuccessScorer(family)
    if not isinstance(checked, Scorer):
        raise UsageError(
            f"the scorer of the family {family.name!r} must have metrics and score()"
        )
    return checked


def _check_metrics(by: Scorer) -> None:
    """Raise ``UsageError`` for metrics of a user's scorer that no table could show."""
    if problem := value_problem(by.metrics, tuple[Metric, ...], "metrics"):
        raise UsageError(f"{place_of(type(by))}: {problem}")


def by_key(family_metrics: Iterable[Metric]) -> dict[str, Metric]:
    """Return every metric that an episode or a prediction can have, by key in column order."""
    # Columns of tables are in this order: what explains success first, then what it cost.
    others = (TRIAL_METRICS, accounting.PREDICTED_METRICS, state_accuracy.METRICS,
              accounting.ADVICE_METRICS, accounting.CUT_METRICS, accounting.METRICS)  # fmt: skip
    return {metric.key: metric for metric in (*family_metrics, *chain(*others))}


def score(dataset: Dataset, pairs: Sequence[Pair]) -> list[dict[str, float]]:
    """Return all scores of each pair, in order: the family's metrics (of the last trial), trial
    metrics if several were possible, accuracy of stated states, and the accounting."""
    by = scorer(dataset.family)
    rows = []
    scored = rows_of(by, dataset, pairs)
    trials = measure_trials(by, dataset, pairs)
    for scores, tried, (_, trajectory) in zip(scored, trials, pairs, strict=True):
        row = {**scores, **tried}
        # Only notes hold statements about states, and advice of experts.
        if next(trajectory.notes(), None) is not None:
            row |= state_accuracy.measure(trajectory) | accounting.measure(trajectory)
        rows.append(row | accounting.account(trajectory))
    return rows


def rows_of(
    by: Scorer, dataset: Dataset, pairs: Sequence[Pair]
) -> list[dict[str, float]]:
    """Return the family's metrics of each pair. Raises ``CodeError`` for anything else that a
    user's scorer gives: tables would lack it, or could not be read."""
    scored: Any = by.score(dataset, pairs)
    problem = ""
    if not is_shipped(type(by)):
        problem = _rows_problem(by, scored, len(pairs))
    if problem:
        raise CodeError(f"{place_of(type(by).score)}: {problem}")
    rows: list[dict[str, float]] = scored
    return rows


def _rows_problem(by: Scorer, scored: Any, count: int) -> str:
    """Return what is wrong with the scores of a user's scorer; empty if nothing is."""
    expected = "score must return a list with a dict of metrics for each pair"
    if not isinstance(scored, list | tuple):
        return f"{expected}, got {scored!r:.60}"
    if len(scored) != count:
        return f"{expected}, got {len(scored)} for {count} pairs"
    declared = by_key(by.metrics)
    for row in scored:
        if not isinstance(row, Mapping):
            return f"{expected}, got {row!r:.60}"
        for key, value in row.items():
            # Tables would leave it out.
            if key not in declared:
                keys = [metric.key for metric in by.metrics]
                hint = suggest(str(key), keys)
                return f"score gives {key!r}, which is not in its metrics; {hint}"
            number = finite(value)
            if number is None:
                return f"{key} must be a finite number, got {value!r:.60}; leave it out if unknown"
            kind = declared[key].kind
            low, high = bounds(kind)
            if not low <= number <= high:
                remedy = "declare its Metric as another kind"
                if kind == "rate":
                    remedy = 'give a share from 0 to 1, or declare its Metric as "count" or "ratio"'
                return f"{key} is a {kind} and cannot be {value!r:.60}; {remedy}"
    return ""


def judge(dataset: Dataset) -> Judge:
    """Return a judge of trials by the family's success metric. It raises ``UsageError`` if an
    episode's answer is not public."""
    family_scorer = scorer(dataset.family)

    def succeeded(task: Task, trial: Trajectory) -> bool:
        """True if a trial succeeded. Raises ``UsageError`` if its answer is not public."""
        (success,) = _successes(family_scorer, dataset, [(task, trial)])
        if success is None:
            problem = "its answer is not public, so no judge can decide on a trial"
            remedy = "set verdict=self or verdict=none"
            raise UsageError(f"episode {task.episode.id}: {problem}; {remedy}")
        return is_solved(success)

    return succeeded
