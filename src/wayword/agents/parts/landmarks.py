"""The landmarks an instruction speaks of: recorded lists, or a model asked once an episode.

The model is shown five worked examples of our own (``prompts/velma/landmarks.txt``) and
continues with a numbered list, or the word None. Lists of either origin are tidied: empty
entries, repeated ones (letter case and a leading article aside) and those longer than
``LONGEST`` characters go. No name is ever shortened: a scorer would look for something else.

Source: VELMA (Schumann et al. 2023), section 5.1 and appendix C.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from wayword.agents.parts.answers import Reply, items, replies
from wayword.core.model import Model, Sampling

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
