"""A trajectory as JSON and back: everything that happened in an episode.

    >>> from wayword.core.trajectory import Trajectory
    >>> walk = Trajectory("5593_0", start={"agent": {"viewpoint": "a", "heading": 0.0}})
    >>> from_json(to_json(walk)) == walk
    True

Prompts and percepts are written whole: a compressed line makes repetition cheap. An episode of
several trials is written as its last one, with those before it whole in ``earlier``. Observations
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
from typing import Any, BinaryIO, TypeVar

import numpy as np

from wayword.core.action import Action, Decision, Rejection
from wayword.core.episode import Json
from wayword.core.errors import RecordingError
from wayword.core.model import Choice, Completion, Image, Message, Sampling, TokenLogprob, Usage
from wayword.core.perceiver import Percept, Sector, Sighting
from wayword.core.secrets import redacted
from wayword.core.trajectory import ModelCall, Note, Step, Trajectory, Verdict
from wayword.core.world import Feedback

T = TypeVar("T")

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
    if form := _FORMS.get(type(value)):
        return form(value)
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
def _fields(kind: type) -> tuple[tuple[str, str], ...] | None:
    """A dataclass's fields as (key, name), None for others; the field ``type`` gets ``type_``."""
    if not dataclasses.is_dataclass(kind):
        return None
    names = [field.name for field in dataclasses.fields(kind)]
    return tuple(("type_" if name == "type" else name, name) for name in names)


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
    """As ``_simpler``, for the encoder, which fails on what it cannot write by itself."""
    if isinstance(value, bytes | bytearray | Mapping):
        raise TypeError
    return _simpler(value)


_QUICK, _EXACT = (
    json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=default)
    for default in (_default, None)
)


def dump(value: Any) -> bytes:
    """One line of JSON in UTF-8, without its newline and without any secret that is registered.

    Half a surrogate pair, which UTF-8 cannot hold, is written as a JSON escape. Raises
    ``RecordingError`` for a type that has no JSON form.
    """
    try:
        text = _QUICK.encode(value)  # runs in C, and cannot write the marks
        marked = '"$' in text
    except (ValueError, TypeError):
        marked = True
    if marked:
        text = _EXACT.encode(plain(value))
    return redacted(text).encode(errors="backslashreplace")


# Trajectories, written: the fields of each type of the core, without those that are empty.


def to_json(trajectory: Trajectory) -> dict[str, Json]:
    """The trajectory as JSON values. Empty fields are omitted.

    Raises ``RecordingError`` where it holds a value that has no JSON form.
    """
    written: dict[str, Json] = plain(trajectory)
    return written


def _trajectory(told: Trajectory) -> dict[str, Any]:
    return {
        "episode_id": told.episode_id,
        "ended": told.ended,
        **_set(error=told.error),
        "seconds": told.seconds,
        **_set(earlier=told.earlier),
        "start": told.start,
        **_set(opening_calls=told.opening_calls, opening_notes=told.opening_notes),
        "steps": told.steps,
        "state": told.state,
        **_set(closing_calls=told.closing_calls, closing_notes=told.closing_notes),
        **_set(verdict=told.verdict),
    }


def _step(step: Step) -> dict[str, Any]:
    return {
        "actor": step.actor,
        "observation": step.observation,
        "decision": step.decision,
        "feedback": {"status": step.feedback.status, **_set(details=step.feedback.details)},
        "pose": step.pose,
        "seconds": step.seconds,
        **_set(calls=step.calls, notes=step.notes, percept=step.percept),
    }


def _decision(decision: Decision) -> dict[str, Any]:
    action, thought = decision.action, decision.thought
    fallback = decision.fallback_for
    more = _set(arguments=action.arguments, thought=thought, fallback_for=fallback)
    return {"action": action.name, **more}


def _rejection(refused: Rejection) -> dict[str, Any]:
    more = _set(reason=refused.reason, said=refused.said, thought=refused.thought)
    return {"rejected": refused.kind, **more}


def _call(call: ModelCall) -> dict[str, Any]:
    more = _set(answer=call.answer, sampling=call.sampling, error=call.error)
    return {"role": call.role, "prompt": call.prompt, **more}


