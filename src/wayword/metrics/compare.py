"""Compare two runs, episode by episode.

    >>> from wayword.metrics.compare import compare
    >>> first = {"1": {"sr": 0.0}, "2": {"sr": 0.0}, "3": {"sr": 1.0}}
    >>> second = {"1": {"sr": 1.0}, "2": {"sr": 0.0}, "4": {"sr": 1.0}}
    >>> result = compare("a", first, "b", second, family="indoor")
    >>> result.shared, result.only_first, result.only_second, result.lines[0].wins
    (2, 1, 1, 1)

Only episodes that both runs finished are compared; the others are counted. A difference is the
second run's value minus the first's. Intervals and p-values are of one method
(:mod:`~wayword.metrics.intervals`) and agree. The tests of the primary metric (success) are one
family, with a test per rival; those of all other metrics and rivals are another. Holm's correction
applies within a family (:func:`corrected`), to all that is shown side by side: tables of
comparisons, figures of differences, the viewer's pages, and bold means in LaTeX.
"""

from __future__ import annotations

import json
import math
import textwrap
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np

from wayword.core.episode import Json, JsonObject
from wayword.core.errors import UsageError, suggest
from wayword.core.geometry import Floats
from wayword.core.metric import Metric
from wayword.core.visible import plural
from wayword.metrics import scoring, summary
from wayword.metrics.intervals import (
    ALPHA,
    FEWEST,
    Interval,
    MeanEstimate,
    estimates,
    holm,
)
from wayword.metrics.summary import Row
from wayword.metrics.table import (
    console_text,
    csv_text,
    digits_of,
    finite,
    label,
    latex,
    markdown,
    markdown_text,
    number,
    write_as,
)

Scores = Mapping[str, Mapping[str, float]]
"""Episode id -> metric key -> value."""

TIE = 1e-9  # smaller differences are rounding errors and count as ties


METHOD = "Bayesian bootstrap with Gaffke's bound"
PRIMARY = "primary"
SECONDARY = "secondary"
"""Families of tests."""


@dataclass(frozen=True)
class MetricDifference:
    """A metric over the ``n`` episodes that have it in both runs. In ``wins``, the second run is
    better (higher, for a metric without a better direction), in ``losses`` worse.

    ``p`` is corrected for the ``tests`` of its ``family``, and so is the level ``alpha`` of the
    interval.
    """

    metric: Metric
    n: int
    first: float
    second: float
    wins: int
    losses: int
    ties: int
    estimate: MeanEstimate = field(repr=False, compare=False)
    p: float
    family: str = SECONDARY
    tests: int = 1
    alpha: float = ALPHA

    @property
    def difference(self) -> Interval:
        """The mean difference, with the interval that agrees with ``p``."""
        return self.estimate.interval(self.alpha)

    @property
    def is_test(self) -> bool:
        """True if the line counts in a correction. A secondary metric without any difference has
        p = 1 whatever the runs are, and is no test (Tarone 1990); success always counts, once per
        rival."""
        return self.family == PRIMARY or self.ties < self.n

    @property
    def detectable(self) -> float:
        """The smallest difference that is significant in 80% of such comparisons."""
        return self.estimate.detectable(self.alpha)


