"""How long a prompt may be, what is measured for it, and the number of steps that it shows."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from wayword.agents.prompting import (
    DEFAULT_CONTEXT,
    LONGEST_ANSWER,
    OVERHEAD,
    Exchange,
    History,
    PromptBudget,
    PromptSettings,
    StepCount,
)
from wayword.core.agent import Toolkit
from wayword.core.model import Completion, Image, Message, Tool, ToolCall, Usage
from wayword.models.scripted import ScriptedModel

NOTED = "history_dropped"


def budget(window: int = 0, context: int = 0, answer: int = 0) -> PromptBudget:
    model = ScriptedModel("first")
    model.window = window  # type: ignore[misc]
    return PromptBudget(Toolkit(models={"main": model}), context, answer)


@pytest.mark.parametrize(
    ("window", "context", "expected", "is_limited"),
    [
        (8000, 0, 7000, True),
        (8000, 500, 500, True),
        (0, 500, 500, True),
        (0, 0, DEFAULT_CONTEXT, False),
    ],
)
def test_a_prompt_takes_seven_eighths_of_the_window_unless_a_setting_says_so(
    window: int, context: int, expected: int, is_limited: bool
) -> None:
    found = budget(window, context)
    assert (found.context, found.is_limited) == (expected, is_limited)


@pytest.mark.parametrize(
    ("usage", "measured"),
    [
        (Usage(100, 9), 4.0),
        (Usage(100, 9, estimated=True), 3.0),
        (Usage(0, 9), 3.0),
        (Usage(50, 9, reused=40), 8.0),
    ],
)
def test_characters_a_token_are_measured_on_counts_of_the_model_alone(
    usage: Usage, measured: float
) -> None:
    found = budget()
    found.learn(400, usage)
    assert found.characters_per_token == measured
    found.learn(0, usage)
    assert found.characters_per_token == measured
    assert found.reuses_prefix == (usage.reused > 0)
    found.learn(400, Usage(100))
    assert found.reuses_prefix == (usage.reused > 0), "it was seen once"


def test_pictures_teach_nothing_about_characters() -> None:
    shown = Message("user", "x" * 400, (Image(b"1"),))
    for message, measured in ((shown, 3.0), (Message("user", "x" * 400), 4.0)):
        answer = Completion(("a",), usage=Usage(100, 1))
        kit = Toolkit(models={"main": ScriptedModel(answers=[answer])})
        found = PromptBudget(kit, 0, 0)
        asyncio.run(found.ask([message], None, 0.0))
        assert found.characters_per_token == measured


@pytest.mark.parametrize(
    ("context", "fixed", "reserve", "left"),
    [
        (100, 0, 0, 6),
        (100, 100, 0, 4),
        (100, 0, 50, 3),
        (100, 0, 200, 0),
        (90, 0, 0, 5),
    ],
)
def test_steps_the_fixed_part_and_the_answer_fit_the_context_together(
    context: int, fixed: int, reserve: int, left: int
) -> None:
    noted: list[Any] = []
    kit = Toolkit(note=lambda kind, **details: noted.append((kind, details)))
    found = PromptBudget(kit, context, 0)
    history = History()
    for _ in range(6):
        history.add("x" * 50)
    found.fit(history, fixed, reserve)
    assert len(history.blocks) == left
    assert [each["steps"] for _, each in noted] == ([6 - left] if left < 6 else [])
    found.fit(history, fixed, reserve)
    assert len(noted) == (left < 6), (
        "those that were dropped before are not noted again"
    )


@pytest.mark.parametrize("temperature", [0.0, 0.7])
def test_an_answer_of_chance_has_a_seed_of_the_episode(temperature: float) -> None:
    seeds: list[int | None] = []

    def answer(prompt: Any, sampling: Any) -> str:
        seeds.append(sampling.seed)
        return "a"

    for _ in range(2):
        kit = Toolkit(models={"main": ScriptedModel(answers=answer)})
        found = PromptBudget(kit, 0, 0)
        for _ in range(2):
            asyncio.run(found.ask("x", None, temperature))
    first, second, *again = seeds
    assert again == [first, second], "the same episode draws the same"
    assert (first is None) == (temperature == 0.0)
    assert (first == second) == (temperature == 0.0)


@pytest.mark.parametrize(
    ("ids", "is_called"), [("a b", True), ("a", True), (" b", False)]
)
def test_calls_are_results_of_calls_only_if_each_of_them_has_an_id(
    ids: str, is_called: bool
) -> None:
    calls = tuple(ToolCall(each, "look", "{}") for each in ids.split(" "))
    answer = Completion(("",), calls=calls)
    model = ScriptedModel(answers=[answer])
    model.tools = True  # type: ignore[misc]
    found = PromptBudget(Toolkit(models={"main": model}), 0, 0)
    tools = [Tool("look", "Look.", {})]
    called = asyncio.run(found.call([Message("user", "Go.")], tools, 0.0))
    assert bool(called.message.calls) == is_called


@pytest.mark.parametrize(
    ("shown", "limit", "taken", "tried", "left"),
    [
        ("counted", 10, 0, 0, 10),
        ("counted", 10, 4, 0, 6),
        ("counted", 10, 4, 2, 4),
        ("counted", 10, 9, 3, 1),
        ("counted", 10, 12, 0, 1),
        ("counted", 0, 4, 0, 0),
        ("stated", 10, 4, 0, 0),
        ("hidden", 10, 4, 0, 0),
    ],
)
def test_steps_left_count_those_taken_and_those_that_are_tried(
    shown: Any, limit: int, taken: int, tried: int, left: int
) -> None:
    count = StepCount(Toolkit(max_steps=limit), PromptSettings(step_limit=shown))
    count.taken = taken
    assert count.left(tried) == left
    assert count.limit == (0 if shown == "hidden" else limit)


def test_a_turn_with_calls_is_as_long_as_what_is_sent_of_it() -> None:
    """The server's own message where there is one, and the results of its calls."""
    call = ToolCall("1", "look", "{}")
    plain = Message("assistant", "so", calls=(call,))
    sent = Message(
        "assistant", "so", calls=(call,), verbatim='{"content": "so", "x": 1}'
    )
    lengths = []
    for message in (plain, sent):
        turn = Exchange([message], [(call, "a wall"), (call, None)])
        lengths.append(turn.length)
    assert lengths[0] == len(plain.text) + OVERHEAD + len("a wall")
    assert lengths[1] == len(sent.verbatim) + OVERHEAD + len("a wall")


@pytest.mark.parametrize("window", [0, 4_000, 40_000])
@pytest.mark.parametrize("context", [0, 2_000, 8_000, 80_000])
@pytest.mark.parametrize("answer", [0, 50])
def test_an_answer_has_an_eighth_of_the_context_within_its_bounds(
    answer: int, context: int, window: int
) -> None:
    models = {"main": SimpleNamespace(window=window)}
    found = PromptBudget(SimpleNamespace(models=models), context, answer)  # type: ignore[arg-type]
    assert found.is_limited == bool(context or window)
    assert found.context == (context or window * 7 // 8 or DEFAULT_CONTEXT)
    share = (context or window) // 8
    assert found.answer == (answer or max(400, min(LONGEST_ANSWER, share)))
