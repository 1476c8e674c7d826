"""This machine's own addresses, who may ask a server that listens on one, and what a request holds.

A web page that is open in a browser can send requests to 127.0.0.1, and read the answers where its
own name is made to point there (DNS rebinding). So a request names this machine as its ``Host``,
and one that says which page it comes from (``Origin``) comes from a page of this machine.
"""

from __future__ import annotations

import ipaddress
import json
from collections.abc import AsyncIterable
from urllib.parse import urlsplit

from wayword.core.episode import Json
from wayword.core.errors import UsageError


def is_loopback(host: str) -> bool:
    """True if a host name or address is this machine's own.

    >>> is_loopback("localhost"), is_loopback("127.0.0.2"), is_loopback("::1"), is_loopback("lab")
    (True, True, True, False)
    """
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_loopback_url(url: str) -> bool:
    """True if a URL leads to this machine; an unreadable one does not.

    >>> is_loopback_url("http://[::1]:8000/v1"), is_loopback_url("http://lab:8000")
    (True, False)
    """
    try:
        return is_loopback(urlsplit(url).hostname or "")
    except ValueError:
        return False


def is_local_request(host: str, origin: str | None) -> bool:
    """True if a request's two headers are those of a program or a page of this machine.

    >>> is_local_request("localhost:8080", None), is_local_request("evil.example:8080", None)
    (True, False)
    >>> is_local_request("127.0.0.1:8080", "https://evil.example")
    False
    """
    return is_loopback_url(f"//{host}") and (not origin or is_loopback_url(origin))


class BadRequest(UsageError):
    """A request that a server cannot read, and the HTTP status to refuse it with."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


async def read_object(pieces: AsyncIterable[bytes], most: int) -> dict[str, Json]:
    """Return the JSON object of a request's body, of at most ``most`` bytes, which come in pieces.

    Raises ``BadRequest`` as soon as there are more: the rest of the body is not waited for.
    """
    body = bytearray()
    async for piece in pieces:
        body += piece
        if len(body) > most:
            raise BadRequest(f"the request's body must have at most {most:,} bytes", 413)
    return json_object(bytes(body))


def json_object(text: bytes | str) -> dict[str, Json]:
    """Return a JSON object, empty for no text. Raises ``BadRequest``: also for NaN, half a
    surrogate pair and thousands of brackets, which could be read but not be written again."""
    try:
        value = json.loads(text or "{}")
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise BadRequest("the request must be one JSON object")
    return value
