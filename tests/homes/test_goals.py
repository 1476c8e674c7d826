"""Goal conditions, by hand, on small made-up final states."""

from __future__ import annotations

from typing import Any

from wayword.datasets.homes.goals import Has, Held, Inside, Lit, Restored, RoomsReference, Stacked


def thing(inside: str = "", held: str = "", **more: Any) -> dict[str, Any]:
    plain = {"x": 0.0, "y": 0.0, "room": "hall", "open": False, "on": False, "dirty": False}
    return {**plain, "sliced": False, "temperature": "room", "in": inside, "held": held, **more}


def state(actor: tuple[str, float, float] = ("hall", 0.0, 0.0), **objects: Any) -> dict[str, Any]:
    room, x, y = actor
    return {"objects": objects, "actors": {"agent": {"room": room, "x": x, "y": y}}}


def test_inside_counts_on_one_and_the_same_receptacle() -> None:
    two = Inside(("a", "b", "c"), ("shelf", "bed"), parts=2)
    places = {"shelf": thing(), "bed": thing()}
    assert two.met(state(a=thing("shelf"), b=thing("bed"), c=thing(), **places)) == 1
    assert two.met(state(a=thing("shelf"), b=thing("shelf"), c=thing(), **places)) == 2
    assert two.met(state(a=thing(), b=thing(), c=thing(), **places)) == 0
    assert two.met(state(**{k: thing("bed") for k in "abc"}, **places)) == 2, "no more than parts"


def test_inside_asks_for_traits_and_looks_through_bowls() -> None:
    hot = Inside(("a",), ("table",), (("temperature", "hot"),))
    table = {"table": thing(), "bowl": thing("table")}
    assert hot.met(state(a=thing("table"), **table)) == 0
    assert hot.met(state(a=thing("table", temperature="hot"), **table)) == 1
    assert hot.met(state(a=thing("bowl", temperature="hot"), **table)) == 1


def test_has_any_one_thing_with_all_traits() -> None:
    goal = Has(("a", "b"), (("dirty", False), ("sliced", True)))
    assert goal.met(state(a=thing(sliced=True, dirty=True), b=thing())) == 0
    assert goal.met(state(a=thing(), b=thing(sliced=True))) == 1


def test_stacked_needs_the_movable_between() -> None:
    goal = Stacked(("fork",), ("mug",), ("table",))
    there = {"table": thing(), "shelf": thing()}
    assert goal.met(state(fork=thing("mug"), mug=thing("table"), **there)) == 1
    assert goal.met(state(fork=thing("mug"), mug=thing("shelf"), **there)) == 0
    assert goal.met(state(fork=thing("table"), mug=thing("table"), **there)) == 0


def test_held_and_lit() -> None:
    assert Held(("a",)).met(state(a=thing(held="agent"))) == 1
    assert Held(("a",)).met(state(a=thing())) == 0
    lit, off = thing(on=True), thing()
    assert Lit(("lamp",)).met(state(lamp=lit)) == 1
    assert Lit(("lamp",)).met(state(lamp=off)) == 0
    assert Lit(("lamp",)).met(state(("hall", 2.9, 0.0), lamp=lit)) == 1
    assert Lit(("lamp",)).met(state(("hall", 3.1, 0.0), lamp=lit)) == 0
    assert Lit(("lamp",)).met(state(("bath", 2.9, 0.0), lamp=lit)) == 0
    assert Lit(("lamp",)).met(state(("bath", 1.7, 0.0), lamp=lit)) == 1, "through the doorway"


def test_restored_asks_for_receptacle_and_openness() -> None:
    goal = Restored("box", "shelf", open=True)
    assert goal.met(state(box=thing("shelf", open=True))) == 1
    assert goal.met(state(box=thing("shelf"))) == 0
    assert goal.met(state(box=thing("bed", open=True))) == 0


def test_a_reference_counts_parts_over_all_its_goals() -> None:
    goals = (Inside(("a", "b"), ("shelf",), parts=2), Held(("c",)))
    reference = RoomsReference("1", "two", goals)
    final = state(a=thing("shelf"), b=thing(), c=thing(held="agent"), shelf=thing())
    assert (reference.met(final), reference.parts()) == (2, 3)
