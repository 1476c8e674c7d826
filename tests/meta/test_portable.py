"""The package needs no call that only some systems have."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

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
import wayword
for module in pkgutil.walk_packages(wayword.__path__, "wayword."):
    try:
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    except ModuleNotFoundError as error:  # a package of one of the extras
        if sys.modules.get(error.name, error) is None or error.name.startswith("wayword"):
            raise
from wayword.cli import main
def ran(*words):
    sys.argv = ["wayword", *words]
    try:
        main()
    except SystemExit as end:
        assert not end.code, end
out, cache = sys.argv[1:]
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


def test_a_run_needs_no_call_that_only_some_systems_have(tmp_path: Path) -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            ELSEWHERE,
            str(tmp_path / "run"),
            str(tmp_path / "cache.db"),
        ],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout[done.stdout.index("\n{") :])["rows"][0]["n"] == 3
