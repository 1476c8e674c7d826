"""Scans whose fields contradict each other are refused; those of real drivers are read."""

from __future__ import annotations

import math
from typing import Any

import pytest

from wayword.core.errors import DataError
from wayword.worlds.objectnav.robot_messages import scan_depth

EYE = 0.9
REACH = 5.0
STEP = 2 * math.pi / 720


def scan(**fields: Any) -> dict[str, Any]:
    message = {
        "ranges": [2.0] * 720,
        "angle_min": -math.pi,
        "angle_max": math.pi,
        "angle_increment": STEP,
        "range_min": 0.1,
        "range_max": 12.0,
    }
    return message | fields


READ = {
    "one reading fewer than angles": {},
    "ten readings fewer": {"ranges": [2.0] * 710},
    "a clockwise scan": {
        "angle_min": math.pi, "angle_max": -math.pi, "angle_increment": -STEP
    },
    "no angle_max": {"angle_max": 0.0},
    "a null": {"angle_max": None},
    "a scan that ends ahead": {"ranges": [2.0] * 361, "angle_max": 0.0},
}  # fmt: skip


@pytest.mark.parametrize("name", READ)
def test_scans_of_real_drivers_are_read(name: str) -> None:
    assert scan_depth(scan(**READ[name]), "/scan", EYE, REACH).measured().any()


REFUSED = {
    "the sign of the increment": {"angle_min": math.pi, "angle_max": -math.pi},
    "every second reading": {"ranges": [2.0] * 360},
    "no angle": {"angle_max": math.nan},
    "an infinite angle": {"angle_max": math.inf},
}


@pytest.mark.parametrize("name", REFUSED)
def test_angles_that_contradict_each_other_are_refused(name: str) -> None:
    with pytest.raises(DataError, match=r"^/scan: field 'angle_increment'.*angle_max"):
        scan_depth(scan(**REFUSED[name]), "/scan", EYE, REACH)
