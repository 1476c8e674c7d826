"""How clients reach servers of environments: with a token, or from programs of this machine."""

from __future__ import annotations

import secrets
from typing import Any

from starlette.requests import HTTPConnection
from starlette.responses import JSONResponse

from wayword.core.errors import UsageError
from wayword.core.loopback import is_local_request, is_loopback


def check_host(host: str, token: str) -> None:
    """Raise ``UsageError`` for a public address without a token."""
    if not is_loopback(host) and not token:
        raise UsageError(
            f"--host {host} is reachable by other machines; set a token in $WAYWORD_ENV_TOKEN"
        )


class Access:
    """Who may enter: programs of this machine, or those with the token."""

    def __init__(self, token: str) -> None:
        self._token = token

    def admits(self, connection: HTTPConnection) -> bool:
        """True if a client has the token and is not a page of another website."""
        host = connection.headers.get("host", "")
        origin = connection.headers.get("origin")
        # With a token, clients may call this machine by any name.
        if not is_local_request("localhost" if self._token else host, origin):
            return False
        path_token = connection.path_params.get("token", "")
        if not self._token:
            return not path_token
        # As a header, or in the path for clients that cannot set headers.
        header = connection.headers.get("authorization", "")
        token = header.removeprefix("Bearer ").strip() or path_token
        # In constant time: the comparison tells nothing about the token.
        return secrets.compare_digest(token.encode(), self._token.encode())


class AccessCheck:
    """An ASGI application that answers only clients with access."""

    def __init__(self, app: Any, access: Access) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and not self._access.admits(HTTPConnection(scope)):
            detail = {"detail": "this server needs its token"}
            await JSONResponse(detail, status_code=401)(scope, receive, send)
            return
        await self._app(scope, receive, send)


class EitherSlash:
    """An ASGI application that takes a path with and without its last slash.

    Some clients append one, and do not repeat a POST request when they are redirected.
    """

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        path = scope.get("path", "")
        if len(path) > 1 and path.endswith("/"):
            # The root is a slash itself and stays.
            scope = {**scope, "path": path.rstrip("/") or "/"}
        await self._app(scope, receive, send)
