"""Tokens of an answer, by the conventions of servers."""

from __future__ import annotations

from typing import Any

import pytest

from helpers.loopback import serving
from helpers.served_runs import send_request
from wayword.core.model import Completion, Usage
from wayword.models.servers import answers
from wayword.models.servers.requests import Request

COUNTS = {
    # prompt, completion, total, reasoning -> tokens of the answer
    "within": (20, 7, 27, 3, 7),
    "next to it": (10_120, 1_499, 14_428, 2_809, 4_308),
    "next to it, and less": (20, 7, 30, 3, 10),
    "one token too many": (951, 6_000, 6_952, 6_001, 6_001),
    "reasoning alone": (21, 0, 81, 60, 60),
    "next to it, without a total": (10, 2, None, 317, 319),
}


@pytest.mark.parametrize("name", COUNTS)
def test_each_token_of_reasoning_counts_once(name: str) -> None:
    prompt, completion, total, reasoning, right = COUNTS[name]
    usage: dict[str, Any] = {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "completion_tokens_details": {"reasoning_tokens": reasoning},
    }
    if total is not None:
        usage["total_tokens"] = total
    choice = {"message": {"content": "hi"}, "finish_reason": "stop"}
    with serving(lambda *_: (200, {"choices": [choice], "usage": usage})) as server:
        answer = send_request(server.address)
    assert isinstance(answer, Completion)
    assert (answer.usage.completion, answer.usage.reasoning) == (right, reasoning)


def test_a_total_counts_an_answer_also_where_its_prompt_is_estimated_higher() -> None:
    request = Request("/chat/completions", {}, "Go on.", limit=100)
    counts = {
        "prompt_tokens": 21,
        "completion_tokens": 0,
        "total_tokens": 81,
        "completion_tokens_details": {"reasoning_tokens": 60},
    }
    reply = {"choices": [{"message": {"content": "hi"}}], "usage": counts}
    counted = answers.usage(reply, request, lambda: Usage(50, 100, estimated=True))
    assert (counted.prompt, counted.completion, counted.estimated) == (21, 60, False)


@pytest.mark.parametrize(
    ("cached", "details"),
    [
        (257_955, {"text_tokens": 262_960}),
        (2_432, {"text_tokens": 261_818, "image_tokens": 1_142}),
    ],
)
def test_parts_of_a_prompt_by_kind_count_no_token_twice(
    cached: int, details: dict[str, int]
) -> None:
    request = Request("/chat/completions", {}, "Go on.", limit=100)
    counts = {
        "prompt_tokens": 262_960,
        "completion_tokens": 1_744,
        "prompt_tokens_details": {**details, "cached_tokens": cached},
    }
    reply = {"choices": [{"message": {"content": "hi"}}], "usage": counts}
    counted = answers.usage(reply, request, Usage)
    assert (counted.prompt, counted.reused) == (262_960, cached)
