"""Geometry: array versions agree with the plain ones, and paths lose the corners they can."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from wayword.core.geometry import (
    angles_apart,
    apparent_size,
    bearing,
    bearings,
    box_distance,
    elevation,
    elevations,
    grid_index,
    grid_lookup,
    point_segment_distance,
    relative,
    segment_distances,
    string_pull,
    unit,
)

RNG = random.Random(3)
POINTS = [(RNG.uniform(-5, 5), RNG.uniform(-5, 5)) for _ in range(200)]


@pytest.mark.parametrize(
    ("end", "heading"),
    [
        ((0, 2), 0),
        ((2, 2), 45),
        ((2, 0), 90),
        ((0, -1), 180),
        ((-3, 0), 270),
        ((0, 0), 0),
    ],
)
def test_bearings_are_clockwise_from_north(
    end: tuple[float, float], heading: float
) -> None:
    assert bearing((0, 0), end) == pytest.approx(heading)


def test_a_step_along_a_bearing_leads_to_the_point() -> None:
    for x, y in POINTS:
        east, north = unit(bearing((1, -2), (x, y)))
        away = math.dist((1, -2), (x, y))
        assert (1 + away * east, -2 + away * north) == pytest.approx((x, y))


def test_array_angles_agree_with_plain_ones() -> None:
    xs, ys = np.array(POINTS).T
    headings = bearings(xs, ys)
    assert [h % 360 for h in headings] == pytest.approx(
        [bearing((0, 0), p) for p in POINTS]
    )
    off = angles_apart(headings, 350.0)
    assert off == pytest.approx(
        [abs(relative(bearing((0, 0), p), 350.0)) for p in POINTS]
    )
    assert elevations(xs, abs(ys)) == pytest.approx(
        [elevation(x, abs(y)) for x, y in POINTS]
    )


def test_an_object_at_eye_level_appears_as_wide_as_high() -> None:
    wide, high = apparent_size(2.0, -1.0, 1.0, 1.0)
    assert (wide, high) == pytest.approx((90.0, 90.0))


def test_distances_to_segments_agree_one_by_one_and_at_once() -> None:
    a = (-1.0, 0.5)
    b = (2.0, 3.0)
    one_by_one = [point_segment_distance(*p, *a, *b) for p in POINTS]
    assert segment_distances(*np.array(POINTS).T, *a, *b) == pytest.approx(one_by_one)
    assert point_segment_distance(0, 2, *a, *b) == pytest.approx(0.5121475197)
    assert segment_distances(3.0, 4.0, 0.0, 0.0, 0.0, 0.0) == pytest.approx(
        5.0
    )  # no length


def test_distance_to_a_box_is_nought_inside() -> None:
    assert box_distance(1, 1, (0, 0, 2, 2)) == 0.0
    assert box_distance(5, 6, (0, 0, 2, 2)) == 5.0


def test_a_point_between_two_cells_belongs_to_the_upper_one_despite_rounding() -> None:
    below = 0.15 - 1e-12
    assert grid_index(below, 0.0, 0.1) == grid_index(0.15, 0.0, 0.1) == 2
    cells = np.array([[False, False, True]])
    x = np.array([below, 0.149])
    assert grid_lookup(cells, x, np.zeros(2), (0.0, 0.0), 0.1).tolist() == [True, False]


def test_string_pulling_keeps_the_ends_and_only_clear_lines() -> None:
    path = [(0, 0), (1, 0), (2, 0), (2, 1), (2, 2)]

    def along_an_axis(a: tuple[int, int], b: tuple[int, int]) -> bool:
        return a[0] == b[0] or a[1] == b[1]

    for coarse in (False, True):
        assert string_pull(path, along_an_axis, coarse) == [(0, 0), (2, 0), (2, 2)]
        assert string_pull(path, lambda a, b: True, coarse) == [(0, 0), (2, 2)]
        assert string_pull(path, lambda a, b: False, coarse) == path
        assert string_pull(path[:1], along_an_axis, coarse) == path[:1]


def test_coarse_string_pulling_asks_far_less() -> None:
    request_counts = {False: 0, True: 0}

    def pulled(coarse: bool) -> list[int]:
        def clear(a: int, b: int) -> bool:
            request_counts[coarse] += 1
            return b - a <= 3

        return string_pull(range(200), clear, coarse)

    assert pulled(False) == pulled(True)
    assert request_counts[True] * 4 < request_counts[False]


@pytest.mark.parametrize("error", [0.0, 3e-14, -3e-14])
def test_a_half_turn_is_to_the_right_whatever_the_last_bits_of_a_heading(
    error: float,
) -> None:
    for facing in (0.0, 33.7, 180.0, 270.0):
        turn = relative(facing + 180.0 + error, facing)
        assert f"{turn:.2f}" == "180.00"