@dataclass(frozen=True)
class Comparison:
    """Two runs side by side; ``only_first`` and ``only_second`` count unshared episodes.

    ``clusters`` is the number of independent clusters, ``unit`` what the episodes of one share
    (``"path"``; empty if episodes are independent). ``items`` names what is paired.
    """

    first: str
    second: str
    shared: int
    only_first: int
    only_second: int
    lines: tuple[MetricDifference, ...]
    clusters: int = 0
    unit: str = ""
    items: str = "episodes"

    @property
    def units(self) -> str:
        """The independent units (``"paths"``); empty if each episode is one."""
        if self.unit and self.clusters < self.shared:
            return plural(self.unit)
        return ""

    @property
    def method(self) -> str:
        """The test of the p-values. With a difference of a unit's mean, it is not McNemar's."""
        if self.units:
            return f"{METHOD}, over {self.units}"
        return f"{METHOD}; McNemar's exact test for success"


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
    primary: str = "",
    widest: float = 1.0,
) -> Comparison:
    """Compare two runs on the episodes (or other ``items``) they share. ``clusters`` maps each to
    the path or scene (``unit``) of its cluster; ``primary`` is the key of the primary metric, by
    default the family's success. A rate's difference is at most ``widest``. Raises ``UsageError``
    if no episode is shared and, without ``metrics``, for a key that is none of the family's."""
    # Only pairs: a difference of other episodes would be one of their difficulty.
    shared = [episode for episode in first if episode in second]
    if not shared:
        problem = f"{first_name} and {second_name} have no finished episode in common"
        raise UsageError(f"{problem}; compare runs on the same split")
    is_given = metrics is not None
    if metrics is None:
        metrics = scoring.scorer(family).metrics
    tables = [
        summary.Scores.of([run[name] for name in shared]) for run in (first, second)
    ]
    present = tables[0].columns.keys() | tables[1].columns.keys()
    known = scoring.by_key(metrics)
    # Given metrics are a choice of columns; a key of no metric at all is a mistake.
    for key in () if is_given else sorted(present - known.keys()):
        raise UsageError(
            f"no metric {key!r} in family {family}; {suggest(key, known)}; or give metrics="
        )
    keys = [key for key in known if key in present]
    before, after = (table.matrix(keys) for table in tables)
    # By default each episode is a cluster of its own.
    owners: list[Hashable] = list(shared)
    if clusters is not None:
        owners = [clusters.get(episode, episode) for episode in shared]
    # The difference of two infinities is no number, which is wanted here.
    with np.errstate(invalid="ignore"):
        differences = after - before
    same = (before == after) & np.isinf(before)  # inf - inf: both unreachable
    # Equal rounding errors in all episodes would be a significant difference.
    same |= np.abs(differences) <= TIE
    differences[same] = 0.0
    # Only a rate has bounds.
    bounds = []
    for key in keys:
        most = widest if known[key].kind == "rate" else math.inf
        bounds.append((-most, most))
    # The primary metric is tested apart, so that others cannot cost it power.
    success = primary or scoring.success_of(family)
    lines = []
    # All metrics at once, so that the scores are summed by cluster only once.
    for k, estimate in enumerate(estimates(differences, bounds, owners)):
        # A metric without a pair has no line.
        if not len(estimate.counts):
            continue
        metric = known[keys[k]]
        line = _line(metric, before[:, k], after[:, k], differences[:, k], estimate)
        if metric.key == success:
            line = replace(line, family=PRIMARY)
        lines.append(line)
    result = Comparison(
        first_name,
        second_name,
        len(shared),
        len(first) - len(shared),
        len(second) - len(shared),
        tuple(lines),
        len(set(owners)),
        unit,
        items,
    )
    return corrected([result])[0]


def _line(
    metric: Metric,
    before: Floats,
    after: Floats,
    difference: Floats,
    estimate: MeanEstimate,
) -> MetricDifference:
    """Return the difference of a metric between two runs, over the episodes that both
    have."""
    # An episode without the metric in one run is no pair.
    both = ~np.isnan(difference)
    gain = difference[both]
    if metric.better == "lower":
        gain = -gain
    return MetricDifference(
        metric,
        n=int(both.sum()),
        first=float(before[both].mean()),
        second=float(after[both].mean()),
        wins=int((gain > TIE).sum()),
        losses=int((gain < -TIE).sum()),
        ties=int((np.abs(gain) <= TIE).sum()),
        estimate=estimate,
        p=estimate.p,
    )


