"""Check the fields of a user's dataclass against their annotations.

    >>> from wayword.core.perceiver import Percept
    >>> field_problem(Percept((), 3))
    'summary must be text, got 3'

Records, tables and pages rely on these types, and a reader refuses a record without them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import (
    Any,
    Literal,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

import numpy as np

_TYPES: Mapping[Any, tuple[str, tuple[type, ...]]] = {
    str: ("text", (str,)),
    bool: ("True or False", (bool, np.bool_)),
    int: ("a whole number", (Integral,)),
    float: ("a number", (Real,)),
    tuple: ("a tuple", (tuple, list)),
    list: ("a list", (tuple, list)),
    Sequence: ("a list", (Sequence,)),
    dict: ("a dict", (Mapping,)),
    Mapping: ("a dict", (Mapping,)),
    NoneType: ("None", (NoneType,)),
}
"""Annotation -> its description in errors, and the types that a value may have."""


def field_problem(value: Any) -> str:
    """Return the first field of a dataclass that is not of its annotated type; empty if all are.

    Fields of other annotations, such as callables, may hold anything.
    """
    cls: Any = type(value)  # mypy doubts that classes are hashable
    for name, hint in _hints(cls).items():
        if problem := value_problem(getattr(value, name), hint, name):
            return problem
    return ""


def value_problem(value: Any, hint: Any, name: str) -> str:
    """Return why a value is not of an annotated type; empty if it is. ``name`` is its field."""
    kind = get_origin(hint) or hint
    members = get_args(hint)
    if kind in (Union, UnionType):
        problems = [value_problem(value, member, name) for member in members]
        return problems[0] if all(problems) else ""
    if kind is Literal:
        if value in members:
            return ""
        return f"{name} must be {' or '.join(map(repr, members))}, got {value!r:.60}"
    if is_typeddict(kind):
        kind = Mapping
    if isinstance(kind, type) and is_dataclass(kind):
        if isinstance(value, kind):
            inside = field_problem(value)
            return f"{name}: {inside}" if inside else ""
        return f"{name} must be {kind.__name__}(…), got {value!r:.60}"
    if kind not in _TYPES:
        return ""
    words, types = _TYPES[kind]
    # A text is a sequence and a bool a number to Python alone.
    is_text = isinstance(value, str) and kind is not str
    is_truth = isinstance(value, bool) and kind is not bool
    if is_text or is_truth or not isinstance(value, types):
        return f"{name} must be {words}, got {value!r:.60}"
    return _items_problem(value, kind, members, name)


def _items_problem(value: Any, kind: Any, members: tuple[Any, ...], name: str) -> str:
    """Return why the items of a sequence or mapping are not of the annotated ``members``."""
    items = value
    if kind in (dict, Mapping):
        items = value.values()
        members = members[1:]
    elif kind not in (tuple, list, Sequence):
        return ""
    # All items are of one type, unless a tuple lists one for each.
    if kind is not tuple or members[1:] == (...,):
        members = members[:1] * len(value)
    elif len(value) != len(members):
        return f"{name} must be a tuple of {len(members)}, got {value!r:.60}"
    for item, member in zip(items, members, strict=False):
        if problem := value_problem(item, member, f"an item of {name}"):
            return problem
    return ""


@cache
def _hints(cls: type) -> Mapping[str, Any]:
    """Return the annotation of each field of a dataclass."""
    hints = get_type_hints(cls)
    return {field.name: hints[field.name] for field in fields(cls)}
