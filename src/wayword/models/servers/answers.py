"""From a server's JSON to a completion. Nothing in it is trusted to be there.

Chat and text completions, OpenAI's two ways of writing log-probabilities, and llama.cpp's.
"""

from __future__ import annotations

import json
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from wayword.core.errors import ModelError
from wayword.core.model import TokenLogprob, Usage, estimated_tokens
from wayword.core.secrets import redacted
from wayword.models.parts.decoding import cut, matched, split_thought
from wayword.models.servers.requests import ANSWER, Request

_MAX_TOKENS = 10**9
"""Of one call; a larger count is a server's mistake, and would spend any budget."""
_MAX_OBJECTS = 20
"""Objects that are read: a longer text that repeats the field holds no clear answer."""
_ESTIMATED_CHARACTERS = 10_000
"""Characters of a text whose tokens are estimated; the rest is taken to be like them."""


def choices(answer: object) -> list[Mapping[str, Any]]:
    """The samples of an answer. Raises a retryable ``ModelError`` if there are none."""
    rows = answer.get("choices") if isinstance(answer, Mapping) else None
    if not isinstance(rows, list) or not rows or not all(isinstance(c, Mapping) for c in rows):
        shown = json.dumps(answer, default=str)[:120]
        raise ModelError(f"the server's answer holds no choices: {shown}", retryable=True)
    return rows


@dataclass(frozen=True, slots=True)
class Sample:
    """A sample: its text, what the model thought before it, and why it ended."""

    text: str
    reasoning: str = ""
    finish: str = ""


def sample(choice: Mapping[str, Any], request: Request) -> Sample:
    """A sample, read as its request needs: unwrapped, matched, cut at stop sequences."""
    text, reasoning = choice.get("text"), ""
    if request.chat:
        text, reasoning = _content(_object(choice, "message"), "tools" in request.body)
    text = redacted(text) if isinstance(text, str) else ""
    if request.chat:
        text, inline = split_thought(text)
        reasoning = reasoning or inline
    if request.wrapped:
        text = _unwrap(text)
    if request.options:
        text = matched(text, request.options) or text
    text, finish = cut(text, str(choice.get("finish_reason") or ""), request.stops)
    return Sample(text, redacted(reasoning), finish)


def _content(message: Mapping[str, Any], tools: bool) -> tuple[object, str]:
    """The content, or the arguments of the one tool that was called; and the thought before it."""
    content, calls = message.get("content"), message.get("tool_calls")
    if isinstance(content, list):  # parts, as some servers send them
        texts = [p.get("text") for p in content if isinstance(p, Mapping)]
        content = "".join(text for text in texts if isinstance(text, str))
    if tools and not content and isinstance(calls, list) and len(calls) == 1:
        content = _object(calls[0], "function").get("arguments")
    if content is None:
        content = message.get("refusal")
    thought = message.get("reasoning_content") or message.get("reasoning") or ""
    return content, thought if isinstance(thought, str) else ""


def _unwrap(text: str) -> str:
    """The value of ``{"answer": …}``, which may stand in prose or in a fence.

    Anything else stays as it is, for the agent to reject: no such object, or two that differ.
    """
    decoder, key = json.JSONDecoder(), f'"{ANSWER}"'
    values: set[str] = set()
    at = text.find(key)
    for _ in range(_MAX_OBJECTS):
        if at < 0:
            break
        end, start = at + len(key), text.rfind("{", 0, at)
        try:
            value, after = decoder.raw_decode(text, max(0, start))
        except (ValueError, RecursionError):
            value, after = None, end
        if isinstance(value, dict) and isinstance(value.get(ANSWER), str):
            values.add(value[ANSWER])
        at = text.find(key, max(end, after))
    return values.pop() if len(values) == 1 and at < 0 else text


def usage(answer: object, request: Request, estimate: Callable[[], Usage]) -> Usage:
    """Tokens that an answer was billed at: as the server counts them, else estimated upward.

    ``estimate`` gives an upper estimate of the whole request. Tokens of ``total_tokens`` that are
    neither prompt nor completion are thoughts, which some servers count next to the completion. An
    impossible count of cached tokens is left out: they are the cheap ones.
    """
    counts = _object(answer, "usage")
    prompt, completion = _count(counts, "prompt_tokens"), _count(counts, "completion_tokens")
    reasoning = _count(_object(counts, "completion_tokens_details"), "reasoning_tokens")
    samples: list[Sample] = []
    if not completion or reasoning is None:
        # an answer that cannot be read is estimated as a whole
        with suppress(ModelError, TypeError, AttributeError, ValueError, RecursionError):
            samples = [sample(choice, request) for choice in choices(answer)]
    thought_tokens = sum(_tokens(each.reasoning) for each in samples)
    completion = None if not completion and any(each.text for each in samples) else completion
    estimated = not prompt or completion is None
    if not prompt or completion is None:
        cap = estimate()
        # thoughts that are not shown may be as long as the request allows
        shown = samples and (thought_tokens or not request.thinking)
        texts = thought_tokens + sum(_tokens(each.text) for each in samples)
        prompt, completion = max(prompt or 0, cap.prompt), texts if shown else cap.completion
    uncounted = (_count(counts, "total_tokens") or 0) - prompt - completion
    completion += max(0, uncounted, reasoning if reasoning and reasoning > completion else 0)
    reused = _count(_object(counts, "prompt_tokens_details"), "cached_tokens") or 0
    reasoning = min(thought_tokens if reasoning is None else reasoning, completion)
    return Usage(prompt, completion, reused if reused <= prompt else 0, reasoning, estimated)


