"""A walk in the mirror: sides exchanged, neighbors in their new order, answers still right."""

from __future__ import annotations

from helpers.small_street import PARK_AND_SHOP, Eyes, SmallStreet
from helpers.training_walks import played
from wayword.training.examples import Choosing, Example
from wayword.training.mirror import mirrored

WALK = """Instruction: Turn left at the sofa.
Here: hall
 A behind: sofa
 B left far: door to the kitchen (back)
 C* ahead up: oven
 D right: lamp left of a chair
Choice: B
Here: kitchen
 A left: oven
Choice: stop"""


def example() -> Example:
    first = WALK.index("Choice: B") + len("Choice:")
    last = WALK.rindex("Choice: stop") + len("Choice:")
    choices = (Choosing(first, " B", " A"), Choosing(last, " stop", " stop"))
    return Example("one", "houses:train", WALK, choices)


def test_neighbors_are_listed_from_the_other_side() -> None:
    seen = mirrored(example())
    assert seen.text.splitlines()[:7] == [
        "Instruction: Turn right at the sofa.",
        "Here: hall",
        " A left: lamp right of a chair",
        " B* ahead up: oven",
        " C right far: door to the kitchen (back)",
        " D behind: sofa",
        "Choice: C",
    ]


def test_answers_follow_their_neighbors() -> None:
    first, last = mirrored(example()).choices
    assert (first.taken, first.label) == (" C", " D")
    assert (last.taken, last.label) == (" stop", " stop")
    text = mirrored(example()).text
    assert text[first.at : first.at + 2] == " C"
    assert text[last.at :] == " stop"


def test_the_mirror_of_the_mirror_is_the_walk() -> None:
    assert mirrored(mirrored(example())) == example()


def test_streets_turn_the_other_way_and_keep_their_menu() -> None:
    street = SmallStreet(Eyes(PARK_AND_SHOP), landmarks=["a park", "Corner Shop"])
    walk = played("velma", {"shots": 0}, street, street.tasks[0])
    seen = mirrored(walk)
    sides = {" left": " right", " right": " left"}
    assert [c.label for c in seen.choices] == [sides.get(c.label, c.label) for c in walk.choices]
    menu = [line for line in walk.text.splitlines() if line.startswith("Action Space:")]
    assert menu
    assert menu[0] in seen.text.splitlines()
