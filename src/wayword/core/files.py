"""Reading published files, plain or gzipped, and cache files. Errors name the file and the fix."""

from __future__ import annotations

import codecs
import errno
import gzip
import hashlib
import io
import json
import os
import re
import secrets
import signal
import stat
import tempfile
import traceback
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO

from wayword.core.episode import JsonObject
from wayword.core.errors import DataError, UsageError, similar


def folder_of(variable: str) -> Path | None:
    """Return the folder that an environment variable names; None if it is not set."""
    named = os.environ.get(variable)
    # Files of settings leave the home folder, ``~``, to the program.
    return Path(os.path.expanduser(named)) if named else None


def cache_folder() -> Path:
    """Return ``$WAYWORD_CACHE``, else the user's cache folder. All its content can be rebuilt."""
    # The project's own variable first, then the convention of desktops.
    if named := folder_of("WAYWORD_CACHE"):
        return named
    if base := os.environ.get("XDG_CACHE_HOME"):
        return Path(base) / "wayword"
    try:
        return Path.home() / ".cache" / "wayword"
    except RuntimeError:  # a container's user without an entry in passwd, and no $HOME
        return _temporary_folder()


@cache
def _temporary_folder() -> Path:
    """A folder for this user's cached files, which no other user has made."""
    # Windows has no user ids.
    user = os.getuid() if hasattr(os, "getuid") else 0
    folder = Path(tempfile.gettempdir()) / f"wayword-{user}"
    with suppress(OSError):
        # Only the owner may read or write, as the parent folder is everyone's.
        folder.mkdir(mode=0o700, exist_ok=True)
        # A folder that another user has made could hold planted files.
        if folder.stat().st_uid == user and not folder.is_symlink():
            return folder
    return Path(tempfile.mkdtemp(prefix="wayword-"))


def short_path(path: Path | str) -> str:
    """The path as a message shows it: relative to the current folder where it lies inside."""
    try:
        return str(Path(path).relative_to(Path.cwd()))
    except (ValueError, FileNotFoundError):  # elsewhere, or the folder was removed
        return str(path)


def make_parent(path: Path) -> None:
    """Create the folder of a file, with those above it. Raises ``OSError``."""
    path.parent.mkdir(parents=True, exist_ok=True)


