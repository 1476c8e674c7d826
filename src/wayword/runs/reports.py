"""Tables of run folders and prediction files."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

from wayword.core.dataset import INDEPENDENT
from wayword.core.errors import DataError, RecordingError, UsageError
from wayword.core.files import short_path
from wayword.core.metric import Metric
from wayword.core.visible import count
from wayword.metrics import compare as comparing
from wayword.metrics import predictions
from wayword.metrics import table as tables
from wayword.metrics.papers import (
    missing_columns,
    paper_metrics,
    paper_table,
    preset_metrics,
    usual_columns,
)
from wayword.metrics.scoring import scorer
from wayword.metrics.summary import Row, other_episodes, published_variants, summarize
from wayword.runs import config as configs
from wayword.runs.identity import shown_split
from wayword.runs.lengths import parts_of
from wayword.runs.opening import Trusted, open_dataset
from wayword.runs.plan import Plan
from wayword.runs.predicted import name_of, write_run
from wayword.runs.record import RunFolder
from wayword.runs.scored_runs import (
    ScoredRun,
    groups_at,
    ignore,
    merged_owners,
    named_unit,
    only,
    owners_of,
    pooled,
    pooled_scores,
    row_of,
    run_folders,
    scored_run,
    seed_groups,
    width_of,
)

MORE_COLUMNS = (
    "% The columns of papers, or of the world itself; --wide has all, --metrics others."
)
MOST_NAMED = 6
"""Episodes with impossible moves that a notice names."""


@dataclass(frozen=True)
class Report:
    """Text for stdout, and notices for the user."""

    text: str
    notices: tuple[str, ...] = ()


def table(
    runs: Sequence[Path | str] | Path | str,
    form: str = "rich",
    keys: Sequence[str] = (),
    together: bool = False,
    pool: bool = False,
    notice: Callable[[str], None] | None = None,
    by: str = "",
    data: Path | None = None,
    wide: bool = False,
    trusted: Trusted = (),
    cluster: str = "",
    preset: str = "",
    published: Callable[[Sequence[Row]], Sequence[Row]] | None = None,
    labels: Sequence[str] = (),
    left_out: Callable[[Path], None] | None = None,
) -> str:
    """Return a table with a row per run, one table per family of worlds or one (``together``).

    ``form`` is ``rich``, ``json``, ``csv``, ``markdown`` or ``latex``; ``keys`` select
    metrics by key or column head; ``wide`` hides no column.

    ``pool`` merges the rows of runs that differ only in their seeds; ``by`` splits them
    by ``scene`` or reference ``length``, for which ``data`` and ``trusted`` open the
    dataset. ``cluster`` is what dependent episodes share, by default what their dataset
    says. ``preset`` selects the metrics of a benchmark's papers, unless ``keys`` select others;
    in LaTeX it makes a whole ``table`` (:mod:`wayword.metrics.papers`). LaTeX without any of these
    has the metrics that papers of the family print. ``published`` returns
    rows of a paper to add below the runs (:func:`wayword.runs.reproduce.published_rows`).
    ``labels`` are names of the rows in place of the folders'.

    A run that cannot be read is left out and reported to ``notice``, its path to ``left_out``;
    without ``notice``, or if no run can be read, its error is raised (``RecordingError`` or
    ``DataError``). Raises ``UsageError`` for options that contradict each other.
    """
    if preset:
        columns = preset_metrics(preset)
        if form != "latex":
            keys = keys or columns
    if isinstance(runs, Path | str):
        runs = [runs]
    readable = _readable(run_folders(runs), cluster, data, notice, left_out)
    # A row is a run, a part of one, or several runs that differ only in their seeds.
    if by:
        parts = [parts_of(each, by, data, trusted) for each in readable]
        readable = list(chain.from_iterable(parts))
    groups = [[each] for each in readable]
    if pool:
        groups = seed_groups(readable, notice or ignore)
    rows = [row_of(group) for group in groups]

    rows = _labeled(rows, labels, readable)
    if keys and not any(row.values for row in rows):
        raise UsageError(_why_no_scores(readable))

    theirs = published(rows) if published else []
    # A person reads the notes of these two on the screen already.
    if notice and form not in ("rich", "markdown"):
        for other in other_episodes([*rows, *theirs]):
            notice(other)
    shown = [*rows, *theirs]
    if keys:
        shown = _with_columns(shown, keys)
    if form != "latex":
        return _table(shown, form, together, wide)

    # A table of all metrics is wider than a page.
    if not (keys or preset or wide):
        shown = _with_usual_columns(shown)
    metrics = tables.metrics_of(shown)
    if preset and not keys:
        metrics = _preset_columns(rows, preset, theirs, notice or ignore)
    # Bold is corrected over what the reader sees, as a comparison of these metrics is.
    scored = [dict(pooled_scores(group)) for group in groups]
    owners = merged_owners(readable)
    best = shown[: len(rows)]
    best = comparing.mark_best(best, scored, [each.key for each in metrics], owners)
    if preset:
        return paper_table(best, preset, shown[len(rows) :], metrics)
    text = _table([*best, *shown[len(rows) :]], form, together, wide)
    is_cut = len(metrics) < len(tables.metrics_of([*rows, *theirs]))
    return f"{text}{MORE_COLUMNS}\n" if is_cut and not keys else text


def _readable(
    paths: Iterable[Path],
    cluster: str,
    data: Path | None,
    notice: Callable[[str], None] | None,
    left_out: Callable[[Path], None] | None,
) -> list[ScoredRun]:
    """Read runs; those that cannot be read are reported to ``notice``, with their paths to
    ``left_out``."""
    readable = []
    errors: list[RecordingError | DataError] = []
    for path in paths:
        try:
            run = RunFolder.read(path)
            run.require("family", "dataset", "models", "data_checksum")
            readable.append(scored_run(run, cluster, data))
        except (RecordingError, DataError) as error:
            errors.append(error)
            if left_out:
                left_out(path)
    if errors and (notice is None or not readable):
        raise errors[0]
    for each in errors:
        if notice:
            notice(f"left out: {each}")
    return readable


def _why_no_scores(runs: Sequence[ScoredRun]) -> str:
    """Return why runs have no scores: no episode finished."""
    for run in runs:
        if failure := next(run.run.failures(), None):
            failed = len(run.failed)
            problem = f"{failed:,} of {failed:,} episodes failed"
            return (
                f"{run.name} has no metrics: {problem}; "
                f"episode {failure.episode_id} failed: {failure.reason}"
            )
    return "the runs have no metrics: no episode has finished"


def _labeled(
    rows: list[Row], labels: Sequence[str], runs: Sequence[ScoredRun]
) -> list[Row]:
    """Return the rows of runs with these names, if any. Raises ``UsageError`` for a wrong number,
    with the option that would make one row of several seeds."""
    if not labels:
        return rows
    if len(labels) != len(rows):
        problem = f"{len(labels)} given, and the table has {len(rows)} rows"
        remedy = "give one for each"
        if len(seed_groups(runs)) < len(rows):
            remedy += ", or make one row of the seeds of a run with --pool"
        raise UsageError(f"--label: {problem}; {remedy}")
    return [
        replace(row, name=name, is_labeled=True)
        for row, name in zip(rows, labels, strict=True)
    ]


def _with_columns(rows: Sequence[Row], keys: Sequence[str]) -> list[Row]:
    """Return the rows with selected metrics, in the order of ``keys``. A published SPL may be of
    another definition, which is then a column of its own."""
    metrics = tables.metrics_of(rows)
    heads = {metric.label.lower(): metric.key for metric in metrics}
    selected = [heads.get(key.lower(), key) for key in keys]
    theirs = [row for row in rows if row.published]
    keys = [*keys, *published_variants(selected, theirs).values()]
    values = {str(number): row.values for number, row in enumerate(rows)}
    chosen = only(values, keys, metrics).values()
    by_key = {metric.key: metric for metric in metrics}
    first = [by_key[key] for key in dict.fromkeys(selected) if key in by_key]
    return [
        replace(row, values=each, metrics=(*first, *row.metrics))
        for row, each in zip(rows, chosen, strict=True)
    ]


def _preset_columns(
    rows: Sequence[Row],
    preset: str,
    theirs: Sequence[Row],
    notice: Callable[[str], None],
) -> list[Metric]:
    """Return a preset's metrics that the rows have, and report the others to ``notice``."""
    metrics = paper_metrics(rows, preset, theirs)
    if missing := missing_columns(rows, preset):
        notice(f"--preset {preset}: no run has {', '.join(missing)}; left out")
    return metrics


