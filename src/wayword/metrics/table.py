"""Tables: one row per run, with intervals, counts of episodes and cost.

    >>> from wayword.metrics.summary import summarize
    >>> from wayword.metrics.table import render
    >>> scores = [{"sr": 1.0, "ne": 0.4}, {"sr": 0.0, "ne": 6.1}]
    >>> row = summarize("mine", scores, family="indoor", dataset="r2r:val_seen", of=1021)
    >>> print(render([row], "csv").splitlines()[0][:40])
    run,agent,model,dataset,checksum,n,of,fa

Rows of partial runs (``30 of 1021``) and of runs with failed episodes are marked. Rates are
fractions of 1 in JSON and CSV, and percentages in the other formats.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, TypeVar

from wayword.core.episode import Json, JsonObject
from wayword.core.errors import UsageError, suggest
from wayword.core.metric import Metric
from wayword.core.visible import in_lines, single_line, visible
from wayword.metrics import scoring
from wayword.metrics.intervals import Interval
from wayword.metrics.summary import (
    COUNTED,
    FAILED_0,
    TOTALLED,
    Row,
    caveats,
    footnote,
    interval_notes,
    split_label,
)

if TYPE_CHECKING:
    from rich.console import RenderableType

T = TypeVar("T")

FIRST = 4  # leading metrics of a family, which have priority over the accounting
THEN = ("trials", "sr_first", "verdicts", "cut_off", "tl", "ndtw", "rejection_rate", "steps",
        "cost", "total_cost", "cached_share", "illegal_moves")  # fmt: skip
"""Metrics with priority over the family's other ones. Those that explain an SR over several trials
come first, then TL, the last of the five that papers on routes print, and nDTW, how far an agent
without success followed the instruction."""
OF_MODELS = ("rejections", "rejection_rate", "cost", *COUNTED)
"""Metrics that are 0 for agents without a model, and give way to all others then."""
HIDDEN_IF_ZERO = frozenset({"cut_off"})
LONG_HEAD = 12  # longer column heads take two lines
MIN_TITLE = 26  # width that is always available for the names of runs
DECODING = "decoding"
HEAD = (
    *("agent", "model", "dataset", "checksum", "n", "of", "failed"),
    "sees_answer",
)
"""Fields of a run in JSON and CSV, after its name."""


def console_text(*shown: RenderableType, width: int) -> str:
    """Return the output of a rich console as text of at most ``width`` columns."""
    from rich.console import Console

    out = io.StringIO()
    console = Console(
        file=out,
        width=width,
        force_terminal=False,
        force_jupyter=False,  # notebooks get plain text too
        no_color=True,
        highlight=False,
        markup=False,
        emoji=False,  # names are shown as they are
    )
    for each in shown:
        console.print(each)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def terminal(rows: Sequence[Row], width: int = 100) -> str:
    """Return the table as text of at most ``width`` columns, with each mean above its interval.

    It has as many metrics as fit, the most important first; the others are listed below.
    """
    from rich import box
    from rich.table import Table

    metrics = shown_metrics(rows)
    # A run's name stands first; the lines below it say only what the name does not.
    names = []
    counts = []
    for row, text in zip(rows, extra_labels(rows), strict=True):
        dataset = f"{row.dataset} {row.checksum[:8]}".strip()
        parts = (row.name, _agent(row), text, row.model, dataset)
        names.append("\n".join(filter(None, parts)))
        # A count takes a line for each of its parts, because width is scarce.
        counts.append(episodes(row).replace(" of ", "\nof ").replace(", ", "\n"))
    texts: dict[str, list[str]] = {}
    heads: dict[str, str] = {}
    for metric in metrics:
        # The interval stands below its mean, so that columns are narrow.
        cells = ["\n".join(cell(row, metric, 1)) for row in rows]
        texts[metric.key] = [each.replace("± ", "±").strip() for each in cells]
        heads[metric.key] = label(metric)
        # A long head is broken at its first space.
        if len(label(metric)) > LONG_HEAD:
            heads[metric.key] = label(metric).replace(" ", "\n", 1)

    # Names take at most two fifths of the width; metrics share the rest.
    title = min(_widest("Run", *names), max(MIN_TITLE, width * 2 // 5))
    # In the middle of "71e9019a", a line break would hide it from a search.
    names = [_folded(name, title) for name in names]
    room = width - title - _widest("Episodes", *counts) - 2
    widths = [_widest(heads[metric.key], *texts[metric.key]) + 2 for metric in metrics]
    # What does not fit is named in the notes below the table.
    idle = [key for key in OF_MODELS if not any(_is_nonzero(row, key) for row in rows)]
    if any(row.totals.get("calls") for row in rows):
        idle = []  # without rejections or cost: that tells of a model
    first = FIRST
    # Every run has seconds: without them these are columns that someone chose, in their order.
    if not any(metric.key == "seconds" for metric in metrics):
        first = len(metrics)
        idle = []
    shown = fit(metrics, widths, room, idle, first)
    table = Table(
        box=box.SIMPLE_HEAD,
        padding=(0, 1),
        collapse_padding=True,
        pad_edge=False,
        show_edge=False,
    )
    table.add_column("Run", overflow="fold", max_width=title)
    table.add_column("Episodes", justify="right", no_wrap=True)
    for metric in shown:
        table.add_column(heads[metric.key], justify="right", no_wrap=True)
    for number, (name, count) in enumerate(zip(names, counts, strict=True)):
        table.add_row(name, count, *(texts[metric.key][number] for metric in shown))
    hidden = [metric.key for metric in metrics if metric not in shown]
    # "Cost per episode" is its label only next to the total.
    named = {metric.key: metric.label for metric in metrics} | {"cost": "Cost"}
    # "Rej." next to a visible "Rej. %" needs the words that its column would have.
    shown_labels = {metric.label.removesuffix(" %") for metric in shown}
    left_out = []
    for key in hidden:
        name = named[key]
        if name in shown_labels:
            name += " per episode"
        left_out.append(name)
    return console_text(table, footnote(rows, left_out), width=width)


def fit(
    metrics: Sequence[Metric],
    widths: Sequence[int],
    room: int,
    last: Sequence[str] = (),
    first: int = FIRST,
) -> list[Metric]:
    """Return the metrics whose columns fit into ``room``: chosen by rank, in their given order.

    The ``first`` ones are chosen first, and those with the keys ``last`` last.
    """

    def rank(number: int) -> tuple[int, int]:
        """Sort key: the first metrics as they come, then known ones, then the rest."""
        key = metrics[number].key
        if key in last:
            return 3, number
        if number < first:
            return 0, number
        if key in THEN:
            return 1, THEN.index(key)
        return 2, number

    chosen = set()
    # By rank, until one does not fit: a less important one must not take its place.
    for number in sorted(range(len(metrics)), key=rank):
        room -= widths[number]
        if room < 0:
            break
        chosen.add(number)
    return [metric for number, metric in enumerate(metrics) if number in chosen]


def _agent(row: Row) -> str:
    """Return the agent's name, empty if the run's name contains it."""
    # As a whole word: "act" is not in "react".
    if re.search(rf"(?<![a-z]){re.escape(row.agent)}(?![a-z])", row.name):
        return ""
    return row.agent


def _folded(text: str, width: int) -> str:
    """Return lines of text with line breaks in those that are longer than ``width``."""
    lines = [
        in_lines(line, lambda part: len(part) <= width) for line in text.split("\n")
    ]
    return "\n".join(lines)


def _widest(*texts: str) -> int:
    """Return the length of the longest line."""
    # Cells may have several lines.
    lines = "\n".join(texts).split("\n")
    return max(map(len, lines))


def render(rows: Sequence[Row], format: str = "rich", width: int = 100) -> str:  # noqa: A002
    """Return the rows as text: ``rich`` (at most ``width`` columns), ``json``, ``csv``,
    ``markdown`` or ``latex``. Raises ``UsageError`` for another format."""
    writers: dict[str, Callable[[Sequence[Row]], str]] = {
        "rich": lambda rows: terminal(rows, width),
        "json": to_json,
        "csv": to_csv,
        "markdown": lambda rows: markdown(*_printed(rows, is_latex=False)),
        "latex": lambda rows: latex(*_printed(rows, is_latex=True)),
    }
    return write_as(format, writers, rows)


def write_as(form: str, writers: Mapping[str, Callable[[T], str]], content: T) -> str:
    """Return the content in a format. Raises ``UsageError`` for an unknown one."""
    if form not in writers:
        raise UsageError(f"unknown table format {form!r}; {suggest(form, writers)}")
    return writers[form](content)


def metrics_of(rows: Sequence[Row]) -> list[Metric]:
    """Return the metrics of any row: families in order of appearance, accounting last.

    Those in ``HIDDEN_IF_ZERO`` are left out if they are 0 in every row.
    """
    # Rows of several families share a table; a metric that two families have is one
    # column.
    by_key = scoring.by_key(chain.from_iterable(row.metrics for row in rows))
    present: set[str] = set()
    for row in rows:
        present |= row.values.keys() - HIDDEN_IF_ZERO
        present |= {key for key in HIDDEN_IF_ZERO if _is_nonzero(row, key)}
    return [metric for key, metric in by_key.items() if key in present]


def _is_nonzero(row: Row, key: str) -> bool:
    """True if a row has the metric, and not at zero."""
    return key in row.values and bool(row.values[key].mean)


TOTAL_COST = Metric(
    "total_cost",
    "Total cost",
    "dollars",
    None,
    "US dollars of the run",
)
CACHED = Metric(
    "cached_share",
    "Cached",
    "rate",
    None,
    "share of the run's prompt tokens that the provider's prefix cache held",
)


def shown_metrics(rows: Sequence[Row]) -> list[Metric]:
    """Return ``metrics_of`` the rows, plus the total cost next to the cost per episode, and the
    share of cached prompt tokens, which explains the cost."""
    metrics = metrics_of(rows)
    at = next((n for n, metric in enumerate(metrics) if metric.key == "cost"), None)
    if at is not None and any(row.totals.get("cost") for row in rows):
        # Both are dollars: a reader must not take one for the other.
        metrics[at : at + 1] = [
            replace(metrics[at], label="Cost per episode"),
            TOTAL_COST,
        ]
        if any(row.totals.get("cost") and _cached_share(row) for row in rows):
            metrics.insert(at + 2, CACHED)
    return metrics


def _cached_share(row: Row) -> float:
    """Return the share of prompt tokens that servers had in their cache."""
    read = row.totals.get("prompt_tokens") or 0
    cached = row.totals.get("reused_tokens") or 0
    return cached / max(1, read)


def to_json(rows: Sequence[Row]) -> str:
    """Return ``{"rows": [{"run", "agent", …, "metrics": {key: {"mean", "low", "high"}}}]}``.

    Unknown and non-finite values are null.
    """
    # All rows in the same order of keys.
    keys = [metric.key for metric in metrics_of(rows)]
    records = []
    for row, record in zip(rows, _records(rows), strict=True):
        present = [key for key in keys if key in row.values]
        record["metrics"] = {key: _value_json(row, key) for key in present}
        record["totals"] = {key: finite(value) for key, value in row.totals.items()}
        records.append(record)
    return json.dumps({"rows": records}, indent=2, allow_nan=False)


def to_csv(rows: Sequence[Row]) -> str:
    """Return one line per run; a metric takes three columns: ``sr``, ``sr_low``, ``sr_high``, and
    ``sr_n`` if not all episodes of a row have it."""
    records = []
    for row, record in zip(rows, _records(rows), strict=True):
        record.pop("caveats", None)  # long texts come last
        for metric in metrics_of(rows):
            key = metric.key
            # A missing metric takes its columns too, so that lines have the same length.
            value: dict[str, Json] = {"mean": None, "low": None, "high": None}
            if key in row.values:
                value = _value_json(row, key)
            record[key] = value.pop("mean")
            record |= {f"{key}_{name}": number for name, number in value.items()}
        record |= {f"total_{key}": finite(x) for key, x in row.totals.items()}
        if row.caveats:
            record["caveats"] = "; ".join(row.caveats)
        records.append(record)
    return csv_text(records)


def _records(rows: Sequence[Row]) -> list[dict[str, Json]]:
    """Return the leading fields of each row in JSON and CSV."""
    records = []
    for row, text in zip(rows, labels(rows), strict=True):
        record: dict[str, Json] = {"run": row.name}
        record |= {key: getattr(row, key) for key in HEAD}
        # Most rows lack these fields, and readers take an absent one for its default.
        if text:
            record["settings"] = text
        if row.clustered:
            record |= {"clustered": row.clustered, "clusters": row.clusters}
        if row.runs > 1:
            record["runs"] = row.runs
        if row.published:
            record["published"] = row.published
        if row.sample:
            record["sample"] = row.sample
        if row.caveats:
            record["caveats"] = list(row.caveats)
        records.append(record)
    return records


def _value_json(row: Row, key: str) -> dict[str, Json]:
    """Return the mean of a metric with its interval and, if not all have it, its episodes."""
    value = row.values[key]
    ends = {"mean": value.mean, "low": value.low, "high": value.high}
    written: dict[str, Json] = {name: finite(end) for name, end in ends.items()}
    if key in row.counts:
        written["n"] = row.counts[key]
    return written


def markdown(
    head: Sequence[str],
    left: int,
    rows: Iterable[Sequence[str]],
    notes: Sequence[str] = (),
) -> str:
    """Return a Markdown table with its first ``left`` columns aligned left, and notes below."""
    # Numbers are aligned right.
    rule = ["---"] * left + ["---:"] * (len(head) - left)
    table = [[*map(markdown_text, head)], rule]
    # Names are text; numbers may have line breaks of their own.
    table += [[*map(markdown_text, row[:left]), *row[left:]] for row in rows]
    lines = []
    for line in table:
        # A bar would end the cell.
        cells = [part.replace("|", "/") for part in line]
        lines.append(f"| {' | '.join(cells)} |")
    if notes:
        lines.append("")
    lines += [f"> {markdown_text(line)}" for line in notes]
    return "\n".join(lines) + "\n"


# Signs of emphasis and of HTML; an underscore within a word is none, and neither is the sign of
# ``p < 0.05``.
_MARKDOWN = re.compile(r"[\\*>]|<(?=[A-Za-z/!?])|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")


def markdown_text(text: str) -> str:
    """Return text in one line in which no sign has a meaning in Markdown, except that of code.

    >>> markdown_text("__ours__ of my_run `a1b2`")
    '\\\\_\\\\_ours\\\\_\\\\_ of my_run `a1b2`'
    """
    return _MARKDOWN.sub(r"\\\g<0>", single_line(text))


def labels(rows: Sequence[Row]) -> list[str]:
    """Return the settings of each row in which rows of an agent differ, or that are no defaults:
    ``shots=2``. Rows of other agents on the same dataset have them too, if their agents have these
    settings. Decoding is included if it differs between agents: constrained decoding helps."""
    return [_joined(settings) for settings in _differing(rows)]


def _joined(settings: Mapping[str, str]) -> str:
    """Return settings as text: ``shots=2, seed=1``."""
    return ", ".join(f"{key}={value}" for key, value in settings.items())


def _differing(rows: Sequence[Row]) -> list[dict[str, str]]:
    """Return the settings of ``labels``."""
    # Dataset -> the keys that its rows show.
    shown: dict[str, dict[str, None]] = {row.dataset: {} for row in rows}
    for row in rows:
        # Settings of another agent or dataset do not differ from this row's: they are others.
        task = row.agent, row.dataset
        alike = [
            other.settings for other in rows if (other.agent, other.dataset) == task
        ]
        for key, value in row.settings.items():
            if key in row.stated or any(other.get(key) != value for other in alike):
                shown[row.dataset][key] = None
    differing = []
    for row in rows:
        own = row.settings
        keys = []
        # Decoding comes first. An agent without the setting differs from no other.
        stated = own.get(DECODING)
        if any(other.settings.get(DECODING, stated) != stated for other in rows):
            keys += [key for key in own if key == DECODING]
        # An empty cell next to others' values would be read as a default.
        keys += [key for key in own if key in shown[row.dataset]]
        values = {key: own[key] for key in dict.fromkeys(keys)}
        for key, value in values.items():
            if not value:
                values[key] = "none" if key in row.stated else "default"
        differing.append(values)
    return differing


LONGEST_LABEL = 60
"""Characters of settings next to a run's name. Longer ones are shortened: a table is printed."""
LONGEST_VALUE = 20


