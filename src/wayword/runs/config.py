"""``run.json``: the settings of a run, written once and whole, compared when it is resumed; and the
small files next to it, of sessions and billed calls."""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from wayword.core.episode import Json
from wayword.core.errors import DataError, RecordingError
from wayword.core.files import cache_folder, keep, sha256
from wayword.core.metric import Metric
from wayword.core.secrets import environment_secrets, redacted
from wayword.metrics import scoring
from wayword.models.middleware.budget import LedgerRow, Totals
from wayword.runs.codec import (
    Appender,
    dump,
    lines_end,
    plain,
    read_lines,
    restore,
    unusable,
    whole,
)

NAME = "run.json"

# No key ever reaches a run folder: a guard over everything written to ``run.json``.

_TELLING = 8
"""A secret of so many characters is looked for inside longer values too, such as an address."""


def refuse_secrets(config: Json) -> None:
    """Raise ``RecordingError`` if a text in ``config`` is, or holds, a secret of the environment.

    Secret variables are those that ``wayword.core.secrets`` knows by their names. The message names
    the field and the variable, never the value.
    """
    secrets = {name: value for name, value in environment_secrets().items() if value}
    for field, text in _texts(config, ""):
        for name, secret in secrets.items():
            if text == secret or (len(secret) >= _TELLING and secret in text):
                raise RecordingError(
                    f"config field {field!r} holds the value of ${name}, and a run folder may "
                    "hold no secrets; leave the field out, keys are read from the environment"
                )


def _texts(value: Json, path: str) -> Iterator[tuple[str, str]]:
    """Every text within, keys included, with the path to it."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield f"{path} (a name)".strip(), key
            yield from _texts(inner, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for at, inner in enumerate(value):
            yield from _texts(inner, f"{path}[{at}]")


# Checksums of data files: which data a number was measured on.

_SHORT = 12


FileState = tuple[Path, int, int]
"""A file's absolute path, its size (bytes) and when it was modified (nanoseconds)."""


class Checksums:
    """SHA-256 of files, each read once as long as its size and modification time stay the same.

    ``known`` are those of files that were read before.

    >>> Checksums().combined({})
    ''
    """

    def __init__(self, known: Mapping[FileState, str] | None = None) -> None:
        self.known: dict[FileState, str] = dict(known or {})

    def of(self, path: Path) -> str:
        """The file's SHA-256 in hex, 64 digits. Raises ``DataError`` where it cannot be read."""
        try:
            status = path.stat()
            key = (path.absolute(), status.st_size, status.st_mtime_ns)
            if key not in self.known:
                self.known[key] = sha256(path)
        except OSError as error:
            problem = (error.strerror or str(error)).lower()
            raise DataError(path, "", problem, "fetch the data again") from error
        return self.known[key]

    def each(self, files: Mapping[str, Path]) -> dict[str, str]:
        """The SHA-256 of every file by its name, sorted, for ``run.json``."""
        return {name: self.of(files[name]) for name in sorted(files)}

    def combined(self, files: Mapping[str, Path]) -> str:
        """Twelve hex digits for all the files and their names: the split checksum of tables.

        Names count and folders do not, so that the same data elsewhere has the same checksum.
        Empty for no files (generated data).
        """
        if not files:
            return ""
        digest = hashlib.sha256()
        for name, checksum in self.each(files).items():
            digest.update(f"{checksum}  {name}\n".encode())
        return digest.hexdigest()[:_SHORT]


_SETTLED = 2.0
"""Seconds after which a file's modification time tells a later change apart: file systems write it
down in ticks, so that two writes in a row may have the same."""


def pictures_checksum(folder: Path, pictures: Sequence[Path]) -> str:
    """Twelve hex digits for the names and the whole content of a folder's pictures; empty for none.

    Scans have gigabytes of them: what was read once is remembered in the cache folder, as long as
    a picture's size and modification time stay the same.
    """
    name = hashlib.sha256(str(folder.absolute()).encode()).hexdigest()[:_SHORT]
    memory, known = cache_folder() / "checksums" / f"{name}.json", dict[FileState, str]()
    with suppress(OSError, ValueError, TypeError):  # there is none, or it cannot be read
        lines = json.loads(memory.read_bytes())
        known = {(Path(p), int(size), int(at)): str(found) for p, size, at, found in lines}
    sums, now = Checksums(known), time.time()
    digest = sums.combined({str(path.relative_to(folder)): path for path in pictures})
    settled = {key: sums.known[key] for key in sums.known if now - key[2] / 1e9 > _SETTLED}
    if settled != known:
        lines = [
            [str(path), size, changed, found] for (path, size, changed), found in settled.items()
        ]
        text = json.dumps(lines).encode()
        keep(memory, lambda file: file.write(text))
    return digest