def _answer(answer: Completion | Choice) -> dict[str, Any]:
    written = _by_field(answer, but=("usage", "logprobs"))
    written["usage"] = answer.usage
    if answer.logprobs or isinstance(answer, Choice):
        written["logprobs"] = answer.logprobs
    return written


def _token(one: TokenLogprob) -> list[Any]:
    return [one.token, one.logprob, *([one.alternatives] if one.alternatives else [])]


def _image(image: Image) -> dict[str, Any]:
    return {"media_type": image.media_type, "data": base64.b64encode(image.data).decode()}


def _by_field(value: Any, but: tuple[str, ...] = ()) -> dict[str, Any]:
    """A dataclass of the core by its fields, without those that are None, False or () by default.

    Numbers are always written, so that a default that changes one day changes no old record.
    """
    written = {}
    for name, default in _defaults(type(value)):  # type: ignore[arg-type]
        held = getattr(value, name)
        absent = held is None or held is False or held == ()
        if name not in but and not (absent and held == default):
            written[name] = held
    return written


@cache
def _defaults(kind: type) -> tuple[tuple[str, Any], ...]:
    return tuple((field.name, field.default) for field in dataclasses.fields(kind))


def _set(**values: Any) -> dict[str, Any]:
    """The values that are not empty."""
    return {key: value for key, value in values.items() if value}


_FORMS: dict[Any, Callable[[Any], Any]] = {
    Trajectory: _trajectory,
    Step: _step,
    Decision: _decision,
    Rejection: _rejection,
    Note: lambda note: {"kind": note.kind, "details": note.details},
    ModelCall: _call,
    Message: lambda each: {"role": each.role, "content": each.content, **_set(images=each.images)},
    Image: _image,
    Completion: _answer,
    Choice: _answer,
    # most models write no reasoning
    Usage: lambda usage: _by_field(usage, () if usage.reasoning else ("reasoning",)),
    TokenLogprob: _token,
    Percept: lambda percept: {"summary": percept.summary, "sectors": percept.sectors},
    Sector: lambda part: {**_by_field(part, ("sightings",)), "sightings": part.sightings},
    **dict.fromkeys((Sampling, Sighting, Verdict), _by_field),
}
"""How each type of the core is written; others are written as any dataclass, with their type."""


# Trajectories, read.


def from_json(written: dict[str, Json]) -> Trajectory:
    """The trajectory that ``to_json`` wrote. Raises ``RecordingError`` where it is none."""
    try:
        return _read_trajectory(written)
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise RecordingError(f"is no trajectory ({type(error).__name__}: {error})") from error


def _read_trajectory(written: Json) -> Trajectory:
    for required in ("steps", "state", "ended", "seconds"):
        written[required]  # raises KeyError
    return _read(
        Trajectory,
        written,
        earlier=_each(_read_trajectory),
        start=restore,
        state=restore,
        steps=_each(_read_step),
        verdict=lambda verdict: _read(Verdict, {"succeeded": None, **verdict}),
        **dict.fromkeys(("opening_calls", "closing_calls"), _each(_read_call)),
        **dict.fromkeys(("opening_notes", "closing_notes"), _each(_read_note)),
    )


def _read_step(written: Json) -> Step:
    return _read(
        Step,
        written,
        observation=restore,
        decision=_read_decision,
        feedback=lambda told: Feedback(told["status"], restore(told.get("details", {}))),
        pose=restore,
        calls=_each(_read_call),
        notes=_each(_read_note),
        percept=lambda told: _read(Percept, told, sectors=lambda each: (*map(_read_sector, each),)),
    )


def _read_sector(written: Json) -> Sector:
    return _read(Sector, written, sightings=lambda each: (*(_read(Sighting, s) for s in each),))


def _read_decision(written: Json) -> Decision | Rejection:
    values = dict(written)
    if "rejected" in values:
        return Rejection(values.pop("rejected"), **{"reason": "", **values})
    action = Action(values.pop("action"), tuple(values.pop("arguments", ())))
    return _read(Decision, {**values, "action": action}, fallback_for=_read_decision)


def _read_note(written: Json) -> Note:
    return Note(written["kind"], restore(written["details"]))


