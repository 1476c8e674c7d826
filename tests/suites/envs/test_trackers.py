"""Experiment trackers, each with its own library and nothing on the network."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
import wandb

from wayword.runs import Plan, run
from wayword.runs.tracking import tracked


def tracked_run(
    kind: str, folder: Path, limit: int = 2, project: str = "walks"
) -> None:
    """Episodes that are sent to a tracker, and no complaint."""
    complaints: list[str] = []
    plan = Plan("oracle", "houses", limit=limit, out=folder / "first", concurrency=1)
    with tracked(f"{kind}:{project}", plan, None, complaints.append) as progress:
        assert run(plan, on_progress=progress).outcome.complete
    assert complaints == []


def test_mlflow_keeps_a_folder_of_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"file:{tmp_path / 'kept'}")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    tracked_run("mlflow", tmp_path)
    (figures,) = (tmp_path / "kept").rglob("metrics/mean/sr")
    values = [line.split()[1:] for line in figures.read_text().splitlines()]
    assert values == [["1.0", "1"], ["1.0", "2"]]


def test_wandb_writes_offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_DIR", str(tmp_path))
    monkeypatch.setenv("WANDB_SILENT", "true")
    tracked_run("wandb", tmp_path)
    wandb.teardown()  # ends the service that writes the file, as the end of a process does
    (kept,) = tmp_path.rglob("run-*.wandb")
    assert b"mean/sr" in kept.read_bytes()


def test_wandb_offline_completes_a_resumed_run_next_to_an_open_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_DIR", str(tmp_path))
    monkeypatch.setenv("WANDB_SILENT", "true")
    user_run = wandb.init(project="training")
    tracked_run("wandb", tmp_path)
    tracked_run("wandb", tmp_path, limit=4)
    user_run.log({"loss": 1.0})  # it is still open
    user_run.finish()
    wandb.teardown()
    files = [
        path for path in tmp_path.rglob("run-*.wandb") if user_run.id not in path.name
    ]
    counts = sorted(path.read_bytes().count(b"mean/sr") for path in files)
    assert counts[1] == 2 * counts[0] > 0
    (user_file,) = tmp_path.rglob(f"run-{user_run.id}.wandb")
    assert b"mean/sr" not in user_file.read_bytes()


@pytest.fixture(scope="module")
def databases(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of Trackio, which reads its name once."""
    folder = tmp_path_factory.mktemp("trackio")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRACKIO_DIR", str(folder))
        yield folder


def test_trackio_keeps_a_database(tmp_path: Path, databases: Path) -> None:
    tracked_run("trackio", tmp_path)
    (kept,) = databases.rglob("walks*.db")
    with sqlite3.connect(kept) as database:
        rows = [
            row[0]
            for row in database.execute("select metrics from metrics order by step")
        ]
    assert [b"mean/sr" in bytes(row) for row in rows] == [True, True]


def test_trackio_gets_episodes_that_were_played_without_it(
    tmp_path: Path, databases: Path
) -> None:
    run(Plan("oracle", "houses", limit=2, out=tmp_path / "first", concurrency=1))
    for limit in (4, 6):
        tracked_run("trackio", tmp_path, limit, "untracked")
    (kept,) = databases.rglob("untracked*.db")
    with sqlite3.connect(kept) as database:
        steps = [row[0] for row in database.execute("select step from metrics")]
    assert sorted(steps) == [1, 2, 3, 4, 5, 6]
