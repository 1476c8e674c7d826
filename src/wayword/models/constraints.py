"""Constrained answers: JSON schemas that small models survive, and closed lists as grammars.

Without ``additionalProperties: false`` a small model invents keys without end; without the
whitespace rule it loops on blanks inside the JSON. Both are therefore added here, once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from wayword.core.episode import Json

_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def tightened(schema: Mapping[str, Json], *, guidance: bool = True) -> dict[str, Json]:
    """The schema with every object closed to other keys, and no free white space.

    A key that is already there stays. ``guidance`` adds the ``x-guidance`` rule of llama.cpp's
    decoder; hosted servers refuse keys they do not know.
    """
    closed: dict[str, Json] = _closed(schema)
    if guidance:
        closed.setdefault("x-guidance", {"whitespace_flexible": False})
    return closed


def _closed(node: Any, names: bool = False) -> Any:
    """``names`` says that the keys of this mapping are property names, not schema words."""
    if isinstance(node, Mapping):
        inner = {
            key: _closed(value, key in ("properties", "$defs", "definitions") and not names)
            if names or key not in ("enum", "const", "default", "examples")
            else value
            for key, value in node.items()
        }
        if not names and ("properties" in inner or inner.get("type") == "object"):
            inner.setdefault("additionalProperties", False)
        return inner
    if isinstance(node, list | tuple):
        return [_closed(item) for item in node]
    return node


def choice_grammar(choices: Sequence[str]) -> str:
    """A GBNF grammar whose sentences are exactly the choices. Raises ``ValueError`` for none."""
    if not choices:
        raise ValueError("choices must name at least one answer")
    return "root ::= " + " | ".join(_literal(choice) for choice in choices)


def longest(choices: Sequence[str]) -> int:
    """Tokens that are enough to write any of the choices: a token holds at least one byte."""
    return max(len(choice.encode()) for choice in choices) + 1


def _literal(text: str) -> str:
    return '"' + "".join(_escaped(character) for character in text) + '"'


def _escaped(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    return character if character.isprintable() else f"\\U{ord(character):08X}"
