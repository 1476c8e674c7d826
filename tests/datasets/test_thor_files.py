"""Reading AI2-THOR's, the rearrangement's and IQUAD's files: a hand-made folder, and errors that
name file, record and field."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wayword.core.errors import DataError
from wayword.datasets.iqa import UNSEEN, read_questions
from wayword.datasets.rearrangement import Rearrangement
from wayword.datasets.sources import ithor
from wayword.datasets.sources.thor import read_record

NAME = "FloorPlan1"


def object_record(
    label: str, x: float, y: float, z: float, size: tuple[float, ...], **more: Any
) -> Any:
    """A record as it is in the file: y up, z north."""
    return {
        "objectId": f"{label}|1",
        "objectType": label,
        "name": f"{label}_1a",
        "position": {"x": x, "y": y, "z": z},
        "rotation": {"x": 0, "y": 0, "z": 0},
        "parentReceptacles": None,
        "temperature": "RoomTemp",
        "aabb": {
            "center": {"x": x, "y": y, "z": z},
            "size": dict(zip("xyz", size, strict=True)),
        },
        **more,
    }


TABLE = object_record("DiningTable", 1.0, 0.4, 2.0, (1.0, 0.8, 0.6), receptacle=True)
DESK = object_record("Desk", 0.0, 0.4, 0.0, (1.0, 0.8, 0.6), receptacle=True)
MUG = object_record("Mug", 1.0, 0.85, 2.0, (0.1, 0.1, 0.1), pickupable=True)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A data folder with one room of two tables and a mug, and an episode that moves the mug."""
    at = [{"x": 1.0, "y": 0.85, "z": 2.0}, {"x": 0.0, "y": 0.85, "z": 0.0}]
    poses = [
        [{"name": "Mug_1a", "position": place, "rotation": {"x": 0, "y": 90, "z": 0}}]
        for place in at
    ]
    episode = {
        "agent_position": {"x": 1.1, "y": 0.9, "z": 1.0},
        "agent_rotation": 270,
        "openable_data": [],
        "starting_poses": poses[0],
        "target_poses": poses[1],
    }
    files: dict[str, Any] = {
        ithor.OBJECTS: {NAME: [TABLE, DESK, MUG]},
        ithor.OUTLINES: {NAME: [[-1, -1], [-1, 3], [2, 3], [2, -1]]},
        ithor.KNOBS: {NAME: {}},
        "rearrangement/2021_val.json": {NAME: [episode]},
    }
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(json.dumps(content))
    (tmp_path / "alfred/layouts").mkdir(parents=True)
    cells = [(x / 4, y / 4) for x in range(-3, 8) for y in range(2, 6)]
    np.save(tmp_path / ithor.CELLS.format(name=NAME), np.array(cells))
    return tmp_path


def test_a_room_is_read_in_this_project_s_frame(folder: Path) -> None:
    scene = ithor.scene(folder, NAME)
    found = {o.id: o for o in scene.objects}
    mug = found["Mug|1"]
    assert (mug.x, mug.y, mug.bottom) == pytest.approx((1.0, 2.0, 0.8)), (
        "z is north, y is up"
    )
    assert mug.parent == "DiningTable|1"
    assert (found["Desk|1"].width, found["Desk|1"].depth, found["Desk|1"].height) == (
        1.0,
        0.6,
        0.8,
    )
    assert scene.rooms[0].name == "kitchen"
    assert scene.floor is not None
    assert scene.floor.is_free(0.5, 1.0)
    assert not scene.floor.is_free(0.5, 2.0)


def test_an_episode_is_read_and_asks_for_the_mug(folder: Path) -> None:
    dataset = Rearrangement("2021_val", folder)
    (task,) = dataset.tasks
    assert task.episode.start["poses"]["agent"] == {
        "x": 1.0,
        "y": 1.0,
        "heading": 270.0,
    }
    assert "mug_1" in task.episode.instruction.lower()
    assert "desk_1" in task.episode.instruction.lower()
    world = dataset.world(task.episode)
    world.reset(task.episode)
    assert world.state()["objects"]["Mug|1"]["in"] == "DiningTable|1"


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        ({"objectType": 7}, "field 'objectType': must be a text, got 7"),
        (
            {"temperature": "Warm"},
            "field 'temperature': must be RoomTemp, Hot or Cold, got 'Warm'",
        ),
        ({"position": {"x": 0, "z": 0}}, "position, field 'y': is missing"),
        (
            {"position": {"x": 0, "y": "high", "z": 0}},
            "field 'y': must be a number, got 'high'",
        ),
        ({"aabb": None}, "field 'aabb': must be an object, got None"),
        ({"rotation": {}}, "field 'y': is missing"),
    ],
)
def test_a_broken_object_is_named(broken: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError) as error:
        read_record(Path("objects.json"), "FloorPlan1, object 3", {**MUG, **broken})
    assert str(error.value).startswith("objects.json: FloorPlan1, object 3")
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        ({"agent_rotation": "north"}, "field 'agent_rotation': must be"),
        (
            {"openable_data": [{"name": "Drawer_1"}]},
            "field 'start_openness': is missing",
        ),
        (
            {"target_poses": [{"name": "Mug_1a"}]},
            "target_poses, field 'rotation': is missing",
        ),
        ({"starting_poses": None}, "field 'starting_poses': must be"),
    ],
)
def test_a_broken_episode_is_named(
    folder: Path, broken: dict[str, Any], message: str
) -> None:
    path = folder / "rearrangement/2021_val.json"
    record = json.loads(path.read_text())[NAME][0]
    path.write_text(json.dumps({NAME: [record, {**record, **broken}]}))
    with pytest.raises(DataError) as error:
        list(Rearrangement("2021_val", folder).tasks)
    assert "FloorPlan1, episode 1" in str(error.value)
    assert message in str(error.value)


