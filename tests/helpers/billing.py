"""A server on loopback that keeps the books of what it bills, faults included."""

from __future__ import annotations

import json
import random
import re
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from helpers.loopback import refusal

PRICE = {"input": 2.0, "cached": 0.5, "output": 8.0}
"""US dollars per million tokens."""
FREE = {"busy": 429, "away": 503}
"""Failures before any work."""
FAILED = {"broken": 500, "gateway": 502, "filtered": 400}
"""Failures after the work, which is billed."""
FAULTS = (
    *FREE,
    *FAILED,
    "disconnected",
    "half a body",
    "cut JSON",
    "silent",
    "endless",
    "uncounted",
    "odd cache",
)
_PIECE = re.compile(r"[A-Za-z]{1,9}|[0-9]{1,3}|[^A-Za-z0-9\s]")


@dataclass
class Books:
    """What the server has billed. ``dearest`` is the bill of one request, in US dollars."""

    address: str = ""
    dollars: float = 0.0
    dearest: float = 0.0
    requests: int = 0
    faults: Counter[str] = field(default_factory=Counter)

    def bill(self, prompt: int, cached: int, completion: int) -> None:
        """Bill a request."""
        fresh = (prompt - cached) * PRICE["input"] + cached * PRICE["cached"]
        dollars = (fresh + completion * PRICE["output"]) / 1e6
        self.dollars += dollars
        self.dearest = max(self.dearest, dollars)


def tokens_of_body(body: Mapping[str, Any]) -> int:
    """Tokens of a request's prompt, its schema included, by a tokenizer of the server's own."""
    texts = [str(message["content"]) for message in body["messages"]]
    form = body.get("response_format")
    texts += [json.dumps(form)] if form else []
    return sum(len(_PIECE.findall(text)) + 4 for text in texts)


class _Reply:
    """What one request gets, and what it is billed."""

    def __init__(
        self, body: Mapping[str, Any], rng: random.Random, share: float
    ) -> None:
        self.fault = rng.choice(FAULTS) if rng.random() < share else ""
        limit = int(body.get("max_tokens") or body.get("max_completion_tokens") or 0)
        asked = int(body.get("n", 1))
        samples = (
            asked if asked == 1 or rng.random() < 0.7 else 1
        )  # some servers ignore n
        visible = [rng.randrange(3, 40) for _ in range(samples)]
        thoughts = [
            rng.choice([0, 0, rng.randrange(max(1, limit - 40))]) for _ in visible
        ]
        self.prompt = tokens_of_body(body)
        self.cached = self.prompt // 2 if rng.random() < 0.2 else 0
        self.completion = sum(visible) + sum(thoughts)
        if self.fault == "endless":
            self.completion = limit * samples
        if self.fault in ("uncounted", "odd cache"):
            self.cached = 0
        usage: dict[str, Any] = {
            "prompt_tokens": self.prompt,
            "completion_tokens": sum(visible),  # reasoning is counted next to it
            "total_tokens": self.prompt + self.completion,
            "prompt_tokens_details": {"cached_tokens": self.cached},
        }
        if rng.random() < 0.5:
            usage["completion_tokens_details"] = {"reasoning_tokens": sum(thoughts)}
        if self.fault == "odd cache":
            usage["prompt_tokens_details"] = {"cached_tokens": self.prompt + 1}
        if self.fault == "uncounted":
            usage, self.completion = {}, sum(visible)
        choices = [
            {
                "index": i,
                "finish_reason": "stop",
                "message": self._message(body, tokens),
            }
            for i, tokens in enumerate(visible)
        ]
        raw = json.dumps({"choices": choices, "usage": usage}).encode()
        self.length = len(raw) if self.fault == "half a body" else None
        half = self.fault in ("half a body", "cut JSON")
        self.status, self.raw = 200, raw[: len(raw) // 2] if half else raw
        if self.fault == "endless":
            self.raw = b" " * 1_200_000
        elif self.fault in FREE or self.fault in FAILED:
            self.status = (FREE | FAILED)[self.fault]
            code = "content_filter" if self.fault == "filtered" else ""
            self.raw = json.dumps(refusal("failed", code=code)).encode()

    @staticmethod
    def _message(body: Mapping[str, Any], tokens: int) -> dict[str, str]:
        form = body.get("response_format")
        if form:
            options = form["json_schema"]["schema"]["properties"]["answer"]["enum"]
            return {"role": "assistant", "content": json.dumps({"answer": options[0]})}
        return {"role": "assistant", "content": " ".join(["going"] * tokens)}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        reply = self.server.replied(body)
        time.sleep(self.server.delay)
        if reply.fault == "silent":
            self.server.over.wait(5.0)
        if reply.fault not in ("silent", "disconnected"):
            self._send(reply.status, reply.raw, reply.length)
        self.close_connection = reply.fault in ("silent", "disconnected", "half a body")

    def do_GET(self) -> None:
        self._send(404, b"{}")

    def _send(self, status: int, raw: bytes, length: int | None = None) -> None:
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(raw) if length is None else length))
        self.end_headers()
        self.wfile.write(raw)

    def handle(self) -> None:
        with suppress(OSError):  # the client was killed
            super().handle()

    def finish(self) -> None:
        with suppress(OSError):
            super().finish()

    def log_message(self, *words: object) -> None:
        pass


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def __init__(
        self, books: Books, rng: random.Random, share: float, delay: float
    ) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.books, self.delay, self.over = books, delay, threading.Event()
        self._rng, self._share, self._lock = rng, share, threading.Lock()

    def replied(self, body: Mapping[str, Any]) -> _Reply:
        """What a request gets, billed before anything is sent."""
        with self._lock:
            reply = _Reply(body, self._rng, self._share)
            self.books.requests += 1
            self.books.faults[reply.fault] += 1
            if reply.fault not in FREE:
                self.books.bill(reply.prompt, reply.cached, reply.completion)
        return reply


@contextmanager
def billing(seed: int, share: float, delay: float = 0.0) -> Iterator[Books]:
    """A server that answers a ``share`` of its requests with one of 12 faults.

    ``delay`` is in seconds.
    """
    books = Books()
    server = _Server(books, random.Random(seed), share, delay)
    books.address = f"http://127.0.0.1:{server.server_address[1]}/v1"
    thread = threading.Thread(
        target=server.serve_forever, kwargs={"poll_interval": 0.02}
    )
    thread.start()
    try:
        yield books
    finally:
        server.over.set()
        server.shutdown()
        server.server_close()
        thread.join()
