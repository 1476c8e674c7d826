"""A chat server on loopback whose answers a function gives."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Policy = Callable[[list[dict[str, Any]]], str]


@contextmanager
def served_policy(policy: Policy) -> Iterator[str]:
    """The address of a server that speaks OpenAI's chat completions."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            text = policy(body["messages"])
            if body.get("stream"):
                kind, data = "text/event-stream", _streamed(text)
            else:
                kind, data = "application/json", _full(text)
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *given: Any) -> None:
            return None

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()


HEAD = {"id": "x", "created": 0, "model": "table"}
USAGE = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}


def _full(text: str) -> bytes:
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    answer = {"object": "chat.completion", "choices": [choice], "usage": USAGE}
    return json.dumps({**HEAD, **answer}).encode()


def _streamed(text: str) -> bytes:
    """The answer as server-sent events: its text, its end, its usage."""
    delta = {"role": "assistant", "content": text}
    choices: list[list[Any]] = [
        [{"index": 0, "delta": delta, "finish_reason": None}],
        [{"index": 0, "delta": {}, "finish_reason": "stop"}],
        [],
    ]
    events = [
        {**HEAD, "object": "chat.completion.chunk", "choices": c} for c in choices
    ]
    events[-1]["usage"] = USAGE
    lines = [f"data: {json.dumps(event)}\n\n" for event in events]
    return "".join([*lines, "data: [DONE]\n\n"]).encode()
