"""Addresses of servers as users write them, and the proxies that lead to them."""

from __future__ import annotations

import ipaddress
import re
from contextlib import suppress
from urllib.parse import SplitResult, urlsplit, urlunsplit
from urllib.request import getproxies, proxy_bypass

from wayword.core.errors import UsageError
from wayword.core.loopback import is_loopback, of_domain
from wayword.core.secrets import without_secrets

# Ends of addresses that are copied with a route
_ROUTES = (
    *("/chat/completions", "/completions", "/responses", "/messages", "/models"),
    "/embeddings",
)


def unquoted(value: str) -> str:
    """Return a variable's value without what files leave around it: line breaks, quotes (Docker's
    ``--env-file`` keeps them), a byte order mark."""
    return value.strip().strip("\ufeff\"'").strip()


def address_parts(address: str) -> SplitResult:
    """Return the parts of an address.

    Raises ``UsageError``, with the correct address, for one without a scheme or of a
    route, and for one that names no host.
    """
    problem = "is not an address; write http://HOST:PORT/v1"
    try:
        parts = urlsplit(address)
        shown = without_secrets(address)
        _ = parts.port  # read for its check: digits, at most 65535
    except ValueError:  # unpaired brackets, no port
        raise UsageError(f"model.base_url {problem}") from None
    host = parts.hostname or ""
    names_a_host = host != "" and " " not in host
    if parts.scheme in ("http", "https") and not names_a_host:
        raise UsageError(f"model.base_url={shown} {problem}")
    if parts.scheme not in ("http", "https"):
        meant = f"http://{shown.partition('://')[2] or shown}"
        raise UsageError(f"model.base_url={shown} has no http://; set it to {meant}")
    path = parts.path.rstrip("/")
    for route in _ROUTES:
        if path.endswith(route):
            meant = urlunsplit(parts._replace(path=path.removesuffix(route)))
            problem = f"model.base_url={shown} is the address of a route"
            raise UsageError(f"{problem}; set it to {without_secrets(meant)}")
    return parts


def proxy_for(parts: SplitResult) -> str:
    """Return the environment's proxy for an address, empty for none.

    Servers on this machine are always reached directly: a proxy would be sent prompt
    and key, and reach another machine. Raises ``UsageError`` for one of an unsupported
    kind.
    """
    host = parts.hostname or ""
    proxies = getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all") or ""
    # as a server's address, 0.0.0.0 stands for this machine
    is_direct = is_loopback(host) or host in ("0.0.0.0", "::") or proxy_bypass(host)
    # proxy_bypass takes names only
    for entry in re.split(r"[\s,]+", proxies.get("no", "")):
        with suppress(ValueError):
            network = ipaddress.ip_network(entry, strict=False)
            is_direct = is_direct or ipaddress.ip_address(host) in network
        name = re.sub(r"^\*?\.|:\d+$", "", entry)
        is_direct = is_direct or (bool(name) and of_domain(host, name))
    if not proxy or is_direct:
        return ""
    if "://" not in proxy:
        proxy = f"http://{proxy}"
    if urlsplit(proxy).scheme not in ("http", "https"):
        raise UsageError(
            f"the proxy {without_secrets(proxy)} of the environment is not supported; use an "
            f"http:// proxy, or add {host} to $NO_PROXY"
        )
    return proxy
