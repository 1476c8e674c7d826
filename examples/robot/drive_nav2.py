"""Drives a robot with Nav2 and rosbridge a few motions, and then stops driving without a word.

    python examples/robot/drive_nav2.py ws://127.0.0.1:9090

The robot turns, goes 0.6 m, and sets out for 2 m; the process that sent it there is killed, and the
watchdog on the robot has to stop it. Give it 3 m of room and keep a hand on the emergency stop. The
first check that fails ends the program with a message.
"""

import math
import subprocess
import sys
import time

from wayword.core.episode import Episode
from wayword.core.geometry import relative, unit
from wayword.worlds.objectnav.robot import RosBase, RosSettings
from wayword.worlds.objectnav.robot_messages import parse_place
from wayword.worlds.objectnav.rosbridge import Link


def settings(url: str) -> RosSettings:
    return RosSettings(
        url=url, pose_from="tf", costmap="/global_costmap/costmap", image="", speed=0.2
    )


def ahead(base: RosBase, metres: float) -> tuple[float, float]:
    pose = base.pose()
    east, north = unit(pose["heading"])
    return pose["x"] + metres * east, pose["y"] + metres * north


def check(is_right: bool, message: str) -> None:
    if not is_right:
        raise SystemExit(f"failed: {message}")
    print("ok:", message)


def main(url: str) -> None:
    base = RosBase(settings(url))
    base.start(Episode("1", "Drive.", "robot", {}))
    print("starts at", base.pose())
    heading = base.pose()["heading"]
    turned = base.rotate(40.0)
    off = abs(relative(base.pose()["heading"], heading) - 40.0)
    check(
        turned.status == "ok" and off < 20,
        f"turned to the right, {off:.0f} degrees off",
    )
    base.rotate(-40.0)
    goal = ahead(base, 0.6)
    moved = base.go_to(*goal)
    pose = base.pose()
    off = math.dist(goal, (pose["x"], pose["y"]))
    check(moved.status == "ok" and off < 0.35, f"went 0.6 m, {off:.2f} m off: {moved}")
    base.stop()

    link = Link(url)  # it only listens: no heartbeat, and no goal is cancelled by it
    link.subscribe("/odom", "nav_msgs/msg/Odometry")
    link.open()
    before = place(link)
    driver = subprocess.Popen([sys.executable, __file__, url, "away"])
    time.sleep(6.0)
    first = place(link)
    time.sleep(0.5)
    moving = math.dist(first, place(link))
    driver.kill()
    driver.wait()
    check(
        moving > 0.03,
        f"on its way when its driver is killed: {moving:.2f} m in half a second",
    )
    time.sleep(2.5)  # a second of silence, and the way to a halt
    first = place(link)
    time.sleep(1.0)
    slid = math.dist(first, place(link))
    gone = math.dist(before, first)
    link.close()
    check(
        slid < 0.03 and gone < 1.9,
        f"stands still: {slid:.2f} m in a second, {gone:.2f} m gone",
    )


def place(link: Link) -> tuple[float, float]:
    return parse_place(
        link.latest({"/odom": time.monotonic()}, 10.0)["/odom"], "/odom"
    )[:2]


def drive_away(url: str) -> None:
    base = RosBase(settings(url))
    base.start(Episode("1", "Drive.", "robot", {}))
    base.go_to(*ahead(base, 2.0))


if __name__ == "__main__":
    if sys.argv[2:]:
        drive_away(sys.argv[1])
    else:
        main(sys.argv[1])
