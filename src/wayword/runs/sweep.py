"""Sweeps: one run for each value of a setting, one table, and a picture of how metrics move.

    wayword run lgx --on robothor:train --sweep threshold=0.6,0.75,0.85,0.95

Several ``--sweep`` make every combination. Each is a run folder of its own under one folder, goes
on where it stopped like any other, and is a row of one table. ``--sweep seed=0,1,2``, for which
``--seeds 3`` is short, plays the same episodes with several run seeds, ``--sweep detector_seed=…``
with several draws of a simulated detector's errors.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape
from itertools import product
from pathlib import Path

from wayword.core.errors import RecordingError, UsageError
from wayword.metrics.intervals import Interval
from wayword.metrics.summary import Row
from wayword.runs.plan import Plan
from wayword.runs.reports import SEEDS, rows_of
from wayword.settings import merge, parse

# Curves: how metrics move with a setting, as one picture (SVG) with 95% intervals.
#
#     >>> from wayword.metrics.intervals import Interval
#     >>> line = Curve("SR", (("0.6", Interval(0.2, 0.1, 0.3)), ("0.8", Interval(0.5, 0.4, 0.6))))
#     >>> draw("G_th", [line]).startswith("<svg")
#     True
#
# Values that are numbers lie to scale along the axis; other ones lie in the order they were given.

WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 640, 380, 64, 52, 24, 150
COLOURS = ("#1f5fa8", "#c4511d", "#2b8a3e", "#8a2b6e", "#6b6b00", "#555555")


@dataclass(frozen=True, slots=True)
class Curve:
    """One metric over the values of a setting. ``points``: the value as given, and its mean."""

    label: str
    points: tuple[tuple[str, Interval], ...]


def draw(setting: str, curves: Sequence[Curve], percent: bool = True) -> str:
    """The picture as SVG text; all curves share one axis, in percent for rates."""
    names = list(dict.fromkeys(name for curve in curves for name, _ in curve.points))
    across = _places(names)
    highest = max((_ends(p)[1] for c in curves for _, p in c.points), default=1.0) or 1.0
    top = 1.0 if percent and highest > 0.5 else highest * 1.1
    parts = [*_axes(setting, names, across, top, percent)]
    for number, curve in enumerate(curves):
        parts += _line(curve, number, across, top)
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'font-family="system-ui, sans-serif" font-size="12">\n'
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>\n{body}\n</svg>\n'
    )


def _ends(found: Interval) -> tuple[float, float]:
    """The interval; the mean alone where there are too few episodes for one."""
    known = math.isfinite(found.low) and math.isfinite(found.high)
    return (found.low, found.high) if known else (found.mean, found.mean)


def _places(names: Sequence[str]) -> dict[str, float]:
    """Where each value lies along the axis, in pixels."""
    try:
        numbers = [float(name) for name in names]
    except ValueError:
        numbers = [float(number) for number in range(len(names))]
    least, most = min(numbers, default=0.0), max(numbers, default=1.0)
    span = (most - least) or 1.0
    wide = WIDTH - LEFT - RIGHT - 24
    return {
        name: LEFT + 12 + wide * (number - least) / span
        for name, number in zip(names, numbers, strict=True)
    }


def _height(value: float, top: float) -> float:
    return HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * value / top


def _axes(
    setting: str, names: Sequence[str], across: dict[str, float], top: float, percent: bool
) -> list[str]:
    parts = []
    for step in range(6):
        value = top * step / 5
        y = _height(value, top)
        shown = f"{100 * value:.0f}" if percent else f"{value:.3g}"
        parts.append(f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" stroke="#e4e4e4"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{shown}</text>')
    y = HEIGHT - BOTTOM + 18
    parts += [
        f'<text x="{across[name]:.1f}" y="{y}" text-anchor="middle">{escape(name)}</text>'
        for name in names
    ]
    middle = (LEFT + WIDTH - RIGHT) / 2
    title = (
        f'<text x="{middle:.0f}" y="{HEIGHT - 12}" text-anchor="middle">{escape(setting)}</text>'
    )
    unit = f'<text x="{LEFT - 40}" y="{TOP - 8}">%</text>' if percent else ""
    return [*parts, title, unit]


def _line(curve: Curve, number: int, across: dict[str, float], top: float) -> list[str]:
    colour = COLOURS[number % len(COLOURS)]
    points = sorted((across[name], found) for name, found in curve.points)
    path = "L".join(f"{x:.1f} {_height(found.mean, top):.1f}" for x, found in points)
    parts = [f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="2"/>']
    for x, found in points:
        low, high = (_height(end, top) for end in _ends(found))
        y = _height(found.mean, top)
        parts.append(f'<path d="M{x:.1f} {low:.1f}V{high:.1f}" stroke="{colour}"/>')
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}"/>')
    y = TOP + 8 + 18 * number
    parts.append(f'<path d="M{WIDTH - RIGHT + 14} {y - 4}h18" stroke="{colour}" stroke-width="2"/>')
    parts.append(f'<text x="{WIDTH - RIGHT + 38}" y="{y}">{escape(curve.label)}</text>')
    return parts


Choice = tuple[str, str]
"""A setting and one of its values, as given."""
MOST_CURVES = 6
MOST_RUNS = 1000
"""Runs of a sweep, each a folder and a row of the table."""
SEED = "seed"
"""The key of ``--sweep`` that is the run's own seed and no setting."""


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
    if (count := math.prod(len(values) for _, values in read)) > MOST_RUNS:
        raise _too_many("--sweep", count)
    told = json.dumps([plan.agent, plan.on, plan.model, plan.settings, *sweeps], default=str)
    digest = hashlib.sha256(told.encode()).hexdigest()[:8]
    name = f"sweep-{Path(plan.agent).stem}-{plan.on.replace(':', '-')}-{digest}"
    folder = plan.out or Path("runs") / name
    made = []
    for values in product(*(values for _, values in read)):
        choices = tuple((key, value) for (key, _), value in zip(read, values, strict=True))
        own = [f"{key}={value}" for key, value in choices if key != SEED]
        name = ",".join(f"{key}={value}" for key, value in choices).replace("/", "_")
        settings = merge(plan.settings, parse(own))
        seed = dict(choices).get(SEED, str(plan.seed))
        if not seed.isdecimal():
            raise UsageError(f"--sweep {SEED}={seed}: a seed is a whole number from 0 on")
        variant = replace(plan, settings=settings, seed=int(seed), out=folder / name)
        made.append(Variant(choices, variant))
    return made


