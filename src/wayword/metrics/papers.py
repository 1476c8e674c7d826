"""LaTeX tables with the columns that papers on a benchmark print.

    >>> from wayword.metrics.summary import summarize
    >>> row = summarize("mine", [{"sr": 1.0}, {"sr": 0.0}], family="babyai", of=2)
    >>> print(paper_table([row], "babyai").splitlines()[6])
    Method & SR (\\%) $\\uparrow$ \\\\

A ``table`` environment, which needs the package ``booktabs``: an arrow for the better direction of
each metric, 95% intervals as subscripts, and a footnote on what they are. It is a column wide, or,
where that is too narrow for its numbers, a page (``table*``).
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

from wayword.core.errors import UsageError, suggest
from wayword.core.metric import Metric
from wayword.core.visible import plural
from wayword.metrics import definitions
from wayword.metrics.summary import (
    Row,
    caveats,
    few_notes,
    has_interval,
    published_variants,
    split_label,
    splits_of,
)
from wayword.metrics.table import (
    UNITS,
    cell,
    extra_labels,
    is_best,
    latex_number,
    latex_text,
)
from wayword.metrics.table import metrics_of as metrics_of_rows

PRESETS: Mapping[str, Sequence[str]] = {
    "r2r": ("tl", "ne", "osr", "sr", "spl", "ndtw"),
    "rxr": ("ne", "sr", "sdtw", "ndtw"),
    "reverie": ("tl", "osr", "sr", "spl", "rgs", "rgspl"),
    "touchdown": ("spd", "kpa", "tc"),
    "objectnav": ("success_grounded", "spl_grounded"),
    "robot": ("found", "found_from", "metres", "blocked", "lost"),
    "alfred": ("sr", "goal_sr", "plw_sr", "plw_goal_sr"),
    "babyai": ("sr", "plw_sr"),
}
"""Columns of the tables of each benchmark's papers, in their usual order: R2R's and REVERIE's as in
DUET's, streets' as in VELMA's. R2R's also have nDTW, as SR does not see a detour."""
OF_FAMILIES: Mapping[str, Sequence[str]] = {
    "indoor": ("reverie", "r2r"),
    "street": ("touchdown",),
    "objectnav": ("robot", "objectnav"),
    "household": ("alfred",),
    "babyai": ("babyai",),
}
"""Presets of a family of worlds, the one with the most particular metrics first."""
_ACCOUNTED = {metric.key for metric in (*definitions.ACCOUNTING, *definitions.CUT)}
_COLUMN = 237.0
"""Points of a column of two, as in CVPR's style."""
_GAP = 3.0  # points on both sides of a table's column
_SIGN = 4.6  # points of a sign in small type, about
_SMALL_SIGN = 3.5  # points of a sign of a subscript
_ARROWS = {"higher": r"$\uparrow$", "lower": r"$\downarrow$", None: ""}


def preset_metrics(preset: str) -> Sequence[str]:
    """Return the keys of a preset's metrics. Raises ``UsageError`` for an unknown preset."""
    if preset not in PRESETS:
        raise UsageError(f"--preset {preset}: {suggest(preset, PRESETS)}")
    return PRESETS[preset]


def paper_metrics(
    rows: Sequence[Row], preset: str, published: Sequence[Row] = ()
) -> list[Metric]:
    """Return the preset's metrics that the runs have.

    Raises ``UsageError`` for a row that lacks most of them, or an unknown preset.
    """
    wanted = preset_metrics(preset)
    for row in rows:
        lacking = [key for key in wanted if key not in row.values]
        # A split without answers for one metric is no other benchmark.
        if 2 * len(lacking) > len(wanted):
            problem = f"{row.name} has no {', '.join(lacking)}"
            raise UsageError(
                f"--preset {preset}: {problem}; give runs that have at least half of its metrics"
            )
    # A paper's SPL may be of another definition, which is then a column of its own, next to ours.
    variants = published_variants(wanted, published)
    shown = []
    for key in wanted:
        shown.append(key)
        if key in variants:
            shown.append(variants[key])
    # Papers of one benchmark differ in what they report; a preset prints what the runs have.
    present = {metric.key: metric for metric in metrics_of_rows(rows)}
    return [present[key] for key in shown if key in present]


