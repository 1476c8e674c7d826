"""An index of a run's records: ids, scores, and the position of each record in its file.

Tables, lists and resumed runs read it instead of the trajectories. It is derived data: built from
the records if it is missing or does not match them, extended as they grow, and safe to delete. It
is in the user's cache folder, because the run folder may be on a network drive: a single file that
begins with a checksum and is always replaced completely. It matches the records if the last record
it lists is in the file with the same checksum and, if the file has not grown, the file was not
modified. The text index for searches is an SQLite database, built at the first search.
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
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from wayword.core.episode import Json
from wayword.core.errors import RecordingError
from wayword.core.files import cache_folder, keep, make_parent, open_regular
from wayword.core.geometry import Bools, Floats
from wayword.core.model import Choice
from wayword.core.trajectory import Trajectory
from wayword.metrics.summary import Scores
from wayword.runs import codec, json_lines

# Records added to the text index per transaction.
_BATCH = 500

# The files of a run's records.
EPISODES = "episodes.jsonl.gz"
FAILURES = "failures.jsonl.gz"
LOCK = ".lock"
"""File that names the writing process. The lock itself is on ``episodes.jsonl.gz``."""

# Of the index file; increment it whenever the format or content changes.
_VERSION = 5


_Layout = tuple[str, tuple[tuple[str, bool], ...]]
"""How an episode ended, and its metrics: name, True if an integer. Most records share one."""


@dataclass(frozen=True)
class Entry:
    """A finished episode without its trajectory.

    Its record starts at byte ``at`` of the file and has ``size`` bytes; ``number``
    counts records from 1. Scores that are whole numbers are ``int``.
    """

    episode_id: str
    scores: dict[str, float]
    ended: str
    at: int
    size: int
    number: int = 0


class Index:
    """Index of a run's records; all methods may be called from several threads.

    Queries answer from what was read at the last ``refresh``. Scores are stored in one
    array per metric: building a mapping per episode takes seconds for 100,000 episodes.
    """

    def __init__(self, folder: Path) -> None:
        self._files = {name: folder / name for name in (EPISODES, FAILURES)}
        # A folder's index has a name of its own, by the folder's full path.
        full_path = str(folder.resolve()).encode(errors="surrogatepass")
        digest = hashlib.sha256(full_path).hexdigest()
        self._cached = cache_folder() / "index" / f"{digest[:24]}-{_VERSION}"
        self._lock = threading.RLock()
        self._clear()
        # Any damage is handled alike: the index can be rebuilt.
        try:
            self._load(self._cached.read_bytes())
        except (OSError, ValueError, KeyError, TypeError):
            self._clear()  # missing, damaged, or of another version

    def _clear(self) -> None:
        """Start an empty index."""
        self._ids: list[str] = []
        self._numbers: dict[str, int] = {}
        self._columns: dict[str, array[float]] = {}
        """Scores of all episodes by metric; NaN if missing."""
        self._layouts: dict[_Layout, int] = {}
        self._layout = array("i")
        """Number of each record's layout."""
        self._at = array("q")
        """Each record's first byte."""
        self._size = array("q")
        """Each record's size in bytes."""
        self._failures: list[tuple[str, str, int]] = []
        """Id, reason and first byte of each failure."""
        self.ends = dict.fromkeys(self._files, 0)
        """The byte after the last record of each file."""
        # The last bytes of the last record
        self._feet = dict.fromkeys(self._files, b"")
        self._modified = self._saved = 0

    def _load(self, content: bytes) -> None:
        """Load the cached file. Raises ``ValueError``, ``KeyError`` or ``TypeError`` if
        it is damaged.
        """
        # The first four bytes are the checksum of the rest.
        if zlib.crc32(content[4:]) != int.from_bytes(content[:4], "little"):
            raise ValueError("damaged")
        start = content.index(b"\n", 4) + 1  # a checksum may have any bytes
        head = json.loads(content[4:start])
        # The order of the arrays is that of ``_arrays``.
        self._ids = head["ids"]
        self.ends = head["ends"]
        self._numbers = {name: number for number, name in enumerate(self._ids, 1)}
        self._layouts = {
            (ended, tuple(map(tuple, metrics))): number
            for number, (ended, metrics) in enumerate(head["layouts"])
        }
        self._columns = {key: array("d") for key in head["keys"]}
        # Each array has one value per episode, in the machine's own format.
        for values in self._arrays():
            end = start + len(self._ids) * values.itemsize
            values.frombytes(content[start:end])
            start = end
        self._failures = [(name, reason, at) for name, reason, at in head["failures"]]
        self._feet = {name: bytes.fromhex(foot) for name, foot in head["feet"].items()}
        self._modified = head["modified"]
        self._saved = self._count()

    def save(self) -> None:
        """Write the index to the cache folder if it has grown.

        A cache folder that cannot be written is no error: the index is built again next
        time.
        """
        with self._lock:
            # Unchanged since it was saved.
            if self._count() == self._saved:
                return
            self._saved = self._count()
            self._modified = self._mtime()
            # A line of JSON, then the arrays as they are in memory.
            head = {
                "ids": self._ids,
                "keys": [*self._columns],
                "layouts": [*self._layouts],
                "failures": self._failures,
                "ends": self.ends,
                "feet": {name: foot.hex() for name, foot in self._feet.items()},
                "modified": self._modified,
            }
            arrays = (values.tobytes() for values in self._arrays())
            content = b"".join([json.dumps(head).encode(), b"\n", *arrays])
            checksum = zlib.crc32(content).to_bytes(4, "little")
            keep(self._cached, lambda file: file.write(checksum + content))

    def _arrays(self) -> list[array[Any]]:
        """Return the arrays with one row per episode, in the order in which they are saved."""
        return [self._layout, self._at, self._size, *self._columns.values()]

    def _count(self) -> int:
        """Return the number of indexed lines."""
        return len(self._ids) + len(self._failures)

    # Updates.

    def refresh(self) -> Index:
        """Update the index from the files, and return it.

        Reads only what was appended; if the last indexed records are no longer where
        they were, all. Raises ``RecordingError`` for a damaged record or a duplicate
        episode.
        """
        with self._lock:
            # A time of 0 means that episodes were appended since, which is no change of
            # the old ones.
            unchanged = not self._modified or self._mtime() in (0, self._modified)
            feet = {name: self._foot(name, end) for name, end in self.ends.items()}
            # The last records have moved or changed
            if not unchanged or feet != self._feet:
                self._clear()
            before = self._count()
            # Only what was appended is read.
            path = self._files[EPISODES]
            for member in json_lines.read_members(path, self.ends[EPISODES], len(self)):
                self._insert(entry_of(path, member), member.foot)
            path = self._files[FAILURES]
            indexed = len(self._failures)
            for member in json_lines.read_members(path, self.ends[FAILURES], indexed):
                failure = json_lines.parsed(path, member.number, member.line)
                if not isinstance(failure.get("episode"), str):
                    problem = "field 'episode' is missing or malformed"
                    raise json_lines.corrupt(path, member.number, problem)
                reason = str(failure.get("reason", ""))
                self._failures.append((failure["episode"], reason, member.at))
                self.ends[FAILURES] = member.at + member.size
                self._feet[FAILURES] = member.foot
            # Saved again after growth by an eighth, so that the total cost stays
            # linear.
            if (self._count() - before) * 8 > self._saved:
                self.save()
            elif self._count() > before:
                self._modified = self._mtime()
        return self

    def _mtime(self) -> int:
        """Return the modification time of the episodes file in nanoseconds.

        0 if the file is missing or has records that the index does not list.
        """
        with suppress(OSError):
            status = self._files[EPISODES].stat()
            # A file with unread records has no time that can be compared.
            if status.st_size == self.ends[EPISODES]:
                return status.st_mtime_ns
        return 0

    def _foot(self, name: str, end: int) -> bytes:
        """Return the last bytes before an offset, by which a changed file is noticed.

        Empty at the start of a file, and for a file that cannot be read.
        """
        with suppress(OSError), open_regular(self._files[name]) as file:
            if end:
                file.seek(end - json_lines.FOOT_SIZE)
                return file.read(json_lines.FOOT_SIZE)
        return b""

    def add(self, entry: Entry, foot: bytes) -> None:
        """Add an episode that was just appended, and save the index from time to time.

        For the writer of the run, who need not read its own records.
        """
        with self._lock:
            self._insert(entry, foot)
            self._modified = 0
            # saving rewrites the file: growth by a quarter keeps the total cost linear
            count = self._count()
            if count > 1000 and (count - self._saved) * 4 > self._saved:
                self.save()

    def _insert(self, entry: Entry, foot: bytes) -> None:
        """Insert an episode after the last one. Raises ``RecordingError`` for a duplicate."""
        if entry.episode_id in self._numbers:
            problem = f"duplicate of episode {entry.episode_id!r}"
            raise json_lines.corrupt(self._files[EPISODES], entry.number, problem)
        # A metric that earlier episodes lack is missing (NaN) there.
        for key, score in entry.scores.items():
            # A damaged file may contain a huge integer
            if abs(score) > sys.float_info.max:
                entry.scores[key] = math.inf if score > 0 else -math.inf
            # Earlier episodes get NaN in the new column.
            if key not in self._columns:
                self._columns[key] = array("d", [math.nan]) * len(self._ids)
        for key, column in self._columns.items():
            column.append(entry.scores.get(key, math.nan))
        # Whole numbers stay whole, although columns have floats.
        metrics = tuple(
            (key, isinstance(score, int)) for key, score in entry.scores.items()
        )
        layout = self._layouts.setdefault((entry.ended, metrics), len(self._layouts))
        self._layout.append(layout)
        self._at.append(entry.at)
        self._size.append(entry.size)
        self._ids.append(entry.episode_id)
        self._numbers[entry.episode_id] = len(self._ids)
        self.ends[EPISODES] = entry.at + entry.size
        self._feet[EPISODES] = foot

    # Queries.

    def __len__(self) -> int:
        return len(self._ids)

    def __contains__(self, episode: object) -> bool:
        return episode in self._numbers

    @property
    def keys(self) -> list[str]:
        """The keys of all metrics, in the order in which they first occurred."""
        with self._lock:
            return list(self._columns)

    def ids(self) -> list[str]:
        """Return the ids of the finished episodes, in the order they ended."""
        with self._lock:
            return list(self._ids)

    def tried(self) -> set[str]:
        """Return the ids of the finished and the failed episodes."""
        return {*self.ids(), *self.failed()}

    def endings(self) -> list[str]:
        """Return the ways in which episodes ended, each once."""
        with self._lock:
            return list(dict.fromkeys(ended for ended, _ in self._layouts))

    def failed(self) -> dict[str, str]:
        """Return the latest failure reason of each unfinished episode, in the order of failure."""
        with self._lock:
            latest: dict[str, str] = {}
            # In the order of the latest failure.
            for name, reason, _ in self._failures:
                latest.pop(name, None)  # moves it to the end
                latest[name] = reason
            for name in self._numbers.keys() & latest.keys():
                del latest[name]  # finished later
            return latest

    def failure(self, episode: str) -> tuple[int, int] | None:
        """Return number and first byte of the latest failure of an episode; None if it
        never failed.
        """
        with self._lock:
            latest = None
            for number, (name, _, at) in enumerate(self._failures, 1):
                if name == episode:
                    latest = (number, at)
            return latest

    def entries(self, numbers: Iterable[int] | None = None) -> Iterator[Entry]:
        """Iterate over the finished episodes with these numbers (from 1), in this order.

        By default all, as they ended.
        """
        with self._lock:
            layouts = list(self._layouts)
            # Counted from 1, as users count records.
            if numbers is None:
                numbers = range(1, len(self) + 1)
            return iter([self._entry(number, layouts) for number in numbers])

    def _entry(self, number: int, layouts: Sequence[_Layout]) -> Entry:
        """Return the entry of a row."""
        at = number - 1
        ended, metrics = layouts[self._layout[at]]
        scores = {key: self._columns[key][at] for key, _ in metrics}
        scores |= {key: int(scores[key]) for key, is_integer in metrics if is_integer}
        return Entry(
            self._ids[at],
            scores,
            ended,
            at=self._at[at],
            size=self._size[at],
            number=number,
        )

    def entry(self, episode: str) -> Entry | None:
        """Return a finished episode; None if it is not finished."""
        with self._lock:
            number = self._numbers.get(episode)
            if number is None:
                return None
            return self._entry(number, list(self._layouts))

    def column(self, key: str) -> Floats:
        """Return a metric of all episodes in the order they ended, shape (N,); NaN if missing."""
        with self._lock:
            return np.array(self._columns.get(key) or [math.nan] * len(self))

    def not_a_number(self, key: str) -> Bools:
        """Return True for episodes whose score is NaN rather than missing, shape (N,)."""
        with self._lock:
            # Missing and NaN look the same in a column; the layout tells them apart.
            has_key = [key in dict(metrics) for _, metrics in self._layouts]
            present = np.array(has_key, bool)[np.array(self._layout)]
            nan: Bools = np.isnan(self.column(key)) & present
            return nan

    def scores(self) -> Scores:
        """Return all metrics, ordered by id: results must not depend on which episode
        ended first.
        """
        with self._lock:
            # By id: parallel runs end in any order.
            order = sorted(range(len(self)), key=self._ids.__getitem__)
            columns = {key: self.column(key)[order] for key in self._columns}
            return Scores([self._ids[at] for at in order], columns)

    def find(
        self,
        ended: str = "",
        ranges: Iterable[tuple[str, float, float]] = (),
        among: Iterable[str] | None = None,
        sort: str = "",
        down: bool = False,
    ) -> list[int]:
        """Return the numbers of the episodes that match all filters, sorted by ``id`` or a metric.

        ``ranges`` are (key, low, high), both ends included; a missing score is in none.
        ``among`` are ids. ``sort`` is ``id``, a metric, or empty for
        the order in which episodes ended; ``down`` reverses it, save that episodes
        without the metric stay last.
        """
        with self._lock:
            # Each filter is a mask over all episodes.
            matches = np.ones(len(self), bool)
            if ended:
                endings = np.array([each == ended for each, _ in self._layouts])
                matches &= endings[np.array(self._layout)]
            for key, low, high in ranges:
                column = self.column(key)
                matches &= (column >= low) & (column <= high)
            if among is not None:
                allowed = set(among)
                matches &= np.array([name in allowed for name in self._ids], bool)
            # In the order asked for; by default, as they ended.
            numbers: list[int] = (np.flatnonzero(matches) + 1).tolist()
            if sort == "id":
                numbers.sort(key=lambda number: self._ids[number - 1], reverse=down)
            elif sort:
                values = self.column(sort)[matches]
                # Episodes without the metric come last in both directions.
                if down:
                    values = -values
                order = np.lexsort((values, np.isnan(values)))
                numbers = [numbers[at] for at in order]
            return numbers

    # Full-text search.

    def search(
        self,
        words: str,
        instruction: Callable[[str], str] | None = None,
        read: bool = True,
    ) -> list[str]:
        """Return the ids of the episodes that contain all the words, or words that start with them.

        Searches thoughts, prompts, answers and the text that ``instruction`` returns
        for an id. The first search, even an empty one, reads all records, unless
        ``read`` is False. What was read without instructions is read again once they
        are available. Raises ``RecordingError`` for a damaged record or a cache folder
        that cannot be written.
        """
        # Every word is quoted, so that no sign has a meaning for the search.
        query = " ".join('"' + word.replace('"', '""') + '"*' for word in words.split())
        if not query.replace('"', "").replace("*", ""):
            query = ""
        path = self._cached.with_name(f"{self._cached.stem}-text.sqlite")
        try:
            return self._search(path, query, instruction, read)
        # Rebuilt once; if that fails as well, the folder is the problem.
        except sqlite3.Error:  # damaged, or built from other records: rebuild it
            with suppress(OSError):
                path.unlink(missing_ok=True)
        try:
            return self._search(path, query, instruction, read)
        except (sqlite3.Error, OSError) as error:
            raise RecordingError(
                f"{path}: {error}; set $WAYWORD_CACHE to a writable folder"
            ) from None

    def _search(
        self,
        path: Path,
        query: str,
        instruction: Callable[[str], str] | None,
        read: bool,
    ) -> list[str]:
        """Return the ids of the episodes whose text matches a query, in the order of the record.

        With ``read``, records that are not in the table yet are read first. Raises
        ``sqlite3.DatabaseError`` if ``instruction`` is given now and was not before.
        """
        make_parent(path)
        # Sixty seconds: another process may be reading texts.
        with closing(sqlite3.connect(path, timeout=60)) as db:
            db.executescript(
                "CREATE TABLE IF NOT EXISTS read "
                "(number INTEGER PRIMARY KEY, foot BLOB, has_instruction INTEGER);"
                "CREATE VIRTUAL TABLE IF NOT EXISTS texts USING "
                "fts5(instruction, thoughts, prompts, answers, content='');"
            )
            # Texts that were read without instructions are read again.
            lacking = "SELECT number FROM read WHERE has_instruction = 0 LIMIT 1"
            if instruction and db.execute(lacking).fetchone():
                raise sqlite3.DatabaseError("read without instructions")
            # Batch by batch, until all records are read.
            while read and self._read_texts(db, instruction):
                pass
            match = "SELECT rowid FROM texts WHERE texts MATCH ?"
            rows = db.execute(match, (query,)).fetchall() if query else []
        return [self._ids[number - 1] for (number,) in sorted(rows)]

    def _read_texts(
        self,
        db: sqlite3.Connection,
        instruction: Callable[[str], str] | None,
    ) -> bool:
        """Add the texts of the next records, and return False once all are added.

        A batch is a transaction, so that an interrupted search keeps its progress.
        Raises ``sqlite3.DatabaseError`` if the texts are of other records than those of
        the index.
        """
        with db:
            db.execute("BEGIN IMMEDIATE")
            # The last record read tells by its last bytes, the foot, whether the texts belong to
            # this file. Without a record, the number is None.
            number, foot = db.execute("SELECT max(number), foot FROM read").fetchone()
            if number:
                is_same = False
                if number <= len(self):
                    (last,) = self.entries([number])
                    is_same = self._foot(EPISODES, last.at + last.size) == foot
                if not is_same:
                    raise sqlite3.DatabaseError("built from other records")
            # The next batch.
            first = (number or 0) + 1
            end = min(len(self) + 1, first + _BATCH)
            entries = list(self.entries(range(first, end)))
            path = self._files[EPISODES]
            for entry in entries:
                record = json_lines.read_member(path, entry.number, entry.at)
                trajectory = codec.trajectory_in(path, entry.number, record)
                # Without instructions, the text is read again later.
                text = ""
                if instruction:
                    text = instruction(entry.episode_id)
                texts = [[text], *_texts_of(trajectory)]
                columns = map(_distinct_lines, texts)
                db.execute(
                    "INSERT INTO texts (rowid, instruction, thoughts, prompts, answers) "
                    "VALUES (?, ?, ?, ?, ?)",
                    (entry.number, *columns),
                )
                foot = self._foot(EPISODES, entry.at + entry.size)
                read = entry.number, foot, int(instruction is not None)
                db.execute("INSERT INTO read VALUES (?, ?, ?)", read)
        return bool(entries)