def extra_labels(rows: Sequence[Row]) -> list[str]:
    """Return ``labels`` of the rows without what a row's own name says, as in ``navgpt
    (seed=0)``, shortened where the rows still differ. The user's own name of a row stands for its
    settings."""
    settings: list[dict[str, str]] = []
    for row, differing in zip(rows, _differing(rows), strict=True):
        if row.is_labeled:
            settings.append({})
            continue
        stated = set(re.split(r"[(),\s]+", row.name))
        settings.append(
            {k: v for k, v in differing.items() if f"{k}={v}" not in stated}
        )
    full = [_joined(each) for each in settings]
    short = [_shortened(each) for each in settings]
    named = [(row.name, text) for row, text in zip(rows, short, strict=True)]
    texts = []
    for number, text in enumerate(full):
        is_distinct = named.count(named[number]) == 1
        shown = short[number] if is_distinct else text
        texts.append(shown)
    return texts


def _shortened(settings: Mapping[str, str]) -> str:
    """Return settings as text of at most about ``LONGEST_LABEL`` characters: keys without groups,
    values without folders, and the last settings left out, as far as it is needed."""
    text = _joined(settings)
    if len(text) <= LONGEST_LABEL:
        return text
    parts: list[str] = []
    for key, value in settings.items():
        value = value.rstrip("/").rpartition("/")[2]
        if len(value) > LONGEST_VALUE:
            value = f"{value[: LONGEST_VALUE - 1]}…"
        part = f"{key.rpartition('.')[2]}={value}"
        if parts and len(", ".join([*parts, part])) > LONGEST_LABEL:
            return f"{', '.join(parts)}, …"
        parts.append(part)
    return ", ".join(parts)


