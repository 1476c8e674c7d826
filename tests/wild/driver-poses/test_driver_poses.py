"""Quaternions, transforms and frames as real drivers send them."""

from __future__ import annotations

import math
from typing import Any

import pytest

from helpers.rosbridge_server import transform
from wayword.core.errors import DataError
from wayword.worlds.objectnav.robot_messages import (
    Transforms,
    parse_frame,
    parse_place,
    ros_pose,
)


def odometry(scale: float) -> dict[str, Any]:
    pose = ros_pose(1.0, 2.0, 30.0)
    pose["orientation"] = {k: v * scale for k, v in pose["orientation"].items()}
    return {"pose": {"pose": pose}}


@pytest.mark.parametrize("scale", [1.0, 0.5, 1.02, 3.0, -1.0])
def test_a_quaternion_of_any_length_is_the_same_heading(scale: float) -> None:
    assert parse_place(odometry(scale), "/odom") == pytest.approx((1.0, 2.0, 30.0))


@pytest.mark.parametrize("scale", [0.0, math.nan, math.inf])
def test_a_quaternion_that_is_no_rotation_is_an_error_with_its_topic(
    scale: float,
) -> None:
    with pytest.raises(DataError, match=r"^/odom: field 'pose'"):
        parse_place(odometry(scale), "/odom")


@pytest.mark.parametrize("bad", [0.0, math.nan, math.inf])
def test_one_invalid_transform_does_not_hide_the_others(bad: float) -> None:
    invalid = transform("camera", "gyro", 0.0, 0.0, 0.0)
    invalid["transform"]["rotation"] = dict.fromkeys("xyzw", bad)
    valid = transform("odom", "base_link", 1.0, 2.0, 90.0)
    transforms = Transforms()
    transforms.add({"transforms": [invalid, valid]}, "/tf")
    assert transforms.place("odom", "base_link", 0.0) == pytest.approx((1.0, 2.0, 0.0))


def test_the_slash_before_a_frame_is_dropped() -> None:
    assert parse_frame({"header": {"frame_id": "/odom"}}) == "odom"
    assert parse_frame({"header": {"frame_id": "robot1/odom"}}) == "robot1/odom"


def turned(x: float, y: float, z: float, w: float) -> dict[str, Any]:
    message = odometry(1.0)
    message["pose"]["pose"]["orientation"] = {"x": x, "y": y, "z": z, "w": w}
    return message


@pytest.mark.parametrize(
    "quaternion",
    [(-0.5, 0.5, -0.5, 0.5), (0.7071, 0.0, 0.0, 0.7071), (0.0, -0.7071, 0.0, 0.7071)],
    ids=["optical", "rolled", "pitched"],
)
def test_a_pose_on_its_side_is_no_heading(quaternion: tuple[float, ...]) -> None:
    with pytest.raises(DataError, match=r"/pose.* tilted by 90 degrees"):
        parse_place(turned(*quaternion), "/pose")
    message = transform("odom", "camera", 1.0, 2.0, 0.0)
    message["transform"]["rotation"] = dict(zip("xyzw", quaternion, strict=True))
    transforms = Transforms()
    transforms.add({"transforms": [message]}, "/tf")
    with pytest.raises(DataError, match=r"camera.* tilted by 90"):
        transforms.place("odom", "camera", 0.0)


@pytest.mark.parametrize(
    "quaternion",
    [(0.2588, 0.0, 0.0, 0.9659), (0.0, 0.2588, 0.0, 0.9659), (1.0, 0.0, 0.0, 0.0)],
    ids=["on a slope", "on a ramp", "upside down"],
)
def test_a_tilted_body_has_the_heading_of_its_front(
    quaternion: tuple[float, ...],
) -> None:
    assert parse_place(turned(*quaternion), "/pose")[2] == pytest.approx(90.0)
