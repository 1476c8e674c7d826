"""``run.json``, the settings of a run, and the logs of its sessions and billed calls."""

from __future__ import annotations

import hashlib
import json
import math
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from wayword.core import registry
from wayword.core.dataset import FIRST_WORDING, INDEPENDENT, Clusters
from wayword.core.episode import Json, JsonObject
from wayword.core.errors import DataError, RecordingError, UsageError, reason_of
from wayword.core.files import cache_folder, keep, read_regular, sha256, text_checksum
from wayword.core.metric import Metric
from wayword.core.other_files import but_is
from wayword.core.secrets import environment_secrets, redacted
from wayword.core.shapes import (
    Shapes,
    check_shape,
    parse_untrusted,
    with_defaults,
)
from wayword.metrics import scoring
from wayword.models.middleware.ledger import LedgerRow, Totals
from wayword.models.middleware.prices import Price
from wayword.runs import codec, json_lines
from wayword.settings import make

NAME = "run.json"

_MINIMUM = 8  # minimum length of secrets that are also found inside longer values, such as a URL


def _texts(value: Json, path: str) -> Iterator[tuple[str, str]]:
    """Yield path and text of every string inside a value, including keys."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield f"{path} (key)".strip(), key
            yield from _texts(inner, _below(path, key))
    elif isinstance(value, list):
        for at, inner in enumerate(value):
            yield from _texts(inner, f"{path}[{at}]")


def _below(path: str, key: str) -> str:
    """Return the dotted path of a key below another one."""
    if path:
        return f"{path}.{key}"
    return key


_SHORT = 12  # hex digits of a checksum over several files, and of a cache file's name
FileState = tuple[Path, int, int]
"""A file's absolute path, size in bytes, and modification time in nanoseconds."""


class Checksums:
    """SHA-256 checksums of files, read again only if size or modification time changes.

    ``cached`` are the checksums of files that were read earlier.
    """

    def __init__(self, cached: Mapping[FileState, str] | None = None) -> None:
        self.cached: dict[FileState, str] = dict(cached or {})

    def of(self, path: Path) -> str:
        """Return the SHA-256 of a file in hex. Raises ``DataError`` if it cannot be read."""
        try:
            if path.is_fifo():  # would wait for a writer for ever
                raise DataError(path, "", "is not a regular file", "remove it")
            status = path.stat()
            key = (path.absolute(), status.st_size, status.st_mtime_ns)
            if key not in self.cached:
                self.cached[key] = sha256(path)
        except OSError as error:
            problem = reason_of(error)
            raise DataError(path, "", problem, "fetch the data again") from error
        return self.cached[key]

    def each(self, files: Mapping[str, Path]) -> dict[str, str]:
        """Return the SHA-256 of each file, sorted by name."""
        return {name: self.of(files[name]) for name in sorted(files)}

    def combined(self, files: Mapping[str, Path]) -> str:
        """Return a checksum of all files and their names, as 12 hex digits; empty for no files.

        Folders do not count: the same data elsewhere have the same checksum.
        """
        if not files:
            return ""
        digest = hashlib.sha256()
        for name, checksum in self.each(files).items():
            digest.update(f"{checksum}  {name}\n".encode())
        return digest.hexdigest()[:_SHORT]


_SETTLED = 2.0
"""Seconds after which another write is certain to change a file's modification time. File systems
store it in ticks of up to two seconds, so that two writes in quick succession may share it."""


