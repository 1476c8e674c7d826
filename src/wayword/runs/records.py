"""The lines of ``episodes.jsonl``: each sealed by a checksum, and found again through an index.

A sealed line ends in ``"sum"``: 16 hex digits of the SHA-256 of the run's identity and of the line
without its sum. So a changed line is noticed, and so is one that comes from another run.

``index.jsonl`` holds a line for each of them: the episode, its scores, how it ended, and where its
line begins and how long it is, in bytes. Tables, lists and resumed runs read it instead of the
trajectories. It can be made again at any time: one that does not fit the file beside it, or is
older, is not used. Of large runs ``wayword.runs.columns`` keeps most of it in arrays.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pydantic_core

from wayword.core.episode import Json
from wayword.core.errors import RecordingError
from wayword.core.trajectory import Trajectory
from wayword.runs import columns
from wayword.runs.codec import from_json
from wayword.runs.columns import Columns, Entry
from wayword.runs.jsonl import corrupt, dump, parse_line, plain, read_lines, restore, unusable

_SUM = b',"sum":"'
_TAIL = len(_SUM) + 16 + len('"}')
_ORDER = ("episode", "scores", "reason", "trajectory")
_NUMBERS = frozenset({int, float})
_DECODER = json.JSONDecoder()
INDEX = "index.jsonl"


@dataclass(frozen=True, slots=True)
class Seal:
    """How one run's lines are sealed. ``strict``: every line has a sum, as the config says."""

    mark: bytes
    strict: bool

    @staticmethod
    def of(written: dict[str, Json]) -> Seal:
        """The seal of a run by its config as it was written."""
        text = json.dumps(written["identity"], sort_keys=True, separators=(",", ":"))
        mark = hashlib.sha256(text.encode()).digest()
        return Seal(mark, written.get("sums") == "sha256")

    def sealed(self, line: bytes) -> bytes:
        """A line, which is a JSON object, with its sum."""
        return line[:-1] + _SUM + self._sum(line[:-1]) + b'"}'

    @staticmethod
    def bare(line: bytes) -> bytes:
        """A sealed line without its sum; others as they are."""
        return line[:-_TAIL] + b"}" if line[-_TAIL:].startswith(_SUM) else line

    def check(self, path: Path, number: int, line: bytes) -> None:
        """Raises ``RecordingError`` for a line that is not as this run wrote it."""
        if line[-_TAIL:].startswith(_SUM) and line.endswith(b'"}'):
            if self._sum(memoryview(line)[:-_TAIL]) == line[-18:-2]:
                return
        elif not self.strict and b'"sum"' not in line[-_TAIL * 2 :]:
            return  # from before there were sums
        if not self._rewritten(path, number, line):
            problem = "is not what this run wrote: it was changed, or comes from another run"
            raise corrupt(path, number, problem)

    def _rewritten(self, path: Path, number: int, line: bytes) -> bool:
        """Whether another tool wrote the same values with other spaces, or in another order."""
        parsed = parse_line(path, number, line)
        told = parsed.pop("sum", None)
        if not isinstance(told, str):
            return not self.strict
        ours = dump({key: parsed[key] for key in _ORDER if key in parsed})
        return self._sum(ours[:-1]).decode() == told

    def _sum(self, body: bytes | memoryview) -> bytes:
        digest = hashlib.sha256(self.mark)
        digest.update(body)
        return digest.hexdigest()[:16].encode()


# Reading lines.


def head(path: Path, number: int, parsed: dict[str, Json]) -> tuple[str, dict[str, float]]:
    """The id and scores of a parsed line."""
    kinds = {"episode": str, "scores": dict, "trajectory": dict}
    for field, kind in kinds.items():
        if not isinstance(parsed.get(field), kind):
            raise corrupt(path, number, f"has no field {field!r} of the right kind")
    return parsed["episode"], _scores(path, number, parsed["scores"])


def trajectory(path: Path, number: int, written: Json) -> Trajectory:
    """The trajectory of a parsed line."""
    try:
        return from_json(written)
    except RecordingError as error:
        raise corrupt(path, number, f"field 'trajectory' {error}") from error


def table(path: Path, seal: Seal) -> Columns:
    """Every line of ``episodes.jsonl``, checked, its trajectory passed over unread.

    What the columns and the index beside it tell is not read again. Raises ``RecordingError`` for a
    line that is corrupt, or holds an episode a second time.
    """
    found = indexed(path, seal)
    with suppress(OSError):
        if found.end == path.stat().st_size and not found.ids.may_repeat():
            return found
    complete(found, path, seal)
    return found


