"""A robot with ROS 2 and Nav2, over rosbridge.

    base = RosBase(RosSettings(url="ws://127.0.0.1:9090"))
    world = ObjectNavWorld(base)

It goes with Nav2's ``NavigateToPose``, a short distance at a time, and turns with ``Spin``. A
heartbeat lets the robot stop if this program dies, and every wait has a time limit. A failed motion
has a status: ``refused`` (the goal was rejected), ``blocked`` (aborted on the way, or too slow) or
``lost`` (the connection broke, or there is no answer). After a broken connection all goals are
cancelled first, and no motion is repeated: the agent observes the pose and decides.
"""

from __future__ import annotations

import asyncio
import base64
import math
import os
import signal
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import FrameType
from typing import Annotated, Literal, TypeVar

import numpy as np
from annotated_types import Ge, Gt, Le, Lt

from wayword.core.action import Action
from wayword.core.episode import Episode, Json
from wayword.core.errors import DataError
from wayword.core.geometry import absolute, bearing, relative
from wayword.core.world import Feedback
from wayword.settings import Checked
from wayword.worlds.objectnav import observation
from wayword.worlds.objectnav.base import Base, MotionResult
from wayword.worlds.objectnav.observation import DepthImage, Floats, FloorMap, View
from wayword.worlds.objectnav.rosbridge import Link, LinkLost, RobotError, check_url
from wayword.worlds.objectnav.world import ObjectNavWorld

TOKEN_VARIABLE = "WAYWORD_ROBOT_TOKEN"
MAX_TRIES = (
    3  # attempts of a request whose connection breaks, with a reconnection between them
)
Answer = TypeVar("Answer")
Positive = Annotated[float, Gt(0)]
CANCEL_TYPE = (
    "action_msgs/srv/CancelGoal"  # without an ID and a time, it cancels all goals
)
ALL_GOALS = {
    "goal_info": {"goal_id": {"uuid": [0] * 16}, "stamp": {"sec": 0, "nanosec": 0}}
}
DEPTH_TYPES = {"scan": "sensor_msgs/msg/LaserScan", "image": "sensor_msgs/msg/Image"}
POSE_TYPES = {
    "odometry": "nav_msgs/msg/Odometry",
    "pose": "geometry_msgs/msg/PoseStamped",
    "pose_with_covariance": "geometry_msgs/msg/PoseWithCovarianceStamped",
    "tf": "tf2_msgs/msg/TFMessage",
}
NAVIGATE_TYPE = "nav2_msgs/action/NavigateToPose"
MIN_PROGRESS = (
    0.05  # metres that each leg must get closer to the goal, or the motion ends
)
TF_TOPICS = "/tf", "/tf_static"
SPEED_TOPIC = "/speed_limit"

# Conversion of ROS 2 messages. Sources: REP 103 (x forward, y left; counter-clockwise), REP 105
# (frames). rosbridge sends bytes in base64, and numbers that are not finite as null.

DEPTH_ENCODINGS = {
    "16UC1": ("<u2", 0.001),
    "mono16": ("<u2", 0.001),
    "32FC1": ("<f4", 1.0),
}
"""Encoding -> type of a pixel, and its unit in metres."""

Message = Mapping[str, Json]
Place = tuple[
    float, float, float
]  # x, y (metres), and the heading in degrees clockwise from y


@contextmanager
def naming_field(topic: str, field: str) -> Iterator[None]:
    """Turn the errors of reading a message into a ``DataError``."""
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        problem = f"is missing or malformed ({type(error).__name__}: {error})"
        remedy = "check the topic's type with `ros2 topic info`"
        raise DataError(topic, f"field {field!r}", problem, remedy) from error


def parse_place(message: Message, topic: str) -> Place:
    """Return x, y and heading of an ``Odometry``, ``PoseWithCovarianceStamped`` or ``PoseStamped``.

    >>> parse_place({"pose": {"pose": ros_pose(1.0, 2.0, 90.0)}}, "/odom")
    (1.0, 2.0, 90.0)
    >>> ros_pose(0.0, 0.0, 0.0)["orientation"]["z"]  # north: a quarter turn from x
    0.7071067811865475
    """
    with naming_field(topic, "pose"):
        pose = message["pose"]
        pose = pose.get("pose", pose)
        x, y = float(pose["position"]["x"]), float(pose["position"]["y"])
        q = {axis: float(pose["orientation"][axis]) for axis in "xyzw"}
    yaw = math.atan2(
        2 * (q["w"] * q["z"] + q["x"] * q["y"]), 1 - 2 * (q["y"] ** 2 + q["z"] ** 2)
    )
    if not all(map(math.isfinite, (x, y, yaw))):
        raise DataError(topic, "field 'pose'", "is not finite")
    return x, y, round(absolute(90.0 - math.degrees(yaw)), 6)


