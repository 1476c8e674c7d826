"""Compare two runs, episode by episode.

    >>> from wayword.metrics.compare import compare
    >>> first = {"1": {"sr": 0.0}, "2": {"sr": 0.0}, "3": {"sr": 1.0}}
    >>> second = {"1": {"sr": 1.0}, "2": {"sr": 0.0}, "4": {"sr": 1.0}}
    >>> found = compare("a", first, "b", second, family="indoor")
    >>> found.shared, found.only_first, found.only_second, found.lines[0].wins
    (2, 1, 1, 1)

Only episodes that both runs finished are compared, and the others are counted. A difference is the
second run's value minus the first's. Its p-value is of a two-sided paired permutation test; one for
each metric, not corrected for there being several.
"""

from __future__ import annotations

import csv
import io
import json
import math
import textwrap
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from wayword.core.episode import Json
from wayword.core.errors import UsageError, suggest
from wayword.core.metric import Metric
from wayword.metrics import accounting, predictions, scoring, state_accuracy
from wayword.metrics.intervals import Floats, Interval, bootstrap, permutation_test
from wayword.metrics.table import label, latex_number, latex_text, number

Scores = Mapping[str, Mapping[str, float]]
"""Episode id -> metric key -> value."""

TIE = 1e-9  # values nearer to each other than this are equal


