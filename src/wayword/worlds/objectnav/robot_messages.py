"""Messages of ROS 2 as drivers send them: poses, frames, scans, depth images, maps, transforms.

Sources: REP 103 (x forward, y left; counter-clockwise), REP 105 (frames). rosbridge sends bytes in
base64, and numbers that are not finite as null.
"""

from __future__ import annotations

import base64
import math
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from wayword.core.episode import Json, JsonObject
from wayword.core.errors import DataError
from wayword.core.files import READER_ERRORS
from wayword.core.geometry import absolute
from wayword.worlds.objectnav import observation
from wayword.worlds.objectnav.observation import DepthImage, FloorMap

DEPTH_ENCODINGS = {
    "16uc1": ("<u2", 0.001),
    "mono16": ("<u2", 0.001),
    "16sc1": ("<i2", 0.001),
    "32fc1": ("<f4", 1.0),
    "64fc1": ("<f8", 1.0),
}
"""Encoding in lower case -> type of a pixel, and its unit in metres. Sources: REP 118 for 32FC1;
the other ones as drivers send them."""
SATURATED = {"<u2": 65535, "<i2": 32767}
"""Largest value of a pixel, with which drivers mark one that was not measured."""
FARTHEST_LEAST = 10.0
"""Metres: no laser measures nothing below this distance. Its ``range_min`` is in another unit."""
LETHAL_LEVEL = 100  # of an occupied cell; maps in another scale are refused
INSCRIBED_LEVEL = 99  # of a cell too near an occupied one for the robot's center
OCCUPIED_LEAST = 65
"""Probability of an occupied cell in percent, and of a free one: those of Nav2's map saver."""
FREE_MOST = 25
UNKNOWN_LEVEL = 255
# Metres from the origin at most: those of a map projection (UTM) reach 1e7
FARTHEST_PLACE = 1e8
MIN_QUATERNION = 0.1  # length below which a quaternion is no rounded rotation
MAX_QUATERNION = 10.0  # length above which it is none
# Cosine of the tilt above which a body is not on its wheels: a yaw is then no heading
LEAST_UPRIGHT = 0.5
Message = JsonObject
# x, y (metres), and the heading in degrees clockwise from y
Place = tuple[float, float, float]


@contextmanager
def naming_field(topic: str, field: str) -> Iterator[None]:
    """Turn the errors of reading a message into a ``DataError``."""
    try:
        yield
    except READER_ERRORS as error:
        problem = f"is missing or malformed ({type(error).__name__}: {error!s:.80})"
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
        x = float(pose["position"]["x"])
        y = float(pose["position"]["y"])
        orientation = pose["orientation"]
    yaw = math.degrees(yaw_of(orientation, topic, "pose"))
    # NaN compares false with everything.
    if not math.hypot(x, y) < FARTHEST_PLACE:
        problem = f"is at x {x:g}, y {y:g}, which is no place in metres"
        raise DataError(topic, "field 'pose'", problem)
    return x, y, round(absolute(90.0 - yaw), 6)


def yaw_of(quaternion: Message, topic: str, field: str) -> float:
    """Return the yaw in radians. The length need not be 1, as drivers round. A quaternion of zeros
    comes from a driver that fills in none, and is an error. So is a body on its side, such as a
    camera whose z axis points forward."""
    with naming_field(topic, field):
        x, y, z, w = (float(quaternion[axis]) for axis in "xyzw")
    length = math.hypot(x, y, z, w)
    if not MIN_QUATERNION <= length <= MAX_QUATERNION:
        problem = (
            f"has the quaternion ({x:g}, {y:g}, {z:g}, {w:g}), which is no rotation"
        )
        raise DataError(topic, f"field {field!r}", problem)
    check_upright(1.0 - 2.0 * (x * x + y * y) / length**2, topic, field)
    return math.atan2(2 * (w * z + x * y), w * w + x * x - y * y - z * z)