def _printed(
    rows: Sequence[Row],
    is_latex: bool,
) -> tuple[list[str], int, list[list[str]], list[str]]:
    """Return the heads, the number of columns before the metrics, the lines, and the notes.

    ``46.7 ± 17.9`` is a mean and half the width of its 95% interval, ``[6.8, 93.2]`` an asymmetric
    interval; in LaTeX, means that are significantly better than those of every other run are bold
    (:func:`wayword.metrics.compare.mark_best`).
    """
    metrics = shown_metrics(rows)
    lines = []
    texts = extra_labels(rows)
    names_agents = any(map(_agent, rows))  # unless the runs' names contain them
    for row, text in zip(rows, texts, strict=True):
        line = [row.name]
        # Nobody may take such a row for a competitor.
        if row.sees_answer:
            line = [f"{row.name} (uses ground truth)"]
        if names_agents:
            line.append(row.agent)
        if any(texts):
            line.append(text)
        dataset = row.dataset
        # Papers name the dataset in words.
        if is_latex:
            dataset = split_label(dataset)
        elif row.checksum:
            dataset += f" `{row.checksum[:8]}`"
        line += [row.model, dataset, episodes(row)]
        for metric in metrics:
            mean, spread = cell(row, metric)
            # Bold only where the difference is significant.
            if is_latex and is_best(row, metric):
                mean = f"**{mean}**"
            line.append(f"{mean} {spread}".strip())
        lines.append(line)
    head = ["Run"]
    if names_agents:
        head.append("Agent")
    if any(texts):
        head.append("Settings")
    head += ["Model", "Dataset", "Episodes"]
    # Runs without a model leave its column empty.
    has_models = any(row.model for row in rows)
    if is_latex and not has_models:
        empty = head.index("Model")
        head.pop(empty)
        for line in lines:
            line.pop(empty)
    # What the intervals are must go along with a table that is copied elsewhere.
    notes = [*interval_notes(rows), *caveats(rows)]
    return [*head, *map(label, metrics)], len(head), lines, notes


