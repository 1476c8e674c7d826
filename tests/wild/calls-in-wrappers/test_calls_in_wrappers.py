"""Calls with something around their names and their arguments, each with its reading."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from wayword.agents.strategies.strategy import json_object
from wayword.core.model import user
from wayword.models.parts.calling import calls_in
from wayword.models.servers.answers import Sample, sample
from wayword.models.servers.requests import Request

CASES = tomllib.loads(
    (Path(__file__).parent / "cases.toml").read_text(encoding="utf-8")
)["case"]
STOP = {"action": "stop"}
OFFERED = Request(
    "/chat/completions",
    {"model": "m", "tools": [{}]},
    [user("Go on.")],
    100,
    calls=("act", "look"),
)


def answered(call: Any) -> Sample:
    return sample({"message": {"content": None, "tool_calls": call}}, OFFERED)


def test_a_call_has_the_offered_name_and_bare_arguments() -> None:
    wrong = {}
    for case in CASES:
        function = {
            "name": case.get("called", "act"),
            "arguments": case.get("arguments", STOP),
        }
        read = answered([{"id": "1", "type": "function", "function": function}])
        (call,) = read.calls
        expected = dict(STOP)
        if "thought" in case:
            expected["thought"] = case["thought"]
        is_read = call.name == "act" and json_object(call.arguments) == expected
        if is_read != (case.get("reads") != "none"):
            wrong[case["name"]] = call
        (sent_back,) = json.loads(read.verbatim)["tool_calls"]
        if is_read and json.loads(sent_back["function"]["arguments"]) != expected:
            wrong[case["name"]] = sent_back
    assert not wrong


@pytest.mark.parametrize("called", ["act", " act", "ACT"])
@pytest.mark.parametrize("key", ["arguments", "input", "properties"])
def test_a_call_in_words_is_bare_as_well(called: str, key: str) -> None:
    text = json.dumps({"tool": called, "arguments": {key: STOP}})
    (call,) = calls_in(text, ["act", "look"])
    assert (call.name, json.loads(call.arguments)) == ("act", STOP)


def test_a_name_like_two_offered_ones_stays_as_it_is() -> None:
    text = json.dumps({"tool": "A-ct", "arguments": STOP})
    assert calls_in(text, ["act", "a_ct"]) == ()


def test_a_list_of_calls_may_be_a_text_or_have_another_name() -> None:
    listed = [{"id": "1", "function": {"name": "act", "arguments": STOP}}]
    (call,) = answered(json.dumps(listed)).calls
    assert json.loads(call.arguments) == STOP
    read = sample({"message": {"content": "", "toolCalls": listed}}, OFFERED)
    assert [call.name for call in read.calls] == ["act"]
    assert "toolCalls" not in json.loads(read.verbatim)


@pytest.mark.parametrize("kind", ["tool_use", "tool_call", "function_call"])
def test_a_call_may_be_a_part_of_the_content(kind: str) -> None:
    part = {"type": kind, "id": "1", "name": "act", "arguments": STOP}
    (call,) = sample({"message": {"content": [part]}}, OFFERED).calls
    assert json.loads(call.arguments) == STOP


def test_a_text_that_is_no_json_is_as_it_was_written() -> None:
    text = "a &lt;b&gt; c"
    function = {"name": "act", "arguments": text}
    read = answered([{"id": "1", "type": "function", "function": function}])
    assert read.calls[0].arguments == text