def keep(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Write a cache file atomically: ``keep(path, lambda file: file.write(content))``. Errors are
    ignored: a missing cache only costs time."""
    # A random name: two processes may write the same file.
    partial = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        make_parent(path)
        with partial.open("wb") as file:
            write(file)
        partial.replace(path)  # atomic: other processes see the old file or the new one
    except OSError:
        with suppress(OSError):
            partial.unlink(missing_ok=True)


def cached_json(name: str, sources: Iterable[Path], make: Callable[[], Any]) -> Any:
    """Return JSON values that ``make`` computes from files: once, then from the cache folder.

    The cache key is ``name`` plus the names and checksums of ``sources``; raise a version number in
    ``name`` whenever the result of ``make`` changes. A damaged cache file is computed again.
    """
    try:
        lines = [f"{sha256(path)}  {path.name}\n" for path in sources]
        # 16 digits are enough to tell files apart, and keep names short.
        key = text_checksum("".join(lines), 16)
    except OSError:
        return make()  # raises an error that describes the problem
    stored = cache_folder() / "read" / f"{name}-{key}.json"
    with suppress(OSError):
        # The first line is the checksum of the rest: a half-written file is noticed.
        digest, _, text = stored.read_bytes().partition(b"\n")
        if hashlib.sha256(text).hexdigest().encode() == digest:
            return json.loads(text)
    text = json.dumps(make(), separators=(",", ":")).encode()
    digest = hashlib.sha256(text).hexdigest().encode()
    keep(stored, lambda file: file.write(digest + b"\n" + text))
    return json.loads(text)  # tuples become lists at the first call too


class Memo:
    """Integers that take long to compute, computed once and then read from the cache folder.

        >>> memo = Memo("doctest-1")
        >>> memo.get("six", lambda: 6), memo.get("none", lambda: None), memo.get("six", lambda: 7)
        (6, None, 6)

    Change ``name`` whenever the numbers change; without a name they are cached in this process
    only. Each line has its own checksum and is appended by one write: processes can share the file.
    """

    def __init__(self, name: str = "") -> None:
        self._path = cache_folder() / "numbers" / f"{name}.txt" if name else None
        self._cached: dict[int, int | None] = {}
        with suppress(OSError):
            text = ""
            if self._path:
                text = self._path.read_text(encoding="ascii", errors="replace")
            for line in text.splitlines():
                entry, _, check = line.rpartition(" ")
                if entry and check == text_checksum(entry, 8):
                    # A dash stands for "no number", which is an answer, too.
                    key, _, number = entry.partition(" ")
                    self._cached[int(key, 16)] = None if number == "-" else int(number)

    def get(self, key: str, make: Callable[[], int | None]) -> int | None:
        """Return the number of a key (any text); ``make`` computes it if it is not cached."""
        # The key itself is not stored: it may be long, and only has to be found again.
        digest = text_checksum(key, 16)
        # A third of the text's memory; there may be a million of them.
        hashed = int(digest, 16)
        if hashed not in self._cached:
            number = make()
            self._cached[hashed] = number
            if self._path is not None:
                entry = f"{digest} {'-' if number is None else number}"
                # Leading line break: the partial line of a killed process spoils no other line.
                line = f"\n{entry} {text_checksum(entry, 8)}\n".encode()
                with suppress(OSError):
                    make_parent(self._path)
                    with self._path.open("ab", buffering=0) as file:
                        file.write(line)
        return self._cached[hashed]


def text_checksum(text: str, digits: int = 64) -> str:
    """Return the SHA-256 of a text, or its first hex digits; unpaired surrogates are kept."""
    encoded = text.encode(errors="surrogatepass")
    return hashlib.sha256(encoded).hexdigest()[:digits]


@cache
def source_checksum(*packages: str) -> str:
    """Return a checksum (16 hex digits) of the code and tables of packages in ``wayword``."""
    root = Path(__file__).parents[1]
    digest = hashlib.sha256()
    paths: list[Path] = []
    for name in packages:
        paths += (root / name).rglob("*.*")
    # Sorted, so that the checksum does not depend on the order of the folder.
    for path in sorted(path for path in paths if path.suffix in (".py", ".toml")):
        digest.update(f"{sha256(path)}  {path.relative_to(root).as_posix()}\n".encode())
    return digest.hexdigest()[:16]


def sha256(path: Path) -> str:
    """Return the file's SHA-256, 64 hex digits. Raises ``OSError``."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def process_runs(number: int) -> bool:
    """False if no process with this id runs on this machine; True if that is unknown."""
    # Signal 0 tests for a process without disturbing it; Windows has no such test.
    if not hasattr(signal, "SIGHUP"):
        return True  # on Windows os.kill ends the process, or sends it Ctrl-C
    try:
        os.kill(number, 0)
    except (ProcessLookupError, OverflowError):
        return False
    # It exists and belongs to another user.
    except OSError:
        return True
    return True


def find_any(folder: Path, name: str) -> Path | None:
    """Return ``folder/name`` or ``folder/name.gz``, whichever exists."""
    # The plain file first: it reads faster.
    paths = (folder / name, folder / f"{name}.gz")
    return next((path for path in paths if path.is_file()), None)


SOURCES = (
    "set --data FOLDER or WAYWORD_DATA, or get it: `wayword data list --published` names what "
    "`wayword data fetch` gets"
)
"""The remedy in errors about missing published data."""
FETCH = "get it with `wayword data fetch {}`"
"""The same for a dataset with an entry among those that can be fetched, by its name."""
NEEDS_DATA = "needs its data"


def require_data(folder: Path | None, name: str) -> Path:
    """Return the data folder. Raises ``UsageError`` if dataset ``name`` needs a missing one."""
    if folder is None:
        raise UsageError(f"{name} {NEEDS_DATA}: {SOURCES}")
    return folder


def find(folder: Path, name: str, remedy: str = SOURCES) -> Path:
    """Return ``folder/name`` or ``folder/name.gz``. Raises ``DataError`` if neither exists."""
    path = find_any(folder, name)
    if path is None:
        raise DataError(folder / name, "", "no such file (nor .gz)", remedy)
    return path


def find_own(path: Path) -> Path:
    """Return a user's file, or the same with ``.gz``. Raises ``DataError`` if neither exists."""
    return find(path.parent, path.name, "check its path")


MOST_BYTES = 4 << 30
"""The largest unzipped file that is read: ten times the largest published one."""
_MAX_RATIO = 100
"""The highest ratio of unzipped to zipped size: published files come to 20, a bomb to 1,000."""
_CHUNK_BYTES = 1 << 20  # unpacked at once, before the limit is checked again


def open_regular(path: Path, mode: str = "rb", buffering: int = -1) -> BinaryIO:
    """Open a binary file in another person's folder, which may contain anything.

    ``mode`` and ``buffering`` are those of :func:`open`. Raises ``OSError``, also if the path is
    not a regular file: opening a named pipe would wait for a writer forever.
    """

    def opener(name: str, flags: int) -> int:
        """Open a file without waiting: a pipe without a writer would block."""
        # Windows has neither the flag nor such pipes. 0o666, less the umask, is what open() uses.
        return os.open(name, flags | getattr(os, "O_NONBLOCK", 0), 0o666)

    problem = "is not a regular file; remove it"
    # Opening a folder gives an error that does not say so.
    if "r" in mode and path.is_dir():
        raise OSError(errno.EINVAL, problem, str(path))
    file: Any = open(path, mode, buffering, opener=opener)  # noqa: SIM115 - returned
    # Checked on the open file: the path may be replaced after a check by name.
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, problem, str(path))
    opened: BinaryIO = file
    return opened


