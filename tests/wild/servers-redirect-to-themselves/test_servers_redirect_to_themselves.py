"""A server that redirects to itself, and one that redirects to another."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from helpers.loopback import chat
from helpers.served_runs import send_request
from wayword.core.errors import ModelError
from wayword.core.model import Completion

ROUTE = "/v1/chat/completions"
Places = dict[str, tuple[int, str]]


@contextmanager
def redirecting(places: Places) -> Iterator[tuple[str, list[str]]]:
    """A server with redirects at some paths and the answer at all others: its address, and the
    requests."""
    requests: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            requests.append(f"{self.command} {self.path} {bool(body)}")
            status, location = places.get(self.path, (200, ""))
            answer = json.dumps(chat("hi")).encode()
            self.send_response(status)
            if location:
                self.send_header("location", location)
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def do_GET(self) -> None:
            self.do_POST()

        def log_message(self, *words: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1", requests
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_the_answer_of_a_long_request_is_fetched() -> None:
    places = {ROUTE: (303, f"{ROUTE}?call=1"), f"{ROUTE}?call=1": (303, "/v1/done")}
    with redirecting(places) as (address, requests):
        answer = send_request(address)
    assert isinstance(answer, Completion)
    assert requests == [
        f"POST {ROUTE} True",
        f"GET {ROUTE}?call=1 False",
        "GET /v1/done False",
    ]


@pytest.mark.parametrize("status", [307, 308])
def test_the_same_request_is_sent_to_the_other_path(status: int) -> None:
    with redirecting({ROUTE: (status, f"{ROUTE}/")}) as (address, requests):
        answer = send_request(address)
    assert isinstance(answer, Completion)
    assert requests == [f"POST {ROUTE} True", f"POST {ROUTE}/ True"]


@pytest.mark.parametrize(
    ("status", "location"),
    [
        (303, "http://127.0.0.1:9/v1"),
        (307, "https://127.0.0.1/v1"),
        (308, "//localhost/v1"),
        (301, f"{ROUTE}/"),
        (302, f"{ROUTE}/"),
        (307, ""),
        (307, "http://["),
        (307, ROUTE),
    ],
)
def test_other_redirects_are_refused(status: int, location: str) -> None:
    with redirecting({ROUTE: (status, location)}) as (address, requests):
        error = send_request(address)
    assert isinstance(error, ModelError)
    assert error.fatal
    assert "redirects" in str(error)
    assert len(requests) == (20 if location == ROUTE else 1)
