"""This machine's own addresses, and who may ask a server that listens on one.

A web page that is open in a browser can send requests to 127.0.0.1, and read the answers where its
own name is made to point there (DNS rebinding). So a request names this machine as its ``Host``,
and one that says which page it comes from (``Origin``) comes from a page of this machine.
"""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit


def is_loopback(host: str) -> bool:
    """Whether a host name or address is this machine's own.

    >>> is_loopback("localhost"), is_loopback("127.0.0.2"), is_loopback("::1"), is_loopback("lab")
    (True, True, True, False)
    """
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_loopback_url(url: str) -> bool:
    """Whether a URL leads to this machine; an unreadable one does not.

    >>> is_loopback_url("http://[::1]:8000/v1"), is_loopback_url("http://lab:8000")
    (True, False)
    """
    try:
        return is_loopback(urlsplit(url).hostname or "")
    except ValueError:
        return False


def asked_from_here(host: str, origin: str | None) -> bool:
    """Whether a request's two headers are those of a program or a page of this machine.

    >>> asked_from_here("localhost:8080", None), asked_from_here("evil.example:8080", None)
    (True, False)
    >>> asked_from_here("127.0.0.1:8080", "https://evil.example")
    False
    """
    return is_loopback_url(f"//{host}") and (not origin or is_loopback_url(origin))
