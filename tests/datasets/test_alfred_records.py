"""ALFRED's records, hand-made: how they become scenes, starts, goals, and one-line errors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from helpers.alfred_files import KITCHEN, POSES, object_record, trajectory, write
from helpers.invariants import violations
from helpers.rehearsing import play
from wayword.core.episode import Json
from wayword.core.errors import DataError, UsageError
from wayword.datasets.household import Household
from wayword.runs.catalog import data_check
from wayword.worlds.household.goals import (
    Has,
    Held,
    HouseholdReference,
    Inside,
    Lit,
    Stacked,
)
from wayword.worlds.household.scene import HouseObject

SIMPLE: dict[str, Any] = {"object_target": "Mug", "parent_target": "SideTable"}
APPLE: dict[str, Any] = {"object_target": "Apple", "parent_target": "SideTable"}
TASKS: list[tuple[str, dict[str, Any], int]] = [
    ("pick_and_place_simple", SIMPLE, 1),
    ("pick_and_place_simple", {**APPLE, "sliced": True}, 2),
    ("pick_two_obj_and_place", APPLE, 2),
    ("pick_two_obj_and_place", {**APPLE, "sliced": True}, 4),
    ("look_at_obj_in_light", {"object_target": "Mug", "toggle_target": "DeskLamp"}, 2),
    ("pick_heat_then_place_in_recep", APPLE, 3),
    ("pick_heat_then_place_in_recep", {**APPLE, "sliced": True}, 4),
    ("pick_cool_then_place_in_recep", APPLE, 3),
    ("pick_clean_then_place_in_recep", SIMPLE, 3),
    (
        "pick_and_place_with_movable_recep",
        {
            "object_target": "Spoon",
            "parent_target": "SideTable",
            "mrecep_target": "Mug",
        },
        3,
    ),
]


def household(folder: Path, **settings: Any) -> Household:
    return Household("train", folder, Household.Settings(**settings))


def only(
    dataset: Household, number: int = 0
) -> tuple[dict[str, HouseObject], HouseholdReference]:
    """The objects of an episode's scene, and its reference."""
    task = dataset.tasks[number]
    assert isinstance(task.reference, HouseholdReference)
    return {o.id: o for o in dataset.world(task.episode).scene.objects}, task.reference


@pytest.mark.parametrize(("kind", "params", "parts"), TASKS)
def test_each_type_counts_as_alfred_counts_and_the_expert_solves_it(
    tmp_path: Path, kind: str, params: dict[str, Any], parts: int
) -> None:
    dataset = household(write(tmp_path, trajectory(kind, **params)))
    task, (_, reference) = dataset.tasks[0], only(dataset)
    assert (reference.kind, reference.parts()) == (kind, parts)
    world = dataset.world(task.episode)
    world.reset(task.episode)
    assert reference.met(world.state()) < parts
    assert not violations(world.house)
    play(world, "agent", reference)
    assert reference.met(world.state()) == parts
    assert not violations(world.house)


def test_goals_name_every_object_of_the_type_and_no_other(tmp_path: Path) -> None:
    apples = ("Apple|+01.80|+00.90|+02.60", "Apple|+00.40|+00.90|+02.50")
    table = ("SideTable|+00.40|+00.00|+00.30",)
    heat = write(
        tmp_path / "heat", trajectory("pick_heat_then_place_in_recep", **APPLE)
    )
    assert only(household(heat))[1].goals == (
        Inside(apples, table),
        Has(apples, (("heated", True),)),
        Inside(apples, table, (("heated", True),)),
    )
    kind, params, _ = TASKS[-1]
    spoon = ("Spoon|+02.80|+00.90|+02.60",)
    mug = ("Mug|+02.20|+00.90|+02.60",)
    assert only(household(write(tmp_path / "stack", trajectory(kind, **params))))[
        1
    ].goals == (
        Inside(spoon, mug),
        Inside(mug, table),
        Stacked(spoon, mug, table),
    )
    kind, params, _ = TASKS[4]
    goals = only(household(write(tmp_path / "light", trajectory(kind, **params))))[
        1
    ].goals
    assert goals == (Held(mug), Lit(("DeskLamp|+00.20|+00.60|+00.20",)))


def test_small_objects_lie_where_the_trajectory_puts_them_and_nowhere_else(
    tmp_path: Path,
) -> None:
    twins = [("Mug", (2.2, 2.6, 0.9))] * 2
    record = trajectory("pick_and_place_simple", **SIMPLE, poses=[POSES[1], *twins])
    objects, _ = only(household(write(tmp_path, record)))
    small = {name: o for name, o in objects.items() if "pickupable" in o.affordances}
    assert list(small) == [
        "Apple|+00.40|+00.90|+02.50",
        "Mug|+02.20|+00.90|+02.60",
        "Mug|+02.20|+00.90|+02.60|2",
    ]
    apple = small["Apple|+00.40|+00.90|+02.50"]
    assert (apple.x, apple.y, apple.bottom) == pytest.approx((0.4, 2.5, 0.9))
    assert apple.parent.startswith("Fridge|")
    assert small["Mug|+02.20|+00.90|+02.60"].parent.startswith("CounterTop|")
    assert not objects["DeskLamp|+00.20|+00.60|+00.20"].on, "object_toggles says off"


