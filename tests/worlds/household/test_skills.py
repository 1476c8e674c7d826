"""Skills in a small made-up flat: shut doors, full appliances, knobs, things in the way."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import pytest

from helpers.rehearsing import play
from helpers.two_in_a_flat import TwoInAFlat
from wayword.core.action import Action, Decision
from wayword.core.dataset import Task
from wayword.core.episode import Episode, Reference
from wayword.core.errors import UsageError
from wayword.core.game import ActionPlan, Game, PlanningFailed
from wayword.worlds.household.builder import SceneBuilder
from wayword.worlds.household.goals import (
    GoalCondition,
    Has,
    HouseholdReference,
    Inside,
    Restored,
    State,
)
from wayword.worlds.household.skills import Skills
from wayword.worlds.household.verbs import Body
from wayword.worlds.household.world import HouseholdWorld


def flat() -> SceneBuilder:
    """A kitchen and a bedroom with a shut door between them."""
    house = SceneBuilder("flat")
    house.room("kitchen", [(0, 0), (4, 0), (4, 4), (0, 4)])
    house.room("bedroom", [(4, 0), (8, 0), (8, 4), (4, 4)])
    house.door("door", (4, 1.5), (4, 2.5), closed=True)
    house.furniture("counter", 1.0, 3.6, 1.6, 0.6, 0.9, name="counter", receptacle="on")
    house.furniture("bed", 7.0, 3.0, 1.6, 1.6, 0.5, name="bed", receptacle="on")
    house.furniture("stove", 3.0, 3.6, 0.6, 0.6, 0.9, name="stove")
    house.furniture(
        *("burner", 3.0, 3.6, 0.2, 0.2, 0.02, "heater"),
        name="burner",
        accepts=("pan",),
        bottom=0.9,
        receptacle="on",
        capacity=1,
        solid=False,
    )
    house.furniture(
        *("knob", 3.2, 3.4, 0.05, 0.05, 0.05, "toggleable"),
        name="knob",
        bottom=0.8,
        controls=("burner",),
        solid=False,
    )
    house.furniture(
        *("microwave", 0.5, 3.6, 0.4, 0.4, 0.3, "openable", "toggleable", "heater"),
        name="microwave",
        bottom=0.9,
        parent="counter",
        receptacle="in",
        capacity=1,
        accepts=("apple", "mug"),
    )
    house.furniture(
        *("safe", 0.4, 0.4, 0.5, 0.5, 0.5, "openable"), name="safe", receptacle="in"
    )
    house.item("apple", "sliceable", parent="bed", name="apple")
    house.item("mug", parent="microwave", name="mug")
    house.item("pan", parent="counter", name="pan")
    house.item("knife", "slicer", parent="safe", name="knife")
    return house


def started(house: SceneBuilder | None = None, **body: int) -> HouseholdWorld:
    world = HouseholdWorld((house or flat()).build(), Body(**body))  # type: ignore[arg-type]
    start = {"poses": {"agent": {"x": 2.0, "y": 1.0, "heading": 0.0}}}
    world.reset(Episode("1", "Do it.", "flat", start))
    return world


def done(
    world: HouseholdWorld, skill: Callable[[Skills], ActionPlan], tidy: bool = False
) -> list[str]:
    verbs: list[str] = []
    turns = Game(world).follow("agent", skill(Skills(world, "agent", tidy)))
    for decision, feedback in turns:
        assert feedback.ok, f"{decision}: {feedback}"
        assert isinstance(decision, Decision)
        verbs.append(decision.action.name)
    return verbs


def solved(world: HouseholdWorld, *goals: GoalCondition) -> list[Action]:
    reference = HouseholdReference("1", "test", goals)
    actions = play(world, "agent", reference)
    assert reference.met(world.state()) == reference.parts()
    return actions


def test_a_closed_door_on_the_way_is_opened_first() -> None:
    world = started()
    verbs = done(world, lambda skills: skills.take(obj="apple"))
    assert verbs.count("open") == 1
    assert verbs[-1] == "pick_up"
    assert world.state()["objects"]["apple"]["held"] == "agent"


def test_a_full_appliance_is_emptied_before_it_is_used() -> None:
    world = started()
    solved(world, Inside(("apple",), ("bed",), (("temperature", "hot"),)))
    state = world.state()["objects"]
    assert state["mug"]["in"] == "counter"
    assert state["apple"]["temperature"] == "hot"


def test_what_does_not_fit_the_microwave_is_heated_on_the_stove() -> None:
    world = started()
    actions = solved(world, Has(("pan",), (("temperature", "hot"),)))
    assert [a.name for a in actions if a.name.startswith("toggle")] == [
        "toggle_on",
        "toggle_off",
    ]
    assert world.state()["objects"]["knob"]["on"] is False


def test_slicing_fetches_a_knife_and_lays_it_alongside() -> None:
    world = started()
    solved(world, Inside(("apple",), ("counter",), (("sliced", True),)))
    state = world.state()["objects"]
    assert (state["knife"]["in"], state["apple"]["in"]) == ("bed", "counter")


def test_who_is_tidy_shuts_what_it_opened_and_others_leave_it() -> None:
    ways: list[Callable[[Skills], ActionPlan]] = [
        lambda skills: skills.take("knife"),
        lambda skills: skills.put("apple", "safe"),
        lambda skills: skills.put_near("apple", "safe", (0.4, 0.4), 0.5),
    ]
    for skill, tidy in product(ways, (False, True)):
        world = started()
        done(world, skill, tidy)
        assert world.state()["objects"]["safe"]["open"] is not tidy


def test_hands_are_freed_for_the_next_object() -> None:
    world = started()
    done(world, lambda skills: skills.take("pan"))
    done(world, lambda skills: skills.take("mug"))
    state = world.state()["objects"]
    assert state["mug"]["held"] == "agent"
    assert state["pan"]["in"] == "counter"


def test_two_hands_carry_two_objects() -> None:
    world = started(inventory_capacity=2)
    done(world, lambda skills: skills.take("pan"))
    done(world, lambda skills: skills.take("mug"))
    assert world.state()["actors"]["agent"]["holding"] == ["pan", "mug"]


def test_restoring_puts_in_what_must_end_open_and_shuts_the_rest() -> None:
    world = started()
    solved(
        world,
        Restored("apple", "microwave", False),
        Restored("mug", "safe", False),
        Restored("knife", "bed", False),
        Restored("microwave", "counter", True),
        Restored("safe", "", False),
    )


class Melted:
    """A condition that nobody taught the expert."""

    parts = 1
    words = "melted"

    def met(self, state: State) -> int:
        return 0


def test_what_cannot_be_done_says_why() -> None:
    with pytest.raises(PlanningFailed, match="has no plan for a goal Melted"):
        solved(started(), Melted())
    with pytest.raises(PlanningFailed, match="no filler accepts mug"):
        solved(started(), Has(("mug",), (("filled", True),)))
    house = flat()
    house.room("cell", [(10, 0), (12, 0), (12, 2), (10, 2)])
    house.item("pearl", name="pearl", x=11, y=1)
    with pytest.raises(PlanningFailed, match="no path to any of pearl"):
        solved(started(house), Inside(("pearl",), ("bed",)))


def test_the_expert_says_what_it_needs() -> None:
    flat_tasks = TwoInAFlat()
    world = started()
    episode = Episode("1", "Do it.", "flat", {})
    with pytest.raises(UsageError, match="has no household goals"):
        flat_tasks.plan(Task(episode, Reference("1")), world, "agent", "expert")
    high = HouseholdWorld(flat().build(), Body(actions=("goto", "stop")))
    start = {"poses": {"agent": {"x": 2.0, "y": 1.0}}}
    high.reset(Episode("1", "Do it.", "flat", start))
    task = Task(episode, HouseholdReference("1", "test", ()))
    with pytest.raises(UsageError, match=r"set dataset\.actions=all"):
        flat_tasks.plan(task, high, "agent", "expert")
