"""A robot over a real websocket: frames, motions, and what is done when something breaks."""

from __future__ import annotations

import asyncio
import base64
import math
import os
import signal
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from helpers.rosbridge_server import Robot, serving, started, until
from wayword.core import interrupts
from wayword.core.action import STOP, Action
from wayword.core.episode import Episode
from wayword.core.errors import DataError, UsageError
from wayword.settings import make
from wayword.worlds.objectnav import robot as ros
from wayword.worlds.objectnav import robot_messages, rosbridge
from wayword.worlds.objectnav.base import Base, goto, rotate
from wayword.worlds.objectnav.observation import clear_ahead
from wayword.worlds.objectnav.robot import (
    TOKEN_VARIABLE,
    RosBase,
    RosSettings,
    SharedRobotWorld,
)
from wayword.worlds.objectnav.rosbridge import Link, RobotError
from wayword.worlds.objectnav.simulated import SimulatedBase, SimulatedScene
from wayword.worlds.objectnav.world import ObjectNavWorld
from worlds.objectnav.test_finding_world import flat

EPISODE = Episode("1", "Find the cat-shaped mug.", "robot", {})
QUICK = RosSettings(settle=0.0, throttle=0, answer=20.0, motion=20.0, patience=20.0)


def simulated(x: float, y: float, heading: float) -> SimulatedBase:
    return started(
        SimulatedBase(SimulatedScene(flat(), {"mug": "cat-shaped mug"})), x, y, heading
    )


def robot_at(
    x: float = 1.0,
    y: float = 1.5,
    heading: float = 0.0,
    namespace: str = "",
    **faults: int,
) -> Robot:
    numbered = {number: fault for fault, number in faults.items()}
    return Robot(simulated(x, y, heading), numbered, namespace)


def driven(url: str, **changes: Any) -> ObjectNavWorld:
    world = ObjectNavWorld(RosBase(replace(QUICK, url=url, **changes)))
    world.reset(EPISODE)
    return world


def ended(world: ObjectNavWorld) -> Mapping[str, Any]:
    world.step("agent", Action("stop"))
    return world.state()


def test_it_goes_and_turns_as_the_simulated_base_under_it_does() -> None:
    robot = robot_at(heading=30.0)
    with serving(robot) as url:
        world = driven(url)
        assert isinstance(world.base, Base)
        assert world.pose("agent") == {"x": 1.0, "y": 1.5, "heading": 30.0}
        assert world.step("agent", rotate(90.0)).ok
        assert world.pose("agent")["heading"] == pytest.approx(120.0)
        assert world.step("agent", goto(3.0, 1.0)).ok
        view = world.observe("agent")
        assert (view.x, view.y) == pytest.approx((3.0, 1.0))
        assert view.heading == pytest.approx(robot.base.pose()["heading"])
        blocked = world.step("agent", goto(3.0, 9.0))
        assert (blocked.status, blocked.details["reason"]) == ("blocked", "aborted")
        state = ended(world)
    assert state["stopped"]
    assert state["metres"] == pytest.approx(robot.base.report()["metres"], abs=0.01)
    assert (state["bumps"], state["lost"], state["reconnections"]) == (1, 0, 0)


def test_goals_are_sent_in_the_frame_and_units_of_ros() -> None:
    robot = robot_at(heading=0.0)
    with serving(robot) as url:
        world = driven(url)
        world.step("agent", rotate(90.0))
        world.step("agent", goto(3.0, 1.5))
        ended(world)
    spin, go = [reply for reply in robot.log if reply["op"] == "send_action_goal"]
    assert spin["args"]["target_yaw"] == pytest.approx(
        -math.pi / 2
    )  # right is clockwise
    pose = go["args"]["pose"]
    assert pose["header"]["frame_id"] == "odom"
    assert pose["pose"]["position"] == {"x": 3.0, "y": 1.5, "z": 0.0}
    turned = pose["pose"]["orientation"]  # east is ROS's x: no turn at all
    assert (turned["z"], turned["w"]) == pytest.approx((0.0, 1.0), abs=1e-9)


