"""Lists of landmarks and of actions in the marks that models use."""

from __future__ import annotations

import pytest

from wayword.agents.velma.agent import read_actions, read_landmarks

LANDMARKS = (
    "1. **red awning** - on the left\n2. **bank**",
    "+ red awning\n+ bank",
    "① red awning\n② bank",
    "1、red awning\n2、bank",
    "1: red awning\n2: bank",
)


@pytest.mark.parametrize("answer", LANDMARKS)
def test_landmarks_are_read(answer: str) -> None:
    assert read_landmarks(answer).names == ("red awning", "bank")


ACTIONS = {
    "3. forward\n\n4. left\n\n5. stop": ["forward", "left", "stop"],
    "3. Turn left.": ["left"],
    "turn around": ["turn_around"],
    "+ forward": ["forward"],
}


@pytest.mark.parametrize("answer", ACTIONS)
def test_actions_are_read(answer: str) -> None:
    assert read_actions(answer, 3) == ACTIONS[answer]
