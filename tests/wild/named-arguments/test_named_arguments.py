"""Named arguments in any order are the same action."""

from __future__ import annotations

import json
from typing import Any

import pytest

from wayword.agents.answers import StrategyRecipe
from wayword.agents.legal import Legal
from wayword.core.action import STOP, Action, ActionSpace, Rejection
from wayword.envs.mcp import one_argument, tool_text

COUNTS = {"goto": 1, "put": 2, "stop": 0}
SPACE = ActionSpace((STOP,), accepts=lambda a: COUNTS.get(a.name) == len(a.arguments))
RECIPE = StrategyRecipe("Thought: why\nAction: what", "named")
PUT = Action("put", ("mug_1", "shelf_1"))


def read(answer: str) -> Action | str:
    outcome = RECIPE.decision(answer, Legal(SPACE)).outcome
    return outcome.kind if isinstance(outcome, Rejection) else outcome.action


@pytest.mark.parametrize(
    "answer",
    [
        "Action: put(receptacle=shelf_1, object=mug_1)",
        'Action: put(target="shelf_1", item="mug_1", reason="it is near")',
        "Action: put[receptacle: shelf_1, object: mug_1]",
        '{"name": "put", "arguments": {"receptacle": "shelf_1", "object": "mug_1"}}',
        '{"action": "put", "arguments": {"target": "shelf_1", "object": "mug_1"}}',
        '{"action": "put", "args": {"object": "mug_1", "target": "shelf_1", "reason": "x"}}',
        "Action: put [mug_1] on [shelf_1].",
        "Action: put[mug_1][shelf_1]",
        "Action: put[mug_1、shelf_1]",
        "Action: put[mug_1 -> shelf_1]",
    ],
)
def test_the_order_is_that_of_the_action(answer: str) -> None:
    assert read(answer) == PUT


def test_arguments_without_names_keep_their_order() -> None:
    assert read("Action: put[shelf_1, mug_1]") == Action("put", ("shelf_1", "mug_1"))


@pytest.mark.parametrize("word", ["", "None", "N/A", "...", "?", "null"])
def test_a_placeholder_is_no_argument(word: str) -> None:
    assert read(f"Action: goto[{word}]") == "unknown"


def test_punctuation_is_no_part_of_a_name() -> None:
    assert read("Action: goto[mug_1.]") == read("Action: goto[object=mug_1!]")
    assert read("Action: goto[mug_1.]") == Action("goto", ("mug_1",))


def test_two_names_are_none() -> None:
    assert read("Action: goto[mug_1 or mug_2]") == "several_actions"


GIVEN: list[dict[str, Any]] = [
    {"action": {"name": "put", "arguments": {"receptacle": "s", "object": "m"}}},
    {"action": "put", "arguments": {"target": "s", "object": "m", "reason": "near"}},
    {"action": "put", "target": "s", "objectId": "m"},
    {"function": "put", "arguments": {"place": "s", "item_name": "m"}},
]


@pytest.mark.parametrize("given", GIVEN)
def test_a_tool_reads_named_arguments_in_order(given: dict[str, Any]) -> None:
    text = json.loads(tool_text(one_argument("act", given)["action"]))
    assert (text["action"], text["arguments"]) == ("put", ["m", "s"])


@pytest.mark.parametrize(
    "given", [{"value": "stop"}, {" Action": "stop"}, {"0": "stop"}]
)
def test_a_tool_reads_its_only_argument(given: dict[str, Any]) -> None:
    assert one_argument("act", given)["action"] == "stop"


def test_a_number_of_the_call_is_not_its_action() -> None:
    given = {"action": "stop", "action_id": 7, "Action_Name": "x"}
    assert one_argument("act", given) == {"action": "stop"}


@pytest.mark.parametrize("given", [{"session_id": "7"}, {"reason": "near"}])
def test_a_session_is_no_argument(given: dict[str, Any]) -> None:
    assert one_argument("act", given) == {"action": ""}
    assert one_argument("begin", given) == {"episode": ""}


def test_several_actions_of_a_tool_stay_several() -> None:
    assert read(tool_text(["goto[a]", "goto[b]"])) == "several_actions"
    assert tool_text([]) == tool_text({}) == tool_text([[]]) == ""


@pytest.mark.parametrize(
    "name",
    ["counter_top_1", "Counter Top 1", "countertop1", "CounterTop-1", "counter top #1"],
)
def test_a_listed_name_is_found_in_every_spelling(name: str) -> None:
    goto = Action("goto", ("counter_top_1",))
    listed = (goto, Action("goto", ("counter_top_11",)), STOP)
    legal = Legal(ActionSpace(listed, accepts=lambda action: action.name == "goto"))
    assert legal.read(f"goto[{name}]") == goto


def test_a_sign_is_part_of_a_number() -> None:
    left = Action("rotate", ("-30",))
    assert Legal(ActionSpace((left, STOP))).read("rotate[-30]") == left
    assert Legal(ActionSpace((left, STOP))).read("rotate[30]") != left
