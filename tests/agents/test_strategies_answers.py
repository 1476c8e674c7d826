"""What counts as one legal action: forgiving in form, strict in substance."""

from __future__ import annotations

import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wayword.agents.answers import MOST_LISTED, StrategyRecipe
from wayword.agents.legal import Legal, Refusal
from wayword.agents.strategies.examples import parse_heading, parse_names, parse_state
from wayword.core.action import STOP, Action, ActionSpace, Decision, Rejection
from wayword.core.errors import UsageError
from wayword.models.scripted import smallest

MENU = ActionSpace(
    (
        Action("forward"),
        Action("turn_left"),
        Action("goto", ("Ab3",)),
        Action("goto", ("mug_1",)),
        Action("put", ("mug_1", "table_1")),
        STOP,
    ),
    ("chat", "stop"),
)
LEGAL = Legal(MENU, {Action("goto", ("cellar",))})
REACT = StrategyRecipe("Thought: why\nAction: what", "react")
EMMEM = StrategyRecipe(
    "State:\n  place: a\n  facing: b\n  holding: c\nPlan: d\nAction: e", "emmem"
)


@pytest.mark.parametrize(
    ("words", "action"),
    [
        ("forward", "forward"),
        (" Forward.\n", "forward"),
        ("TURN LEFT", "turn_left"),
        ("turn-left", "turn_left"),
        ("`goto[Ab3]`", "goto[Ab3]"),
        ("goto [ab3]", "goto[Ab3]"),
        ("GoTo[ 'mug 1' ]", "goto[mug_1]"),
        ("put[mug_1,TABLE_1]", "put[mug_1, table_1]"),
        ("chat[hello, you two; go [slowly]]", "chat[hello, you two; go [slowly]]"),
        ("Chat[ one\ntwo ]", "chat[one two]"),
        ("stop", "stop"),
        ("stop[]", "stop"),
        ("goto mug_1", "goto[mug_1]"),
        ("goto mug 1.", "goto[mug_1]"),
        ("go to the mug_1", "goto[mug_1]"),
        ("goto(mug_1)", "goto[mug_1]"),
        ('goto("mug_1")', "goto[mug_1]"),
        ("goto: Ab3", "goto[Ab3]"),
        ("put mug_1 in table_1", "put[mug_1, table_1]"),
        ('put("mug_1", "table_1")', "put[mug_1, table_1]"),
        ("put mug_1, table_1", "put[mug_1, table_1]"),
        ("chat: hello", "chat[hello]"),
        ('chat("go on, then stop")', "chat[go on, then stop]"),
        ("forward, because the way is free", "forward"),
        ("put[mug_1, table_1] - it belongs there", "put[mug_1, table_1]"),
        ("forward\nI hope so.", "forward"),
        ("forward, then I would turn left", "forward"),
        ("Stop[ two forks ]", "stop[two forks]"),
    ],
)
def test_actions_are_read_whatever_their_case_and_spacing(
    words: str, action: str
) -> None:
    assert str(LEGAL.read(words)) == action


@pytest.mark.parametrize(
    ("words", "kind", "reason"),
    [
        ("", "empty", "no action was named"),
        ("``", "empty", "no action was named"),
        (
            "fly",
            "unknown",
            "the actions are: forward, turn_left, goto[Ab3], goto[mug_1], "
            "put[mug_1, table_1], stop, chat[what you say]",
        ),
        ("goto[attic]", "unknown", "for example: goto[Ab3], goto[mug_1]"),
        ("goto", "unknown", "for example: goto[Ab3]"),
        ("goto[cellar]", "illegal", "was possible earlier, but not from here"),
        ("goto[nonsense]", "unknown", "for example: goto[Ab3]"),
        ("goto(nonsense)", "unknown", "for example: goto[Ab3]"),
        ("turn left quickly", "no_action", "write it like this: turn_left"),
        ("chat hello", "no_action", "write it like this: chat[what you say]"),
        (
            "goto the mug",
            "unknown",
            "goto[mug] is not possible here; for example: goto[Ab3]",
        ),
        ("Do not cd. Never cd.", "no_action", "is not an action"),
        ("do not go forward", "no_action", "is not an action"),
        ("forward? No.", "no_action", "write it like this: forward"),
        ("forward or turn left", "several_actions", "give exactly one"),
        ("forward\nturn_left", "several_actions", "give exactly one"),
        ("chat[hi] goto[Ab3]", "several_actions", "give exactly one"),
        ("stop: forward", "several_actions", "give exactly one"),
        (
            "forward[2]",
            "unknown",
            "forward[2] is not possible here; for example: forward",
        ),
        ("put[mug_1]", "unknown", "for example: put[mug_1, table_1]"),
        ("chat", "empty", "chat[what you say]"),
        ("chat[ ]", "empty", "chat[what you say]"),
        ("forward, forward", "several_actions", "give exactly one"),
        ("forward then goto[Ab3]", "several_actions", "give exactly one"),
        ("goto[Ab3] goto[mug_1]", "several_actions", "give exactly one"),
        ("I walk on!", "no_action", "is not an action"),
        ("x" * 3000, "too_long", "3,000 characters"),
    ],
)
def test_what_is_no_legal_action_says_why(words: str, kind: str, reason: str) -> None:
    refused = LEGAL.read(words)
    assert isinstance(refused, Refusal)
    assert refused.kind == kind
    assert reason in refused.reason


