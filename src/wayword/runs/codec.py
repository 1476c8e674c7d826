"""A trajectory as JSON and back, and the files that hold one on each line.

    >>> from wayword.core.trajectory import Trajectory
    >>> walk = Trajectory("5593_0", start={"agent": {"viewpoint": "a", "heading": 0.0}})
    >>> from_json(to_json(walk)) == walk
    True

Prompts and percepts are written in full: a compressed line makes repetition cheap. An episode of
several trials is written as its last one, with the previous ones in ``earlier``. Observations
are typed dataclasses of their worlds; they are written with the name of their type and come back as
mappings, so that reading a run needs none of the worlds. Everything else comes back equal, where
tuples within observations, poses, details and states come back as lists.

What JSON has is written as it is. The rest:

===============================  ==========================================================
tuple, array, set, sequence      a list (sets sorted)
dataclass                        ``{"type": "IndoorObservation", "heading": 90.0, ...}``
enum, numpy scalar, path         its plain value
nan, infinity                    ``{"$float": "nan"}``, ``"inf"``, ``"-inf"``
bytes                            ``{"$bytes": "<base64>"}``
keys that are numbers            text, as ``json.dumps`` writes them
===============================  ==========================================================

A string key that begins with ``$`` is written with a second ``$``, so no text can pass for one of
these marks. JSON itself has no nan (RFC 8259, section 6).
"""

from __future__ import annotations

import base64
import dataclasses
import json
import math
import os
import struct
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from wayword.core.action import Action, Decision, Rejection
from wayword.core.episode import Json
from wayword.core.errors import RecordingError
from wayword.core.model import Choice, Completion, Image, Message, Sampling, TokenLogprob, Usage
from wayword.core.perceiver import Percept, Sector, Sighting
from wayword.core.secrets import redacted
from wayword.core.trajectory import ModelCall, Note, Step, Trajectory, Verdict
from wayword.core.world import Feedback

# Any value as JSON.

_PLAIN = frozenset({str, int, bool, type(None)})


def plain(value: Any) -> Json:
    """The value made of dict, list, str, int, finite float, bool and None.

    Raises ``RecordingError`` for a type that has no such form.
    """
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is float:
        return value if math.isfinite(value) else {"$float": repr(value)}
    if kind is list or kind is tuple:
        return [item if type(item) in _PLAIN else plain(item) for item in value]
    if kind is dict or isinstance(value, Mapping):
        return {_key(key): v if type(v) in _PLAIN else plain(v) for key, v in value.items()}
    if isinstance(value, bytes | bytearray):
        return {"$bytes": base64.b64encode(value).decode()}
    return plain(_simpler(value))


def _key(key: Any) -> str:
    if isinstance(key, Enum):
        key = key.value
    if isinstance(key, str):
        return str("$" + key if key[:1] == "$" else key)
    if isinstance(key, np.generic):
        key = key.item()
    if key is None or isinstance(key, int | float):
        return json.dumps(key)
    raise RecordingError(f"a key of type {type(key).__name__!r} cannot be recorded; use text")


def _simpler(value: Any) -> Any:
    """A value that JSON lacks, one step closer to it. Raises ``RecordingError``."""
    if write := _WRITERS.get(type(value)):
        return write(value)
    names = _fields(type(value))  # type: ignore[arg-type]  # mypy doubts that classes are hashable
    if names is not None:
        return {"type": type(value).__name__} | {key: getattr(value, name) for key, name in names}
    if isinstance(value, Enum):
        return value.value
    for base in (bool, int, float, str):
        if isinstance(value, base):  # a subclass, such as numpy's
            return base.__str__(value) if base is str else base(value)
    if isinstance(value, np.generic | np.ndarray):
        listed = value.tolist()
        if type(listed) is not type(value):  # numpy's long double has no plain twin
            return listed
    elif isinstance(value, os.PathLike):
        return os.fspath(value)
    elif isinstance(value, Set):
        return sorted((plain(item) for item in value), key=dump)
    elif isinstance(value, Sequence):
        return list(value)
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    remedy = "make it of JSON values, dataclasses, enums or numpy arrays"
    raise RecordingError(f"a value of type {kind!r} cannot be recorded; {remedy}")


