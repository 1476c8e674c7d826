"""One server: its client, what a request may take and hold, and its failures in one line each."""

from __future__ import annotations

import asyncio
import email.utils
import json
import math
import os
import re
import ssl
import time
from collections.abc import Mapping
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

MOST_BYTES = 1_000_000
"""Of an answer. A server that repeats itself without end must not fill memory and disk."""

_KEPT = 4.0
"""Seconds that an idle connection is kept: servers of uvicorn close theirs after five."""
_AGAIN = frozenset({408, 409, 425, 429})
_WORKED = frozenset({408, 500, 502, 504, *range(520, 528)})
"""Failures after which the request may have been carried out, and billed."""
_FILTERED = re.compile(rb"content.?filter|content management policy", re.IGNORECASE)
_AWAY = frozenset({429, 502, 503, 504, 529})
"""Answers of a server, or of what stands before it, that has no room for anybody."""
_CONTEXT = re.compile(
    r"context_length|context (?:length|size|window)|prompt is too long|too many (?:input )?tokens",
    re.IGNORECASE,
)
_PARAMETER = frozenset({"unsupported_parameter", "unsupported_value", "unknown_parameter"})


class Refused(ModelError):
    """An answer 400, 404, 405, 422 or 501: the request may be put in another way.

    ``said`` is the server's message, ``param`` the field it names.
    """

    def __init__(self, message: str, status: int, said: str, param: str, fatal: bool) -> None:
        super().__init__(message, fatal=fatal)
        self.status, self.said, self.param = status, said, param


