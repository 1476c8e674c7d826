"""One writer a run folder: an advisory lock that the system drops when its process dies."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from wayword.core.errors import RecordingError


class FolderLock:
    """Held from construction to ``close``. The file holds the owner's process number.

    Raises ``RecordingError`` where another process (or this one, before) holds it.
    """

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            self._take(path)
        except BaseException:
            os.close(self._descriptor)
            raise

    def _take(self, path: Path) -> None:
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = os.pread(self._descriptor, 32, 0).decode("ascii", "replace").strip()
            raise RecordingError(
                f"{path.parent}: process {owner or '(unknown)'} is writing to this run folder; "
                "wait for it to end, or give another folder"
            ) from None
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, f"{os.getpid()}\n".encode(), 0)

    def close(self) -> None:
        """Let others write. The file stays: removing it could take another's lock away."""
        os.close(self._descriptor)