@cache
def _fields(kind: type) -> list[tuple[str, str]] | None:
    """A dataclass's fields as (key, name), None for others; the field ``type`` gets ``type_``."""
    if not dataclasses.is_dataclass(kind):
        return None
    names = [field.name for field in dataclasses.fields(kind)]
    return [("type_" if name == "type" else name, name) for name in names]


def restore(value: Json) -> Any:
    """The value that ``plain`` wrote: lists stay lists and dataclasses stay mappings.

    Raises ``ValueError`` or ``TypeError`` where a ``$`` mark holds something it cannot.
    """
    kind = type(value)
    if kind is dict:
        if len(value) == 1:
            ((key, inner),) = value.items()
            mark = _MARKS.get(key)
            if mark is not None:
                return mark(inner)
        return {(k[1:] if k[:1] == "$" else k): restore(v) for k, v in value.items()}
    if kind is list:
        return [restore(item) for item in value]
    return value


_MARKS: dict[str, Callable[[Json], Any]] = {"$float": float, "$bytes": base64.b64decode}


def _default(value: Any) -> Any:
    """As ``_simpler``, for the encoder in C, which must leave these to ``plain``."""
    if isinstance(value, bytes | bytearray | Mapping):
        raise TypeError
    return _simpler(value)


_QUICK, _EXACT = (
    json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=default)
    for default in (_default, None)
)


def dump(value: Any) -> bytes:
    """A line of JSON in UTF-8, without its newline and without any secret that is registered.

    Half a surrogate pair, which UTF-8 cannot hold, is written as a JSON escape. Raises
    ``RecordingError`` for a type that has no JSON form.
    """
    text = '"$'
    with suppress(ValueError, TypeError):
        text = _QUICK.encode(value)  # a third less time for an episode, but it writes no marks
    if '"$' in text:
        text = _EXACT.encode(plain(value))
    return redacted(text).encode(errors="backslashreplace")


# Trajectories.


def to_json(trajectory: Trajectory) -> dict[str, Json]:
    """The trajectory as JSON values. Empty fields are omitted.

    Raises ``RecordingError`` where it holds a value that has no JSON form.
    """
    written: dict[str, Json] = plain(trajectory)
    return written


def from_json(written: dict[str, Json]) -> Trajectory:
    """The trajectory that ``to_json`` wrote. Raises ``RecordingError`` where it is none."""
    try:
        return _read_trajectory(written)
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise RecordingError(f"is not a trajectory ({type(error).__name__}: {error})") from error


class _Form:
    """The written form of a dataclass of the core: its fields in order, by name.

    A field marked ``?`` is omitted where it has its default. Numbers have no mark, so that a
    default that changes one day changes no old record. ``readers`` read fields whose values are
    not JSON. Sequences become tuples in frozen dataclasses, and stay lists in others.
    """

    def __init__(self, kind: Any, names: str, **readers: Callable[[Json], Any]) -> None:
        self.kind, self._readers = kind, readers
        self._frozen = kind.__dataclass_params__.frozen
        defaults: dict[str, Any] = {}
        for field in dataclasses.fields(kind):
            if field.default is not dataclasses.MISSING:
                defaults[field.name] = field.default
            elif field.default_factory is not dataclasses.MISSING:
                defaults[field.name] = field.default_factory()
        self._fields = [
            (name.rstrip("?"), "?" in name, defaults.get(name.rstrip("?")))
            for name in names.split()
        ]
        self._omitted = {name for name, optional, _ in self._fields if optional}
        self._absent = dict.fromkeys(self._omitted - set(defaults))

    def write(self, value: Any) -> dict[str, Any]:
        """The fields of a value, each as it is."""
        written = {}
        for name, optional, default in self._fields:
            held = getattr(value, name)
            if not (optional and held == default):
                written[name] = held
        return written

    def read(self, written: dict[str, Json]) -> Any:
        """The value that was written. Raises ``TypeError`` and others where it is none."""
        values = {}
        for name, held in written.items():
            if held is None and name in self._omitted:
                continue
            reader = self._readers.get(name, restore)
            value = reader(held)
            values[name] = tuple(value) if self._frozen and isinstance(value, list) else value
        return self.kind(**{**self._absent, **values})


