"""Summary: a run's row, each metric's mean with its interval, and what the run took in all."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from wayword.core.metric import Metric
from wayword.metrics import scoring
from wayword.metrics.intervals import Columns, Interval, bootstrap_columns

TOTALLED = ("calls", "prompt_tokens", "reused_tokens", "completion_tokens", "cost", "seconds")
"""Accounting metrics whose sum over the run is of interest."""


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """Episodes' scores in ``columns``, an array over the episodes for each of ``keys``; NaN where
    there is none. They may be read from a file each time they are asked for.

    ``whole`` are the metrics whose scores are all whole numbers, ``nans`` (episodes, metrics; None
    for none) the places where a score itself is NaN.
    """

    ids: Sequence[str]
    keys: tuple[str, ...]
    columns: Columns
    whole: frozenset[str] = frozenset()
    nans: NDArray[np.bool_] | None = None

    @staticmethod
    def of(scores: Sequence[Mapping[str, float]]) -> Scores:
        """Of one mapping an episode."""
        keys = tuple(dict.fromkeys(key for one in scores for key in one))
        values = np.array([[one.get(key, math.nan) for key in keys] for one in scores], dtype=float)
        whole = frozenset(k for k in keys if all(type(one.get(k, 0)) is int for one in scores))
        return Scores([""] * len(scores), keys, values.reshape(len(scores), len(keys)).T, whole)

    def __len__(self) -> int:
        return len(self.ids)

    def column(self, key: str) -> NDArray[np.float64]:
        """The scores of a metric that there are."""
        if key not in self.keys:
            return np.empty(0)
        column = self.columns[self.keys.index(key)]
        return column[~np.isnan(column)]

    def total(self, key: str) -> float | None:
        """The sum over all episodes; None where one lacks it. Added up one by one, so that it does
        not depend on how an array is summed."""
        there = self.column(key)
        if len(there) < len(self):
            return None
        found = sum(there.tolist())
        return int(found) if key in self.whole else found

    def pairs(self) -> list[tuple[str, dict[str, float]]]:
        """Id and scores of each episode."""
        table = np.array([*self.columns]).reshape(len(self.keys), len(self)).T
        known = ~np.isnan(table) if self.nans is None else ~np.isnan(table) | self.nans
        there, values = known.tolist(), table.tolist()
        whole = [key in self.whole for key in self.keys]
        return [
            (
                name,
                {
                    k: int(v) if w else v
                    for k, v, w, known in zip(self.keys, row, whole, told, strict=True)
                    if known
                },
            )
            for name, row, told in zip(self.ids, values, there, strict=True)
        ]


@dataclass(frozen=True, slots=True)
class Row:
    """One run.

    ``n`` of the ``of`` episodes in the split were scored, and ``failed`` more failed. ``checksum``
    is the split's. ``values`` holds each metric's mean over episodes and its 95% interval, by key.
    ``totals`` holds sums over the run (None: unknown), and ``wall_seconds`` where it is known:
    episodes run side by side, so it is less than the sum of their seconds. ``sees_answer``: one of
    the run's agents was shown the reference. ``metrics`` are the family's own.
    ``clustered`` says what is resampled whole for the intervals (``"scene"``), ``runs`` how many
    seeds' runs the row pools, and ``caveats`` what every figure of the row rests on: an inferred
    layout, episodes that were left out. ``success`` is the key of the metric that says whether an
    episode was solved.
    """

    name: str
    family: str
    metrics: tuple[Metric, ...]
    n: int
    of: int
    values: Mapping[str, Interval]
    failed: int = 0
    agent: str = ""
    model: str = ""
    dataset: str = ""
    checksum: str = ""
    totals: Mapping[str, float | None] = field(default_factory=dict)
    sees_answer: bool = False
    clustered: str = ""
    runs: int = 1
    caveats: tuple[str, ...] = ()
    success: str = "sr"


def summarize(
    name: str,
    scores: Scores | Sequence[Mapping[str, float]],
    *,
    family: str,
    metrics: Sequence[Metric] | None = None,
    of: int,
    failed: int = 0,
    agent: str = "",
    model: str = "",
    dataset: str = "",
    checksum: str = "",
    wall_seconds: float | None = None,
    clusters: Iterable[Hashable] | None = None,
    seed: int = 0,
    success: str = "",
) -> Row:
    """A run's row from its episodes' scores.

    A metric that some episodes lack is averaged over the others; but a cost that is unknown for one
    episode is unknown for the run. ``metrics`` are the family's own, by default those of the family
    of that name; so is ``success``. ``clusters``: see :mod:`wayword.metrics.intervals`.
    """
    own = tuple(metrics if metrics is not None else scoring.scorer(family).metrics)
    told = scores if isinstance(scores, Scores) else Scores.of(scores)
    found = bootstrap_columns(told.columns, len(told), clusters, seed=seed)
    intervals = dict(zip(told.keys, found, strict=True))
    totals = {key: told.total(key) for key in TOTALLED if key in told.keys}
    if "calls" in totals and totals.setdefault("cost", None) is None:
        intervals.pop("cost", None)  # a mean over the known prices alone would mislead
    if wall_seconds is not None:
        totals["wall_seconds"] = wall_seconds
    return Row(
        name, family, own, len(scores), of, intervals, failed, agent, model, dataset, checksum,
        totals, success=success or scoring.success_of(family),
    )  # fmt: skip


LOST_ADVICE = 0.1
"""Share of a run's questions whose advice came to nothing from which on its row says so."""


