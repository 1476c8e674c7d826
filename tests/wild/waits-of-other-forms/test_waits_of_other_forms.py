"""Waits in other forms: a vendor's header, hours and minutes, a date after "retry"."""

from __future__ import annotations

import pytest

from wayword.models.servers.waits import retry_after

NOW = 1_767_225_600  # 2026-01-01 in seconds since 1970
QUOTA = 5 * 86400 + 3 * 3600 + 23 * 60 + 11.0
HEADERS: dict[str, tuple[dict[str, str], float | None]] = {
    "Azure's, in milliseconds": ({"x-ms-retry-after-ms": "1500"}, 1.5),
    "a vendor's prefix": ({"X-Retry-After": "20"}, 20.0),
    "without a prefix first": ({"x-retry-after": "20", "retry-after": "5"}, 5.0),
    "milliseconds first": ({"retry-after": "2", "x-ms-retry-after-ms": "1500"}, 1.5),
    "a clock": ({"retry-after": "00:00:37"}, 37.0),
    "a clock with days": ({"retry-after": "5.03:23:11"}, QUOTA),
    "a clock with a fraction": ({"retry-after": "00:01:00.5"}, 60.5),
    "a unit": ({"retry-after": "1m0s"}, 60.0),
    "quotes": ({"retry-after": '"30"'}, 30.0),
    "a remark": ({"retry-after": "30; burst"}, 30.0),
    "a zone in words": ({"retry-after": "2026-01-01 00:01:00 UTC"}, 60.0),
    "RFC 850": ({"retry-after": "Thursday, 01-Jan-26 00:01:00 GMT"}, 60.0),
    "asctime": ({"retry-after": "Thu Jan  1 00:01:00 2026"}, 60.0),
    "more used than allowed": (
        {"x-ratelimit-reset-tokens": "12", "x-ratelimit-remaining-tokens": "-20"},
        12.0,
    ),
    "no limit": ({"x-ratelimit-reset": "12", "x-ratelimit-remaining": "-1"}, None),
    "some are left": ({"x-ratelimit-reset": "12", "x-ratelimit-remaining": "20"}, None),
    "no number": ({"retry-after": "null", "x-retry-after": ""}, None),
    "a time of day": ({"retry-after": "12:30"}, None),
}
TEXTS: dict[str, float | None] = {
    "Quota will be replenished in 5.03:23:11": QUOTA,
    "Rate limit is exceeded. Try again in 00:00:37.": 37.0,
    "Your limit will reset at 2026-01-01 00:01:00": 60.0,
    "Rate limit reached; try again at 2026-01-01T00:01:00Z": 60.0,
    "Retry after 2026-01-01 00:01:00 UTC": 60.0,
    "retry after Thu, 01 Jan 2026 00:01:00 GMT": 60.0,
    '{"resetsAt": 1767225660}': 60.0,
    '{"reset_seconds": 30}': 30.0,
    '{"wait_seconds": "30"}': 30.0,
    '{"retry_in": 30}': 30.0,
    '{"retry_after": "PT30S"}': 30.0,
    "You can retry your requests in 5 seconds": 5.0,
    # Without a zone: UTC, or Chinese time, which is the earlier moment
    "Your limit will reset at 2026-01-01 08:01:00": 60.0,
    "您的限额将在 2026-01-01 08:01:00 重置。": 60.0,
    "[1308][您的限额将在 2026-01-02 08:01:00 重置。]": 86460.0,
    "will reset at 2026-01-01 08:01:00 UTC+8": 60.0,
    "will reset at 2026-01-01 08:01:00 (GMT+08:00)": 60.0,
    "will reset at 2026-01-01 08:01:00 UTC": 28860.0,
    "will reset at 2026-01-01T08:01:00Z": 28860.0,
    "will reset at 2026-01-01 05:31:00 UTC+05:30": 60.0,
    "Your limit will reset at 2025-12-31 23:00:00": None,
    # No wait
    "The order ID is 00:00:37": None,
    "retry at most 3 times": None,
    "try again on 3 more servers": None,
    "the model of 2026-01-01 was released": None,
    "模型已在 2026-01-01 00:01:00 更新": None,
    "retry with 5 seconds of audio": None,
}


@pytest.mark.parametrize("name", HEADERS)
def test_a_wait_in_headers(name: str) -> None:
    headers, seconds = HEADERS[name]
    assert retry_after(headers, now=NOW) == seconds


@pytest.mark.parametrize("text", TEXTS)
def test_a_wait_in_words(text: str) -> None:
    assert retry_after({}, text, NOW) == TEXTS[text]


def test_a_header_without_a_zone_is_in_utc() -> None:
    date = "2026-01-01T09:00:00"
    headers = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": date}
    assert retry_after({"retry-after": date}, now=NOW) == 9 * 3600
    assert retry_after(headers, now=NOW) == 9 * 3600
    assert retry_after({}, f"resets at {date}", NOW) == 3600