# A run's small files have less than 1 MiB. The size of a file proves nothing: it may be sparse.
_MOST_REGULAR_BYTES = 16 << 20


def read_regular(path: Path) -> bytes:
    """Content of a small file from another person. Raises ``OSError`` as :func:`open_regular`, and
    above 16 MiB."""
    with open_regular(path) as file:
        # Read one byte more than allowed: the size that the system reports proves
        # nothing.
        content = file.read(_MOST_REGULAR_BYTES + 1)
    if len(content) > _MOST_REGULAR_BYTES:
        raise OSError(errno.EFBIG, "is larger than 16 MiB", str(path))
    return content


def read_bytes(path: Path) -> bytes:
    """Return the file's content, unzipped if it is gzipped, whatever its name: browsers and tools
    that unzip a download keep it. Raises ``DataError``, also at a size far beyond any published
    file's (a zip bomb)."""
    try:
        content = path.read_bytes()
        return _unzip(path, content) if content.startswith(_GZIP) else content
    except OSError as error:
        problem = f"cannot be read ({error.strerror or error})"
        raise DataError(
            path,
            "",
            problem,
            "check its name, or fetch it again",
        ) from error
    except (EOFError, zlib.error) as error:
        raise DataError(
            path,
            "",
            f"is incomplete ({error})",
            "fetch it again",
        ) from error


def read_text(path: Path) -> str:
    """Return a user's text: UTF-8, or UTF-16 as Windows writes it, without byte order mark and
    carriage returns. Raises ``OSError``, and ``DataError`` for another encoding."""
    content = path.read_bytes()
    try:
        text = content.decode(json.detect_encoding(content))
    except UnicodeDecodeError:
        raise DataError(path, "", "is not UTF-8 text", "save it as UTF-8") from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


_GZIP = b"\x1f\x8b"
"""The first bytes of a gzip file (RFC 1952, section 2.3.1)."""


def _unzip(path: Path, zipped: bytes) -> bytes:
    """Return the content of a gzip file. Raises ``OSError`` for one that expands
    suspiciously."""
    # A small file may have a high ratio: 16 MiB are always read.
    max_bytes = min(MOST_BYTES, max(_MAX_RATIO * len(zipped), 16 * _CHUNK_BYTES))
    # 16 asks zlib for the header of gzip.
    member = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    with suppress(zlib.error):  # in one call for a single member, as in published files
        content = member.decompress(zipped, max_bytes)
        if member.eof and not member.unused_data:
            return content
    # Several members, or damage: piece by piece, with a check of the size.
    pieces = bytearray()
    with gzip.open(io.BytesIO(zipped)) as file:
        while piece := file.read(_CHUNK_BYTES):
            pieces += piece
            if len(pieces) > max_bytes:
                problem = f"unzips to more than {max_bytes >> 20} MiB, more than any published file"
                raise DataError(path, "", problem, "fetch it again")
    return bytes(pieces)


def _reject_constant(name: str) -> float:
    """Refuse NaN and infinities, which JSON lacks."""
    raise ValueError(f"{name} is not valid in JSON")


def parsed(text: bytes | str) -> Any:
    """Parse JSON. NaN and Infinity, which are not valid JSON, raise ``ValueError``."""
    from pydantic_core import from_json

    # As fast as ``json`` or faster, with the same values; texts that repeat, such as ids of places,
    # are shared. What it refuses is parsed again: for the error, or because ``json`` alone reads
    # UTF-16, unpaired surrogates and deep nesting.
    with suppress(ValueError, TypeError):
        return from_json(text, allow_inf_nan=False, cache_strings="all")
    return paired(text, json.loads(text, parse_constant=_reject_constant))


