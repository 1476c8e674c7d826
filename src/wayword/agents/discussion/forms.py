"""Forms: what an expert's answer consists of, as labelled lines or as a JSON object.

    >>> form = Form(Field("thought", "why"), Field("actions", "in order", many=True))
    >>> form.read("Thought: easy\\nActions:\\n1. Turn left.\\n2. Stop.")
    {'thought': 'easy', 'actions': ['Turn left.', 'Stop.']}
    >>> form.read('{"thought": "easy", "actions": ["Stop."]}')
    {'thought': 'easy', 'actions': ['Stop.']}

One form gives the labels that are asked for, the schema of constrained answers and the reader of
both. An answer without any of its fields is nonsense, and reads as None.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from wayword.core.episode import Json

LONGEST = 8_000
"""Characters of an answer that are looked at."""
_ITEM = re.compile(r"^\s*(?:\d+\s*[.):]|[-*•])\s*")
_NOTHING = frozenset({"", "none", "nothing", "n/a"})

Filled: TypeAlias = dict[str, str | list[str]]


@dataclass(frozen=True, slots=True)
class Field:
    """``name`` is the JSON key; its label is the same word, capitalised. ``many``: a list.

    ``about`` says what to write. ``length`` bounds each constrained text, in characters, and
    ``least`` and ``most`` a list's items.
    """

    name: str
    about: str
    many: bool = False
    length: int = 240
    least: int = 0
    most: int = 12

    @property
    def label(self) -> str:
        return self.name.replace("_", " ").capitalize()

    def schema(self) -> dict[str, Json]:
        """Its JSON schema."""
        text: dict[str, Json] = {"type": "string", "maxLength": self.length}
        if not self.many:
            return text
        return {"type": "array", "items": text, "minItems": self.least, "maxItems": self.most}


class Form:
    """The fields of an answer, in the order they are written."""

    def __init__(self, *fields: Field) -> None:
        self.fields = fields
        labels = "|".join(re.escape(field.label) for field in fields)
        self._label = re.compile(rf"^[ \t*#]*({labels})[ \t*]*:[ \t*]*", re.MULTILINE | re.I)

    def asked(self, constrained: bool) -> str:
        """How to answer, in words."""
        if constrained:
            told = "; ".join(f'"{field.name}", {field.about}' for field in self.fields)
            return f"Answer with one JSON object: {told}."
        lines = (
            f"{f.label}:\n1. {f.about}\n2. ..." if f.many else f"{f.label}: {f.about}"
            for f in self.fields
        )
        return "Answer in exactly this form:\n" + "\n".join(lines)

    def schema(self) -> Mapping[str, Json]:
        """The JSON schema of a constrained answer."""
        return {
            "type": "object",
            "properties": {field.name: field.schema() for field in self.fields},
            "required": [field.name for field in self.fields],
            "additionalProperties": False,
        }

    def read(self, text: str) -> Filled | None:
        """The fields of an answer, those it lacks left empty; None where it has none of them."""
        text = text[:LONGEST].strip()
        found = self._json(text) if text.startswith("{") else self._labelled(text)
        if not any(found.values()):
            return None
        return {f.name: found.get(f.name, [] if f.many else "") for f in self.fields}

    def _json(self, text: str) -> Filled:
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return {}
        if not isinstance(value, dict):
            return {}
        return {f.name: _shaped(f, value[f.name]) for f in self.fields if f.name in value}

    def _labelled(self, text: str) -> Filled:
        marks = list(self._label.finditer(text))
        by_label = {field.label.lower(): field for field in self.fields}
        found: Filled = {}
        ends = [mark.start() for mark in marks[1:]] + [len(text)]
        for mark, end in zip(marks, ends, strict=False):
            field = by_label[mark.group(1).lower()]
            body = text[mark.end() : end].strip()
            found[field.name] = _shaped(field, body.splitlines() if field.many else body)
        return found


def _shaped(field: Field, value: Json) -> str | list[str]:
    """A JSON value or labelled text as the field has it."""
    if not field.many:
        return " ".join(str(value).split())
    items = value if isinstance(value, list) else [value]
    plain = (" ".join(_ITEM.sub("", str(item)).split()) for item in items)
    return [item for item in plain if item.lower().strip(".") not in _NOTHING][: field.most]
