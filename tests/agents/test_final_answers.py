"""A final answer ends the walk if it says so, in a short first clause or in all of its clauses."""

from __future__ import annotations

import pytest

from wayword.agents.answers import NamedAnswer, read_choice, replies
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
