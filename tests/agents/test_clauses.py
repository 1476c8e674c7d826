"""Instructions cut into clauses by plain rules, and the counts of a street walk."""

from __future__ import annotations

import pytest

from wayword.agents.parts.clauses import (
    MOST,
    NUMBERS,
    clauses,
    goes_through,
    if_done,
    turn_of,
)
from wayword.agents.parts.counting import Met, Since, count_of, goal_part
from wayword.core.action import STOP, Action

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


def test_one_goes_on_with_a_clause_or_with_the_next() -> None:
    assert if_done(2, 3) == {Action("follow", ("2",)): "no", Action("follow", ("3",)): "yes"}
    assert if_done(3, 3, STOP) == {Action("follow", ("3",)): "no", STOP: "yes"}
    assert list(if_done(3, 3).values()) == ["no"]


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


@pytest.mark.parametrize(
    ("clause", "count"),
    [
        ("At the third traffic light turn left", (3, "lights")),
        ("At the 2nd intersection go right", (2, "intersections")),
        ("Go through two lights, and at the next one make a right", (3, "lights")),
        ("Go straight through the next two intersections", (2, "intersections")),
        ("Go to the end of the block", (1, "intersections")),
        ("Take four steps and stop", (4, "steps")),
        ("Go to the second set of lights", (2, "lights")),
        ("Turn left at the light", (1, "lights")),
        ("Stop beside the bank", None),
    ],
)
def test_counts_are_read(clause: str, count: tuple[int, str] | None) -> None:
    assert count_of(clause) == count


def test_a_warning_is_no_goal() -> None:
    assert (
        goal_part("Stop by the bank, If you see a zoo, you have gone too far") == "Stop by the bank"
    )
    assert goal_part("Pass a zoo, Stop by the bank") == " Stop by the bank"
    assert goal_part("Stop by the bank, which is on your left").endswith("on your left")


def met(name: str, where: str, clause: str) -> list[str]:
    return list(Met(Since(), [(name, where)], junction=False, turned=False).signs(clause))


def test_a_landmark_of_the_clause_is_told_with_its_side_where_that_is_another() -> None:
    assert met("a bank", "on your left", "Stop at the bank") == ["beside it", "stop"]
    assert met("a bank", "on your left", "Stop at the bank on the left") == ["beside it", "stop"]
    other = met("a bank", "on your left", "Stop at the bank on your right")
    assert other == ["beside it, other side", "stop"]
    assert met("7-11", "on your left", "Stop at the bank") == ["stop"]


def test_doorways_are_gone_through_and_things_are_gone_to() -> None:
    assert goes_through("turn left, go through the kitchen doorway")
    assert not goes_through("go through the kitchen, stop by the sofa")


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
