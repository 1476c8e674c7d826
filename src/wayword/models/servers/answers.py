"""Parsing of server replies: samples, token counts and log-probabilities.

Any field may be missing or malformed. Supports chat and text completions, both of OpenAI's formats
of log-probabilities, and llama.cpp's.
"""

from __future__ import annotations

import json
import math
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import product, starmap
from typing import Any

from wayword.core.errors import ModelError
from wayword.core.model import Completion, TokenLogprob, Usage, estimated_tokens
from wayword.core.secrets import redacted
from wayword.models.parts.decoding import cut, json_values, matched, split_thought
from wayword.models.servers.refusals import replies
from wayword.models.servers.requests import ANSWER, Request

# Per call: a larger count is a server's error, and would use up any budget
_MAX_TOKENS = 10**9
# Longer texts are estimated from this many characters, for speed
_ESTIMATED_CHARACTERS = 10_000


def choices(answer: object) -> list[Mapping[str, Any]]:
    """Return the samples of a reply. Raises a retryable ``ModelError`` if there are none."""
    rows = _as_list(as_object(answer).get("choices"))
    if not rows or not all(map(_is_object, rows)):
        shown = json.dumps(answer, default=str)[:120]
        raise ModelError(f"the server's reply has no choices: {shown}", retryable=True)
    return rows


@dataclass(frozen=True, slots=True)
class Sample:
    """A sample: its text, the reasoning before it, and the finish reason."""

    text: str
    reasoning: str = ""
    finish: str = ""


def sample(choice: Mapping[str, Any], request: Request) -> Sample:
    """Return a sample: its text unwrapped, matched with the options and cut at stop sequences."""
    text = redacted(_text(choice.get("text")))
    reasoning = ""
    if request.chat:
        names = replies()["reasoning"]
        message = as_object(choice, "message")
        content = message.get("content")
        parts = _as_list(content) or [content]
        thoughts = [p for p in parts if as_object(p).get("type") in names["parts"]]
        text = _text([part for part in parts if part not in thoughts])
        calls = _as_list(message.get("tool_calls"))
        if not text and "tools" in request.body and len(calls) == 1:
            text = _text(as_object(calls[0], "function").get("arguments"))
        text = text or _text(message.get("refusal"))
        text, inline = split_thought(redacted(text))
        stated = [thoughts, *(message.get(name) for name in names["fields"])]
        reasoning = next(filter(None, map(_text, stated)), inline)
    if request.wrapped:
        text = _unwrap(text)
    if request.options:
        text = matched(text, request.options) or text
    text, finish = cut(text, str(choice.get("finish_reason") or ""), request.stops)
    return Sample(text, redacted(reasoning), finish)


def _text(value: object) -> str:
    """Return a field's text, which may be in the parts of a list."""
    if isinstance(value, list):
        return "".join(map(_text, value))
    if isinstance(value, Mapping):
        return _text([value.get(name) for name in replies()["reasoning"]["text"]])
    return value if isinstance(value, str) else ""


def _unwrap(text: str) -> str:
    """Return the value of ``{"answer": …}``, which may be inside prose or a code fence; a text
    without such an object, or with two that differ, unchanged: the agent rejects it."""
    found = {value[ANSWER] for value, _, _ in json_values(text, "{", _is_wrapped)}
    return found.pop() if len(found) == 1 else text


def _is_wrapped(value: Mapping[str, Any]) -> bool:
    return isinstance(value.get(ANSWER), str)


