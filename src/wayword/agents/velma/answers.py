"""What VELMA reads out of answers: landmarks of the instruction, and the next actions of the walk.

Landmarks come from recorded lists, or a model is asked once an episode: it is shown five worked
examples of our own (``prompts/landmarks.txt``) and continues with a numbered list, or the
word None. Lists of either origin are tidied: empty entries, repeated ones (letter case and a
leading article aside) and those longer than ``LONGEST`` characters go. No name is ever shortened: a
scorer would look for something else.

Source: VELMA (Schumann et al. 2023), section 5.1 and appendix C.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from wayword.agents.answers import Reply, fields, items, replies
from wayword.agents.legal import Refusal, pick
from wayword.core.action import Rejection, RejectionKind
from wayword.core.model import Model, Sampling
from wayword.worlds.street.moves import WORDS

LONGEST = 100
"""Characters of a landmark. The longest of the 20,065 recorded for Map2seq has 66."""

MOST = 20
"""Landmarks of one instruction; the recorded lists hold at most 9."""

_ARTICLE = re.compile(r"^(?:an?|the)\s+", re.IGNORECASE)
_NOTHING = frozenset({"none", "n/a", "no landmarks"})
_WRAPPING = ' \t"“”*'


@dataclass(frozen=True, slots=True)
class Landmarks:
    """Names to look for, how many were too long or too many, and whether the list was cut off."""

    names: tuple[str, ...] = ()
    ignored: int = 0
    cut_off: str = ""


def tidy(listed: Iterable[object]) -> Landmarks:
    """A list without empty, repeated and over-long entries.

    >>> tidy(["a park", "The Park", "", "Staples"])
    Landmarks(names=('a park', 'Staples'), ignored=0, cut_off='')
    """
    names: dict[str, str] = {}
    ignored = 0
    for entry in listed:
        name = " ".join(str(entry).split()).strip(_WRAPPING)
        key = _ARTICLE.sub("", name).casefold()
        if not name or key in _NOTHING or key in names:
            continue
        if len(name) > LONGEST or len(names) == MOST:
            ignored += 1
            continue
        names[key] = name
    return Landmarks(tuple(names.values()), ignored)


IN_THE_WAY = ("intersection", "side street")
"""Words of landmarks that the released code does not look for, wherever they stand."""
COMMON = frozenset({"traffic lights", "double lights", "a building", "a large building"})
"""Landmarks that it does not look for: there are some in every view."""


def released(names: Iterable[str]) -> tuple[str, ...]:
    """The landmarks that VELMA's released code keeps (``vln/landmarks.py``, five-shot lists).

    >>> released(["a park", "the next intersection", "traffic lights"])
    ('a park',)
    """
    kept = (name for name in names if name not in COMMON)
    return tuple(name for name in kept if not any(word in name for word in IN_THE_WAY))


def parse(said: str | Reply) -> Landmarks:
    """The landmarks of a list, numbered, bulleted or JSON; what stands around it is skipped.

    >>> parse("1. a park\\n2. Staples\\n\\nGo on").names
    ('a park', 'Staples')
    """
    reply = Reply.of(said)
    return replace(tidy(items(reply.text)), cut_off=reply.cut_off)


async def extract(model: Model, prompt: str) -> Landmarks:
    """Ask for the list that ``prompt`` ends before. Raises as ``Model.complete`` does."""
    sampling = Sampling(max_tokens=256, stop=("\n\n",))
    completion = await model.complete(prompt, sampling)
    return parse(replies(completion, sampling, "the token limit of the role 'landmarks'")[0])


# A completion that goes on with a walk: the next actions, one a numbered line.

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
