"""An answer that the server put into the thought."""

from __future__ import annotations

from typing import Any

import pytest

from wayword.core.model import Usage, user
from wayword.models.parts.calling import calls_in
from wayword.models.servers import answers
from wayword.models.servers.requests import Request

CALL = '{"name": "act", "arguments": {"action": "stop"}}'
TAGGED = f"<tool_call>\n{CALL}\n</tool_call>"
THOUGHT = "The sofa is near."


def sample(thought: str, finish: str = "stop", **fields: Any) -> answers.Sample:
    """The sample of a message with a thought and no content."""
    body = fields.pop("body", {})
    request = Request("/chat/completions", body, [user("Go on.")], 100, **fields)
    message = {"content": None, "reasoning_content": thought}
    return answers.sample({"message": message, "finish_reason": finish}, request)


def test_an_option_or_an_object_alone_is_the_answer() -> None:
    assert sample("left\n", options=("left", "right")).text == "left"
    wrapped = sample('{"answer": "left"}', options=("left", "right"), wrapped=True)
    assert wrapped.text == "left"
    assert sample('{"action": "stop"}').text == '{"action": "stop"}'
    assert sample('{"action": "stop"}').reasoning == ""


@pytest.mark.parametrize("text", [CALL, TAGGED, f"{TAGGED}\n{TAGGED}"])
def test_calls_at_the_end_of_a_thought_are_meant(text: str) -> None:
    read = sample(f"{THOUGHT}\n{text}", body={"tools": [{}]}, calls=("act",))
    calls = calls_in(read.text, ["act"])
    assert len(calls) == text.count(CALL)
    assert {call.name for call in calls} == {"act"}
    assert read.reasoning.strip() == THOUGHT


@pytest.mark.parametrize(
    "mark",
    [
        "<|end|><|start|>assistant<|channel|>final<|message|>",
        "<|end|><|start|>assistant<|channel|>final <|constrain|>json<|message|>",
        "</think>\n",
        "[/THINK]",
        "◁/think▷",
    ],
)
def test_the_text_after_the_end_of_a_thought_is_the_answer(mark: str) -> None:
    read = sample(f"{THOUGHT}{mark}Action: stop")
    assert (read.text, read.reasoning) == ("Action: stop", THOUGHT)


def test_a_final_channel_alone_is_the_answer() -> None:
    read = sample('<|channel|>final<|message|>{"action": "stop"}<|return|>')
    assert (read.text, read.reasoning) == ('{"action": "stop"}', "")


@pytest.mark.parametrize(
    "thought",
    [
        THOUGHT,
        f"{THOUGHT}<|im_end|>",
        f"<think>{THOUGHT}",
        "I go left",
        f"{TAGGED}\nNo, that is wrong.",
        f"{THOUGHT} {CALL.replace('act', 'other', 1)}",
        'The map is {"sofa": 1}.',
        f'I must not write {{"name": "act", "arguments": {{}}}} yet. {THOUGHT}',
    ],
)
def test_other_thoughts_are_thoughts(thought: str) -> None:
    options = {"options": ("left", "right"), "calls": ("act",)}
    read = sample(thought, body={"tools": [{}]}, **options)
    assert (read.text, read.reasoning) == ("", thought)


def test_a_thought_that_was_cut_off_is_a_thought() -> None:
    assert sample(CALL, "length", body={"tools": [{}]}, calls=("act",)).text == ""


def test_a_content_is_the_answer() -> None:
    request = Request("/chat/completions", {}, [user("Go on.")], 100)
    message = {"content": "stop", "reasoning_content": CALL}
    read = answers.sample({"message": message}, request)
    assert (read.text, read.reasoning) == ("stop", CALL)


@pytest.mark.parametrize(
    ("count", "expected"), [(37.25, 38), ("37", 37), (37.0, 37), ("37.25", 38)]
)
def test_fractions_and_texts_are_counts(count: Any, expected: int) -> None:
    request = Request("/chat/completions", {}, [user("Go on.")], 100)
    counts = {"prompt_tokens": 12.25, "completion_tokens": count}
    reply = {"choices": [{"message": {"content": "hi"}}], "usage": counts}
    used = answers.usage(reply, request, Usage)
    assert (used.prompt, used.completion, used.estimated) == (13, expected, False)


@pytest.mark.parametrize("count", ["many", "nan", "inf", "-3", -3, True, None, [37]])
def test_other_values_are_no_counts(count: Any) -> None:
    request = Request("/chat/completions", {}, [user("Go on.")], 100)
    counts = {"prompt_tokens": 12, "completion_tokens": count}
    reply = {"choices": [{"message": {"content": "hi"}}], "usage": counts}
    assert answers.usage(reply, request, Usage).estimated
