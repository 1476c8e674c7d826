"""The run folder: written during a run, resumed after any crash, readable by other tools.

:mod:`wayword.runs` describes its files, :mod:`wayword.runs.codec` their encoding;
:mod:`wayword.runs.index` answers queries that do not need trajectories.
"""

from __future__ import annotations

import logging
import os
import shutil
import socket
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import chain
from pathlib import Path
from typing import Any, Self

import numpy as np

from wayword.core import registry
from wayword.core.action import Rejection
from wayword.core.episode import Json, JsonObject
from wayword.core.errors import RecordingError, UsageError, suggest
from wayword.core.files import make_parent, read_regular
from wayword.core.trajectory import Step, Trajectory
from wayword.core.visible import visible
from wayword.models.middleware.ledger import LedgerRow, Totals
from wayword.runs import codec, json_lines, remote
from wayword.runs import config as configs
from wayword.runs.index import EPISODES, FAILURES, LOCK, Entry, Index, checked, entry_of


@dataclass(frozen=True)
class EpisodeRecord:
    """A finished episode: its metrics (rates between 0 and 1) and its trajectory.

    A :class:`~wayword.runs.results.RunResult` adds data from the dataset: the instruction, the
    scene, and ``gold_length``, the length by which ``table --by length`` groups episodes: moves of
    the reference path or metres of the shortest one; without either, the expert's actions.
    """

    episode_id: str
    scores: Mapping[str, float]
    # Pictures and depth of every step are no text to print.
    trajectory: Trajectory = field(repr=False)
    instruction: str = ""
    scene: str = ""
    gold_length: int | None = None

    def _repr_html_(self) -> str:
        """Show the episode as a page in notebooks."""
        return registry.render_html(self)


@dataclass(frozen=True)
class FailedEpisode:
    """An episode that failed: the reason, and the trajectory up to the failure, if any.

    A resumed run plays it again and keeps this record.
    """

    episode_id: str
    reason: str
    trajectory: Trajectory | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """An encoded episode, ready to be written by a process other than the one that played it.

    ``scores`` is None for a failed episode, and ``reason`` is the cause; ``member`` is
    the compressed record. ``notes`` are the kinds of its notes, ``steps`` counts the steps of all
    its trials, and ``rejected`` those with a rejected answer, by kind and reason.
    """

    episode_id: str
    scores: Mapping[str, float] | None
    reason: str
    ended: str
    member: bytes
    notes: frozenset[str] = frozenset()
    steps: int = 0
    rejected: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, record: EpisodeRecord | FailedEpisode) -> Line:
        """Encode an episode. Raises ``RecordingError`` for a value that has no JSON form."""
        # A failed episode has a reason, a finished one has scores; a record has one of
        # them.
        name = record.episode_id
        trajectory = record.trajectory
        scores = None
        reason = ""
        outcome: dict[str, Any] = {}
        if isinstance(record, FailedEpisode):
            outcome["reason"] = reason = record.reason
        else:
            outcome["scores"] = scores = dict(record.scores)
            # A scorer may return True for 1, which no reader takes for a number.
            for key, score in scores.items():
                if isinstance(score, bool | np.bool_):
                    scores[key] = int(score)
        # Encoded where it was played, so that the writer only appends.
        try:
            record_line = {"episode": name, **outcome, "trajectory": trajectory}
            line = json_lines.member(codec.dump(record_line))
        except RecordingError as error:
            raise RecordingError(f"episode {name!r}: {error}") from error
        if trajectory is None:
            return cls(name, scores, reason, "failed", line)
        notes = frozenset(note.kind for note in trajectory.notes())
        steps = [*chain.from_iterable(trial.steps for trial in trajectory.trials())]
        return cls(
            name,
            scores,
            reason,
            trajectory.ended,
            line,
            notes,
            len(steps),
            rejections(steps),
        )


def rejections(steps: Iterable[Step]) -> Counter[str]:
    """Return the number of rejected answers by kind and reason: ``illegal: jump is …``."""
    decisions = [step.decision for step in steps]
    return Counter(
        f"{decision.kind}: {decision.reason}"
        for decision in decisions
        if isinstance(decision, Rejection)
    )


def is_run(path: Path) -> bool:
    """True if the path is a run folder on this machine."""
    return (path / configs.NAME).is_file()


