"""Reading RoboTHOR's files: one small apartment made up for the purpose, and broken ones."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from helpers.robothor_files import SCENE, apartment, episode, point, write
from wayword.core.errors import DataError, UsageError
from wayword.datasets.robothor import Robothor, RobothorSettings
from wayword.datasets.sources import robothor as apartments
from wayword.testing.contracts import check_dataset, check_world
from wayword.worlds.objectnav.world import ObjectNavReference


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WAYWORD_CACHE", str(tmp_path / "cache"))
    apartment(tmp_path)
    return tmp_path


def test_an_episode_is_read_in_the_projects_frame(folder: Path) -> None:
    dataset = Robothor("train", folder, RobothorSettings(order="file"))
    task = dataset.tasks[0]
    assert task.episode.instruction == "Find the mug."
    assert task.episode.start == {"x": 0.5, "y": 0.5, "heading": 90.0, "horizon": 30.0}
    assert isinstance(task.reference, ObjectNavReference)
    assert task.reference.targets == {"Mug|2.0|2.6"}
    assert task.reference.path == ((0.5, 0.5), (2.0, 2.0))
    assert task.reference.shortest == pytest.approx(2.1213, abs=1e-3)


def test_it_keeps_the_contracts_and_both_orders_hold_every_episode(
    folder: Path,
) -> None:
    spread, filed = (
        Robothor("train", folder, RobothorSettings(order=o)) for o in ("spread", "file")
    )
    check_dataset(spread)
    check_world(spread, episodes=2, steps=8)
    ids = [task.episode.id for task in filed.tasks]
    assert sorted(ids) == sorted(task.episode.id for task in spread.tasks)
    assert ids != [task.episode.id for task in spread.tasks]


def test_floors_come_from_the_cache_the_second_time(folder: Path) -> None:
    first = Robothor("train", folder).place(SCENE).scene
    kept = list((folder / "cache" / "robothor").glob("*.arrays"))
    assert len(kept) == 1
    apartments.floors_of.cache_clear()
    apartments.scene_of.cache_clear()
    assert Robothor("train", folder).place(SCENE).scene == first
    kept[0].write_bytes(b"no archive")
    apartments.floors_of.cache_clear()
    apartments.scene_of.cache_clear()
    assert apartments.scene_of(folder / "robothor", SCENE) == first


def test_a_test_split_without_paths_and_objects_can_be_entered(folder: Path) -> None:
    bare = [episode(n, 0.25 * n, 1.0) for n in range(1, 8)]
    for record in bare:
        del record["shortest_path"], record["shortest_path_length"]
        record["scene"] = "FloorPlan_RoboTHOR_Test1_1"
    write(folder, "test", bare, "FloorPlan_RoboTHOR_Test1_1")
    dataset = Robothor("test", folder)
    task = dataset.tasks[0]
    assert isinstance(task.reference, ObjectNavReference)
    assert (task.reference.targets, task.reference.shortest) == (frozenset(), None)
    check_world(dataset, episodes=1, steps=5)


def test_missing_and_broken_files_end_in_one_clear_line(folder: Path) -> None:
    with pytest.raises(UsageError, match="set --data"):
        Robothor("train", None)
    with pytest.raises(UsageError, match="no split 'trian'; did you mean 'train'"):
        Robothor("trian", folder)
    with pytest.raises(DataError, match="contains no episodes"):
        len(Robothor("val", folder).tasks)
    broken = episode(0, 0.5, 0.5)
    broken["initial_position"] = [0.5, 0.9, 0.5]
    write(folder, "debug", [broken])
    with pytest.raises(DataError, match="record 0, field 'initial_position': must be"):
        Robothor("debug", folder).tasks[0]
    write(folder, "debug", [episode(0, 0.5, 0.5, shortest_path_length=9.0)])
    with pytest.raises(DataError, match=r"is 9 m, but shortest_path is 2\.12 m long"):
        Robothor("debug", folder).tasks[0]
    with pytest.raises(UsageError, match="field_of_view"):
        RobothorSettings(field_of_view=400)


def test_an_evaluated_split_opens_no_floor_where_others_have_enough_episodes(
    folder: Path,
) -> None:
    outside = episode(900, 3.5, 0.5)
    # A way that no other split knows
    outside["shortest_path"].insert(1, point(6.0, 2.0, 0.0))
    write(folder, "debug", [outside])
    debug = Robothor("debug", folder)
    train = Robothor("train", folder)
    assert not debug.place(SCENE).ground.at(6.0, 2.0)
    assert train.place(SCENE).ground.at(6.0, 2.0)
    assert "other splits' episodes" in debug.caveats[0]
    assert "the evaluated episodes" in train.caveats[0]
    table = Robothor("train", folder, RobothorSettings(order="file"))
    assert table.tasks[0].reference.middles == ((2.0, 2.6),)  # type: ignore[attr-defined]


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("indent", [None, 1])
def test_records_are_read_however_they_are_laid_out(
    folder: Path, indent: int | None, nested: bool
) -> None:
    records = [
        {**episode(n, 0.5, 0.5), "by": {"id": n} if nested else n} for n in range(3)
    ]
    path = folder / "robothor" / "episodes" / "debug" / f"{SCENE}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(records, indent=indent))
    assert len(Robothor("debug", folder).tasks) == len(
        records
    )  # counted by their bytes
    found = apartments.episodes_of(path)
    assert [json.loads(record) for record in found] == records
    path.write_text(json.dumps(records)[:-9] + "]")
    with pytest.raises(DataError, match="is not valid JSON"):
        apartments.episodes_of(path)


@pytest.mark.parametrize(("more", "is_bridged"), [(0, True), (1, False)])
def test_a_gap_of_at_most_the_longest_bridge_is_wall(
    more: int, is_bridged: bool
) -> None:
    cells = round(apartments.LONGEST_BRIDGE / apartments.SPACING) + more
    maybe = np.ones((1, cells + 2), dtype=np.bool_)
    proven = np.zeros_like(maybe)
    proven[0, [0, -1]] = True
    assert apartments._bridge_gaps(proven, maybe).all() == is_bridged