def _with_usual_columns(rows: Sequence[Row]) -> list[Row]:
    """Return the rows with the metrics that papers of their family print, and those of other
    families as they are."""
    columns: dict[str, list[str]] = {}
    for family in {row.family for row in rows}:
        group = [row for row in rows if row.family == family]
        columns[family] = usual_columns(group)
    shown = []
    for row in rows:
        keys = [key for key in columns[row.family] if key in row.values]
        # A published row may have none of them.
        shown += _with_columns([row], keys) if keys and not row.published else [row]
    return shown


def tables_of(runs: Sequence[Path], forms: Sequence[str]) -> dict[str, str]:
    """Return the table in several formats, by format. Raises ``RecordingError`` or
    ``DataError``.
    """
    rows = rows_of(runs)
    return {form: _table(rows, form) for form in forms}


def _table(
    rows: Sequence[Row],
    form: str,
    together: bool = False,
    wide: bool = False,
) -> str:
    """Return the table of rows in a format.

    Families have tables of their own unless ``together``; JSON and CSV are always one.
    """
    width = width_of(wide)
    families = dict.fromkeys(row.family for row in rows)
    if form in ("json", "csv"):
        return tables.render(rows, form, width)
    if together:
        text = tables.render(rows, form, width)
        if len(families) > 1:
            text += (
                "SR and other metrics are defined per family: see docs/metrics.md.\n"
            )
        return text
    # One table per family, as a metric such as SR is defined differently in each family.
    texts = []
    for family in families:
        group = [row for row in rows if row.family == family]
        texts.append(tables.render(group, form, width))
    return "\n".join(texts)


