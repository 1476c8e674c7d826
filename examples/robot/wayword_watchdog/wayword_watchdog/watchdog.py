"""A node for the robot: cancels Nav2's goals when Wayword's heartbeat stops.

    ros2 run wayword_watchdog watchdog --ros-args -p timeout:=1.0
    ros2 run wayword_watchdog watchdog --ros-args -r __ns:=/robot1

Before the first heartbeat it does nothing: someone else may be driving. After the last one it
cancels all goals for three seconds, as one may still be on its way through the bridge.
"""

import time

import rclpy
from action_msgs.srv import CancelGoal
from rclpy.node import Node
from std_msgs.msg import Empty

CANCELING = 3.0  # seconds of canceling, from the moment the heartbeat counts as lost


class Watchdog(Node):
    def __init__(self) -> None:
        super().__init__("wayword_watchdog")
        self.timeout = float(self.declare_parameter("timeout", 1.0).value)
        topic = self.declare_parameter("heartbeat", "wayword/heartbeat").value
        actions = self.declare_parameter("actions", ["navigate_to_pose", "spin"]).value
        self.services = [
            self.create_client(CancelGoal, f"{action}/_action/cancel_goal")
            for action in actions
        ]
        self.last = None  # monotonic, so that neither simulated time nor a clock set back counts
        self.is_lost = False
        self.create_subscription(Empty, topic, self.on_heartbeat, 10)
        self.create_timer(0.1, self.check)

    def on_heartbeat(self, _message: Empty) -> None:
        self.last, self.is_lost = time.monotonic(), False

    def check(self) -> None:
        silence = 0.0 if self.last is None else time.monotonic() - self.last
        if not self.timeout < silence < self.timeout + CANCELING:
            return
        if not self.is_lost:
            self.is_lost = True
            self.get_logger().warning(
                f"no heartbeat for {silence:.1f} s: canceling all goals"
            )
        for service in self.services:
            service.call_async(CancelGoal.Request())  # no ID and no time: every goal


def main() -> None:
    rclpy.init()
    rclpy.spin(Watchdog())