_SURROGATE = re.compile(rb"\\u[dD]|\xed[\xa0-\xbf]")
"""A surrogate, paired or not, as a JSON escape or in UTF-8."""


def paired(text: bytes | str, value: Any) -> Any:
    """Return the value of a JSON text with U+FFFD for unpaired surrogates, which no tokenizer, file
    or database holds."""
    # Most texts have none, and the search is much cheaper than a second parse.
    raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    if not _SURROGATE.search(raw):
        return value
    # UTF-16 joins pairs; what is left alone is replaced.
    pairs = json.dumps(value, ensure_ascii=False)
    return json.loads(
        pairs.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    )


def read_json(path: Path, kind: type = object) -> Any:
    """Read a JSON file, plain or gzipped. Raises ``DataError`` if the value is not a ``kind``."""
    content = read_bytes(path)
    # A list of records may be written as JSON lines.
    if kind is list and _JSON_LINES.match(content):
        # Readers of lists count records.
        lines = filter(bytes.strip, content.splitlines())
        return [parse_at(path, f"record {n}", line) for n, line in enumerate(lines)]
    value = parse_at(path, "", content, is_list=kind is list)
    # JSON lines of one record
    if kind is list and isinstance(value, dict) and ".jsonl" in path.suffixes:
        return [value]
    if not isinstance(value, kind):
        raise DataError(
            path,
            "",
            f"is not a JSON {kind.__name__}",
            "check it or fetch it again",
        )
    return value


_JSON_LINES = re.compile(rb"\s*\{[^\r\n]*\}[ \t]*\r?\n\s*\{")
_IN_SEVERAL_LINES = re.compile(rb"\s*(?:\[|\{\s*[\r\n])")
"""The beginning of a list, or of a record that goes on in the next line."""


def read_json_lines(path: Path) -> Iterator[tuple[int, Any]]:
    """Yield line number (from 1) and value of each JSON line, or number and entry of a JSON list;
    blank lines are skipped. A record in several lines is the only one of its file."""
    return _json_lines(path, read_bytes(path))


def _json_lines(path: Path, content: bytes) -> Iterator[tuple[int, Any]]:
    """Yield line number and value of each line."""
    if _IN_SEVERAL_LINES.match(content):
        entries = None
        with suppress(ValueError, RecursionError):
            entries = parsed(content)
        if isinstance(entries, dict):
            entries = [entries]
        if isinstance(entries, list):
            yield from enumerate(entries, 1)
            return
    # The bytes of UTF-16 cannot be split into lines.
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        content = content.decode("utf-16", "replace").encode()
    # Line numbers count blank lines, as editors do.
    for number, line in enumerate(content.splitlines(), 1):
        if not line.strip():
            continue
        where = f"line {number}"
        # A line that is not valid hides none of those after it.
        with one_record(path, where):
            yield number, parse_at(path, where, line)


def parse_at(path: Path, where: str, text: bytes, *, is_list: bool = False) -> Any:
    """Parse the JSON of a file or of one of its lines. Raises ``DataError``, which names the record
    of a list (``is_list``)."""
    try:
        return parsed(text)
    except (ValueError, RecursionError) as error:
        errors = _BAD_RECORDS.get()
        with suppress(ValueError, RecursionError):
            # Python's reader takes NaN and infinities, so what else is valid has fields.
            value = paired(text, json.loads(text))
            constants = [*_constants(where, value, is_list)]
            # One NaN must not hide the other bad records.
            if errors is not None and (is_list or where):
                for place, constant in constants:
                    problem = f"{NOT_FINITE}, got {constant}"
                    errors.append(str(DataError(path, place, problem)))
                return value
            for place, _ in constants[:1]:
                where = place
                is_list = False
        if is_list:
            where = _broken_record(text.decode(errors="replace"))
        raise DataError(
            path,
            where,
            f"is not valid JSON ({_json_problem(error)})",
            "check it or fetch it again",
        ) from error


_COMMA_ERRORS = ("Expecting", "Illegal trailing comma")
"""How the messages of Python's versions begin where a comma is followed by a closing bracket."""


