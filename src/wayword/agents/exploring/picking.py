"""Picking one of several listed names: by a language model's answer, read strictly.

>>> read_pick("The coffee table.", ["table", "coffee table", "bed"])
'coffee table'
>>> read_pick("the table or the bed", ["table", "coffee table", "bed"]).kind
'several_actions'

:class:`Picker` is the protocol; whoever explores by names (``lgx``, ``prior``) has one.

Source: LGX (Dorbala et al. 2024, sections III-C and V-A): an answer is valid when it is an object
that was listed, or a direction.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, Protocol, runtime_checkable

from wayword.core.decision import Rejection
from wayword.core.model import Message, Model, Sampling

Decoding = Literal["constrained", "free"]
KEPT = 500
"""Characters of a refused answer that are kept."""
_ARTICLES = re.compile(r"^(?:(?:the|a|an|my|your|to|towards?)\s+)+")
_WORD = re.compile(r"[^\W_]+")


@runtime_checkable
class Picker(Protocol):
    """Chooses one of the names around for a target."""

    async def pick(self, target: str, names: Sequence[str]) -> str | Rejection:
        """One of ``names``, of which there is at least one; or why there is no choice."""
        ...


async def ask(
    model: Model, messages: Sequence[Message], names: Sequence[str], how: Decoding, most: int
) -> str | Rejection:
    """Put one question, the answer one of the names.

    ``constrained`` lets the model write nothing else; ``free`` takes what it writes in at most
    ``most`` tokens. Both are read alike: a model may not hold to a constraint.
    """
    if how == "constrained":
        sampling = Sampling(max_tokens=most, choices=tuple(names))
    else:
        sampling = Sampling(max_tokens=most)
    answer = await model.complete(messages, sampling)
    return read_pick(answer.text, names)


def read_pick(text: str, names: Sequence[str]) -> str | Rejection:
    """The name that an answer gives: its first line is one, or holds exactly one as a whole phrase.

    Case, articles and punctuation do not count; a name inside a longer one that fits (``table`` in
    ``coffee table``) is not seen.
    """
    line = next((line for line in text.splitlines() if line.strip()), "")
    if not line:
        return Rejection("empty", "the answer was empty")
    said = _plain(line[:KEPT])
    known = {_plain(name): name for name in names}
    if said in known:
        return known[said]
    held = _held(said, list(known))
    if len(held) == 1:
        return known[held[0]]
    shown = text.strip()[:KEPT]
    if not held:
        return Rejection("unknown", "the answer names nothing that was listed", shown)
    return Rejection("several_actions", f"the answer names {len(held)} things", shown)


def _held(said: str, names: Sequence[str]) -> list[str]:
    """The names that occur as whole phrases, each once, those inside longer ones left out."""
    held: list[str] = []
    for name in sorted((name for name in names if name), key=len, reverse=True):
        found = re.compile(rf"\b{re.escape(name)}\b")
        if found.search(said):
            held.append(name)
            said = found.sub("|", said)
    return held


def _plain(text: str) -> str:
    words = " ".join(_WORD.findall(text.lower()))
    return _ARTICLES.sub("", words)
