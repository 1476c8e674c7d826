"""OpenEnv's own client on our server, and the command `wayword mcp` asked by MCP's own client."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from openenv import GenericEnvClient

TOKEN = "a-word-for-the-test"


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """``wayword serve-env`` as a user starts it."""
    command = [sys.executable, "-m", "wayword", "serve-env", "two_phase", "--port", "0"]
    environment = {**os.environ, "WAYWORD_ENV_TOKEN": TOKEN}
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, env=environment
    ) as server:
        assert server.stderr is not None
        address = server.stderr.readline().split(" at ")[1].split()[0]
        where = urlsplit(address)
        for _ in range(600):  # the line is written before the port listens
            with (
                suppress(OSError),
                socket.create_connection((where.hostname, where.port), 1),
            ):
                break
            time.sleep(0.1)
        yield address
        server.terminate()


def test_openenvs_client_plays_an_episode(url: str) -> None:
    with GenericEnvClient(base_url=f"{url}/{TOKEN}").sync() as env:
        begun: Any = env.reset(seed=0, include=["expert_action"])
        assert "Task:" in begun.observation["text"]
        result = begun
        while not result.done:
            action = result.observation["metadata"]["expert_action"]
            result = env.step({"text": action})
        assert result.reward == 1.0
        assert env.state()["step_count"] == 2


def test_openenvs_client_without_the_token_is_refused(url: str) -> None:
    with pytest.raises(ConnectionError), GenericEnvClient(base_url=url).sync() as env:
        env.reset()


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
