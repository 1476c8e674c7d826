"""Inferred floors against an apartment whose walls are known."""

from __future__ import annotations

import math

import numpy as np
import pytest

from wayword.core.geometry import Box
from wayword.datasets.sources.robothor import (
    GRID,
    SPACING,
    Evidence,
    Floors,
    infer_floors,
    outline,
)
from wayword.worlds.objectnav.ground import Ground

WALL = (3.05, 0.0, 3.15, 2.5)
"""West, south, east, north: between two rooms of 3 m, with a gap at the northern end."""
ROOM = (0.0, 0.0, 6.2, 4.0)
NOTHING = np.zeros((0, 4))


def furnished(*boxes: Box) -> Evidence:
    """What would be published of the apartment with these pieces in it."""
    free = [
        (i * GRID, j * GRID)
        for i in range(26)
        for j in range(17)
        if _stands(i * GRID, j * GRID, boxes)
    ]
    starts = np.array(free)
    routes = np.array([[*free[0], *free[1]]])
    return Evidence(starts, routes, boxes, NOTHING, NOTHING)


def _stands(x: float, y: float, boxes: tuple[Box, ...]) -> bool:
    inside = ROOM[0] + 0.2 <= x <= ROOM[2] - 0.2 and ROOM[1] + 0.2 <= y <= ROOM[3] - 0.2
    return inside and all(_gap(x, y, box) >= 0.2 for box in (WALL, *boxes))


def _gap(x: float, y: float, box: Box) -> float:
    return math.hypot(max(box[0] - x, 0, x - box[2]), max(box[1] - y, 0, y - box[3]))


def at(floors: Floors, cells: np.ndarray, x: float, y: float) -> bool:
    return bool(cells[round((y - floors.y) / SPACING), round((x - floors.x) / SPACING)])


TABLE = (1.0, 1.0, 2.0, 1.6)
BED = (4.0, 0.5, 5.5, 2.0)


@pytest.fixture(scope="module")
def floors() -> Floors:
    return infer_floors([furnished(TABLE), furnished(BED), furnished()])


def test_free_floor_is_where_bodies_were_and_between(floors: Floors) -> None:
    assert at(floors, floors.free[0], 0.6, 0.6)  # between starts
    assert not at(floors, floors.free[0], 1.5, 1.3)  # under the table
    assert at(floors, floors.free[1], 1.5, 1.3)  # not there in another furnishing
    ground = Ground(floors.x, floors.y, floors.free[2], SPACING)
    assert not ground.clear((2.0, 1.0), (4.5, 1.0))
    assert ground.path((2.0, 1.0), [(4.5, 1.0)]) is not None


def test_the_wall_is_found_along_its_length_and_ends_at_the_gap(floors: Floors) -> None:
    for number in range(3):
        for y in np.arange(0.2, 2.3, 0.1):
            row = [
                at(floors, floors.wall[number], x, y)
                for x in np.arange(2.8, 3.45, SPACING)
            ]
            assert any(row), f"the wall lets looks through at y={y:.2f}"
        assert not any(
            at(floors, floors.wall[number], x, 3.2) for x in np.arange(2.5, 3.7, 0.05)
        )


def test_no_wall_stands_where_bodies_or_furniture_are(floors: Floors) -> None:
    assert not (floors.wall & floors.free).any()
    for box, number in ((TABLE, 0), (BED, 1)):
        for x in np.arange(box[0] + 0.1, box[2], 0.2):
            for y in np.arange(box[1] + 0.1, box[3], 0.2):
                assert not at(floors, floors.wall[number], x, y)


def test_a_line_of_sight_that_a_path_proves_opens_the_wall() -> None:
    line = np.array([[2.5, 1.0, 3.7, 1.0]])
    opened = Evidence(furnished().starts, furnished().paths, (), line, NOTHING)
    floors = infer_floors([opened, furnished(BED)])
    assert not any(
        at(floors, floors.wall[0], x, 1.0) for x in np.arange(2.5, 3.7, SPACING)
    )


def test_a_target_near_by_that_is_not_in_view_proves_a_wall() -> None:
    """A cupboard stands along the wall in every furnishing: nothing else proves the wall."""
    along = (2.75, 0.0, 3.0, 2.5)
    blind = furnished(along)
    assert not at(
        infer_floors([blind, blind]), infer_floors([blind, blind]).wall[0], 3.1, 1.0
    )
    line = np.array([[3.4, 1.0, 2.5, 1.0]])
    evidence = Evidence(blind.starts, blind.paths, blind.boxes, NOTHING, line)
    floors = infer_floors([evidence, blind])
    assert any(at(floors, floors.wall[0], x, 1.0) for x in np.arange(3.0, 3.4, SPACING))


def test_the_outline_closes_the_wall_in(floors: Floors) -> None:
    lines = outline(floors, 0)
    assert all(a[0] == b[0] or a[1] == b[1] for a, b in lines)
    crossing = [
        (a, b) for a, b in lines
        if a[0] == b[0] and 2.8 < a[0] < 3.4 and min(a[1], b[1]) < 1.0 < max(a[1], b[1])
    ]  # fmt: skip
    assert len(crossing) == 2, "a line across the wall meets its two sides"
