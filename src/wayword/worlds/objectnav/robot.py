"""A robot with ROS 2 and Nav2, over rosbridge.

    base = RosBase(RosSettings(url="ws://127.0.0.1:9090"))
    world = ObjectNavWorld(base)

It reads the place from odometry, the picture from a camera and depth from a laser or a depth
camera; it goes with Nav2's ``NavigateToPose`` and turns with Nav2's ``Spin``. Every wait has a
limit. A motion that goes wrong has a status: ``refused`` (the goal was rejected), ``blocked``
(given up on the way, or too slow) or ``lost`` (the connection broke, or there is no answer). After
a broken connection all goals are cancelled before anything else is done, and no motion is repeated
by itself: the agent observes where the robot is and decides again.
"""

from __future__ import annotations

import asyncio
import base64
import math
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import FrameType
from typing import Literal, TypeVar

import numpy as np

from wayword.core.episode import Episode, Json
from wayword.core.errors import DataError, UsageError
from wayword.core.geometry import absolute, bearing, relative
from wayword.worlds.objectnav.base import Base, MotionResult
from wayword.worlds.objectnav.observation import (
    DepthImage,
    Floats,
    View,
    from_camera,
    from_laser,
    nearest_per_column,
)
from wayword.worlds.objectnav.rosbridge import Link, LinkLost, RobotError, check_url

TOKEN_VARIABLE = "WAYWORD_ROBOT_TOKEN"
MAX_TRIES = 3  # of a request whose connection breaks, each after a reconnection
Answer = TypeVar("Answer")
CANCEL_TYPE = "action_msgs/srv/CancelGoal"
ALL_GOALS = {"goal_info": {"goal_id": {"uuid": [0] * 16}, "stamp": {"sec": 0, "nanosec": 0}}}
"""Cancels all goals of an action: no ID and no time (``action_msgs/srv/CancelGoal``)."""
MESSAGE_TYPES = {"scan": "sensor_msgs/msg/LaserScan", "image": "sensor_msgs/msg/Image"}


# Messages: ROS 2's to and from our places, headings and depth images. Only here frames change.
#
# Sources: REP 103 (axes: x forward, y left; counter-clockwise), ``nav_msgs/Odometry``,
# ``sensor_msgs/LaserScan``, ``sensor_msgs/Image``, ``sensor_msgs/CompressedImage``. rosbridge sends
# bytes in base64, and what is not finite as null.

DEPTH_ENCODINGS = {"16UC1": ("<u2", 0.001), "mono16": ("<u2", 0.001), "32FC1": ("<f4", 1.0)}
"""Encoding -> type of a pixel, and its unit in metres."""

Message = Mapping[str, Json]


@contextmanager
def naming_field(topic: str, field: str) -> Iterator[None]:
    """Turn the errors of reading a message into a ``DataError``."""
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        problem = f"is missing or malformed ({type(error).__name__}: {error})"
        remedy = "is it of the type that was asked for?"
        raise DataError(topic, f"field {field!r}", problem, remedy) from error


def parse_place(message: Message, topic: str) -> tuple[float, float, float]:
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
    yaw = math.atan2(2 * (q["w"] * q["z"] + q["x"] * q["y"]), 1 - 2 * (q["y"] ** 2 + q["z"] ** 2))
    if not all(map(math.isfinite, (x, y, yaw))):
        raise DataError(topic, "field 'pose'", "is not finite")
    return x, y, round(absolute(90.0 - math.degrees(yaw)), 6)


def ros_pose(x: float, y: float, heading: float) -> dict[str, dict[str, float]]:
    """Return a ``geometry_msgs/Pose``."""
    half_yaw = math.radians(90.0 - heading) / 2
    orientation = {"x": 0.0, "y": 0.0, "z": math.sin(half_yaw), "w": math.cos(half_yaw)}
    return {"position": {"x": x, "y": y, "z": 0.0}, "orientation": orientation}


