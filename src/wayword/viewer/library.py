"""Run folders shown by the viewer, their status, and the rows of their episodes.

library = Library([Path("runs")])
library.runs()                         # every run folder below, by its path from there
rows = library.rows("demo/navgpt")     # ids, scores and endings, by the run's index
rows.run.record("17_0")                # one whole episode, read from its place in the file
"""

from __future__ import annotations

import json
import math
import os
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar
from urllib.parse import quote

import numpy as np

from wayword.core.episode import JsonObject
from wayword.core.errors import RecordingError, UsageError
from wayword.core.files import process_runs, read_regular, text_checksum
from wayword.core.geometry import Floats
from wayword.core.metric import Metric
from wayword.core.other_files import but_is
from wayword.core.shapes import parse_untrusted
from wayword.core.visible import count, in_dollars
from wayword.metrics import scoring
from wayword.runs import reports
from wayword.runs.active import PROGRESS
from wayword.runs.config import metrics_of, step_limit, success_of
from wayword.runs.index import Index
from wayword.runs.record import RecordedRun, is_run
from wayword.viewer.figures import duration

T = TypeVar("T")

_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,80}")
# Rows of indexes that are cached, about: those of the runs viewed last
_MAX_ROWS = 400_000


@dataclass(frozen=True)
class Head:
    """Row of a run's table. A failed episode has no scores and gives the reason in ``error``."""

    episode_id: str
    ended: str
    scores: dict[str, float]
    error: str = ""


class Rows:
    """Episodes of one run from its index, refreshed as the run goes on.

    Finished episodes are numbered from 1 in the order they ended; failed ones are those
    that were not finished later. A row's key is the number of a finished episode or the
    id of a failed one. Every page reads one object, so a change is seen by all of them.
    """

    def __init__(self, run: RecordedRun) -> None:
        self.run = run
        self.success = success_of(run.config)
        self.limit = step_limit(run.config)
        """The most steps of an actor, None if it is not known."""
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
        """Read new records and return the rows. Raises ``RecordingError`` for a damaged one."""
        with self._lock:
            self.index = self.run.index
            self.done = len(self.index)
            self.failed = self.index.failed()
            # Records are only ever appended, so two counts identify what is there.
            version = f"{self.done}-{len(self.failed)}"
            if version == self.version:
                return self
            self.version = version
            self.ids = self.index.ids()
            keys = self.index.keys
            by_key = scoring.by_key(metrics_of(self.run.config))
            # At once: other threads read the list.
            self.metrics = [metric for key, metric in by_key.items() if key in keys]
        return self

    @property
    def cache_key(self) -> tuple[Path, str]:
        """Key of what is computed from the run: it changes with each episode, so that a
        page of a run in progress is never stale."""
        return self.run.path, self.version

    def __len__(self) -> int:
        """The number of rows, finished and failed."""
        return self.done + len(self.failed)

    def row(self) -> JsonObject:
        """The run's row of ``wayword table``, with intervals; empty before an episode ends."""
        if not self.done:
            return {}
        table = json.loads(reports.table([self.run.path], "json"))
        row: JsonObject = table["rows"][0]
        return row

    def scored(self, episode: str) -> dict[str, float]:
        """Return a finished episode's metrics. Raises ``KeyError`` where there is none."""
        entry = self.index.entry(episode)
        if entry is None:
            raise KeyError(episode)
        return _numbers(entry.scores)

    def outcomes(self) -> dict[str, float]:
        """Return the success measure of each finished episode that has one, by id."""
        return self.values(self.success)

    def values(self, key: str) -> dict[str, float]:
        """Return a metric's score of each finished episode that has one, by id."""
        scores = self.index.column(key).tolist()
        # A run goes on: the index may have more episodes by now than were listed.
        pairs = zip(self.ids, scores, strict=False)
        return {name: score for name, score in pairs if not math.isnan(score)}

    def keys(self) -> list[str | int]:
        """Keys of all rows: failed episodes by id, finished ones by number."""
        return [*self.failed, *range(1, self.done + 1)]

    def heads(self, keys: Sequence[str | int] | None = None) -> list[Head]:
        """Return the rows of these keys, by default all, in the order of the keys."""
        if keys is None:
            keys = self.keys()
        numbers = [key for key in keys if isinstance(key, int)]
        entries = iter(self.index.entries(numbers))
        heads = []
        for key in keys:
            if isinstance(key, str):
                heads.append(Head(key, "failed", {}, self.failed[key]))
                continue
            entry = next(entries)
            scores = _numbers(entry.scores)
            heads.append(Head(entry.episode_id, entry.ended, scores))
        return heads

    def unsolved(self) -> list[str]:
        """Return the ids of the episodes without success, failed ones first.

        Success is a score above one half, here as everywhere in the viewer. An episode
        that has no measure of success is not among them.
        """
        # The index may have grown since the ids were read.
        success = self.index.column(self.success)[: len(self.ids)]
        numbers = np.flatnonzero(success <= 0.5).tolist()
        return [*self.failed, *(self.ids[number] for number in numbers)]

    def columns(self) -> dict[str, Floats]:
        """Return a metric's scores (N,), by metric, for metrics that have any."""
        columns = {}
        for key in self.index.keys:
            column = self.index.column(key)
            columns[key] = column[~np.isnan(column)]
        return columns

    def names(self) -> list[str]:
        """Ids of all episodes, failed ones first."""
        return [*self.failed, *self.ids]

    def __contains__(self, episode: object) -> bool:
        return episode in self.index or episode in self.failed