@cache
def _notice_once(text: str) -> None:
    """Log a notice, which Python prints on stderr, once in this process."""
    logging.getLogger("wayword").warning("%s", visible(text))


class RecordedRun:
    """A run folder opened for reading. No lock is needed, even while the run is in progress.

    Records are read when they are needed; what is read once (``sessions``, ``dollars``)
    does not change afterwards, while ``index`` and everything built on it follows the
    files. Raises ``RecordingError`` if the path is no run folder; a URL is downloaded
    first.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = remote.local(Path(path))
        self._config = configs.read_config(self.path)
        self.config: JsonObject = configs.complete(self.path, self._config)
        """Content of ``run.json``, with defaults for missing fields."""
        self._episodes = self.path / EPISODES
        self._failures = self.path / FAILURES
        self._index: Index | None = None

    def __repr__(self) -> str:
        """Return the class and the folder."""
        return f"{type(self).__name__}({str(self.path)!r})"

    @cached_property
    def sessions(self) -> Sequence[configs.Session]:
        """The sessions logged when this was first read. Raises ``RecordingError``."""
        return list(configs.sessions(self.path))

    @cached_property
    def dollars(self) -> float:
        """The run's bill when this was first read. Raises ``RecordingError``."""
        return self._bill.dollars

    @cached_property
    def assumed_dollars(self) -> float:
        """The part of the bill that is assumed, for requests whose answer was lost."""
        return self._bill.assumed

    @cached_property
    def _bill(self) -> Totals:
        return configs.bill(self.path)

    @property
    def by_expert(self) -> bool:
        """True if the expert plays every actor."""
        identity = self.config["identity"]
        return bool(identity["agent"] == "expert" and not identity["actors"])

    def require(self, *fields: str) -> None:
        """Raise ``RecordingError`` if ``run.json`` lacks one of these fields.

        For callers that cannot work with the defaults of ``config``.
        """
        configs.require(self.path, self._config, *fields)

    @property
    def index(self) -> Index:
        """Ids, scores and file positions of all records, up to date. Raises ``RecordingError``."""
        if self._index is not None:
            return self._index.refresh()
        self._index = Index(self.path).refresh()
        if not isinstance(self, RunFolder):
            self._notice_cut(self._index)
        return self._index

    def _notice_cut(self, index: Index) -> None:
        """Say on stderr that the file of episodes ends within a record: it was cut, or a process
        was killed. Resuming the run reports it by itself."""
        size = 0
        with suppress(OSError):
            size = self._episodes.stat().st_size
        if size > index.ends[EPISODES]:
            finished = sum(session.finished for session in self.sessions)
            of = f"{len(index):,} of {finished:,}"
            if finished <= len(index):
                of = f"{len(index):,}"
            _notice_once(f"{self._episodes}: ends within a record; {of} episodes read")

    def records(self) -> Iterator[EpisodeRecord]:
        """Iterate over the finished episodes in the order they ended; only one is in memory.

        Raises ``RecordingError`` at the first damaged record.
        """
        # Records are read one by one: a run may be larger than memory.
        for line in json_lines.read_members(self._episodes):
            raw = json_lines.parsed(self._episodes, line.number, line.line)
            yield self._record(line.number, raw)

    def scores(self) -> list[tuple[str, dict[str, float]]]:
        """Return id and metrics of each finished episode, in the order they ended."""
        return [(entry.episode_id, entry.scores) for entry in self.index.entries()]

    def failures(self) -> Iterator[FailedEpisode]:
        """Iterate over all failures in order, including those of episodes that finished later."""
        for line in json_lines.read_members(self._failures):
            raw = json_lines.parsed(self._failures, line.number, line.line)
            yield self._failure(line.number, raw)

    def raw_record(self, episode: str) -> dict[str, Json]:
        """Return the JSON object of an episode; if it never finished, of its latest failure.

        Raises ``UsageError`` for an unknown episode, ``RecordingError`` for a damaged
        record.
        """
        index = self.index
        # A finished episode first; its earlier failures are of no interest then.
        if entry := index.entry(episode):
            record = json_lines.read_member(self._episodes, entry.number, entry.at)
            checked(self._episodes, entry.number, record)
            return record
        if place := index.failure(episode):
            return json_lines.read_member(self._failures, *place)
        raise UsageError(f"{self.path}: has no episode {episode!r}")

    def record(self, episode: str) -> EpisodeRecord:
        """Return the record of an episode; one that only failed has no scores.

        Raises ``UsageError`` for an unknown episode, ``RecordingError`` for a damaged
        record.
        """
        index = self.index
        raw = self.raw_record(episode)
        if entry := index.entry(episode):
            return self._record(entry.number, raw)
        # The episode only failed: its latest failure stands for it.
        number, _ = index.failure(episode) or (0, 0)
        failed = self._failure(number, raw)
        empty = Trajectory(episode, {}, ended="failed", error=failed.reason)
        return EpisodeRecord(episode, {}, failed.trajectory or empty)

    def _record(self, number: int, raw: dict[str, Json]) -> EpisodeRecord:
        """Return the record of a line. Raises ``RecordingError`` for a damaged one."""
        record = checked(self._episodes, number, raw)
        trajectory = codec.trajectory_in(self._episodes, number, record)
        return EpisodeRecord(record["episode"], record["scores"], trajectory)

    def _failure(self, number: int, raw: JsonObject) -> FailedEpisode:
        """Return the failed episode of a line."""
        # A failure before the world was ready has no trajectory.
        trajectory = None
        if raw.get("trajectory") is not None:
            trajectory = codec.trajectory_in(self._failures, number, raw)
        return FailedEpisode(
            str(raw.get("episode")),
            str(raw.get("reason", "")),
            trajectory,
        )


