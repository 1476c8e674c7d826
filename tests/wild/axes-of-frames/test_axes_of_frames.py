"""Frames with other axes are refused, and those with a slash are found."""

from __future__ import annotations

from typing import Any

import pytest

from wayword.core.errors import DataError, UsageError
from wayword.worlds.objectnav.robot import RosBase, RosSettings
from wayword.worlds.objectnav.robot_messages import check_axes, parse_frame


def frame_of(name: str) -> str:
    return parse_frame({"header": {"frame_id": name}})


@pytest.mark.parametrize(
    "name",
    [
        *("odom_ned", "/map_ned", "base_link_frd", "camera_optical_frame"),
        *("camera_init", "/robot/camera_init", "NED", "odom/ned", "world_NED"),
    ],
)
def test_a_frame_with_other_axes_is_refused(name: str) -> None:
    with pytest.raises(DataError, match="whose axes point") as error:
        check_axes(frame_of(name), "/odom")
    assert name.lstrip("/") in str(error.value)


@pytest.mark.parametrize(
    "name",
    [
        *("odom", "/odom", "map_enu", "ned_robot/odom", ""),
        *("tuned", "optical_flow_odom", "camera_init_odom", "camera_link"),
    ],
)
def test_other_frames_are_read(name: str) -> None:
    check_axes(frame_of(name), "/odom")


def transform(parent: str, child: str, x: float) -> dict[str, Any]:
    shift = {"x": x, "y": 0.0, "z": 0.0}
    turn = {"x": 0.0, "y": 0.0, "z": 0.0, "w": 2.0}  # not normalized
    return {
        "header": {"frame_id": parent},
        "child_frame_id": child,
        "transform": {"translation": shift, "rotation": turn},
    }


@pytest.mark.parametrize("slash", ["", "/"])
def test_a_slash_before_a_frame_changes_nothing(slash: str) -> None:
    settings = RosSettings(
        pose_from="tf", map_frame=f"{slash}map", body_frame=f"{slash}base_link"
    )
    base = RosBase(settings)
    base._on_message("/tf_static", {"transforms": [transform("map", "odom", 1.0)]})
    base._on_message("/tf", {"transforms": [transform("/odom", "/base_link", 1.0)]})
    frames = (base.settings.map_frame, base.settings.body_frame)
    assert base.transforms.place(*frames, after=0.0) == (2.0, 0.0, 90.0)


@pytest.mark.parametrize("name", ["1robot", "a/2", "robot-1", "~"])
def test_a_name_that_ros_refuses_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="must be a ROS name"):
        RosSettings(namespace=name)


@pytest.mark.parametrize("name", ["robot1", "/a/b/", "//robot1"])
def test_a_namespace_has_any_slashes(name: str) -> None:
    topic = RosSettings(namespace=name).resolved().odometry
    assert topic == f"/{name.strip('/')}/odom"
