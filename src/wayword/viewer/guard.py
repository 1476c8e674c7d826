"""Who may ask the served viewer: this machine's browser, or one that has the token.

Three doors, each of which a request has to pass:

* ``Host`` names this machine. A web page elsewhere could point its own name here (DNS rebinding);
  its requests carry that name.
* ``Origin``, where there is one, is this server. Requests that change something must have it, so
  that no form of another page plays a game or starts a run.
* Off loopback, every request has the token: in the address once, then in a cookie.
"""

from __future__ import annotations

import hmac
import ipaddress
import secrets
import socket
from collections.abc import Mapping
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs, urlsplit

from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from wayword.core.loopback import is_loopback

COOKIE = "wayword_token"
_SAFE = frozenset({"GET", "HEAD"})


def token_for(host: str, given: str) -> str:
    """The token that a server on ``host`` asks for: none on loopback unless one is given."""
    alone = host in ("localhost", "::1") or host.startswith("127.")
    return given or ("" if alone else secrets.token_urlsafe(24))


class Guard:
    """ASGI middleware. ``token`` is empty on loopback, where the machine is the boundary."""

    def __init__(self, app: ASGIApp, host: str = "127.0.0.1", token: str = "") -> None:
        self._app, self._token = app, token
        self._names = {host, socket.gethostname()} if token else set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = {k.decode("latin-1").lower(): v.decode("latin-1") for k, v in scope["headers"]}
        refused = self._refused(scope, headers)
        if refused is not None:
            await refused(scope, receive, send)
            return

        async def hardened(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [
                    *message["headers"],
                    (b"x-content-type-options", b"nosniff"),
                    (b"x-frame-options", b"DENY"),
                    (b"referrer-policy", b"no-referrer"),
                    (b"cache-control", b"no-store"),
                    (b"cross-origin-resource-policy", b"same-origin"),
                ]
            await send(message)

        await self._app(scope, receive, hardened)

    def _refused(self, scope: Scope, headers: Mapping[str, str]) -> Response | None:
        """Why a request is not answered, or None. The address with the token leads to a cookie."""
        host = headers.get("host", "")
        if not self._known(_name(host)):
            return PlainTextResponse("this server answers to its own name alone", 403)
        origin = headers.get("origin")
        if origin is not None and _netloc(origin) != host:
            return PlainTextResponse("requests of other pages are refused", 403)
        if scope["method"] not in _SAFE and origin is None:
            return PlainTextResponse("a request that changes something must say its origin", 403)
        return self._without_token(scope, headers) if self._token else None

    def _known(self, name: str) -> bool:
        if name in self._names or is_loopback(name.strip("[]")):
            return True
        try:  # off loopback people write addresses; those cannot be pointed elsewhere
            ipaddress.ip_address(name.strip("[]"))
        except ValueError:
            return False
        return bool(self._token)

    def _without_token(self, scope: Scope, headers: Mapping[str, str]) -> Response | None:
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        if self._right(given):
            answer = RedirectResponse(scope["path"], 303)
            answer.set_cookie(COOKIE, given, httponly=True, samesite="strict")
            return answer
        try:
            kept = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
        except CookieError:
            kept = None
        if kept is not None and self._right(kept.value):
            return None
        return PlainTextResponse("open the address with the token that was printed", 401)

    def _right(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(), self._token.encode())


def _netloc(origin: str) -> str:
    """Host and port of an origin; empty for one that cannot be read."""
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return ""


def _name(host: str) -> str:
    """The host without its port; an IPv6 address keeps its brackets."""
    if host.startswith("["):
        return host.partition("]")[0] + "]"
    return host.partition(":")[0]
