"""All names that a robot's connection uses are in its namespace, unless they are absolute."""

from __future__ import annotations

from typing import Any

import pytest

from helpers.rosbridge_server import serving
from wayword.core.errors import UsageError
from wayword.worlds.objectnav.base import goto, rotate
from wayword.worlds.objectnav.robot import RosSettings
from worlds.objectnav.test_robot_frames import MOUNT, TF
from worlds.objectnav.test_rosbase import driven, ended, robot_at

EXTRAS = {"battery": "battery_state", "emergency_stop": "stop", "speed": 0.2}


def names_in_use(**settings: Any) -> set[str]:
    """Topics, actions and services of a short drive of a robot under ``/r1``."""
    robot = robot_at(1.0, 1.5, 90.0, namespace="/r1")
    robot.extra |= {
        "/r1/battery_state": {"percentage": 0.9},
        "/r1/stop": {"data": False},
    }
    robot.latched["/r1/tf_static"] = MOUNT
    with serving(robot) as url:
        world = driven(url, namespace="r1", **EXTRAS, **settings)
        assert world.step("agent", rotate(30.0)).ok
        view = world.observe("agent")
        world.step("agent", goto(view.x + 0.5, view.y))
        ended(world)
    used = {*robot.subscribed, *robot.advertised}
    used |= {sent["action"] for sent in robot.log if "action" in sent}
    used |= {sent["service"] for sent in robot.log if "service" in sent}
    return used


@pytest.mark.parametrize("settings", [{}, TF], ids=["odometry", "transforms"])
def test_a_namespace_moves_every_name(settings: dict[str, str]) -> None:
    used = names_in_use(**settings)

    assert {"/r1/speed_limit", "/r1/navigate_to_pose", "/r1/spin"} <= used
    assert {"/r1/tf", "/r1/tf_static"} <= used or not settings
    assert [name for name in used if not name.startswith("/r1/")] == []


def test_absolute_names_stay() -> None:
    resolved = RosSettings(namespace="/r1", tf="/tf", depth="/lidar/scan").resolved()

    assert resolved.tf_topics == ("/tf", "/tf_static")
    assert (resolved.depth, resolved.odometry) == ("/lidar/scan", "/r1/odom")


def test_no_namespace_gives_the_names_of_a_single_robot() -> None:
    resolved = RosSettings(namespace="/").resolved()

    assert (resolved.odometry, resolved.costmap) == ("/odom", "")
    assert resolved.tf_topics == ("/tf", "/tf_static")


@pytest.mark.parametrize("name", ["robot 1", "robot-1", "ws://robot"])
def test_a_name_that_ros_does_not_take_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="namespace must be a ROS name"):
        RosSettings(namespace=name)
