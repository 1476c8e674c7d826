"""Depth and pictures from before the robot stood still."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from helpers.rosbridge_server import Message, Robot, serving, transform, until
from wayword.core.errors import DataError
from wayword.worlds.objectnav.robot_messages import Transforms, stamp_of
from worlds.objectnav.test_rosbase import driven, ended, robot_at

NOW = 1_700_000_000.0


def stamped(message: Message, seconds: float, names: tuple[str, str]) -> Message:
    whole, part = divmod(seconds, 1.0)
    stamp = dict(zip(names, (int(whole), round(part * 1e9)), strict=True))
    return {**message, "header": {**message.get("header", {}), "stamp": stamp}}


def robot_with(lag: float, topic: str = "/scan", ros: int = 2) -> Robot:
    """A robot whose frames on a topic are that much older than its pose."""
    names = ("sec", "nanosec") if ros == 2 else ("secs", "nsecs")
    robot = robot_at()
    messages = robot._messages()
    robot.extra = {
        "/odom": stamped(messages["/odom"], NOW, names),
        topic: stamped(messages[topic], NOW - lag, names),
    }
    return robot


def looked(robot: Robot, **changes: Any) -> None:
    with serving(robot) as url:
        world = driven(url, **changes)
        world.observe("agent")
        ended(world)


@pytest.mark.parametrize("ros", [1, 2])
@pytest.mark.parametrize("topic", ["/scan", "/camera/image_raw/compressed"])
def test_a_late_frame_is_not_used_and_the_delay_is_named(topic: str, ros: int) -> None:
    with pytest.raises(DataError, match=r"'header.stamp': is 3\.0 s older") as error:
        looked(robot_with(3.0, topic, ros))
    assert topic in str(error.value)
    assert "dataset.settle" in str(error.value)


@pytest.mark.parametrize("lag", [-0.2, 0.0, 0.25, NOW, NOW - 4_280.9, 3_600.0])
def test_frames_of_now_and_of_other_clocks_are_used(lag: float) -> None:
    looked(robot_with(lag))


def test_a_frame_without_a_stamp_is_used_in_a_simulation_of_half_a_minute() -> None:
    robot = robot_at()
    pose = stamped(robot._messages()["/odom"], 30.0, ("sec", "nanosec"))
    robot.extra = {"/odom": pose}
    looked(robot)


def test_a_robot_that_stood_still_for_longer_may_be_late() -> None:
    looked(robot_with(0.9), settle=0.7)


def test_a_frame_of_now_is_waited_for() -> None:
    robot = robot_with(1.0)
    late = dict(robot.extra)

    def catch_up() -> None:
        until(lambda: robot.connections > 0)
        threading.Event().wait(0.5)
        robot.extra = {**late, "/scan": robot_with(0.1).extra["/scan"]}

    thread = threading.Thread(target=catch_up)
    thread.start()
    looked(robot)
    thread.join()


def test_the_stamp_of_a_place_is_that_of_its_oldest_moving_transform() -> None:
    transforms = Transforms()

    def add(parent: str, child: str, seconds: float, topic: str) -> None:
        message = transform(parent, child, 1.0, 0.0, 0.0)
        message = stamped(message, seconds, ("sec", "nanosec"))
        transforms.add({"transforms": [message]}, topic)

    add("base_link", "laser", 0.0, "/tf_static")
    add("odom", "base_link", 100.0, "/tf")
    add("map", "odom", 101.0, "/tf")  # ahead, by a localizer's tolerance
    assert transforms.place("map", "laser", 0.0)
    assert transforms.stamp == 100.0


@pytest.mark.parametrize("header", [None, {}, {"stamp": None}, {"stamp": {"sec": 0}}])
def test_a_message_without_a_stamp_has_the_stamp_zero(header: Any) -> None:
    assert stamp_of({"header": header}, "/scan") == 0.0
