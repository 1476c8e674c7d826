"""Tokens of an answer, by the conventions of servers."""

from __future__ import annotations

from typing import Any

import pytest

from helpers.loopback import serving
from helpers.served_runs import send_request
from wayword.core.model import Completion

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