def test_ids_that_differ_only_in_case_are_distinguished() -> None:
    legal = Legal(ActionSpace((Action("goto", ("ab",)), Action("goto", ("AB",)))))
    assert str(legal.read("goto[AB]")) == "goto[AB]"
    assert isinstance(legal.read("goto[Ab]"), Refusal)


def test_an_id_with_signs_of_its_own_is_taken_as_written() -> None:
    odd = Action("goto", ("a,b [c]",))
    assert Legal(ActionSpace((odd,))).read("goto[a,b [c]]") == odd


@pytest.mark.parametrize(
    ("text", "action", "thought"),
    [
        ("Thought: on\nAction: forward", "forward", "on"),
        ("**Thought:** on\n**Action:** forward", "forward", "on"),
        ("on and on\nACTION : forward\n", "forward", "on and on"),
        ("- Thought 1: on\n- Action 1: forward", "forward", "on"),
        ("Action: forward\nI hope so.", "forward", ""),
        ("Thought: a\nb\nAction: chat[over\ntwo lines]", "chat[over two lines]", "a b"),
        ("forward", "forward", ""),
        ("goto[mug 1]", "goto[mug_1]", ""),
    ],
)
def test_free_answers(text: str, action: str, thought: str) -> None:
    outcome = REACT.decision(text, LEGAL).outcome
    assert isinstance(outcome, Decision)
    assert (str(outcome.action), outcome.thought) == (action, thought)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("", "empty"),
        (" \n\t", "empty"),
        ("Action:", "empty"),
        ("Thought: I think", "no_action"),
        ("I would rather not say.", "no_action"),
        ("fly", "unknown"),
        ("Action: forward\nAction: forward", "several_actions"),
        ("Thought: x\nAction: goto[nowhere]", "unknown"),
        ("Thought: x\nAction: goto[cellar]", "illegal"),
        ("x " * 50_000, "too_long"),
    ],
)
def test_free_answers_that_are_no_action(text: str, kind: str) -> None:
    outcome = REACT.decision(text, LEGAL).outcome
    assert isinstance(outcome, Rejection)
    assert outcome.kind == kind
    assert outcome.reason
    assert len(outcome.said) <= 500


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("", "empty"),
        ("[1]", "no_action"),
        ('{"action": "forward"', "no_action"),
        ('{"action": "forward", "action": "stop"}', "several_actions"),
        ('{"action": "forward"} or {"action": "stop"}', "several_actions"),
        ('{"action": "forward"}\nAction: stop', "several_actions"),
        ('{"action": "goto[nonsense]"}', "unknown"),
        ("{}", "no_action"),
        ('{"action": 3}', "no_action"),
        ('{"action": "fly"}', "unknown"),
        ('{"action": "chat", "argument": "  "}', "empty"),
        ("[" * 100_000, "too_long"),
        ("[" * 7_000, "no_action"),
    ],
)
def test_json_answers_that_are_no_action(text: str, kind: str) -> None:
    outcome = REACT.decision(text, LEGAL).outcome
    assert isinstance(outcome, Rejection)
    assert outcome.kind == kind


@given(st.text(max_size=400))
def test_no_text_whatever_breaks_the_readers(text: str) -> None:
    for recipe in (REACT, EMMEM):
        for messages in (
            text,
            f"Action: {text}",
            f"State: {text}\nAction: goto[{text}]",
        ):
            answer = recipe.decision(messages, LEGAL)
            assert (
                isinstance(answer.outcome, Rejection) or answer.outcome.action in MENU
            )
            parse_state(answer.parts)


