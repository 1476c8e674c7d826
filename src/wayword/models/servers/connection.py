"""HTTP client of a server, with one-line errors and an upper estimate of each request's bill."""

from __future__ import annotations

import asyncio
import json
import os
import ssl
import zlib
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from http import HTTPStatus
from operator import itemgetter
from typing import TYPE_CHECKING, Any
from urllib.parse import urlunsplit

from wayword.core.episode import Json
from wayword.core.errors import ModelError, UsageError
from wayword.core.files import paired
from wayword.core.model import Prompt, Usage, estimated_tokens, user
from wayword.core.secrets import hidden, redacted, remember, without_secrets
from wayword.models.middleware.budget import rough_tokens, sending
from wayword.models.servers import answers
from wayword.models.servers.addresses import address_parts, proxy_for, unquoted
from wayword.models.servers.refusals import ServerRefusal, read, remedy_of, window
from wayword.models.servers.replies import code_of, error_in, is_of_interface, reply_in
from wayword.models.servers.requests import (
    HEADERS,
    Request,
    ServerSettings,
    is_held,
)
from wayword.models.servers.waits import retry_after

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientSession

MOST_BYTES = 1_000_000  # of a reply: an endless answer must not fill memory and disk
MOST_FILE_BYTES = 1_000_000_000  # of a file of results: 50,000 answers of 20 kB
_MOST_HEADER = 65536
MOST_LISTED_BYTES = 16_000_000  # of a list of models: routers have thousands

_DESCRIPTIONS = (
    ("GET", "/models"),
    ("GET", "/props"),
    ("GET", "/info"),
    ("GET", "/api/v0/models"),
    ("GET", "/api/ps"),
    ("POST", "/api/show"),
)
"""Routes that describe a model: of most servers, llama.cpp, TGI, LM Studio, and Ollama, which
states the window of a loaded model, else the model's own."""

# Idle connections are closed before uvicorn closes its end, after 5 s
_KEEPALIVE_S = 4.0
_WORKED_CODES = frozenset({408, 499, 500, 502, 504, *range(520, 528)})
"""Statuses after which the request may have been processed and billed."""
GAVE_UP_CODES = frozenset({408, 504, 522, 524})
"""Statuses of a server or gateway that gave up on a long answer, while the model works on."""
# Unavailable to all clients; 498 is Groq's for a tier without capacity
_AWAY_CODES = frozenset({429, 498, 502, 503, 504, 529})
_MISSING_CODES = frozenset({404, 410})
_FOLLOWED_CODES = frozenset({303, 307, 308})
# Modal redirects every 150 s while a request runs
_MOST_REDIRECTS = 20
_END_RUN = frozenset({"no credit", "wrong key", "wrong address", "field unknown"})
"""Refusals that every other call would get, if nothing can be learnt from them."""

# A prompt of at least so many characters is shortened by the server if it counts fewer tokens than
# one for so many characters (agents' prompts have 2.5 to 4.5); for a prompt that is longer than the
# one with the largest count so far, but has hardly more tokens, than one for fewer.
_LONG_PROMPT = 4000
_CHARACTERS_PER_TOKEN = 9
_IF_FLAT = 6


class Refused(ModelError):
    """Error of a server that refuses a request: a changed one may be accepted."""

    def __init__(self, line: str, refusal: ServerRefusal) -> None:
        super().__init__(line, fatal=refusal.kind in _END_RUN)
        self.refusal = refusal


class Missing(ModelError):
    """Error: the server does not know what a route is about, such as a batch or a file."""


