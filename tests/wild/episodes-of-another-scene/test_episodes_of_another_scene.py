"""Records of RoboTHOR that contradict the apartment in which they would be played."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from helpers.robothor_files import SCENE, apartment
from wayword.core.errors import DataError, UsageError
from wayword.datasets.robothor import Robothor, RobothorSettings
from wayword.runs.selection import unfinished
from wayword.testing.contracts import check_dataset

IN_FILE_ORDER = RobothorSettings(order="file")


def episodes_of(folder: Path, count: int = 3) -> tuple[Path, list[dict[str, Any]]]:
    """The file of a small apartment, and its first episodes."""
    apartment(folder)
    path = folder / "robothor" / "episodes" / "train" / f"{SCENE}.json"
    return path, json.loads(path.read_text())[:count]


@pytest.mark.parametrize(
    ("field", "value", "problem"),
    [
        ("scene", "FloorPlan_Train2_1", r"is 'FloorPlan_Train2_1', but the file"),
        ("object_type", "Dog", rf"is 'Dog', of which {SCENE} has none"),
        ("shortest_path_length", -1, r"is -1 m, but shortest_path is"),
    ],
)
def test_a_record_that_contradicts_its_scene_is_refused(
    tmp_path: Path, field: str, value: Any, problem: str
) -> None:
    path, episodes = episodes_of(tmp_path)
    episodes[1][field] = value
    path.write_text(json.dumps(episodes))
    tasks = Robothor("train", tmp_path, IN_FILE_ORDER).tasks
    assert tasks[0].episode.scene == SCENE
    with pytest.raises(DataError, match=rf"record 1, field '{field}': {problem}"):
        tasks[1]


def test_a_subset_is_named_after_its_scene(tmp_path: Path) -> None:
    path, episodes = episodes_of(tmp_path)
    path.with_name("subset.json").write_text(json.dumps(episodes))
    path.unlink()
    tasks = Robothor("train", tmp_path, IN_FILE_ORDER).tasks
    with pytest.raises(DataError, match=rf"move the record to {SCENE}\.json"):
        tasks[0]


def test_a_record_without_a_path_may_have_no_target(tmp_path: Path) -> None:
    path, episodes = episodes_of(tmp_path)
    for name in ("shortest_path", "shortest_path_length"):
        del episodes[0][name]
    episodes[0]["object_type"] = "Dog"
    path.write_text(json.dumps(episodes))
    task = Robothor("train", tmp_path, IN_FILE_ORDER).tasks[0]
    assert not getattr(task.reference, "targets", None)


def test_two_episodes_with_one_id_are_refused_before_the_first(tmp_path: Path) -> None:
    path, episodes = episodes_of(tmp_path)
    episodes[2]["id"] = episodes[0]["id"]
    path.write_text(json.dumps(episodes))
    dataset = Robothor("train", tmp_path, IN_FILE_ORDER)
    name = episodes[0]["id"]
    with pytest.raises(UsageError, match=f"2 episodes have the id '{name}'"):
        unfinished(dataset.tasks, range(3), ())
    assert unfinished(dataset.tasks, range(2), {name}) == [1]
    with pytest.raises(AssertionError, match=f"unique within a split: .*{name}"):
        check_dataset(dataset)
