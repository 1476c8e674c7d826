"""Records as a scene: affordances, controls, boxes of what stands askew, and cells of a floor."""

from __future__ import annotations

import math

import pytest

from helpers.thor_records import FLOOR, FURNITURE, HOBS, KNOBS, made, small
from wayword.core.action import Action
from wayword.core.episode import Episode
from wayword.datasets.sources import thor as furnish
from wayword.datasets.sources.ithor import connected_parts, join_parts
from wayword.worlds.household.builder import SceneBuilder
from wayword.worlds.household.scene import HouseObject, Scene
from wayword.worlds.household.world import HouseholdWorld


def scene() -> Scene:
    builder = SceneBuilder("FloorPlan0")
    builder.room("kitchen", [(0, 0), (4, 0), (4, 4), (0, 4)])
    pan = small("Pan", 2.8, 0.3, 0.93, "receptacle", "dirtyable", "isDirty")
    egg = small("Egg", 3.6, 0.4, 1.2, "sliceable")
    furnish.add_objects(builder, (FLOOR, egg, *FURNITURE, pan))
    return builder.build()


def objects_by_id() -> dict[str, HouseObject]:
    return {o.id: o for o in scene().objects}


def test_fixed_objects_come_first_and_the_floor_is_no_object() -> None:
    ids = [o.id for o in scene().objects]
    assert ids == [*(r.id for r in FURNITURE), "Egg|1", "Pan|1"]


def test_types_and_flags_say_what_objects_do() -> None:
    found = objects_by_id()
    assert found["Fridge|1"].affordances == {"openable", "cooler"}
    assert (found["Fridge|1"].receptacle, found["Fridge|1"].opaque) == ("in", True)
    assert found["SinkBasin|1"].affordances == {"cleaner", "filler"}
    assert found["CounterTop|1"].type == "counter_top"
    assert found["CounterTop|1"].receptacle == "on"
    assert found["Pan|1"].dirty
    assert found["Pan|1"].parent == "StoveBurner|1"
    assert found["Egg|1"].parent == "Fridge|1"
    assert "pillow" not in found["Pan|1"].accepts
    assert found["Shelf|1"].height == pytest.approx(0.02), (
        "its box is the air above the board"
    )


def test_knobs_work_the_nearest_hob_each_and_taps_the_basin() -> None:
    found = objects_by_id()
    assert [found[knob.id].controls for knob in KNOBS] == [(hob.id,) for hob in HOBS]
    assert found["Faucet|1"].controls == ("SinkBasin|1",)


def test_published_controls_come_before_the_nearest() -> None:
    builder = SceneBuilder("FloorPlan0")
    builder.room("kitchen", [(0, 0), (4, 0), (4, 4), (0, 4)])
    furnish.add_objects(builder, FURNITURE, {KNOBS[0].id: (HOBS[1].id,)})
    found = {o.id: o for o in builder.build().objects}
    assert found[KNOBS[0].id].controls == (HOBS[1].id,)


def test_the_scene_can_be_acted_in() -> None:
    world = HouseholdWorld(scene(), named=True)
    start = {"poses": {"agent": {"x": 3.0, "y": 1.25, "heading": 180.0}}}
    world.reset(Episode("1", "Cook.", "FloorPlan0", start))
    assert world.step("agent", Action("goto", ("pan_1",))).ok
    assert world.step("agent", Action("pick_up", ("pan_1",))).ok
    assert world.step("agent", Action("clean", ("pan_1", "sink_basin_1"))).ok
    assert not world.state()["objects"]["Pan|1"]["dirty"]


@pytest.mark.parametrize("turn", [0.0, 20.0, 45.0, 70.0, 100.0, 200.0])
def test_what_stands_askew_gets_back_its_own_sides(turn: float) -> None:
    wide = 1.0
    deep = 1.0 if turn == 45.0 else 0.5
    t = math.radians(turn)
    cos = abs(math.cos(t))
    sin = abs(math.sin(t))
    box = (wide * cos + deep * sin, wide * sin + deep * cos, 0.8)
    found = furnish.upright_size(
        made("DiningTable", (0, 0, 0.4), box, "receptacle", heading=turn)
    )
    swapped = cos < sin
    if turn in (0.0, 100.0):  # near a quarter turn the box is kept as it is
        assert found == box[:2]
    else:
        assert found == pytest.approx((deep, wide) if swapped else (wide, deep))


def test_gaps_of_a_cell_in_a_floor_are_closed_and_wider_ones_are_not() -> None:
    near = [(0, 0), (0, 1), (0, 2), (2, 1)]
    assert set(join_parts(near)) == {*near, (1, 1)}
    far = [(0, 0), (0, 1), (4, 0)]
    assert set(join_parts(far)) == set(far)
    assert [len(part) for part in connected_parts(far)] == [2, 1]
    diagonal = [(0, 0), (1, 1)]
    assert len(connected_parts(join_parts(diagonal))) == 1
