"""A transform with null is ignored, alone."""

from __future__ import annotations

from typing import Any

from wayword.worlds.objectnav.robot_messages import Transforms


def transform(parent: str, child: str, x: float | None) -> dict[str, Any]:
    return {
        "header": {"frame_id": parent},
        "child_frame_id": child,
        "transform": {
            "translation": {"x": x, "y": 0.0, "z": 0.0},
            "rotation": {"x": 0.0, "y": 0.0, "z": 0.0, "w": 1.0},
        },
    }


def test_the_other_transforms_are_read() -> None:
    transforms = Transforms()
    sent = [transform("base_link", "camera", None), transform("map", "base_link", 3.0)]
    transforms.add({"transforms": sent}, "/tf")
    assert transforms.place("map", "base_link", 0.0) == (3.0, 0.0, 90.0)
    assert transforms.place("map", "camera", 0.0) is None