def corrected(results: Sequence[Comparison]) -> list[Comparison]:
    """Return comparisons with p-values and intervals corrected for their number.

    In two families: the primary metric over all rivals, and all other metrics over all
    rivals. Repeating it changes nothing.
    """
    # All rivals are one family, because the best of many looks better than it is.
    chances: dict[str, list[float]] = {PRIMARY: [], SECONDARY: []}
    for result in results:
        for line in result.lines:
            chances[line.family].append(line.estimate.p if line.is_test else math.nan)
    # A metric without a p-value is no test.
    tests = {name: int(np.isfinite(each).sum()) for name, each in chances.items()}
    # Each family's lines come back in the order in which they were collected.
    queues = {name: iter(holm(each)) for name, each in chances.items()}
    changed = []
    for result in results:
        lines = []
        for line in result.lines:
            p, alpha = next(queues[line.family])
            if not line.is_test:
                p = line.estimate.p
                alpha = ALPHA
            lines.append(replace(line, p=p, alpha=alpha, tests=tests[line.family]))
        changed.append(replace(result, lines=tuple(lines)))
    return changed


def render(
    results: Comparison | Sequence[Comparison],
    format: str = "rich",  # noqa: A002
    width: int = 100,
) -> str:
    """Return comparisons as text: ``rich``, ``json``, ``csv``, ``markdown`` or ``latex``. Raises
    ``UsageError`` for another format."""
    if isinstance(results, Comparison):
        results = [results]
    writers: dict[str, Callable[[Sequence[Comparison]], str]] = {
        "rich": lambda listed: "\n".join(_to_terminal(each, width) for each in listed),
        "json": _to_json,
        "csv": _to_csv,
        "markdown": lambda listed: "\n".join(map(_to_markdown, listed)),
        "latex": lambda listed: "\n".join(map(_to_latex, listed)),
    }
    return write_as(format, writers, results)


def heading(result: Comparison) -> str:
    """Return a sentence with the number of compared episodes and of those left out."""
    text = f"{result.shared} shared {result.items}"
    # Where each episode is its own cluster, there is nothing to say.
    if result.units:
        text += f" in {result.clusters} {result.units}, which count as units"
    if result.only_first or result.only_second:
        text += f"; not compared: {result.only_first} only in {result.first}, "
        text += f"{result.only_second} only in {result.second}"
    return text + "."


HEAD = ("Metric", "First", "Second", "Difference [95%]", "Better", "Worse", "Same", "p")


def _notes(result: Comparison) -> list[str]:
    """Return how to read the numbers, and what the primary metric could have shown."""
    notes = [
        "Difference: second minus first; its interval excludes 0 where p < 0.05.",
        f"Test: {result.method}.",
    ]
    primary = [line for line in result.lines if line.family == PRIMARY]
    # A result that is not significant is no proof of equality, so its power is stated.
    notes += [_power_note(line) for line in primary if line.p >= ALPHA]
    for name in (PRIMARY, SECONDARY):
        lines = [
            line for line in result.lines if line.family == name and line.tests > 1
        ]
        if lines:
            which = "Other metrics"
            if name == PRIMARY:
                which = lines[0].metric.label
            # Which other metrics are shown changes both, so a reader must know.
            notes.append(
                f"{which}: p and interval with Holm's correction for {lines[0].tests} tests."
            )
    # Each reason once, however many metrics have it.
    # Pairs of one path depend on each other: paths are counted.
    units = result.units or "pairs"
    reasons = dict.fromkeys(_no_interval(line, units) for line in result.lines)
    notes += [f"No interval: {why}." for why in reasons if why]
    return notes


def _no_interval(line: MetricDifference, units: str) -> str:
    """Return the reason why a difference has no interval; empty if it has one."""
    if math.isfinite(line.difference.half):
        return ""
    pairs = len(line.estimate.counts)
    # The first reason that applies.
    if pairs < 2:
        return f"fewer than two {units}"
    if pairs < FEWEST:
        return f"a metric without bounds, fewer than {FEWEST} {units}"
    if math.isfinite(line.difference.mean):
        return "a metric without bounds, the same difference in all pairs"
    return "infinite values"


