"""What counts as a change in a rearrangement episode, by hand-made records."""

from __future__ import annotations

import random

from helpers.thor_records import COUNTER, DRAWER, FLOOR, FRIDGE, FURNITURE, TABLE, small
from wayword.datasets.rearrangement import (
    Cause,
    JudgedStart,
    PivotPose,
    Shuffle,
    describe_changes,
    judge,
    omission_cause,
)
from wayword.datasets.sources.thor import ObjectRecord, Point3, add_objects
from wayword.worlds.household.builder import SceneBuilder
from wayword.worlds.household.goals import Restored

APPLE = small("Apple", 0.9, 0.3, 0.92)
PLATE = small("Plate", 0.2, 0.3, 0.92, "receptacle")
RECORDS = (FLOOR, *FURNITURE, APPLE, PLATE)


def judged(
    moves: dict[str, tuple[Point3, Point3]],
    lids: dict[str, tuple[float, float]] | None = None,
) -> JudgedStart:
    return judge(RECORDS, shuffled(moves, lids))


def shuffled(
    moves: dict[str, tuple[Point3, Point3]],
    lids: dict[str, tuple[float, float]] | None = None,
) -> Shuffle:
    start = {name: PivotPose(places[0], 0.0) for name, places in moves.items()}
    target = {name: PivotPose(places[1], 0.0) for name, places in moves.items()}
    return Shuffle("FloorPlan0", 3.0, 2.0, 90.0, start, target, lids or {})


def test_an_object_on_other_furniture_is_displaced_wherever_there() -> None:
    found = judged({APPLE.name: ((2.5, 3.0, 0.8), (0.9, 0.3, 0.92))})
    assert found.displaced == (Restored(APPLE.id, COUNTER.id, open=False),)
    by_id = {record.id: record for record in found.records}
    assert by_id[APPLE.id].parents == (TABLE.id,), "the scene is the start's"
    assert {goal.object for goal in found.others} == {PLATE.id, DRAWER.id, FRIDGE.id}


def test_along_one_counter_half_a_metre_is_the_measure() -> None:
    far = judged({APPLE.name: ((1.9, 0.3, 0.92), (1.1, 0.3, 0.92))})
    (goal,) = far.displaced
    assert (goal.receptacle, goal.at, goal.within) == (COUNTER.id, (1.1, 0.3), 0.5)
    near = shuffled({APPLE.name: ((0.8, 0.3, 0.92), (1.1, 0.3, 0.92))})
    assert omission_cause(RECORDS, near) == "nothing_displaced"


def test_what_moves_with_its_plate_is_not_displaced_itself() -> None:
    found = judged(
        {
            APPLE.name: ((2.5, 3.0, 0.9), (0.2, 0.3, 1.02)),
            PLATE.name: ((2.5, 3.0, 0.8), (0.2, 0.3, 0.92)),
        }
    )
    assert [goal.object for goal in found.displaced] == [APPLE.id, PLATE.id], (
        "as wide as the plate"
    )


def test_lids_count_from_a_fifth_and_the_wider_opening_is_open() -> None:
    found = judged({}, {FRIDGE.name: (0.3, 0.9), DRAWER.name: (0.4, 0.5)})
    assert found.displaced == (Restored(FRIDGE.id, "", open=True),)
    by_id = {record.id: record for record in found.records}
    assert "isOpen" not in by_id[FRIDGE.id].flags
    assert "isOpen" in by_id[DRAWER.id].flags
    assert judged({}, {FRIDGE.name: (0.9, 0.3)}).displaced[0].open is False


def test_episodes_that_cannot_be_reported_are_left_out_by_cause() -> None:
    def why(name: str, at: Point3) -> Cause:
        return omission_cause(RECORDS, shuffled({name: ((0.9, 0.3, 0.92), at)}))

    assert why("Mug_7c", (2.5, 3.0, 0.8)) == "unknown_object"
    assert why(APPLE.name, (3.5, 3.5, 1.2)) == "target_on_nothing_known"
    assert why(APPLE.name, (3.5, 3.5, 0.0)) == "", "the floor will do"
    assert why(APPLE.name, (0.9, 0.3, 0.92)) == "nothing_displaced"


def request_text(*goals: Restored, records: tuple[ObjectRecord, ...] = RECORDS) -> str:
    builder = SceneBuilder("FloorPlan0")
    builder.room("kitchen", [(0, 0), (4, 0), (4, 4), (0, 4)])
    add_objects(builder, records)
    return describe_changes(random.Random(0), builder.build(), goals)


def test_requests_say_how_everything_should_be_by_its_name() -> None:
    words = request_text(
        Restored(APPLE.id, DRAWER.id, open=False),
        Restored(PLATE.id, COUNTER.id, open=False, at=(1.5, 0.3)),
        Restored(FRIDGE.id, "", open=True),
    ).lower()
    for part in (
        "apple_1",
        "drawer_1",
        "plate_1",
        "0.5 m east of the middle",
        "fridge_1",
        "open",
    ):
        assert part in words
    floor = request_text(Restored(APPLE.id, "", open=False))
    assert "apple_1" in floor.lower()
    assert "on the floor" in floor
    corner = request_text(Restored(PLATE.id, COUNTER.id, open=False, at=(1.5, 0.8)))
    assert "0.5 m east and 0.5 m north of the middle" in corner
