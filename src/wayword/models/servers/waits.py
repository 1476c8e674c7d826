"""Waits that servers request, in headers and in the texts of their errors."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

# A whole word or its usual abbreviation, so that "5 models" is no wait
_UNIT = (
    r"(?:(?:milli|month|min|sec|hour|hr|day|week)[a-z]*|ms(?:ecs?)?|[smhdw])(?![a-z])"
)
_DURATION = (
    rf"(?:about |approximately |at least )?((?:\d[\d.]*\s?{_UNIT}\s?(?:and )?)+)"
)
_WAITS = {
    r"(?:retry.?delay|(?:try again|retry)\b[^\d.]{0,12} (?:in|after)|wait(?: for)?"
    rf"|(?:reset|available)s?(?: again)? (?:in|after))\W{{0,4}}{_DURATION}": "",
    r"(?:reset|available)s?(?: again)?[ _](?:at|time)\W{0,4}"
    r"(\d{4}-[\d-]+[T ][\d:.]+(?:Z|[-+][\d:]+)?|\d{10,13}\b)": "",
    r"(?:(?:retry.?after|resets?.(?:in|after))(?:.?seconds)?|estimated_time)"
    r"['\"]?\s?[:=]\s?['\"]?(\d[\d.]*)": "",
    r"retry.?after.?ms['\"]?\s?[:=]\s?['\"]?(\d[\d.]*)": "ms",
}
"""Waits in the text of an error, and the unit of those that have it in their name: ``try again in
1m2.5s``, ``"retryDelay": "5s"``, ``"resets_in_seconds": 60``, ``"retryAfterMs": 500``."""
_LIMIT_IN_TEXT = re.compile(
    r"['\"](x-ratelimit-[\w-]+)['\"]:\s?['\"]?(\d+)", re.IGNORECASE
)
"""A header of a limit that a router repeats in the text of its error."""
_NEXT_LIMIT = re.compile(r",\s*(?=[^,;=]+;)")
"""The comma before another limit of the header ``RateLimit``, which may list several."""
_SECONDS = {
    "milli": 0.001,
    "ms": 0.001,
    "s": 1.0,
    "m": 60.0,
    "h": 3600.0,
    "d": 86400.0,
    "w": 604800.0,
    "mo": 2592000.0,
}
"""The seconds of a unit by its beginning; a month has 30 days."""
_MOMENT = 1e9  # seconds: longer waits are the time since 1970, as also in milliseconds


def retry_after(
    headers: Mapping[str, str], text: str = "", now: float | None = None
) -> float | None:
    """Return the wait that a server requests, in seconds; None if there is none.

    It is in ``retry-after-ms`` or ``retry-after``, else in the text of the error, or in the headers
    of the limits that are reached: a number, a duration, or the moment at which it ends.
    """
    fields = {name.lower(): value for name, value in headers.items()}
    if now is None:
        # By the server's clock, from which this machine's may differ.
        now = _moment(fields.get("date", "")) or time.time()
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        seconds = _wait(fields.get(name, ""), now, unit)
        if seconds is not None:
            return seconds
    waits = []
    for pattern, named_unit in _WAITS.items():
        match = re.search(pattern, text, re.IGNORECASE)
        if match:
            waits.append(match[1] + named_unit)
            break
    fields |= {name.lower(): value for name, value in _LIMIT_IN_TEXT.findall(text)}
    for name, value in fields.items():
        is_reset = "ratelimit" in name.replace("-", "") and "reset" in name
        left = fields.get(re.sub("reset(?:-after)?", "remaining", name), "")
        if is_reset and re.fullmatch("0[0., ]*", left):
            waits.append(value)
    for limit in _NEXT_LIMIT.split(fields.get("ratelimit", "")):
        if re.search(r"\b(?:r|remaining)=0\b", limit):
            waits += re.findall(r"\b(?:t|reset)=(\d+)", limit)
    return max(filter(None, (_wait(wait, now) for wait in waits)), default=None)


def _wait(text: str, now: float, unit: float = 1.0) -> float | None:
    """Return the seconds of a wait; None for texts that state none.

    ``7`` of a unit in seconds, ``1m2.5s``, or a moment as a date or as a time since 1970.
    """
    with suppress(ValueError):
        # Gateways repeat a header: "30, 30".
        seconds = max(map(float, text.split(","))) * unit
        if seconds > 1000 * _MOMENT:
            seconds /= 1000
        if seconds > _MOMENT:
            seconds = max(0.0, seconds - now)
        return seconds if 0 <= seconds < math.inf else None
    if (moment := _moment(text)) is not None:
        return max(0.0, moment - now)
    parts = re.findall(r"([\d.]*\d)\s?(milli|ms|mo|[smhdw])", text.lower())
    return sum(float(amount) * _SECONDS[part] for amount, part in parts) or None


def _moment(text: str) -> float | None:
    """Return the time of a date in seconds since 1970; None for other texts.

    Dates of HTTP are in UTC, also where they do not say so (RFC 9110, section 5.6.7).
    """
    # It may be unreadable, or in the year 99999.
    for read_date in (parsedate_to_datetime, datetime.fromisoformat):
        with suppress(TypeError, ValueError, OverflowError):
            date = read_date(text)
            return date.replace(tzinfo=date.tzinfo or UTC).timestamp()
    return None
