"""The run folders that the viewer shows, and a small index of each.

    library = Library([Path("runs")])
    library.names()                        # every run folder below, by its path from there
    rows = library.rows("demo/navgpt")     # ids, scores, endings and places in the file: 200 bytes
    rows.record(3)                         # one whole episode, read from its line

An index holds no trajectory, so that 100,000 episodes take some tens of megabytes. Reading goes on
from where it stopped, so that a run that is going on costs what is new in it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import threading
from array import array
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayword.core.errors import RecordingError, UsageError
from wayword.core.trajectory import Trajectory
from wayword.runs.codec import from_json
from wayword.runs.config import success_of
from wayword.runs.folder import EpisodeRecord, RecordedRun
from wayword.runs.jsonl import corrupt, parse_line, restore
from wayword.viewer.data import Head

_BLOCK = 1 << 20
_HEAD = 16_384
"""Bytes of a line that hold its id, scores and ending, unless it was written by other means."""
_ENDED = re.compile(rb'"trajectory":\{"episode_id":"(?:[^"\\]|\\.)*","ended":"([a-z_]+)"')
_DECODER = json.JSONDecoder()
_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,80}")
_KEPT = 400_000
"""Rows of indexes that are kept, about: those of the runs that were looked at last."""


class Lines:
    """A file of lines that grows: where each whole line is, and how each begins."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.offsets, self.lengths = array("q"), array("q")
        self._read = 0
        self._file: tuple[int, int] = (0, 0)

    def new(self) -> Iterator[tuple[int, bytes]]:
        """Number (from 0) and beginning of each line since the last call.

        Starts anew where the file has been replaced; ``restarted`` is true then.
        """
        try:
            file = self.path.open("rb")
        except FileNotFoundError:
            return
        with file:
            status = os.fstat(file.fileno())
            if status.st_size < self._read or (self._read and status.st_ino != self._file[0]):
                raise Replaced
            self._file = (status.st_ino, status.st_size)
            file.seek(self._read)
            yield from self._scan(file)

    def _scan(self, file: Any) -> Iterator[tuple[int, bytes]]:
        start, head, length = self._read, b"", 0
        while block := file.read(_BLOCK):
            at = 0
            while (end := block.find(b"\n", at)) >= 0:
                if length < _HEAD:
                    head += block[at : min(end, at + _HEAD - length)]
                length += end - at
                if length:
                    self.offsets.append(start)
                    self.lengths.append(length)
                start += length + 1
                self._read = start
                if length:
                    yield len(self.offsets) - 1, head
                head, length, at = b"", 0, end + 1
            rest = len(block) - at
            if length < _HEAD:
                head += block[at : at + _HEAD - length]
            length += rest

    def line(self, number: int) -> bytes:
        """The whole line. Raises ``RecordingError`` where the file is gone."""
        try:
            with self.path.open("rb") as file:
                file.seek(self.offsets[number])
                return file.read(self.lengths[number])
        except OSError as error:
            raise RecordingError(f"{self.path}: {error.strerror or error}") from error


class Replaced(Exception):
    """The file is another one than it was: everything has to be read again."""


