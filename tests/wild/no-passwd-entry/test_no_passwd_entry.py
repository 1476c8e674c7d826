"""Commands of a user without a home or an entry in passwd, or with a cache that is not writable."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from wayword.core import files

AS_NO_ONE = """
import pwd, sys

def missing(user):
    raise KeyError(f"uid not found: {user}")

pwd.getpwuid = pwd.getpwnam = missing
sys.argv[0] = "wayword"
from wayword.cli import main
main()
"""


def wayword(
    *arguments: str, folder: Path, **environment: str
) -> subprocess.CompletedProcess[str]:
    variables = {"PATH": os.environ["PATH"], "TMPDIR": str(folder), **environment}
    return subprocess.run(
        [sys.executable, "-c", AS_NO_ONE, *arguments],
        cwd=folder,
        env=variables,
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.mark.parametrize(
    "environment",
    [{}, {"HOME": "/proc"}, {"HOME": "/nowhere", "XDG_CACHE_HOME": "/proc/none"}],
    ids=["no home", "a home that cannot be written", "a cache that cannot be written"],
)
def test_a_run_works_and_is_exit_0(environment: dict[str, str], tmp_path: Path) -> None:
    command = ("run", "random", "--on", "houses", "--limit", "2", "--max-steps", "3")
    for arguments in (
        (*command, "--out", "r"),
        ("table", "r"),
        ("verify", "r"),
        ("view", "--write", "r"),
        ("export", "r", "--all", "--out", "exported"),
    ):
        done = wayword(*arguments, folder=tmp_path, **environment)
        assert done.returncode == 0, (arguments, done.stderr)
        assert "Traceback" not in done.stderr


def test_published_data_are_requested_in_one_line(tmp_path: Path) -> None:
    done = wayword("run", "random", "--on", "r2r", "--limit", "1", folder=tmp_path)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "set --data FOLDER" in done.stderr.splitlines()[-1]


def test_cached_files_of_a_user_without_home_are_the_users(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    for name in ("WAYWORD_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", no_home)
    monkeypatch.setattr(files.tempfile, "tempdir", str(tmp_path))
    files._temporary_folder.cache_clear()
    folder = files.cache_folder()
    assert folder.parent == tmp_path
    assert folder.stat().st_mode & 0o777 == 0o700

    files._temporary_folder.cache_clear()
    folder.rmdir()
    (tmp_path / "elsewhere").mkdir()
    folder.symlink_to(tmp_path / "elsewhere")
    assert files.cache_folder() != folder, "a link that someone else may have made"
    files._temporary_folder.cache_clear()
