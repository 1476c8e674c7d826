"""Characters that break a line of text, inside of the JSON of one line."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from helpers.served_runs import http, raw_server, send_request
from wayword.core.errors import DataError, ModelError
from wayword.envs import make
from wayword.envs.mcp import AssistantSession, server
from wayword.runs.harbor_player import WorldClient

BREAKS = ["\x85", "\u2028", "\u2029", "\x1c"]


@pytest.mark.parametrize("sign", BREAKS)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_an_event_ends_at_no_break_inside_its_text(sign: str, end: str) -> None:
    answer = {"jsonrpc": "2.0", "result": {"content": [{"text": f"a{sign}b"}]}}
    data = json.dumps(answer, ensure_ascii=False)
    body = f"event: message{end}data: {data}{end}{end}".encode()
    reply = http(body, **{"Content-Type": "text/event-stream"})
    with raw_server(reply) as (address, _):
        assert WorldClient(address).call("look") == f"a{sign}b"


@pytest.mark.parametrize("sign", BREAKS[:3])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_an_error_with_a_break_is_read_at_the_end_of_a_stream(
    sign: str, end: str
) -> None:
    part = 'data: {"choices": [{"delta": {"content": "Go"}}]}'
    error = f'data: {{"error": {{"message": "over{sign}loaded", "code": 429}}}}'
    with raw_server(http(f"{part}{end}{end}{error}{end}".encode())) as (address, _):
        result = send_request(address)
    assert isinstance(result, ModelError)
    assert "replied 429" in str(result)


def test_clients_of_mcp_get_line_feeds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def look(self: AssistantSession) -> str:
        """See."""
        return "a\u2028b\x85c\u2029d"

    def act(self: AssistantSession, action: str) -> str:
        """Act."""
        raise DataError("x", "", "a\u2028b")

    monkeypatch.setattr(AssistantSession, "look", look)
    monkeypatch.setattr(AssistantSession, "act", act)
    app, session = server(make("household"), tmp_path / "run")
    asyncio.run(app.call_tool("begin", {}))
    content = asyncio.run(app.call_tool("look", {}))
    assert "a\\nb\\nc\\nd" in str(content)
    with pytest.raises(Exception, match="a\nb"):
        asyncio.run(app.call_tool("act", {"action": "x"}))
    session.close()
