"""Engines in processes: started when they are needed, and used for one game after the other."""

from __future__ import annotations

import json
import subprocess
import sys
import weakref
from collections.abc import Mapping
from threading import Lock
from typing import Any

from wayword.core.errors import DataError, UsageError

GAMES = 200
"""Games after which a process ends: each leaves some memory behind in the planner."""


class Process:
    """A process with an engine. Raises ``UsageError`` if the package is not installed."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", "wayword.worlds.alfworld.engine"]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
        )
        self.games = 0

    def ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return the answer to a request. Raises ``DataError`` if the process has ended."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self.games += "game" in request
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except OSError:
            line = ""
        if not line:
            code = self._process.wait()
            problem = f"its engine ended with code {code}"
            raise DataError("alfworld", "game", problem, "resume the run")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()


class Lease:
    """An engine for one world. Its process returns to the others when the world is gone."""

    def __init__(self) -> None:
        self._process = _take()
        weakref.finalize(self, _give_back, self._process)

    def ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return the answer to a request."""
        return self._process.ask(request)


_idle: list[Process] = []
_lock = Lock()


def _take() -> Process:
    """An idle process, else a new one."""
    with _lock:
        if _idle:
            return _idle.pop()
    return Process()


def _give_back(process: Process) -> None:
    """Keep a process for the next world, unless it has played enough."""
    if process.games >= GAMES:
        process.close()
        return
    with _lock:
        _idle.append(process)


def check_installed() -> None:
    """Raise ``UsageError`` unless ALFWorld and its engine are installed."""
    from importlib.util import find_spec

    if not (find_spec("alfworld") and find_spec("textworld")):
        raise UsageError("alfworld needs its package: make extra-alfworld")
