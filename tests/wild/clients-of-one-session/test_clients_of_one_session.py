"""A client acts only in an episode that it has seen, and continues it when it comes back."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from mcp.server.mcpserver.exceptions import ToolError

from wayword.envs import make
from wayword.envs.mcp import server


def test_a_client_does_not_act_in_the_episode_of_another(tmp_path: Path) -> None:
    app, session = server(make("household"), tmp_path / "run")

    async def call(client: str, tool: str, **given: Any) -> Any:
        context = SimpleNamespace(headers={"mcp-session-id": client})
        return await app.call_tool(tool, given, context)

    async def play() -> None:
        await call("a", "begin")
        await call("a", "act", action="turn_left")
        first = session.episode
        # Another session, as of a client that has lost its own, joins the episode.
        await call("a again", "act", action="turn_left")
        assert len(session._env.trajectory().steps) == 2
        await call("b", "begin")
        for tool, given in (("act", {"action": "turn_left"}), ("actions", {})):
            with pytest.raises(ToolError, match=f"another client ended {first}"):
                await call("a", tool, **given)
        assert not session._env.trajectory().steps, "no turn was taken"
        await call("a", "look")
        await call("a", "act", action="turn_left")
        await call("b", "act", action="turn_left")
        assert len(session._env.trajectory().steps) == 2

    asyncio.run(play())
    session.close()
