"""Models that think by default."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from helpers.loopback import chat
from helpers.served_runs import good, played
from wayword.core.model import Completion
from wayword.models.servers.profile import profile_of

THINKS = (
    *("glm-4.6", "zai-org/GLM-5.2", "deepseek-v4-pro", "deepseek-ai/DeepSeek-V4"),
    *("kimi-k2.6", "moonshotai/Kimi-K2-Thinking", "moonshotai/Kimi-K3"),
    *("x-ai/grok-4.6", "x-ai/grok-5", "Qwen/QwQ-32B"),
    *("claude-opus-5", "anthropic/claude-sonnet-5-20260701", "stepfun/step-3.5-flash"),
)
DOES_NOT = (
    *("glm-4-flash", "deepseek-v3.2", "moonshotai/kimi-k2-instruct", "claude-opus-4-8"),
    *("claude-sonnet-4-5", "x-ai/grok-4-fast-non-reasoning"),
)
NO_SAMPLING = ("claude-opus-4-7", "anthropic/claude-opus-4.8", "claude-opus-5")


def test_a_vendor_is_no_family() -> None:
    """The folder of a vendor may begin as the name of another of its families."""
    assert not profile_of("mistralai/Mixtral-8x7B-Instruct-v0.1").images
    assert profile_of("moonshotai/Kimi-K3") == profile_of("kimi-k3")


def test_families_that_think_have_room_for_it() -> None:
    assert [name for name in THINKS if not profile_of(name).thinking] == []
    assert [name for name in DOES_NOT if profile_of(name).thinking] == []
    assert not any(profile_of(name).temperature for name in NO_SAMPLING)
    assert profile_of("claude-sonnet-4-5").temperature


@pytest.mark.parametrize("model", ["glm-5.2", "kimi-k3", "deepseek-v4-flash"])
def test_thoughts_do_not_use_up_the_answer(model: str, tmp_path: Path) -> None:
    def answer(route: str, body: dict[str, Any], headers: object) -> tuple[int, Any]:
        if body["max_tokens"] > 3000:
            return good(body)
        reply = chat("")
        reply["choices"][0]["message"]["reasoning_content"] = "Let me see. " * 50
        reply["choices"][0]["finish_reason"] = "length"
        return 200, reply

    run = played(answer, tmp_path / "run", model=model)
    assert run.outcome.finished == 3
    answers = [call.answer for call in run.calls]
    assert all(isinstance(each, Completion) and each.text for each in answers)
