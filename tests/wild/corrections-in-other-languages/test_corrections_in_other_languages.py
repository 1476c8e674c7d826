"""An action that another one corrects is one of several, in every language."""

from __future__ import annotations

import pytest

from wayword.agents.answers import StrategyRecipe, read_choice
from wayword.agents.legal import Legal
from wayword.core.action import STOP, Action, ActionSpace, Rejection

LISTED = (*(Action("goto", (name,)) for name in ("pot_1", "pan_1")), STOP)
REACT = StrategyRecipe("Thought: why\nAction: what", "react")


def reading(answer: str) -> str:
    decided = REACT.decision(answer, Legal(ActionSpace(LISTED))).outcome
    return decided.kind if isinstance(decided, Rejection) else str(decided.action)


CORRECTED = (
    "Action: goto[pot_1]. No, rather not, goto[pan_1]",
    "Action: goto[pot_1]. Wait, make that goto[pan_1]",
    "Action: goto[pot_1], or rather goto[pan_1]",
    "goto[pot_1]\nNo, goto[pan_1]",
    "Aktion: goto[pot_1]… nein, doch lieber goto[pan_1]",
    "Action : goto[pot_1], non, plutôt goto[pan_1]",
    "Acción: goto[pot_1], no, mejor goto[pan_1]",
    "Ação: goto[pot_1], não, goto[pan_1]",
    "Azione: goto[pot_1], anzi goto[pan_1]",
    "Действие: goto[pot_1], нет, лучше goto[pan_1]",
    "Actie: goto[pot_1], nee, toch goto[pan_1]",
    "动作：goto[pot_1]，不对，应该是 goto[pan_1]",
    "动作：goto[pot_1]。等等，改为 goto[pan_1]",
    "行動: goto[pot_1]、いや、goto[pan_1]",
    "アクション：goto[pot_1]ではなく goto[pan_1]",
    "행동: goto[pot_1] 말고 goto[pan_1]",
    "कार्रवाई: goto[pot_1] नहीं, goto[pan_1]",
    "Eylem: goto[pot_1] değil goto[pan_1]",
)


@pytest.mark.parametrize("answer", CORRECTED)
def test_an_action_and_its_correction_are_several(answer: str) -> None:
    assert reading(answer) == "several_actions"


TAKEN_BACK = (
    "Action: goto[pot_1] — no, rather not",
    "Action: goto[pot_1]. Not that one.",
    "Aktion: goto[pot_1] — nein, doch nicht",
    "Aktion: goto[pot_1]. Lieber nicht.",
    "Action : goto[pot_1]. Non, plutôt pas.",
    "Acción: goto[pot_1]; mejor no",
    "动作：goto[pot_1]，还是算了",
    "アクション：goto[pot_1]をしない",
    "행동: goto[pot_1] 하지 않는다",
)


@pytest.mark.parametrize("answer", TAKEN_BACK)
def test_an_action_that_is_taken_back_is_none(answer: str) -> None:
    assert reading(answer) == "no_action"


KEPT = (
    "Action: goto[pot_1] rather than goto[pan_1]",
    "Action: goto[pot_1] instead of goto[pan_1]",
    "Action: goto[pot_1]. Better not to wait.",
    "Action: goto[pot_1]. Not this time to wait.",
    "goto[pot_1]\nNo reason to goto[pan_1]",
    "goto[pot_1]\nInstead of goto[pan_1]",
    "Aktion: goto[pot_1], nicht goto[pan_1]",
    "Aktion: goto[pot_1], besser als goto[pan_1]",
    "Aktion: goto[pot_1]. Lieber nicht warten.",
    "Action : goto[pot_1] plutôt que goto[pan_1]",
    "Acción: goto[pot_1] mejor que goto[pan_1]",
    "Azione: goto[pot_1], non goto[pan_1]",
    "Действие: goto[pot_1], а не goto[pan_1]",
    "动作：goto[pot_1]，而不是 goto[pan_1]",
)


@pytest.mark.parametrize("answer", KEPT)
def test_a_comparison_or_a_comment_changes_nothing(answer: str) -> None:
    assert reading(answer) == "goto[pot_1]"


@pytest.mark.parametrize(
    "answer",
    [
        "pot, nein, lieber pan",
        "pot，不对，应该是 pan",
        "pot\nNo, pan",
        "pot\nWait, pan",
    ],
)
def test_a_choice_and_its_correction_are_several(answer: str) -> None:
    assert isinstance(read_choice(answer, ["pot", "pan"]), Rejection)


def test_words_of_a_correction_may_be_options() -> None:
    waiting = Legal(ActionSpace((*LISTED, Action("wait"))))
    decided = REACT.decision("goto[pot_1]\nwait.", waiting).outcome
    assert isinstance(decided, Rejection)
    assert isinstance(read_choice("yes\nNo.", ["yes", "no"]), Rejection)


@pytest.mark.parametrize("digit", "１١۱१১๑")
def test_digits_of_other_scripts_are_digits(digit: str) -> None:
    assert reading(f"Action: goto[pot_{digit}]") == "goto[pot_1]"
    named = ActionSpace((Action("goto", (f"كوب_{digit}",)), STOP))
    decided = REACT.decision(f"Action: goto[كوب_{digit}]", Legal(named)).outcome
    if digit != "１":
        assert str(getattr(decided, "action", decided)) == f"goto[كوب_{digit}]"
