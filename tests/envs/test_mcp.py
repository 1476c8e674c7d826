"""The MCP server, asked by the protocol's own client."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from mcp.client.client import Client

from helpers.serving import command_served
from wayword.core.errors import RecordingError, UsageError
from wayword.envs import make
from wayword.envs.mcp import (
    AssistantSession,
    http_server,
    one_argument,
    server,
    tool_text,
)
from wayword.runs import RunFolder


async def call(client: Client, tool: str, **given: Any) -> tuple[str, bool]:
    answer: Any = await client.call_tool(tool, given)
    return answer.content[0].text, bool(answer.is_error)


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("begin", {"episodeId": "red_bull_can_from_living_room_0"}),
        ("act", {"command": "go[hallway]"}),
        ("act", {"action": "go", "place": "hallway", "reason": "it is near"}),
        ("act", {"params": {"Action": "go[hallway]"}}),
        ("look", {"reason": "to see"}),
    ],
)
def test_the_server_takes_arguments_in_every_form_that_clients_send(
    tool: str, given: dict[str, Any], tmp_path: Path
) -> None:
    made, sitting = server(make("two_phase", episodes=2), tmp_path / "run")

    async def play() -> str:
        async with Client(made) as client:
            if tool != "begin":
                await call(client, "begin")
            text, failed = await call(client, tool, **given)
            assert not failed, text
            return text

    with closing(sitting):
        text = asyncio.run(play())
    assert "no action" not in text.lower()


def test_an_episode_is_played_by_tools_and_recorded(tmp_path: Path) -> None:
    made, sitting = server(make("two_phase", episodes=2), tmp_path / "run")

    async def play() -> None:
        async with Client(made) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert set(tools) == {"begin", "look", "act", "actions", "ask"}
            assert all(tool.description for tool in tools.values())
            refused, failed = await call(client, "look")
            assert failed
            assert "call `begin` first" in refused
            output, _ = await call(client, "begin")
            assert "Find the Red Bull can." in output
            seen, _ = await call(client, "look")
            assert seen in output
            assert "go[hallway]" in (await call(client, "actions"))[0].splitlines()
            assert (await call(client, "ask", question="Where is it?"))[1]
            assert "no action" in (await call(client, "act", action="dance"))[0].lower()
            await call(client, "act", action="go[hallway]")
            last, _ = await call(client, "act", action="stop")
            assert "the task is not done" in last
            assert (
                await call(client, "begin", episode="red_bull_can_from_living_room_0")
            )[1]
            await call(client, "begin")

    asyncio.run(play())
    sitting.close()
    run = RunFolder.read(tmp_path / "run")
    (record,) = run.records()
    assert record.scores["phase_1"] == 1.0
    assert [step.feedback.status for step in record.trajectory.steps] == [
        "rejected",
        "ok",
        "ok",
    ]
    assert [failed.reason for failed in run.failures()] == ["the assistant left"]
    assert run.config["identity"]["agent"] == "assistant"


def test_a_level_that_ends_by_itself_was_not_stopped(tmp_path: Path) -> None:
    env = make("grounding", episodes=1)
    session = AssistantSession(env, tmp_path / "run")
    answer = session.begin()
    while "Call `begin`" not in answer:
        answer = session.act(str(env.game.expert_action(env.actor)))
    session.close()
    assert "The episode is over: the task is done" in answer
    assert "You stopped" not in answer


@pytest.mark.parametrize("empty", [None, "mug_2"])
def test_null_hides_no_id(empty: str | None) -> None:
    given = {"action": "pick_up", "object": empty, "objectId": "mug_1"}
    action = one_argument("act", given)["action"]
    assert tool_text(action) == json.dumps(
        {"action": "pick_up", "arguments": [empty or "mug_1"]}
    )


def in_brackets(verb: str, *arguments: str) -> str:
    return json.dumps({"action": verb, "arguments": arguments})


GOTO = {"name": "goto", "arguments": '{"target": "pot_1"}'}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"action": "goto", "input": "fridge_1"}, in_brackets("goto", "fridge_1")),
        (
            {"name": "chat", "input": {"text": "hello"}},
            in_brackets("chat", "hello"),
        ),
        # Parts of messages as model interfaces have them.
        ({"type": "tool_use", "name": "act", "input": {"action": "stop"}}, "stop"),
        ({"type": "function", "function": GOTO}, in_brackets("goto", "pot_1")),
        (
            {"id": "call_1", "type": "function", "function": GOTO},
            in_brackets("goto", "pot_1"),
        ),
        ({"type": "text", "text": "stop"}, "stop"),
        ({"question": "Where is the mug?", "type": "text"}, "Where is the mug?"),
        # An action may stand under "type".
        ({"type": "goto", "object": "mug_1"}, in_brackets("goto", "mug_1")),
        ({"command": "stop", "session": None}, "stop"),
        ({"command": "stop", "session": "a"}, "stop"),
        # Words of a text are no JSON.
        ({"action": "chat", "message": "true"}, in_brackets("chat", "true")),
        ({"action": "chat", "message": "1e3"}, in_brackets("chat", "1e3")),
        ({"action": "goto", "arguments": [None]}, "goto"),
        (
            {"action": "goto", "arguments": [{"id": "mug_1"}]},
            in_brackets("goto", "mug_1"),
        ),
        (
            {"action": "goto", "arguments": "[" * 100_000},
            in_brackets("goto", "[" * 100_000),
        ),
    ],
)
def test_objects_of_clients_are_one_action(value: Any, expected: str) -> None:
    assert tool_text(value) == expected


def test_another_environment_does_not_write_into_a_folder_with_episodes(
    tmp_path: Path,
) -> None:
    env = make("two_phase")
    first = AssistantSession(env, tmp_path / "run")
    first.begin()
    first.act("stop")
    first.close()
    with pytest.raises(RecordingError):
        AssistantSession(make("two_phase", max_steps=3), tmp_path / "run")


def test_an_assistant_gets_one_try_at_an_episode(tmp_path: Path) -> None:
    session = AssistantSession(make("two_phase", episodes=2), tmp_path / "run")
    with closing(session):
        session.begin(EPISODE)
        session.act("go[hallway]")
        with pytest.raises(UsageError, match="was played before"):
            session.begin(EPISODE)
        # The refusal did not end the try.
        assert "the task is not done" in session.act("stop")


def test_an_assistant_cannot_come_back_to_an_episode_that_it_left(
    tmp_path: Path,
) -> None:
    session = AssistantSession(make("two_phase", episodes=2), tmp_path / "run")
    with closing(session):
        session.begin(EPISODE)
        session.begin()
        with pytest.raises(UsageError, match="was played before"):
            session.begin(EPISODE)


EPISODE = "red_bull_can_from_living_room_0"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run folder of the server."""
    return tmp_path_factory.mktemp("served") / "run"


