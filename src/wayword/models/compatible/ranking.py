"""Options ranked through a server's lists of likeliest next tokens.

A server hands out tokens as text and no tokeniser, so an option is followed piece by piece: at
each place the longest listed token that begins what is left of it. On raw text the walk goes on
to the option's end (one short call a place, shared by options with the same beginning); after a
conversation nothing can be appended, so the first piece is all that counts, and options that
share it cannot be told apart.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from wayword.core.errors import ModelError

Listed = Callable[[str], Awaitable[Mapping[str, float]]]
"""The likeliest next tokens after the prompt and a continuation of it, as token -> log-prob."""

_WAY_OUT = "set the model's setting choose=constrained"


@dataclass(slots=True)
class _Place:
    """Options that have come to the same place: what is left of each, and its score so far."""

    text: str
    left: dict[int, str]
    score: float


async def ranked(endings: Sequence[str], listed: Listed, *, walk: bool) -> tuple[float, ...]:
    """The log-probability of each ending.

    One that leaves the lists gets the lowest listed value where it left, an upper bound of its
    own. Raises ``ModelError`` where no ending is listed at all, the server lists nothing, or
    (without ``walk``) two endings begin with the same token.
    """
    found: dict[int, float] = {}
    unlisted: set[int] = set()
    places = [_Place("", dict(enumerate(endings)), 0.0)]
    while places:
        place = places.pop()
        tokens = await listed(place.text)
        if not tokens:
            raise ModelError(f"the server gives no log-probabilities; {_WAY_OUT}")
        floor = min(tokens.values())
        groups: dict[str, dict[int, str]] = {}
        for i, left in place.left.items():
            piece = _piece(left, tokens)
            if piece is None:
                found[i] = place.score + floor
                unlisted.add(i)
            else:
                groups.setdefault(piece, {})[i] = left[len(piece) :]
        for piece, members in groups.items():
            score = place.score + tokens[piece]
            places += _next(place.text + piece, members, score, found, walk)
    if len(unlisted) == len(endings):
        raise ModelError(f"none of the options is among the server's likeliest tokens; {_WAY_OUT}")
    return tuple(found[i] for i in range(len(endings)))


def _next(
    text: str, members: dict[int, str], score: float, found: dict[int, float], walk: bool
) -> list[_Place]:
    if not walk and len(members) > 1:
        raise ModelError(f"several options begin with the token {text!r}; {_WAY_OUT}")
    rest = {i: left for i, left in members.items() if left and walk}
    found.update({i: score for i in members if i not in rest})
    return [_Place(text, rest, score)] if rest else []


def _piece(left: str, tokens: Mapping[str, float]) -> str | None:
    begins = [token for token in tokens if token and left.startswith(token)]
    return max(begins, key=len, default=None)
