"""Play recorded actions through MCP over HTTP: the reference solution of a Harbor task.

    WAYWORD_ENV_TOKEN=… python3 solve.py http://world:8765/mcp actions.json

A copy of this file is in each task. It runs where wayword is not installed, so it needs nothing
but Python's standard library.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

PROTOCOL = "2025-06-18"
"""Version of the protocol that is offered; servers of later versions accept it."""

SECONDS = 120
"""Time limit of a call."""


class WorldClient:
    """A session with an MCP server at ``url``. The token in ``$WAYWORD_ENV_TOKEN`` is sent along.
    Raises ``OSError`` if the server cannot be reached."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._number = 0
        self._headers = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        }
        if token := os.environ.get("WAYWORD_ENV_TOKEN"):
            self._headers["Authorization"] = f"Bearer {token}"
        about = {"name": "solution", "version": "1"}
        self._ask(
            "initialize",
            {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": about},
        )
        self._headers["MCP-Protocol-Version"] = PROTOCOL
        self._post({"method": "notifications/initialized"})

    def call(self, tool: str, **arguments: str) -> str:
        """The text that a tool returns. Raises ``RuntimeError`` if the tool refuses."""
        answer = self._ask("tools/call", {"name": tool, "arguments": arguments})
        text = "\n".join(part.get("text", "") for part in answer["content"])
        if answer.get("isError"):
            raise RuntimeError(f"{tool}: {text}")
        return text

    def _ask(self, method: str, parameters: dict[str, Any]) -> Any:
        """The result of a request."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        answer = self._post(message)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error'].get('message')}")
        return answer["result"]

    def _post(self, message: dict[str, Any]) -> Any:
        """Send a message; returns the answer, or an empty one to a notification."""
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        request = Request(self._url, body, self._headers)
        with urlopen(request, timeout=SECONDS) as response:
            # The server names the session in its first answer.
            if session := response.headers.get("Mcp-Session-Id"):
                self._headers["Mcp-Session-Id"] = session
            text = response.read().decode()
            streamed = response.headers.get_content_type() == "text/event-stream"
        # An answer comes alone, or as the data of a server-sent event.
        if streamed:
            # Texts may have other line breaks, as U+2028.
            lines = [line for line in text.split("\n") if line.startswith("data:")]
            text = lines[-1].removeprefix("data:")
        return json.loads(text or "{}")


def main(url: str, file: str) -> None:
    """Begin the episode, and take the actions of a JSON file in their order."""
    world = WorldClient(url)
    sys.stdout.write(world.call("begin") + "\n")
    for action in json.loads(Path(file).read_text(encoding="utf-8")):
        answer = world.call("act", action=action)
        sys.stdout.write(f"> {action}\n{answer}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
