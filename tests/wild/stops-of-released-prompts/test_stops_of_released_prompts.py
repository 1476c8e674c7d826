"""Stops in the form of LangSuitE's released prompts end an episode."""

from __future__ import annotations

import pytest

from wayword.agents.legal import Legal, Refusal
from wayword.core.action import STOP, Action, ActionSpace
from wayword.metrics.household import answer_is_right

WALK = ActionSpace((Action("turn_left"), STOP))
QUESTION = ActionSpace((Action("turn_left"), STOP), open_verbs=("stop",))


@pytest.mark.parametrize("words", ["stop [n/a]", "stop [N/A]", "stop[answer]", "stop"])
def test_a_stop_without_a_question_ignores_its_brackets(words: str) -> None:
    assert Legal(WALK).read(words) == STOP


def test_other_actions_keep_their_brackets() -> None:
    assert isinstance(Legal(WALK).read("turn_left[n/a]"), Refusal)


@pytest.mark.parametrize("words", ["answer [True]", "answer[True]", "stop [True]"])
def test_an_answer_is_a_stop_with_it(words: str) -> None:
    assert Legal(QUESTION).read(words) == Action("stop", ("True",))


@pytest.mark.parametrize(
    ("answer", "right", "score"),
    [("True", "yes", 1.0), ("False", "no", 1.0), ("True", "no", 0.0), ("2", "2", 1.0)],
)
def test_true_and_false_are_yes_and_no(answer: str, right: str, score: float) -> None:
    state = {"actors": {"agent": {"answer": answer}}}
    assert answer_is_right(state, right) == score
