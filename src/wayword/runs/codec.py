"""Trajectories as JSON, and the files with one per line.

    >>> from wayword.core.trajectory import Trajectory
    >>> walk = Trajectory("5593_0", start={"agent": {"viewpoint": "a", "heading": 0.0}})
    >>> from_json(to_json(walk)) == walk
    True

Prompts and percepts are written in full: compression makes the repetition cheap. An episode of
several trials is written as its last trial, with the previous ones in ``earlier``. Observations are
dataclasses defined by their worlds; they are written with the name of their type and read as
mappings, so that reading a run does not need the worlds. Everything else is restored unchanged,
except that tuples inside observations, poses, details and states become lists.

Values that JSON supports are written as they are. All others:

===============================  ==========================================================
tuple, array, set, sequence      a list (sets sorted)
dataclass                        ``{"type": "IndoorObservation", "heading": 90.0, ...}``
enum, numpy scalar, path         its plain value
nan, infinity                    ``{"$float": "nan"}``, ``"inf"``, ``"-inf"``
bytes                            ``{"$bytes": "<base64>"}``
numeric keys                     text, as ``json.dumps`` writes them
===============================  ==========================================================

String keys that begin with ``$`` get a second ``$``, so that no data can be mistaken for one of
these marks. (JSON has no nan: RFC 8259, section 6.)
"""

from __future__ import annotations

import base64
import dataclasses
import errno
import gzip
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
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO, Literal, get_args, get_origin, get_type_hints

import numpy as np

from wayword.core import model
from wayword.core.action import Action, Decision, Rejection
from wayword.core.episode import Json, JsonObject
from wayword.core.errors import RecordingError, reason_of, remedy_of
from wayword.core.files import open_regular
from wayword.core.perceiver import Percept, Sector, Sighting
from wayword.core.secrets import redacted
from wayword.core.shapes import parse_untrusted
from wayword.core.trajectory import ModelCall, Note, Step, Trajectory, Verdict
from wayword.core.world import Feedback

# Any value as JSON.

_PLAIN = frozenset({str, int, bool, type(None)})


def plain(value: Any) -> Json:
    """Return the value as dicts, lists, strings, integers, finite floats, bools and None.

    The inverse of :func:`restore`, save for the types that the module's table names.
    Raises ``RecordingError`` for a type that has no JSON form.
    """
    cls: Any = type(value)  # mypy doubts that classes are hashable
    # Nearly all values, so it is tested first.
    if cls in _PLAIN:
        return value
    if cls is float:
        return value if math.isfinite(value) else {"$float": repr(value)}
    # Plain items, nearly all, are kept without a call for each.
    if cls is list or cls is tuple:
        return [item if type(item) in _PLAIN else plain(item) for item in value]
    write = _writer(cls)
    if write is not None:
        return write(value)
    # The same for the values of a mapping.
    if cls is dict or isinstance(value, Mapping):
        return {
            _key(key): inner if type(inner) in _PLAIN else plain(inner)
            for key, inner in value.items()
        }
    if isinstance(value, bytes | bytearray):
        return {"$bytes": base64.b64encode(value).decode()}
    return plain(_simplify(value))


def _key(key: Any) -> str:
    """Return a key as text; a leading ``$`` is doubled, since it marks values of other types.

    Raises ``RecordingError`` for a key that ``json.dumps`` could not write.
    """
    if type(key) is str and key[:1] != "$":  # nearly all
        return key
    if isinstance(key, Enum):
        key = key.value
    if isinstance(key, str):
        return str("$" + key if key[:1] == "$" else key)
    if isinstance(key, np.generic):
        key = key.item()
    # As json.dumps writes such keys.
    if key is None or isinstance(key, int | float):
        return json.dumps(key)
    raise RecordingError(
        f"a key of type {type(key).__name__!r} cannot be recorded; use text"
    )


