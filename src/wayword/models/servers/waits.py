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
    r"(?:about |approximately |at least |less than )?"
    rf"((?:\d[\d.]*\s?{_UNIT}\s?(?:, ?(?=\d))?(?:and )?)+)"
)
_CLOCK = r"(?:\d+\.)?\d+:\d\d:\d\d(?:\.\d+)?"  # with days before a point
_DATE = (
    r"\d{4}-[\d-]+[T ][\d:.]+(?: ?\(?(?:Z|(?:UTC|GMT)?[-+]\d[\d:]*|UTC|GMT))?|\d{10,13}\b"
    r"|[A-Z]\w\w, \d\d \w{3} \d{4} [\d:]{8} GMT"
)
_AGAIN = r"(?:(?:reset|available|replenishe)[sd]?(?: again)?|try again|retry)[ _-]?"
_UNTIL = (
    r"\b(?:limited|limit (?:reached|exceeded|hit|active|in effect)|throttled|paused|blocked"
    r"|wait|cool(?:ing)?.?down|unavailable|exhausted)\b[^.;\d]{0,40} until"
)
_WAITS = {
    r"(?:retry.?delay|(?:try again|retry)\b[^\d.]{0,30} (?:in|after)|wait(?: for)?"
    rf"|(?:reset|available)s?(?: again)? (?:in|after))\W{{0,4}}{_DURATION}": "",
    rf"(?:{_AGAIN}(?:at|time|after|on)|{_UNTIL})\W{{0,4}}({_DATE})": "",
    rf"{_DURATION}[之以]?[后後](?:重试|再试|重置|恢复|に再)": "",
    rf"将[在于]\s?({_DATE})\s?(?:重置|恢复|刷新)": "",
    rf"{_AGAIN}(?:in|after)\W{{0,4}}({_CLOCK})": "",
    r"(?:(?:retry.?(?:after|in)|resets?.(?:in|after))(?:.?seconds)?|estimated_time"
    r"|(?:reset|wait).?seconds)"
    r"['\"]?\s?[:=]\s?['\"]?(\d[\d.]*|P[\dDT.HMS]+)": "",
    r"retry.?after.?ms['\"]?\s?[:=]\s?['\"]?(\d[\d.]*)": "ms",
}
"""Waits in the text of an error, and the unit of those that have it in their name: ``try again in
1m2.5s``, ``"retryDelay": "5s"``, ``"resets_in_seconds": 60``, ``"retryAfterMs": 500``, ``retry
after 00:00:37``, ``retry after 2026-01-01T00:01:00Z``."""
_IN_WORDS = (
    (
        re.compile(r"\b(?:an?|one) (?=(?:second|minute|hour|day)\b)", re.IGNORECASE),
        "1 ",
    ),
    (re.compile(r"\b(\d+) more (?=(?:sec|min|hour))", re.IGNORECASE), r"\1 "),
    (re.compile(r"(?<=\d)\s?秒钟?"), " seconds"),
    (re.compile(r"(?<=\d)\s?分钟?"), " minutes"),
    (re.compile(r"(?<=\d)\s?小?[时時]"), " hours"),
)
"""Durations in words, and what is read in their place."""
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
_LOCAL = re.compile(r"\d{4}-[\d-]+[T ][\d:.]+")
"""A date that states no zone."""
_ZONE = re.compile(r" ?\(?(?:UTC|GMT)(?:([-+])(\d\d?)(?::?(\d\d))?)?\)?$")
"""A zone in words: ``UTC``, ``(GMT+8)``, ``UTC+08:00``."""
# Seconds by which Chinese time is ahead of UTC
_CHINA = 8 * 3600.0
_MOMENT = 1e9  # seconds: longer waits are the time since 1970, as also in milliseconds
_LONGEST_PART = 10_000
"""Characters of each end of an error's text that are read: pages of proxies have megabytes, in
which the patterns are slow, and state a wait at an end."""


