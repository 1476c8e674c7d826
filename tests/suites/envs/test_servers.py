"""The command `wayword mcp`, asked by MCP's own client."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any


def test_the_command_speaks_mcp(tmp_path: Path) -> None:
    from mcp.client.client import Client
    from mcp.client.stdio import StdioServerParameters, stdio_client

    command = ["-m", "wayword", "mcp", "two_phase", "--out", str(tmp_path / "run")]
    parameters = StdioServerParameters(command=sys.executable, args=command)

    async def play() -> str:
        async with Client(stdio_client(parameters)) as client:
            answer: Any = await client.call_tool("begin", {})
            return str(answer.content[0].text)

    assert "Task: Find the Red Bull can." in asyncio.run(play())
