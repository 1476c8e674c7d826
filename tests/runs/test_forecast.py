"""A dry run: what is shown, what is forecast, and that nothing is asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from helpers.loopback import chat, serving
from wayword.agents.parts.conversation import context_tokens
from wayword.core.agent import Toolkit
from wayword.models.scripted import ScriptedModel
from wayword.runs import Plan, run
from wayword.runs.forecast import forecast, lines


def test_a_forecast_asks_nothing_and_needs_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    told = forecast(Plan("navgpt", "houses", "openai:gpt-5-mini", limit=20), rehearsed=1)
    assert told.episodes == 20
    assert told.dollars is not None
    assert told.most is not None
    assert 0 < told.dollars < told.most
    said = lines(told)
    assert any("prompt 1 of the first episode, role main" in line for line in said)
    assert any("You" in line or "Instruction" in line for line in said)
    assert any("20 episodes" in line and "estimated" in line for line in said)


def test_twice_the_episodes_cost_twice_as_much() -> None:
    few, many = (
        forecast(Plan("velma", "towns", "openai:gpt-4o", {"shots": 0}, limit=n), rehearsed=1)
        for n in (10, 20)
    )
    assert few.dollars is not None
    assert many.dollars == pytest.approx(2 * few.dollars)
    assert many.read == pytest.approx(2 * few.read, abs=2)


def test_a_pilot_is_what_the_forecast_rests_on(tmp_path: Path) -> None:
    def answer(route: str, body: dict[str, Any], headers: dict[str, str]) -> tuple[int, Any]:
        told = chat("Thought: go on\nAction: Finish")
        told["usage"] = {"prompt_tokens": 1000, "completion_tokens": 100}
        return 200, told

    with serving(answer) as server:
        settings = {"model": {"base_url": server.address}, "decoding": "free"}
        pilot = Plan("navgpt", "houses", "openai:gpt-4.1", settings, limit=3, out=tmp_path / "r")
        done = run(pilot)
        before = len(server.asked)
        whole = Plan("navgpt", "houses", "openai:gpt-4.1", settings, limit=30, out=done.path)
        told = forecast(whole, rehearsed=1)
        assert len(server.asked) == before
    assert told.measured == 3
    assert told.read == 10 * 1000 * before
    assert told.written == 10 * 100 * before
    assert told.dollars == pytest.approx(10 * before * (1000 * 2 + 100 * 8) / 1e6)


def test_a_model_without_a_price_and_an_agent_without_a_model_say_so() -> None:
    said = lines(
        forecast(
            Plan(
                "navgpt",
                "houses",
                "openai:mine",
                {"model": {"base_url": "http://127.0.0.1:9/v1"}},
                limit=2,
            ),
            rehearsed=1,
        )
    )
    assert "cost: unknown" in said[-1]
    assert lines(forecast(Plan("oracle", "houses", limit=2)))[-1] == "2 episodes ask no model"


def test_the_context_follows_the_model() -> None:
    class Large(ScriptedModel):
        window = 80_000

    def told(given: int, model: ScriptedModel | None) -> int:
        return context_tokens(given, Toolkit(models={"main": model} if model else {}))

    assert told(0, Large("first")) == 70_000
    assert told(500, Large("first")) == 500
    assert told(0, ScriptedModel("first")) == 7000
    assert told(0, None) == 7000
