"""From a server's JSON to a completion. Nothing in it is trusted to be there.

Chat and text completions, OpenAI's two ways of writing log-probabilities, and llama.cpp's.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from wayword.core.errors import ModelError
from wayword.core.model import TokenLogprob, Usage
from wayword.models.compatible.requests import ANSWER, Request


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
