"""Commands in a folder that is gone: one line with the remedy, or a run in an absolute folder."""

from __future__ import annotations

import errno
import subprocess
import sys
from pathlib import Path

import pytest

from wayword.cli import _system_problem

IN_A_REMOVED_FOLDER = """
import os, sys
os.mkdir("gone"); os.chdir("gone"); os.rmdir("../gone")
sys.argv[0] = "wayword"
from wayword.cli import main
main()
"""
RUN = ("run", "random", "--on", "houses", "--limit", "1", "--max-steps", "2")


@pytest.mark.parametrize("absolute", [False, True])
def test_a_removed_folder_is_named(absolute: bool, tmp_path: Path) -> None:
    out = ["--out", str(tmp_path / "r")] if absolute else []
    done = subprocess.run(
        [sys.executable, "-c", IN_A_REMOVED_FOLDER, *RUN, *out],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert "Traceback" not in done.stderr
    assert done.returncode == (0 if absolute else 2)
    if not absolute:
        assert "the current folder: " in done.stderr
        assert "change to another one" in done.stderr


def test_low_limits_name_their_remedy() -> None:
    line = _system_problem(OSError(errno.EMFILE, "Too many open files", "run.json"))
    assert line == (
        "run.json: Too many open files; raise the limit of open files (ulimit -n)"
    )
