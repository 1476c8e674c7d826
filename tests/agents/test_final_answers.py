"""A final answer ends the walk if it says so, in a short first clause or in all of its clauses."""

from __future__ import annotations

import pytest

from wayword.agents.answers import NamedAnswer, Reply, fields, read_choice, replies
from wayword.core.model import Completion, Sampling, Usage


@pytest.mark.parametrize(
    ("text", "is_end"),
    [
        ("Finished!", True),
        ("Finished! Keep this in mind: the bed is near.", True),
        ("I have arrived at the bed. Done.", True),
        ("I have arrived at the bed. Done. Keep walking to the door.", False),
        ("Keep walking. Finished!", False),
        ("Not finished.", False),
        ("I am not there.", False),
        ("I am not moving.", True),
        ("Almost there.", False),
        ("Is this the goal?", False),
        ("The bed is blue.", False),
        ("Arrived at the goal?", False),
    ],
)
def test_the_words_of_a_final_answer(text: str, is_end: bool) -> None:
    found = read_choice(f"Thought: so.\nFinal Answer: {text}", ["a1", "b2"])
    assert (isinstance(found, NamedAnswer) and found.choice is None) == is_end


@pytest.mark.parametrize(
    ("reasoning", "texts", "is_thought"),
    [(51, 1, True), (50, 1, False), (10, 1, False), (0, 1, False), (90, 2, False)],
)
def test_an_answer_that_was_mostly_thought_needs_more_room_for_thought(
    reasoning: int, texts: int, is_thought: bool
) -> None:
    usage = Usage(10, 100, reasoning=reasoning)
    completion = Completion(("go",) * texts, ("length",) * texts, usage=usage)
    for reply in replies(completion, Sampling(max_tokens=100)):
        assert ("raise model.thinking" in reply.cut_off) == is_thought
        assert ("raise max_tokens" in reply.cut_off) == (not is_thought)


@pytest.mark.parametrize(
    ("finish", "is_cut"),
    [
        ("length", True),
        ("LENGTH", True),
        ("max_tokens", True),
        ("stop", False),
        ("", False),
    ],
)
def test_each_sample_is_cut_off_by_its_own_reason(finish: str, is_cut: bool) -> None:
    completion = Completion(("a", "b", "c"), (finish, "stop"))
    cut = [bool(reply.cut_off) for reply in replies(completion, Sampling())]
    assert cut == [is_cut, False, False]


@pytest.mark.parametrize("stops", [("\nA", "\nB"), ("\nB", "\nA"), ("\nB", "x", "\nA")])
def test_an_answer_ends_at_the_first_of_the_stop_texts_in_any_order(
    stops: tuple[str, ...],
) -> None:
    reply = Reply.of("go\nA: b\nB: c", stops, cut_off="too long")
    assert (reply.text, reply.cut_off) == ("go", "")
    uncut = Reply.of("go on", stops, cut_off="too long")
    assert (uncut.text, uncut.cut_off) == ("go ", "too long"), "without its broken word"


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("Thought:\nAction: a1", {"thought": [""], "action": ["a1"]}),
        ("Action:\nAction: a1", {"action": ["a1"]}),
        ("Action: a1\nAction:", {"action": ["a1"]}),
        ("Action: a1\nAction: a1", {"action": ["a1", "a1"]}),
        ("Thought: x", {"thought": ["x"]}),
        ('{"action": "a1"} {"action": "a1"}', {"action": ["a1"]}),
        ('{"action": "a1"} {"action": "b2"}', {"action": ["a1", "b2"]}),
    ],
)
def test_an_empty_label_counts_only_if_there_is_no_other(
    text: str, values: dict[str, list[str]]
) -> None:
    assert fields(text, ["thought", "action"]).values == values


@pytest.mark.parametrize(
    ("text", "choice"),
    [
        ("Thought: x\nPrediction: a1\nPrediction: a1", "a1"),
        ("Thought: x\nPrediction: a1\nPrediction: b2", ""),
        ("Thought: x\nAction Input: a1\nAction Input: a1", ""),
        ("Thought: x\nAction: action maker\nAction Input: a1", "a1"),
        ("Thought: x\nAction: a1\nPrediction: b2", ""),
        ("Thought: x\nAction: look\nPrediction: b2", "b2"),
    ],
)
def test_a_prediction_may_be_repeated_and_a_tool_is_no_choice(
    text: str, choice: str
) -> None:
    found = read_choice(text, ["a1", "b2"])
    assert ((isinstance(found, NamedAnswer) and found.choice) or "") == choice
