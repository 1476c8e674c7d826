"""Any value an observation, a place or a setting may hold, as JSON and back.

What JSON has is written as it is. The rest:

    ===============================  ==========================================================
    tuple, array, set, sequence      a list (sets sorted)
    dataclass                        ``{"type": "IndoorObservation", "heading": 90.0, ...}``
    enum, numpy scalar, path         its plain value
    nan, infinity                    ``{"$float": "nan"}``, ``"inf"``, ``"-inf"``
    bytes                            ``{"$bytes": "<base64>"}``
    mapping with other keys than     ``{"$map": [[key, value], ...]}``
    strings
    ===============================  ==========================================================

A string key that begins with ``$`` is written with a second ``$``, so no text can pass for one of
these marks. JSON itself knows no nan (RFC 8259, section 6), and neither does ``jq``.
"""

from __future__ import annotations

import base64
import dataclasses
import json
import math
import os
from collections.abc import Callable, Mapping, Sequence, Set
from enum import Enum
from functools import cache
from typing import Any

import numpy as np

from wayword.core.episode import Json
from wayword.core.errors import RecordingError

_PLAIN = frozenset({str, int, bool, type(None)})
_COMPACT = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
_ESCAPED = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":"))


def plain(value: Any) -> Json:
    """The value made of dict, list, str, int, finite float, bool and None.

    Raises ``RecordingError`` for a type that has no such form.
    """
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is float:
        return value if math.isfinite(value) else {"$float": repr(value)}
    if kind is dict:
        return _mapping(value)
    if kind is list or kind is tuple:
        return [plain(item) for item in value]
    names = _fields(kind)  # type: ignore[arg-type]  # mypy doubts that classes are hashable
    if names is not None:
        written = {"type": kind.__name__}
        for key, name in names:
            written[key] = plain(getattr(value, name))
        return written
    return _rare(value)


def restore(value: Json) -> Any:
    """What ``plain`` wrote: lists stay lists and dataclasses stay mappings.

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


def dump(value: Json) -> bytes:
    """One line of JSON in UTF-8, without its newline.

    Text with half a surrogate pair, which UTF-8 cannot hold, is written in ASCII escapes.
    """
    try:
        return _COMPACT.encode(value).encode()
    except UnicodeEncodeError:
        return _ESCAPED.encode(value).encode()


@cache
def _fields(kind: type) -> tuple[tuple[str, str], ...] | None:
    """A dataclass's fields as (key, name), None for others; the field ``type`` gets ``type_``."""
    if not dataclasses.is_dataclass(kind):
        return None
    names = [field.name for field in dataclasses.fields(kind)]
    return tuple(("type_" if name == "type" else name, name) for name in names)


def _mapping(value: Mapping[Any, Any]) -> Json:
    if all(type(key) is str for key in value):
        return {("$" + k if k[:1] == "$" else k): plain(v) for k, v in value.items()}
    keys = [plain(key) for key in value]
    if all(type(key) is str for key in keys):  # names of an enum, numpy's strings
        return _mapping(dict(zip(keys, value.values(), strict=True)))
    return {"$map": [[k, plain(v)] for k, v in zip(keys, value.values(), strict=True)]}


def _rare(value: Any) -> Json:
    """Numpy's types, enums, subclasses of the plain types, and other people's containers."""
    if isinstance(value, Enum):
        return plain(value.value)
    for base in (bool, int, float, str):
        if isinstance(value, base) and type(value) is not base:
            return plain(base.__str__(value) if base is str else base(value))
    if isinstance(value, np.generic | np.ndarray):
        return _numbers(value)
    if isinstance(value, bytes | bytearray):
        return {"$bytes": base64.b64encode(value).decode()}
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    return _container(value)


def _numbers(value: np.generic | np.ndarray[Any, Any]) -> Json:
    listed = value.tolist()
    if type(listed) is type(value):  # numpy's own odd kinds (long double) have no plain twin
        raise RecordingError(f"a value of type {type(value).__name__!r} cannot be recorded")
    if value.dtype.kind in "biu" or (value.dtype.kind == "f" and bool(np.isfinite(value).all())):
        return listed
    return plain(listed)


def _container(value: Any) -> Json:
    if isinstance(value, Mapping):
        return _mapping(value)
    if isinstance(value, Set):
        return sorted((plain(item) for item in value), key=dump)
    if isinstance(value, Sequence):
        return [plain(item) for item in value]
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    remedy = "make it of JSON values, dataclasses, enums or numpy arrays"
    raise RecordingError(f"a value of type {kind!r} cannot be recorded; {remedy}")


def _pairs(pairs: Json) -> dict[Any, Any]:
    return {_key(key): restore(value) for key, value in pairs}


def _key(key: Json) -> Any:
    """A key as it was; a tuple became a list, which cannot be a key."""
    restored = restore(key)
    return tuple(_key(item) for item in key) if isinstance(restored, list) else restored


_MARKS: dict[str, Callable[[Json], Any]] = {
    "$float": float,
    "$bytes": base64.b64decode,
    "$map": _pairs,
}
