"""Append-only files of JSON lines, compressed or plain, that are whole after any crash.

``*.jsonl.gz`` holds a gzip member a line (RFC 1952), so any tool that reads gzip reads the file.
The member's checksum guards the line, and its header holds the member's size, in the extra field
``Ww`` (the size, then its complement, as little-endian 32-bit numbers), as BGZF does: so a line
that was cut short is told from one that was damaged, and the next line is found either way.

A line reaches the file in one write to a file opened for appending. A process that is killed leaves
every earlier line whole and at worst part of the last one; a power cut may leave zeros. Readers
skip both, and the next writer cuts them off. A disk that fills up in the middle of a line is rolled
back at once.
"""

from __future__ import annotations

import json
import os
import struct
import time
import zlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO

from wayword.core.episode import Json
from wayword.core.errors import RecordingError

_MAGIC = b"\x1f\x8b\x08\x04" + bytes(5) + b"\xff\x0c\0Ww\x08\0"
"""Deflate, with an extra field; no time and no name; one subfield of eight bytes."""
_HEAD, _FOOT = struct.Struct("<16sII"), struct.Struct("<II")
_ALL = 0xFFFFFFFF
_LEVEL = 6
"""Of zlib. Level 1 takes half of the time (0.5 ms less for 100 kB) and 1.7 times the space."""
_ZEROS = 16
"""Zeros at a file's end that no gzip member ends in, but a power cut leaves."""
_SYNC_EVERY = 1.0
"""Seconds between two syncs of a file that grows."""


@dataclass(frozen=True, slots=True)
class Member:
    """A line of a compressed file: its number from 1, the bytes that it takes up, its text.

    ``foot`` is the last of these bytes: the checksum and length of the text.
    """

    number: int
    at: int
    size: int
    foot: bytes
    line: bytes


