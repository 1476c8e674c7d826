"""A run folder on object storage: ``--out s3://bucket/runs/mine``, by fsspec.

The run is written to a working copy on this machine. Every few seconds, and at the end, what was
appended to its records goes up as one more object, which is never changed again:

    URL/run.json                                calls.jsonl and sessions.jsonl likewise
    URL/episodes.jsonl.gz/000000000000          the file's bytes from 0 on
    URL/episodes.jsonl.gz/000000481516          from where that one ended; failures likewise

A segment is only made where there is none yet, which the store decides (a conditional write). So of
two writers one fails, and nothing is ever overwritten. Readers and a run that resumes elsewhere put
the segments together again in their working copy.
"""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from wayword.core.errors import RecordingError, UsageError, needing
from wayword.core.files import cache_folder
from wayword.runs.codec import read_members
from wayword.runs.index import EPISODES, FAILURES

GROWING = (EPISODES, FAILURES)
"""Files that go up in segments."""
SMALL = ("run.json", "calls.jsonl", "sessions.jsonl")
"""Small files that go up as they are."""
EVERY = 10.0
"""Seconds between two uploads: what another machine may lack of a run that was killed here."""
_URL = re.compile(r"([a-z][a-z0-9+.-]+):/+(.*)", re.DOTALL)


def url_of(path: Path | str) -> str:
    """``s3://bucket/run`` for a path that names a store; empty for one on this machine.

    A ``Path`` has lost one of the two slashes.

    >>> url_of(Path("s3://bucket/run")), url_of(Path("runs/first"))
    ('s3://bucket/run', '')
    """
    match = _URL.fullmatch(str(path))
    return f"{match[1]}://{'/' if match[1] == 'file' else ''}{match[2]}" if match else ""


def is_working_copy(folder: Path) -> bool:
    """True if what is written to the folder goes to a store."""
    return folder.parent == cache_folder() / "remote"


def local(path: Path) -> Path:
    """A folder to read the run from: itself, or a working copy of what the store holds now."""
    url = url_of(path)
    if not url:
        return path
    store = Store(url)
    if not store.fetch():
        raise RecordingError(f"{url}: not a run folder: it has no run.json")
    return store.copy


@contextmanager
def writing(path: Path) -> Iterator[tuple[Path, Store | None]]:
    """The folder to write to, and the store that it goes to while this is open; None for a path
    on this machine. Raises ``RecordingError``."""
    url = url_of(path)
    if not url:
        yield path, None
        return
    store = Store(url)
    store.begin()
    try:
        yield store.copy, store
    except BaseException:
        with suppress(RecordingError):  # the error that ended the run is shown; the copy is whole
            store.end()
        raise
    store.end()