def check_upright(cosine: float, topic: str, field: str) -> None:
    """Raise ``DataError`` for a body whose z axis is not vertical: its yaw would be no heading.

    Upside down, its x axis points forward as well.
    """
    if abs(cosine) < LEAST_UPRIGHT:
        tilt = math.degrees(math.acos(cosine))
        problem = f"is tilted by {tilt:.0f} degrees, so that its yaw is no heading"
        remedy = "use the robot's base, whose x axis points forward and z axis up"
        raise DataError(topic, f"field {field!r}", problem, remedy)


def parse_frame(message: Message) -> str:
    """Return the frame of a message; empty if it has none. ROS 1 wrote a slash before it, which tf2
    refuses."""
    header = message.get("header")
    frame = header.get("frame_id") if isinstance(header, dict) else ""
    return str(frame or "").lstrip("/")


OTHER_AXES = {
    "ned": "north, east and down",
    "frd": "forward, right and down",
    "optical": "right, down and forward",
    "optical_frame": "right, down and forward",
    "camera_init": "left, up and forward",
}
"""Last words of frames whose axes are not x forward or east, y left or north. Sources: REP 103; for
``camera_init``, LOAM (Zhang and Singh 2014) and its successors."""


def check_axes(frame: str, topic: str) -> None:
    """Raise ``DataError`` for a frame in which a yaw is not counter-clockwise around the vertical:
    its headings would be mirrored."""
    for ending, axes in OTHER_AXES.items():
        # A word of its own, also as the last part of a name with slashes.
        if f"_{frame.lower().replace('/', '_')}".endswith(f"_{ending}"):
            problem = f"is {frame!r}, whose axes point {axes}"
            remedy = "use a frame whose axes point forward, left and up (REP 103)"
            raise DataError(topic, "field 'header.frame_id'", problem, remedy)


def ros_pose(x: float, y: float, heading: float) -> dict[str, dict[str, float]]:
    """Return a ``geometry_msgs/Pose``."""
    half_yaw = math.radians(90.0 - heading) / 2
    orientation = {
        "x": 0.0,
        "y": 0.0,
        "z": math.sin(half_yaw),
        "w": math.cos(half_yaw),
    }
    return {"position": {"x": x, "y": y, "z": 0.0}, "orientation": orientation}


class NothingMeasured(DataError):
    """Raised for a frame without a single distance: covered, too near, or in sunlight."""


class OldFrame(DataError):
    """Raised for a frame from before the robot stood still."""


def stamp_of(message: Message, topic: str) -> float:
    """Return the time of a message in seconds, by its sender's clock; 0 if it has none."""
    with naming_field(topic, "header.stamp"):
        stamp = (message.get("header") or {}).get("stamp") or {}
        # ROS 1 has other names.
        seconds = stamp.get("sec", stamp.get("secs", 0))
        return float(seconds + 1e-9 * stamp.get("nanosec", stamp.get("nsecs", 0)))


def number_or_nan(value: Json) -> float:
    """Return a number; NaN for null, which rosbridge writes in its place."""
    return math.nan if value is None else float(value)


def charged(message: Message) -> float:
    """Return the measured fraction of a battery's capacity; NaN where it is not measured."""
    charge = number_or_nan(message.get("charge"))
    names = ("capacity", "design_capacity")
    capacities = [number_or_nan(message.get(name)) for name in names]
    return next((charge / each for each in capacities if each > 0), math.nan)


