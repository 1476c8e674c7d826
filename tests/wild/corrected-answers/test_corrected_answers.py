"""Answers that are corrected, repeated or taken back are counted rejections."""

from __future__ import annotations

import pytest

from wayword.agents.answers import StrategyRecipe, read_choice
from wayword.agents.legal import Legal
from wayword.core.action import STOP, Action, ActionSpace, Rejection

NAMES = ("pot_1", "pan_1")
VERBS = ("turn_left", "turn_right", "move_forward")
COUNTS = {"goto": 1, "take": 1, **dict.fromkeys(VERBS, 0), "stop": 0}
SPACE = ActionSpace(
    (*(Action("goto", (name,)) for name in NAMES), *map(Action, VERBS), STOP),
    accepts=lambda action: COUNTS.get(action.name) == len(action.arguments),
)
RECIPE = StrategyRecipe("Thought: why\nAction: what", "corrected")
READINGS = {
    "goto[pan_1]... actually, goto[pot_1]": "several_actions",
    "goto[pan_1] (scratch that) goto[pot_1]": "several_actions",
    "goto[pan_1] → no, wait: goto[pot_1]": "several_actions",
    "goto[pot_1], sorry, I mean goto[pan_1]": "several_actions",
    "goto[pot_1]; take[pot_1]": "several_actions",
    "goto[pot_1] and take[pot_1]": "several_actions",
    "goto[pot_1], not goto[pan_1]": "goto[pot_1]",
    "goto[pot_1] rather than goto[pan_1]": "goto[pot_1]",
    "goto[pot_1] (actually quite near)": "goto[pot_1]",
    "turn_left, not turn_right": "turn_left",
    "turn_left (not turn_right)": "turn_left",
    "turn_left (90°)": "turn_left",
    "move_forward(3)": "several_actions",
    "move_forward * 3": "several_actions",
    "move_forward (3 times)": "several_actions",
    "move_forward()": "move_forward",
    "stop (not yet)": "no_action",
    "stop (I am there)": "stop",
    "stop? No, move_forward": "several_actions",
    "stop. Wait, not yet.": "no_action",
    "stop\nWait, I'm not there.": "no_action",
    "stop. Actually, no.": "no_action",
    "stop. 等等，不对。": "no_action",
    "goto[pot_1]. Hmm, that's wrong.": "no_action",
    "goto[pot_1] - oops, never mind": "no_action",
    "goto[pot_1]\n\nHold on, I should not go there.": "no_action",
    "turn_left. Scratch that.": "no_action",
    "stop. Wait for the others.": "stop",
    "stop. Sorry it took so long.": "stop",
    "goto[pot_1]. No, it is not far.": "goto[pot_1]",
    "goto[pot_1]. Actually, that's right.": "goto[pot_1]",
    "goto[pot_1]. Actually, I can't reach it.": "no_action",
    "goto[pot_1]. Sorry, I cannot see more.": "goto[pot_1]",
    "stop. Actually, no landmark is in view.": "stop",
    "turn_left. Hmm, no idea how far it is.": "turn_left",
    "turn_left\nActually, I'm not sure about the rest.": "turn_left",
    "move_forward, as I should not turn": "move_forward",
}


@pytest.mark.parametrize("answer", READINGS)
def test_an_answer_has_its_reading(answer: str) -> None:
    outcome = RECIPE.decision(f"Action: {answer}", Legal(SPACE)).outcome
    reading = outcome.kind if isinstance(outcome, Rejection) else str(outcome.action)
    assert reading == READINGS[answer]


ENDINGS = {
    "Unable to complete the task.": "no_action",
    "I failed to reach the goal": "no_action",
    "I have arrived at the wrong place": "no_action",
    "I stopped too early": "no_action",
    "Finished! Wait, not yet.": "no_action",
    "Finished!": "stop",
    "The goal is here": "stop",
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_an_ending_that_failed_ends_nothing(ending: str) -> None:
    chosen = read_choice(f"Final Answer: {ending}", ["a1", "b2"])
    if isinstance(chosen, Rejection):
        assert chosen.kind == ENDINGS[ending]
    else:
        assert (chosen.choice or "stop") == ENDINGS[ending]


@pytest.mark.parametrize("value", ['"no"', "0", "false", "null", '"False."'])
def test_arrived_may_be_a_word_or_a_number(value: str) -> None:
    answer = f'{{"thought": "x", "arrived": {value}, "action": "a1"}}'
    chosen = read_choice(answer, ["a1", "b2"])
    assert not isinstance(chosen, Rejection)
    assert chosen.choice == "a1"