def pictures_checksum(folder: Path, pictures: Sequence[Path]) -> str:
    """Return a checksum of a folder's pictures and their names as 12 hex digits.

    Empty for no pictures. Scans have gigabytes of pictures, so the checksums of
    unchanged files are cached.
    """
    name = text_checksum(str(folder.absolute()), _SHORT)
    memory = cache_folder() / "checksums" / f"{name}.json"
    cached = dict[FileState, str]()
    with suppress(OSError, ValueError, TypeError):  # missing or unreadable
        # The checksums of files as they were read the last time.
        for path, size, modified, checksum in json.loads(memory.read_bytes()):
            cached[Path(path), int(size), int(modified)] = str(checksum)
    sums = Checksums(cached)
    now = time.time()
    digest = sums.combined({str(path.relative_to(folder)): path for path in pictures})
    settled = {}
    rows = []
    for (file, size, modified), checksum in sums.cached.items():
        # Files that were written just now may change without a new modification time.
        if now - modified / 1e9 > _SETTLED:
            settled[file, size, modified] = checksum
            rows.append([str(file), size, modified, checksum])
    if settled != cached:
        text = json.dumps(rows)
        keep(memory, lambda file: file.write(text.encode()))
    return digest


# Sessions of a run: their wall time.

SESSIONS = "sessions.jsonl"


@dataclass(frozen=True)
class Session:
    """A session of a run: a command that played some of its episodes.

    ``started`` is the time in ISO 8601, ``seconds`` its duration and ``finished`` the
    number of episodes that it finished.
    """

    started: str
    seconds: float
    finished: int


def add_session(run: Path, session: Session) -> None:
    """Append a session to the run folder. Raises ``RecordingError`` if it is not writable."""
    with closing(_appending(run / SESSIONS)) as lines:
        lines.append(codec.dump(asdict(session)) + b"\n")


def _appending(path: Path) -> json_lines.Appender:
    """Open a file of lines for appending, without a partial last line.

    Raises ``RecordingError`` if the folder is not writable.
    """
    try:
        lines = json_lines.Appender(path)
    except OSError as error:
        raise json_lines.unusable(path, error, "give a writable folder") from error
    lines.cut(path.read_bytes().rfind(b"\n") + 1)  # drops a partial last line
    return lines


def sessions(run: Path) -> Iterator[Session]:
    """Yield the sessions that ended normally; a killed session is not logged.

    Raises ``RecordingError`` for a damaged line.
    """
    path = run / SESSIONS
    for number, line in json_lines.read_lines(path):
        started = str(line.get("started", ""))
        seconds = _number(path, number, line, "seconds")
        finished = _number(path, number, line, "finished")
        yield Session(started, seconds, int(finished))


CALLS = "calls.jsonl"
BATCHES = "batches.sqlite"  # see models/servers/batches.py
# Number of lines above which the next session replaces them by their total
_COMPACT = 20_000
_LEDGER_NUMBERS = ("tokens", "dollars", "at", "seconds", "samples")


class Spending:
    """The run folder's log of billed calls.

    ``totals`` and ``prices`` are those of all earlier sessions. The file is created at
    the first call, with a row of the ``prices`` in use. Raises ``RecordingError`` for a
    damaged log.
    """

    def __init__(self, run: Path) -> None:
        self._path = run / CALLS
        self._lines: json_lines.Appender | None = None
        self.totals, self.prices, lines = _read_ledger(run)
        self._new_prices: dict[str, Price] = {}
        # Batches name the rows of their requests, which must stay.
        if lines > _COMPACT and not (run / BATCHES).exists():
            total = LedgerRow(self.totals.tokens, self.totals.dollars)
            rows = [self._line(total)]
            if self.prices:
                rows.append(self._prices_line(self.prices))
            json_lines.write_atomically(self._path, b"".join(rows))

    def use_prices(self, prices: Mapping[str, Price | None]) -> None:
        """Record these prices with the first call, so that later sessions notice a change."""
        for name, price in prices.items():
            is_free = price is None or not (price.input or price.output)
            if price is not None and not is_free and self.prices.get(name) != price:
                self._new_prices[name] = price

    def write(self, row: LedgerRow) -> None:
        """Append a row, after prices that are new."""
        # The file is made by the first call, so that free runs have none.
        if self._lines is None:
            self._lines = _appending(self._path)
        # Prices stand before the calls that they explain.
        if self._new_prices:
            self._lines.append(self._prices_line(self._new_prices))
            self._new_prices = {}
        self._lines.append(self._line(row))

    def close(self) -> None:
        """Close the file; a later row opens it again."""
        lines = self._lines
        self._lines = None
        if lines is not None:
            lines.close()

    @staticmethod
    def _line(row: LedgerRow) -> bytes:
        """Return a row as a line; zeros are left out."""
        values = row._asdict()
        # A billionth of a dollar, less than any token costs.
        values["dollars"] = round(row.dollars or 0.0, 9)
        values["seconds"] = round(row.seconds, 3)
        # Tokens and dollars are always written, so that a line is never empty.
        kept = {k: v for k, v in values.items() if v or k in ("tokens", "dollars")}
        return codec.dump(kept) + b"\n"

    @staticmethod
    def _prices_line(prices: Mapping[str, Price]) -> bytes:
        """Return prices as a line of their own, which costs nothing."""
        stated = {}
        for name, price in prices.items():
            stated[name] = {k: v for k, v in asdict(price).items() if v is not None}
        return codec.dump({"tokens": 0, "dollars": 0.0, "prices": stated}) + b"\n"