def parse_frame(message: Message) -> str:
    """Return the frame of a message; empty if it has none."""
    header = message.get("header")
    return str(header.get("frame_id") or "") if isinstance(header, dict) else ""


def ros_pose(x: float, y: float, heading: float) -> dict[str, dict[str, float]]:
    """Return a ``geometry_msgs/Pose``."""
    half_yaw = math.radians(90.0 - heading) / 2
    orientation = {"x": 0.0, "y": 0.0, "z": math.sin(half_yaw), "w": math.cos(half_yaw)}
    return {"position": {"x": x, "y": y, "z": 0.0}, "orientation": orientation}


def scan_depth(
    message: Message,
    topic: str,
    eye: float,
    reach: float,
    turn: float = 0.0,
    flipped: bool = False,
) -> DepthImage:
    """Convert a ``LaserScan`` to a depth image, by ``observation.from_laser``. The laser's front is
    ``turn`` degrees clockwise of the robot's; a ``flipped`` one is mounted upside down."""
    with naming_field(topic, "ranges"):
        ranges = np.array(
            [math.inf if r is None else float(r) for r in message["ranges"]]
        )
        first, step = float(message["angle_min"]), float(message["angle_increment"])
        least, most = float(message.get("range_min") or 0), message.get("range_max")
        range_max = math.inf if most is None else float(most)
    if not len(ranges):
        raise DataError(topic, "field 'ranges'", "is empty")
    ranges = np.where(
        np.isnan(ranges) | (ranges < least) | (ranges > range_max), np.inf, ranges
    )
    angles = np.degrees(first + step * np.arange(len(ranges)))  # counter-clockwise
    bearings = (angles if flipped else -angles) + turn
    bearings = (bearings + 180.0) % 360.0 - 180.0
    metres, column_bearings = observation.nearest_per_column(ranges, bearings)
    return observation.from_laser(metres, tuple(column_bearings.tolist()), eye, reach)


def image_depth(
    message: Message, topic: str, field_of_view: float, reach: float, tilt: float = 0.0
) -> DepthImage:
    """Convert a depth ``sensor_msgs/Image`` of a camera that is tilted up by ``tilt`` degrees."""
    with naming_field(topic, "data"):
        height, width, step = (
            int(message["height"]),
            int(message["width"]),
            int(message["step"]),
        )
        pixel_type, unit = DEPTH_ENCODINGS[message["encoding"]]
        if message.get("is_bigendian"):
            pixel_type = pixel_type.replace("<", ">")
        data = np.frombuffer(base64.b64decode(message["data"], validate=True), np.uint8)
        rows = data.reshape(height, step)[:, : width * np.dtype(pixel_type).itemsize]
        depth: Floats = (
            np.ascontiguousarray(rows).view(pixel_type).astype(np.float64) * unit
        )
    return observation.from_camera(depth, field_of_view, reach, tilt=tilt)


def floor_map(message: Message, topic: str) -> FloorMap:
    """Convert an ``OccupancyGrid`` to a map of the floor."""
    with naming_field(topic, "data"):
        info, data = (
            message["info"],
            np.array(message["data"], np.int16).astype(np.uint8),
        )
        cell, origin = float(info["resolution"]), info["origin"]
        x, y = (float(origin["position"][axis]) + cell / 2 for axis in "xy")
        if not cell > 0 or abs(float(origin["orientation"]["z"])) > 1e-6:
            raise ValueError("the grid is rotated, or its cells have no size")
        levels = data.reshape(int(info["height"]), int(info["width"]))
        return FloorMap(x, y, cell, levels.shape[1], zlib.compress(levels.tobytes()))


