"""Keys in quotes, addresses that are none, and certificates that are not trusted."""

from __future__ import annotations

import pytest
from aiohttp import ClientConnectorCertificateError
from aiohttp.client_reqrep import ConnectionKey

from helpers.loopback import chat, serving
from helpers.served_runs import send_request
from wayword.core.errors import UsageError
from wayword.core.model import Completion
from wayword.models.servers.connection import model_error

KEYS = ['"sk-1"', "'sk-1'", "\ufeffsk-1", "sk-1\r\n", "Bearer sk-1", ' "sk-1"\n']


@pytest.mark.parametrize("key", KEYS)
def test_a_key_is_sent_without_what_is_around_it(
    key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    sent: list[str] = []
    with serving(
        lambda _, __, headers: (sent.append(headers["authorization"]), (200, chat("")))[
            1
        ]
    ) as server:
        send_request(server.address)
    assert sent == ["Bearer sk-1"]


def test_quotes_do_not_belong_to_an_address() -> None:
    with serving(lambda *_: (200, chat("hi"))) as server:
        answer = send_request(f'"{server.address}"')
    assert isinstance(answer, Completion)


@pytest.mark.parametrize(
    "address",
    [
        *("http:/localhost:8000/v1", "http://", "http:///v1", "http://[::1/v1"),
        *("http://localhost:80a/v1", "http://localhost:80000/v1", "http://::1:8000/v1"),
        "http://my server:8000/v1",
    ],
)
def test_an_address_without_a_host_is_one_line(address: str) -> None:
    error = send_request(address)
    assert isinstance(error, UsageError)
    assert "is not an address; write http://HOST:PORT/v1" in str(error)


def test_a_pasted_list_of_models_says_which_address_to_use() -> None:
    error = send_request("http://127.0.0.1:9/v1/models")
    assert isinstance(error, UsageError)
    assert str(error).endswith("set it to http://127.0.0.1:9/v1")


def test_an_error_of_a_certificate_names_the_variable() -> None:
    key = ConnectionKey("lab", 443, True, True, None, None, None)
    cause = OSError("certificate verify failed: self-signed certificate")
    error = model_error(ClientConnectorCertificateError(key, cause), "https://lab/v1")
    assert "$SSL_CERT_FILE" in str(error)
    assert "self-signed certificate" in str(error)
