"""Episodes can be dropped from a run and played again; no record is lost."""

from __future__ import annotations

import gzip
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from helpers.records import lines, records
from wayword.bench.outcomes import dollars_text
from wayword.cli.show import progress
from wayword.core.errors import RecordingError, UsageError
from wayword.core.metric import Metric
from wayword.core.trajectory import Trajectory
from wayword.runs import Plan, RunFolder, run
from wayword.runs.active import RunListener
from wayword.runs.record import DROPPED, EpisodeRecord, drop, merge
from wayword.runs.results import RunResult

PLAN = Plan(
    "random", "houses", settings={"dataset": {"houses": 1, "episodes": 6}}, max_steps=3
)


@pytest.fixture
def played(tmp_path: Path) -> Path:
    """A run of six episodes."""
    return run(replace(PLAN, out=tmp_path / "run")).path


def ids(path: Path) -> list[str]:
    return [name for name, _ in RunFolder.read(path).scores()]


def test_a_dropped_episode_is_kept_aside_and_played_again(played: Path) -> None:
    first, second, *others = ids(played)
    before = lines(played)
    assert drop(played, [second]) == 1
    assert ids(played) == [first, *others]
    assert lines(played, DROPPED) == [before[1]]
    again = run(replace(PLAN, out=played))
    assert (again.resumed, again.chosen, again.outcome.finished) == (5, 6, 1)
    assert ids(played) == [first, *others, second]


def test_redo_drops_and_plays(played: Path) -> None:
    first, *others = ids(played)
    again = run(replace(PLAN, out=played, redo=(first,)))
    assert ids(played) == [*others, first]
    assert f"1 record moved to {played / DROPPED}" in again.notices


def test_failures_of_a_dropped_episode_go_with_it(played: Path) -> None:
    config = RunFolder.read(played).config
    with RunFolder.open(played, config) as folder:
        folder.fail("lost", "no answer")
        folder.fail("other", "no answer")
    assert drop(played, ["lost"]) == 1
    assert [each.episode_id for each in RunFolder.read(played).failures()] == ["other"]
    (record,) = records(played, DROPPED)
    assert record["episode"] == "lost"


def test_an_unknown_episode_changes_nothing(played: Path) -> None:
    before = (played / "episodes.jsonl.gz").read_bytes()
    with pytest.raises(UsageError, match="has no episode 'nope'; there are: "):
        drop(played, [ids(played)[0], "nope"])
    assert (played / "episodes.jsonl.gz").read_bytes() == before
    assert not (played / DROPPED).exists()


def test_a_run_that_is_being_written_is_left_alone(played: Path) -> None:
    config = RunFolder.read(played).config
    busy = pytest.raises(RecordingError, match="a process is writing")
    with RunFolder.open(played, config), busy:
        drop(played, ids(played)[:1])
    assert len(ids(played)) == 6


def filtered(path: Path, without: bytes) -> None:
    """What ``zcat FILE | grep -v WITHOUT | gzip`` leaves."""
    file = path / "episodes.jsonl.gz"
    left = [line for line in lines(path) if without not in line]
    file.write_bytes(gzip.compress(b"\n".join(left) + b"\n"))


def test_records_that_another_program_compressed_can_be_merged(
    played: Path, tmp_path: Path
) -> None:
    first, *others = ids(played)
    filtered(played, first.encode())
    with pytest.raises(RecordingError, match="was compressed again by another program"):
        ids(played)
    merged = merge([played], tmp_path / "merged")
    assert (merged.episodes, merged.notices) == (5, ())
    assert ids(merged.path) == others
    assert run(replace(PLAN, out=merged.path)).outcome.finished == 1


def test_a_truncated_plain_file_keeps_its_intact_lines(
    played: Path, tmp_path: Path
) -> None:
    filtered(played, b"nothing")
    file = played / "episodes.jsonl.gz"
    file.write_bytes(file.read_bytes()[:-200])
    merged = merge([played], tmp_path / "merged")
    assert merged.episodes < 6
    assert any("is damaged after record" in notice for notice in merged.notices)


def test_the_command_says_how_many_of_all_were_finished(played: Path) -> None:
    options = ["--set", "dataset.houses=1", "--set", "dataset.episodes=6"]
    command = [sys.executable, "-m", "wayword", "run", "random", "--on", "houses", *options,
               "--max-steps", "3", "--seeds", "1", "--out", str(played)]  # fmt: skip
    ended = subprocess.run(
        [*command, "--redo", ids(played)[0]], capture_output=True, text=True
    )
    assert ended.returncode == 0, ended.stderr
    assert "5 of 6 episodes were already finished and kept" in ended.stderr


def test_progress_shows_the_session_apart_from_the_total(
    capsys: pytest.CaptureFixture[str],
) -> None:
    scores: Mapping[str, float] = {"sr": 1.0}
    with progress("run") as update:
        update(40, 50, {})
        update(41, 50, scores)
        update(42, 50, scores)
    shown = capsys.readouterr().err
    assert "42/50" in shown
    assert "SR 100%  of 2 in this session" in shown


@pytest.mark.parametrize(
    ("tokens", "dollars", "text"),
    [(900, 0.0, "no known cost"), (900, 0.42, "$0.42"), (0, 0.0, "$0.00")],
)
def test_an_unknown_price_is_no_amount(tokens: int, dollars: float, text: str) -> None:
    assert dollars_text({"tokens": tokens, "dollars": dollars}) == text


def test_a_result_counts_the_chosen_episodes(played: Path) -> None:
    assert RunResult.read(played).resumed == 6


def test_progress_of_a_finished_run_has_no_means_to_announce(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with progress("run") as update:
        update(60, 60, {})
    shown = capsys.readouterr().err.rstrip()
    assert "0 in this session" in shown
    assert "session:" not in shown


def test_progress_of_a_resumed_run_has_the_means_of_the_whole(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Those of its table, with the dataset's own metric of success."""
    own = Metric("won", "Won", "rate", "higher", "A win.")
    config = {
        "identity": {}, "family": "indoor", "success": "won", "metrics": [asdict(own)],
    }  # fmt: skip
    with RunFolder.open(tmp_path / "run", config) as folder:
        for number in range(3):
            scores = {"won": 0.0, "rejection_rate": 0.5}
            name = f"e{number}"
            folder.append(EpisodeRecord(name, scores, Trajectory(name, {})))
    with progress("run") as update:
        assert isinstance(update, RunListener)
        update.begin(RunFolder.read(tmp_path / "run"))
        update(3, 4, {})
        update(4, 4, {"won": 1.0})
    shown = capsys.readouterr().err
    assert "Won 25%  rejected 50%" in shown
    assert "session" not in shown
