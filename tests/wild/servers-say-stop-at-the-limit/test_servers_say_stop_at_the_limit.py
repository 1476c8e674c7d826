"""A server calls an answer complete that its limit cut off."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from helpers.loopback import chat, serving
from wayword.agents.answers import StrategyRecipe, replies
from wayword.agents.legal import Legal
from wayword.core.action import STOP, Action, ActionSpace, Rejection
from wayword.core.model import Completion, Sampling, user
from wayword.models.openai import OpenAIModel
from wayword.models.servers.answers import finish_of
from wayword.models.servers.requests import ServerSettings

LIMIT = 20
SAMPLING = Sampling(max_tokens=LIMIT)
REACT = StrategyRecipe("Thought: why\nAction: what", "react")
SPACE = ActionSpace((Action("goto", ("pot_1",)), Action("goto", ("pot_12",)), STOP))


def answered(tokens: Any, finish: Any = "stop", n: int = 1) -> Completion:
    """An answer of so many tokens to a request that allows ``LIMIT``."""
    reply = chat("Thought: near.\nAction: goto pot_1")
    (choice,) = reply["choices"]
    reply["choices"] = [
        {**choice, "index": i, "finish_reason": finish} for i in range(n)
    ]
    reply["usage"] = {"prompt_tokens": 9, "completion_tokens": tokens}
    with serving(lambda *_: (200, reply)) as server:
        model = OpenAIModel("m", ServerSettings(base_url=server.address))
        sampling = Sampling(max_tokens=LIMIT, n=n)
        return asyncio.run(model.complete([user("Where?")], sampling))


@pytest.mark.parametrize("finish", ["stop", "eos_token", "", None, "null", "other"])
def test_an_answer_as_long_as_its_limit_was_cut_off(finish: Any) -> None:
    answer = answered(LIMIT, finish)
    assert answer.finish == ("length",)
    (reply,) = replies(answer, SAMPLING)
    decided = REACT.decision(reply, Legal(SPACE)).outcome
    assert isinstance(decided, Rejection)
    assert decided.kind == "cut_off"


@pytest.mark.parametrize(
    ("tokens", "finish", "n", "expected"),
    [
        (LIMIT - 1, "stop", 1, "stop"),
        (LIMIT + 1, "stop", 1, "stop"),
        (None, "stop", 1, "stop"),
        (LIMIT, "content_filter", 1, "content_filter"),
        (LIMIT, "stop", 2, "stop"),
        (5, "length", 1, "length"),
    ],
)
def test_other_ends_are_as_the_server_says(
    tokens: Any, finish: str, n: int, expected: str
) -> None:
    assert answered(tokens, finish, n).finish == (expected,) * n


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        *(("maximum_tokens", "length"), ("not_finished", "length")),
        *(("INCOMPLETE", "length"), ("max_new_tokens", "length")),
        *(("context_length_exceeded", "length"), ("FINISH", "stop")),
        *(("STOP_CRITERIA_MET", "stop"), ("cancelled", "error"), ("other", "other")),
    ],
)  # fmt: skip
def test_more_names_of_ends(name: str, expected: str) -> None:
    assert finish_of({"finish_reason": name}) == expected
