"""Tables in a terminal: as many columns as fit, the most telling first.

What does not fit is named below the table, never silently dropped.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

from wayword.evaluation.metric import Metric
from wayword.evaluation.table import Row, cell, episodes, label, metrics_of

if TYPE_CHECKING:
    from rich.console import RenderableType

FIRST = 4  # of a family's metrics, before any accounting
# Before the family's other metrics; what an SR of several trials rests on comes first of all.
THEN = ("trials", "sr_first", "verdicts", "rejection_rate", "steps", "cost", "illegal_moves")
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
    return Group(table, Text(_footnote(rows, metrics, shown), style="dim"))


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
    return [row.name, *(line for line in (row.model, dataset) if line)]


def _count(row: Row) -> list[str]:
    return episodes(row).replace(" of ", "\nof ").replace(", ", "\n").split("\n")


def _stack(mean: str, spread: str) -> str:
    return f"{mean}\n±{spread}" if spread else mean


def _width(rows: Sequence[Row], metric: Metric) -> int:
    return _widest([label(metric)], *(_stack(*cell(row, metric)).split("\n") for row in rows))


def _widest(*groups: Sequence[str]) -> int:
    return max(len(line) for group in groups for line in group)


def _footnote(rows: Sequence[Row], metrics: Sequence[Metric], shown: Sequence[Metric]) -> str:
    lines = ["", "± half of the 95% bootstrap interval."]
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


def _rate(episodes: int, seconds: float) -> str:
    """Throughput, in the unit that has digits."""
    if not episodes or seconds <= 0:
        return ""
    if episodes >= seconds:
        return f" ({episodes / seconds:,.1f} episodes a second)"
    return f" ({seconds / episodes:,.1f} s an episode)"


def _all_agree(row: Row) -> bool:
    """Whether some rate is 0 or 1 in every episode, which no resampling can put a width on."""
    ends = {key: value for key, value in row.values.items() if key in ("sr", "tc", "goal_sr")}
    return any(value.mean in (0.0, 1.0) for value in ends.values())


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
    wall = totals.get("wall_seconds")
    if wall is not None:
        parts.append(f"{wall:,.1f} s{_rate(row.n, wall)}")
    if not parts:
        return ""
    return f"{'In all' if alone else row.name}: {', '.join(parts)}."
