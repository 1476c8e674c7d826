"""Points of the compass by their abbreviations, and numbers with units."""

from __future__ import annotations

import pytest

from wayword.agents.answers import read_pick
from wayword.agents.legal import Legal, Refusal
from wayword.agents.strategies.examples import parse_heading
from wayword.core.action import Rejection
from wayword.worlds.objectnav.world import MENU

POINTS = ["north", "north-east", "east", "south-east", "south", "south-west", "west"]
POINTS.append("north-west")
DIRECTIONS = {
    "NE": "north-east",
    "turn NW": "north-west",
    "N.E.": "north-east",
    "southwest": "south-west",
    "go S": "south",
    "NE (45°)": "north-east",
    "NE, not NW": "north-east",
    "south-easterly": "south-east",
    "NE or NW": "several_actions",
    "NNE": "unknown",
    "45°": "unknown",
}


def picked(answer: str, names: list[str]) -> str:
    result = read_pick(answer, names)
    return result.kind if isinstance(result, Rejection) else result


@pytest.mark.parametrize("answer", DIRECTIONS)
def test_an_abbreviation_is_its_direction(answer: str) -> None:
    assert picked(answer, POINTS) == DIRECTIONS[answer]


NUMBERS = {
    "3": "3",
    "option 3 (2 m away)": "3",
    "三": "3",
    "③": "3",
    "3 m": "unknown",
    "3°": "unknown",
    "30 degrees": "unknown",
    "3 (90% sure)": "3",
}


@pytest.mark.parametrize("answer", NUMBERS)
def test_a_measure_is_no_number_of_an_option(answer: str) -> None:
    assert picked(answer, [str(number) for number in range(1, 9)]) == NUMBERS[answer]


def test_names_with_measures_keep_them() -> None:
    assert picked("left 60°", ["left 30°", "left 60°"]) == "left 60°"


@pytest.mark.parametrize(
    ("words", "heading"),
    [("facing NE", 45.0), ("SW, at the wall", 225.0), ("it's a wall", None)],
)
def test_a_stated_heading_may_be_abbreviated(words: str, heading: float | None) -> None:
    assert parse_heading(words) == heading


MOTIONS = {
    "goto 1.5, 2": "goto[1.5, 2]",
    "goto: (1.5, 2)": "goto[1.5, 2]",
    "goto 1.5 m, 2 m": "goto[1.5, 2]",
    "goto x=1.5 y=2": "goto[1.5, 2]",
    "rotate by 30º": "rotate[30]",
    "rotate[30] or [-30]": "",
    "goto[5', 3']": "",
    "goto 5 ft, 3 ft": "",
    "goto[1.5 m east, 2 m north]": "",
}


@pytest.mark.parametrize("words", MOTIONS)
def test_a_motion_is_read_without_brackets_and_in_its_own_unit(words: str) -> None:
    action = Legal(MENU).read(words)
    assert ("" if isinstance(action, Refusal) else str(action)) == MOTIONS[words]
