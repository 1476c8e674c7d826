"""Table: one row a run, every number with its interval, its count and what it cost.

    >>> from wayword.metrics.summary import summarize
    >>> from wayword.metrics.table import render
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
import re
from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING

from wayword.core.episode import Json
from wayword.core.errors import UsageError, suggest
from wayword.core.metric import Metric
from wayword.metrics import accounting, predictions, scoring, state_accuracy
from wayword.metrics.intervals import Interval
from wayword.metrics.summary import Row, caveats, footnote

# Tables in a terminal: as many columns as fit, the most telling first.
#
# What does not fit is named below the table, never silently dropped.

if TYPE_CHECKING:
    from rich.console import RenderableType

FIRST = 4  # of a family's metrics, before any accounting
# Before the family's other metrics; what an SR of several trials rests on comes first of all.
THEN = (
    *("trials", "sr_first", "verdicts", "cut_off", "rejection_rate", "steps", "cost"),
    "illegal_moves",
)
IF_ANY = frozenset({"cut_off"})  # columns that say nothing where all of them are 0
TITLE = 26  # columns that the name of a run may always take


def terminal(rows: Sequence[Row], width: int = 100, color: bool = False) -> str:
    """The table as text of at most ``width`` columns, with terminal colours where asked for."""
    from rich.console import Console

    out = io.StringIO()
    console = Console(
        file=out, width=width, force_terminal=color, no_color=not color, highlight=False
    )
    console.print(rich_table(rows, width))
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def rich_table(rows: Sequence[Row], width: int = 100) -> RenderableType:
    """The table for a rich console: each mean stands above half of its 95% interval."""
    from rich import box
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    metrics = metrics_of(rows)
    names = [_title(row) for row in rows]
    counts = [_count(row) for row in rows]
    title = min(_widest(["Run"], *names), max(TITLE, width * 2 // 5))
    room = width - title - _widest(["Episodes"], *counts) - 2
    shown = fit(metrics, [_width(rows, metric) + 2 for metric in metrics], room)
    table = Table(
        box=box.SIMPLE_HEAD, padding=(0, 1), collapse_padding=True, pad_edge=False, show_edge=False
    )
    table.add_column("Run", overflow="fold", max_width=title)
    table.add_column("Episodes", justify="right", no_wrap=True)
    for metric in shown:
        table.add_column(label(metric), justify="right", no_wrap=True)
    for name, count, row in zip(names, counts, rows, strict=True):
        head = Text(name[0], style="bold")
        for line in name[1:]:
            head.append(f"\n{line}", style="not bold dim")
        cells = [_stack(*cell(row, metric)) for metric in shown]
        table.add_row(head, "\n".join(count), *cells)
    return Group(table, Text(footnote(rows, metrics, shown), style="dim"))


def fit(metrics: Sequence[Metric], widths: Sequence[int], room: int) -> list[Metric]:
    """The metrics whose columns fit into ``room``, by rank, in their own order."""
    left, chosen = room, set()
    for number in sorted(range(len(metrics)), key=lambda n: _rank(metrics, n)):
        if widths[number] > left:
            break
        left -= widths[number]
        chosen.add(number)
    return [metric for number, metric in enumerate(metrics) if number in chosen]


def _rank(metrics: Sequence[Metric], number: int) -> tuple[int, int]:
    key = metrics[number].key
    if number < FIRST:
        return 0, number
    return (1, THEN.index(key)) if key in THEN else (2, number)


def _title(row: Row) -> list[str]:
    dataset = f"{row.dataset} {row.checksum[:8]}".strip()
    return [row.name, *(line for line in (_agent(row), row.model, dataset) if line)]


def _agent(row: Row) -> str:
    """The agent, where the name of the run does not say it."""
    said = re.search(rf"(?<![a-z]){re.escape(row.agent)}(?![a-z])", row.name)
    return "" if said else row.agent


def _count(row: Row) -> list[str]:
    return episodes(row).replace(" of ", "\nof ").replace(", ", "\n").split("\n")


def _stack(mean: str, spread: str) -> str:
    return f"{mean}\n±{spread}" if spread else mean


def _width(rows: Sequence[Row], metric: Metric) -> int:
    return _widest([label(metric)], *(_stack(*cell(row, metric)).split("\n") for row in rows))


def _widest(*groups: Sequence[str]) -> int:
    return max(len(line) for group in groups for line in group)


def render(rows: Sequence[Row], format: str = "rich", width: int = 100) -> str:  # noqa: A002
    """The rows as text: ``rich`` (at most ``width`` columns), ``json``, ``csv``, ``markdown`` or
    ``latex``.

    Raises ``UsageError`` for another format.
    """

    if format == "rich":
        return terminal(rows, width)
    writers = {"json": to_json, "csv": to_csv, "markdown": to_markdown, "latex": to_latex}
    if format not in writers:
        raise UsageError(f"no table format {format!r}; {suggest(format, ['rich', *writers])}")
    return writers[format](rows)


def metrics_of(rows: Sequence[Row]) -> list[Metric]:
    """The metrics that any of the rows has: families in order of appearance, accounting last.

    Those of ``IF_ANY`` are left out where they are 0 in every row.
    """
    own = [metric for row in rows for metric in row.metrics]
    others = (scoring.TRIAL_METRICS, predictions.METRICS, state_accuracy.METRICS,
              accounting.ADVICE_METRICS, accounting.CUT_METRICS, accounting.METRICS)  # fmt: skip
    known = {metric.key: metric for metric in (*own, *chain(*others))}
    known |= {m.key: m for m in accounting.METRICS}
    there = {key for row in rows for key, v in row.values.items() if v.mean or key not in IF_ANY}
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
    told: dict[str, Json] = {"sees_answer": row.sees_answer}
    told |= {"clustered": row.clustered} if row.clustered else {}
    told |= {"runs": row.runs} if row.runs > 1 else {}
    told |= {"caveats": list(row.caveats)} if row.caveats else {}
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
    metrics, named = metrics_of(rows), _heads(rows)
    head = [*named, *(label(m).replace("_", r"\_") for m in metrics)]
    lines = [head, ["---"] * len(named) + ["---:"] * len(metrics)]
    for row in rows:
        cells = [" ± ".join(filter(None, cell(row, metric))) for metric in metrics]
        dataset = f"{row.dataset} `{row.checksum[:8]}`" if row.checksum else row.dataset
        lines.append([*_named(row, named, dataset), *cells])
    text = [f"| {' | '.join(part.replace('|', '/') for part in line)} |" for line in lines]
    text += ["", *(f"> {line}" for line in notes)] if (notes := caveats(rows)) else []
    return "\n".join(text) + "\n"


def _heads(rows: Sequence[Row]) -> tuple[str, ...]:
    """What a row begins with in a document; the agent where some name of a run does not say it."""
    agent = ("Agent",) if any(map(_agent, rows)) else ()
    return ("Run", *agent, "Model", "Dataset", "Episodes")


def _named(row: Row, heads: Sequence[str], dataset: str) -> list[str]:
    """The cells under ``_heads``."""
    name = f"{row.name} (shown the answer)" if row.sees_answer else row.name
    agent = [row.agent] if "Agent" in heads else []
    return [name, *agent, row.model, dataset, episodes(row)]


def to_latex(rows: Sequence[Row]) -> str:
    """A ``tabular`` with the rules of ``booktabs``; the best mean of a column is bold."""
    metrics, named = metrics_of(rows), _heads(rows)
    best = {metric.key: _best(rows, metric) for metric in metrics}
    lines = [f"\\begin{{tabular}}{{{'l' * len(named)}{'r' * len(metrics)}}}", "\\toprule"]
    lines += [f"{' & '.join(map(latex_text, [*named, *map(label, metrics)]))} \\\\", "\\midrule"]
    for row in rows:
        cells = [latex_text(text) for text in _named(row, named, row.dataset)]
        for metric in metrics:
            value = row.values.get(metric.key)
            judged = len(rows) > 1 and value is not None and not row.sees_answer
            top = judged and value is not None and value.mean == best[metric.key]
            cells.append(_latex_cell(*cell(row, metric), top))
        lines.append(f"{' & '.join(cells)} \\\\")
    lines += ["\\bottomrule", "\\end{tabular}"]
    return "\n".join([*lines, *(f"% {line}" for line in caveats(rows))]) + "\n"


def _latex_cell(mean: str, spread: str, best: bool) -> str:
    own, half = latex_number(mean), latex_number(spread)
    own = f"\\mathbf{{{own}}}" if best else own
    return f"${own} \\pm {half}$" if half else f"${own}$" if mean != "–" else "--"


_LATEX = {
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "\\": "\\textbackslash{}",
    "~": "\\textasciitilde{}",
    "^": "\\textasciicircum{}",
    "–": "--",
}


def latex_text(text: str) -> str:
    """Any text in LaTeX."""
    return "".join(_LATEX.get(sign, sign) for sign in text)


def latex_number(text: str) -> str:
    """A number in LaTeX's math mode, where a bare comma would be followed by a gap."""
    return re.sub(r"(?<=\d),(?=\d)", "{,}", text)


def _best(rows: Sequence[Row], metric: Metric) -> float | None:
    """The best mean of those that were not shown the answer; None where no way is better."""
    shown = [row.values[metric.key].mean for row in rows
             if metric.key in row.values and not row.sees_answer]  # fmt: skip
    means = [mean for mean in shown if not math.isnan(mean)]
    if not means or metric.better is None:
        return None
    return max(means) if metric.better == "higher" else min(means)


def episodes(row: Row) -> str:
    """``1021``, or ``30 of 1021``, or ``28 of 1021, 2 failed``."""
    played = row.n // row.runs
    part = str(played) if played == row.of else f"{played} of {row.of}"
    part = f"{part}, {row.runs} runs" if row.runs > 1 else part
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


def _digits(metric: Metric, mean: float) -> int:
    if metric.kind == "dollars":
        return 4 if abs(mean) < 1 else 2
    if metric.kind == "tokens" or abs(mean) >= 1000:
        return 0
    return 2 if metric.kind in ("ratio", "metres", "hops") else 1


def _head(row: Row) -> dict[str, Json]:
    keys = ("agent", "model", "dataset", "checksum", "n", "of", "failed")
    return {"run": row.name, **{key: getattr(row, key) for key in keys}}


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
