"""An option that the answer dismisses is not chosen."""

from __future__ import annotations

import pytest

from wayword.agents.answers import StrategyRecipe, read_choice, read_pick
from wayword.agents.legal import Legal
from wayword.core.action import STOP, Action, ActionSpace, Decision

LISTED = (*(Action("goto", (name,)) for name in ("pot_1", "pan_1")), STOP)
NUMBERS = [*map(str, range(1, 13))]
REACT = StrategyRecipe("Thought: why\nAction: what", "react")
DISMISSED = [
    *("{} is blocked", "{} is a dead end", "{} is wrong; {other}", "{} is not possible"),
    *("{} seems completely wrong", "{} was ruled out", "{} isn't reachable"),
    *("{} can’t be reached", "{} cannot be reached", "{} no longer exists"),
    *("{} should be avoided", "{} leads nowhere", "{} failed", "{} is too far"),
    *("{}: blocked", "{} (wrong)", "{} -> blocked", "{} - not an option"),
    *("{} ❌", "{} ✗", "❌ {}", "✗ {}", "{} 不行", "{} ist falsch"),
    *("not {}", "avoid {}", "rule out {}", "skip {}", "reject {}", "everything but {}"),
    *("{} is out", "{} is out of reach", "{} - blocked by a wall", "{}: wrong direction"),
    *("{} is unlikely to lead there", "{} (can't be reached)", "{}: isn't possible"),
    *("{} - won't be a good choice", "{} is impossible to reach", "{} - bad idea"),
    *("{} - isn't there", "{} (blocked path)", "{}: dead end behind the door"),
    *("{} - too far away", "{}: rejected earlier", "{}: incorrect answer"),
    *("nicht {}", "ne pas {}", "não {}", "не {}", "不要 {}", "避免 {}"),
]  # fmt: skip
MEANT = [
    *("{}", "{}.", "{}!", "{} is best", "{} is right", "{} is not far", "{} is open"),
    *("{} is not blocked", "{} since {other} is blocked", "{} (the other is blocked)"),
    *("{} because the others are wrong", "{}, which is unexplored", "{}, not {other}"),
    *("{} is the only way that is not blocked", "{} ✔", "✅ {}", "{} is out of sight"),
    *("{} is out on the terrace", "{}: out the door", "{} - the wrong rooms are elsewhere"),
    *("{} is unlikely to be wrong", "{} is impossible to miss", "{}, no longer blocked"),
    *("{} (isn't visited yet)", "{} - wasn't explored before", "{} - can't go wrong"),
    *("{} (wrong ones: 1, 2)", "{} (dead end is 2)", "{}: trap door ahead"),
    *("{} (won't be a dead end)", "{}: couldn't be better", "{} (doesn't lead back)"),
]  # fmt: skip
SENTENCES = {
    "Ignore the rest and choose {}": True,
    "Eliminate all but {}": True,
    "Everything but {} is blocked": True,
    "Skip ahead to {}": True,
    "I choose {} to discard the mug": True,
    "I take the non-blocked exit {}": True,
    "I choose {}.\nWhat do you think?": True,
    "🤔 Let me think. My choice would be {}": True,
    "这是特别好的选择：{}": True,
    "我选：{}，因为门不通": True,
    "Ignore {}": False,
    "I rule out {} for now": False,
    "Anything but {}": False,
    "Would it be {}?": False,
    "I see this: 🤔 {}": False,
    "我不去 {}": False,
}


def action(text: str) -> str:
    answer = f"Thought: on.\nAction: {text}"
    outcome = REACT.decision(answer, Legal(ActionSpace(LISTED))).outcome
    return str(outcome.action) if isinstance(outcome, Decision) else ""


def choice(text: str) -> str | None:
    read = read_choice(f"Action: {text}", NUMBERS)
    return getattr(read, "choice", None)


def pick(text: str) -> str | None:
    read = read_pick(text, NUMBERS)
    return read if isinstance(read, str) else None


@pytest.mark.parametrize("form", DISMISSED)
def test_what_is_dismissed_is_not_chosen(form: str) -> None:
    assert action(form.format("goto[pot_1]", other="goto[pan_1]")) != "goto[pot_1]"
    assert choice(form.format("3", other="2")) is None
    assert pick(form.format("3", other="2")) is None


@pytest.mark.parametrize("form", MEANT)
def test_remarks_about_others_or_good_ones_do_not_count(form: str) -> None:
    assert action(form.format("goto[pot_1]", other="goto[pan_1]")) == "goto[pot_1]"
    assert choice(form.format("3", other="2")) == "3"
    assert pick(form.format("3", other="2")) == "3"


@pytest.mark.parametrize(("form", "is_meant"), SENTENCES.items())
def test_a_sentence_about_others_does_not_dismiss(form: str, is_meant: bool) -> None:
    assert pick(form.format("3")) == ("3" if is_meant else None)


def test_names_may_have_signs_of_doubt() -> None:
    assert read_pick("who?", ["Where is he?", "Who?"]) == "Who?"


@pytest.mark.parametrize("text", ["3?", "3？", "3 or not?"])
def test_a_choice_with_a_question_mark_is_none(text: str) -> None:
    assert (choice(text), pick(text)) == (None, None)


def test_a_letter_is_no_part_of_a_word() -> None:
    letters = ["A", "B", "C", "D"]
    for text, letter in {
        "None of the above": None,
        "Don't know": None,
        "I think it is C": "C",
        "D, as it is not B": "D",
    }.items():
        read = read_pick(text, letters)
        assert (read if isinstance(read, str) else None) == letter


@pytest.mark.parametrize(
    ("text", "number"), [("3️⃣", "3"), ("1️⃣0️⃣", "10"), ("🔟", "10"), ("1️⃣ 2️⃣", None)]
)
def test_keys_are_digits_of_one_number(text: str, number: str | None) -> None:
    assert pick(text) == number


def test_a_field_that_is_null_hides_no_action() -> None:
    answer = '{"thought": "on", "next_action": "goto[pot_1]", "action": null}'
    outcome = REACT.decision(answer, Legal(ActionSpace(LISTED))).outcome
    assert isinstance(outcome, Decision)
    assert str(outcome.action) == "goto[pot_1]"
