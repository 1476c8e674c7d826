"""The run folder: written during a run, resumed after any crash, readable by other tools.

    run.json            identity, versions, checksums, caveats: see :mod:`wayword.runs.config`
    episodes.jsonl.gz   a line an episode: {"episode": id, "scores": {...}, "trajectory": {...}}
    failures.jsonl.gz   a line a failure: {"episode": id, "reason": "...", "trajectory": {...}}

:mod:`wayword.runs.codec` writes the files, :mod:`wayword.runs.codec` the trajectories, and
:mod:`wayword.runs.index` answers what does not need these.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from wayword.core import registry
from wayword.core.episode import Json
from wayword.core.errors import RecordingError, UsageError
from wayword.core.trajectory import Trajectory
from wayword.runs import config as configs
from wayword.runs import remote
from wayword.runs.codec import (
    Appender,
    corrupt,
    dump,
    foot_of,
    from_json,
    member,
    parsed,
    read_member,
    read_members,
    unusable,
)
from wayword.runs.index import EPISODES, FAILURES, Entry, Index, record_of, scores_of

LOCK = ".lock"
"""Names the process that writes; the lock itself is on the file of episodes."""


@dataclass(frozen=True, slots=True)
class EpisodeRecord:
    """A finished episode: its metrics (rates as fractions of one) and its trajectory."""

    episode_id: str
    scores: Mapping[str, float]
    trajectory: Trajectory

    def _repr_html_(self) -> str:
        return registry.displayed(self)


@dataclass(frozen=True, slots=True)
class FailedEpisode:
    """An episode that was not finished: the reason, and the trajectory until then, if any.

    A resumed run plays it again; the record of the failure stays.
    """

    episode_id: str
    reason: str
    trajectory: Trajectory | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """An episode as it is written, made by the process that played it, which may be another than
    the folder's writer. ``scores`` is None for one that failed."""

    episode_id: str
    scores: Mapping[str, float] | None
    ended: str
    member: bytes

    @classmethod
    def of(cls, record: EpisodeRecord | FailedEpisode) -> Line:
        """Raises ``RecordingError`` where the record holds what cannot be written."""
        name, played = record.episode_id, record.trajectory
        written: dict[str, Any] = {"episode": name}
        scores = None
        if isinstance(record, EpisodeRecord):
            written["scores"] = scores = dict(record.scores)
        else:
            written["reason"] = record.reason
        written["trajectory"] = played
        try:
            line = member(dump(written))
        except RecordingError as error:
            raise RecordingError(f"episode {name!r}: {error}") from error
        return cls(name, scores, "failed" if played is None else played.ended, line)


def is_run(path: Path) -> bool:
    """True if the path is a run folder on this machine."""
    return (path / configs.NAME).is_file()


