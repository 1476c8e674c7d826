"""An index of a run's records: ids, scores, and the place of each record in its file.

Tables, lists and resumed runs read it instead of the trajectories. It is derived: made from the
records when there is none or it does not fit them, extended when they grew, and deleted without
loss. It lies in the user's cache folder, never next to the run, whose folder may be on a network.

On disk it is one file that begins with a checksum, read whole and replaced whole, so that neither a
damaged file nor two processes at once can change a figure. It fits the records where the last one
that it lists stands in the file, with the same checksum, and where the file, if it did not grow,
was not modified either.

The text index, for searches, is an SQLite database that is made at the first search.
"""

from __future__ import annotations

import hashlib
import json
import math
import sqlite3
import sys
import threading
import zlib
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayword.core.episode import Json
from wayword.core.errors import RecordingError
from wayword.core.files import cache_folder, keep
from wayword.metrics.intervals import Floats
from wayword.metrics.summary import Scores
from wayword.runs.codec import (
    FOOT_SIZE,
    Member,
    corrupt,
    parsed,
    read_member,
    read_members,
    restore,
)

_AT_ONCE = 500  # records whose texts are added in one transaction
EPISODES, FAILURES = "episodes.jsonl.gz", "failures.jsonl.gz"
_FORM = 5  # raised whenever the file, or what is put into it, changes


_RecordForm = tuple[str, tuple[tuple[str, bool], ...]]
"""What most records share: how the episode ended, and its metrics, each True if a whole number."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A finished episode without its trajectory. Its record takes up ``size`` bytes of the file
    from byte ``at`` on, and is the ``number``-th, from 1."""

    episode_id: str
    scores: dict[str, float]
    ended: str
    at: int
    size: int
    number: int = 0


