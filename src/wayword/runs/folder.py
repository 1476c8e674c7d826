"""The run folder: written while a run goes on, resumed after any crash, read by everybody else."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from wayword.core.episode import Json
from wayword.core.errors import RecordingError
from wayword.core.trajectory import Trajectory
from wayword.runs import config as configs
from wayword.runs.codec import from_json, to_json
from wayword.runs.jsonl import (
    LineWriter,
    corrupt,
    dump,
    parse_line,
    plain,
    read_lines,
    restore,
    unusable,
)

# What a run folder holds of an episode.


@dataclass(frozen=True, slots=True)
class EpisodeRecord:
    """A finished episode: its metrics (rates as fractions of one) and all that happened."""

    episode_id: str
    scores: Mapping[str, float]
    trajectory: Trajectory


@dataclass(frozen=True, slots=True)
class FailedEpisode:
    """An episode that was not finished: why, and what happened until then, where that is known.

    A resumed run plays it again; what is written here stays as a record of the failure.
    """

    episode_id: str
    reason: str
    trajectory: Trajectory | None = None


# One writer a run folder: an advisory lock that the system drops when its process dies.


class FolderLock:
    """Held from construction to ``close``. The file holds the owner's process number.

    Raises ``RecordingError`` where another process (or this one, before) holds it.
    """

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            self._take(path)
        except BaseException:
            os.close(self._descriptor)
            raise

    def _take(self, path: Path) -> None:
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = os.pread(self._descriptor, 32, 0).decode("ascii", "replace").strip()
            raise RecordingError(
                f"{path.parent}: process {owner or '(unknown)'} is writing to this run folder; "
                "wait for it to end, or give another folder"
            ) from None
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, f"{os.getpid()}\n".encode(), 0)

    def close(self) -> None:
        """Let others write. The file stays: removing it could take another's lock away."""
        os.close(self._descriptor)


_DECODER = json.JSONDecoder()


