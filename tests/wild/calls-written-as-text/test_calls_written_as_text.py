"""Calls in the forms of chat templates, which a server left in the text of the answer."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

from wayword.agents.answers import StrategyRecipe, read_choice
from wayword.agents.legal import Legal
from wayword.core.action import STOP, Action, ActionSpace, Rejection
from wayword.models.parts.calling import calls_in
from wayword.models.parts.decoding import split_thought

CASES = tomllib.loads(
    (Path(__file__).parent / "cases.toml").read_text(encoding="utf-8")
)["case"]
LISTED = (
    *(Action("goto", (name,)) for name in ("pot_1", "pan_1")),
    Action("put", ("pot_1", "stove_1")),
    STOP,
)
REACT = StrategyRecipe("Thought: why\nAction: what", "react")


def reading_of_a_strategy(answer: str) -> str:
    decided = REACT.decision(answer, Legal(ActionSpace(LISTED))).outcome
    return decided.kind if isinstance(decided, Rejection) else str(decided.action)


def reading_of_a_choice(answer: str) -> str:
    chosen = read_choice(answer, ["pot_1", "pan_1"])
    if isinstance(chosen, Rejection):
        return chosen.kind
    return f"goto[{chosen.choice}]"


def test_each_form_of_a_call_is_read() -> None:
    wrong = {}
    for case in CASES:
        result = reading_of_a_strategy(case["answer"])
        if result != case["reads"]:
            wrong[case["name"]] = (result, case["reads"])
    assert not wrong


def test_the_argument_of_a_call_is_a_choice_of_a_viewpoint() -> None:
    in_tags = [case for case in CASES if case["reads"] == "goto[pot_1]"]
    # A Python call, and words after a call, are forms of the strategies alone.
    forms = [case for case in in_tags if "(object" not in case["answer"]]
    wrong = {}
    for case in forms:
        result = reading_of_a_choice(case["answer"].replace("goto", "action_maker"))
        if result != case["reads"]:
            wrong[case["name"]] = result
    assert not wrong


def test_each_form_is_a_call_of_an_agent_that_was_offered_tools() -> None:
    wrong = {}
    for case in CASES:
        if case["reads"] != "goto[pot_1]" or "</think>Action" in case["answer"]:
            continue
        calls = calls_in(split_thought(case["answer"])[0], ["goto"])
        found = [(call.name, json.loads(call.arguments)) for call in calls]
        if found != [("goto", {"object": "pot_1"})]:
            wrong[case["name"]] = found
    assert not wrong


def test_a_call_in_a_text_of_json_is_mentioned() -> None:
    answer = json.dumps({"thought": "no [TOOL_CALLS]stop{}", "action": "goto[pot_1]"})
    assert reading_of_a_strategy(answer) == "goto[pot_1]"


def test_a_list_of_several_objects_is_no_one_object() -> None:
    one, two = "call:goto{object: [pot_1]}", "call:goto{object: [pot_1, pan_1]}"
    assert reading_of_a_strategy(one) == "goto[pot_1]"
    assert not reading_of_a_strategy(two).startswith("goto")


def test_an_id_of_a_call_is_no_argument_and_one_of_an_object_is() -> None:
    (call,) = calls_in("<invoke name='goto' object_id='pot_1' call_id='3'/>", ["goto"])
    assert json.loads(call.arguments) == {"object_id": "pot_1"}


def test_a_word_before_an_answer_in_json_is_no_name_of_a_function() -> None:
    answer = json.dumps({"thought": "near", "action": "goto[pot_1]"})
    for word in ("answer", "Answer", "so", "json"):
        assert reading_of_a_strategy(f"{word}\n{answer}") == "goto[pot_1]"


def test_the_end_of_a_tag_in_a_text_ends_no_call() -> None:
    # https://github.com/vllm-project/vllm/issues/45167
    fields = {"object": "pot_1", "reason": "a </tool_call> b"}
    called = {"name": "goto", "arguments": fields}
    text = f"<tool_call>\n{json.dumps(called)}\n</tool_call>"
    assert reading_of_a_strategy(text) == "goto[pot_1]"
    (call,) = calls_in(text, ["goto"])
    assert json.loads(call.arguments) == fields