def usage(answer: object, request: Request, estimate: Callable[[], Usage]) -> Usage:
    """Return the billed tokens of a reply: the server's counts, else an upper ``estimate``.

    Some servers count reasoning only in ``total_tokens``: tokens there that are neither prompt nor
    completion are added to the completion. An impossible count of cached tokens, which are cheaper,
    is ignored.
    """
    counts = as_object(answer, "usage")
    prompt, reused, written, written_hour = _prompt_tokens(counts)
    completion = _stated(counts, "completion")
    reasoning = _stated(counts, "reasoning")
    samples: list[Sample] = []
    if not completion or reasoning is None:
        # without readable samples, the whole reply is estimated
        with suppress(
            ModelError, TypeError, AttributeError, ValueError, RecursionError
        ):
            samples = [sample(choice, request) for choice in choices(answer)]
    thought_tokens = sum(_tokens(each.reasoning) for each in samples)
    if not completion and any(each.text for each in samples):
        completion = None
    estimated = not prompt or completion is None
    if not prompt or completion is None:
        cap = estimate()
        prompt = max(prompt or 0, cap.prompt)
        completion = cap.completion
        # hidden reasoning may be as long as the request allows
        if samples and (thought_tokens or not request.thinking):
            completion = thought_tokens + sum(_tokens(each.text) for each in samples)
    uncounted = (_stated(counts, "total") or 0) - prompt - completion
    if reasoning is None:
        reasoning = thought_tokens
    elif reasoning > completion:
        uncounted = max(uncounted, reasoning)
    completion += max(0, uncounted)
    if reused > prompt:
        reused = 0
    written = min(written, prompt - reused)
    return Usage(
        prompt,
        completion,
        reused,
        min(reasoning, completion),
        estimated,
        written,
        min(written_hour, written),
    )


def _prompt_tokens(counts: Mapping[str, Any]) -> tuple[int | None, int, int, int]:
    """Return the prompt's tokens (None without a count), and the parts of them that were read from
    the prefix cache, written to it, and written for an hour.

    OpenAI, and the gateways that follow it, report both parts in ``prompt_tokens_details``, as
    parts of ``prompt_tokens``. Anthropic reports them next to ``input_tokens``, which count the
    rest alone; gateways pass these fields on, next to either form of the prompt's count.

    Source: https://platform.openai.com/docs/api-reference/chat/object and
    https://platform.claude.com/docs/en/api/messages
    """
    names = replies()["counts"]
    reused, written, short, hour = (
        _stated(counts, name) or 0 for name in ("reused", "written", "short", "hour")
    )
    written = max(written, short + hour)
    prompt = _count(counts.get("prompt_tokens"))
    # a proxy may have renamed ``input_tokens`` only: then the parts do not fit into it
    is_rest = reused + written > (prompt or 0) and any(
        map(counts.get, names["written"])
    )
    if prompt is None:
        prompt = _count(counts.get("input_tokens"))
        is_rest = not any(map(counts.get, names["details"]))
    if is_rest and prompt is not None:
        prompt += reused + written
    return prompt, reused, written, hour


def _tokens(text: str) -> int:
    if not text:
        return 0
    excerpt = text[:_ESTIMATED_CHARACTERS]
    return upward(estimated_tokens(excerpt) * len(text) / len(excerpt))


def upward(tokens: float) -> int:
    """Return an estimate that is rarely too low: token estimates are off by up to 10%."""
    return math.ceil(1.2 * tokens)


def as_object(value: object, *path: str) -> Mapping[str, Any]:
    """Return the object at a path of names in a value; empty if there is none."""
    for name in path:
        value = as_object(value).get(name)
    return value if isinstance(value, Mapping) else {}


def _stated(usage: Mapping[str, Any], name: str) -> int | None:
    """Return the largest count of this kind, in the usage or in an object in it; None if none is
    stated."""
    places = [usage]
    for place in places:  # grows by the objects that are found
        places += filter(_is_object, place.values())
    values = starmap(dict.get, product(places, replies()["counts"][name]))
    counts = [count for count in map(_count, values) if count is not None]
    return max(counts, default=None)


