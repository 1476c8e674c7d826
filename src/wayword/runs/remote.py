"""Run folders in object storage, through fsspec: ``--out s3://bucket/runs/mine``.

The run is written to a working copy on this machine. Every few seconds and at the end, newly
appended records are uploaded as another object, which never changes:

    URL/run.json                                also calls.jsonl and sessions.jsonl
    URL/episodes.jsonl.gz/000000000000          the file's bytes from 0; also failures.jsonl.gz
    URL/episodes.jsonl.gz/000000481516          the bytes from the end of the previous segment

Segments are created by conditional writes, which fail if the object exists. A small file is
replaced only if the store has it as this process last saw it, or the beginning of the new one. If
two processes write to the same run, at least one of them fails at its next upload, and no segment
is overwritten. Readers, and runs resumed on another machine, concatenate the segments in their
working copy.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from wayword.core.errors import RecordingError, UsageError, needing
from wayword.core.files import cache_folder, text_checksum
from wayword.core.visible import single_line
from wayword.runs.index import EPISODES, FAILURES, LOCK
from wayword.runs.json_lines import read_members

GROWING = (EPISODES, FAILURES)
"""Files that are uploaded in segments."""
SMALL = ("run.json", "calls.jsonl", "sessions.jsonl")
"""Files that are uploaded as a whole: ``run.json`` before the segments, which are not a run without
it; the others after them, so that the bill includes all episodes in the store."""
STORED = ".stored"
"""Empty file in a working copy: the store has, or had, the ``run.json`` of this run."""
EVERY = 10.0
"""Seconds between two uploads. If this machine is lost, so are the episodes since the last one."""
_URL = re.compile(r"([a-z][a-z0-9+.-]+):/+(.*)", re.DOTALL)


def url_of(path: Path | str) -> str:
    """URL of a path in a store, such as ``s3://bucket/run``; empty for a local path. One slash is
    enough, as ``Path`` removes the other.

    >>> url_of(Path("s3://bucket/run")), url_of(Path("runs/first"))
    ('s3://bucket/run', '')
    """
    match = _URL.fullmatch(str(path))
    if match:
        # Local files need a slash more, as their path begins with one.
        return f"{match[1]}://{'/' if match[1] == 'file' else ''}{match[2]}"
    return ""


def is_working_copy(folder: Path) -> bool:
    """True if the folder is the working copy of a run in a store."""
    return folder.parent == cache_folder() / "remote"


def local(path: Path) -> Path:
    """The local folder of a run; for a URL, its updated working copy."""
    url = url_of(path)
    if not url:
        return path
    # A reader works on a copy, which is brought up to date first.
    store = Store(url)
    if not store.fetch():
        raise RecordingError(f"{url}: not a run folder: it has no run.json")
    return store.copy


@contextmanager
def writing(path: Path) -> Iterator[tuple[Path, Store | None]]:
    """Context with the folder to write to and its store, which is None for a local path.

    For a URL, the folder is the updated working copy, and the end of the context uploads the rest,
    also after an error or an interrupt: finished episodes are kept. Raises ``RecordingError`` on
    entry if the store cannot be read, at the end if it cannot be written or has another writer; and
    ``UsageError`` for a URL of another kind.
    """
    url = url_of(path)
    if not url:
        yield (
            path.absolute(),
            None,
        )  # a program may change its working directory during a run
        return
    store = Store(url)
    store.begin()
    try:
        yield store.copy, store
    except BaseException:
        with suppress(RecordingError):  # the error that ended the run is more important
            store.end()
        raise
    store.end()


class Store:
    """A run folder in a store, with a working copy in the user's cache folder. Raises
    ``UsageError`` for an unsupported URL."""

    def __init__(self, url: str) -> None:
        self.url = url
        # The library is optional.
        with needing(f"{url} needs a library", "remote"):
            import fsspec
        try:
            self._files, root = fsspec.core.url_to_fs(url, use_listings_cache=False)
        # Each kind of store needs a library of its own.
        except ImportError as error:
            raise UsageError(f"{url}: {' '.join(str(error).split())}") from None
        except ValueError:
            problem = f"unknown store {url.partition('://')[0]!r}"
            raise UsageError(
                f"{url}: {problem}; use s3, gs, az, sftp or file"
            ) from None
        # Names of files are joined with one slash.
        self._root = str(root).rstrip("/")
        self.copy = cache_folder() / "remote" / text_checksum(url, 16)
        # Bytes of each growing file that are in the store.
        self._sent = dict.fromkeys(GROWING, 0)
        # Small files as they are in the store, to send them only if they changed.
        self._contents: dict[str, bytes] = {}
        self._problem = ""
        self._over = threading.Event()
        # In the background, so that episodes do not wait for the network.
        self._sender = threading.Thread(
            target=self._send_on,
            name="wayword-store",
            daemon=True,
        )

    def fetch(self) -> bool:
        """Update the working copy. Returns False if the store has no run at this URL.

        A copy of another run (other ``run.json``), or one whose bytes differ from the store's, is
        replaced. Records after the store's last segment are kept: a writer on this machine was
        killed before it sent them. Raises ``RecordingError`` for a copy that the store never had:
        its episodes are nowhere else.
        """
        try:
            try:
                config = self._files.cat_file(f"{self._root}/run.json")
            except FileNotFoundError:
                return False
            local_config = self.copy / "run.json"
            # Another run has been written to the same URL.
            if local_config.exists() and local_config.read_bytes() != config:
                self._check_stored()
                self._clear_copy()
            self.copy.mkdir(parents=True, exist_ok=True)
            (self.copy / STORED).touch()
            # Segments that the copy lacks, then the small files.
            for name in GROWING:
                self._fetch(name)
            for name in SMALL:
                with suppress(FileNotFoundError):
                    content: bytes = self._files.cat_file(f"{self._root}/{name}")
                    self._contents[name] = content
                    path = self.copy / name
                    # Kept if it continues the stored one: its end is not uploaded yet.
                    if not path.exists() or not path.read_bytes().startswith(content):
                        path.write_bytes(content)
        except RecordingError:
            raise
        except Exception as error:  # noqa: BLE001 - each store raises its own errors
            raise self._unreachable(error) from None
        return True

    def _check_stored(self) -> None:
        """Raise ``RecordingError`` if the store never had the run in the working copy."""
        if not (self.copy / STORED).exists():
            raise RecordingError(
                f"{self.url} has another run by now, and the one in {self.copy} was never "
                f"uploaded: save it with `wayword merge {self.copy} --out NEW`, then remove "
                "that folder"
            )

    def _clear_copy(self) -> None:
        """Remove the local copy, except the lock of a writer."""
        for path in self.copy.iterdir():
            if path.name != LOCK:
                path.unlink()

    def _fetch(self, name: str) -> None:
        """Complete a growing file of the working copy from its segments, which are named by their
        offset."""
        listed = []
        with suppress(FileNotFoundError, NotADirectoryError):
            listed = self._files.ls(f"{self._root}/{name}", detail=True)
        # Segments are named by their first byte.
        segments = sorted(
            (int(Path(info["name"]).name), int(info["size"]), info["name"])
            for info in listed
            if Path(info["name"]).name.isdecimal()
        )
        path = self.copy / name
        end = 0
        # A run without episodes has the file too.
        path.touch()
        with path.open("r+b") as file:
            # Bytes that the copy has already.
            length = file.seek(0, 2)
            for start, size, key in segments:
                # A gap would shift all later records.
                if start != end:
                    problem = f"bytes {end:,} to {start:,} of {name} are missing"
                    raise RecordingError(
                        f"{self.url}: {problem}; restore them in the store"
                    )
                end = start + size
                foot = max(start, end - 64)  # contains the checksum of the last record
                file.seek(foot)
                if length < end or file.read(end - foot) != self._files.cat_file(
                    key,
                    start=foot - start,
                    end=size,
                ):
                    file.seek(start)
                    file.write(self._files.cat_file(key))
                    file.truncate()
                    length = end
        self._sent[name] = end

    def begin(self) -> None:
        """Fetch the run if it exists, and start sending."""
        # The run was deleted from the store. One that was never uploaded is kept and sent.
        if not self.fetch() and (self.copy / STORED).exists():
            self._clear_copy()
        self.copy.mkdir(parents=True, exist_ok=True)
        self._sender.start()

    def check(self) -> None:
        """Raise ``RecordingError`` if another writer has been detected."""
        if self._problem:
            raise RecordingError(self._problem)

    def end(self) -> None:
        """Upload the rest. Raises ``RecordingError`` if that fails."""
        # The sender ends first, so that only one thread uploads.
        self._over.set()
        self._sender.join()
        self.check()
        try:
            self._send()
        except RecordingError:
            raise
        except Exception as error:  # noqa: BLE001 - each store raises its own errors
            remedy = f"the run is complete in {self.copy}; the same command uploads it"
            raise RecordingError(f"{self._unreachable(error)}; {remedy}") from None

    def _send_on(self) -> None:
        """Send what is new at intervals, until the run is over."""
        while not self._over.wait(EVERY):
            try:
                self._send()
            except RecordingError as error:
                self._problem = str(error)
                return
            except Exception:  # noqa: BLE001 - an unreachable store is retried later
                continue

    def _send(self) -> None:
        """Upload new records of each growing file as a segment, and all changed small files."""
        config, *logs = SMALL
        self._replace(config)
        for name in GROWING:
            self._append(name)
        for name in logs:
            self._replace(name)

    def _append(self, name: str) -> None:
        """Upload the new records of a growing file as a segment."""
        path = self.copy / name
        at = self._sent[name]
        # Only whole records are sent.
        end = max(
            (line.at + line.size for line in read_members(path, at)),
            default=at,
        )
        # Nothing new, no segment.
        if end > at:
            with path.open("rb") as file:
                file.seek(at)
                content = file.read(end - at)
            self._create(f"{self._root}/{name}/{at:012d}", content)
            self._sent[name] = end

    def _replace(self, name: str) -> None:
        """Upload a small file as a whole, if it has changed."""
        path = self.copy / name
        content = path.read_bytes() if path.exists() else b""
        if not content or content == self._contents.get(name):
            return
        key = f"{self._root}/{name}"
        try:
            stored = self._files.cat_file(key)
        except FileNotFoundError:
            self._create(key, content)
        else:
            # An extended file may be our earlier upload, whose response was lost.
            if not content.startswith(stored) and stored != self._contents.get(name):
                raise self._conflict()
            self._files.pipe_file(key, content)
        self._contents[name] = content
        (self.copy / STORED).touch()

    def _create(self, key: str, content: bytes) -> None:
        """Create an object. Raises ``RecordingError`` if it exists with another content."""
        self._files.makedirs(key.rpartition("/")[0], exist_ok=True)
        try:
            self._files.pipe_file(key, content, mode="create")
        except FileExistsError:
            # unless created by our earlier attempt, whose response was lost
            if self._files.cat_file(key) != content:
                raise self._conflict() from None

    def _conflict(self) -> RecordingError:
        """Return the error of a run that has another writer."""
        return RecordingError(
            f"{self.url}: another process is writing to this run folder; wait until it ends, or "
            "give another folder"
        )

    def _unreachable(self, error: Exception) -> RecordingError:
        """Return the error of a store that cannot be reached."""
        problem = single_line(error, 200) or type(error).__name__
        return RecordingError(f"{self.url}: {problem}")
