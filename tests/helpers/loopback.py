"""A server on loopback in a thread of its own, for runs that bring their own event loop."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answerer = Callable[[str, dict[str, Any], dict[str, str]], tuple[int, Any]]
"""From route, body and headers to status and JSON."""


class Server(ThreadingHTTPServer):
    """Takes bursts: with Python's backlog of 5, some of 200 connections at once are reset."""

    daemon_threads = True
    request_queue_size = 256


@dataclass
class Loopback:
    """A running server: its address, and what it was asked (posts only)."""

    address: str = ""
    asked: list[dict[str, Any]] = field(default_factory=list)
    routes: list[str] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)

    @property
    def refused(self) -> int:
        """Posts that were answered with an error."""
        return sum(status >= 400 for status in self.statuses)


def chat(text: str | None, **more: Any) -> dict[str, Any]:
    """A chat answer; ``more`` goes into its message."""
    message = {"role": "assistant", "content": text, **more}
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    return {"choices": [choice], "usage": {"prompt_tokens": 50, "completion_tokens": 5}}


def refusal(message: str, param: str = "", code: str = "") -> dict[str, Any]:
    """An error body in OpenAI's form."""
    return {
        "error": {"message": message, "param": param, "code": code, "type": "invalid"}
    }


@contextmanager
def serving(answer: Answerer, models: Any = None) -> Iterator[Loopback]:
    """A server that answers posts by a function; gets are given ``models``, or else 404."""
    here = Loopback()
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            headers = {name.lower(): value for name, value in self.headers.items()}
            if self.path.startswith("/api/"):  # optional descriptions of models
                self._send(404, {})
                return
            with lock:
                status, text = answer(self.path, body, headers)
                here.asked.append(body)
                here.routes.append(self.path)
                here.statuses.append(status)
            self._send(status, text)

        def do_GET(self) -> None:
            self._send(404 if models is None else 200, models or {})

        def _send(self, status: int, text: Any) -> None:
            raw = text if isinstance(text, bytes) else json.dumps(text).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        def log_message(self, *words: object) -> None:
            pass

    server = Server(("127.0.0.1", 0), Handler)
    here.address = f"http://127.0.0.1:{server.server_address[1]}/v1"
    thread = threading.Thread(
        target=server.serve_forever, kwargs={"poll_interval": 0.02}
    )
    thread.start()
    try:
        yield here
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
