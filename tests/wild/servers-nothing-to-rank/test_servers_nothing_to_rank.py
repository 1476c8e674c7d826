"""Choices by servers whose log-probabilities or constraints are less than they seem."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from helpers.loopback import chat, serving
from wayword.core.model import Choice, user
from wayword.models.parts.opening import open_model

OPTIONS = ["left", "right", "stop"]


def listed(token: Any, *alternatives: tuple[Any, Any]) -> Any:
    top = [{"token": name, "logprob": value} for name, value in alternatives]
    return {"content": [{"token": token, "logprob": -0.1, "top_logprobs": top}]}


def chosen(text: str, logprobs: Any = None) -> tuple[Choice, int]:
    """The choice of a server that writes a text, and the number of its requests."""
    reply = chat(text)
    reply["choices"][0]["logprobs"] = logprobs
    with serving(lambda *_: (200, reply)) as server:

        async def ask() -> Choice:
            model = open_model("openai:mine", {"base_url": server.address})
            choice = await model.choose([user("Where?")], OPTIONS)
            await model.aclose()
            return choice

        return asyncio.run(ask()), len(server.asked)


def test_a_list_of_the_written_token_alone_ranks_nothing() -> None:
    choice, requests = chosen("left", listed("left"))
    assert choice.picked
    assert choice.logprobs[0] == 0.0
    assert requests == 1


def test_the_most_likely_of_equal_texts_counts() -> None:
    both = [("left", -0.1), ("left", -3.0), ("right", -2.0)]
    choice, _ = chosen("left", listed("left", *both))
    assert choice.logprobs[:2] == (-0.1, -2.0)


def test_a_token_that_is_no_text_is_no_option() -> None:
    choice, _ = chosen("left", listed(None, (None, -0.1)))
    assert choice.picked
    assert choice.logprobs[0] == 0.0


@pytest.mark.parametrize("value", [0.69970703, float("nan"), None, "-0.1"])
def test_the_second_token_does_not_stand_in_for_the_first(value: Any) -> None:
    first = listed("left", ("left", -0.1), ("right", -2.0))["content"][0]
    second = listed("stop", ("stop", -0.1), ("right", -0.2))["content"][0]
    choice, _ = chosen("left", {"content": [{**first, "logprob": value}, second]})
    assert choice.picked
    assert choice.logprobs[0] == 0.0


@pytest.mark.parametrize(
    "text", ["left", "Left", " left", '"left"', "left.", "**Left**"]
)
def test_an_option_is_matched_where_its_schema_is_ignored(text: str) -> None:
    choice, requests = chosen(text)
    assert choice.picked
    assert choice.logprobs[0] == 0.0
    assert requests <= 2, "not asked again for what was answered"


def test_a_text_that_is_no_option_is_none() -> None:
    choice, _ = chosen("left or right")
    assert choice.other_text == "left or right"
