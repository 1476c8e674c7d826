"""Limits of memory, processes, files and sizes."""

from __future__ import annotations

import errno
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from wayword.cli import _problem
from wayword.core import limits
from wayword.core.errors import UsageError
from wayword.runs.json_lines import unusable

COMMAND = "ulimit {limit} && exec {python} -m wayword run random --on houses --limit 1"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no ulimit")
@pytest.mark.parametrize(
    ("limit", "remedy"),
    [
        ("-v 60000", "ulimit -v"),
        ("-v 220000", "ulimit -v"),
        ("-n 8", "ulimit -n"),
        ("-f 1", "ulimit -f"),
        ("-v 700000", ""),
        ("-s 512", ""),
        ("-s 128", "ulimit -s"),
        ("-s 256", "ulimit -s"),
    ],
)
def test_a_run_works_or_names_the_limit(
    limit: str, remedy: str, tmp_path: Path
) -> None:
    command = COMMAND.format(limit=limit, python=sys.executable)
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert "Traceback" not in done.stderr
    last_line = done.stderr.strip().splitlines()[-1]
    if remedy:
        assert done.returncode == 2
        assert last_line.startswith("wayword: ")
        assert remedy in last_line
    else:
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("error", "remedy"),
    [
        (RuntimeError("can't start new thread"), "ulimit -u"),
        (ImportError("libz.so: failed to map segment from shared object"), "ulimit -v"),
        (OSError(errno.EAGAIN, "Resource temporarily unavailable"), "ulimit -u"),
        (OSError(errno.EFBIG, "File too large"), "ulimit -f"),
        (OSError(errno.ENFILE, "Too many open files in system"), "limit of open files"),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), "ulimit -v"),
        (MemoryError(), "ulimit -v"),
    ],
)
def test_an_error_of_a_limit_is_one_line(error: Exception, remedy: str) -> None:
    line = _problem(error)
    assert line is not None
    assert remedy in line


def test_the_systems_remedy_goes_before_another() -> None:
    error = OSError(errno.EMFILE, "Too many open files")
    assert "ulimit -n" in str(unusable(Path("run.json"), error, "give another folder"))


def test_a_local_model_is_refused_before_it_aborts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    amounts = {"RLIMIT_AS": 10**9, "RLIMIT_NPROC": 10}
    monkeypatch.setattr(limits, "_limit", amounts.get)
    with pytest.raises(UsageError, match=r"limit of virtual memory leaves .*ulimit -v"):
        limits.check_room("this model", 2 * 10**9, 1)

    def refused(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    del amounts["RLIMIT_AS"]
    monkeypatch.setattr(threading.Thread, "start", refused)
    with pytest.raises(UsageError, match=r"needs 4 threads, and only 0 .*ulimit -u"):
        limits.check_room("this model", 1, 4)
