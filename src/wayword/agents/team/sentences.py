"""Sentence forms: one template that renders what a scripted actor says, and reads it back.

    >>> form = SentenceForm("I see {thing}[ {preposition:on|in} {place}]")
    >>> form.render({"thing": "mug_1", "preposition": "on", "place": "table_1"})
    'I see mug_1 on table_1'
    >>> form.read("I see mug_1")
    {'thing': 'mug_1', 'preposition': '', 'place': ''}
    >>> form.read("I like mug_1") is None
    True

``{field}`` stands for the name of a thing (``mug_1``), ``{field:pattern}`` for what a regular
expression matches. ``[…]`` is optional, and left out where a field in it is empty; such parts may
be nested.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import ClassVar, TypeVar

NAME = r"\w+_\d+"
"""What a thing is called."""

_FIELD = re.compile(r"\{(\w+)(?::([^{}]*))?\}")
_INNER = re.compile(r"\[([^\[\]]*)\]")
"""An optional part that holds no other."""


class SentenceForm:
    """A sentence with fields."""

    def __init__(self, template: str) -> None:
        patterns = {name: matched or NAME for name, matched in _FIELD.findall(template)}
        self.fields = tuple(patterns)
        self._template = _FIELD.sub(r"{\1}", template)  # patterns may hold brackets
        pattern = re.escape(self._template).replace(r"\[", "(?:").replace(r"\]", ")?")
        for name, matched in patterns.items():
            pattern = pattern.replace(re.escape(f"{{{name}}}"), f"(?P<{name}>{matched})")
        self._pattern = re.compile(pattern)

    def render(self, fields: Mapping[str, str]) -> str:
        """The sentence with these fields."""
        parts, before = self._template, ""
        while parts != before:  # from the innermost parts outwards
            before = parts
            parts = _INNER.sub(lambda part: _kept(part.group(1), fields), parts)
        return parts.format_map(fields)

    def read(self, sentence: str) -> dict[str, str] | None:
        """The fields of a sentence, empty where left out; None where it has another form."""
        match = self._pattern.fullmatch(sentence)
        return {name: said or "" for name, said in match.groupdict().items()} if match else None


def _kept(part: str, fields: Mapping[str, str]) -> str:
    return part if all(fields[name] for name, _ in _FIELD.findall(part)) else ""


class Sentence:
    """What is said in one sentence: a subclass is a dataclass whose fields are the form's."""

    __slots__ = ()
    form: ClassVar[SentenceForm]
    end: ClassVar[str] = "."

    def __str__(self) -> str:
        return self.form.render({name: getattr(self, name) for name in self.form.fields}) + self.end


S = TypeVar("S", bound=Sentence)


def read(sentence: str, kinds: Iterable[type[S]]) -> S | None:
    """A sentence without its final mark as the first of these kinds that it has the form of."""
    for kind in kinds:
        fields = kind.form.read(sentence)
        if fields is not None:
            return kind(**fields)
    return None


def quotable(text: str) -> str:
    """A text on one line, its quotes not to be confused with the ones around it."""
    return " ".join(text.split()).replace('"', "'")