def usual_columns(rows: Sequence[Row]) -> list[str]:
    """Return the keys of the metrics that papers print of rows of one family: those of the preset
    with the dataset's name, or of the family's first preset that a row has whole; without one, as
    of a user's world, the family's own metrics, with steps and a cost above 0."""
    present = {metric.key: metric for metric in metrics_of_rows(rows)}.keys()
    for row in rows:
        named = row.dataset.partition(":")[0]
        for preset in (named, *OF_FAMILIES.get(row.family, ())):
            columns = PRESETS.get(preset, ())
            if columns and present >= set(columns):
                return list(columns)
    keys = [key for key in present if key not in _ACCOUNTED or key == "steps"]
    if any(row.totals.get("cost") for row in rows):
        keys.append("cost")
    return keys


def missing_columns(rows: Sequence[Row], preset: str) -> list[str]:
    """Return the keys of the preset's metrics that no run has."""
    present = {metric.key for metric in metrics_of_rows(rows)}
    return [key for key in preset_metrics(preset) if key not in present]


def paper_table(
    rows: Sequence[Row],
    preset: str,
    published: Sequence[Row] = (),
    metrics: Sequence[Metric] = (),
) -> str:
    """Return a ``table`` environment with the preset's metrics, or others in their place, and
    ``published`` rows at its end.

    Raises the errors of ``paper_metrics``.
    """
    if not metrics:
        metrics = paper_metrics(rows, preset, published)
    has_models = any(row.model for row in (*rows, *published))
    # One split of the runs, and one of the published rows, stand in the caption.
    has_splits = any(
        len({row.dataset for row in group}) > 1 for group in (rows, published)
    )
    texts = [*extra_labels(rows), *("" for _ in published)]
    head = ["Method", *["Model"] * has_models, *["Split"] * has_splits]
    heads = [latex_text(name) for name in head]
    heads += [f"{latex_text(_head(m))} {_ARROWS[m.better]}".strip() for m in metrics]
    lines = []
    for row, text in zip((*rows, *published), texts, strict=True):
        name = latex_text(row.name if not text else f"{row.name} ({text})")
        if row.sees_answer:
            name += r"$^\dagger$"
        cells = [name]
        if has_models:
            cells.append(latex_text(row.model or "–"))
        if has_splits:
            cells.append(latex_text(split_label(row.dataset) or "–"))
        lines.append(cells)
    # Means stand above each other by their points.
    for metric in metrics:
        column = [_subscripted(row, metric, published) for row in (*rows, *published)]
        for cells, number in zip(lines, _aligned(column), strict=True):
            cells.append(number)
    widths = [max(map(_points, column)) for column in zip(heads, *lines, strict=True)]
    is_wide = sum(widths) + 2 * _GAP * (len(heads) - 1) > _COLUMN
    environment = "table*" if is_wide else "table"
    body = [f"{' & '.join(cells)} \\\\" for cells in lines]
    if published:
        body.insert(len(rows), r"\midrule")
    return "\n".join([
        rf"\begin{{{environment}}}[t]",
        rf"\centering\small\setlength{{\tabcolsep}}{{{_GAP:g}pt}}",
        rf"\caption{{{latex_text(_caption(rows, published))}}}",
        rf"\label{{tab:{_slug(splits_of(rows))}}}",
        rf"\begin{{tabular}}{{@{{}}{'l' * len(heads)}@{{}}}}",
        r"\toprule",
        f"{' & '.join(heads)} \\\\",
        r"\midrule",
        *body,
        r"\bottomrule",
        r"\end{tabular}",
        *_below(_footnote(rows, metrics, published)),
        rf"\end{{{environment}}}",
    ]) + "\n"  # fmt: skip


def _slug(text: str) -> str:
    """Return a text as a label: ``r2r-val-unseen`` for ``R2R val-unseen``. A paper has a table of
    each split."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def _aligned(column: Sequence[str]) -> list[str]:
    """Return a column's cells with room for the digits that another one has before its point."""
    counts = []
    for text in column:
        whole = re.match(r"\$(?:\\mathbf\{)?([\d{},]*)", text)
        counts.append(len(re.findall(r"\d", whole[1])) if whole else 0)
    aligned = []
    for text, count in zip(column, counts, strict=True):
        missing = "0" * (max(counts) - count)
        if count and missing:
            text = rf"$\phantom{{{missing}}}{text[1:]}"
        aligned.append(text)
    return aligned


def _points(text: str) -> float:
    """Return the width of a cell on paper, about."""
    main, _, small = text.partition("_{")
    code = r"\\[a-zA-Z]+|[\\{}$]"
    width = _SIGN * len(re.sub(code, "", main))
    return width + _SMALL_SIGN * len(re.sub(code, "", small))