class Rows:
    """The episodes of one run: what a table shows of each, and where its record is.

    ``ids``, ``ended`` and ``errors`` are by row; ``scores`` by metric, NaN where a row has none.
    Failed episodes that were not finished since come after the finished ones.
    """

    def __init__(self, run: RecordedRun) -> None:
        self.run = run
        self.success = success_of(run.config)
        self._lock = threading.Lock()
        self._clear()

    def _clear(self) -> None:
        self._lines = Lines(self.run.path / "episodes.jsonl")
        self._failures = Lines(self.run.path / "failures.jsonl")
        self.ids: list[str] = []
        self.ended: list[str] = []
        self._at: dict[str, int] = {}
        self._scores: dict[str, array[float]] = {}
        self._failed: OrderedDict[str, tuple[int, str]] = OrderedDict()

    def __len__(self) -> int:
        return len(self.ids) + len(self.failed)

    @property
    def failed(self) -> dict[str, tuple[int, str]]:
        """Id -> line and reason of the latest failure, of episodes not finished since."""
        return {k: v for k, v in self._failed.items() if k not in self._at}

    @property
    def version(self) -> str:
        """Changes whenever an episode is added."""
        return f"{len(self.ids)}-{len(self._failed)}"

    def refresh(self) -> Rows:
        """Read what is new. Raises ``RecordingError`` for a line that cannot be read."""
        with self._lock:
            try:
                self._grow()
            except Replaced:
                self._clear()
                self._grow()
        return self

    def _grow(self) -> None:
        for number, head in self._lines.new():
            self._add(*self._parsed(number, head))
        for number, head in self._failures.new():
            name, reason = self._failure(number, head)
            self._failed.pop(name, None)
            self._failed[name] = number, reason

    def _add(self, name: str, scores: Mapping[str, Any], ended: str) -> None:
        self._at[name] = len(self.ids)
        self.ids.append(name)
        self.ended.append(ended)
        for key, value in scores.items():
            if isinstance(value, int | float):
                column = self._scores.get(key)
                if column is None:
                    column = self._scores[key] = array("d", [np.nan] * (len(self.ids) - 1))
                column.append(value)
        for column in self._scores.values():
            if len(column) < len(self.ids):
                column.append(np.nan)

    def _parsed(self, number: int, head: bytes) -> tuple[str, Mapping[str, Any], str]:
        found = _ENDED.search(head)
        text = head.decode(errors="replace")
        if found is not None and text.startswith('{"episode":'):
            try:
                name, at = _DECODER.raw_decode(text, 11)
                scores, _ = _DECODER.raw_decode(text, at + len(',"scores":'))
                return str(name), restore(scores), found[1].decode()
            except (ValueError, TypeError, AttributeError):
                pass
        path = self._lines.path
        parsed = parse_line(path, number + 1, self._lines.line(number))
        scores, told = parsed.get("scores"), parsed.get("trajectory")
        if not isinstance(scores, dict) or not isinstance(told, dict):
            raise corrupt(path, number + 1, "has no scores or no trajectory")
        return str(parsed.get("episode")), restore(scores), str(told.get("ended", ""))

    def _failure(self, number: int, head: bytes) -> tuple[str, str]:
        parsed = parse_line(self._failures.path, number + 1, self._failures.line(number))
        return str(parsed.get("episode")), str(parsed.get("reason", ""))

    def metrics(self) -> list[str]:
        """Every metric that some episode has."""
        return list(self._scores)

    def column(self, key: str) -> NDArray[np.float64]:
        """The metric over the finished episodes, (len(ids),); NaN where there is none."""
        return np.array(self._scores.get(key, array("d", [np.nan] * len(self.ids))))

    def scores(self, row: int) -> dict[str, float]:
        """One finished episode's metrics."""
        return {k: c[row] for k, c in self._scores.items() if not np.isnan(c[row])}

    def outcomes(self) -> dict[str, float]:
        """The success measure of each finished episode that has one."""
        column = self.column(self.success)
        return {
            name: float(found)
            for name, found in zip(self.ids, column, strict=True)
            if not np.isnan(found)
        }

    def heads(self) -> list[Head]:
        """All of it as lines of a table, the failed first."""
        failed = [Head(k, "failed", {}, reason) for k, (_, reason) in self.failed.items()]
        done = [Head(k, self.ended[n], self.scores(n)) for n, k in enumerate(self.ids)]
        return [*failed, *done]

    def names(self) -> list[str]:
        """Every episode's id, the failed first."""
        return [*self.failed, *self.ids]

    def __contains__(self, episode: object) -> bool:
        return episode in self._at or episode in self._failed

    def written(self, episode: str) -> dict[str, Any]:
        """The episode's record as it is in the file. Raises ``UsageError`` where there is none."""
        if episode in self._at:
            lines, number = self._lines, self._at[episode]
        elif episode in self._failed:
            lines, number = self._failures, self._failed[episode][0]
        else:
            raise UsageError(f"{self.run.path}: has no episode {episode!r}")
        return parse_line(lines.path, number + 1, lines.line(number))

    def record(self, episode: str) -> EpisodeRecord:
        """One whole episode; of a failed one, what is known. Raises as ``written`` does."""
        parsed = self.written(episode)
        told = parsed.get("trajectory")
        if told is None:
            reason = str(parsed.get("reason", ""))
            return EpisodeRecord(episode, {}, Trajectory(episode, {}, ended="failed", error=reason))
        at = self._at.get(episode)
        try:
            return EpisodeRecord(episode, {} if at is None else self.scores(at), from_json(told))
        except RecordingError as error:
            lines = self._failures if at is None else self._lines
            number = self._failed[episode][0] if at is None else at
            raise corrupt(lines.path, number + 1, f"field 'trajectory' {error}") from error


@dataclass(frozen=True, slots=True)
class Found:
    """A run folder that the library holds, by its name there."""

    name: str
    path: Path

    @property
    def slug(self) -> str:
        """The name in addresses: one piece, safe on every system."""
        return slug(self.name)


class Library:
    """The run folders at, or anywhere below, some paths.

    Raises ``RecordingError`` for a path that is neither a run folder nor a folder.
    """

    def __init__(self, given: Sequence[Path], deepest: int = 3) -> None:
        for path in given:
            if not path.is_dir():
                raise RecordingError(f"{path}: no such folder; give a run folder, or one of runs")
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
