"""The run folder: written during a run, resumed after any crash, readable by other tools.

    run.json            identity, versions, checksums, caveats: see :mod:`wayword.runs.config`
    episodes.jsonl.gz   a line an episode: {"episode": id, "scores": {...}, "trajectory": {...}}
    failures.jsonl.gz   a line a failure: {"episode": id, "reason": "...", "trajectory": {...}}

:mod:`wayword.runs.codec` writes the files and the trajectories, and :mod:`wayword.runs.index`
answers what does not need these.
"""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from wayword.core import registry
from wayword.core.episode import Json
from wayword.core.errors import RecordingError, UsageError
from wayword.core.trajectory import Trajectory
from wayword.models.middleware.budget import LedgerRow
from wayword.runs import config as configs
from wayword.runs import remote
from wayword.runs.codec import (
    FOOT_SIZE,
    Appender,
    corrupt,
    dump,
    from_json,
    member,
    parsed,
    read_member,
    read_members,
    unusable,
)
from wayword.runs.index import EPISODES, FAILURES, Entry, Index, checked, entry_of

LOCK = ".lock"
"""Names the process that writes; the lock itself is on the file of episodes."""


@dataclass(frozen=True, slots=True)
class EpisodeRecord:
    """A finished episode: its metrics (rates as fractions of one) and its trajectory.

    A :class:`~wayword.runs.results.RunResult` adds what the dataset knows: the instruction, the
    scene, and ``gold_length``, the actions of the reference solution, its stop included.
    """

    episode_id: str
    scores: Mapping[str, float]
    trajectory: Trajectory
    instruction: str = ""
    scene: str = ""
    gold_length: int | None = None

    def _repr_html_(self) -> str:
        return registry.render_html(self)


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
    the folder's writer. ``scores`` is None for one that failed, and ``reason`` is the cause;
    ``notes`` are the kinds of its notes, ``steps`` the number of its steps, ``billed`` the tokens
    of its calls that no cache answered."""

    episode_id: str
    scores: Mapping[str, float] | None
    reason: str
    ended: str
    member: bytes
    notes: frozenset[str] = frozenset()
    steps: int = 0
    billed: int = 0

    @classmethod
    def of(cls, record: EpisodeRecord | FailedEpisode) -> Line:
        """Raises ``RecordingError`` where the record holds what cannot be written."""
        name, trajectory = record.episode_id, record.trajectory
        scores, reason = None, ""
        if isinstance(record, EpisodeRecord):
            scores = dict(record.scores)
        else:
            reason = record.reason
        outcome = {"reason": reason} if scores is None else {"scores": scores}
        try:
            line = member(dump({"episode": name, **outcome, "trajectory": trajectory}))
        except RecordingError as error:
            raise RecordingError(f"episode {name!r}: {error}") from error
        if trajectory is None:
            return cls(name, scores, reason, "failed", line)
        notes, steps = frozenset(note.kind for note in trajectory.notes()), len(trajectory.steps)
        usages = [c.answer.usage for c in trajectory.calls() if c.answer and not c.answer.cached]
        billed = sum(usage.prompt + usage.completion for usage in usages)
        return cls(name, scores, reason, trajectory.ended, line, notes, steps, billed)


def is_run(path: Path) -> bool:
    """True if the path is a run folder on this machine."""
    return (path / configs.NAME).is_file()


class RecordedRun:
    """A run folder to read, without a lock: also while the run is in progress.

    >>> from wayword.runs import RecordedRun
    >>> RecordedRun("runs/none")
    Traceback (most recent call last):
        ...
    wayword.core.errors.RecordingError: runs/none: no such folder
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
        for line in read_members(self._episodes):
            yield self._record(line.number, parsed(self._episodes, line.number, line.line))

    def scores(self) -> list[tuple[str, dict[str, float]]]:
        """Every finished episode's id and metrics, in the order they ended."""
        return [(entry.episode_id, entry.scores) for entry in self.index.entries()]

    def failures(self) -> Iterator[FailedEpisode]:
        """Every failure, in the order they happened, of episodes finished since then too."""
        for line in read_members(self._failures):
            yield self._failure(line.number, parsed(self._failures, line.number, line.line))

    def written(self, episode: str) -> dict[str, Json]:
        """The record of an episode as the file holds it; of one that only failed, the latest
        failure. Raises ``UsageError`` where there is none."""
        index = self.index
        if entry := index.entry(episode):
            record = read_member(self._episodes, entry.number, entry.at)
            checked(self._episodes, entry.number, record)
            return record
        if place := index.failure(episode):
            return read_member(self._failures, *place)
        raise UsageError(f"{self.path}: has no episode {episode!r}")

    def record(self, episode: str) -> EpisodeRecord:
        """An episode; of a failed one, what is recorded of it, without scores. Raises as
        ``written`` does."""
        index, written = self.index, self.written(episode)
        if entry := index.entry(episode):
            return self._record(entry.number, written)
        number, _ = index.failure(episode) or (0, 0)
        failed = self._failure(number, written)
        bare = Trajectory(episode, {}, ended="failed", error=failed.reason)
        return EpisodeRecord(episode, {}, failed.trajectory or bare)

    def _record(self, number: int, written: dict[str, Json]) -> EpisodeRecord:
        record = checked(self._episodes, number, written)
        trajectory = _trajectory(self._episodes, number, record["trajectory"])
        return EpisodeRecord(record["episode"], record["scores"], trajectory)

    def _failure(self, number: int, written: Mapping[str, Json]) -> FailedEpisode:
        recorded = written.get("trajectory")
        trajectory = None if recorded is None else _trajectory(self._failures, number, recorded)
        return FailedEpisode(
            str(written.get("episode")), str(written.get("reason", "")), trajectory
        )


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

    Each finished episode is whole on disk when ``append`` returns. ``notices`` say how
    much of a line that was cut short a resumed run has dropped.
    """

    def __init__(self, path: Path, lines: Appender) -> None:
        super().__init__(path)
        self.notices: list[str] = []
        self._open = True
        self._lines, self._listed = lines, self.index
        self._failed = Appender(self._failures)
        for file, appender in ((EPISODES, self._lines), (FAILURES, self._failed)):
            if dropped := appender.cut(self._listed.end(file)):
                problem = f"dropped {dropped:,} bytes of a line that was cut short"
                self.notices.append(f"{path / file}: {problem}; its episode is played again")

    @staticmethod
    def open(path: Path | str, config: Mapping[str, Any]) -> RunFolder:
        """Create the folder, or resume the run in it.

        ``config["identity"]`` is a mapping whose values make it this run: one that differs anywhere
        is another run. The rest of ``config`` informs readers; that of the first start stays.

        Another run that has finished and spent nothing is replaced.

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
                replaced = _replaces(folder, prepared)
                run = RunFolder(folder, lines)
            except OSError as error:
                raise unusable(folder, error, "give a folder that can be written") from error
            opened.pop_all()
        if replaced:
            problem = "an earlier run here left no results; this one replaces it"
            run.notices.append(f"{folder}: {problem}")
        return run

    @staticmethod
    def read(path: Path | str) -> RecordedRun:
        """The run folder to read only. Raises ``RecordingError`` where it is none."""
        return RecordedRun(path)

    @property
    def finished(self) -> frozenset[str]:
        """A copy of the ids of the episodes that need not be played again. For one, use ``in``."""
        return frozenset(self._listed.ids())

    def __contains__(self, episode_id: object) -> bool:
        return episode_id in self._listed

    def append(self, record: EpisodeRecord | FailedEpisode) -> None:
        """Put a finished episode on disk, whole, at once; or a failure.

        Raises ``RecordingError`` when it is finished already, has failed (that is for ``fail``),
        holds what cannot be written, or the disk is full; then the folder is as it was before.
        """
        try:
            line = Line.of(record)
        except RecordingError as error:
            raise RecordingError(f"{self.path}: {error}") from error
        self.write(line)

    def fail(self, episode_id: str, reason: str, trajectory: Trajectory | None = None) -> None:
        """Record an episode that was not finished. A resumed run plays it again."""
        self.append(FailedEpisode(episode_id, reason, trajectory))

    def write(self, line: Line) -> None:
        """As ``append``, of a line that was made elsewhere."""
        name = line.episode_id
        if not self._open:
            raise RecordingError(f"{self.path}: the run folder is closed")
        if name in self:
            raise RecordingError(f"{self._episodes}: episode {name!r} is finished already")
        if line.scores is None:
            self._failed.append(line.member)
            return
        if line.ended == "failed":
            raise RecordingError(f"episode {name!r} failed, so it is not finished")
        at, size, number = self._lines.length, len(line.member), len(self._listed) + 1
        self._lines.append(line.member)
        entry = Entry(name, dict(line.scores), line.ended, at, size, number)
        self._listed.add(entry, line.member[-FOOT_SIZE:])

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

    def __exit__(self, *error: object) -> None:
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
    expected = {LOCK, f".{configs.NAME}.new"}
    if (folder / EPISODES).is_file() and not (folder / EPISODES).stat().st_size:
        expected.add(EPISODES)
    if foreign := [name for name in names if name not in expected]:
        raise RecordingError(
            f"{folder}: holds files ({foreign[0]!r}) but no {configs.NAME}, so it is no run "
            "folder; give an empty or new folder"
        )


