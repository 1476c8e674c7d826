"""A file of JSON lines that only grows, and is whole after any crash.

A line goes to the file in one write to a descriptor opened for appending, so a process killed at
any moment leaves every earlier line whole, and at worst half of the last one. Half a line has no
newline at its end: it is dropped when the file is opened for writing again. A disk that fills up
in the middle of a line is rolled back at once.
"""

from __future__ import annotations

import base64
import dataclasses
import json
import math
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from wayword.core.episode import Json
from wayword.core.errors import RecordingError
from wayword.core.secrets import redacted

# Any value an observation, a place or a setting may hold, as JSON and back.
#
# What JSON has is written as it is. The rest:
#
#     ===============================  ==========================================================
#     tuple, array, set, sequence      a list (sets sorted)
#     dataclass                        ``{"type": "IndoorObservation", "heading": 90.0, ...}``
#     enum, numpy scalar, path         its plain value
#     nan, infinity                    ``{"$float": "nan"}``, ``"inf"``, ``"-inf"``
#     bytes                            ``{"$bytes": "<base64>"}``
#     mapping with other keys than     ``{"$map": [[key, value], ...]}``
#     strings
#     ===============================  ==========================================================
#
# A string key that begins with ``$`` is written with a second ``$``, so no text can pass for one
# of these marks. JSON itself knows no nan (RFC 8259, section 6), and neither does ``jq``.

_PLAIN = frozenset({str, int, bool, type(None)})
_TEXT = frozenset({str})
_COMPACT = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
_ESCAPED = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":"))


def plain(value: Any) -> Json:
    """The value made of dict, list, str, int, finite float, bool and None.

    Raises ``RecordingError`` for a type that has no such form.
    """
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is float:
        return value if math.isfinite(value) else {"$float": repr(value)}
    if kind is dict:
        return _mapping(value)
    if kind is list or kind is tuple:
        return [item if type(item) in _PLAIN else plain(item) for item in value]
    names = _fields(kind)  # type: ignore[arg-type]  # mypy doubts that classes are hashable
    if names is not None:
        written = {"type": kind.__name__}
        for key, name in names:
            item = getattr(value, name)
            written[key] = item if type(item) in _PLAIN else plain(item)
        return written
    return _rare(value)


def restore(value: Json) -> Any:
    """What ``plain`` wrote: lists stay lists and dataclasses stay mappings.

    Raises ``ValueError`` or ``TypeError`` where a ``$`` mark holds something it cannot.
    """
    kind = type(value)
    if kind is dict:
        if len(value) == 1:
            ((key, inner),) = value.items()
            mark = _MARKS.get(key)
            if mark is not None:
                return mark(inner)
        return {(k[1:] if k[:1] == "$" else k): restore(v) for k, v in value.items()}
    if kind is list:
        return [restore(item) for item in value]
    return value


def dump(value: Json) -> bytes:
    """One line of JSON in UTF-8, without its newline and without any secret that is known.

    Text with half a surrogate pair, which UTF-8 cannot hold, is written in ASCII escapes.
    """
    try:
        return redacted(_COMPACT.encode(value)).encode()
    except UnicodeEncodeError:
        return redacted(_ESCAPED.encode(value)).encode()


@cache
def _fields(kind: type) -> tuple[tuple[str, str], ...] | None:
    """A dataclass's fields as (key, name), None for others; the field ``type`` gets ``type_``."""
    if not dataclasses.is_dataclass(kind):
        return None
    names = [field.name for field in dataclasses.fields(kind)]
    return tuple(("type_" if name == "type" else name, name) for name in names)


def _mapping(value: Mapping[Any, Any]) -> Json:
    if set(map(type, value)) <= _TEXT:
        # Most values are plain: calling nothing for those halves the time of a record.
        return {
            ("$" + k if k[:1] == "$" else k): v if type(v) in _PLAIN else plain(v)
            for k, v in value.items()
        }
    keys = [plain(key) for key in value]
    if all(type(key) is str for key in keys):  # names of an enum, numpy's strings
        return _mapping(dict(zip(keys, value.values(), strict=True)))
    return {"$map": [[k, plain(v)] for k, v in zip(keys, value.values(), strict=True)]}


def _rare(value: Any) -> Json:
    """Numpy's types, enums, subclasses of the plain types, and other people's containers."""
    if isinstance(value, Enum):
        return plain(value.value)
    for base in (bool, int, float, str):
        if isinstance(value, base) and type(value) is not base:
            return plain(base.__str__(value) if base is str else base(value))
    if isinstance(value, np.generic | np.ndarray):
        return _numbers(value)
    if isinstance(value, bytes | bytearray):
        return {"$bytes": base64.b64encode(value).decode()}
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    return _container(value)


def _numbers(value: np.generic | np.ndarray[Any, Any]) -> Json:
    listed = value.tolist()
    if type(listed) is type(value):  # numpy's own odd kinds (long double) have no plain twin
        raise RecordingError(f"a value of type {type(value).__name__!r} cannot be recorded")
    if value.dtype.kind in "biu" or (value.dtype.kind == "f" and bool(np.isfinite(value).all())):
        return listed
    return plain(listed)


def _container(value: Any) -> Json:
    if isinstance(value, Mapping):
        return _mapping(value)
    if isinstance(value, Set):
        return sorted((plain(item) for item in value), key=dump)
    if isinstance(value, Sequence):
        return [plain(item) for item in value]
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    remedy = "make it of JSON values, dataclasses, enums or numpy arrays"
    raise RecordingError(f"a value of type {kind!r} cannot be recorded; {remedy}")


def _pairs(pairs: Json) -> dict[Any, Any]:
    return {_key(key): restore(value) for key, value in pairs}


def _key(key: Json) -> Any:
    """A key as it was; a tuple became a list, which cannot be a key."""
    restored = restore(key)
    return tuple(_key(item) for item in key) if isinstance(restored, list) else restored


_MARKS: dict[str, Callable[[Json], Any]] = {
    "$float": float,
    "$bytes": base64.b64decode,
    "$map": _pairs,
}
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

    @property
    def descriptor(self) -> int:
        """The open file."""
        return self._descriptor

    @property
    def length(self) -> int:
        """Bytes of whole lines."""
        return self._length

    @property
    def empty(self) -> bool:
        """Whether the file holds no whole line."""
        return self._length == 0

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


def whole(path: Path, lines: Iterable[bytes]) -> None:
    """Write a file whole or not at all: to one beside it that is synced and then renamed."""
    beside = path.with_name(f".{path.name}.new")
    with beside.open("wb") as file:
        file.writelines(line + b"\n" for line in lines)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def read_lines(path: Path, at: int = 0, number: int = 0) -> Iterator[tuple[int, bytes]]:
    """The whole lines of the file, without their newlines, numbered from 1.

    With ``at``, a line's first byte, those from there on; ``number`` lines stand before it. Half a
    line at the end (of a run that was killed, or is writing now) is left out, and a file that is
    not there has none. Raises ``RecordingError`` for one that cannot be read, or ends in zeros: no
    run writes these, a power cut leaves them where finished episodes were.
    """
    try:
        with path.open("rb") as file:
            file.seek(at)
            for count, line in enumerate(file, number + 1):
                if line.endswith(b"\n"):
                    yield count, line[:-1]
                elif b"\0" in line:
                    remedy = "the same run command drops them, and plays again what is lost"
                    zeros = f"ends in {line.count(0):,} zero bytes, as a power cut leaves them"
                    raise RecordingError(f"{path}: line {count}: {zeros}; {remedy}")
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
