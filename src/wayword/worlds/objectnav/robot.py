"""RosBase: a robot with ROS 2 and Nav2, over rosbridge.

    base = RosBase(RosSettings(url="ws://127.0.0.1:9090"))
    world = ObjectNavWorld(base)

It reads the place from odometry, the picture from a camera and depth from a laser or a depth
camera; it goes with Nav2's ``NavigateToPose`` and turns with Nav2's ``Spin``. Every wait has a
limit. What goes wrong with a motion comes back as its status: ``refused`` (the goal was turned
down), ``blocked`` (given up on the way, or too slow) and ``lost`` (the connection broke, or nobody
answers). After a broken connection all goals are cancelled before anything else is done, and no
motion is ever repeated by itself: whoever decides sees where the robot is and decides anew.
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
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any, Literal, TypeVar

import numpy as np

from wayword.core.episode import Episode, Json
from wayword.core.errors import DataError, UsageError
from wayword.core.geometry import absolute, bearing, relative
from wayword.worlds.objectnav.base import Base, Moved
from wayword.worlds.objectnav.observation import (
    DepthImage,
    Floats,
    View,
    from_camera,
    from_laser,
    nearest,
)
from wayword.worlds.objectnav.rosbridge import ActionResult, Link, LinkLost, RobotError, check_url

TOKEN = "WAYWORD_ROBOT_TOKEN"
SUCCEEDED = 4
TRIES = 3
Found = TypeVar("Found")
CANCEL = "action_msgs/srv/CancelGoal"
EVERY_GOAL = {"goal_info": {"goal_id": {"uuid": [0] * 16}, "stamp": {"sec": 0, "nanosec": 0}}}
"""What cancels all goals of an action: no ID and no time (``action_msgs/srv/CancelGoal``)."""
KINDS = {"scan": "sensor_msgs/msg/LaserScan", "image": "sensor_msgs/msg/Image"}


# Messages: ROS 2's to and from our places, headings and depth images. The only door between frames.
#
# Sources: REP 103 (axes: x forward, y left; counter-clockwise), ``nav_msgs/Odometry``,
# ``sensor_msgs/LaserScan``, ``sensor_msgs/Image``, ``sensor_msgs/CompressedImage``. rosbridge sends
# bytes in base64, and what is not finite as null.

DEPTHS = {"16UC1": ("<u2", 0.001), "mono16": ("<u2", 0.001), "32FC1": ("<f4", 1.0)}
"""Encoding -> how a pixel is written, and its unit in metres."""

Message = Mapping[str, Json]


def place_of(message: Message, topic: str) -> tuple[float, float, float]:
    """x, y and heading out of an ``Odometry``, ``PoseWithCovarianceStamped`` or ``PoseStamped``.

    >>> place_of({"pose": {"pose": pose_at(1.0, 2.0, 90.0)}}, "/odom")
    (1.0, 2.0, 90.0)
    >>> pose_at(0.0, 0.0, 0.0)["orientation"]["z"]  # north: a quarter turn from x
    0.7071067811865475
    """
    try:
        pose = message["pose"]
        pose = pose.get("pose", pose)
        x, y = float(pose["position"]["x"]), float(pose["position"]["y"])
        q = {axis: float(pose["orientation"][axis]) for axis in "xyzw"}
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise _broken(topic, "pose", error) from error
    yaw = math.atan2(2 * (q["w"] * q["z"] + q["x"] * q["y"]), 1 - 2 * (q["y"] ** 2 + q["z"] ** 2))
    if not all(map(math.isfinite, (x, y, yaw))):
        raise DataError(topic, "field 'pose'", "is not finite")
    return x, y, round(absolute(90.0 - math.degrees(yaw)), 6)


def pose_at(x: float, y: float, heading: float) -> dict[str, dict[str, float]]:
    """A ``geometry_msgs/Pose``."""
    half = math.radians(90.0 - heading) / 2
    turned = {"x": 0.0, "y": 0.0, "z": math.sin(half), "w": math.cos(half)}
    return {"position": {"x": x, "y": y, "z": 0.0}, "orientation": turned}


def frame_of(message: Message, fallback: str) -> str:
    """The frame that a stamped message is in."""
    header = message.get("header")
    name = header.get("frame_id") if isinstance(header, dict) else None
    return name if isinstance(name, str) and name else fallback


def depth_of_scan(
    message: Message, topic: str, eye: float, reach: float, turn: float = 0.0, flipped: bool = False
) -> DepthImage:
    """A ``LaserScan`` as a depth image of walls: see ``observation.from_laser``. The laser's front
    is ``turn`` degrees clockwise of the robot's; a ``flipped`` one hangs upside down."""
    try:
        given = [math.inf if r is None else float(r) for r in message["ranges"]]
        first, step = float(message["angle_min"]), float(message["angle_increment"])
        least, most = float(message.get("range_min") or 0), message.get("range_max")
    except (KeyError, TypeError, ValueError) as error:
        raise _broken(topic, "ranges", error) from error
    if not given:
        raise DataError(topic, "field 'ranges'", "is empty")
    ranges = np.array(given)
    far = math.inf if most is None else float(most)
    ranges = np.where(np.isnan(ranges) | (ranges < least) | (ranges > far), np.inf, ranges)
    own = np.degrees(first + step * np.arange(len(ranges)))  # counter-clockwise
    turned = (own if flipped else -own) + turn
    bearings = (turned + 180.0) % 360.0 - 180.0
    found, middles = nearest(ranges, bearings)
    return from_laser(found, tuple(middles.tolist()), eye, reach)