def _power_note(line: MetricDifference) -> str:
    """Return the smallest difference that a comparison of this size can show."""
    name = line.metric.label
    # No rate can differ by more than one.
    if line.metric.kind == "rate" and line.detectable >= 1:
        return f"{name}: not significant; too few episodes to show any difference."
    gap = number(line.metric, line.detectable)
    return (
        f"{name}: not significant; a true difference of {gap} would be significant in 80% of "
        "such comparisons."
    )


def _cells(line: MetricDifference) -> tuple[str, ...]:
    """Return the cells of a line."""
    metric = line.metric
    gap = line.difference
    digits = digits_of(metric, gap)
    change = number(metric, gap.mean, digits)
    # A mean without an interval is shown alone; the notes say why.
    if math.isfinite(gap.half):
        low = number(metric, gap.low, digits)
        change += f" [{low}, {number(metric, gap.high, digits)}]"
    if math.isnan(line.p):
        chance = "–"
    # Journals print smaller values so.
    elif line.p < 0.001:
        chance = "<0.001"
    else:
        chance = f"{line.p:.3f}"
    better = worse = "–"  # of a metric without a better direction, such as steps
    if metric.better:
        better = str(line.wins)
        worse = str(line.losses)
    means = number(metric, line.first), number(metric, line.second)
    return (label(metric), *means, change, better, worse, str(line.ties), chance)


_WIDE = 84  # width of the table; in narrower terminals each metric takes two lines


def _to_terminal(result: Comparison, width: int) -> str:
    """Return the comparison for a terminal of that width, in characters; a newline at the end."""
    from rich import box
    from rich.table import Table

    head = [f"First:  {result.first}", f"Second: {result.second}", heading(result)]
    if width >= _WIDE:
        table = Table(
            box=box.SIMPLE_HEAD,
            padding=(0, 1),
            pad_edge=False,
            show_edge=False,
        )
        table.add_column(HEAD[0], no_wrap=True)
        # All columns but the first hold numbers.
        for name in HEAD[1:]:
            table.add_column(name, justify="right", no_wrap=True)
        for line in result.lines:
            table.add_row(*_cells(line))
        return console_text(
            "\n".join([*head, ""]),
            table,
            "\n".join(["", *_notes(result)]),
            width=width,
        )

    # A narrow terminal: two lines for each metric instead of a table.
    lines = []
    for text in head:
        lines += textwrap.wrap(text, width, subsequent_indent="  ")
    for line in result.lines:
        name, first, second, change, better, worse, same, chance = _cells(line)
        lines += ["", f"{name}  {first} -> {second}  {change}"]
        lines += [f"  better {better}, worse {worse}, same {same}, p {chance}"]
    return (
        "\n".join([*lines, "", *textwrap.wrap(" ".join(_notes(result)), width)]) + "\n"
    )


def _to_markdown(result: Comparison) -> str:
    """Return the comparison in Markdown."""
    names = f"{result.second} against {result.first}"
    head = f"{markdown_text(names)}: {heading(result)}\n\n"
    return head + markdown(HEAD, 1, map(_cells, result.lines), _notes(result))


def _to_latex(result: Comparison) -> str:
    """Return the comparison in LaTeX."""
    named = f"First: {result.first}", f"Second: {result.second}"
    # A paper's readers do not see the comments.
    metric, _, _, *rest = HEAD
    return latex(
        (metric, result.first, result.second, *rest),
        1,
        list(map(_cells, result.lines)),
        (*named, heading(result), *_notes(result)),
    )


