"""Readings at and beyond the range of a laser."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from wayword.core.errors import DataError
from wayword.worlds.objectnav.observation import DepthImage
from wayword.worlds.objectnav.robot_messages import scan_depth

COUNT = 181


def depth(ranges: list[float], **fields: Any) -> DepthImage:
    message = {
        "angle_min": -math.pi / 2,
        "angle_max": math.pi / 2,
        "angle_increment": math.pi / (COUNT - 1),
        "range_min": 0.1,
        "range_max": 3.5,
        "ranges": ranges,
        **fields,
    }
    return scan_depth(message, "/scan", 0.9, 5.0)


def test_readings_of_the_largest_distance_are_no_wall() -> None:
    image = depth([3.5] * 90 + [1.0] * 91)
    level = image.metres()[0]
    assert np.isfinite(level).sum() == pytest.approx(46, abs=1)
    assert image.measured().all()


def test_the_farthest_wall_may_be_at_the_largest_distance() -> None:
    image = depth([*np.linspace(1.0, 3.5, COUNT)])
    assert np.isfinite(image.metres()[0]).all()


@pytest.mark.parametrize("no_hit", [math.inf, 3.5])
def test_nothing_is_known_beyond_the_range(no_hit: float) -> None:
    assert depth([no_hit] * COUNT).reach == 3.5
    assert depth([2.0] * COUNT, range_max=30.0).reach == 5.0
    assert depth([2.0] * COUNT, range_max=None).reach == 5.0


def test_a_least_range_in_millimetres_is_refused() -> None:
    with pytest.raises(DataError, match="'range_min': is 20 m: its unit"):
        depth([90.0] * COUNT, range_min=20.0, range_max=12000.0)


@pytest.mark.parametrize("least", [3.5, 5.0])
def test_a_range_without_distances_is_refused(least: float) -> None:
    with pytest.raises(DataError, match=r"'range_min': .* no distance is between"):
        depth([3.5] * COUNT, range_min=least)


@pytest.mark.parametrize("reading", [math.nan, 0.05, 40.0, -math.inf])
def test_a_reading_that_is_no_distance_is_unknown(reading: float) -> None:
    image = depth([reading] * 90 + [1.0] * 91)
    assert not image.measured()[0, -1]
    assert image.measured()[0, 0]


def test_a_missing_angle_is_named() -> None:
    with pytest.raises(DataError, match="angle_min, angle_increment"):
        depth([2.0] * COUNT, angle_increment=None)