def depth_of_image(
    message: Message, topic: str, field_of_view: float, reach: float, tilt: float = 0.0
) -> DepthImage:
    """A depth ``sensor_msgs/Image`` (16 bits of millimetres, or floats of metres) of a camera that
    looks up by ``tilt`` degrees."""
    try:
        high, wide, step = int(message["height"]), int(message["width"]), int(message["step"])
        kind, unit = DEPTHS[message["encoding"]]
        if message.get("is_bigendian"):
            kind = kind.replace("<", ">")
        data = np.frombuffer(base64.b64decode(message["data"], validate=True), np.uint8)
        rows = data.reshape(high, step)[:, : wide * np.dtype(kind).itemsize]
        depth: Floats = np.ascontiguousarray(rows).view(kind).astype(np.float64) * unit
    except (KeyError, TypeError, ValueError) as error:
        raise _broken(topic, "data", error) from error
    return from_camera(depth, field_of_view, reach, tilt=tilt)


def picture_of(message: Message, topic: str) -> bytes:
    """The encoded picture of a ``CompressedImage``."""
    try:
        return base64.b64decode(message["data"], validate=True)
    except (KeyError, TypeError, ValueError) as error:
        raise _broken(topic, "data", error) from error


def _broken(topic: str, field: str, error: Exception) -> DataError:
    told: Any = f"is missing or malformed ({type(error).__name__}: {error})"
    return DataError(topic, f"field {field!r}", told, "is it of the type that was asked for?")


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
            raise UsageError("robot: field_of_view lies in 10 to 180 degrees, eye in 0.05 to 3 m")
        if not -360 <= self.scan_turn <= 360 or not -60 <= self.tilt <= 60:
            raise UsageError("robot: scan_turn lies in -360 to 360 degrees, tilt in -60 to 60")
        if min(self.patience, self.answer, self.motion, self.reach) <= 0 or self.settle < 0:
            raise UsageError("robot: patience, answer, motion and reach are above 0")