class RecordedRun:
    """A run folder to read, without a lock: also while the run is going on.

    >>> from wayword.runs import RecordedRun
    >>> RecordedRun("runs/none")
    Traceback (most recent call last):
        ...
    wayword.core.errors.RecordingError: runs/none: is no run folder: it has no config.json
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self._episodes = self.path / "episodes.jsonl"
        self._failures = self.path / "failures.jsonl"
        self._written = configs.read_config(self.path / "config.json")

    @property
    def config(self) -> dict[str, Any]:
        """What was run, as the run's first start gave it."""
        return configs.readable(self._written)

    def records(self) -> Iterator[EpisodeRecord]:
        """Every finished episode, in the order they ended, one in memory at a time.

        Raises ``RecordingError`` naming file and line for a corrupt one.
        """
        for number, line in read_lines(self._episodes):
            parsed = parse_line(self._episodes, number, line)
            episode, scores = _head(self._episodes, number, parsed)
            trajectory = _trajectory(self._episodes, number, parsed["trajectory"])
            yield EpisodeRecord(episode, scores, trajectory)

    def scores(self) -> list[tuple[str, dict[str, float]]]:
        """Every finished episode's id and metrics; trajectories are passed over unread."""
        return [_quick(self._episodes, number, line) for number, line in read_lines(self._episodes)]

    def failures(self) -> Iterator[FailedEpisode]:
        """Every failure, in the order they happened, of episodes finished since then too."""
        for number, line in read_lines(self._failures):
            parsed = parse_line(self._failures, number, line)
            if not isinstance(parsed.get("episode"), str):
                raise corrupt(self._failures, number, "has no field 'episode'")
            told = parsed.get("trajectory")
            trajectory = None if told is None else _trajectory(self._failures, number, told)
            yield FailedEpisode(parsed["episode"], str(parsed.get("reason", "")), trajectory)


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
        self._episode_lines = self._writer(self._episodes)
        try:
            self._read_finished()
            self._failure_lines = self._writer(self._failures)
        except BaseException:
            self._episode_lines.close()
            raise

    @staticmethod
    def open(path: Path | str, config: Mapping[str, Any]) -> RunFolder:
        """Create the folder, or go on with the run in it.

        ``config["identity"]`` is a mapping that says which run it is: one that differs anywhere
        is another run. The rest of ``config`` informs readers, and the first start's is kept.

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
        self._refuse_second(record.episode_id)
        if record.trajectory.ended == "failed":
            raise RecordingError(f"episode {record.episode_id!r} failed, so it is not finished")
        self._append(
            self._episode_lines,
            record.episode_id,
            scores=record.scores,
            trajectory=record.trajectory,
        )
        self._finished.add(record.episode_id)

    def fail(self, episode_id: str, reason: str, trajectory: Trajectory | None = None) -> None:
        """Note an episode that was not finished, and why. A resumed run plays it again."""
        self._refuse_second(episode_id)
        self._append(self._failure_lines, episode_id, reason=reason, trajectory=trajectory)

    def close(self) -> None:
        """Sync everything and let others write. More than once does no harm."""
        lock, self._lock = self._lock, None
        if lock is None:
            return
        try:
            self._episode_lines.close()
        finally:
            try:
                self._failure_lines.close()
            finally:
                lock.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _writer(self, path: Path) -> LineWriter:
        writer = LineWriter(path)
        if writer.dropped:
            what = f"dropped {writer.dropped} bytes of a half-written last line"
            self.notices.append(f"{path}: {what}; its episode is played again")
        return writer

    def _read_finished(self) -> None:
        for number, line in read_lines(self._episodes):
            episode, _ = _head(self._episodes, number, parse_line(self._episodes, number, line))
            if episode in self._finished:
                raise corrupt(self._episodes, number, f"holds episode {episode!r} a second time")
            self._finished.add(episode)

    def _refuse_second(self, episode_id: str) -> None:
        if episode_id in self._finished:
            raise RecordingError(f"{self._episodes}: episode {episode_id!r} is finished already")

    def _append(
        self, lines: LineWriter, episode_id: str, trajectory: Trajectory | None, **more: Any
    ) -> None:
        if self._lock is None:
            raise RecordingError(f"{self.path}: the run folder is closed")
        try:
            told = None if trajectory is None else to_json(trajectory)
            line = dump({"episode": episode_id, **plain(more), "trajectory": told})
        except RecordingError as error:
            raise RecordingError(f"{self.path}: episode {episode_id!r}: {error}") from error
        lines.append(line)


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
    if path.exists():
        configs.same_run(path, configs.read_config(path), here)
    else:
        configs.write_config(path, here)
    return RunFolder(folder, lock)


def _head(path: Path, number: int, parsed: dict[str, Json]) -> tuple[str, dict[str, float]]:
    """The id and scores of a parsed line."""
    kinds = {"episode": str, "scores": dict, "trajectory": dict}
    for field, kind in kinds.items():
        if not isinstance(parsed.get(field), kind):
            raise corrupt(path, number, f"has no field {field!r} of the right kind")
    return parsed["episode"], _scores(path, number, parsed["scores"])


def _scores(path: Path, number: int, written: Json) -> dict[str, float]:
    try:
        scores: dict[str, float] = restore(written)
    except (TypeError, ValueError) as error:
        raise corrupt(path, number, f"has scores that are no numbers ({error})") from error
    for name, score in scores.items():
        if not isinstance(score, int | float):
            raise corrupt(path, number, f"has scores that are no numbers ({name!r}: {score!r})")
    return scores


def _quick(path: Path, number: int, line: bytes) -> tuple[str, dict[str, float]]:
    """The id and scores that a line begins with; the whole line is parsed where it does not."""
    found = _values(line.decode(errors="replace"), ('{"episode":', ',"scores":', ',"trajectory":'))
    whole = line.endswith(b"}}") and len(found) == 2
    if whole and isinstance(found[0], str) and isinstance(found[1], dict):
        return found[0], _scores(path, number, found[1])
    return _head(path, number, parse_line(path, number, line))


def _values(text: str, labels: Iterable[str]) -> list[Json]:
    """The JSON values between the labels, as far as the text has them in that order."""
    found: list[Json] = []
    at = 0
    for label in labels:
        if not text.startswith(label, at):
            return []
        at += len(label)
        if len(found) < 2:
            try:
                value, at = _DECODER.raw_decode(text, at)
            except (ValueError, RecursionError):
                return []
            found.append(value)
    return found


def _trajectory(path: Path, number: int, written: Json) -> Trajectory:
    try:
        return from_json(written)
    except RecordingError as error:
        raise corrupt(path, number, f"field 'trajectory' {error}") from error