@dataclass(frozen=True, slots=True)
class MetricDifference:
    """One metric over the shared episodes that have it in both runs (``n`` of them).

    ``wins`` counts episodes where the second run is better, ``losses`` where it is worse; for a
    metric of which neither way is better they count where it is higher and lower.
    """

    metric: Metric
    n: int
    first: float
    second: float
    difference: Interval
    wins: int
    losses: int
    ties: int
    p: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two runs side by side; ``only_first`` and ``only_second`` count unshared episodes.

    ``clusters`` counts what was resampled and swapped whole, ``unit`` names it (``"path"``); 0 and
    empty where that were the episodes themselves.
    """

    first: str
    second: str
    shared: int
    only_first: int
    only_second: int
    lines: tuple[MetricDifference, ...]
    clusters: int = 0
    unit: str = ""


def compare(
    first_name: str,
    first: Scores,
    second_name: str,
    second: Scores,
    *,
    family: str,
    metrics: Sequence[Metric] | None = None,
    clusters: Mapping[str, Hashable] | None = None,
    unit: str = "",
    seed: int = 0,
) -> Comparison:
    """Compare two runs on the episodes they share.

    ``metrics`` are the family's own. ``clusters`` maps an episode to the path or scene (``unit``)
    it shares with others. Raises ``UsageError`` where no episode is shared.
    """
    shared = [episode for episode in first if episode in second]
    if not shared:
        raise UsageError(f"{first_name} and {second_name} have no finished episode in common")
    others = (scoring.TRIAL_METRICS, predictions.METRICS, state_accuracy.METRICS,
              accounting.ADVICE_METRICS)  # fmt: skip
    own = metrics if metrics is not None else scoring.scorer(family).metrics
    keys = {m.key: m for m in (*own, *accounting.METRICS, *chain(*others))}
    there = {key for scores in (first, second) for e in shared for key in scores[e]}
    compared = [metric for key, metric in keys.items() if key in there]
    before, after = (_matrix(scores, shared, compared) for scores in (first, second))
    groups = [clusters.get(e, e) for e in shared] if clusters is not None else None
    with np.errstate(invalid="ignore"):
        differences = after - before
    same = (before == after) & np.isinf(before)  # inf - inf: both unreachable
    differences[same] = 0.0
    intervals = bootstrap(differences, groups, seed=seed)
    chances = permutation_test(differences, groups, seed=seed)
    lines = [
        _line(metric, before[:, k], after[:, k], differences[:, k], intervals[k], chances[k])
        for k, metric in enumerate(compared)
        if not np.isnan(differences[:, k]).all()
    ]
    unshared = len(first) - len(shared), len(second) - len(shared)
    drawn = (len(set(groups)), unit) if groups and unit else (0, "")
    return Comparison(first_name, second_name, len(shared), *unshared, tuple(lines), *drawn)


def _matrix(scores: Scores, episodes: Sequence[str], metrics: Sequence[Metric]) -> Floats:
    """(episodes, metrics); NaN where there is no value."""
    rows = [
        [scores[episode].get(metric.key, math.nan) for metric in metrics] for episode in episodes
    ]
    return np.array(rows, dtype=np.float64).reshape(len(episodes), len(metrics))


def _line(
    metric: Metric, before: Floats, after: Floats, difference: Floats, interval: Interval, p: float
) -> MetricDifference:
    both = ~np.isnan(difference)
    gain = -difference[both] if metric.better == "lower" else difference[both]
    return MetricDifference(
        metric,
        n=int(both.sum()),
        first=float(before[both].mean()),
        second=float(after[both].mean()),
        difference=interval,
        wins=int((gain > TIE).sum()),
        losses=int((gain < -TIE).sum()),
        ties=int((np.abs(gain) <= TIE).sum()),
        p=p,
    )


def render(found: Comparison, format: str = "rich", width: int = 100) -> str:  # noqa: A002
    """As text: ``rich``, ``json``, ``csv``, ``markdown`` or ``latex``.

    Raises ``UsageError`` for another format.
    """
    if format == "rich":
        return _to_terminal(found, width)
    writers = {"json": _to_json, "csv": _to_csv, "markdown": _to_markdown, "latex": _to_latex}
    if format not in writers:
        raise UsageError(f"no table format {format!r}; {suggest(format, ['rich', *writers])}")
    return writers[format](found)


def heading(found: Comparison) -> str:
    """One sentence on what is compared and what is not."""
    text = f"{found.shared} shared episodes"
    if found.unit and found.clusters < found.shared:
        text += f" of {found.clusters} {found.unit}s, each resampled and swapped whole"
    if found.only_first or found.only_second:
        text += (
            f"; not compared: {found.only_first} only in {found.first}, "
            f"{found.only_second} only in {found.second}"
        )
    return text + "."


_SMALL = "Difference: second less first. p: paired permutation test, two-sided."
HEAD = ("Metric", "First", "Second", "Difference [95%]", "Better", "Worse", "Same", "p")


def _cells(line: MetricDifference) -> tuple[str, ...]:
    metric, gap = line.metric, line.difference
    change = number(metric, gap.mean)
    if not math.isnan(gap.low):
        change += f" [{number(metric, gap.low)}, {number(metric, gap.high)}]"
    chance = "–" if math.isnan(line.p) else "<0.001" if line.p < 0.001 else f"{line.p:.3f}"
    judged = (line.wins, line.losses) if metric.better else ("–", "–")
    counts = str(judged[0]), str(judged[1]), str(line.ties)
    means = number(metric, line.first), number(metric, line.second)
    return (label(metric), *means, change, *counts, chance)


def _to_terminal(found: Comparison, width: int) -> str:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    if width < _WIDE:
        return _narrow(found, width)
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1), pad_edge=False, show_edge=False)
    for name in HEAD:
        table.add_column(name, justify="left" if name == "Metric" else "right", no_wrap=True)
    for line in found.lines:
        table.add_row(*_cells(line))
    out = io.StringIO()
    console = Console(file=out, width=width, highlight=False, markup=False)
    console.print(f"First:  {found.first}\nSecond: {found.second}\n{heading(found)}\n")
    console.print(table)
    console.print(f"\n{_SMALL}")
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


_WIDE = 84
"""Columns that a line of the table takes; with fewer, a metric has two lines."""


def _narrow(found: Comparison, width: int) -> str:
    """Two lines a metric: the means and their difference, then how many episodes are which."""
    told = [f"First:  {found.first}", f"Second: {found.second}", heading(found)]
    lines = [part for line in told for part in textwrap.wrap(line, width, subsequent_indent="  ")]
    for line in found.lines:
        name, first, second, change, better, worse, same, chance = _cells(line)
        lines += ["", f"{name}  {first} -> {second}  {change}"]
        lines += [f"  better {better}, worse {worse}, same {same}, p {chance}"]
    end = "Difference: second less first, with its 95% interval. p: paired permutation test."
    return "\n".join([*lines, "", *textwrap.wrap(end, width)]) + "\n"


def _to_markdown(found: Comparison) -> str:
    lines = [f"{found.second} against {found.first}: {heading(found)}", ""]
    rows = [HEAD, ("---", *["---:"] * (len(HEAD) - 1)), *(_cells(line) for line in found.lines)]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)]) + "\n"


def _to_latex(found: Comparison) -> str:
    """A ``tabular`` with the rules of ``booktabs``; what is compared stands in comments below."""
    lines = [f"\\begin{{tabular}}{{l{'r' * (len(HEAD) - 1)}}}", "\\toprule"]
    lines += [f"{' & '.join(map(latex_text, HEAD))} \\\\", "\\midrule"]
    for line in found.lines:
        name, *numbers = _cells(line)
        shown = ["--" if text == "–" else f"${latex_number(text)}$" for text in numbers]
        lines.append(f"{' & '.join((latex_text(name), *shown))} \\\\")
    lines += ["\\bottomrule", "\\end{tabular}"]
    told = (f"First: {found.first}", f"Second: {found.second}", heading(found), _SMALL)
    return "\n".join([*lines, *(f"% {line}" for line in told)]) + "\n"


def _to_csv(found: Comparison) -> str:
    out = io.StringIO()
    rows = [_line_json(line) for line in found.lines]
    writer = csv.DictWriter(out, list(rows[0]) if rows else ["metric"], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def _to_json(found: Comparison) -> str:
    keys = ("first", "second", "shared", "only_first", "only_second")
    told = {key: getattr(found, key) for key in keys}
    told["metrics"] = [_line_json(line) for line in found.lines]
    return json.dumps(told, indent=2, allow_nan=False)


def _line_json(line: MetricDifference) -> dict[str, Json]:
    gap = line.difference
    numbers = {"first": line.first, "second": line.second, "difference": gap.mean}
    numbers |= {"low": gap.low, "high": gap.high, "p": line.p}
    finite = {key: value if math.isfinite(value) else None for key, value in numbers.items()}
    counts = {"n": line.n, "wins": line.wins, "losses": line.losses, "ties": line.ties}
    return {"metric": line.metric.key, **finite, **counts}
