"""Sweeps: one run per value of a setting, a table and a plot of the metrics.

    wayword run lgx --on robothor:train --sweep threshold=0.6,0.75,0.85,0.95

Several ``--sweep`` options are combined: each combination is a run in a common folder, which can be
resumed like any other, and a row of the table. ``--sweep on=…`` and ``--sweep model=…`` sweep
datasets and models (short: ``--on a,b`` and ``--model a,b``), ``--sweep seed=0,1,2`` sweeps run
seeds (short: ``--seeds 3``), and ``--sweep detector_seed=…`` the errors of simulated detectors.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from itertools import chain, islice, product
from pathlib import Path
from typing import Any

from wayword.core.errors import UsageError
from wayword.core.files import text_checksum
from wayword.metrics import accounting
from wayword.metrics.intervals import Interval
from wayword.runs.json_lines import unusable
from wayword.runs.plan import Plan
from wayword.runs.reports import rows_of
from wayword.settings import merge, parse

# Size of the picture, its margins around the axes, and the colors of curves, in pixels.
WIDTH = 640
HEIGHT = 380
LEFT = 64
BOTTOM = 52
TOP = 24
RIGHT = 150
COLORS = ("#1f5fa8", "#c4511d", "#2b8a3e", "#8a2b6e", "#6b6b00", "#555555")


Curves = Mapping[str, Mapping[str, Interval]]
"""Label of each curve -> its values of the setting, and the metric at each."""


def draw(setting: str, curves: Curves) -> str:
    """Plot rates with 95% intervals as SVG, on a common vertical axis in percent. Numeric values
    are placed to scale on the horizontal axis, others in the given order."""

    def ends(value: Interval) -> tuple[float, float]:
        """The interval, or the mean if there are too few episodes."""
        if math.isfinite(value.low) and math.isfinite(value.high):
            return value.low, value.high
        return value.mean, value.mean

    def y(value: float) -> float:
        """Return the height of a value in the drawing."""
        return HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * value / top

    def text(x: float, y: float, words: str, anchor: str = "middle") -> str:
        """Return a text of the drawing."""
        return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'

    # Numbers are placed to scale, other values side by side.
    names = list(dict.fromkeys(chain.from_iterable(curves.values())))
    try:
        numbers = [float(name) for name in names]
    except ValueError:
        numbers = [float(number) for number in range(len(names))]
    # The widest distance fills the axis; a single value is at its beginning.
    least = min(numbers, default=0.0)
    most = max(numbers, default=1.0)
    scale = (WIDTH - LEFT - RIGHT - 24) / ((most - least) or 1.0)
    across = {
        n: LEFT + 12 + scale * (x - least) for n, x in zip(names, numbers, strict=True)
    }

    # The axis ends at 100%, or just above the highest value if all are low.
    values = chain.from_iterable(points.values() for points in curves.values())
    highest = max((ends(value)[1] for value in values), default=1.0) or 1.0
    # Low rates would be a flat line at the bottom.
    top = 1.0
    if highest <= 0.5:
        top = highest * 1.1

    # The grid with its labels, then a curve with its intervals for each line of the legend.
    parts = []
    # Six lines, from zero to the top.
    for mark in (top * step / 5 for step in range(6)):
        parts.append(
            f'<path d="M{LEFT} {y(mark):.1f}H{WIDTH - RIGHT}" stroke="#e4e4e4"/>'
        )
        parts.append(text(LEFT - 8, y(mark) + 4, f"{100 * mark:.0f}", "end"))
    parts += [text(across[name], HEIGHT - BOTTOM + 18, name) for name in names]
    parts.append(text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 12, setting))
    parts.append(text(LEFT - 40, TOP - 8, "%", "start"))
    for number, (label, curve) in enumerate(curves.items()):
        # More curves than colors repeat them.
        color = COLORS[number % len(COLORS)]
        at = TOP + 8 + 18 * number
        # From left to right, whatever the order of the values.
        points = sorted((across[name], value) for name, value in curve.items())
        path = "L".join(f"{x:.1f} {y(value.mean):.1f}" for x, value in points)
        parts.append(
            f'<path d="M{path}" fill="none" stroke="{color}" stroke-width="2"/>'
        )
        for x, value in points:
            low, high = map(y, ends(value))
            parts.append(f'<path d="M{x:.1f} {low:.1f}V{high:.1f}" stroke="{color}"/>')
            parts.append(
                f'<circle cx="{x:.1f}" cy="{y(value.mean):.1f}" r="3.5" fill="{color}"/>'
            )
        parts.append(
            f'<path d="M{WIDTH - RIGHT + 14} {at - 4}h18" stroke="{color}" stroke-width="2"/>'
        )
        parts.append(text(WIDTH - RIGHT + 38, at, label, "start"))
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'font-family="system-ui, sans-serif" font-size="12">\n'
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>\n{body}\n</svg>\n'
    )


Choice = tuple[str, str]
"""A setting and one of its values, as text."""

# Maximum runs of a sweep; each is a folder and a row of the table.
MAX_RUNS = 1000

# The key of the sweep over seeds.
SEED = "seed"
FIELDS = ("on", "model", SEED)
"""Keys of ``--sweep`` that are fields of a plan rather than settings."""

OPTIONS = (
    SEED,
    "max_steps",
    "first",
    "shuffle",
    "shard",
    "actors",
    "ask",
    "remember",
)
"""Further fields of a plan that tell its runs from others: sweeps that differ in them are not
resumed from each other's folder."""