def scan_depth(
    message: Message, topic: str, eye: float, reach: float, turn: float = 0.0, flipped: bool = False
) -> DepthImage:
    """Return a ``LaserScan`` as a depth image of walls: see ``observation.from_laser``. The laser's
    front is ``turn`` degrees clockwise of the robot's; a ``flipped`` one hangs upside down."""
    with naming_field(topic, "ranges"):
        ranges = np.array([math.inf if r is None else float(r) for r in message["ranges"]])
        first, step = float(message["angle_min"]), float(message["angle_increment"])
        least, most = float(message.get("range_min") or 0), message.get("range_max")
        range_max = math.inf if most is None else float(most)
    if not len(ranges):
        raise DataError(topic, "field 'ranges'", "is empty")
    ranges = np.where(np.isnan(ranges) | (ranges < least) | (ranges > range_max), np.inf, ranges)
    angles = np.degrees(first + step * np.arange(len(ranges)))  # counter-clockwise
    bearings = (angles if flipped else -angles) + turn
    metres, column_bearings = nearest_per_column(ranges, (bearings + 180.0) % 360.0 - 180.0)
    return from_laser(metres, tuple(column_bearings.tolist()), eye, reach)


def image_depth(
    message: Message, topic: str, field_of_view: float, reach: float, tilt: float = 0.0
) -> DepthImage:
    """Return a depth ``sensor_msgs/Image`` (16 bits of millimetres, or floats of metres) of a
    camera that looks up by ``tilt`` degrees."""
    with naming_field(topic, "data"):
        height, width, step = int(message["height"]), int(message["width"]), int(message["step"])
        pixel_type, unit = DEPTH_ENCODINGS[message["encoding"]]
        if message.get("is_bigendian"):
            pixel_type = pixel_type.replace("<", ">")
        data = np.frombuffer(base64.b64decode(message["data"], validate=True), np.uint8)
        rows = data.reshape(height, step)[:, : width * np.dtype(pixel_type).itemsize]
        depth: Floats = np.ascontiguousarray(rows).view(pixel_type).astype(np.float64) * unit
    return from_camera(depth, field_of_view, reach, tilt=tilt)


@dataclass(frozen=True)
class RosSettings:
    """``url`` is the rosbridge server's; ``plain`` lets ``ws://`` leave this machine. A token is
    read from ``$WAYWORD_ROBOT_TOKEN``.

    ``odometry`` (``nav_msgs/Odometry``), ``image`` (``sensor_msgs/CompressedImage``; empty for
    none) and ``depth`` are topics; ``depth_from`` says whether the latter is a laser ``scan`` or
    a depth ``image`` that has the camera's own view. ``navigate`` (``NavigateToPose``) and
    ``spin`` (``Spin``) are actions. ``field_of_view`` (degrees) and ``eye`` (metres above the
    floor) are the camera's, ``reach`` how far depth is trusted. ``scan_turn`` is how many degrees
    clockwise the laser's front is off the robot's, ``scan_flipped`` says that it hangs upside down,
    ``tilt`` how many degrees a depth camera looks up (down negative).
    Limits in seconds: ``patience`` to connect, ``answer`` for a message or a service, ``motion``
    for one motion; ``settle`` is waited after each motion before looking. ``throttle`` is the least
    milliseconds between pictures.
    """

    url: str = "ws://127.0.0.1:9090"
    plain: bool = False
    odometry: str = "/odom"
    image: str = "/camera/image_raw/compressed"
    depth: str = "/scan"
    depth_from: Literal["scan", "image"] = "scan"
    navigate: str = "/navigate_to_pose"
    spin: str = "/spin"
    field_of_view: float = 69.0
    eye: float = 0.9
    reach: float = 5.0
    scan_turn: float = 0.0
    scan_flipped: bool = False
    tilt: float = 0.0
    patience: float = 30.0
    answer: float = 10.0
    motion: float = 90.0
    settle: float = 0.3
    throttle: int = 200

    def __post_init__(self) -> None:
        check_url(self.url, self.plain)
        if not 10 <= self.field_of_view < 180 or not 0.05 <= self.eye <= 3:
            raise UsageError("robot: field_of_view must be 10 to 180 degrees, eye 0.05 to 3 m")
        if not -360 <= self.scan_turn <= 360 or not -60 <= self.tilt <= 60:
            raise UsageError("robot: scan_turn must be -360 to 360 degrees, tilt -60 to 60")
        if min(self.patience, self.answer, self.motion, self.reach) <= 0 or self.settle < 0:
            raise UsageError("robot: patience, answer, motion and reach must be above 0")


