"""VELMA on servers that only chat: the word is picked, the walk goes on, nothing is set by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from helpers.loopback import chat, refusal, serving
from wayword import viewer
from wayword.core.action import Decision
from wayword.core.model import Choice
from wayword.runs import Plan, run
from wayword.runs.record import RunFolder
from wayword.worlds.street.moves import WORDS


def _chat_only(
    route: str, body: dict[str, Any], headers: dict[str, str]
) -> tuple[int, Any]:
    if not route.endswith("/chat/completions"):
        return 404, refusal("no such route")
    for name in ("temperature", "stop", "max_tokens", "logprobs", "top_logprobs"):
        if name in body:
            text = f"Unsupported parameter: '{name}' is not supported with this model."
            return 400, refusal(text, name, "unsupported_parameter")
    if "response_format" in body:
        reply = json.dumps({"answer": "forward"})
    else:
        reply = "1. forward"
    return 200, chat(reply, reasoning_content="The street goes on.")


@pytest.mark.parametrize("decoding", ["choose", "complete"])
def test_velma_is_shown_what_to_answer_and_noise_is_counted(
    tmp_path: Path, decoding: str
) -> None:
    """A server without schemas: the options stand in the message, and no episode fails."""

    def answer(
        route: str, body: dict[str, Any], headers: dict[str, str]
    ) -> tuple[int, Any]:
        for name in ("response_format", "tools"):
            if name in body:
                return 400, refusal(
                    f"Unknown parameter: '{name}'.", name, "unknown_parameter"
                )
        if not route.endswith("/chat/completions"):
            return 404, refusal("no such route")
        messages.append(str(body["messages"][0]["content"]))
        number = (
            messages[-1].partition("\n\n(The text breaks off")[0].rpartition("\n")[2]
        )
        return 200, chat(
            "I am not sure." if number == "2." else f"Next action: **{number} left**"
        )

    messages: list[str] = []
    with serving(answer) as server:
        settings = {
            "model": {"base_url": server.address},
            "decoding": decoding,
            "shots": 0,
        }
        out = tmp_path / "r"
        result = run(
            Plan("velma", "towns", "openai:m", settings, limit=2, max_steps=4, out=out)
        )
    assert (result.outcome.finished, result.outcome.failed) == (2, 0)
    steps = [
        s for r in RunFolder.read(out).records() for s in r.trajectory.steps if s.calls
    ]
    decided = [step.decision for step in steps if isinstance(step.decision, Decision)]
    assert {str(each.action) for each in decided if not each.fallback_for} == {"left"}
    lost = [each for each in decided if each.fallback_for]
    assert {str(each.action) for each in lost} == {"forward"}
    assert len(lost) == 2
    end = messages[-1].partition("(The text breaks off here.")[2]
    if decoding == "choose":
        assert all(f"\n- {word}" in end for word in WORDS)
        assert end.count("- forward") == 1
    else:
        assert "Continue it from exactly there" in end


@pytest.mark.parametrize("decoding", ["choose", "complete"])
def test_velma_walks_on_a_chat_only_server(tmp_path: Path, decoding: str) -> None:
    with serving(_chat_only) as server:
        settings = {
            "model": {"base_url": server.address},
            "decoding": decoding,
            "shots": 0,
        }
        plan = Plan(
            "velma",
            "towns",
            "openai:m",
            settings,
            limit=2,
            max_steps=4,
            out=tmp_path / "r",
        )
        result = run(plan)
    assert result.outcome.complete
    assert server.refused <= 2
    assert any("requests were adapted to the server" in line for line in result.notices)
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
    assert not any(
        "The street goes on." in prompt for prompt in prompts
    )  # never fed back
