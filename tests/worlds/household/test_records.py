"""What the final state keeps: what was ever done to things, and what each actor sees at the end."""

from __future__ import annotations

import pytest

from helpers.rooms_scenes import act, flat, start
from wayword.worlds.household.house import Fail, records
from wayword.worlds.household.world import HouseholdWorld

DONE = ("heated", "cooled", "cleaned")


def done(world: HouseholdWorld, name: str) -> set[str]:
    """Which of heated, cooled, cleaned the final state says of a thing."""
    record = world.state()["objects"][name]
    return {flag for flag in DONE if record[flag]}


def look_round(world: HouseholdWorld, actor: str = "agent") -> None:
    for _ in range(4):
        act(world, "turn_right", actor)


def test_what_lies_in_a_fridge_is_cooled_only_once_someone_shuts_it_in() -> None:
    world = start(flat(), (1.0, 1.8, 0.0))
    assert done(world, "apple") == set(), "in the fridge from the first"
    assert act(world, "go_check fridge_1").ok
    assert done(world, "apple") == set()
    assert act(world, "close fridge_1").ok
    assert done(world, "apple") == {"cooled"}


def test_a_record_of_the_house_shows_it_as_it_is_when_read() -> None:
    world = start(flat(), (1.0, 1.8, 0.0))
    found = records(world.house)
    fridge = found["objects"]["fridge"]
    apple = found["objects"]["apple"]
    assert (fridge["open"], apple["held"]) == (False, "")
    assert act(world, "go_check fridge_1").ok
    assert fridge["open"]
    assert act(world, "go_grab apple_1").ok
    assert apple["held"] == "agent"
    assert found["actors"]["agent"]["holding"] == ["apple"]
    # The final state is a copy: it stays.
    state = world.state()
    assert act(world, "put apple_1 fridge_1").ok
    assert state["objects"]["apple"]["held"] == "agent"


def test_what_was_heated_stays_on_record_when_it_is_cooled_again() -> None:
    world = start(flat(), (2.0, 1.5, 0.0))
    look_round(world)
    for action in ("go_check fridge_1", "go_grab apple_1", "heat apple_1 microwave_1"):
        assert act(world, action).ok, action
    assert done(world, "apple") == {"heated"}
    assert act(world, "cool apple_1 fridge_1").ok
    assert done(world, "apple") == {"heated", "cooled"}
    assert world.state()["objects"]["apple"]["temperature"] == "cold"


def test_washing_counts_for_clean_objects_too() -> None:
    world = start(flat(), (2.0, 1.5, 0.0))
    look_round(world)
    assert not world.state()["objects"]["knife"]["dirty"]
    for action in ("go_grab knife_1", "clean knife_1 sink_1"):
        assert act(world, action).ok, action
    assert done(world, "knife") == {"cleaned"}


def test_a_skill_that_fails_leaves_no_record() -> None:
    world = start(flat(), (1.0, 1.8, 0.0))
    assert act(world, "go_check fridge_1").ok

    def half() -> dict[str, object]:
        world.house.entities.set_state(world.layout.index["apple"], "heated", True)
        raise Fail("no_path")

    with pytest.raises(Fail):
        world.house.attempt(half)
    assert done(world, "apple") == set()


def test_the_state_says_what_an_actor_sees_and_how_near_until_it_stops() -> None:
    world = start(flat(), (2.0, 1.5, 0.0), (3.0, 1.5, 90.0))
    sees = world.state()["actors"]["agent_1"]["sees"]
    assert {"table", "knife", "mug"} <= set(sees)
    assert "sink" not in sees
    assert sees["table"] == pytest.approx(2.6 - 0.25 - 1.5), (
        "to the nearest point, drawn in"
    )
    assert not [name for name in sees if name.startswith("agent")]
    assert act(world, "stop", "agent_1").ok
    look_round(world, "agent_2")
    assert act(world, "go_grab mug_1", "agent_2").ok
    assert world.state()["actors"]["agent_1"]["sees"] == sees
