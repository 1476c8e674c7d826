"""OpenEnv's own client and its checks on our server."""

from __future__ import annotations

import json
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


def test_openenv_validates_the_server(url: str) -> None:
    """All six requirements: pages, schemas, tools, and control of the episode over HTTP."""
    tool = Path(sys.executable).parent / "openenv"
    command = [str(tool), "validate", "--url", f"{url}/{TOKEN}", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    report = json.loads(done.stdout)
    assert [criterion["passed"] for criterion in report["criteria"]] == [True] * 6
