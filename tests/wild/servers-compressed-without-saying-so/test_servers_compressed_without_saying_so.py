"""A compressed reply without the header that says so."""

from __future__ import annotations

import gzip
import json
import zlib

import pytest

from helpers.served_runs import http, raw_server, send_request
from wayword.core.errors import ModelError
from wayword.core.model import Completion

REPLY = json.dumps({"choices": [{"message": {"content": "hi"}}]}).encode()
REPLIES = {
    "gzip": http(gzip.compress(REPLY)),
    "x-gzip": http(gzip.compress(REPLY), Content_Encoding="x-gzip"),
    "zlib": http(zlib.compress(REPLY)),
    "cut after its text": http(gzip.compress(REPLY)[:-8]),
}


@pytest.mark.parametrize("name", REPLIES)
def test_it_is_read(name: str) -> None:
    with raw_server(REPLIES[name]) as (address, _):
        answer = send_request(address)
    assert isinstance(answer, Completion)
    assert answer.text == "hi"


def test_an_endless_text_is_not_unpacked() -> None:
    large = gzip.compress(b'{"choices": "' + b" " * 50_000_000)
    with raw_server(http(large)) as (address, _):
        error = send_request(address)
    assert isinstance(error, ModelError)
    assert "unreadable reply" in str(error)
    assert len(str(error)) < 500