def _numbers(scores: Mapping[str, float]) -> dict[str, float]:
    """Return the scores that an episode has: an index stores NaN for the others."""
    numbers = {}
    for key, score in scores.items():
        if not math.isnan(score):
            numbers[key] = float(score)
    return numbers


@dataclass(frozen=True)
class NamedRun:
    """A run folder of the library, with its name there."""

    name: str
    path: Path

    @property
    def slug(self) -> str:
        """The name in addresses: one segment, safe on every system."""
        return slug(self.name)


class Cache(Generic[T]):
    """The last ``most`` values by key; each is computed once, even if several threads ask.

    A slow value holds up only the threads that want the same one. A ``make`` that
    raises stores nothing: the next request computes again.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: OrderedDict[Any, T] = OrderedDict()
        self._locks: dict[Any, threading.Lock] = {}
        self._lock = threading.Lock()

    def get(self, key: Any, make: Callable[[], T]) -> T:
        """Return the value of a key, computed by ``make`` if it is not cached."""
        with self._lock:
            # A lock for each key: a slow value holds up only those who want it.
            lock = self._locks.setdefault(key, threading.Lock())
        with lock:
            if key in self._values:
                value = self._values[key]
            else:
                value = make()
            with self._lock:
                self._values[key] = value
                self._values.move_to_end(key)
                while len(self._values) > self._most:
                    old, _ = self._values.popitem(last=False)
                    self._locks.pop(old, None)
            return value

    def peek(self, key: Any) -> T | None:
        """Return the value of a key if it is cached; None, without waiting, if it is not."""
        return self._values.get(key)


# Levels: a benchmark's folder, its tables, their runs. Below them are files of runs, and a home
# folder given by mistake is not searched to its end.
_DEEPEST = 3


class Library:
    """The run folders at, or below, some paths.

    Folders are looked for at each request, so that new runs appear by themselves, down
    to ``_DEEPEST`` levels below a path. Raises ``RecordingError`` for a path that is no
    folder.
    """

    def __init__(self, given: Sequence[Path]) -> None:
        for path in given:
            if path.is_file():
                raise RecordingError(f"{path}: a file, not a folder{but_is(path)}")
            if not path.is_dir():
                raise RecordingError(
                    f"{path}: no such folder; name a run, or a folder that contains runs"
                )
        self.given = tuple(path.resolve() for path in given)

        self._rows: OrderedDict[str, Rows] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def only(self) -> str:
        """The run's name if the only path is a run folder, else empty."""
        if len(self.given) == 1 and is_run(self.given[0]):
            return self.given[0].name
        return ""

    def add(self, path: Path) -> None:
        """Add a run folder, or a folder of runs, from now on."""
        path = path.resolve()
        # A run below a listed folder is found there already.
        if not any(path.is_relative_to(top) for top in self.given):
            self.given = (*self.given, path)

    def name_of(self, path: Path) -> str:
        """Return the name of a run folder; empty if it is not below the paths."""
        path = path.resolve()
        for named in self.runs():
            if named.path == path:
                return named.name
        return ""

    def new_folder(self, *words: str) -> Path:
        """Return a path for a run started from the viewer, named after ``words``.

        It lies in the first of the paths, and may exist.
        """
        top = self.given[0]
        if is_run(top):
            top = top.parent  # next to the run, not in its folder
        name = "-".join(word for word in words if word)
        return top / re.sub(r"[^A-Za-z0-9._-]+", "-", name)

    def runs(self) -> list[NamedRun]:
        """Return every run folder that exists now, with a unique name.

        The name is the path below the given folder, of a given run the name of its
        folder. Where two are the same, the name of the folder above is put before it.
        """
        names: dict[str, Path] = {}
        listed = set[Path]()
        for top in self.given:
            above = top.parent if is_run(top) else top
            # ``os.walk`` follows no links.
            for folder, subfolders, _ in os.walk(top):
                path = Path(folder)
                found_run = is_run(path)
                # Given folders may overlap.
                if found_run and path not in listed:
                    name = str(path.relative_to(above))
                    if name in names:
                        name = f"{above.name}/{name}"
                    while name in names:
                        name += "'"
                    names[name] = path
                    listed.add(path)
                # Do not search inside a run, or below ``_DEEPEST``.
                if found_run or len(path.relative_to(top).parts) == _DEEPEST:
                    subfolders.clear()
                # Changed in place: ``os.walk`` then enters only these, in this order.
                visible = [each for each in subfolders if not each.startswith(".")]
                subfolders[:] = sorted(visible)
        return [NamedRun(name, path) for name, path in names.items()]

    def find(self, name: str) -> NamedRun:
        """Return the listed run with a name or slug. Raises ``UsageError``."""
        for each in self.runs():
            if name in (each.name, each.slug):
                return each
        raise UsageError(f"no run is called {name!r}; the first page lists them")

    def rows(self, name: str) -> Rows:
        """Return the rows of the run with a name or slug, up to date.

        The runs viewed last are kept in memory, with about ``_MAX_ROWS`` episodes in all:
        a run opened now counts from its first refresh. Raises ``UsageError`` for an
        unknown name.
        """
        run = self.find(name)
        with self._lock:
            rows = self._rows.get(run.slug)
            # A folder added since may have taken this name.
            if rows is None or rows.run.path != run.path:
                rows = Rows(RecordedRun(run.path))
            self._rows[run.slug] = rows
            self._rows.move_to_end(run.slug)
            # The run asked for stays, however large it is.
            while len(self._rows) > 1 and self._row_count() > _MAX_ROWS:
                self._rows.popitem(last=False)
        return rows.refresh()

    def _row_count(self) -> int:
        """Return the number of episodes in memory."""
        return sum(map(len, self._rows.values()))


