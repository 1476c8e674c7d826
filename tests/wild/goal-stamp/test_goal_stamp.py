"""Every goal of a motion carries the stamp zero, whichever leg of it is sent."""

from __future__ import annotations

from helpers.rosbridge_server import serving
from wayword.worlds.objectnav.base import goto
from worlds.objectnav.test_rosbase import driven, ended, robot_at


def test_goals_carry_the_stamp_zero() -> None:
    robot = robot_at(heading=0.0)
    with serving(robot) as url:
        world = driven(url, farthest=1.0)
        assert world.step("agent", goto(3.0, 1.5)).ok
        ended(world)

    poses = [
        sent["args"]["pose"] for sent in robot.log if sent["op"] == "send_action_goal"
    ]
    assert len(poses) == 2, "two legs"
    assert [pose["header"]["stamp"] for pose in poses] == [{"sec": 0, "nanosec": 0}] * 2