def billed(run: Path) -> tuple[int, float]:
    """Return tokens and US dollars of all billed calls, including those of unfinished episodes.

    Raises ``RecordingError`` for a damaged log.
    """
    totals = bill(run)
    return totals.tokens, totals.dollars


def bill(run: Path) -> Totals:
    """Return the totals of all billed calls. Raises ``RecordingError`` for a damaged log."""
    totals, *_ = _read_ledger(run)
    return totals


def _read_ledger(run: Path) -> tuple[Totals, dict[str, Price], int]:
    """Return the totals of the log of billed calls, the prices of its models, and its
    number of lines.

    Raises ``RecordingError`` for a damaged line.
    """
    path = run / CALLS
    totals = Totals()
    prices: dict[str, Price] = {}
    number = 0
    for number, line in json_lines.read_lines(path):
        # A line of prices costs nothing and is counted as zero.
        if isinstance(line.get("prices"), dict):
            prices |= _prices(path, number, line["prices"])
        # The file can be edited by hand, so types are not trusted.
        numbers = {name: _number(path, number, line, name) for name in _LEDGER_NUMBERS}
        lost: Any = str(line.get("lost", ""))
        row = LedgerRow(
            tokens=int(numbers["tokens"]),
            dollars=numbers["dollars"],
            call=str(line.get("call", "")),
            open=line.get("open") is True,
            at=numbers["at"],
            seconds=numbers["seconds"],
            lost=lost,
            samples=int(numbers["samples"]),
        )
        totals.add(row)
    return totals, prices, number


def _prices(path: Path, number: int, entries: JsonObject) -> dict[str, Price]:
    """Return the prices of a line. Raises ``RecordingError`` that names it."""
    try:
        return {name: make(Price, entry, name) for name, entry in entries.items()}
    except (UsageError, TypeError, AttributeError) as error:
        raise RecordingError(
            f"{path}: line {number}: {error}; delete that line"
        ) from None


def _number(path: Path, number: int, line: JsonObject, field: str) -> float:
    """Return the value of a numeric field, 0 if it is missing.

    Raises ``RecordingError`` unless it is finite and at least 0.
    """
    value = line.get(field, 0)
    # A bool is no number, though Python counts it as one.
    if type(value) not in (int, float) or not 0 <= value < math.inf:
        problem = (
            f"field {field!r} must be a number of at least 0, got {str(value)[:40]}"
        )
        remedy = "delete that line; only budgets and wall times use it"
        raise RecordingError(f"{path}: line {number}: {problem}; {remedy}")
    return float(value)


