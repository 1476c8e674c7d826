"""The tests' own bridge against a client that was written by others: roslibpy understands it.

In a process of its own, for that library's event loop is one a process.

No server written by others can run here. rosbridge's own is neither on PyPI nor in Debian;
``rosbridge-server-rs`` on PyPI links ROS 2's ``librcl``, which is in neither. The workflow `robots`
runs rosbridge itself.
"""

from __future__ import annotations

import json
import subprocess
import sys

from helpers.rosbridge_server import Robot, serving, started
from wayword.worlds.objectnav.simulated import SimulatedBase, SimulatedScene
from worlds.objectnav.test_finding_world import flat

CLIENT = """
import json, os, sys, threading
import roslibpy

ros = roslibpy.Ros("127.0.0.1", int(sys.argv[1]), transport="asyncio")
ros.run(timeout=20)
came = threading.Event()
seen = {}

def ended(result):
    seen["status"] = result["status"].value
    came.set()

client = roslibpy.ActionClient(ros, "/spin", "nav2_msgs/action/Spin")
client.send_goal(roslibpy.Goal({"target_yaw": 0.5}), ended, lambda feedback: None, ended)
assert came.wait(20)
arrived = threading.Event()

def heard(message):
    seen["frame"] = message["header"]["frame_id"]
    arrived.set()

roslibpy.Topic(ros, "/odom", "nav_msgs/msg/Odometry").subscribe(heard)
assert arrived.wait(20)
service = roslibpy.Service(ros, "/spin/_action/cancel_goal", "action_msgs/srv/CancelGoal")
seen["cancelled"] = service.call(roslibpy.ServiceRequest({}), timeout=20)["return_code"]
print(json.dumps(seen), flush=True)
os._exit(0)
"""


def test_a_foreign_client_turns_the_robot_hears_it_and_cancels() -> None:
    robot = Robot(started(SimulatedBase(SimulatedScene(flat(), {})), 1.0, 1.5, 0.0))
    with serving(robot) as url:
        port = url.rpartition(":")[2]
        done = subprocess.run(
            [sys.executable, "-c", CLIENT, port],
            capture_output=True,
            text=True,
            timeout=120,
        )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"status": 4, "frame": "odom", "cancelled": 0}
    assert robot.base.pose()["heading"] == 331.35211  # half a radian to the left