# What each session of a run took: wall time, and what was spent on episodes that were dropped.
#
# A run may be stopped and continued many times. Finished episodes hold their own accounting; the
# wall time of a session, and the tokens and dollars of the episodes a spent budget cut short, are
# in no episode, and would otherwise be forgotten: a budget could then be spent anew at every
# start.

SESSIONS = "sessions.jsonl"


@dataclass(frozen=True, slots=True)
class Session:
    """One start of a run: when, how long (seconds), and how many episodes it finished.

    ``dropped_tokens`` and ``dropped_dollars`` went into episodes that it did not finish.
    """

    started: str
    seconds: float
    finished: int
    dropped_tokens: int = 0
    dropped_dollars: float = 0.0


def add_session(run: Path, session: Session) -> None:
    """Append a session to the run folder. Raises ``RecordingError``."""
    lines = _appending(run / SESSIONS)
    try:
        lines.append(dump(asdict(session)) + b"\n")
    finally:
        lines.close()


def _appending(path: Path) -> Appender:
    """A plain file to append to, its last line whole."""
    try:
        lines = Appender(path)
    except OSError as error:
        raise unusable(path, error, "give a folder that can be written") from error
    lines.cut(lines_end(path))
    return lines


def sessions(run: Path) -> Iterator[Session]:
    """The sessions that ended in order; a killed one left none. Raises ``RecordingError``."""
    path = run / SESSIONS
    for number, line in read_lines(path):
        yield Session(
            str(line.get("started", "")),
            _number(path, number, line, "seconds"),
            int(_number(path, number, line, "finished")),
            int(_number(path, number, line, "dropped_tokens")),
            _number(path, number, line, "dropped_dollars"),
        )


# The billed calls, a line each, so that no way of ending a run loses one.

CALLS = "calls.jsonl"
_FOLDED = 20_000
"""Lines of the file that a start folds into one."""


class Spending:
    """The run folder's log of billed calls; ``tokens`` and ``dollars`` add up all sessions'.

    The file is made with the first call, so a run without a model has none.
    """

    def __init__(self, run: Path) -> None:
        self._path = run / CALLS
        self._lines: Appender | None = None
        self.tokens, self.dollars, lines = billed(run)
        if lines > _FOLDED:
            whole(self._path, self._line(LedgerRow(self.tokens, self.dollars)))

    def write(self, row: LedgerRow) -> None:
        """Append a row at once. Raises ``RecordingError``."""
        if self._lines is None:
            self._lines = _appending(self._path)
        self._lines.append(self._line(row))

    def close(self) -> None:
        """Sync the file and close it."""
        lines, self._lines = self._lines, None
        if lines is not None:
            lines.close()

    @staticmethod
    def _line(row: LedgerRow) -> bytes:
        line: dict[str, Json] = {"tokens": row.tokens, "dollars": round(row.dollars, 9)}
        more: dict[str, Json] = {"call": row.call, "open": row.open}
        return dump(line | {name: value for name, value in more.items() if value}) + b"\n"


def billed(run: Path) -> tuple[int, float, int]:
    """Tokens and US dollars of all calls that were billed, finished episodes' or not, and in how
    many lines they are written. Raises ``RecordingError``."""
    path, totals, lines = run / CALLS, Totals(), 0
    for number, line in read_lines(path):
        tokens = int(_number(path, number, line, "tokens"))
        dollars = _number(path, number, line, "dollars")
        totals.add(LedgerRow(tokens, dollars, str(line.get("call", "")), line.get("open") is True))
        lines += 1
    return totals.tokens, totals.dollars, lines


def _number(path: Path, number: int, line: Mapping[str, Json], field: str) -> float:
    """A field that is a number of at least 0. Raises ``RecordingError`` naming line and field."""
    value = line.get(field, 0)
    if type(value) not in (int, float) or not 0 <= value < math.inf:
        problem = f"field {field!r} is no positive number ({str(value)[:40]})"
        remedy = "delete that line: it serves budgets and wall times alone"
        raise RecordingError(f"{path}: line {number}: {problem}; {remedy}")
    return float(value)


FORMAT = 2
"""The version of the folder's layout, the field ``format`` of ``run.json``."""

_ABSENT = "(absent)"