def member(line: bytes) -> bytes:
    """The gzip member that holds the line and a newline."""
    deflate = zlib.compressobj(_LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
    body = deflate.compress(line) + deflate.compress(b"\n") + deflate.flush()
    size = _HEAD.size + len(body) + _FOOT.size
    head = _HEAD.pack(_MAGIC, size, size ^ _ALL)
    return head + body + _FOOT.pack(zlib.crc32(b"\n", zlib.crc32(line)), len(line) + 1 & _ALL)


def foot_of(raw: bytes) -> bytes:
    """The last bytes of a member."""
    return raw[-_FOOT.size :]


def line_in(raw: bytes) -> bytes:
    """The line of a whole member, without its newline. Raises ``ValueError`` if it is damaged."""
    if not raw or _size(raw) != len(raw):
        raise ValueError("is damaged: its header is not one of a record")
    inflate = zlib.decompressobj(-zlib.MAX_WBITS)
    try:
        line = inflate.decompress(raw[_HEAD.size : -_FOOT.size])
    except zlib.error:
        raise ValueError("is damaged: it cannot be decompressed") from None
    if not inflate.eof or _FOOT.pack(zlib.crc32(line), len(line) & _ALL) != foot_of(raw):
        raise ValueError("is damaged: it does not match its checksum")
    return line.removesuffix(b"\n")


def _size(head: bytes) -> int:
    """Bytes of the member that begins with ``head``; 0 where that is no header."""
    if len(head) < _HEAD.size:
        return 0
    magic, size, complement = _HEAD.unpack_from(head)
    genuine = magic == _MAGIC and size ^ complement == _ALL and size > _HEAD.size + _FOOT.size
    return int(size) if genuine else 0


def read_members(
    path: Path, at: int = 0, number: int = 0, gaps: list[str] | None = None
) -> Iterator[Member]:
    """The lines of a compressed file from byte ``at`` on, ``number`` of them before it.

    A file that does not exist has none. Raises ``RecordingError`` naming the first damaged record;
    with ``gaps``, damaged ones are listed there and the lines behind them follow.
    """
    try:
        with path.open("rb") as file:
            end = os.fstat(file.fileno()).st_size
            while at < end:
                number += 1
                file.seek(at)
                size = _size(file.read(_HEAD.size))
                try:
                    file.seek(at)
                    raw = file.read(size) if size <= end - at else b""
                    line = line_in(raw)
                except ValueError as error:
                    if _torn(file, at, end):
                        return
                    if gaps is None:
                        raise corrupt(path, number, f"{error} (from byte {at:,} on)") from None
                    begin, at = at, _next(file, at + 1, end)
                    gaps.append(f"{path}: record {number} {error} (bytes {begin:,} to {at:,})")
                else:
                    yield Member(number, at, size, foot_of(raw), line)
                    at += size
    except FileNotFoundError:
        return
    except OSError as error:
        raise unusable(path, error) from error


def read_member(path: Path, number: int, at: int, size: int) -> bytes:
    """The line whose member takes up ``size`` bytes from byte ``at`` on.

    Raises ``RecordingError`` where it is damaged.
    """
    try:
        with path.open("rb") as file:
            file.seek(at)
            return line_in(file.read(size))
    except ValueError as error:
        raise corrupt(path, number, f"{error} (from byte {at:,} on)") from None
    except OSError as error:
        raise unusable(path, error) from error


def _torn(file: BinaryIO, at: int, end: int) -> bool:
    """True if a killed writer or a power cut left what stands from ``at`` to the file's end."""
    file.seek(at)
    head = file.read(_HEAD.size)
    if _size(head) > end - at:
        return True
    if len(head) < _HEAD.size and _MAGIC.startswith(head[: len(_MAGIC)].rstrip(b"\0")):
        return True
    file.seek(max(at, end - _ZEROS))
    return not file.read().strip(b"\0") and _next(file, at + 1, end) == end


def _next(file: BinaryIO, at: int, end: int) -> int:
    """The first byte of the next whole member from ``at`` on; ``end`` where there is none."""
    while at < end:
        file.seek(at)
        found = (chunk := file.read(1 << 20)).find(_MAGIC)
        if found < 0:
            at += max(1, len(chunk) - len(_MAGIC) + 1)
            continue
        at += found
        file.seek(at)
        size = _size(file.read(_HEAD.size))
        with suppress(ValueError):
            file.seek(at)
            line_in(file.read(size) if size <= end - at else b"")
            return at
        at += 1
    return end


def parsed(path: Path, number: int, line: bytes) -> dict[str, Json]:
    """The line's object. Raises ``RecordingError`` naming file and record where it is none."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise corrupt(path, number, f"is not JSON ({error})") from error
    if not isinstance(found, dict):
        raise corrupt(path, number, "is not a JSON object")
    return found


# Plain files, of small lines.


def read_lines(path: Path) -> Iterator[tuple[int, dict[str, Json]]]:
    """The objects of a plain file with the numbers of their lines, from 1; part of a line at the
    end left out. Raises ``RecordingError`` naming file and line."""
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if line.endswith(b"\n"):
                    yield number, parsed(path, number, line)
    except FileNotFoundError:
        return
    except OSError as error:
        raise unusable(path, error) from error


def lines_end(path: Path) -> int:
    """Bytes of the whole lines of a plain file, those of part of a line at its end left out."""
    with suppress(FileNotFoundError):
        return path.read_bytes().rfind(b"\n") + 1
    return 0


# Writing.


class Appender:
    """Appends to a file, in one write each.

    What is appended survives the end of the process at once. It survives a power cut once synced:
    with the first write a second or more after the last sync, and at ``close``.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = path.open("ab", buffering=0)
        self._length = os.fstat(self._file.fileno()).st_size
        self._synced, self._dirty = time.monotonic(), False

    @property
    def length(self) -> int:
        """Bytes of the file."""
        return self._length

    def cut(self, end: int) -> int:
        """Drop what stands behind byte ``end``; returns how many bytes that were."""
        dropped = self._length - end
        if dropped:
            self._file.truncate(end)
            self._length, self._dirty = end, True
        return dropped

    def lock(self) -> bool:
        """Take the system's advisory lock; False where another process holds it."""
        return _locked(self._file)

    def append(self, raw: bytes) -> None:
        """Write it whole, or raise ``RecordingError`` and leave the file as it was."""
        try:
            written = 0
            while written < len(raw):  # a short write means a full disk: the next one says so
                written += self._file.write(raw[written:] if written else raw) or 0
        except OSError as error:
            with suppress(OSError):  # part of a line that stays is dropped at the next start
                self._file.truncate(self._length)
            remedy = "finished episodes are safe; make room and run the same command again"
            raise unusable(self._path, error, remedy) from error
        self._length += len(raw)
        self._dirty = True
        if time.monotonic() - self._synced >= _SYNC_EVERY:
            self._sync()

    def _sync(self) -> None:
        try:
            os.fsync(self._file.fileno())
        except OSError as error:
            raise unusable(self._path, error, "the last episodes may not be on disk") from error
        if os.fstat(self._file.fileno()).st_nlink == 0:
            raise RecordingError(f"{self._path}: the file was deleted while the run was writing")
        self._synced, self._dirty = time.monotonic(), False

    def close(self) -> None:
        """Sync and close. Raises ``RecordingError`` where the disk does not take it."""
        try:
            if self._dirty:
                self._sync()
        finally:
            self._file.close()


def _locked(file: Any) -> bool:
    """Take the lock of an open file, released when the file is closed or the process ends; True
    also on systems without such locks."""
    for name in ("fcntl", "msvcrt"):
        with suppress(ImportError):
            library = import_module(name)
            try:
                if name == "fcntl":
                    library.flock(file, library.LOCK_EX | library.LOCK_NB)
                else:
                    file.seek(1 << 40)  # on Windows what is locked cannot be read: far behind all
                    library.locking(file.fileno(), library.LK_NBLCK, 1)
            except OSError:
                return False
            return True
    return True


def whole(path: Path, content: bytes) -> None:
    """Write a file whole or not at all: to one next to it that is synced and then renamed."""
    new = path.with_name(f".{path.name}.new")
    with new.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)
    with suppress(OSError):  # not every system opens folders
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


# Errors.


def corrupt(path: Path, number: int, problem: str) -> RecordingError:
    """The error for a record that is not what a run wrote."""
    if path.suffix != ".gz":
        return RecordingError(f"{path}: line {number}: {problem}; delete that line")
    remedy = f"`wayword merge {path.parent} --out NEW` copies all the others"
    again = "and the same run command with --out NEW plays that episode again"
    return RecordingError(f"{path}: record {number}: {problem}; {remedy}, {again}")


def unusable(path: Path, error: OSError, remedy: str = "") -> RecordingError:
    """The error for what the system refused."""
    line = f"{path}: {(error.strerror or str(error)).lower()}"
    return RecordingError(f"{line}; {remedy}" if remedy else line)