def test_depth_from_the_laser_agrees_with_the_walls() -> None:
    with serving(robot_at(1.0, 1.0, 270.0)) as url:
        world = driven(url)
        depth = world.observe("agent").depth
        ended(world)
    level = depth.metres()[depth.elevations.index(0.0)]
    for bearing in (-21.0, 1.0, 21.0):
        found = level[depth.bearings.index(bearing)]
        assert found == pytest.approx(1.0 / math.cos(math.radians(bearing)), abs=0.04)
    assert clear_ahead(depth, 0.9, 0.0) == pytest.approx(1.0, abs=0.03)


def test_a_connection_that_breaks_on_the_way_is_found_again_and_goals_are_cancelled() -> (
    None
):
    robot = robot_at(drop=1)
    with serving(robot) as url:
        world = driven(url)
        lost = world.step("agent", goto(3.0, 1.5))
        assert lost.status == "lost"
        assert "the connection broke" in lost.details["reason"]
        assert lost.details["metres"] == pytest.approx(1.0)
        assert world.pose("agent")["x"] == pytest.approx(2.0)  # half way, and known
        after = robot.log[
            [reply["op"] for reply in robot.log].index("send_action_goal") + 1 :
        ]
        cancelled = [
            reply["service"] for reply in after if reply["op"] == "call_service"
        ]
        assert cancelled == [
            "/navigate_to_pose/_action/cancel_goal",
            "/spin/_action/cancel_goal",
        ]
        assert world.step(
            "agent", goto(3.0, 1.5)
        ).ok  # the robot was never told twice by itself
        state = ended(world)
    assert robot.goals == 2
    assert (state["lost"], state["reconnections"]) == (1, 1)


def test_a_refused_goal_says_why() -> None:
    robot = robot_at(refuse=1)
    with serving(robot) as url:
        world = driven(url)
        refused = world.step("agent", goto(3.0, 1.5))
        ended(world)
    assert (refused.status, refused.details["reason"]) == (
        "refused",
        "Action goal was rejected",
    )
    assert refused.details["metres"] == 0.0


@pytest.mark.parametrize(
    ("fault", "status"), [("ignore", "lost"), ("stall", "blocked")]
)
def test_a_goal_that_never_ends_is_cancelled_in_time(fault: str, status: str) -> None:
    robot = robot_at(**{fault: 1})
    with serving(robot) as url:
        world = driven(url, motion=0.6)
        late = world.step("agent", goto(3.0, 1.5))
        ended(world)
    assert late.status == status
    assert "cancelled after 0.6 s" in late.details["reason"]
    (goal,) = [reply for reply in robot.log if reply["op"] == "send_action_goal"]
    assert [s["id"] for s in robot.log if s["op"] == "cancel_action_goal"] == [
        goal["id"]
    ]


def interrupted_under_way(robot: Robot) -> threading.Thread:
    """Ctrl-C once the robot has its goal."""

    def interrupt() -> None:
        assert until(
            lambda: any(reply["op"] == "send_action_goal" for reply in robot.log)
        )
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    return thread


def step(world: ObjectNavWorld) -> None:
    world.step("agent", goto(3.0, 1.5))


def step_in_a_loop(world: ObjectNavWorld) -> None:
    """As agents that never wait do it: one motion after the other, the loop gets no turn."""

    async def work() -> None:
        while True:
            step(world)

    async def run() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(work())

    asyncio.run(run())


@pytest.mark.parametrize("move", [step, step_in_a_loop])
def test_ctrl_c_stops_the_robot_at_once(move: Callable[[ObjectNavWorld], None]) -> None:
    robot = robot_at(stall=1)
    with serving(robot) as url:
        world = driven(url)
        interrupting = interrupted_under_way(robot)
        with pytest.raises(KeyboardInterrupt):
            move(world)
        interrupting.join()
        ops = [reply["op"] for reply in robot.log]
        after = ops[ops.index("send_action_goal") + 1 :]
        assert after == ["cancel_action_goal", "call_service", "call_service"]
        ended(world)


