"""Download a file over HTTP: resumed after a cut, checked, and never half there.

Content goes to ``NAME.part`` with a note of what the server said about it, ``NAME.part.json``; a
later call asks for the rest. Proxies are those of the environment (``HTTPS_PROXY``).
"""

from __future__ import annotations

import errno
import hashlib
import json
import re
import shutil
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import BinaryIO
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import Request, build_opener

from wayword.core.episode import JsonObject
from wayword.core.errors import UsageError, remedy_of
from wayword.core.files import sha256

OnBytes = Callable[[str, int, int], None]
"""Called with a file name, the bytes that are there, and all bytes (0 if unknown)."""

CHUNK_BYTES = 1 << 20
"""Bytes read and written at once."""
QUIET_SECONDS = 30.0
"""A server that sends nothing for this long has cut the connection."""
# Of a file, so that with the pauses an outage of seven seconds is survived
TRIES = 4
PAUSE_SECONDS = 1.0
"""Before the second try; doubled for each later one."""
SPARE_BYTES = 64 << 20
"""Space that stays free on the disk."""
PAGE_STARTS = (b"<!doctype html", b"<html")
"""First bytes of a web page, which login forms and error pages are."""
LARGEST_FILE = 20e9
"""Bytes of a file without a published size; the largest of the table has less than 2 GB."""
RESUME = "run the same command again to resume"
BROKEN = (TimeoutError, ConnectionError, HTTPException)
"""A connection that ended early; another try may succeed."""
AWAY = (errno.ENETDOWN, errno.ENETUNREACH, errno.EHOSTUNREACH, socket.EAI_AGAIN)
"""Errors of a network that may be back for another try."""


class RefusedError(UsageError):
    """A server that has no such file, or sends something else: other files may still come."""


class CutError(Exception):
    """The connection ended before the file did."""


class UnreachableError(CutError):
    """No connection was made; ``may_pass``: another try may succeed."""

    def __init__(self, reason: object) -> None:
        super().__init__(str(reason))
        error_number = getattr(reason, "errno", None)
        self.may_pass = isinstance(reason, BROKEN) or error_number in AWAY


@dataclass(frozen=True)
class Expected:
    """What the table states of a file; 0 and empty where it states nothing."""

    size: int = 0
    sha256: str = ""
    git: str = ""


def mirrored(address: str, mirror: str) -> str:
    """Return the address at a mirror that is laid out as ``wget -x`` does: host, then path.

    >>> mirrored("https://example.org/data/a.json?dl=1", "http://10.0.0.2/copy/")
    'http://10.0.0.2/copy/example.org/data/a.json'

    Raises ``UsageError`` for a mirror without ``http://`` or ``https://``.
    """
    if not mirror:
        return address
    if urlsplit(mirror).scheme not in ("http", "https"):
        raise UsageError(
            f"mirror {mirror}: must begin with http:// or https://, such as https://mirror.example"
        )
    parts = urlsplit(address)
    return f"{mirror.rstrip('/')}/{parts.netloc}{parts.path}"


def download(
    address: str,
    path: Path,
    expected: Expected,
    report: OnBytes,
    tries: int = TRIES,
    pause: float = PAUSE_SECONDS,
) -> Path:
    """Download a file to ``path``, whose folder exists, and verify size and checksum.

    Raises ``RefusedError`` if the server refuses this file or sends a web page. Raises
    ``UsageError`` with the remedy if

    - the server cannot be reached, or the connection is cut ``tries`` times,
    - the content is not the published one,
    - the file cannot be written, or the disk is full.
    """
    transfer = _Transfer(address, path, expected, report)
    for attempt in range(1, tries + 1):
        try:
            transfer.receive()
            break
        except UnreachableError as error:
            if attempt == tries or not error.may_pass:
                raise UsageError(
                    f"{address}: cannot be reached ({error}); check the connection, set "
                    "HTTPS_PROXY, or name a mirror with --mirror"
                ) from None
        except CutError as error:
            if attempt == tries:
                raise UsageError(
                    f"{address}: the connection was cut at {transfer.amounts()} ({error}); {RESUME}"
                ) from None
        # Of the disk: errors of the network have become a ``CutError``.
        except OSError as error:
            remedy = remedy_of(error, "check the folder's permissions")
            problem = error.strerror or error
            raise UsageError(
                f"{transfer.partial}: cannot be written: {problem}; {remedy}, then {RESUME}"
            ) from None
        time.sleep(pause * 2 ** (attempt - 1))
    # Only verified content gets the final name; ``verify`` deletes wrong content.
    transfer.verify()
    transfer.partial.replace(path)
    transfer.note.unlink(missing_ok=True)
    return path


