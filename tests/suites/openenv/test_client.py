"""OpenEnv's own client and its checks on our server."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from openenv import GenericEnvClient

from helpers.serving import command_served

TOKEN = "a-word-for-the-test"


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """``wayword serve-env``, with a token."""
    with command_served(["serve-env", "two_phase", "--port", "0"], TOKEN) as address:
        yield address


def test_openenvs_client_plays_an_episode(url: str) -> None:
    with GenericEnvClient(base_url=f"{url}/{TOKEN}").sync() as env:
        start: Any = env.reset(seed=0, include=["expert_action"])
        assert "Task:" in start.observation["text"]
        result = start
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
