"""Facts about an episode as values, and the one table that puts them into words.

    >>> went = Fact("went", start="A", to="B", heading=90.0)
    >>> words(Fact("lost", step=3, did=went))
    'Step 3: went from A to B (east)'

A part of a phrase in square brackets is left out if one of its values is missing. Values may be
facts themselves, or several of them.
"""

from __future__ import annotations

import re
import string
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from wayword.core.episode import JsonObject
from wayword.core.visible import count, join_words
from wayword.metrics.recorded import wind


@cache
def phrases() -> Mapping[str, str]:
    """Return the words of every kind of fact, by kind."""
    text = (files(__package__) / "wording.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


IT = {"It": "It", "it": "it", "its": "its", "was": "was"}
"""Pronouns for an agent."""
YOU = {"It": "You", "it": "you", "its": "your", "was": "were"}
"""Pronouns for the player of a game."""


class Fact(dict[str, Any]):
    """A fact of some ``kind`` with its values: text, numbers, facts, or lists of these.

    It is a mapping, so that it can be written as JSON.
    """

    def __init__(self, kind: str, **values: Any) -> None:
        present = {name: each for name, each in values.items() if not _missing(each)}
        super().__init__(kind=kind, **present)


def _missing(value: Any) -> bool:
    """True for a value that leaves nothing to say."""
    return value is None or value == "" or value == () or value == []


_OPTIONAL = re.compile(r"\[([^\[\]]*)\]")
_FIELD = re.compile(r"\{(\w+)")


def words(fact: JsonObject, person: Mapping[str, str] = IT) -> str:
    """Put a fact into words, about an agent or to a player (``YOU``)."""
    values = {**person, **fact}

    def part(match: re.Match[str]) -> str:
        """Return an optional part if all of its fields are given."""
        needed = _FIELD.findall(match[1])
        return match[1] if values.keys() >= {*needed} else ""

    phrase = _OPTIONAL.sub(part, phrases()[fact["kind"]])
    return _Words(person, fact.get("unit", "step")).vformat(phrase, (), values)


def sentences(fact: JsonObject, person: Mapping[str, str] = IT) -> tuple[str, str]:
    """Return the sentence of a fact, and those of the facts in its ``more`` as one text."""
    values = dict(fact)
    more = values.pop("more", ())
    head = words(Fact("sentences", facts=[values]), person)
    if not more:
        return head, ""
    return head, words(Fact("sentences", facts=more), person)


class _Words(string.Formatter):
    """Formats the values of a phrase; ``{goals:quoted}`` and the like name how."""

    def __init__(self, person: Mapping[str, str], unit: str) -> None:
        self._person = person
        self._unit = (
            unit  # of what the limit counts: a step, or a round of several actors
        )

    def get_value(self, key: Any, args: Any, kwargs: Any) -> Any:
        """Return a field; ``?`` for one that a record lacks."""
        return kwargs.get(key, "?")  # a record may lack anything

    def format_field(self, value: Any, spec: str) -> str:
        """Return a value in the words of its format."""
        if isinstance(value, Mapping):
            return words(value, self._person)
        if isinstance(value, list | tuple):
            return _join([self.format_field(each, "") for each in value], spec)
        # Unknown values pass unchanged, as the formats below expect numbers.
        if value == "?":
            return "?"
        match spec:
            case "steps":
                return count(int(value), self._unit)
            case "were":
                verb = "was" if value == 1 else "were"
                return f"{count(int(value), self._unit)} {verb}"
            case "m":
                return f"{value:.1f} m"
            case "wind":
                return wind(value)
        return str(format(value, spec))


def _join(parts: Sequence[str], spec: str) -> str:
    """Return parts joined as the format says."""
    match spec:
        case "and" | "or":
            return join_words(parts, spec)
        case ";":
            return "; ".join(parts)
        case "–":
            return "–".join(parts)
        case "quoted":
            return "; ".join(f"“{part}”" for part in parts)
        case "sentences":
            return " ".join(f"{part[:1].upper()}{part[1:]}." for part in parts)
    return ", ".join(parts)