class RecordedRun:
    """A run folder to read, without a lock: also while the run is in progress.

    >>> from wayword.runs import RecordedRun
    >>> RecordedRun("runs/none")
    Traceback (most recent call last):
        ...
    wayword.core.errors.RecordingError: runs/none: is no run folder: it has no run.json
    """

    def __init__(self, path: Path | str) -> None:
        self.path = remote.local(Path(path))
        self._written = configs.read_config(self.path)
        self._episodes, self._failures = self.path / EPISODES, self.path / FAILURES
        self._index: Index | None = None

    @property
    def config(self) -> dict[str, Any]:
        """The run's settings, as its first start recorded them."""
        return configs.readable(self._written)

    @property
    def index(self) -> Index:
        """Ids, scores and places of all records, up to date. Raises ``RecordingError`` for a record
        that is damaged, or holds an episode a second time."""
        if self._index is None:
            self._index = Index(self.path)
        return self._index.refresh()

    def records(self) -> Iterator[EpisodeRecord]:
        """Every finished episode, in the order they ended, one in memory at a time.

        Raises ``RecordingError`` naming file and record for a damaged one.
        """
        for found in read_members(self._episodes):
            yield self._record(found.number, found.line)

    def pick(self, wanted: Iterable[Entry]) -> Iterator[EpisodeRecord]:
        """The whole records of these entries, one in memory at a time."""
        for entry in wanted:
            line = read_member(self._episodes, entry.number, entry.at, entry.size)
            yield self._record(entry.number, line)

    def entries(self) -> list[Entry]:
        """Every finished episode without its trajectory, in the order they ended. Raises as
        ``index`` does."""
        return list(self.index.entries())

    def scores(self) -> list[tuple[str, dict[str, float]]]:
        """Every finished episode's id and metrics, in the order they ended."""
        return [(entry.episode_id, entry.scores) for entry in self.index.entries()]

    def failures(self) -> Iterator[FailedEpisode]:
        """Every failure, in the order they happened, of episodes finished since then too."""
        for found in read_members(self._failures):
            yield self._failure(found.number, parsed(self._failures, found.number, found.line))

    def written(self, episode: str) -> dict[str, Json]:
        """The record of an episode as the file holds it; of one that only failed, the latest
        failure. Raises ``UsageError`` where there is none."""
        index = self.index
        if entry := index.entry(episode):
            line = read_member(self._episodes, entry.number, entry.at, entry.size)
            return record_of(self._episodes, entry.number, line)
        if place := index.failure(episode):
            return parsed(self._failures, place[0], read_member(self._failures, *place))
        raise UsageError(f"{self.path}: has no episode {episode!r}")

    def record(self, episode: str) -> EpisodeRecord:
        """One episode; of a failed one, what is recorded of it, without scores. Raises as
        ``written`` does."""
        index = self.index
        if entry := index.entry(episode):
            return next(self.pick([entry]))
        failed = self._failure((index.failure(episode) or (0,))[0], self.written(episode))
        bare = Trajectory(episode, {}, ended="failed", error=failed.reason)
        return EpisodeRecord(episode, {}, failed.trajectory or bare)

    def _record(self, number: int, line: bytes) -> EpisodeRecord:
        found = record_of(self._episodes, number, line)
        scores = scores_of(self._episodes, number, found["scores"])
        played = _trajectory(self._episodes, number, found["trajectory"])
        return EpisodeRecord(found["episode"], scores, played)

    def _failure(self, number: int, found: Mapping[str, Json]) -> FailedEpisode:
        written = found.get("trajectory")
        tried = None if written is None else _trajectory(self._failures, number, written)
        return FailedEpisode(str(found.get("episode")), str(found.get("reason", "")), tried)


def _trajectory(path: Path, number: int, written: Json) -> Trajectory:
    try:
        return from_json(written)
    except RecordingError as error:
        raise corrupt(path, number, f"field 'trajectory' {error}") from error