class RunFolder(RecordedRun):
    """A run folder opened for writing, by one process at a time.

        with RunFolder.open("runs/first", {"identity": {"agent": "oracle"}}) as folder:
            folder.append(EpisodeRecord(task.episode.id, scores, trajectory))

    A finished episode is safely stored when ``append`` returns. ``notices`` report partial lines
    that were removed when the run was resumed.
    """

    def __init__(self, path: Path, lines: json_lines.Appender) -> None:
        super().__init__(path)
        self.notices: list[str] = []
        self._open = True
        self._is_new = False
        self._lines = lines
        self._listed = self.index
        self._failed = json_lines.Appender(self._failures)
        # What a killed process left behind is cut off before anything is appended.
        for file, appender in ((EPISODES, self._lines), (FAILURES, self._failed)):
            if dropped := appender.cut(self._listed.ends[file]):
                problem = f"removed {dropped:,} bytes of an incomplete line"
                self.notices.append(
                    f"{path / file}: {problem}; its episode is played again"
                )

    @staticmethod
    def open(path: Path | str, config: JsonObject) -> RunFolder:
        """Create the folder, or resume the run in it.

        ``config["identity"]`` identifies the run: if any value differs, it is another run. The rest
        of ``config`` is information for readers, written only once. Another run without finished
        episodes or costs is replaced. Raises ``RecordingError`` if the folder contains another run
        or other files, is in use by another process, is corrupt or not writable, or if the config
        contains a secret.
        """
        folder = Path(path)
        # Checked before the folder is made: a config with a secret leaves no trace.
        prepared = configs.prepared(config)
        with ExitStack() as opened:
            is_new = not folder.exists()
            try:
                folder.mkdir(parents=True, exist_ok=True)
                # Only an empty folder or a run folder is written to.
                names = sorted(os.listdir(folder))
                # What an interrupted start may have left does not count as foreign.
                expected = {LOCK, f".{configs.NAME}.new"}
                episodes = folder / EPISODES
                if episodes.is_file() and not episodes.stat().st_size:
                    expected.add(EPISODES)
                foreign = [name for name in names if name not in expected]
                if foreign and configs.NAME not in names:
                    raise RecordingError(
                        f"{folder}: not a run folder: it contains {foreign[0]!r} but no "
                        f"{configs.NAME}; give an empty or new folder"
                    )
                # The lock is on the file of episodes, so that it ends with the process.
                lines = json_lines.Appender(folder / EPISODES)
                opened.callback(lines.close)
                if not lines.lock():
                    owner = "(unknown)"
                    with suppress(OSError, ValueError):
                        text = read_regular(folder / LOCK).decode().strip()
                        owner = text[:80] or owner
                    raise RecordingError(
                        f"{folder}: process {owner} is writing to this run folder; wait until it "
                        "ends, or give another folder"
                    )
                process = f"{os.getpid()} on {socket.gethostname()}\n"
                (folder / LOCK).write_text(process, encoding="utf-8")
                opened.callback((folder / LOCK).unlink, missing_ok=True)
                replaced = _replaces(folder, prepared)
                run = RunFolder(folder, lines)
            except OSError as error:
                raise json_lines.unusable(
                    folder, error, "give a writable folder"
                ) from error
            # Everything went well, so the files stay open and the lock stays held.
            opened.pop_all()
        run._is_new = is_new
        recorded = configs.read_config(folder)
        run.notices += configs.moved_servers(recorded, prepared)
        if replaced:
            run.notices.append(
                f"{folder}: replaced an earlier run, which had no results"
            )
        return run

    @staticmethod
    def read(path: Path | str) -> RecordedRun:
        """Open a run folder for reading. Raises ``RecordingError`` if it is not a run folder."""
        return RecordedRun(path)

    def __contains__(self, episode_id: object) -> bool:
        return episode_id in self._listed

    def append(self, record: EpisodeRecord | FailedEpisode) -> None:
        """Store a finished or failed episode; a failed one has its own file.

        Raises ``RecordingError``, and leaves the folder unchanged, if the episode is
        already finished, a value cannot be recorded, or the disk is full. A finished
        record whose trajectory ended as ``failed`` is refused: use ``fail``.
        """
        # The folder's path is added, as the encoder does not know it.
        try:
            line = Line.of(record)
        except RecordingError as error:
            raise RecordingError(f"{self.path}: {error}") from error
        self.write(line)

    def fail(
        self,
        episode_id: str,
        reason: str,
        trajectory: Trajectory | None = None,
    ) -> None:
        """Append a failed episode."""
        self.append(FailedEpisode(episode_id, reason, trajectory))

    def write(self, line: Line) -> None:
        """Append a line, as :meth:`append` does with a record.

        Raises ``RecordingError`` if the folder is closed or already has the episode.
        """
        name = line.episode_id
        if not self._open:
            raise RecordingError(f"{self.path}: the run folder is closed")
        if name in self:
            raise RecordingError(
                f"{self._episodes}: episode {name!r} is already finished"
            )
        # Failures have a file of their own, and may be played again.
        if line.scores is None:
            self._failed.append(line.member)
            return
        if line.ended == "failed":
            raise RecordingError(f"episode {name!r} failed; record it with fail()")
        # Position and size before it is appended: the index finds the record by them.
        at = self._lines.length
        size = len(line.member)
        self._lines.append(line.member)
        entry = Entry(name, dict(line.scores), line.ended, at, size)
        self._listed.add(entry, line.member[-json_lines.FOOT_SIZE :])

    def close(self) -> None:
        """Sync all files and release the lock. May be called repeatedly."""
        # Closing twice is allowed, as by a context manager and a ``finally``.
        if not self._open:
            return
        self._open = False
        # In reverse order: the index is saved first, the lock is released last.
        with ExitStack() as closing:
            closing.callback((self.path / LOCK).unlink, missing_ok=True)
            closing.callback(self._lines.close)
            closing.callback(self._failed.close)
            closing.callback(self._listed.save)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
        # A refused run that was never started leaves nothing behind.
        is_refused = any(isinstance(each, UsageError) for each in error)
        has_results = self.index.tried() or any(configs.billed(self.path))
        if self._is_new and is_refused and not has_results:
            shutil.rmtree(self.path)