def scan_depth(
    message: Message,
    topic: str,
    eye: float,
    reach: float,
    turn: float = 0.0,
    flipped: bool = False,
    no_return: Literal["unknown", "free"] = "unknown",
) -> DepthImage:
    """Convert a ``LaserScan`` to a depth image, by ``observation.from_laser``.

    The laser's front is ``turn`` degrees clockwise of the robot's; a ``flipped`` one is mounted
    upside down. Infinity is no hit. Any other reading outside ``range_min`` to ``range_max`` is
    unknown, and so is null: rosbridge writes it for NaN and both infinities. With
    ``no_return="free"`` such readings are no hits, except those that are too near. Sources: REP
    117, ``sensor_msgs/LaserScan``. Raises ``DataError``.
    """
    with naming_field(topic, "ranges"):
        ranges = np.array([*map(number_or_nan, message["ranges"])])
    with naming_field(topic, "angle_min, angle_increment, range_min or range_max"):
        first = float(message["angle_min"])
        step = float(message["angle_increment"])
        last = float(message.get("angle_max") or 0.0)
        least = float(message.get("range_min") or 0.0)
        most = float(message.get("range_max") or math.inf)
    if not len(ranges):
        raise DataError(topic, "field 'ranges'", "is empty")
    if problem := observation.unit_problem(ranges, "laser"):
        raise DataError(topic, "field 'ranges'", problem, "let the driver send metres")
    if least >= most:
        problem = f"is {least:g} m, and range_max {most:g} m: no distance is between"
        raise DataError(topic, "field 'range_min'", problem, "correct the driver")
    if least > FARTHEST_LEAST:
        problem = f"is {least:g} m: its unit is not the metre"
        raise DataError(
            topic, "field 'range_min'", problem, "let the driver send metres"
        )
    span = abs(step) * (len(ranges) - 1)
    if not math.isfinite(first) or not 0 < span < 2.1 * math.pi + 1e-9:
        problem = (
            f"of {len(ranges)} readings by {step:g} rad is no circle or part of one"
        )
        raise DataError(topic, "field 'angle_increment'", problem)
    # Off by a few readings at most, as drivers count them; 0 is a field that is not filled in.
    end = first + step * (len(ranges) - 1)
    if last and not abs(end - last) <= max(0.1 * span, 2 * abs(step)):
        problem = f"ends the {len(ranges)} readings at {end:.3g} rad, but angle_max is {last:.3g}"
        remedy = "correct the driver's angles, or a filter that leaves out readings"
        raise DataError(topic, "field 'angle_increment'", problem, remedy)
    is_distance = np.isfinite(ranges) & (ranges > 0)
    is_distance &= (ranges >= least) & (ranges <= most)
    # Some drivers send the largest distance where nothing is in range. Only one such reading may be
    # real: other drivers send the farthest reading as the largest distance.
    is_most = ranges == most
    if is_most.sum() > 1:
        is_distance &= ~is_most
    is_free = (ranges == np.inf) | (is_most & ~is_distance)
    if no_return == "free":
        is_too_near = (ranges == -np.inf) | ((ranges > 0) & (ranges < least))
        is_free = ~is_distance & ~is_too_near
    if not (is_distance | is_free).any():
        problem = (
            f"has no reading from range_min ({least:g} m) to range_max ({most:g} m)"
        )
        remedy = (
            "uncover the laser; if it sends 0 or NaN where nothing is within its range, set "
            "dataset.no_return=free"
        )
        raise NothingMeasured(topic, "field 'ranges'", problem, remedy)
    metres = np.where(is_free, np.inf, np.nan)
    metres[is_distance] = ranges[is_distance]
    angles = np.degrees(first + step * np.arange(len(ranges)))  # counter-clockwise
    bearings = (angles if flipped else -angles) + turn
    bearings = (bearings + 180.0) % 360.0 - 180.0
    nearest, column_bearings = observation.nearest_per_column(metres, bearings)
    # Free up to the reach; a laser of 200 m must not be taken for one in another unit.
    nearest[nearest > reach] = np.inf
    # What is beyond the laser's own range is unknown, also where it hit nothing.
    return observation.from_laser(
        nearest,
        tuple(column_bearings.tolist()),
        eye,
        min(reach, most),
    )


