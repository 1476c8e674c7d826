"""A server that shortens prompts without an error."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from helpers.loopback import chat, serving
from wayword.core.model import Completion, Sampling, user
from wayword.models.openai import OpenAIModel


def _request_all(lengths: list[int], count: Any) -> tuple[list[Completion], list[str]]:
    def answer(_: str, body: dict[str, Any], __: object) -> tuple[int, Any]:
        read = chat("left")
        prompt = len(body["messages"][0]["content"])
        read["usage"] = {"prompt_tokens": count(prompt), "completion_tokens": 1}
        return 200, read

    async def go(address: str) -> tuple[list[Completion], list[str]]:
        model = OpenAIModel("m", OpenAIModel.Settings(address))
        prompts = [[user("a room. " * (length // 8))] for length in lengths]
        found = [await model.complete(prompt, Sampling()) for prompt in prompts]
        await model.aclose()
        return found, list(model.warnings)

    with serving(answer) as server:
        return asyncio.run(go(server.address))


@pytest.mark.parametrize(
    "count",
    [
        lambda length: min(length // 4, 2051),  # flat while prompts grow
        lambda length: length // 4 if length < 12000 else 193,  # far too few
        lambda length: length // 4 if length < 12000 else 2051,  # fewer than before
    ],
)
def test_counts_that_are_too_small_mark_the_calls(count: Any) -> None:
    found, warnings = _request_all([4000, 8000, 16000, 40000], count)
    assert [answer.usage.estimated for answer in found] == [False, False, True, True]
    assert "shortens them without an error" in warnings[0]


def test_a_long_prompt_is_compared_with_the_largest_count_so_far() -> None:
    counts = {16000: 4000, 4000: 1000, 24000: 3900}
    found, _ = _request_all([*counts], counts.__getitem__)
    assert [answer.usage.estimated for answer in found] == [False, False, True]


def test_counts_that_grow_with_the_prompts_are_believed() -> None:
    found, warnings = _request_all(
        [4000, 8000, 16000, 15000], lambda length: length // 5
    )
    assert not any(answer.usage.estimated for answer in found)
    assert not warnings


def test_the_window_of_a_loaded_model_is_the_one_in_force() -> None:
    from wayword.models.servers.refusals import window

    assert window({"models": [{"name": "m", "context_length": 4096}]}, "m") == 4096
