"""A run folder on object or shared storage: ``--out s3://bucket/runs/mine``, by fsspec.

The run is written to a working copy on this machine, and what is new of each file goes up every few
seconds as one more object that is never changed again:

    URL/config.json
    URL/lease.json                           who writes, and when that was last so
    URL/episodes.jsonl/000000000000          the file's bytes from 0 on
    URL/episodes.jsonl/000000481516          from where that one ended; failures.jsonl likewise
    URL/index.jsonl, spending.jsonl, …       small files, each as one object

A segment is made only where none is yet, which the store decides (a conditional write). So of two
writers at the same byte one fails, and no segment is ever overwritten, whatever became of the
lease. Readers and a run that goes on put the segments together again in the working copy. See
docs/decisions/0019-segments.md.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from wayword.core.errors import RecordingError, UsageError, needing
from wayword.core.files import cache_folder
from wayword.runs import columns

GROWING = ("episodes.jsonl", "failures.jsonl")
"""What goes up in segments."""
WHOLE = ("config.json", "spending.jsonl", "sessions.jsonl", "signature.json", "index.jsonl")
"""What goes up as it is. The index last: it must not know more than there is."""
EVERY = 10.0
"""Seconds between two uploads: what another machine may lack of a run that was killed here."""
EXPIRED = 60.0
"""Seconds after which a lease that was not renewed is over."""
_URL = re.compile(r"([a-z][a-z0-9+.-]+):/+(.*)", re.DOTALL)


def url_of(path: Path | str) -> str:
    """``s3://bucket/run`` for a path that names a store; nothing for one on this machine.

    A ``Path`` has lost one of the two slashes.

    >>> url_of(Path("s3://bucket/run")), url_of(Path("runs/first"))
    ('s3://bucket/run', '')
    """
    found = _URL.fullmatch(str(path))
    if found is None:
        return ""
    return f"{found[1]}://{'/' if found[1] == 'file' else ''}{found[2]}"


def local(path: Path) -> Path:
    """Where a run folder can be read: itself, or a working copy of what the store holds now."""
    url = url_of(path)
    if not url:
        return path
    store = Store(url)
    if not store.fetch():
        raise RecordingError(f"{url}: is no run folder: it has no config.json")
    return store.copy


@contextmanager
def writing(path: Path) -> Iterator[tuple[Path, Store | None]]:
    """The folder to write to, and the store that it goes to while this is open; None for a path
    on this machine. Raises ``RecordingError`` where another process holds the store's lease."""
    url = url_of(path)
    if not url:
        yield path, None
        return
    store = Store(url)
    store.begin()
    try:
        yield store.copy, store
    except BaseException:
        with suppress(RecordingError):  # what ended the run is said, and the copy is whole
            store.end()
        raise
    store.end()