def _to_json(results: Sequence[Comparison]) -> str:
    """Return the comparisons as JSON."""
    keys = (
        "first",
        "second",
        "shared",
        "only_first",
        "only_second",
        "clusters",
        "unit",
    )
    records = []
    for result in results:
        record = {key: getattr(result, key) for key in keys}
        record["method"] = result.method
        records.append({**record, "metrics": list(map(_line_json, result.lines))})
    content = {"comparisons": records}
    if len(records) == 1:
        (content,) = records
    return json.dumps(content, indent=2, allow_nan=False)


def _to_csv(results: Sequence[Comparison]) -> str:
    """Return the comparisons as CSV."""
    records = []
    for result in results:
        runs: dict[str, Json] = {}
        if len(results) > 1:
            runs = {"first_run": result.first, "second_run": result.second}
        shared = {"unit": result.unit, "method": result.method}
        records += [{**runs, **_line_json(line), **shared} for line in result.lines]
    return csv_text(records, "metric")


def _line_json(line: MetricDifference) -> JsonObject:
    """Return the numbers of a line."""
    gap = line.difference
    numbers = {"first": line.first, "second": line.second, "difference": gap.mean}
    numbers |= {"low": gap.low, "high": gap.high, "p": line.p}
    numbers["p_raw"] = line.estimate.p
    numbers["detectable"] = line.detectable
    counts = {"n": line.n, "wins": line.wins, "losses": line.losses, "ties": line.ties}
    return {
        "metric": line.metric.key,
        **{k: finite(v) for k, v in numbers.items()},
        **counts,
        "family": line.family,
        "tests": line.tests,
        "correction": "Holm" if line.tests > 1 else "none",
        "clusters": len(line.estimate.counts),
    }


def mark_best(
    rows: Sequence[Row],
    scored: Sequence[Scores],
    keys: Collection[str],
    clusters: Mapping[str, Hashable] | None = None,
) -> list[Row]:
    """Return the rows with ``best`` set: those of the shown metrics (``keys``) in which a run
    is better than every other run without access to the answer.

    A run is best where a comparison of it with all the others, as ``wayword compare`` makes it of
    these metrics, finds each difference significant, corrected by :func:`corrected`. ``scored``
    are the scores of each row's episodes.
    """
    rivals = [at for at, row in enumerate(rows) if not row.sees_answer]
    # Row -> its comparisons. The differences of the first of a pair are turned.
    compared: dict[int, list[Comparison]] = {at: [] for at in rivals}
    gains: dict[int, list[float]] = {at: [] for at in rivals}
    for a, b in combinations(rivals, 2):
        # Runs on different parts of a split do not compare.
        if not set(scored[a]) & set(scored[b]):
            continue
        result = compare(
            "",
            scored[a],
            "",
            scored[b],
            family=rows[a].family,
            metrics=[each for each in rows[a].metrics if each.key in keys],
            clusters=clusters,
            primary=rows[a].success,
        )
        for at, sign in ((a, -1.0), (b, 1.0)):
            compared[at].append(result)
            gains[at].append(sign)
    best: dict[int, set[str]] = {}
    for at in rivals:
        # A run that cannot be compared with all others leads none.
        if len(compared[at]) == len(rivals) - 1:
            best[at] = _leads(corrected(compared[at]), gains[at])
    return [
        replace(row, best=frozenset(best.get(at, ()))) for at, row in enumerate(rows)
    ]


def _leads(results: Sequence[Comparison], signs: Sequence[float]) -> set[str]:
    """Return the metrics that are significantly better in all comparisons.

    A sign is 1 if the run of interest is the second of its comparison, and -1 if the first.
    """
    wins: dict[str, int] = {}
    for result, sign in zip(results, signs, strict=True):
        for line in result.lines:
            gain = sign * (line.second - line.first)
            if line.metric.better == "lower":
                gain = -gain
            if line.metric.better and gain > 0 and line.p < ALPHA:
                wins[line.metric.key] = wins.get(line.metric.key, 0) + 1
    return {key for key, count in wins.items() if count == len(results)}