def complete(found: Columns, path: Path, seal: Seal, seen: set[str] | None = None) -> set[str]:
    """Add to ``found`` the lines behind its last one; returns ``seen``, the ids of all of them.

    Raises as ``table`` does.
    """
    if seen is None:
        seen = set(found.ids)
        if len(seen) < len(found):
            again = set[str]()
            for number, name in enumerate(found.ids, 1):
                _unique(path, number, name, again)
    for number, line in read_lines(path, found.end, len(found)):
        entry = _quick(path, number, line, found.end)
        seal.check(path, number, line)
        _unique(path, number, entry.episode_id, seen)
        found.add(entry)
    return seen


def index_line(entry: Entry, seal: Seal) -> bytes:
    """The entry as a line of the index."""
    told = {
        "episode": entry.episode_id,
        "scores": plain(entry.scores),
        "ended": entry.ended,
        "at": entry.at,
        "bytes": entry.size,
    }
    return seal.sealed(dump(told))


def read_at(path: Path, wanted: Iterable[Entry]) -> Iterator[tuple[Entry, bytes]]:
    """The whole lines of these entries, without their newlines."""
    try:
        with path.open("rb") as file:
            for entry in wanted:
                file.seek(entry.at)
                yield entry, file.read(entry.size - 1)
    except OSError as error:
        raise unusable(path, error) from error


def _unique(path: Path, number: int, episode: str, seen: set[str]) -> None:
    if episode in seen:
        raise corrupt(path, number, f"holds episode {episode!r} a second time")
    seen.add(episode)


def indexed(path: Path, seal: Seal) -> Columns:
    """What the columns and the index tell of the file's first lines; nothing where they cannot be
    relied on."""
    index = path.with_name(INDEX)
    found, at, _ = columns.read(path.with_name(columns.FILE), seal.mark)
    try:
        own, other = path.stat(), index.stat()
        if other.st_size < at:
            found, at = Columns(), 0
        for number, line in read_lines(index, at, len(found)):
            entry = _entry(index, number, line, seal)
            if entry.at != found.end:
                return Columns()
            found.add(entry)
    except (OSError, RecordingError, KeyError, TypeError, ValueError):
        return Columns()
    changed = found.end > own.st_size or own.st_mtime_ns > other.st_mtime_ns
    return Columns() if changed and not _growing(path, found.end, own.st_size) else found


def _growing(path: Path, end: int, size: int) -> bool:
    """Whether the file is merely longer than its index: a run is writing, or was killed."""
    if not 0 < end < size:
        return False
    with path.open("rb") as file:
        file.seek(end - 1)
        return file.read(1) == b"\n"


def _entry(path: Path, number: int, line: bytes, seal: Seal) -> Entry:
    seal.check(path, number, line)
    told = pydantic_core.from_json(line)  # json takes five times as long, and tables wait for it
    scores = told["scores"]
    scores = scores if _NUMBERS.issuperset(map(type, scores.values())) else restore(scores)
    return Entry(told["episode"], scores, told["ended"], int(told["at"]), int(told["bytes"]))


def _scores(path: Path, number: int, written: Json) -> dict[str, float]:
    try:
        scores: dict[str, float] = restore(written)
    except (TypeError, ValueError) as error:
        raise corrupt(path, number, f"has scores that are no numbers ({error})") from error
    for name, score in scores.items():
        if not isinstance(score, int | float):
            raise corrupt(path, number, f"has scores that are no numbers ({name!r}: {score!r})")
    return scores


def _quick(path: Path, number: int, line: bytes, at: int) -> Entry:
    """The head of a line; the whole line is parsed where it is not in our own order."""
    text = line.decode(errors="replace")
    labels = ('{"episode":', ',"scores":', ',"trajectory":{"episode_id":', ',"ended":')
    found = _values(text, labels)
    if len(found) == len(labels) and line.endswith((b"}}", b'"}')):
        episode, scores, _, ended = found
        if isinstance(episode, str) and isinstance(scores, dict) and isinstance(ended, str):
            return Entry(episode, _scores(path, number, scores), ended, at, len(line) + 1)
    parsed = parse_line(path, number, line)
    episode, scores = head(path, number, parsed)
    return Entry(episode, scores, str(parsed["trajectory"].get("ended", "")), at, len(line) + 1)


def _values(text: str, labels: Iterable[str]) -> list[Any]:
    """The JSON value after each label, as far as the text has them in that order."""
    found: list[Any] = []
    at = 0
    for label in labels:
        if not text.startswith(label, at):
            return []
        try:
            value, at = _DECODER.raw_decode(text, at + len(label))
        except (ValueError, RecursionError):
            return []
        found.append(value)
    return found
