"""The run folders that the viewer shows, and a small index of each.

library = Library([Path("runs")])
library.names()                        # every run folder below, by its path from there
rows = library.rows("demo/navgpt")     # ids, scores and endings, by the run's index
rows.record("17_0")                    # one whole episode, read from its place in the file
"""

from __future__ import annotations

import hashlib
import json
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
from wayword.core.metric import Metric
from wayword.metrics import accounting, scoring, state_accuracy
from wayword.runs import reports
from wayword.runs.config import metrics_of, refuse_earlier, success_of
from wayword.runs.index import Index
from wayword.runs.record import RecordedRun, is_run

T = TypeVar("T")

_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,80}")
_KEPT = 400_000
"""Rows of indexes that are kept, about: those of the runs that were looked at last."""


@dataclass(frozen=True, slots=True)
class Head:
    """One line of a run's table. A failed episode has no scores and says why in ``error``."""

    episode_id: str
    ended: str
    scores: dict[str, float]
    error: str = ""


@dataclass(frozen=True, slots=True)
class Tally:
    """A run's episodes counted: finished, failed, without success (failed ones too). ``endings``
    are how they ended, each once; ``columns`` a metric's scores where there are any, (N,)."""

    done: int
    failed: int
    lost: int
    endings: Sequence[str]
    columns: Mapping[str, NDArray[np.float64]]


class Rows:
    """The episodes of one run, as its index has them: finished ones, numbered from 1 in the order
    they ended, and failed ones that were not finished since."""

    def __init__(self, run: RecordedRun) -> None:
        self.run, self.success = run, success_of(run.config)
        self._lock = threading.Lock()
        self.index: Index = run.index
        self.version = ""
        """Changes whenever an episode is added."""
        self.ids: list[str] = []
        """The finished episodes."""
        self.metrics: list[Metric] = []
        """The metrics that episodes have, the family's own first."""
        self.done = 0
        self.failed: dict[str, str] = {}
        """Id and reason of the latest failure."""

    def refresh(self) -> Rows:
        """Read what is new. Raises ``RecordingError`` for a damaged record."""
        with self._lock:
            self.index = self.run.index
            self.done, self.failed = len(self.index), self.index.failed()
            version = f"{self.done}-{len(self.failed)}"
            if version != self.version:
                self.version, self.ids = version, self.index.ids()
                known = (
                    *metrics_of(self.run.config), *accounting.METRICS, *scoring.TRIAL_METRICS,
                    *state_accuracy.METRICS, *accounting.ADVICE_METRICS,
                )  # fmt: skip
                self.metrics = [metric for metric in known if metric.key in self.index.keys]
        return self

    def __len__(self) -> int:
        return self.done + len(self.failed)

    def row(self) -> Mapping[str, Any]:
        """The run's row of ``wayword table``, with intervals; empty before an episode ends."""
        if not self.done:
            return {}
        row: Mapping[str, Any] = json.loads(reports.table([self.run.path], "json"))["rows"][0]
        return row

    def scored(self, episode: str) -> dict[str, float]:
        """A finished episode's metrics. Raises ``KeyError`` where there is none."""
        if (entry := self.index.entry(episode)) is None:
            raise KeyError(episode)
        return _numbers(entry.scores)

    def outcomes(self) -> dict[str, float]:
        """The success measure of each finished episode that has one."""
        pairs = zip(self.ids, self.index.column(self.success).tolist(), strict=True)
        return {name: found for name, found in pairs if found == found}

    def heads(self) -> Heads:
        """All of it as lines of a table, the failed first, each made when it is looked at."""
        return Heads(self, self.failed, range(1, self.done + 1))

    def lost(self) -> list[str]:
        """The ids of the episodes without success, the failed first."""
        numbers = np.flatnonzero(self.index.column(self.success) <= 0.5).tolist()
        return [*self.failed, *(self.ids[number] for number in numbers)]

    def tally(self) -> Tally:
        """The episodes counted."""
        scores = self.index.scores()  # all columns in one pass: a pass each takes twice as long
        present = {key: scores.column(key) for key in scores.keys}
        endings = dict.fromkeys([*(["failed"] if self.failed else []), *self.index.endings()])
        return Tally(self.done, len(self.failed), len(self.lost()), list(endings), present)

    def names(self) -> list[str]:
        """Every episode's id, the failed first."""
        return [*self.failed, *self.ids]

    def __contains__(self, episode: object) -> bool:
        return episode in self.index or episode in self.failed


