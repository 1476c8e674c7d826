"""Rows of a run by the length of the reference: ``table --by length``."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from wayword.core.dataset import Dataset, Task, of_ids
from wayword.core.episode import PathReference
from wayword.core.errors import UsageError
from wayword.metrics.summary import Row, Scores
from wayword.runs.opening import Trusted, dataset_of
from wayword.runs.record import RecordedRun
from wayword.runs.scored_runs import ScoredRun, groups_at, row_of, scored_run


@dataclass(frozen=True)
class RowsByLength:
    """Rows of runs by range of lengths (``"4 to 6"``), in order, each with the whole run's row.

    ``unit`` is that of the lengths: moves, metres or actions.
    """

    unit: str
    runs: Sequence[tuple[Row, Mapping[str, Row]]]


def rows_by_length(
    paths: Sequence[Path],
    cluster: str = "",
    data: Path | None = None,
    trusted: Trusted = (),
) -> RowsByLength:
    """Return the rows of ``table --by length``; runs that differ only in their seeds are one.

    Raises ``UsageError`` for a split without reference lengths.
    """
    rows = []
    unit = ""
    for group in groups_at(paths, cluster, data):
        dataset = dataset_of(group[0].run, data, trusted)
        unit = unit or length_unit(dataset.tasks[0])
        parts: dict[str, list[ScoredRun]] = {}
        for each in group:
            for part in _by_length(each, dataset.tasks, dataset):
                label = part.name.removeprefix(f"{each.name}, length ")
                parts.setdefault(label, []).append(part)
        by_range = {label: row_of(part) for label, part in parts.items()}
        rows.append((row_of(group), by_range))
    return RowsByLength(unit, rows)


# Number of distinct reference lengths above which ``--by length`` groups them in four ranges.
MAX_LENGTHS = 6

# Least share of a split's episodes in a range. A mean of one or two episodes at the end of a line
# says nothing, and catches the eye.
LEAST_SHARE = 0.02

JOINED = (
    f"Ranges with less than {LEAST_SHARE:.0%} of the episodes are joined with the next."
)
"""The rule in words, for captions."""


def parts_of(
    whole: ScoredRun,
    by: str,
    data: Path | None,
    trusted: Trusted,
) -> list[ScoredRun]:
    """Split a run by scene or by the length of the reference. Raises ``UsageError``."""
    if by not in ("scene", "length"):
        raise UsageError(f"--by {by}: choose scene or length")
    dataset = dataset_of(whole.run, data, trusted)
    tasks = dataset.tasks
    if by == "length":
        return _by_length(whole, tasks, dataset)
    return _labeled(whole, {task.episode.id: task.episode.scene for task in tasks})


def by_length(run: RecordedRun, tasks: Sequence[Task]) -> dict[str, Row]:
    """Return a run's row for each range of reference lengths, in order.

    Raises ``UsageError`` if the tasks have no reference path, ``RecordingError`` for a
    damaged run.
    """
    whole = scored_run(run)
    parts = _by_length(whole, tasks)
    return {part.name.removeprefix(f"{whole.name}, "): row_of([part]) for part in parts}


def _labeled(whole: ScoredRun, labels: Mapping[str, str]) -> list[ScoredRun]:
    """Split a run by labels of its episodes, sorted by label.

    ``labels`` has those of the whole split, so that each part knows its size. A label
    without a finished episode has no part.
    """
    counts = Counter(labels.values())
    parts = []
    # A part has the finished and the failed episodes with its label.
    for label in dict.fromkeys(labels.values()):
        chosen = [pair for pair in whole.scored.pairs() if labels.get(pair[0]) == label]
        failed = [name for name in whole.failed if labels.get(name) == label]
        if chosen:
            ids, rows = zip(*chosen, strict=True)
            part = replace(
                whole,
                scored=Scores.of(rows, ids),
                failed=failed,
                of=counts[label],
                name=f"{whole.name}, {label}",
                part=label,
            )
            parts.append(part)
    return sorted(parts, key=_by_numbers)


def _by_numbers(part: ScoredRun) -> list[str | int]:
    """Order of names in which 10 comes after 9."""
    key = list[str | int](re.split(r"(\d+)", part.name))
    # Each second piece is a number.
    key[1::2] = map(int, key[1::2])
    return key


def reference_length(task: Task, dataset: Dataset | None = None) -> int | None:
    """Return the length of a task: the moves of the reference path.

    Else the shortest path in whole metres, else the expert's actions, if a ``dataset``
    with an expert is given; else None. The same length as in ``table --by length`` and
    :attr:`EpisodeRecord.gold_length`.
    """
    if isinstance(task.reference, PathReference):
        return len(task.reference.path) - 1
    metres: float | None = getattr(task.reference, "shortest", None)
    if metres is not None:
        return round(metres)
    if dataset is not None:
        with suppress(UsageError):  # the split has no public answers
            return dataset.expert_length(task)
    return None


def length_unit(task: Task) -> str:
    """Return the unit of :func:`reference_length`: ``moves``, ``metres`` or ``actions``."""
    if isinstance(task.reference, PathReference):
        return "moves"
    if getattr(task.reference, "shortest", None) is not None:
        return "metres"
    return "actions"


def _by_length(
    whole: ScoredRun,
    tasks: Sequence[Task],
    dataset: Dataset | None = None,
) -> list[ScoredRun]:
    """Split a run by the length of the reference.

    A part for each length, or for quarters of the split if there are more than
    ``MAX_LENGTHS``: the same ranges for all runs on the split. A range with less than
    ``LEAST_SHARE`` of the split's episodes is joined with the next. The expert's lengths, which
    take long, are computed for the run's episodes alone.
    """
    known = {task.episode.id: reference_length(task) for task in tasks}
    if dataset is not None and not any(known.values()):
        # Expert solutions take long to compute: only those of the run's episodes.
        played = of_ids(tasks, {*whole.scored.ids, *whole.failed})
        known = {name: reference_length(task, dataset) for name, task in played.items()}
    lengths = {name: length for name, length in known.items() if length is not None}
    if not lengths:
        on = whole.config["identity"]["dataset"]
        raise UsageError(
            f"episodes of {on} have no length: their tasks have no reference path (PathReference) "
            "and their dataset has no expert"
        )
    values = sorted(lengths.values())
    edges = sorted(set(values))
    if len(edges) > MAX_LENGTHS:
        edges = sorted({values[len(values) * part // 4] for part in range(4)})
    labels: dict[str, str] = {}
    # The last edge is above the greatest length, which thus has a range.
    for low, above in pairwise(_joined([*edges, values[-1] + 1], values)):
        if above - 1 <= low:
            name = f"length {low:g}"
        else:
            name = f"length {low:g} to {above - 1:g}"
        for each, value in lengths.items():
            if low <= value < above:
                labels[each] = name
    return _labeled(whole, {each: labels[each] for each in lengths})


def _joined(edges: Sequence[int], values: Sequence[int]) -> list[int]:
    """Return the edges without those that end a range with too few of the values.

    The last range has no next: it is joined with the one before.
    """
    least = LEAST_SHARE * len(values)
    joined = [edges[0]]
    for edge in edges[1:]:
        inside = [value for value in values if joined[-1] <= value < edge]
        if len(inside) >= least:
            joined.append(edge)
    if joined[-1] < edges[-1]:
        if len(joined) > 1:
            joined.pop()
        joined.append(edges[-1])
    return joined