def _replaces(folder: Path, prepared: dict[str, Json]) -> bool:
    """Write ``run.json`` where there is none; True where it replaces that of another run, which
    had finished and paid nothing. A mistyped model is noticed only once it is asked, when the
    folder has its config and failures. Raises ``RecordingError`` for a run that differs and did."""
    replaces = False
    if is_run(folder):
        recorded = configs.read_config(folder)
        # What was sent to a store is never changed: failures there count as work, too.
        kept = (EPISODES, FAILURES) if remote.is_working_copy(folder) else (EPISODES,)
        sizes = [(folder / name).stat().st_size for name in kept if (folder / name).exists()]
        if any(sizes) or any(configs.billed(folder)[:2]):
            configs.same_run(folder, recorded, prepared)
        if configs.difference(recorded, prepared) is None:
            return False
        replaces = True
    configs.write_config(folder, prepared)
    for name in (FAILURES, configs.SESSIONS, configs.CALLS) if replaces else ():
        (folder / name).unlink(missing_ok=True)
    return replaces


# Shards of one run as one run folder: ``wayword merge``.
#
# Each machine plays ``--shard i/n`` into a folder of its own. Their records are copied as they are,
# and the folder can be read, shown and resumed like one that was played in one piece. Of a single
# folder the merge copies what can be read: the way out of a damaged record.