class Index:
    """Index of a run's records. Safe to query from several threads.

    Scores are stored by metric: of 100,000 episodes, a mapping each takes seconds to make."""

    def __init__(self, folder: Path) -> None:
        self._files = {name: folder / name for name in (EPISODES, FAILURES)}
        digest = hashlib.sha256(str(folder.resolve()).encode(errors="surrogatepass")).hexdigest()
        self._cached = cache_folder() / "index" / f"{digest[:24]}-{_FORM}"
        self._lock = threading.RLock()
        self._clear()
        try:
            self._load(self._cached.read_bytes())
        except (OSError, ValueError, KeyError, TypeError):
            self._clear()  # there is none, or it is damaged, or of another form

    def _clear(self) -> None:
        """Begin again with nothing."""
        self._ids: list[str] = []
        self._numbers: dict[str, int] = {}
        self._columns: dict[str, array[float]] = {}
        """Scores of every episode by metric; NaN where it has none."""
        self._forms: dict[_RecordForm, int] = {}
        self._form, self._at, self._size = array("i"), array("q"), array("q")
        """Number of the form of each record, its first byte, and its bytes."""
        self._failures: list[tuple[str, str, int]] = []
        """Id, reason and first byte of each failure."""
        self._ends = dict.fromkeys(self._files, 0)  # the byte behind the last record
        self._feet = dict.fromkeys(self._files, b"")  # the last bytes of the last record
        self._modified = self._saved = 0

    def _load(self, content: bytes) -> None:
        """Take over the file in the cache folder. Raises ``ValueError`` where it is damaged."""
        if zlib.crc32(content[4:]) != int.from_bytes(content[:4], "little"):
            raise ValueError("damaged")
        start = content.index(b"\n") + 1
        head = json.loads(content[4:start])
        self._ids, self._ends = head["ids"], head["ends"]
        self._numbers = {name: number for number, name in enumerate(self._ids, 1)}
        self._forms = {(end, tuple(map(tuple, m))): n for n, (end, m) in enumerate(head["forms"])}
        self._columns = {key: array("d") for key in head["keys"]}
        for held in self._arrays():
            end = start + len(self._ids) * held.itemsize
            held.frombytes(content[start:end])
            start = end
        self._failures = [(name, why, at) for name, why, at in head["failures"]]
        self._feet = {name: bytes.fromhex(foot) for name, foot in head["feet"].items()}
        self._modified, self._saved = head["modified"], self._count()

    def save(self) -> None:
        """Write the file in the cache folder, if there is more to it than on disk."""
        with self._lock:
            if self._count() == self._saved:
                return
            self._saved, self._modified = self._count(), self._mtime()
            head = {
                "ids": self._ids,
                "keys": [*self._columns],
                "forms": [*self._forms],
                "failures": self._failures,
                "ends": self._ends,
                "feet": {name: foot.hex() for name, foot in self._feet.items()},
                "modified": self._modified,
            }
            arrays = (held.tobytes() for held in self._arrays())
            content = b"".join([json.dumps(head).encode(), b"\n", *arrays])
            check = zlib.crc32(content).to_bytes(4, "little")
            keep(self._cached, lambda file: file.write(check + content))

    def _arrays(self) -> list[array[Any]]:
        return [self._form, self._at, self._size, *self._columns.values()]

    def _count(self) -> int:
        return len(self._ids) + len(self._failures)

    # Growing with the records.

    def refresh(self) -> Index:
        """Bring it up to date with the files.

        Raises ``RecordingError`` for a record that is damaged, or holds an episode a second time.
        """
        with self._lock:
            unchanged = not self._modified or self._mtime() in (0, self._modified)
            listed = {name: self._foot(name, end) for name, end in self._ends.items()}
            if not unchanged or listed != self._feet:  # the last records are not where they were
                self._clear()
            before = self._count()
            for member in read_members(self._files[EPISODES], self._ends[EPISODES], len(self)):
                self._insert(entry_of(self._files[EPISODES], member), member.foot)
            path = self._files[FAILURES]
            for member in read_members(path, self._ends[FAILURES], len(self._failures)):
                failure = parsed(path, member.number, member.line)
                if not isinstance(failure.get("episode"), str):
                    raise corrupt(path, member.number, "has no field 'episode'")
                reason = str(failure.get("reason", ""))
                self._failures.append((failure["episode"], reason, member.at))
                self._ends[FAILURES] = member.at + member.size
                self._feet[FAILURES] = member.foot
            if (self._count() - before) * 8 > self._saved:
                self.save()
            elif self._count() > before:
                self._modified = self._mtime()
        return self

    def _mtime(self) -> int:
        """When the file of episodes was modified (nanoseconds); 0 where it is longer than what is
        listed, or does not exist."""
        with suppress(OSError):
            status = self._files[EPISODES].stat()
            return status.st_mtime_ns if status.st_size == self._ends[EPISODES] else 0
        return 0

    def _foot(self, name: str, end: int) -> bytes:
        """The last bytes that the file has before a record's end; empty where it has none."""
        with suppress(OSError), self._files[name].open("rb") as file:
            if end:
                file.seek(end - FOOT_SIZE)
                return file.read(FOOT_SIZE)
        return b""

    def end(self, name: str) -> int:
        """The byte behind the last record listed of one of the files."""
        with self._lock:
            return self._ends[name]

    def add(self, entry: Entry, foot: bytes) -> None:
        """List an episode whose record was appended just now."""
        with self._lock:
            self._insert(entry, foot)
            self._modified = 0
            if entry.number > 1000 and (entry.number - self._saved) * 4 > self._saved:
                self.save()

    def _insert(self, entry: Entry, foot: bytes) -> None:
        if entry.episode_id in self._numbers:
            problem = f"holds episode {entry.episode_id!r} a second time"
            raise corrupt(self._files[EPISODES], entry.number, problem)
        for key, score in entry.scores.items():
            if abs(score) > sys.float_info.max:  # integers of a damaged file have any length
                entry.scores[key] = math.inf if score > 0 else -math.inf
            if key not in self._columns:
                self._columns[key] = array("d", [math.nan]) * len(self._ids)
        for key, column in self._columns.items():
            column.append(entry.scores.get(key, math.nan))
        metrics = tuple((key, isinstance(score, int)) for key, score in entry.scores.items())
        form = self._forms.setdefault((entry.ended, metrics), len(self._forms))
        for held, value in zip((self._form, self._at, self._size),
                               (form, entry.at, entry.size), strict=True):  # fmt: skip
            held.append(value)
        self._ids.append(entry.episode_id)
        self._numbers[entry.episode_id] = len(self._ids)
        self._ends[EPISODES], self._feet[EPISODES] = entry.at + entry.size, foot

    # Questions.

    def __len__(self) -> int:
        return len(self._ids)

    def __contains__(self, episode: object) -> bool:
        return episode in self._numbers

    @property
    def keys(self) -> list[str]:
        """Every metric that some episode has."""
        with self._lock:
            return list(self._columns)

    def ids(self) -> list[str]:
        """Every finished episode, in the order they ended."""
        with self._lock:
            return list(self._ids)

    def endings(self) -> list[str]:
        """Distinct endings of episodes."""
        with self._lock:
            return list(dict.fromkeys(ended for ended, _ in self._forms))

    def failed(self) -> dict[str, str]:
        """Id and reason of the latest failure of each episode that was not finished since."""
        with self._lock:
            latest: dict[str, str] = {}
            for name, reason, _ in self._failures:
                latest.pop(name, None)  # in the order of the latest failures
                latest[name] = reason
            return {name: why for name, why in latest.items() if name not in self._numbers}

    def failure(self, episode: str) -> tuple[int, int] | None:
        """Number and first byte of the latest failure of an episode."""
        with self._lock:
            places = (
                (n, at) for n, (name, _, at) in enumerate(self._failures, 1) if name == episode
            )
            return max(places, default=None)

    def entries(self, numbers: Iterable[int] | None = None) -> Iterator[Entry]:
        """Finished episodes, in the order they ended; or those of these numbers, in their order."""
        with self._lock:
            forms = list(self._forms)
            chosen = range(1, len(self) + 1) if numbers is None else numbers
            return iter([self._entry(number, forms) for number in chosen])

    def _entry(self, number: int, forms: Sequence[_RecordForm]) -> Entry:
        at = number - 1
        ended, metrics = forms[self._form[at]]
        scores = {key: self._columns[key][at] for key, _ in metrics}
        scores |= {key: int(scores[key]) for key, whole in metrics if whole}
        return Entry(self._ids[at], scores, ended, self._at[at], self._size[at], number)

    def entry(self, episode: str) -> Entry | None:
        """A finished episode; None where there is none."""
        with self._lock:
            number = self._numbers.get(episode)
            return None if number is None else self._entry(number, list(self._forms))

    def column(self, key: str) -> Floats:
        """A metric over the episodes in the order they ended, (N,); NaN where one lacks it."""
        with self._lock:
            return (
                np.array(self._columns[key]) if key in self._columns else np.full(len(self), np.nan)
            )

    def not_a_number(self, key: str) -> NDArray[np.bool_]:
        """True for the episodes whose score is NaN, rather than missing, (N,)."""
        with self._lock:
            present = np.array([key in dict(metrics) for _, metrics in self._forms], bool)
            missing: NDArray[np.bool_] = np.isnan(self.column(key)) & present[np.array(self._form)]
            return missing

    def scores(self) -> Scores:
        """All metrics in the order of the ids, so that no figure depends on who ended first."""
        with self._lock:
            order = sorted(range(len(self)), key=self._ids.__getitem__)
            columns = {key: self.column(key)[order] for key in self._columns}
            return Scores([self._ids[at] for at in order], columns)

    def find(
        self,
        ended: str = "",
        ranges: Iterable[tuple[str, float, float, bool]] = (),
        among: Iterable[str] | None = None,
        sort: str = "",
        down: bool = False,
    ) -> list[int]:
        """The numbers of the episodes that ended so, and whose metrics are in these ranges (key,
        least, most, whether the most is in it), sorted by ``id`` or a metric. ``among``: of these
        episodes alone."""
        with self._lock:
            matches = np.ones(len(self), bool)
            if ended:
                matches &= np.array([end == ended for end, _ in self._forms])[np.array(self._form)]
            for key, low, high, last in ranges:
                column = self.column(key)
                matches &= (column >= low) & ((column < high) | (last & (column == high)))
            if among is not None:
                allowed = set(among)
                matches &= np.array([name in allowed for name in self._ids], bool)
            numbers: list[int] = (np.flatnonzero(matches) + 1).tolist()
            if sort == "id":
                numbers.sort(key=lambda number: self._ids[number - 1], reverse=down)
            elif sort:
                values = self.column(sort)[matches]
                order = np.lexsort((-values if down else values, np.isnan(values)))
                numbers = [numbers[at] for at in order]
            return numbers

    # Texts.

    def search(self, words: str, instruction: Callable[[str], str] | None = None) -> list[str]:
        """The episodes in which all the words stand, or their continuations: in thoughts, prompts,
        answers or the instruction, as far as ``instruction`` knows it. The first search of a run
        reads all of its records; one for no words does no more. Raises ``RecordingError``."""
        query = " ".join('"' + word.replace('"', '""') + '"*' for word in words.split())
        if not query.replace('"', "").replace("*", ""):
            query = ""
        path = self._cached.with_name(f"{self._cached.stem}-text.sqlite")
        try:
            return self._search(path, query, instruction)
        except sqlite3.Error:  # damaged, or of another form: made again
            with suppress(OSError):
                path.unlink(missing_ok=True)
        try:
            return self._search(path, query, instruction)
        except (sqlite3.Error, OSError) as error:
            problem = f"{path}: {error}; set $WAYWORD_CACHE to a folder to write"
            raise RecordingError(problem) from None

    def _search(
        self, path: Path, query: str, instruction: Callable[[str], str] | None
    ) -> list[str]:
        path.parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(path, timeout=60)) as db:
            db.executescript(
                "CREATE TABLE IF NOT EXISTS read (number INTEGER PRIMARY KEY, foot BLOB);"
                "CREATE VIRTUAL TABLE IF NOT EXISTS texts USING "
                "fts5(instruction, thoughts, prompts, answers, content='');"
            )
            while self._read_texts(db, instruction):
                pass
            match = "SELECT rowid FROM texts WHERE texts MATCH ?"
            rows = db.execute(match, (query,)).fetchall() if query else []
        return [self._ids[number - 1] for (number,) in sorted(rows)]

    def _read_texts(self, db: sqlite3.Connection, instruction: Callable[[str], str] | None) -> bool:
        """Add the texts of the next records, some at once, so that a reader who is stopped has not
        read in vain; False where all are there."""
        with db:
            db.execute("BEGIN IMMEDIATE")
            number, foot = db.execute("SELECT max(number), foot FROM read").fetchone()
            last = list(self.entries([number])) if number and number <= len(self) else []
            if number and [self._foot_of(entry) for entry in last] != [foot]:
                raise sqlite3.DatabaseError("of other records")
            first = (number or 0) + 1
            entries = list(self.entries(range(first, min(len(self), first + _AT_ONCE - 1) + 1)))
            for entry in entries:
                record = read_member(self._files[EPISODES], entry.number, entry.at)
                text = instruction(entry.episode_id) if instruction else ""
                columns = (text, *map(_lines_once, texts_of(record["trajectory"])))
                db.execute(
                    "INSERT INTO texts (rowid, instruction, thoughts, prompts, answers) "
                    "VALUES (?, ?, ?, ?, ?)",
                    (entry.number, *(t.encode(errors="replace").decode() for t in columns)),
                )
                read = entry.number, self._foot_of(entry)
                db.execute("INSERT INTO read VALUES (?, ?)", read)
        return bool(entries)

    def _foot_of(self, entry: Entry) -> bytes:
        return self._foot(EPISODES, entry.at + entry.size)


