"""Replies that are encoded, streamed, or a page."""

from __future__ import annotations

import gzip
import json
import socket
from typing import Any

import pytest

from helpers.served_runs import http, raw_server, send_request
from wayword.core.errors import ModelError, UsageError
from wayword.core.model import Completion

OK = json.dumps(
    {"choices": [{"message": {"content": "hi"}, "finish_reason": None}], "usage": None}
).encode()
UNCOUNTED = OK.replace(b"message", b"delta").replace(
    b'"usage": null', b'"usage": {"total_tokens": 0}'
)
CHUNKS = b"".join(
    b"%x\r\n%s\r\n" % (len(OK[i : i + 7]), OK[i : i + 7]) for i in range(0, len(OK), 7)
)
READ = {
    "http/1.0": (http(OK, "HTTP/1.0 200 OK"), "hi"),
    "chunked": (http(CHUNKS + b"0\r\n\r\n", Transfer_Encoding="chunked"), "hi"),
    "byte order mark": (http(b"\xef\xbb\xbf" + OK), "hi"),
    "blank lines": (http(b"\n\n   \n" + OK), "hi"),
    "raw line break": (http(OK.replace(b"hi", b"h\ni")), "h\ni"),
    "bad UTF-8": (http(OK.replace(b"hi", b"h\xffi")), "h\ufffdi"),
    "lone surrogate": (http(OK.replace(b"hi", b"h\\ud835i")), "h\ufffdi"),
    "a pair": (http(OK.replace(b"hi", b"\\ud83d\\ude00")), "\U0001f600"),
    "NaN": (http(OK.replace(b"null}", b'{"prompt_tokens": NaN}}')), "hi"),
    "form of a stream": (http(OK.replace(b"message", b"delta")), "hi"),
    "form of a stream, without counts": (http(UNCOUNTED), "hi"),
    "form of the other route": (
        http(OK.replace(b'"message": {"content": "hi"}', b'"text": "hi"')),
        "hi",
    ),
    "gzip": (http(gzip.compress(OK), Content_Encoding="gzip"), "hi"),
}


@pytest.mark.parametrize("name", READ)
def test_what_can_be_read_is_read(name: str) -> None:
    reply, text = READ[name]
    with raw_server(reply) as (address, _):
        answer = send_request(address)
    assert isinstance(answer, Completion)
    assert answer.text == text


def test_a_server_on_ipv6() -> None:
    with raw_server(http(OK), socket.AF_INET6) as (address, _):
        assert isinstance(send_request(f"{address}/"), Completion)


STREAM = b': keep-alive\n\ndata: {"choices": [{"delta": {"content": "h"}}]}\n\ndata: [DONE]\n\n'
PAGE = b"<!doctype html><html><title>Gateway</title></html>"
ERRORS: dict[str, tuple[bytes, str, bool, bool]] = {
    # name: reply, part of the message, fatal, retried
    "page": (http(PAGE), "a page and not an API's reply", True, False),
    "stream": (
        http(STREAM, Content_Type="text/event-stream"),
        "it streams",
        True,
        False,
    ),
    "lines of JSON": (http(b'{"a": 1}\n{"a": 2}\n'), "it streams", True, False),
    "zstd": (http(b"\x28\xb5\x2f\xfd" + OK, Content_Encoding="zstd"), "", True, False),
    "half": (http(OK[:20]), "unreadable reply", False, True),
    "498": (
        http(b'{"error": {"message": "capacity"}}', "HTTP/1.1 498 X"),
        "498",
        False,
        True,
    ),
    "529": (
        http(b'{"error": {"message": "overloaded"}}', "HTTP/1.1 529 X"),
        "529",
        False,
        True,
    ),
    "413": (
        http(b"<html>413 Too Large</html>", "HTTP/1.1 413 X"),
        "window",
        False,
        False,
    ),
    "daily": (
        http(b'{"code": "rate_limit_daily", "message": "429"}'),
        "429",
        False,
        True,
    ),
    "redirect": (
        http(b"", "HTTP/1.1 308 X", Location="http://x/v1"),
        "redirects",
        True,
        False,
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_each_failure_says_what_to_do(name: str) -> None:
    reply, words, fatal, retried = ERRORS[name]
    with raw_server(reply) as (address, _):
        error = send_request(address)
    assert isinstance(error, ModelError)
    assert words in str(error)
    assert "\n" not in str(error)
    assert (error.fatal, error.retryable) == (fatal, retried)


@pytest.mark.parametrize(
    ("address", "meant"),
    [
        ("http://127.0.0.1:9/v1/chat/completions", "http://127.0.0.1:9/v1"),
        ("http://127.0.0.1:9/v1/completions/", "http://127.0.0.1:9/v1"),
        ("127.0.0.1:9/v1", "http://127.0.0.1:9/v1"),
        ("localhost:9/v1", "http://localhost:9/v1"),
    ],
)
def test_a_wrong_address_says_which_one_to_use(address: str, meant: str) -> None:
    error = send_request(address)
    assert isinstance(error, UsageError)
    assert str(error).endswith(f"set it to {meant}")


def test_a_page_without_v1_says_so() -> None:
    with raw_server(http(PAGE)) as (address, _):
        error: Any = send_request(address.removesuffix("/v1"))
    assert f"usually ends in /v1: {address}" in str(error)
