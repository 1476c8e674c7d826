"""The wait that a server requests, wherever it is written."""

from __future__ import annotations

import time
from collections.abc import Iterator
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest

from helpers.loopback import refusal
from helpers.served_runs import good, played
from wayword.models.servers.waits import retry_after

NOW = 1_767_225_600  # 2026-01-01 in seconds since 1970


@pytest.fixture
def in_new_york(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine whose clock is five hours behind that of dates in HTTP."""
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("headers", "text", "seconds"),
    [
        ({}, "Please retry in 5.1s.", 5.1),
        ({}, "'retryDelay': '5s'", 5.0),
        ({}, "Please try again in 1m2.5s", 62.5),
        ({}, "Please try again in 6ms.", 0.006),
        ({}, "please retry after 25s, resets at Wed", 25.0),
        ({}, "try again in 20 seconds", 20.0),
        ({}, "try again in 2 hours", 7200.0),
        (
            {},
            "Rate limit of 15 per 60s exceeded. Please wait 34 seconds before retrying",
            34.0,
        ),
        ({}, "Too many tokens, please wait before trying again.", None),
        ({}, "slow down", None),
        ({}, "The limit will reset in 45 seconds", 45.0),
        ({}, "available again in 3 minutes and 20 seconds", 200.0),
        ({}, "{'error': 'slow down', 'retry_after': 12.5}", 12.5),
        ({}, "model is loading, estimated_time: 20.0", 20.0),
        ({}, "Your quota will reset after 1h30m5s.", 5405.0),
        ({}, "available again in 2 days", 172800.0),
        ({}, "The limit resets at 2026-01-01T00:01:00Z", 60.0),
        ({}, '{"retry_after_ms": 1500}', 1.5),
        ({}, '{"retryAfterMs": 1500}', 1.5),
        ({"retry-after": "7"}, "try again in 20s", 7.0),
        ({"Retry-After": "500ms"}, "", 0.5),
        ({"retry-after": str(NOW + 7)}, "", 7.0),
        ({"retry-after": str(NOW + 7) + "000"}, "", 7.0),
        ({"retry-after": str(NOW - 7)}, "", 0.0),
        ({"retry-after": "-7"}, "", None),
        ({"X-RateLimit-Reset": "12", "X-RateLimit-Remaining": "0"}, "", 12.0),
        ({"x-ratelimit-reset": str(NOW + 60), "x-ratelimit-remaining": "0"}, "", 60.0),
        (
            {
                "anthropic-ratelimit-requests-reset": "2026-01-01T00:01:00Z",
                "anthropic-ratelimit-requests-remaining": "0",
            },
            "",
            60.0,
        ),
        (
            {},
            f"{{'X-RateLimit-Remaining': '0', 'X-RateLimit-Reset': '{NOW + 60}000'}}",
            60.0,
        ),
        (
            {
                "x-ratelimit-reset-requests": "1m0s",
                "x-ratelimit-remaining-requests": "0",
            },
            "",
            60.0,
        ),
        (
            {"x-ratelimit-reset-tokens": "9s", "x-ratelimit-remaining-tokens": "5"},
            "",
            None,
        ),
    ],
)
def test_a_wait_is_read(
    headers: dict[str, str], text: str, seconds: float | None
) -> None:
    assert retry_after(headers, text, NOW) == (seconds and pytest.approx(seconds))


@pytest.mark.parametrize("skew", [-900, 0, 900])
def test_a_date_is_read_by_the_clock_of_the_server(skew: int) -> None:
    theirs = time.time() + skew
    headers = {"Date": formatdate(theirs), "Retry-After": formatdate(theirs + 30)}
    assert retry_after(headers) == pytest.approx(30.0, abs=1.5)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"RateLimit": '"default";r=0;t=37'}, 37.0),
        ({"RateLimit": "limit=10, remaining=0, reset=37"}, 37.0),
        ({"RateLimit": '"default";r=3;t=37'}, None),
        ({"X-Rate-Limit-Reset": "37", "X-Rate-Limit-Remaining": "0"}, 37.0),
        ({"RateLimit-Reset": "37", "RateLimit-Remaining": "0"}, 37.0),
        (
            {
                "x-ratelimit-reset-requests-day": "3601.5",
                "x-ratelimit-remaining-requests-day": "0",
            },
            3601.5,
        ),
        ({"Retry-After": "PT30S"}, 30.0),
        ({"Retry-After": "1.5"}, 1.5),
        ({"Retry-After": "nan"}, None),
        ({"Retry-After": "inf"}, None),
        ({"Retry-After": "1e400"}, None),
        ({"Retry-After": "Thu, 01 Jan 2026 00:00:37 GMT"}, 37.0),
        ({"Retry-After": "Thu, 01 Jan 2026 01:00:37 +0100"}, 37.0),
        ({"Retry-After": "Thu, 01 Jan 2026 00:00:37 -0000"}, 37.0),
        ({"Retry-After": "Thu Jan  1 00:00:37 2026"}, 37.0),
        ({"Retry-After": "2026-01-01T00:00:37"}, 37.0),
        ({"Retry-After": "Wed, 31 Dec 2025 23:00:00 GMT"}, 0.0),
        ({"x-ratelimit-reset": "37", "x-ratelimit-remaining": "0.0"}, 37.0),
        ({"x-ratelimit-reset": "37", "x-ratelimit-remaining": "-1"}, None),
    ],
)
def test_a_wait_is_read_from_each_form_of_header(
    headers: dict[str, str], seconds: float | None, in_new_york: None
) -> None:
    assert retry_after(headers, now=NOW) == (seconds and pytest.approx(seconds))


def test_a_wrong_key_in_a_list_ends_the_run(tmp_path: Path) -> None:
    error = {"code": 400, "message": "API key not valid.", "status": "INVALID_ARGUMENT"}
    run = played(
        lambda *_: (400, [{"error": error}]), tmp_path / "run", model="gemini-2.5-flash"
    )
    assert "API key not valid; set $OPENAI_API_KEY" in run.outcome.unusable
    assert len(run.server.asked) == 1


def test_a_quota_of_a_minute_is_waited_out(tmp_path: Path) -> None:
    quota = {"code": 429, "message": "You exceeded your current quota. Please retry in 0.1s.",
             "status": "RESOURCE_EXHAUSTED"}  # fmt: skip
    count = [0]

    def answer(route: str, body: dict[str, Any], headers: object) -> tuple[int, Any]:
        count[0] += 1
        return (429, [{"error": quota}]) if count[0] == 2 else good(body)

    run = played(answer, tmp_path / "run", retries=3)
    assert (run.outcome.finished, run.server.refused) == (3, 1)


def test_a_wait_of_a_day_is_named_and_not_waited_for(tmp_path: Path) -> None:
    text = "Rate limit exceeded: free-models-per-day. Please try again in 20h0m."
    run = played(lambda *_: (429, refusal(text)), tmp_path / "run", retries=3)
    assert len(run.server.asked) == 3
    assert any("72000 s" in line for line in [*run.notices, run.outcome.unusable])
