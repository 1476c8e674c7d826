"""Engines in processes: started when they are needed, and used for one game after the other."""

from __future__ import annotations

import json
import subprocess
import sys
import weakref
from collections.abc import Mapping
from contextlib import suppress
from threading import Timer
from typing import Any

from wayword.core.errors import DataError, UsageError

# Games after which a process ends: each leaves some memory behind in the engine.
GAMES = 200

# Time limit of a request. Translating a large game takes seconds; one that hangs, for ever.
SECONDS = 600.0

COMMAND = (sys.executable, "-m", "wayword.worlds.alfworld.engine")


class Process:
    """A process with an engine."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            COMMAND,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
            # Ctrl-C is for the run, which still needs its engines to end in order.
            start_new_session=True,
        )
        self._games = 0
        self._has_answered = True

    @property
    def is_usable(self) -> bool:
        """True if the process can play another game. One that was left during a request cannot: the
        next game would read the answer."""
        is_alive = self._process.poll() is None
        return is_alive and self._has_answered and self._games < GAMES

    def ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return the answer to a request. Raises ``DataError`` if the process has ended."""
        self._games += "game" in request
        self._has_answered = False
        limit = Timer(SECONDS, self._process.kill)
        limit.daemon = True
        limit.start()
        try:
            line = self._exchange(json.dumps(request) + "\n")
            # Of a process that is killed while it writes, the line has no end.
            if not line.endswith("\n"):
                code = self._process.wait()
                problem = f"its engine ended with code {code}, or took {SECONDS:g} s"
                raise DataError("alfworld", "game", problem, "resume the run")
        finally:
            limit.cancel()
        answer: dict[str, Any] = json.loads(line)
        self._has_answered = True
        return answer

    def _exchange(self, line: str) -> str:
        """The line that answers a line; without its end, or empty, if the process ends."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(line)
            self._process.stdin.flush()
            return self._process.stdout.readline()
        except OSError:
            return ""

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            # A request that did not reach the process is still in the pipe.
            with suppress(OSError):
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


# Without a lock: worlds are collected at any moment, also in the middle of these functions. That
# an item is added or removed as one step is enough.
_idle: list[Process] = []


def _take() -> Process:
    """An idle process, else a new one."""
    with suppress(IndexError):
        while True:
            process = _idle.pop()
            if process.is_usable:
                return process
            process.close()
    return Process()


def _give_back(process: Process) -> None:
    """Keep a process for the next world, if it can play another game."""
    if process.is_usable:
        _idle.append(process)
    else:
        process.close()


def check_installed() -> None:
    """Raise ``UsageError`` unless ALFWorld and its engine are installed."""
    from importlib.util import find_spec

    if not (find_spec("alfworld") and find_spec("textworld")):
        raise UsageError("alfworld needs its package: make extra-alfworld")
