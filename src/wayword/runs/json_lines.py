"""Files: append-only, one JSON object per line, compressed or plain, readable after any crash.

In ``*.jsonl.gz`` each line is a separate gzip member (RFC 1952), so any gzip tool can read the
file. The member's checksum protects the line. As in BGZF, the header contains the member's size,
in the extra field ``Ww`` (the size, then its complement, as little-endian 32-bit integers), so a
reader can distinguish a truncated line from a damaged one, and can find the next line after both.

Each line is appended with a single write. A killed process leaves all earlier lines intact and at
most part of the last one; a power cut may leave zeros. Readers skip both, and the next writer
removes them. If the disk fills up during a write, the partial line is removed at once.
"""

from __future__ import annotations

import errno
import gzip
import os
import struct
import time
import zlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO

from wayword.core.episode import Json
from wayword.core.errors import RecordingError, reason_of, remedy_of
from wayword.core.files import open_regular
from wayword.core.shapes import parse_untrusted

_MAGIC = b"\x1f\x8b\x08\x04" + bytes(5) + b"\xff\x0c\0Ww\x08\0"
"""Start of a gzip member: deflate, no time, no name, an extra field with one 8-byte subfield."""
# The start, the member's size and its complement
_HEAD = struct.Struct("<16sII")
_FOOT = struct.Struct("<II")
FOOT_SIZE = _FOOT.size
"""Bytes at the end of a member: CRC-32 and length of its text."""
# 32 bits: a length is stored modulo 2**32, and checked by its complement
_MASK = 0xFFFFFFFF
_LEVEL = 6  # zlib level 1 would take half the time (0.5 ms less per 100 kB) but 1.7 times the space
# Bytes that a power cut may leave at the end: a record has far fewer.
_MOST_TORN = 64 << 20
_ZEROS = 16  # more trailing zeros than any gzip member has; a power cut leaves them
_MOST_BYTES = 64 << 20
_MOST_RATIO = 200
"""A line is at most 64 MiB long, or 200 times its compressed size: recorded prompts repeat
themselves up to 50 times, a decompression bomb 1,000 times."""
# Errors of a lock that another process holds, the last one on Windows. Others are those of file
# systems without locks, each with its own: https://github.com/tox-dev/filelock/issues/67
_HELD = frozenset({errno.EAGAIN, errno.EACCES, errno.EDEADLK})
_SYNC_EVERY = 1.0  # seconds between two syncs of a growing file


@dataclass(frozen=True, slots=True)
class Member:
    """A line of a compressed file.

    ``number`` counts from 1; the member starts at byte ``at`` and has ``size`` bytes,
    the last of which are ``foot``: checksum and length, which identify the record.
    """

    number: int
    at: int
    size: int
    foot: bytes
    line: bytes


