"""ROS 2 messages to and from our places, headings and depth images. The only door between frames.

>>> place_of({"pose": {"pose": pose_at(1.0, 2.0, 90.0)}}, "/odom")
(1.0, 2.0, 90.0)
>>> pose_at(0.0, 0.0, 0.0)["orientation"]["z"]  # north: a quarter turn from x
0.7071067811865475

Sources: REP 103 (axes: x forward, y left; counter-clockwise), ``nav_msgs/Odometry``,
``sensor_msgs/LaserScan``, ``sensor_msgs/Image``, ``sensor_msgs/CompressedImage``. rosbridge sends
bytes in base64, and what is not finite as null.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from wayword.core.episode import Json
from wayword.core.errors import DataError
from wayword.core.geometry import absolute
from wayword.worlds.objectnav.observation import (
    DepthImage,
    Floats,
    from_camera,
    from_laser,
    nearest,
)

DEPTHS = {"16UC1": ("<u2", 0.001), "mono16": ("<u2", 0.001), "32FC1": ("<f4", 1.0)}
"""Encoding -> how a pixel is written, and its unit in metres."""

Message = Mapping[str, Json]


def place_of(message: Message, topic: str) -> tuple[float, float, float]:
    """x, y and heading out of an ``Odometry``, ``PoseWithCovarianceStamped`` or ``PoseStamped``."""
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


def yaw_of_turn(degrees: float) -> float:
    """A turn to the right in degrees as ROS's turn: radians, counter-clockwise positive."""
    return -math.radians(degrees)


def depth_of_scan(
    message: Message,
    topic: str,
    eye: float,
    reach: float,
    turn: float = 0.0,
    flipped: bool = False,
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
