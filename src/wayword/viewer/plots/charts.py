"""Figures of metrics: success by length, success against cost, causes, paired differences."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from wayword.core.errors import UsageError, suggest
from wayword.core.metric import Metric, is_solved
from wayword.core.visible import plural
from wayword.metrics import table as tables
from wayword.metrics.compare import Comparison, MetricDifference
from wayword.metrics.intervals import Interval, rate_interval
from wayword.metrics.mistakes.causes import CAUSES, label_of
from wayword.metrics.summary import Row, other_episodes, split_label
from wayword.runs import differences, lengths, reports, scored_runs
from wayword.runs.record import RunFolder
from wayword.runs.scored_runs import ScoredRun
from wayword.viewer.content import causes_by_episode
from wayword.viewer.data import open_sources
from wayword.viewer.library import Rows
from wayword.viewer.plots.request import (
    Drawing,
    FigureRequest,
    interval_note,
    number_span,
)
from wayword.viewer.plots.style import (
    FAINT,
    MOST,
    QUIET,
    clip_around,
    faint_grid,
    legend_above,
    look,
    new_figure,
    wrapped,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FEW = 10
"""Episodes below which a mean by length is a hollow mark: a reader must not take it for one of
hundreds."""
LINE = 0.17
"""Inches of a line of a figure with one line of text for each mark."""


def metric_of(rows: Sequence[Row], wanted: str) -> Metric:
    """Return the metric that a figure of these rows shows.

    ``wanted`` is a key or a column head; by default the first row's success, or what a robot
    found where none is judged. Raises ``UsageError`` for a name that not all rows have, and for
    rows of several families.
    """
    shared = [
        metric
        for metric in tables.metrics_of(rows)
        if all(metric.key in row.values for row in rows)
    ]
    first = rows[0]
    for row in rows:
        if row.family != first.family:
            raise UsageError(
                f"{first.name} is {first.family} and {row.name} is {row.family}; "
                "plot runs of one family of worlds"
            )
    key = wanted or first.success
    if not wanted and all(is_unjudged(row) for row in rows):
        key = FOUND
    for metric in shared:
        if key == metric.key or key.lower() == metric.label.lower():
            return metric
    options = [metric.key for metric in shared]
    raise UsageError(f"no metric {key!r} in all runs; {suggest(key, options)}")


FOUND = "found"
"""The metric of searches that nothing judges, as of a robot: by the agent's own detector."""


def is_unjudged(row: Row) -> bool:
    """True for a run without success, of which only reports of the agent's detector are known."""
    return row.success not in row.values and FOUND in row.values


def scale_of(metric: Metric) -> float:
    """Return the factor from stored to shown values: rates and ratios are percentages."""
    if metric.kind in ("rate", "ratio"):
        return 100.0
    return 1.0


def axis_label(metric: Metric) -> str:
    """Return the label of an axis, with its unit in parentheses: ``SR (%)``, ``NE (m)``."""
    unit = tables.UNITS.get(metric.kind, "")
    name = metric.label.removesuffix(unit).strip()
    return f"{name} ({unit})" if unit else name


def episodes_of(row: Row) -> int:
    """Return the number of a row's episodes, each of which counts once in runs of several seeds."""
    return row.distinct or row.n


def require_rows(rows: Sequence[Row]) -> None:
    """Raise ``UsageError`` for runs without finished episodes, or too many runs."""
    if empty := [row.name for row in rows if not row.n]:
        raise UsageError(f"{empty[0]}: has no finished episodes to plot")
    if len(rows) > MOST:
        raise UsageError(f"{len(rows)} runs are too many for a figure, at most {MOST}")