def _json_problem(error: Exception) -> str:
    """Return the problem of a text that is not JSON. A comma before a closing bracket, which
    Python and JavaScript allow, is named."""
    if not isinstance(error, json.JSONDecodeError):
        return str(error)
    # Versions of Python differ in the side of the comma at which they stop.
    before = error.doc[: error.pos + 1].rstrip()
    closing = error.doc[error.pos :].lstrip(", \t\r\n")[:1]
    is_comma = before.rstrip("]}").rstrip().endswith(",")
    # Other errors stop inside texts, which may hold both characters.
    if is_comma and closing in ("]", "}") and error.msg.startswith(_COMMA_ERRORS):
        return f"a comma before {closing!r}: line {error.lineno} column {error.colno}"
    return str(error)


def _constants(where: str, value: Any, is_list: bool) -> Iterator[tuple[str, str]]:
    """Yield the fields of a record, or of a list of them, with NaN or an infinity: where it is, and
    which."""
    for number, record in enumerate(value if is_list else [value]):
        place = f"record {number}" if is_list else where
        for name, content in record.items() if isinstance(record, dict) else ():
            if found := _CONSTANT.search(_TEXTS.sub("", json.dumps(content))):
                yield ", ".join(filter(None, (place, f"field {name!r}"))), found[0]


NOT_FINITE = "must be a finite number"
_TEXTS = re.compile(r'"(?:[^"\\]|\\.)*"')
_CONSTANT = re.compile(r"NaN|-?Infinity")


def _broken_record(text: str) -> str:
    """Return ``record 3`` for the first invalid record of a JSON list; empty if it is no list."""
    decoder = json.JSONDecoder(parse_constant=_reject_constant)
    separator = re.compile(r"\s*[\[,]\s*")
    found = separator.match(text)
    if found is None or "[" not in found[0]:
        return ""
    number = 0
    while found is not None:
        try:
            _, end = decoder.raw_decode(text, found.end())
        except (ValueError, RecursionError):
            return f"record {number}"
        found = separator.match(text, end)
        number += 1
    return ""  # the records are valid, and what follows them is not


NUMBER = (int, float)
"""Types of a field that holds any number."""
_KINDS = {
    str: "a text",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    list: "a list",
    dict: "an object",
}
"""Type -> its name in errors."""
_SAME_FIELD = 0.8
"""Least similarity of a misspelled field's name: ``path_id`` is not a misspelled ``path``."""
_NUMERAL = re.compile(r"[-+]?\d+(?:\.\d*)?(?:e[-+]?\d{1,2})?", re.IGNORECASE)


def read_field(
    path: Path,
    where: str,
    record: Any,
    name: str,
    kind: type | tuple[type, ...],
) -> Any:
    """Return ``record[name]``. Raises ``DataError`` if it is missing or not a ``kind``."""
    if not isinstance(record, dict):
        raise DataError(path, where, f"must be an object, got {short_repr(record)}")
    if name not in record:
        problem = "is missing"
        for other in similar(name, record, _SAME_FIELD):
            problem += f"; the record has {other!r}"
        raise DataError(path, f"{where}, field {name!r}", problem)
    value = record[name]
    # Tables, and some published files, write numbers as text.
    if kind is NUMBER and isinstance(value, str) and _NUMERAL.fullmatch(value):
        return float(value)
    check_kind(path, f"{where}, field {name!r}", value, kind)
    return value


def check_kind(
    path: Path,
    where: str,
    value: Any,
    kind: type | tuple[type, ...],
) -> None:
    """Raise ``DataError`` if a value is not a ``kind``: ``must be a list, got 'left'``."""
    kinds = kind if isinstance(kind, tuple) else (kind,)
    # A bool is an int to Python.
    if isinstance(value, kinds) and not (
        isinstance(value, bool) and bool not in kinds and object not in kinds
    ):
        return
    names = ["a number"] if kinds == NUMBER else [_KINDS[each] for each in kinds]
    problem = f"must be {' or '.join(names)}, got {short_repr(value)}"
    raise DataError(path, where, problem)


def short_repr(value: object) -> str:
    """Return a value for an error, at most 60 characters long: one field must not fill the
    screen."""
    text = repr(value)
    return text if len(text) < 60 else f"{text[:57]}..."


READER_ERRORS = (
    KeyError,
    TypeError,
    ValueError,
    IndexError,
    AttributeError,
    ArithmeticError,
    AssertionError,
    RecursionError,
    MemoryError,
)
"""Errors of code that reads malformed data."""
FETCH_AGAIN = "fetch it again"
"""The remedy in errors about published data."""
_NUMBER_VARIABLES = ("number", "index", "line", "row")
"""Names of a reader's variables that hold the number of a record."""
_NAME_VARIABLES = ("where", "task_id", "episode_id", "name", "scan", "scene")
"""Names of a reader's variables that hold the name of a record, the most exact first."""


