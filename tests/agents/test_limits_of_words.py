"""Words of answers and instructions at their limits: parts quoted, options listed, clauses."""

from __future__ import annotations

from typing import Any

import pytest

from wayword.agents.clauses import MOST_CLAUSES, clauses, done_answers, named_part
from wayword.agents.legal import EXAMPLES, Legal, Refusal, pick
from wayword.agents.marked import MarkedNames
from wayword.agents.strategies.strategy import json_object
from wayword.core.action import STOP, Action, ActionSpace


@pytest.mark.parametrize(
    ("thought", "number"),
    [
        ("I go up now.", 0),  # two words may occur by chance
        ("I leave the room.", 2),  # three words
        ("So I go through the door.", 3),
        ("I leave the rooms.", 0),
        ("I leave the room and go through the door.", 0),  # several
        ("Clause 1 is done.", 1),
        ("Clause 4 is done.", 0),
        ("Part 0 is done.", 0),
    ],
)
def test_a_part_is_named_by_its_number_or_by_three_of_its_words(
    thought: str, number: int
) -> None:
    parts = ["Go up.", "Leave the room.", "Go through the door."]
    assert named_part(thought, parts) == number


@pytest.mark.parametrize("followed", [1, 2, 3])
def test_a_clause_that_is_done_leads_to_the_next_and_the_last_to_the_end(
    followed: int,
) -> None:
    answers = done_answers(followed, 3, STOP)
    next_action = STOP if followed == 3 else Action("follow", (str(followed + 1),))
    assert answers == {Action("follow", (str(followed),)): "no", next_action: "yes"}


@pytest.mark.parametrize("count", [1, MOST_CLAUSES - 1, MOST_CLAUSES, MOST_CLAUSES + 1])
def test_only_more_clauses_than_have_names_are_joined(count: int) -> None:
    text = " ".join(f"Go to the door number {n}." for n in range(count))
    assert len(clauses(text)) == min(count, MOST_CLAUSES)


@pytest.mark.parametrize("count", [EXAMPLES - 1, EXAMPLES, EXAMPLES + 1])
def test_a_refusal_counts_only_the_options_that_it_does_not_list(count: int) -> None:
    space = ActionSpace([Action("goto", (f"p{number}",)) for number in range(count)])
    refused = Legal(space).read("goto[q]")
    assert isinstance(refused, Refusal)
    assert ("more" in refused.reason) == (count > EXAMPLES)
    assert refused.reason.count("goto[p") == min(count, EXAMPLES)


@pytest.mark.parametrize(
    ("text", "anywhere", "found"),
    [
        ("kitchen", False, "kitchen"),
        ("I have thought about it.\nkitchen", False, "kitchen"),
        ("I have thought about it.\nkitchen\nhall", False, "several_actions"),
        ("We should see the kitchen", False, "unknown"),
        ("We should see the kitchen", True, "kitchen"),
        ("We should never see the kitchen", True, "no_action"),
        ("I have thought.\nWe should see the kitchen", True, "unknown"),
    ],
)
def test_a_name_alone_on_a_line_counts_and_one_in_a_sentence_only_if_it_may(
    text: str, anywhere: bool, found: str
) -> None:
    picked = pick(text, ["kitchen", "hall"], anywhere)
    assert (picked.kind if isinstance(picked, Refusal) else picked) == found


@pytest.mark.parametrize("is_question", [True, False])
def test_a_stop_without_words_is_empty_only_where_it_takes_an_answer(
    is_question: bool,
) -> None:
    spoken = ("chat", "stop") if is_question else ("chat",)
    space = ActionSpace((Action("forward"),), spoken)
    for verb in ("chat", "stop"):
        refused = Legal(space).read(f"{verb}[]")
        assert isinstance(refused, Refusal)
        expected = "empty" if verb == "chat" else "unknown"
        assert refused.kind == expected, verb


MARKS = MarkedNames({"mug_1": "4", "desk_1": "7"})


@pytest.mark.parametrize(
    ("words", "is_known"),
    [
        (("4",), False),
        (("4", "7"), True),
        (("7", "4"), True),
        (("4", "7", "4"), False),
        (("4", "9"), False),
        (("mug_1", "desk_1"), False),
        ((), False),
    ],
)
def test_an_action_on_marks_has_as_many_numbers_as_its_verb_takes(
    words: tuple[str, ...], is_known: bool
) -> None:
    put = Action("put", ("mug_1", "desk_1"))
    space = MARKS.space(ActionSpace((put, STOP)), {"put": 2})
    assert space.knows(Action("put", words)) == is_known
    if all(word.isdecimal() for word in words):
        assert (Action("put", words) in space) == (words == ("4", "7"))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", {}),
        ('{"a": 1}', {"a": 1}),
        ('"{"a": 1}', {"a": 1}),
        ('```json\n{"a": 1}\n```', {"a": 1}),
        ('{"a": 1} is my answer', {"a": 1}),
        ('I answer {"a": 1}', None),
        ('{"a": 1}{"a": 1}', {"a": 1}),
        ('{"a": 1} or {"a": 2}', None),
        ("[1]", None),
    ],
)
def test_arguments_are_an_object_at_the_beginning_of_their_text(
    text: str, found: Any
) -> None:
    assert json_object(text) == found
