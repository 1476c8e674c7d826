"""Numbers of a choice in the forms that models write."""

from __future__ import annotations

import pytest

from wayword.agents.answers import read_choice, read_pick
from wayword.core.action import Rejection

NUMBERS = ["0", "1", "2", "3", "7"]
PREDICTIONS = {
    "3": ("3", "3.0", "03", "three", "3rd", "the third one", "No. 3", "第3个", "方向3", "３", "٣",
          "option 3 (not 2)", "3 (the kitchen)", "Direction 3", "view 3", "Exit 3", "(3) the hall",
          "3rd exit", "the third exit", "take the 3rd exit", "Take exit 3", "3rd option"),
    "1": ("1st", "one"),
    "unknown": ("-1", "-3", "−3", "3.5", "37", "3 o'clock", "None of the above",
                "3 exits", "3rd floor", "one exit", "3rd exit on the left",
                "3,500", "3'500", "3,5", "3,500 m", "3,500,000"),
    "several_actions": ("3, 7", "3/7", "3-7", "3,7"),
}  # fmt: skip
OBJECTS = {
    '{"prediction": 3.0}': "3",
    '{"prediction": [3]}': "3",
    '{"prediction": {"direction": 3}}': "3",
    '{"prediction": -1}': "unknown",
    '{"prediction": [3, 7]}': "several_actions",
}
PICKS = {
    "Frontier 3": "3",
    "-1": "unknown",
    "1. Frontier 3": "several_actions",
    "Answer: it asks for the nearest\nANSWER: 3": "3",
    # A fraction is no option, also where a whole number of it is listed
    "3.5": "unknown",
    "7.3": "unknown",
    "3 (score 0.7)": "3",
    "3, confidence 0.95": "3",
    # Without blanks
    "选择3": "3",
    "答案是3": "3",
    "番号は3です": "3",
    "선택은3입니다": "3",
    "出口3，因为更近": "3",
    "不是3": "no_action",
    "3不行": "no_action",
    "3或7": "several_actions",
    "1太远，选3": "3",
    "1ではなく3": "3",
    "3番ではなく1番": "several_actions",
    "3号出口": "3",
    "距离3米，选1": "1",
    # "No" is a number's sign with a full stop alone: in Spanish and Italian it negates
    "No. 3": "3",
    "no 3": "no_action",
    "Respuesta: no 3": "no_action",
    "Risposta: 3": "3",
    # What is counted or measured is no option
    "有3个出口": "unknown",
    "去3楼": "unknown",
    "在3点钟方向": "unknown",
    "3번째 방": "unknown",
    "选择3.5": "unknown",
    "还有3.5米": "unknown",
}
LETTERS = {
    "ANSWER: $B$": "B",
    "ANSWER: **B**": "B",
    "ANSWER: \\boxed{B}": "B",
    "ANSWER: $\\text{B}$": "B",
    "Answer: $\\mathrm{(B)}$": "B",
    "***ANSWER***: ***B***": "B",
    "The answer is B because a car moves.": "B",
    "We have \\boxed{\\langle A\\rangle}.\n\n**Answer: D**": "D",
    "a": "A",
    "the A": "A",
    # No article where it is an option
    "A/B": "several_actions",
    "ANSWER: A, B": "several_actions",
    "A B": "several_actions",
    "A-B": "several_actions",
    "a & b": "several_actions",
    "AB": "unknown",
}


def read(answer: str) -> str:
    chosen = read_choice(answer, NUMBERS)
    if isinstance(chosen, Rejection):
        return chosen.kind
    return chosen.choice or "stop"


def test_a_prediction_is_the_number_in_every_form() -> None:
    cases = {f"Prediction: {w}": n for n, words in PREDICTIONS.items() for w in words}
    results = {answer: read(answer) for answer in cases | OBJECTS}
    assert results == cases | OBJECTS


def test_a_distance_is_no_option_where_options_have_decimals() -> None:
    assert read_pick("0.5 at 1.5 m", ["0.5", "1", "3"]) == "0.5"
    rejected = read_pick("kitchen at 1.5 m", ["room 3.5", "room 1", "1"])
    assert isinstance(rejected, Rejection)
    assert read_pick("room 3.5", ["room 3.5", "room 1", "1"]) == "room 3.5"


@pytest.mark.parametrize("number", ["0", "-1", "4", "99"])
def test_a_number_beyond_the_list_is_no_option(number: str) -> None:
    for chosen in (read_choice(f"Prediction: {number}", ["1", "2", "3"]),
                   read_pick(number, ["1", "2", "3"])):  # fmt: skip
        assert isinstance(chosen, Rejection)


def test_a_letter_is_the_option_in_every_form() -> None:
    for answer, expected in LETTERS.items():
        picked = read_pick(answer, ["A", "B", "C", "D"])
        assert getattr(picked, "kind", picked) == expected, answer


def test_an_article_before_other_names_is_none_of_them() -> None:
    assert read_pick("a chair", ["chair", "table"]) == "chair"
    assert read_pick("A chair", ["a chair", "table"]) == "a chair"


def test_a_pick_is_the_number_in_every_form() -> None:
    for answer, expected in PICKS.items():
        picked = read_pick(answer, NUMBERS)
        assert getattr(picked, "kind", picked) == expected, answer