def slug(name: str) -> str:
    """Return a name as one segment of an address: ``demo-navgpt-3fa1c2`` for ``demo/navgpt``.

    Names of letters, digits, ``_``, ``.`` and ``-`` are unchanged.
    """
    if _PLAIN.fullmatch(name):
        return name
    # Two names may differ in signs that addresses do not have.
    digest = text_checksum(name, 6)
    stem = re.sub(r"[^A-Za-z0-9_]+", "-", name).strip("-")
    return f"{stem[:60]}-{digest}"


def address(episode: str) -> str:
    """Return the address of an episode's served page, relative to the page of its run."""
    return f"episode?id={quote(episode, safe='', errors='replace')}"


# Rows of a large run, filtered and sorted by the server.


def select(
    rows: Rows,
    wish: Mapping[str, str],
    causes_of: Mapping[str, Sequence[str]],
    texts: Sequence[str] = (),
) -> list[str | int]:
    """Return the keys of the rows that a query asks for, in the requested order.

    Fields of ``wish``: ``q`` (words), ``ended``, ``cause``, ``outcome`` (``success`` or
    ``failure``), ``sort`` (a metric) and ``down`` (``1``). Words are found in ids, or
    in the texts of the episodes in ``texts``. Failed episodes have no scores and come
    first.
    """
    words = wish.get("q", "").lower().split()
    ended = wish.get("ended") or ""
    cause = wish.get("cause") or ""
    outcome = wish.get("outcome", "")
    among: set[str] | None = None
    if cause:
        among = {name for name, causes in causes_of.items() if cause in causes}
    if words:
        names = rows.names()
        # Every word must occur in the name; the search of texts has its own matches.
        for word in words:
            names = [name for name in names if word in name.lower()]
        matches = {*names, *texts}
        among = matches if among is None else among & matches
    # Both ends of a range belong to it, so success begins right above one half.
    ranges = []
    if outcome == "success":
        above_half = float(np.nextafter(0.5, 1))
        ranges.append((rows.success, above_half, np.inf))
    elif outcome == "failure":
        ranges.append((rows.success, -np.inf, 0.5))
    sort = wish.get("sort", "")
    down = wish.get("down") == "1"
    numbers = rows.index.find(ended, ranges, among, sort, down)
    # Failed episodes are no successes, and have neither an ending nor a cause.
    if outcome == "success":
        return [*numbers]
    if ended not in ("", "failed") or cause not in ("", "failed"):
        return [*numbers]
    failed = list(rows.failed)
    if words:
        failed = [name for name in failed if name in (among or ())]
    return [*failed, *numbers]


