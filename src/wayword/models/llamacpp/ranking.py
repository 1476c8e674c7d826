"""The exact log-probability of each option as the next words of a prompt.

Prompt and option are tokenised together, and what all of them share is the prefix. One pass over
the prefix gives the distribution of the next token; it is forced along the longest option, so that
this option is scored whole in the same pass. Options that part from it later are forced from
where they part, on top of the same cached prefix: only option tokens are evaluated again.

The engine reports a token's log-probability before grammar and temperature, so forcing a token
does not change its score.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from wayword.core.errors import ModelError
from wayword.core.model import Usage
from wayword.models.continuing import continued
from wayword.models.llamacpp.engine import Engine

LIKELIEST = 512
"""Next tokens listed a pass. An option beyond them costs one more pass over one token."""

_Table = dict[tuple[tuple[int, ...], int], float]


@dataclass(slots=True)
class Ranking:
    """Log-probabilities in the options' order, and what they took."""

    logprobs: tuple[float, ...] = ()
    usage: Usage = field(default_factory=Usage)


def rank(engine: Engine, prompt: str, options: Sequence[str]) -> Ranking:
    """Score every option. Blocks. Raises ``ModelError`` for an empty prompt or option."""
    prefix, endings = _split(engine, prompt, options)
    table: _Table = {}
    usage = Usage()
    for ending in sorted(endings, key=len, reverse=True):
        for start in _gaps(ending, table):
            answer = engine.complete(_forced(prefix + list(ending[:start]), ending[start:]))
            _fill(table, ending, start, answer)
            usage += _usage(answer, len(prefix), first=usage == Usage())
    return Ranking(tuple(_total(ending, table) for ending in endings), usage)


def _split(
    engine: Engine, prompt: str, options: Sequence[str]
) -> tuple[list[int], list[tuple[int, ...]]]:
    """The tokens all share, and what is each option's own."""
    pairs = [continued(prompt, option) for option in options]
    if not pairs or not all(ending.strip() for _, ending in pairs):
        raise ModelError("choose needs at least one option, and none may be empty")
    base = engine.tokens(pairs[0][0])
    whole = [engine.tokens(start + ending) for start, ending in pairs]
    shared = min(_common(base, tokens) for tokens in whole)
    if shared == 0:
        raise ModelError("choose needs a prompt; this one is empty")
    return base[:shared], [tuple(tokens[shared:]) for tokens in whole]


def _common(one: Sequence[int], other: Sequence[int]) -> int:
    """Length of the common prefix."""
    for i, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return i
    return min(len(one), len(other))


def _gaps(ending: tuple[int, ...], table: _Table) -> Iterator[int]:
    """Where the option's tokens first lack a score; asked again after each pass filled some."""
    while True:
        missing = [i for i, token in enumerate(ending) if (ending[:i], token) not in table]
        if not missing:
            return
        yield missing[0]


def _forced(prompt: list[int], tokens: Sequence[int]) -> dict[str, Any]:
    return {
        "prompt": prompt,
        "grammar": "root ::= " + " ".join(f"<[{token}]>" for token in tokens),
        "max_tokens": len(tokens),
        "temperature": 0.0,
        "logprobs": LIKELIEST,
        "cache_prompt": True,
    }


def _fill(table: _Table, ending: tuple[int, ...], start: int, answer: dict[str, Any]) -> None:
    listed = answer["choices"][0]["logprobs"]["content"]
    for i, entry in enumerate(listed[: len(ending) - start], start):
        for known in (*entry["top_logprobs"], entry):
            table[ending[:i], known["id"]] = known["logprob"]
    if (ending[:start], ending[start]) not in table:
        raise ModelError("the local engine did not follow the option it was to score")


def _total(ending: tuple[int, ...], table: _Table) -> float:
    return sum(table[ending[:i], token] for i, token in enumerate(ending))


def _usage(answer: dict[str, Any], prefix: int, first: bool) -> Usage:
    """The first pass reads the prompt; later ones read option tokens, counted as written."""
    timings = answer["timings"]
    if first:
        return Usage(prefix, timings["predicted_n"], timings["cache_n"])
    return Usage(0, timings["predicted_n"], 0)
