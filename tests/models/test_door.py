"""A web page cannot use the served model: Host and Origin are looked at before anything else."""

from __future__ import annotations

import http.client
import socket
import threading
from collections.abc import Iterator

import pytest
import uvicorn

from helpers.loopback import Loopback, chat, serving
from wayword.models.parts.llamacpp import local_proxy


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[int, Loopback]]:
    messages: list[str] = []

    def answer(route: str, body: object, headers: dict[str, str]) -> tuple[int, object]:
        messages.append(headers["authorization"])
        return 200, chat(f"{route} {messages[-1]}")

    with serving(answer, models={"data": []}) as inner:
        app = local_proxy(inner.address.removesuffix("/v1"), "k3y")
        keeper = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="off"))
        with socket.create_server(("127.0.0.1", 0)) as listening:
            kwargs = {"sockets": [listening]}
            thread = threading.Thread(target=keeper.run, kwargs=kwargs, daemon=True)
            thread.start()
            yield listening.getsockname()[1], inner
            keeper.should_exit = True
            thread.join()


def _ask(port: int, verb: str = "POST", **headers: str) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
    connection.putrequest(verb, "/v1/chat/completions", skip_host=True)
    for name, value in {
        "Host": f"localhost:{port}",
        "Content-Length": "2",
        **headers,
    }.items():
        connection.putheader(name, value)
    connection.endheaders(b"{}")
    answer = connection.getresponse()
    found = answer.status, answer.read()
    connection.close()
    return found


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Host": "127.0.0.1:1"}, 200),
        ({"Origin": "http://localhost:5173"}, 200),
        ({"Host": "evil.example:8080"}, 403),
        ({"Host": "127.0.0.1.evil.example"}, 403),
        ({"Host": ""}, 403),
        ({"Host": "[::1"}, 403),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
    ],
)
def test_only_this_machine_is_answered(
    served: tuple[int, Loopback], headers: dict[str, str], status: int
) -> None:
    port, inner = served
    before = len(inner.asked)
    found, body = _ask(port, **headers)
    assert found == status
    assert len(inner.asked) - before == (status == 200)
    assert (b"Bearer k3y" in body) is (status == 200)
    assert (b"only requests from this machine" in body) is (status == 403)


def test_lists_pass_too(served: tuple[int, Loopback]) -> None:
    assert _ask(served[0], "GET") == (200, b'{"data": []}')


def test_a_request_that_is_too_long_is_refused(served: tuple[int, Loopback]) -> None:
    assert _ask(served[0], **{"Content-Length": "9" * 12})[0] == 400
