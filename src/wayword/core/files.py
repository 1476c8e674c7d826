"""Reading published files: plain or gzipped, with errors that name the file and the way out."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import secrets
import signal
import traceback
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from wayword.core.errors import DataError


def cache_folder() -> Path:
    """``$WAYWORD_CACHE``, else the user's cache folder. Everything in it can be made again."""
    named = os.environ.get("WAYWORD_CACHE")
    if named:
        return Path(named)
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "wayword"


def keep(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Write a cache file whole or not at all: ``keep(path, lambda file: file.write(content))``.

    A folder that cannot be written is no error: a missing cache only costs time.
    """
    partial = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with partial.open("wb") as file:
            write(file)
        partial.replace(path)  # atomic: other processes see the old file or the new one
    except OSError:
        with suppress(OSError):
            partial.unlink(missing_ok=True)


def keep_arrays(path: Path, **arrays: NDArray[Any]) -> None:
    """Write a cache file of named arrays; see :func:`keep`."""
    keep(path, lambda file: np.savez(file, allow_pickle=False, **arrays))


def kept_arrays(path: Path) -> dict[str, NDArray[Any]] | None:
    """The arrays of a cache file, None where it is missing or damaged."""
    try:
        with path.open("rb") as file, np.load(file) as arrays:
            return dict(arrays)
    except (OSError, ValueError, KeyError, EOFError, BadZipFile):
        return None


def remembered(name: str, sources: Iterable[Path], make: Callable[[], Any]) -> Any:
    """What ``make`` works out from some files, as JSON values: once, then from the cache folder.

    It is kept under the checksums and names of ``sources`` and under ``name``, which is to hold a
    number that is raised whenever ``make`` finds something else. What is kept carries a checksum
    too: a damaged file is made again.
    """
    try:
        told = "".join(f"{sha256(path)}  {path.name}\n" for path in sources)
    except OSError:
        return make()  # which says what is wrong with the file
    known = hashlib.sha256(told.encode()).hexdigest()[:16]
    stored = cache_folder() / "read" / f"{name}-{known}.json"
    with suppress(OSError):
        digest, _, text = stored.read_bytes().partition(b"\n")
        if hashlib.sha256(text).hexdigest().encode() == digest:
            return json.loads(text)
    text = json.dumps(make(), separators=(",", ":")).encode()
    digest = hashlib.sha256(text).hexdigest().encode()
    keep(stored, lambda file: file.write(digest + b"\n" + text))
    return json.loads(text)  # a list stays no tuple the first time either


class Memo:
    """Whole numbers that take long to work out: each once, then from the cache folder.

        >>> memo = Memo("doctest-1")
        >>> memo.get("six", lambda: 6), memo.get("none", lambda: None), memo.get("six", lambda: 7)
        (6, None, 6)

    ``name`` is to change whenever the numbers do; without one they are kept in this process alone.
    Each is a line with a checksum of its own, added by one write: processes share the file, and a
    damaged line is worked out again.
    """

    def __init__(self, name: str = "") -> None:
        self._path = cache_folder() / "numbers" / f"{name}.txt" if name else None
        self._known: dict[int, int | None] = {}
        if self._path is not None:
            self._read(self._path)

    def _read(self, path: Path) -> None:
        with suppress(OSError):
            for line in path.read_text(encoding="ascii", errors="replace").splitlines():
                told, _, check = line.rpartition(" ")
                if told and check == _line_check(told):
                    key, _, number = told.partition(" ")
                    self._known[int(key, 16)] = None if number == "-" else int(number)

    def get(self, key: str, make: Callable[[], int | None]) -> int | None:
        """The number of a key, any text; ``make`` works it out where it is not known."""
        digest = hashlib.sha256(key.encode(errors="surrogatepass")).hexdigest()[:16]
        known = int(digest, 16)  # a third of the text's memory; there may be a million of them
        if known not in self._known:
            self._known[known] = number = make()
            if self._path is not None:
                _add(self._path, f"{digest} {'-' if number is None else number}")
        return self._known[known]


def _add(path: Path, told: str) -> None:
    # The line break comes first: what a killed process left of a line spoils no other.
    line = f"\n{told} {_line_check(told)}\n".encode()
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab", buffering=0) as file:
            file.write(line)


def _line_check(told: str) -> str:
    return hashlib.sha256(told.encode()).hexdigest()[:8]


@cache
def source_checksum(*packages: str) -> str:
    """Sixteen hex digits for the program text and tables of some of the packages in ``wayword``."""
    root, digest = Path(__file__).parents[1], hashlib.sha256()
    texts = [path for name in packages for path in (root / name).rglob("*.*")]
    for path in sorted(path for path in texts if path.suffix in (".py", ".toml")):
        digest.update(f"{sha256(path)}  {path.relative_to(root).as_posix()}\n".encode())
    return digest.hexdigest()[:16]


def sha256(path: Path) -> str:
    """The file's SHA-256, 64 hex digits. Raises ``OSError``."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def process_runs(number: int) -> bool:
    """False if no process of this number runs on this machine; True where no one can tell."""
    if not hasattr(signal, "SIGHUP"):
        return True  # on Windows os.kill ends the process, or sends it Ctrl-C
    try:
        os.kill(number, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return True


def find_any(folder: Path, name: str) -> Path | None:
    """``folder/name`` or ``folder/name.gz``, whichever is there."""
    paths = (folder / name, folder / f"{name}.gz")
    return next((path for path in paths if path.is_file()), None)


SOURCES = "docs/datasets.md says where to get it; `wayword data list` shows what is there"
"""The remedy where published data is missing."""


def find(folder: Path, name: str) -> Path:
    """``folder/name`` or ``folder/name.gz``. Raises ``DataError`` where neither is there."""
    path = find_any(folder, name)
    if path is None:
        raise DataError(folder / name, "", "no such file (nor .gz)", SOURCES)
    return path


MOST_BYTES = 4 << 30
"""The largest unzipped file that is read: ten times the largest published one."""
_MOST_TIMES = 100
"""The highest ratio of unzipped to zipped size: published files come to 20, a bomb to 1,000."""
_PIECE = 1 << 20


def read_bytes(path: Path) -> bytes:
    """The file's content, unzipped where its name ends in ``.gz``. Raises ``DataError``.

    A file that unzips to far more than any published one does is refused before it is unzipped.
    """
    try:
        return _unzipped(path) if path.suffix == ".gz" else path.read_bytes()
    except OSError as error:
        problem = f"cannot be read ({error.strerror or error})"
        raise DataError(path, "", problem, "check its name, or fetch it again") from error
    except (EOFError, zlib.error) as error:
        raise DataError(path, "", f"is not whole ({error})", "fetch it again") from error


def _unzipped(path: Path) -> bytes:
    """What a gzip file holds: at one go where it has a single member, as published files do."""
    zipped = path.read_bytes()
    most = min(MOST_BYTES, max(_MOST_TIMES * len(zipped), 16 * _PIECE))
    member = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    with suppress(zlib.error):
        content = member.decompress(zipped, most)
        if member.eof and not member.unused_data:
            return content
    return _unzipped_by_pieces(zipped, path, most)


def _unzipped_by_pieces(zipped: bytes, path: Path, most: int) -> bytes:
    content = bytearray()
    with gzip.open(io.BytesIO(zipped)) as file:
        while piece := file.read(_PIECE):
            content += piece
            if len(content) > most:
                problem = f"unzips to more than {most >> 20} MiB, which no published file does"
                raise DataError(path, "", problem, "fetch it again")
    return bytes(content)


def read_array(path: Path, mapped: bool = False) -> NDArray[Any]:
    """The array of an ``.npy`` file; ``mapped`` reads of it what is looked at.

    Raises ``OSError`` for a file that cannot be read, ``ValueError`` for a damaged one. For those
    numpy has a dozen exceptions, the tokenizer's and struct's among them.
    """
    try:
        if mapped:
            return np.lib.format.open_memmap(path, mode="r")
        with path.open("rb") as file:  # np.load would leave it open where it fails
            return np.asarray(np.lib.format.read_array(file, allow_pickle=False))
    except OSError:
        raise
    except Exception as error:
        raise ValueError(_brief(error)) from error


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is no number")


def parsed(text: bytes | str) -> Any:
    """JSON's values. NaN and Infinity, which JSON does not have, raise ``ValueError``."""
    return json.loads(text, parse_constant=_no_number)


def read_json(path: Path) -> Any:
    """A JSON file, plain or gzipped. Raises ``DataError``."""
    text = read_bytes(path)
    try:
        return parsed(text)
    except (ValueError, RecursionError) as error:
        raise DataError(path, "", f"is not valid JSON ({error})", "fetch it again") from error


def read_json_lines(path: Path) -> Iterator[tuple[int, Any]]:
    """Line number (from 1) and value of each JSON line, blank ones left out."""
    for number, line in enumerate(read_bytes(path).splitlines(), 1):
        if not line.strip():
            continue
        try:
            yield number, parsed(line)
        except (ValueError, RecursionError) as error:
            problem = f"is not valid JSON ({error})"
            raise DataError(path, f"line {number}", problem, "fetch it again") from error


def read_field(
    path: Path, where: str, record: Any, name: str, kind: type | tuple[type, ...]
) -> Any:
    """``record[name]``, of the kind it should be. Raises ``DataError`` naming record and field."""
    if not isinstance(record, dict):
        raise DataError(path, where, "is not an object")
    if name not in record:
        raise DataError(path, f"{where}, field {name!r}", "is missing")
    value = record[name]
    if not isinstance(value, kind):
        shown = repr(value) if len(repr(value)) < 60 else f"{repr(value)[:57]}..."
        raise DataError(path, f"{where}, field {name!r}", f"has the wrong type: {shown}")
    return value


# The door of every dataset: whatever a reader stumbles over ends in one line.

_STUMBLES = (
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
_NUMBER_VARIABLES = ("number", "index", "line", "row")
_NAME_VARIABLES = ("where", "task_id", "episode_id", "name", "scan", "scene")


@contextmanager
def reading(what: str, remedy: str = "fetch it again") -> Iterator[None]:
    """Reading the files of ``what``: an error that no reader has foreseen becomes a ``DataError``.

    It names the file, the record and the field as far as the place where it happened tells them:
    the innermost reader's path, its record's number or name, and the key that was not there. They
    are found by the local variables of these names in the traceback: a reader that calls its record
    otherwise loses it from the message.
    """
    try:
        yield
    except _STUMBLES as error:
        path, record = _place(error)
        field = f"field {error.args[0]!r}" if isinstance(error, KeyError) and error.args else ""
        problem = "is missing" if field else f"has an unexpected value ({_brief(error)})"
        where = ", ".join(part for part in (record, field) if part)
        raise DataError(path or what, where, problem, remedy) from error


def _place(error: BaseException) -> tuple[Path | None, str]:
    """The file and the record that the readers on the way to the error were at."""
    frames = [frame.f_locals for frame, _ in traceback.walk_tb(error.__traceback__)][::-1]
    files = (v for told in frames for v in told.values() if isinstance(v, Path) and v.is_file())
    numbers = (
        f"record {v}" for told in frames for k in _NUMBER_VARIABLES if type(v := told.get(k)) is int
    )
    names = (
        v for told in frames for k in _NAME_VARIABLES if isinstance(v := told.get(k), str) and v
    )
    return next(files, None), next(numbers, "") or next(names, "")


def _brief(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:120]}"
