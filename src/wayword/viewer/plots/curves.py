"""Learning curves: logs of trainers, or evaluated checkpoints.

A log is a CSV or JSON Lines file with a column of steps (Stable-Baselines3's ``progress.csv`` and
``monitor.csv``, CleanRL's and your own), a ``trainer_state.json`` of transformers and TRL, or a
folder with one of them; logs with names of their own in a folder are all drawn. A run folder whose
name ends in a number, such as ``runs/step-200``, is the evaluation of a checkpoint at that step.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wayword.core.episode import JsonObject
from wayword.core.errors import DataError, UsageError, suggest
from wayword.core.files import read_text
from wayword.core.geometry import Floats
from wayword.core.visible import count, join_words, single_line, spaced
from wayword.runs import reports, scored_runs
from wayword.runs.record import is_run
from wayword.viewer.plots import charts
from wayword.viewer.plots.request import Drawing, FigureRequest, interval_note
from wayword.viewer.plots.style import (
    clip_around,
    faint_grid,
    legend_above,
    look,
    new_figure,
)

STEPS = (
    "step",
    "steps",
    "global_step",
    "total_timesteps",
    "timesteps",
    "num_timesteps",
    "episode",
    "env_step",
    "env_steps",
    "timesteps_total",
    "training_iteration",
    "iteration",
    "epoch",
)
"""Columns that count training steps, the first of a file that has any: ``Step``, ``_step`` and
``train/step`` are ``step``."""
VALUES = {
    "success": "success",
    "success_rate": "success",
    "rollout/success_rate": "success",
    "eval/mean_reward": "reward",
    "reward": "reward",
    "rollout/ep_rew_mean": "reward",
    "episodic_return": "reward",
    "return": "reward",
    "r": "reward",
    "eval_loss": "loss",
    "loss": "loss",
}
"""Columns that are drawn without ``--metric``, the first of a file that has any, and what each
measures."""
ABBREVIATED = {
    "ep": "episode",
    "rew": "reward",
    "r": "reward",
    "eval": "evaluation",
    "env": "environment",
    "num": "number of",
}
"""Words of trainers' columns, and what an axis says."""
LOGS = ("trainer_state.json", "progress.csv", "monitor.csv")
"""Files that are looked for in a folder."""
_ENDINGS = (".csv", ".tsv", ".jsonl", ".ndjson")
"""Endings of logs with other names, which are all drawn in a folder without one of ``LOGS``."""
SAME_NAMES = {"trainer_state", "progress", "monitor", "metrics", "log"}
"""Names of files, without their endings, that trainers give to every log: its folder's counts."""
SEED = re.compile(r"[-_/.]?seed[-_=]?\d+")
_BINS = 25
"""Points of a curve: of more, each point is the mean of consecutive ones, as the caption says."""


class TrainingLog(NamedTuple):
    """Steps (points,) and values (points,) of a training log.

    ``series`` is the log's path without a seed, which several logs may share; ``metric`` and
    ``counts`` are the names of the columns of values and of steps, ``replaced`` the number of
    rows that a resumed training wrote again, and ``unread`` of those whose value is no finite
    number. ``is_cut``: the last line was written in part.
    """

    series: str
    steps: Floats
    values: Floats
    metric: str
    counts: str
    replaced: int
    unread: int
    is_cut: bool


class BinnedLog(NamedTuple):
    """Points of a log in the bins of its series.

    ``steps`` and ``values`` (points,) are means of the log's rows in a bin, ``bins`` (points,) the
    bins' numbers, and ``most`` the rows of the fullest one.
    """

    steps: Floats
    values: Floats
    bins: NDArray[np.int64]
    most: int