def test_a_broken_floor_or_a_missing_room_is_named(folder: Path) -> None:
    np.save(folder / ithor.CELLS.format(name=NAME), np.zeros((4, 3)))
    with pytest.raises(
        DataError, match=r"FloorPlan1-layout\.npy: must have the shape \(P, 2\)"
    ):
        ithor.scene(folder, NAME)
    (folder / ithor.CELLS.format(name=NAME)).write_bytes(b"cells")
    with pytest.raises(
        DataError, match=r"FloorPlan1-layout\.npy: must be a numeric array"
    ):
        ithor.cells(folder, NAME)
    with pytest.raises(DataError, match="scene 'FloorPlan2': is missing"):
        ithor.records(folder, "FloorPlan2")


HEAD = "question_type,scene_number,seed,question,answer,object_id,container_id"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n", "column 'scene_number': is missing"),
        (
            f"{HEAD}\n0,6,5,?,Maybe,1,21\n",
            "line 2: is not a valid question (KeyError: 'Maybe')",
        ),
        (
            f"{HEAD}\n0,6,5,?,True,1,21\n0,6,5,?,True,99,21\n",
            "line 3: is not a valid question",
        ),
        (f"{HEAD}\n0,six,5,?,True,1,21\n", "line 2: is not a valid question"),
    ],
)
def test_a_broken_question_is_named(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "iqa/questions/train/data_existence/combined.csv"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    with pytest.raises(DataError) as error:
        read_questions(tmp_path, "train", ("exists",))
    assert message in str(error.value)


def test_questions_are_read_in_turns(tmp_path: Path) -> None:
    rows = {"existence": "0,6,5,?,True,1,21", "counting": "1,7,5,?,3,7,21"}
    for name, row in rows.items():
        path = tmp_path / f"iqa/questions/val/seen_scenes/data_{name}/combined.csv"
        path.parent.mkdir(parents=True)
        path.write_text(f"{HEAD}\n{row}\n{row}\n")
    found = read_questions(tmp_path, "val_seen", ("exists", "counts"))
    assert [(q.id, q.scene, q.item, q.answer) for q in found] == [
        ("val_seen_exists_0", "FloorPlan6", "Spoon", "yes"),
        ("val_seen_counts_0", "FloorPlan7", "Bowl", "3"),
        ("val_seen_exists_1", "FloorPlan6", "Spoon", "yes"),
        ("val_seen_counts_1", "FloorPlan7", "Bowl", "3"),
    ]
    redrawn = read_questions(tmp_path, "unseen_kitchens", ("exists",))
    assert [question.scene for question in redrawn] == list(UNSEEN[:2])


def test_a_place_out_of_this_world_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "layout.npy"
    np.save(path, np.array([[0.0, 0.25], [0.0, 2.0**60]]))  # one bit of an exponent
    with pytest.raises(DataError, match="more than 100 m from the origin"):
        ithor.read_cells(path)


@pytest.mark.parametrize("at", [*range(8, 80, 3), 100])
def test_an_array_whose_header_is_damaged_is_refused_in_one_line(
    tmp_path: Path, at: int
) -> None:
    path = tmp_path / "layout.npy"
    np.save(path, np.zeros((3, 2)))
    full = path.read_bytes()
    for damaged in (b"(", b"'", b"9", b"\0", b"\xff"):
        path.write_bytes(full[:at] + damaged + full[at + 1 :])
        with suppress(DataError):  # anything else is a traceback
            ithor.read_cells(path)
    for damaged_file in (b"", b"PK\x03\x04", b"PK\x05\x06" + bytes(18), full[:at]):
        path.write_bytes(damaged_file)
        with pytest.raises(DataError, match=r"must be a numeric array \([^\n]*\)"):
            ithor.read_cells(path)
