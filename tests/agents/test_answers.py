"""The one reader of answers: whatever wraps an answer, one legal action comes out or a reason."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.looping import for_each
from wayword.agents.answers import (
    NamedAnswer,
    Reply,
    StrategyRecipe,
    fields,
    items,
    read_choice,
    read_pick,
    replies,
)
from wayword.agents.legal import Legal, pick
from wayword.agents.velma.agent import read_actions
from wayword.core.action import STOP, Action, ActionSpace, Decision, Rejection
from wayword.core.model import Completion, Sampling, Usage

ACTIONS = (
    Action("forward"),
    Action("turn_left"),
    Action("goto", ("fridge_1",)),
    Action("goto", ("mug_1",)),
    Action("put", ("mug_1", "table_1")),
    STOP,
)
LEGAL = Legal(ActionSpace(ACTIONS, ("chat",)))
REACT = StrategyRecipe("Thought: why\nAction: what", "react")
IDS = ("v12", "v13", "hall")
CUT = "the answer was cut off at 24 tokens; raise max_tokens, or answer in fewer words"

CALLS = (
    "{verb}[{args}]",
    "{verb}({args})",
    "{verb} {args}",
    "{verb}: {args}",
    '{verb}("{args}")',
)
WRAPPINGS = (
    "{}",
    "Action: {}",
    "**Action:** {}",
    "### Action\n{}",
    "Thought: well\n\nACTION:\n`{}`.",
    "<think>goto[mug_1]? stop?</think>Action: {}",
    "one thing or another</think>\nAction: {}",
    "I have looked around.\n\n{}",
    "```\n{}\n```",
)


def written(action: Action, form: str) -> str:
    if not action.arguments:
        return action.name.replace("_", " ")
    return form.format(verb=action.name, args=", ".join(action.arguments))


def outcome(text: str) -> Decision | Rejection:
    return REACT.decision(text, LEGAL).outcome


@for_each("form", CALLS)
@for_each("wrapping", WRAPPINGS)
@for_each("action", ACTIONS, ids=str)
def test_every_legal_action_in_every_form_is_read(
    action: Action, wrapping: str, form: str
) -> None:
    found = outcome(wrapping.format(written(action, form)))
    assert isinstance(found, Decision), found
    assert found.action == action
    assert "stop?" not in found.thought, "reasoning is no thought"


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "```json\n{}\n```",
        "Sure, here it is:\n{}\nI hope that this helps.",
        "<think>{{}}</think>\n{}",
        "{}\n\n{}",
    ],
)
def test_json_is_read_whatever_stands_around_it(text: str) -> None:
    reply = json.dumps({"Thought": "on", "action": 'goto("mug_1")'})
    found = outcome(text.replace("{{}}", '{"action": "stop"}').replace("{}", reply))
    assert found == Decision(Action("goto", ("mug_1",)), "on")


@given(
    st.lists(st.sampled_from(ACTIONS), min_size=2, max_size=3, unique=True),
    st.sampled_from(
        [", ", "; ", " and ", " or ", " then ", "\n", ". ", " ", "\nAction: "]
    ),
    st.sampled_from(["", "Action: ", "Thought: x\nAction:\n"]),
)
def test_two_different_actions_are_never_one(
    actions: list[Action], between: str, before: str
) -> None:
    found = outcome(before + between.join(map(str, actions)))
    assert isinstance(found, Rejection), found
    assert found.reason


@given(
    st.lists(st.sampled_from(IDS), min_size=2, max_size=3, unique=True), st.booleans()
)
def test_two_different_names_are_never_one(names: list[str], anywhere: bool) -> None:
    for between in (", ", " or ", "\n", " and then ", ". "):
        assert not isinstance(pick(between.join(names), IDS, anywhere), str)
        assert isinstance(
            read_choice(f"Action Input: {between.join(names)}", IDS), Rejection
        )


@given(st.text(max_size=300))
def test_no_text_breaks_any_reader(text: str) -> None:
    for messages in (
        text,
        f"Action: {text}",
        f'{{"action": {json.dumps(text)}}}',
        f"<think>{text}",
    ):
        for found in (
            outcome(messages),
            read_choice(messages, IDS),
            read_actions(messages, 1),
        ):
            assert isinstance(found, Decision | NamedAnswer | list | Rejection)
        read_pick(messages, IDS)
        items(messages)


@pytest.mark.parametrize(
    "text", ["Do not cd. Never cd.", "cd? No.", "not cd", "Avoid the cd."]
)
def test_a_negated_pick_is_none(text: str) -> None:
    found = read_pick(text, ["cd", "mug"])
    assert isinstance(found, Rejection)
    assert found.kind == "no_action"


def test_an_object_that_does_not_exist_is_unknown() -> None:
    found = outcome("Action: goto[nonsense]")
    assert isinstance(found, Rejection)
    assert found.kind == "unknown"
    assert "for example: goto[fridge_1]" in found.reason


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Thought: I go to the fri",
        '{"thought": "x", "act',
        "Action: goto fridge_1",
        "<think>so",
    ],
)
def test_an_answer_that_was_cut_off_says_so(text: str) -> None:
    sampling = Sampling(max_tokens=24)
    (reply,) = replies(Completion((text,), ("length",)), sampling)
    found = REACT.decision(reply, LEGAL).outcome
    assert isinstance(found, Rejection)
    assert (found.kind, found.reason) == ("cut_off", CUT)


def test_an_action_that_was_complete_before_the_cut_counts() -> None:
    for messages in ("Action: goto[mug_1]", "Action: goto mug_1\nNext I wo"):
        (reply,) = replies(
            Completion((messages,), ("length",)), Sampling(max_tokens=24)
        )
        assert isinstance(REACT.decision(reply, LEGAL).outcome, Decision)


def test_what_is_invented_after_a_stop_is_left_out() -> None:
    message = "Action: stop\nObservation: done\nAction: forward"
    (reply,) = replies(
        Completion((message,), ("length",)), Sampling(stop=("\nObservation:",))
    )
    assert (reply.text, reply.cut_off) == ("Action: stop", "")


def test_lone_surrogates_never_reach_the_next_request() -> None:
    found = outcome('{"thought": "\\ud83d here", "action": "chat", "x": 1}')
    assert isinstance(found, Rejection)
    for messages in (
        "Thought: \ud83d\nAction: forward",
        '{"thought": "\\ud83d", "action": "forward"}',
    ):
        decided = outcome(messages)
        assert isinstance(decided, Decision)
        decided.thought.encode()
    Reply.of("\udc00 stop").text.encode()


def test_reasoning_without_an_answer_is_named() -> None:
    found = outcome("<think>goto[mug_1]</think>")
    assert isinstance(found, Rejection)
    assert (found.kind, "after it" in found.reason) == ("empty", True)


def test_fields_are_found_in_objects_and_in_lines() -> None:
    found = fields(
        'Thought: a\n**Plan:** b\n{"action": "c"}', ("thought", "plan", "action")
    )
    assert (found.line("thought"), found.line("plan"), found.all("action")) == (
        "a",
        "b",
        ["c"],
    )
    assert items('```json\n["a park", "Staples"]\n```') == ["a park", "Staples"]
    assert items("Here:\n- a park\n- Staples\nDone") == ["a park", "Staples"]


def test_a_field_left_empty_is_no_second_action() -> None:
    reply = '{"thought": "east", "arrived": false, "action": "b", "prediction": ""}'
    assert read_choice(reply, ["b", "c"]) == NamedAnswer("east", "b")


def test_an_answer_whose_tokens_went_into_thought_needs_room_for_thought() -> None:
    """More tokens for the answer would not help: a server counts what is thought apart."""
    usage = Usage(prompt=10, completion=4096, reasoning=4096)
    (reply,) = replies(Completion(("",), ("length",), usage), Sampling(max_tokens=400))
    found = reply.unreadable()
    assert found is not None
    assert found.kind == "cut_off"
    assert found.reason == (
        "the answer was cut off at 4,096 tokens, 4,096 of them thought; "
        "raise model.thinking, or think less"
    )