def _read_call(written: Json) -> ModelCall:
    values = {"answer": None, "sampling": None, **written}
    return _read(
        ModelCall,
        values,
        prompt=lambda told: told if isinstance(told, str) else (*map(_read_message, told),),
        answer=lambda told: None if told is None else _read_answer(told),
        sampling=lambda told: None if told is None else _read(Sampling, told),
    )


def _read_message(written: Json) -> Message:
    images = (
        Image(base64.b64decode(i["data"]), i["media_type"]) for i in written.get("images", ())
    )
    return Message(written["role"], written["content"], tuple(images))


def _read_answer(written: Json) -> Completion | Choice:
    def usage(told: Json) -> Usage:
        return _read(Usage, told)

    if "options" in written:
        return _read(Choice, written, usage=usage)
    return _read(
        Completion,
        written,
        usage=usage,
        logprobs=lambda each: (*(TokenLogprob(*restore(t)) for t in each),),
    )


def _read(kind: type[T], written: Json, **readers: Callable[[Json], Any]) -> T:
    """A dataclass of its fields, each by its reader; without one its sequences are tuples."""
    return kind(**{name: readers.get(name, _value)(held) for name, held in written.items()})


def _value(written: Json) -> Any:
    restored = restore(written)
    return tuple(restored) if isinstance(restored, list) else restored


def _each(reader: Callable[[Json], T]) -> Callable[[Json], list[T]]:
    return lambda written: [reader(each) for each in written]


# Files: append-only, a JSON object a line, compressed or plain, whole after any crash.
#
# ``*.jsonl.gz`` holds a gzip member a line (RFC 1952), so any tool that reads gzip reads the file.
# The member's checksum guards the line, and its header holds the member's size, in the extra field
# ``Ww`` (the size, then its complement, as little-endian 32-bit numbers), as BGZF does: so a line
# that was cut short is told from one that was damaged, and the next line is found either way.
#
# A line reaches the file in one write to a file opened for appending. A process that is killed
# leaves every earlier line whole and at worst part of the last one; a power cut may leave zeros.
# Readers skip both, and the next writer cuts them off. A disk that fills up in the middle of a line
# is rolled back at once.

_MAGIC = b"\x1f\x8b\x08\x04" + bytes(5) + b"\xff\x0c\0Ww\x08\0"
"""Deflate, with an extra field; no time and no name; one subfield of eight bytes."""
_HEAD, _FOOT = struct.Struct("<16sII"), struct.Struct("<II")
_ALL = 0xFFFFFFFF
_LEVEL = 6
"""Of zlib. Level 1 takes half of the time (0.5 ms less for 100 kB) and 1.7 times the space."""
_ZEROS = 16
"""Zeros at a file's end that no gzip member ends in, but a power cut leaves."""
_SYNC_EVERY = 1.0
"""Seconds between two syncs of a file that grows."""


@dataclass(frozen=True, slots=True)
class Member:
    """A line of a compressed file: its number from 1, the bytes that it takes up, its text.

    ``foot`` is the last of these bytes: the checksum and length of the text.
    """

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


def foot_of(raw: bytes) -> bytes:
    """The last bytes of a member."""
    return raw[-_FOOT.size :]


def line_in(raw: bytes) -> bytes:
    """The line of a whole member, without its newline. Raises ``ValueError`` if it is damaged."""
    if not raw or _size(raw) != len(raw):
        raise ValueError("is damaged: its header is not one of a record")
    inflate = zlib.decompressobj(-zlib.MAX_WBITS)
    try:
        line = inflate.decompress(raw[_HEAD.size : -_FOOT.size])
    except zlib.error:
        raise ValueError("is damaged: it cannot be decompressed") from None
    if not inflate.eof or _FOOT.pack(zlib.crc32(line), len(line) & _ALL) != foot_of(raw):
        raise ValueError("is damaged: it does not match its checksum")
    return line.removesuffix(b"\n")