def _simplify(value: Any) -> Any:
    """Convert a value one step closer to JSON; :func:`plain` converts the result again.

    Raises ``RecordingError`` for a type that has no JSON form.
    """
    if isinstance(value, Enum):
        return value.value
    # A bool is an int too, so it comes first.
    for base in (bool, int, float, str):
        if isinstance(value, base):  # a subclass, such as numpy's
            return base.__str__(value) if base is str else base(value)
    # Containers and paths become lists and texts; all else cannot be recorded.
    if isinstance(value, np.generic | np.ndarray):
        listed = value.tolist()
        if type(listed) is not type(value):  # numpy's long double stays one
            return listed
    elif isinstance(value, os.PathLike):
        return os.fspath(value)
    elif isinstance(value, Set):
        return sorted((plain(item) for item in value), key=_encoder.encode)
    elif isinstance(value, Sequence):
        return list(value)
    name = f"{type(value).__module__}.{type(value).__qualname__}"
    remedy = "use JSON values, dataclasses, enums or numpy arrays"
    raise RecordingError(f"a value of type {name!r} cannot be recorded; {remedy}")


# Levels of nesting in a record; real ones have fewer than 20. Python's limit (about 450) would end
# a command in the middle of a table.
_DEEPEST = 100


def restore(value: Json, depth: int = _DEEPEST) -> Any:
    """Undo ``plain``, except that tuples stay lists and dataclasses stay mappings.

    Raises ``ValueError`` or ``TypeError`` for a malformed ``$`` mark, and for more
    levels than ``depth``.
    """
    cls = type(value)
    if not depth:
        raise ValueError("is nested too deeply")
    if cls is dict:
        # A mark stands alone in its mapping.
        if len(value) == 1:
            ((key, inner),) = value.items()
            mark = _MARKS.get(key)
            if mark is not None:
                return mark(inner)
        return {
            (k[1:] if k[:1] == "$" else k): restore(v, depth - 1)
            for k, v in value.items()
        }
    if cls is list:
        return [restore(item, depth - 1) for item in value]
    return value


_MARKS: dict[str, Callable[[Json], Any]] = {"$float": float, "$bytes": base64.b64decode}


def dump(value: Any) -> bytes:
    """Return a value as a line of JSON in UTF-8, without newline.

    Registered secrets are redacted and unpaired surrogates escaped, so that any text of
    a model can be written. Raises ``RecordingError`` for a type that has no JSON form.
    """
    from pydantic_core import to_json

    try:
        written = plain(value)
    except RecursionError:
        problem = "a value is nested too deeply to be recorded"
        raise RecordingError(problem) from None
    # Four times as fast as ``json``, with the same values: it alone writes the digits of numbers
    # below 0.0001 otherwise. Unpaired surrogates and deep nesting are left to ``json``.
    try:
        text = to_json(written).decode()
    except ValueError:
        text = _encoder.encode(written)
    return redacted(text).encode(errors="backslashreplace")


_encoder = json.JSONEncoder(
    ensure_ascii=False, check_circular=False, separators=(",", ":")
)


# Trajectories.


def to_json(trajectory: Trajectory) -> dict[str, Json]:
    """Return the trajectory as JSON values, without empty fields.

    Raises ``RecordingError`` if it holds a value that has no JSON form.
    """
    record: dict[str, Json] = plain(trajectory)
    return record


def from_json(record: dict[str, Json]) -> Trajectory:
    """Return the trajectory that ``to_json`` wrote. Raises ``RecordingError`` for anything else."""
    try:
        return _read_trajectory(record)
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        problem = f"{type(error).__name__}: {error}"
        raise RecordingError(f"is not a trajectory ({problem})") from error


_KEPT = ("steps", "state", "sightings", "summary")
"""Fields that are written even if they are empty: readers of a record expect them."""
_RARE = ("reasoning", "written", "written_hour")
"""Counts of tokens that are 0 for most models: omitted then, as in records from before them."""


