"""HTTP client of a server, with one-line errors and an upper estimate of each request's bill."""

from __future__ import annotations

import asyncio
import json
import math
import os
import re
import ssl
import time
from collections.abc import Mapping
from contextlib import suppress
from email.utils import parsedate_to_datetime
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit
from urllib.request import getproxies, proxy_bypass

from wayword.core.errors import ModelError
from wayword.core.model import Usage, estimated_tokens
from wayword.core.secrets import hidden, redacted, remember, without_secrets
from wayword.models.middleware.budget import rough_tokens, sending
from wayword.models.servers import answers
from wayword.models.servers.requests import HEADERS, Request, ServerSettings

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientSession

MOST_BYTES = 1_000_000  # of a reply: an endless answer must not fill memory and disk

_KEEPALIVE_S = (
    4.0  # idle connections are closed before uvicorn closes its end, after 5 s
)
_RETRY_CODES = frozenset({408, 409, 425, 429})
_WORKED_CODES = frozenset({408, 500, 502, 504, *range(520, 528)})
"""Statuses after which the request may have been processed and billed."""
_FILTER_MESSAGE = re.compile(
    rb"content.?filter|content management policy", re.IGNORECASE
)
_AWAY_CODES = frozenset({429, 502, 503, 504, 529})  # unavailable to all clients
_CONTEXT_MESSAGE = re.compile(
    r"context_length|context (?:length|size|window)|prompt is too long|too many (?:input )?tokens",
    re.IGNORECASE,
)
_PARAMETER_CODES = frozenset(
    {"unsupported_parameter", "unsupported_value", "unknown_parameter"}
)


class Refused(ModelError):
    """Error for the status 400, 404, 405, 422 or 501: a changed request may be accepted.
    ``detail`` is the server's message, ``param`` the field it names."""

    def __init__(
        self, message: str, status: int, detail: str, param: str, fatal: bool
    ) -> None:
        super().__init__(message, fatal=fatal)
        self.status, self.detail, self.param = status, detail, param