def _replaces(folder: Path, prepared: dict[str, Json]) -> bool:
    """Write ``run.json`` if it is missing or belongs to another run without results.

    Such a run is one with a mistyped model name, for example, which is noticed only at
    the first call. Returns True if another run was replaced. Raises ``RecordingError``
    if that has finished episodes or costs.
    """
    replaces = False
    if is_run(folder):
        recorded = configs.read_config(folder)
        # objects in a store are never changed, so failures there count as results too
        results = [EPISODES]
        if remote.is_working_copy(folder):
            results.append(FAILURES)
        files = [folder / name for name in results]
        has_results = any(file.exists() and file.stat().st_size for file in files)
        # Results of another run are never overwritten.
        if has_results or any(configs.billed(folder)):
            configs.same_run(folder, recorded, prepared)
        if configs.difference(recorded, prepared) is None:
            return False
        replaces = True
    # Written first: a crash before the rest leaves a folder that says what it is.
    configs.write_config(folder, prepared)
    if replaces:
        for name in (FAILURES, configs.SESSIONS, configs.CALLS):
            (folder / name).unlink(missing_ok=True)
    return replaces


# ``wayword merge``: combine the shards of a run.
#
# Each machine plays ``--shard i/n`` into a separate folder. Their records are copied unchanged to a
# folder that can be read, shown and resumed as if one machine had played all of it. Given a single
# folder, it copies the intact records: the remedy for a damaged one.

