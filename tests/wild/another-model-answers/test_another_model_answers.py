"""Another model than the requested one answers."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from helpers.loopback import chat, serving
from wayword.core.model import Sampling, user
from wayword.models.openai import OpenAIModel
from wayword.models.servers.answers import other_model
from wayword.models.servers.requests import ServerSettings


@pytest.mark.parametrize(
    ("requested", "named"),
    [
        ("gpt-6-astra", "gpt-5.6-luna"),
        ("gpt-5", "gpt-5-mini-2025-08-07"),
        ("gpt-4o", "gpt-4o-mini"),
        ("gemini-2.5-pro", "gemini-2.5-flash"),
        ("openrouter/auto", "anthropic/claude-sonnet-4.5"),
        ("qwen3-8b", "gemma-3-4b-it.gguf"),
        ("my-deployment", "gpt-4o-2024-08-06"),
    ],
)
def test_another_model_is_named(requested: str, named: str) -> None:
    assert other_model({"model": named}, requested) == named


@pytest.mark.parametrize(
    ("requested", "named"),
    [
        ("gpt-4o", "gpt-4o-2024-08-06"),
        ("openai/gpt-oss-120b", "gpt-oss-120b"),
        ("claude-sonnet-4.5", "us.anthropic.claude-sonnet-4-5-20250929-v1:0"),
        ("claude-3-5-haiku-latest", "claude-3-5-haiku-20241022"),
        ("deepseek/deepseek-r1:free", "deepseek/deepseek-r1"),
        ("meta-llama/Llama-3.1-8B-Instruct:novita", "meta-llama/llama-3.1-8b-instruct"),
        ("accounts/fireworks/models/qwen3-30b", "qwen3-30b"),
        ("qwen3-8b", "/models/Qwen3-8B-Q4_K_M.gguf"),
        ("qwen3-8b", "C:\\models\\Qwen3-8B.gguf"),
        ("gemini-2.5-flash", "models/gemini-2.5-flash"),
        ("gpt-5-mini", "gpt-5-mini-2025-08-07"),
        *(("m", name) for name in ("m", "", None, 5, ["x"])),
    ],
)
def test_another_name_of_the_model_is_none(requested: str, named: Any) -> None:
    assert other_model({"model": named}, requested) == ""


def test_a_run_tells_which_models_answered() -> None:
    names = iter(["gpt-6-astra", "gpt-5.6-luna", "gpt-5.6-luna"])
    with serving(lambda *_: (200, {**chat("here"), "model": next(names)})) as server:
        settings = ServerSettings(base_url=server.address)
        model = OpenAIModel("gpt-6-astra", settings)
        calls = [model.complete([user("Where?")], Sampling()) for _ in range(3)]

        async def finish() -> None:
            for each in calls:
                await each

        asyncio.run(finish())
    (line,) = model.warnings
    assert "2 answers name another model, 'gpt-5.6-luna'" in line
