"""An index of a run's records, in SQLite: ids, scores, and the place of each record in its file.

Tables, lists and resumed runs read it instead of the trajectories. It is derived: made from the
records when there is none or it does not fit them, extended when they grew, and deleted without
loss. It lies in the user's cache folder, never next to the run, whose folder may be on a network.

In use it is in memory. On disk it is an image of the database and a checksum of that, read whole
and replaced whole, so that neither a damaged file nor two processes at once can change a figure.
It fits the records where the last one that it lists stands in the file, with the same checksum, and
where the file, if it did not grow, was not modified either.

The text index, for searches, is a database of its own that is made at the first search.
"""

from __future__ import annotations

import hashlib
import json
import math
import sqlite3
import threading
import weakref
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayword.core.episode import Json
from wayword.core.errors import RecordingError
from wayword.core.files import cache_folder, keep
from wayword.metrics.summary import Scores
from wayword.runs.codec import Member, corrupt, parsed, read_member, read_members, restore

EPISODES, FAILURES = "episodes.jsonl.gz", "failures.jsonl.gz"
_FORM = 2
"""Raised whenever the tables, or what is put into them, change."""
_TABLES = """
CREATE TABLE episodes (number INTEGER PRIMARY KEY, id BLOB UNIQUE, at, size, foot BLOB, ended BLOB);
CREATE TABLE failures (number INTEGER PRIMARY KEY, id BLOB, at, size, foot BLOB, reason BLOB);
CREATE INDEX failed ON failures (id);
CREATE TABLE metrics (number INTEGER PRIMARY KEY, key BLOB UNIQUE);
CREATE TABLE modified (at);
INSERT INTO modified VALUES (0);
"""
_METRICS = 1900
"""Metrics of a run at most: SQLite has 2,000 columns."""
_TOGETHER = 4096
"""Rows that are Python objects at a time."""


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
    """What a run's records hold, for runs of any size. Several threads may ask at once."""

    def __init__(self, folder: Path) -> None:
        self._files = {name: folder / f"{name}.jsonl.gz" for name in ("episodes", "failures")}
        digest = hashlib.sha256(str(folder.resolve()).encode(errors="surrogatepass")).hexdigest()
        self._cached = cache_folder() / "index" / f"{digest[:24]}-{_FORM}.sqlite"
        self._lock = threading.RLock()
        self._db = sqlite3.connect(":memory:", check_same_thread=False)
        weakref.finalize(self, self._db.close)
        self._db.create_function("holds", 2, _holds, deterministic=True)
        self._load()

    # The image in the cache folder.

    def _load(self) -> None:
        with suppress(OSError, sqlite3.Error):
            raw = self._cached.read_bytes()
            image = memoryview(raw)[:-4]
            if len(raw) > 4 and zlib.crc32(image) == int.from_bytes(raw[-4:], "little"):
                self._db.deserialize(image)
                self._saved = self._written()
                self._read_metrics()
                return
        self._clear()

    def _clear(self) -> None:
        """Begin again with nothing."""
        self._db.deserialize(_empty())
        self._saved = 0
        self._read_metrics()

    def _read_metrics(self) -> None:
        """The metrics by key: the number of the column."""
        rows = self._db.execute("SELECT number, key FROM metrics ORDER BY number")
        self._metrics = {_text(key): int(number) for number, key in rows}
        self._inserts: dict[tuple[str, ...], str] = {}

    def _written(self) -> int:
        found = self._db.execute(
            "SELECT (SELECT count(*) FROM episodes) + (SELECT count(*) FROM failures)"
        )
        return int(found.fetchone()[0])

    def save(self) -> None:
        """Write the image, if there is more in it than on disk."""
        with self._lock:
            if (written := self._written()) != self._saved:
                self._note_time()
                image = self._db.serialize()
                self._saved = written
                foot = zlib.crc32(image).to_bytes(4, "little")
                keep(self._cached, lambda file: (file.write(image), file.write(foot)))

    def _note_time(self) -> None:
        """Store when the file of episodes was modified, if the index lists all of it."""
        with self._db:
            self._db.execute("UPDATE modified SET at = ?", (self._modified(),))

    def _modified(self) -> int:
        """When the file of episodes was modified (nanoseconds); 0 where it is longer than what is
        listed, or does not exist."""
        with suppress(OSError):
            status = self._files["episodes"].stat()
            return status.st_mtime_ns if status.st_size == self._last("episodes")[1] else 0
        return 0

    # Growing with the records.

    def refresh(self) -> Index:
        """Bring it up to date with the files.

        Raises ``RecordingError`` for a record that is damaged, or holds an episode a second time.
        """
        with self._lock:
            try:
                ((noted,),) = self._db.execute("SELECT at FROM modified")
                same = not noted or self._modified() in (0, noted)
                if not (same and all(self._fits(name) for name in self._files)):
                    self._clear()
            except sqlite3.Error:  # an image of another form
                self._clear()
            before = self._written()
            try:
                with self._db:
                    self._db.execute("BEGIN")
                    for found in self._new("episodes"):
                        self._insert(entry_of(self._files["episodes"], found), found.foot)
                    for found in self._new("failures"):
                        path = self._files["failures"]
                        told = parsed(path, found.number, found.line)
                        if not isinstance(told.get("episode"), str):
                            raise corrupt(path, found.number, "has no field 'episode'")
                        row = (_raw(told["episode"]), found.at, found.size, found.foot)
                        self._db.execute(
                            "INSERT INTO failures VALUES (?, ?, ?, ?, ?, ?)",
                            (found.number, *row, _raw(str(told.get("reason", "")))),
                        )
            except BaseException:
                self._read_metrics()  # those that were added are gone with the rest
                raise
            if (self._written() - before) * 8 > self._saved:
                self.save()
            elif self._written() > before:
                self._note_time()
        return self

    def _last(self, name: str) -> tuple[int, int, bytes]:
        """Of the last record listed: its number, the byte behind it, its last bytes."""
        rows = self._db.execute(
            f"SELECT number, at + size, foot FROM {name} ORDER BY number DESC LIMIT 1"
        )
        return rows.fetchone() or (0, 0, b"")

    def _fits(self, name: str) -> bool:
        """True if the file has the last record listed where it is listed."""
        _, end, foot = self._last(name)
        if not end:
            return True
        try:
            with self._files[name].open("rb") as file:
                file.seek(end - len(foot))
                return file.read(len(foot)) == foot
        except OSError:
            return False

    def _new(self, name: str) -> Iterator[Member]:
        number, end, _ = self._last(name)
        return read_members(self._files[name], end, number)

    def end(self, name: str) -> int:
        """The byte behind the last record of ``episodes`` or ``failures``."""
        with self._lock:
            return self._last(name)[1]

    def add(self, entry: Entry, foot: bytes) -> None:
        """List an episode whose record was appended just now."""
        with self._lock:
            with self._db:
                self._db.execute("BEGIN")
                self._insert(entry, foot)
                self._db.execute("UPDATE modified SET at = 0")
            if entry.number > 1000 and (entry.number - self._saved) * 4 > self._saved:
                self.save()

    def _insert(self, entry: Entry, foot: bytes) -> None:
        keys = tuple(entry.scores)
        if keys not in self._inserts:
            for key in keys:
                if key not in self._metrics:
                    self._add_metric(key)
            names = ["number", "id", "at", "size", "foot", "ended"]
            names += [f"m{self._metrics[key]}" for key in keys]
            places = ",".join("?" * len(names))
            self._inserts[keys] = f"INSERT INTO episodes ({','.join(names)}) VALUES ({places})"
        row = (entry.number, _raw(entry.episode_id), entry.at, entry.size, foot, _raw(entry.ended))
        try:
            self._db.execute(self._inserts[keys], (*row, *map(_stored, entry.scores.values())))
        except sqlite3.IntegrityError:
            problem = f"holds episode {entry.episode_id!r} a second time"
            raise corrupt(self._files["episodes"], entry.number, problem) from None

    def _add_metric(self, key: str) -> None:
        """Make a column for a metric that no episode had before."""
        number = len(self._metrics)
        if number == _METRICS:
            problem = f"a run has at most {_METRICS:,} metrics; score fewer in an episode"
            raise RecordingError(f"{self._files['episodes']}: {problem}")
        self._db.execute(f"ALTER TABLE episodes ADD COLUMN m{number}")
        self._db.execute("INSERT INTO metrics VALUES (?, ?)", (number, _raw(key)))
        self._metrics[key] = number

    # Questions.

    def _all(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with self._lock:
            return self._db.execute(query, values).fetchall()

    def __len__(self) -> int:
        return int(self._all("SELECT count(*) FROM episodes")[0][0])

    def __contains__(self, episode: object) -> bool:
        query = "SELECT 1 FROM episodes WHERE id = ?"
        return isinstance(episode, str) and bool(self._all(query, (_raw(episode),)))

    @property
    def keys(self) -> list[str]:
        """Every metric that some episode has."""
        return list(self._metrics)

    def ids(self) -> list[str]:
        """Every finished episode, in the order they ended."""
        return [_text(raw) for (raw,) in self._all("SELECT id FROM episodes ORDER BY number")]

    def endings(self) -> list[str]:
        """How episodes ended, each word once."""
        query = "SELECT ended FROM episodes GROUP BY ended ORDER BY min(number)"
        return [_text(raw) for (raw,) in self._all(query)]

    def failed(self) -> dict[str, str]:
        """Id and reason of the latest failure of each episode that was not finished since."""
        query = (
            "SELECT id, reason FROM failures WHERE id NOT IN (SELECT id FROM episodes) "
            "AND number IN (SELECT max(number) FROM failures GROUP BY id) ORDER BY number"
        )
        return {_text(name): _text(reason) for name, reason in self._all(query)}

    def failure(self, episode: str) -> tuple[int, int, int] | None:
        """Number, first byte and size of the latest failure of an episode."""
        query = "SELECT number, at, size FROM failures WHERE id = ? ORDER BY number DESC LIMIT 1"
        return next(iter(self._all(query, (_raw(episode),))), None)

    def entries(self, numbers: Sequence[int] | None = None) -> Iterator[Entry]:
        """Finished episodes, in the order they ended; or those of these numbers, in their order."""
        columns = [f"m{number}" for number in self._metrics.values()]
        query = f"SELECT {','.join(['id, ended, at, size, number', *columns])} FROM episodes"
        wanted = range(1, len(self) + 1) if numbers is None else numbers
        for first in range(0, len(wanted), _TOGETHER):
            part = wanted[first : first + _TOGETHER]
            if isinstance(part, range):
                rows = self._all(f"{query} WHERE number BETWEEN ? AND ?", (part[0], part[-1]))
            else:
                rows = [row for n in part for row in self._all(f"{query} WHERE number = ?", (n,))]
            for name, ended, at, size, number, *scores in rows:
                there = {
                    key: float(score) if score == "nan" else score
                    for key, score in zip(self._metrics, scores, strict=True)
                    if score is not None
                }
                yield Entry(_text(name), there, _text(ended), at, size, number)

    def entry(self, episode: str) -> Entry | None:
        """One finished episode."""
        rows = self._all("SELECT number FROM episodes WHERE id = ?", (_raw(episode),))
        return next(self.entries([number for (number,) in rows]), None)

    def column(self, key: str) -> NDArray[np.float64]:
        """A metric over the episodes in the order they ended, (N,); NaN where one lacks it."""
        if key not in self._metrics:
            return np.full(len(self), math.nan)
        query = f"SELECT m{self._metrics[key]} FROM episodes ORDER BY number"
        return np.array([score for (score,) in self._all(query)], dtype=float)

    def scores(self) -> Scores:
        """All metrics in the order of the ids, so that no figure depends on who ended first."""
        columns = [f"m{number}" for number in self._metrics.values()]
        ids, values = list[str](), np.empty((len(columns), len(self)))
        query = f"SELECT {','.join(['id', *columns])} FROM episodes ORDER BY id"
        with self._lock:
            found = self._db.execute(query)
            while rows := found.fetchmany(_TOGETHER):
                part = slice(len(ids), len(ids) + len(rows))
                ids += [_text(row[0]) for row in rows]
                values[:, part] = np.array([row[1:] for row in rows], dtype=float).T
            holed = np.isnan(values)
            likely = ((values == np.floor(values)) | holed).all(axis=1)
            real = self._columns_with(
                columns, np.asarray(likely), "typeof({0}) IN ('real', 'text')"
            )
            nans = None
            if self._columns_with(columns, np.asarray(holed.any(axis=1)), "{0} IS 'nan'"):
                places = ",".join(f"{column} IS 'nan'" for column in columns)
                rows = self._all(f"SELECT {places} FROM episodes ORDER BY id")
                nans = np.array(rows, dtype=bool)
        fractions = real | {c for c, may in zip(columns, likely, strict=True) if not may}
        whole = frozenset(k for k, n in self._metrics.items() if f"m{n}" not in fractions)
        return Scores(ids, tuple(self._metrics), values, whole, nans)

    def _columns_with(
        self, columns: Sequence[str], among: NDArray[np.bool_], condition: str
    ) -> set[str]:
        """Those of some columns for which a condition holds for any episode."""
        asked = [column for column, may in zip(columns, among, strict=True) if may]
        if not asked:
            return set()
        sums = ",".join(f"total({condition.format(column)})" for column in asked)
        (counts,) = self._all(f"SELECT {sums} FROM episodes")
        return {column for column, count in zip(asked, counts, strict=True) if count}

    def find(
        self,
        words: Iterable[str] = (),
        ended: str = "",
        ranges: Iterable[tuple[str, float, float, bool]] = (),
        among: Iterable[str] | None = None,
        sort: str = "",
        down: bool = False,
    ) -> list[int]:
        """The numbers of the episodes whose ids hold all the words, that ended so, and whose
        metrics are in these ranges (key, least, most, whether the most is in it), sorted by ``id``
        or a metric. ``among``: of these episodes alone."""
        clauses, values = ["1"], list[Any]()
        for word in words:
            clauses.append("holds(id, ?)")
            values.append(_raw(word))
        if ended:
            clauses.append("ended = ?")
            values.append(_raw(ended))
        for key, low, high, last in ranges:
            column = self._order(key) or "NULL"
            clauses.append(f"{column} >= ? AND {column} {'<=' if last else '<'} ?")
            values += [low, high]
        if among is not None:
            clauses.append("id IN (SELECT CAST(value AS BLOB) FROM json_each(?))")
            values.append(json.dumps([*among]))
        order = self._order(sort)
        by = f"{order} IS NULL, {order} {'DESC' if down else ''}," if order else ""
        query = f"SELECT number FROM episodes WHERE {' AND '.join(clauses)} ORDER BY {by} number"
        return [number for (number,) in self._all(query, values)]

    def _order(self, sort: str) -> str:
        """The column of a metric, or of the ids; empty where there is none."""
        if sort == "id":
            return "id"
        return f"m{self._metrics[sort]}" if sort in self._metrics else ""

    # Texts.

    def search(self, words: str, instruction: Callable[[str], str] | None = None) -> list[str]:
        """The episodes in which all the words stand: in thoughts, prompts, answers or the
        instruction, as far as ``instruction`` knows it. The first search of a run reads all of its
        records. Raises ``RecordingError``."""
        wanted = " ".join('"' + word.replace('"', '""') + '"' for word in words.split())
        if not wanted.replace('"', ""):
            return []
        path = self._cached.with_name(f"{self._cached.stem}-text.sqlite")
        try:
            return self._searched(path, wanted, instruction)
        except sqlite3.Error:  # damaged, or of another form: made again
            with suppress(OSError):
                path.unlink(missing_ok=True)
        try:
            return self._searched(path, wanted, instruction)
        except (sqlite3.Error, OSError) as error:
            raise RecordingError(
                f"{path}: {error}; set $WAYWORD_CACHE to a folder to write"
            ) from None

    def _searched(
        self, path: Path, wanted: str, instruction: Callable[[str], str] | None
    ) -> list[str]:
        path.parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(path, timeout=60)) as db:
            db.executescript(
                "CREATE TABLE IF NOT EXISTS read (number INTEGER PRIMARY KEY, foot BLOB);"
                "CREATE VIRTUAL TABLE IF NOT EXISTS texts USING "
                "fts5(instruction, thoughts, prompts, answers, content='');"
            )
            with db:
                db.execute("BEGIN IMMEDIATE")
                number, foot = db.execute("SELECT max(number), foot FROM read").fetchone()
                if number and not self._all(
                    "SELECT 1 FROM episodes WHERE number = ? AND foot = ?", (number, foot)
                ):
                    raise sqlite3.DatabaseError("of other records")
                for entry in self.entries(range((number or 0) + 1, len(self) + 1)):
                    self._read_texts(db, entry, instruction)
            rows = db.execute("SELECT rowid FROM texts WHERE texts MATCH ?", (wanted,)).fetchall()
        return [entry.episode_id for entry in self.entries(sorted(row[0] for row in rows))]

    def _read_texts(
        self, db: sqlite3.Connection, entry: Entry, instruction: Callable[[str], str] | None
    ) -> None:
        path = self._files["episodes"]
        line = read_member(path, entry.number, entry.at, entry.size)
        told = parsed(path, entry.number, line)["trajectory"]
        given = instruction(entry.episode_id) if instruction else ""
        columns = (given, *map(_lines_once, texts_of(told)))
        db.execute(
            "INSERT INTO texts (rowid, instruction, thoughts, prompts, answers) "
            "VALUES (?, ?, ?, ?, ?)",
            (entry.number, *(text.encode(errors="replace").decode() for text in columns)),
        )
        foot = self._all("SELECT foot FROM episodes WHERE number = ?", (entry.number,))[0][0]
        db.execute("INSERT INTO read VALUES (?, ?)", (entry.number, foot))


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


