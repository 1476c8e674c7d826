"""Check JSON from another program: a table of fields, and one line for the first that is wrong.

    >>> shapes = {"identity": {}, "identity.models.*": "", "seed": 0}
    >>> check_shape(Path("run.json"), {"identity": {"models": {"main": 5}}}, shapes)
    Traceback (most recent call last):
    wayword.core.errors.RecordingError: run.json: field 'identity.models.main' must be text, got 5

A table maps dotted names to an example of their type; ``*`` is any key or number. Fields that are
not in the table may have any type. None stands for a missing value.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from copy import copy
from pathlib import Path
from typing import Any

from wayword.core.episode import Json, JsonObject
from wayword.core.errors import RecordingError

Shapes = JsonObject
_TYPES: Mapping[type, tuple[str, tuple[type, ...]]] = {
    str: ("text", (str,)),
    bool: ("true or false", (bool,)),
    int: ("a whole number", (int,)),
    float: ("a number", (int, float)),
    list: ("a list", (list,)),
    dict: ("a mapping", (dict,)),
}
"""Type of an example -> its description in errors, and the types that a value may have."""
_LONGEST_TEXT = 5_000
"""Characters of a text: tables and figures show labels, and would take minutes for longer ones."""
_MOST_DIGITS = 19
"""Digits of a whole number, with its sign: more do not fit an array or a database column."""
_SMALLEST = -(10 ** (_MOST_DIGITS - 1))
_LARGEST = 10**_MOST_DIGITS
_DEEPEST = 100
"""Most values inside one another: files of runs have about a dozen."""


def parse_untrusted(text: bytes | str) -> Json:
    """Parse JSON from another program. Raises ``ValueError``, also for more than 100 values
    inside one another, and for whole numbers of more than 19 characters: arithmetic with floats
    would fail on those of more than 308 digits."""
    from pydantic_core import from_json

    if isinstance(text, bytes):
        # As json.loads does.
        text = text.decode(json.detect_encoding(text), "surrogatepass")
    # What the fast parser refuses is left to the usual one, which takes half of a surrogate pair,
    # and says what is wrong as json.loads does. TypeError: half a pair has no bytes.
    with suppress(ValueError, TypeError):
        value = from_json(text)
        if _is_ordinary(value):
            return value
    try:
        value = _DECODER.decode(text)
    # Thousands of brackets are a few kilobytes; the program must not fail on them.
    except RecursionError:
        raise ValueError("is nested too deeply") from None
    if not _is_ordinary(value):
        raise ValueError("is nested too deeply")
    return value


def _is_ordinary(value: Json) -> bool:
    """True if at most 100 values are inside one another and no integer is too long: some parsers
    accept more than functions that call themselves can follow."""
    inside = [value]
    depth = 0
    while inside and depth < _DEEPEST:
        outside = inside
        inside = []
        for each in outside:
            # The type itself, as this loop takes as long as the parser; JSON has no subclasses.
            kind = type(each)
            if kind is dict:
                inside += each.values()
            elif kind is list:
                inside += each
            elif kind is int and not _SMALLEST < each < _LARGEST:
                return False
        depth += 1
    return not inside


def _parse_integer(digits: str) -> int:
    """Return a whole number. Raises ``ValueError`` for one that takes long to parse."""
    if len(digits) > _MOST_DIGITS:
        raise ValueError(f"a whole number of {len(digits)} digits")
    return int(digits)


# One for all: json.loads would make a decoder for each line of a log.
_DECODER = json.JSONDecoder(parse_int=_parse_integer)


def check_shape(path: Path, content: Json, shapes: Shapes) -> None:
    """Raise ``RecordingError`` for the first field of another type."""
    for field, rule, value in _fields(content, shapes):
        if rule not in shapes:
            continue
        # A field may be missing as null; an item of a list or mapping is there.
        if value is None and not rule.endswith("*"):
            continue
        name, types = _TYPES[type(shapes[rule])]
        if type(value) not in types:
            raise RecordingError(
                f"{path}: field {field!r} must be {name}, got {value!r:.60}"
            )
        if isinstance(value, str) and len(value) > _LONGEST_TEXT:
            problem = f"is longer than {_LONGEST_TEXT:,} characters"
            raise RecordingError(f"{path}: field {field!r} {problem}")


def with_defaults(content: JsonObject, shapes: Shapes, within: str = "") -> Any:
    """A copy of a mapping, at ``within`` in its table, with the table's examples for fields that
    are missing or None. Numbers have no default."""
    # A copy: the content that was read stays as it was.
    complete = dict(content)
    for field, example in shapes.items():
        name = field.removeprefix(within)
        # Fields of mappings inside are completed by calls of their own.
        is_inside = field.startswith(within) and "." not in name and name != "*"
        is_number = type(example) in (int, float)
        if is_inside and not is_number and complete.get(name) is None:
            complete[name] = copy(example)
    return complete


def _fields(
    value: Json, shapes: Shapes, field: str = "", rule: str = ""
) -> Iterator[tuple[str, str, Json]]:
    """Yield everything inside a value, outside first: its dotted name, its name in the table
    (``identity.models.*`` for the field ``identity.models.main``), and its value."""
    # The whole content has no name.
    if field:
        yield field, rule, value
    if isinstance(value, dict):
        items = [(str(key), inner) for key, inner in value.items()]
    elif isinstance(value, list):
        items = [(str(number), inner) for number, inner in enumerate(value)]
    else:
        return
    for key, inner in items:
        inner_field = f"{field}.{key}".removeprefix(".")
        # A rule for exactly this key has priority over one for any key.
        inner_rule = f"{rule}.{key}".removeprefix(".")
        any_key = f"{rule}.*".removeprefix(".")
        if inner_rule not in shapes and any_key in shapes:
            inner_rule = any_key
        yield from _fields(inner, shapes, inner_field, inner_rule)
