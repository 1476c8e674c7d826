"""One writer a run folder, on this machine and on others that share the disk.

On one machine the system's advisory lock decides, which it drops when its process dies. Between
machines not every file system passes locks on, so the file is a lease as well: its owner touches it
every few seconds, and one that has not been touched for a minute is free.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import socket
import threading
import time
from contextlib import suppress
from pathlib import Path

from wayword.core.errors import RecordingError

TOUCHED = 15.0
"""Seconds between two touches."""
EXPIRED = 60.0
"""Seconds without a touch after which another machine's lease is over."""


class FolderLock:
    """Held from construction to ``close``. The file holds the owner's process number and machine.

    Raises ``RecordingError`` where another process (or this one, before) holds it.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._text = f"{os.getpid()}\n{socket.gethostname()} {secrets.token_hex(8)}\n"
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            self._take()
        except BaseException:
            os.close(self._descriptor)
            raise
        self._closed = threading.Event()
        self._toucher = threading.Thread(target=self._touch, name="wayword-lease", daemon=True)
        self._toucher.start()

    def check(self) -> None:
        """Raises ``RecordingError`` once the lease was deleted, or is another's."""
        try:
            mine = self._path.read_bytes() == self._text.encode()
        except OSError:
            mine = False
        if not mine:
            raise RecordingError(
                f"{self._path}: was deleted or taken over while this run was writing; what is "
                "finished is kept, the same command goes on once no other process writes here"
            )

    def close(self) -> None:
        """Let others write. The file stays: removing it could take another's lock away."""
        self._closed.set()
        self._toucher.join()  # before its descriptor may become another file's
        with suppress(OSError):
            os.ftruncate(self._descriptor, 0)
        os.close(self._descriptor)

    def _take(self) -> None:
        told = os.pread(self._descriptor, 300, 0).decode("ascii", "replace").splitlines()
        owner, host = [*told, "", ""][0].strip(), [*told, "", ""][1].partition(" ")[0]
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise _taken(self._path, owner) from None
        age = time.time() - os.fstat(self._descriptor).st_mtime
        if host not in ("", socket.gethostname()) and -EXPIRED < age < EXPIRED:
            raise _taken(self._path, f"{owner} on {host}")
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, self._text.encode(), 0)

    def _touch(self) -> None:
        while not self._closed.wait(TOUCHED):
            with suppress(OSError):  # a closed descriptor, or a disk that is away
                os.utime(self._descriptor)


def hold(descriptor: int, path: Path) -> None:
    """Lock a file of the folder itself, so that deleting the lease lets nobody else in.

    Raises ``RecordingError`` where another process writes to it.
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise _taken(path, "") from None


def _taken(path: Path, owner: str) -> RecordingError:
    return RecordingError(
        f"{path.parent}: process {owner or '(unknown)'} is writing to this run folder; "
        "wait for it to end, or give another folder"
    )
