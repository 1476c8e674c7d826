"""The SDK's exceptions as ``ModelError``: what happened, whether to try again, and when."""

from __future__ import annotations

import email.utils
import json
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wayword.core.errors import ModelError
from wayword.core.model import TokenLogprob, Usage
from wayword.models.servers.requests import ANSWER, Request

_AGAIN = frozenset({408, 409, 425, 429})


def model_error(error: Exception, address: str) -> ModelError:
    """The error in the house's words. Unknown ones are not retryable."""
    import openai

    if isinstance(error, openai.APITimeoutError):
        return ModelError(f"{address} did not answer in time", retryable=True)
    if isinstance(error, openai.APIStatusError):
        return _status(error, address)
    if isinstance(error, openai.APIConnectionError):
        cause = error.__cause__ or error
        return ModelError(f"no connection to {address}: {cause}", retryable=True)
    if isinstance(error, openai.APIError | ValueError):
        said = str(error)[:120] or type(error).__name__
        return ModelError(f"{address} sent an unreadable answer: {said}", retryable=True)
    return ModelError(f"{address}: {type(error).__name__}: {error}")


def _status(error: Any, address: str) -> ModelError:
    code: int = error.status_code
    said = _reason(error.body) or str(error.message)[:200]
    if code in (401, 403):
        return ModelError(f"{address} refused the key ({code}): {said}")
    spent = "insufficient_quota" in str(error.body)
    retryable = (code in _AGAIN or code >= 500) and not spent
    after = retry_after(error.response.headers) if retryable else None
    return ModelError(f"{address} answered {code}: {said}", retryable=retryable, retry_after=after)


def _reason(body: object) -> str:
    """The message inside an error body, on one line."""
    if isinstance(body, Mapping):
        inner = body.get("error", body)
        said = inner.get("message", "") if isinstance(inner, Mapping) else inner
        return " ".join(str(said).split())[:300]
    return ""


def retry_after(headers: Mapping[str, str], now: float | None = None) -> float | None:
    """The server's wish in seconds: ``retry-after-ms``, or seconds or a date in ``retry-after``."""
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    wish = headers.get("retry-after")
    seconds = _number(wish)
    if seconds is not None or wish is None:
        return seconds
    parsed = email.utils.parsedate_tz(wish)
    if parsed is None:
        return None
    return max(0.0, email.utils.mktime_tz(parsed) - (time.time() if now is None else now))


def _number(text: str | None) -> float | None:
    try:
        value = float(text) if text is not None else None
    except ValueError:
        return None
    return value if value is None or 0 <= value < float("inf") else None


# From a server's JSON to a completion. Nothing in it is trusted to be there.
#
# Chat and text completions, OpenAI's two ways of writing log-probabilities, and llama.cpp's.


def choices(answer: object) -> list[Mapping[str, Any]]:
    """The samples of an answer. Raises a retryable ``ModelError`` where it has none."""
    found = answer.get("choices") if isinstance(answer, Mapping) else None
    if not isinstance(found, list) or not found or not all(isinstance(c, Mapping) for c in found):
        said = json.dumps(answer, default=str)[:120]
        raise ModelError(f"the server's answer holds no choices: {said}", retryable=True)
    return found


def text(choice: Mapping[str, Any], request: Request) -> str:
    """What one sample says. A choice that came as JSON is unwrapped."""
    if request.chat:
        message = choice.get("message")
        said = message.get("content") if isinstance(message, Mapping) else None
        if said is None and isinstance(message, Mapping):
            said = message.get("refusal")
    else:
        said = choice.get("text")
    said = said if isinstance(said, str) else ""
    return _unwrapped(said) if request.wrapped else said


def _unwrapped(said: str) -> str:
    """The value of ``{"answer": …}``; anything else stays as it is, for the agent to reject."""
    try:
        value = json.loads(said)
    except ValueError:
        return said
    inner = value.get(ANSWER) if isinstance(value, dict) else None
    return inner if isinstance(inner, str) else said


def usage(answer: object) -> Usage:
    """Tokens of an answer; zero where the server counts none."""
    counted = answer.get("usage") if isinstance(answer, Mapping) else None
    if not isinstance(counted, Mapping):
        return Usage()
    details = counted.get("prompt_tokens_details")
    reused = details.get("cached_tokens") if isinstance(details, Mapping) else 0
    return Usage(
        _count(counted.get("prompt_tokens")),
        _count(counted.get("completion_tokens")),
        _count(reused),
    )


def _count(value: object) -> int:
    return value if isinstance(value, int) else 0


def logprobs(choice: Mapping[str, Any]) -> tuple[TokenLogprob, ...]:
    """The sample's tokens with their log-probabilities; empty where the server gives none."""
    given = choice.get("logprobs")
    if not isinstance(given, Mapping):
        return ()
    if isinstance(given.get("content"), list):
        return tuple(_entry(entry) for entry in given["content"])
    tokens, values = given.get("tokens") or [], given.get("token_logprobs") or []
    listed: Sequence[Any] = given.get("top_logprobs") or [{}] * len(tokens)
    return tuple(
        TokenLogprob(token, value if value is not None else 0.0, dict(others or {}))
        for token, value, others in zip(tokens, values, listed, strict=False)
    )


def _entry(entry: Mapping[str, Any]) -> TokenLogprob:
    others = {other["token"]: other["logprob"] for other in entry.get("top_logprobs") or []}
    return TokenLogprob(entry["token"], entry["logprob"], others)


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