class Store:
    """Run folder in a store, and its working copy in the user's cache folder.

    Raises ``UsageError`` for a URL that no library knows.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        with needing(f"{url} needs a library", "remote"):
            import fsspec
        try:
            self._files, root = fsspec.core.url_to_fs(url, use_listings_cache=False)
        except ImportError as error:
            raise UsageError(f"{url}: {' '.join(str(error).split())}") from None
        except ValueError:
            problem = f"no store is called {url.partition('://')[0]!r}"
            raise UsageError(f"{url}: {problem}; there are s3, gs, az, sftp, file") from None
        self._root = str(root).rstrip("/")
        self.copy = cache_folder() / "remote" / hashlib.sha256(url.encode()).hexdigest()[:16]
        self._sent = dict.fromkeys(GROWING, 0)
        self._contents: dict[str, bytes] = {}
        self._problem = ""
        self._over = threading.Event()
        self._sender = threading.Thread(target=self._send_on, name="wayword-store", daemon=True)

    def fetch(self) -> bool:
        """Bring the working copy up to what the store holds; False where that is no run.

        Records that only the copy has stay: they are of a writer on this machine that was killed.
        A copy of another history is replaced.
        """
        try:
            config = self._files.cat_file(f"{self._root}/run.json")
            local_config = self.copy / "run.json"
            if local_config.exists() and local_config.read_bytes() != config:
                self._clear_copy()
            self.copy.mkdir(parents=True, exist_ok=True)
            for name in GROWING:
                self._fetch(name)
            for name in SMALL:
                with suppress(FileNotFoundError):
                    content: bytes = self._files.cat_file(f"{self._root}/{name}")
                    path = self.copy / name
                    if not path.exists() or not path.read_bytes().startswith(content):
                        path.write_bytes(content)
        except FileNotFoundError:
            return False
        except RecordingError:
            raise
        except Exception as error:  # noqa: BLE001 - each store has errors of its own
            raise self._unreachable(error) from None
        return True

    def _clear_copy(self) -> None:
        """Delete the run's files from the working copy, not the lock of a process that writes."""
        for name in (*GROWING, *SMALL):
            (self.copy / name).unlink(missing_ok=True)

    def _fetch(self, name: str) -> None:
        """Complete one growing file of the working copy from its segments, each of which is named
        by its first byte."""
        listed = []
        with suppress(FileNotFoundError, NotADirectoryError):
            listed = self._files.ls(f"{self._root}/{name}", detail=True)
        segments = sorted(
            (int(Path(info["name"]).name), int(info["size"]), info["name"])
            for info in listed
            if Path(info["name"]).name.isdecimal()
        )
        path, end = self.copy / name, 0
        path.touch()
        with path.open("r+b") as file:
            length = file.seek(0, 2)
            for start, size, key in segments:
                if start != end:
                    problem = f"lacks the bytes {end:,} to {start:,} of {name}"
                    raise RecordingError(f"{self.url}: {problem}; restore them in the store")
                end = start + size
                foot = max(start, end - 64)  # records of two histories differ in their checksums
                file.seek(foot)
                if length < end or file.read(end - foot) != self._files.cat_file(
                    key, start=foot - start, end=size
                ):
                    file.seek(start)
                    file.write(self._files.cat_file(key))
                    file.truncate()
                    length = end
        self._sent[name] = end

    def begin(self) -> None:
        """Bring the working copy up to date, and send from now on."""
        if not self.fetch():
            self._clear_copy()
            self.copy.mkdir(parents=True, exist_ok=True)
        self._sender.start()

    def check(self) -> None:
        """Raises ``RecordingError`` once another writer has been detected."""
        if self._problem:
            raise RecordingError(self._problem)

    def end(self) -> None:
        """Send the rest. Raises ``RecordingError`` where that fails."""
        self._over.set()
        self._sender.join()
        self.check()
        try:
            self._send()
        except RecordingError:
            raise
        except Exception as error:  # noqa: BLE001 - each store has errors of its own
            remedy = f"all of it is in {self.copy}, and the same command sends it"
            raise RecordingError(f"{self._unreachable(error)}; {remedy}") from None

    def _send_on(self) -> None:
        while not self._over.wait(EVERY):
            try:
                self._send()
            except RecordingError as error:
                self._problem = str(error)
                return
            except Exception:  # noqa: BLE001 - a store that is away is tried again, and at the end
                continue

    def _send(self) -> None:
        """Send what was appended to each file as one segment; small files as they are."""
        for name in GROWING:
            path, at = self.copy / name, self._sent[name]
            end = max((line.at + line.size for line in read_members(path, at)), default=at)
            if end > at:
                with path.open("rb") as file:
                    file.seek(at)
                    self._create(f"{self._root}/{name}/{at:012d}", file.read(end - at))
                self._sent[name] = end
        for name in SMALL:
            path = self.copy / name
            content = path.read_bytes() if path.exists() else b""
            if content and content != self._contents.get(name):
                self._files.pipe_file(f"{self._root}/{name}", content)
                self._contents[name] = content

    def _create(self, key: str, content: bytes) -> None:
        """Make an object where there is none. Raises ``RecordingError`` where there is one."""
        self._files.makedirs(key.rpartition("/")[0], exist_ok=True)
        try:
            self._files.pipe_file(key, content, mode="create")
        except FileExistsError:
            with suppress(FileNotFoundError):
                if self._files.cat_file(key) == content:
                    return  # ours: the answer to an earlier try was lost
            raise RecordingError(
                f"{self.url}: another process is writing to this run folder; wait for it to end, "
                "or give another folder"
            ) from None

    def _unreachable(self, error: Exception) -> RecordingError:
        problem = " ".join(str(error).split())[:200] or type(error).__name__
        return RecordingError(f"{self.url}: {problem}")