def error_bars(
    axes: Axes,
    at: Sequence[float],
    values: Sequence[Interval],
    number: int,
    label: str,
    horizontal: bool = False,
    line: bool = True,
    few: Sequence[bool] = (),
) -> None:
    """Draw means with intervals, where there are any, in the look of series ``number``.

    ``at`` are the positions on the other axis, as many as ``values``, which are in the
    axis's unit. ``horizontal`` puts the values on the x axis; ``line`` joins the marks.
    Marks that are ``few``, of too few episodes, are hollow and no line goes through them:
    it would look like a curve that the data does not have.
    """
    color, dashes, marker = look(number)
    is_few = np.array(few or [False] * len(values), dtype=bool)
    # matplotlib takes lengths to both sides; a mean without an interval gets none.
    means = np.array([each.mean for each in values])
    lows = np.array([each.low for each in values])
    highs = np.array([each.high for each in values])
    spread = np.nan_to_num(np.abs([lows - means, highs - means]))
    hollow = {"markerfacecolor": "white", "markeredgewidth": 0.8}
    for chosen, joined, look_of_mark in (
        (~is_few, line, {"markeredgewidth": 0.0}),
        (is_few, False, hollow),
    ):
        if not chosen.any():
            continue
        # Without the other marks, so that the line ends at them.
        shown = np.where(chosen, means, np.nan)
        data: dict[str, Any] = {"x": at, "y": shown, "yerr": spread}
        if horizontal:
            data = {"x": shown, "y": at, "xerr": spread}
        bars = axes.errorbar(
            **data,
            **look_of_mark,
            color=color,
            linestyle=dashes if joined else "none",
            marker=marker,
            elinewidth=0.8,
            label=label,
            zorder=3,
        )
        clip_around(axes, bars.get_children())
        label = ""  # a series has one line in the legend


# Success by length of the reference.


def draw_lengths(request: FigureRequest) -> Drawing:
    """Draw a metric by range of reference lengths: a line for each run, and n below each range.

    All runs share the ranges. Searches with a robot have no reference: theirs is the share that
    was found within a distance driven. Raises ``UsageError`` as :func:`metric_of` and
    :func:`~wayword.runs.lengths.rows_by_length` do.
    """
    notices: list[str] = []
    groups = scored_runs.groups_at(
        request.runs, request.cluster, request.data, notices.append
    )
    finished = [scored_runs.row_of(group) for group in groups]
    # Without an episode that finished, nothing is known of what a run measures.
    require_rows(finished)
    if groups and all(map(is_unjudged, finished)):
        for row, group in zip(finished[1:], groups[1:], strict=True):
            if note := differences.start_note(groups[0], group):
                notices.append(f"{row.name}: {note}")
        return _draw_found(request, groups)._replace(notices=tuple(notices))
    by_length = lengths.rows_by_length(
        request.runs, request.cluster, request.data, request.trusted
    )
    rows = [row for row, _ in by_length.runs]
    require_rows(rows)
    metric = metric_of(rows, request.metric)
    factor = scale_of(metric)
    names = request.names([row.name for row in rows])
    runs = [parts for _, parts in by_length.runs]
    ranges: dict[str, None] = {}
    for parts in runs:
        ranges |= dict.fromkeys(parts)
    # A label begins with the shortest length that it holds.
    labels = sorted(
        ranges,
        key=lambda label: float(label.split()[0]),
    )
    figure, axes = new_figure(request.width, min(2.3, 0.66 * request.width))
    # Side by side, so that intervals at one length do not hide each other.
    shift = min(0.12, 0.5 / len(runs))
    has_few = False
    for number, parts in enumerate(runs):
        aside = shift * (number - (len(runs) - 1) / 2)
        at = []
        values = []
        few = []
        for n, label in enumerate(labels):
            if label in parts and metric.key in parts[label].values:
                at.append(n + aside)
                value = parts[label].values[metric.key].times(factor)
                values.append(value)
                few.append(episodes_of(parts[label]) < FEW)
        has_few = has_few or any(few)
        error_bars(axes, at, values, number, names[number], few=few)
    ticks = []
    for label in labels:
        numbers = [episodes_of(parts[label]) for parts in runs if label in parts]
        ticks.append(f"{label.replace(' to ', '–')}\nn = {number_span(numbers)}")
    axes.set_xticks(range(len(labels)), ticks)
    axes.set_xlim(-0.5, len(labels) - 0.5)
    axes.set_xlabel(f"Length of the reference ({by_length.unit})")
    metric_axis(axes, metric)
    legend_above(axes)
    parts_of_all: list[Row] = []
    for parts in runs:
        parts_of_all += parts.values()
    caption = (
        f"{metric.label} by length of the reference, on {splits(rows)}. "
        f"{interval_note(parts_of_all, metric.key)} n: episodes of a range. {lengths.JOINED}"
    )
    if has_few:
        caption += f" Hollow, not joined: fewer than {FEW} episodes."
    # The series have the names of the legend.
    named = [replace(row, name=name) for row, name in zip(rows, names, strict=True)]
    caption = " ".join([caption, *other_episodes(named)])
    return Drawing(figure, caption, tuple(notices))