def test_dirty_and_empty_dirties_what_gets_dirty(tmp_path: Path) -> None:
    record = trajectory(
        "pick_clean_then_place_in_recep", **SIMPLE, dirty_and_empty=True
    )
    objects, _ = only(household(write(tmp_path, record)))
    assert {o.type for o in objects.values() if o.dirty} == {"mug", "spoon"}


def test_a_start_off_the_grid_goes_to_the_nearest_cell(tmp_path: Path) -> None:
    place = {"x": 2.1, "z": 2.3, "y": 0.9, "rotation": -90, "horizon": 30}
    record = trajectory("pick_and_place_simple", **SIMPLE, init_action=place)
    dataset = household(write(tmp_path, record))
    assert dataset.tasks[0].episode.start["poses"] == {
        "agent": {"x": 2.0, "y": 2.0, "heading": 270.0}
    }


def test_an_episode_is_an_annotation_and_tells_its_steps_on_request(
    tmp_path: Path,
) -> None:
    folder = write(tmp_path, trajectory("pick_and_place_simple", **SIMPLE))
    episodes = [task.episode for task in household(folder).tasks]
    pairs = [(episode.id, episode.instruction) for episode in episodes]
    assert pairs == [("trial_1_0", "Put it there."), ("trial_1_1", "Bring it.")]
    steps = [task.episode for task in household(folder, instructions="steps").tasks]
    first, *_, last = steps[0].instruction.splitlines()
    assert (first, last) == ("Put it there.", "2. Put it down.")
    assert steps[1].instruction == "Bring it.", "nobody told any steps"
    with pytest.raises(UsageError, match="instructions=goal"):
        Household(settings=Household.Settings(instructions="steps"))


def test_furniture_that_was_renamed_is_found_where_the_plan_names_it(
    tmp_path: Path,
) -> None:
    # In cells of 0.25 m: (0.4, 0.3), the side table's place
    at = [
        1.6,
        1.6,
        1.2,
        1.2,
        0.0,
        0.0,
    ]
    kind = "pick_and_place_simple"
    cart = {"object_target": "Mug", "parent_target": "Cart"}
    plan = [{"action": "PutObject", "coordinateReceptacleObjectId": ["Cart", at]}]
    dataset = household(write(tmp_path / "there", trajectory(kind, **cart, plan=plan)))
    assert only(dataset)[1].goals[0] == Inside(
        ("Mug|+02.20|+00.90|+02.60",), ("SideTable|+00.40|+00.00|+00.30",)
    )
    away = [{**plan[0], "coordinateReceptacleObjectId": ["Cart", [8.0, 8.0, *at[2:]]]}]
    dataset = household(write(tmp_path / "away", trajectory(kind, **cart, plan=away)))
    assert (len(dataset.tasks), dataset.omissions) == (0, {"no_receptacle": 1})


def test_trajectories_without_what_they_are_about_are_counted(tmp_path: Path) -> None:
    kind = "pick_and_place_simple"
    movable = "pick_and_place_with_movable_recep"
    records = [
        trajectory(kind, "trial_1", object_target="Plate", parent_target="SideTable"),
        trajectory(kind, "trial_2", object_target="Mug", parent_target="Bed"),
        trajectory(movable, "trial_3", **SIMPLE, mrecep_target="Pot"),
        trajectory(
            TASKS[4][0], "trial_4", object_target="Mug", toggle_target="FloorLamp"
        ),
        {**trajectory(kind, "trial_5", **SIMPLE), "turk_annotations": {"anns": []}},
        trajectory(kind, "trial_6", **SIMPLE),
    ]
    dataset = household(write(tmp_path, *records))
    causes = ("no_object", "no_receptacle", "no_movable", "no_lamp", "no_annotation")
    assert dataset.omissions == dict.fromkeys(causes, 1)
    assert {task.episode.start["arrangement"] for task in dataset.tasks} == {"trial_6"}
    assert len(household(write(tmp_path, *records), kind=movable).tasks) == 0


def _without(name: str) -> str:
    record = trajectory("pick_and_place_simple", **SIMPLE)
    return json.dumps({key: value for key, value in record.items() if key != name})


def _posed(pose: Json) -> dict[str, Any]:
    return trajectory("pick_and_place_simple", **SIMPLE, object_poses=[pose])


