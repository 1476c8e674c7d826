"""Runs in unusual shells: locales, narrow terminals, closed pipes, optimized interpreters."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

RUN = ("run", "random", "--on", "houses", "--limit", "2", "--max-steps", "3")
SHELLS: dict[str, dict[str, str]] = {
    "an ASCII locale": {"LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0"},
    "no color in a narrow terminal": {"NO_COLOR": "1", "COLUMNS": "20"},
    "a missing temporary folder": {"TMPDIR": "/nowhere/at/all"},
    "an optimized interpreter": {"PYTHONOPTIMIZE": "2"},
}


def wayword(
    *arguments: str, folder: Path, **variables: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "wayword", *arguments],
        cwd=folder,
        env={**os.environ, **variables},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


def records(run: Path) -> list[Any]:
    """The records of a run without the seconds of each step."""
    with gzip.open(run / "episodes.jsonl.gz", "rt", encoding="utf-8") as file:
        lines = file.readlines()
    return [json.loads(line)["trajectory"]["steps"] for line in sorted(lines)]


def without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: without_times(item)
            for key, item in value.items()
            if "second" not in key
        }
    if isinstance(value, list):
        return [without_times(item) for item in value]
    return value


@pytest.mark.parametrize("shell", SHELLS)
def test_a_run_and_its_table_work_in(shell: str, tmp_path: Path) -> None:
    done = wayword(*RUN, folder=tmp_path, **SHELLS[shell])
    assert done.returncode == 0, done.stderr
    (run,) = (tmp_path / "runs").iterdir()
    assert ":" not in run.name, "a colon in a folder's name is refused by Windows"
    shown = wayword("table", str(run), folder=tmp_path, **SHELLS[shell])
    assert shown.returncode == 0, shown.stderr


def test_a_closed_pipe_is_no_error(tmp_path: Path) -> None:
    command = f"{sys.executable} -m wayword list | head -1"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


def test_records_do_not_depend_on_the_hash_seed(tmp_path: Path) -> None:
    played = []
    for seed in ("0", "1"):
        out = f"seed{seed}"
        done = wayword(*RUN, "--out", out, folder=tmp_path, PYTHONHASHSEED=seed)
        assert done.returncode == 0, done.stderr
        played.append(without_times(records(tmp_path / out)))
    assert played[0] == played[1]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_log_on_a_full_disk_ends_no_run(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "wayword", *RUN]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=full, check=False
        )
    assert done.returncode == 0
    assert b"random" in done.stdout, "the table is printed"
    (run,) = (tmp_path / "runs").iterdir()
    assert len(records(run)) == 2