_SHARD = "shard"  # the one field of the identity in which shards differ


@dataclass(frozen=True, slots=True)
class Merged:
    """The new folder, the number of its episodes, and notices for the user."""

    path: Path
    episodes: int
    notices: tuple[str, ...] = ()


def merge(shards: Sequence[Path], out: Path) -> Merged:
    """Write the shards' episodes to a new run folder, whole or not at all.

    Raises ``UsageError`` for shards of different runs, an episode in two of them, and an ``out``
    that holds anything; ``RecordingError`` where one of several folders is damaged. In a single
    folder, damaged records and second copies are left out, each with a notice.
    """
    if remote.url_of(out):
        raise UsageError(f"--out {remote.url_of(out)}: merge into a folder on this machine")
    if out.is_file() or (out.is_dir() and any(out.iterdir())):
        raise UsageError(f"{out}: is not empty; give a new folder with --out")
    runs = [RecordedRun(path) for path in shards]
    if not runs:
        raise UsageError("name the run folders to merge")
    config = _common_config([configs.read_config(run.path) for run in runs], shards)
    gaps: list[str] | None = [] if len(runs) == 1 else None
    owners: dict[str, Path] = {}
    new = out.with_name(f".{out.name}.{os.getpid()}.new")
    try:
        new.mkdir(parents=True)
        configs.write_config(new, config)
        for name in (EPISODES, FAILURES):
            with closing(Appender(new / name)) as lines:
                for run in runs:
                    for raw in _copied(run.path / name, gaps, owners):
                        lines.append(raw)
        bills = [configs.billed(run.path)[:2] for run in runs]  # a budget holds for the whole
        tokens, dollars = sum(bill[0] for bill in bills), sum(bill[1] for bill in bills)
        if tokens or dollars:
            with closing(configs.Spending(new)) as spending:
                spending.write(LedgerRow(tokens, dollars))
        out.parent.mkdir(parents=True, exist_ok=True)
        new.replace(out)
    except OSError as error:
        raise unusable(out, error, "give a folder that can be written") from error
    finally:
        shutil.rmtree(new, ignore_errors=True)
    notices = [f"left out: {gap}" for gap in gaps or ()]
    given = [str(run.config["identity"].get(_SHARD) or "") for run in runs]
    parts = {name.partition("/")[2] for name in given if "/" in name}
    if len(parts) == 1 and len(runs) > 1:
        count = int(parts.pop())
        missing = {f"{at}/{count}": 0 for at in range(1, count + 1) if f"{at}/{count}" not in given}
        notices += [f"missing: shard {', '.join(missing)}"] if missing else []
    return Merged(out, len(owners), tuple(notices))


def _common_config(configs_: Sequence[dict[str, Any]], shards: Sequence[Path]) -> dict[str, Any]:
    """The whole run's config. Raises ``UsageError`` naming what the shards do not share."""
    first = configs_[0]["identity"]
    if len(shards) == 1:
        return configs_[0]
    for other, path in zip(configs_[1:], shards[1:], strict=True):
        for field in dict.fromkeys((*first, *other["identity"])):
            was, now = first.get(field), other["identity"].get(field)
            if field != _SHARD and was != now:
                raise UsageError(
                    f"{path}: belongs to another run: {field!r} is {now!r}, not {was!r}"
                )
    return {**configs_[0], "identity": {**first, _SHARD: ""}}


def _copied(path: Path, gaps: list[str] | None, owners: dict[str, Path]) -> Iterator[bytes]:
    """The records of a file as they are; finished episodes once each, listed in ``owners``.

    With ``gaps``, damaged records and second copies are listed there; else they raise.
    """
    if not path.is_file():
        return
    with path.open("rb") as file:
        for line in read_members(path, gaps=gaps):
            if path.name == EPISODES:
                try:
                    episode = entry_of(path, line).episode_id
                    if episode in owners and gaps is not None:
                        raise corrupt(path, line.number, f"holds {episode!r} a second time")
                except RecordingError as error:
                    if gaps is None:
                        raise
                    gaps.append(str(error).partition("; ")[0])
                    continue
                if episode in owners:
                    where = f"{owners[episode]} and {path.parent}"
                    raise UsageError(f"episode {episode!r} is in {where}")
                owners[episode] = path.parent
            file.seek(line.at)
            yield file.read(line.size)
