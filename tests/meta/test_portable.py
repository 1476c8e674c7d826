"""The package needs no call that only some systems have, and reads no data at import."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ELSEWHERE = """
import importlib, os, pkgutil, signal, stat, sys
from pathlib import Path
# NumPy, asyncio and others choose their own calls: they see the system as it is.
import aiohttp, asyncio.unix_events, mcp.server.mcpserver, multiprocessing.util, numpy, pydantic, rich, scipy, subprocess, typer
for name in ("fcntl", "msvcrt", "resource", "pwd", "termios", "readline"):
    sys.modules[name] = None
for name in ("pread", "pwrite", "O_CLOEXEC", "O_NOFOLLOW", "O_DIRECTORY", "fork", "getuid", "uname"):
    delattr(os, name)
del signal.SIGHUP, signal.SIGKILL, signal.pthread_sigmask

def kill(process, number):
    raise SystemError(f"os.kill({process}, {number}) sends Ctrl-C")

def fsync(file, real=os.fsync):
    if stat.S_ISDIR(os.fstat(file).st_mode):
        raise PermissionError(13, "Permission denied")
    real(file)

os.kill, os.fsync = kill, fsync
opened = []

def record(event, arguments):
    if event == "open" and isinstance(arguments[0], str):
        opened.append(arguments[0])

sys.addaudithook(record)
import wayword
for module in pkgutil.walk_packages(wayword.__path__, "wayword."):
    try:
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    except ModuleNotFoundError as error:  # a package of one of the extras
        if sys.modules.get(error.name, error) is None or error.name.startswith("wayword"):
            raise
out, cache, listed = sys.argv[1:]
package = wayword.__path__[0]
data_files = [path for path in opened if path.startswith(package) and ".py" not in path]
Path(listed).write_text("\\n".join(data_files))
from wayword.cli import main
def ran(*words):
    sys.argv = ["wayword", *words]
    try:
        main()
    except SystemExit as end:
        assert not end.code, end
for limit in ("2", "3"):
    ran("run", "navgpt", "--on", "houses", "--model", "scripted:first", "--limit", limit,
        "--max-steps", "2", "--max-tokens", "1000000", "--cache", cache, "--out", out)
from wayword.viewer.library import progress_of
assert progress_of(Path(out)).done == 3
from wayword.models.middleware.cache import AnswerCache
one, other = AnswerCache(Path(cache)), AnswerCache(Path(cache))
assert (one.claim("question"), other.claim("question")) == (True, False)
print()
ran("table", out, "--format", "json")
"""  # noqa: E501


@pytest.fixture(scope="module")
def listed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file for the names of the data files that were opened at import."""
    return tmp_path_factory.mktemp("portable") / "opened.txt"


@pytest.fixture(scope="module")
def done(listed: Path) -> subprocess.CompletedProcess[str]:
    """A process that imports everything, runs and shows a table."""
    folder = listed.parent
    paths = [folder / "run", folder / "cache.db", listed]
    command = [sys.executable, "-c", ELSEWHERE, *map(str, paths)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_run_needs_no_call_that_only_some_systems_have(
    done: subprocess.CompletedProcess[str],
) -> None:
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout[done.stdout.index("\n{") :])["rows"][0]["n"] == 3


def test_no_data_file_is_opened_when_modules_are_imported(
    done: subprocess.CompletedProcess[str], listed: Path
) -> None:
    assert done.returncode == 0, done.stderr
    opened = listed.read_text(encoding="utf-8").split()
    assert opened == [], f"data files opened at import: {opened}"
