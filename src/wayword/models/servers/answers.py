"""From a server's JSON to a completion. Nothing in it is trusted to be there.

Chat and text completions, OpenAI's two ways of writing log-probabilities, and llama.cpp's.
"""

from __future__ import annotations

import json
import math
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from wayword.core.errors import ModelError
from wayword.core.model import Prompt, TokenLogprob, Usage, estimated_tokens
from wayword.core.secrets import redacted
from wayword.models.parts.decoding import matched, thought_apart
from wayword.models.servers.requests import ANSWER, Request

_MOST_TOKENS = 10**9
"""Of one call; a larger count is a server's mistake, and would spend any budget."""


def choices(answer: object) -> list[Mapping[str, Any]]:
    """The samples of an answer. Raises a retryable ``ModelError`` where it has none."""
    found = answer.get("choices") if isinstance(answer, Mapping) else None
    if not isinstance(found, list) or not found or not all(isinstance(c, Mapping) for c in found):
        said = json.dumps(answer, default=str)[:120]
        raise ModelError(f"the server's answer holds no choices: {said}", retryable=True)
    return found


Replies = Sequence[tuple[Request, Any]]
"""Requests with the JSON that came back."""


def billed(prompt: Prompt, replies: Replies) -> Usage:
    """Tokens of all replies; guessed from the characters where one holds no sample to count."""
    found = Usage()
    for asked, reply in replies:
        try:
            found += usage(reply, prompt, asked)
        except (ModelError, TypeError, AttributeError, ValueError):
            letters = len(json.dumps(reply, default=str, skipkeys=True))
            found += Usage(estimated_tokens(prompt), letters // 4, estimated=True)
    return found


@contextmanager
def read_from(address: str, prompt: Prompt, replies: Replies) -> Iterator[None]:
    """Reading these replies: what is wrong with one is a retryable ``ModelError`` that tells what
    it was billed at."""
    try:
        yield
    except ModelError as error:
        error.billed = error.billed or billed(prompt, replies)
        raise
    except (TypeError, AttributeError, ValueError, KeyError, IndexError, RecursionError) as error:
        line = f"{address} sent an unreadable answer: {type(error).__name__}: {error}"
        paid = billed(prompt, replies)
        raise ModelError(redacted(line[:300]), retryable=True, billed=paid) from None


@dataclass(frozen=True, slots=True)
class Said:
    """One sample: its text, what the model thought before it, and why it ended."""

    text: str
    reasoning: str = ""
    finish: str = ""


def said(choice: Mapping[str, Any], request: Request) -> Said:
    """One sample, read as its request needs: unwrapped, matched, cut at stop sequences."""
    text, reasoning = (
        _content(choice, "tools" in request.body) if request.chat else (choice.get("text"), "")
    )
    text = redacted(text) if isinstance(text, str) else ""
    finish = str(choice.get("finish_reason") or "")
    if request.chat:
        text, inline = thought_apart(text)
        reasoning = reasoning or inline
    if request.wrapped:
        text = _unwrapped(text)
    if request.options:
        text = matched(text, request.options) or text
    for stop in request.stops:
        head, found, _ = text.partition(stop)
        text, finish = head, "stop" if found else finish
    return Said(text, redacted(reasoning), finish)


def _content(choice: Mapping[str, Any], tools: bool) -> tuple[object, str]:
    """What was said, or put into the tool that was asked for, and what was thought before it."""
    message = choice.get("message")
    if not isinstance(message, Mapping):
        return "", ""
    content = message.get("content")
    if isinstance(content, list):  # parts, as some servers send them
        texts = [p.get("text") for p in content if isinstance(p, Mapping)]
        content = "".join(text for text in texts if isinstance(text, str))
    if tools:
        content = content or _called(message)
    if content is None:
        content = message.get("refusal")
    thought = message.get("reasoning_content") or message.get("reasoning") or ""
    return content, thought if isinstance(thought, str) else ""


def _called(message: Mapping[str, Any]) -> object:
    """The arguments of the one tool that was called."""
    calls = message.get("tool_calls")
    if not isinstance(calls, list) or len(calls) != 1 or not isinstance(calls[0], Mapping):
        return None
    function = calls[0].get("function")
    return function.get("arguments") if isinstance(function, Mapping) else None


def _unwrapped(said: str) -> str:
    """The value of ``{"answer": …}``, which may stand in prose or in a fence.

    Anything else stays as it is, for the agent to reject: no such object, or two that differ.
    """
    decoder = json.JSONDecoder()
    found: set[str] = set()
    start = said.find("{")
    while start >= 0:
        after = start + 1
        try:
            value, end = decoder.raw_decode(said, start)
        except (ValueError, RecursionError):
            value, end = None, after
        if isinstance(value, dict) and isinstance(value.get(ANSWER), str):
            found.add(value[ANSWER])
            after = end
        start = said.find("{", after)
    return found.pop() if len(found) == 1 else said


def usage(answer: object, prompt: Prompt, request: Request) -> Usage:
    """Tokens of an answer; estimated from the characters where the server counts none."""
    counted = answer.get("usage") if isinstance(answer, Mapping) else None
    counted = counted if isinstance(counted, Mapping) else {}
    read, written = _count(counted, "prompt_tokens"), _count(counted, "completion_tokens")
    thought = _count(_inner(counted, "completion_tokens_details"), "reasoning_tokens")
    if read and written is not None:
        if thought is None:  # a server that shows its model's thoughts, and does not count them
            samples = [said(choice, request) for choice in choices(answer)]
            thought = sum(estimated_tokens(s.reasoning) for s in samples if s.reasoning)
        reused = _count(_inner(counted, "prompt_tokens_details"), "cached_tokens") or 0
        return Usage(read, written, min(reused, read), min(thought or 0, written))
    samples = [said(choice, request) for choice in choices(answer)]
    thoughts = sum(estimated_tokens(s.reasoning) for s in samples if s.reasoning)
    texts = sum(estimated_tokens(s.text) for s in samples)
    return Usage(estimated_tokens(prompt), texts + thoughts, 0, thoughts, estimated=True)


def window(told: Mapping[str, Any]) -> int:
    """A model's window as ``/models`` tells it: vLLM, SGLang, llama.cpp, routers; 0 for none."""
    meta = told.get("meta")  # llama.cpp: what the model was trained with, if the slots' is missing
    inner = meta if isinstance(meta, Mapping) else {}
    for name in ("max_model_len", "context_length", "context_window", "n_ctx"):
        if found := _count(told, name) or _count(inner, name):
            return found
    return _count(inner, "n_ctx_train") or 0


def _inner(counted: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    details = counted.get(name)
    return details if isinstance(details, Mapping) else {}


def _count(counted: Mapping[str, Any], name: str) -> int | None:
    """A count of tokens; None where it is missing or makes no sense."""
    value = counted.get(name)
    return value if type(value) is int and 0 <= value < _MOST_TOKENS else None


def logprobs(choice: Mapping[str, Any]) -> tuple[TokenLogprob, ...]:
    """The sample's tokens with their log-probabilities; empty where the server gives none.

    A value that is no number is left out: it would win or lose every comparison.
    """
    given = choice.get("logprobs")
    if not isinstance(given, Mapping):
        return ()
    if isinstance(given.get("content"), list):
        entries = [entry for entry in given["content"] if isinstance(entry, Mapping)]
        return tuple(_entry(entry) for entry in entries if _sound(entry.get("logprob")))
    tokens, values = _list(given.get("tokens")), _list(given.get("token_logprobs"))
    listed = _list(given.get("top_logprobs")) or [{}] * len(tokens)
    return tuple(
        TokenLogprob(str(token), 0.0 if value is None else float(value), _sane(others))
        for token, value, others in zip(tokens, values, listed, strict=False)
        if value is None or _sound(value)
    )


def _entry(entry: Mapping[str, Any]) -> TokenLogprob:
    top = [o for o in _list(entry.get("top_logprobs")) if isinstance(o, Mapping)]
    others = _sane({str(o.get("token")): o.get("logprob") for o in top})
    return TokenLogprob(str(entry.get("token")), float(entry["logprob"]), others)


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _sane(listed: object) -> dict[str, float]:
    there = listed if isinstance(listed, Mapping) else {}
    return {str(token): float(value) for token, value in there.items() if _sound(value)}


def _sound(value: object) -> bool:
    """Whether it can be a log-probability: at most 0, apart from rounding."""
    return type(value) in (int, float) and not math.isnan(value) and value < 1e-3  # type: ignore[arg-type, operator]


# Options ranked through a server's lists of likeliest next tokens.
#
# A server hands out tokens as text and no tokeniser, so an option is followed piece by piece: at
# each place the longest listed token that begins what is left of it. On raw text the walk goes on
# to the option's end (one short call a place, shared by options with the same beginning); after a
# conversation nothing can be appended, so the first piece is all that counts, and options that
# share it cannot be told apart.

Listed = Callable[[str], Awaitable[Mapping[str, float]]]
"""The likeliest next tokens after the prompt and a continuation of it, as token -> log-prob."""

_WAY_OUT = "set the model's setting choose=constrained"


class Unranked(ModelError):
    """The server's lists do not tell the options apart."""


@dataclass(slots=True)
class _Place:
    """Options that have come to the same place: what is left of each, and its score so far."""

    text: str
    left: dict[int, str]
    score: float


async def ranked(endings: Sequence[str], listed: Listed, *, walk: bool) -> tuple[float, ...]:
    """The log-probability of each ending.

    One that leaves the lists gets the lowest listed value where it left, an upper bound of its
    own. Raises ``Unranked`` where no ending is listed at all, the server lists nothing, or
    (without ``walk``) two endings begin with the same token.
    """
    found: dict[int, float] = {}
    unlisted: set[int] = set()
    places = [_Place("", dict(enumerate(endings)), 0.0)]
    while places:
        place = places.pop()
        tokens = await listed(place.text)
        if not tokens:
            raise Unranked(f"the server gives no log-probabilities; {_WAY_OUT}")
        floor = min(tokens.values())
        groups: dict[str, dict[int, str]] = {}
        for i, left in place.left.items():
            piece = _piece(left, tokens)
            if piece is None:
                # just below: the last one listed is likelier than all that are not
                found[i] = math.nextafter(place.score + floor, -math.inf)
                unlisted.add(i)
            else:
                groups.setdefault(piece, {})[i] = left[len(piece) :]
        for piece, members in groups.items():
            score = place.score + tokens[piece]
            places += _next(place.text + piece, members, score, found, walk)
    if len(unlisted) == len(endings):
        raise Unranked(f"none of the options is among the server's likeliest tokens; {_WAY_OUT}")
    return tuple(found[i] for i in range(len(endings)))


def _next(
    text: str, members: dict[int, str], score: float, found: dict[int, float], walk: bool
) -> list[_Place]:
    if not walk and len(members) > 1:
        raise Unranked(f"several options begin with the token {text!r}; {_WAY_OUT}")
    rest = {i: left for i, left in members.items() if left and walk}
    found.update({i: score for i in members if i not in rest})
    return [_Place(text, rest, score)] if rest else []


def _piece(left: str, tokens: Mapping[str, float]) -> str | None:
    begins = [token for token in tokens if token and left.startswith(token)]
    return max(begins, key=len, default=None)
