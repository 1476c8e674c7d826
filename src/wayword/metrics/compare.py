"""Compare two runs, episode by episode.

    >>> from wayword.metrics.compare import compare
    >>> first = {"1": {"sr": 0.0}, "2": {"sr": 0.0}, "3": {"sr": 1.0}}
    >>> second = {"1": {"sr": 1.0}, "2": {"sr": 0.0}, "4": {"sr": 1.0}}
    >>> result = compare("a", first, "b", second, family="indoor")
    >>> result.shared, result.only_first, result.only_second, result.lines[0].wins
    (2, 1, 1, 1)

Only episodes that both runs finished are compared; the others are counted. A difference is the
second run's value minus the first's. Its p-value comes from a two-sided paired permutation test per
metric, without correction for the number of metrics.
"""

from __future__ import annotations

import json
import math
import textwrap
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from wayword.core.episode import Json
from wayword.core.errors import UsageError
from wayword.core.metric import Metric
from wayword.metrics import scoring
from wayword.metrics.intervals import ALPHA, Floats, Interval, holm, permutation_test
from wayword.metrics.summary import Row
from wayword.metrics.table import (
    console_text,
    csv_text,
    finite,
    label,
    latex,
    markdown,
    number,
    write_as,
)

Scores = Mapping[str, Mapping[str, float]]
"""Episode id -> metric key -> value."""

TIE = 1e-9  # smaller differences are rounding errors and count as ties


