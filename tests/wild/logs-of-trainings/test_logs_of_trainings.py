"""Learning curves from logs of trainers."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from wayword.core.errors import DataError, UsageError
from wayword.runs import Plan, run
from wayword.viewer.plots.curves import draw_curves
from wayword.viewer.plots.request import FigureRequest

UP = [(0, 0.0), (100, 0.5), (200, 1.0)]
DOWN = [(0, 1.0), (100, 0.5), (200, 0.0)]


def write(
    path: Path, rows: list[tuple[Any, ...]], head: str = "step,reward", mark: str = ""
) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    separator = next(each for each in ",;\t" if each in head)
    lines = [mark + head, *(separator.join(map(str, row)) for row in rows)]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def drawn(*paths: Path, metric: str = "") -> tuple[Any, str]:
    figure, caption, *_ = draw_curves(FigureRequest(paths, 3.35, metric))
    (axes,) = figure.axes
    return axes, caption


def points(path: Path, metric: str = "") -> list[tuple[float, float]]:
    (line,) = drawn(path, metric=metric)[0].lines
    return [*zip(line.get_xdata(), line.get_ydata(), strict=True)]


def legend(*paths: Path) -> list[str]:
    (shown,) = drawn(*paths)[0].figure.legends
    return [text.get_text() for text in shown.get_texts()]


@pytest.mark.parametrize(
    ("names", "shown"),
    [
        (["ppo/seed_0/progress.csv", "sac/seed_0/progress.csv"], ["ppo", "sac"]),
        (["ppo/metrics.csv", "sac/metrics.csv"], ["ppo", "sac"]),
        (["ppo/results.csv", "sac/results.csv"], ["ppo/results", "sac/results"]),
        (["lr0.001/progress.csv", "lr0.002/progress.csv"], ["lr0.001", "lr0.002"]),
        (["lr0.001.csv", "lr0.002.csv"], ["lr0.001", "lr0.002"]),
        (["a.csv", "_a.csv"], ["a", " _a"]),
    ],
)
@pytest.mark.parametrize("folder", [True, False])
def test_different_trainings_are_no_seeds_of_one(
    names: list[str], shown: list[str], folder: bool, tmp_path: Path
) -> None:
    paths = [write(tmp_path / name, UP) for name in names]
    if folder and paths[0].name == "progress.csv":
        paths = [path.parent for path in paths]
    assert legend(*paths) == shown


@pytest.mark.parametrize(
    "name", ["ppo/seed_{}/log.csv", "seed{}/ppo/progress.csv", "ppo-seed-{}.csv"]
)
def test_seeds_are_one_curve_wherever_their_numbers_are(
    name: str, tmp_path: Path
) -> None:
    paths = [write(tmp_path / name.format(n), UP) for n in range(2)]
    axes, caption = drawn(*paths)
    assert axes.lines[-1].get_label() == "ppo"
    assert "single seeds (2)" in caption


def test_a_resumed_training_replaces_what_it_writes_again(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", [*UP, (100, 0.7), (200, 0.8), (300, 0.9)])
    assert points(path) == [(0, 0.0), (100, 0.7), (200, 0.8), (300, 0.9)]
    assert "Left out: 2 points before a resume" in drawn(path)[1]


def test_the_newest_may_be_first_and_steps_may_repeat(tmp_path: Path) -> None:
    assert points(write(tmp_path / "a.csv", UP[::-1])) == UP
    episodes = [(8, 0.25), (8, 0.75), (16, 1.0)]
    assert points(write(tmp_path / "b.csv", episodes)) == [(8, 0.5), (16, 1.0)]


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize(
    "step", ["step", "Step", "_step", "train/global_step", "Global Step"]
)
def test_steps_are_found_under_their_usual_names(
    step: str, mark: str, tmp_path: Path
) -> None:
    path = write(tmp_path / "a.csv", UP, f"{step},Value", mark)
    assert points(path, "Value") == UP


@pytest.mark.parametrize("separator", [";", "\t"])
def test_a_table_with_decimal_commas_is_read(separator: str, tmp_path: Path) -> None:
    rows = [(step, str(value).replace(".", ",")) for step, value in UP]
    assert points(write(tmp_path / "a.csv", rows, f"step{separator}reward")) == UP


def test_the_steps_of_each_episode_count_nothing(tmp_path: Path) -> None:
    rows = [(n, length, 0.5) for n, length in enumerate([9, 30, 12, 30, 30, 7, 18], 1)]
    path = write(tmp_path / "a.csv", rows, "episode,steps,reward")
    assert drawn(path)[0].get_xlabel() == "Episode"
    assert [step for step, _ in points(path)] == [1, 2, 3, 4, 5, 6, 7]
    path = write(tmp_path / "b.csv", [row[1:] for row in rows], "steps,reward")
    assert drawn(path)[0].get_xlabel() == "Line"


def test_a_column_without_numbers_is_named(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", [(1, "n/a")])
    with pytest.raises(DataError, match="column 'reward': has no number"):
        drawn(path)


def test_successes_may_be_true_and_false(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", [(1, True), (2, False)], "step,success")
    assert points(path) == [(1, 1.0), (2, 0.0)]


def test_separators_of_unicode_end_no_line(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    rows = [{"step": step, "reward": value, "said": "a\u2028b"} for step, value in UP]
    lines = [json.dumps(row, ensure_ascii=False) for row in rows]
    path.write_text("\n".join(lines), encoding="utf-8")
    assert points(path) == UP


def test_a_row_with_more_cells_than_columns_is_read(tmp_path: Path) -> None:
    assert points(write(tmp_path / "a.csv", [(1, 2, 3), (2, 3)])) == [(1, 2), (2, 3)]


@pytest.mark.parametrize("text", ["", "# a comment\n"])
def test_an_empty_log_is_one_line(text: str, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(text, encoding="utf-8")
    expected = "no known column of results; it has no rows; log one"
    with pytest.raises(DataError, match=expected):
        drawn(path)


@pytest.mark.parametrize("line", ["no JSON", "[1, 2]", "5", '{"step": 3, "rew'])
def test_a_line_that_is_no_row_is_named(line: str, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    rows = [json.dumps({"step": step, "reward": value}) for step, value in UP]
    path.write_text("\n".join([rows[0], "", line, *rows[1:], ""]), encoding="utf-8")
    with pytest.raises(DataError, match=r"a\.jsonl: line 3: .*; remove the line"):
        drawn(path)


def test_a_log_that_is_being_written_is_drawn_up_to_its_last_whole_line(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.jsonl"
    rows = [json.dumps({"step": step, "reward": value}) for step, value in UP]
    path.write_text("\n".join([*rows, '{"step": 9, "rew']), encoding="utf-8")
    assert points(path) == UP


def test_a_missing_log_and_another_file_have_errors_of_their_own(
    tmp_path: Path,
) -> None:
    with pytest.raises(UsageError, match=r"none\.jsonl: no such file or folder; name"):
        drawn(tmp_path / "none.jsonl")
    with pytest.raises(UsageError, match="neither a run folder nor a training log"):
        drawn(tmp_path)


def test_logs_with_names_of_their_own_in_a_folder_are_all_drawn(tmp_path: Path) -> None:
    for seed, points_of_seed in enumerate((UP, DOWN)):
        rows = [
            json.dumps({"step": at, "reward": value}) for at, value in points_of_seed
        ]
        (tmp_path / f"v-seed-{seed}.jsonl").write_text(
            "\n".join(rows), encoding="utf-8"
        )
    axes, caption = drawn(tmp_path)
    assert len(axes.lines) == 3, "a line for each seed, and their mean"
    assert "single seeds (2)" in caption
    # The log of a trainer counts alone: what lies next to it may be anything.
    write(tmp_path / "progress.csv", UP)
    assert points(tmp_path) == UP


def test_the_longest_state_of_a_trainer_is_the_newest(tmp_path: Path) -> None:
    for step in (900, 10_000):
        log = [{"step": n, "loss": 1.0} for n in range(100, step + 1, 100)]
        path = tmp_path / f"checkpoint-{step}" / "trainer_state.json"
        path.parent.mkdir()
        path.write_text(json.dumps({"log_history": log}), encoding="utf-8")
    os.utime(path, (1, 1))  # as a copy may leave it
    assert drawn(tmp_path)[0].lines[0].get_xdata()[-1] > 9_000


def test_seeds_of_different_lengths_share_bins_and_the_caption_counts_them(
    tmp_path: Path,
) -> None:
    paths = []
    for seed, length in enumerate((100, 60, 80)):
        rows = [(step, float(seed)) for step in range(length)]
        paths.append(write(tmp_path / f"a-seed-{seed}.csv", rows))
    axes, caption = drawn(*paths)
    *thin, mean = axes.lines
    # The mean ends where the longest seed does, and all share their bins.
    assert mean.get_xdata()[-1] == max(line.get_xdata()[-1] for line in thin)
    for line in thin:
        assert set(line.get_xdata()) <= set(mean.get_xdata())
    heights = dict(zip(mean.get_xdata(), mean.get_ydata(), strict=True))
    assert [heights[step] for step in (1.5, 61.5, 97.5)] == [1.0, 1.0, 0.0]
    assert "Means of fewer seeds: a, at least 1 of 3 between 62 and 98." in caption


def test_rows_that_are_no_numbers_are_counted(tmp_path: Path) -> None:
    rows = [*UP, (300, "nan"), (400, "n/a"), (500, ""), (600, 0.5)]
    axes, caption = drawn(write(tmp_path / "a.csv", rows))
    assert axes.lines[0].get_xdata()[-1] == 600
    assert "Left out, as their value is no finite number: 2 rows of a." in caption
    assert "Left out" not in drawn(write(tmp_path / "b.csv", UP))[1]
    one = drawn(write(tmp_path / "c.csv", [*UP, (300, "nan"), (600, 0.5)]))[1]
    assert "is no finite number: 1 row of c." in one


def test_a_run_next_to_a_log_is_refused_as_such(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    run(Plan("random", "houses", limit=1, max_steps=2, out=folder))
    log = write(tmp_path / "a.csv", UP)
    for paths in ((folder, log), (log, folder)):
        with pytest.raises(UsageError) as refused:
            drawn(*paths)
        assert str(refused.value).startswith(
            f"{folder}: a run folder cannot be drawn next to a training log; draw a figure of each"
        )


@pytest.mark.parametrize("head", ["step,loss", "epoch,reward", "iteration,success"])
def test_logs_without_common_axes_are_refused(head: str, tmp_path: Path) -> None:
    one = write(tmp_path / "a.csv", UP)
    other = write(tmp_path / "b.csv", DOWN, head)
    with pytest.raises(UsageError, match="do not share their axes") as error:
        drawn(one, other)
    assert "\n" not in str(error.value)


def test_rewards_and_steps_of_two_libraries_share_their_axes(tmp_path: Path) -> None:
    one = write(tmp_path / "a.csv", UP, "time/total_timesteps,rollout/ep_rew_mean")
    other = write(tmp_path / "b.csv", DOWN, "global_step,episodic_return")
    assert legend(one, other) == ["a", "b"]