def is_best(row: Row, metric: Metric) -> bool:
    """True for a cell in bold: significantly better than all other rows. That a row without a
    language model costs less is no result."""
    # Calls are counted only if there is a model.
    has_model = bool(row.totals.get("calls"))
    return metric.key in row.best and (has_model or metric.key not in TOTALLED)


def latex(
    head: Sequence[str],
    left: int,
    rows: Iterable[Sequence[str]],
    notes: Iterable[str] = (),
) -> str:
    """Return a ``tabular`` with notes as comments below. After the first ``left`` columns, cells
    are numbers in math mode; those between ``**`` are bold."""
    lines = [
        f"\\begin{{tabular}}{{{'l' * left}{'r' * (len(head) - left)}}}",
        "\\toprule",
    ]
    lines += [f"{' & '.join(map(latex_text, head))} \\\\", "\\midrule"]
    for row in rows:
        # Names are text, metrics are mathematics.
        cells = [*map(latex_text, row[:left]), *map(latex_number, row[left:])]
        lines.append(f"{' & '.join(cells)} \\\\")
    lines += ["\\bottomrule", "\\end{tabular}"]
    return "\n".join([*lines, *(f"% {line}" for line in notes)]) + "\n"


_LATEX = {
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "\\": "\\textbackslash{}",
    "~": "\\textasciitilde{}",
    "^": "\\textasciicircum{}",
    "–": "--",
    # In the standard encoding of fonts, these print as other signs.
    "<": "\\textless{}",
    ">": "\\textgreater{}",
    "|": "\\textbar{}",
    "`": "\\textasciigrave{}",
}