@pytest.mark.parametrize("connects", [True, False], ids=["deciding", "connecting"])
def test_ctrl_c_counts_while_no_motion_waits(connects: bool) -> None:
    """Between two motions only the run listens, and asyncio cancels at the episode's end."""
    robot = robot_at()

    async def run() -> None:
        with interrupts.listening():
            world = driven(url) if connects else ObjectNavWorld(base)
            signal.raise_signal(signal.SIGINT)
            if connects:
                step(world)
            else:
                world.reset(EPISODE)

    with serving(robot) as url:
        base = RosBase(RosSettings(url="ws://127.0.0.1:9", patience=60.0))
        with pytest.raises(KeyboardInterrupt):
            asyncio.run(run())
    ops = [reply["op"] for reply in robot.log]
    assert "send_action_goal" not in ops
    assert ops[-2:] == (["call_service", "call_service"] if connects else [])


def test_a_silent_topic_ends_the_episode_in_one_line() -> None:
    robot = robot_at()
    with serving(robot) as url:
        robot.silent.add("/scan")
        world = driven(url, answer=0.5)
        with pytest.raises(
            RobotError, match=r"sent nothing on /scan for 0.5 s; check dataset.depth"
        ):
            world.observe("agent")


def test_a_bridge_that_is_gone_for_good_ends_the_episode_in_one_line() -> None:
    with serving(robot_at()) as url:
        world = driven(url, patience=0.4)
    broke = "the connection broke and could not be reopened: no rosbridge at ws://127"
    with pytest.raises(RobotError, match=broke):
        world.step("agent", goto(3.0, 1.5))


def test_a_first_connection_that_is_refused_is_not_awaited_for_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(rosbridge, "REFUSED_SECONDS", 0.3)
    link = Link("ws://127.0.0.1:1", patience=60.0)
    start = time.monotonic()
    with pytest.raises(RobotError, match=r"within 0.3 s \(ConnectionRefusedError"):
        link.open()
    assert time.monotonic() - start < 5.0


def test_stop_cancels_every_goal_and_hangs_up() -> None:
    robot = robot_at()
    with serving(robot) as url:
        world = driven(url)
        before = len(robot.log)
        assert ended(world)["stopped"]
        assert [reply["op"] for reply in robot.log[before:]] == ["call_service"] * 2
        assert not world.base.link.connected  # type: ignore[attr-defined]


def test_one_episode_drives_at_a_time() -> None:
    robot = robot_at()
    with serving(robot) as url:
        settings = replace(QUICK, url=url)
        drivers = list[SharedRobotWorld]()
        link = Link(url)
        first, second = (
            SharedRobotWorld(RosBase(settings, link), drivers) for _ in range(2)
        )
        first.reset(EPISODE)
        second.reset(EPISODE)
        for action in (rotate(30.0), STOP):
            with pytest.raises(RobotError, match="only one can drive it"):
                first.step("agent", action)
        assert robot.goals == 0
        assert link.connected, (
            "whoever has had the robot does not hang up on whoever has it"
        )
        assert second.step("agent", rotate(30.0)).ok
        ended(second)


def test_a_token_is_sent_and_kept_out_of_the_settings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(TOKEN_VARIABLE, "sesame")
    robot = robot_at()
    with serving(robot) as url:
        ended(driven(url))
    assert robot.headers[0]["Authorization"] == "Bearer sesame"
    assert "sesame" not in repr(QUICK)


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("http://127.0.0.1", "url must be an address"),
        ("ws://", "url must be an address"),
        ("ws://127.0.0.1:port", "url must be an address .*port"),
        ("ws://127.0.0.1:99999", "url must be an address .*0-65535"),
        ("ws://127.0.0.1:0", "url must be an address"),
        ("ws://[::1:9097", "url must be an address .*IPv6"),
        ("ws://me:secret@[::1", "remove the password from the address"),
        ("ws://robot.local:9090", "is not encrypted"),
        ("wss://me:secret@robot.local", "remove the password from the address"),
    ],
)
def test_unsafe_addresses_are_refused(url: str, message: str) -> None:
    with pytest.raises(UsageError, match=message) as error:
        RosSettings(url=url)
    assert "secret" not in str(error.value)
    with pytest.raises(UsageError, match=f"^robot: .*{message}"):
        make(RosSettings, {"url": url}, "robot")
    RosSettings(url="wss://robot.local:9090")
    RosSettings(url="ws://robot.local:9090", plain=True)