@cache
def _writer(cls: Any) -> Callable[[Any], Any] | None:
    """Return the writer of a core type or dataclass, made once for each; None for other types."""
    name = cls.__name__
    # Enums and numbers may be dataclasses too; they are written as values.
    is_value = issubclass(cls, Enum | bool | int | float | str)
    if write_core := _WRITERS.get(cls):
        return lambda value: plain(write_core(value))
    if is_value or not dataclasses.is_dataclass(cls):
        return None
    names = {field.name: field.name for field in dataclasses.fields(cls)}
    # The name of the class takes this key.
    if "type" in names:
        names["type_"] = names.pop("type")
    # Compiled, as a dataclass's own methods are: twice as fast as a loop over the fields.
    items = [
        f", {key!r}: v if (t := type(v := value.{field})) in _PLAIN"
        " or t is float and math.isfinite(v) else plain(v)"
        for key, field in names.items()
    ]
    write: Callable[[Any], Any] = eval(
        f"lambda value: {{'type': {name!r}{''.join(items)}}}"
    )
    return write


@cache
def _optional(cls: Any) -> list[tuple[str, bool, Any]]:
    """Return each field of a dataclass: its name, True if it is omitted at its default,
    and the default.

    Empty values are omitted. Numbers are written even at their default, so that a
    default may change without changing old records; only those in ``_RARE`` are not.
    """
    fields: list[tuple[str, bool, Any]] = []
    for field in dataclasses.fields(cls):
        default = field.default
        # Of lists and mappings.
        if field.default_factory is not dataclasses.MISSING:
            default = field.default_factory()
        empty = default is None or (
            not default and type(default) in (bool, str, tuple, list, dict)
        )
        omitted = empty and field.name not in _KEPT
        fields.append((field.name, omitted or field.name in _RARE, default))
    return fields


def _write(value: Any) -> dict[str, Any]:
    """Return the fields of an object; optional ones at their default are left out."""
    cls: Any = type(value)  # mypy doubts that classes are hashable
    fields = {}
    for name, optional, default in _optional(cls):
        # None is never written: readers take an absent field for it.
        held = getattr(value, name)
        if held is not None and not (optional and held == default):
            fields[name] = held
    return fields


def _write_decision(decision: Decision | Rejection) -> dict[str, Any]:
    """Return a decision or rejection as a record."""
    fields: dict[str, Any]
    if isinstance(decision, Rejection):
        fields = {
            "rejected": decision.kind,
            "reason": decision.reason,
            "said": decision.said,
        }
    else:
        fields = {
            "action": decision.action.name,
            "arguments": decision.action.arguments,
        }
        fields["fallback_for"] = decision.fallback_for
    fields["thought"] = decision.thought
    # Empty fields are left out, except those that tell a decision from a rejection.
    return {
        key: value
        for key, value in fields.items()
        if value or key in ("action", "rejected")
    }


def _read_decision(record: Json) -> Decision | Rejection:
    """Return the decision or rejection of a record."""
    # A copy, since fields are taken out.
    fields = dict(record)
    if "rejected" in fields:
        return Rejection(fields.pop("rejected"), **{"reason": "", **fields})
    # Actions without arguments are written without the field.
    action = Action(fields.pop("action"), tuple(fields.pop("arguments", ())))
    if fallback := fields.pop("fallback_for", None):
        fields["fallback_for"] = _read_decision(fallback)
    return Decision(action, **fields)


def _write_image(image: model.Image) -> dict[str, str]:
    """Return a picture as a record: the hash of its pixels if it can be drawn again,
    else its bytes.
    """
    if image.pixels:
        return {"media_type": image.media_type, "pixels": image.pixels}
    data = base64.b64encode(image.data).decode()
    return {"media_type": image.media_type, "data": data}


def _read_trajectory(record: Json) -> Trajectory:
    """Return the trajectory of a record. Raises ``KeyError`` if a required field is
    missing."""
    # These have defaults in the class, but every record has them.
    for required in ("steps", "state", "ended", "seconds"):
        record[required]  # raises KeyError
    trajectory: Trajectory = _read(Trajectory, record)
    return trajectory


