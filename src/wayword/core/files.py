"""Reading published files: plain or gzipped, with errors that name the file and the way out."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import re
import secrets
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

from wayword.core.errors import DataError


def cache_folder() -> Path:
    """``$WAYWORD_CACHE``, else the user's cache folder. Everything in it can be made again."""
    named = os.environ.get("WAYWORD_CACHE")
    if named:
        return Path(named)
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "wayword"


def keep(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Write a cache file whole or not at all: ``keep(path, lambda file: file.write(content))``.

    A folder that cannot be written is no error: a missing cache only costs time.
    """
    partial = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with partial.open("wb") as file:
            write(file)
        partial.replace(path)  # atomic: other processes see the old file or the new one
    except OSError:
        with suppress(OSError):
            partial.unlink(missing_ok=True)


def sha256(path: Path) -> str:
    """The file's SHA-256, 64 hex digits. Raises ``OSError``."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def find_any(folder: Path, name: str) -> Path | None:
    """``folder/name`` or ``folder/name.gz``, whichever is there."""
    paths = (folder / name, folder / f"{name}.gz")
    return next((path for path in paths if path.is_file()), None)


def find(folder: Path, name: str) -> Path:
    """``folder/name`` or ``folder/name.gz``. Raises ``DataError`` where neither is there."""
    path = find_any(folder, name)
    if path is None:
        raise DataError(folder / name, "", "no such file (nor .gz)", "see `wayword data list`")
    return path


def read_bytes(path: Path) -> bytes:
    """The file's content, unzipped where its name ends in ``.gz``. Raises ``DataError``."""
    try:
        raw = path.read_bytes()
        return gzip.decompress(raw) if path.suffix == ".gz" else raw
    except OSError as error:
        problem = error.strerror or str(error)
        raise DataError(path, "", f"cannot be read ({problem})", "fetch it again") from error
    except (EOFError, zlib.error) as error:
        raise DataError(path, "", f"is not whole ({error})", "fetch it again") from error


def read_json(path: Path, without: re.Pattern[bytes] | None = None) -> Any:
    """A JSON file, plain or gzipped; what matches ``without`` is cut out before it is parsed.

    Raises ``DataError``.
    """
    text = read_bytes(path)
    try:
        return json.loads(without.sub(b"", text) if without else text)
    except (ValueError, RecursionError) as error:
        raise DataError(path, "", f"is not valid JSON ({error})", "fetch it again") from error


def read_json_lines(path: Path) -> Iterator[tuple[int, Any]]:
    """Line number (from 1) and value of each JSON line, blank ones left out."""
    for number, line in enumerate(read_bytes(path).splitlines(), 1):
        if not line.strip():
            continue
        try:
            yield number, json.loads(line)
        except (ValueError, RecursionError) as error:
            problem = f"is not valid JSON ({error})"
            raise DataError(path, f"line {number}", problem, "fetch it again") from error


def read_field(
    path: Path, where: str, record: Any, name: str, kind: type | tuple[type, ...]
) -> Any:
    """``record[name]``, of the kind it should be. Raises ``DataError`` naming record and field."""
    if not isinstance(record, dict):
        raise DataError(path, where, "is not an object")
    if name not in record:
        raise DataError(path, f"{where}, field {name!r}", "is missing")
    value = record[name]
    if not isinstance(value, kind):
        shown = repr(value) if len(repr(value)) < 60 else f"{repr(value)[:57]}..."
        raise DataError(path, f"{where}, field {name!r}", f"has the wrong type: {shown}")
    return value