_SHARD = "shard"  # the only field of the identity in which shards differ


@dataclass(frozen=True)
class Merged:
    """A merged run folder, its number of episodes, and notices for the user."""

    path: Path
    episodes: int
    notices: tuple[str, ...] = ()


def merge(shards: Sequence[Path], out: Path) -> Merged:
    """Write the shards' episodes to a new run folder, all or nothing.

    Each shard has the episodes of ``--shard i/n``; a missing one is a notice. From a
    single folder, damaged and duplicate records are left out, each with a notice.
    Raises ``UsageError`` for shards of different runs, an episode in two shards, or an
    ``out`` that is not empty, and ``RecordingError`` if one of several folders is
    damaged.
    """
    # A store is not merged into, since its objects are never changed.
    if remote.url_of(out):
        raise UsageError(
            f"--out {remote.url_of(out)}: must be a folder on this machine"
        )
    if out.is_file() or (out.is_dir() and any(out.iterdir())):
        raise UsageError(f"{out}: is not empty; give a new folder with --out")
    runs = [RecordedRun(path) for path in shards]
    if not runs:
        raise UsageError("name the run folders to merge")
    places = [remote.url_of(path) or os.path.realpath(path) for path in shards]
    for path, place in zip(shards, places, strict=True):
        if places.count(place) > 1:
            raise UsageError(f"{path}: is given twice; name each run folder once")
    config = _common_config([configs.read_config(run.path) for run in runs], shards)
    # From a single folder, damage is skipped and reported; from several it is an error.
    gaps: list[str] | None = None
    if len(runs) == 1:
        gaps = []
    owners: dict[str, Path] = {}
    # Next to the folder, so that renaming it is atomic.
    new = out.with_name(f".{out.name}.{os.getpid()}.new")
    try:
        new.mkdir(parents=True)
        configs.write_config(new, config)
        for name in (EPISODES, FAILURES):
            with closing(json_lines.Appender(new / name)) as lines:
                for run in runs:
                    for raw in _copied(run.path / name, gaps, owners):
                        lines.append(raw)
        # Bills of all shards together, as one session: a budget holds for all of them.
        bills = [configs.billed(run.path) for run in runs]
        tokens = sum(bill[0] for bill in bills)
        dollars = sum(bill[1] for bill in bills)
        if tokens or dollars:
            with closing(configs.Spending(new)) as spending:
                spending.write(LedgerRow(tokens, dollars))
        make_parent(out)
        new.replace(out)
    except OSError as error:
        raise json_lines.unusable(out, error, "give a writable folder") from error
    finally:
        shutil.rmtree(new, ignore_errors=True)
    notices = [f"left out: {gap}" for gap in gaps or ()]
    merged = [str(run.config["identity"].get(_SHARD) or "") for run in runs]
    # Shards are numbered n/total; a missing one is reported.
    totals = {name.partition("/")[2] for name in merged if "/" in name}
    if len(totals) == 1 and len(runs) > 1:
        (total,) = totals
        names = [f"{number}/{total}" for number in range(1, int(total) + 1)]
        if missing := [name for name in names if name not in merged]:
            notices.append(f"missing: shard {', '.join(missing)}")
    return Merged(out, len(owners), tuple(notices))


def _common_config(
    configs_: Sequence[dict[str, Any]],
    shards: Sequence[Path],
) -> dict[str, Any]:
    """Return the config of the merged run: that of the first shard, without its number.

    Raises ``UsageError`` if the identities differ in another field: different runs.
    """
    first = configs_[0]["identity"]
    # A single folder keeps its config.
    if len(shards) == 1:
        return configs_[0]
    # Every field of both identities, since either may have one more.
    for other, path in zip(configs_[1:], shards[1:], strict=True):
        for key in dict.fromkeys((*first, *other["identity"])):
            expected = first.get(key)
            actual = other["identity"].get(key)
            if key != _SHARD and actual != expected:
                difference = f"{key!r} is {actual!r}, and in {shards[0]} {expected!r}"
                raise UsageError(f"{path}: not a shard of the same run: {difference}")
    return {**configs_[0], "identity": {**first, _SHARD: ""}}


