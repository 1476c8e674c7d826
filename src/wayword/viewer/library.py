"""The run folders that the viewer shows, and a small index of each.

    library = Library([Path("runs")])
    library.names()                        # every run folder below, by its path from there
    rows = library.rows("demo/navgpt")     # ids, scores, endings and places in the file: 200 bytes
    rows.record("17_0")                    # one whole episode, read from its line

An index holds no trajectory, so that 100,000 episodes take some tens of megabytes. Reading goes on
from where it stopped, so that a run that is going on costs what is new in it.
"""

from __future__ import annotations

import hashlib
import os
import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from wayword.core.errors import RecordingError, UsageError
from wayword.core.trajectory import Trajectory
from wayword.runs.columns import Columns
from wayword.runs.config import success_of
from wayword.runs.folder import EpisodeRecord, RecordedRun
from wayword.runs.jsonl import parse_line, read_lines, unusable
from wayword.runs.records import complete, table, trajectory
from wayword.viewer.data import Head, Tally

T = TypeVar("T")

_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,80}")
_KEPT = 400_000
"""Rows of indexes that are kept, about: those of the runs that were looked at last."""


class Rows:
    """The episodes of one run: what a table shows of each, and where its record is.

    ``ids`` and ``ended`` are by row; columns of scores hold NaN where a row has none. Lines are
    checked as every reader of a run folder checks them.
    Failed episodes that were not finished since come after the finished ones.
    """

    def __init__(self, run: RecordedRun) -> None:
        self.run = run
        self.success = success_of(run.config)
        self._lock = threading.Lock()
        self._clear()

    def _clear(self) -> None:
        self._episodes = self.run.path / "episodes.jsonl"
        self._failures = self.run.path / "failures.jsonl"
        self._done = Columns()
        self._at: dict[str, int] = {}
        self._seen: set[str] = set()
        self._file = 0
        self._failed: dict[str, tuple[int, int, int, str]] = {}
        self._failures_end, self._failures_read = 0, 0

    def __len__(self) -> int:
        return len(self.ids) + len(self.failed)

    @property
    def ids(self) -> Sequence[str]:
        """The finished episodes."""
        return self._done.ids

    @property
    def ended(self) -> Sequence[str]:
        """How each of them ended."""
        return self._done.ended

    @property
    def failed(self) -> dict[str, str]:
        """Id -> reason of the latest failure, of episodes not finished since."""
        return {k: v[3] for k, v in self._failed.items() if k not in self._at}

    @property
    def version(self) -> str:
        """Changes whenever an episode is added."""
        return f"{len(self.ids)}-{len(self._failed)}"

    def refresh(self) -> Rows:
        """Read what is new. Raises ``RecordingError`` for a line that the run did not write."""
        with self._lock:
            if self._replaced():
                self._clear()
            self._grow()
        return self

    def _replaced(self) -> bool:
        """Whether the file of episodes is another one than it was."""
        try:
            status = self._episodes.stat()
        except OSError:
            return len(self._done) > 0
        known, self._file = self._file, status.st_ino
        end = self._done.end
        return end > 0 and (status.st_size < end or status.st_ino != known)

    def _grow(self) -> None:
        if not len(self._done):
            self._done = table(self._episodes, self.run.seal)
        else:
            complete(self._done, self._episodes, self.run.seal, self._seen)
        before = len(self._at)
        new = self._done.ids[before:]
        self._at.update(zip(new, range(before, len(self._done)), strict=True))
        self._seen.update(new)  # the same strings, as there may be a million of them
        path = self._failures
        for number, line in read_lines(path, self._failures_end, self._failures_read):
            parsed = parse_line(path, number, line)
            self.run.seal.check(path, number, line)
            name, begin = str(parsed.get("episode")), self._failures_end
            self._failures_end, self._failures_read = begin + len(line) + 1, number
            self._failed.pop(name, None)
            self._failed[name] = number, begin, len(line), str(parsed.get("reason", ""))

    def metrics(self) -> list[str]:
        """Every metric that some episode has."""
        return self._done.keys

    def column(self, key: str) -> NDArray[np.float64]:
        """The metric over the finished episodes, (len(ids),); NaN where there is none."""
        return self._done.column(key)

    def scores(self, row: int) -> dict[str, float]:
        """One finished episode's metrics."""
        return {k: float(v) for k, v in self._done.row(row).items() if v == v}

    def scored(self, episode: str) -> dict[str, float]:
        """A finished episode's metrics. Raises ``KeyError`` where there is none."""
        return self.scores(self._at[episode])

    def outcomes(self) -> dict[str, float]:
        """The success measure of each finished episode that has one."""
        column = self.column(self.success)
        return {
            name: float(found)
            for name, found in zip(self.ids, column, strict=True)
            if not np.isnan(found)
        }

    def heads(self) -> Heads:
        """All of it as lines of a table, the failed first, each made when it is looked at."""
        return Heads(self, dict(self.failed), np.arange(len(self.ids)))

    def lost(self) -> list[str]:
        """The ids of the episodes without success, the failed first."""
        numbers = np.flatnonzero(self.column(self.success) <= 0.5).tolist()
        return [*self.failed, *(self.ids[number] for number in numbers)]

    def tally(self) -> Tally:
        """The episodes counted."""
        columns = ((key, self.column(key)) for key in self._done.keys)
        there = {key: column[~np.isnan(column)] for key, column in columns}
        endings = dict.fromkeys([*(["failed"] if self.failed else []), *self.ended])
        return Tally(len(self.ids), len(self.failed), len(self.lost()), list(endings), there)

    def names(self) -> list[str]:
        """Every episode's id, the failed first."""
        return [*self.failed, *self.ids]

    def __contains__(self, episode: object) -> bool:
        return episode in self._at or episode in self._failed

    def written(self, episode: str) -> dict[str, Any]:
        """The episode's record as it is in the file. Raises ``UsageError`` where there is none."""
        path, number, begin, size = self._place(episode)
        try:
            with path.open("rb") as file:
                file.seek(begin)
                line = file.read(size)
        except OSError as error:
            raise unusable(path, error) from error
        parsed = parse_line(path, number, line)
        self.run.seal.check(path, number, line)
        return parsed

    def _place(self, episode: str) -> tuple[Path, int, int, int]:
        """File, number of the line, its first byte and its bytes, the newline left out."""
        if (row := self._at.get(episode)) is not None:
            return self._episodes, row + 1, self._done.begins[row], self._done.sizes[row] - 1
        if episode in self._failed:
            number, begin, size, _ = self._failed[episode]
            return self._failures, number, begin, size
        raise UsageError(f"{self.run.path}: has no episode {episode!r}")

    def record(self, episode: str) -> EpisodeRecord:
        """One whole episode; of a failed one, what is known. Raises as ``written`` does."""
        parsed = self.written(episode)
        told, row = parsed.get("trajectory"), self._at.get(episode)
        if told is None:
            reason = str(parsed.get("reason", ""))
            return EpisodeRecord(episode, {}, Trajectory(episode, {}, ended="failed", error=reason))
        path, number, *_ = self._place(episode)
        scores = {} if row is None else self.scores(row)
        return EpisodeRecord(episode, scores, trajectory(path, number, told))


