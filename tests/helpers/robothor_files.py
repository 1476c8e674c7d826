"""RoboTHOR's files for one small apartment made up for tests: a mug on a side table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

SCENE = "FloorPlan_Train1_1"


def point(x: float, z: float, y: float = 0.9) -> dict[str, float]:
    return {"x": x, "y": y, "z": z}


def object_record(
    label: str, x: float, z: float, size: tuple[float, float, float]
) -> dict[str, Any]:
    box = {
        "center": point(x, z, size[1] / 2),
        "size": dict(zip("xyz", size, strict=True)),
    }
    return {
        "objectId": f"{label}|{x}|{z}", "name": f"{label}_1", "objectType": label,
        "position": point(x, z), "rotation": point(0, 0, 0), "aabb": box,
        "pickupable": label != "SideTable", "receptacle": label == "SideTable",
    }  # fmt: skip


def episode(
    number: int,
    x: float,
    z: float,
    scene: str = SCENE,
    label: str = "Mug",
    **other: Any,
) -> dict[str, Any]:
    end = point(2.0, 2.0, 0.0)
    return {
        "id": f"{scene}_{label}_{number}", "scene": scene, "object_type": label,
        "initial_position": point(x, z), "initial_orientation": 90, "initial_horizon": 30,
        "shortest_path": [point(x, z, 0.0), end],
        "shortest_path_length": ((x - 2.0) ** 2 + (z - 2.0) ** 2) ** 0.5, **other,
    }  # fmt: skip


def write(
    folder: Path, split: str, episodes: list[dict[str, Any]], scene: str = SCENE
) -> None:
    path = folder / "robothor" / "episodes" / split / f"{scene}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(episodes))


def apartment(
    folder: Path, split: str = "train", scene: str = SCENE, label: str = "Mug"
) -> None:
    """A room of 3.5 by 2.5 m: its episodes, and its things."""
    episodes = [episode(0, 0.5, 0.5, scene, label)]
    for i in range(2, 15):
        for j in range(2, 10):
            if (i, j) != (2, 2) and not (6 < i < 10 and j > 8):
                episodes.append(
                    episode(len(episodes), i * 0.25, j * 0.25, scene, label)
                )
    write(folder, split, episodes, scene)
    items = [
        object_record("SideTable", 2.0, 2.6, (0.5, 0.6, 0.5)),
        object_record(label, 2.0, 2.6, (0.1, 0.7, 0.1)),
    ]
    metadata = folder / "robothor" / "robothor_scene_objects_75.json"
    metadata.write_text(json.dumps({scene: items}))
