"""Summary: a run's row with each metric's mean and interval, and the run's totals."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np

from wayword.core.metric import Metric
from wayword.metrics import scoring
from wayword.metrics.intervals import (
    FEWEST,
    POSITIVE,
    RATE,
    Floats,
    Interval,
    mean_intervals,
    rate_interval,
)

COUNTED = ("calls", "prompt_tokens", "reused_tokens", "completion_tokens")
TOTALLED = (*COUNTED, "cost", "seconds")
"""Accounting metrics that are also summed over the run."""


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores of episodes: a column (episodes,) for each metric, NaN where an episode has none."""

    ids: Sequence[str]
    columns: Mapping[str, Floats]

    @staticmethod
    def of(scores: Sequence[Mapping[str, float]], ids: Sequence[str] = ()) -> Scores:
        """Return the scores of a list of episodes; ``ids`` are optional."""
        keys = dict.fromkeys(chain.from_iterable(scores))
        columns = {
            key: np.array([s.get(key, math.nan) for s in scores], float) for key in keys
        }
        return Scores(ids or [""] * len(scores), columns)

    def __len__(self) -> int:
        return len(self.ids)

    def column(self, key: str) -> Floats:
        """Return the scores of a metric, without missing values."""
        column = self.columns.get(key, np.empty(0))
        return column[~np.isnan(column)]

    def total(self, key: str) -> float | None:
        """Return the sum over all episodes, an ``int`` for counts; None if an episode has no value.
        Summed one by one: numpy's pairwise sums may round differently."""
        scores = self.column(key).tolist()
        total = sum(scores, 0.0)
        whole = key in COUNTED and total.is_integer()
        return None if len(scores) < len(self) else int(total) if whole else total

    def pairs(self) -> list[tuple[str, dict[str, float]]]:
        """Return the id and scores of each episode."""
        pairs: list[tuple[str, dict[str, float]]] = [(name, {}) for name in self.ids]
        for key, column in self.columns.items():
            for (_, scores), value in zip(pairs, column.tolist(), strict=True):
                if value == value:
                    scores[key] = value
        return pairs