@dataclass(frozen=True, slots=True)
class MetricDifference:
    """A metric over the ``n`` episodes that have it in both runs. In ``wins``, the second run is
    better (higher, for a metric without a better direction), in ``losses`` worse."""

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

    ``clusters`` is the number of clusters that were resampled and swapped as a unit, ``unit`` their
    name (``"path"``). The p-values are corrected for ``tests``. ``items`` names what is paired.
    """

    first: str
    second: str
    shared: int
    only_first: int
    only_second: int
    lines: tuple[MetricDifference, ...]
    clusters: int = 0
    unit: str = ""
    tests: int = 1
    items: str = "episodes"


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
    items: str = "episodes",
) -> Comparison:
    """Compare two runs on the episodes (or other ``items``) they share. ``clusters`` maps each to
    the path or scene (``unit``) of its cluster. Raises ``UsageError`` if none is shared."""
    shared = [episode for episode in first if episode in second]
    if not shared:
        problem = f"{first_name} and {second_name} have no finished episode in common"
        raise UsageError(f"{problem}; compare runs on the same split")
    keys = scoring.by_key(
        metrics if metrics is not None else scoring.scorer(family).metrics
    )
    present = {key for scores in (first, second) for e in shared for key in scores[e]}
    compared = [metric for key, metric in keys.items() if key in present]
    before, after = (  # (episodes, metrics); NaN where there is no value
        np.array(
            [[scores[e].get(m.key, math.nan) for m in compared] for e in shared],
            dtype=float,
        )
        for scores in (first, second)
    )
    groups = [clusters.get(e, e) for e in shared] if clusters is not None else None
    with np.errstate(invalid="ignore"):
        differences = after - before
    same = (before == after) & np.isinf(before)  # inf - inf: both unreachable
    differences[same] = 0.0
    tests = permutation_test(differences, groups)
    lines = [
        _line(metric, before[:, k], after[:, k], differences[:, k], *tests[k])
        for k, metric in enumerate(compared)
        if not np.isnan(differences[:, k]).all()
    ]
    unshared = len(first) - len(shared), len(second) - len(shared)
    drawn = (len(set(groups)), unit) if groups and unit else (0, "")
    return Comparison(
        first_name,
        second_name,
        len(shared),
        *unshared,
        tuple(lines),
        *drawn,
        items=items,
    )


def _line(
    metric: Metric,
    before: Floats,
    after: Floats,
    difference: Floats,
    interval: Interval,
    p: float,
) -> MetricDifference:
    both = ~np.isnan(difference)
    if metric.kind == "rate":
        interval = Interval(
            interval.mean, max(interval.low, -1.0), min(interval.high, 1.0)
        )
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


def render(
    results: Comparison | Sequence[Comparison],
    format: str = "rich",  # noqa: A002
    width: int = 100,
) -> str:
    """Return comparisons as text: ``rich``, ``json``, ``csv``, ``markdown`` or ``latex``. Raises
    ``UsageError`` for another format."""
    listed = [results] if isinstance(results, Comparison) else list(results)
    writers: dict[str, Callable[[Sequence[Comparison]], str]] = {
        "rich": lambda listed: "\n".join(_to_terminal(each, width) for each in listed),
        "json": _to_json,
        "csv": _to_csv,
        "markdown": lambda listed: "\n".join(map(_to_markdown, listed)),
        "latex": lambda listed: "\n".join(map(_to_latex, listed)),
    }
    return write_as(format, writers, listed)


def heading(result: Comparison) -> str:
    """Return a sentence with the number of compared episodes and of those left out."""
    text = f"{result.shared} shared {result.items}"
    if result.unit and result.clusters < result.shared:
        text += f" in {result.clusters} {result.unit}s, which are resampled and swapped as units"
    if result.only_first or result.only_second:
        text += f"; not compared: {result.only_first} only in {result.first}, "
        text += f"{result.only_second} only in {result.second}"
    return text + "."


HEAD = ("Metric", "First", "Second", "Difference [95%]", "Better", "Worse", "Same", "p")


def _note(result: Comparison) -> str:
    holm = (
        f", with Holm's correction for {result.tests} runs" if result.tests > 1 else ""
    )
    return (
        f"Difference: second minus first. p: two-sided paired permutation test{holm}."
    )


def _cells(line: MetricDifference) -> tuple[str, ...]:
    metric, gap = line.metric, line.difference
    change = number(metric, gap.mean)
    if math.isfinite(gap.half):
        change += f" [{number(metric, gap.low)}, {number(metric, gap.high)}]"
    chance = (
        "–" if math.isnan(line.p) else "<0.001" if line.p < 0.001 else f"{line.p:.3f}"
    )
    judged = (line.wins, line.losses) if metric.better else ("–", "–")
    counts = str(judged[0]), str(judged[1]), str(line.ties)
    means = number(metric, line.first), number(metric, line.second)
    return (label(metric), *means, change, *counts, chance)


_WIDE = 84  # width of the table; in narrower terminals each metric takes two lines


def _to_terminal(result: Comparison, width: int) -> str:
    from rich import box
    from rich.table import Table

    head = [f"First:  {result.first}", f"Second: {result.second}", heading(result)]
    if width >= _WIDE:
        table = Table(
            box=box.SIMPLE_HEAD, padding=(0, 1), pad_edge=False, show_edge=False
        )
        for name in HEAD:
            table.add_column(
                name, justify="left" if name == "Metric" else "right", no_wrap=True
            )
        for line in result.lines:
            table.add_row(*_cells(line))
        return console_text(
            "\n".join([*head, ""]), table, f"\n{_note(result)}", width=width
        )
    lines = [
        part
        for line in head
        for part in textwrap.wrap(line, width, subsequent_indent="  ")
    ]
    for line in result.lines:
        name, first, second, change, better, worse, same, chance = _cells(line)
        lines += ["", f"{name}  {first} -> {second}  {change}"]
        lines += [f"  better {better}, worse {worse}, same {same}, p {chance}"]
    return "\n".join([*lines, "", *textwrap.wrap(_note(result), width)]) + "\n"


def _to_markdown(result: Comparison) -> str:
    head = f"{result.second} against {result.first}: {heading(result)}\n\n"
    return head + markdown(HEAD, 1, map(_cells, result.lines))


def _to_latex(result: Comparison) -> str:
    named = f"First: {result.first}", f"Second: {result.second}"
    return latex(
        HEAD,
        1,
        list(map(_cells, result.lines)),
        (*named, heading(result), _note(result)),
    )


def _to_json(results: Sequence[Comparison]) -> str:
    keys, records = ("first", "second", "shared", "only_first", "only_second"), []
    for result in results:
        record = {key: getattr(result, key) for key in keys}
        records.append({**record, "metrics": list(map(_line_json, result.lines))})
    content = records[0] if len(records) == 1 else {"comparisons": records}
    return json.dumps(content, indent=2, allow_nan=False)


def _to_csv(results: Sequence[Comparison]) -> str:
    records = []
    for result in results:
        runs = (
            {"first_run": result.first, "second_run": result.second}
            if result.tests > 1
            else {}
        )
        records += [{**runs, **_line_json(line)} for line in result.lines]
    return csv_text(records, "metric")


def _line_json(line: MetricDifference) -> dict[str, Json]:
    gap = line.difference
    numbers = {"first": line.first, "second": line.second, "difference": gap.mean}
    numbers |= {"low": gap.low, "high": gap.high, "p": line.p}
    counts = {"n": line.n, "wins": line.wins, "losses": line.losses, "ties": line.ties}
    return {
        "metric": line.metric.key,
        **{k: finite(v) for k, v in numbers.items()},
        **counts,
    }


def corrected(results: Sequence[Comparison]) -> list[Comparison]:
    """Return comparisons with the p-values of each metric corrected for their number (Holm)."""
    chances: dict[str, list[float]] = {}
    for result in results:
        for line in result.lines:
            chances.setdefault(line.metric.key, []).append(line.p)
    queues = {key: iter(holm(values)) for key, values in chances.items()}
    lines = [
        tuple(replace(line, p=next(queues[line.metric.key])) for line in result.lines)
        for result in results
    ]
    pairs = zip(results, lines, strict=True)
    return [replace(result, lines=each, tests=len(results)) for result, each in pairs]


def mark_best(
    rows: Sequence[Row],
    scored: Sequence[Scores],
    clusters: Mapping[str, Hashable] | None = None,
) -> list[Row]:
    """Return the rows with ``best`` set: the metrics in which a run is significantly better than
    every other run without access to the answer (paired test on shared episodes, p < 0.05 with
    Holm's correction). ``scored`` are the scores of each row's episodes."""
    rivals = [at for at, row in enumerate(rows) if not row.sees_answer]
    tests: dict[tuple[int, str], list[float]] = {}
    for a, b in combinations(rivals, 2):
        if not set(scored[a]) & set(scored[b]):
            continue
        family, metrics = rows[a].family, rows[a].metrics
        result = compare("", scored[b], "", scored[a], family=family, metrics=metrics,
                         clusters=clusters)  # fmt: skip
        for line in result.lines:
            gain = line.difference.mean * (1 if line.metric.better == "higher" else -1)
            if gain and line.metric.better:
                winner = (a if gain > 0 else b, line.metric.key)
                tests.setdefault(winner, []).append(line.p)
    best = [
        won
        for won, chances in tests.items()
        if len(chances) == len(rivals) - 1 and max(holm(chances)) < ALPHA
    ]
    return [
        replace(row, best=frozenset(key for winner, key in best if winner == at))
        for at, row in enumerate(rows)
    ]