def _many(read: Callable[[Json], Any]) -> Callable[[Json], list[Any]]:
    return lambda written: [read(each) for each in written]


def _write_decision(decision: Decision | Rejection) -> dict[str, Any]:
    more: dict[str, Any] = {"thought": decision.thought}
    if isinstance(decision, Rejection):
        written: dict[str, Any] = {"rejected": decision.kind}
        more = {"reason": decision.reason, "said": decision.said, **more}
    else:
        written = {"action": decision.action.name}
        more = {"arguments": decision.action.arguments, **more}
        more["fallback_for"] = decision.fallback_for
    return written | {key: value for key, value in more.items() if value}


def _read_decision(written: Json) -> Decision | Rejection:
    values = dict(written)
    if "rejected" in values:
        return Rejection(values.pop("rejected"), **{"reason": "", **values})
    action = Action(values.pop("action"), tuple(values.pop("arguments", ())))
    if fallback := values.pop("fallback_for", None):
        values["fallback_for"] = _read_decision(fallback)
    return Decision(action, **values)


def _read_trajectory(written: Json) -> Trajectory:
    for required in ("steps", "state", "ended", "seconds"):
        written[required]  # raises KeyError
    trajectory: Trajectory = _TRAJECTORY.read(written)
    return trajectory


# Each type that others hold stands before them.
_SIGHTING = _Form(Sighting, "name heading distance? score?")
_SECTOR = _Form(Sector, "heading width caption sightings", sightings=_many(_SIGHTING.read))
_PERCEPT = _Form(Percept, "summary sectors", sectors=_many(_SECTOR.read))
_MESSAGE = _Form(
    Message,
    "role content images?",
    images=_many(lambda image: Image(base64.b64decode(image["data"]), image["media_type"])),
)
_SAMPLING = _Form(
    Sampling, "temperature top_p max_tokens stop? n seed? json_schema? grammar? choices? logprobs"
)
# Most models write no reasoning.
_USAGE = _Form(Usage, "prompt completion reused reasoning? estimated?")
_COMPLETION = _Form(
    Completion,
    "texts finish? cost? seconds cached? reasoning? unsent? answered_by? usage logprobs?",
    usage=_USAGE.read,
    logprobs=_many(lambda token: TokenLogprob(*restore(token))),
)
_CHOICE = _Form(
    Choice,
    "options cost? seconds cached? picked? reasoning? other_text? answered_by? usage logprobs",
    usage=_USAGE.read,
)
_CALL = _Form(
    ModelCall,
    "role prompt answer? sampling? error?",
    prompt=lambda prompt: prompt if isinstance(prompt, str) else [*map(_MESSAGE.read, prompt)],
    answer=lambda answer: (_CHOICE if "options" in answer else _COMPLETION).read(answer),
    sampling=_SAMPLING.read,
)
_NOTE, _FEEDBACK = _Form(Note, "kind details"), _Form(Feedback, "status details?")
_VERDICT = _Form(Verdict, "trial trials succeeded ended steps")
_STEP = _Form(
    Step,
    "actor observation decision feedback pose seconds calls? notes? percept?",
    decision=_read_decision,
    feedback=_FEEDBACK.read,
    calls=_many(_CALL.read),
    notes=_many(_NOTE.read),
    percept=_PERCEPT.read,
)
_TRAJECTORY = _Form(
    Trajectory,
    "episode_id ended error? seconds earlier? start opening_calls? opening_notes? steps state "
    "closing_calls? closing_notes? verdict?",
    earlier=_many(_read_trajectory),
    opening_calls=_many(_CALL.read),
    opening_notes=_many(_NOTE.read),
    steps=_many(_STEP.read),
    closing_calls=_many(_CALL.read),
    closing_notes=_many(_NOTE.read),
    verdict=lambda written: _VERDICT.read({"succeeded": None, **written}),
)