@pytest.mark.parametrize("heading", [0.0, 45.0, 90.0, 200.0, 359.0])
def test_places_survive_the_way_to_ros_and_back(heading: float) -> None:
    pose = robot_messages.ros_pose(1.0, -2.0, heading)
    assert robot_messages.parse_place({"pose": pose}, "/pose") == pytest.approx(
        (1.0, -2.0, heading)
    )


@pytest.mark.parametrize(
    "message", [{}, {"pose": 1}, {"pose": {"pose": {"position": {}}}}]
)
def test_malformed_messages_are_named(message: Any) -> None:
    with pytest.raises(
        DataError, match=r"/odom: field 'pose': is missing or malformed"
    ):
        robot_messages.parse_place(message, "/odom")


@pytest.mark.parametrize("x", [1e9, -1e308, None])
def test_a_pose_that_is_no_place_is_refused(x: float | None) -> None:
    message = {"pose": robot_messages.ros_pose(1.0, 2.0, 0.0)}
    message["pose"]["position"]["x"] = x if x is not None else math.nan
    with pytest.raises(DataError, match=r"/odom: field 'pose': is at x .* no place"):
        robot_messages.parse_place(message, "/odom")


@pytest.mark.parametrize("content", [[1, 2], None, "here", 5])
def test_a_topic_with_content_that_is_no_message_is_named(content: Any) -> None:
    robot = robot_at()
    robot.extra = {"/odom": content}
    with serving(robot) as url:
        base = RosBase(replace(QUICK, url=url, answer=0.3))
        expected = r"sent nothing on /odom for 0.3 s; it had sent a message .* must be"
        with pytest.raises(RobotError, match=expected):
            base.start(EPISODE)


@pytest.mark.parametrize("name", ["depth", "navigate", "spin", "odometry"])
def test_a_name_that_a_search_needs_cannot_be_empty(name: str) -> None:
    for empty in ("", "/"):
        with pytest.raises(UsageError, match=f"robot: {name} must not be empty"):
            RosSettings(**{name: empty})
    RosSettings(pose_from="tf", odometry="")
    with pytest.raises(UsageError, match="robot: tf must not be empty"):
        RosSettings(pose_from="tf", tf="")


def test_a_setting_without_effect_names_the_one_that_it_needs() -> None:
    values = {"depth_unit": 0.001, "tilt": -20.0, "scan_turn": 90.0,
              "scan_flipped": True, "no_return": "free",
              "map_frame": "floor", "body_frame": "base_footprint"}  # fmt: skip
    assert values.keys() == ros.USED_WITH.keys()
    others = {"depth_from": ("scan", "image"), "pose_from": ("odometry", "tf")}
    for name, value in values.items():
        needed, used = ros.USED_WITH[name]
        (other,) = {*others[needed]} - {used}
        RosSettings(**{name: value, needed: used})  # type: ignore[arg-type]
        remedy = f"{name} has no effect with {needed}={other}; add --set dataset.{needed}={used}"
        with pytest.raises(UsageError, match=remedy):
            RosSettings(**{name: value, needed: other})  # type: ignore[arg-type]


def test_a_goal_that_an_operator_cancels_ends_halfway() -> None:
    robot = robot_at(cancel=1)
    with serving(robot) as url:
        world = driven(url)
        cancelled = world.step("agent", goto(3.0, 1.5))
        again = world.step("agent", goto(3.0, 1.5))
        ended(world)
    reason = "cancelled by another client or an operator"
    assert (cancelled.status, cancelled.details["reason"]) == ("cancelled", reason)
    assert cancelled.details["metres"] == pytest.approx(1.0, abs=0.01)
    assert again.ok


@pytest.mark.parametrize(
    "text",
    ["{", "[" * 100_000, "[1]", '{"op": "publish", "topic": ["/odom"], "msg": {}}'],
)
def test_what_is_no_message_is_ignored(text: str) -> None:
    link = Link("ws://127.0.0.1:1")
    link._store_message(text)
    assert not link._latest


