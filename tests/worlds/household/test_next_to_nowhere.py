"""``NextTo``: objects that lie nowhere are next to nothing, not even to each other."""

from __future__ import annotations

from itertools import product

from wayword.worlds.household.goals import NextTo


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
