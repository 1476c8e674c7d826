"""The door of ``wayword models serve``: only programs of this machine may come in.

What passes (see :mod:`wayword.core.loopback`) goes on to llama.cpp's server behind it, which is
locked with a random key.
"""

from __future__ import annotations

import http.client
import json
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from wayword.core.loopback import asked_from_here

HOST = "127.0.0.1"
MOST_BYTES = 64_000_000
"""Of a request."""
_PATIENCE = 30.0
"""Seconds that a client may take for its request's next bytes."""
_HOP = frozenset({"connection", "keep-alive", "transfer-encoding", "te", "trailer", "upgrade"})
_OWN = frozenset({"server", "date", "access-control-allow-origin"})


class GuardedDoor(ThreadingHTTPServer):
    """Listens on 127.0.0.1 and passes requests on to ``inner``, with ``key``."""

    daemon_threads = True

    def __init__(self, port: int, inner: tuple[str, int], key: str) -> None:
        self.inner, self.key = inner, key
        super().__init__((HOST, port), _Handler)

    @property
    def address(self) -> str:
        """``http://127.0.0.1:PORT``."""
        return f"http://{HOST}:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: GuardedDoor
    timeout = _PATIENCE
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._pass(b"")

    def do_POST(self) -> None:
        length = self.headers.get("Content-Length") or ""
        if not length.isdecimal() or int(length) > MOST_BYTES:
            self._refuse(HTTPStatus.BAD_REQUEST, "send a Content-Length, at most 64 MB")
            return
        self._pass(self.rfile.read(int(length)))

    def _pass(self, body: bytes) -> None:
        if not asked_from_here(self.headers.get("Host") or "", self.headers.get("Origin")):
            self._refuse(HTTPStatus.FORBIDDEN, "only programs and pages of this machine may ask")
            return
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self.server.key}"}
        inner = http.client.HTTPConnection(*self.server.inner)
        try:
            inner.request(self.command, self.path, body or None, headers)
            self._answer(inner.getresponse())
        except OSError as error:
            self._refuse(HTTPStatus.BAD_GATEWAY, f"the engine did not answer: {error}")
        finally:
            inner.close()

    def _answer(self, told: http.client.HTTPResponse) -> None:
        """The engine's answer as it comes, piece by piece where it streams."""
        self.send_response(told.status)
        for name, value in told.getheaders():
            if name.lower() not in _HOP | _OWN:
                self.send_header(name, value)
        self.send_header("Connection", "close")
        self.close_connection = True
        self.end_headers()
        while piece := told.read1(65_536):
            self.wfile.write(piece)
            self.wfile.flush()

    def _refuse(self, status: HTTPStatus, why: str) -> None:
        body = json.dumps({"error": {"message": why, "type": "refused"}}).encode()
        self.close_connection = True
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words: Any) -> None:
        return None
