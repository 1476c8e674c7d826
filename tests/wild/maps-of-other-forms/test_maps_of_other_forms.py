"""Occupancy grids: what is read, and what is refused with its topic."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from wayword.core.errors import DataError
from wayword.worlds.objectnav.robot_messages import floor_map


def grid(data: list[Any], width: int = 3, **turn: float) -> dict[str, Any]:
    orientation = {"x": 0.0, "y": 0.0, "z": 0.0, "w": 1.0, **turn}
    origin = {"position": {"x": -1.0, "y": -2.0, "z": 0.0}, "orientation": orientation}
    height = len(data) // width if width else 0
    info = {"resolution": 0.05, "width": width, "height": height, "origin": origin}
    return {"header": {"frame_id": "map"}, "info": info, "data": data}


def test_cells_are_read() -> None:
    floor = floor_map(grid([0, 100, -1, 0, 50, 99]), "/map")
    places = np.array([-0.975, -0.925, -0.875])
    assert floor.at(places, np.full(3, -1.975)).tolist() == [0, 100, 255]


@pytest.mark.parametrize(
    ("message", "problem"),
    [
        (grid([], width=0), "the map has no cells yet"),
        (grid([0, 253, 0, 254, 0, 255]), "cells are 0 to 255, not -1 to 100"),
        (grid([0, -128, 0]), "cells are -128 to 0"),
        (grid([0, 0, 0], z=1.0, w=0.0), "the grid is rotated"),
        (grid([0, 0, 0], x=1.0, w=0.0), "the grid is rotated"),
    ],
)
def test_other_maps_are_refused(message: dict[str, Any], problem: str) -> None:
    with pytest.raises(DataError, match=problem) as error:
        floor_map(message, "/map")
    assert "/map" in str(error.value)
