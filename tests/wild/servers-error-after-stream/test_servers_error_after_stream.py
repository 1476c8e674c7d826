"""Errors as the last event of an unrequested stream."""

from __future__ import annotations

import pytest

from helpers.served_runs import http, raw_server, send_request
from wayword.core.errors import ModelError

PART = 'data: {"choices": [{"delta": {"content": "Go"}}]}\n\n'
BODIES = {
    "a limit": (
        PART + 'data: {"error": {"message": "quota exceeded", "code": 429}}\n\n',
        "replied 429: quota exceeded",
        (False, True),
    ),
    "a fault, then the end": (
        PART
        + 'data: {"error": {"message": "engine died", "code": 500}}\n\ndata: [DONE]\n\n',
        "replied 500: engine died",
        (False, True),
    ),
    "the first event": (
        'event: error\ndata: {"type": "error", "error": {"message": "Overloaded"}}\n\n',
        "Overloaded",
        (False, True),
    ),
    "next to empty choices": (
        'data: {"choices": [], "error": {"code": 502, "message": "worker lost"}}\n\n',
        "replied 502: worker lost",
        (False, True),
    ),
    "a text": (
        PART + 'event: error\ndata: {"error": "network failure"}\n\n',
        "network failure",
        (False, True),
    ),
    "after a whole answer": (
        '{"choices": [{"message": {"content": "Go"}}]}\n{"error": {"message": "lost"}}\n',
        "lost",
        (False, True),
    ),
    "a wrong key": (
        PART + 'data: {"error": {"message": "Invalid API key", "code": 401}}\n\n',
        "set $OPENAI_API_KEY",
        (True, False),
    ),
    "vLLM": (
        PART + 'data: {"object": "error", "message": "bad request", "code": 400}\n\n',
        "replied 400: bad request",
        (False, False),
    ),
    "no error": (
        PART.replace("]}\n", '], "error": null}\n') + PART,
        "it streams although that was not asked for",
        (True, False),
    ),
}


@pytest.mark.parametrize("name", BODIES)
def test_an_error_within_a_stream_is_that_error(name: str) -> None:
    body, words, fates = BODIES[name]
    with raw_server(http(body.encode())) as (address, _):
        error = send_request(address)
    assert isinstance(error, ModelError)
    assert words in str(error)
    assert (error.fatal, error.retryable) == fates