_WRITERS: dict[Any, Callable[[Any], Any]] = {
    **{
        form.kind: form.write
        for form in (
            *(_SIGHTING, _SECTOR, _PERCEPT, _MESSAGE, _SAMPLING, _USAGE, _COMPLETION, _CHOICE),
            *(_CALL, _NOTE, _FEEDBACK, _VERDICT, _STEP, _TRAJECTORY),
        )
    },
    Decision: _write_decision,
    Rejection: _write_decision,
    TokenLogprob: lambda token: [
        token.token,
        token.logprob,
        *([token.alternatives] if token.alternatives else []),
    ],
    Image: lambda image: {
        "media_type": image.media_type,
        "data": base64.b64encode(image.data).decode(),
    },
}
"""Writers by type of the core; others are written as any dataclass, with their type."""


# Files: append-only, a JSON object on each line, compressed or plain, readable after any crash.
#
# ``*.jsonl.gz`` holds a gzip member a line (RFC 1952), so any tool that reads gzip reads the file.
# The member's checksum guards the line, and its header holds the member's size, in the extra field
# ``Ww`` (the size, then its complement, as little-endian 32-bit numbers), as BGZF does: so a line
# that was cut short is distinguished from a damaged one, and the next line is found either way.
#
# A line reaches the file in one write to a file opened for appending. A process that is killed
# leaves every earlier line whole and at worst part of the last one; a power cut may leave zeros.
# Readers skip both, and the next writer cuts them off. A disk that fills up in the middle of a line
# is rolled back at once.

_MAGIC = b"\x1f\x8b\x08\x04" + bytes(5) + b"\xff\x0c\0Ww\x08\0"
"""Deflate, with an extra field; no time and no name; one subfield of eight bytes."""
_HEAD, _FOOT = struct.Struct("<16sII"), struct.Struct("<II")
FOOT_SIZE = _FOOT.size
"""Bytes at a member's end: the checksum and length of the text."""
_ALL = 0xFFFFFFFF
_LEVEL = 6
"""Of zlib. Level 1 takes half of the time (0.5 ms less for 100 kB) and 1.7 times the space."""
_ZEROS = 16  # zeros at a file's end that no gzip member ends in, but a power cut leaves
_SYNC_EVERY = 1.0  # seconds between two syncs of a file that grows


@dataclass(frozen=True, slots=True)
class Member:
    """A line of a compressed file: its number from 1, its text, and its place: ``size`` bytes from
    byte ``at`` on. ``foot`` is the last of these bytes."""

    number: int
    at: int
    size: int
    foot: bytes
    line: bytes