class RosBase:
    """A robot as a base. Where several episodes share it, each has its :class:`SharedRobotTurn`.

    Raises ``RobotError`` if the robot cannot be reached again, or a topic is silent.
    """

    def __init__(self, settings: RosSettings, link: Link | None = None) -> None:
        self.settings = settings
        token = os.environ.get(TOKEN_VARIABLE, "")
        self.link = link or Link(settings.url, token, settings.patience, settings.plain)
        self._place = (0.0, 0.0, 0.0)
        self._frame = "odom"
        self._metres = 0.0
        self._counts = dict.fromkeys(("moves", "turns", "bumps", "refused", "lost"), 0)

    def start(self, episode: Episode) -> None:
        """Connect and stop any running motion; the robot starts from its current place."""
        s = self.settings
        self.link.subscribe(s.odometry, "nav_msgs/msg/Odometry")
        self.link.subscribe(s.depth, MESSAGE_TYPES[s.depth_from], s.throttle)
        if s.image:
            self.link.subscribe(s.image, "sensor_msgs/msg/CompressedImage", s.throttle)
        self._metres, self._counts = 0.0, dict.fromkeys(self._counts, 0)
        self.link.clear_interrupt()
        self.link.open()
        self._with_retries(self._cancel)
        self._with_retries(self._locate)

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
        position, heading = self._place[:2], self._place[2]
        if math.dist(position, (x, y)) > 1e-3:
            heading = bearing(position, (x, y))
        pose = ros_pose(x, y, heading)
        args = {"pose": {"header": {"frame_id": self._frame}, "pose": pose}, "behavior_tree": ""}
        result = self._do_motion(self.settings.navigate, "nav2_msgs/action/NavigateToPose", args)
        self._counts["moves"] += max(1, math.ceil(result.metres / 0.25 - 1e-9))
        return result

    def pose(self) -> Mapping[str, Json]:
        x, y, heading = self._place
        return {"x": round(x, 4), "y": round(y, 4), "heading": round(heading, 2) % 360.0}

    def report(self) -> Mapping[str, Json]:
        """Return the counts. What is truly in view is not known: ``in_view`` is left out."""
        return {
            "metres": round(self._metres, 4),
            **self._counts,
            "reconnections": self.link.reconnections,
        }

    def stop(self) -> None:
        """Cancel every goal and disconnect. A lost link is ignored: no goal is running, because
        motions end before the next decision."""
        try:
            if self.link.connected:
                self.link.clear_interrupt()
                self._cancel_quietly()
        finally:
            self.link.close()

    @contextmanager
    def _cancel_on_interrupt(self) -> Iterator[None]:
        """Ctrl-C cancels all goals and ends the run."""
        try:
            with calling_on_ctrl_c(self.link.interrupt):
                yield
        except (InterruptedError, KeyboardInterrupt):
            self.link.clear_interrupt()
            self._cancel_quietly()
            try:  # an event loop has noted the Ctrl-C and is being cancelled
                asyncio.get_running_loop()
            except RuntimeError:
                raise KeyboardInterrupt from None
            raise asyncio.CancelledError from None

    def _do_motion(self, action: str, kind: str, args: Mapping[str, Json]) -> MotionResult:
        """Carry out a goal, and record its result."""
        start = self._place
        with self._cancel_on_interrupt():
            status, reason = self._send_goal(action, kind, args)
            self._with_retries(self._locate)
        distance = math.dist(start[:2], self._place[:2])
        if status == "silent":
            turn = abs(relative(self._place[2], start[2]))
            status = "blocked" if distance > 0.05 or turn > 3.0 else "lost"
        self._metres += distance
        counter = {"blocked": "bumps", "refused": "refused", "lost": "lost"}.get(status)
        if counter:
            self._counts[counter] += 1
        return MotionResult(status, round(distance, 4), reason)

    def _send_goal(self, action: str, kind: str, args: Mapping[str, Json]) -> tuple[str, str]:
        """Return the motion's status and the reason for it; ``silent`` where only the robot's place
        shows whether it tried."""
        s = self.settings
        try:
            if not self.link.connected:
                raise LinkLost
            return self.link.goal(action, kind, args, s.motion)
        except LinkLost:
            start = time.monotonic()
            self._reopen()
            seconds = time.monotonic() - start
            return "lost", f"the connection broke; back after {seconds:.1f} s, all goals cancelled"
        except TimeoutError as error:
            self._cancel_quietly()
            has_feedback = error.args[:1] == (True,)
            reason = f"not done within {s.motion:g} s, and cancelled"
            return ("blocked" if has_feedback else "silent"), reason

    def _reopen(self) -> None:
        """Reconnect and cancel any running goal."""
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
        """Cancel; a bridge that breaks or is silent again shows in the next request."""
        with suppress(LinkLost, TimeoutError):
            self._cancel()

    def _with_retries(self, request: Callable[[], Answer]) -> Answer:
        """Send a request, again if the connection broke meanwhile. Raises ``RobotError``."""
        problem = "hung up again and again"
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

    def _locate(self) -> None:
        """Take the place from odometry that comes from now on."""
        topic = self.settings.odometry
        message = self.link.latest({topic: time.monotonic()}, self.settings.answer)[topic]
        self._place = parse_place(message, topic)
        header = message.get("header")
        frame = header.get("frame_id") if isinstance(header, dict) else None
        self._frame = frame if isinstance(frame, str) and frame else self._frame

    def _read_view(self) -> View:
        """Return a view of messages that all come from now on."""
        s, now = self.settings, time.monotonic()
        topics = [topic for topic in (s.odometry, s.depth, s.image) if topic]
        latest = self.link.latest(dict.fromkeys(topics, now), s.answer)
        self._place, scan, image = parse_place(latest[s.odometry], s.odometry), latest[s.depth], b""
        if s.image:
            with naming_field(s.image, "data"):
                image = base64.b64decode(latest[s.image]["data"], validate=True)
        if s.depth_from == "scan":
            mounting = s.scan_turn, s.scan_flipped
            depth = scan_depth(scan, s.depth, s.eye, s.reach, *mounting)
        else:
            depth = image_depth(scan, s.depth, s.field_of_view, s.reach, s.tilt)
        return View("robot", *self._place, s.eye, s.field_of_view, depth, image=image)