@dataclass(frozen=True)
class Variant:
    """A run of a sweep."""

    choices: tuple[Choice, ...]
    plan: Plan

    @property
    def name(self) -> str:
        """Name of its folder: ``on=houses,shots=2``."""
        return re.sub(
            "[/:]",
            "_",
            ",".join(f"{key}={value}" for key, value in self.choices),
        )


def split(listed: str) -> list[str]:
    """Split a list of values. A cascade has a comma: ``openai:c,cascade:openai:a,openai:b`` has
    two."""
    return re.findall(r"cascade:[^,]+,[^,]+|[^,]+", listed)


def variants(plan: Plan, sweeps: Sequence[str]) -> list[Variant]:
    """Return the plans of all combinations, the values of the last sweep varying fastest.

    A sweep is ``KEY=VALUE,VALUE``; its key is one of ``FIELDS``, else a setting. Each plan has its
    own folder, below that of ``plan`` or else below ``runs/``. Raises ``UsageError`` for a
    malformed sweep, and for more than ``MAX_RUNS`` combinations.
    """
    # Each setting with its values, in the order of the command.
    values = dict[str, list[str]]()
    for sweep in sweeps:
        key, _, listed = sweep.partition("=")
        if key in values:
            raise UsageError(
                f"--sweep {sweep}: {key} has a sweep already; list all values in one"
            )
        values[key] = split(listed)
        # One value is a setting, not a sweep.
        if not key or len(values[key]) < 2:
            raise UsageError(
                f"--sweep {sweep}: write KEY=VALUE,VALUE with at least two values"
            )
        if len(set(values[key])) < len(values[key]):
            raise UsageError(f"--sweep {sweep}: a value is repeated; give each once")
    _check_count("--sweep", math.prod(map(len, values.values())))
    # Equal sweeps have equal folders, so that they resume.
    content = [plan.agent, plan.on, plan.model, plan.settings, *sweeps]
    options = _options(plan)
    if options:
        content.append(options)
    digest = text_checksum(json.dumps(content, default=str), 8)
    folder_name = f"sweep-{Path(plan.agent).stem}"
    if "on" not in values:
        folder_name += f"-{plan.on.replace(':', '-')}"
    folder = plan.out or Path("runs") / f"{folder_name}-{digest}"
    planned = []
    # A run for each combination, in a folder with its name.
    for chosen in product(*values.values()):
        choices = tuple(zip(values, chosen, strict=True))
        changes: dict[str, Any] = {
            key: value for key, value in choices if key in FIELDS
        }
        # Other fields are checked when the plan is made.
        if not str(changes.get(SEED, 0)).isdecimal():
            problem = "a seed must be an integer of at least 0"
            raise UsageError(f"--sweep {SEED}={changes[SEED]}: {problem}")
        pairs = [f"{key}={value}" for key, value in choices if key not in FIELDS]
        changes["settings"] = merge(plan.settings, parse(pairs))
        name = Variant(choices, plan).name
        planned.append(Variant(choices, replace(plan, out=folder / name, **changes)))
    return planned


def _options(plan: Plan) -> dict[str, Any]:
    """Return the fields of ``OPTIONS`` that are not the default."""
    default = Plan(plan.agent, plan.on)
    options = {}
    for name in OPTIONS:
        value = getattr(plan, name)
        if value != getattr(default, name):
            options[name] = value
    return options


def seeds(count: int) -> str:
    """A sweep over the run seeds 0 to ``count`` - 1."""
    if count < 1:
        raise UsageError(f"--seeds must be at least 1, got {count}")
    _check_count("--seeds", count)
    return f"{SEED}={','.join(map(str, range(count)))}"


def _check_count(option: str, count: int) -> None:
    """Raise ``UsageError`` for a sweep of too many runs."""
    if count > MAX_RUNS:
        line = f"{option}: a sweep must have at most {MAX_RUNS:,} runs, got {count:,}"
        raise UsageError(f"{line}; give fewer values, or use several commands")


def picture(variants: Sequence[Variant]) -> Path | None:
    """Plot up to three rates over the values of the first setting as ``sweep.svg``, with a curve
    for each combination of the other settings. Returns None if the runs have no rate in common.
    Raises ``RecordingError`` if the file cannot be written."""
    folders = [variant.plan.out for variant in variants if variant.plan.out]
    rows = rows_of(folders)
    large = next(metric for metric in accounting.METRICS if metric.key == "escalated")
    # success first, then a cascade's share of large answers; more than three are hard to read
    rates = [
        m
        for m in (*rows[0].metrics[:1], large, *rows[0].metrics[1:])
        if m.kind == "rate"
    ]
    shown = [m for m in rates if all(m.key in row.values for row in rows)][:3]
    if not shown:
        return None
    # A curve for each rate and each combination of the other settings.
    curves = {}
    for metric, rest in product(shown, dict.fromkeys(v.choices[1:] for v in variants)):
        curves[" ".join([metric.label, *(f"{key}={value}" for key, value in rest)])] = {
            variant.choices[0][1]: row.values[metric.key]
            for variant, row in zip(variants, rows, strict=True)
            if variant.choices[1:] == rest
        }
    path = folders[0].parent / "sweep.svg"
    drawn = dict(islice(curves.items(), len(COLORS)))
    try:
        path.write_text(draw(variants[0].choices[0][0], drawn), encoding="utf-8")
    except OSError as error:
        raise unusable(path, error) from error
    return path