class Heads(Sequence[Head]):
    """Lines of a table, made when they are looked at: failed episodes, then some finished ones by
    their numbers."""

    def __init__(self, rows: Rows, failed: Mapping[str, str], numbers: NDArray[np.intp]) -> None:
        self._rows, self._failed, self._numbers = rows, list(failed.items()), numbers

    def __len__(self) -> int:
        return len(self._failed) + len(self._numbers)

    @overload
    def __getitem__(self, at: int) -> Head: ...
    @overload
    def __getitem__(self, at: slice) -> list[Head]: ...
    def __getitem__(self, at: int | slice) -> Head | list[Head]:
        if isinstance(at, slice):
            return [self[n] for n in range(*at.indices(len(self)))]
        if not 0 <= at < len(self):
            raise IndexError(at)
        if at < len(self._failed):
            name, reason = self._failed[at]
            return Head(name, "failed", {}, reason)
        number, rows = int(self._numbers[at - len(self._failed)]), self._rows
        return Head(rows.ids[number], rows.ended[number], rows.scores(number))


@dataclass(frozen=True, slots=True)
class Found:
    """A run folder that the library holds, by its name there."""

    name: str
    path: Path

    @property
    def slug(self) -> str:
        """The name in addresses: one piece, safe on every system."""
        return slug(self.name)