def _tokens(text: str) -> int:
    """Upward estimate of a text's tokens."""
    count = estimated_tokens(text[:_ESTIMATED_CHARACTERS]) if text else 0
    return upward(count * max(len(text), _ESTIMATED_CHARACTERS) / _ESTIMATED_CHARACTERS)


def upward(tokens: float) -> int:
    """An estimate that is rarely too low: the estimates of tokens are off by up to 10%."""
    return math.ceil(1.2 * tokens)


def window(listed: Mapping[str, Any]) -> int:
    """A model's window in ``/models`` of vLLM, SGLang, llama.cpp and routers; 0 for none."""
    meta = _object(listed, "meta")
    for name in ("max_model_len", "context_length", "context_window", "n_ctx"):
        if size := _count(listed, name) or _count(meta, name):
            return size
    # llama.cpp: what the model was trained with, if the slots' own is missing
    return _count(meta, "n_ctx_train") or 0


def _object(outer: object, name: str) -> Mapping[str, Any]:
    """The object of that name inside another one; empty where there is none."""
    inner = outer.get(name) if isinstance(outer, Mapping) else None
    return inner if isinstance(inner, Mapping) else {}


def _count(counted: Mapping[str, Any], name: str) -> int | None:
    """A count of tokens; None where it is missing or makes no sense."""
    value = counted.get(name)
    return value if type(value) is int and 0 <= value < _MAX_TOKENS else None


def logprobs(choice: Mapping[str, Any]) -> tuple[TokenLogprob, ...]:
    """The sample's tokens with their log-probabilities; empty where the server gives none.

    A value that is no number is left out: it would win or lose every comparison.
    """
    given = _object(choice, "logprobs")
    rows: list[tuple[object, Any, Any]]
    if isinstance(given.get("content"), list):
        rows = []
        for entry in given["content"]:
            if isinstance(entry, Mapping):
                top = [o for o in _as_list(entry.get("top_logprobs")) if isinstance(o, Mapping)]
                alternatives = {str(o.get("token")): o.get("logprob") for o in top}
                rows.append((entry.get("token"), entry.get("logprob"), alternatives))
    else:
        tokens, values = _as_list(given.get("tokens")), _as_list(given.get("token_logprobs"))
        top = _as_list(given.get("top_logprobs")) or [{}] * len(tokens)
        first = [0.0 if value is None else value for value in values]  # a text's first has none
        rows = list(zip(tokens, first, top, strict=False))
    return tuple(
        TokenLogprob(
            str(token),
            float(value),
            {str(name): float(v) for name, v in _as_items(alternatives) if _is_logprob(v)},
        )
        for token, value, alternatives in rows
        if _is_logprob(value)
    )


def _as_list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _as_items(value: object) -> list[tuple[Any, Any]]:
    return list(value.items()) if isinstance(value, Mapping) else []


def _is_logprob(value: object) -> bool:
    """True for a number of at most 0, apart from rounding."""
    return type(value) in (int, float) and not math.isnan(value) and value < 1e-3  # type: ignore[arg-type, operator]


# Options ranked through a server's lists of likeliest next tokens.
#
# A server hands out tokens as text and no tokeniser, so an option is followed piece by piece: at
# each place the longest listed token that begins what is left of it. On raw text the walk continues
# to the option's end (one short call a place, shared by options with the same beginning); after a
# conversation nothing can be appended, so the first piece is all that counts, and options that
# share it cannot be distinguished.

Lister = Callable[[str], Awaitable[Mapping[str, float]]]
"""The likeliest next tokens after the prompt and a continuation of it, as token -> log-prob."""

_REMEDY = "set the model's setting choose=constrained"


class Unranked(ModelError):
    """The server's lists do not separate the options."""


async def ranked(endings: Sequence[str], lister: Lister, *, walk: bool) -> tuple[float, ...]:
    """The log-probability of each ending.

    One that leaves the lists gets the lowest listed value where it left, an upper bound of its
    own. Raises ``Unranked`` where no ending is listed at all, the server lists nothing, or
    (without ``walk``) two endings begin with the same token.
    """
    scores: dict[int, float] = {}
    unlisted_options: set[int] = set()
    # a text that endings begin with, the rest of each of them, and the text's log-probability
    pending = [("", dict(enumerate(endings)), 0.0)]
    while pending:
        text, rests, score = pending.pop()
        tokens = await lister(text)
        if not tokens:
            raise Unranked(f"the server gives no log-probabilities; {_REMEDY}")
        groups: dict[str, dict[int, str]] = {}
        for i, rest in rests.items():
            if matches := [token for token in tokens if token and rest.startswith(token)]:
                piece = max(matches, key=len)
                groups.setdefault(piece, {})[i] = rest[len(piece) :]
            else:
                # just below: the last one listed is likelier than all that are not
                scores[i] = math.nextafter(score + min(tokens.values()), -math.inf)
                unlisted_options.add(i)
        for piece, members in groups.items():
            if not walk and len(members) > 1:
                raise Unranked(f"several options begin with the token {piece!r}; {_REMEDY}")
            unfinished = {i: rest for i, rest in members.items() if rest and walk}
            scores |= {i: score + tokens[piece] for i in members if i not in unfinished}
            if unfinished:
                pending.append((text + piece, unfinished, score + tokens[piece]))
    if len(unlisted_options) == len(endings):
        raise Unranked(f"none of the options is among the server's likeliest tokens; {_REMEDY}")
    return tuple(scores[i] for i in range(len(endings)))
