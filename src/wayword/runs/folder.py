"""The run folder: written while a run goes on, resumed after any crash, read by everybody else."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from wayword.core import registry
from wayword.core.episode import Json
from wayword.core.errors import RecordingError
from wayword.core.trajectory import Trajectory
from wayword.runs import columns, remote
from wayword.runs import config as configs
from wayword.runs.codec import to_json
from wayword.runs.columns import Columns, ColumnsWriter, Entry
from wayword.runs.jsonl import (
    LineWriter,
    corrupt,
    dump,
    parse_line,
    plain,
    read_lines,
    unusable,
    whole,
)
from wayword.runs.lease import FolderLock, hold
from wayword.runs.records import (
    INDEX,
    Seal,
    complete,
    head,
    index_line,
    indexed,
    read_at,
    table,
    trajectory,
)

# What a run folder holds of an episode.


@dataclass(frozen=True, slots=True)
class EpisodeRecord:
    """A finished episode: its metrics (rates as fractions of one) and all that happened."""

    episode_id: str
    scores: Mapping[str, float]
    trajectory: Trajectory

    def _repr_html_(self) -> str:
        return registry.displayed(self)


@dataclass(frozen=True, slots=True)
class FailedEpisode:
    """An episode that was not finished: why, and what happened until then, where that is known.

    A resumed run plays it again; what is written here stays as a record of the failure.
    """

    episode_id: str
    reason: str
    trajectory: Trajectory | None = None


@dataclass(frozen=True, slots=True)
class EpisodeLine:
    """A finished episode as it is written, without its checksum; made by the process that played
    it, which may be another than the folder's writer."""

    episode_id: str
    scores: Mapping[str, float]
    ended: str
    body: bytes

    @staticmethod
    def of(record: EpisodeRecord) -> EpisodeLine:
        """Raises ``RecordingError`` where the record holds what cannot be written."""
        played = record.trajectory
        body = line_of(record.episode_id, played, scores=record.scores)
        return EpisodeLine(record.episode_id, record.scores, played.ended, body)


def line_of(episode_id: str, told: Trajectory | None, **more: Any) -> bytes:
    """The JSON of a line, without its sum. Raises ``RecordingError`` naming the episode."""
    try:
        shown = None if told is None else to_json(told)
        return dump({"episode": episode_id, **plain(more), "trajectory": shown})
    except RecordingError as error:
        raise RecordingError(f"episode {episode_id!r}: {error}") from error


class RecordedRun:
    """A run folder to read, without a lock: also while the run is going on.

    >>> from wayword.runs import RecordedRun
    >>> RecordedRun("runs/none")
    Traceback (most recent call last):
        ...
    wayword.core.errors.RecordingError: runs/none: is no run folder: it has no config.json
    """

    def __init__(self, path: Path | str) -> None:
        self.path = remote.local(Path(path))
        self._episodes = self.path / "episodes.jsonl"
        self._failures = self.path / "failures.jsonl"
        self._written = configs.read_config(self.path / "config.json")
        self.seal = Seal.of(configs.raw_config(self.path / "config.json"))

    @property
    def config(self) -> dict[str, Any]:
        """What was run, as the run's first start gave it."""
        return configs.readable(self._written)

    def records(self) -> Iterator[EpisodeRecord]:
        """Every finished episode, in the order they ended, one in memory at a time.

        Raises ``RecordingError`` naming file and line for a corrupt one.
        """
        for number, line in read_lines(self._episodes):
            yield self._record(number, line)

    def entries(self) -> list[Entry]:
        """Every finished episode without its trajectory, in the order they ended.

        Raises ``RecordingError`` for a line that is corrupt, was changed, comes from another run,
        or holds an episode a second time.
        """
        return list(self.columns().entries())

    def columns(self) -> Columns:
        """The same in columns, for runs of any size. Raises as ``entries`` does."""
        return table(self._episodes, self.seal)

    def scores(self) -> list[tuple[str, dict[str, float]]]:
        """Every finished episode's id and metrics; trajectories are passed over unread."""
        found = self.columns()
        return [(name, found.row(number)) for number, name in enumerate(found.ids)]

    def pick(self, wanted: Iterable[Entry]) -> Iterator[EpisodeRecord]:
        """The whole records of these entries, one in memory at a time."""
        numbers = {at: number for number, at in enumerate(self.columns().begins, 1)}
        for entry, line in read_at(self._episodes, wanted):
            yield self._record(numbers.get(entry.at, 0), line)

    def _record(self, number: int, line: bytes) -> EpisodeRecord:
        parsed = parse_line(self._episodes, number, line)
        episode, scores = head(self._episodes, number, parsed)
        played = trajectory(self._episodes, number, parsed["trajectory"])
        self.seal.check(self._episodes, number, line)  # last: a parse error says more
        return EpisodeRecord(episode, scores, played)

    def failures(self) -> Iterator[FailedEpisode]:
        """Every failure, in the order they happened, of episodes finished since then too."""
        for number, line in read_lines(self._failures):
            parsed = parse_line(self._failures, number, line)
            self.seal.check(self._failures, number, line)
            if not isinstance(parsed.get("episode"), str):
                raise corrupt(self._failures, number, "has no field 'episode'")
            written = parsed.get("trajectory")
            tried = None if written is None else trajectory(self._failures, number, written)
            yield FailedEpisode(parsed["episode"], str(parsed.get("reason", "")), tried)