def retry_after(
    headers: Mapping[str, str], text: str = "", now: float | None = None
) -> float | None:
    """Return the wait that a server requests, in seconds; None if there is none.

    It is in ``retry-after-ms`` or ``retry-after``, also with a vendor's prefix, else in the text of
    the error, or in the headers of the limits that are reached: a number, a duration, or the moment
    at which it ends.
    """
    fields = {}
    for name, value in headers.items():
        plain_name = name.lower().replace("_", "-").removesuffix("-seconds")
        fields[plain_name] = value
    if now is None:
        # By the server's clock, from which this machine's may differ.
        now = _moment(fields.get("date", "")) or time.time()
    for ending, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        for name in sorted(fields, key=len):  # the name without a prefix first
            seconds = None
            if name.endswith(ending):
                seconds = _wait(fields[name], now, unit)
            if seconds is not None:
                return seconds
    if len(text) > 2 * _LONGEST_PART:
        text = f"{text[:_LONGEST_PART]} {text[-_LONGEST_PART:]}"
    for words, plain in _IN_WORDS:
        text = words.sub(plain, text)
    waits = [_wait_in_text(text, now)]
    fields |= {name.lower(): value for name, value in _LIMIT_IN_TEXT.findall(text)}
    for name, value in fields.items():
        is_reset = "ratelimit" in name.replace("-", "") and "reset" in name
        left = fields.get(re.sub("reset(?:-after|-in)?", "remaining", name), "")
        # Some count below 0 what was used above the limit; -1 stands for no limit.
        if is_reset and re.fullmatch(r"0[0., ]*|-(?!1$)\d+", left):
            waits.append(_wait(value, now))
    for limit in _NEXT_LIMIT.split(fields.get("ratelimit", "")):
        if re.search(r"\b(?:r|remaining)=0\b", limit):
            seconds_left = re.findall(r"\b(?:t|reset)=(\d+)", limit)
            waits += [_wait(seconds, now) for seconds in seconds_left]
    return max(filter(None, waits), default=None)


def _wait_in_text(text: str, now: float) -> float | None:
    """Return the seconds of the first wait that a text states."""
    for pattern, named_unit in _WAITS.items():
        match = re.search(pattern, text, re.IGNORECASE)
        if match:
            return _wait(match[1] + named_unit, now, in_text=True)
    return None


def _wait(
    text: str, now: float, unit: float = 1.0, in_text: bool = False
) -> float | None:
    """Return the seconds of a wait; None for texts that state none.

    ``7`` of a unit in seconds, ``1m2.5s``, ``00:01:02.5``, or a moment as a date or as a time since
    1970.
    """
    # Some put it into quotes, or a remark after it.
    text = text.strip(" \"'").partition(";")[0]
    if re.fullmatch(_CLOCK, text):
        clock, minutes, rest = text.split(":")
        days, _, hours = clock.rpartition(".")
        hours_in_all = 24 * int(days or 0) + int(hours)
        return 3600.0 * hours_in_all + 60 * int(minutes) + float(rest)
    with suppress(ValueError):
        # Gateways repeat a header: "30, 30".
        seconds = max(map(float, text.split(","))) * unit
        if seconds > 1000 * _MOMENT:
            seconds /= 1000
        if seconds > _MOMENT:
            seconds = max(0.0, seconds - now)
        return seconds if 0 <= seconds < math.inf else None
    if (moment := _moment(text)) is not None:
        seconds = moment - now
        # Without a zone, a date in a sentence is UTC or, as at Zhipu, Chinese time: a request that
        # is too early costs nothing, and hears of the other one. Headers are in UTC.
        if in_text and _LOCAL.fullmatch(text) and seconds > _CHINA:
            seconds -= _CHINA
        return max(0.0, seconds)
    total = 0.0
    smallest = math.inf
    for amount, part in re.findall(r"([\d.]*\d)\s?(milli|ms|mo|[smhdw])", text.lower()):
        # Units fall; the next wait may be another limit's: "in 20s, 1 minute for images".
        if _SECONDS[part] >= smallest:
            break
        smallest = _SECONDS[part]
        total += float(amount) * smallest
    return total or None


def _moment(text: str) -> float | None:
    """Return the time of a date in seconds since 1970; None for other texts.

    Dates of HTTP are in UTC, also where they do not say so (RFC 9110, section 5.6.7).
    """
    if text[:4].isdigit() and (zone := _ZONE.search(text)) is not None:
        hours = (zone[2] or "0").zfill(2)
        minutes = zone[3] or "00"
        text = f"{text[: zone.start()]}{zone[1] or '+'}{hours}:{minutes}"
    # It may be unreadable, or in the year 99999.
    for read_date in (parsedate_to_datetime, datetime.fromisoformat):
        with suppress(TypeError, ValueError, OverflowError):
            date = read_date(text)
            return date.replace(tzinfo=date.tzinfo or UTC).timestamp()
    return None
