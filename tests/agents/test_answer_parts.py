"""Replies, fields and lists of awkward answers, each worked out by hand."""

from __future__ import annotations

import json

import pytest

from wayword.agents.answers import (
    LONGEST,
    LONGEST_THOUGHT,
    REJECTED_LENGTH,
    AnswerForm,
    Field,
    Reply,
    fields,
    items,
    one_line,
    replies,
)
from wayword.agents.legal import Refusal, pick
from wayword.core.model import Completion, Sampling, Usage

NAMES = ("thought", "action", "action_input")


@pytest.mark.parametrize(
    ("reply", "text", "reasoning"),
    [
        ("<think>b or c?</think>Go to b.", "Go to b.", "b or c?"),
        (
            "Well: <think>one</think>Go <thinking>two</thinking>on.",
            "Well: Go on.",
            "one\ntwo",
        ),
        ("<think>a<think>b</think>c</think>d", "d", "a\nb\nc"),
        ("<think>I see a <think> tag</think>Go left.", "Go left.", "I see a \n tag"),
        ("the prompt opened it</think>Go.", "Go.", "the prompt opened it"),
        ("Hm. <think>never closed", "Hm.", "never closed"),
        ("[THINK]b?[/THINK]Go.", "Go.", "b?"),
        ("<ns:Reasoning>b?</ns:Reasoning>Go.", "Go.", "b?"),
        ("a</think>b</think>c", "c", "a\nb"),
        ("no tags at all ", "no tags at all ", ""),
        (
            '{"thought": "<think>", "action": "b"}',
            '{"thought": "<think>", "action": "b"}',
            "",
        ),
    ],
)
def test_reasoning_is_no_part_of_the_answer(
    reply: str, text: str, reasoning: str
) -> None:
    found = Reply.of(reply)
    assert (found.text, found.reasoning) == (text, reasoning)
    assert Reply.of(found) is found


def test_an_answer_ends_at_the_first_of_its_stops() -> None:
    assert Reply.of(
        "left. Observation: wall. Thought: no", ("Thought:", "Observation:")
    ).text == ("left. ")
    assert Reply.of("Thought: no", ("Thought:",)).text == "", (
        "also at its very beginning"
    )
    full = Reply.of("left. Obser", ("Observation:",), "cut off")
    assert (full.text, full.cut_off) == ("left. ", "cut off"), (
        "the broken word is left out"
    )
    assert Reply.of("left.", (), "cut off").text == "left."


def test_too_long_is_longer_than_what_is_read() -> None:
    assert Reply("x" * LONGEST).unreadable() is None
    found = Reply("x" * (LONGEST + 1)).unreadable()
    assert found is not None
    assert (found.kind, len(found.said)) == ("too_long", REJECTED_LENGTH)
    assert found.reason == "the answer ran to more than 8,000 characters; be brief"


def test_nothing_stated_and_nothing_but_reasoning_are_distinguished() -> None:
    silent = Reply(" \n").unreadable()
    brooding = Reply("", "b or c?").unreadable()
    assert silent is not None
    assert brooding is not None
    assert (silent.kind, silent.reason) == ("empty", "the answer was empty")
    assert brooding.reason == "nothing followed the reasoning; answer after it"
    cut = Reply("", "b or", "cut off at 9 tokens").unreadable()
    assert cut is not None
    assert (cut.kind, cut.reason) == ("cut_off", "cut off at 9 tokens")
    assert Reply(" go b ").reject("unknown", "no b", "hm").said == "go b"


def test_each_sample_says_where_it_was_cut() -> None:
    # A backend may have granted a lone sample more; of several, usage is the sum.
    lone = Completion(("one",), ("length",), Usage(5, 90))
    (found,) = replies(lone, Sampling(max_tokens=24), "max_words")
    assert found.cut_off == (
        "the answer was cut off at 90 tokens; raise max_words, or answer in fewer words"
    )
    (short,) = replies(
        Completion(("one",), ("MAX_TOKENS",), Usage(5, 7)), Sampling(max_tokens=24)
    )
    assert "cut off at 24 tokens; raise max_tokens" in short.cut_off
    several = Completion(("one", "two", "three"), ("stop", "length"), Usage(5, 90))
    cuts = [one.cut_off for one in replies(several, Sampling(max_tokens=24, n=3))]
    assert [cut[:40] for cut in cuts] == [
        "",
        "the answer was cut off at 24 tokens; rai",
        "",
    ]


