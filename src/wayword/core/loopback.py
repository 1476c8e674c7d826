"""Checks of requests to servers on loopback addresses: their headers and JSON bodies.

Any web page can send requests to 127.0.0.1, and read the answers if its own host name resolves to
that address (DNS rebinding). Requests must therefore name this machine as their ``Host``, and their
``Origin``, if present, must be a page of this machine.
"""

from __future__ import annotations

import ipaddress
import json
import socket
from collections.abc import AsyncIterable, Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

from wayword.core.episode import Json
from wayword.core.errors import UsageError, reason_of

_LARGEST_PORT = 65535


def is_loopback(host: str) -> bool:
    """True if a host name or address is loopback.

    >>> is_loopback("localhost"), is_loopback("127.0.0.2"), is_loopback("::1"), is_loopback("lab")
    (True, True, True, False)
    """
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_loopback_url(url: str) -> bool:
    """True if a URL points to this machine; False for an unreadable one.

    >>> is_loopback_url("http://[::1]:8000/v1"), is_loopback_url("http://lab:8000")
    (True, False)
    """
    try:
        return is_loopback(urlsplit(url).hostname or "")
    except ValueError:
        return False


def of_domain(host: str, domain: str) -> bool:
    """True if a host name is a domain's own or one below it.

    >>> of_domain("eu.api.openai.com", "api.openai.com"), of_domain("myopenai.com", "openai.com")
    (True, False)
    """
    return f".{host}".endswith(f".{domain}")


@contextmanager
def binding(port: int, option: str = "--port") -> Iterator[None]:
    """Bind to a port. Raises ``UsageError`` that names the port if the system refuses it."""
    # Python raises OverflowError for others, and libraries leave their socket open then.
    if not 0 <= port <= _LARGEST_PORT:
        raise UsageError(
            f"port {port}: must be 0-{_LARGEST_PORT}; give another {option}"
        )
    try:
        yield
    except OSError as error:
        problem = reason_of(error)
        raise UsageError(f"port {port}: {problem}; give another {option}") from error


def listen(host: str, port: int, option: str = "--port") -> socket.socket:
    """Return a listening socket. Raises ``UsageError`` that names the port if the system refuses
    it, where uvicorn would log the error and exit."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with binding(port, option):
        return socket.create_server((host, port), family=family)


def is_local_request(host: str, origin: str | None) -> bool:
    """True if the ``Host`` and ``Origin`` headers are those of a program or page on this machine.

    >>> is_local_request("localhost:8080", None), is_local_request("evil.example:8080", None)
    (True, False)
    >>> is_local_request("127.0.0.1:8080", "https://evil.example")
    False
    """
    return is_loopback_url(f"//{host}") and (not origin or is_loopback_url(origin))


class BadRequest(UsageError):
    """A request that a server cannot read, with the HTTP status of the refusal."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


async def read_object(pieces: AsyncIterable[bytes], max_bytes: int) -> dict[str, Json]:
    """Return the JSON object in a request's body, which arrives in pieces. Raises ``BadRequest`` as
    soon as there are more than ``max_bytes``."""
    body = bytearray()
    async for piece in pieces:
        body += piece
        if len(body) > max_bytes:
            raise BadRequest(
                f"the request's body must have at most {max_bytes:,} bytes",
                413,
            )
    return json_object(bytes(body))


def json_object(text: bytes | str) -> dict[str, Json]:
    """Return a JSON object, empty for empty text. Raises ``BadRequest``, also for what could be
    read but not written again: NaN, unpaired surrogates, thousands of nested brackets."""
    try:
        value = json.loads(text or "{}")
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise BadRequest("the request must be one JSON object")
    return value
