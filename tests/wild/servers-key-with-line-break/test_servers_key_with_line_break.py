"""A key from a file ends in a line break."""

from __future__ import annotations

import pytest

from helpers.loopback import chat, serving
from helpers.served_runs import send_request
from wayword.core.errors import UsageError


def test_the_key_is_stripped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", " sk-x12345678\n")
    heads: list[str] = []

    def answer(_: str, __: object, headers: dict[str, str]) -> tuple[int, object]:
        heads.append(headers["authorization"])
        return 200, chat("hi")

    with serving(answer) as server:
        send_request(server.address)
    assert heads == ["Bearer sk-x12345678"]


@pytest.mark.parametrize("key", ["sk-x1234\n5678", "“sk-x12345678”"])
def test_a_key_that_no_header_holds_is_one_line(
    monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    error = send_request("http://127.0.0.1:9/v1")
    assert isinstance(error, UsageError)
    assert "$OPENAI_API_KEY contains a character" in str(error)
    assert key not in str(error)
