"""A walk in the mirror: sides exchanged, in words and in answers."""

from __future__ import annotations

from recipes.language.batches import mirrored

from helpers.small_street import PARK_AND_SHOP, Eyes, SmallStreet
from helpers.training_walks import played
from wayword.training.examples import Example, TextChoice

WALK = """Now: Turn left at the sofa
Here: hall; at sofa: one step, at all. Done? no
door to the kitchen: left far, turn?
lamp left of a chair: right?
Went left far."""


def example() -> Example:
    done = WALK.index(" no\n")
    ways = [WALK.index(end) + len(end) for end in ("turn?", "right?")]
    choices = (
        TextChoice(done, " no", " no"),
        TextChoice(ways[0], "", " yes"),
        TextChoice(ways[1], "", " no"),
    )
    return Example("one", "houses:train", WALK, choices)


def test_sides_are_exchanged() -> None:
    assert mirrored(example()).text.splitlines() == [
        "Now: Turn right at the sofa",
        "Here: hall; at sofa: one step, at all. Done? no",
        "door to the kitchen: right far, turn?",
        "lamp right of a chair: left?",
        "Went right far.",
    ]


def test_answers_stay_behind_their_questions() -> None:
    seen = mirrored(example())
    assert [choice.label for choice in seen.choices] == [" no", " yes", " no"]
    before = [seen.text[: choice.at].splitlines()[-1] for choice in seen.choices]
    assert before[0].endswith("Done?")
    assert before[1:] == [
        "door to the kitchen: right far, turn?",
        "lamp right of a chair: left?",
    ]


def test_the_mirror_of_the_mirror_is_the_walk() -> None:
    assert mirrored(mirrored(example())) == example()


def test_streets_turn_the_other_way_and_keep_their_menu() -> None:
    street = SmallStreet(Eyes(PARK_AND_SHOP), landmarks=["a park", "Corner Shop"])
    walk = played("velma", {"shots": 0}, street, street.tasks[0])
    seen = mirrored(walk)
    sides = {" left": " right", " right": " left"}
    assert [c.label for c in seen.choices] == [
        sides.get(c.label, c.label) for c in walk.choices
    ]
    menu = [line for line in walk.text.splitlines() if line.startswith("Action Space:")]
    assert menu
    assert menu[0] in seen.text.splitlines()
