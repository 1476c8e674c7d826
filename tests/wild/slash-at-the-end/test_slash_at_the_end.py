"""Clients append a slash to an address, call a server by another name, and follow no redirects."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from wayword.envs import make
from wayword.envs.mcp import http_server, server
from wayword.envs.openenv import OpenEnvServer

TOKEN = "secret-word"
HEADERS = {
    "Authorization": f"Bearer {TOKEN}",
    "Accept": "application/json, text/event-stream",
}
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


@pytest.fixture
def assistant(tmp_path: Path) -> Iterator[TestClient]:
    """A client of ``wayword mcp --http --host 0.0.0.0`` in another machine's network."""
    app, session = server(make("two_phase", episodes=1), tmp_path / "run")
    pages = http_server(app, "0.0.0.0", 0, TOKEN).config.app
    with (
        closing(session),
        TestClient(
            pages, base_url="http://robots.lab:8000", follow_redirects=False
        ) as client,
    ):
        yield client


@pytest.mark.parametrize("path", ["/mcp", "/mcp/"])
def test_mcp_answers_under_any_name_with_and_without_a_slash(
    assistant: TestClient, path: str
) -> None:
    assert assistant.post(path, json=INITIALIZE).status_code == 401
    reply = assistant.post(path, json=INITIALIZE, headers=HEADERS)
    assert reply.status_code == 200
    assert "serverInfo" in reply.text


@pytest.mark.parametrize("path", ["/reset", "/reset/", f"/{TOKEN}/reset/"])
def test_openenv_answers_under_any_name_with_and_without_a_slash(path: str) -> None:
    pages = OpenEnvServer("two_phase", TOKEN).app()
    client = TestClient(
        pages, base_url="http://robots.lab:8000", follow_redirects=False
    )
    reply = client.post(path, json={"seed": 0}, headers=HEADERS)
    assert reply.status_code == 200
