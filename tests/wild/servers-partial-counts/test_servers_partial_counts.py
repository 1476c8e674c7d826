"""The count of an answer counts, also where that of the prompt is missing."""

from __future__ import annotations

from typing import Any

import pytest

from wayword.core.model import Usage
from wayword.models.servers.answers import usage
from wayword.models.servers.requests import Request

REQUEST = Request("/chat/completions", {}, "Go on.", limit=100)
CHOICE = {"message": {"content": "left"}, "finish_reason": "stop"}
ESTIMATE = 3  # of "left"


@pytest.mark.parametrize(
    ("counts", "answer", "estimated"),
    [
        ({"completion_tokens": 25}, 25, True),
        ({"output_tokens": 25, "input_tokens": None}, 25, True),
        ({"completion_tokens": 25, "prompt_tokens": 0}, 25, True),
        ({"completion_tokens": 25, "prompt_tokens": 9}, 25, False),
        ({"completion_tokens": 0, "prompt_tokens": 9}, ESTIMATE, True),
        ({"completion_tokens": -5, "prompt_tokens": 9, "total_tokens": 4}, ESTIMATE, True),
        ({"completion_tokens": None, "prompt_tokens": None}, ESTIMATE, True),
    ],
)  # fmt: skip
def test_what_is_counted_counts(
    counts: dict[str, Any], answer: int, estimated: bool
) -> None:
    reply = {"choices": [CHOICE], "usage": counts}
    counted = usage(reply, REQUEST, lambda: Usage(50, 100, estimated=True))
    assert (counted.completion, counted.estimated) == (answer, estimated)
    assert counted.prompt == (50 if estimated else 9)