class Kept(Generic[T]):
    """The last few values by key. Each is made once, also where several threads ask for it."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: OrderedDict[Any, T] = OrderedDict()
        self._locks: dict[Any, threading.Lock] = {}
        self._lock = threading.Lock()

    def get(self, key: Any, make: Callable[[], T]) -> T:
        with self._lock:
            lock = self._locks.setdefault(key, threading.Lock())
        with lock:
            if key in self._values:
                self._values.move_to_end(key)
                return self._values[key]
            made = make()
            with self._lock:
                self._values[key] = made
                while len(self._values) > self._most:
                    old, _ = self._values.popitem(last=False)
                    self._locks.pop(old, None)
            return made

    def there(self, key: Any) -> T | None:
        """The value where it has been made."""
        return self._values.get(key)


class Library:
    """The run folders at, or anywhere below, some paths.

    Raises ``RecordingError`` for a path that is neither a run folder nor a folder.
    """

    def __init__(self, given: Sequence[Path], deepest: int = 3) -> None:
        for path in given:
            if not path.is_dir():
                raise RecordingError(
                    f"{path}: no such folder; name a run, or a folder that holds runs"
                )
        self._given, self._deepest = tuple(path.resolve() for path in given), deepest
        self._rows: OrderedDict[str, Rows] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def given(self) -> tuple[Path, ...]:
        """The paths that were given."""
        return self._given

    @property
    def only(self) -> str:
        """The name of the run, where one run folder was given and nothing else; else empty."""
        alone = len(self._given) == 1 and (self._given[0] / "config.json").is_file()
        return self._given[0].name if alone else ""

    def add(self, path: Path) -> None:
        """Show a run folder, too, where it is not below the paths that were given."""
        whole = path.resolve()
        if not any(whole.is_relative_to(top) for top in self._given):
            self._given = (*self._given, whole)

    def name_of(self, path: Path) -> str:
        """The name of a run folder, empty while it is not found."""
        whole = path.resolve()
        return next((each.name for each in self.found() if each.path == whole), "")

    def new_folder(self, *words: str) -> Path:
        """A folder for a run that is begun here, named after it."""
        top = self._given[0]
        top = top.parent if (top / "config.json").is_file() else top
        return top / re.sub(r"[^A-Za-z0-9._-]+", "-", "-".join(word for word in words if word))

    def found(self) -> list[Found]:
        """Every run folder that is there now. Names are unique."""
        names: dict[str, Path] = {}
        for top in self._given:
            for path in _run_folders(top, self._deepest):
                inside = path.relative_to(top)
                name = top.name if path == top else str(inside)
                unique = name if name not in names else f"{top.name}/{inside}"
                while unique in names and names[unique] != path:
                    unique += "'"
                names[unique] = path
        return [Found(name, path) for name, path in names.items()]

    def path(self, name: str) -> Path:
        """Where a run lies: only those that were found have a name, so no path leads elsewhere.

        Raises ``UsageError`` where there is none.
        """
        return self._known(name).path

    def name(self, slug: str) -> str:
        """The name of a run whose address says ``slug``. Raises ``UsageError``."""
        return self._known(slug).name

    def _known(self, name: str) -> Found:
        for each in self.found():
            if name in (each.name, each.slug):
                return each
        raise UsageError(f"there is no run {name!r} here")

    def rows(self, name: str) -> Rows:
        """The run's index, brought up to date. Raises ``UsageError``, ``RecordingError``."""
        path = self.path(name)
        name = slug(name)
        with self._lock:
            rows = self._rows.get(name)
            if rows is None or rows.run.path != path:
                rows = Rows(RecordedRun(path))
            self._rows[name] = rows
            self._rows.move_to_end(name)
            while len(self._rows) > 1 and sum(map(len, self._rows.values())) > _KEPT:
                self._rows.popitem(last=False)
        return rows.refresh()


def slug(name: str) -> str:
    """One piece of an address for a name: ``demo-navgpt-3fa1c2`` for ``demo/navgpt``."""
    if _PLAIN.fullmatch(name):
        return name
    digest = hashlib.sha256(name.encode(errors="surrogatepass")).hexdigest()[:6]
    return f"{re.sub(r'[^A-Za-z0-9_]+', '-', name).strip('-')[:60]}-{digest}"


def _run_folders(top: Path, deepest: int) -> Iterator[Path]:
    """Run folders, the folder itself included; links out of ``top`` are not followed."""
    if (top / "config.json").is_file():
        yield top
        return
    if deepest == 0:
        return
    try:
        inside = sorted(entry.name for entry in os.scandir(top) if entry.is_dir())
    except OSError:
        return
    for name in inside:
        path = top / name
        if not name.startswith(".") and not path.is_symlink():
            yield from _run_folders(path, deepest - 1)