class RunFolder(RecordedRun):
    """A run folder to write, by one process at a time.

        with RunFolder.open("runs/first", {"identity": {"agent": "oracle"}}) as folder:
            todo = [task for task in tasks if task.episode.id not in folder]
            ...
            folder.append(EpisodeRecord(task.episode.id, scores, trajectory))

    Each finished episode is whole on disk when ``append`` returns. ``notices`` tell a user of a
    resumed run how much of a line that was cut short was dropped.
    """

    def __init__(self, path: Path, lines: Appender) -> None:
        super().__init__(path)
        self.notices: list[str] = []
        self._open = True
        self._lines, self._listed = lines, self.index
        self._finished = set(self._listed.ids())
        self._failed = Appender(self._failures)
        for name, appender in (("episodes", self._lines), ("failures", self._failed)):
            if dropped := appender.cut(self._listed.end(name)):
                told = f"dropped {dropped:,} bytes of a line that was cut short"
                self.notices.append(f"{path / name}.jsonl.gz: {told}; its episode is played again")

    @staticmethod
    def open(path: Path | str, config: Mapping[str, Any]) -> RunFolder:
        """Create the folder, or resume the run in it.

        ``config["identity"]`` is a mapping whose values make it this run: one that differs anywhere
        is another run. The rest of ``config`` informs readers; that of the first start stays.

        Another run that has played and spent nothing is replaced.

        Raises ``RecordingError``, one clear line, when the folder holds another run or other
        files, is being written by another process, is corrupt, or cannot be written; and when
        the config holds a secret.
        """
        folder, prepared = Path(path), configs.prepared(config)
        with ExitStack() as opened:
            try:
                folder.mkdir(parents=True, exist_ok=True)
                _refuse_foreign(folder)
                lines = Appender(folder / EPISODES)
                opened.callback(lines.close)
                _take(folder, lines)
                opened.callback((folder / LOCK).unlink, missing_ok=True)
                run = _opened(folder, prepared, lines)
            except OSError as error:
                raise unusable(folder, error, "give a folder that can be written") from error
            opened.pop_all()
            return run

    @staticmethod
    def read(path: Path | str) -> RecordedRun:
        """The run folder to read only. Raises ``RecordingError`` where it is none."""
        return RecordedRun(path)

    @property
    def finished(self) -> frozenset[str]:
        """A copy of the ids of the episodes that need not be played again. For one, use ``in``."""
        return frozenset(self._finished)

    def __contains__(self, episode_id: object) -> bool:
        return episode_id in self._finished

    def append(self, record: EpisodeRecord) -> None:
        """Put a finished episode on disk, whole, at once.

        Raises ``RecordingError`` when it is finished already, has failed (that is for ``fail``),
        holds what cannot be written, or the disk is full; then the folder is as it was before.
        """
        self._write(record)

    def fail(self, episode_id: str, reason: str, trajectory: Trajectory | None = None) -> None:
        """Record an episode that was not finished. A resumed run plays it again."""
        self._write(FailedEpisode(episode_id, reason, trajectory))

    def _write(self, record: EpisodeRecord | FailedEpisode) -> None:
        try:
            line = Line.of(record)
        except RecordingError as error:
            raise RecordingError(f"{self.path}: {error}") from error
        self.write(line)

    def write(self, line: Line) -> None:
        """As ``append`` and ``fail``, of a line that was made elsewhere."""
        name = line.episode_id
        if not self._open:
            raise RecordingError(f"{self.path}: the run folder is closed")
        if name in self._finished:
            raise RecordingError(f"{self._episodes}: episode {name!r} is finished already")
        if line.scores is None:
            self._failed.append(line.member)
            return
        if line.ended == "failed":
            raise RecordingError(f"episode {name!r} failed, so it is not finished")
        at, size = self._lines.length, len(line.member)
        self._lines.append(line.member)
        self._finished.add(name)
        entry = Entry(name, dict(line.scores), line.ended, at, size, len(self._finished))
        self._listed.add(entry, foot_of(line.member))

    def close(self) -> None:
        """Sync everything and let others write. More than once does no harm."""
        if not self._open:
            return
        self._open = False
        with ExitStack() as closing:
            closing.callback((self.path / LOCK).unlink, missing_ok=True)
            closing.callback(self._lines.close)
            closing.callback(self._failed.close)
            closing.callback(self._listed.save)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _take(folder: Path, lines: Appender) -> None:
    """Lock the folder. Raises ``RecordingError`` naming the process that holds it."""
    if lines.lock():
        (folder / LOCK).write_text(f"{os.getpid()} on {socket.gethostname()}\n", encoding="utf-8")
        return
    who = "(unknown)"
    with suppress(OSError, ValueError):
        who = (folder / LOCK).read_text(encoding="utf-8").strip()[:80] or who
    raise RecordingError(
        f"{folder}: process {who} is writing to this run folder; wait for it to end, or give "
        "another folder"
    )


def _refuse_foreign(folder: Path) -> None:
    """Raise ``RecordingError`` for a folder with other files; an empty one is ours."""
    names = sorted(os.listdir(folder))
    if configs.NAME in names:
        return
    configs.refuse_earlier(folder)
    begun = {LOCK, f".{configs.NAME}.new"}
    if (folder / EPISODES).is_file() and not (folder / EPISODES).stat().st_size:
        begun.add(EPISODES)
    if foreign := [name for name in names if name not in begun]:
        raise RecordingError(
            f"{folder}: holds files ({foreign[0]!r}) but no {configs.NAME}, so it is no run "
            "folder; give an empty or new folder"
        )


def _opened(folder: Path, prepared: dict[str, Json], lines: Appender) -> RunFolder:
    if not is_run(folder):
        configs.write_config(folder, prepared)
        return RunFolder(folder, lines)
    recorded = configs.read_config(folder)
    if _holds_work(folder) or configs.difference(recorded, prepared) is None:
        configs.same_run(folder, recorded, prepared)
        return RunFolder(folder, lines)
    configs.write_config(folder, prepared)
    (folder / configs.SESSIONS).unlink(missing_ok=True)  # wall times of the run that is replaced
    opened = RunFolder(folder, lines)
    opened.notices.append(
        f"{folder}: another run began here and left nothing; this one replaces it"
    )
    return opened


def _holds_work(folder: Path) -> bool:
    """True if anything was played or paid; not where a run failed to start.

    A mistyped model is noticed only once it is asked, when the folder has its config.
    """
    files = (folder / name for name in (EPISODES, FAILURES, configs.CALLS))
    return any(file.exists() and file.stat().st_size > 0 for file in files)