_WRITERS: dict[Any, Callable[[Any], Any]] = {
    **dict.fromkeys(
        (Trajectory, Step, Feedback, Note, Verdict, ModelCall, model.Sampling),
        _write,
    ),
    **dict.fromkeys(
        (
            model.Message,
            model.Tool,
            model.ToolCall,
            model.Completion,
            model.Choice,
            model.Usage,
            Percept,
            Sector,
            Sighting,
        ),
        _write,
    ),
    **dict.fromkeys((Decision, Rejection), _write_decision),
    model.TokenLogprob: lambda token: [
        token.token,
        token.logprob,
        *([token.alternatives] if token.alternatives else []),
    ],
    model.Image: _write_image,
}
"""Writers of core types. Other dataclasses are written with the name of their type."""

_READERS: dict[Any, Callable[[Json], Any]] = {
    Trajectory: _read_trajectory,
    Decision | Rejection: _read_decision,
    model.TokenLogprob: lambda token: model.TokenLogprob(*restore(token)),
    model.Image: lambda image: model.Image(
        base64.b64decode(image.get("data", "")),
        image["media_type"],
        image.get("pixels", ""),
    ),
    model.Prompt: lambda prompt: (
        prompt
        if isinstance(prompt, str)
        else tuple(_read(model.Message, each) for each in prompt)
    ),
    model.Completion | model.Choice | None: lambda answer: _read(
        model.Choice if "options" in answer else model.Completion,
        answer,
    ),
}
"""Readers of types that are not constructed field by field."""

_ABSENT: dict[Any, dict[str, None]] = {
    ModelCall: {"answer": None},
    Verdict: {"succeeded": None},
}
"""Fields without a default that are omitted when None."""


def _read(cls: Any, record: dict[str, Json]) -> Any:
    """Construct a core dataclass from its record.

    Raises ``KeyError`` for a field that the class does not have, ``TypeError`` for one
    that is missing or of another type.
    """
    readers = _readers(cls)
    fields = {name: readers[name](value) for name, value in record.items()}
    return cls(**_ABSENT.get(cls, {}) | fields)


@cache
def _readers(cls: type) -> dict[str, Callable[[Json], Any]]:
    """Return a reader for each field of a core dataclass, by its type hints."""
    return {name: _reader(hint) for name, hint in get_type_hints(cls).items()}


def _reader(hint: Any) -> Callable[[Json], Any]:
    """Return the function that reads values of a type: its own of ``_READERS``, else by
    the type.
    """
    members = get_args(hint)
    # Types with a form of their own come first.
    if hint in _READERS:
        return _READERS[hint]
    # All items of a sequence are of one type.
    if (sequence := get_origin(hint)) in (list, tuple):
        return partial(_read_sequence, sequence, _reader(members[0]))
    if type(None) in members:  # X | None
        read = _reader(members[0])
        return lambda value: None if value is None else read(value)
    return partial(_read if dataclasses.is_dataclass(hint) else _read_value, hint)


def _read_sequence(
    sequence: type,
    read: Callable[[Json], Any],
    values: Json,
) -> Sequence[Any]:
    """Read a list. Raises ``TypeError`` for another value."""
    if not isinstance(values, list):
        raise TypeError(f"{values!r:.60} is not a list")
    read_all: Sequence[Any] = sequence(map(read, values))
    return read_all


def _read_value(hint: Any, value: Json) -> Any:
    """Return a restored value. Raises ``TypeError`` if it is of another type."""
    restored = restore(value)
    if not _fits(hint, restored):
        raise TypeError(f"{restored!r:.60} is of another type")
    return restored


_JSON_TYPES: dict[Any, tuple[type, ...]] = {
    str: (str,),
    int: (int, float),
    float: (int, float),
    bool: (bool,),
    Mapping: (dict,),
}
"""Types of the values of a field. Fields of other types, such as unions, may hold anything."""


