"""Calls and answers in the forms that gateways give them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from wayword.agents.strategies.strategy import json_object
from wayword.core.model import user
from wayword.models.servers.answers import sample
from wayword.models.servers.requests import Request

ARGUMENTS = '{"action": "stop"}'
OBJECT = {"action": "stop"}
OFFERED = Request(
    "/chat/completions",
    {"model": "m", "tools": [{}]},
    [user("Go on.")],
    100,
    calls=("act",),
)


def message(**fields: Any) -> dict[str, Any]:
    return {"message": {"role": "assistant", "content": None, **fields}}


FORMS: dict[str, dict[str, Any]] = {
    "before lists": message(function_call={"name": "act", "arguments": ARGUMENTS}),
    "one instead of a list": message(
        tool_calls={"function": {"name": "act", "arguments": ARGUMENTS}}
    ),
    "flat": message(tool_calls=[{"id": "1", "name": "act", "arguments": ARGUMENTS}]),
    "a custom tool": message(
        tool_calls=[{"id": "1", "custom": {"name": "act", "input": ARGUMENTS}}]
    ),
    "Anthropic's part": message(
        content=[
            {"type": "text", "text": "I stop."},
            {"type": "tool_use", "id": "1", "name": "act", "input": OBJECT},
        ]
    ),
    "an object": message(tool_calls=[{"function": {"name": "act", "arguments": OBJECT}}]),
    "a namespace": message(
        tool_calls=[{"function": {"name": "functions.act", "arguments": ARGUMENTS}}]
    ),
    "Kimi's number": message(
        tool_calls=[{"function": {"name": "functions.act:0", "arguments": ARGUMENTS}}]
    ),
    "the end of one of GLM's tags": message(
        tool_calls=[{"function": {"name": "act</arg_value>", "arguments": ARGUMENTS}}]
    ),
    "GLM's tags": message(
        tool_calls=[
            {
                "function": {
                    "name": "act<arg_key>action</arg_key><arg_value>stop</arg_value>",
                    "arguments": "{}",
                }
            }
        ]
    ),
    "a channel": message(
        tool_calls=[
            {"function": {"name": "act<|channel|>commentary", "arguments": ARGUMENTS}}
        ]
    ),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_a_call_is_read_where_the_gateway_puts_it(form: str) -> None:
    read = sample(FORMS[form], OFFERED)
    (call,) = read.calls
    assert (call.name, json.loads(call.arguments)) == ("act", OBJECT)
    sent_back = json.loads(read.verbatim)
    (entry,) = sent_back["tool_calls"]
    assert entry["type"] == "function"
    assert json.loads(entry["function"]["arguments"]) == OBJECT
    assert "function_call" not in sent_back
    assert "tool_use" not in str(sent_back.get("content"))


def test_an_entry_without_a_name_is_no_call() -> None:
    assert sample(message(tool_calls=[{"id": "1"}]), OFFERED).calls == ()


def test_a_schema_that_was_sent_as_a_tool_is_answered_by_its_call() -> None:
    request = Request("/chat/completions", {"tools": [{}]}, [user("Go on.")], 100)
    read = sample(FORMS["before lists"], request)
    assert (read.text, read.calls) == (ARGUMENTS, ())


def test_a_content_that_was_parsed_is_the_answer() -> None:
    request = Request("/chat/completions", {}, [user("Go on.")], 100)
    assert json.loads(sample(message(content=OBJECT), request).text) == OBJECT
    text = {"type": "text", "text": {"value": "go", "annotations": []}}
    assert sample(message(content=[text]), request).text == "go"


OBJECTS: dict[str, dict[str, Any] | None] = {
    "": {},
    "{}": {},
    '{}""': {},
    ARGUMENTS: OBJECT,
    json.dumps(ARGUMENTS): OBJECT,
    "{'action': 'stop'}": OBJECT,
    '{"action": "stop",}': OBJECT,
    f"```json\n{ARGUMENTS}\n```": OBJECT,
    '{"action": \\"stop\\"}': OBJECT,
    '{"action": \\n"stop"\\n}': OBJECT,
    ARGUMENTS * 2: OBJECT,
    ARGUMENTS + "{}": None,
    '{"action": {"name": "stop"}': None,
    f"I stop: {ARGUMENTS}": None,
    "[]": None,
    "null": None,
    "stop": None,
}


@pytest.mark.parametrize("text", OBJECTS)
def test_arguments_are_one_object_in_any_dialect(text: str) -> None:
    assert json_object(text) == OBJECTS[text]