def git_blob(path: Path) -> str:
    """Return Git's object id of a file's content, 40 hex digits. Raises ``OSError``."""
    digest = hashlib.sha1(b"blob %d\0" % path.stat().st_size, usedforsecurity=False)
    with path.open("rb") as file:
        while block := file.read(CHUNK_BYTES):
            digest.update(block)
    return digest.hexdigest()


class _Transfer:
    """One file on its way: its partial content, and the server's note on it."""

    def __init__(
        self,
        address: str,
        path: Path,
        expected: Expected,
        report: OnBytes,
    ) -> None:
        self.address = address
        self.name = path.name
        self.partial = path.with_name(f"{path.name}.part")
        self.note = path.with_name(f"{path.name}.part.json")
        self.expected = expected
        self.report = report
        self.total = expected.size

    def amounts(self) -> str:
        """Received and full size, for messages."""
        received = f"{self._received() / 1e6:.1f}"
        return (
            f"{received} of {self.total / 1e6:.1f} MB"
            if self.total
            else f"{received} MB"
        )

    def receive(self) -> None:
        """Receive what is missing. Raises ``CutError`` for an error of the network, ``OSError`` for
        one of the disk, and ``UsageError`` if the server refuses."""
        start = self._received()
        earlier = self._read_note()
        # Without a note nothing says which file the bytes belong to, and without a version or a
        # checksum nothing would notice that the file has changed.
        versioned = earlier.get("etag") or earlier.get("modified")
        if not earlier or not (versioned or self.expected.sha256 or self.expected.git):
            start = 0
        response = self._open(start)
        if start and not _continues(response, start, earlier):
            # The file has changed, or this server cannot send a part.
            # Some send a part with the status of the whole.
            if response.status == 206 or "Content-Range" in response.headers:
                response.close()
                response = self._open(0)
            start = 0
        with response:
            # A login form, or the page of a proxy, in place of the file.
            if response.headers.get_content_type() == "text/html":
                self._refuse("a web page")
            # 0 if none is stated. More digits than any disk has bytes would take long to parse.
            stated = response.headers.get("Content-Length", "")
            length = int(stated) if re.fullmatch(r"[0-9]{1,18}", stated) else 0
            self.total = start + length if length else self.expected.size
            self._refuse_full_disk(length)
            self.note.write_text(
                json.dumps(_identity(response, self.total)), encoding="utf-8"
            )
            # Opening for writing empties a file that cannot be resumed.
            with self.partial.open("ab" if start else "wb") as file:
                self._copy(response, file, start)
        if self.total and self._received() < self.total:
            raise CutError("the server sent no more")

    def verify(self) -> None:
        """Compare size and checksum. Raises ``UsageError`` after deleting wrong content."""
        expected = self.expected
        size = self._received()
        problem = ""
        # The size first: it can be had without reading gigabytes.
        if expected.size and size != expected.size:
            problem = f"{size:,} bytes instead of the published {expected.size:,}"
        elif expected.sha256 and (digest := sha256(self.partial)) != expected.sha256:
            problem = f"SHA-256 {digest[:12]}… instead of the published {expected.sha256[:12]}…"
        elif expected.git and (digest := git_blob(self.partial)) != expected.git:
            problem = (
                f"Git id {digest[:12]}… instead of the published {expected.git[:12]}…"
            )
        if problem:
            self._forget()
            raise UsageError(
                f"{self.address}: wrong content: {problem}; it was deleted: try again, without a "
                "mirror if you use one"
            )

    def _open(self, start: int) -> HTTPResponse:
        """Ask for the content from byte ``start``. Raises ``CutError``, or ``UsageError`` if the
        server refuses."""
        # Compressed transfer would make byte numbers meaningless.
        headers = {"User-Agent": "wayword", "Accept-Encoding": "identity"}
        if start:
            headers["Range"] = f"bytes={start}-"
        # Built at each request: it reads the proxies from the environment.
        opener = build_opener()
        try:
            opened: HTTPResponse = opener.open(
                Request(self.address, headers=headers), timeout=QUIET_SECONDS
            )
            return opened
        except HTTPError as error:
            error.close()
            if error.code == 416 and start:
                # The partial file is as long as the file, or longer: begin again.
                self._forget()
                return self._open(0)
            # A busy server may answer later.
            if error.code in (429, 500, 502, 503, 504):
                raise CutError(f"HTTP {error.code} {error.reason}") from None
            raise RefusedError(
                f"{self.address}: HTTP {error.code} {error.reason}; fetch it by hand from the "
                "source that `wayword data list --published` names, or name a mirror with --mirror"
            ) from None
        except URLError as error:
            raise UnreachableError(error.reason) from None
        # ``urllib`` wraps errors of the request, but not those of the reply.
        except (OSError, HTTPException) as error:
            raise CutError(str(error)) from None

    def _copy(self, response: HTTPResponse, file: BinaryIO, start: int) -> None:
        """Append the response to a file, reporting progress. Raises ``UsageError`` for a page."""
        received = start
        while block := _block(response):
            if not received and block.lstrip()[:20].lower().startswith(PAGE_STARTS):
                self._refuse("a web page")
            file.write(block)
            received += len(block)
            # An endless answer would fill the disk.
            if self.expected.size and received > self.expected.size:
                self._refuse(f"more than the published {self.expected.size:,} bytes")
            if received > LARGEST_FILE:
                self._refuse(f"more than {LARGEST_FILE / 1e9:.0f} GB")
            self.report(self.name, received, self.total)

    def _refuse(self, what: str) -> None:
        """Delete the partial file and raise ``RefusedError``."""
        self._forget()
        raise RefusedError(
            f"{self.address}: the server sent {what} in place of the file; open the address in a "
            "browser to see what it asks for, or name a mirror with --mirror"
        )

    def _refuse_full_disk(self, length: int) -> None:
        """Raise ``UsageError`` if the rest of the file does not fit on the disk."""
        free = shutil.disk_usage(self.partial.parent).free
        needed = length + SPARE_BYTES
        if needed > free:
            raise UsageError(
                f"{self.partial.parent}: {free / 1e6:,.0f} MB free, {self.name} needs "
                f"{needed / 1e6:,.0f} MB; free some space or set --data to another disk, then "
                f"{RESUME}"
            )

    def _received(self) -> int:
        """Bytes of the partial file."""
        with suppress(OSError):
            return self.partial.stat().st_size
        return 0

    def _read_note(self) -> JsonObject:
        """What the server said at the first request; {} without a readable note."""
        with suppress(OSError, ValueError):
            note = json.loads(self.note.read_text(encoding="utf-8"))
            if isinstance(note, dict):
                return note
        return {}

    def _forget(self) -> None:
        """Delete the partial file and its note."""
        self.partial.unlink(missing_ok=True)
        self.note.unlink(missing_ok=True)


def _block(response: HTTPResponse) -> bytes:
    """Return the next bytes of a response, none at its end. Raises ``CutError``."""
    try:
        return response.read(CHUNK_BYTES)
    except (OSError, HTTPException) as error:
        raise CutError(str(error)) from None


def _identity(response: HTTPResponse, total: int) -> JsonObject:
    """What tells one version of a file from another."""
    headers = response.headers
    return {
        "etag": headers.get("ETag", ""),
        "modified": headers.get("Last-Modified", ""),
        "size": total,
    }


def _continues(response: HTTPResponse, start: int, earlier: JsonObject) -> bool:
    """True if a response continues the same version of the file at byte ``start``."""
    if response.status != 206:
        return False
    stated = re.match(
        r"bytes (\d+)-\d+/(\d+)", response.headers.get("Content-Range", "")
    )
    if stated is None or int(stated[1]) != start:
        return False
    return _identity(response, int(stated[2])) == earlier
