"""Reasoning in parts of the content and in fields of many names."""

from __future__ import annotations

import json
from typing import Any

import pytest

from wayword.models.servers.answers import sample
from wayword.models.servers.requests import Request

REQUEST = Request("/chat/completions", {}, "Go on.", limit=100)
TEXT = {"type": "text", "text": "left"}
THOUGHT = [{"type": "text", "text": "hm"}]
MESSAGES: list[dict[str, Any]] = [
    {"content": [{"type": "thinking", "thinking": THOUGHT}, TEXT]},
    {"content": [{"type": "thinking", "thinking": "hm"}, TEXT]},
    {"content": [{"type": "reasoning", "text": "hm"}, TEXT]},
    {"content": "left", "reasoning_content": "hm"},
    {"content": "left", "reasoning": "hm"},
    {"content": "left", "thinking": "hm"},
    {
        "content": "left",
        "reasoning_details": [{"type": "reasoning.text", "text": "hm"}],
    },
    {"content": "left", "thinking_blocks": [{"type": "thinking", "thinking": "hm"}]},
    {"content": [{"text": "hm", "thought": True}, {"text": "left"}]},
    {"content": [{"reasoningContent": {"reasoningText": {"text": "hm"}}}, TEXT]},
    {
        "content": [
            {"type": "reasoning_content", "reasoning_content": {"text": "hm"}},
            TEXT,
        ]
    },
    {"content": [{"type": "summary_text", "text": "hm"}, TEXT]},
]


@pytest.mark.parametrize("message", MESSAGES)
def test_text_and_reasoning_are_separate(message: dict[str, Any]) -> None:
    found = sample({"message": message, "finish_reason": "stop"}, REQUEST)
    assert (found.text, found.reasoning) == ("left", "hm")


def test_a_part_that_is_no_thought_is_the_answer() -> None:
    for mark in (False, None, "hm"):
        content = [{"type": "text", "text": "left", "thought": mark}]
        found = sample({"message": {"content": content}}, REQUEST)
        assert (found.text, found.reasoning) == ("left", "")


@pytest.mark.parametrize("name", ["reasoningContent", "reasoning_content"])
def test_a_text_next_to_its_reasoning_is_the_answer(name: str) -> None:
    content = [{"type": "text", "text": "left", name: "hm"}]
    assert sample({"message": {"content": content}}, REQUEST).text == "left"


def test_a_field_of_an_answer_is_no_mark_of_a_thought() -> None:
    answer = {"thought": True, "action": "stop"}
    found = sample({"message": {"content": answer}}, REQUEST)
    assert json.loads(found.text) == answer