def prepared(config: Mapping[str, Any]) -> dict[str, Json]:
    """The config as it will be written. Raises ``RecordingError`` for a secret in it.

    ``config["identity"]`` must be there: the mapping whose every value makes it this run.
    """
    if not isinstance(config.get("identity"), Mapping):
        raise RecordingError("a run's config needs the field 'identity', a mapping")
    written: dict[str, Json] = {"format": FORMAT} | plain(config) | {"format": FORMAT}
    refuse_secrets(written)
    return written


def write_config(run: Path, written: dict[str, Json]) -> None:
    """Write ``run.json`` whole or not at all."""
    text = json.dumps(written, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    whole(run / NAME, redacted(text).encode(errors="backslashreplace"))


def read_config(run: Path) -> dict[str, Json]:
    """The config of a run folder. Raises ``RecordingError``: missing, corrupt, another format."""
    path = run / NAME
    try:
        written = json.loads(path.read_bytes())
    except FileNotFoundError:
        refuse_earlier(run)
        raise RecordingError(f"{run}: is no run folder: it has no {NAME}") from None
    except OSError as error:
        raise unusable(path, error) from error
    except (ValueError, RecursionError) as error:
        raise RecordingError(f"{path}: is not JSON ({error}); give another folder") from error
    if not isinstance(written, dict) or not isinstance(written.get("identity"), dict):
        raise RecordingError(f"{path}: has no field 'identity': no config of a run")
    if written.get("format") != FORMAT:
        raise RecordingError(
            f"{path}: field 'format' is {written.get('format')!r}, and this version of wayword "
            f"reads {FORMAT}; use the version that wrote it, or give another folder"
        )
    return written


def refuse_earlier(run: Path) -> None:
    """Raise ``RecordingError`` for a run folder of the form before ``run.json``."""
    if (run / "config.json").is_file():
        raise RecordingError(
            f"{run}: is a run folder of an earlier form (config.json), which this version of "
            "wayword does not read; use the version that wrote it, or run it again in a new folder"
        )


def same_run(run: Path, recorded: dict[str, Json], now: dict[str, Json]) -> None:
    """Raise ``RecordingError`` naming the first field of the identity that differs."""
    if found := difference(recorded, now):
        field, was, given = found
        raise RecordingError(
            f"{run / NAME}: this folder holds another run: {field!r} was {was!r} and is now "
            f"{given!r}; give another folder, or the same settings and files to resume this run"
        )


def difference(
    there: Mapping[str, Json], here: Mapping[str, Json]
) -> tuple[str, Json, Json] | None:
    """The first field of the identities that differs: its dotted name, and both values."""
    theirs, ours = dict(_leaves(there["identity"])), dict(_leaves(here["identity"]))
    for field in [*ours, *theirs]:
        was, now = theirs.get(field, _ABSENT), ours.get(field, _ABSENT)
        if was != now:
            return field, was, now
    return None


def readable(written: dict[str, Json]) -> dict[str, Any]:
    """The config as the caller gave it, without the layout's own field."""
    return {k: v for k, v in restore(written).items() if k != "format"}


def _leaves(value: Json, path: str = "") -> Iterator[tuple[str, Json]]:
    """Every innermost value with its dotted path, in written order; lists are values."""
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from _leaves(inner, f"{path}.{key}" if path else key)
    else:
        yield path, value


def caveats_of(config: Mapping[str, Any]) -> tuple[str, ...]:
    """What a run's figures rest on: the dataset's caveats, and the episodes that it leaves out."""
    listed = config.get("caveats")
    told = [str(line) for line in listed] if isinstance(listed, list) else []
    counts = config.get("left_out")
    if isinstance(counts, Mapping) and counts:
        parts = ", ".join(f"{count} {cause}" for cause, count in counts.items())
        told.append(f"left out of the split: {parts}")
    return tuple(told)


def metrics_of(config: Mapping[str, Any]) -> tuple[Metric, ...]:
    """The metrics of the run's family, as the run wrote them down.

    So a table needs nothing of a family that lies outside the tree. Raises ``UsageError`` where an
    earlier version wrote none and the family is not known here.
    """
    written = config.get("metrics")
    if written is None:
        return scoring.scorer(str(config.get("family", ""))).metrics
    try:
        return tuple(Metric(**one) for one in written)
    except TypeError as error:
        raise RecordingError(f"run.json: field 'metrics' holds no metric ({error})") from None


def success_of(config: Mapping[str, Any]) -> str:
    """The key of the metric that says whether an episode of the run was solved."""
    return str(config.get("success", scoring.success_of(str(config.get("family", "")))))
