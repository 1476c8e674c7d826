"""What keeps a robot from going on by itself: heartbeat and watchdog, short goals, battery and
emergency stop, and a broken connection that the agent is told of."""

from __future__ import annotations

import importlib.util
import math
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from helpers import ros_node
from helpers.rosbridge_server import serving, until
from wayword.core.errors import UsageError
from wayword.verbalize.objectnav import feedback
from wayword.worlds.objectnav.base import goto, rotate
from wayword.worlds.objectnav.robot import RosSettings
from wayword.worlds.objectnav.rosbridge import RobotError
from worlds.objectnav.test_rosbase import EPISODE, driven, ended, robot_at

ROOT = Path(__file__).parents[3]
BEAT = "/wayword/heartbeat"
CANCELS = ["/navigate_to_pose/_action/cancel_goal", "/spin/_action/cancel_goal"]


@pytest.fixture
def watchdog(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The example node, on the tests' stand-in for rclpy."""
    ros_node.install(monkeypatch)
    path = ROOT / "examples/robot/wayword_watchdog/wayword_watchdog/watchdog.py"
    spec = importlib.util.spec_from_file_location("watchdog", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Watchdog()


def test_the_watchdog_cancels_goals_a_second_after_the_last_heartbeat(
    watchdog: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    ((_, check),) = watchdog.timers

    def after(seconds: float) -> int:
        now[0] += seconds
        before = len(watchdog.called)
        check()
        return len(watchdog.called) - before

    assert after(60.0) == 0, "nobody has driven yet"
    watchdog.listeners[BEAT](None)
    assert after(0.9) == 0
    assert after(0.2) == 2
    assert watchdog.called == CANCELS
    assert after(0.2) == 2, "a goal may have been under way"
    assert after(3.0) == 0, "others may drive"
    assert len(watchdog.warnings) == 1
    watchdog.listeners[BEAT](None)
    assert after(0.5) == 0


DRIVER = """
import sys
from wayword.core.episode import Episode
from wayword.worlds.objectnav.robot import RosBase, RosSettings

base = RosBase(RosSettings(url=sys.argv[1], settle=0.0))
base.start(Episode("1", "Go.", "robot", {}))
base.go_to(3.0, 1.5)
"""


def test_goals_are_cancelled_when_the_driving_process_is_killed(watchdog: Any) -> None:
    robot = robot_at(stall=1)
    with serving(robot) as url:
        driver = subprocess.Popen([sys.executable, "-c", DRIVER, url])
        ((period, check),) = watchdog.timers
        heard = 0

        def spin() -> bool:
            nonlocal heard
            for _, topic, _ in robot.published[heard:]:
                watchdog.listeners[topic](None)
            heard = len(robot.published)
            check()
            time.sleep(period / 2)
            return bool(watchdog.called)

        try:
            assert until(lambda: spin() or robot.goals == 1)
            end = time.monotonic() + 2.5
            while time.monotonic() < end:
                assert not spin(), "the driver lives, and its goal takes long"
            os.kill(driver.pid, signal.SIGKILL)
            killed = time.monotonic()
            assert until(spin, 10.0)
            assert 0.7 < time.monotonic() - killed < 3.0
        finally:
            driver.kill()
            driver.wait()
    assert watchdog.called[:2] == CANCELS


def test_the_heartbeat_beats_while_connected_and_not_where_it_is_turned_off() -> None:
    robot = robot_at()
    with serving(robot) as url:
        world = driven(url)
        assert until(lambda: len(robot.published) >= 4, 10.0)
        ended(world)
        time.sleep(0.1)
        count = len(robot.published)
        assert {topic for _, topic, _ in robot.published} == {BEAT}
        assert robot.advertised == {BEAT: "std_msgs/msg/Empty"}
        time.sleep(0.6)
        assert len(robot.published) == count
        ended(driven(url, heartbeat=""))
        assert len(robot.published) == count


def test_longer_routes_go_in_goals_of_at_most_two_metres() -> None:
    robot = robot_at(1.0, 0.5)
    with serving(robot) as url:
        world = driven(url, farthest=0.6)
        moved = world.step("agent", goto(2.5, 0.5))
        ended(world)
    assert moved.ok
    assert moved.details["metres"] == pytest.approx(1.5, abs=1e-3)
    goals = [reply["args"] for reply in robot.log if reply["op"] == "send_action_goal"]
    places = [goal["pose"]["pose"]["position"]["x"] for goal in goals]
    assert places == pytest.approx([1.5, 2.0, 2.5])
    with pytest.raises(UsageError, match=r"farthest must be at most 2.0, got 5.0"):
        RosSettings(farthest=5.0)


def test_a_long_way_ends_where_a_goal_does_not_succeed() -> None:
    robot = robot_at(1.0, 0.5, refuse=2)
    with serving(robot) as url:
        world = driven(url, farthest=0.6)
        moved = world.step("agent", goto(2.5, 0.5))
        ended(world)
    assert moved.status == "refused"
    assert moved.details["metres"] == pytest.approx(0.5, abs=1e-3)
    assert robot.goals == 2


def test_a_connection_that_broke_while_the_agent_thought_is_shown() -> None:
    robot = robot_at()
    with serving(robot) as url:
        world = driven(url)
        link = world.base.link  # type: ignore[attr-defined]
        link._connection.close()
        assert until(lambda: not link.connected)
        world.observe("agent")  # connects again
        moved = world.step("agent", rotate(30.0))
        assert moved.ok
        assert "before it, the connection broke" in moved.details["reason"]
        assert "before it, the connection broke" in feedback(moved)
        assert "reason" not in world.step("agent", rotate(30.0)).details
        ended(world)


def test_a_lost_motion_is_reported_in_words() -> None:
    robot = robot_at(drop=1)
    with serving(robot) as url:
        world = driven(url)
        lost = world.step("agent", goto(3.0, 1.5))
        ended(world)
    text = feedback(lost)
    assert text.startswith(
        "The robot could not be reached: you went 1.00 m. (the connection broke"
    )


def forward(source: socket.socket, sink: socket.socket, cut: threading.Event) -> None:
    """Bytes from one socket to another, until the line is cut: then nothing, and no word of it."""
    with suppress(OSError):
        while data := source.recv(65536):
            if not cut.is_set():
                sink.sendall(data)


@contextmanager
def a_line_to(url: str, cut: threading.Event) -> Iterator[str]:
    """A relay before a server that can be cut silently: a robot out of its radio's reach."""
    listener = socket.create_server(("127.0.0.1", 0))
    ends: list[socket.socket] = []
    threads: list[threading.Thread] = []

    def accept() -> None:
        with suppress(OSError):
            while True:
                near, _ = listener.accept()
                far = socket.create_connection(
                    ("127.0.0.1", int(url.rpartition(":")[2]))
                )
                ends.extend((near, far))
                for pair in ((near, far), (far, near)):
                    threads.append(threading.Thread(target=forward, args=(*pair, cut)))
                    threads[-1].start()

    accepting = threading.Thread(target=accept)
    accepting.start()
    try:
        yield f"ws://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        accepting.join()
        for end in ends:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        for thread in threads:
            thread.join()
        for end in (*ends, listener):
            end.close()


def test_a_network_that_is_silently_gone_ends_a_motion_in_seconds(
    caplog: pytest.LogCaptureFixture,
) -> None:
    robot = robot_at(stall=1)
    cut = threading.Event()
    with serving(robot) as url, a_line_to(url, cut) as relay:
        world = driven(relay, patience=0.5)
        seconds = [0.0]

        def go() -> None:
            start = time.monotonic()
            with pytest.raises(RobotError, match="no rosbridge at"):
                world.step("agent", goto(3.0, 1.5))
            seconds[0] = time.monotonic() - start

        going = threading.Thread(target=go)
        going.start()
        assert until(lambda: robot.goals == 1)
        cut.set()
        going.join(30)
        assert 0 < seconds[0] < 10, "far below the 20 s that the motion may take"
        client = [line for line in caplog.messages if "keepalive" in line]
        assert not client, "a traceback of the library"


def battery(share: Any) -> dict[str, Any]:
    return {"percentage": share}


def test_an_empty_battery_ends_the_search_before_anything_moves() -> None:
    robot = robot_at()
    robot.extra["/battery_state"] = battery(0.15)
    with (
        serving(robot) as url,
        pytest.raises(RobotError, match=r"the battery is at 15%, below 20%: charge it"),
    ):
        driven(url, battery="/battery_state")
    assert robot.goals == 0


@pytest.mark.parametrize("share", [None, 185.0, "full"])
def test_a_charge_that_is_no_share_ends_the_search(share: Any) -> None:
    robot = robot_at()
    robot.extra["/battery_state"] = battery(share)
    with (
        serving(robot) as url,
        pytest.raises(RobotError, match="must be between 0 and 1"),
    ):
        driven(url, battery="/battery_state")


def test_a_battery_that_runs_low_between_motions_ends_the_search() -> None:
    robot = robot_at()
    robot.extra["/battery_state"] = battery(0.5)
    with serving(robot) as url:
        world = driven(url, battery="/battery_state", least_charge=0.3)
        assert world.step("agent", rotate(30.0)).ok
        robot.extra["/battery_state"] = battery(0.29)
        time.sleep(0.3)
        with pytest.raises(RobotError, match="below 30%"):
            world.step("agent", rotate(30.0))
        with pytest.raises(RobotError, match="below 30%"):
            world.step("agent", rotate(30.0))
        assert robot.goals == 1


def test_the_emergency_stop_cancels_a_motion_under_way_and_it_does_not_go_on_by_itself() -> (
    None
):
    robot = robot_at(stall=1)
    robot.extra["/estop"] = {"data": False}
    with serving(robot) as url:
        world = driven(url, emergency_stop="/estop")

        def press() -> None:
            assert until(lambda: robot.goals == 1)
            robot.extra["/estop"] = {"data": True}

        pressing = threading.Thread(target=press)
        pressing.start()
        with pytest.raises(
            RobotError, match="the emergency stop is pressed: release it"
        ):
            world.step("agent", goto(3.0, 1.5))
        pressing.join()
        ops = [reply["op"] for reply in robot.log]
        after = ops[ops.index("send_action_goal") + 1 :]
        assert after == ["cancel_action_goal", "call_service", "call_service"]
        robot.extra["/estop"] = {"data": False}
        with pytest.raises(RobotError, match="the emergency stop is pressed"):
            world.step("agent", goto(3.0, 1.5))
        assert robot.goals == 1
        # The next search begins without it, by the same connection.
        world.reset(EPISODE)
        assert world.step("agent", rotate(30.0)).ok
        # It is stopped like the first.
        robot.extra["/estop"] = {"data": True}

        def turn() -> None:
            for _ in range(20):
                world.step("agent", rotate(30.0))

        with pytest.raises(RobotError, match="the emergency stop is pressed"):
            turn()


def test_a_pressed_stop_that_is_shown_once_is_known_to_the_next_search_too() -> None:
    robot = robot_at()
    robot.latched["/estop"] = {"data": True}
    with serving(robot) as url:
        for _ in range(2):
            with pytest.raises(RobotError, match="the emergency stop is pressed"):
                driven(url, emergency_stop="/estop")
    assert robot.goals == 0


def test_a_watched_topic_that_is_silent_ends_the_search() -> None:
    with (
        serving(robot_at()) as url,
        pytest.raises(RobotError, match="sent nothing on /estop"),
    ):
        driven(url, emergency_stop="/estop", answer=0.4)


def test_the_speed_limit_is_sent_before_each_goal() -> None:
    robot = robot_at()
    with serving(robot) as url:
        world = driven(url, speed=0.3, heartbeat="")
        world.step("agent", rotate(30.0))
        world.step("agent", goto(1.5, 1.5))
        ended(world)
    limit = {"percentage": False, "speed_limit": 0.3}
    assert [(topic, text) for _, topic, text in robot.published] == [
        ("/speed_limit", limit)
    ] * 2
    assert robot.advertised == {"/speed_limit": "nav2_msgs/msg/SpeedLimit"}
    with pytest.raises(UsageError, match=r"speed must be at least 0.0, got -1.0"):
        RosSettings(speed=-1.0)
    assert math.isclose(RosSettings().speed, 0.0)
