"""ProcTHOR's houses, read from a small file in the published format."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from wayword.agents.baselines.oracles import ShortestPathOracle
from wayword.agents.search.frontier import FrontierAgent, FrontierSettings
from wayword.core.agent import Toolkit
from wayword.core.episode import NoSettings
from wayword.core.errors import DataError, UsageError
from wayword.core.rollout import Setup, rollout
from wayword.datasets.procthor import Procthor, ProcthorSettings
from wayword.metrics.objectnav import scorer
from wayword.testing.contracts import check_dataset, check_world


def xz(*points: tuple[float, float]) -> list[dict[str, float]]:
    return [{"x": x, "y": 0.0, "z": z} for x, z in points]


def wall(
    room: int, a: tuple[float, float], b: tuple[float, float], **more: Any
) -> dict[str, Any]:
    name = f"wall|{room}|{a[0]:.2f}|{a[1]:.2f}|{b[0]:.2f}|{b[1]:.2f}"
    high = [{"x": x, "y": 2.5, "z": z} for x, z in (b, a)]
    return {"id": name, "roomId": f"room|{room}", "polygon": [*xz(a, b), *high], **more}


def object_record(
    name: str, x: float, y: float, z: float, *children: Any
) -> dict[str, Any]:
    at = {"x": x, "y": y, "z": z}
    return {"id": name, "assetId": name, "position": at, "rotation": {"x": 0, "y": 90, "z": 0},
            "children": list(children)}  # fmt: skip


def house() -> dict[str, Any]:
    """Two rooms of 4 x 4 m, a doorway of 1 m between them, a table with a mug beyond it."""
    shared = wall(2, (4.0, 0.0), (4.0, 4.0))
    west = [(0.0, 0.0), (4.0, 0.0), (4.0, 4.0), (0.0, 4.0)]
    east = [(4.0, 0.0), (8.0, 0.0), (8.0, 4.0), (4.0, 4.0)]
    hole = [{"x": 2.5, "y": 0.0, "z": 0.0}, {"x": 3.5, "y": 2.1, "z": 0.0}]
    mug = object_record("Mug|3|1", 6.5, 0.8, 1.0)
    return {
        "rooms": [
            {"id": "room|2", "roomType": "Kitchen", "floorPolygon": xz(*west)},
            {"id": "room|3", "roomType": "LivingRoom", "floorPolygon": xz(*east)},
        ],
        "walls": [shared, wall(3, (4.0, 4.0), (4.0, 0.0))],
        "doors": [
            {
                "id": "door|2|3",
                "wall0": shared["id"],
                "holePolygon": hole,
                "openness": 1,
            }
        ],
        "objects": [
            object_record("DiningTable|3|0", 6.5, 0.38, 1.0, mug),
            object_record("Apple|2|0", 1, 0.04, 1),
        ],
        "metadata": {"schema": "1.0.0"},
    }


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "procthor").mkdir()
    lines = "".join(json.dumps(house()) + "\n" for _ in range(2))
    (tmp_path / "procthor" / "val.jsonl").write_text(lines)
    return tmp_path


def test_walls_doorways_and_floors_are_the_files_own(folder: Path) -> None:
    ground = Procthor("val", folder).place("val_0").ground
    assert ground.clear(
        (3.5, 3.0), (4.5, 3.0)
    )  # through the doorway, 2.5 to 3.5 m along the wall
    assert not ground.clear((3.5, 1.5), (4.5, 1.5))
    assert not ground.at(6.5, 1.0)  # the table
    assert not ground.at(8.5, 1.0)


def test_every_drawn_episode_can_be_solved(folder: Path) -> None:
    dataset = Procthor("val", folder, ProcthorSettings(episodes=6))
    check_dataset(dataset)
    first = Procthor("val", folder, ProcthorSettings(houses=1, episodes=6))
    assert {task.episode.scene for task in first.tasks} == {"val_0"}
    assert first.place("val_1").ground.clear(
        (3.5, 3.0), (4.5, 3.0)
    )  # a house that has no tasks
    check_world(dataset, episodes=2, steps=6)
    assert "typical" in dataset.caveats[0]

    def build(toolkit: Toolkit, actor: str) -> ShortestPathOracle:
        return ShortestPathOracle(NoSettings(), toolkit)

    for task in dataset.tasks:
        trajectory = asyncio.run(rollout(task, Setup(dataset, build, max_steps=50)))
        (found,) = scorer.score(dataset, [(task, trajectory)])
        assert (found["success_challenge"], found["success_released"]) == (1.0, 1.0)


def test_frontier_finds_every_type_that_is_looked_for(folder: Path) -> None:
    """With a perfect detector; a type that names nothing could never be grounded."""
    dataset = Procthor("val", folder, ProcthorSettings(episodes=8))
    sought = {task.episode.extra["kind"]: task for task in dataset.tasks}
    assert set(sought) == {"apple", "mug"}

    def build(toolkit: Toolkit, actor: str) -> FrontierAgent:
        return FrontierAgent(FrontierSettings(grounding="perfect"), toolkit)

    for kind, task in sought.items():
        trajectory = asyncio.run(rollout(task, Setup(dataset, build, max_steps=300)))
        (found,) = scorer.score(dataset, [(task, trajectory)])
        assert found["success_challenge"] == 1.0, kind


def test_a_missing_or_broken_file_ends_in_one_line(folder: Path) -> None:
    with pytest.raises(UsageError, match="set --data"):
        Procthor("val", None)
    with pytest.raises(DataError, match=r"train\.jsonl"):
        Procthor("train", folder).tasks[0]
    broken = house()
    broken["doors"][0]["wall0"] = "wall|9"
    (folder / "procthor" / "test.jsonl").write_text(json.dumps(broken) + "\n")
    with pytest.raises(DataError, match="refers to an unknown wall"):
        Procthor("test", folder).tasks[0]