FORMAT = 2
"""Version of the folder's layout: the field ``format`` of ``run.json``."""
SHAPES: Shapes = {
    "identity": {},
    "identity.agent": "",
    "identity.dataset": "",
    "identity.settings": {},
    "identity.dataset_settings": {},
    "identity.models": {},
    "identity.models.*": "",
    "identity.model_identity": {},
    "identity.actors": {},
    "identity.actors.*": {},
    "identity.actors.*.agent": "",
    "identity.actors.*.settings": {},
    "identity.data_checksum": "",
    "identity.dataset_checksum": "",
    "identity.dataset_files": "",
    "identity.perceiver": {},
    "identity.perceiver.name": "",
    "identity.perceiver.settings": {},
    "identity.perceiver.checksum": "",
    "identity.eyes": {},
    "identity.eyes.eyes": "",
    "identity.eyes.picture_size": "",
    "identity.eyes.picture_control": "",
    "identity.eyes.picture_history": 0,
    "identity.eyes.painter": "",
    "identity.perturb": {},
    "identity.perturb.*": 0.0,
    "identity.continues": {},
    "identity.continues.step": 0,
    "identity.seed": 0,
    "identity.max_steps": 0,
    "identity.shuffle": 0,
    "identity.shard": "",
    "identity.wayword": "",
    "family": "",
    "success": "",
    "split": "",
    "label": "",
    "stated": [],
    "stated.*": "",
    "perception": "",
    "started": "",
    "sees_answer": False,
    "episodes_in_split": 0,
    "caveats": [],
    "caveats.*": "",
    "left_out": {},
    "left_out.*": 0,
    "clusters": {},
    "checksums": {},
    "versions": {},
    "metrics": [],
    "metrics.*": {},
    "metrics.*.key": "",
    "metrics.*.label": "",
    "metrics.*.kind": "",
    "metrics.*.better": "",
    "metrics.*.doc": "",
}
"""Every field of ``run.json`` that is read, with an example of its type."""


def prepared(config: JsonObject) -> dict[str, Json]:
    """Return the content of ``run.json`` for a run's ``config``.

    Raises ``RecordingError`` without an ``identity``, and if a value contains a secret
    from an environment variable: the message names the field and the variable, never
    the value.
    """
    if not isinstance(config.get("identity"), Mapping):
        raise RecordingError(
            "a run's config must have a mapping in the field 'identity'"
        )
    # The format stands first, and no field of the config replaces it.
    content: dict[str, Json] = (
        {"format": FORMAT} | codec.plain(config) | {"format": FORMAT}
    )
    check_shape(Path(NAME), content, SHAPES)
    # Keys must never be written, not even inside longer texts.
    secrets = {name: value for name, value in environment_secrets().items() if value}
    for field, text in _texts(content, ""):
        for name, secret in secrets.items():
            # Short secrets would be found inside ordinary words.
            if text == secret or (len(secret) >= _MINIMUM and secret in text):
                raise RecordingError(
                    f"field {field!r} of the config contains the secret ${name}; remove it: keys "
                    "are read from the environment and must not be recorded"
                )
    return content


def write_config(run: Path, content: dict[str, Json]) -> None:
    """Write ``run.json`` atomically, with registered secrets redacted."""
    text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    json_lines.write_atomically(
        run / NAME, redacted(text).encode(errors="backslashreplace")
    )


def read_config(run: Path) -> dict[str, Json]:
    """Return the content of a run folder's ``run.json``, with its shape checked.

    Raises ``RecordingError`` if it is missing, corrupt, or in another format.
    """
    path = run / NAME
    try:
        content = parse_untrusted(read_regular(path))
    # The most common mistake gets the most precise message.
    except FileNotFoundError:
        if run.is_dir():
            problem = f"not a run folder: it has no {NAME}"
        else:
            problem = "no such folder"
        # A folder of runs is a likely mistake: name the runs in it.
        inside = sorted(path.parent.name for path in run.glob(f"*/{NAME}"))
        if inside:
            more = ", …" if inside[6:] else ""
            remedy = f"; name one of the runs in it: {', '.join(inside[:6])}{more}"
        elif not run.exists():
            remedy = "; `wayword runs` lists the runs of a folder"
        else:
            remedy = ""
        raise RecordingError(f"{run}: {problem}{remedy}") from None
    except NotADirectoryError:
        problem = f"a file, not a run folder{but_is(run)}"
        raise RecordingError(f"{run}: {problem}") from None
    except OSError as error:
        raise json_lines.unusable(path, error) from error
    except ValueError as error:
        raise RecordingError(
            f"{path}: is not JSON ({error}); give another folder"
        ) from error
    # The content is untrusted: its shape is checked before anything reads it.
    if not isinstance(content, dict) or not isinstance(content.get("identity"), dict):
        raise RecordingError(f"{path}: not a run's config: it has no field 'identity'")
    if content.get("format") != FORMAT:
        raise RecordingError(
            f"{path}: format {content.get('format')!r} is not supported, expected {FORMAT}; use "
            "the version of wayword that wrote it, or give another folder"
        )
    check_shape(path, content, SHAPES)
    return dict(content)


