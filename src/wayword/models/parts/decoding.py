"""Constrained answers of local engines: schemas, closed lists, and what is thought aloud before.

Without ``additionalProperties: false`` a small model invents keys without end; without the
whitespace rule it loops on blanks inside the JSON. Both are therefore added here, once.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Any

from wayword.core.episode import Json
from wayword.core.errors import ModelError
from wayword.core.model import Choice, Completion, Message, Sampling, user

_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def close_schema(schema: Mapping[str, Json], *, guidance: bool = True) -> dict[str, Json]:
    """The schema with every object closed to other keys, and no free white space.

    A key that is already there stays. ``guidance`` adds the ``x-guidance`` rule of llama.cpp's
    decoder; hosted servers refuse keys they do not know.
    """
    closed: dict[str, Json] = _close_objects(schema)
    if guidance:
        closed.setdefault("x-guidance", {"whitespace_flexible": False})
    return closed


def _close_objects(node: Any, names: bool = False) -> Any:
    """``names`` says that the keys of this mapping are property names, not schema words."""
    if isinstance(node, Mapping):
        inner = {
            key: _close_objects(value, key in ("properties", "$defs", "definitions") and not names)
            if names or key not in ("enum", "const", "default", "examples")
            else value
            for key, value in node.items()
        }
        if not names and ("properties" in inner or inner.get("type") == "object"):
            inner.setdefault("additionalProperties", False)
        return inner
    if isinstance(node, list | tuple):
        return [_close_objects(item) for item in node]
    return node


_LENGTHS = frozenset({"maxLength", "minLength", "maxItems", "minItems"})


def without_lengths(schema: Any) -> Any:
    """Drop length limits from a schema for servers that lack them; fields so named stay."""
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
        return {"json_schema": close_schema(sampling.json_schema)}
    if sampling.choices is not None:
        return {"grammar": choice_grammar(sampling.choices), "stop": []}
    return {} if sampling.grammar is None else {"grammar": sampling.grammar}


def choice_grammar(choices: Sequence[str]) -> str:
    """A GBNF grammar whose sentences are exactly the choices. Raises ``ModelError`` for none."""
    if not choices:
        raise ModelError("choices must name at least one answer")
    escaped = {ord(sign): text for sign, text in _ESCAPES.items()}
    for sign in {sign for choice in choices for sign in choice if not sign.isprintable()}:
        escaped.setdefault(ord(sign), f"\\U{ord(sign):08X}")
    return "root ::= " + " | ".join(f'"{choice.translate(escaped)}"' for choice in choices)


def longest(choices: Sequence[str]) -> int:
    """Tokens that are enough to write any of the choices: a token holds at least one byte."""
    return max(len(choice.encode()) for choice in choices) + 1


def describe_form(sampling: Sampling) -> str:
    """Text to append to a prompt where a model cannot be held to a list or schema; else empty."""
    if sampling.choices:
        listed = "\n".join(f"- {option}" for option in sampling.choices)
        return f"\n\nAnswer with exactly one of these lines and nothing else:\n{listed}"
    if sampling.json_schema is None:
        return ""
    text = json.dumps(sampling.json_schema, ensure_ascii=False)
    return f"\n\nAnswer with one JSON object and nothing else. Its schema:\n{text}"


def as_message(text: str, sampling: Sampling) -> Message:
    """Raw text for a model that only chats, with the request to continue it where no form of an
    answer is set."""
    is_free = not (sampling.choices or sampling.json_schema or sampling.grammar)
    return user(text + _CONTINUATION_REQUEST if is_free else text)


_CONTINUATION_REQUEST = (
    "\n\n(The text breaks off here. Continue it from exactly there, in its own form. Write only "
    "what comes next.)"
)
_PUNCTUATION = " \t\r\n\"'`*_.,;:!()[]{}-“”"
_LEAD_IN = re.compile(r"\W*(?:\d{1,3}\s*[.):])?(?:[\s*_]*[a-z][a-z ]{0,30}[*_]*:)?", re.IGNORECASE)
"""A number and a label that may stand before an option: ``5.``, ``Next action:``."""
_FENCE = re.compile(r"^\s*```\w*\s*\n(.*?)\n?\s*```\s*$", re.DOTALL)


def matched(answer: str, options: Sequence[str]) -> str:
    r"""The option that a short answer names, letter case and punctuation aside; empty for none.

    A fence, a number and a label around it do not count; after other text, the last line is
    read where it alone is an option, so that a list of options names none.

    >>> matched('**Turn left.**', ["turn left", "stop"]), matched("left or right", ["left"])
    ('turn left', '')
    >>> matched("**5. stop**", ["left", "stop"]), matched("Next action: left", ["left", "stop"])
    ('stop', 'left')
    >>> matched("The way ahead is free.\n\nno", ["yes", "no"])
    'no'
    >>> matched("left\nstop", ["left", "stop"])
    ''
    """
    if answer in options:
        return answer
    by_text: dict[str, list[str]] = {}
    for option in options:
        by_text.setdefault(option.strip(_PUNCTUATION).casefold(), []).append(option)
    fenced = _FENCE.match(answer)
    inner = fenced[1] if fenced else answer
    lead = _LEAD_IN.match(inner)
    is_option = lead is not None and lead[0].strip(_PUNCTUATION).casefold() in by_text
    rest = inner if lead is None or is_option else inner[lead.end() :]
    *before, last = [line.strip(_PUNCTUATION).casefold() for line in inner.strip().split("\n")]
    last = "" if by_text.keys() & set(before) else last
    for text in (inner, rest, last):
        matches = by_text.get(text.strip(_PUNCTUATION).casefold(), [])
        if len(matches) == 1:
            return matches[0]
    return ""


def cut(text: str, finish: str, stops: Sequence[str]) -> tuple[str, str]:
    """A text up to its first stop sequence, and why it ended."""
    for stop in stops:
        head, stopped, _ = text.partition(stop)
        text, finish = head, "stop" if stopped else finish
    return text, finish


NOTHING_WRITTEN = "(nothing; where thoughts took all tokens, raise model.thinking)"
UNPICKED_LOGPROB = -1000.0
"""Stands for the options that were not picked where a winner is all that is known."""


def picked(options: Sequence[str], answer: Completion, reasoning: Sequence[str]) -> Choice:
    """The choice of a model that wrote one of the options, or else its ``other_text``."""
    text = answer.text
    values = tuple(0.0 if option == text else UNPICKED_LOGPROB for option in options)
    choice = Choice(tuple(options), values, answer.usage, seconds=answer.seconds)
    other = "" if text in options else text.strip() or NOTHING_WRITTEN
    return replace(choice, picked=True, reasoning=tuple(reasoning), other_text=other)


def check_options(options: Sequence[str]) -> tuple[str, ...]:
    """The options of ``choose``. Raises ``ModelError`` where there is none, or an empty one."""
    if not options or not all(option.strip() for option in options):
        raise ModelError("choose needs at least one option, and none may be empty")
    return tuple(options)


def prefix_length(lists: Iterable[Sequence[int]]) -> int:
    """Length of the common prefix of all lists."""
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


# A reasoning model's thoughts, separated from its answer.

_TAGS = "think|thinking"
_OPEN = re.compile(rf"<({_TAGS})>", re.IGNORECASE)
_CLOSE = re.compile(rf"</({_TAGS})>\s*", re.IGNORECASE)


def split_thought(text: str) -> tuple[str, str]:
    """The answer, and the reasoning before it.

    >>> split_thought("<think>The lamp is left.</think>Go left.")
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
