"""A file of JSON lines that only grows, and is whole after any crash.

A line goes to the file in one write to a descriptor opened for appending, so a process killed at
any moment leaves every earlier line whole, and at worst half of the last one. Half a line has no
newline at its end: it is dropped when the file is opened for writing again. A disk that fills up
in the middle of a line is rolled back at once.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from wayword.core.episode import Json
from wayword.core.errors import RecordingError

_SYNC_EVERY = 1.0
_TAIL = 1 << 16


class LineWriter:
    """Appends lines. ``dropped`` counts the bytes of a half-written line found at opening.

    A finished line survives the end of its process at once. It survives a power cut once synced:
    with the first line written a second or more after the last sync, and at ``close``.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        size = os.fstat(self._descriptor).st_size
        self._length = self._whole(size)
        self.dropped = size - self._length
        if self.dropped:
            os.ftruncate(self._descriptor, self._length)
        self._synced, self._dirty = time.monotonic(), bool(self.dropped)

    def _whole(self, size: int) -> int:
        """The length up to and with the last newline."""
        end = size
        while end > 0:
            start = max(0, end - _TAIL)
            found = os.pread(self._descriptor, end - start, start).rfind(b"\n")
            if found >= 0:
                return start + found + 1
            end = start
        return 0

    def append(self, line: bytes) -> None:
        """Write the line and its newline. Raises ``RecordingError``; then nothing is kept."""
        whole = line + b"\n"
        try:
            written = 0
            while written < len(whole):  # a short write means a full disk: the next one says so
                written += os.write(self._descriptor, whole[written:] if written else whole)
        except OSError as error:
            raise self._rolled_back(error) from error
        self._length += len(whole)
        self._dirty = True
        if time.monotonic() - self._synced >= _SYNC_EVERY:
            self._sync()

    def _rolled_back(self, error: OSError) -> RecordingError:
        remedy = "finished episodes are safe; make room and run the same command again"
        with suppress(OSError):  # half a line that cannot be taken back is dropped at the next run
            os.ftruncate(self._descriptor, self._length)
        return unusable(self._path, error, remedy)

    def _sync(self) -> None:
        try:
            os.fsync(self._descriptor)
        except OSError as error:
            raise unusable(self._path, error, "the last episodes may not be on disk") from error
        if os.fstat(self._descriptor).st_nlink == 0:
            raise RecordingError(f"{self._path}: the file was deleted while the run was writing")
        self._synced, self._dirty = time.monotonic(), False

    def close(self) -> None:
        """Sync and close. Raises ``RecordingError`` where the disk does not take it."""
        try:
            if self._dirty:
                self._sync()
        finally:
            os.close(self._descriptor)


def read_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """The whole lines of the file, without their newlines, numbered from 1.

    Half a line at the end (of a run that was killed, or is writing now) is left out, and a file
    that is not there has none. Raises ``RecordingError`` for one that cannot be read.
    """
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if line.endswith(b"\n"):
                    yield number, line[:-1]
    except FileNotFoundError:
        return
    except OSError as error:
        raise unusable(path, error) from error


def parse_line(path: Path, number: int, line: bytes) -> dict[str, Json]:
    """The line's object. Raises ``RecordingError`` naming file and line where it is none."""
    try:
        parsed = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise corrupt(path, number, f"is not JSON ({error})") from error
    if not isinstance(parsed, dict):
        raise corrupt(path, number, "is not a JSON object")
    return parsed


def corrupt(path: Path, number: int, problem: str) -> RecordingError:
    """The error for a line that is not what the run wrote."""
    remedy = "delete that line, and the same command plays its episode again"
    return RecordingError(f"{path}: line {number}: {problem}; {remedy}")


def unusable(path: Path, error: OSError, remedy: str = "") -> RecordingError:
    """The error for what the system refused."""
    line = f"{path}: {(error.strerror or str(error)).lower()}"
    return RecordingError(f"{line}; {remedy}" if remedy else line)
