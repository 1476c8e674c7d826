"""Instructions cut into clauses by plain rules."""

from __future__ import annotations

import pytest

from wayword.agents.clauses import (
    MOST_CLAUSES,
    NUMBERS,
    clauses,
    done_answers,
    goes_through,
    turn_of,
)
from wayword.core.action import STOP, Action

CUT = [
    (
        "Turn left and go to the sofa. Stop there.",
        ["Turn left, go to the sofa, Stop there"],
    ),
    (
        "Veer right, pass the vanity and stop in the doorway, then wait by the bed.",
        ["Veer right, pass the vanity, stop in the doorway", "wait by the bed"],
    ),
    (
        "You are in the den now. Exit it. After that, go down the hall and into the kitchen.",
        ["You are in the den now, Exit it", "go down the hall and into the kitchen"],
    ),
    (
        "Walk up the stairs and turn right, walk past the sofa and chairs and enter the bedroom.",
        [
            "Walk up the stairs",
            "turn right, walk past the sofa and chairs, enter the bedroom",
        ],
    ),
    ("Walk past the oven. Stop.", ["Walk past the oven, Stop"]),
    ("the red door", ["the red door"]),
]


@pytest.mark.parametrize(("text", "found"), CUT)
def test_sentences_are_cut_where_a_new_step_begins(text: str, found: list[str]) -> None:
    assert [clause.text for clause in clauses(text)] == found


def test_clauses_know_where_they_begin() -> None:
    text = (
        "Go to the sofa, then turn left and go to the lamp. Finally wait by the door."
    )
    for clause in clauses(text):
        assert text[clause.begin :].startswith(clause.text.split(",")[0])


def test_more_clauses_than_names_are_joined() -> None:
    text = " ".join(f"Go to the door number {n}." for n in range(20))
    found = clauses(text)
    assert len(found) == MOST_CLAUSES == len(NUMBERS)
    assert "number 0" in found[0].text
    assert "number 19" in found[-1].text


def test_one_goes_on_with_a_clause_or_with_the_next() -> None:
    onward = {Action("follow", ("2",)): "no", Action("follow", ("3",)): "yes"}
    assert done_answers(2, 3, STOP) == onward
    assert done_answers(3, 3, STOP) == {Action("follow", ("3",)): "no", STOP: "yes"}


@pytest.mark.parametrize(
    ("clause", "degrees"),
    [
        ("Take a right at the desk", 90),
        ("bear slightly left", -45),
        ("veer left at the sofa", -45),
        ("make a hard right", 135),
        ("take the slight left", -45),
        ("make a U-turn", 180),
        ("head straight on", 0),
        ("turn to your left", -90),
        ("take the first right", 90),
        ("make an immediate right", 90),
        ("turn slightly to the right", 45),
        ("turn 180 degrees", 180),
        ("go right past the sofa", None),
        ("Head straight to the light and take a left", -90),
        ("the door on the left", None),
        ("pass the sofa on your right", None),
    ],
)
def test_turns_are_read(clause: str, degrees: float | None) -> None:
    assert turn_of(clause) == degrees


def test_doorways_are_gone_through_and_objects_are_gone_to() -> None:
    assert goes_through("turn left, go through the kitchen doorway")
    assert not goes_through("go through the kitchen, stop by the sofa")
