"""Cancelled calls and other requests of MCP clients leave the episode in order."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import anyio
from mcp.client.client import Client

from wayword.envs import make
from wayword.envs.mcp import server


def test_after_a_cancelled_call_the_next_is_answered(tmp_path: Path) -> None:
    app, session = server(make("two_phase"), tmp_path / "run")

    async def play() -> None:
        async with Client(app) as client:
            first: Any = await client.call_tool("begin", None)
            with anyio.move_on_after(0.001):
                await client.call_tool("act", {"action": "go[hallway]"})
            seen: Any = await client.call_tool("look", None)
        assert not first.is_error
        assert not seen.is_error
        taken = len(session._env.trajectory().steps)
        assert taken == ("You went to the hallway." in seen.content[0].text)

    asyncio.run(play())
    session.close()
