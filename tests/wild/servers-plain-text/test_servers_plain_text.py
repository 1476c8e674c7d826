"""Replies of status 200 that are no JSON, and servers that do not speak HTTP/1.1."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from helpers.loopback import serving
from helpers.served_runs import good, http, played, raw_server, send_request
from wayword.core.errors import ModelError

OTHER = "set model.base_url to its OpenAI-compatible one"
HTTP2 = b"\x00\x00\x12\x04\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00d"
"""The beginning of the settings that a server sends over HTTP/2."""
FATAL = {
    "an answer": (http(b"Go to the kitchen."), OTHER),
    "a sign of life": (http(b"OK"), OTHER),
    "a long answer": (http(b"Go on. " * 2000), OTHER),
    "a number": (http(b"42"), OTHER),
    "YAML": (http(b"choices:\n- message: hi\n"), OTHER),
    "zipped twice": (http(b"\x1f\x8b\x08\x00\x00"), OTHER),
    "an unsupported model": (http(b"unsupported model: a/b:c"), "name after --model"),
    "a page": (http(b"<html><body>hi</body></html>"), "it sent a page"),
    "a stream": (http(b'data: {"a": 1}\n\ndata: {"a": 2}\n\n'), "it streams"),
    "HTTP/2": (HTTP2, "it does not speak HTTP/1.1"),
    "another protocol": (b"SSH-2.0-OpenSSH_9.6\r\n", "it does not speak HTTP/1.1"),
    "an alert of TLS": (b"\x15\x03\x01\x00\x02\x02F", "it does not speak HTTP/1.1"),
}
MOMENTARY = {
    "nothing": http(b""),
    "a cut answer": http(b'{"choices": [{"message": {"content": "Go'),
    "busy": http(b"Service busy, please try again later"),
}


@pytest.mark.parametrize("name", FATAL)
def test_a_first_reply_in_another_form_is_fatal_at_once(name: str) -> None:
    reply, remedy = FATAL[name]
    with raw_server(reply) as (address, paths):
        error = send_request(address)
    assert isinstance(error, ModelError)
    assert (error.fatal, error.retryable) == (True, False)
    assert remedy in str(error)
    assert len([path for path in paths if path.endswith("/completions")]) == 1


@pytest.mark.parametrize("name", MOMENTARY)
def test_a_reply_that_may_be_cut_off_is_retried(name: str) -> None:
    with raw_server(MOMENTARY[name]) as (address, _):
        error = send_request(address)
    assert isinstance(error, ModelError)
    assert (error.fatal, error.retryable) == (False, True)


def test_after_an_answer_a_text_is_a_fault_of_the_moment(tmp_path: Path) -> None:
    count = [0]

    def answer(route: str, body: dict[str, Any], headers: object) -> tuple[int, Any]:
        count[0] += 1
        return (200, b"hi") if count[0] == 2 else good(body)

    run = played(answer, tmp_path / "run", retries=3)
    assert run.outcome.finished == 3


def test_an_encrypted_request_to_a_plain_server_names_the_scheme() -> None:
    with serving(lambda *_: (200, {})) as server:
        error = send_request(server.address.replace("http://", "https://"))
    assert "begin model.base_url with http:// if the server has no TLS" in str(error)
