"""Settings of parts: a user's ``key=value`` pairs become an instance of a frozen dataclass.

Every part declares a frozen dataclass ``Settings``; values from the command line, from YAML and
from Python are checked against its field types, and a misspelt key ends in one line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import cache
from typing import Any

from wayword.core.errors import UsageError, suggest

_MOST_VALUES = 100_000
"""In one YAML file; nine lines of aliases can name a billion."""


_SHOWN = 80
"""Characters of a wrong value that an error repeats."""


def make(settings: type[Any], given: Mapping[str, Any], owner: str) -> Any:
    """An instance of ``settings`` with the given values; strings are read as the field's type.

    ``owner`` is named in errors: ``navgpt``. Raises ``UsageError`` for unknown keys and values
    that do not fit.
    """
    from pydantic import ValidationError

    known = [field.name for field in fields(settings)]
    for key in given:
        if key not in known:
            raise UsageError(f"{owner} has no setting {key!r}; {suggest(key, known)}")
    try:
        return _adapter(settings).validate_python(dict(given))  # type: ignore[arg-type]
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        value = repr(first["input"])
        value = value if len(value) <= _SHOWN else f"{value[:_SHOWN]}…"
        line = f"{owner}: setting {key}={value}: {first['msg'].lower()}"
        raise UsageError(line) from None


@cache
def _adapter(settings: type[Any]) -> Any:
    """The checker of a settings class; to make one takes some milliseconds."""
    from pydantic import TypeAdapter

    return TypeAdapter(settings)


def parse(pairs: Sequence[str]) -> dict[str, Any]:
    """``["shots=2", "model.threads=2"]`` -> ``{"shots": 2, "model": {"threads": 2}}``.

    Values are read as YAML scalars, so ``true``, ``3``, ``0.5`` and ``[a, b]`` mean what they say.
    """
    tree: dict[str, Any] = {}
    if not pairs:
        return tree
    import yaml

    for pair in pairs:
        key, sign, text = pair.partition("=")
        if not sign or not key:
            raise UsageError(f"--set {pair}: write key=value, for example --set decoding=free")
        try:
            value = load_yaml(text) if text else ""
        except (yaml.YAMLError, RecursionError, ValueError):
            value = text
        _put(tree, key.split("."), value, pair)
    return tree


def load_yaml(text: str) -> Any:
    """The values of a YAML text. Raises ``yaml.YAMLError`` for malformed text, and for one that
    contains itself or grows beyond all measure by its aliases."""
    import yaml

    loaded = yaml.safe_load(text)
    left = [_MOST_VALUES]

    def walk(value: Any, above: tuple[int, ...]) -> None:
        left[0] -= 1
        if id(value) in above or left[0] < 0:
            raise yaml.YAMLError("an alias leads back to itself, or there are too many")
        if isinstance(value, dict | list):
            inner = value.values() if isinstance(value, dict) else value
            for item in inner:
                walk(item, (*above, id(value)))

    try:
        walk(loaded, ())
    except RecursionError:
        raise yaml.YAMLError("is nested too deeply") from None
    return loaded


def merge(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Both trees in one; where they disagree, ``above`` wins."""
    merged = dict(below)
    for key, value in above.items():
        under = merged.get(key)
        both = isinstance(under, Mapping) and isinstance(value, Mapping)
        merged[key] = merge(under, value) if both else value  # type: ignore[arg-type]
    return merged


def _put(tree: dict[str, Any], path: list[str], value: Any, pair: str) -> None:
    for part in path[:-1]:
        tree = tree.setdefault(part, {})
        if not isinstance(tree, dict):
            raise UsageError(f"--set {pair}: {part!r} was already given a value of its own")
    tree[path[-1]] = value