@pytest.fixture(scope="module")
def address(recorded: Path) -> Iterator[str]:
    """``wayword mcp --http``, with a token."""
    words = ["mcp", "two_phase", "--http", "0", "--episodes", EPISODE]
    words += ["--out", str(recorded)]
    with command_served(words, "secret-word") as url:
        yield url


def test_over_http_a_client_with_the_token_plays(address: str, recorded: Path) -> None:
    from mcp.client.streamable_http import streamable_http_client
    from mcp.shared._httpx_utils import create_mcp_http_client

    headers = {"Authorization": "Bearer secret-word"}

    async def play() -> None:
        http = create_mcp_http_client(headers=headers)
        transport = streamable_http_client(address, http_client=http)
        async with http, Client(transport) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            hints = {name: tool.annotations for name, tool in tools.items()}
            assert [name for name, hint in hints.items() if hint.read_only_hint] == [
                "look",
                "actions",
            ]
            await call(client, "begin")
            await call(client, "act", action="stop")
            _, failed = await call(client, "begin")
            assert failed, "only the chosen episode is offered"

    asyncio.run(play())
    (record,) = RunFolder.read(recorded).records()
    assert record.episode_id == EPISODE


def test_over_http_a_client_without_the_token_is_refused(address: str) -> None:
    request = Request(address, data=b"{}", headers={"Accept": "application/json"})
    with pytest.raises(HTTPError, match="401"):
        urlopen(request, timeout=30)


def test_over_http_others_need_a_token(tmp_path: Path) -> None:
    app, session = server(make("two_phase", episodes=1), tmp_path / "run")
    with closing(session), pytest.raises(UsageError, match="WAYWORD_ENV_TOKEN"):
        http_server(app, "0.0.0.0", 0)


def test_an_episode_that_nothing_judges_is_called_neither_done_nor_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    env = make("two_phase", episodes=1)
    judged = env.step

    def step(answer: str) -> Any:
        *result, info = judged(answer)
        return (*result, {**info, "success": None})

    monkeypatch.setattr(env, "step", step)
    with closing(AssistantSession(env, tmp_path / "run")) as sitting:
        sitting.begin()
        assert "is over: nothing judges the task." in sitting.act("stop")