def _copied(
    path: Path,
    gaps: list[str] | None,
    owners: dict[str, Path],
) -> Iterator[bytes]:
    """Yield the compressed records of a file, and add each finished episode to ``owners``.

    ``owners`` maps episodes to the folder that has them. Damaged and duplicate records
    are described in ``gaps``; if that is None, they raise ``RecordingError``. An
    episode of another folder raises ``UsageError``.
    """
    if not path.is_file():
        return
    # A file may have been unzipped.
    is_plain = json_lines.is_plain(path)
    if is_plain:
        lines = json_lines.read_plain(path, [] if gaps is None else gaps)
    else:
        lines = json_lines.read_members(path, gaps=gaps)
    with path.open("rb") as file:
        for line in lines:
            # Only episodes are counted and compared; failures are copied.
            if path.name == EPISODES:
                try:
                    episode = entry_of(path, line).episode_id
                    if episode in owners and gaps is not None:
                        raise json_lines.corrupt(
                            path,
                            line.number,
                            f"duplicate of episode {episode!r}",
                        )
                except RecordingError as error:
                    if gaps is None:
                        raise
                    gaps.append(str(error).partition("; ")[0])
                    continue
                if episode in owners:
                    where = f"{owners[episode]} and {path.parent}"
                    raise UsageError(f"episode {episode!r} is in {where}")
                owners[episode] = path.parent
            # Plain lines are compressed; compressed ones are copied byte by byte.
            if is_plain:
                yield json_lines.member(line.line)
            else:
                file.seek(line.at)
                yield file.read(line.size)


# ``wayword drop``: remove episodes from a run, so that it plays them again.

DROPPED = "dropped.jsonl.gz"
"""Records of removed episodes, finished and failed ones: nothing that was paid for is lost."""


def check_changeable(path: Path) -> None:
    """Raise ``UsageError`` if records cannot be removed from a run, as in a store."""
    if url := remote.url_of(path):
        raise UsageError(
            f"{url}: records in a store are never removed; `wayword merge {url} --out NEW` copies "
            "them to this machine, where drop and --redo work"
        )


def drop(path: Path, episodes: Sequence[str]) -> int:
    """Remove episodes from a run folder, and return their number of records.

    The records are kept in ``dropped.jsonl.gz``: nothing that was paid for is lost. The
    run plays the episodes again. Raises ``UsageError`` for an episode that the run does
    not have, and ``RecordingError`` if the folder cannot be written or a process is
    writing to it.
    """
    check_changeable(path)
    run = RecordedRun(path)
    # Finished and failed episodes alike may be dropped.
    names = set(episodes)
    known = run.index.tried()
    for name in episodes:
        if name not in known:
            raise UsageError(f"{path}: has no episode {name!r}; {suggest(name, known)}")
    # The records are moved to another file, under the lock of the run.
    removed = 0
    try:
        # Records are copied before the file without them replaces the old one.
        with ExitStack() as opened:
            lines = json_lines.Appender(path / EPISODES)
            opened.callback(lines.close)
            if not lines.lock():
                raise RecordingError(f"{path}: a process is writing to this run folder")
            dropped = json_lines.Appender(path / DROPPED)
            opened.callback(dropped.close)
            for file in (EPISODES, FAILURES):
                removed += _move(path / file, names, dropped)
    except OSError as error:
        raise json_lines.unusable(path, error, "give a writable folder") from error
    return removed


def _move(path: Path, names: Collection[str], dropped: json_lines.Appender) -> int:
    """Move the records of these episodes to another file, and return how many there were.

    They are appended to ``dropped`` before the file without them replaces the old one, so
    that a crash between the two leaves them in both.
    """
    if not path.is_file():
        return 0
    new = path.with_name(f".{path.name}.new")
    removed = 0
    with path.open("rb") as source, new.open("wb") as target:
        for line in json_lines.read_members(path):
            # Byte by byte, so that records stay as they were written.
            source.seek(line.at)
            raw = source.read(line.size)
            record = json_lines.parsed(path, line.number, line.line)
            if record.get("episode") in names:
                dropped.append(raw)
                removed += 1
            else:
                target.write(raw)
        # On the disk before it replaces the old file.
        target.flush()
        os.fsync(target.fileno())
    # Nothing removed: the old file is untouched.
    if removed:
        new.replace(path)
    else:
        new.unlink()
    return removed
