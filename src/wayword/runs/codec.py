"""Trajectories as JSON.

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
import json
import math
import os
from collections.abc import Callable, Mapping, Sequence, Set
from enum import Enum
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import numpy as np

from wayword.core import model
from wayword.core.action import Action, Decision, Rejection
from wayword.core.episode import Json, JsonObject
from wayword.core.errors import RecordingError
from wayword.core.perceiver import Percept, Sector, Sighting
from wayword.core.secrets import redacted
from wayword.core.trajectory import ModelCall, Note, Step, Trajectory, Verdict
from wayword.core.world import Feedback
from wayword.runs import json_lines

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


def trajectory_in(path: Path, number: int, record: JsonObject) -> Trajectory:
    """Return the trajectory of a record. Raises ``RecordingError``, which names the record."""
    try:
        return from_json(record["trajectory"])
    except RecordingError as error:
        raise json_lines.corrupt(path, number, f"field 'trajectory' {error}") from error


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


def _read_message(record: dict[str, Json]) -> model.Message:
    """Return the message of a record."""
    role = record.get("role")
    content = record.get("content")
    if len(record) == 2 and type(role) is str and type(content) is str:
        return _plain_message(role, content)
    message: model.Message = _read(model.Message, record)
    return message


@lru_cache(maxsize=2048)
def _plain_message(role: model.Role, content: str) -> model.Message:
    """Return a message of text alone, the same object for the same text: each prompt of a chat
    repeats the messages of the last one."""
    return model.Message(role, content)


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
        prompt if isinstance(prompt, str) else tuple(map(_read_message, prompt))
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
