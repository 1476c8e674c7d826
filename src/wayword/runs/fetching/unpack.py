"""Unpack chosen folders of an archive into a new folder. Archives come from outside: no path leaves
the folder, no links, devices or repeated names, and no more files and bytes than the table says."""

from __future__ import annotations

import gzip
import hashlib
import os
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from lzma import LZMAError
from pathlib import Path, PurePosixPath
from typing import IO

from wayword.core.errors import UsageError
from wayword.core.files import make_parent
from wayword.runs.fetching.download import CHUNK_BYTES, OnBytes, git_blob
from wayword.runs.fetching.table import Download, Put

DAMAGED = (
    tarfile.TarError,
    zipfile.BadZipFile,
    EOFError,
    zlib.error,
    LZMAError,
    gzip.BadGzipFile,
    RuntimeError,  # zipfile's for an encrypted member, and NotImplementedError for a new method
)


@dataclass(frozen=True)
class ArchiveMember:
    """A file in an archive. ``regular`` is False for links, devices and pipes."""

    name: str
    regular: bool
    content: IO[bytes] | None


def unpack(
    archive: Path,
    download: Download,
    folder: Path,
    report: OnBytes,
) -> list[Path]:
    """Unpack the parts of a download into the new folders ``folder/0``, ``folder/1``, …

    Returns these folders. Raises ``UsageError`` for a damaged archive or one that breaks the rules
    above, if a part is missing, or if its Git id is not the published one.
    """
    parts = [folder / str(number) for number in range(len(download.puts))]
    for part in parts:
        part.mkdir(parents=True)
    name = download.address
    limits = _Limits(download, report)
    try:
        with _members(archive, download.archive) as members:
            for member in members:
                _unpack_member(name, member, download.puts, parts, limits)
    except DAMAGED as error:
        raise UsageError(
            f"{name}: is not a readable {download.archive} archive ({error}); run the same command "
            "again to fetch it once more"
        ) from None
    # Checked at the end: archives list their members in any order.
    for put, part in zip(download.puts, parts, strict=True):
        if not any(part.iterdir()):
            raise UsageError(
                f"{name}: contains no folder {put.member.lstrip('*/')}; the publisher has changed "
                "it: see `wayword data list --published`"
            )
        if put.git and (digest := git_tree(part)) != put.git:
            raise UsageError(
                f"{name}: {put.member.lstrip('*/')} has Git id {digest[:12]}… instead of the "
                f"published {put.git[:12]}…; try again, without a mirror if you use one"
            )
    return parts


def git_tree(folder: Path) -> str:
    """Return Git's object id of a folder of plain files, 40 hex digits. Raises ``OSError``."""
    entries = list[tuple[bytes, bytes, bytes]]()
    for path in folder.iterdir():
        name = os.fsencode(path.name)  # also of bytes that are no text
        if path.is_dir():
            # Git sorts a folder as if its name ended with a slash.
            entry = (name + b"/", b"40000 " + name, bytes.fromhex(git_tree(path)))
        else:
            entry = (name, b"100644 " + name, bytes.fromhex(git_blob(path)))
        entries.append(entry)
    body = b"".join(head + b"\0" + digest for _, head, digest in sorted(entries))
    header = b"tree %d\0" % len(body)
    return hashlib.sha1(header + body, usedforsecurity=False).hexdigest()


class _Limits:
    """Files and bytes that were unpacked, and their limits."""

    def __init__(self, download: Download, report: OnBytes) -> None:
        self._download = download
        self._report = report
        self._files = 0
        self._bytes = 0

    def spend(self, files: int, size: int) -> None:
        """Count what is unpacked. Raises ``UsageError`` beyond the limits."""
        most = self._download
        self._files += files
        self._bytes += size
        if self._files > most.most_files or self._bytes > most.most_bytes:
            raise UsageError(
                f"{most.address}: unpacks to more files or bytes than the published data; nothing "
                "was kept: try again, without a mirror if you use one"
            )
        self._report(f"unpacking {most.file_name}", self._bytes, 0)


def _unpack_member(
    archive: str,
    member: ArchiveMember,
    puts: Sequence[Put],
    parts: Sequence[Path],
    limits: _Limits,
) -> None:
    """Write a member into the folder of the part that it belongs to, if any."""
    for put, part in zip(puts, parts, strict=True):
        inside = _path_inside(member.name, put.member)
        if inside is None:
            continue
        if not member.regular or not _is_safe(inside):
            raise UsageError(
                f"{archive}: unsafe member {member.name!r} (a link, or a path outside the "
                "archive); nothing was kept"
            )
        limits.spend(1, 0)
        target = part / inside
        assert member.content is not None  # regular files have content
        try:
            make_parent(target)
            # A name that is there already, also in other letters, is refused.
            with target.open("xb") as file:
                while block := member.content.read(CHUNK_BYTES):
                    limits.spend(0, len(block))
                    file.write(block)
        except (FileExistsError, NotADirectoryError):
            raise UsageError(
                f"{archive}: contains {member.name!r} twice; nothing was kept"
            ) from None


def _path_inside(name: str, pattern: str) -> PurePosixPath | None:
    """Return a member's path inside the folder of a pattern, None if it is elsewhere.

    ``*/data`` is ``data`` in any top folder, ``**/data`` at any depth.
    """
    # Some archives name their top folder "/" or "./".
    segments = [each for each in name.split("/") if each not in ("", ".")]
    head, _, rest = pattern.partition("/")
    names = rest.split("/")
    if head == "*":
        starts: Iterable[int] = (1,)
    else:
        starts = range(len(segments))
    for start in starts:
        end = start + len(names)
        if segments[start:end] == names and len(segments) > end:
            return PurePosixPath(*segments[end:])
    return None


def _is_safe(path: PurePosixPath) -> bool:
    """True for a relative path without ``..``, drive, backslash or zero byte."""
    return not any(
        segment == ".." or set(segment) & set("\\:\0") for segment in path.parts
    )


@contextmanager
def _members(archive: Path, kind: str) -> Iterator[Iterator[ArchiveMember]]:
    """Yield the files of a gzipped tar or a zip archive in order; folders are left out."""
    if kind == "tar":
        with gzip.open(archive) as raw:
            # As a stream: every member is read once, in order.
            with tarfile.open(fileobj=raw, mode="r|") as tar:
                yield _tar_members(tar)
            # The end of the stream has its checksum, and a cut archive has none.
            raw.read(CHUNK_BYTES)
    else:
        with zipfile.ZipFile(archive) as file:
            yield _zip_members(file)


def _tar_members(tar: tarfile.TarFile) -> Iterator[ArchiveMember]:
    """Files of a tar archive."""
    for member in tar:
        if member.isdir():
            continue
        content = tar.extractfile(member) if member.isreg() else None
        yield ArchiveMember(member.name, member.isreg(), content)


def _zip_members(file: zipfile.ZipFile) -> Iterator[ArchiveMember]:
    """Files of a zip archive."""
    for member in file.infolist():
        if member.is_dir():
            continue
        # The upper half holds Unix's mode; 0 where the archive was made elsewhere.
        mode = member.external_attr >> 16
        regular = not stat.S_IFMT(mode) or stat.S_ISREG(mode)
        if not regular:
            yield ArchiveMember(member.filename, False, None)
            continue
        with file.open(member) as content:
            yield ArchiveMember(member.filename, True, content)
