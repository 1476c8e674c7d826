"""Learning curves: logs of trainers, or evaluated checkpoints.

A log is a CSV or JSON Lines file with a column of steps (Stable-Baselines3's ``progress.csv`` and
``monitor.csv``, CleanRL's and your own), a ``trainer_state.json`` of transformers and TRL, or a
folder with one of them. A run folder whose name ends in a number, such as ``runs/step-200``, is the
evaluation of a checkpoint at that step.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from wayword.core.episode import JsonObject
from wayword.core.errors import DataError, UsageError, suggest
from wayword.core.geometry import Floats
from wayword.core.visible import single_line, spaced
from wayword.runs import reports
from wayword.runs.record import is_run
from wayword.viewer.plots import charts
from wayword.viewer.plots.request import Drawing, FigureRequest, interval_note
from wayword.viewer.plots.style import faint_grid, legend_above, look, new_figure

STEPS = (
    "step",
    "steps",
    "global_step",
    "time/total_timesteps",
    "total_timesteps",
    "timesteps",
    "num_timesteps",
    "episode",
    "iteration",
    "epoch",
)
"""Columns that count training steps, the first of a file that has any."""
VALUES = (
    "success",
    "success_rate",
    "rollout/success_rate",
    "eval/mean_reward",
    "reward",
    "rollout/ep_rew_mean",
    "episodic_return",
    "return",
    "r",
    "eval_loss",
    "loss",
)
"""Columns that are drawn without ``--metric``, the first of a file that has any."""
LOGS = ("trainer_state.json", "progress.csv", "monitor.csv")
"""Files that are looked for in a folder."""
_BINS = 25
"""Points of a curve: of more, each point is the mean of consecutive ones, as the caption says."""


class TrainingLog(NamedTuple):
    """Steps (points,) and values (points,) of a training log.

    ``series`` is the log's name without a seed, which several logs may share;
    ``metric`` and ``counts`` are the names of the columns of values and of steps.
    """

    series: str
    steps: Floats
    values: Floats
    metric: str
    counts: str


def draw_curves(request: FigureRequest) -> Drawing:
    """Draw learning curves, from training logs or from run folders of checkpoints.

    Logs that differ in their seeds alone are one curve, their mean, over a thin line
    for each seed. Raises ``UsageError`` for a path that is neither, ``DataError`` for a
    damaged log.
    """
    if all(is_run(path) for path in _expanded(request.runs)):
        return _draw_checkpoints(request)
    logs = [_read(path, request.metric) for path in request.runs]
    series: dict[str, list[TrainingLog]] = {}
    for log in logs:
        series.setdefault(log.series, []).append(log)
    names = request.names(list(series))
    figure, axes = new_figure(request.width, min(2.2, 0.62 * request.width))
    binned = 1
    for number, seeds in enumerate(series.values()):
        color, dashes, marker = look(number)
        each_binned = [_binned(log) for log in seeds]
        binned = max(binned, *(size for _, _, size in each_binned))
        if len(seeds) > 1:
            for steps, values, _ in each_binned:
                axes.plot(steps, values, color=color, linewidth=0.5, alpha=0.45)
        # The mean at the steps of the first log, up to the end of the shortest. Others may count at
        # other steps: values in between are interpolated.
        end = min(x[-1] for x, _, _ in each_binned)
        steps = each_binned[0][0]
        steps = steps[steps <= end]
        mean = np.mean([np.interp(steps, x, y) for x, y, _ in each_binned], axis=0)
        # About eight marks tell lines apart in print without hiding them.
        every = max(1, len(steps) // 8)
        axes.plot(
            steps,
            mean,
            color=color,
            linestyle=dashes,
            marker=marker,
            markevery=every,
            markeredgewidth=0,
            label=names[number],
            clip_on=False,
        )
    axes.set_xlabel(_sentence(logs[0].counts))
    axes.set_ylabel(_sentence(logs[0].metric))
    axes.margins(x=0.02)
    faint_grid(axes, "y")
    legend_above(axes, names)
    caption = f"{_sentence(logs[0].metric)} during training."
    if binned > 1:
        caption += f" Points are means of up to {binned:,} consecutive values."
    most = max(len(seeds) for seeds in series.values())
    if most > 1:
        caption += f" Thin lines: single seeds ({most}); thick lines: their mean."
    return Drawing(figure, caption)


def _expanded(paths: Sequence[Path]) -> list[Path]:
    """Return the paths, with folders of run folders replaced by the runs in them."""
    expanded: list[Path] = []
    for path in paths:
        if path.is_dir() and any(path.glob("*/run.json")):
            expanded += reports.run_folders([path])
        else:
            expanded.append(path)
    return expanded


def _draw_checkpoints(request: FigureRequest) -> Drawing:
    """Draw a metric of run folders by the number at the end of their names, with intervals.

    The number is the training step, the rest of the name the series. Raises ``UsageError`` for a
    name without a number.
    """
    rows = reports.pooled_rows(request.runs, request.cluster, request.data)
    charts.require_rows(rows)
    metric = charts.metric_of(rows, request.metric)
    series: dict[str, list[tuple[float, Any]]] = {}
    for row in rows:
        numbered = re.fullmatch(r"(.*?)[-_=.]?(\d+)", row.name)
        if numbered is None:
            raise UsageError(
                f"{row.name}: a curve needs training logs, or runs of checkpoints whose names "
                "end in the step, such as runs/step-200"
            )
        name, step = numbered.groups()
        value = row.values[metric.key].times(charts.scale_of(metric))
        series.setdefault(name, []).append((float(step), value))
    names = request.names(list(series))
    figure, axes = new_figure(request.width, min(2.2, 0.62 * request.width))
    for number, points in enumerate(series.values()):
        points.sort(key=lambda point: point[0])
        at = [step for step, _ in points]
        values = [value for _, value in points]
        charts.error_bars(axes, at, values, number, names[number])
    axes.set_xlabel("Training step")
    charts.metric_axis(axes, metric)
    legend_above(axes, names)
    caption = f"{metric.label} of checkpoints on {charts.splits(rows)}."
    return Drawing(figure, f"{caption} {interval_note(rows)}")


def _read(path: Path, wanted: str) -> TrainingLog:
    """Read a training log. Raises ``DataError`` for a file without the columns.

    Rows without a number in the column of results are skipped. Without a column of steps, the
    number of the row, from 1, is the step; in a column of steps, no such row may lack its number.
    """
    file = _file_of(path)
    rows = _rows_of(file)
    columns: dict[str, None] = {}
    for row in rows:
        columns.update(dict.fromkeys(row))
    # Without a column that counts, lines are steps.
    counts = next((key for key in STEPS if key in columns), "")
    metric = wanted or next((key for key in VALUES if key in columns), "")
    if metric not in columns:
        options = [key for key in columns if key not in STEPS]
        problem = "no known column of results"
        if wanted:
            problem = f"no column {metric!r}"
        raise DataError(file, "", problem, f"--metric: {suggest(metric, options)}")
    steps = []
    values = []
    for number, row in enumerate(rows, 1):
        value = _number(row.get(metric))
        if value is not None:  # a log has lines of other measures
            step = _number(row.get(counts)) if counts else float(number)
            steps.append(step)
            values.append(value)
    if None in steps or not values:
        raise DataError(file, f"column {counts!r}", "has no number in some row")
    # Logs that differ in their seeds alone are one curve.
    series = re.sub(r"[-_/.]?seed[-_=]?\d+", "", _title(path))
    return TrainingLog(
        series=series.strip("-_/ ") or "training",
        steps=np.array(steps, float),
        values=np.array(values),
        metric=metric,
        counts=counts or "line",
    )


def _file_of(path: Path) -> Path:
    """Return the log at a path; of a folder of checkpoints, the newest one's."""
    if path.is_file():
        return path
    for name in LOGS:
        files = [path / name, *path.glob(f"checkpoint-*/{name}")]
        present = [file for file in files if file.is_file()]
        if present:
            return max(present, key=lambda file: file.stat().st_mtime)
    raise UsageError(
        f"{path}: neither a run folder nor a training log (CSV, JSON Lines, {LOGS[0]})"
    )