class Connection:
    """HTTP session of the running event loop; connections cannot move to another loop. With 200
    concurrent calls, aiohttp needs a fifth of the processor time of a vendor's SDK."""

    def __init__(self, address: str, key: str, settings: ServerSettings) -> None:
        self.address = without_secrets(address)
        self._parts = urlsplit(address)
        self._settings = settings
        custom = {
            str(k): str(v) for k, v in dict(settings.extra.get(HEADERS, {})).items()
        }
        for name, value in custom.items():
            hidden(name, value)
        remember(key)
        defaults = {
            "Authorization": f"Bearer {key or 'none'}",
            "Content-Type": "application/json",
            "Accept": "application/json",
            "Accept-Encoding": "identity",
            "User-Agent": "wayword",
            "OpenAI-Organization": os.environ.get("OPENAI_ORG_ID", ""),
            "OpenAI-Project": os.environ.get("OPENAI_PROJECT_ID", ""),
        }
        names = {name.lower() for name in custom}
        self._headers = {
            k: v for k, v in defaults.items() if v and k.lower() not in names
        } | custom
        self._counted_answers = self._most_tokens = (
            0  # replies with usage; maximum per sample
        )
        self._session: ClientSession | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def post(self, request: Request) -> tuple[Any, Usage]:
        """Send a request, and return the reply's JSON and billed tokens.

        Raises ``ModelError``, or ``Refused`` if a changed request may be accepted. The error's
        ``billed`` is an upper estimate of what the server may charge for it.
        """
        prompt = rough_tokens(request.prompt) + len(request.form) // 2
        async with sending(
            Usage(prompt, self._max_tokens(request), estimated=True)
        ) as transfer:
            reply = await self._send(request)
            transfer.billed = used = answers.usage(
                reply, request, partial(self._estimate, request)
            )
        if not used.estimated:
            self._counted_answers += 1
            self._most_tokens = max(
                self._most_tokens, -(-used.completion // request.samples)
            )
        return reply, used

    async def _send(self, request: Request) -> Any:
        body = json.dumps(request.body).encode()
        try:
            async with asyncio.timeout(self._settings.timeout):
                async with self._open_session().post(
                    self._url(request.route), data=body, allow_redirects=False
                ) as response:
                    read, is_complete = await _read_body(response)
        except TimeoutError:
            line = f"{self.address} did not reply within {self._settings.timeout:g} s"
            billed = self._estimate(request, cut=True)
            raise ModelError(line, retryable=True, billed=billed) from None
        except Exception as error:  # noqa: BLE001 - errors of aiohttp and of its libraries
            failure = model_error(error, self.address)
            if not failure.fatal:  # the server may have received the request
                failure.billed = self._estimate(request)
            raise failure from None
        if response.status >= 300:
            failure = _refusal(
                response, read, self.address, self._settings.key_env, request.body
            )
            if response.status in _WORKED_CODES or _FILTER_MESSAGE.search(read):
                failure.billed = self._estimate(request)
            raise failure
        if not is_complete:
            size = f"{MOST_BYTES // 1_000_000} MB"
            line = f"the reply is larger than {size}; lower the agent's max_tokens"
            raise ModelError(line, billed=self._estimate(request, cut=True))
        try:
            return json.loads(read)
        except (ValueError, RecursionError) as error:
            line = (
                f"{self.address} sent an unreadable reply: {redacted(str(error)[:120])}"
            )
            raise ModelError(
                line, retryable=True, billed=self._estimate(request)
            ) from None

    def _estimate(self, request: Request, cut: bool = False) -> Usage:
        """Return an upper estimate for a request whose reply has no counts. ``cut``: the answer may
        have used all tokens that it was allowed."""
        tokens = estimated_tokens(request.prompt)
        tokens += estimated_tokens(request.form) if request.form else 0
        written = request.limit * request.samples if cut else self._max_tokens(request)
        return Usage(answers.upward(tokens), written, estimated=True)

    def _max_tokens(self, request: Request) -> int:
        """Return a likely maximum of the answer's tokens: above those of all answers so far."""
        count = self._counted_answers
        most = self._most_tokens * (1.25 + 4 / count) if count else request.limit
        return request.samples * min(request.limit, math.ceil(most))

    async def models(self, patience: float = 10.0) -> list[Mapping[str, Any]]:
        """Return the server's list of models; empty if it has none or does not reply."""
        try:
            async with asyncio.timeout(patience):
                address = self._url("/models")
                async with self._open_session().get(
                    address, allow_redirects=False
                ) as response:
                    reply = json.loads((await _read_body(response))[0])
        except Exception:  # noqa: BLE001 - this route is optional
            return []
        listed = reply.get("data") if isinstance(reply, Mapping) else None
        return (
            [m for m in listed if isinstance(m, Mapping)]
            if isinstance(listed, list)
            else []
        )

    async def aclose(self) -> None:
        session, self._session = self._session, None
        if session is not None and self._loop is asyncio.get_running_loop():
            await session.close()
        elif session is not None:
            _discard_session(session)

    def __del__(self) -> None:
        if (session := getattr(self, "_session", None)) is not None:
            _discard_session(session)

    def _url(self, route: str) -> str:
        path = self._parts.path.rstrip("/") + route
        return urlunsplit(self._parts._replace(path=path, fragment=""))

    def _open_session(self) -> ClientSession:
        """Return the session, with Python's certificates and the environment's proxy, which aiohttp
        would look up before each request. Callers set time limits."""
        from aiohttp import ClientSession, ClientTimeout, DummyCookieJar, TCPConnector

        loop = asyncio.get_running_loop()
        if self._session is not None and self._loop is loop:
            return self._session
        if self._session is not None:
            _discard_session(self._session)
        scheme, host = self._parts.scheme, self._parts.hostname or ""
        proxies = getproxies()
        # aiohttp's own context is cached, and would ignore a change of $SSL_CERT_FILE
        context = ssl.create_default_context() if scheme == "https" else True
        self._loop = loop
        self._session = ClientSession(
            connector=TCPConnector(
                limit=0, ssl=context, keepalive_timeout=_KEEPALIVE_S
            ),
            headers=self._headers,
            timeout=ClientTimeout(),
            cookie_jar=DummyCookieJar(),
            proxy=None
            if proxy_bypass(host)
            else proxies.get(scheme) or proxies.get("all"),
        )
        return self._session


def _discard_session(session: ClientSession) -> None:
    """Close a session whose event loop has ended, without aiohttp's warnings."""
    connector = session.connector
    session.detach()
    if connector is not None:
        connector.__exit__()  # closes synchronously: close() would have to be awaited


async def _read_body(response: ClientResponse) -> tuple[bytes, bool]:
    """Return the body up to ``MOST_BYTES``, and True if it is complete."""
    read = bytearray()
    async for part in response.content.iter_any():
        read += part
        if len(read) > MOST_BYTES:
            return bytes(read), False
    return bytes(read), True


def model_error(error: Exception, address: str) -> ModelError:
    """Convert an error of the client to one line without secrets. Unknown errors are retryable; a
    refused connection is fatal once all retries are used."""
    import aiohttp

    if isinstance(error, aiohttp.InvalidURL):
        line = f"no connection to {address}: not a valid address; set model.base_url"
        return ModelError(line, fatal=True)
    if isinstance(error, aiohttp.ClientConnectionError | OSError):
        closed = isinstance(error, aiohttp.ClientConnectorError)
        cause = (
            error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error
        )
        remedy = (
            "; start the server, or set model.base_url to its address" if closed else ""
        )
        problem = (
            str(cause) or type(cause).__name__
        )  # a reset connection has an empty message
        line = redacted(f"no connection to {address}: {problem}{remedy}")
        return ModelError(line, retryable=True, fatal=closed, away=True)
    if isinstance(error, aiohttp.ClientError):
        # its text may contain the address, with a key in the query
        problem = str(getattr(error, "message", "") or error)
        problem = redacted(" ".join(problem.split())[:120]) or type(error).__name__
        return ModelError(
            f"{address} sent an unreadable reply: {problem}", retryable=True
        )
    return ModelError(
        redacted(f"{address}: {type(error).__name__}: {error}"), retryable=True
    )


def _refusal(
    response: ClientResponse,
    read: bytes,
    address: str,
    key_env: str,
    body: Mapping[str, Any],
) -> ModelError:
    code, text = response.status, read.decode(errors="replace")
    try:
        answer = json.loads(text)
    except (ValueError, RecursionError):
        answer = None
    inner = answer.get("error", answer) if isinstance(answer, Mapping) else {}
    details: Mapping[str, Any] = (
        inner if isinstance(inner, Mapping) else {"message": inner}
    )
    message = str(details.get("message", ""))
    reason = " ".join(message.split())[:300] or " ".join(text.split())[:200]
    reason = redacted(reason or response.reason or "no message")
    line = f"{address} replied {code}: {reason.rstrip('.')}"  # a remedy may follow
    if code in (401, 403):
        remedy = (
            f"; set ${key_env} to a key with access to this model" if key_env else ""
        )
        line = f"{address} refused the key ({code}): {reason.rstrip('.')}{remedy}"
        return ModelError(line, fatal=True)
    if (
        code < 400
    ):  # redirects are never followed: another server would get prompt and key
        try:
            target = redacted(without_secrets(response.headers["location"]))[:200]
        except (KeyError, ValueError):
            target = "another address"
        remedy = f"it redirects to {target}; set model.base_url to that address"
        return ModelError(f"{line}; {remedy}", fatal=True)
    if "insufficient_quota" in text:
        return ModelError(f"{line}; add credit, or use another key", fatal=True)
    if code in _RETRY_CODES or (code >= 500 and code != 501):
        wait = retry_after(response.headers)
        return ModelError(
            line, retryable=True, retry_after=wait, away=code in _AWAY_CODES
        )
    if code == 404:
        remedy = "check the name after --model, and model.base_url"
        if not urlsplit(address).path.strip("/"):
            remedy += ", which usually ends in /v1"
        return Refused(f"{line}; {remedy}", code, reason, "", fatal=True)
    param = str(details.get("param") or "")
    kind = str(details.get("code") or details.get("type") or "")
    field = param.split(".")[0].split("[")[0]
    fatal = kind in _PARAMETER_CODES
    if _CONTEXT_MESSAGE.search(f"{kind} {reason}"):
        line += (
            "; set the agent's context below the model's window, or use a larger model"
        )
        fatal = False
    elif field in body and field not in ("messages", "prompt", "model"):
        line += f"; leave the field out with --set model.omit=[{field}]"
        fatal = True
    return Refused(line, code, reason, param, fatal)


def retry_after(headers: Mapping[str, str], now: float | None = None) -> float | None:
    """Return the wait that a server requests, in seconds: ``retry-after-ms``, or ``retry-after`` as
    a number or a date; None if there is none."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        with suppress(KeyError, ValueError):
            seconds = float(headers[name]) * unit
            if 0 <= seconds < math.inf:
                return seconds
    try:
        moment = parsedate_to_datetime(headers["retry-after"]).timestamp()
    except (
        KeyError,
        TypeError,
        ValueError,
        OverflowError,
    ):  # for example the year 99999
        return None
    return max(0.0, moment - (time.time() if now is None else now))