class Transforms:
    """The latest transforms between frames, from ``/tf`` and ``/tf_static``."""

    def __init__(self) -> None:
        self._parents: dict[str, tuple[str, list[float], list[float], float]] = {}

    def add(self, message: Message, topic: str) -> None:
        """Add the transforms of a ``TFMessage``; those on ``/tf_static`` never expire."""
        received = time.monotonic() if topic == TF_TOPICS[0] else math.inf
        with naming_field(topic, "transforms"):
            for each in message["transforms"]:
                shift, turn = (
                    each["transform"][key] for key in ("translation", "rotation")
                )
                entry = (
                    str(each["header"]["frame_id"]).lstrip("/"),
                    [float(shift[axis]) for axis in "xyz"],
                    [float(turn[axis]) for axis in "xyzw"],
                    received,
                )
                self._parents[str(each["child_frame_id"]).lstrip("/")] = entry

    def place(self, frame: str, body: str, after: float) -> Place | None:
        """Return x, y and heading of a body's frame in another frame; None if a transform on the
        chain between them is missing or was received before ``after`` (``time.monotonic``)."""
        from scipy.spatial.transform import Rotation

        point, turn, child = np.zeros(3), Rotation.identity(), body
        for _ in range(len(self._parents) + 1):
            if child == frame:
                x_axis = turn.apply((1.0, 0.0, 0.0))
                yaw = math.degrees(math.atan2(x_axis[1], x_axis[0]))
                return float(point[0]), float(point[1]), round(absolute(90.0 - yaw), 6)
            if child not in self._parents:
                return None
            child, shift, quaternion, received = self._parents[child]
            if received < after:
                return None
            rotation = Rotation.from_quat(quaternion)
            point, turn = rotation.apply(point) + shift, rotation * turn
        return None


@dataclass(frozen=True)
class RosSettings(Checked):
    """``url`` is the rosbridge server's address; ``plain`` permits unencrypted ``ws://`` to another
    machine. A token is read from ``$WAYWORD_ROBOT_TOKEN``.

    ``odometry``, ``image`` (``sensor_msgs/CompressedImage``; empty for none) and ``depth`` are
    topics. ``pose_from`` is the type of ``odometry``; with ``tf``, the pose of ``body_frame`` in
    ``map_frame`` is read from ``/tf`` and ``/tf_static`` instead. ``depth_from`` is the type of
    ``depth``: a laser ``scan``, or a depth ``image`` from the camera's own position. ``navigate``
    (``NavigateToPose``) and ``spin`` (``Spin``) are actions. The camera has a ``field_of_view``
    (degrees) and is ``eye`` metres above the floor; depth is used up to ``reach`` metres.
    ``scan_turn`` is the angle from the robot's front to the laser's (degrees, clockwise);
    ``scan_flipped``: it is mounted upside down; ``tilt`` is the depth camera's (degrees, up
    positive). ``costmap`` (``nav_msgs/OccupancyGrid``) is the robot's own map, in the frame of the
    poses; searchers plan on it.

    Goals are at most ``farthest`` metres away; longer paths have several. ``speed`` (m/s; 0 for
    none) is sent to Nav2 as the speed limit, and ``heartbeat`` is a topic for a watchdog on the
    robot. A search ends if ``battery`` (``sensor_msgs/BatteryState``) falls below the fraction
    ``least_charge``, or ``emergency_stop`` (``std_msgs/Bool``) is true. Empty topics are not used.
    Time limits in seconds: ``patience`` to connect, ``answer`` for a message or a service,
    ``motion`` for one motion. The camera is read ``settle`` seconds after a motion, and sends a
    picture every ``throttle`` milliseconds at most.
    """

    url: str = "ws://127.0.0.1:9090"
    plain: bool = False
    odometry: str = "/odom"
    pose_from: Literal["odometry", "pose", "pose_with_covariance", "tf"] = "odometry"
    map_frame: str = "map"
    body_frame: str = "base_link"
    image: str = "/camera/image_raw/compressed"
    depth: str = "/scan"
    depth_from: Literal["scan", "image"] = "scan"
    navigate: str = "/navigate_to_pose"
    spin: str = "/spin"
    costmap: str = ""
    farthest: Annotated[float, Ge(0.1), Le(2)] = 2.0
    speed: Annotated[float, Ge(0), Le(5)] = 0.0
    heartbeat: str = "/wayword/heartbeat"
    battery: str = ""
    least_charge: Annotated[float, Ge(0), Le(1)] = 0.2
    emergency_stop: str = ""
    field_of_view: Annotated[float, Ge(10), Lt(180)] = 69.0
    eye: Annotated[float, Ge(0.05), Le(3)] = 0.9
    reach: Positive = 5.0
    scan_turn: Annotated[float, Ge(-360), Le(360)] = 0.0
    scan_flipped: bool = False
    tilt: Annotated[float, Ge(-60), Le(60)] = 0.0
    patience: Positive = 30.0
    answer: Positive = 10.0
    motion: Positive = 90.0
    settle: Annotated[float, Ge(0)] = 0.3
    throttle: int = 200

    def __post_init__(self) -> None:
        super().__post_init__()
        check_url(self.url, self.plain)


