"""The landmarks an instruction speaks of: recorded lists, or a model asked once an episode.

The model is shown five worked examples of our own (``prompts/velma/landmarks.txt``) and continues
with a numbered list, or the word None. Lists of either origin are tidied: empty entries, repeated
ones (letter case and a leading article aside) and those longer than ``LONGEST`` characters go. No
name is ever shortened: a scorer would look for something else.

Source: VELMA (Schumann et al. 2023), section 5.1 and appendix C.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from wayword.core.model import Model, Sampling

LONGEST = 100
"""Characters of a landmark. The longest of the 20,065 recorded for Map2seq has 66."""

MOST = 20
"""Landmarks of one instruction; the recorded lists hold at most 9."""

_ITEM = re.compile(r"^\s*\d+\s*[.):]\s*(.*)$")
_ARTICLE = re.compile(r"^(?:an?|the)\s+", re.IGNORECASE)
_NOTHING = frozenset({"none", "n/a", "no landmarks"})
_WRAPPING = ' \t"“”*'


@dataclass(frozen=True, slots=True)
class Landmarks:
    """Names that are looked for, and how many were put aside as too long or too many."""

    names: tuple[str, ...] = ()
    ignored: int = 0


def tidy(listed: Iterable[object]) -> Landmarks:
    """A list without empty, repeated and over-long entries.

    >>> tidy(["a park", "The Park", "", "Staples"])
    Landmarks(names=('a park', 'Staples'), ignored=0)
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


def parse(text: str) -> Landmarks:
    """The landmarks of a numbered list; lines before it are skipped, the first one after ends it.

    >>> parse("1. a park\\n2. Staples\\n\\nGo on").names
    ('a park', 'Staples')
    """
    entries: list[str] = []
    for line in text.splitlines():
        item = _ITEM.match(line)
        if item:
            entries.append(item.group(1))
        elif entries:
            break
    return tidy(entries)


async def extract(model: Model, prompt: str) -> Landmarks:
    """Ask for the list that ``prompt`` ends before. Raises as ``Model.complete`` does."""
    sampling = Sampling(max_tokens=256, stop=("\n\n",))
    return parse((await model.complete(prompt, sampling)).text)