# Records.


def _distinct_lines(texts: Sequence[str]) -> str:
    """Return the texts without repeated lines, as each prompt repeats most of the previous one."""
    lines = dict.fromkeys("\n".join(texts).splitlines())
    return "\n".join(lines).encode(errors="replace").decode()


def _texts_of(trajectory: Trajectory) -> tuple[list[str], list[str], list[str]]:
    """Return thoughts, prompts and answers of a trajectory, of all its trials."""
    thoughts = list[str]()
    # Thoughts of all trials, not only of the last.
    for trial in trajectory.trials():
        thoughts += [step.decision.thought for step in trial.steps]
    prompts = list[str]()
    answers = list[str]()
    for call in trajectory.calls():
        if isinstance(call.prompt, str):
            prompts.append(call.prompt)
        else:
            prompts += [message.text for message in call.prompt]
        # Options of a ranking are answers, too.
        if isinstance(call.answer, Choice):
            answers += call.answer.options
        elif call.answer is not None:
            answers += [*call.answer.texts, *map(str, call.answer.calls)]
    return thoughts, prompts, answers


def entry_of(path: Path, member: json_lines.Member) -> Entry:
    """Return the index entry of a record. Raises ``RecordingError`` if it is damaged."""
    raw = json_lines.parsed(path, member.number, member.line)
    record = checked(path, member.number, raw)
    ended = str(record["trajectory"].get("ended", ""))
    return Entry(
        record["episode"],
        record["scores"],
        ended,
        at=member.at,
        size=member.size,
        number=member.number,
    )