def _rows_of(file: Path) -> list[JsonObject]:
    """Return the lines of a log as mappings. Raises ``DataError`` for another file."""
    try:
        text = file.read_text(encoding="utf-8")
        if file.name == LOGS[0]:
            return list(json.loads(text)["log_history"])
        if file.suffix == ".csv":
            # A monitor file of Stable-Baselines3 starts with a comment.
            lines = [line for line in text.splitlines() if not line.startswith("#")]
            return list(csv.DictReader(lines))
        lines = [line for line in text.splitlines() if line.strip()]
        rows = [json.loads(line) for line in lines]
    except (OSError, ValueError, KeyError, TypeError) as error:
        problem = single_line(error, 80)
        raise DataError(file, "", f"is not a training log: {problem}") from None
    if not all(isinstance(row, dict) for row in rows):
        raise DataError(file, "", "is not a training log: a line is no JSON object")
    return rows


def _title(path: Path) -> str:
    """Return a log's name: its folder's, if all trainers give the file the same name."""
    if path.name in (*LOGS, "metrics.jsonl", "log.jsonl", "log.csv"):
        return path.parent.name
    return path.stem


def _number(value: Any) -> float | None:
    """Return a finite number; None for anything else that a log may contain."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    if not np.isfinite(number):
        return None
    return number


def _binned(log: TrainingLog) -> tuple[Floats, Floats, int]:
    """Return steps and values as means of consecutive points, and the points in each.

    At most ``_BINS`` points; the last may be the mean of fewer values.
    """
    size = -(-len(log.values) // _BINS)
    if size == 1:
        return log.steps, log.values, 1

    def means(numbers: Floats) -> Floats:
        """Return the means of ``size`` numbers each; the last part may be shorter."""
        starts = range(0, len(numbers), size)
        return np.array([numbers[at : at + size].mean() for at in starts])

    return means(log.steps), means(log.values), size


def _sentence(name: str) -> str:
    """Return a column's name as a label: ``Success rate`` for ``rollout/success_rate``."""
    words = spaced(name.rpartition("/")[2])
    return words[:1].upper() + words[1:]