def _fits(hint: Any, value: Any) -> bool:
    """True if a field of this type may hold the value."""
    kind = get_origin(hint) or hint
    members = get_args(hint)
    if kind is Literal:
        return isinstance(value, tuple(map(type, members)))
    if kind is Mapping and isinstance(value, dict):
        return all(_fits(members[1], inner) for inner in value.values())
    # By the exact type: a bool is an ``int`` to Python, and no number.
    return kind not in _JSON_TYPES or type(value) in _JSON_TYPES[kind]


# Files: append-only, one JSON object per line, compressed or plain, readable after any crash.
#
# In ``*.jsonl.gz`` each line is a separate gzip member (RFC 1952), so any gzip tool can read the
# file. The member's checksum protects the line. As in BGZF, the header contains the member's size,
# in the extra field ``Ww`` (the size, then its complement, as little-endian 32-bit integers), so a
# reader can distinguish a truncated line from a damaged one, and can find the next line after both.
#
# Each line is appended with a single write. A killed process leaves all earlier lines intact and at
# most part of the last one; a power cut may leave zeros. Readers skip both, and the next writer
# removes them. If the disk fills up during a write, the partial line is removed at once.

_MAGIC = b"\x1f\x8b\x08\x04" + bytes(5) + b"\xff\x0c\0Ww\x08\0"
"""Start of a gzip member: deflate, no time, no name, an extra field with one 8-byte subfield."""
_HEAD = struct.Struct("<16sII")
_FOOT = struct.Struct("<II")
FOOT_SIZE = _FOOT.size
"""Bytes at the end of a member: CRC-32 and length of its text."""
# 32 bits: a length is stored modulo 2**32, and checked by its complement
_MASK = 0xFFFFFFFF
_LEVEL = 6  # zlib level 1 would take half the time (0.5 ms less per 100 kB) but 1.7 times the space
# Bytes that a power cut may leave at the end: a record has far fewer.
_MOST_TORN = 64 << 20
_ZEROS = 16  # more trailing zeros than any gzip member has; a power cut leaves them
_MOST_BYTES = 64 << 20
_MOST_RATIO = 200
"""A line is at most 64 MiB long, or 200 times its compressed size: recorded prompts repeat
themselves up to 50 times, a decompression bomb 1,000 times."""
# Errors of file systems without locks, as Lustre's: https://github.com/tox-dev/filelock/issues/67
_NO_LOCKS = frozenset({errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP})
_SYNC_EVERY = 1.0  # seconds between two syncs of a growing file


@dataclass(frozen=True, slots=True)
class Member:
    """A line of a compressed file.

    ``number`` counts from 1; the member starts at byte ``at`` and has ``size`` bytes,
    the last of which are ``foot``: checksum and length, which identify the record.
    """

    number: int
    at: int
    size: int
    foot: bytes
    line: bytes


