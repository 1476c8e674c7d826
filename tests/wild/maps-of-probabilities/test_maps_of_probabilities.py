"""Occupancy grids of costs, and of probabilities."""

from __future__ import annotations

import zlib
from typing import Any

import pytest

from wayword.core.errors import DataError
from wayword.worlds.objectnav.robot_messages import floor_map

UNKNOWN = 255


def levels_of(rows: list[list[int]]) -> list[list[int]]:
    origin = {
        "position": {"x": 0.0, "y": 0.0},
        "orientation": {"x": 0.0, "y": 0.0, "z": 0.0, "w": 1.0},
    }
    info = {"resolution": 0.05, "width": len(rows[0]), "height": len(rows)}
    message: dict[str, Any] = {
        "info": {**info, "origin": origin},
        "data": [cell for row in rows for cell in row],
    }
    content = zlib.decompress(floor_map(message, "/map").levels)
    width = len(rows[0])
    return [[*content[at : at + width]] for at in range(0, len(content), width)]


@pytest.mark.parametrize(
    ("cells", "right"),
    [
        ([0, 25, 26, 64, 65, 98], [0, 0, UNKNOWN, UNKNOWN, 100, 100]),
        ([100, 72, 30, -1], [100, 100, UNKNOWN, UNKNOWN]),
        # By chance, a probability is that of a cell that is too near an obstacle.
        ([99, 40, 100, 80, 0], [100, UNKNOWN, 100, 100, 0]),
    ],
)
def test_probabilities_have_the_thresholds_of_the_map_saver(
    cells: list[int], right: list[int]
) -> None:
    assert levels_of([cells]) == [right]


@pytest.mark.parametrize(
    "cells",
    [
        [0, 0, 0],
        [0, 100, 0],
        [100, 99, 60, 20, 0],
        [0, 20, 60, 99, 99],
        [100, 100, 99, 98, 1],
    ],
)
def test_costs_are_unchanged(cells: list[int]) -> None:
    assert levels_of([cells]) == [cells]
    assert levels_of([[*cells, -1]]) == [[*cells, UNKNOWN]]


def test_a_map_of_zero_and_one_is_refused() -> None:
    with pytest.raises(DataError, match="0 and 1, not 0 to 100"):
        levels_of([[0, 1, -1]])