def _size(head: bytes) -> int:
    """Bytes of the member that begins with ``head``; 0 where that is no header."""
    if len(head) < _HEAD.size:
        return 0
    magic, size, complement = _HEAD.unpack_from(head)
    genuine = magic == _MAGIC and size ^ complement == _ALL and size > _HEAD.size + _FOOT.size
    return int(size) if genuine else 0


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
                file.seek(at)
                size = _size(file.read(_HEAD.size))
                try:
                    file.seek(at)
                    raw = file.read(size) if size <= end - at else b""
                    line = line_in(raw)
                except ValueError as error:
                    if _torn(file, at, end):
                        return
                    if gaps is None:
                        raise corrupt(path, number, f"{error} (from byte {at:,} on)") from None
                    begin, at = at, _next(file, at + 1, end)
                    gaps.append(f"{path}: record {number} {error} (bytes {begin:,} to {at:,})")
                else:
                    yield Member(number, at, size, foot_of(raw), line)
                    at += size
    except FileNotFoundError:
        return
    except OSError as error:
        raise unusable(path, error) from error


def read_member(path: Path, number: int, at: int, size: int) -> bytes:
    """The line whose member takes up ``size`` bytes from byte ``at`` on.

    Raises ``RecordingError`` where it is damaged.
    """
    try:
        with path.open("rb") as file:
            file.seek(at)
            return line_in(file.read(size))
    except ValueError as error:
        raise corrupt(path, number, f"{error} (from byte {at:,} on)") from None
    except OSError as error:
        raise unusable(path, error) from error


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
        found = (chunk := file.read(1 << 20)).find(_MAGIC)
        if found < 0:
            at += max(1, len(chunk) - len(_MAGIC) + 1)
            continue
        at += found
        file.seek(at)
        size = _size(file.read(_HEAD.size))
        with suppress(ValueError):
            file.seek(at)
            line_in(file.read(size) if size <= end - at else b"")
            return at
        at += 1
    return end


def parsed(path: Path, number: int, line: bytes) -> dict[str, Json]:
    """The line's object. Raises ``RecordingError`` naming file and record where it is none."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise corrupt(path, number, f"is not JSON ({error})") from error
    if not isinstance(found, dict):
        raise corrupt(path, number, "is not a JSON object")
    return found


# Plain files, of small lines.


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


def lines_end(path: Path) -> int:
    """Bytes of the whole lines of a plain file, those of part of a line at its end left out."""
    with suppress(FileNotFoundError):
        return path.read_bytes().rfind(b"\n") + 1
    return 0


# Writing.


class Appender:
    """Appends to a file, in one write each.

    What is appended survives the end of the process at once. It survives a power cut once synced:
    with the first write a second or more after the last sync, and at ``close``.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = path.open("ab", buffering=0)
        self._length = os.fstat(self._file.fileno()).st_size
        self._synced, self._dirty = time.monotonic(), False

    @property
    def length(self) -> int:
        """Bytes of the file."""
        return self._length

    def cut(self, end: int) -> int:
        """Drop what stands behind byte ``end``; returns how many bytes that were."""
        dropped = self._length - end
        if dropped:
            self._file.truncate(end)
            self._length, self._dirty = end, True
        return dropped

    def lock(self) -> bool:
        """Take the system's advisory lock; False where another process holds it."""
        return _locked(self._file)

    def append(self, raw: bytes) -> None:
        """Write it whole, or raise ``RecordingError`` and leave the file as it was."""
        try:
            written = 0
            while written < len(raw):  # a short write means a full disk: the next one says so
                written += self._file.write(raw[written:] if written else raw) or 0
        except OSError as error:
            with suppress(OSError):  # part of a line that stays is dropped at the next start
                self._file.truncate(self._length)
            remedy = "finished episodes are safe; make room and run the same command again"
            raise unusable(self._path, error, remedy) from error
        self._length += len(raw)
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


def _locked(file: Any) -> bool:
    """Take the lock of an open file, released when the file is closed or the process ends; True
    also on systems without such locks."""
    for name in ("fcntl", "msvcrt"):
        with suppress(ImportError):
            library = import_module(name)
            try:
                if name == "fcntl":
                    library.flock(file, library.LOCK_EX | library.LOCK_NB)
                else:
                    file.seek(1 << 40)  # on Windows what is locked cannot be read: far behind all
                    library.locking(file.fileno(), library.LK_NBLCK, 1)
            except OSError:
                return False
            return True
    return True


def whole(path: Path, content: bytes) -> None:
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


# Errors.


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
