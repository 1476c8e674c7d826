"""``NextTo``: objects that lie nowhere are next to nothing, not even to each other."""

from __future__ import annotations

from itertools import product

from wayword.worlds.household.goals import NextTo


def test_two_objects_are_next_to_each_other_only_in_a_place_that_both_share() -> None:
    goal = NextTo(frozenset({"mug"}), frozenset({"plate"}))
    for mug, plate in product(("", "table", "shelf"), repeat=2):
        state = {"objects": {"mug": {"in": mug}, "plate": {"in": plate}}}
        assert goal.met(state) == int(mug == plate != ""), (mug, plate)
