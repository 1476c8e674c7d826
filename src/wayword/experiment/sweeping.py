"""Sweeps: one run for each value of a setting, one table, and a picture of how metrics move.

    wayword run lgx --on robothor:train --sweep threshold=0.6,0.75,0.85,0.95

Several ``--sweep`` make every combination. Each is a run folder of its own under one folder, goes
on where it stopped like any other, and is a row of one table.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

from wayword.core.errors import RecordingError, UsageError
from wayword.evaluation.curves import Curve, draw
from wayword.evaluation.metric import Metric
from wayword.evaluation.scorer import scorer
from wayword.evaluation.table import Row
from wayword.experiment.plan import Plan
from wayword.experiment.reports import rows_of
from wayword.settings import merge, parse

Choice = tuple[str, str]
"""A setting and one of its values, as given."""
MOST_CURVES = 6


@dataclass(frozen=True, slots=True)
class Variant:
    """One run of a sweep."""

    choices: tuple[Choice, ...]
    plan: Plan


def variants(plan: Plan, sweeps: Sequence[str]) -> list[Variant]:
    """A plan for every combination. Raises ``UsageError`` for a sweep that is none."""
    read = [_read(sweep) for sweep in sweeps]
    if len({key for key, _ in read}) < len(read):
        raise UsageError("--sweep: a setting is given twice")
    folder = plan.out or _folder(plan, sweeps)
    made = []
    for values in product(*(values for _, values in read)):
        choices = tuple((key, value) for (key, _), value in zip(read, values, strict=True))
        settings = merge(plan.settings, parse([f"{key}={value}" for key, value in choices]))
        name = ",".join(f"{key}={value}" for key, value in choices).replace("/", "_")
        made.append(Variant(choices, replace(plan, settings=settings, out=folder / name)))
    return made


def picture(variants: Sequence[Variant], keys: Sequence[str] = ()) -> Path:
    """Draw the metrics (``keys``, or the family's rates) over the first setting's values.

    Other settings make a curve each. Writes ``sweep.svg`` beside the runs. Raises ``UsageError``
    for a metric that the runs do not have, ``RecordingError`` where it cannot be written.
    """
    folder = next(variant.plan.out for variant in variants if variant.plan.out).parent
    rows = rows_of([v.plan.out for v in variants if v.plan.out])
    curves = _curves(variants, rows, keys)
    path = folder / "sweep.svg"
    try:
        path.write_text(draw(variants[0].choices[0][0], curves), encoding="utf-8")
    except OSError as error:
        raise RecordingError(f"{path}: cannot be written: {error.strerror}") from error
    return path


def _curves(variants: Sequence[Variant], rows: Sequence[Row], keys: Sequence[str]) -> list[Curve]:
    rates = [m for m in scorer(rows[0].family).metrics if m.kind == "rate"]
    shown = [m for m in rates if m.key in keys] if keys else _common(rates, rows)
    if not shown:
        known = ", ".join(metric.key for metric in rates)
        raise UsageError(f"none of {', '.join(keys)} is a rate of these runs; there are: {known}")
    others = list(dict.fromkeys(variant.choices[1:] for variant in variants))
    curves = []
    for metric, rest in product(shown, others):
        points = tuple(
            (variant.choices[0][1], row.values[metric.key])
            for variant, row in zip(variants, rows, strict=True)
            if variant.choices[1:] == rest and metric.key in row.values
        )
        label = " ".join([metric.label, *(f"{key}={value}" for key, value in rest)])
        curves.append(Curve(label, points))
    return curves[:MOST_CURVES]


def _common(rates: Sequence[Metric], rows: Sequence[Row]) -> list[Metric]:
    """The rates that all runs have, success first; no more than a picture can hold."""
    return [m for m in rates if all(m.key in row.values for row in rows)][:3]


def _read(sweep: str) -> tuple[str, list[str]]:
    key, _, values = sweep.partition("=")
    listed = [value for value in values.split(",") if value]
    if not key or len(listed) < 2:
        raise UsageError(f"--sweep {sweep}: write KEY=VALUE,VALUE with at least two values")
    if len(set(listed)) < len(listed):
        raise UsageError(f"--sweep {sweep}: a value is given twice")
    return key, listed


def _folder(plan: Plan, sweeps: Sequence[str]) -> Path:
    told = json.dumps([plan.agent, plan.on, plan.model, plan.settings, *sweeps], default=str)
    digest = hashlib.sha256(told.encode()).hexdigest()[:8]
    return Path("runs") / f"sweep-{Path(plan.agent).stem}-{plan.on.replace(':', '-')}-{digest}"
