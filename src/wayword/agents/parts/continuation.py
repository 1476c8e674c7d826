"""Reading a completion that goes on with a walk: the next actions, one a numbered line."""

from __future__ import annotations

import re
from collections.abc import Sequence

from wayword.agents.parts.answers import Reply, fields
from wayword.agents.parts.legal import Refusal, pick
from wayword.core.action import Rejection, RejectionKind
from wayword.worlds.street.moves import WORDS

_NUMBERED = re.compile(r"\s*(?:(\d+)\s*[.):]\s*)?(.*)", re.DOTALL)


def read_actions(said: str | Reply, number: int) -> list[str] | Rejection:
    """The actions at the head of a completion that begins at the action of that number.

        >>> read_actions(" forward\\n6. forward\\n7. left\\nThen I see", 5)
        ['forward', 'forward', 'left']

    The first line is an action, with or without its number; the following ones count as long as
    they are numbered in sequence. Nothing follows a stop.
    """
    reply = Reply.of(said)
    if (unreadable := reply.unreadable()) is not None:
        return unreadable
    lines = _lines(reply.text)
    words: list[str] = []
    for line in lines:
        stated, word = _NUMBERED.match(line).groups()  # type: ignore[union-attr]  # matches any
        due = str(number + len(words))
        picked = pick(word, WORDS) if stated == due or not (stated or words) else None
        if not isinstance(picked, str) or "stop" in words:
            break
        words.append(picked)
    if not words and not any(_NUMBERED.match(line).group(1) for line in lines):  # type: ignore[union-attr]
        alone = pick("\n".join(lines), WORDS)
        words = [alone] if isinstance(alone, str) else []
    return words or _no_action(reply, lines)


def _lines(text: str) -> list[str]:
    """The lines of a completion, or what it gives as ``action`` or ``actions``."""
    given = [v for vs in fields(text, ("action", "actions")).given.values() for v in vs]
    flat = [item for value in given for item in (value if isinstance(value, list) else [value])]
    return [line for words in (flat or [text]) for line in str(words).strip().splitlines()]


def _no_action(reply: Reply, lines: Sequence[str]) -> Rejection:
    first = lines[0] if lines else ""
    match pick(first, WORDS):
        case Refusal("several_actions" as kind):
            return reply.reject(kind, f"{first[:60]!r} names several actions; give one a line")
    named: RejectionKind = "unknown" if len(first.split()) <= 2 else "no_action"
    return reply.reject(named, f"{first[:60]!r} is none of: {', '.join(WORDS)}")