def member(line: bytes) -> bytes:
    """The gzip member that holds the line and a newline."""
    deflate = zlib.compressobj(_LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
    body = deflate.compress(line) + deflate.compress(b"\n") + deflate.flush()
    size = _HEAD.size + len(body) + _FOOT.size
    head = _HEAD.pack(_MAGIC, size, size ^ _ALL)
    return head + body + _FOOT.pack(zlib.crc32(b"\n", zlib.crc32(line)), len(line) + 1 & _ALL)


def line_in(raw: bytes) -> bytes:
    """The line of a whole member, without its newline. Raises ``ValueError`` if it is damaged."""
    if not raw or _size(raw) != len(raw):
        raise ValueError("is damaged: its header is not one of a record")
    inflate = zlib.decompressobj(-zlib.MAX_WBITS)
    try:
        line = inflate.decompress(raw[_HEAD.size : -FOOT_SIZE])
    except zlib.error:
        raise ValueError("is damaged: it cannot be decompressed") from None
    if not inflate.eof or _FOOT.pack(zlib.crc32(line), len(line) & _ALL) != raw[-FOOT_SIZE:]:
        raise ValueError("is damaged: it does not match its checksum")
    return line.removesuffix(b"\n")


def _size(head: bytes) -> int:
    """Bytes of the member that begins with ``head``; 0 where that is no header."""
    if len(head) < _HEAD.size:
        return 0
    magic, size, complement = _HEAD.unpack_from(head)
    genuine = magic == _MAGIC and size ^ complement == _ALL and size > _HEAD.size + _FOOT.size
    return int(size) if genuine else 0


def _line_at(file: BinaryIO, at: int, end: int) -> tuple[bytes, bytes]:
    """The gzip member at an offset, compressed, and its line. Raises ``ValueError``."""
    file.seek(at)
    head = file.read(_HEAD.size)
    size = _size(head)
    raw = head + file.read(size - len(head)) if 0 < size <= end - at else b""
    return raw, line_in(raw)


def read_members(
    path: Path, at: int = 0, number: int = 0, gaps: list[str] | None = None
) -> Iterator[Member]:
    """The lines of a compressed file from byte ``at`` on, ``number`` of them before it.

    A file that does not exist has none. Raises ``RecordingError`` naming the first damaged record;
    with ``gaps``, damaged ones are listed there and the lines behind them follow.
    """
    try:
        with path.open("rb") as file:
            end = os.fstat(file.fileno()).st_size
            while at < end:
                number += 1
                try:
                    raw, line = _line_at(file, at, end)
                except ValueError as error:
                    if _torn(file, at, end):
                        return
                    if gaps is None:
                        raise corrupt(path, number, f"{error} (from byte {at:,} on)") from None
                    begin, at = at, _next(file, at + 1, end)
                    gaps.append(f"{path}: record {number} {error} (bytes {begin:,} to {at:,})")
                else:
                    yield Member(number, at, len(raw), raw[-FOOT_SIZE:], line)
                    at += len(raw)
    except FileNotFoundError:
        return
    except OSError as error:
        raise unusable(path, error) from error


def read_member(path: Path, number: int, at: int) -> dict[str, Json]:
    """The object in the record that begins at a byte. Raises ``RecordingError`` where it is
    damaged."""
    for record in read_members(path, at, number - 1):
        return parsed(path, number, record.line)
    raise corrupt(path, number, f"is damaged: it was cut short (from byte {at:,} on)")


def _torn(file: BinaryIO, at: int, end: int) -> bool:
    """True if a killed writer or a power cut left what stands from ``at`` to the file's end."""
    file.seek(at)
    head = file.read(_HEAD.size)
    if _size(head) > end - at:
        return True
    if len(head) < _HEAD.size and _MAGIC.startswith(head[: len(_MAGIC)].rstrip(b"\0")):
        return True
    file.seek(max(at, end - _ZEROS))
    return not file.read().strip(b"\0") and _next(file, at + 1, end) == end


def _next(file: BinaryIO, at: int, end: int) -> int:
    """The first byte of the next whole member from ``at`` on; ``end`` where there is none."""
    while at < end:
        file.seek(at)
        chunk = file.read(1 << 20)
        begin = chunk.find(_MAGIC)
        if begin < 0:
            at += max(1, len(chunk) - len(_MAGIC) + 1)
            continue
        at += begin
        with suppress(ValueError):
            _line_at(file, at, end)
            return at
        at += 1
    return end


def parsed(path: Path, number: int, line: bytes) -> dict[str, Json]:
    """The line's object. Raises ``RecordingError`` naming file and record where it is none."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise corrupt(path, number, f"is not JSON ({error})") from error
    if not isinstance(value, dict):
        raise corrupt(path, number, "is not a JSON object")
    return value


def read_lines(path: Path) -> Iterator[tuple[int, dict[str, Json]]]:
    """The objects of a plain file with the numbers of their lines, from 1; part of a line at the
    end left out. Raises ``RecordingError`` naming file and line."""
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if line.endswith(b"\n"):
                    yield number, parsed(path, number, line)
    except FileNotFoundError:
        return
    except OSError as error:
        raise unusable(path, error) from error


class Appender:
    """Appends to a file, in one write each.

    What is appended survives the end of the process at once. It survives a power cut once synced:
    with the first write a second or more after the last sync, and at ``close``.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = path.open("ab", buffering=0)
        self.length = os.fstat(self._file.fileno()).st_size
        """Bytes of the file."""
        self._synced, self._dirty = time.monotonic(), False

    def cut(self, end: int) -> int:
        """Truncate at byte ``end``; returns the number of bytes dropped."""
        dropped = self.length - end
        if dropped:
            self._file.truncate(end)
            self.length, self._dirty = end, True
        return dropped

    def lock(self) -> bool:
        """Take the system's advisory lock until the file is closed or the process ends; False where
        another process holds it. True also on systems without such locks."""
        for name in ("fcntl", "msvcrt"):
            with suppress(ImportError):
                library: Any = import_module(name)
                try:
                    if name == "fcntl":
                        library.flock(self._file, library.LOCK_EX | library.LOCK_NB)
                    else:
                        self._file.seek(1 << 40)  # Windows denies reading what is locked
                        library.locking(self._file.fileno(), library.LK_NBLCK, 1)
                except OSError:
                    return False
                return True
        return True

    def append(self, raw: bytes) -> None:
        """Write it whole, or raise ``RecordingError`` and leave the file as it was."""
        try:
            written = 0
            while written < len(raw):  # a short write means a full disk: the next one says so
                written += self._file.write(raw[written:] if written else raw) or 0
        except OSError as error:
            with suppress(OSError):  # part of a line that stays is dropped at the next start
                self._file.truncate(self.length)
            remedy = "finished episodes are safe; make room and run the same command again"
            raise unusable(self._path, error, remedy) from error
        self.length += len(raw)
        self._dirty = True
        if time.monotonic() - self._synced >= _SYNC_EVERY:
            self._sync()

    def _sync(self) -> None:
        try:
            os.fsync(self._file.fileno())
        except OSError as error:
            raise unusable(self._path, error, "the last episodes may not be on disk") from error
        if os.fstat(self._file.fileno()).st_nlink == 0:
            raise RecordingError(f"{self._path}: the file was deleted while the run was writing")
        self._synced, self._dirty = time.monotonic(), False

    def close(self) -> None:
        """Sync and close. Raises ``RecordingError`` where the disk does not take it."""
        try:
            if self._dirty:
                self._sync()
        finally:
            self._file.close()


def lines_end(path: Path) -> int:
    """Bytes of the whole lines of a plain file, those of part of a line at its end left out."""
    with suppress(FileNotFoundError):
        return path.read_bytes().rfind(b"\n") + 1
    return 0


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file whole or not at all: to one next to it that is synced and then renamed."""
    new = path.with_name(f".{path.name}.new")
    with new.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)
    with suppress(OSError):  # not every system opens folders
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def corrupt(path: Path, number: int, problem: str) -> RecordingError:
    """The error for a record that is not what a run wrote."""
    if path.suffix != ".gz":
        return RecordingError(f"{path}: line {number}: {problem}; delete that line")
    remedy = f"`wayword merge {path.parent} --out NEW` copies all the others"
    again = "and the same run command with --out NEW plays that episode again"
    return RecordingError(f"{path}: record {number}: {problem}; {remedy}, {again}")


def unusable(path: Path, error: OSError, remedy: str = "") -> RecordingError:
    """The error for what the system refused."""
    line = f"{path}: {(error.strerror or str(error)).lower()}"
    return RecordingError(f"{line}; {remedy}" if remedy else line)