def latex_text(text: str) -> str:
    """Return text in which no sign has a meaning in LaTeX, with code in a font of its own."""
    parts = []
    for part in re.split(r"(`[^`]+`)", text):
        escaped = "".join(_LATEX.get(sign, sign) for sign in part.strip("`"))
        # Names of options stand between backticks.
        parts.append(rf"\texttt{{{escaped}}}" if part[:1] == "`" else escaped)
    escaped = "".join(parts)
    # After the end of a row, these would be its options.
    return re.sub(r"^[\[*]", r"{\g<0>}", escaped)


def latex_number(text: str) -> str:
    """Return a number in math mode, with the gaps of the text; a text without digits as text.

    >>> latex_number("13.3 [5.9, 24.9]")
    '$13.3\\\\ [5.9, 24.9]$'
    >>> latex_number("1,021 of 2,349")
    '$1{,}021\\\\ \\\\mathrm{of}\\\\ 2{,}349$'
    """
    if not any(sign.isdigit() for sign in text):
        return latex_text(text)
    # In math mode, words are products of letters, only ± has gaps, and a comma has one after it.
    text = re.sub(r"[a-z]{2,}", r"\\mathrm{\g<0>}", text)
    text = re.sub(r" (?=[\[(\\])|(?<=\}) ", r"\\ ", text)
    text = re.sub(r"(?<=\d),(?=\d)", "{,}", text)
    for sign, code in (("$", r"\$"), ("%", r"\%"), ("–", r"\mbox{--}")):
        text = text.replace(sign, code)
    text = re.sub(r"\*\*(.+?)\*\*", r"\\mathbf{\1}", text)
    return f"${text}$".replace("±", r"\pm")