# Values.


@cache
def _empty() -> bytes:
    """The image of an index of nothing."""
    with closing(sqlite3.connect(":memory:")) as db:
        db.executescript(_TABLES)
        return db.serialize()


def _raw(text: str) -> bytes:
    """Text as SQLite holds it: also half a surrogate pair, and in the order of code points."""
    return text.encode(errors="surrogatepass")


def _text(raw: bytes) -> str:
    return raw.decode(errors="surrogatepass")


def _holds(name: bytes, word: bytes) -> bool:
    return _text(word) in _text(name).lower()


def _stored(value: float) -> float | str:
    """A score as SQLite holds it: it has no NaN, and no whole numbers of any length."""
    if type(value) is int and abs(value) < 2**63:
        return value
    try:
        found = float(value)
    except OverflowError:  # whole numbers of a damaged file have any length
        return math.inf if value > 0 else -math.inf
    return found if found == found else "nan"


# Records.

_KINDS = {"episode": str, "scores": dict, "trajectory": dict}


def entry_of(path: Path, found: Member) -> Entry:
    """A record without its trajectory."""
    record = record_of(path, found.number, found.line)
    scores = scores_of(path, found.number, record["scores"])
    ended = str(record["trajectory"].get("ended", ""))
    return Entry(record["episode"], scores, ended, found.at, found.size, found.number)


def record_of(path: Path, number: int, line: bytes) -> dict[str, Json]:
    """The record in a line. Raises ``RecordingError`` where it is none."""
    found = parsed(path, number, line)
    for field, kind in _KINDS.items():
        if not isinstance(found.get(field), kind):
            raise corrupt(path, number, f"has no field {field!r} of the right kind")
    return found


def scores_of(path: Path, number: int, written: Json) -> dict[str, float]:
    """The scores of a record. Raises ``RecordingError`` where they are no numbers."""
    try:
        scores: dict[str, float] = restore(written)
    except (TypeError, ValueError) as error:
        raise corrupt(path, number, f"has scores that are no numbers ({error})") from error
    for name, score in scores.items():
        if not isinstance(score, int | float):
            raise corrupt(path, number, f"has scores that are no numbers ({name!r}: {score!r})")
    return scores
