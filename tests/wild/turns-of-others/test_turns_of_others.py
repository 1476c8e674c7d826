"""Turns that a model invents after its action."""

from __future__ import annotations

import pytest

from wayword.agents.answers import StrategyRecipe
from wayword.agents.legal import Legal
from wayword.core.action import STOP, Action, ActionSpace, Rejection

LISTED = (*(Action("goto", (name,)) for name in ("pot_1", "pan_1")), STOP)
REACT = StrategyRecipe("Thought: why\nAction: what", "react")
TURNS = (
    "Human: Observation: You are at pot_1.",
    "Human: You are at pot_1.",
    "User: You are at pot_1.",
    "**User:** You are at pot_1.",
    "Environment: You are at pot_1.",
    "### Human: go on",
    "Observation: You are at pot_1.",
)


def reading(answer: str) -> str:
    decided = REACT.decision(answer, Legal(ActionSpace(LISTED))).outcome
    return decided.kind if isinstance(decided, Rejection) else str(decided.action)


@pytest.mark.parametrize("turn", TURNS)
def test_an_invented_turn_ends_the_answer(turn: str) -> None:
    answer = f"Thought: near\nAction: goto[pot_1]\n{turn}\nThought: on\nAction: stop"
    assert reading(answer) == "goto[pot_1]"


@pytest.mark.parametrize("turn", TURNS)
def test_before_an_action_it_is_thought(turn: str) -> None:
    assert reading(f"{turn}\nThought: on\nAction: goto[pan_1]") == "goto[pan_1]"


def test_two_actions_of_its_own_are_several() -> None:
    answer = "Action: goto[pot_1]\nThought: on\nAction: stop"
    assert reading(answer) == "several_actions"