MUG = {"objectName": "Mug_1", "rotation": {"y": 0.0}}


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (_without("task_id"), r"line 1, field 'task_id': is missing"),
        (_without("pddl_params"), r"line 1, field 'pddl_params': is missing"),
        (_without("votes")[:-9], r"line 1: is not valid JSON"),
        (
            trajectory("fly", **SIMPLE),
            r"field 'task_type': must be a task type of ALFRED, got 'fly'",
        ),
        (
            _posed({**MUG, "objectName": "Mug_1", "position": None}),
            r"'position': must be an object, got None",
        ),
        (
            _posed({"rotation": {"y": 0.0}}),
            r"object_poses 0, field 'objectName': is missing",
        ),
        (_posed(MUG), r"line 1, object_poses 0, field 'position': is missing"),
        (
            _posed({**MUG, "position": {"x": 1, "y": "a", "z": 2}}),
            r"'y': must be a number, got 'a'",
        ),
    ],
)
def test_broken_records_end_in_one_line(
    tmp_path: Path, record: Any, message: str
) -> None:
    folder = write(tmp_path, record)
    with pytest.raises(DataError, match=message) as error:
        list(household(folder).tasks)
    assert "traj_train.jsonl.gz" in str(error.value)
    assert "\n" not in str(error.value)


def test_a_type_of_object_that_no_scene_has_ends_in_one_line(tmp_path: Path) -> None:
    strange = [*POSES, ("Unicorn", (2.0, 2.6, 0.9))]
    record = trajectory("pick_and_place_simple", **SIMPLE, poses=strange)
    dataset = household(write(tmp_path, record))
    with pytest.raises(DataError, match="has no object of type 'Unicorn'"):
        dataset.world(dataset.tasks[0].episode)


def test_absent_files_and_folders_end_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"traj_valid_unseen.jsonl: no such file"):
        Household(
            "valid_unseen",
            write(tmp_path, trajectory("pick_and_place_simple", **SIMPLE)),
        )
    with pytest.raises(UsageError, match="--data"):
        Household("valid_seen")


def test_demonstrations_come_from_the_training_split_and_solve(tmp_path: Path) -> None:
    write(tmp_path, trajectory("pick_and_place_simple", "trial_7", **SIMPLE))
    write(
        tmp_path,
        trajectory("pick_and_place_simple", "trial_8", **SIMPLE),
        split="valid_seen",
    )
    (shown,) = Household("valid_seen", tmp_path).demonstrations(1, 0)
    assert shown.episode.id.startswith("trial_7")
    world = shown.world()
    world.reset(shown.episode)
    assert all(world.step("agent", action).ok for action in shown.actions)


def test_a_label_that_begins_another_is_not_that_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A potato is no pot; ALFRED's own code takes it for one."""
    both = [
        object_record(
            "Potato", (2.0, 2.6, 0.9), (0.1, 0.1, 0.1), "pickupable", "sliceable"
        )
    ]
    both += [
        object_record(
            "Pot", (2.2, 2.6, 0.9), (0.2, 0.2, 0.2), "pickupable", "receptacle"
        )
    ]
    monkeypatch.setattr("helpers.alfred_files.KITCHEN", [*KITCHEN, *both])
    poses = [*POSES, ("Potato", (1.6, 2.6, 0.9)), ("Pot", (2.9, 2.6, 0.9))]
    for label in ("Pot", "Potato"):
        params = {"object_target": label, "parent_target": "SideTable", "poses": poses}
        dataset = household(
            write(tmp_path / label, trajectory("pick_and_place_simple", **params))
        )
        items, reference = only(dataset)
        (place,) = reference.goals
        assert isinstance(place, Inside)
        assert {items[name].type for name in place.objects} == {label.lower()}
    stacked = {
        "object_target": "Spoon",
        "parent_target": "SideTable",
        "mrecep_target": "Pot",
    }
    dataset = household(
        write(
            tmp_path / "stacked",
            trajectory("pick_and_place_with_movable_recep", poses=poses, **stacked),
        )
    )
    items, reference = only(dataset)
    inside = reference.goals[0]
    assert isinstance(inside, Inside)
    assert {items[name].type for name in inside.receptacles} == {"pot"}
    lacking = [
        trajectory(
            "pick_and_place_simple", name, object_target=label, parent_target=place
        )
        for name, label, place in (
            ("no_pot", "Potat", "SideTable"),
            ("no_sink", "Mug", "Sink"),
            ("there", "Mug", "SideTable"),
        )
    ]
    dataset = household(write(tmp_path / "lacking", *lacking))
    assert {task.episode.id for task in dataset.tasks} == {"there_0", "there_1"}


