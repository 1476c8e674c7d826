"""Choices and contents in forms that only some servers send."""

from __future__ import annotations

from typing import Any

import pytest

from helpers.loopback import serving
from helpers.served_runs import send_request
from wayword.core.model import Completion

USAGE = {"prompt_tokens": 5, "completion_tokens": 1}


def says(content: Any, **more: Any) -> dict[str, Any]:
    return {"message": {"role": "assistant", "content": content}, **more}


CHOICES: dict[str, tuple[Any, str]] = {
    "a number": ([says(3)], "3"),
    "zero": ([says(0)], "0"),
    "a fraction": ([says(0.5)], "0.5"),
    "a refusal as a part": (
        [says([{"type": "refusal", "refusal": "I may not"}])],
        "I may not",
    ),
    "parts that are texts": ([says(["go ", "left"])], "go left"),
    "one choice without a list": (says("hi"), "hi"),
    "a null among them": ([None, says("hi")], "hi"),
    "in the order of their ends": ([says("b", index=1), says("a", index=0)], "a"),
    "equal indices": ([says("a", index=0), says("b", index=0)], "a"),
}


@pytest.mark.parametrize("name", CHOICES)
def test_the_first_choice_is_read(name: str) -> None:
    choices, text = CHOICES[name]
    with serving(lambda *_: (200, {"choices": choices, "usage": USAGE})) as server:
        answer = send_request(server.address)
    assert isinstance(answer, Completion)
    assert answer.text == text