def member(line: bytes) -> bytes:
    """Return the gzip member of a line; a newline is added."""
    deflate = zlib.compressobj(_LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
    body = deflate.compress(line) + deflate.compress(b"\n") + deflate.flush()
    size = _HEAD.size + len(body) + _FOOT.size
    head = _HEAD.pack(_MAGIC, size, size ^ _MASK)
    checksum = zlib.crc32(b"\n", zlib.crc32(line))
    foot = _FOOT.pack(checksum, len(line) + 1 & _MASK)
    return head + body + foot


def line_in(raw: bytes) -> bytes:
    """Return the line in a gzip member, without its newline.

    Raises ``ValueError`` if it is damaged, or expands beyond what a record may have.
    """
    if not raw or _size(raw) != len(raw):
        raise ValueError("is damaged: it has no valid header")
    inflate = zlib.decompressobj(-zlib.MAX_WBITS)
    try:
        limit = max(_MOST_BYTES, _MOST_RATIO * len(raw))
        line = inflate.decompress(raw[_HEAD.size : -FOOT_SIZE], limit)
    except zlib.error:
        raise ValueError("is damaged: it cannot be decompressed") from None
    if len(line) == limit:
        raise ValueError(f"is damaged: it is longer than {limit:,} bytes")
    foot = _FOOT.pack(zlib.crc32(line), len(line) & _MASK)
    if not inflate.eof or foot != raw[-FOOT_SIZE:]:
        raise ValueError("is damaged: it does not match its checksum")
    return line.removesuffix(b"\n")


def _size(head: bytes) -> int:
    """Return the size in bytes of the member with this header; 0 if it is not a valid header."""
    if len(head) < _HEAD.size:
        return 0
    magic, size, complement = _HEAD.unpack_from(head)
    if magic != _MAGIC or size ^ complement != _MASK:
        return 0
    if size <= _HEAD.size + _FOOT.size:
        return 0  # without content
    return int(size)


def _line_at(file: BinaryIO, at: int, end: int) -> tuple[bytes, bytes]:
    """Return the gzip member at an offset, and its line. Raises ``ValueError`` if it is damaged.

    ``end`` is the length of the file when reading began.
    """
    file.seek(at)
    head = file.read(_HEAD.size)
    size = _size(head)
    raw = head + file.read(size - len(head)) if 0 < size <= end - at else b""
    return raw, line_in(raw)


def read_members(
    path: Path,
    at: int = 0,
    number: int = 0,
    gaps: list[str] | None = None,
) -> Iterator[Member]:
    """Iterate over the lines of a compressed file from byte ``at``; ``number`` lines precede it.

    A missing file has no lines, and a partial last line is no damage. Raises
    ``RecordingError`` for the first damaged record; if ``gaps`` is given, appends a
    description of each to it and continues with the next record.
    """
    try:
        with open_regular(path) as file:
            # The length at the start: a running process may append records.
            end = os.fstat(file.fileno()).st_size
            while at < end:
                number += 1
                try:
                    raw, line = _line_at(file, at, end)
                except ValueError as error:
                    if _torn(file, at, end):
                        return
                    if gaps is None and number == 1 and is_plain(path):
                        raise RecordingError(
                            f"{path}: was compressed again by another program; `wayword merge "
                            f"{path.parent} --out NEW` makes a run folder of it"
                        ) from None
                    if gaps is None:
                        problem = f"{error} (at byte {at:,})"
                        raise corrupt(path, number, problem) from None
                    begin = at
                    at = _next(file, at + 1, end)
                    span = f"bytes {begin:,} to {at:,}"
                    gaps.append(f"{path}: record {number} {error} ({span})")
                else:
                    yield Member(number, at, len(raw), raw[-FOOT_SIZE:], line)
                    at += len(raw)
    except FileNotFoundError:
        return
    except OSError as error:
        raise unusable(path, error) from error


def is_plain(path: Path) -> bool:
    """True for an ordinary gzip file, as ``zcat … | grep -v … | gzip`` writes it.

    Such a file lacks the headers that tell where each record starts. False for a
    missing file.
    """
    with suppress(OSError), open_regular(path) as file:
        head = file.read(4)
        end = os.fstat(file.fileno()).st_size
        is_gzip = head[:3] == _MAGIC[:3]
        # The fourth byte has the flag of the extra field.
        has_own_header = head == _MAGIC[:4]
        return is_gzip and not has_own_header and _next(file, 0, end) == end
    return False


def read_plain(path: Path, gaps: list[str]) -> Iterator[Member]:
    """Iterate over the lines of an ordinary gzip file, each encoded as a member of its own.

    A damaged rest is described in ``gaps`` and ends the iteration. ``at`` is 0 for all.
    """
    number = 0
    try:
        with gzip.open(path, "rb") as file:
            while line := file.readline(_MOST_BYTES):
                number += 1
                raw = member(line.rstrip(b"\r\n"))
                yield Member(number, 0, len(raw), raw[-FOOT_SIZE:], line.strip())
    except (OSError, EOFError, zlib.error) as error:
        gaps.append(f"{path}: is damaged after record {number}: {error}")


def read_member(path: Path, number: int, at: int) -> dict[str, Json]:
    """Return the JSON object of the record at a byte offset.

    ``number`` is that of the record, for the error. Raises ``RecordingError`` if it is
    damaged.
    """
    for record in read_members(path, at, number - 1):
        return parsed(path, number, record.line)
    raise corrupt(path, number, f"is damaged: it is truncated (at byte {at:,})")


def _torn(file: BinaryIO, at: int, end: int) -> bool:
    """True if the rest of the file is what a killed writer or a power cut leaves.

    That is a header that promises more bytes than there are, part of a header, or zeros
    at the end with no intact record behind ``at``. Damage in the middle of a file is
    none of these.
    """
    file.seek(at)
    head = file.read(_HEAD.size)
    if _size(head) > end - at:
        return True
    # At most part of a header, then a few zeros
    is_short = end - at < _HEAD.size + _ZEROS
    written = head[: len(_MAGIC)].rstrip(b"\0")
    if is_short and not _size(head) and _MAGIC.startswith(written):
        return True
    if end - at > _MOST_TORN:
        return False
    file.seek(max(at, end - _ZEROS))
    return not file.read().strip(b"\0") and _next(file, at + 1, end) == end


def _next(file: BinaryIO, at: int, end: int) -> int:
    """Return the offset of the first intact member at or after ``at``; ``end`` if there is none."""
    while at < end:
        file.seek(at)
        chunk = file.read(1 << 20)
        begin = chunk.find(_MAGIC)
        # Zeros only: likely a hole, which may be far larger than all data.
        if begin < 0 and not chunk.strip(b"\0"):
            at = _data_after(file, at + len(chunk), end)
            continue
        if begin < 0:
            # Chunks overlap: the magic may lie across the border of two.
            at += max(1, len(chunk) - len(_MAGIC) + 1)
            continue
        at += begin
        # The magic may occur in compressed data: only a readable member counts.
        with suppress(ValueError):
            _line_at(file, at, end)
            return at
        at += 1
    return end


def _data_after(file: BinaryIO, at: int, end: int) -> int:
    """Return the offset of the first data at or after ``at``.

    Skips the holes of a sparse file, which may claim any size.
    """
    try:
        return max(at, os.lseek(file.fileno(), at, os.SEEK_DATA))
    except AttributeError:  # not on this system
        return at
    except OSError:  # no data is left
        return end


def parsed(path: Path, number: int, line: bytes) -> dict[str, Json]:
    """Return the JSON object of a line.

    Raises ``RecordingError``, which names the file and the record.
    """
    try:
        value = parse_untrusted(line)
    except ValueError as error:
        raise corrupt(path, number, f"is not JSON ({error})") from error
    if not isinstance(value, dict):
        raise corrupt(path, number, "is not a JSON object")
    return value


# Bytes of a line: the longest ones have the prices of all models.
_LONGEST_LINE = 1 << 20


def read_lines(path: Path) -> Iterator[tuple[int, dict[str, Json]]]:
    """Iterate over the line numbers (from 1) and JSON objects of a plain file.

    A partial last line is left out: a process may be writing it. Raises
    ``RecordingError``, which names the file and the line.
    """
    try:
        with open_regular(path) as file:
            lines = iter(partial(file.readline, _LONGEST_LINE), b"")
            for number, line in enumerate(lines, 1):
                if line.endswith(b"\n"):
                    yield number, parsed(path, number, line)
                elif len(line) == _LONGEST_LINE:
                    problem = f"is longer than {_LONGEST_LINE:,} bytes"
                    raise corrupt(path, number, problem)
    except FileNotFoundError:
        return
    except OSError as error:
        raise unusable(path, error) from error


class Appender:
    """A file that only grows, by single writes.

    Appended data survives a crash of the process at once, and a power cut after the
    next sync: at ``close``, and at the first write a second or more after the last one.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = open_regular(path, "ab", buffering=0)
        self.length = os.fstat(self._file.fileno()).st_size
        """Size of the file in bytes."""
        self._synced = time.monotonic()
        self._dirty = False

    def cut(self, end: int) -> int:
        """Truncate at byte ``end``, and return the number of bytes dropped."""
        dropped = self.length - end
        if dropped:
            self._file.truncate(end)
            self.length = end
            self._dirty = True
        return dropped

    def lock(self) -> bool:
        """Acquire the system's advisory lock until the file is closed or the process ends.

        Returns False if another process holds it, True also on systems without such
        locks.
        """
        for name in ("fcntl", "msvcrt"):
            with suppress(ImportError):
                library: Any = import_module(name)
                try:
                    if name == "fcntl":
                        library.flock(self._file, library.LOCK_EX | library.LOCK_NB)
                    else:
                        # Windows denies reading of locked bytes, so the lock is far behind the end
                        # of any file.
                        self._file.seek(1 << 40)
                        library.locking(self._file.fileno(), library.LK_NBLCK, 1)
                except OSError as error:
                    return error.errno in _NO_LOCKS
                return True
        return True

    def append(self, raw: bytes) -> None:
        """Write all bytes, or raise ``RecordingError`` and leave the file unchanged."""
        try:
            count = 0
            # A short write means a full disk: the next one raises
            while count < len(raw):
                count += self._file.write(raw[count:] if count else raw) or 0
        except OSError as error:
            # Else the partial line is dropped at the next start
            with suppress(OSError):
                self._file.truncate(self.length)
            remedy = remedy_of(error, "free some space")
            line = f"{self._path}: {reason_of(error)}"
            raise RecordingError(
                f"{line}; finished episodes are safe; {remedy} and run the same command again"
            ) from error
        self.length += len(raw)
        self._dirty = True
        # Each sync waits for the disk, so it is not done for every record.
        if time.monotonic() - self._synced >= _SYNC_EVERY:
            self._sync()

    def _sync(self) -> None:
        """Write everything to disk. Raises ``RecordingError`` if the disk refuses."""
        try:
            os.fsync(self._file.fileno())
        except OSError as error:
            raise unusable(
                self._path,
                error,
                "the latest episodes may not be on disk",
            ) from error
        # Writing to a deleted file succeeds, and everything is lost.
        if os.fstat(self._file.fileno()).st_nlink == 0:
            raise RecordingError(
                f"{self._path}: the file was deleted while the run was writing"
            )
        self._synced = time.monotonic()
        self._dirty = False

    def close(self) -> None:
        """Sync and close the file. Raises ``RecordingError`` if that fails."""
        try:
            if self._dirty:
                self._sync()
        finally:
            self._file.close()


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file completely or not at all: to a temporary file that is synced, then renamed.

    Raises ``OSError`` if that fails; an old file is then unchanged.
    """
    new = path.with_name(f".{path.name}.new")
    with new.open("wb") as file:
        file.write(content)
        # The content must be on disk before the name points to it.
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)
    with suppress(OSError):  # not every system can open folders
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def trajectory_in(path: Path, number: int, record: JsonObject) -> Trajectory:
    """Return the trajectory of a record. Raises ``RecordingError``, which names the record."""
    try:
        return from_json(record["trajectory"])
    except RecordingError as error:
        raise corrupt(path, number, f"field 'trajectory' {error}") from error


def corrupt(path: Path, number: int, problem: str) -> RecordingError:
    """Return the error for a damaged record, with the command that repairs the folder."""
    # A line of text can be deleted by hand, a compressed record cannot.
    if path.suffix != ".gz":
        return RecordingError(f"{path}: line {number}: {problem}; delete that line")
    remedy = (
        f"`wayword merge {path.parent} --out NEW` copies the intact records, and then the same run "
        "command with --out NEW plays the missing episodes"
    )
    return RecordingError(f"{path}: record {number}: {problem}; {remedy}")


def unusable(path: Path, error: OSError, remedy: str = "") -> RecordingError:
    """Return the error for a failed operation on a file.

    It ends with the system's own remedy, such as for a full disk, or else with
    ``remedy``.
    """
    line = f"{path}: {reason_of(error)}"
    remedy = remedy_of(error, remedy)
    return RecordingError(f"{line}; {remedy}" if remedy else line)