@dataclass(frozen=True, slots=True)
class Row:
    """A run in a table.

    ``n`` of the ``of`` episodes in the split were scored; ``failed`` others failed.
    ``checksum`` is the split's. ``values`` holds each metric's mean over episodes and its 95%
    interval, by key. ``totals`` holds sums over the run (None: unknown), and ``wall_seconds`` if
    known. ``sees_answer``: one of the run's agents uses the reference. ``metrics`` are the family's
    own. ``clustered`` is what dependent episodes share (``"scene"``, empty for independent ones),
    ``clusters`` the number of independent units, ``runs`` the number of pooled runs (seeds),
    ``distinct`` their distinct episodes, ``counts`` the episodes of metrics that not all have,
    ``sample`` how a part of a split was chosen (``"first"``, ``"random"``), and
    ``caveats`` the assumptions behind every score of the row. ``success`` is the key of the success
    metric; ``best`` are the metrics in which the run is significantly better than all other rows.
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
    clusters: int = 0
    distinct: int = 0
    counts: Mapping[str, int] = field(default_factory=dict)
    sample: str = ""
    runs: int = 1
    caveats: tuple[str, ...] = ()
    success: str = "sr"
    settings: Mapping[str, str] = field(default_factory=dict)
    best: frozenset[str] = frozenset()


FAILED_0 = "_failed_0"
"""Ending of the key of a rate that counts failed episodes as zeros."""


def summarize(
    name: str,
    scores: Scores | Sequence[Mapping[str, float]],
    *,
    family: str,
    metrics: Sequence[Metric] | None = None,
    of: int,
    failed: int = 0,
    wall_seconds: float | None = None,
    clusters: Iterable[Hashable] | None = None,
    success: str = "",
    **fields: Any,
) -> Row:
    """Return a run's row from its episodes' scores; ``fields`` are other fields of the row.

    A metric is averaged over the episodes that have it; but a cost that is unknown for one episode
    is unknown for the run. ``metrics`` and ``success`` default to those of the ``family``.
    ``clusters`` are those of the scored episodes, then of the ``failed`` ones, which count as zeros
    in a second success rate.
    """
    family_metrics = list(
        metrics if metrics is not None else scoring.scorer(family).metrics
    )
    kinds = {key: metric.kind for key, metric in scoring.by_key(family_metrics).items()}
    table = scores if isinstance(scores, Scores) else Scores.of(scores)
    owners = None if clusters is None else list(clusters)
    own = None if owners is None else owners[: len(table)]
    count = len(table) if own is None else len(set(own))
    intervals: dict[str, Interval] = {}
    if table.columns:
        values = np.column_stack([*table.columns.values()])
        bounds = [
            RATE if kinds.get(key) == "rate" else POSITIVE for key in table.columns
        ]
        found = mean_intervals(values, bounds, own)
        intervals = dict(zip(table.columns, found, strict=True))
    success = success or scoring.success_of(family)
    if failed and success in table.columns:
        at = next((n for n, m in enumerate(family_metrics) if m.key == success), -1)
        label = family_metrics[at].label if at >= 0 else success
        about = "success, with episodes that failed (an error, not the agent) as zeros"
        zeros = Metric(
            success + FAILED_0, f"{label} (failed = 0)", "rate", "higher", about
        )
        family_metrics.insert(at + 1, zeros)
        column = np.append(table.columns[success], np.zeros(failed))
        if owners is not None:  # failed episodes without a given cluster are their own
            owners += [object() for _ in range(len(column) - len(owners))]
        intervals[zeros.key] = rate_interval(column, owners)
    counts = {key: len(table.column(key)) for key in table.columns}
    counts = {key: count for key, count in counts.items() if count < len(table)}
    totals = {key: table.total(key) for key in TOTALLED if key in table.columns}
    if "calls" in totals and totals.setdefault("cost", None) is None:
        intervals.pop("cost", None)  # a mean over only the known prices would mislead
    if wall_seconds is not None:
        totals["wall_seconds"] = wall_seconds
    return Row(
        name, family, tuple(family_metrics), len(table), of, intervals, failed, totals=totals,
        success=success, clusters=count, counts=counts, **fields,
    )  # fmt: skip


# Share of calls without usable advice above which a row gets a caveat
LOST_ADVICE = 0.1


def marks(scores: Scores | Sequence[Mapping[str, float]]) -> tuple[str, ...]:
    """Return a row's caveats from its episodes: prompts without their oldest steps or without
    examples, and experts whose advice was lost."""
    lines = []
    table = scores if isinstance(scores, Scores) else Scores.of(scores)
    for key, lack in (("steps", "their oldest steps"), ("examples", "solved examples")):
        if cut := len(table.column(f"{key}_forgotten")):
            share = f"in {cut} of {len(table)} episodes"
            lines.append(f"{share}, prompts omit {lack} to fit the context")
    lost = table.column("advice_lost").sum()
    calls = table.column("calls").sum()
    if calls and lost / calls > LOST_ADVICE:
        lines.append(
            f"{lost:.0f} of {calls:.0f} calls to experts gave no usable advice"
        )
    return tuple(lines)


def footnote(rows: Sequence[Row], hidden: Sequence[str] = ()) -> str:
    """Return the notes, one per line after an empty line; ``hidden`` are labels of columns."""
    lines = [""]
    alone = len(rows) == 1
    played = [row for row in rows if row.n]
    units = dict.fromkeys(plural(row.clustered) for row in played if row.clustered)
    if any(math.isfinite(each.half) for row in rows for each in row.values.values()):
        over = f", with {' and '.join(units)} as units" if units else ""
        lines.append(f"± half of the 95% interval{over}; [low, high] if asymmetric.")
    elif played:
        lines.append(
            f"No intervals: they need at least two {next(iter(units), 'episodes')}."
        )
    if few := _without_interval(played):
        most = next(iter(units), "episodes")
        lines.append(
            f"Too few {most} (below {FEWEST}) for intervals of metrics without bounds, such as "
            f"{few}."
        )
    lines += [line for row in played if (line := _subsets(row, alone))]
    lines += [f"Note: {line}" for line in caveats(rows)]
    if names := [row.name for row in rows if row.sees_answer]:
        lines.append(f"Upper bound (uses ground truth): {', '.join(names)}.")
    for row in rows:
        trials = row.values.get("trials")
        verdicts = row.values.get("verdicts")
        if trials is not None and verdicts is not None:
            outcomes = f"a judge revealed {verdicts.mean:.1f} outcomes"
            judged = outcomes if verdicts.mean else "no judge"
            scored = (
                f"{trials.mean:.1f} trials per episode, of which the last is scored"
            )
            lines.append(f"{'' if alone else f'{row.name}: '}{scored}; {judged}.")
    lines += [line for row in rows if (line := _spent(row, alone))]
    if hidden:
        lines.append(
            f"Hidden columns (terminal too narrow): {', '.join(hidden)}. See --wide."
        )
    return "\n".join(lines)


def _subsets(row: Row, alone: bool) -> str:
    """Return the metrics of a row that not all of its episodes have, with their number."""
    names = {key: metric.label for key, metric in scoring.by_key(row.metrics).items()}
    parts = [
        f"{names[key]} {n:,}" for key, n in row.counts.items() if key in names and n
    ]
    whose = "" if alone else f"{row.name}: "
    return f"{whose}Episodes with the metric: {', '.join(parts)}." if parts else ""


def plural(unit: str) -> str:
    """Return the plural of a unit: ``"trajectories"``."""
    return f"{unit[:-1]}ies" if unit.endswith("y") else f"{unit}s"


def _without_interval(rows: Sequence[Row]) -> str:
    """Return the label of the first metric without an interval because clusters are too few."""
    for row in rows:
        for metric in scoring.by_key(row.metrics).values():
            value = row.values.get(metric.key)
            # the mean of values that are all 0 is no estimate: an agent without a model
            if value is None or not value.mean or not math.isfinite(value.mean):
                continue
            if row.clusters < FEWEST and metric.kind != "rate":
                return metric.label
    return ""


def caveats(rows: Sequence[Row]) -> list[str]:
    """Return the rows' caveats, one per line, with the rows' names unless all share it."""
    lines = []
    for caveat in dict.fromkeys(line for row in rows for line in row.caveats):
        names = [row.name for row in rows if caveat in row.caveats]
        whose = "" if len(names) == len(rows) else f"{', '.join(names)}: "
        lines.append(f"{whose}{caveat}.")
    if (
        len({decoding for row in rows if (decoding := row.settings.get("decoding"))})
        > 1
    ):
        free = "With decoding=free, answers may be illegal actions; other decodings prevent that."
        lines.append(free)
    return lines


def _spent(row: Row, alone: bool) -> str:
    totals = row.totals
    parts = []
    if totals.get("calls"):
        cost = totals.get("cost")
        parts.append(f"{totals['calls']:,.0f} calls")
        parts.append(f"{totals.get('prompt_tokens') or 0:,.0f} prompt tokens")
        parts.append(f"{totals.get('completion_tokens') or 0:,.0f} generated")
        parts.append("cost unknown" if cost is None else f"${cost:,.2f}")
    if billed := totals.get("billed"):
        parts.append(f"${billed:,.2f} including unfinished episodes")
    wall = totals.get("wall_seconds")
    if wall is not None:
        parts.append(f"{wall:,.1f} s")
        if row.n >= wall > 0:
            parts[-1] += f" ({row.n / wall:,.1f} episodes per second)"
        elif row.n and wall:
            parts[-1] += f" ({wall / row.n:,.1f} s per episode)"
    return f"{'Total' if alone else row.name}: {', '.join(parts)}." if parts else ""
