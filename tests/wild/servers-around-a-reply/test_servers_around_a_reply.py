"""Complete replies between comments, marks of a stream, and garbage."""

from __future__ import annotations

import json
from typing import Any

import pytest

from helpers.loopback import chat, serving
from helpers.served_runs import send_request
from wayword.core.errors import ModelError
from wayword.core.model import Completion

REPLY = chat("hi")
OK = json.dumps(REPLY).encode()
COMMENTS = b": PROCESSING\n\n: PROCESSING\n\n"
READ: dict[str, Any] = {
    "the end of a stream": OK + b"data: [DONE]\n\n",
    "the end of a stream on its own line": OK + b"\n\ndata: [DONE]\n\n",
    "comments first": COMMENTS + OK,
    "blank lines first": b"\n" * 300 + OK,
    "one event": b"event: message\ndata: " + OK + b"\n\ndata: [DONE]\n\n",
    "zeros": OK + b"\0\0\0",
    "a script": OK + b"<script>inject()</script>",
    "UTF-16": json.dumps(REPLY).encode("utf-16"),
    "a list of one": [REPLY],
    "a text": json.dumps(json.dumps(REPLY)).encode(),
    "an envelope with a text": {"statusCode": 200, "body": json.dumps(REPLY)},
    "an empty error": {**REPLY, "error": {"code": 0, "message": ""}},
}


@pytest.mark.parametrize("name", READ)
def test_a_complete_reply_is_read(name: str) -> None:
    with serving(lambda *_: (200, READ[name])) as server:
        answer = send_request(server.address)
    assert isinstance(answer, Completion)
    assert answer.text == "hi"
    assert answer.usage.prompt == 50
    assert len(server.asked) == 1


PART = b'data: {"choices": [{"delta": {"content": "h"}}]}\n\n'
FATAL = {
    "parts": PART + PART + b"data: [DONE]\n\n",
    "one part": COMMENTS + PART + b"data: [DONE]\n\n",
    "lines": b'{"message": {"content": "h"}}\n{"done": true}\n',
}


@pytest.mark.parametrize("name", FATAL)
def test_a_stream_is_fatal_at_once(name: str) -> None:
    with serving(lambda *_: (200, FATAL[name])) as server:
        error = send_request(server.address)
    assert isinstance(error, ModelError)
    assert (error.fatal, error.retryable) == (True, False)
    assert "it streams" in str(error)


def test_two_replies_are_none() -> None:
    with serving(lambda *_: (200, OK + OK)) as server:
        error = send_request(server.address)
    assert isinstance(error, ModelError)


def test_an_error_as_an_event_is_that_error() -> None:
    event = b'event: error\ndata: {"error": {"message": "Overloaded"}}\n\n'
    with serving(lambda *_: (200, event)) as server:
        error = send_request(server.address)
    assert isinstance(error, ModelError)
    assert (error.fatal, error.retryable) == (False, True)
    assert str(error).endswith("Overloaded")