@pytest.mark.parametrize(
    ("reply", "actions"),
    [
        ('{"action": "b"} {"action": "b"}', ["b"]),  # said twice
        ('{"action": "b"} {"action": "c"}', ["b", "c"]),
        ('{"action": "b", "action": "c", "Action": "d"}', ["b", "c", "d"]),
        ('{"action": "b", "Action": "b"}', ["b"]),
        ('{"x": 1} so {"thought": "y", "action": "b"}', ["b"]),
        ('{"outer": {"action": "b"}}', ["b"]),
        ('{"action": {"action": "b"}}', [{"action": "b"}]),
        ('{{"action": "b"}}', ["b"]),
        ("Action: b\nAction 2: c", ["b", "c"]),
        ("- **Action:** b\nmore", ["b\nmore"]),
        ("## Action\nb", ["b"]),
        (
            '{"action": "b"}\nAction:',
            ["b"],
        ),  # a label with nothing behind it adds nothing
        ("Action:", [""]),
        ("the action is b", []),
    ],
)
def test_every_value_of_a_field_in_order(reply: str, actions: list[object]) -> None:
    found = fields(reply, NAMES)
    assert found.all("action") == actions
    assert found.is_json == ("{" in reply)


def test_fields_of_several_words_and_what_stood_before_them() -> None:
    found = fields("So:\n```\nThought: b is near.\nAction Input: b\n```", NAMES)
    assert (found.all("action_input"), found.before) == (["b"], "So:")
    assert found.line("thought", "action_input") == "b is near. b"
    answer = fields('Here it is: {"thought": ["no", "text"], "action": 3} Bye.', NAMES)
    assert (answer.before, answer.line("thought", "action")) == ("Here it is:", "3")
    assert fields("just prose", NAMES).before == "just prose"
    assert fields('Hm.\nThought: a\n{"action": "b"}', NAMES).before == "Hm."
    assert fields("x" * LONGEST + "\nAction: b", NAMES).all("action") == []


def test_lists_are_read_from_json_or_from_lines() -> None:
    assert items('[1, 2] and ["a", "b"]') == ["a", "b"], (
        "the first list that is all text"
    )
    assert items('[sic] [] [1, "c"] ["a", "b"]') == ["a", "b"]
    assert items("[] [not json] none") == []
    assert items("Sure:\n1. a park\n2) a bank\n\n3. no more") == ["a park", "a bank"]
    assert items("nothing here") == []


def test_a_thought_is_kept_on_one_line_up_to_its_limit() -> None:
    assert one_line(" a\n b\t c ") == "a b c"
    assert (len(one_line("x" * 5000)), one_line("abcdef", most=3)) == (
        LONGEST_THOUGHT,
        "abc",
    )


@pytest.mark.parametrize("form", ["lines", "list", "objects"])
@pytest.mark.parametrize(
    "nothing", ["none", "None.", "nothing", "N/A", "null", "", "None (no input)", "-"]
)
def test_entries_of_a_list_that_say_nothing_are_left_out(
    nothing: str, form: str
) -> None:
    """In whatever form a model writes a list, and wherever they are in it."""
    answers = AnswerForm(Field("Thought"), Field("Actions", many=True))
    for before, after in (((), ()), (("Turn left.",), ()), ((), ("Stop.",))):
        entries = [*before, nothing, *after]
        listed = "\n".join(f"{n}. {each}" for n, each in enumerate(entries, 1))
        text = {
            "lines": f"Thought: on\nActions:\n{listed}",
            "list": json.dumps({"thought": "on", "actions": entries}),
            "objects": json.dumps({"thought": "on", "actions": "\n".join(entries)}),
        }[form]
        filled = answers.read(text)
        assert filled == {"thought": "on", "actions": [*before, *after]}, text


@pytest.mark.parametrize("anywhere", [True, False])
@pytest.mark.parametrize(
    ("names", "unclear"),
    [
        (("a1", "A1"), "a-1"),
        (("Table", "table", "TABLE"), "tAbLe"),
        (("the exit", "exit"), "an exit"),
        (("coffee table", "coffee-table", "coffee_table"), "Coffee Table"),
        (("north", "North"), "NORTH"),
    ],
)
def test_names_are_distinguished_by_their_spelling_alone(
    names: tuple[str, ...], unclear: str, anywhere: bool
) -> None:
    for name in names:
        for text in (name, f"{name}.", f'"{name}"', f"1. {name}", f"{name}\nGo on."):
            assert pick(text, names, anywhere) == name, text
    assert isinstance(pick(unclear, names, anywhere), Refusal)