class RosBase:
    """A robot as a base. Raises ``RobotError`` if it cannot be reached, or a topic is silent."""

    def __init__(self, settings: RosSettings, link: Link | None = None) -> None:
        self.settings = settings
        token = os.environ.get(TOKEN_VARIABLE, "")
        self.link = link or Link(settings.url, token, settings.patience, settings.plain)
        self._place = (0.0, 0.0, 0.0)
        self._frame = "odom"
        self._transforms = Transforms()
        self._halted = ""
        self._reported_breaks = 0
        self._metres = 0.0
        self._counts = dict.fromkeys(("moves", "turns", "bumps", "refused", "lost"), 0)

    def start(self, episode: Episode) -> None:
        """Connect and stop any running motion; the robot starts from its current pose."""
        s, link = self.settings, self.link
        link.close()  # a new subscription repeats the messages of topics that publish only once
        self._halted, link.listener, link.heartbeat = "", self._on_message, s.heartbeat
        link.subscribe(s.depth, DEPTH_TYPES[s.depth_from], s.throttle)
        for topic in TF_TOPICS if s.pose_from == "tf" else (s.odometry,):
            link.subscribe(
                topic, POSE_TYPES[s.pose_from], queue=100 if topic in TF_TOPICS else 1
            )
        kinds = {
            s.battery: "sensor_msgs/msg/BatteryState",
            s.emergency_stop: "std_msgs/msg/Bool",
            s.costmap: "nav_msgs/msg/OccupancyGrid",
            s.image: "sensor_msgs/msg/CompressedImage",
        }
        for topic in filter(None, kinds):
            link.subscribe(topic, kinds[topic], s.throttle)
        if s.heartbeat:
            link.advertise(s.heartbeat, "std_msgs/msg/Empty")
        if s.speed:
            link.advertise(SPEED_TOPIC, "nav2_msgs/msg/SpeedLimit")
        self._metres, self._counts = 0.0, dict.fromkeys(self._counts, 0)
        link.clear_interrupt()
        link.open()
        self._reported_breaks = link.reconnections
        with self._cancel_on_interrupt():
            self._with_retries(self._cancel)
            states = filter(None, (s.battery, s.emergency_stop, s.costmap))
            any_time = dict.fromkeys(states, -math.inf)
            self._with_retries(lambda: link.latest(any_time, s.answer))
            self._with_retries(self._locate)

    def _on_message(self, topic: str, message: Message) -> None:
        """Store transforms, and end the search at a low battery or a pressed emergency stop."""
        problem, s = "", self.settings
        if topic in TF_TOPICS:
            self._transforms.add(message, topic)
        elif topic == s.battery:
            share = message.get("percentage")
            if not isinstance(share, int | float) or not 0 <= share <= 1:
                problem = (
                    f"the battery's percentage must be between 0 and 1, got {share!r}"
                )
            elif share < s.least_charge:
                problem = f"the battery is at {share:.0%}, below {s.least_charge:.0%}: charge it"
        elif topic == s.emergency_stop and message.get("data") is not False:
            problem = "the emergency stop is pressed: release it and restart the search"
        if problem and not self._halted:
            self._halted = problem
            self.link.interrupt(problem)

    def capture(self) -> View:
        with self._cancel_on_interrupt():
            time.sleep(self.settings.settle)
            return self._with_retries(self._read_view)

    def rotate(self, degrees: float) -> MotionResult:
        args = {
            "target_yaw": -math.radians(degrees),  # ROS turns counter-clockwise
            "time_allowance": {"sec": int(self.settings.motion), "nanosec": 0},
        }
        result = self._do_motion(self.settings.spin, "nav2_msgs/action/Spin", args)
        self._counts["turns"] += math.ceil(abs(degrees) / 30.0 - 1e-9)
        return result

    def go_to(self, x: float, y: float) -> MotionResult:
        metres = 0.0
        while True:
            (east, north, heading), away = (
                self._place,
                math.dist(self._place[:2], (x, y)),
            )
            if away > 1e-3:
                heading = bearing((east, north), (x, y))
            legs = max(1, math.ceil(away / self.settings.farthest - 1e-9))
            pose = ros_pose(
                east + (x - east) / legs, north + (y - north) / legs, heading
            )
            goal = {"header": {"frame_id": self._frame}, "pose": pose}
            args = {"pose": goal, "behavior_tree": ""}
            result = self._do_motion(self.settings.navigate, NAVIGATE_TYPE, args)
            self._counts["moves"] += max(1, math.ceil(result.metres / 0.25 - 1e-9))
            metres = round(metres + result.metres, 4)
            if legs == 1 or result.status != "ok":
                return MotionResult(result.status, metres, result.reason)
            if math.dist(self._place[:2], (x, y)) > away - MIN_PROGRESS:
                return MotionResult(
                    "blocked", metres, "the robot gets no closer to the point"
                )

    def pose(self) -> Mapping[str, Json]:
        x, y, heading = self._place
        return {
            "x": round(x, 4),
            "y": round(y, 4),
            "heading": round(heading, 2) % 360.0,
        }

    def report(self) -> Mapping[str, Json]:
        """Return the counts, without ``in_view``: the objects truly in view are unknown."""
        metres, reconnections = round(self._metres, 4), self.link.reconnections
        return {"metres": metres, **self._counts, "reconnections": reconnections}

    def stop(self) -> None:
        """Cancel every goal and disconnect. Without a connection no goal is running."""
        try:
            if self.link.connected:
                self.link.clear_interrupt()
                self._cancel_quietly()
        finally:
            self.link.close()

    @contextmanager
    def _cancel_on_interrupt(self) -> Iterator[None]:
        """Cancel all goals at Ctrl-C, and at a problem of the robot, which ends the episode."""
        try:
            with calling_on_ctrl_c(self.link.interrupt):
                yield
        except (InterruptedError, KeyboardInterrupt):
            self.link.clear_interrupt()
            self._cancel_quietly()
            if self._halted:
                self.link.close()
                raise RobotError(
                    f"the search ended, all goals cancelled: {self._halted}"
                ) from None
            try:  # in an event loop, asyncio has already seen the Ctrl-C and cancels the task
                asyncio.get_running_loop()
            except RuntimeError:
                raise KeyboardInterrupt from None
            raise asyncio.CancelledError from None

    def _do_motion(
        self, action: str, kind: str, args: Mapping[str, Json]
    ) -> MotionResult:
        start, s = self._place, self.settings
        with self._cancel_on_interrupt():
            try:
                if not self.link.connected:
                    raise LinkLost
                if s.speed:
                    self.link.publish(
                        SPEED_TOPIC, {"percentage": False, "speed_limit": s.speed}
                    )
                status, reason = self.link.goal(action, kind, args, s.motion)
            except LinkLost:
                since = time.monotonic()
                self._reopen()
                away, status = f"{time.monotonic() - since:.1f} s", "lost"
                reason = (
                    f"the connection broke; restored after {away}, all goals cancelled"
                )
            except (
                TimeoutError
            ) as error:  # without feedback, only the pose shows any motion
                self._cancel_quietly()
                status = "blocked" if error.args[:1] == (True,) else "silent"
                reason = f"cancelled after {s.motion:g} s"
            self._with_retries(self._locate)
        distance = math.dist(start[:2], self._place[:2])
        if status == "silent":
            turn = abs(relative(self._place[2], start[2]))
            status = "blocked" if distance > 0.05 or turn > 3.0 else "lost"
        self._metres += distance
        breaks = self.link.reconnections - self._reported_breaks
        self._reported_breaks += breaks
        if breaks and status != "lost":
            note = "before it, the connection broke and all goals were cancelled"
            reason = f"{reason}; {note}" if reason else note
        if status != "ok":
            self._counts["bumps" if status == "blocked" else status] += 1
        return MotionResult(status, round(distance, 4), reason)

    def _reopen(self) -> None:
        """Reconnect and cancel any running goal. Raises ``RobotError``, also once halted."""
        if self._halted:
            raise RobotError(self._halted)
        try:
            self.link.open()
        except RobotError:
            self.link.close()
            raise
        self._cancel_quietly()

    def _cancel(self) -> None:
        for action in (self.settings.navigate, self.settings.spin):
            service = f"{action}/_action/cancel_goal"
            self.link.call(service, CANCEL_TYPE, ALL_GOALS, self.settings.answer)

    def _cancel_quietly(self) -> None:
        """Cancel goals; if the bridge breaks or is silent, the next request raises the error."""
        with suppress(LinkLost, TimeoutError):
            self._cancel()

    def _with_retries(self, request: Callable[[], Answer]) -> Answer:
        """Send a request, again if the connection broke meanwhile. Raises ``RobotError``."""
        problem = f"closed the connection {MAX_TRIES} times"
        for _ in range(MAX_TRIES):
            try:
                if not self.link.connected:
                    self._reopen()
                return request()
            except LinkLost:
                continue
            except TimeoutError as error:
                problem = f"sent nothing on {error} for {self.settings.answer:g} s"
                break
        self.link.close()
        raise RobotError(f"the robot at {self.settings.url} {problem}")

    def _locate(self, now: float | None = None) -> None:
        """Update the pose from messages received after ``now``."""
        s, now = self.settings, time.monotonic() if now is None else now
        if s.pose_from == "tf":

            def missing() -> str:
                place = self._transforms.place(s.map_frame, s.body_frame, now)
                self._place = place or self._place
                return "" if place else f"/tf from {s.body_frame} to {s.map_frame}"

            self.link.wait(missing, s.answer)
            self._frame = s.map_frame
            return
        # A localizer publishes its pose only while the robot moves, and once to a new subscriber.
        after = -math.inf if s.pose_from == "pose_with_covariance" else now
        message = self.link.latest({s.odometry: after}, s.answer)[s.odometry]
        self._place = parse_place(message, s.odometry)
        self._frame = parse_frame(message) or self._frame

    def _read_view(self) -> View:
        """Return a view from messages received from now on, except a map, which may be older."""
        s, now = self.settings, time.monotonic()
        after = dict.fromkeys(filter(None, (s.depth, s.image)), now)
        if s.costmap:
            after[s.costmap] = -math.inf
        latest = self.link.latest(after, s.answer)
        self._locate(now)
        scan, image, floor = latest[s.depth], b"", None
        if s.image:
            with naming_field(s.image, "data"):
                image = base64.b64decode(latest[s.image]["data"], validate=True)
        if s.costmap:
            frame = parse_frame(latest[s.costmap])
            if frame != self._frame:
                problem = f"is {frame!r}, but poses are in {self._frame!r}"
                remedy = f"set dataset.pose_from=tf and dataset.map_frame={frame}"
                raise DataError(s.costmap, "field 'header.frame_id'", problem, remedy)
            floor = floor_map(latest[s.costmap], s.costmap)
        if s.depth_from == "scan":
            depth = scan_depth(
                scan, s.depth, s.eye, s.reach, s.scan_turn, s.scan_flipped
            )
        else:
            depth = image_depth(scan, s.depth, s.field_of_view, s.reach, s.tilt)
        return View(
            "robot", *self._place, s.eye, s.field_of_view, depth, None, image, floor
        )


@contextmanager
def calling_on_ctrl_c(interrupt: Callable[[], None]) -> Iterator[None]:
    """Make Ctrl-C call ``interrupt`` first: an event loop would react only after the motion, but a
    robot must stop immediately."""
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(
        handler
    ):
        yield
        return

    def on_signal(number: int, frame: FrameType | None) -> None:
        interrupt()
        handler(number, frame)

    signal.signal(signal.SIGINT, on_signal)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)


class SharedRobotWorld(ObjectNavWorld):
    """A search with a robot that all episodes share, driven by the episode that started last: the
    only one in ``drivers``, which all worlds share. An earlier one fails at its next motion."""

    def __init__(self, base: Base, drivers: list[SharedRobotWorld]) -> None:
        super().__init__(base)
        self._drivers = drivers

    def reset(self, episode: Episode) -> None:
        self._drivers[:] = [self]
        super().reset(episode)

    def observe(self, actor: str) -> View:
        self._check_driver()
        return super().observe(actor)

    def step(self, actor: str, action: Action) -> Feedback:
        self._check_driver()
        return super().step(actor, action)

    def _check_driver(self) -> None:
        if self._drivers != [self]:
            raise RobotError(
                "another episode took over the robot; run with --concurrency 1"
            )