# Characters of an id, which tables, messages and pages repeat; published ones have fewer than 100
_LONGEST_ID = 1_000


def checked(path: Path, number: int, record: dict[str, Json]) -> dict[str, Json]:
    """Return the record of an episode, its scores restored to numbers.

    Raises ``RecordingError`` if it lacks a field that every reader needs.
    """
    # These fields are needed by everything that reads a record.
    for field, cls in {"episode": str, "scores": dict, "trajectory": dict}.items():
        if not isinstance(record.get(field), cls):
            problem = f"field {field!r} is missing or malformed"
            raise json_lines.corrupt(path, number, problem)
    if len(record["episode"]) > _LONGEST_ID:
        problem = f"field 'episode' is longer than {_LONGEST_ID:,} characters"
        raise json_lines.corrupt(path, number, problem)
    # Scores are numbers, or marks of infinite ones.
    try:
        scores = codec.restore(record["scores"])
        for key, score in scores.items():
            # A bool is no number, though Python counts it as one.
            if type(score) not in (int, float):
                raise ValueError(f"{key!r}: {score!r}")
    except (TypeError, ValueError, AttributeError) as error:
        problem = f"field 'scores' has invalid values ({error})"
        raise json_lines.corrupt(path, number, problem) from error
    return {**record, "scores": scores}