class Connection:
    """The session of the running event loop; connections cannot move from one loop to another.

    aiohttp, not a vendor's SDK: two hundred calls at once cost a fifth of the processor time.
    """

    def __init__(self, address: str, key: str, settings: ServerSettings) -> None:
        import aiohttp  # noqa: F401 - with the model, so that its first call need not wait for it

        self.shown = without_secrets(address)
        parts = urlsplit(address)
        self._base = urlunsplit(parts._replace(query="", fragment="")).rstrip("/")
        self._query = f"?{parts.query}" if parts.query else ""
        given = {str(k): str(v) for k, v in dict(settings.extra.get(HEADERS, {})).items()}
        for name, value in given.items():
            hidden(name, value)
        remember(key)
        self._headers = _headers(key, given)
        self._settings = settings
        self._answers = self._most = 0
        """Answers that the server has counted, and the most tokens that one of them had."""
        self._session: ClientSession | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def post(self, asked: Request) -> tuple[Any, Usage]:
        """The answer's JSON, and what it was billed at.

        Raises ``ModelError``; ``Refused`` where other words may help. Its ``billed`` is an upward
        estimate of what a server may charge for the failure.
        """
        prompt = rough_tokens(asked.prompt) + len(asked.form) // 2
        async with sending(Usage(prompt, self._longest(asked), estimated=True)) as request:
            reply = await self._reply(asked)
            request.billed = used = answers.usage(reply, asked, partial(self._estimate, asked))
        if not used.estimated:
            self._answers += 1
            self._most = max(self._most, -(-used.completion // asked.samples))
        return reply, used

    async def _reply(self, asked: Request) -> Any:
        body = json.dumps(asked.body).encode()
        address = f"{self._base}{asked.route}{self._query}"
        try:
            async with asyncio.timeout(self._settings.timeout):
                async with self._connected().post(
                    address, data=body, allow_redirects=False
                ) as response:
                    read, whole = await _read(response)
        except TimeoutError:
            line = f"{self.shown} did not answer in time"
            raise ModelError(line, retryable=True, billed=self._estimate(asked, cut=True)) from None
        except Exception as error:  # noqa: BLE001 - the client's own errors and its libraries'
            failure = model_error(error, self.shown)
            if not failure.fatal:  # the connection was there, and so may be the request
                failure.billed = self._estimate(asked)
            raise failure from None
        if response.status >= 300:
            failure = _status(response, read, self.shown, self._settings.key_env, asked.body)
            if response.status in _WORKED or _FILTERED.search(read):
                failure.billed = self._estimate(asked)
            raise failure
        if not whole:
            size = f"{MOST_BYTES // 1_000_000} MB"
            line = f"the answer is larger than {size}; lower the agent's max_tokens"
            raise ModelError(line, billed=self._estimate(asked, cut=True))
        try:
            return json.loads(read)
        except (ValueError, RecursionError) as error:
            line = f"{self.shown} sent an unreadable answer: {redacted(str(error)[:120])}"
            raise ModelError(line, retryable=True, billed=self._estimate(asked)) from None

    def _estimate(self, asked: Request, cut: bool = False) -> Usage:
        """Upward estimate of a request whose answer does not say; ``cut``: it was a long one."""
        tokens = estimated_tokens(asked.prompt)
        tokens += estimated_tokens(asked.form) if asked.form else 0
        written = asked.limit * asked.samples if cut else self._longest(asked)
        return Usage(answers.upward(tokens), written, estimated=True)

    def _longest(self, asked: Request) -> int:
        """Tokens that the answer may have: its limit, or more than all answers up to now."""
        known = self._answers
        most = self._most * (1.25 + 4 / known) if known else asked.limit
        return asked.samples * min(asked.limit, math.ceil(most))

    async def models(self, patience: float = 10.0) -> list[Mapping[str, Any]]:
        """What the server says of its models; nothing where it says nothing."""
        try:
            async with asyncio.timeout(patience):
                address = f"{self._base}/models{self._query}"
                async with self._connected().get(address, allow_redirects=False) as response:
                    told = json.loads((await _read(response))[0])
        except Exception:  # noqa: BLE001 - a server need not have this route
            return []
        listed = told.get("data") if isinstance(told, Mapping) else None
        return [m for m in listed if isinstance(m, Mapping)] if isinstance(listed, list) else []

    async def aclose(self) -> None:
        """Close the connections of the running loop."""
        session, self._session = self._session, None
        if session is None:
            return
        if self._loop is asyncio.get_running_loop():
            await session.close()
        else:
            _drop(session)

    def __del__(self) -> None:
        if (session := getattr(self, "_session", None)) is not None:
            _drop(session)

    def _connected(self) -> ClientSession:
        loop = asyncio.get_running_loop()
        if self._session is None or self._loop is not loop:
            if self._session is not None:
                _drop(self._session)
            self._session, self._loop = _session(self._base, self._headers), loop
        return self._session


def _session(address: str, headers: Mapping[str, str]) -> ClientSession:
    """A session whose time limits are the caller's, with Python's certificates and the
    environment's proxy."""
    from aiohttp import ClientSession, ClientTimeout, DummyCookieJar, TCPConnector

    parts = urlsplit(address)
    # a context a session: aiohttp's own would forget a change of $SSL_CERT_FILE
    context = ssl.create_default_context() if parts.scheme == "https" else True
    return ClientSession(
        connector=TCPConnector(limit=0, ssl=context, keepalive_timeout=_KEPT),
        headers=headers,
        timeout=ClientTimeout(),
        cookie_jar=DummyCookieJar(),
        proxy=_proxy(parts.scheme, parts.hostname or ""),
    )


def _drop(session: ClientSession) -> None:
    """Close a session whose loop has gone, without the lines that aiohttp prints of such ones."""
    connector = session.connector
    session.detach()
    if connector is not None:
        connector.__exit__()  # at once: close() has to be awaited


def _proxy(scheme: str, host: str) -> str | None:
    """The proxy that the environment names for a host, asked once: not before each request."""
    named = getproxies()
    return None if proxy_bypass(host) else named.get(scheme) or named.get("all")


def _headers(key: str, given: Mapping[str, str]) -> dict[str, str]:
    """Of every request; those that the settings name win."""
    made = {
        "Authorization": f"Bearer {key or 'none'}",
        "Content-Type": "application/json",
        "Accept": "application/json",
        "Accept-Encoding": "identity",
        "User-Agent": "wayword",
        "OpenAI-Organization": os.environ.get("OPENAI_ORG_ID", ""),
        "OpenAI-Project": os.environ.get("OPENAI_PROJECT_ID", ""),
    }
    own = {name.lower() for name in given}
    return {k: v for k, v in made.items() if v and k.lower() not in own} | dict(given)


async def _read(response: ClientResponse) -> tuple[bytes, bool]:
    """The body, ``MOST_BYTES`` of it at most, and whether that is all."""
    read = bytearray()
    async for part in response.content.iter_any():
        read += part
        if len(read) > MOST_BYTES:
            return bytes(read), False
    return bytes(read), True


def model_error(error: Exception, address: str) -> ModelError:
    """A failure before a whole answer in one line without secrets. Unknown ones may be retried."""
    import aiohttp

    if isinstance(error, aiohttp.InvalidURL):
        line = f"no connection to {address}: it is no address; set model.base_url"
        return ModelError(line, fatal=True)
    if isinstance(error, aiohttp.ClientConnectionError | OSError):
        return _unreachable(error, address)
    if isinstance(error, aiohttp.ClientError):
        # its own text may hold the address with a key in the query
        said = getattr(error, "message", "") or str(error)
        said = redacted(" ".join(str(said).split())[:120]) or type(error).__name__
        return ModelError(f"{address} sent an unreadable answer: {said}", retryable=True)
    return ModelError(redacted(f"{address}: {type(error).__name__}: {error}"), retryable=True)


def _unreachable(error: Exception, address: str) -> ModelError:
    """Fatal once the retries are used up, where nobody listens at all."""
    import aiohttp

    nobody = isinstance(error, aiohttp.ClientConnectorError)
    cause = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error
    remedy = "; start the server, or set model.base_url to where it listens" if nobody else ""
    said = str(cause) or type(cause).__name__  # a connection that is reset says nothing itself
    line = redacted(f"no connection to {address}: {said}{remedy}")
    return ModelError(line, retryable=True, fatal=nobody, away=True)


def _status(
    response: ClientResponse, read: bytes, address: str, key_env: str, body: Mapping[str, Any]
) -> ModelError:
    code, text = response.status, read.decode(errors="replace")
    try:
        told = json.loads(text)
    except (ValueError, RecursionError):
        told = None
    said = redacted(_reason(told) or " ".join(text.split())[:200] or response.reason or "nothing")
    if code in (401, 403):
        remedy = f"; set ${key_env} to a key that may use this model" if key_env else ""
        return ModelError(
            f"{address} refused the key ({code}): {said.rstrip('.')}{remedy}", fatal=True
        )
    line = f"{address} answered {code}: {said.rstrip('.')}"  # a remedy may follow
    if code < 400:  # never followed: prompt and headers would go to another server
        remedy = f"it redirects to {_target(response)}; set model.base_url to where it answers"
        return ModelError(f"{line}; {remedy}", fatal=True)
    if "insufficient_quota" in text:
        return ModelError(f"{line}; add credit, or use another key", fatal=True)
    if code in _AGAIN or (code >= 500 and code != 501):
        wish = retry_after(response.headers)
        return ModelError(line, retryable=True, retry_after=wish, away=code in _AWAY)
    if code == 404:
        remedy = "check the name after --model, and model.base_url"
        if not urlsplit(address).path.strip("/"):
            remedy += ", which usually ends in /v1"
        return Refused(f"{line}; {remedy}", code, said, "", fatal=True)
    return _refusal(line, code, said, told, body)


def _target(response: ClientResponse) -> str:
    """The address that a redirect names, without secrets."""
    try:
        return redacted(without_secrets(response.headers["location"]))[:200]
    except (KeyError, ValueError):
        return "another address"


def _refusal(line: str, code: int, said: str, told: object, body: Mapping[str, Any]) -> Refused:
    inner = told.get("error", told) if isinstance(told, Mapping) else {}
    inner = inner if isinstance(inner, Mapping) else {}
    param = str(inner.get("param") or "")
    kind = str(inner.get("code") or inner.get("type") or "")
    if _CONTEXT.search(f"{kind} {said}"):
        remedy = "set the agent's context below the model's window, or use a larger model"
        return Refused(f"{line}; {remedy}", code, said, param, fatal=False)
    field = param.split(".")[0].split("[")[0]
    if field in body and field not in ("messages", "prompt", "model"):
        remedy = f"leave the field out with --set model.omit=[{field}]"
        return Refused(f"{line}; {remedy}", code, said, param, fatal=True)
    return Refused(line, code, said, param, fatal=kind in _PARAMETER)


def _reason(body: object) -> str:
    """The message inside an error body, on one line."""
    if isinstance(body, Mapping):
        inner = body.get("error", body)
        said = inner.get("message", "") if isinstance(inner, Mapping) else inner
        return " ".join(str(said).split())[:300]
    return ""


def retry_after(headers: Mapping[str, str], now: float | None = None) -> float | None:
    """The server's wish in seconds: ``retry-after-ms``, or seconds or a date in ``retry-after``."""
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    wish = headers.get("retry-after")
    seconds = _number(wish)
    if seconds is not None or wish is None:
        return seconds
    try:
        parsed = email.utils.parsedate_tz(wish)
        moment = None if parsed is None else email.utils.mktime_tz(parsed)
    except (ValueError, OverflowError):  # the year 99999
        return None
    return None if moment is None else max(0.0, moment - (time.time() if now is None else now))


def _number(text: str | None) -> float | None:
    try:
        value = float(text) if text is not None else None
    except ValueError:
        return None
    return value if value is None or 0 <= value < float("inf") else None
