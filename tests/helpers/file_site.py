"""A server on loopback that has one file, and the quirks of servers in public reports."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler

from helpers.loopback import Server

CONTENT = bytes(range(256)) * 40


@dataclass
class Site:
    """Answers of a server, and the ranges requested. ``cuts``: bytes after which each of the first
    answers ends. ``quirk``: "slice as 200" sends a range with the status of a full answer, "starts
    earlier" begins a range before the byte that was requested, "no Content-Range" does not state
    it. ``length`` replaces the stated one."""

    content: bytes = CONTENT
    kind: str = "application/octet-stream"
    etag: str = '"one"'
    ranges: bool = True
    status: int = 200
    quirk: str = ""
    length: str = ""
    cuts: list[int] = field(default_factory=list)
    ranges_requested: list[str] = field(default_factory=list)
    address: str = ""


@contextmanager
def serving(site: Site) -> Iterator[Site]:
    """Serve one content at every path."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            bytes_range = self.headers.get("Range", "")
            site.ranges_requested.append(bytes_range)
            start = 0
            if bytes_range and site.ranges:
                start = int(bytes_range.removeprefix("bytes=").rstrip("-"))
            if start and site.quirk == "starts earlier":
                start -= 100
            body = site.content[start:]
            status = site.status
            if start and site.quirk != "slice as 200":
                status = 206
            if bytes_range and site.ranges and not body:
                status = 416
            self.send_response(status)
            self.send_header("Content-Type", site.kind)
            self.send_header("Content-Length", site.length or str(len(body)))
            if site.etag:
                self.send_header("ETag", site.etag)
            if start and site.quirk != "no Content-Range":
                total = len(site.content)
                self.send_header("Content-Range", f"bytes {start}-{total - 1}/{total}")
            self.end_headers()
            cut = site.cuts.pop(0) if site.cuts else len(body)
            self.wfile.write(body[:cut])

        def log_message(self, *words: object) -> None:
            pass

    server = Server(("127.0.0.1", 0), Handler)
    site.address = f"http://127.0.0.1:{server.server_address[1]}/data/a.json"
    thread = threading.Thread(
        target=server.serve_forever, kwargs={"poll_interval": 0.01}
    )
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def quiet(name: str, received: int, total: int) -> None:
    """No progress."""
