"""Sweeps: one run per value of a setting, one table, and a plot of the metrics.

    wayword run lgx --on robothor:train --sweep threshold=0.6,0.75,0.85,0.95

Several ``--sweep`` make every combination. Each is a run folder in a common folder, resumes like
any other, and is a row of one table. ``--sweep on=…`` and ``--sweep model=…`` (``--on a,b``,
``--model a,b`` for short) play several datasets and models; ``--sweep seed=0,1,2`` (``--seeds 3``)
the same episodes with several run seeds; ``--sweep detector_seed=…`` with several samples of a
simulated detector's errors.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape
from itertools import product
from pathlib import Path
from typing import Any

from wayword.core.errors import UsageError
from wayword.metrics.intervals import Interval
from wayword.runs.codec import unusable
from wayword.runs.plan import Plan
from wayword.runs.reports import SEEDS, rows_of
from wayword.settings import merge, parse

WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 640, 380, 64, 52, 24, 150
COLOURS = ("#1f5fa8", "#c4511d", "#2b8a3e", "#8a2b6e", "#6b6b00", "#555555")


@dataclass(frozen=True, slots=True)
class Curve:
    """A metric over the values of a setting. ``points``: the value as given, and its mean."""

    label: str
    points: tuple[tuple[str, Interval], ...]


def draw(setting: str, curves: Sequence[Curve], percent: bool = True) -> str:
    """Curves with 95% intervals as SVG text; all share one axis, in percent for rates.

    Numbers are placed to scale along the axis; other values in the given order.
    """

    def ends(value: Interval) -> tuple[float, float]:
        """The interval, or only the mean if there are too few episodes."""
        finite = math.isfinite(value.low) and math.isfinite(value.high)
        return (value.low, value.high) if finite else (value.mean, value.mean)

    def y(value: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * value / top

    def text(x: float, y: float, words: str, anchor: str = "middle") -> str:
        return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'

    names = list(dict.fromkeys(name for curve in curves for name, _ in curve.points))
    try:
        numbers = [float(name) for name in names]
    except ValueError:
        numbers = [float(number) for number in range(len(names))]
    least, most = min(numbers, default=0.0), max(numbers, default=1.0)
    scale = (WIDTH - LEFT - RIGHT - 24) / ((most - least) or 1.0)
    across = {n: LEFT + 12 + scale * (x - least) for n, x in zip(names, numbers, strict=True)}
    highest = max((ends(value)[1] for c in curves for _, value in c.points), default=1.0) or 1.0
    top = 1.0 if percent and highest > 0.5 else highest * 1.1
    parts = []
    for mark in (top * step / 5 for step in range(6)):
        shown = f"{100 * mark:.0f}" if percent else f"{mark:.3g}"
        parts.append(f'<path d="M{LEFT} {y(mark):.1f}H{WIDTH - RIGHT}" stroke="#e4e4e4"/>')
        parts.append(text(LEFT - 8, y(mark) + 4, shown, "end"))
    parts += [text(across[name], HEIGHT - BOTTOM + 18, name) for name in names]
    parts.append(text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 12, setting))
    if percent:
        parts.append(text(LEFT - 40, TOP - 8, "%", "start"))
    for number, curve in enumerate(curves):
        colour, at = COLOURS[number % len(COLOURS)], TOP + 8 + 18 * number
        points = sorted((across[name], value) for name, value in curve.points)
        path = "L".join(f"{x:.1f} {y(value.mean):.1f}" for x, value in points)
        parts.append(f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        for x, value in points:
            low, high = map(y, ends(value))
            parts.append(f'<path d="M{x:.1f} {low:.1f}V{high:.1f}" stroke="{colour}"/>')
            parts.append(f'<circle cx="{x:.1f}" cy="{y(value.mean):.1f}" r="3.5" fill="{colour}"/>')
        line = f'<path d="M{WIDTH - RIGHT + 14} {at - 4}h18" stroke="{colour}" stroke-width="2"/>'
        parts.append(line)
        parts.append(text(WIDTH - RIGHT + 38, at, curve.label, "start"))
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'font-family="system-ui, sans-serif" font-size="12">\n'
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>\n{body}\n</svg>\n'
    )


Choice = tuple[str, str]
"""A setting and one of its values, as given."""
MOST_CURVES = 6
"""As many as ``COLOURS``."""
MOST_RUNS = 1000
"""Runs of a sweep, each a folder and a row of the table."""
SEED = "seed"
FIELDS = ("on", "model", SEED)
"""Keys of ``--sweep`` that are fields of a plan, not settings."""


@dataclass(frozen=True, slots=True)
class Variant:
    """A run of a sweep."""

    choices: tuple[Choice, ...]
    plan: Plan

    @property
    def name(self) -> str:
        """The name of its folder: ``on=houses,shots=2``."""
        return re.sub("[/:]", "_", ",".join(f"{key}={value}" for key, value in self.choices))


def split(listed: str) -> list[str]:
    """The values of a list: ``openai:c,cascade:openai:a,openai:b`` are two."""
    return re.findall(r"cascade:[^,]+,[^,]+|[^,]+", listed)


def variants(plan: Plan, sweeps: Sequence[str]) -> list[Variant]:
    """A plan for every combination. Raises ``UsageError`` for a malformed sweep."""
    values = dict[str, list[str]]()
    for sweep in sweeps:
        key, _, listed = sweep.partition("=")
        if key in values:
            raise UsageError("--sweep: a setting is given twice")
        values[key] = split(listed)
        if not key or len(values[key]) < 2:
            raise UsageError(f"--sweep {sweep}: write KEY=VALUE,VALUE with at least two values")
        if len(set(values[key])) < len(values[key]):
            raise UsageError(f"--sweep {sweep}: a value is given twice")
    _check_count("--sweep", math.prod(map(len, values.values())))
    content = json.dumps([plan.agent, plan.on, plan.model, plan.settings, *sweeps], default=str)
    digest = hashlib.sha256(content.encode()).hexdigest()[:8]
    on = "" if "on" in values else f"-{plan.on.replace(':', '-')}"
    folder = plan.out or Path("runs") / f"sweep-{Path(plan.agent).stem}{on}-{digest}"
    planned = []
    for chosen in product(*values.values()):
        choices = tuple(zip(values, chosen, strict=True))
        own: dict[str, Any] = {key: value for key, value in choices if key in FIELDS}
        if not str(own.get(SEED, 0)).isdecimal():
            problem = "a seed must be an integer of at least 0"
            raise UsageError(f"--sweep {SEED}={own[SEED]}: {problem}")
        pairs = [f"{key}={value}" for key, value in choices if key not in FIELDS]
        variant = Variant(
            choices, replace(plan, settings=merge(plan.settings, parse(pairs)), **own)
        )
        planned.append(replace(variant, plan=replace(variant.plan, out=folder / variant.name)))
    return planned


def seeds(count: int) -> str:
    """The sweep over the run seeds 0 to ``count`` - 1."""
    if count < 2:
        raise UsageError(f"--seeds {count}: give at least 2")
    _check_count("--seeds", count)
    return f"{SEED}={','.join(map(str, range(count)))}"


def _check_count(option: str, count: int) -> None:
    if count > MOST_RUNS:
        line = f"{option}: a sweep must have at most {MOST_RUNS:,} runs, got {count:,}"
        raise UsageError(f"{line}; give fewer values, or use several commands")


def over_seeds(sweeps: Sequence[str]) -> bool:
    """True if any of the sweeps is over seeds, so that runs can be pooled."""
    return any(sweep.partition("=")[0] in SEEDS for sweep in sweeps)


def picture(variants: Sequence[Variant]) -> Path | None:
    """Plot up to three rates that all runs have over the first setting's values.

    Other settings make a curve each. Writes ``sweep.svg`` next to the runs; None where the runs
    share no rate. Raises ``RecordingError`` where it cannot be written.
    """
    folders = [variant.plan.out for variant in variants if variant.plan.out]
    rows = rows_of(folders)
    rates = [m for m in rows[0].metrics if m.kind == "rate"]
    # success first; three fit in a plot
    shown = [m for m in rates if all(m.key in row.values for row in rows)][:3]
    if not shown:
        return None
    others = dict.fromkeys(variant.choices[1:] for variant in variants)
    curves = []
    for metric, rest in product(shown, others):
        points = tuple(
            (variant.choices[0][1], row.values[metric.key])
            for variant, row in zip(variants, rows, strict=True)
            if variant.choices[1:] == rest and metric.key in row.values
        )
        label = " ".join([metric.label, *(f"{key}={value}" for key, value in rest)])
        curves.append(Curve(label, points))
    path = folders[0].parent / "sweep.svg"
    try:
        path.write_text(draw(variants[0].choices[0][0], curves[:MOST_CURVES]), encoding="utf-8")
    except OSError as error:
        raise unusable(path, error) from error
    return path