def _draw_found(
    request: FigureRequest, groups: Sequence[Sequence[ScoredRun]]
) -> Drawing:
    """Draw the share of searches whose detector found the target, by metres driven: a
    line for each run, with a mark for each search that found it."""
    rows = [scored_runs.row_of(group) for group in groups]
    require_rows(rows)
    metric = metric_of(rows, request.metric)
    if metric.key != FOUND:
        raise UsageError(
            f"--metric {request.metric}: runs on a robot have no reference; their figure by length "
            "shows what was found, without --metric"
        )
    names = request.names([row.name for row in rows])
    names = with_numbers(names, [row.n for row in rows])
    # Metres of each search, and those of the ones that found their target.
    driven = []
    within = []
    for group in groups:
        searches = [scores for each in group for _, scores in each.scored.pairs()]
        driven.append([scores.get("metres", math.nan) for scores in searches])
        found = [scores for scores in searches if is_solved(scores.get(FOUND))]
        within.append(sorted(scores.get("metres", math.nan) for scores in found))
    farthest = float(np.nanmax(np.concatenate(driven)))
    figure, axes = new_figure(request.width, min(2.3, 0.66 * request.width))
    for number, (name, metres) in enumerate(zip(names, within, strict=True)):
        color, dashes, marker = look(number)
        shares = 100.0 * np.arange(len(metres) + 1) / len(driven[number])
        # All lines end where the longest search did.
        steps = axes.step(
            [0.0, *metres, farthest],
            [*shares, shares[-1]],
            where="post",
            color=color,
            linestyle=dashes,
            marker=marker,
            markevery=range(1, len(metres) + 1),
            markeredgewidth=0.0,
            label=name,
            zorder=3,
        )
        clip_around(axes, steps)
    axes.set_xlim(0.0, max(1.0, 1.02 * farthest))
    axes.set_xlabel("Metres driven")
    metric_axis(axes, metric)
    legend_above(axes)
    caption = (
        f"Searches whose own detector found the target, by metres driven, on {splits(rows)}. "
        f"No metric judges the detector. {_number_note('searches', [row.n for row in rows])} "
        "No intervals."
    )
    return Drawing(figure, " ".join([caption, *other_episodes(rows)]))


