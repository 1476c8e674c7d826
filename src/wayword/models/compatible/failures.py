"""The SDK's exceptions as ``ModelError``: what happened, whether to try again, and when."""

from __future__ import annotations

import email.utils
import time
from collections.abc import Mapping
from typing import Any

from wayword.core.errors import ModelError

_AGAIN = frozenset({408, 409, 425, 429})


def model_error(error: Exception, address: str) -> ModelError:
    """The error in the house's words. Unknown ones are not retryable."""
    import openai

    if isinstance(error, openai.APITimeoutError):
        return ModelError(f"{address} did not answer in time", retryable=True)
    if isinstance(error, openai.APIStatusError):
        return _status(error, address)
    if isinstance(error, openai.APIConnectionError):
        cause = error.__cause__ or error
        return ModelError(f"no connection to {address}: {cause}", retryable=True)
    if isinstance(error, openai.APIError | ValueError):
        said = str(error)[:120] or type(error).__name__
        return ModelError(f"{address} sent an unreadable answer: {said}", retryable=True)
    return ModelError(f"{address}: {type(error).__name__}: {error}")


def _status(error: Any, address: str) -> ModelError:
    code: int = error.status_code
    said = _reason(error.body) or str(error.message)[:200]
    if code in (401, 403):
        return ModelError(f"{address} refused the key ({code}): {said}")
    spent = "insufficient_quota" in str(error.body)
    retryable = (code in _AGAIN or code >= 500) and not spent
    after = retry_after(error.response.headers) if retryable else None
    return ModelError(f"{address} answered {code}: {said}", retryable=retryable, retry_after=after)


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
