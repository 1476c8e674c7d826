"""A final answer ends a walk only if it says that the agent has arrived."""

from __future__ import annotations

import pytest

from wayword.agents.answers import NamedAnswer, read_choice
from wayword.core.action import Rejection

GOES_ON = (
    "Not finished",
    "Not finished yet.",
    "I have not reached the goal yet.",
    "We are not there yet, keep going.",
    "we are not there",
    "I haven't arrived yet.",
    "Continue.",
    "No",
    "Keep walking to the kitchen",
    "I will stop once I reach the sofa",
    "I did not reach it",
    "I could not arrive at the sofa",
    "I have reached the hall. Next, go up the stairs.",
)
ENDS = (
    "Finished!",
    "Finished! I do not need to go further.",
    "Finished. I am not moving.",
    "I have reached the goal.",
    "I am not moving any more, I am there.",
)


@pytest.mark.parametrize("text", GOES_ON)
def test_a_final_answer_that_goes_on_is_rejected(text: str) -> None:
    answer = f"Thought: x\nFinal Answer: {text}"
    rejected = read_choice(answer, ["v1"])
    assert isinstance(rejected, Rejection)
    assert rejected.kind == "no_action"
    assert read_choice(answer, ["v1"], any_ending=True) == NamedAnswer("x", None)


@pytest.mark.parametrize("text", ENDS)
def test_a_final_answer_that_says_so_ends_the_walk(text: str) -> None:
    assert read_choice(f"Thought: x\nFinal Answer: {text}", ["v1"]) == NamedAnswer(
        "x", None
    )
