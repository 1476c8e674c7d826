"""Waits in words, in lists and in fields of other names."""

from __future__ import annotations

import pytest

from wayword.models.servers.waits import retry_after

NOW = 1_767_225_600  # 2026-01-01 in seconds since 1970
DAY = 86400.0
TEXTS = {
    "retry in 500 milliseconds": 0.5,
    "Please retry after 1 millisecond.": 0.001,
    "retry in 510.79ms": 0.51079,
    "try again in 20 mins": 1200.0,
    "try again in 2 hrs and 5 secs": 7205.0,
    "Please try again in 3 months": 90 * DAY,
    "retry after 1 month": 30 * DAY,
    "your quota resets in 2 weeks": 14 * DAY,
    "try again in about 5 minutes": 300.0,
    "try again in ~12s": 12.0,
    "Please try again in approximately 25 seconds.": 25.0,
    "Please wait at least 12 seconds": 12.0,
    '{"resets_at": 1767225660, "resets_in_seconds": 60}': 60.0,
    '{"resets_in_seconds": 3600}': 3600.0,
    '{"reset_time": "2026-01-01T01:00:00Z"}': 3600.0,
    '{"retryAfterSeconds": 12}': 12.0,
    "rate limited until 2026-01-01T00:01:00Z": 60.0,
    "try again in 1 hour, 5 minutes and 10 seconds": 3910.0,
    "try again in a minute": 60.0,
    "Please try again in less than a minute": 60.0,
    "try again in one hour": 3600.0,
    "wait 45 more seconds": 45.0,
    "请在 30 秒后重试": 30.0,
    "请1分钟后再试": 60.0,
    "30秒後に再試行してください": 30.0,
    "try again in 20s, 3 requests were too many": 20.0,
    "try again in 20s, 5 minutes for images": 20.0,
    "rate limit exceeded until 2026-01-01T00:01:00Z": 60.0,
    "Your limit will reset at 2026-01-01 01:00:00": 3600.0,
    "Your quota will reset after 27h41m36s": 99696.0,
    "Rate limited. Resets in ~12m 36s.": 756.0,
    '"retryDelay": "1976.365s"': 1976.365,
    # No wait: a number of something else
    "no limit until 2026-02-01T00:00:00Z": None,
    "unlimited until 2026-02-01T00:00:00Z": None,
    "the waitlist is open until 2026-02-01T00:00:00Z": None,
    "the preview is available until 2026-02-01T00:00:00Z": None,
    "a model in a minute": None,
    "请稍后再试": None,
    "wait for 5 models to load": None,
    "try again in 3 more steps": None,
}
HEADERS: tuple[tuple[dict[str, str], float | None], ...] = (
    ({"retry-after": "30, 30"}, 30.0),
    ({"x-ratelimit-reset": "30, 60", "x-ratelimit-remaining": "0, 0"}, 60.0),
    ({"x-ratelimit-reset-after": "1.5", "x-ratelimit-remaining": "0"}, 1.5),
    ({"x-ratelimit-reset-after": "1.5", "x-ratelimit-remaining": "2"}, None),
    ({"ratelimit": '"burst";r=0;t=5, "daily";r=50;t=36000'}, 5.0),
    ({"ratelimit": '"burst";r=2;t=5, "daily";r=0;t=36000'}, 36000.0),
    ({"ratelimit": "burst;t=5;r=2, daily;r=0;w=86400;t=36000"}, 36000.0),
    ({"ratelimit": "limit=10, reset=50, remaining=0"}, 50.0),
    ({"retry-after-ms": "0", "retry-after": "30"}, 0.0),
    ({"retry-after-ms": f"{NOW + 60}000"}, 60.0),
    ({"x-rate-limit-retry-after-seconds": "12"}, 12.0),
    ({"retry_after": "12"}, 12.0),
    ({"x-ratelimit-reset-in": "12s", "x-ratelimit-remaining": "0"}, 12.0),
)


@pytest.mark.parametrize("text", TEXTS)
def test_a_wait_in_words(text: str) -> None:
    seconds = TEXTS[text]
    assert retry_after({}, text, NOW) == (seconds and pytest.approx(seconds))


@pytest.mark.parametrize(("headers", "seconds"), HEADERS)
def test_a_wait_in_headers(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, now=NOW) == seconds