def seeds(count: int) -> str:
    """The sweep over the run seeds 0 to ``count`` - 1."""
    if count < 2:
        raise UsageError(f"--seeds {count}: give at least 2")
    if count > MOST_RUNS:
        raise _too_many("--seeds", count)
    return f"{SEED}={','.join(map(str, range(count)))}"


def _too_many(option: str, count: int) -> UsageError:
    line = f"{option}: {count:,} runs in one sweep are more than {MOST_RUNS:,}"
    return UsageError(f"{line}; give fewer values, or several commands")


def over_seeds(sweeps: Sequence[str]) -> bool:
    """Whether any of the sweeps goes over seeds, so that runs can be pooled."""
    return any(sweep.partition("=")[0] in SEEDS for sweep in sweeps)


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
    rates = [m for m in rows[0].metrics if m.kind == "rate"]
    shown = [m for m in rates if m.key in keys]
    if not keys:  # those that all runs have, success first; no more than a picture can hold
        shown = [m for m in rates if all(m.key in row.values for row in rows)][:3]
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


def _read(sweep: str) -> tuple[str, list[str]]:
    key, _, values = sweep.partition("=")
    listed = [value for value in values.split(",") if value]
    if not key or len(listed) < 2:
        raise UsageError(f"--sweep {sweep}: write KEY=VALUE,VALUE with at least two values")
    if len(set(listed)) < len(listed):
        raise UsageError(f"--sweep {sweep}: a value is given twice")
    return key, listed
