"""Constrained answers of local engines: schemas, closed lists, and what is thought aloud before.

Without ``additionalProperties: false`` a small model invents keys without end; without the
whitespace rule it loops on blanks inside the JSON. Both are therefore added here, once.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile
from typing import Any

from wayword.core.episode import Json
from wayword.core.errors import ModelError
from wayword.core.model import Choice, Completion, Sampling

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


_LENGTHS = frozenset({"maxLength", "minLength", "maxItems", "minItems"})


def without_lengths(schema: Any) -> Any:
    """The schema without its length rules, for servers that know none; names of fields stay."""
    if isinstance(schema, Mapping):
        lengths = {k for k, v in schema.items() if k in _LENGTHS and isinstance(v, int)}
        return {k: without_lengths(v) for k, v in schema.items() if k not in lengths}
    if isinstance(schema, list):
        return [without_lengths(item) for item in schema]
    return schema


def llamacpp_form(sampling: Sampling) -> dict[str, Json]:
    """The fields of llama.cpp's requests that hold an answer to its form.

    Raises ``ModelError`` where there is no choice.
    """
    if sampling.json_schema is not None:
        return {"json_schema": tightened(sampling.json_schema)}
    if sampling.choices is not None:
        return {"grammar": choice_grammar(sampling.choices), "stop": []}
    return {} if sampling.grammar is None else {"grammar": sampling.grammar}


def choice_grammar(choices: Sequence[str]) -> str:
    """A GBNF grammar whose sentences are exactly the choices. Raises ``ModelError`` for none."""
    if not choices:
        raise ModelError("choices must name at least one answer")
    quoted = ("".join(_escaped(character) for character in choice) for choice in choices)
    return "root ::= " + " | ".join(f'"{choice}"' for choice in quoted)


def longest(choices: Sequence[str]) -> int:
    """Tokens that are enough to write any of the choices: a token holds at least one byte."""
    return max(len(choice.encode()) for choice in choices) + 1


def _escaped(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    return character if character.isprintable() else f"\\U{ord(character):08X}"


def form_in_words(sampling: Sampling) -> str:
    """What is added to a prompt where a model cannot be held to a list or schema; else empty."""
    if sampling.choices:
        listed = "\n".join(f"- {option}" for option in sampling.choices)
        return f"\n\nAnswer with exactly one of these lines and nothing else:\n{listed}"
    if sampling.json_schema is None:
        return ""
    text = json.dumps(sampling.json_schema, ensure_ascii=False)
    return f"\n\nAnswer with one JSON object and nothing else. Its schema:\n{text}"


_ROUND = " \t\r\n\"'`*_.,;:!()[]{}-“”"


def matched(said: str, options: Sequence[str]) -> str:
    """The option that a short answer names, letter case and punctuation aside; empty for none.

    >>> matched('**Turn left.**', ["turn left", "stop"]), matched("left or right", ["left"])
    ('turn left', '')
    """
    if said in options:
        return said
    plain = said.strip(_ROUND).casefold()
    same = [option for option in options if option.strip(_ROUND).casefold() == plain]
    return same[0] if len(same) == 1 else ""


def cut(text: str, finish: str, stops: Sequence[str]) -> tuple[str, str]:
    """A text up to its first stop sequence, and why it ended."""
    for stop in stops:
        head, found, _ = text.partition(stop)
        text, finish = head, "stop" if found else finish
    return text, finish


UNRANKED = -1000.0
"""Stands for the options that were not picked where a winner is all that is known."""


def picked(options: Sequence[str], answer: Completion, reasoning: Sequence[str]) -> Choice:
    """The choice of a model that wrote one of the options."""
    values = tuple(0.0 if option == answer.text else UNRANKED for option in options)
    return Choice(
        tuple(options),
        values,
        answer.usage,
        seconds=answer.seconds,
        picked=True,
        reasoning=tuple(reasoning),
    )


def checked_options(options: Sequence[str]) -> tuple[str, ...]:
    """The options of ``choose``. Raises ``ModelError`` where there is none, or an empty one."""
    if not options or not all(option.strip() for option in options):
        raise ModelError("choose needs at least one option, and none may be empty")
    return tuple(options)


def shared_tokens(lists: Iterable[Sequence[int]]) -> int:
    """How many tokens all lists begin with together."""
    return sum(1 for _ in takewhile(lambda tokens: len({*tokens}) == 1, zip(*lists, strict=False)))


# Where a prompt ends and an option begins, when options are ranked as the next *words*.
#
# Tokenisers glue a blank to the word after it, so ``"5. "`` followed by ``"forward"`` would be
# scored as a word that no text contains. The blank between the two therefore always belongs to the
# option: ``"5."`` + ``" forward"``, however the two were written.

_OPENERS = "([{<\"'`"


def continued(prompt: str, option: str) -> tuple[str, str]:
    """The prompt without the blanks at its end, and the option with the blank it needs.

    A blank is put in where neither side has white space and the prompt ends in a word or a
    closing sign: ``continued("5.", "left")`` and ``continued("5. ", "left")`` are both
    ``("5.", " left")``, while ``continued("(", "A")`` is ``("(", "A")``. Options that begin with
    white space of their own are appended as they are.
    """
    base = prompt.rstrip(" ")
    gap = prompt[len(base) :]
    if gap or not base or base[-1].isspace() or base[-1] in _OPENERS:
        return base, gap + option
    if option[:1].isspace():
        return base, option
    return base, " " + option


# What a reasoning model thinks aloud, told apart from what it answers.

_TAGS = "think|thinking"
_OPEN = re.compile(rf"<({_TAGS})>", re.IGNORECASE)
_CLOSE = re.compile(rf"</({_TAGS})>\s*", re.IGNORECASE)


def thought_apart(text: str) -> tuple[str, str]:
    """The answer, and the reasoning before it.

    >>> thought_apart("<think>The lamp is left.</think>Go left.")
    ('Go left.', 'The lamp is left.')

    A thought that was cut off is all thought and no answer. Chat templates may open the thought in
    the prompt, so that a closing tag alone ends it.
    """
    opened = _OPEN.match(text, len(text) - len(text.lstrip()))
    start = opened.end() if opened else 0
    closed = _CLOSE.search(text, start)
    if closed and (opened or not _OPEN.search(text, 0, closed.start())):
        return text[closed.end() :], text[start : closed.start()].strip()
    return ("", text[start:].strip()) if opened else (text, "")
