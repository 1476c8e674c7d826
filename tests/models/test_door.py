"""A web page cannot use the served model: Host and Origin are looked at before anything else."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterator

import pytest

from helpers.loopback import Loopback, chat, serving
from wayword.models.parts.llamacpp import GuardedDoor


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[GuardedDoor, Loopback]]:
    told: list[str] = []

    def answer(route: str, body: object, headers: dict[str, str]) -> tuple[int, object]:
        told.append(headers["authorization"])
        return 200, chat(f"{route} {told[-1]}")

    with serving(answer, models={"data": []}) as inner:
        port = int(inner.address.split(":")[2].split("/")[0])
        with GuardedDoor(0, ("127.0.0.1", port), "k3y") as door:
            thread = threading.Thread(target=door.serve_forever, kwargs={"poll_interval": 0.01})
            thread.start()
            yield door, inner
            door.shutdown()
            thread.join()


def _ask(door: GuardedDoor, verb: str = "POST", **headers: str) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", door.server_address[1], timeout=5)
    connection.putrequest(verb, "/v1/chat/completions", skip_host=True)
    for name, value in {"Host": f"localhost:{door.server_address[1]}", **headers}.items():
        connection.putheader(name, value)
    connection.putheader("Content-Length", "2")
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
    served: tuple[GuardedDoor, Loopback], headers: dict[str, str], status: int
) -> None:
    door, inner = served
    before = len(inner.asked)
    found, body = _ask(door, **headers)
    assert found == status
    assert len(inner.asked) - before == (status == 200)
    assert (b"Bearer k3y" in body) is (status == 200)
    assert (b"of this machine" in body) is (status == 403)


def test_lists_pass_too(served: tuple[GuardedDoor, Loopback]) -> None:
    assert _ask(served[0], "GET") == (200, b'{"data": []}')


def test_a_request_without_a_length_is_refused(served: tuple[GuardedDoor, Loopback]) -> None:
    assert _ask(served[0], **{"Content-Length": "9" * 12})[0] == 400