# First characters that make a spreadsheet read a cell as a formula.
_FORMULAS = ("=", "+", "-", "@", "\t")


def csv_text(records: Sequence[JsonObject], first: str = "run") -> str:
    """Return CSV with one line per record and a column for every key; ``first`` comes first. A text
    that a spreadsheet would compute gets an apostrophe: it may be of another person's run."""
    out = io.StringIO()
    keys = list(dict.fromkeys([first, *chain.from_iterable(records)]))
    lines = csv.DictWriter(out, keys, restval="", lineterminator="\n")
    lines.writeheader()
    for record in records:
        cells = dict(record)
        for key, value in record.items():
            if isinstance(value, str):
                quote = "'" if value.startswith(_FORMULAS) else ""
                cells[key] = quote + visible(value)  # "\r" would end the line
        lines.writerow(cells)
    return out.getvalue()


def episodes(row: Row) -> str:
    """Return the row's count of episodes: ``1021``, ``30 of 1021``, ``28 of 1021, 2 failed``."""
    # A published row: papers seldom say how many.
    if not row.of:
        return "–"
    played = row.distinct or row.n
    part = str(played)
    if played != row.of:
        part += f" of {row.of}"
    if row.runs > 1:
        part += f", {row.n} in {row.runs} runs"
    if row.failed:
        part += f", {row.failed} failed"
    return part