def image_depth(
    message: Message,
    topic: str,
    field_of_view: float,
    reach: float,
    tilt: float = 0.0,
    unit: float = 0.0,
) -> DepthImage:
    """Convert a depth ``sensor_msgs/Image`` of a camera that is tilted up by ``tilt`` degrees.

    ``unit`` is the unit of its numbers in metres; 0: that of the encoding. Infinity is no hit; 0,
    NaN, negative numbers and the largest integer are unknown. Source: REP 118. Raises
    ``DataError``.
    """
    with naming_field(topic, "encoding"):
        encoding = message["encoding"].strip().lower()
    if encoding not in DEPTH_ENCODINGS:
        problem = f"is encoded as {encoding}, not as 16UC1, 16SC1, 32FC1 or 64FC1"
        remedy = "set dataset.depth to the camera's topic of depth"
        raise DataError(topic, "field 'data'", problem, remedy)
    pixel_type, encoding_unit = DEPTH_ENCODINGS[encoding]
    pixel_bytes = np.dtype(pixel_type).itemsize
    with naming_field(topic, "data"):
        height = int(message["height"])
        width = int(message["width"])
        step = int(message.get("step") or width * pixel_bytes)
        data = np.frombuffer(image_bytes(message["data"]), np.uint8)
    # A row that is shorter than its pixels is one of another encoding.
    is_short = step < width * pixel_bytes
    if height < 1 or width < 1 or is_short or len(data) != height * step:
        problem = (
            f"holds {len(data)} bytes for {height} rows of {step} bytes, {width} pixels "
            f"of {pixel_bytes} bytes"
        )
        raise DataError(topic, "field 'data'", problem)
    with naming_field(topic, "data"):
        order = ">" if message.get("is_bigendian") else "<"
        # Rows may be padded: a step can be longer than its pixels.
        rows = data.reshape(height, step)[:, : width * pixel_bytes]
        pixels = np.ascontiguousarray(rows).view(pixel_type.replace("<", order))
    depth = pixels.astype(np.float64) * (unit or encoding_unit)
    # Negated, so that NaN becomes unknown as well.
    depth[~(depth > 0)] = np.nan
    if pixel_type in SATURATED:
        depth[pixels == SATURATED[pixel_type]] = np.nan
    if np.isnan(depth).all():
        problem = "has not one measured pixel"
        remedy = "uncover the camera, or step back: it measures nothing at close range"
        raise NothingMeasured(topic, "field 'data'", problem, remedy)
    if problem := observation.unit_problem(depth, "camera"):
        remedy = "set dataset.depth_unit, as 0.001 for millimetres"
        raise DataError(topic, "field 'data'", problem, remedy)
    return observation.from_camera(depth, field_of_view, reach, tilt=tilt)


def image_bytes(data: Json) -> bytes:
    """The bytes of a ``uint8[]``: base64 from rosbridge, a list of numbers from other bridges."""
    if isinstance(data, str):
        return base64.b64decode(data, validate=True)
    return bytes(data)


def floor_map(message: Message, topic: str) -> FloorMap:
    """Convert an ``OccupancyGrid`` to a map of the floor: a costmap, or a map of probabilities, as
    Cartographer publishes it, whose walls are less than certain."""
    with naming_field(topic, "data"):
        info = message["info"]
        data = np.array(message["data"], np.int16)
        if not len(data):
            raise ValueError("the map has no cells yet")
        if data.min() < -1 or data.max() > LETHAL_LEVEL:
            found = f"{data.min()} to {data.max()}"
            raise ValueError(f"cells are {found}, not -1 to {LETHAL_LEVEL}")
        cell = float(info["resolution"])
        origin = info["origin"]
        x, y = (float(origin["position"][axis]) + cell / 2 for axis in "xy")
        turn = origin["orientation"]
        turns = [abs(float(turn.get(axis, 0.0))) for axis in "xyz"]
        is_rotated = max(turns) > 1e-6
        if not 0 < cell < math.inf or not math.isfinite(x + y) or is_rotated:
            raise ValueError("the grid is rotated, or its cells have no size or place")
        levels = data.astype(np.uint8).reshape(int(info["height"]), int(info["width"]))
        if data.max() == 1:
            raise ValueError(f"cells are 0 and 1, not 0 to {LETHAL_LEVEL}")
        if _has_probabilities(levels):
            levels = _as_costs(levels)
        return FloorMap(x, y, cell, levels.shape[1], zlib.compress(levels.tobytes()))


