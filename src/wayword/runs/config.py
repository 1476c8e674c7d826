"""``run.json``: the settings of a run, written atomically once, compared when it is resumed; and
the logs of sessions and billed calls next to it."""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, replace
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
    write_atomically,
)

NAME = "run.json"

_MINIMUM = 8
"""Length from which a secret is also searched for inside longer values, such as an address."""


def refuse_secrets(config: Json) -> None:
    """Raise ``RecordingError`` if a text in ``config`` is, or holds, a secret of the environment.

    Secret variables are those that ``wayword.core.secrets`` knows by their names. The message names
    the field and the variable, never the value.
    """
    secrets = {name: value for name, value in environment_secrets().items() if value}
    for field, text in _texts(config, ""):
        for name, secret in secrets.items():
            if text == secret or (len(secret) >= _MINIMUM and secret in text):
                raise RecordingError(
                    f"config field {field!r} holds the value of ${name}, and a run folder must "
                    "not hold secrets; remove the field: keys are read from the environment"
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


_SHORT = 12  # hex digits of a checksum over several files, and of a cache file's name
FileState = tuple[Path, int, int]
"""A file's absolute path, its size (bytes) and when it was modified (nanoseconds)."""


class Checksums:
    """SHA-256 of files, each read once as long as its size and modification time stay the same.

    ``cached`` holds those of files that were read before.

    >>> Checksums().combined({})
    ''
    """

    def __init__(self, cached: Mapping[FileState, str] | None = None) -> None:
        self.cached: dict[FileState, str] = dict(cached or {})

    def of(self, path: Path) -> str:
        """The file's SHA-256 in hex, 64 digits. Raises ``DataError`` where it cannot be read."""
        try:
            status = path.stat()
            key = (path.absolute(), status.st_size, status.st_mtime_ns)
            if key not in self.cached:
                self.cached[key] = sha256(path)
        except OSError as error:
            problem = (error.strerror or str(error)).lower()
            raise DataError(path, "", problem, "fetch the data again") from error
        return self.cached[key]

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
"""Seconds after which a changed file surely has another modification time: file systems store it
in ticks, so that two writes in quick succession may have the same."""


def pictures_checksum(folder: Path, pictures: Sequence[Path]) -> str:
    """Twelve hex digits for the names and content of a folder's pictures; empty for none.

    Scans have gigabytes of them: checksums are cached in the cache folder, as long as a picture's
    size and modification time stay the same.
    """
    name = hashlib.sha256(str(folder.absolute()).encode()).hexdigest()[:_SHORT]
    memory, cached = cache_folder() / "checksums" / f"{name}.json", dict[FileState, str]()
    with suppress(OSError, ValueError, TypeError):  # missing or unreadable
        rows = json.loads(memory.read_bytes())
        cached = {(Path(path), int(size), int(at)): str(sha) for path, size, at, sha in rows}
    sums, now = Checksums(cached), time.time()
    digest = sums.combined({str(path.relative_to(folder)): path for path in pictures})
    settled = {key: sha for key, sha in sums.cached.items() if now - key[2] / 1e9 > _SETTLED}
    if settled != cached:
        text = json.dumps([[str(path), *state, sha] for (path, *state), sha in settled.items()])
        keep(memory, lambda file: file.write(text.encode()))
    return digest


# The sessions of a run: their wall time, and the tokens and dollars of episodes cut short by the
# budget, which no finished episode accounts for.

SESSIONS = "sessions.jsonl"


@dataclass(frozen=True, slots=True)
class Session:
    """A start of a run: when, how long (seconds), and how many episodes it finished.

    ``dropped_tokens`` and ``dropped_dollars`` went into episodes that it did not finish.
    """

    started: str
    seconds: float
    finished: int
    dropped_tokens: int = 0
    dropped_dollars: float = 0.0


def add_session(run: Path, session: Session) -> None:
    """Append a session to the run folder. Raises ``RecordingError``."""
    with closing(_appending(run / SESSIONS)) as lines:
        lines.append(dump(asdict(session)) + b"\n")


def _appending(path: Path) -> Appender:
    """A plain file to append to, its last line complete."""
    try:
        lines = Appender(path)
    except OSError as error:
        raise unusable(path, error, "give a folder that can be written") from error
    lines.cut(lines_end(path))
    return lines


def sessions(run: Path) -> Iterator[Session]:
    """The sessions that ended cleanly; killed ones leave no line. Raises ``RecordingError``."""
    path = run / SESSIONS
    for number, line in read_lines(path):
        fields = ("seconds", "finished", "dropped_tokens", "dropped_dollars")
        seconds, finished, tokens, dollars = (_number(path, number, line, f) for f in fields)
        yield Session(str(line.get("started", "")), seconds, int(finished), int(tokens), dollars)


CALLS = "calls.jsonl"
_FOLDED = 20_000  # lines from which the next start compacts the file into one


class Spending:
    """The run folder's log of billed calls; ``tokens`` and ``dollars`` add up all sessions'.

    The file is created with the first call, so a run without a model has none.
    """

    def __init__(self, run: Path) -> None:
        self._path = run / CALLS
        self._lines: Appender | None = None
        self.tokens, self.dollars, lines = billed(run)
        if lines > _FOLDED:
            write_atomically(self._path, self._line(LedgerRow(self.tokens, self.dollars)))

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
        line = asdict(replace(row, dollars=round(row.dollars, 9)))
        return dump({k: v for k, v in line.items() if v or k in ("tokens", "dollars")}) + b"\n"


def billed(run: Path) -> tuple[int, float, int]:
    """Tokens and US dollars of all billed calls, also of unfinished episodes, and the number of
    lines. Raises ``RecordingError``."""
    path, totals, number = run / CALLS, Totals(), 0
    for number, line in read_lines(path):
        tokens, dollars = (_number(path, number, line, field) for field in ("tokens", "dollars"))
        call, is_open = str(line.get("call", "")), line.get("open") is True
        totals.add(LedgerRow(int(tokens), dollars, call, is_open))
    return totals.tokens, totals.dollars, number


def _number(path: Path, number: int, line: Mapping[str, Json], field: str) -> float:
    """A field that is a number of at least 0. Raises ``RecordingError`` naming line and field."""
    value = line.get(field, 0)
    if type(value) not in (int, float) or not 0 <= value < math.inf:
        problem = f"field {field!r} must be a number of at least 0, got {str(value)[:40]}"
        remedy = "delete that line: only budgets and wall times need it"
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
        raise RecordingError("a run's config must have a mapping in the field 'identity'")
    written: dict[str, Json] = {"format": FORMAT} | plain(config) | {"format": FORMAT}
    refuse_secrets(written)
    return written


def write_config(run: Path, written: dict[str, Json]) -> None:
    """Write ``run.json`` atomically."""
    text = json.dumps(written, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    write_atomically(run / NAME, redacted(text).encode(errors="backslashreplace"))


def read_config(run: Path) -> dict[str, Json]:
    """The config of a run folder. Raises ``RecordingError``: missing, corrupt, another format."""
    path = run / NAME
    try:
        written = json.loads(path.read_bytes())
    except FileNotFoundError:
        refuse_earlier(run)
        problem = f"not a run folder: it has no {NAME}" if run.is_dir() else "no such folder"
        inside = sorted(path.parent.name for path in run.glob(f"*/{NAME}"))
        remedy = f"; name a run in it: {', '.join(inside[:6])}" if inside else ""
        raise RecordingError(f"{run}: {problem}{remedy}") from None
    except NotADirectoryError:
        raise RecordingError(f"{run}: a file, not a run folder") from None
    except OSError as error:
        raise unusable(path, error) from error
    except (ValueError, RecursionError) as error:
        raise RecordingError(f"{path}: is not JSON ({error}); give another folder") from error
    if not isinstance(written, dict) or not isinstance(written.get("identity"), dict):
        raise RecordingError(f"{path}: not a run's config: it has no field 'identity'")
    if written.get("format") != FORMAT:
        raise RecordingError(
            f"{path}: field 'format' is {written.get('format')!r}, and this version of wayword "
            f"reads {FORMAT}; use the version that wrote it, or give another folder"
        )
    return written


def refuse_earlier(run: Path) -> None:
    """Raise ``RecordingError`` for a run folder from before ``run.json``."""
    if (run / "config.json").is_file():
        raise RecordingError(
            f"{run}: is a run folder in an older format (config.json), which this version of "
            "wayword does not read; use the version that wrote it, or run it again in a new folder"
        )


def same_run(run: Path, recorded: dict[str, Json], now: dict[str, Json]) -> None:
    """Raise ``RecordingError`` naming the first field of the identity that differs."""
    if changed := difference(recorded, now):
        field, was, given = changed
        change = f"{field!r} was {was!r} and is now {given!r}"
        if field in ("agent_checksum", "dataset_checksum"):
            name = str(dict(_leaves(now["identity"]))[field.removesuffix("_checksum")])
            change = f"the file {name.partition('.py')[0]}.py was edited since"
        raise RecordingError(
            f"{run / NAME}: this folder holds another run: {change}; "
            "give another folder, or the same settings and files to resume this run"
        )


def difference(
    recorded: Mapping[str, Json], current: Mapping[str, Json]
) -> tuple[str, Json, Json] | None:
    """The first field of the identities that differs: its dotted name, and both values."""
    theirs, ours = dict(_leaves(recorded["identity"])), dict(_leaves(current["identity"]))
    for field in [*ours, *theirs]:
        was, now = theirs.get(field, _ABSENT), ours.get(field, _ABSENT)
        if was != now:
            return field, was, now
    return None


def readable(written: dict[str, Json]) -> dict[str, Any]:
    """The config as the caller gave it, without the field ``format``."""
    return {k: v for k, v in restore(written).items() if k != "format"}


def _leaves(value: Json, path: str = "") -> Iterator[tuple[str, Json]]:
    """Every innermost value with its dotted path, in order; lists are values."""
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from _leaves(inner, f"{path}.{key}" if path else key)
    else:
        yield path, value


def caveats_of(config: Mapping[str, Any]) -> tuple[str, ...]:
    """Caveats of a run's figures: those of the dataset, and the episodes that it leaves out."""
    listed = config.get("caveats")
    caveats = [str(line) for line in listed] if isinstance(listed, list) else []
    counts = config.get("left_out")
    if isinstance(counts, Mapping) and counts:
        parts = ", ".join(f"{count} {cause}" for cause, count in counts.items())
        caveats.append(f"left out of the split: {parts}")
    return tuple(caveats)


def metrics_of(config: Mapping[str, Any]) -> tuple[Metric, ...]:
    """The metrics of the run's family, as recorded in the run.

    So tables also work for families that are not installed. Raises ``UsageError`` where an older
    version recorded none and the family is not registered.
    """
    written = config.get("metrics")
    if written is None:
        return scoring.scorer(str(config.get("family", ""))).metrics
    try:
        return tuple(Metric(**one) for one in written)
    except TypeError as error:
        raise RecordingError(f"run.json: field 'metrics' is malformed ({error})") from None


def success_of(config: Mapping[str, Any]) -> str:
    """The key of the metric that says whether an episode of the run was solved."""
    return str(config.get("success", scoring.success_of(str(config.get("family", "")))))
