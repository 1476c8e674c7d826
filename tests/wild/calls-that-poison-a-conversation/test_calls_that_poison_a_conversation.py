"""A call whose arguments are no JSON object poisons the conversation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from helpers.loopback import chat, refusal, serving
from wayword.core.model import Message
from wayword.models.parts.calling import read_calls, wire_message
from wayword.runs import Plan, run

STOP = '{"thought": "There.", "action": "stop"}'
ARGUMENTS = {
    "": {},
    "null": {},
    "{": {},
    '{"action": "st': {},
    '"action": "stop"': {},
    '["stop"]': {},
    "stop": {},
    '{}{"action": "stop"}': {"action": "stop"},
    "{'action': 'stop'}": {"action": "stop"},
    '```json\n{"action": "stop"}\n```': {"action": "stop"},
    '{"action": "stop"}</tool_call>': {"action": "stop"},
}
NAMES = (
    *("functions.act", "default_api.act", "default_api:act", "act()", "act:0", "act "),
    *("act<|channel|>commentary", "assistant<|channel|>analysis to=functions.act"),
)


def calling(arguments: object, name: str = "act") -> dict[str, Any]:
    """A message with one call."""
    function = {"name": name, "arguments": arguments}
    call = {"id": "call00001", "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


@pytest.mark.parametrize("verbatim", [True, False])
@pytest.mark.parametrize("arguments", ARGUMENTS)
def test_arguments_go_back_as_an_object(arguments: str, verbatim: bool) -> None:
    calls, own = read_calls(calling(arguments), [])
    sent = wire_message(Message("assistant", "", (), calls, own), verbatim)
    (entry,) = sent["tool_calls"]
    assert json.loads(entry["function"]["arguments"]) == ARGUMENTS[arguments]


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_the_offered_one_in_both_places(name: str) -> None:
    calls, own = read_calls(calling(STOP, name), [])
    assert calls[0].name == "act"
    assert json.loads(own)["tool_calls"][0]["function"]["name"] == "act"


@pytest.mark.parametrize("broken", ['{"action": "st', "", "stop"])
def test_one_bad_call_costs_one_turn(broken: str, tmp_path: Path) -> None:
    def answer(route: str, body: dict[str, Any], headers: object) -> tuple[int, Any]:
        earlier = [c for m in body["messages"] for c in m.get("tool_calls") or ()]
        for call in earlier:
            try:
                assert isinstance(json.loads(call["function"]["arguments"]), dict)
            except (ValueError, AssertionError):
                return 500, refusal("Failed to parse tool call arguments as JSON")
        reply = chat("")
        message = calling(STOP if earlier else broken)
        message["tool_calls"][0]["id"] = f"call{len(earlier):05}"
        reply["choices"][0]["message"] = message
        return 200, reply

    with serving(answer) as server:
        tree = {
            "model": {"base_url": server.address},
            "decoding": "tools",
            "dataset": {"houses": 1, "episodes": 2},
        }
        plan = Plan("react", "houses", "openai:mine", tree, out=tmp_path / "run", limit=2,
                    first=True, max_steps=4, concurrency=1, retries=0)  # fmt: skip
        outcome = run(plan).outcome
    assert (outcome.finished, outcome.unusable) == (2, "")
    assert server.refused == 0