class Connection:
    """HTTP session of the running event loop; connections cannot move to another loop.

    With 200 concurrent calls, aiohttp needs a fifth of the processor time of a vendor's
    SDK. ``shortened_prompts`` counts the prompts that the server did not read to their
    end; ``problems`` are others that do not stop a run, each a line. Raises
    ``UsageError`` for an address, a proxy or a header that cannot be used.
    """

    def __init__(self, address: str, key: str, settings: ServerSettings) -> None:
        self.address = without_secrets(address)
        self._parts = address_parts(address)
        self._proxy = proxy_for(self._parts)
        self._settings = settings
        custom = {str(k): str(v) for k, v in settings.extra.get(HEADERS, {}).items()}
        for name, value in custom.items():
            hidden(name, value)
        key = unquoted(key).removeprefix("Bearer ")
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
        unchanged = {k: v for k, v in defaults.items() if v and k.lower() not in names}
        self._headers = {k: v.strip() for k, v in (unchanged | custom).items()}
        for name, value in self._headers.items():
            if not (value.isascii() and value.isprintable()):
                owner = f"${settings.key_env}" if name == "Authorization" else name
                line = f"{owner} contains a character that is not allowed in a header"
                raise UsageError(f"{line}; copy it again")
        # Of all calls, by the address: replies do not name it.
        self._tier = "flex" if is_held(address) else ""
        # characters and tokens of the prompt with the largest count
        self._longest = (0, 0)
        self._has_answered = False
        self.shortened_prompts = 0
        self.problems: list[str] = []
        self._session: ClientSession | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def post(self, request: Request) -> tuple[Any, Usage]:
        """Send a request, and return the reply's JSON and billed tokens.

        Raises ``ModelError``, or ``Refused`` if a changed request may be accepted. The error's
        ``billed`` is an upper estimate of what the server may charge for it.
        """
        return await self._billed(request, lambda _: self._send(request))

    async def exchange(
        self,
        method: str,
        route: str,
        body: Json = None,
        headers: Mapping[str, str] | None = None,
    ) -> bytes:
        """Return the body of a reply that is not billed; ``body`` is JSON, or bytes with their
        type in ``headers``. Raises ``ModelError``: retryable while the server is away, and ``lost``
        if it may have done what was asked."""
        data = body
        if body is not None and not isinstance(body, bytes):
            data = json.dumps(body).encode()
        response, read_bytes, is_complete = await self._request(
            method, route, data, MOST_FILE_BYTES, headers
        )
        if not is_complete:
            raise ModelError(f"a file of {self.address} is too large", fatal=True)
        if response.status < 300:
            return read_bytes
        text = read_bytes.decode(errors="replace")
        refusal = read(response.status, reply_in(text) or text, ())
        is_missing = response.status in _MISSING_CODES or "not exist" in refusal.message
        is_away = response.status in _AWAY_CODES | _WORKED_CODES or (
            refusal.kind == "overloaded" and not is_missing
        )
        kind = Missing if is_missing and not is_away else ModelError
        raise kind(
            f"{self.address} replied {response.status}: {refusal.message}",
            retryable=is_away,
            away=is_away,
            fatal=not is_away,
            retry_after=retry_after(response.headers, text),
            lost="cut off" if response.status in _WORKED_CODES else "",
        )

    async def _request(
        self,
        method: str,
        route: str,
        data: bytes | None,
        most: int = MOST_BYTES,
        headers: Mapping[str, str] | None = None,
    ) -> tuple[ClientResponse, bytes, bool]:
        """Return a response, up to ``most`` bytes of its body, and True if these are all. Raises
        ``ModelError``, with ``lost`` if the request may have arrived."""
        limit = self._settings.seconds
        url = self._url(route)
        try:
            async with asyncio.timeout(limit):
                for _ in range(_MOST_REDIRECTS):
                    # A redirect could send prompt and key to another address.
                    async with self._open_session().request(
                        method, url, data=data, headers=headers, allow_redirects=False
                    ) as response:
                        read_bytes, is_complete = await _read_body(response, most)
                    url = _same_server(response)
                    if not url:
                        break
                    # The answer of a long request lies at another path (Modal).
                    if response.status == HTTPStatus.SEE_OTHER:
                        method = "GET"
                        data = None
        except Exception as error:  # noqa: BLE001 - errors of aiohttp and of its libraries
            failure = model_error(
                error, self.address, self._proxy, limit, not self._has_answered
            )
            if isinstance(error, TimeoutError):
                failure.lost = "time limit"
            elif not failure.fatal:
                failure.lost = "cut off"
            raise failure from None
        return response, read_bytes, is_complete

    async def _billed(
        self,
        request: Request,
        send: Callable[[sending], Awaitable[Any]],
        tier: str = "",
        earlier: str = "",
    ) -> tuple[Any, Usage]:
        """Send a request by a function, and return the reply and its billed tokens. ``earlier`` is
        the row of the ledger if an earlier session has sent the request."""
        prompt = rough_tokens(request.prompt, request.pictures) + len(request.form) // 2
        written = request.limit * request.samples
        tier = tier or self._tier
        # It costs more than the usual one, so the reservation must cover it.
        if request.body.get("service_tier") == "priority":
            tier = "priority"
        cap = Usage(prompt, written, estimated=True, tier=tier)
        async with sending(cap, request.samples, earlier) as transfer:
            reply = await send(transfer)
            estimate = partial(self._estimate, request)
            used = answers.usage(reply, request, estimate)
            transfer.billed = used = replace(used, tier=used.tier or self._tier)
        if not used.estimated and self._is_shortened(request.prompt, used.prompt):
            self.shortened_prompts += 1
            used = replace(used, estimated=True)
        return reply, used

    def _is_shortened(self, prompt: Prompt, tokens: int) -> bool:
        """True if the count shows that the server has not read the whole prompt.

        The comment above ``_LONG_PROMPT`` states the rule. Pictures count tokens of
        their own, so such prompts are never taken for shortened.
        """
        messages = [user(prompt)] if isinstance(prompt, str) else prompt
        characters = sum(len(message.text) for message in messages)
        if characters < _LONG_PROMPT or any(message.images for message in messages):
            return False
        longest, most = self._longest
        grown = characters - longest
        is_flat = grown > 0 and grown > _CHARACTERS_PER_TOKEN * (tokens - most)
        most_characters = _IF_FLAT if is_flat else _CHARACTERS_PER_TOKEN
        if characters > most_characters * tokens:
            return True
        self._longest = max(self._longest, (characters, tokens), key=itemgetter(1))
        return False

    async def _send(self, request: Request) -> Any:
        """Send a request, and return the reply's JSON. Raises ``ModelError`` or ``Refused``."""
        text = json.dumps(request.body)
        if (clean := paired(text, request.body)) is not request.body:
            text = json.dumps(clean)
        try:
            response, read_bytes, is_complete = await self._request(
                "POST", request.route, text.encode()
            )
        except ModelError as failure:
            if failure.lost:  # the server may have received the request
                failure.billed = self._estimate(request)
            raise
        status = response.status
        if status < 300 and not is_complete:
            size = f"{MOST_BYTES // 1_000_000} MB"
            line = f"the reply is larger than {size}; lower the agent's max_tokens"
            raise ModelError(line, billed=self._estimate(request))
        # A gateway may drop the header that says so.
        with suppress(zlib.error):
            unpacked = zlib.decompressobj(47).decompress(read_bytes, MOST_BYTES)
            read_bytes = unpacked or read_bytes
        text = read_bytes.decode(json.detect_encoding(read_bytes), errors="replace")
        return self._read(status, response.headers, text, request)

    def _read(
        self, status: int, headers: Mapping[str, str], text: str, request: Request
    ) -> Any:
        """Return the JSON of a reply. Raises ``ModelError`` for a refusal and other errors."""
        reply = reply_in(text)
        problem: Json = text
        if reply is not None:
            prompt = request.prompt
            if not isinstance(prompt, str):
                prompt = "\n".join(message.text for message in prompt)
            problem = error_in(reply, status, prompt)
        if problem is None:
            self._has_answered = True
            return reply
        if 300 <= status < 400:
            problem = {"message": f"it redirects to {_target(headers)}"}
        status = code_of(problem) or status
        # Of a server that has answered before, it is a fault of the moment.
        is_named = isinstance(reply, Mapping) and "choices" in reply
        is_ours = is_named or problem is not reply
        if reply is None:
            is_ours = is_of_interface(text)
        refusal = read(status, problem, request.fields)
        if refusal.kind == "unknown" and not (is_ours or self._has_answered):
            lacking = {"lacks": "choices", "message": problem}
            refusal = read(status, lacking, request.fields)
        if problem is reply and refusal.kind == "unknown" and status < 300:
            return reply  # without choices, but with a count of tokens
        raise self._failure(status, refusal, headers, request, str(problem))

    def _failure(
        self,
        status: int,
        refusal: ServerRefusal,
        headers: Mapping[str, str],
        request: Request,
        text: str,
    ) -> ModelError:
        """Return the error for a refusal, with its remedy and its bill.

        ``text`` is the reply, in which a wait may be stated.
        """
        # The address of a server that has answered before is right.
        is_doubted = refusal.kind == "wrong address" and self._has_answered
        is_unreadable = status < 300 and (refusal.kind == "unknown" or is_doubted)
        line = f"{self.address} replied {status}: {refusal.message}"
        if is_unreadable:
            line = f"{self.address} sent an unreadable reply: {refusal.message[:120]}"
        elif refusal.kind == "wrong key":
            line = f"{self.address} refused the key ({status}): {refusal.message}"
        if template := remedy_of(refusal, self._settings.extra):
            remedy = template.format(
                field="".join(refusal.fields[:1]),
                key_env=self._settings.key_env,
                v1=self._supposed_address,
            )
            line += f"; {remedy}"
        error: ModelError = Refused(line, refusal)
        # An unreadable reply need not be the model's: another try may succeed.
        if is_unreadable or refusal.kind == "overloaded":
            wait = retry_after(headers, text)
            away = status in _AWAY_CODES
            error = ModelError(line, retryable=True, retry_after=wait, away=away)
        # The model may have generated all the same: the budget counts an estimate.
        if status in _WORKED_CODES or refusal.billed or is_unreadable:
            error.billed = self._estimate(request)
            if status in GAVE_UP_CODES:
                error.lost = "cut off"
            elif refusal.billed != "limit":
                error.lost = "error"
        return error

    @property
    def _supposed_address(self) -> str:
        """The end of a remedy that names the address with ``/v1``, if the path is missing."""
        if self._parts.path.strip("/"):
            return ""
        return f", which usually ends in /v1: {self.address.rstrip('/')}/v1"

    def _estimate(self, request: Request) -> Usage:
        """Return an upper estimate for a request whose reply has no counts.

        That is an answer as long as the request allows.
        """
        tokens = estimated_tokens(request.prompt, request.pictures)
        if request.form:
            tokens += estimated_tokens(request.form)
        written = request.limit * request.samples
        return Usage(answers.upward(tokens), written, estimated=True)

    async def window(self, model: str, patience: float = 10.0) -> int:
        """Return the context length that the server states for a model, 0 if it states none.

        Asks ``_DESCRIPTIONS`` one after another, ``patience`` seconds in all.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(patience):
                for method, route in _DESCRIPTIONS:
                    described = await self._described(method, route, model)
                    if size := window(described, model):
                        return size
                    if route == "/models" and described is None:
                        break  # it has no routes that describe models
        return 0

    async def _described(self, method: str, route: str, model: str) -> Json:
        """Return the JSON of an optional route, None if the server has none."""
        url = self._url("/models")
        if route != "/models":  # next to /v1
            url = urlunsplit(self._parts._replace(path=route, query=""))
        body = json.dumps({"model": model}) if method == "POST" else None
        try:
            async with self._open_session().request(
                method, url, data=body, allow_redirects=False
            ) as response:
                read_bytes, _ = await _read_body(response, MOST_LISTED_BYTES)
                if response.status == HTTPStatus.OK:
                    return json.loads(read_bytes)
                return None
        except Exception:  # noqa: BLE001 - each of these routes is optional
            return None

    async def aclose(self) -> None:
        """Close the session; a later request opens another one."""
        session = self._session
        self._session = None
        if session is not None and self._loop is asyncio.get_running_loop():
            await session.close()
        elif session is not None:
            _discard_session(session)

    def __del__(self) -> None:
        if (session := getattr(self, "_session", None)) is not None:
            _discard_session(session)

    def _url(self, route: str) -> str:
        """Return the address of a route, which may begin with ``..`` and have a query.

        The query of the base address is kept.
        """
        route, _, query = route.partition("?")
        path = self._parts.path.rstrip("/") + route
        if route.startswith(".."):
            path = self._parts.path.rstrip("/").rpartition("/")[0] + route[2:]
        query = "&".join(filter(None, [self._parts.query, query]))
        parts = self._parts._replace(path=path, query=query, fragment="")
        return urlunsplit(parts)

    def _open_session(self) -> ClientSession:
        """Return the session, with Python's certificates. Callers set time limits."""
        from aiohttp import ClientSession, ClientTimeout, DummyCookieJar, TCPConnector

        # A session belongs to the event loop that it was opened in.
        loop = asyncio.get_running_loop()
        if self._session is not None and self._loop is loop:
            return self._session
        if self._session is not None:
            _discard_session(self._session)
        scheme = self._parts.scheme
        # aiohttp's own context is cached, and would ignore a change of $SSL_CERT_FILE
        context = ssl.create_default_context() if scheme == "https" else True
        self._loop = loop
        self._session = ClientSession(
            connector=TCPConnector(
                limit=0, ssl=context, keepalive_timeout=_KEEPALIVE_S
            ),
            headers=self._headers,
            timeout=ClientTimeout(),
            # Gateways add cookies and policies beyond aiohttp's 8 KiB.
            max_field_size=_MOST_HEADER,
            cookie_jar=DummyCookieJar(),
            proxy=self._proxy or None,
        )
        return self._session


