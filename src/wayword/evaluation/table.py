"""Table: one row a run, every number with its interval, its count and what it cost.

    >>> from wayword.evaluation.table import render, summarize
    >>> scores = [{"sr": 1.0, "ne": 0.4}, {"sr": 0.0, "ne": 6.1}]
    >>> row = summarize("mine", scores, family="indoor", dataset="r2r:val_seen", of=1021)
    >>> print(render([row], "csv").splitlines()[0][:40])
    run,agent,model,dataset,checksum,n,of,fa

A run on a part of its split says so (``30 of 1021``), and so does one with failed episodes. Rates
are fractions of one in JSON and CSV, and percentages where people read them.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

import numpy as np

from wayword.core.episode import Json
from wayword.core.errors import UsageError, suggest
from wayword.evaluation import accounting, advice, predictions, scorer, state_accuracy, trials
from wayword.evaluation.intervals import Interval, bootstrap
from wayword.evaluation.metric import Metric

TOTALLED = ("calls", "prompt_tokens", "reused_tokens", "completion_tokens", "cost", "seconds")
"""Accounting metrics whose sum over the run is of interest."""


@dataclass(frozen=True, slots=True)
class Row:
    """One run.

    ``n`` of the ``of`` episodes in the split were scored, and ``failed`` more failed. ``checksum``
    is the split's. ``values`` holds each metric's mean over episodes and its 95% interval, by key.
    ``totals`` holds sums over the run (None: unknown), and ``wall_seconds`` where it is known:
    episodes run side by side, so it is less than the sum of their seconds. ``sees_answer``: one of
    the run's agents was shown the reference.
    """

    name: str
    family: str
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


def summarize(
    name: str,
    scores: Sequence[Mapping[str, float]],
    *,
    family: str,
    of: int,
    failed: int = 0,
    agent: str = "",
    model: str = "",
    dataset: str = "",
    checksum: str = "",
    wall_seconds: float | None = None,
    clusters: Sequence[Hashable] | None = None,
    seed: int = 0,
) -> Row:
    """A run's row from its episodes' scores.

    A metric that some episodes lack is averaged over the others; but a cost that is unknown for one
    episode is unknown for the run. ``clusters``: see :mod:`wayword.evaluation.intervals`.
    """
    keys = list(dict.fromkeys(key for one in scores for key in one))
    values = np.array([[one.get(key, math.nan) for key in keys] for one in scores], dtype=float)
    found = bootstrap(values.reshape(len(scores), len(keys)), clusters, seed=seed)
    intervals = dict(zip(keys, found, strict=True))
    totals: dict[str, float | None] = {
        key: _total(scores, key) for key in TOTALLED if any(key in one for one in scores)
    }
    if "calls" in totals and totals.setdefault("cost", None) is None:
        intervals.pop("cost", None)  # a mean over the known prices alone would mislead
    if wall_seconds is not None:
        totals["wall_seconds"] = wall_seconds
    return Row(
        name, family, len(scores), of, intervals, failed, agent, model, dataset, checksum, totals
    )


def _total(scores: Sequence[Mapping[str, float]], key: str) -> float | None:
    return sum(one[key] for one in scores) if all(key in one for one in scores) else None


def render(rows: Sequence[Row], format: str = "rich", width: int = 100) -> str:  # noqa: A002
    """The rows as text: ``rich`` (at most ``width`` columns), ``json``, ``csv`` or ``markdown``.

    Raises ``UsageError`` for another format.
    """
    from wayword.evaluation.terminal import terminal

    writers: dict[str, Callable[[], str]] = {
        "rich": lambda: terminal(rows, width),
        "json": lambda: to_json(rows),
        "csv": lambda: to_csv(rows),
        "markdown": lambda: to_markdown(rows),
    }
    if format not in writers:
        raise UsageError(f"no table format {format!r}; {suggest(format, list(writers))}")
    return writers[format]()


def metrics_of(rows: Sequence[Row]) -> list[Metric]:
    """The metrics that any of the rows has: families in order of appearance, accounting last."""
    families = dict.fromkeys(row.family for row in rows)
    own = [metric for family in families for metric in scorer.scorer(family).metrics]
    others = (
        trials.METRICS,
        predictions.METRICS,
        state_accuracy.METRICS,
        advice.METRICS,
        accounting.METRICS,
    )
    known = {metric.key: metric for metric in (*own, *chain(*others))}
    known |= {m.key: m for m in accounting.METRICS}
    there = {key for row in rows for key in row.values}
    return [metric for key, metric in known.items() if key in there]


def to_json(rows: Sequence[Row]) -> str:
    """``{"rows": [{"run", "agent", "model", …, "metrics": {key: {"mean", "low", "high"}}}]}``.

    What is unknown or not finite is null.
    """
    keys = [metric.key for metric in metrics_of(rows)]
    return json.dumps({"rows": [_as_json(row, keys) for row in rows]}, indent=2, allow_nan=False)


def _as_json(row: Row, keys: Sequence[str]) -> dict[str, Json]:
    metrics = {
        key: {"mean": _finite(v.mean), "low": _finite(v.low), "high": _finite(v.high)}
        for key in keys
        if (v := row.values.get(key)) is not None
    }
    totals = {key: _finite(value) for key, value in row.totals.items()}
    told = {"sees_answer": row.sees_answer}
    return {**_head(row), **told, "metrics": metrics, "totals": totals}


def to_csv(rows: Sequence[Row]) -> str:
    """A line a run; a metric takes three columns: ``sr``, ``sr_low``, ``sr_high``."""
    metrics = metrics_of(rows)
    totals = list(dict.fromkeys(key for row in rows for key in row.totals))
    head = ["run", "agent", "model", "dataset", "checksum", "n", "of", "failed"]
    ends = ("", "_low", "_high")
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(
        [*head, *(m.key + end for m in metrics for end in ends), *(f"total_{k}" for k in totals)]
    )
    for row in rows:
        found = [row.values.get(metric.key, Interval(math.nan)) for metric in metrics]
        numbers = [number for v in found for number in (v.mean, v.low, v.high)]
        sums = [row.totals.get(key) for key in totals]
        cells = ["" if _finite(x) is None else x for x in (*numbers, *sums)]
        writer.writerow([*_head(row).values(), *cells])
    return out.getvalue()


def to_markdown(rows: Sequence[Row]) -> str:
    """A Markdown table; ``46.7 ± 17.9`` is a mean and half of its 95% interval."""
    metrics = metrics_of(rows)
    head = ["Run", "Model", "Dataset", "Episodes", *(_markdown_label(m) for m in metrics)]
    lines = [head, ["---"] * 4 + ["---:"] * len(metrics)]
    for row in rows:
        cells = [" ± ".join(filter(None, cell(row, metric))) for metric in metrics]
        dataset = f"{row.dataset} `{row.checksum[:8]}`" if row.checksum else row.dataset
        name = f"{row.name} (shown the answer)" if row.sees_answer else row.name
        lines.append([name, row.model, dataset, episodes(row), *cells])
    text = [f"| {' | '.join(part.replace('|', '/') for part in line)} |" for line in lines]
    return "\n".join(text) + "\n"


def episodes(row: Row) -> str:
    """``1021``, or ``30 of 1021``, or ``28 of 1021, 2 failed``."""
    part = str(row.n) if row.n == row.of else f"{row.n} of {row.of}"
    return f"{part}, {row.failed} failed" if row.failed else part


def cell(row: Row, metric: Metric) -> tuple[str, str]:
    """A mean and half its interval, as people read them; empty where there is none."""
    value = row.values.get(metric.key)
    if value is None or math.isnan(value.mean):
        return ("–", "")
    digits = _digits(metric, value.mean)
    spread = "" if math.isnan(value.half) else number(metric, value.half, digits)
    return number(metric, value.mean, digits), spread


def number(metric: Metric, value: float, digits: int | None = None) -> str:
    """A value as people read it: rates as percentages."""
    places = _digits(metric, value) if digits is None else digits
    return f"{100.0 * value if metric.kind == 'rate' else value:,.{places}f}"


def label(metric: Metric) -> str:
    """The column's head, with its unit."""
    units = {"rate": "%", "metres": "m", "hops": "hops", "dollars": "$", "seconds": "s"}
    unit = units.get(metric.kind, "")
    return metric.label if not unit or metric.label.endswith(unit) else f"{metric.label} {unit}"


def _markdown_label(metric: Metric) -> str:
    return label(metric).replace("_", r"\_")


def _digits(metric: Metric, mean: float) -> int:
    if metric.kind == "dollars":
        return 4 if abs(mean) < 1 else 2
    if metric.kind == "tokens" or abs(mean) >= 1000:
        return 0
    return 2 if metric.kind in ("metres", "hops") else 1


def _head(row: Row) -> dict[str, Json]:
    return {
        "run": row.name,
        "agent": row.agent,
        "model": row.model,
        "dataset": row.dataset,
        "checksum": row.checksum,
        "n": row.n,
        "of": row.of,
        "failed": row.failed,
    }


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
