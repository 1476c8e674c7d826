"""Ours beside the published: a recipe's rows with counts, intervals, cost and what differs."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field

import numpy as np

from wayword.core.episode import Json
from wayword.metrics import table as tables
from wayword.metrics.intervals import Interval, bootstrap
from wayword.metrics.summary import Row
from wayword.runs.forecast import Forecast
from wayword.runs.record import RecordedRun, RunFolder
from wayword.runs.reports import pooled
from wayword.runs.reproduce import Prepared, Recipe

STEP_MS = "step_ms"
"""Milliseconds of an episode for each of its steps; no metric of a family has it."""


@dataclass(frozen=True, slots=True)
class ReproducedRow:
    """A row: ``ours`` and ``published`` by metric, rates in percent; ``n`` episodes were played.

    ``missing`` says why there is no run. ``cost`` is in US dollars, None where a price is unknown.
    """

    name: str
    published: Mapping[str, float]
    ours: Mapping[str, Interval] = field(default_factory=dict)
    n: int = 0
    of: int = 0
    runs: tuple[str, ...] = ()
    model: str = ""
    dataset: str = ""
    cost: float | None = None
    tokens: int = 0
    differs: tuple[str, ...] = ()
    missing: str = ""


def beside(prepared: Prepared, keys: Sequence[str]) -> ReproducedRow:
    """The row's runs beside what is published. Raises ``RecordingError`` for a run not begun."""
    row = prepared.row
    if prepared.missing:
        return ReproducedRow(row.name, row.published, missing=prepared.missing)
    runs = [RunFolder.read(plan.out) for plan in prepared.plans if plan.out]
    found = pooled(runs)
    ours = {key: value for key in keys if (value := _value(found, runs, key)) is not None}
    totals = found.totals
    return ReproducedRow(
        row.name,
        row.published,
        ours,
        found.n,
        found.of * len(runs),
        tuple(str(run.path) for run in runs),
        found.model,
        found.dataset,
        totals.get("cost", 0.0),
        int(sum(totals.get(key) or 0 for key in ("prompt_tokens", "completion_tokens"))),
        (*prepared.differs, *found.caveats, *_failed(found)),
    )


def _failed(row: Row) -> list[str]:
    return [f"{row.failed} episodes failed"] if row.failed else []


def _value(row: Row, runs: Sequence[RecordedRun], key: str) -> Interval | None:
    if key == STEP_MS:
        return _step_ms(runs)
    if key not in row.values:
        return None
    kinds = {metric.key: metric.kind for metric in tables.metrics_of([row])}
    scale, value = (100.0 if kinds.get(key) == "rate" else 1.0), row.values[key]
    return Interval(scale * value.mean, scale * value.low, scale * value.high)


def _step_ms(runs: Sequence[RecordedRun]) -> Interval | None:
    scores = [found for run in runs for _, found in run.scores() if found.get("steps")]
    values = np.array([[1000.0 * s["seconds"] / s["steps"]] for s in scores])
    return bootstrap(values)[0] if len(scores) else None


def render(recipe: Recipe, rows: Sequence[ReproducedRow], form: str, width: int = 100) -> str:
    """The table as ``rich``, ``markdown`` or ``json``; ours above the published."""
    if form == "json":
        return json.dumps(_json(recipe, rows), indent=2)
    cells = [_cells(recipe, row) for row in rows]
    head = ["Row", "Episodes", *recipe.metrics.values(), "Cost"]
    notes = _notes(rows)
    if form == "markdown":
        lines = [head, ["---"] * len(head), *([c.replace("\n", "<br>") for c in r] for r in cells)]
        return "\n".join(["| " + " | ".join(line) + " |" for line in lines] + ["", *notes])
    return "\n".join(
        [f"{recipe.name}: {recipe.title}", recipe.source, _rich(head, cells, width), *notes]
    )


def _rich(head: Sequence[str], cells: Sequence[Sequence[str]], width: int) -> str:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for number, name in enumerate(head):
        shown.add_column(name, justify="right" if number else "left", overflow="fold")
    for line in cells:
        shown.add_row(*line)
    out = io.StringIO()
    Console(file=out, width=width, no_color=True, highlight=False).print(shown)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines())


def _cells(recipe: Recipe, row: ReproducedRow) -> list[str]:
    count = f"{row.n} of {row.of}" if row.n != row.of else str(row.n)
    told = [_cell(row.ours.get(key), row.published.get(key)) for key in recipe.metrics]
    cost = "?" if row.cost is None else f"${row.cost:.2f}"
    return [row.name, "–", *told, "–"] if row.missing else [row.name, count, *told, cost]


def _cell(ours: Interval | None, published: float | None) -> str:
    mean = "–" if ours is None else f"{ours.mean:.2f}"
    spread = "" if ours is None or math.isnan(ours.low) else f" ±{ours.half:.2f}"
    return f"{mean}{spread}\n({'–' if published is None else f'{published:g}'})"


def _notes(rows: Sequence[ReproducedRow]) -> list[str]:
    """What differs, each line once, with the rows it is about where it is not all of them."""
    about: dict[str, list[str]] = {}
    for row in rows:
        for line in row.differs:
            about.setdefault(line, []).append(row.name)
    played = sum(not row.missing for row in rows)
    lines = ["Ours ± half of the 95% interval, (published). What differs:"] if played else []
    for line, names in about.items():
        lines.append(f"- {line}" if len(names) == played else f"- {'; '.join(names)}: {line}")
    gone: dict[str, list[str]] = {}
    for row in rows:
        if row.missing:
            gone.setdefault(row.missing, []).append(row.name)
    return lines + [f"Not run: {'; '.join(names)}: {why}" for why, names in gone.items()]


def _json(recipe: Recipe, rows: Sequence[ReproducedRow]) -> Json:
    listed: list[Json] = []
    for row in rows:
        told = asdict(row)
        told["ours"] = {
            key: {"mean": _finite(v.mean), "low": _finite(v.low), "high": _finite(v.high)}
            for key, v in row.ours.items()
        }
        listed.append(told)
    head = {"recipe": recipe.name, "title": recipe.title, "source": recipe.source}
    return {**head, "metrics": dict(recipe.metrics), "rows": listed}


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def forecast_lines(name: str, told: Sequence[tuple[str, Forecast]]) -> list[str]:
    """A line a row, and the sum: calls, tokens read and written, dollars."""
    lines = [
        f"{row}: {one.episodes} episodes, {one.calls:.1f} calls each, {one.read:,} tokens read, "
        f"{one.written:,} written, {_dollars(one.dollars)}"
        for row, one in told
    ]
    known = [one.dollars for _, one in told if one.dollars is not None]
    whole = sum(known) if len(known) == len(told) else None
    read, written = (sum(getattr(one, key) for _, one in told) for key in ("read", "written"))
    return [*lines, f"{name} in all: {read:,} tokens read, {written:,} written, {_dollars(whole)}"]


def _dollars(value: float | None) -> str:
    return "cost unknown: give a price with --prices" if value is None else f"${value:.2f}"