def _discard_session(session: ClientSession) -> None:
    """Close a session whose event loop has ended, without aiohttp's warnings."""
    connector = session.connector
    session.detach()
    if connector is not None:
        connector.__exit__()  # closes synchronously: close() would have to be awaited


async def _read_body(
    response: ClientResponse, most: int = MOST_BYTES
) -> tuple[bytes, bool]:
    """Return the body up to ``most`` bytes, and True if it is complete."""
    read = bytearray()
    async for part in response.content.iter_any():
        read += part
        if len(read) > most:
            return bytes(read), False
    return bytes(read), True


def model_error(
    error: Exception,
    address: str,
    proxy: str = "",
    seconds: float = 0.0,
    is_new: bool = False,
) -> ModelError:
    """Convert an error of the client to one line without secrets.

    Unknown errors are retryable; a refused connection is fatal once all retries are
    used. ``seconds`` is the time limit of a request; ``is_new``: nothing has answered yet.
    """
    import aiohttp

    if isinstance(error, TimeoutError):
        line = f"{address} did not reply within {seconds:g} s"
        return ModelError(line, retryable=True)
    route = address
    if proxy:
        route = f"{address} through the proxy {without_secrets(proxy)}"
    # A label of a name that is empty or too long fails as it is encoded.
    if isinstance(error, aiohttp.InvalidURL | UnicodeError):
        line = f"no connection to {address}: not a valid address; set model.base_url"
        return ModelError(line, fatal=True)
    if isinstance(error, aiohttp.ClientHttpProxyError):
        line = f"no connection to {route}: {error.status} {error.message}"
        return ModelError(redacted(line), fatal=error.status < 500, retryable=True)
    if isinstance(error, aiohttp.ClientConnectionError | OSError):
        refused = isinstance(error, aiohttp.ClientConnectorError)
        cause: Exception = error
        if isinstance(error, aiohttp.ClientConnectorError):
            cause = error.os_error
        # a reset connection has an empty message
        line = f"no connection to {route}: {str(cause) or type(cause).__name__}"
        if refused and proxy:
            line += (
                "; correct the proxy in the environment, or add the host to $NO_PROXY"
            )
        elif isinstance(error, aiohttp.ClientConnectorCertificateError):
            line += (
                "; set $SSL_CERT_FILE to a file with the certificate of its authority, and use the "
                "host name that its certificate has"
            )
        elif isinstance(error, aiohttp.ClientSSLError):
            line += (
                "; begin model.base_url with http:// if the server has no TLS, and use the host "
                "name that it expects"
            )
        elif refused:
            line += "; start the server, or set model.base_url to its address"
        return ModelError(redacted(line), retryable=True, fatal=refused, away=True)
    if isinstance(error, aiohttp.ClientError):
        # its text may contain the address, with a key in the query
        problem = str(getattr(error, "message", "") or error)
        problem = redacted(" ".join(problem.split()))[:120] or type(error).__name__
        line = f"{address} sent an unreadable reply: {problem}"
        is_fatal = "content-encoding" in problem.lower()
        if is_new and "Expected HTTP/" in problem:
            is_fatal = True
            line += "; it does not speak HTTP/1.1: check model.base_url"
        return ModelError(line, retryable=not is_fatal, fatal=is_fatal)
    return ModelError(
        redacted(f"{address}: {type(error).__name__}: {error}"), retryable=True
    )


def _same_server(response: ClientResponse) -> str:
    """Return the address of a redirect that keeps the method or leads to the answer, on the same
    server; empty for others, which would send prompt and key to another one."""
    from yarl import URL

    if response.status not in _FOLLOWED_CODES:
        return ""
    with suppress(KeyError, ValueError):
        target = response.url.join(URL(response.headers["location"]))
        if target.origin() == response.url.origin():
            return str(target)
    return ""


def _target(headers: Mapping[str, str]) -> str:
    """Return the address of a redirect that is not followed."""
    with suppress(KeyError, ValueError):
        return redacted(without_secrets(headers["location"]))[:200]
    return "another address"
