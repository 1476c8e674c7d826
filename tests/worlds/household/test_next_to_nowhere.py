"""``NextTo``: objects that lie nowhere are next to nothing, not even to each other."""

from __future__ import annotations

from itertools import product

import pytest

from helpers.rehearsing import play
from helpers.rooms_scenes import start
from wayword.worlds.household.builder import SceneBuilder
from wayword.worlds.household.goals import HouseholdReference, NextTo


def test_two_objects_are_next_to_each_other_only_in_a_place_that_both_share() -> None:
    goal = NextTo(frozenset({"mug"}), frozenset({"plate"}))
    for mug, plate in product(("", "table", "shelf"), repeat=2):
        state = {"objects": {"mug": {"in": mug}, "plate": {"in": plate}}}
        assert goal.met(state) == int(mug == plate != ""), (mug, plate)


def test_no_object_is_next_to_itself() -> None:
    goal = NextTo(("mug_1", "mug_2"), ("mug_1", "mug_2"))
    for second, is_met in (("shelf", 0), ("table", 1), ("", 0)):
        state = {"objects": {"mug_1": {"in": "table"}, "mug_2": {"in": second}}}
        assert goal.met(state) == is_met


@pytest.mark.parametrize("high", [False, True])
def test_the_expert_puts_an_object_into_the_same_bowl_not_next_to_the_bowl(
    high: bool,
) -> None:
    house = SceneBuilder("kitchen")
    house.room("kitchen", [(0, 0), (4, 0), (4, 3), (0, 3)])
    table = house.furniture(
        "table", 2.0, 2.6, 1.0, 0.6, 0.8, receptacle="on", capacity=3, name="table"
    )
    bowl = house.item("bowl", parent=table, receptacle="in", name="bowl")
    house.item("apple", parent=bowl, name="apple")
    house.item("spoon", x=3.0, y=0.6, name="spoon")
    world = start(house.build(), (1.0, 1.0, 0.0))
    goal = NextTo(("spoon",), ("apple",))
    play(world, "agent", HouseholdReference("1", "next", (goal,)), high)
    assert goal.met(world.state()) == 1
