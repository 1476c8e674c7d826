"""One server: its client, what a request may take and hold, and its failures in one line each."""

from __future__ import annotations

import asyncio
import email.utils
import json
import re
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit, urlunsplit

from wayword.core.errors import ModelError
from wayword.core.model import Usage, estimated_tokens
from wayword.core.secrets import is_secret, redacted, remember, without_secrets
from wayword.models.servers.requests import HEADERS, Request, ServerSettings

if TYPE_CHECKING:
    from openai import AsyncOpenAI

MOST_BYTES = 1_000_000
"""Of an answer. A server that repeats itself without end must not fill memory and disk."""

_AGAIN = frozenset({408, 409, 425, 429})
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
    """The client of the running event loop; connections cannot move from one loop to another."""

    def __init__(self, address: str, key: str, settings: ServerSettings) -> None:
        self.shown = without_secrets(address)
        parts = urlsplit(address)
        self._base = urlunsplit(parts._replace(query="", fragment=""))
        self._query = dict(parse_qsl(parts.query, keep_blank_values=True))
        self._headers = {str(k): str(v) for k, v in dict(settings.extra.get(HEADERS, {})).items()}
        for name, value in self._headers.items():
            remember(value if is_secret(name) else "")
        remember(key)
        self._key, self._settings = key, settings
        self._client: AsyncOpenAI | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def post(self, asked: Request) -> Any:
        """The answer's JSON. Raises ``ModelError``; ``Refused`` where other words may help."""
        body = {**asked.body}
        client, model = self._connected(), body.pop("model")
        try:
            async with asyncio.timeout(self._settings.timeout):
                if asked.chat:
                    chat, messages = client.chat.completions, body.pop("messages")
                    sent = chat.with_streaming_response.create(
                        model=model, messages=messages, extra_body=body
                    )
                else:
                    text = client.completions.with_streaming_response
                    sent = text.create(model=model, prompt=body.pop("prompt"), extra_body=body)  # type: ignore[assignment]
                async with sent as response:
                    return _parsed(await _read(response, asked), asked, self.shown)
        except TimeoutError:
            raise ModelError(f"{self.shown} did not answer in time", retryable=True) from None
        except ModelError:
            raise
        except Exception as error:  # noqa: BLE001 - the client's own errors and its libraries'
            raise model_error(error, self.shown, self._settings.key_env, asked.body) from None

    async def models(self, patience: float = 10.0) -> list[Mapping[str, Any]]:
        """What the server says of its models; nothing where it says nothing."""
        try:
            async with asyncio.timeout(patience):
                told = await self._connected().get("/models", cast_to=object)
        except Exception:  # noqa: BLE001 - a server need not have this route
            return []
        listed = told.get("data") if isinstance(told, Mapping) else None
        return [m for m in listed if isinstance(m, Mapping)] if isinstance(listed, list) else []

    async def aclose(self) -> None:
        """Close the connections of the running loop."""
        client, self._client = self._client, None
        if client is not None and self._loop is asyncio.get_running_loop():
            await client.close()

    def _connected(self) -> AsyncOpenAI:
        loop = asyncio.get_running_loop()
        if self._client is None or self._loop is not loop:
            from openai import AsyncOpenAI

            self._client = AsyncOpenAI(
                api_key=self._key or "none",
                base_url=self._base,
                timeout=self._settings.timeout,
                max_retries=0,
                default_headers=self._headers or None,
                default_query=self._query or None,
            )
            self._loop = loop
        return self._client


async def _read(response: Any, asked: Request) -> bytes:
    read = bytearray()
    async for part in response.iter_bytes():
        read += part
        if len(read) > MOST_BYTES:
            size = f"{MOST_BYTES // 1_000_000} MB"
            line = f"the answer is larger than {size}; lower the agent's max_tokens"
            raise ModelError(line, billed=_guessed(asked, read))
    return bytes(read)


def _parsed(read: bytes, asked: Request, address: str) -> Any:
    """The answer's JSON. One that cannot be read has been billed all the same."""
    try:
        return json.loads(read)
    except (ValueError, RecursionError) as error:
        line = f"{address} sent an unreadable answer: {redacted(str(error)[:120])}"
        raise ModelError(line, retryable=True, billed=_guessed(asked, read)) from None


def _guessed(asked: Request, read: bytes | bytearray) -> Usage:
    """Tokens of a call whose answer does not tell them, from its characters."""
    sent = json.dumps(asked.body, ensure_ascii=False, default=str)
    return Usage(estimated_tokens(sent), len(read) // 4, estimated=True)


def model_error(
    error: Exception, address: str, key_env: str = "", body: Mapping[str, Any] | None = None
) -> ModelError:
    """The error in the house's words, no secret in them. Unknown ones are not retryable."""
    import openai

    if isinstance(error, openai.APITimeoutError):
        return ModelError(f"{address} did not answer in time", retryable=True)
    if isinstance(error, openai.APIStatusError):
        return _status(error, address, key_env, body or {})
    if isinstance(error, openai.APIConnectionError):
        return _unreachable(error, address)
    if isinstance(error, openai.APIError | ValueError):
        said = redacted(str(error)[:120]) or type(error).__name__
        return ModelError(f"{address} sent an unreadable answer: {said}", retryable=True)
    return ModelError(redacted(f"{address}: {type(error).__name__}: {error}"), retryable=True)


def _unreachable(error: Exception, address: str) -> ModelError:
    """Fatal once the retries are used up, where nobody listens at all."""
    cause = error.__cause__ or error
    nobody = type(cause).__name__ == "ConnectError"
    remedy = "; start the server, or set model.base_url to where it listens" if nobody else ""
    said = str(cause) or type(cause).__name__  # a connection that is reset says nothing itself
    line = redacted(f"no connection to {address}: {said}{remedy}")
    return ModelError(line, retryable=True, fatal=nobody, away=True)


def _status(error: Any, address: str, key_env: str, body: Mapping[str, Any]) -> ModelError:
    code: int = error.status_code
    said = redacted(_reason(error.body) or str(error.message)[:200])
    if code in (401, 403):
        remedy = f"; set ${key_env} to a key that may use this model" if key_env else ""
        return ModelError(f"{address} refused the key ({code}): {said}{remedy}", fatal=True)
    line = f"{address} answered {code}: {said}"
    if "insufficient_quota" in str(error.body):
        return ModelError(f"{line}; add credit, or use another key", fatal=True)
    if code in _AGAIN or (code >= 500 and code != 501):
        wish = retry_after(error.response.headers)
        return ModelError(line, retryable=True, retry_after=wish, away=code in _AWAY)
    if code == 404:
        remedy = "check the name after --model, and model.base_url"
        return Refused(f"{line}; {remedy}", code, said, "", fatal=True)
    return _refusal(line, code, said, error.body, body)


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
    parsed = email.utils.parsedate_tz(wish)
    if parsed is None:
        return None
    return max(0.0, email.utils.mktime_tz(parsed) - (time.time() if now is None else now))


def _number(text: str | None) -> float | None:
    try:
        value = float(text) if text is not None else None
    except ValueError:
        return None
    return value if value is None or 0 <= value < float("inf") else None
