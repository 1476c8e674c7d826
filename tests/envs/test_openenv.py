"""The server in OpenEnv's messages: sessions, a token, errors; over real sockets on loopback."""

from __future__ import annotations

import json
import socket
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from wayword.core.errors import UsageError
from wayword.envs import make
from wayword.envs.openenv import Remote, Server, serve


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    server = serve("two_phase", "127.0.0.1", 0)
    bound = server.config.bind_socket()
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]}, daemon=True)
    thread.start()
    while not server.started:  # the socket is bound, and refuses until the server listens
        assert thread.is_alive()
        time.sleep(0.01)
    yield f"http://127.0.0.1:{bound.getsockname()[1]}"
    server.should_exit = True
    thread.join(5)


def post(url: str, body: dict[str, Any]) -> dict[str, Any]:
    request = urllib.request.Request(url, json.dumps(body).encode(), method="POST")
    with urllib.request.urlopen(request, timeout=10) as answer:
        found: dict[str, Any] = json.load(answer)
    return found


def test_a_remote_environment_does_what_a_local_one_does(url: str) -> None:
    local = make("two_phase")
    with Remote(url, include=["expert_action"]) as env:
        seen, info = env.reset(seed=3)
        mine, own = local.reset(seed=3)
        assert (seen, info["expert_action"]) == (mine, own["expert_action"])
        for _ in range(2):
            command = info["expert_action"]
            seen, reward, ended, cut, info = env.step(command)
            assert (seen, reward, ended, cut) == local.step(command)[:4]
        assert ended
        assert info["success"] is True
        with pytest.raises(UsageError, match=r"call reset\(\)"):
            env.step("stop")


def test_each_socket_is_a_session_of_its_own(url: str) -> None:
    with Remote(url) as one, Remote(url) as other:
        one.reset(episode=make("two_phase").tasks[0].episode.id)
        other.reset(seed=1)
        one.step("go[hallway]")
        assert other.step("sing")[4]["steps"] == 1


def test_http_sessions_go_on_by_their_id(url: str) -> None:
    begun = post(f"{url}/reset", {"seed": 0})
    name = begun["observation"]["metadata"]["session_id"]
    post(f"{url}/reset", {"seed": 1})
    after = post(f"{url}/step", {"session_id": name, "action": {"text": "go[hallway]"}})
    assert after["done"] is False
    with urllib.request.urlopen(f"{url}/state?session_id={name}", timeout=10) as answer:
        assert json.load(answer)["step_count"] == 1


@pytest.mark.parametrize("body", [{"session_id": "none"}, {"action": 3}, {"action": {}}])
def test_wrong_requests_are_told_why(url: str, body: dict[str, Any]) -> None:
    with pytest.raises(urllib.error.HTTPError) as error:
        post(f"{url}/step", {"session_id": "none", **body})
    with error.value as answer:
        assert answer.code == 400
        assert json.load(answer)["detail"]


def client_of(name: str, **options: int) -> TestClient:
    """A client that asks the way a program of this machine does."""
    return TestClient(Server(name, **options).app(), headers={"Host": "localhost:8765"})


DEEP = "[" * 5_000
ODD = [
    *("no json", "[]", "3", DEEP, f'{{"data": {DEEP}', '{"data": NaN}', '{"data": "\\ud800"}'),
    f'{{"seed": 1{"0" * 5_000}}}',
]


@pytest.mark.parametrize(
    "text",
    [
        *('{"data": {}}', '{"type": "dance"}', '{"type": ["reset"]}', *ODD),
        '{"type": "reset", "data": [1]}',
        '{"type": "reset", "data": {"seed": "one"}}',
        '{"type": "reset", "data": {"include": 3}}',
    ],
    ids=range(14),
)
def test_wrong_messages_are_answered_and_the_session_goes_on(text: str) -> None:
    with client_of("two_phase").websocket_connect("/ws") as ws:
        ws.send_text(text)
        assert ws.receive_json()["type"] == "error"
        ws.send_bytes(text.encode())
        assert ws.receive_json()["type"] == "error"
        ws.send_json({"type": "reset", "data": {"seed": 0}})
        assert ws.receive_json()["type"] == "observation"


@pytest.mark.parametrize(
    "text",
    [
        *('{"seed": "one"}', '{"seed": {}}', '{"episode_id": []}', '{"episode_id": 1.5}', *ODD),
        '{"include": 3}',
        '{"include": {"a": 1}}',
    ],
    ids=range(14),
)
def test_odd_resets_are_refused_in_one_line(text: str) -> None:
    answer = client_of("two_phase").post("/reset", content=text)
    assert answer.status_code == 400
    assert "\n" not in answer.json()["detail"]


def test_a_body_is_refused_once_it_is_too_large(url: str) -> None:
    """300 MB are announced and 2 MB sent: the answer comes before the rest."""
    port = int(url.rpartition(":")[2])
    head = f"POST /reset HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: 300000000\r\n\r\n"
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        connection.sendall(head.encode() + b"x" * 2_000_000)
        assert connection.recv(100).startswith(b"HTTP/1.1 413")


def test_a_token_is_asked_for_in_the_header_or_the_path() -> None:
    client = TestClient(Server("two_phase", token="secret-word").app())
    assert client.post("/reset", json={}).status_code == 401
    assert client.post("/reset", json={}, headers={"Authorization": "Bearer no"}).status_code == 401
    right = {"Authorization": "Bearer secret-word"}
    assert client.post("/reset", json={}, headers=right).status_code == 200
    assert client.post("/secret-word/reset", json={}).status_code == 200
    assert client.get("/health").status_code == 200
    with pytest.raises(WebSocketDisconnect), client.websocket_connect("/wrong/ws"):
        pass
    with client.websocket_connect("/secret-word/ws") as ws:
        ws.send_json({"type": "reset"})
        assert ws.receive_json()["type"] == "observation"


def test_a_page_of_some_web_site_is_refused() -> None:
    client = client_of("two_phase")
    elsewhere = {"Origin": "https://example.com"}
    assert client.post("/reset", json={}, headers=elsewhere).status_code == 401
    with pytest.raises(WebSocketDisconnect), client.websocket_connect("/ws", headers=elsewhere):
        pass
    rebound = {"Host": "evil.example"}  # a page whose own name leads to 127.0.0.1
    assert client.post("/reset", json={}, headers=rebound).status_code == 401
    here = {"Origin": "http://localhost:3000"}
    assert client.post("/reset", json={}, headers=here).status_code == 200


def test_there_are_only_so_many_sessions() -> None:
    client = client_of("two_phase", most=1)
    client.post("/reset", json={})
    assert "1 sessions already" in client.post("/reset", json={}).json()["detail"]


def test_others_reach_it_with_a_token_only() -> None:
    with pytest.raises(UsageError, match="WAYWORD_ENV_TOKEN"):
        serve("two_phase", "0.0.0.0", 0)
    with pytest.raises(UsageError, match="no environment answers"):
        Remote("http://127.0.0.1:9", timeout=1)