def complete(run: Path, content: dict[str, Json]) -> dict[str, Any]:
    """Return the content of ``run.json`` for readers: missing fields have the defaults
    of ``SHAPES``.

    Raises ``RecordingError`` for a malformed value.
    """
    try:
        restored: dict[str, Any] = codec.restore(content)
    except (TypeError, ValueError, AttributeError) as error:
        raise RecordingError(f"{run / NAME}: has a malformed value ({error})") from None
    identity = with_defaults(restored["identity"], SHAPES, "identity.")
    # Each actor has an identity of its own.
    identity["actors"] = {
        name: with_defaults(part, SHAPES, "identity.actors.*.")
        for name, part in identity["actors"].items()
    }
    config: dict[str, Any] = with_defaults({**restored, "identity": identity}, SHAPES)
    # Readers deal with one format only.
    del config["format"]
    return config


def require(run: Path, content: JsonObject, *fields: str) -> None:
    """Raise ``RecordingError`` if ``run.json`` or its identity lacks one of these fields."""
    for field in fields:
        if content.get(field) is None and content["identity"].get(field) is None:
            raise RecordingError(
                f"{run / NAME}: field {field!r}: is missing; give another folder"
            )


def same_run(run: Path, recorded: dict[str, Json], current: dict[str, Json]) -> None:
    """Raise ``RecordingError`` if the identities differ, naming the first field that does.

    The message also says how to resume the recorded run.
    """
    if changed := difference(recorded, current):
        field, old, new = changed
        change = f"{field!r} was {old!r} and is now {new!r}"
        # A version explains more than its two numbers.
        if field == "wayword":
            change = f"version {old} of wayword wrote it, and {new} may do other things"
        # A checksum says nothing to a user; the file's name does.
        if field in ("agent_checksum", "dataset_checksum"):
            name = str(
                dict(_leaves(current["identity"]))[field.removesuffix("_checksum")]
            )
            change = f"the file {name.partition('.py')[0]}.py has been edited"
        remedy = "its settings and files"
        # The default has changed since, and the first was not recorded.
        if field == "dataset_settings.wording":
            if old == ABSENT:
                old = FIRST_WORDING
            remedy = f"--set dataset.wording={old}, or the --version of its bench"
        # Eight digits of a checksum tell two apart.
        change = re.sub(r"\b([0-9a-f]{8})[0-9a-f]{56}\b", r"\1…", change)
        raise RecordingError(
            f"{run / NAME}: this folder contains another run: {change}; give another folder or, to "
            f"resume that run, {remedy}"
        )


def moved_servers(
    recorded: JsonObject,
    current: JsonObject,
) -> list[str]:
    """Return notices of models on this machine that were at another address before.

    Another address is no other run, but may be another model.
    """
    # Not every run has servers.
    before = recorded.get("servers")
    now = current.get("servers")
    if not isinstance(before, dict) or not isinstance(now, dict):
        return []
    return [
        f"the role {role!r} was at {before[role]!r:.60} in an earlier session and is at "
        f"{now[role]!r:.60} now; if it is another model, give another folder with --out"
        for role in now
        if role in before and before[role] != now[role]
    ]


ABSENT = "(absent)"
"""The value of a field that one of two identities lacks."""