def _below(notes: Sequence[str]) -> list[str]:
    """Return the lines of a box with the notes below a table; none without notes."""
    if not notes:
        return []
    box = rf"\parbox{{\linewidth}}{{\footnotesize {' '.join(notes)}}}"
    return ["", r"\vspace{2pt}", box]


def _head(metric: Metric) -> str:
    """Return a metric's label with its unit."""
    unit = UNITS.get(metric.kind, "")
    return f"{metric.label} ({unit})" if unit else metric.label


def _is_bold(row: Row, metric: Metric, published: Sequence[Row]) -> bool:
    """True for the best of the runs, unless a published mean is as good: those have no episodes
    that could be compared."""
    if not is_best(row, metric):
        return False
    sign = -1 if metric.better == "lower" else 1
    means = [
        each.values[metric.key].mean for each in published if metric.key in each.values
    ]
    own = sign * row.values[metric.key].mean
    return all(sign * mean < own for mean in means if math.isfinite(mean))


def _subscripted(row: Row, metric: Metric, published: Sequence[Row]) -> str:
    """Return a mean with its interval as a subscript: ``$46.7_{\\pm 17.9}$``."""
    mean, spread = cell(row, metric)
    number = latex_number(f"**{mean}**" if _is_bold(row, metric, published) else mean)
    if not spread or not number.endswith("$"):
        return number
    return f"{number[:-1]}_{{{latex_number(spread).strip('$')}}}$"


def _caption(rows: Sequence[Row], published: Sequence[Row]) -> str:
    """Return the caption of a table: each split with its episodes."""
    splits: dict[str, list[Row]] = {}
    for row in rows:
        splits.setdefault(splits_of([row]), []).append(row)
    parts = []
    for split, group in splits.items():
        number = _range([row.distinct or row.n for row in group])
        if any((row.distinct or row.n) < row.of for row in group):
            # Parts of a run differ in size.
            number += f" of {_range([row.of for row in group])}"
        noun = "episode" if number == "1" else "episodes"
        runs = _range([row.runs for row in group])
        # Of rows that pool seeds, each episode is the mean of its plays.
        if runs != "1":
            noun += f", means over {runs} seeds"
        parts.append(f"{split} ({number} {noun})")
    caption = f"Results on {' and '.join(parts)}"
    if published:
        caption += f"; published results on {splits_of(published)}"
    return f"{caption}."


def _range(numbers: Sequence[int]) -> str:
    """``20 to 1,021``, or one number where all are equal."""
    ends = dict.fromkeys((min(numbers), max(numbers)))
    return " to ".join(f"{number:,}" for number in ends)


def _footnote(
    rows: Sequence[Row], metrics: Sequence[Metric], published: Sequence[Row]
) -> list[str]:
    """Return the sentences below the table, in LaTeX.

    They explain the intervals, bold values and marks, as far as the table has them, then name
    episodes that were left out and the rows' caveats.
    """
    notes = []
    if any(map(has_interval, rows)):
        units = dict.fromkeys(plural(row.clustered or "episode") for row in rows)
        number = _range([row.clusters for row in rows])
        what = f"with {number} {' and '.join(units)} as independent units"
        asymmetric = " ([low, high] if asymmetric)"
        notes.append(
            f"Subscripts: half the 95\\% confidence interval{asymmetric}, {what}."
        )
        notes += map(latex_text, few_notes(rows, metrics))
    if any(_is_bold(row, metric, published) for row in rows for metric in metrics):
        others = "every other method"
        unless = ""
        # Of a published mean, no episodes are known to test a difference.
        if published:
            others += " above the line"
            unless = ", unless a published mean is as good"
        notes.append(
            f"Bold: better than {others} ($p < 0.05$, paired tests on the same episodes; "
            "Holm's correction over methods and shown metrics, for success over methods)"
            f"{unless}."
        )
    if any(row.sees_answer for row in rows):
        notes.append(r"$^\dagger$ Upper bound that uses the ground truth.")
    if failed := [row for row in rows if row.failed]:
        counts = ", ".join(f"{row.name} {row.failed}" for row in failed)
        notes.append(latex_text(f"Left out, ended with an error: {counts} episodes."))
    if any(metric.key == "goal_sr" for metric in metrics):
        notes.append(
            "Goal-SR and path-weighted (PLW) columns: means per episode; ALFRED's code pools the "
            "goal conditions of all episodes and weights episodes by the expert's length."
        )
    for line in caveats([*rows, *published]):
        # A sentence has a capital, an identifier and the name of a run as they are.
        is_words = re.match(r"[a-z]+ ", line)
        notes.append(latex_text(line[:1].upper() + line[1:] if is_words else line))
    return notes