def cell(row: Row, metric: Metric, fewer: int = 0) -> tuple[str, str]:
    """Return a mean and its interval as text: ``± 17.9``, or ``[2.5, 44.5]`` if asymmetric, then
    with ``fewer`` decimals; empty without an interval."""
    # Digits that a paper does not print would claim a precision.
    if metric.key in row.printed:
        return row.printed[metric.key], ""
    value = row.values.get(metric.key)
    if value is None:
        # A run without failures has the same success with them as zeros.
        value = row.values.get(metric.key.removesuffix(FAILED_0))
    if metric is TOTAL_COST and (cost := row.totals.get("cost")) is not None:
        value = Interval(cost)
    if metric is CACHED and row.totals.get("prompt_tokens"):
        value = Interval(_cached_share(row))
    if value is None or math.isnan(value.mean):
        return "–", ""
    digits = digits_of(metric, value)
    mean = number(metric, value.mean, digits)
    if metric is TOTAL_COST and (assumed := row.totals.get("assumed")):
        return mean, f"({number(metric, assumed)} assumed)"
    if math.isnan(value.half):
        return mean, ""
    if value.is_symmetric:
        return mean, f"± {number(metric, value.half, digits)}"
    # Both ends of a narrow interval could round to one number, which may exclude the mean.
    if _shown(metric, value.half) > _WIDE_ENOUGH * 10.0 ** (fewer - digits):
        digits = max(0, digits - fewer)
    low = number(metric, value.low, digits)
    return mean, f"[{low}, {number(metric, value.high, digits)}]"


PERCENTAGES = ("rate", "ratio")
"""Kinds that are fractions of 1, and shown in percent."""
_WIDE_ENOUGH = 5.0
"""Half of an interval, in units of its last digit, above which the digit before is enough."""
_MOST_DIGITS = 9  # after the point, however narrow an interval is
UNITS = {
    "rate": "%",
    "ratio": "%",
    "metres": "m",
    "hops": "hops",
    "dollars": "$",
    "seconds": "s",
}


def number(metric: Metric, value: float, digits: int | None = None) -> str:
    """Return a value as text; rates and ratios are percentages."""
    if digits is None:
        digits = _digits(metric, value)
    # z: what rounds to 0 has no sign.
    return f"{_shown(metric, value):z,.{digits}f}"


def digits_of(metric: Metric, value: Interval) -> int:
    """Return the number of decimals for a mean and its interval: those of the metric, or as many as
    an interval needs that would round to nothing."""
    digits = _digits(metric, value.mean)
    half = _shown(metric, value.half)
    while half > 0 and round(half, digits) == 0 and digits < _MOST_DIGITS:
        digits += 1
    return digits


def _shown(metric: Metric, value: float) -> float:
    """Return a value in the unit in which it is shown."""
    return 100.0 * value if metric.kind in PERCENTAGES else value


def label(metric: Metric) -> str:
    """Return the column's head, with its unit."""
    unit = UNITS.get(metric.kind, "")
    if not unit or metric.label.endswith(unit):
        return metric.label
    return f"{metric.label} {unit}"


def _digits(metric: Metric, mean: float) -> int:
    """Return the number of decimals for a mean of a metric."""
    if metric.kind == "dollars" and abs(mean) < 1:
        return 4  # an episode of a small model costs cents
    if metric.kind == "dollars":
        return 2
    if metric.kind == "tokens" or abs(mean) >= 1000:
        return 0
    if metric.kind in ("metres", "hops"):
        return 2
    digits = 1
    # One failure of 2,000 must not be shown as none: 99.95%, not 100.0%. Nearer than 1e-9, a mean
    # is 0 or 1 but for rounding errors.
    while metric.kind == "rate" and 1e-9 < mean < 1 - 1e-9:
        if round(100 * mean, digits) not in (0.0, 100.0):
            break
        digits += 1
    return digits


def finite(value: float | None) -> float | None:
    """Return the value, None if it is not finite: JSON has no infinity."""
    return value if value is not None and math.isfinite(value) else None
