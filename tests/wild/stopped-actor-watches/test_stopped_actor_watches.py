"""The last observation of an actor that stopped while another one picks up what it sees."""

from __future__ import annotations

from wayword.core.action import STOP, Action
from wayword.core.episode import Episode
from wayword.worlds.household.builder import SceneBuilder
from wayword.worlds.household.world import HouseholdWorld


def two_in_a_kitchen() -> HouseholdWorld:
    scene = SceneBuilder("flat")
    scene.room("kitchen", [(0, 0), (4, 0), (4, 3), (0, 3)])
    table = scene.furniture("table", 2.0, 2.6, 1.0, 0.6, 0.8, receptacle="on")
    scene.item("apple", parent=table)
    world = HouseholdWorld(scene.build())
    poses = {
        "ann": {"x": 0.8, "y": 0.8, "heading": 45.0},
        "bob": {"x": 2.5, "y": 1.5, "heading": 0.0},
    }
    world.reset(Episode("1", "x", "flat", {"poses": poses}, actors=("ann", "bob")))
    return world


def test_an_actor_that_stopped_no_longer_sees_what_another_one_took() -> None:
    world = two_in_a_kitchen()
    seen = [each.name for each in world.observe("ann").objects]
    assert [other.name for other in world.observe("ann").others] == ["bob"]
    apple = next(name for name in seen if name.startswith("apple"))
    bobs = next(
        each.name
        for each in world.observe("bob").objects
        if each.name.startswith("apple")
    )

    assert world.step("ann", STOP).ok
    assert world.step("bob", Action("go_grab", (bobs,))).ok

    after = world.observe("ann")
    assert apple not in [each.name for each in after.objects]
    assert [held.name for held in world.observe("bob").holding] == [bobs]
