"""A server on loopback that keeps the books of what it bills, faults included."""

from __future__ import annotations

import json
import math
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

PRICE = {"input": 2.0, "cached": 0.5, "write": 2.5, "write_hour": 4.0, "output": 8.0}
"""US dollars per million tokens."""
FREE = {"busy": 429, "away": 503}
"""Failures before any work."""
FAILED = {"broken": 500, "bad gateway": 502, "filtered": 400}
"""Failures after the work, which is billed."""
FAULTS = (*FREE, *FAILED, "cut JSON", "endless", "uncounted", "odd cache")
"""Faults at random."""
GIVEN_UP = (*["gateway timeout", "reset", "half a body"] * 10, "silent")
"""What a gateway makes of an answer that takes too long. The model works on, and all is billed."""
SPEED = 1000.0
"""Tokens a second of a sample; all samples are written at once."""
MEDIAN, SPREAD = 40.0, 1.0
"""Of the lengths of samples in tokens, which are lognormal: one in ten has more than 140."""
_PIECE = re.compile(r"[A-Za-z]{1,9}|[0-9]{1,3}|[^A-Za-z0-9\s]")


@dataclass
class Books:
    """What the server has billed. ``dearest`` is the bill of one request, in US dollars."""

    address: str = ""
    dollars: float = 0.0
    dearest: float = 0.0
    requests: int = 0
    faults: Counter[str] = field(default_factory=Counter)

    def bill(self, parts: Mapping[str, int]) -> None:
        """Bill a request, given the tokens of each price."""
        dollars = sum(PRICE[kind] * tokens for kind, tokens in parts.items()) / 1e6
        self.dollars += dollars
        self.dearest = max(self.dearest, dollars)


def tokens_of_body(body: Mapping[str, Any]) -> int:
    """Tokens of a request's prompt, its schema included, by a tokenizer of the server's own."""
    texts = [str(message["content"]) for message in body["messages"]]
    form = body.get("response_format")
    texts += [json.dumps(form)] if form else []
    return sum(len(_PIECE.findall(text)) + 4 for text in texts)


class _Reply:
    """What one request gets, and what it is billed. ``patience`` is the gateway's, in seconds."""

    def __init__(
        self,
        body: Mapping[str, Any],
        rng: random.Random,
        share: float,
        patience: float,
        speed: float,
    ) -> None:
        limit = int(body.get("max_tokens") or body.get("max_completion_tokens") or 0)
        count = int(body.get("n", 1))
        # some servers ignore n
        samples = count if count == 1 or rng.random() < 0.7 else 1
        lengths = [
            math.ceil(rng.lognormvariate(math.log(MEDIAN), SPREAD))
            for _ in range(samples)
        ]
        lengths = [min(limit, length) for length in lengths]
        visible = [min(length, rng.randrange(3, 40)) for length in lengths]
        thoughts = sum(lengths) - sum(visible)
        self.seconds = max(lengths) / speed
        self.fault = ""
        if self.seconds > patience:
            self.seconds = patience
            self.fault = rng.choice(GIVEN_UP)
        elif max(lengths) == limit and rng.random() < share:
            self.fault = "limit reached"
        elif rng.random() < share:
            self.fault = rng.choice(FAULTS)
        if self.fault == "endless":
            lengths = [limit] * samples
        if self.fault == "uncounted":
            thoughts = 0
            lengths = visible
        prompt = tokens_of_body(body)
        self.parts = self._prompt_parts(prompt, rng)
        if self.fault == "odd cache":
            self.parts = {"input": prompt}
        self.parts["output"] = sum(lengths)
        usage = self._counts(prompt, sum(visible), thoughts, rng)
        if self.fault == "odd cache":
            usage["prompt_tokens_details"] = {"cached_tokens": prompt + 1}
        if self.fault == "uncounted":
            usage = {}
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
        self.status = 200
        self.raw = raw[: len(raw) // 2] if half else raw
        if self.fault == "endless":
            self.raw = b" " * 1_200_000
        elif self.fault == "gateway timeout":
            self.status = 504
            self.raw = b"upstream request timeout"
        elif self.fault == "limit reached":
            self.status = 400
            line = "The answer is incomplete: the model's output limit was reached"
            self.raw = json.dumps(refusal(line)).encode()
        elif self.fault in FREE or self.fault in FAILED:
            self.status = (FREE | FAILED)[self.fault]
            code = "content_filter" if self.fault == "filtered" else ""
            self.raw = json.dumps(refusal("failed", code=code)).encode()

    @staticmethod
    def _prompt_parts(prompt: int, rng: random.Random) -> dict[str, int]:
        """A prompt's tokens by their price: most of them are new, or of a known beginning."""
        kind = rng.choice(["input", "written", "written", "cached"])
        if kind == "input":
            return {"input": prompt}
        known = prompt // 2 if kind == "cached" else 0
        hour = prompt // 4 if rng.random() < 0.1 else 0
        return {
            "input": 3,
            "cached": known,
            "write": prompt - 3 - known - hour,
            "write_hour": hour,
        }

    def _counts(
        self, prompt: int, visible: int, thoughts: int, rng: random.Random
    ) -> dict[str, Any]:
        """The reply's counts, in one of the providers' forms."""
        parts = self.parts
        cached = parts.get("cached", 0)
        hour = parts.get("write_hour", 0)
        written = parts.get("write", 0) + hour
        usage: dict[str, Any] = {
            "prompt_tokens": prompt,
            "completion_tokens": visible,  # reasoning is counted next to it
            "total_tokens": prompt + visible + thoughts,
            "prompt_tokens_details": {
                "cached_tokens": cached,
                "cache_write_tokens": written,
            },
        }
        if hour or rng.random() < 0.3:
            split = {
                "ephemeral_5m_input_tokens": written - hour,
                "ephemeral_1h_input_tokens": hour,
            }
            usage = {
                "input_tokens": prompt - cached - written,
                "output_tokens": visible + thoughts,
                "cache_read_input_tokens": cached,
                "cache_creation_input_tokens": written,
                "cache_creation": split,
            }
        elif rng.random() < 0.5:
            usage["completion_tokens_details"] = {"reasoning_tokens": thoughts}
        return usage

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
        if reply.fault not in FREE:
            time.sleep(reply.seconds)
        if reply.fault == "silent":
            self.server.over.wait(5.0)
        if reply.fault not in ("silent", "reset"):
            self._send(reply.status, reply.raw, reply.length)
        self.close_connection = reply.fault in ("silent", "reset", "half a body")

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
        self,
        books: Books,
        rng: random.Random,
        share: float,
        patience: float,
        speed: float,
    ) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.books = books
        self.over = threading.Event()
        self._rng = rng
        self._share = share
        self._lock = threading.Lock()
        self._patience = patience
        self._speed = speed

    def replied(self, body: Mapping[str, Any]) -> _Reply:
        """What a request gets, billed before anything is sent."""
        with self._lock:
            reply = _Reply(
                body,
                self._rng,
                self._share,
                self._patience,
                self._speed,
            )
            self.books.requests += 1
            self.books.faults[reply.fault] += 1
            if reply.fault not in FREE:
                self.books.bill(reply.parts)
        return reply


@contextmanager
def billing(
    seed: int, share: float, patience: float, speed: float = SPEED
) -> Iterator[Books]:
    """A server behind a gateway that gives up after ``patience`` seconds, while the model works on
    and bills all of it. Besides, a ``share`` of its requests meets one of :data:`FAULTS`.
    ``speed``: tokens a second of a sample."""
    books = Books()
    server = _Server(books, random.Random(seed), share, patience, speed)
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