def _count(value: object) -> int | None:
    """Return a count of tokens, None if it is missing or impossible."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if type(value) is int and 0 <= value < _MAX_TOKENS else None


def logprobs(choice: Mapping[str, Any]) -> tuple[TokenLogprob, ...]:
    """Return a sample's tokens with their log-probabilities; empty if the server sends none. NaN is
    left out: it would win or lose every comparison."""
    container = as_object(choice, "logprobs")
    entries = container.get("content")
    if isinstance(entries, list):
        names = ("token", "logprob", "top_logprobs")
        rows = [tuple(map(each.get, names)) for each in entries if _is_object(each)]
    else:
        tokens = _as_list(container.get("tokens"))
        values = _as_list(container.get("token_logprobs"))
        if values[:1] == [None]:  # the first token has none
            values[0] = 0.0
        top = _as_list(container.get("top_logprobs"))
        rows = list(zip(tokens, values, top or [None] * len(tokens), strict=False))
    return tuple(
        TokenLogprob(str(token), float(value), _alternatives(top))
        for token, value, top in rows
        if _is_logprob(value)
    )


def _alternatives(listed: object) -> dict[str, float]:
    """Return the alternatives to a token: a mapping, or a list of entries."""
    pairs: Iterable[tuple[object, Any]] = ()
    if isinstance(listed, Mapping):
        pairs = listed.items()
    elif isinstance(listed, list):
        pairs = [(e.get("token"), e.get("logprob")) for e in listed if _is_object(e)]
    return {str(name): float(value) for name, value in pairs if _is_logprob(value)}


def _is_object(value: object) -> bool:
    return isinstance(value, Mapping)


def _as_list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _is_logprob(value: object) -> bool:
    """True for a number of at most 0, allowing for rounding."""
    return type(value) in (int, float) and not math.isnan(value) and value < 1e-3  # type: ignore[arg-type, operator]


# Ranking options by a server's lists of most likely next tokens.
#
# Servers return tokens as text and give no access to the tokenizer. An option is therefore matched
# token by token: at each position, by the longest listed token with which its remaining text
# begins. On raw text this continues to its end (one short call per position, shared by options with
# the same beginning). A chat reply cannot be continued, so only its first token counts.

NextTokens = Callable[[str], Awaitable[Mapping[str, float]]]
"""A continuation of the prompt -> the most likely next tokens and their log-probabilities."""


class Unranked(ModelError):
    """Error: the server's lists of tokens do not distinguish the options. ``answer`` is the option
    that the model wrote instead, if it did."""

    def __init__(self, problem: str, answer: Completion | None = None) -> None:
        super().__init__(f"{problem}; set the model's setting choose=constrained")
        self.answer = answer


async def ranked(
    endings: Sequence[str], next_tokens: NextTokens, *, walk: bool
) -> tuple[float, ...]:
    """Return the log-probability of each ending.

    An ending whose next token is not listed gets the lowest listed value, an upper bound. Raises
    ``Unranked`` if no ending is listed, the server lists nothing, or (without ``walk``) two endings
    begin with the same token.
    """
    scores: dict[int, float] = {}
    unlisted_options: set[int] = set()
    # (common beginning of some endings, the rest of each, log-probability of the beginning)
    pending = [("", dict(enumerate(endings)), 0.0)]
    while pending:
        text, rests, score = pending.pop()
        tokens = await next_tokens(text)
        groups: dict[str, dict[int, str]] = {}
        for i, rest in rests.items():
            if matches := [
                token for token in tokens if token and rest.startswith(token)
            ]:
                piece = max(matches, key=len)
                groups.setdefault(piece, {})[i] = rest[len(piece) :]
            else:
                # just below the lowest value, so that the last listed token wins a tie
                scores[i] = math.nextafter(score + min(tokens.values()), -math.inf)
                unlisted_options.add(i)
        for piece, members in groups.items():
            if not walk and len(members) > 1:
                raise Unranked(f"several options begin with the token {piece!r}")
            unfinished = {i: rest for i, rest in members.items() if rest and walk}
            scores |= {i: score + tokens[piece] for i in members if i not in unfinished}
            if unfinished:
                pending.append((text + piece, unfinished, score + tokens[piece]))
    if len(unlisted_options) == len(endings):
        raise Unranked("no option is among the server's most likely tokens")
    return tuple(scores[i] for i in range(len(endings)))
