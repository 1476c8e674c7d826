"""VELMA on servers that only chat: the word is picked, the walk goes on, nothing is set by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from helpers.loopback import chat, refusal, serving
from wayword import viewer
from wayword.core.model import Choice
from wayword.runs import Plan, run
from wayword.runs.record import RunFolder


def _chat_only(route: str, body: dict[str, Any], headers: dict[str, str]) -> tuple[int, Any]:
    if not route.endswith("/chat/completions"):
        return 404, refusal("no such route")
    for name in ("temperature", "stop", "max_tokens", "logprobs", "top_logprobs"):
        if name in body:
            told = f"Unsupported parameter: '{name}' is not supported with this model."
            return 400, refusal(told, name, "unsupported_parameter")
    said = json.dumps({"answer": "forward"}) if "response_format" in body else "1. forward"
    return 200, chat(said, reasoning_content="The street goes on.")


@pytest.mark.parametrize("decoding", ["choose", "complete"])
def test_velma_walks_on_a_chat_only_server(tmp_path: Path, decoding: str) -> None:
    with serving(_chat_only) as server:
        settings = {"model": {"base_url": server.address}, "decoding": decoding, "shots": 0}
        plan = Plan(
            "velma", "towns", "openai:m", settings, limit=2, max_steps=4, out=tmp_path / "r"
        )
        result = run(plan)
    assert result.outcome.complete
    assert server.refused <= 2
    assert any("refused by the server and left out" in line for line in result.notices)
    records = list(RunFolder.read(tmp_path / "r").records())
    calls = [call for record in records for call in record.trajectory.calls()]
    answers = [call.answer for call in calls if call.answer is not None]
    assert len(answers) == len(calls) > 0
    if decoding == "choose":
        assert all(isinstance(answer, Choice) and answer.picked for answer in answers)
    assert all(answer.reasoning == ("The street goes on.",) for answer in answers)
    assert all(answer.usage.reasoning for answer in answers)
    pages = viewer.write(tmp_path / "r").parent / "episodes"
    assert any("The street goes on." in p.read_text() for p in pages.rglob("*.html"))
    prompts = [str(call.prompt) for call in calls]
    assert not any("The street goes on." in prompt for prompt in prompts)  # never fed back