@contextmanager
def calling_on_ctrl_c(interrupt: Callable[[], None]) -> Iterator[None]:
    """Make Ctrl-C call ``interrupt`` first. An event loop would only note it, and act once the
    motion is over; a robot is to stop at once."""
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
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


class SharedRobotTurn:
    """An episode's turn with a robot that all episodes share, over as soon as another one starts:
    the episode before then fails at its next motion.

    ``drivers`` is shared by all of them, and holds the current one.
    """

    def __init__(self, base: Base, drivers: list[SharedRobotTurn]) -> None:
        self._base, self._drivers = base, drivers

    def start(self, episode: Episode) -> None:
        self._drivers[:] = [self]
        self._base.start(episode)

    def capture(self) -> View:
        return self._current_base().capture()

    def rotate(self, degrees: float) -> MotionResult:
        return self._current_base().rotate(degrees)

    def go_to(self, x: float, y: float) -> MotionResult:
        return self._current_base().go_to(x, y)

    def pose(self) -> Mapping[str, Json]:
        return self._base.pose()

    def report(self) -> Mapping[str, Json]:
        return self._base.report()

    def stop(self) -> None:
        if self._drivers == [self]:
            self._base.stop()

    def _current_base(self) -> Base:
        if self._drivers != [self]:
            raise RobotError("the robot was given to another episode; run with --concurrency 1")
        return self._base