def difference(
    recorded: JsonObject,
    current: JsonObject,
) -> tuple[str, Json, Json] | None:
    """Return dotted name and both values of the first field in which the identities of two configs
    differ.

    None if both are of one run, which can be resumed: an empty text, list or mapping is the same as
    none, so that new settings keep old runs, and versions of one :func:`series` are the same.
    """
    old = dict(_stated(recorded["identity"]))
    new = dict(_stated(current["identity"]))
    # Fields of both in the order of the current one, then those that it lacks.
    for field in new | old:
        before = old.get(field, ABSENT)
        now = new.get(field, ABSENT)
        is_same_series = field == "wayword" and series(before) == series(now)
        if before != now and not is_same_series:
            return field, before, now
    return None


def series(version: Json) -> str:
    """Return the first version of the series of a version of Wayword.

    Versions of a series do the same, which golden files prove
    (``tests/meta/test_series.py``), so their runs can be resumed. A development version
    or release candidate is a series of its own.

        >>> series("0.1.4"), series("0.2.0"), series("1.3.2"), series("0.2.0.dev3")
        ('0.1.0', '0.2.0', '1.0.0', '0.2.0.dev3')
    """
    released = re.fullmatch(r"(\d+)\.(\d+)(\.\d+)*", str(version))
    if released is None:
        return str(version)
    major = released[1]
    minor = released[2]
    # Before version 1, the second number says what may change.
    if major == "0":
        return f"0.{minor}.0"
    return f"{major}.0.0"


def _stated(identity: Json) -> Iterator[tuple[str, Json]]:
    """Yield the fields of an identity that are not empty, by their dotted names."""
    for name, value in _leaves(identity):
        # A setting that a later version adds is empty in older runs.
        if value not in (None, "", {}, []):
            yield name, value


def _leaves(value: Json, path: str = "") -> Iterator[tuple[str, Json]]:
    """Yield dotted path and value of every leaf, in order. Lists are leaves."""
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from _leaves(inner, _below(path, key))
    else:
        yield path, value


def caveats_of(config: JsonObject) -> tuple[str, ...]:
    """Return the caveats of a run's results, including the episodes left out of the split."""
    caveats: tuple[str, ...] = tuple(config["caveats"])
    if counts := config["left_out"]:
        parts = ", ".join(f"{count} {cause}" for cause, count in counts.items())
        caveats = (*caveats, f"left out of the split: {parts}")
    return caveats


def metrics_of(config: JsonObject) -> tuple[Metric, ...]:
    """Return the metrics recorded in a run, so that tables need no installed family.

    Raises ``RecordingError`` if the field is malformed.
    """
    recorded = config["metrics"]
    # Runs of early versions have no metrics of their own.
    if not recorded:
        return scoring.scorer(config["family"]).metrics
    try:
        return tuple(Metric(**fields) for fields in recorded)
    except TypeError as error:
        raise RecordingError(
            f"run.json: field 'metrics' is malformed ({error})"
        ) from None


def clusters_of(config: JsonObject) -> Clusters:
    """Return the clusters of a run's episodes.

    The present definition of a shipped dataset, as runs recorded before it have none;
    else the recorded one. Raises ``RecordingError`` if that is malformed.
    """
    name = config["identity"]["dataset"].partition(":")[0]
    # A shipped dataset is defined by this version.
    if name in registry.names("dataset"):
        clusters: Clusters | None = registry.load("dataset", name).clusters
        return clusters or INDEPENDENT
    recorded = config["clusters"]
    if not recorded:
        return INDEPENDENT
    try:
        return Clusters(**recorded)
    except TypeError as error:
        raise RecordingError(
            f"run.json: field 'clusters' is malformed ({error})"
        ) from None


def success_of(config: JsonObject) -> str:
    """Return the key of the metric that defines success in a run."""
    return str(config["success"] or scoring.success_of(config["family"]))


def step_limit(config: JsonObject) -> int | None:
    """Return the most steps of an actor in a run; None if it is not known."""
    return max(0, config["identity"].get("max_steps") or 0) or None
