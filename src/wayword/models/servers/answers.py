"""From a server's JSON to a completion. Nothing in it is trusted to be there.

Chat and text completions, OpenAI's two ways of writing log-probabilities, and llama.cpp's.
"""

from __future__ import annotations

import json
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wayword.core.errors import ModelError
from wayword.core.model import TokenLogprob, Usage, estimated_tokens
from wayword.core.secrets import redacted
from wayword.models.parts.decoding import cut, matched, thought_apart
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
    text, finish = cut(text, finish, request.stops)
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


_MOST_ANSWERS = 20
"""Objects that are looked at: a longer text that repeats the field holds no clear answer."""


def _unwrapped(said: str) -> str:
    """The value of ``{"answer": …}``, which may stand in prose or in a fence.

    Anything else stays as it is, for the agent to reject: no such object, or two that differ.
    """
    decoder, key = json.JSONDecoder(), f'"{ANSWER}"'
    found: set[str] = set()
    at = said.find(key)
    for _ in range(_MOST_ANSWERS):
        if at < 0:
            break
        end, start = at + len(key), said.rfind("{", 0, at)
        try:
            value, after = decoder.raw_decode(said, max(0, start))
        except (ValueError, RecursionError):
            value, after = None, end
        if isinstance(value, dict) and isinstance(value.get(ANSWER), str):
            found.add(value[ANSWER])
        at = said.find(key, max(end, after))
    return found.pop() if len(found) == 1 and at < 0 else said


def usage(answer: object, request: Request, most: Callable[[], Usage]) -> Usage:
    """Tokens that an answer was billed at: as the server counts them, else estimated upward.

    ``most`` estimates the request as a whole. Tokens of ``total_tokens`` that are neither prompt
    nor completion are thoughts, which some servers count next to the completion. An impossible
    count of cached tokens is left out: they are the cheap ones.
    """
    counted = _inner(answer, "usage")
    read, written = _count(counted, "prompt_tokens"), _count(counted, "completion_tokens")
    thought = _count(_inner(counted, "completion_tokens_details"), "reasoning_tokens")
    samples = _samples(answer, request) if not written or thought is None else []
    thoughts = sum(_tokens(sample.reasoning) for sample in samples)
    written = None if not written and any(sample.text for sample in samples) else written
    estimated = not read or written is None
    if not read or written is None:
        whole = most()
        # thoughts that are not shown may be as long as the request allows
        shown = samples and (thoughts or not request.thinking)
        texts = thoughts + sum(_tokens(sample.text) for sample in samples)
        read, written = max(read or 0, whole.prompt), texts if shown else whole.completion
    total = _count(counted, "total_tokens") or 0
    written += max(0, total - read - written, thought if thought and thought > written else 0)
    reused = _count(_inner(counted, "prompt_tokens_details"), "cached_tokens") or 0
    thought = min(thoughts if thought is None else thought, written)
    return Usage(read, written, reused if reused <= read else 0, thought, estimated)


def _samples(answer: object, request: Request) -> list[Said]:
    """The samples of an answer; none where it cannot be read."""
    try:
        return [said(choice, request) for choice in choices(answer)]
    except (ModelError, TypeError, AttributeError, ValueError, RecursionError):
        return []


_ENOUGH = 10_000
"""Characters of a text that are counted; what follows is taken to be like them."""


def _tokens(text: str) -> int:
    """Upward estimate of a text's tokens."""
    counted = estimated_tokens(text[:_ENOUGH]) if text else 0
    return upward(counted * max(len(text), _ENOUGH) / _ENOUGH)


def upward(tokens: float) -> int:
    """An estimate that is rarely too low: the estimates of tokens are off by up to 10%."""
    return math.ceil(1.2 * tokens)


def window(told: Mapping[str, Any]) -> int:
    """A model's window as ``/models`` tells it: vLLM, SGLang, llama.cpp, routers; 0 for none."""
    meta = told.get("meta")  # llama.cpp: what the model was trained with, if the slots' is missing
    inner = meta if isinstance(meta, Mapping) else {}
    for name in ("max_model_len", "context_length", "context_window", "n_ctx"):
        if found := _count(told, name) or _count(inner, name):
            return found
    return _count(inner, "n_ctx_train") or 0


def _inner(counted: object, name: str) -> Mapping[str, Any]:
    details = counted.get(name) if isinstance(counted, Mapping) else None
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