class Heads(Sequence[Head]):
    """Lines of a table, made when they are looked at: failed episodes, then some finished ones by
    their numbers."""

    def __init__(self, rows: Rows, failed: Mapping[str, str], numbers: Sequence[int]) -> None:
        self._index, self._numbers = rows.index, numbers
        self._failed = [Head(name, "failed", {}, reason) for name, reason in failed.items()]

    def __len__(self) -> int:
        return len(self._failed) + len(self._numbers)

    @overload
    def __getitem__(self, at: int) -> Head: ...
    @overload
    def __getitem__(self, at: slice) -> list[Head]: ...
    def __getitem__(self, at: int | slice) -> Head | list[Head]:
        if isinstance(at, int):
            if not 0 <= at < len(self):
                raise IndexError(at)
            return self[at : at + 1][0]
        first, last, _ = at.indices(len(self))
        before = len(self._failed)
        numbers = self._numbers[max(0, first - before) : max(0, last - before)]
        return [
            *self._failed[first:last],
            *(
                Head(e.episode_id, e.ended, _numbers(e.scores))
                for e in self._index.entries(numbers)
            ),
        ]

    def __iter__(self) -> Iterator[Head]:
        return iter(self[:])


def _numbers(scores: Mapping[str, float]) -> dict[str, float]:
    """The scores that pages can show."""
    return {key: float(value) for key, value in scores.items() if value == value}


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
            if not is_run(path):
                refuse_earlier(path)
        self.given = tuple(path.resolve() for path in given)
        self._deepest = deepest
        self._rows: OrderedDict[str, Rows] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def only(self) -> str:
        """The name of the run, where one run folder was given and nothing else; else empty."""
        alone = len(self.given) == 1 and is_run(self.given[0])
        return self.given[0].name if alone else ""

    def add(self, path: Path) -> None:
        """Show a run folder, too, where it is not below the paths that were given."""
        whole = path.resolve()
        if not any(whole.is_relative_to(top) for top in self.given):
            self.given = (*self.given, whole)

    def name_of(self, path: Path) -> str:
        """The name of a run folder, empty while it is not found."""
        whole = path.resolve()
        return next((each.name for each in self.found() if each.path == whole), "")

    def new_folder(self, *words: str) -> Path:
        """A folder for a run that is begun here, named after it."""
        top = self.given[0]
        top = top.parent if is_run(top) else top
        return top / re.sub(r"[^A-Za-z0-9._-]+", "-", "-".join(word for word in words if word))

    def found(self) -> list[Found]:
        """Every run folder that is there now. Names are unique."""
        names: dict[str, Path] = {}
        for top in self.given:
            for path in _run_folders(top, self._deepest):
                inside = path.relative_to(top)
                name = top.name if path == top else str(inside)
                unique = name if name not in names else f"{top.name}/{inside}"
                while unique in names and names[unique] != path:
                    unique += "'"
                names[unique] = path
        return [Found(name, path) for name, path in names.items()]

    def find(self, name: str) -> Found:
        """The run of a name or slug. Only runs that were found have a name, so no path leads
        elsewhere. Raises ``UsageError`` where there is none.
        """
        for each in self.found():
            if name in (each.name, each.slug):
                return each
        raise UsageError(f"there is no run {name!r} here")

    def rows(self, name: str) -> Rows:
        """The run's index, brought up to date. Raises ``UsageError``, ``RecordingError``."""
        found = self.find(name)
        with self._lock:
            rows = self._rows.get(found.slug)
            if rows is None or rows.run.path != found.path:
                rows = Rows(RecordedRun(found.path))
            self._rows[found.slug] = rows
            self._rows.move_to_end(found.slug)
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
    if is_run(top):
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


# Rows of a large run, filtered and sorted by the server: select(rows, Wish(query), causes).


class Wish:
    """The requested rows, parsed from the query string."""

    def __init__(self, query: Mapping[str, str], ranges: Sequence[str] = ()) -> None:
        self.words = query.get("q", "").lower().split()
        self.ended, self.cause = query.get("ended", ""), query.get("cause", "")
        self.sort, self.down = query.get("sort", ""), query.get("down") == "1"
        self.start = _whole(query.get("from", "0"))
        self.ranges = [found for each in ranges if (found := _range(each)) is not None]


def _whole(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) < 10 else 0


def _range(text: str) -> tuple[str, float, float, bool] | None:
    key, _, rest = text.partition(":")
    try:
        low, high, last = rest.split(":")
        return key, float(low), float(high), last == "1"
    except ValueError:
        return None


def select(rows: Rows, wish: Wish, known: Mapping[str, Sequence[str]]) -> Heads:
    """The heads that a wish is about, in its order."""
    among = [name for name, causes in known.items() if wish.cause in causes] if wish.cause else None
    numbers = rows.index.find(wish.words, wish.ended, wish.ranges, among, wish.sort, wish.down)
    failed = {} if wish.ranges or wish.ended not in ("", "failed") else _failed(rows, wish)
    return Heads(rows, failed, numbers)


def _failed(rows: Rows, wish: Wish) -> dict[str, str]:
    if wish.cause not in ("", "failed"):
        return {}
    return {
        name: reason
        for name, reason in rows.failed.items()
        if all(word in name.lower() for word in wish.words)
    }