class RunFolder(RecordedRun):
    """A run folder to write, by one process at a time.

        with RunFolder.open("runs/first", {"identity": {"agent": "oracle"}}) as folder:
            todo = [task for task in tasks if task.episode.id not in folder]
            ...
            folder.append(EpisodeRecord(task.episode.id, scores, trajectory))

    Each finished episode is whole on disk when ``append`` returns. ``notices`` says in words what
    a resumed run should know: how much of a half-written line was dropped.
    """

    def __init__(self, path: Path, lock: FolderLock) -> None:
        super().__init__(path)
        self._lock: FolderLock | None = lock
        self._finished: set[str] = set()
        self.notices: list[str] = []
        # before half a line is cut: the index of a file that changed after it is made anew
        found = indexed(self._episodes, self.seal)
        with ExitStack() as opened:
            self._episode_lines = self._writer(self._episodes, opened)
            hold(self._episode_lines.descriptor, self._episodes)
            self._index_lines = self._indexed(found, opened)
            self._failure_lines = self._writer(self._failures, opened)
            opened.pop_all()

    @staticmethod
    def open(path: Path | str, config: Mapping[str, Any]) -> RunFolder:
        """Create the folder, or go on with the run in it.

        ``config["identity"]`` is a mapping that says which run it is: one that differs anywhere
        is another run. The rest of ``config`` informs readers, and the first start's is kept.

        Another run that has played and spent nothing is replaced.

        Raises ``RecordingError``, one clear line, when the folder holds another run or other
        files, is being written by another process, is corrupt, or cannot be written; and when
        the config holds a secret.
        """
        folder = Path(path)
        here = configs.prepared(config)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            _refuse_foreign(folder)
            lock = FolderLock(folder / ".lock")
            try:
                return _opened(folder, here, lock)
            except BaseException:
                lock.close()
                raise
        except OSError as error:
            raise unusable(folder, error, "give a folder that can be written") from error

    @staticmethod
    def read(path: Path | str) -> RecordedRun:
        """The run folder to read only. Raises ``RecordingError`` where it is none."""
        return RecordedRun(path)

    @property
    def finished(self) -> frozenset[str]:
        """The episodes that need not be played again: a copy. To ask for one, use ``in``."""
        return frozenset(self._finished)

    def __contains__(self, episode_id: object) -> bool:
        return episode_id in self._finished

    def append(self, record: EpisodeRecord) -> None:
        """Put a finished episode on disk, whole, at once.

        Raises ``RecordingError`` when it is there already, has failed (that is for ``fail``),
        holds what cannot be written, or the disk is full; then the folder is as it was before.
        """
        try:
            line = EpisodeLine.of(record)
        except RecordingError as error:
            raise RecordingError(f"{self.path}: {error}") from error
        self.append_line(line)

    def append_line(self, line: EpisodeLine) -> None:
        """As ``append``, of a line that was made elsewhere."""
        self._refuse_second(line.episode_id)
        if line.ended == "failed":
            raise RecordingError(f"episode {line.episode_id!r} failed, so it is not finished")
        at = self._episode_lines.length
        self._append(self._episode_lines, line.body)
        self._finished.add(line.episode_id)
        size = self._episode_lines.length - at
        entry = Entry(line.episode_id, dict(line.scores), line.ended, at, size)
        self._index_lines.append(index_line(entry, self.seal))
        self._blocks.add(entry, self._index_lines.length)

    def fail(self, episode_id: str, reason: str, trajectory: Trajectory | None = None) -> None:
        """Note an episode that was not finished, and why. A resumed run plays it again."""
        try:
            body = line_of(episode_id, trajectory, reason=reason)
        except RecordingError as error:
            raise RecordingError(f"{self.path}: {error}") from error
        self.fail_line(episode_id, body)

    def fail_line(self, episode_id: str, body: bytes) -> None:
        """As ``fail``, of a line that was made elsewhere."""
        self._refuse_second(episode_id)
        self._append(self._failure_lines, body)

    def close(self) -> None:
        """Sync everything and let others write. More than once does no harm."""
        lock, self._lock = self._lock, None
        if lock is None:
            return
        with ExitStack() as closing:
            closing.callback(lock.close)
            closing.callback(self._failure_lines.close)
            closing.callback(self._index_lines.close)
            closing.callback(self._episode_lines.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _writer(self, path: Path, opened: ExitStack) -> LineWriter:
        writer = LineWriter(path)
        opened.callback(writer.close)
        if writer.dropped:
            what = f"dropped {writer.dropped} bytes of a half-written last line"
            self.notices.append(f"{path}: {what}; its episode is played again")
        return writer

    def _indexed(self, found: Columns, opened: ExitStack) -> LineWriter:
        """The index to write to, given the lines that it lacks; made anew where nothing of it was
        ``found``."""
        path, known = self.path / INDEX, len(found)
        self._finished = complete(found, self._episodes, self.seal)
        if not known and path.is_file():
            whole(path, [])
            (self.path / columns.FILE).unlink(missing_ok=True)
        writer = LineWriter(path)
        opened.callback(writer.close)
        for number in range(known, len(found)):
            writer.append(index_line(found.entry(number), self.seal))
        os.utime(path)  # not older than the episodes, or readers would make it anew
        self._blocks = self._columns(found, path)
        return writer

    def _columns(self, found: Columns, index: Path) -> ColumnsWriter:
        """The columns to write to, given the episodes that are in the index alone."""
        path, mark = self.path / columns.FILE, self.seal.mark
        there, at, end = columns.read(path, mark)
        writer = ColumnsWriter(path, mark, end)
        for number, line in read_lines(index, at, len(there)):
            at += len(line) + 1
            writer.add(found.entry(number - 1), at)
        return writer

    def _refuse_second(self, episode_id: str) -> None:
        if episode_id in self._finished:
            raise RecordingError(f"{self._episodes}: episode {episode_id!r} is finished already")

    def _append(self, lines: LineWriter, body: bytes) -> None:
        if self._lock is None:
            raise RecordingError(f"{self.path}: the run folder is closed")
        self._lock.check()
        lines.append(self.seal.sealed(body))


def _refuse_foreign(folder: Path) -> None:
    """A folder of somebody else's files is left alone; an empty one is ours."""
    names = sorted(os.listdir(folder))
    if "config.json" in names:
        return
    foreign = [name for name in names if name not in (".lock", ".config.json.new")]
    if foreign:
        raise RecordingError(
            f"{folder}: holds files ({foreign[0]!r}) but no config.json, so it is no run folder; "
            "give an empty or new folder"
        )


def _opened(folder: Path, here: dict[str, Json], lock: FolderLock) -> RunFolder:
    path = folder / "config.json"
    if not path.exists():
        configs.write_config(path, here)
        return RunFolder(folder, lock)
    there = configs.read_config(path)
    if _holds_work(folder) or configs.difference(there, here) is None:
        configs.same_run(path, there, here)
        return RunFolder(folder, lock)
    configs.write_config(path, here)
    (folder / configs.SESSIONS).unlink(missing_ok=True)  # wall times of the run that was not to be
    opened = RunFolder(folder, lock)
    opened.notices.append(
        f"{folder}: another run began here and left nothing; this one replaces it"
    )
    return opened


_WORK = ("episodes.jsonl", "failures.jsonl", configs.SPENDING, "signature.json")


def _holds_work(folder: Path) -> bool:
    """Whether anything was played, paid or signed; not where a run failed to get going.

    A mistyped model is noticed only once it is asked, when the folder has its config.
    """
    files = (folder / name for name in _WORK)
    return any(file.exists() and file.stat().st_size > 0 for file in files)