def texts_of(written: Mapping[str, Json]) -> tuple[list[str], list[str], list[str]]:
    """Thoughts, prompts and answers of a trajectory as its record holds it."""
    thoughts, prompts, answers = list[str](), list[str](), list[str]()
    for trial in (*written.get("earlier", ()), written):
        calls = [*trial.get("opening_calls", ()), *trial.get("closing_calls", ())]
        for step in trial["steps"]:
            thoughts.append(step["decision"].get("thought", ""))
            calls += step.get("calls", ())
        for call in calls:
            prompt, answer = call["prompt"], call.get("answer") or {}
            prompts += [prompt] if isinstance(prompt, str) else [m["content"] for m in prompt]
            answers += answer.get("texts") or answer.get("options") or []
    return thoughts, prompts, answers


def _lines_once(texts: Iterable[str]) -> str:
    """Every line once: prompts repeat most of the one before."""
    return "\n".join(dict.fromkeys(line for text in texts for line in text.splitlines()))


# Records.


def entry_of(path: Path, member: Member) -> Entry:
    """A record without its trajectory."""
    record = checked(path, member.number, parsed(path, member.number, member.line))
    ended = str(record["trajectory"].get("ended", ""))
    return Entry(record["episode"], record["scores"], ended, member.at, member.size, member.number)


def checked(path: Path, number: int, record: dict[str, Json]) -> dict[str, Json]:
    """The record of an episode with its scores restored. Raises ``RecordingError`` where it is
    none."""
    for field, kind in {"episode": str, "scores": dict, "trajectory": dict}.items():
        if not isinstance(record.get(field), kind):
            raise corrupt(path, number, f"has no field {field!r} of the right kind")
    try:
        scores = restore(record["scores"])
        problems = [f"{k!r}: {v!r}" for k, v in scores.items() if not isinstance(v, int | float)]
    except (TypeError, ValueError, AttributeError) as error:
        problems = [str(error)]
    if problems:
        raise corrupt(path, number, f"has scores that are no numbers ({problems[0]})")
    return {**record, "scores": scores}