class RosBase:
    """A robot as a base. Where several episodes share it, each has its :class:`Turn`.

    Raises ``RobotError`` where the robot cannot be reached again, or a topic is silent.
    """

    def __init__(self, settings: RosSettings, link: Link | None = None) -> None:
        self.settings = settings
        token = os.environ.get(TOKEN, "")
        self.link = link or Link(settings.url, token, settings.patience, settings.plain)
        self._place = (0.0, 0.0, 0.0)
        self._frame = "odom"
        self._metres = 0.0
        self._counts = dict.fromkeys(("moves", "turns", "bumps", "refused", "lost"), 0)

    def start(self, episode: Episode) -> None:
        """Connect and stop whatever motion is under way; the robot starts where it stands."""
        s = self.settings
        self.link.subscribe(s.odometry, "nav_msgs/msg/Odometry")
        self.link.subscribe(s.depth, KINDS[s.depth_from], s.throttle)
        if s.image:
            self.link.subscribe(s.image, "sensor_msgs/msg/CompressedImage", s.throttle)
        self._metres, self._counts = 0.0, dict.fromkeys(self._counts, 0)
        self.link.calm()
        self.link.open()
        self._retried(self._cancel)
        self._retried(self._locate)

    def capture(self) -> View:
        with self._stoppable():
            time.sleep(self.settings.settle)
            return self._retried(self._look)

    def rotate(self, degrees: float) -> Moved:
        args = {
            "target_yaw": -math.radians(degrees),  # ROS turns counter-clockwise
            "time_allowance": {"sec": int(self.settings.motion), "nanosec": 0},
        }
        moved = self._moved(self.settings.spin, "nav2_msgs/action/Spin", args)
        self._counts["turns"] += math.ceil(abs(degrees) / 30.0 - 1e-9)
        return moved

    def go_to(self, x: float, y: float) -> Moved:
        here_x, here_y, heading = self._place
        if math.dist((here_x, here_y), (x, y)) > 1e-3:
            heading = bearing((here_x, here_y), (x, y))
        pose = pose_at(x, y, heading)
        args = {"pose": {"header": {"frame_id": self._frame}, "pose": pose}, "behavior_tree": ""}
        moved = self._moved(self.settings.navigate, "nav2_msgs/action/NavigateToPose", args)
        self._counts["moves"] += max(1, math.ceil(moved.metres / 0.25 - 1e-9))
        return moved

    def pose(self) -> Mapping[str, Json]:
        x, y, heading = self._place
        return {"x": round(x, 4), "y": round(y, 4), "heading": round(heading, 2) % 360.0}

    def report(self) -> Mapping[str, Json]:
        """Nobody knows what is truly in view of a robot, so ``in_view`` is left out."""
        return {
            "metres": round(self._metres, 4),
            **self._counts,
            "reconnections": self.link.reconnections,
        }

    def stop(self) -> None:
        """Cancel every goal and hang up. A link that is gone by now is left alone: no goal is
        under way, for motions end before the next decision."""
        try:
            if self.link.connected:
                self.link.calm()
                self._cancel()
        except (LinkLost, TimeoutError):
            pass
        finally:
            self.link.close()

    @contextmanager
    def _stoppable(self) -> Iterator[None]:
        """Ctrl-C cancels all goals and ends the run."""
        try:
            with _ctrl_c(self.link.interrupt):
                yield
        except (InterruptedError, KeyboardInterrupt):
            self.link.calm()
            self._cancel_quietly()
            raise _interruption() from None

    def _moved(self, action: str, kind: str, args: Mapping[str, Json]) -> Moved:
        """Carry out a goal, whatever comes of it."""
        before = self._place
        with self._stoppable():
            status, reason = self._tried(action, kind, args)
            self._retried(self._locate)
        gone = math.dist(before[:2], self._place[:2])
        if status == "silent":
            turned = abs(relative(self._place[2], before[2]))
            status = "blocked" if gone > 0.05 or turned > 3.0 else "lost"
        self._metres += gone
        counted = {"blocked": "bumps", "refused": "refused", "lost": "lost"}.get(status)
        if counted:
            self._counts[counted] += 1
        return Moved(status, round(gone, 4), reason)

    def _tried(self, action: str, kind: str, args: Mapping[str, Json]) -> tuple[str, str]:
        """The motion's status and the reason for it; ``silent`` where only the robot's place tells
        whether it tried."""
        s = self.settings
        try:
            if not self.link.connected:
                raise LinkLost
            return _judged(self.link.goal(action, kind, args, s.motion))
        except LinkLost:
            began = time.monotonic()
            self._reopen()
            away = time.monotonic() - began
            return "lost", f"the connection broke; back after {away:.1f} s, all goals cancelled"
        except TimeoutError as error:
            self._cancel_quietly()
            heard = error.args[:1] == (True,)
            told = f"not done within {s.motion:g} s, and cancelled"
            return ("blocked" if heard else "silent"), told

    def _reopen(self) -> None:
        """Connect again and cancel what may be under way."""
        try:
            self.link.open()
        except RobotError:
            self.link.close()
            raise
        self._cancel_quietly()

    def _cancel(self) -> None:
        for action in (self.settings.navigate, self.settings.spin):
            service = f"{action}/_action/cancel_goal"
            self.link.call(service, CANCEL, EVERY_GOAL, self.settings.answer)

    def _cancel_quietly(self) -> None:
        """Cancel; a bridge that breaks or is silent again shows in whatever is asked next."""
        try:
            self._cancel()
        except (LinkLost, TimeoutError):
            return

    def _retried(self, ask: Callable[[], Found]) -> Found:
        """Ask, and ask again where the connection broke meanwhile. Raises ``RobotError``."""
        for _ in range(TRIES):
            try:
                if not self.link.connected:
                    self._reopen()
                return ask()
            except LinkLost:
                continue
            except TimeoutError as error:
                silent = f"said nothing on {error} for {self.settings.answer:g} s"
                raise self._ended(silent) from None
        raise self._ended("hung up again and again")

    def _ended(self, what: str) -> RobotError:
        """The error that ends the episode; the link is closed."""
        self.link.close()
        return RobotError(f"the robot at {self.settings.url} {what}")

    def _locate(self) -> None:
        """Take the place from odometry that comes from now on."""
        topic = self.settings.odometry
        found = self.link.latest({topic: time.monotonic()}, self.settings.answer)[topic]
        self._place = place_of(found, topic)
        self._frame = frame_of(found, self._frame)

    def _look(self) -> View:
        """A view of messages that all come from now on."""
        s, now = self.settings, time.monotonic()
        topics = [topic for topic in (s.odometry, s.depth, s.image) if topic]
        found = self.link.latest(dict.fromkeys(topics, now), s.answer)
        self._place = place_of(found[s.odometry], s.odometry)
        image = picture_of(found[s.image], s.image) if s.image else b""
        depth = self._depth(found[s.depth])
        return View("robot", *self._place, s.eye, s.field_of_view, depth, image=image)

    def _depth(self, message: Message) -> DepthImage:
        s = self.settings
        if s.depth_from == "scan":
            mounted = s.scan_turn, s.scan_flipped
            return depth_of_scan(message, s.depth, s.eye, s.reach, *mounted)
        return depth_of_image(message, s.depth, s.field_of_view, s.reach, s.tilt)