def test_long_noise_is_read_in_no_time() -> None:
    import time

    rng = random.Random(0)
    pieces = [
        "Action",
        ":",
        " ",
        "\n",
        "[",
        "]",
        "*",
        "place",
        ";",
        "and ",
        "goto",
        "_",
        "-",
        "\t",
    ]
    began = time.process_time()
    for _ in range(20):
        text = "".join(rng.choices(pieces, k=2500))[:8000]
        EMMEM.decision(text, LEGAL)
        EMMEM.decision("Action: " + text, LEGAL)
    assert time.process_time() - began < 5


@pytest.mark.parametrize(
    "state",
    [
        "State:\n  place: kitchen\n  facing: NE\n  holding: mug_1",
        "State: place: kitchen; facing: NE; holding: mug_1",
        "**State:**\n- **place**: kitchen\n- **Facing**: NE\n- holding = mug_1",
    ],
)
def test_a_state_is_read_from_lines_or_from_one(state: str) -> None:
    answer = EMMEM.decision(f"{state}\nPlan: on\nAction: forward", LEGAL)
    assert parse_state(answer.parts) == {
        "place": "kitchen",
        "heading": 45.0,
        "holding": ["mug_1"],
    }


@pytest.mark.parametrize(
    ("words", "degrees"),
    [
        ("north", 0.0),
        ("North-West.", 315.0),
        ("I face the south east", 135.0),
        ("sw", 225.0),
        ("30°", 30.0),
        ("about 275.5 degrees", 275.5),
        ("-90°", 270.0),
        ("405", 45.0),
        ("45° (north-east)", 45.0),
        ("the fridge", None),
        ("northern light", None),
        ("mug_1", None),
        ("", None),
    ],
)
def test_headings(words: str, degrees: float | None) -> None:
    assert parse_heading(words) == degrees


@pytest.mark.parametrize(
    ("words", "held"),
    [
        ("nothing", []),
        ("None.", []),
        ("empty-handed", []),
        ("a mug_1 (dirty, filled) and the knife_1", ["mug_1", "knife_1"]),
        ("mug_1; knife_1, apple_2", ["mug_1", "knife_1", "apple_2"]),
    ],
)
def test_holdings(words: str, held: list[str]) -> None:
    assert parse_names(words) == held


def test_what_is_not_stated_is_none() -> None:
    assert parse_state({}) == {"place": None, "heading": None, "holding": None}
    assert parse_state({"holding": " "})["holding"] is None


def test_the_schema_lists_what_is_legal() -> None:
    schema = EMMEM.schema_for(MENU, 240)
    fields = schema["properties"]
    assert list(fields) == ["state", "plan", "action", "argument"]
    assert fields["action"]["enum"] == [
        *(
            "forward",
            "turn_left",
            "goto[Ab3]",
            "goto[mug_1]",
            "put[mug_1, table_1]",
            "stop",
            "chat",
        )
    ]
    assert list(fields["state"]["properties"]) == ["place", "facing", "holding"]
    assert schema["required"] == list(fields)


def test_every_answer_the_schema_allows_is_read() -> None:
    rng = random.Random(0)
    space = ActionSpace(MENU.listed)
    for recipe in (REACT, EMMEM):
        schema = recipe.schema_for(space, 240)
        for _ in range(50):
            answer = json.dumps(smallest(schema, rng))
            assert isinstance(recipe.decision(answer, Legal(space)).outcome, Decision)


def test_a_long_menu_is_not_listed() -> None:
    many = ActionSpace(tuple(Action("goto", (str(n),)) for n in range(MOST_LISTED + 1)))
    assert "enum" not in REACT.schema_for(many, 240)["properties"]["action"]
    outcome = REACT.decision('{"action": "Goto[ 7 ]"}', Legal(many)).outcome
    assert outcome == Decision(Action("goto", ("7",)))


@pytest.mark.parametrize(
    "form",
    ["", "Action", "Thought: x", "  place: x\nAction: y", "Action: x\nThought: y"],
)
def test_a_recipe_must_end_in_its_action(form: str) -> None:
    with pytest.raises(UsageError, match="recipe mine"):
        StrategyRecipe(form, "mine")


def test_what_an_agent_says_it_has_seen_is_not_clipped() -> None:
    seen = "mug_1 on table_1, " * 200
    recipe = StrategyRecipe("State:\n  seen: what\nAction: exactly one", "long")
    reply = json.dumps({"state": {"seen": seen}, "action": "stop"})
    answer = recipe.decision(reply, Legal(ActionSpace((STOP,))))
    assert answer.parts["seen"] == seen.strip()