def test_a_users_own_trajectories_replace_those_of_a_split(tmp_path: Path) -> None:
    kind = "pick_and_place_simple"
    folder = write(tmp_path / "data", trajectory(kind, **SIMPLE))
    own = tmp_path / "own.jsonl"
    records = [trajectory(kind, f"trial_own{n}", **SIMPLE) for n in range(2)]
    own.write_text("\n".join(json.dumps(each) for each in records))
    settings = Household.Settings(trajectories=str(own))
    dataset = Household("train", folder, settings)
    assert [task.episode.id for task in dataset.tasks] == [
        "trial_own0_0", "trial_own0_1", "trial_own1_0", "trial_own1_1",
    ]  # fmt: skip
    assert "the 4 episodes of own.jsonl, not those of train" in dataset.caveats
    assert own in dataset.files.values()
    with pytest.raises(UsageError, match="trajectories replaces a published split"):
        Household("generated_test", folder, settings)


UNPLAYABLE: list[tuple[dict[str, Any], str]] = [
    (
        {"object_target": "Unicorn"},
        "field 'object_target': is not the label of an object of object_poses: 'Unicorn'; "
        "there are: Apple, Knife, Mug, Spoon",
    ),
    ({"object_target": 5}, "field 'object_target': is not the label of an object"),
    (
        {"parent_target": "SideTabel"},
        "field 'parent_target': is not the label of an object of FloorPlan1: 'SideTabel'; "
        "did you mean 'SideTable'?",
    ),
    (
        {"floor_plan": "FloorPlan999"},
        "field 'floor_plan': is not a room of iTHOR: 'FloorPlan999'; "
        "did you mean 'FloorPlan1'?",
    ),
    ({"sliced": "maybe"}, "field 'object_sliced': must be true or false, got 'maybe'"),
    (
        {"init_action": {"x": 500.0, "z": 1.5, "rotation": 90}},
        "init_action: starts at x=500, z=1.5, 496.5 m from the nearest place of FloorPlan1",
    ),
    (
        {"init_action": {"x": "left", "z": 1.5, "rotation": 90}},
        "init_action, field 'x': must be a number, got 'left'",
    ),
    ({"anns": []}, "field 'anns': is empty"),
    (
        {"anns": [{"task_desc": " ", "high_descs": []}]},
        "annotation 0, field 'task_desc': is empty",
    ),
    (
        {"anns": [{"task_desc": "Go.", "high_descs": [5]}]},
        "annotation 0, high_descs 0: must be a text, got 5",
    ),
    ({"task_id": "trial_1"}, "has the same task_id as line 1: 'trial_1'"),
    ({"turk_annotations": None}, "field 'turk_annotations': must be an object"),
]
"""Changes of a record, and what the check says about it."""


def test_a_check_lists_all_trajectories_that_cannot_be_played(tmp_path: Path) -> None:
    kind = "pick_and_place_simple"
    folder = write(tmp_path / "data", trajectory(kind, **SIMPLE))
    lines = [trajectory(kind, **SIMPLE)]
    for number, (change, _) in enumerate(UNPLAYABLE):
        name = change.get("task_id", f"trial_own{number}")
        fields = {k: v for k, v in change.items() if k not in ("task_id", "anns")}
        annotations = fields.pop("turk_annotations", {})
        record = trajectory(kind, name, **{**SIMPLE, **fields})
        if "anns" in change:
            annotations = {"anns": change["anns"]}
        if annotations != {}:
            record["turk_annotations"] = annotations
        lines.append(record)
    own = tmp_path / "own.jsonl"
    own.write_text("\n".join(json.dumps(each) for each in lines))
    settings = {"dataset": {"trajectories": str(own)}}
    report, is_valid = data_check("household:train", folder, settings)
    assert not is_valid
    *bad, total = report.splitlines()
    for line, (shown, (_, problem)) in enumerate(
        zip(bad, UNPLAYABLE, strict=True), start=2
    ):
        separator = ":" if problem.startswith("has the same") else ","
        assert shown.startswith(f"{own}: line {line}{separator} {problem}")
    assert total.endswith(f"{len(UNPLAYABLE)} bad records")
    with pytest.raises(DataError, match="line 2, field 'object_target'"):
        household(folder, trajectories=str(own))  # a run ends at the first


def test_a_check_of_published_trajectories_says_that_some_are_left_out(
    tmp_path: Path,
) -> None:
    kind = "pick_and_place_simple"
    records = [
        trajectory(kind, **SIMPLE),
        trajectory(kind, "trial_2", object_target="Fork", parent_target="SideTable"),
    ]
    folder = write(tmp_path, *records)
    report, is_valid = data_check("household:train", folder, {})
    assert is_valid
    assert report.splitlines()[-2:] == [
        "  left out: 1 no object",
        "household:train: 2 episodes, all other records are valid",
    ]