def test_depth_images_of_both_encodings_agree() -> None:
    import base64

    metres = np.full((48, 64), 2.0)
    metres[:, :10] = 0.0  # nothing measured at the left edge
    found = []
    for encoding, data in (
        ("16UC1", (metres * 1000).astype("<u2").tobytes()),
        ("32FC1", metres.astype("<f4").tobytes()),
    ):
        step = len(data) // 48
        message = {"height": 48, "width": 64, "step": step, "encoding": encoding}
        message["data"] = base64.b64encode(data).decode()
        found.append(robot_messages.image_depth(message, "/depth", 60.0, 5.0))
    assert found[0] == found[1]
    level = found[0].metres()[found[0].elevations.index(0)]
    assert np.isinf(level[0])
    assert level[found[0].bearings.index(1.0)] == pytest.approx(2.0, abs=0.02)
    with pytest.raises(DataError, match="field 'data'"):
        robot_messages.image_depth({**message, "encoding": "bgr8"}, "/depth", 60.0, 5.0)


def test_a_laser_is_turned_as_it_is_mounted() -> None:
    """One ray of the laser hits something 30 degrees to the left of the laser's own front."""
    ranges: list[float | None] = [None] * 180
    ranges[120] = 2.0
    scan = {
        "ranges": ranges,
        "angle_min": -math.pi / 2,
        "angle_increment": math.radians(1.0),
    }

    def hit(**mounted: Any) -> float:
        depth = robot_messages.scan_depth(scan, "/scan", 0.9, 5.0, **mounted)
        level = depth.metres()[depth.elevations.index(0)]
        return depth.bearings[int(np.argmin(level))]

    assert hit() == pytest.approx(-30, abs=1)
    assert hit(turn=90.0) == pytest.approx(60, abs=1)  # its front is the robot's right
    assert hit(flipped=True) == pytest.approx(30, abs=1)
    assert hit(turn=180.0, flipped=True) == pytest.approx(-150, abs=1)


def test_a_depth_camera_that_looks_down_sees_walls_and_floor_where_they_are() -> None:
    """0.9 m above the floor, 2 m before a wall, looking down by 20 degrees: a depth camera measures
    along its own axis."""
    high = 120
    wide = 160
    field = 69.0
    eye = 0.9
    wall = 2.0
    focal = wide / 2 / math.tan(math.radians(field / 2))
    off_axis = np.arctan((np.arange(high) + 0.5 - high / 2) / focal)
    down = off_axis + math.radians(20.0)
    ray = np.minimum(wall / np.cos(down), eye / np.maximum(np.sin(down), 1e-6))
    axis = np.repeat((ray * np.cos(off_axis))[:, None], wide, axis=1).astype("<f4")
    message = {"height": high, "width": wide, "step": 4 * wide, "encoding": "32FC1",
               "data": base64.b64encode(axis.tobytes()).decode()}  # fmt: skip
    seen = robot_messages.image_depth(message, "/depth", field, 5.0, tilt=-20.0)
    middle = seen.metres()[:, len(seen.bearings) // 2]
    found = dict(zip(seen.elevations, middle.tolist(), strict=True))
    assert found[-5] == pytest.approx(wall / math.cos(math.radians(5)), abs=0.05)
    assert found[-32] == pytest.approx(eye / math.sin(math.radians(32)), abs=0.05)


def test_scans_that_skip_and_null_are_read() -> None:
    scan = {"ranges": [None, 0.01, 2.0, 9.0], "angle_min": -0.5, "angle_increment": 0.3,
            "range_min": 0.1, "range_max": 8.0}  # fmt: skip
    depth = robot_messages.scan_depth(scan, "/scan", 0.9, 5.0)
    level = dict(zip(depth.bearings, depth.metres()[0].tolist(), strict=True))
    assert [bearing for bearing, metres in level.items() if math.isfinite(metres)] == [
        -5.0
    ]
    with pytest.raises(DataError, match="is empty"):
        robot_messages.scan_depth({**scan, "ranges": []}, "/scan", 0.9, 5.0)