# A live run. It writes a small file next to the run folder's records at most twice a
# second; viewers read it. The run does not know its viewers, so none can slow it.

# Seconds after its last change in which a run without a report is taken to be starting: a dataset
# may take minutes to open.
_AWAITED = 600.0
_STALE = 7200.0
"""Seconds without a word after which a run is taken for dead; a slow model may take that long."""


@dataclass(frozen=True)
class Progress:
    """A run's progress, as the run wrote it last.

    ``done`` of ``total`` episodes are finished; ``episodes`` are the running ones, and
    ``pace`` is the time left, open calls, tokens per second and dollars spent, as text.
    ``alive`` is True while the run's process exists.
    """

    done: int
    total: int
    alive: bool
    episodes: tuple[dict[str, Any], ...]
    pace: str = ""
    written: float = 0.0
    """When, seconds since 1970."""


def progress_of(run: Path) -> Progress | None:
    """Return the progress that a run wrote last, or None if there is none. Never raises.

    A run is alive if its process exists on this machine or if it wrote in the last five
    seconds, as one on another machine does, and if it wrote within ``_STALE``.
    """
    path = run / PROGRESS
    try:
        # Another process may be writing it, or may have written nonsense: then there is
        # no progress.
        progress = parse_untrusted(read_regular(path))
        written = path.stat().st_mtime
        age = time.time() - written
        alive = False
        if not progress.get("over"):
            # Right after its last word a run lives, even if its process is on another machine.
            runs = process_runs(int(progress["process"])) or age < 5
            alive = runs and age < _STALE
        episodes = progress.get("episodes", ())
        return Progress(
            done=int(progress["done"]),
            total=int(progress["total"]),
            alive=alive,
            episodes=tuple(each for each in episodes if isinstance(each, dict)),
            pace=" · ".join(_pace(progress, written)),
            written=written,
        )
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None


def _pace(progress: JsonObject, written: float) -> Iterator[str]:
    """Yield the time left, open calls, tokens per second and dollars spent, as far as known."""
    done = int(progress["done"])
    left = int(progress["total"]) - done
    # Older runs wrote the time of day at which they began.
    since = written - float(progress.get("began", written))
    took = max(1.0, float(progress.get("took", since)))
    # Episodes of an earlier start took no time of this one.
    ended = done - int(progress.get("before", 0))
    calls = int(progress.get("calls", 0))
    tokens = int(progress.get("tokens", 0))
    spent = float(progress.get("dollars", 0.0))
    limit = progress.get("max_dollars")
    if ended > 0 and left:
        yield f"about {duration(left * took / ended)} left"
    if calls:
        yield f"{count(calls, 'call')} in flight"
    if tokens:
        yield f"{tokens / took:,.0f} tokens per second"
    if limit:
        yield f"{in_dollars(spent)} of {in_dollars(float(limit))}"
    elif spent:
        yield in_dollars(spent)


def is_awaited(rows: Rows) -> bool:
    """True if a run has begun within ``_AWAITED`` and has not reported anything yet.

    False once it has as many episodes as its split, which a finished run without a
    progress file has.
    """
    run = rows.run.path
    # It has reported: no more waiting.
    if (run / PROGRESS).exists():
        return False
    try:
        begun = max(path.stat().st_mtime for path in run.iterdir())
    except (OSError, ValueError):
        return False
    split = rows.run.config.get("episodes_in_split")
    is_partial = split is None or rows.done < split
    return is_partial and time.time() - begun < _AWAITED


def active_episode(rows: Rows, episode: str) -> JsonObject | None:
    """Return the progress of an unfinished episode of a live run; None if there is none."""
    progress = progress_of(rows.run.path)
    if progress and progress.alive:
        for each in progress.episodes:
            if each.get("id") == episode:
                return each
    return None


def standing(rows: Rows) -> tuple[str, int, int]:
    """Return ``running``, ``complete`` or ``partial``; the episodes finished, and of how many."""
    progress = progress_of(rows.run.path)
    if progress:
        total = progress.total
    else:
        total = rows.run.config.get("episodes_in_split") or 0
    if progress and progress.alive:
        return "running", rows.done, total
    if rows.done >= total:
        return "complete", rows.done, rows.done
    return "partial", rows.done, total