def metric_axis(axes: Axes, metric: Metric) -> None:
    """Label the vertical axis; it starts at 0, and a rate's ends at 100%, or at 50% if all of it is
    below."""
    axes.set_ylabel(axis_label(metric))
    axes.set_ylim(bottom=0.0)
    if metric.kind == "rate":
        top = 100
        if axes.dataLim.y1 <= 50.0:  # else half of the figure would be empty
            top = 50
        axes.set_ylim(0.0, float(top))
        axes.set_yticks(range(0, top + 1, top // 5))
    faint_grid(axes, "y")


def with_numbers(names: Sequence[str], counts: Sequence[int]) -> list[str]:
    """Return the names of series with their numbers of episodes: ``random (n = 850)``."""
    return [
        f"{name} (n = {count:,})" for name, count in zip(names, counts, strict=True)
    ]


def _number_note(what: str, counts: Sequence[int]) -> str:
    """Return what ``n`` counts; of a single run, which has no legend, also the number."""
    if len(counts) == 1:
        return f"n = {counts[0]:,} {what}."
    return f"n: {what}."


def splits(rows: Sequence[Row]) -> str:
    """Return the splits of the rows, in words."""
    return " and ".join(dict.fromkeys(split_label(row.dataset) for row in rows))


# Success against cost.


def draw_costs(request: FigureRequest) -> Drawing:
    """Draw a metric against dollars per episode or, if no run has a price, against tokens.

    Runs without a model are horizontal lines: they cost nothing. A run without a price,
    where others have one, is left out with a notice. Without any model, runs on a robot are drawn
    against metres driven. Raises ``UsageError`` for other runs without a model.
    """
    notices: list[str] = []
    rows = reports.pooled_rows(
        request.runs, request.cluster, request.data, notices.append
    )
    require_rows(rows)
    metric = metric_of(rows, request.metric)
    names = request.names([row.name for row in rows])
    # Dollars if any run has a price; tokens compare local models.
    prices = [_spent(row, "cost") for row in rows]
    tokens = [_tokens(row) for row in rows]
    priced = any(prices)
    what = "cost"
    spent = prices
    if not priced:
        what = "tokens (no price is known)"
        spent = tokens
    is_driven = False
    if not any(spent) and all(is_unjudged(row) for row in rows):
        is_driven = True
        what = "metres driven"
        spent = [row.values["metres"].mean for row in rows if "metres" in row.values]
    if not any(spent) or len(spent) < len(rows):
        raise UsageError(
            "no run has a cost or tokens: cost plots need a run with a language model"
        )
    figure, axes = new_figure(request.width, min(2.4, 0.7 * request.width))
    shown = []
    marks = "Error bars"
    for number, (row, name) in enumerate(zip(rows, names, strict=True)):
        each = spent[number]
        value = row.values[metric.key].times(scale_of(metric))
        has_model = bool(row.totals.get("calls"))
        if each == 0.0 or not (has_model or is_driven):
            style = look(number)
            reason = "no model"
            if is_driven:
                reason = "0 m"
            elif has_model:
                reason = "$0" if priced else "no tokens"
            if math.isfinite(value.half):
                marks = "Error bars and bands"
                axes.axhspan(
                    value.low,
                    value.high,
                    facecolor=style.color,
                    edgecolor="none",
                    alpha=0.12,
                    zorder=0.5,
                )
            text = f"{name} ({reason})"
            axes.axhline(
                value.mean,
                linewidth=0.8,
                label=text,
                zorder=1,
                color=style.color,
                linestyle=style.dashes,
            )
        elif each is None:
            notices.append(f"{name}: left out, because its price is unknown")
            continue
        else:
            text = name
            error_bars(axes, [each], [value], number, name, line=False)
        shown.append(text)
    present = [each for each in spent if each]
    # Costs of models differ by orders of magnitude.
    if max(present) > 10 * min(present):
        axes.set_xscale("log")
    label = "Tokens per episode"
    if priced:
        label = "Cost per episode (US dollars)"
    elif is_driven:
        label = "Metres driven per episode"
    axes.set_xlabel(label)
    _spent_axis(axes, present)
    metric_axis(axes, metric)
    legend_above(axes)
    caption = f"{metric.label} against {what} per episode, on {splits(rows)}."
    note = interval_note(rows, metric.key, marks)
    return Drawing(figure, f"{caption} {note}", tuple(notices))


def _spent(row: Row, key: str) -> float | None:
    """Return dollars or tokens per episode; None if they are unknown."""
    total = row.totals.get(key)
    if not row.totals.get("calls"):
        return 0.0
    if total is None:
        return None
    return total / row.n


def _tokens(row: Row) -> float | None:
    """Return tokens per episode, prompts and answers together; None if they are unknown."""
    prompt = _spent(row, "prompt_tokens")
    completion = _spent(row, "completion_tokens")
    if prompt is None or completion is None:
        return None
    return prompt + completion


def _spent_axis(axes: Axes, present: Sequence[float]) -> None:
    """Number the axis of dollars, tokens or metres, and leave room around the values
    ``present``."""
    axis = axes.xaxis
    if axes.get_xscale() == "log":
        axes.set_xlim(min(present) / 2, max(present) * 2)
        # Powers of ten are mathematics, which is not parsed.
        axis.set_major_formatter(lambda value, position: _plain([value], value))
    else:
        axes.set_xlim(0, max(present) * 1.15)
        axis.set_major_formatter(
            lambda value, position: _plain(axis.get_majorticklocs(), value)
        )


def _plain(positions: Iterable[float], value: float) -> str:
    """Return a tick's label with the decimals that the positions of all ticks need.

    >>> _plain([0, 2.5, 5], 5), _plain([0, 500, 1000], 1000)
    ('5.0', '1,000')
    """
    decimals = 0
    for position in positions:
        _, _, fraction = f"{position:.9f}".rstrip("0").partition(".")
        decimals = max(decimals, len(fraction))
    return f"{value:,.{decimals}f}"


# Causes of failure.


def draw_causes(request: FigureRequest) -> Drawing:
    """Draw the share of unsolved episodes that show each cause, with intervals: a mark a run.

    Shares are percentages of a run's unsolved episodes; causes that no run shows are left out.
    A run without unsolved episodes is left out with a notice. Raises ``UsageError`` if none is
    left.
    """
    shares: list[dict[str, Interval]] = []
    given = []
    drawn = []  # numbers of the runs that are drawn, for labels of all
    counts = []
    notices = []
    for path in scored_runs.run_folders(request.runs):
        rows = Rows(RunFolder.read(path)).refresh()
        unsolved = rows.unsolved()
        given.append(scored_runs.name_of(rows.run))
        if not unsolved:
            judged = bool(rows.outcomes())
            why = "every episode was solved"
            if not judged:
                why = "no metric judges it; draw map, length, cost or pairs"
            notices.append(f"{path}: left out, because {why}")
            continue
        sources = open_sources(rows.run, unsolved, request.data, request.trusted)
        causes = causes_by_episode(rows, sources)
        _, owners = scored_runs.run_owners(
            rows.run, unsolved, request.cluster, request.data
        )
        own = [owners.get(name, name) for name in unsolved]
        share: dict[str, Interval] = {}
        for cause in CAUSES:
            shows = np.array([float(cause in causes[name]) for name in unsolved])
            share[cause] = rate_interval(shows, own).times(100.0)
        shares.append(share)
        drawn.append(len(given) - 1)
        counts.append(len(unsolved))
    if not shares:
        raise UsageError(f"there are no causes: {'; '.join(notices)}")
    all_names = request.names(given)
    names = with_numbers([all_names[number] for number in drawn], counts)

    def occurs(cause: str) -> bool:
        return any(share[cause].mean > 0 for share in shares)

    present = list(filter(occurs, CAUSES))
    # The most frequent cause of the first run is at the top: the axis points up.
    present.sort(key=lambda cause: shares[0][cause].mean)
    each_height = LINE * max(1.0, 0.62 * len(shares))
    height = 0.55 + each_height * len(present) + LINE * (len(shares) > 1)
    figure, axes = new_figure(request.width, height)
    for number, share in enumerate(shares):
        aside = 0.6 * (0.5 - (number + 0.5) / len(shares))
        at = [n + aside for n in range(len(present))]
        values = [share[cause] for cause in present]
        error_bars(axes, at, values, drawn[number], names[number], True, line=False)
    axes.set_yticks(range(len(present)), [label_of(cause) for cause in present])
    axes.set_ylim(-0.6, len(present) - 0.4)
    axes.tick_params(axis="y", length=0)
    axes.set_xlim(0, 100)
    # Names of causes are long: in the middle of the axes it would leave the figure.
    axes.set_xlabel("Unsolved episodes with this cause (%)", loc="right")
    faint_grid(axes, "x")
    legend_above(axes)
    of = ""
    if len(names) == 1:  # a single series has no legend
        of = f" of {all_names[drawn[0]]}"
    halves = []
    for share in shares:
        halves += [each.half for each in share.values()]
    intervals = "Error bars: 95% intervals."
    if not any(map(math.isfinite, halves)):
        intervals = "No intervals: too few episodes."
    caption = (
        f"Causes of failure{of}, by heuristics on the recorded steps; an episode may have "
        f"several. {_number_note('unsolved episodes', counts)} {intervals}"
    )
    return Drawing(figure, caption, tuple(notices))


# Paired differences.

NARROWEST = {"rate": 5.0, "ratio": 5.0, "metres": 1.0, "hops": 1.0}
"""Kind of a metric -> the least reach (points, metres, hops) of the axis of differences."""


_SIDES = {
    "higher": "better and worse",
    "lower": "better and worse",
    None: "higher and lower",
}
"""Better direction of a metric -> the two sides of its differences."""


def draw_pairs(request: FigureRequest) -> Drawing:
    """Draw the difference of each other run to the first, on the same episodes, with intervals.

    One line per run, from top to bottom in the order of the request; numbers of better and worse
    episodes are to the right. Percentages are in points. Raises ``UsageError`` as
    :func:`~wayword.runs.differences.comparisons` does.
    """
    keys = []
    if request.metric:
        keys.append(request.metric)
    compared, notices = differences.comparisons(
        request.runs, keys, request.cluster, request.data
    )
    lines = [_line_of(result, request.metric) for result in compared]
    metric = lines[0].metric
    factor = scale_of(metric)
    folders = [compared[0].first, *(result.second for result in compared)]
    # The last part of each path
    given = [folder.rstrip("/").rpartition("/")[2] for folder in folders]
    names = request.names(given)
    # Names have a quarter of the width at most, next to the differences and their numbers.
    rivals = [wrapped(name, 0.25 * request.width, 7.0) for name in names[:0:-1]]
    most = max(name.count("\n") + 1 for name in rivals)
    each_height = LINE * max(1.4, 0.8 * most)
    figure, axes = new_figure(request.width, 0.6 + each_height * len(lines))
    for number, line in enumerate(lines):
        # The axis points up: the first difference is at the top.
        at = float(len(lines) - 1 - number)
        value = line.difference.times(factor)
        # The first run is not drawn; the others look as in figures of all.
        error_bars(axes, [at], [value], number + 1, "", True, line=False)
        counts = f"+{line.wins} / −{line.losses}, n = {line.n}, {_chance(line.p)}"
        axes.annotate(
            counts,
            (1.0, at),
            xycoords=("axes fraction", "data"),
            xytext=(5, 0),
            textcoords="offset points",
            fontsize=7.0,
            va="center",
            color=QUIET,
            annotation_clip=False,
        )
    axes.axvline(0.0, color=FAINT, linewidth=0.8, zorder=0)
    # Both sides of 0, and so wide that a difference of nothing does not fill the figure.
    reach = max(map(abs, axes.get_xlim()))
    reach = max(reach, NARROWEST.get(metric.kind, 0.0))
    axes.set_xlim(-reach, reach)
    axes.set_yticks(range(len(lines)), rivals)
    axes.set_ylim(-0.7, len(lines) - 0.3)
    axes.tick_params(axis="y", length=0)
    unit = tables.UNITS.get(metric.kind, "")
    if factor == 100.0:  # a difference of percentages is in points
        unit = "points"
    axis = f"{metric.label} difference to {names[0]}"
    if unit:
        axis += f" ({unit})"
    # The axes are not in the middle of the figure.
    axes.set_xlabel(wrapped(axis, 0.55 * request.width, 8.0))
    faint_grid(axes, "x")
    note = _pair_note(compared, lines)
    caption = (
        f"Difference in {metric.label} to {names[0]} on the same episodes. {note} "
        f"+ / −: episodes that are {_SIDES[metric.better]}."
    )
    return Drawing(figure, caption, notices)


def _line_of(result: Comparison, wanted: str) -> MetricDifference:
    """Return the difference of the wanted metric, by default of the primary one."""
    if wanted:
        return result.lines[0]
    primary = [line for line in result.lines if line.family == "primary"]
    return (primary or list(result.lines))[0]


def _chance(p: float) -> str:
    """Return a p-value in words; there is none where no test could be made (NaN)."""
    if math.isnan(p):
        return "no test"
    if p < 0.001:
        return "p < 0.001"
    return f"p = {p:.3f}"


def _pair_note(
    compared: Sequence[Comparison], lines: Sequence[MetricDifference]
) -> str:
    """Return what the error bars and p-values of paired differences are."""
    units = plural(compared[0].unit or "episode")
    if not any(math.isfinite(line.difference.half) for line in lines):
        return f"No intervals: too few {units}."
    number = number_span([result.clusters for result in compared], " to ")
    note = f"Error bars: 95% intervals with {number} {units} as units"
    if lines[0].tests > 1:
        note += f"; Holm's correction for {lines[0].tests} tests"
    return f"{note}."