def _has_probabilities(levels: NDArray[np.uint8]) -> bool:
    """True if a map has levels between free and occupied that are no costs: those of a costmap fall
    from an occupied cell over cells that are too near it."""
    is_graded = (levels > 0) & (levels < INSCRIBED_LEVEL)
    is_occupied = levels[:, :-1] == LETHAL_LEVEL
    next_to_graded = np.count_nonzero(is_occupied & is_graded[:, 1:])
    next_to_inscribed = np.count_nonzero(
        is_occupied & (levels[:, 1:] == INSCRIBED_LEVEL)
    )
    is_costmap = (levels == INSCRIBED_LEVEL).any()
    is_costmap &= next_to_inscribed >= next_to_graded
    return bool(is_graded.any() and not is_costmap)


def _as_costs(levels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return probabilities in percent as free, occupied or unknown."""
    is_known = levels <= LETHAL_LEVEL
    costs = np.full_like(levels, UNKNOWN_LEVEL)
    costs[levels <= FREE_MOST] = 0
    costs[is_known & (levels >= OCCUPIED_LEAST)] = LETHAL_LEVEL
    return costs


class Transforms:
    """The latest transforms between frames, from ``/tf`` and ``/tf_static``."""

    def __init__(self) -> None:
        # Frame -> its parent, shift, rotation, time received and stamp
        self._parents: dict[
            str, tuple[str, list[float], list[float], float, float]
        ] = {}
        self._topics: dict[str, str] = {}
        self.stamp = 0.0
        """Stamp of the last place: that of the oldest transform; infinite if all are fixed."""

    def add(self, message: Message, topic: str) -> None:
        """Add the transforms of a ``TFMessage``; those on ``tf_static`` never expire. As in tf2,
        one that is not finite or no rotation is ignored, and the others are read."""
        is_static = topic.endswith("_static")
        received = math.inf if is_static else time.monotonic()
        with naming_field(topic, "transforms"):
            for each in message["transforms"]:
                shift, turn = (
                    each["transform"][key] for key in ("translation", "rotation")
                )
                # ROS 1 writes a slash before a frame's name, tf2 does not.
                entry = (
                    str(each["header"]["frame_id"]).lstrip("/"),
                    [number_or_nan(shift[axis]) for axis in "xyz"],
                    [number_or_nan(turn[axis]) for axis in "xyzw"],
                    received,
                    stamp_of(each, topic),
                )
                length = math.hypot(*entry[2])
                is_finite = math.isfinite(length + sum(entry[1]))
                is_rotation = MIN_QUATERNION <= length <= MAX_QUATERNION
                if not is_finite or not is_rotation:
                    continue
                child = str(each["child_frame_id"]).lstrip("/")
                self._parents[child] = entry
                self._topics[child] = topic

    @property
    def frames(self) -> list[str]:
        """The names of all frames, sorted."""
        parents = {entry[0] for entry in self._parents.values()}
        return sorted(parents | self._parents.keys())

    def place(self, frame: str, body: str, after: float) -> Place | None:
        """Return x, y and heading of a body's frame in another frame; None if a transform on the
        chain between them is missing or was received before ``after`` (``time.monotonic``)."""
        from scipy.spatial.transform import Rotation

        point = np.zeros(3)
        turn = Rotation.identity()
        child = body
        stamps = [math.inf]
        # Not more steps than transforms: a cycle in the tree must not loop forever.
        for _ in range(len(self._parents) + 1):
            if child == frame:
                self.stamp = min(stamps)
                z_axis = turn.apply((0.0, 0.0, 1.0))
                check_upright(float(z_axis[2]), self._topics.get(body, "/tf"), body)
                x_axis = turn.apply((1.0, 0.0, 0.0))
                yaw = math.degrees(math.atan2(x_axis[1], x_axis[0]))
                # Yaw is counterclockwise from east, a heading clockwise from north.
                return float(point[0]), float(point[1]), round(absolute(90.0 - yaw), 6)
            if child not in self._parents:
                return None
            child, shift, quaternion, received, stamp = self._parents[child]
            if received < after:
                return None
            if received < math.inf:
                stamps.append(stamp)
            rotation = Rotation.from_quat(quaternion)
            point = rotation.apply(point) + shift
            turn = rotation * turn
        return None