def member(line: bytes) -> bytes:
    """Return the gzip member of a line; a newline is added."""
    deflate = zlib.compressobj(_LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
    body = deflate.compress(line) + deflate.compress(b"\n") + deflate.flush()
    size = _HEAD.size + len(body) + _FOOT.size
    head = _HEAD.pack(_MAGIC, size, size ^ _MASK)
    checksum = zlib.crc32(b"\n", zlib.crc32(line))
    foot = _FOOT.pack(checksum, len(line) + 1 & _MASK)
    return head + body + foot


def line_in(raw: bytes) -> bytes:
    """Return the line in a gzip member, without its newline.

    Raises ``ValueError`` if it is damaged, or expands beyond what a record may have.
    """
    if not raw or _size(raw) != len(raw):
        raise ValueError("is damaged: it has no valid header")
    inflate = zlib.decompressobj(-zlib.MAX_WBITS)
    try:
        limit = max(_MOST_BYTES, _MOST_RATIO * len(raw))
        line = inflate.decompress(raw[_HEAD.size : -FOOT_SIZE], limit)
    except zlib.error:
        raise ValueError("is damaged: it cannot be decompressed") from None
    if len(line) == limit:
        raise ValueError(f"is damaged: it is longer than {limit:,} bytes")
    foot = _FOOT.pack(zlib.crc32(line), len(line) & _MASK)
    if not inflate.eof or foot != raw[-FOOT_SIZE:]:
        raise ValueError("is damaged: it does not match its checksum")
    return line.removesuffix(b"\n")


def _size(head: bytes) -> int:
    """Return the size in bytes of the member with this header; 0 if it is not a valid header."""
    if len(head) < _HEAD.size:
        return 0
    magic, size, complement = _HEAD.unpack_from(head)
    if magic != _MAGIC or size ^ complement != _MASK:
        return 0
    if size <= _HEAD.size + _FOOT.size:
        return 0  # without content
    return int(size)


def _line_at(file: BinaryIO, at: int, end: int) -> tuple[bytes, bytes]:
    """Return the gzip member at an offset, and its line. Raises ``ValueError`` if it is damaged.

    ``end`` is the length of the file when reading began.
    """
    file.seek(at)
    head = file.read(_HEAD.size)
    size = _size(head)
    raw = head + file.read(size - len(head)) if 0 < size <= end - at else b""
    return raw, line_in(raw)


def read_members(
    path: Path,
    at: int = 0,
    number: int = 0,
    gaps: list[str] | None = None,
) -> Iterator[Member]:
    """Iterate over the lines of a compressed file from byte ``at``; ``number`` lines precede it.

    A missing file has no lines, and a partial last line is no damage. Raises
    ``RecordingError`` for the first damaged record; if ``gaps`` is given, appends a
    description of each to it and continues with the next record.
    """
    try:
        with open_regular(path) as file:
            # The length at the start: a running process may append records.
            end = os.fstat(file.fileno()).st_size
            while at < end:
                number += 1
                try:
                    raw, line = _line_at(file, at, end)
                except ValueError as error:
                    if _torn(file, at, end):
                        return
                    if gaps is None and number == 1 and is_plain(path):
                        raise RecordingError(
                            f"{path}: was compressed again by another program; `wayword merge "
                            f"{path.parent} --out NEW` makes a run folder of it"
                        ) from None
                    if gaps is None:
                        problem = f"{error} (at byte {at:,})"
                        raise corrupt(path, number, problem) from None
                    begin = at
                    at = _next(file, at + 1, end)
                    span = f"bytes {begin:,} to {at:,}"
                    gaps.append(f"{path}: record {number} {error} ({span})")
                else:
                    yield Member(number, at, len(raw), raw[-FOOT_SIZE:], line)
                    at += len(raw)
    except FileNotFoundError:
        return
    except OSError as error:
        raise unusable(path, error) from error


def is_plain(path: Path) -> bool:
    """True for an ordinary gzip file, as ``zcat … | grep -v … | gzip`` writes it.

    Such a file lacks the headers that tell where each record starts. False for a
    missing file.
    """
    with suppress(OSError), open_regular(path) as file:
        head = file.read(4)
        end = os.fstat(file.fileno()).st_size
        is_gzip = head[:3] == _MAGIC[:3]
        # The fourth byte has the flag of the extra field.
        has_own_header = head == _MAGIC[:4]
        return is_gzip and not has_own_header and _next(file, 0, end) == end
    return False


def read_plain(path: Path, gaps: list[str]) -> Iterator[Member]:
    """Iterate over the lines of an ordinary gzip file, each encoded as a member of its own.

    A damaged rest is described in ``gaps`` and ends the iteration. ``at`` is 0 for all.
    """
    number = 0
    try:
        with gzip.open(path, "rb") as file:
            while line := file.readline(_MOST_BYTES):
                number += 1
                raw = member(line.rstrip(b"\r\n"))
                yield Member(number, 0, len(raw), raw[-FOOT_SIZE:], line.strip())
    except (OSError, EOFError, zlib.error) as error:
        gaps.append(f"{path}: is damaged after record {number}: {error}")


def read_member(path: Path, number: int, at: int) -> dict[str, Json]:
    """Return the JSON object of the record at a byte offset.

    ``number`` is that of the record, for the error. Raises ``RecordingError`` if it is
    damaged.
    """
    for record in read_members(path, at, number - 1):
        return parsed(path, number, record.line)
    raise corrupt(path, number, f"is damaged: it is truncated (at byte {at:,})")


def _torn(file: BinaryIO, at: int, end: int) -> bool:
    """True if the rest of the file is what a killed writer or a power cut leaves.

    That is a header that promises more bytes than there are, part of a header, or zeros
    at the end with no intact record behind ``at``. Damage in the middle of a file is
    none of these.
    """
    file.seek(at)
    head = file.read(_HEAD.size)
    if _size(head) > end - at:
        return True
    # At most part of a header, then a few zeros
    is_short = end - at < _HEAD.size + _ZEROS
    written = head[: len(_MAGIC)].rstrip(b"\0")
    if is_short and not _size(head) and _MAGIC.startswith(written):
        return True
    if end - at > _MOST_TORN:
        return False
    file.seek(max(at, end - _ZEROS))
    return not file.read().strip(b"\0") and _next(file, at + 1, end) == end


def _next(file: BinaryIO, at: int, end: int) -> int:
    """Return the offset of the first intact member at or after ``at``; ``end`` if there is none."""
    while at < end:
        file.seek(at)
        chunk = file.read(1 << 20)
        begin = chunk.find(_MAGIC)
        # Zeros only: likely a hole, which may be far larger than all data.
        if begin < 0 and not chunk.strip(b"\0"):
            at = _data_after(file, at + len(chunk), end)
            continue
        if begin < 0:
            # Chunks overlap: the magic may lie across the border of two.
            at += max(1, len(chunk) - len(_MAGIC) + 1)
            continue
        at += begin
        # The magic may occur in compressed data: only a readable member counts.
        with suppress(ValueError):
            _line_at(file, at, end)
            return at
        at += 1
    return end


def _data_after(file: BinaryIO, at: int, end: int) -> int:
    """Return the offset of the first data at or after ``at``.

    Skips the holes of a sparse file, which may claim any size.
    """
    try:
        return max(at, os.lseek(file.fileno(), at, os.SEEK_DATA))
    except AttributeError:  # not on this system
        return at
    except OSError:  # no data is left
        return end


def parsed(path: Path, number: int, line: bytes) -> dict[str, Json]:
    """Return the JSON object of a line.

    Raises ``RecordingError``, which names the file and the record.
    """
    try:
        value = parse_untrusted(line)
    except ValueError as error:
        raise corrupt(path, number, f"is not JSON ({error})") from error
    if not isinstance(value, dict):
        raise corrupt(path, number, "is not a JSON object")
    return value


# Bytes of a line: the longest ones have the prices of all models.
_LONGEST_LINE = 1 << 20


def read_lines(path: Path) -> Iterator[tuple[int, dict[str, Json]]]:
    """Iterate over the line numbers (from 1) and JSON objects of a plain file.

    A partial last line is left out: a process may be writing it. Raises
    ``RecordingError``, which names the file and the line.
    """
    try:
        with open_regular(path) as file:
            lines = iter(partial(file.readline, _LONGEST_LINE), b"")
            for number, line in enumerate(lines, 1):
                if line.endswith(b"\n"):
                    yield number, parsed(path, number, line)
                elif len(line) == _LONGEST_LINE:
                    problem = f"is longer than {_LONGEST_LINE:,} bytes"
                    raise corrupt(path, number, problem)
    except FileNotFoundError:
        return
    except OSError as error:
        raise unusable(path, error) from error


class Appender:
    """A file that only grows, by single writes.

    Appended data survives a crash of the process at once, and a power cut after the
    next sync: at ``close``, and at the first write a second or more after the last one.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = open_regular(path, "ab", buffering=0)
        self.length = os.fstat(self._file.fileno()).st_size
        """Size of the file in bytes."""
        self._synced = time.monotonic()
        self._dirty = False

    def cut(self, end: int) -> int:
        """Truncate at byte ``end``, and return the number of bytes dropped."""
        dropped = self.length - end
        if dropped:
            self._file.truncate(end)
            self.length = end
            self._dirty = True
        return dropped

    def lock(self) -> bool:
        """Acquire the system's advisory lock until the file is closed or the process ends.

        Returns False if another process holds it, True also on systems without such
        locks.
        """
        for name in ("fcntl", "msvcrt"):
            with suppress(ImportError):
                library: Any = import_module(name)
                try:
                    if name == "fcntl":
                        library.flock(self._file, library.LOCK_EX | library.LOCK_NB)
                    else:
                        # Windows denies reading of locked bytes, so the lock is far behind the end
                        # of any file.
                        self._file.seek(1 << 40)
                        library.locking(self._file.fileno(), library.LK_NBLCK, 1)
                except OSError as error:
                    return error.errno not in _HELD
                return True
        return True

    def append(self, raw: bytes) -> None:
        """Write all bytes, or raise ``RecordingError`` and leave the file unchanged."""
        try:
            count = 0
            # A short write means a full disk: the next one raises
            while count < len(raw):
                count += self._file.write(raw[count:] if count else raw) or 0
        except OSError as error:
            # Else the partial line is dropped at the next start
            with suppress(OSError):
                self._file.truncate(self.length)
            remedy = remedy_of(error, "free some space")
            line = f"{self._path}: {reason_of(error)}"
            raise RecordingError(
                f"{line}; finished episodes are safe; {remedy} and run the same command again"
            ) from error
        self.length += len(raw)
        self._dirty = True
        # Each sync waits for the disk, so it is not done for every record.
        if time.monotonic() - self._synced >= _SYNC_EVERY:
            self._sync()

    def _sync(self) -> None:
        """Write everything to disk. Raises ``RecordingError`` if the disk refuses."""
        try:
            os.fsync(self._file.fileno())
        except OSError as error:
            raise unusable(
                self._path,
                error,
                "the latest episodes may not be on disk",
            ) from error
        # Writing to a deleted file succeeds, and everything is lost.
        if os.fstat(self._file.fileno()).st_nlink == 0:
            raise RecordingError(
                f"{self._path}: the file was deleted while the run was writing"
            )
        self._synced = time.monotonic()
        self._dirty = False

    def close(self) -> None:
        """Sync and close the file. Raises ``RecordingError`` if that fails."""
        try:
            if self._dirty:
                self._sync()
        finally:
            self._file.close()


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file completely or not at all: to a temporary file that is synced, then renamed.

    Raises ``OSError`` if that fails; an old file is then unchanged.
    """
    new = path.with_name(f".{path.name}.new")
    with new.open("wb") as file:
        file.write(content)
        # The content must be on disk before the name points to it.
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)
    with suppress(OSError):  # not every system can open folders
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def corrupt(path: Path, number: int, problem: str) -> RecordingError:
    """Return the error for a damaged record, with the command that repairs the folder."""
    # A line of text can be deleted by hand, a compressed record cannot.
    if path.suffix != ".gz":
        return RecordingError(f"{path}: line {number}: {problem}; delete that line")
    remedy = (
        f"`wayword merge {path.parent} --out NEW` copies the intact records, and then the same run "
        "command with --out NEW plays the missing episodes"
    )
    return RecordingError(f"{path}: record {number}: {problem}; {remedy}")


def unusable(path: Path, error: OSError, remedy: str = "") -> RecordingError:
    """Return the error for a failed operation on a file.

    It ends with the system's own remedy, such as for a full disk, or else with
    ``remedy``.
    """
    line = f"{path}: {reason_of(error)}"
    remedy = remedy_of(error, remedy)
    return RecordingError(f"{line}; {remedy}" if remedy else line)
