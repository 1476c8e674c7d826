"""iTHOR's rooms from the published metadata: all load, and nearly everything is in reach."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from helpers.invariants import violations
from wayword.core.action import Action
from wayword.core.arrays import read_array
from wayword.core.episode import Episode
from wayword.core.errors import DataError, UsageError
from wayword.core.files import find
from wayword.datasets.sources import ithor
from wayword.datasets.sources.thor import find_holder, move_record, preposition
from wayword.worlds.household.house import Fail, House
from wayword.worlds.household.route import Trip
from wayword.worlds.household.verbs import Body
from wayword.worlds.household.world import HouseholdWorld

pytestmark = pytest.mark.real

OUT_OF_REACH = {
    "FloorPlan211": 4,  # a dining table in a part of the room that the cells do not join
    "FloorPlan313": 1,  # a bat behind a bed
    "FloorPlan329": 2,  # a bedside table 1.9 m from the nearest cell
    "FloorPlan402": 2,  # a shelf above a bathtub
}


def out_of_reach(folder: Path, name: str) -> tuple[int, int]:
    """How many things to carry a room has, and how many no cell brings in view and reach."""
    layout = ithor.layout(folder, name)
    cells = ithor.cells(folder, name).main
    house = House(layout, {"agent": Body()}, {"agent": (*cells[0], 0.0)})
    trip = Trip(house, house.actors["agent"])
    objects = [
        i for i, o in enumerate(layout.scene.objects) if "pickupable" in o.affordances
    ]
    missed = 0
    for i in objects:
        try:
            trip.nearest_goal(i)
        except Fail:
            missed += 1
    return len(objects), missed


def test_all_rooms_load_and_nearly_all_objects_are_in_reach(data: Path) -> None:
    names = ithor.names(data)
    assert len(names) == 120
    found = {name: out_of_reach(data, name) for name in names}
    assert sum(count for count, _ in found.values()) == 1895
    assert {
        name: missed for name, (_, missed) in found.items() if missed
    } == OUT_OF_REACH


def test_boxes_agree_with_the_published_relations(data: Path) -> None:
    agree = judged = 0
    for name in ithor.names(data):
        records = ithor.records(data, name)
        receptacles = [record for record in records if preposition(record)]
        there = {record.id for record in receptacles}
        for item in records:
            text = there & set(item.parents)
            if item.pickupable and text:
                under = find_holder(item, receptacles)
                judged += 1
                agree += under is not None and under.id in text
    assert judged == 1725
    assert agree / judged > 0.97


def test_every_knob_and_tap_works_something(data: Path) -> None:
    for name in ithor.names(data)[:30]:
        scene = ithor.scene(data, name)
        by_id = {o.id: o for o in scene.objects}
        for o in scene.objects:
            if o.type == "stove_knob":
                assert [by_id[c].type for c in o.controls] == ["stove_burner"], name
            if o.type == "faucet":
                assert [by_id[c].type for c in o.controls] == ["sink_basin"], name


def test_rooms_are_named_by_their_number(data: Path) -> None:
    rooms = [
        ithor.scene(data, f"FloorPlan{n}").rooms[0].name for n in (1, 201, 301, 401)
    ]
    assert rooms == ["kitchen", "living room", "bedroom", "bathroom"]
    with pytest.raises(UsageError, match="is not an iTHOR scene"):
        ithor.room_of("FloorPlan500")
    with pytest.raises(
        DataError, match=r"scene 'FloorPlan31': is missing; did you mean"
    ):
        ithor.scene(data, "FloorPlan31")


def test_changes_move_small_objects_and_share_the_layout(data: Path) -> None:
    name = "FloorPlan1"
    records = {record.label: record for record in ithor.records(data, name)}
    apple = records["Apple"]
    fridge = records["Fridge"]
    inside = move_record(
        replace(apple, flags=apple.flags | {"isDirty"}), fridge.center, apple.heading
    )
    listed = [
        inside if record is apple else record for record in ithor.records(data, name)
    ]
    scene = ithor.from_records(data, name, tuple(listed))
    shared = ithor.layout(data, name)
    own = ithor.layout(data, name, scene)
    assert own.panels is shared.panels
    world = HouseholdWorld(scene, named=True, layout=own)
    x, y = ithor.cells(data, name).main[0]
    start = {"poses": {"agent": {"x": x, "y": y, "heading": 0.0}}}
    world.reset(Episode("1", "Fetch the apple.", name, start))
    state = world.state()["objects"][apple.id]
    assert (state["in"], state["dirty"]) == (fridge.id, True)
    found = world.object_id("agent", "fridge_1")
    assert found == fridge.id
    for action in world.route("agent", fridge.id) or ():
        assert world.step("agent", action).ok
    assert world.step("agent", Action("open", ("fridge_1",))).ok
    assert world.step("agent", Action("pick_up", ("apple_1",))).ok
    assert not violations(world.house)


def test_moved_furniture_has_a_layout_of_its_own(data: Path) -> None:
    name = "FloorPlan1"
    fridge = next(r for r in ithor.records(data, name) if r.label == "Fridge")
    away = move_record(fridge, (0.0, 1.0, 0.0), fridge.heading)
    listed = [
        away if record is fridge else record for record in ithor.records(data, name)
    ]
    scene = ithor.from_records(data, name, tuple(listed))
    assert ithor.layout(data, name, scene).panels is not ithor.layout(data, name).panels


def test_closed_gaps_join_the_floor_and_starts_snap_to_it(data: Path) -> None:
    cells = ithor.cells(data, "FloorPlan29")
    assert len(cells.main) == len(cells.places) == 67
    (x, y), away = ithor.start(
        data, "FloorPlan29", cells.main[5][0] + 0.1, cells.main[5][1]
    )
    assert (x, y) == cells.main[5]
    assert away == pytest.approx(0.1)
    added = 0
    for name in ithor.names(data):
        published = {
            tuple(cell)
            for cell in read_array(find(data, ithor.CELLS.format(name=name)))
        }
        added += len(ithor.cells(data, name).places) - len(published)
    assert added == 7