def marks(scores: Scores | Sequence[Mapping[str, float]]) -> tuple[str, ...]:
    """What the figures of a run's row rest on that its episodes tell: prompts without their oldest
    steps, and experts whose advice was lost."""
    found = []
    told = scores if isinstance(scores, Scores) else Scores.of(scores)
    if cut := len(told.column("steps_forgotten")):
        found.append(f"in {cut} of {len(told)} episodes prompts lack their oldest steps")
    if bare := len(told.column("examples_forgotten")):
        found.append(f"in {bare} of {len(told)} episodes prompts lack solved examples")
    lost, calls = told.column("advice_lost").sum(), told.column("calls").sum()
    if calls and lost / calls > LOST_ADVICE:
        found.append(f"{lost:.0f} of {calls:.0f} questions were to experts whose advice was lost")
    return tuple(found)


# What stands below a table: how wide intervals are, and what its figures rest on.


def footnote(rows: Sequence[Row], metrics: Sequence[Metric], shown: Sequence[Metric]) -> str:
    """All of them, a line each, below an empty one."""
    lines = ["", *_width_said(rows)]
    lines += [f"Note: {line}" for line in caveats(rows)]
    if any(_all_agree(row) for row in rows):
        lines.append("±0.0 where all n episodes agree: the true rate may still be off by 3/n.")
    if shown_it := [row.name for row in rows if row.sees_answer]:
        lines.append(f"Shown the answer: {', '.join(shown_it)}.")
    lines += [line for row in rows if (line := _tried(row, alone=len(rows) == 1))]
    lines += [line for row in rows if (line := _spent(row, alone=len(rows) == 1))]
    hidden = [metric.label for metric in metrics if metric not in shown]
    if hidden:
        lines.append(f"Not shown for want of width: {', '.join(hidden)}. See --format json.")
    return "\n".join(lines)


def _width_said(rows: Sequence[Row]) -> list[str]:
    """What the ± of the table are; why there are none where episodes have none."""
    if any(not math.isnan(value.half) for row in rows for value in row.values.values()):
        return [f"± half of the 95% bootstrap interval{_resampled(rows)}."]
    unit = next((row.clustered or "episode" for row in rows if row.n), "")
    return [f"No intervals: they take at least two {unit}s."] if unit else []


def _resampled(rows: Sequence[Row]) -> str:
    """What is resampled whole, where that is not the single episode."""
    units = list(dict.fromkeys(row.clustered for row in rows if row.clustered == "scene"))
    return f", whole {units[0]}s resampled" if units else ""


def caveats(rows: Sequence[Row]) -> list[str]:
    """What the figures of some rows rest on, a line each; which rows, where not all share it."""
    lines = []
    for caveat in dict.fromkeys(line for row in rows for line in row.caveats):
        names = [row.name for row in rows if caveat in row.caveats]
        whose = "" if len(names) == len(rows) else f"{', '.join(names)}: "
        lines.append(f"{whose}{caveat}.")
    return lines


def _rate(episodes: int, seconds: float) -> str:
    """Throughput, in the unit that has digits."""
    if not episodes or seconds <= 0:
        return ""
    if episodes >= seconds:
        return f" ({episodes / seconds:,.1f} episodes a second)"
    return f" ({seconds / episodes:,.1f} s an episode)"


def _all_agree(row: Row) -> bool:
    """Whether success is 0 or 1 in every episode, which no resampling can put a width on."""
    value = row.values.get(row.success)
    return value is not None and value.mean in (0.0, 1.0) and not math.isnan(value.half)


def _tried(row: Row, alone: bool) -> str:
    """What a success rate of several trials rests on."""
    trials, told = row.values.get("trials"), row.values.get("verdicts")
    if trials is None or told is None:
        return ""
    who = f"a judge told how {told.mean:.1f} of them ended" if told.mean else "none was judged"
    name = "" if alone else f"{row.name}: "
    return f"{name}{trials.mean:.1f} trials an episode, the last one scored; {who}."


def _spent(row: Row, alone: bool) -> str:
    """What the whole run took."""
    totals = row.totals
    parts = []
    if totals.get("calls"):
        cost = totals.get("cost")
        parts.append(f"{totals['calls']:,.0f} calls")
        parts.append(f"{totals.get('prompt_tokens') or 0:,.0f} prompt tokens")
        parts.append(f"{totals.get('completion_tokens') or 0:,.0f} written")
        parts.append("cost unknown" if cost is None else f"${cost:,.2f}")
    if billed := totals.get("billed"):
        parts.append(f"${billed:,.2f} billed with episodes that are not finished")
    wall = totals.get("wall_seconds")
    if wall is not None:
        parts.append(f"{wall:,.1f} s{_rate(row.n, wall)}")
    if not parts:
        return ""
    return f"{'In all' if alone else row.name}: {', '.join(parts)}."
