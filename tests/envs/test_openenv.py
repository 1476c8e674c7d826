"""The server in OpenEnv's messages: sessions, a token, errors; over real sockets on loopback."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect
from websockets.sync.client import ClientConnection, connect

from wayword.core.errors import UsageError
from wayword.envs import make
from wayword.envs.openenv import OpenEnvServer, serve


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    server = serve("two_phase", "127.0.0.1", 0)
    bound = server.config.bind_socket()
    thread = threading.Thread(
        target=server.run, kwargs={"sockets": [bound]}, daemon=True
    )
    thread.start()
    # The socket is bound, and refuses until the server listens
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.01)
    yield f"ws://127.0.0.1:{bound.getsockname()[1]}/ws"
    server.should_exit = True
    thread.join(5)


def send(client: ClientConnection, kind: str, **data: Any) -> dict[str, Any]:
    """The data of the reply to one message."""
    client.send(json.dumps({"type": kind, "data": data}))
    reply: dict[str, Any] = json.loads(client.recv(60))
    return dict(reply["data"])


def test_a_remote_environment_does_what_a_local_one_does(url: str) -> None:
    local = make("two_phase", reward="success", include=["expert_action"])
    with connect(url, proxy=None) as client:
        result = send(client, "reset", seed=3, include=["expert_action"])
        text, info = local.reset(seed=3)
        assert result["observation"] == {"text": text, "metadata": info}
        for _ in range(2):
            command = info["expert_action"]
            result = send(client, "step", text=command)
            text, reward, terminated, truncated, info = local.step(command)
            metadata = {**info, "truncated": truncated}
            assert result["observation"] == {"text": text, "metadata": metadata}
            assert (result["reward"], result["done"]) == (reward, terminated)
        assert info["success"] is True
        assert "call reset()" in send(client, "step", text="stop")["message"]


def test_a_reset_takes_the_difficulty_of_a_new_scene() -> None:
    with client_of("houses:train").websocket_connect("/ws") as ws:
        ws.send_json({"type": "reset", "data": {"seed": 0, "options": {"rooms": 6}}})
        assert "-r6-" in ws.receive_json()["data"]["observation"]["metadata"]["episode"]


def test_each_socket_is_a_session_of_its_own(url: str) -> None:
    with connect(url, proxy=None) as one, connect(url, proxy=None) as other:
        send(one, "reset", episode_id=make("two_phase").tasks[0].episode.id)
        send(other, "reset", seed=1)
        send(one, "step", text="go[hallway]")
        assert send(other, "step", text="sing")["observation"]["metadata"]["steps"] == 1


def client_of(name: str, **options: Any) -> TestClient:
    """A client that asks the way a program of this machine does."""
    return TestClient(
        OpenEnvServer(name, **options).app(), headers={"Host": "localhost:8765"}
    )


DEEP = "[" * 5_000
ODD = [
    *(
        "no json",
        "[]",
        "3",
        DEEP,
        f'{{"data": {DEEP}',
        '{"data": NaN}',
        '{"data": "\\ud800"}',
    ),
    f'{{"seed": 1{"0" * 5_000}}}',
]


@pytest.mark.parametrize(
    "text",
    [
        *('{"data": {}}', '{"type": "dance"}', '{"type": ["reset"]}', *ODD),
        '{"type": "reset", "data": [1]}',
        '{"type": "reset", "data": {"seed": "one"}}',
        '{"type": "reset", "data": {"include": 3}}',
        '{"type": "reset", "data": {"include": ["expert"]}}',
        '{"type": "reset", "data": {"seed": {}}}',
        '{"type": "reset", "data": {"episode_id": 1.5}}',
    ],
    ids=range(17),
)
def test_wrong_messages_are_answered_and_the_session_goes_on(text: str) -> None:
    with client_of("two_phase").websocket_connect("/ws") as ws:
        ws.send_text(text)
        assert ws.receive_json()["type"] == "error"
        ws.send_bytes(text.encode())
        assert ws.receive_json()["type"] == "error"
        ws.send_json({"type": "reset", "data": {"seed": 0}})
        assert ws.receive_json()["type"] == "observation"


def test_a_body_is_not_read(url: str) -> None:
    """300 MB are announced and 2 MB sent: the answer comes before the rest."""
    port = int(url.rpartition(":")[2].removesuffix("/ws"))
    head = f"POST /metadata HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: 300000000\r\n\r\n"
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        connection.sendall(head.encode() + b"x" * 2_000_000)
        assert connection.recv(100).startswith(b"HTTP/1.1 405")


def test_a_token_is_requested_in_the_header_or_the_path() -> None:
    client = TestClient(OpenEnvServer("two_phase", token="secret-word").app())
    assert client.get("/metadata").status_code == 401
    assert (
        client.get("/metadata", headers={"Authorization": "Bearer no"}).status_code
        == 401
    )
    right = {"Authorization": "Bearer secret-word"}
    assert client.get("/metadata", headers=right).status_code == 200
    assert client.get("/secret-word/metadata").status_code == 200
    assert client.get("/health").status_code == 200
    with pytest.raises(WebSocketDisconnect), client.websocket_connect("/wrong/ws"):
        pass
    with client.websocket_connect("/secret-word/ws") as ws:
        ws.send_json({"type": "reset"})
        assert ws.receive_json()["type"] == "observation"


def test_a_page_of_some_web_site_is_refused() -> None:
    client = client_of("two_phase")
    elsewhere = {"Origin": "https://example.com"}
    assert client.get("/metadata", headers=elsewhere).status_code == 401
    with (
        pytest.raises(WebSocketDisconnect),
        client.websocket_connect("/ws", headers=elsewhere),
    ):
        pass
    rebound = {"Host": "evil.example"}  # a page whose own name leads to 127.0.0.1
    assert client.get("/metadata", headers=rebound).status_code == 401
    here = {"Origin": "http://localhost:3000"}
    assert client.get("/metadata", headers=here).status_code == 200


def test_there_are_only_so_many_sessions() -> None:
    client = client_of("two_phase", max_sessions=1)
    with client.websocket_connect("/ws"), client.websocket_connect("/ws") as second:
        assert "1 sessions already" in second.receive_json()["data"]["message"]


def test_http_requests_share_one_session_that_plays_like_a_local_one() -> None:
    client = client_of("two_phase")
    local = make("two_phase", reward="success", include=["expert_action"])
    assert client.get("/state").status_code == 400  # no episode yet
    text, info = local.reset(seed=3)
    start = client.post("/reset", json={"seed": 3, "include": ["expert_action"]})
    assert start.json()["observation"] == {"text": text, "metadata": info}
    done = False
    while not done:
        command = info["expert_action"]
        reply = client.post("/step", json={"action": {"text": command}}).json()
        text, reward, done, _, info = local.step(command)
        assert (reply["observation"]["text"], reply["reward"]) == (text, reward)
    assert reply["done"] is True
    assert client.get("/state").json()["ended"] == "stopped"


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ('{"action": {"text": 3.5}}', 400),
        ('{"action": {"text": "stop", "index": 0}}', 400),
        ('{"action": {}}', 400),
        ('{"action": "stop"}', 422),
        ('{"text": "stop"}', 422),
        *((text, 400) for text in ODD[:-1]),
    ],
)
def test_a_wrong_request_is_refused_in_one_line(body: str, status: int) -> None:
    client = client_of("two_phase")
    client.post("/reset", json={"seed": 0})
    reply = client.post("/step", content=body.encode("utf-8", "surrogatepass"))
    assert reply.status_code in (status, 422)
    assert "\n" not in reply.json()["detail"]


def test_episodes_are_listed_and_chosen_by_split_and_index() -> None:
    client = client_of("two_phase", episodes=5)
    assert client.get("/list_environments").json() == ["two_phase"]
    assert client.get("/two_phase/splits").json() == [{"name": "test", "type": "test"}]
    split = {"split": "test"}
    count = client.post("/two_phase/num_tasks", json=split).json()["num_tasks"]
    tasks = client.post("/two_phase/tasks", json=split).json()["tasks"]
    assert count == len(tasks) == 5
    one = client.post("/two_phase/task", json={**split, "index": 3}).json()["task"]
    some = client.post("/two_phase/task_range", json={**split, "start": 3}).json()
    assert one == tasks[3] == some["tasks"][0]
    start = client.post("/reset", json={**split, "index": 3}).json()
    assert start["observation"]["metadata"]["episode"] == tasks[3]["id"]
    assert client.post("/two_phase/task", json={**split, "index": 5}).status_code == 400
    assert client.post("/two_phase/tasks", json={"split": "x"}).status_code == 400
    assert client.post("/reset", json={"split": "x", "index": 0}).status_code == 400
    assert client.get("/houses/splits").status_code == 404


def test_without_a_split_in_its_name_a_dataset_serves_its_first_one() -> None:
    client = client_of("household", episodes=2)
    split = make("household", episodes=1).dataset.split
    assert client.get("/household/splits").json()[0]["name"] == split
    start = client.post("/reset", json={"split": split, "index": 1})
    assert start.status_code == 200


def test_the_messages_are_tools_of_the_model_context_protocol() -> None:
    client = client_of("two_phase")

    def call(method: str, **params: Any) -> dict[str, Any]:
        request = {"jsonrpc": "2.0", "id": 7, "method": method, "params": params}
        reply: dict[str, Any] = client.post("/mcp", json=request).json()
        assert (reply["jsonrpc"], reply["id"]) == ("2.0", 7)
        return reply

    tools = call("tools/list")["result"]["tools"]
    assert [tool["name"] for tool in tools] == ["begin", "act", "status"]
    fields = tools[1]["inputSchema"]["properties"]
    assert list(fields) == ["text", "index"], "a menu is also played by number"
    start = call("tools/call", name="begin", arguments={"seed": 0})["result"]
    assert "Task:" in start["content"][0]["text"]
    wrong = call("tools/call", name="act", arguments={"words": "stop"})["result"]
    assert wrong["isError"] is True
    assert call("tools/call", name="jump")["error"]["code"] == -32602
    assert call("sing")["error"]["code"] == -32601
    assert client.post("/mcp", json={}).json()["error"]["code"] == -32600


def test_an_entry_of_a_menu_is_played_by_its_index() -> None:
    client = client_of("two_phase", actions="menu")
    for action in ({"index": 0}, {"text": None, "index": 0}, {"text": "0"}):
        client.post("/reset", json={"seed": 0})
        reply = client.post("/step", json={"action": action}).json()
        assert reply["observation"]["metadata"]["rejected"] is False


def test_every_page_but_health_needs_the_token() -> None:
    app = OpenEnvServer("two_phase", token="secret-word").app()
    client = TestClient(app)
    right = {"Authorization": "Bearer secret-word"}
    for route in app.routes:
        path = route.path.replace("{dataset}", "two_phase")
        if path.startswith("/{token}") or path.endswith("/ws"):
            continue
        method = "POST" if "POST" in route.methods else "GET"
        refused = client.request(method, path, json={})
        admitted = client.request(method, path, json={}, headers=right)
        assert (refused.status_code == 401) == (path != "/health")
        assert admitted.status_code != 401


def test_others_reach_it_with_a_token_only() -> None:
    with pytest.raises(UsageError, match="WAYWORD_ENV_TOKEN"):
        serve("two_phase", "0.0.0.0", 0)


@pytest.mark.parametrize(
    ("path", "body", "hint"),
    [
        ("/reset", {"sed": 0}, "a reset has no 'sed'; did you mean 'seed'?"),
        (
            "/step",
            {"action": {"txt": "stop"}},
            "a step's action has no 'txt'; did you mean 'text'?",
        ),
    ],
)
def test_a_misspelled_key_is_named(path: str, body: dict[str, Any], hint: str) -> None:
    client = client_of("two_phase")
    client.post("/reset", json={})
    reply = client.post(path, json=body)
    assert reply.status_code >= 400
    assert hint in reply.text