def rows_of(runs: Sequence[Path]) -> list[Row]:
    """Return the rows of the table, one per run folder, in the given order."""
    return [pooled([RunFolder.read(path)]) for path in runs]


def pooled_rows(
    paths: Sequence[Path],
    cluster: str,
    data: Path | None,
    notice: Callable[[str], None] = ignore,
) -> list[Row]:
    """Return the rows of the runs at these paths, grouped as by
    :func:`~wayword.runs.scored_runs.seed_groups`, and report to ``notice`` what is pooled.
    """
    return [row_of(group) for group in groups_at(paths, cluster, data, notice)]


def score(
    file: Path,
    plan: Plan,
    form: str = "rich",
    per_episode: bool = False,
    cluster: str = "",
    wide: bool = False,
    out: Path | None = None,
    label: str = "",
) -> Report:
    """Score the predictions of another system.

    ``plan`` names the dataset. ``per_episode`` gives a line of JSON for each episode
    instead of a table; ``cluster`` and ``wide`` as in :func:`table`. ``out`` is a run
    folder to write, of the agent ``label``, by default the file's name. Raises
    ``DataError`` for a malformed file, ``RecordingError`` if the folder is not writable.
    """
    dataset = open_dataset(plan)
    predicted = predictions.read(file, dataset)
    scores = predicted.score(dataset)
    names = [task.episode.id for task in predicted.tasks]
    # What the file lacks, and what it asks of the world in vain.
    notices = []
    if predicted.missing:
        notices.append(
            f"{predicted.missing} of {predicted.of} episodes have no prediction"
        )
    if illegal := sum(predicted.illegal_moves):
        illegal_moves = zip(names, predicted.illegal_moves, strict=True)
        named = [name for name, number in illegal_moves if number]
        more = ""
        if len(named) > MOST_NAMED:
            more = f" and {len(named) - MOST_NAMED:,} more"
        verb = "is" if illegal == 1 else "are"
        notices.append(
            f"{count(illegal, 'move')} {verb} impossible in the world, or the start of a walk that "
            "begins elsewhere than its episode (metric illegal_moves), in "
            f"{', '.join(named[:MOST_NAMED])}{more}"
        )
    if out is not None:
        name = label or name_of(file)
        write_run(out, name, file, plan, dataset, predicted, scores, label)
        notices.append(
            f"{short_path(out)}: {len(names):,} predictions as a run of {name}, for table, "
            "compare, plot and view"
        )
    if per_episode:
        lines = []
        for name, each in zip(names, scores, strict=True):
            # JSON has no infinity, the error of an unreachable goal
            finite = {
                key: value if abs(value) < math.inf else None
                for key, value in each.items()
            }
            lines.append(json.dumps({"episode": name, **finite}))
        return Report("\n".join(lines), tuple(notices))
    by_name = dict(zip(names, predicted.tasks, strict=True))
    clusters = dataset.clusters or INDEPENDENT
    unit, owners = owners_of(clusters, names, cluster, lambda: by_name)
    row = summarize(
        label or file.name,
        scores,
        family=dataset.family.name,
        metrics=scorer(dataset.family).metrics,
        success=dataset.family.success,
        of=predicted.of,
        dataset=shown_split(plan, dataset),
        checksum=configs.Checksums().combined(dataset.files),
        clusters=owners.values(),
        clustered=named_unit(unit),
    )
    return Report(tables.render([row], form, width_of(wide)), tuple(notices))
