"""A server's own fields of a call go back to it."""

from __future__ import annotations

from wayword.core.action import Action, Decision
from wayword.core.model import Completion, Message, ToolCall
from wayword.core.trajectory import ModelCall, Step, Trajectory
from wayword.core.world import Feedback
from wayword.models.parts.calling import read_calls, wire_message
from wayword.runs import codec

CALL = {
    "id": "one",
    "type": "function",
    "function": {"name": "look", "arguments": '{"direction":"left"}'},
    "extra_content": {"google": {"thought_signature": "EqQB=="}},
}
SENT = {
    "role": "assistant",
    "content": None,
    "refusal": None,
    "annotations": [],
    "reasoning_content": "The lamp is left.",
    "tool_calls": [CALL],
}


def test_a_message_goes_back_with_all_that_has_a_value() -> None:
    calls, verbatim = read_calls(SENT, [])
    assert calls == (ToolCall("one", "look", '{"direction":"left"}'),)
    back = wire_message(Message("assistant", "", (), calls, verbatim), verbatim=True)
    assert back == {
        k: v for k, v in SENT.items() if k not in ("refusal", "annotations")
    }


def test_a_record_keeps_it() -> None:
    calls, verbatim = read_calls(SENT, [])
    answer = Completion(("",), calls=calls, verbatim=verbatim)
    result = Message("tool", "A lamp.", call_id="one", tool="look")
    call = ModelCall("main", (answer.message, result), answer)
    step = Step("agent", {}, Decision(Action("stop")), Feedback(), {}, [call])
    walk = Trajectory("walk", {"agent": {}}, [step])
    assert codec.from_json(codec.to_json(walk)) == walk
