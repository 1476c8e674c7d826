"""Goal conditions, by hand, on small made-up final states."""

from __future__ import annotations

from typing import Any

import pytest

from wayword.worlds.household.goals import (
    Has,
    Held,
    HouseholdReference,
    Inside,
    Lit,
    Near,
    Restored,
    Stacked,
)


def entity(inside: str = "", held: str = "", **more: Any) -> dict[str, Any]:
    plain = {
        "x": 0.0,
        "y": 0.0,
        "room": "hall",
        "open": False,
        "on": False,
        "dirty": False,
    }
    return {
        **plain,
        "sliced": False,
        "temperature": "room",
        "in": inside,
        "held": held,
        **more,
    }


def state(sees: dict[str, float] | None = None, **objects: Any) -> dict[str, Any]:
    return {"objects": objects, "actors": {"agent": {"sees": sees or {}}}}


def test_inside_counts_on_one_and_the_same_receptacle() -> None:
    two = Inside(("a", "b", "c"), ("shelf", "bed"), parts=2)
    places = {"shelf": entity(), "bed": entity()}
    assert two.met(state(a=entity("shelf"), b=entity("bed"), c=entity(), **places)) == 1
    assert (
        two.met(state(a=entity("shelf"), b=entity("shelf"), c=entity(), **places)) == 2
    )
    assert two.met(state(a=entity(), b=entity(), c=entity(), **places)) == 0
    assert two.met(state(**{k: entity("bed") for k in "abc"}, **places)) == 2, (
        "no more than parts"
    )


def test_inside_asks_for_traits_and_looks_through_bowls() -> None:
    hot = Inside(("a",), ("table",), (("temperature", "hot"),))
    table = {"table": entity(), "bowl": entity("table")}
    assert hot.met(state(a=entity("table"), **table)) == 0
    assert hot.met(state(a=entity("table", temperature="hot"), **table)) == 1
    assert hot.met(state(a=entity("bowl", temperature="hot"), **table)) == 1


def test_has_any_one_object_with_all_traits() -> None:
    goal = Has(("a", "b"), (("dirty", False), ("sliced", True)))
    assert goal.met(state(a=entity(sliced=True, dirty=True), b=entity())) == 0
    assert goal.met(state(a=entity(), b=entity(sliced=True))) == 1


def test_stacked_needs_the_movable_between() -> None:
    goal = Stacked(("fork",), ("mug",), ("table",))
    there = {"table": entity(), "shelf": entity()}
    assert goal.met(state(fork=entity("mug"), mug=entity("table"), **there)) == 1
    assert goal.met(state(fork=entity("mug"), mug=entity("shelf"), **there)) == 0
    assert goal.met(state(fork=entity("table"), mug=entity("table"), **there)) == 0


def test_held() -> None:
    assert Held(("a",)).met(state(a=entity(held="agent"))) == 1
    assert Held(("a",)).met(state(a=entity())) == 0


def test_lit_asks_for_a_lamp_that_is_on_and_in_view_and_near() -> None:
    lit = entity(on=True)
    off = entity()
    goal = Lit(("lamp",))
    assert goal.met(state({"lamp": 1.5}, lamp=lit)) == 1
    assert goal.met(state({"lamp": 1.5}, lamp=off)) == 0
    assert goal.met(state({"lamp": 1.6}, lamp=lit)) == 0, "too far to count as seen"
    assert goal.met(state({"desk": 0.5}, lamp=lit)) == 0, "on, but behind one's back"


@pytest.mark.parametrize(
    ("metres", "is_lit", "is_near"),
    [(0.0, 1, 1), (1.499, 1, 1), (1.5, 1, 1), (1.501, 1, 0), (1.502, 0, 0)],
)
def test_distances_to_the_millimetre_decide(
    metres: float, is_lit: int, is_near: int
) -> None:
    """A lamp has the slack of a rounding, as ALFRED's simulator judges the true distance."""
    seen = state({"lamp": metres}, lamp=entity(on=True))
    assert Lit(("lamp",)).met(seen) == is_lit
    assert Near(("lamp",)).met(seen) == is_near


def test_restored_asks_for_receptacle_and_openness() -> None:
    goal = Restored("box", "shelf", open=True)
    assert goal.met(state(box=entity("shelf", open=True))) == 1
    assert goal.met(state(box=entity("shelf"))) == 0
    assert goal.met(state(box=entity("bed", open=True))) == 0


def test_a_reference_counts_parts_over_all_its_goals() -> None:
    goals = (Inside(("a", "b"), ("shelf",), parts=2), Held(("c",)))
    reference = HouseholdReference("1", "two", goals)
    final = state(a=entity("shelf"), b=entity(), c=entity(held="agent"), shelf=entity())
    assert (reference.met(final), reference.parts()) == (2, 3)


def test_stacked_asks_for_the_receptacle_outside_the_movable() -> None:
    goal = Stacked(("fork",), ("mug",), ("table", "tray"))
    between = {"table": entity(), "mug": entity("shelf"), "shelf": entity()}
    inside_first = {"tray": entity("mug"), "fork": entity("tray")}
    assert goal.met(state(**between, **inside_first)) == 0, "the tray is in the mug"
    on_table = {**between, "mug": entity("table")}
    assert goal.met(state(**on_table, **inside_first)) == 1
    on_tray = {**between, "mug": entity("tray"), "tray": entity("shelf")}
    assert goal.met(state(**on_tray, fork=entity("mug"))) == 1
    assert goal.met(state(**on_tray, fork=entity("tray"))) == 0, "not in the mug"


def test_restored_asks_for_a_point_within_a_circle() -> None:
    goal = Restored("box", "shelf", open=False, at=(1.0, 2.0), within=0.5)

    def at(x: float, y: float, **more: Any) -> int:
        return goal.met(state(box=entity("shelf", x=x, y=y, **more), shelf=entity()))

    assert at(1.0, 2.0) == at(1.5, 2.0) == at(1.0, 1.5) == at(1.3, 2.4) == 1
    assert at(1.51, 2.0) == at(1.0, 1.49) == 0
    assert at(1.4, 2.4) == at(0.6, 1.6) == 0, "in the corner of a square"
    assert at(1.0, 2.0, open=True) == 0
    assert goal.met(state(box=entity("", x=1.0, y=2.0), shelf=entity())) == 0
    anywhere = Restored("box", "shelf", open=False)
    assert anywhere.met(state(box=entity("shelf", x=9.0), shelf=entity())) == 1