def draw_curves(request: FigureRequest) -> Drawing:
    """Draw learning curves, from training logs or from run folders of checkpoints.

    Logs that differ in their seeds alone, or have the same label, are one curve, their mean, over
    a thin line for each seed. Raises ``UsageError`` for a path that is neither, ``DataError`` for a
    damaged log.
    """
    paths = _expanded(request.runs)
    runs = [path for path in paths if is_run(path)]
    if len(runs) == len(paths):
        return _draw_checkpoints(request)
    if runs:
        raise UsageError(
            f"{runs[0]}: a run folder cannot be drawn next to a training log; draw a figure of "
            "each, or the run folders of checkpoints alone"
        )
    logs = [_read(path, request.metric) for path in paths]
    _check_comparable(logs)
    names, series = _grouped(logs, request)
    figure, axes = new_figure(request.width, min(2.2, 0.62 * request.width))
    binned = 1
    notes = []
    unread = []
    for number, seeds in enumerate(series):
        color, dashes, marker = look(number)
        if rows := sum(log.unread for log in seeds):
            unread.append(f"{count(rows, 'row')} of {names[number]}")
        curves = _binned(seeds)
        binned = max(binned, *(curve.most for curve in curves))
        if len(seeds) > 1:
            for curve in curves:
                axes.plot(
                    curve.steps, curve.values, color=color, linewidth=0.5, alpha=0.45
                )
        steps, mean, present = _mean(curves)
        # A mean of fewer seeds may rise or fall by the seeds that it lacks.
        if (is_partial := present < len(seeds)).any():
            partial = steps[is_partial]
            notes.append(
                f"{names[number]}, at least {present.min()} of {len(seeds)} between "
                f"{partial[0]:,.0f} and {partial[-1]:,.0f}"
            )
        # About eight marks tell lines apart in print without hiding them.
        every = max(1, len(steps) // 8)
        line = axes.plot(
            steps,
            mean,
            color=color,
            linestyle=dashes,
            marker=marker,
            markevery=every,
            markeredgewidth=0,
            label=names[number],
        )
        clip_around(axes, line)
    axes.set_xlabel(_steps_label(logs[0].counts))
    axes.set_ylabel(_sentence(logs[0].metric))
    axes.margins(x=0.02)
    # A share is read against none and all; rewards and losses have no such ends.
    if VALUES.get(logs[0].metric) == "success":
        axes.set_ylim(0.0, max(1.0, axes.dataLim.y1))
    faint_grid(axes, "y")
    legend_above(axes)
    caption = f"{_sentence(logs[0].metric)} during training."
    if binned > 1:
        caption += f" Lines join means of up to {binned:,} consecutive values."
    if replaced := sum(log.replaced for log in logs):
        caption += (
            f" Left out: {replaced:,} points before a resume from an earlier step."
        )
    if unread:
        caption += (
            f" Left out, as their value is no finite number: {', '.join(unread)}."
        )
    cut = [
        name
        for name, seeds in zip(names, series, strict=True)
        if any(log.is_cut for log in seeds)
    ]
    if cut:
        caption += f" Left out: a last line that is not finished, of {join_words(cut)}."
    caption += _seed_note(names, [len(seeds) for seeds in series])
    if notes:
        caption += f" Means of fewer seeds: {'; '.join(notes)}."
    return Drawing(figure, caption)


def _grouped(
    logs: Sequence[TrainingLog], request: FigureRequest
) -> tuple[list[str], list[list[TrainingLog]]]:
    """Return the curves' names, and the logs of each: those of one label if each log has one, else
    those whose paths differ in their seeds alone."""
    keys = [log.series for log in logs]
    if len(request.labels) == len(logs):
        keys = list(request.labels)
        request = replace(request, labels=list(dict.fromkeys(keys)))
    series: dict[str, list[TrainingLog]] = {}
    for key, log in zip(keys, logs, strict=True):
        series.setdefault(key, []).append(log)
    return request.names(_labels(list(series))), list(series.values())


def _seed_note(names: Sequence[str], counts: Sequence[int]) -> str:
    """Return how many logs each mean is of, with a blank before it; empty without means."""
    if max(counts) == 1:
        return ""
    each = f"{counts[0]}"
    if len(set(counts)) > 1:
        each = ", ".join(f"{name} {n}" for name, n in zip(names, counts, strict=True))
    return f" Thin lines: single seeds ({each}); thick lines: their mean."


def _check_comparable(logs: Sequence[TrainingLog]) -> None:
    """Raise ``UsageError`` for logs whose axes differ: rewards and losses, or steps and epochs."""
    axes: dict[tuple[str, str], TrainingLog] = {}
    for log in logs:
        # Timesteps are steps.
        counts = "step" if "step" in log.counts.lower() else log.counts
        axes.setdefault((VALUES.get(log.metric, log.metric), counts), log)
    if len(axes) > 1:
        columns = [
            f"{log.metric} by {log.counts} in {log.series}" for log in axes.values()
        ]
        raise UsageError(
            f"these logs do not share their axes: {', '.join(columns)}; choose a column of all "
            "with --metric, or draw a figure of each"
        )


def _labels(paths: Sequence[str]) -> list[str]:
    """Return as many of the last parts of each path as tell all apart."""
    parts = [path.split("/") for path in paths]
    for size in range(1, max(map(len, parts)) + 1):
        ends = ["/".join(each[-size:]) for each in parts]
        labels = [end.rstrip("_").strip("-/. ") for end in ends]
        if len(set(labels)) == len(labels):
            break
    return [label or "training" for label in labels]


def _expanded(paths: Sequence[Path]) -> list[Path]:
    """Return the paths, with folders of run folders replaced by the runs in them, and folders of
    logs with names of their own by the logs."""
    expanded: list[Path] = []
    for path in paths:
        logs = sorted(each for each in path.glob("*.*") if each.suffix in _ENDINGS)
        if path.is_dir() and any(path.glob("*/run.json")):
            expanded += scored_runs.run_folders([path])
        elif logs and not is_run(path) and not _logs_of(path):
            expanded += logs
        else:
            expanded.append(path)
    return expanded


def _draw_checkpoints(request: FigureRequest) -> Drawing:
    """Draw a metric of run folders by the number at the end of their names, with intervals.

    The number is the training step, the rest of the name the series. Raises ``UsageError`` for a
    name without a number.
    """
    # Trainings in folders of their own give their checkpoints the same names.
    folders: dict[Path, list[Path]] = {}
    for run in scored_runs.run_folders(request.runs):
        folders.setdefault(run.parent, []).append(run)
    located = []
    notices: list[str] = []
    for folder, runs in folders.items():
        pooled = reports.pooled_rows(
            runs, request.cluster, request.data, notices.append
        )
        located += [(folder, row) for row in pooled]
    rows = [row for _, row in located]
    charts.require_rows(rows)
    metric = charts.metric_of(rows, request.metric)
    series: dict[str, list[tuple[float, Any]]] = {}
    for folder, row in located:
        numbered = re.fullmatch(r"(.*?)[-_=.]?(\d+)", row.name)
        if numbered is None:
            raise UsageError(
                f"{row.name}: a curve needs training logs, or runs of checkpoints whose names "
                "end in the step, such as runs/step-200"
            )
        name, step = numbered.groups()
        value = row.values[metric.key].times(charts.scale_of(metric))
        key = (folder / name).as_posix()
        series.setdefault(key, []).append((float(step), value))
    names = request.names(_labels(list(series)))
    figure, axes = new_figure(request.width, min(2.2, 0.62 * request.width))
    for number, points in enumerate(series.values()):
        points.sort(key=lambda point: point[0])
        at = [step for step, _ in points]
        values = [value for _, value in points]
        charts.error_bars(axes, at, values, number, names[number])
    axes.set_xlabel("Training step")
    charts.metric_axis(axes, metric)
    legend_above(axes)
    caption = f"{metric.label} of checkpoints on {charts.splits(rows)}."
    caption = f"{caption} {interval_note(rows, metric.key)}"
    return Drawing(figure, caption, tuple(notices))


def _read(path: Path, wanted: str) -> TrainingLog:
    """Read a training log. Raises ``DataError`` for a file without the columns.

    Rows without a finite number in the column of results are skipped, and counted unless their cell
    is empty: those are lines of other measures. Without a column of steps that
    counts, the number of the row, from 1, is the step; no such row may lack its number.
    """
    file = _file_of(path)
    rows, is_cut = _rows_of(file)
    columns: dict[str, None] = {}
    for row in rows:
        columns.update(dict.fromkeys(row))
    metric = wanted or next((key for key in VALUES if key in columns), "")
    if metric not in columns:
        options = [key for key in columns if _plain(key) not in STEPS]
        problem = "no known column of results"
        if wanted:
            problem = f"no column {metric!r}"
        remedy = f"set --metric to a column; {suggest(metric, options)}"
        if not options:
            remedy = "it has no rows; log one for each episode or update"
        raise DataError(file, "", problem, remedy)
    values = [_number(row.get(metric)) for row in rows]
    # A log has lines of other measures, which have no value or an empty one.
    given = [row.get(metric) not in (None, "") for row in rows]
    measured = [n for n, value in enumerate(values) if value is not None]
    if not measured:
        raise DataError(file, f"column {metric!r}", "has no number")
    # Without a column that counts, lines are steps.
    counts = "line"
    at = np.array(measured, float) + 1
    plain = {_plain(key): key for key in reversed(columns)}
    for column in (plain[key] for key in STEPS if key in plain):
        column_values = [_number(rows[n].get(column)) for n in measured]
        steps = np.array(column_values, float)
        if np.isnan(steps).any():
            raise DataError(file, f"column {column!r}", "has no number in some row")
        if _counts(steps):
            counts = column
            at = steps
            break
    numbers = np.array([values[n] for n in measured], float)
    if (np.diff(at) < 0).all():  # the newest first
        at = at[::-1]
        numbers = numbers[::-1]
    kept = _is_current(at)
    # Episodes that end at the same step are one point, their mean.
    unique, which = np.unique(at[kept], return_inverse=True)
    means = np.bincount(which, numbers[kept]) / np.bincount(which)
    # Logs that differ in their seeds alone are one curve.
    name = path
    if path.is_file():
        name = path.parent if path.stem in SAME_NAMES else path.with_suffix("")
    return TrainingLog(
        series=SEED.sub("", name.as_posix()),
        steps=unique,
        values=means,
        metric=metric,
        counts=counts,
        replaced=int((~kept).sum()),
        unread=sum(given) - len(measured),
        is_cut=is_cut,
    )


def _is_current(steps: Floats) -> NDArray[np.bool_]:
    """Return a mask (rows,) of rows that no later session wrote again.

    A training that resumed from an earlier step writes those after it again.
    """
    # A session begins where steps fall.
    session = np.cumsum(np.diff(steps, prepend=steps[0]) < 0)
    starts = steps[np.unique(session, return_index=True)[1]]
    # The earliest start of each session and of all after it; nothing is after the last one.
    earliest_backwards = np.minimum.accumulate(starts[::-1])
    earliest = np.append(earliest_backwards[::-1], np.inf)
    return np.asarray(steps < earliest[session + 1])


def _counts(steps: Floats) -> bool:
    """True for a column that rises or falls; the steps of each episode do neither."""
    if len(steps) == 1:
        return True
    changes = np.diff(steps)
    rises = (changes > 0).sum()
    falls = (changes < 0).sum()
    # The other direction is that of resumes, or of episodes that are out of order.
    usual = max(rises, falls)
    return bool(usual > 0 and usual >= 3 * min(rises, falls))


def _plain(column: str) -> str:
    """Return a column's name as in ``STEPS``: ``global_step`` for ``train/Global Step``."""
    return column.rpartition("/")[2].strip("_ ").lower().replace(" ", "_")


def _file_of(path: Path) -> Path:
    """Return the log at a path; of a folder of checkpoints, the newest one's."""
    if path.is_file():
        return path
    if present := _logs_of(path):
        # Logs of checkpoints repeat the earlier ones'. A copy has other times of change.
        return max(present, key=lambda file: file.stat().st_size)
    problem = "neither a run folder nor a training log"
    if not path.exists():
        problem = "no such file or folder"
    raise UsageError(
        f"{path}: {problem}; name a run, or a log (CSV, JSON Lines, {LOGS[0]})"
    )


def _logs_of(folder: Path) -> list[Path]:
    """Return the logs of one name in a folder and its checkpoints: the first name of ``LOGS``."""
    for name in LOGS:
        files = [folder / name, *folder.glob(f"checkpoint-*/{name}")]
        if present := [file for file in files if file.is_file()]:
            return present
    return []


def _rows_of(file: Path) -> tuple[list[JsonObject], bool]:
    """Return the lines of a log as mappings, and True if the last one was written in part, as by a
    training that still runs. Raises ``DataError`` for another file."""
    try:
        text = read_text(file)
        if file.name == LOGS[0]:
            return list(json.loads(text)["log_history"]), False
        if file.suffix.lower() in (".csv", ".tsv"):
            # A monitor file of Stable-Baselines3 starts with a comment.
            lines = [line for line in text.split("\n") if not line.startswith("#")]
            header = lines[0] if lines else ""
            delimiter = max(",;\t", key=header.count)
            if delimiter != ",":  # the comma is in the numbers
                lines = [line.replace(",", ".") for line in lines]
            return list(csv.DictReader(lines, delimiter=delimiter, restkey="")), False
    except (OSError, ValueError, KeyError, TypeError) as error:
        problem = single_line(error, 80)
        raise DataError(file, "", f"is not a training log: {problem}") from None
    rows: list[JsonObject] = []
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        row: Any = None
        with suppress(ValueError, RecursionError):
            row = json.loads(line)
        if row is None and number == len(lines) > 1:
            return rows, True
        if not isinstance(row, dict):
            problem = f"is not a training log: no JSON object, got {line!r:.60}"
            remedy = "remove the line, or end the name of a table in .csv"
            raise DataError(file, f"line {number}", problem, remedy)
        rows.append(row)
    return rows, False


def _number(value: Any) -> float | None:
    """Return a finite number; None for anything else that a log may contain."""
    truth = {"True": 1.0, "False": 0.0}
    try:
        number = float(truth.get(value, value))
    except (TypeError, ValueError):
        return None
    if not np.isfinite(number):
        return None
    return number


def _binned(seeds: Sequence[TrainingLog]) -> list[BinnedLog]:
    """Return the logs of a series as means over the same bins of steps, at most ``_BINS``.

    Bins hold equally many rows of the log that goes furthest; the last may hold fewer.
    """
    longest = max(seeds, key=lambda log: log.steps[-1])
    size = -(-len(longest.steps) // _BINS)
    starts = longest.steps[::size]
    curves = []
    for log in seeds:
        # Steps before the first bin count in it.
        numbers = np.maximum(np.searchsorted(starts, log.steps, "right") - 1, 0)
        counts = np.bincount(numbers)
        bins = np.flatnonzero(counts)
        steps = np.bincount(numbers, log.steps)[bins] / counts[bins]
        values = np.bincount(numbers, log.values)[bins] / counts[bins]
        curves.append(BinnedLog(steps, values, bins, int(counts.max())))
    return curves


def _mean(curves: Sequence[BinnedLog]) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """Return steps and means (points,) over seeds, and how many seeds are in each mean.

    The steps are those of the seed that goes furthest. Others may count at other steps: values in
    between are interpolated. A seed is in the means from its first bin to its last.
    """
    longest = max(curves, key=lambda curve: curve.bins[-1])
    at = longest.steps
    values = []
    present = []
    for curve in curves:
        values.append(np.interp(at, curve.steps, curve.values))
        begun = longest.bins >= curve.bins[0]
        present.append(begun & (longest.bins <= curve.bins[-1]))
    counts = np.sum(present, axis=0)
    # The longest curve is in every mean, so no count is 0.
    sums = np.sum(values, axis=0, where=np.array(present))
    return at, sums / counts, counts


def _sentence(name: str) -> str:
    """Return a column's name as a label: ``Success rate`` for ``rollout/success_rate``, ``Episode
    reward mean`` for ``rollout/ep_rew_mean``."""
    words = spaced(name.rpartition("/")[2]).strip().split()
    label = " ".join(ABBREVIATED.get(word.lower(), word) for word in words)
    return label[:1].upper() + label[1:]


def _steps_label(name: str) -> str:
    """Return the label of a column of steps, whose names differ between trainers."""
    # As for runs of checkpoints.
    if _plain(name) in ("step", "steps", "global_step"):
        return "Training step"
    return _sentence(name)