class Store:
    """One run folder in a store, and its working copy below Wayword's cache."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._files, self._root = _opened(url)
        digest = hashlib.sha256(url.encode()).hexdigest()[:16]
        self.copy = cache_folder() / "remote" / digest
        self._owner = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(8)}"
        self._sent = dict.fromkeys(GROWING, 0)
        self._looks: dict[str, tuple[int, int]] = {}
        self._problem = ""
        self._over = threading.Event()
        self._sender: threading.Thread | None = None
        self._renewed = 0.0

    # Reading.

    def fetch(self) -> bool:
        """Bring the working copy up to what the store holds; False where that is no run.

        What the copy has beyond that stays: it is of a writer on this machine that was killed. A
        copy that says otherwise than the store is made anew from it.
        """
        try:
            config = self._files.cat_file(f"{self._root}/config.json")
        except FileNotFoundError:
            return False
        except Exception as error:  # noqa: BLE001 - each store has errors of its own
            raise self._unreachable(error) from None
        self.copy.mkdir(parents=True, exist_ok=True)
        (self.copy / columns.FILE).unlink(missing_ok=True)  # it may be of another history
        own = self.copy / "config.json"
        if own.exists() and own.read_bytes() != config:
            self._forget()
        for name in GROWING:
            self._fetch(name)
        for name in WHOLE:
            self._fetch_whole(name)
        return True

    def _fetch_whole(self, name: str) -> None:
        path = self.copy / name
        try:
            told: bytes = self._files.cat_file(f"{self._root}/{name}")
        except FileNotFoundError:
            return
        if not path.exists() or not path.read_bytes().startswith(told):
            path.write_bytes(told)
        os.utime(path)  # an index is older than its file where a run has left it behind

    def _fetch(self, name: str) -> None:
        path, segments = self.copy / name, self._segments(name)
        own = path.stat().st_size if path.exists() else 0
        end = 0
        for start, size, _ in segments:
            if start != end:
                problem = f"lacks the bytes {end:,} to {start:,} of {name}"
                raise RecordingError(f"{self.url}: {problem}; it was changed by other hands")
            end = start + size
        self._sent[name] = end
        known = [each for each in segments if each[0] + each[1] <= own]
        if known and not self._same(path, *known[-1]):
            known = []
        if len(known) < len(segments):
            with path.open("r+b" if path.exists() else "wb") as file:
                file.truncate(sum(size for _, size, _ in known))  # beyond it is another history
                file.seek(0, os.SEEK_END)
                for _, _, key in segments[len(known) :]:
                    file.write(self._files.cat_file(key))

    def _same(self, path: Path, start: int, size: int, key: str) -> bool:
        """Whether the working copy holds a segment's bytes: two histories differ in its end."""
        tail = min(size, 4096)
        with path.open("rb") as file:
            file.seek(start + size - tail)
            mine = file.read(tail)
        theirs: bytes = self._files.cat_file(key, start=size - tail, end=size)
        return mine == theirs

    def _segments(self, name: str) -> list[tuple[int, int, str]]:
        """Each segment's first byte, size and key, in order."""
        try:
            listed = self._files.ls(f"{self._root}/{name}", detail=True, refresh=True)
        except (FileNotFoundError, NotADirectoryError):
            return []
        except TypeError:  # a store without a listing to refresh
            listed = self._files.ls(f"{self._root}/{name}", detail=True)
        found = [(Path(each["name"]).name, each) for each in listed if each["type"] == "file"]
        return sorted(
            (int(base), int(each["size"]), each["name"]) for base, each in found if base.isdecimal()
        )

    def _forget(self) -> None:
        for name in (*GROWING, *WHOLE, columns.FILE):
            (self.copy / name).unlink(missing_ok=True)

    # Writing.

    def begin(self) -> None:
        """Take the lease, bring the working copy up to date, and send from now on."""
        self._take()
        try:
            if not self.fetch():
                self._forget()
                self.copy.mkdir(parents=True, exist_ok=True)
        except BaseException:
            self._release()
            raise
        self._sender = threading.Thread(target=self._send_on, name="wayword-store", daemon=True)
        self._sender.start()

    def check(self) -> None:
        """Raises ``RecordingError`` once another writer has been found."""
        if self._problem:
            raise RecordingError(self._problem)

    def end(self) -> None:
        """Send the rest and give the lease up. Raises ``RecordingError`` where that fails."""
        self._over.set()
        if self._sender is not None:
            self._sender.join()
        try:
            self.check()
            self._send()
        except RecordingError:
            raise
        except Exception as error:  # noqa: BLE001 - each store has errors of its own
            remedy = f"all of it is in {self.copy}, and the same command sends it"
            raise RecordingError(f"{self._unreachable(error)}; {remedy}") from None
        finally:
            self._release()

    def _send_on(self) -> None:
        while not self._over.wait(EVERY):
            try:
                self._renew()
                self._send()
            except RecordingError as error:
                self._problem = str(error)
                return
            except Exception:  # noqa: BLE001 - a store that is away is tried again, and at the end
                continue

    def _send(self) -> None:
        """What is new of each file as one segment each; whole files as they are."""
        for name in GROWING:
            path, at = self.copy / name, self._sent[name]
            if not path.exists() or path.stat().st_size <= at:
                continue
            with path.open("rb") as file:
                file.seek(at)
                told = file.read()
            told = told[: told.rfind(b"\n") + 1]
            if told:
                self._create(f"{self._root}/{name}/{at:012d}", told)
                self._sent[name] = at + len(told)
        for name in WHOLE:
            path = self.copy / name
            look = (path.stat().st_size, path.stat().st_mtime_ns) if path.exists() else None
            if look and look != self._looks.get(name):
                self._files.pipe_file(f"{self._root}/{name}", path.read_bytes())
                self._looks[name] = look

    def _create(self, key: str, told: bytes) -> None:
        """Make an object where none is. Raises ``RecordingError`` where there is one."""
        self._files.makedirs(key.rpartition("/")[0], exist_ok=True)
        try:
            self._files.pipe_file(key, told, mode="create")
        except FileExistsError:
            with suppress(FileNotFoundError):
                if self._files.cat_file(key) == told:
                    return  # ours: the answer to an earlier try was lost
            raise self._taken("another process") from None

    def _take(self) -> None:
        key = f"{self._root}/lease.json"
        try:
            for _ in range(2):
                with suppress(FileExistsError):
                    self._files.makedirs(self._root, exist_ok=True)
                    self._files.pipe_file(key, self._lease(), mode="create")
                    return
                owner, at = self._holder()
                if -EXPIRED < time.time() - at < EXPIRED:
                    raise self._taken(owner.rpartition(":")[0])
                with suppress(FileNotFoundError):
                    self._files.rm_file(key)
        except RecordingError:
            raise
        except Exception as error:  # noqa: BLE001 - each store has errors of its own
            raise self._unreachable(error) from None
        raise self._taken("another process")

    def _holder(self) -> tuple[str, float]:
        """Who holds the lease, and when it was renewed."""
        try:
            told = json.loads(self._files.cat_file(f"{self._root}/lease.json"))
            return str(told["owner"]), float(told["at"])
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            return "", 0.0

    def _renew(self) -> None:
        owner, _ = self._holder()
        if owner not in ("", self._owner):
            raise self._taken(owner.rpartition(":")[0])
        self._files.pipe_file(f"{self._root}/lease.json", self._lease())

    def _release(self) -> None:
        with suppress(Exception):
            if self._holder()[0] == self._owner:
                self._files.rm_file(f"{self._root}/lease.json")

    def _lease(self) -> bytes:
        return json.dumps({"owner": self._owner, "at": time.time()}).encode()

    def _taken(self, owner: str) -> RecordingError:
        who = owner or "another process"
        return RecordingError(
            f"{self.url}: {who} is writing to this run folder; wait for it to end (its lease is "
            f"over {EXPIRED:.0f} seconds after it was killed), or give another folder"
        )

    def _unreachable(self, error: Exception) -> RecordingError:
        said = " ".join(str(error).split())[:200] or type(error).__name__
        return RecordingError(f"{self.url}: {said}")


def _opened(url: str) -> tuple[Any, str]:
    """The file system of a URL, and the path in it. Raises ``UsageError``."""
    with needing(f"{url} needs a library", "remote"):
        import fsspec
    scheme = url.partition("://")[0]
    try:
        files, root = fsspec.core.url_to_fs(url, use_listings_cache=False)
    except ImportError as error:
        raise UsageError(f"{url}: {' '.join(str(error).split())}") from None
    except ValueError:
        known = "s3, gs, az, sftp, file"
        raise UsageError(f"{url}: no store is called {scheme!r}; there are {known}") from None
    return files, str(root).rstrip("/")
