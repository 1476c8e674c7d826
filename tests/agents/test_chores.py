"""Requests for housework read by plain rules, in the everyday words that people used."""

from __future__ import annotations

import pytest

from wayword.agents.household import chores
from wayword.agents.household.chores import AskedChore, Lexicon
from wayword.agents.prompting import Prompts


def read(request: str) -> AskedChore:
    """By the shipped lists of words."""
    prompts = Prompts(chores.__file__)
    return Lexicon.read(prompts["things"], prompts["places"], prompts["words"]).chore(request)


@pytest.mark.parametrize(
    ("request_", "thing", "place"),
    [
        ("Put a clock on the bed.", "alarm_clock", "bed"),
        ("Move the book from the desk to the sofa", "book", "sofa"),
        ("Throw away a bar of soap.", "soap_bar", "garbage_can"),
        ("Place the remote on top of the small black table near the couch.", "remote_control",
         "side_table"),
        ("Put the kettle in the cabinet under the sink.", "kettle", "cabinet"),
        ("put toilet paper on the toilet paper holder", "toilet_paper", "toilet_paper_hanger"),
        ("Set a glass bowl on the shelf to the left of the fridge", "bowl", "shelf"),
    ],
)  # fmt: skip
def test_what_goes_where(request_: str, thing: str, place: str) -> None:
    chore = read(request_)
    assert (chore.things[0], chore.places[0]) == (thing, place)
    assert chore == AskedChore(chore.things, chore.places), "nothing else is asked for"


@pytest.mark.parametrize(
    ("request_", "treatment", "place"),
    [
        ("Put a warm potato in the fridge.", "heat", "fridge"),
        ("Cook an egg in the microwave, then put it on the counter", "heat", "counter_top"),
        ("Wash a fork in the sink and put it in a drawer.", "clean", "drawer"),
        ("Place a chilled tomato in the microwave.", "cool", "microwave"),
        ("Put the apple in the fridge, take it out and put it on the table.", "cool",
         "dining_table"),
        ("Heat an apple.", "heat", "counter_top"),
        ("Put an apple in the fridge.", "", "fridge"),
    ],
)  # fmt: skip
def test_what_is_done_to_it(request_: str, treatment: str, place: str) -> None:
    chore = read(request_)
    assert (chore.treatment, chore.places[0]) == (treatment, place)


def test_things_that_are_carried_in_others() -> None:
    for told in (
        "Put a mug with a pen in it on the desk.",
        "Place a pen in a mug and put the mug on the desk",
        "Move a mug and pen to the desk.",
    ):
        chore = read(told)
        assert (chore.things[0], chore.carriers[0], chore.places[0]) == ("pen", "mug", "desk")
        assert not chore.two


def test_two_of_a_kind_sliced_ones_and_lamps() -> None:
    assert read("Put two cups in the sink.").two
    assert read("Put the candles on the counter.").two
    assert not read("Put the keys on the counter.").two, "keys are one thing"
    sliced = read("Cut a loaf of bread with a knife and put a slice in the trash can")
    assert sliced.sliced
    assert sliced.things == ("bread",)
    assert read("Examine a pillow by the light of the tall lamp.") == AskedChore(
        ("pillow",), ("floor_lamp",), lit=True
    )
    assert not read("Put the box on the table by the lamp.").lit


def test_a_cup_for_the_coffee_maker_is_a_mug() -> None:
    assert read("Put a cup in the sink.").things == ("cup", "mug")
    assert read("Put a cup in the coffee maker.").things == ("mug", "cup")


def test_what_the_rules_do_not_find_is_left_empty() -> None:
    assert read("Tidy up.") == AskedChore()
    assert Lexicon.read("", "", "").chore("Put a cup in the sink.") == AskedChore()
