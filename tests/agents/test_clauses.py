"""Instructions cut into clauses by plain rules, and the counts of a street walk."""

from __future__ import annotations

import pytest

from wayword.agents.parts.clauses import MOST, NUMBERS, Since, clauses, marked, options
from wayword.core.action import Action

CUT = [
    ("Turn left and go to the sofa. Stop there.", ["Turn left, go to the sofa, Stop there"]),
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
        ["Walk up the stairs", "turn right, walk past the sofa and chairs, enter the bedroom"],
    ),
    ("Walk past the oven. Stop.", ["Walk past the oven, Stop"]),
    ("the red door", ["the red door"]),
]


@pytest.mark.parametrize(("told", "found"), CUT)
def test_sentences_are_cut_where_a_new_step_begins(told: str, found: list[str]) -> None:
    assert [clause.text for clause in clauses(told, within=True)] == found


def test_a_street_s_sentences_stay_whole_and_take_what_is_passed_before() -> None:
    told = "Pass a gym on the right. Go to the light and make a left. Stop beside a park on your "
    told += "left. If you see a zoo, you have gone too far."
    assert [clause.text for clause in clauses(told, within=False)] == [
        "Pass a gym on the right, Go to the light and make a left",
        "Stop beside a park on your left, If you see a zoo, you have gone too far",
    ]


def test_clauses_know_where_they_begin() -> None:
    told = "Go to the sofa, then turn left and go to the lamp. Finally wait by the door."
    for clause in clauses(told, within=True):
        assert told[clause.begin :].startswith(clause.text.split(",")[0])


def test_more_clauses_than_names_are_joined() -> None:
    told = " ".join(f"Go to the door number {n}." for n in range(20))
    found = clauses(told, within=True)
    assert len(found) == MOST == len(NUMBERS)
    assert "number 0" in found[0].text
    assert "number 19" in found[-1].text


def test_the_clauses_that_are_left_are_options() -> None:
    found = options(2, 3)
    assert list(found.values()) == ["two", "three"]
    assert next(iter(found)) == Action("follow", ("2",))


def test_words_that_the_clause_has_are_marked() -> None:
    told = marked("doorways glass cabinets, doorway", "Go to the glass cabinet", {"the"})
    assert told == "doorways glass* cabinets*, doorway"
    assert marked("the sofa", "the lamp", {"the"}) == "the sofa"


def test_steps_intersections_and_lights_are_counted_since_the_turn() -> None:
    since = Since()
    since.see(junction=False, lit=True)
    since.done("forward")
    since.see(junction=True, lit=False)  # the light was seen a step before
    since.done("forward")
    since.see(junction=True, lit=False)  # and this one has none
    assert since.words() == {
        "turn": "start",
        "steps": "two steps",
        "intersections": "two intersections",
        "lights": "one light",
    }
    since.done("turn_around")
    assert list(since.words().values()) == [
        "turn around",
        "no steps",
        "no intersections",
        "no lights",
    ]
    for _ in range(12):
        since.done("forward")
    assert since.words()["steps"] == "12 steps"