@contextmanager
def _ctrl_c(also: Callable[[], None]) -> Iterator[None]:
    """Ctrl-C does one thing more than it did. An event loop would only take note of it, and see to
    it once the motion is over; a robot is to stop at once."""
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return

    def hit(number: int, frame: FrameType | None) -> None:
        also()
        before(number, frame)

    signal.signal(signal.SIGINT, hit)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _interruption() -> BaseException:
    """What ends a run after Ctrl-C: an event loop has taken note of it and is being cancelled."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return KeyboardInterrupt()
    return asyncio.CancelledError()


def _judged(answer: ActionResult) -> tuple[str, str]:
    """A result as a motion's status and the reason for it."""
    if not answer.accepted:
        return "refused", str(answer.values)[:200] or "the goal was turned down"
    if answer.status == SUCCEEDED:
        return "ok", ""
    told = answer.values.get("error_msg") if isinstance(answer.values, dict) else ""
    named = {5: "cancelled", 6: "given up"}.get(answer.status, f"ended with {answer.status}")
    return "blocked", f"{named}: {told}"[:200] if told else named


class Turn:
    """One episode's turn with a robot that all episodes share, over as soon as another one starts:
    whoever had the robot before is told so at the next motion.

    ``drivers`` is shared by all of them, and holds whoever drives now.
    """

    def __init__(self, base: Base, drivers: list[Turn]) -> None:
        self._base, self._drivers = base, drivers

    def start(self, episode: Episode) -> None:
        self._drivers[:] = [self]
        self._base.start(episode)

    def capture(self) -> View:
        return self._mine().capture()

    def rotate(self, degrees: float) -> Moved:
        return self._mine().rotate(degrees)

    def go_to(self, x: float, y: float) -> Moved:
        return self._mine().go_to(x, y)

    def pose(self) -> Mapping[str, Json]:
        return self._base.pose()

    def report(self) -> Mapping[str, Json]:
        return self._base.report()

    def stop(self) -> None:
        if self._drivers == [self]:
            self._base.stop()

    def _mine(self) -> Base:
        if self._drivers != [self]:
            raise RobotError("the robot was given to another episode; run with --concurrency 1")
        return self._base
