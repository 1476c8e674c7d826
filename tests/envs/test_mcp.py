"""The MCP server, asked by the protocol's own client."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from mcp.client.client import Client

from wayword.core.errors import RecordingError
from wayword.envs import make
from wayword.envs.mcp import AssistantSession, server
from wayword.runs import RunFolder


async def call(client: Client, tool: str, **given: Any) -> tuple[str, bool]:
    answer: Any = await client.call_tool(tool, given)
    return answer.content[0].text, bool(answer.is_error)


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
            told, _ = await call(client, "begin")
            assert "Find the Red Bull can." in told
            seen, _ = await call(client, "look")
            assert seen in told
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