@contextmanager
def reading(what: str, remedy: str = FETCH_AGAIN) -> Iterator[None]:
    """Turn unexpected errors in a reader of ``what`` into a ``DataError``.

    The message names the file, the record and the missing key, from the local variables in the
    traceback named as in ``_NUMBER_VARIABLES`` and ``_NAME_VARIABLES``. Errors of this library
    pass as they are: they are written for the user.
    """
    try:
        yield
    except READER_ERRORS as error:
        # The local variables of the frames, from the one that raised outwards.
        walked = traceback.walk_tb(error.__traceback__)
        frames = [frame.f_locals for frame, _ in walked][::-1]
        path = _file_in(frames)
        # Without a file the data is generated: fetching would not help.
        if path is None and remedy == FETCH_AGAIN:
            remedy = "no file was being read: report this error with its command"
        parts = [_record_in(frames)]
        problem = f"has an unexpected value ({describe_error(error)})"
        # The key of a ``KeyError`` is the missing field.
        if isinstance(error, KeyError) and error.args:
            parts.append(f"field {error.args[0]!r}")
            problem = "is missing"
        where = ", ".join(part for part in parts if part)
        raise DataError(path or what, where, problem, remedy) from error


def _file_in(frames: Sequence[JsonObject]) -> Path | None:
    """Return the first local variable that is the path of a file."""
    # From the innermost frame: the file being read is closest to the error.
    for variables in frames:
        for value in variables.values():
            if isinstance(value, Path) and value.is_file():
                return value
    return None


def _record_in(frames: Sequence[JsonObject]) -> str:
    """Return the record that was read: the innermost number, else the innermost name, else ""."""
    # Numbers before names, as they are exact.
    for variables in frames:
        for name in _NUMBER_VARIABLES:
            if type(variables.get(name)) is int:  # not a bool
                return f"record {variables[name]}"
    for variables in frames:
        for name in _NAME_VARIABLES:
            value = variables.get(name)
            if isinstance(value, str) and value:
                return value
    return ""


_BAD_RECORDS: ContextVar[list[str] | None] = ContextVar("bad records", default=None)
"""Errors so far, while all bad records are collected."""


@contextmanager
def collecting_bad_records() -> Iterator[list[str]]:
    """Collect the errors of bad records, instead of ending at the first, in the list it returns."""
    errors: list[str] = []
    token = _BAD_RECORDS.set(errors)
    try:
        yield errors
    finally:
        _BAD_RECORDS.reset(token)


def collects_bad_records() -> bool:
    """True while bad records are collected: what is read now must not be cached."""
    return _BAD_RECORDS.get() is not None


class one_record:  # noqa: N801 - a statement's name, as of a function's
    """Read one record of a file. Raises ``DataError`` for an unexpected value; the record is left
    out while bad records are collected. ``form`` is the remedy for a record that lacks a field, as
    one of another dataset.

    A class, since a generator would cost as much as a record of a few places.
    """

    __slots__ = ("_errors", "_form", "_path", "_where")

    def __init__(self, path: Path, where: str, form: str = "") -> None:
        self._path = path
        self._where = where
        self._form = form
        self._errors = _BAD_RECORDS.get()

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: object, error: BaseException | None, trace: object
    ) -> bool:
        if error is None:
            return False
        if (
            self._form
            and isinstance(error, DataError)
            and error.problem.startswith("is missing")
        ):
            remedy = "; ".join(filter(None, (error.remedy, self._form)))
            named = DataError(self._path, error.where, error.problem, remedy)
            if self._errors is None:
                raise named from error
            error = named
        # Outside of a collection, the error of the record ends the reading.
        if self._errors is None:
            return False
        if isinstance(error, DataError):
            # Of a value that is not valid JSON, the reader says the same again.
            field = error.where.rpartition(", ")[2]
            place = f"{self._path}: {self._where}, {field}: {NOT_FINITE}"
            if not any(line.startswith(place) for line in self._errors):
                self._errors.append(str(error))
            return True
        if isinstance(error, READER_ERRORS):
            problem = f"has an unexpected value ({describe_error(error)})"
            self._errors.append(str(DataError(self._path, self._where, problem)))
            return True
        return False


def describe_error(error: BaseException) -> str:
    """Return an error in one line, with its type if its text alone says little."""
    # 120 characters: the line also names file, record and field.
    return f"{type(error).__name__}: {' '.join(str(error).split())[:120]}"
