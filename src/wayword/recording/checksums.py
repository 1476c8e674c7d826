"""Checksums of data files: which data a number was measured on."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from wayword.core.errors import DataError

_SHORT = 12


class Checksums:
    """SHA-256 of files, each read once as long as its size and modification time stay the same.

    >>> Checksums().combined({})
    ''
    """

    def __init__(self) -> None:
        self._known: dict[tuple[Path, int, int], str] = {}

    def of(self, path: Path) -> str:
        """The file's SHA-256 in hex, 64 digits. Raises ``DataError`` where it cannot be read."""
        try:
            status = path.stat()
            key = (path.absolute(), status.st_size, status.st_mtime_ns)
            if key not in self._known:
                with path.open("rb") as file:
                    self._known[key] = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            problem = (error.strerror or str(error)).lower()
            raise DataError(path, "", problem, "fetch the data again") from error
        return self._known[key]

    def each(self, files: Mapping[str, Path]) -> dict[str, str]:
        """The SHA-256 of every file by its name, sorted, for ``config.json``."""
        return {name: self.of(files[name]) for name in sorted(files)}

    def combined(self, files: Mapping[str, Path]) -> str:
        """Twelve hex digits for all the files and their names: the split checksum of tables.

        Names count and folders do not, so that the same data elsewhere has the same checksum.
        Empty for no files (generated data).
        """
        if not files:
            return ""
        digest = hashlib.sha256()
        for name, checksum in self.each(files).items():
            digest.update(f"{checksum}  {name}\n".encode())
        return digest.hexdigest()[:_SHORT]
