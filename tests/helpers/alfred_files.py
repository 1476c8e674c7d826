"""A data folder with one small kitchen and hand-made ALFRED trajectories in it."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np

SCENE = "FloorPlan1"
Point = tuple[float, float, float]


def object_record(
    label: str, at: Point, size: Point, *flags: str, name: str = ""
) -> dict[str, Any]:
    """An object of the metadata file: ``at`` is the middle of its underside, as (x, z, height)."""
    x, z, y = at
    wide, deep, high = size
    return {
        "objectId": name or f"{label}|{x:+06.2f}|{y:+06.2f}|{z:+06.2f}",
        "name": f"{label}_1a",
        "objectType": label,
        "position": {"x": x, "y": y, "z": z},
        "rotation": {"x": 0.0, "y": 0.0, "z": 0.0},
        "parentReceptacles": None,
        "aabb": {
            "center": {"x": x, "y": y + high / 2, "z": z},
            "size": {"x": wide, "y": high, "z": deep},
        },
        **dict.fromkeys(flags, True),
    }


KITCHEN = [
    object_record("Floor", (2.0, 1.5, 0.0), (4.0, 3.0, 0.01), "receptacle"),
    object_record(
        "Fridge",
        (0.4, 2.6, 0.0),
        (0.8, 0.8, 1.8),
        "receptacle",
        "openable",
        "isColdSource",
    ),
    object_record("CounterTop", (2.4, 2.7, 0.8), (2.4, 0.6, 0.1), "receptacle"),
    object_record(
        *("Microwave", (3.2, 2.7, 0.9), (0.5, 0.4, 0.3)),
        *("receptacle", "openable", "toggleable", "isHeatSource"),
    ),
    object_record("SideTable", (0.4, 0.3, 0.0), (0.8, 0.5, 0.6), "receptacle"),
    object_record(
        "SinkBasin",
        (3.6, 0.3, 0.7),
        (0.5, 0.4, 0.2),
        "receptacle",
        name="Sink|1|SinkBasin",
    ),
    object_record("Faucet", (3.6, 0.1, 0.9), (0.1, 0.1, 0.2), "toggleable"),
    object_record(
        "DeskLamp", (0.2, 0.2, 0.6), (0.2, 0.2, 0.4), "toggleable", "isToggled"
    ),
    object_record("Apple", (2.0, 2.6, 0.9), (0.1, 0.1, 0.1), "pickupable", "sliceable"),
    object_record(
        "Mug", (2.2, 2.6, 0.9), (0.1, 0.1, 0.1), "pickupable", "receptacle", "dirtyable"
    ),
    object_record("Knife", (2.6, 2.6, 0.9), (0.2, 0.05, 0.02), "pickupable"),
    object_record(
        "Spoon", (2.8, 2.6, 0.9), (0.15, 0.03, 0.02), "pickupable", "dirtyable"
    ),
]
POSES = [
    ("Apple", (1.8, 2.6, 0.9)),
    ("Apple", (0.4, 2.5, 0.9)),
    ("Mug", (2.2, 2.6, 0.9)),
    ("Knife", (2.5, 2.6, 0.9)),
    ("Spoon", (2.8, 2.6, 0.9)),
]


def trajectory(kind: str, task_id: str = "trial_1", **more: Any) -> dict[str, Any]:
    """A record; ``more`` holds parameters (``object_target`` …) and fields of its scene."""
    names = ("object_target", "parent_target", "mrecep_target", "toggle_target")
    params = {name: more.pop(name, "") for name in names}
    poses = more.pop("poses", POSES)
    plan = {"high_pddl": [{"planner_action": named} for named in more.pop("plan", ())]}
    messages = [
        {"task_desc": "Put it there. \n", "high_descs": ["Go  there.", "Put it down."]},
        {"task_desc": "Bring it.", "high_descs": []},
    ]
    return {
        "task_id": task_id,
        "task_type": kind,
        "pddl_params": {**params, "object_sliced": more.pop("sliced", False)},
        "plan": plan,
        "turk_annotations": {"anns": messages},
        "scene": {
            "floor_plan": SCENE,
            "init_action": {
                "x": 2.0,
                "z": 1.5,
                "y": 0.9,
                "rotation": 90,
                "horizon": 30,
            },
            "object_poses": [
                {
                    "objectName": f"{label}_1a",
                    "position": {"x": x, "y": y, "z": z},
                    "rotation": {"x": 0.0, "y": 0.0, "z": 0.0},
                }
                for label, (x, z, y) in poses
            ],
            "object_toggles": [{"objectType": "DeskLamp", "isOn": False}],
            "dirty_and_empty": False,
            **more,
        },
    }


def write(folder: Path, *records: Any, split: str = "train") -> Path:
    """The kitchen's files and a split of these records (text is written as it is)."""
    outlines = folder / "ithor" / "langsuite" / "alfred"
    outlines.mkdir(parents=True, exist_ok=True)
    layouts = folder / "alfred" / "layouts"
    layouts.mkdir(parents=True, exist_ok=True)
    objects = json.dumps({SCENE: KITCHEN}).encode()
    (folder / "ithor" / "ithor_scene_objects_120.json.gz").write_bytes(
        gzip.compress(objects)
    )
    corners = [[0.0, 0.0], [0.0, 3.0], [4.0, 3.0], [4.0, 0.0]]
    (outlines / "floor_plan2polygons.json").write_text(json.dumps({SCENE: corners}))
    (outlines / "floor_plan_controlled_objects.json").write_text(
        json.dumps({SCENE: {}})
    )
    cells = [(x / 4, y / 4) for x in range(2, 15) for y in range(4, 9)]
    np.save(layouts / f"{SCENE}-layout.npy", np.array(cells))
    lines = [r if isinstance(r, str) else json.dumps(r) for r in records]
    text = "\n".join(lines).encode()
    (folder / "alfred" / f"traj_{split}.jsonl.gz").write_bytes(gzip.compress(text))
    return folder
