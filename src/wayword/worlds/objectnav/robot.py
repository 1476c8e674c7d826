"""A robot with ROS 2 and Nav2, over rosbridge.

    base = RosBase(RosSettings(url="ws://127.0.0.1:9090"))
    world = ObjectNavWorld(base)

It goes with Nav2's ``NavigateToPose``, a short distance at a time, and turns with ``Spin``. A
heartbeat lets the robot stop if this program dies, and every wait has a time limit. A failed motion
has a status: ``refused`` (the goal was rejected), ``blocked`` (by an obstacle, or too slow),
``cancelled`` (by another client or an operator, or Nav2 failed without an obstacle) or ``lost``
(the connection broke, or there is no answer). After a broken connection all goals are cancelled
first, and no motion is repeated: the agent observes the pose and decides.
"""

from __future__ import annotations

import math
import os
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields, replace
from typing import Annotated, Any, Literal, NamedTuple, NoReturn, Self, TypeVar

from annotated_types import Ge, Gt, Le, Lt

from wayword.core import interrupts
from wayword.core.action import Action
from wayword.core.blame import place_of
from wayword.core.episode import Episode, JsonObject
from wayword.core.errors import DataError, UsageError
from wayword.core.geometry import bearing, relative
from wayword.core.world import Feedback
from wayword.settings import Checked
from wayword.worlds.objectnav import observation
from wayword.worlds.objectnav.base import (
    UNMEASURED_SECONDS,
    Base,
    MotionResult,
    parse_numbers,
)
from wayword.worlds.objectnav.observation import DepthImage, FloorMap, View
from wayword.worlds.objectnav.robot_messages import (
    DEPTH_ENCODINGS,
    Message,
    NothingMeasured,
    OldFrame,
    Transforms,
    charged,
    check_axes,
    floor_map,
    image_bytes,
    image_depth,
    naming_field,
    parse_frame,
    parse_place,
    ros_pose,
    scan_depth,
    stamp_of,
)
from wayword.worlds.objectnav.rosbridge import Link, LinkLost, RobotError, check_url
from wayword.worlds.objectnav.view_check import ViewCheck
from wayword.worlds.objectnav.world import ObjectNavWorld

TOKEN_VARIABLE = "WAYWORD_ROBOT_TOKEN"
# Attempts of a request whose connection breaks, with a reconnection between them
MAX_TRIES = 3
Answer = TypeVar("Answer")
Seconds = Annotated[float, Gt(0), Le(86_400)]  # a day
# Without an ID and a time, it cancels all goals
CANCEL_TYPE = "action_msgs/srv/CancelGoal"
ALL_GOALS = {
    "goal_info": {"goal_id": {"uuid": [0] * 16}, "stamp": {"sec": 0, "nanosec": 0}}
}
ABSENT_SERVICE = "does not exist"
"""Words of rosbridge about a service that is called and does not exist."""
DEPTH_TYPES = {"scan": "sensor_msgs/msg/LaserScan", "image": "sensor_msgs/msg/Image"}
POSE_TYPES = {
    "odometry": "nav_msgs/msg/Odometry",
    "pose": "geometry_msgs/msg/PoseStamped",
    "pose_with_covariance": "geometry_msgs/msg/PoseWithCovarianceStamped",
    "tf": "tf2_msgs/msg/TFMessage",
}
OTHER_TYPES = {
    "battery": "sensor_msgs/msg/BatteryState",
    "emergency_stop": "std_msgs/msg/Bool",
    "costmap": "nav_msgs/msg/OccupancyGrid",
    "image": "sensor_msgs/msg/CompressedImage",
}
"""Setting of a topic that may be empty -> its type."""
NAVIGATE_TYPE = "nav2_msgs/action/NavigateToPose"
# Metres that each leg must get closer to the goal, or the motion ends
MIN_PROGRESS = 0.05
LATEST = {"sec": 0, "nanosec": 0}
"""Stamp of a goal: tf2 uses the newest transform. Without a stamp, rosbridge fills in its own
clock, for which transforms are too old (simulated time) or too new (a plan that is made again)."""
# Metres that Nav2's footprint and inflation keep from an obstacle. A goal that was aborted without
# a reason met an obstacle if depth shows one at most this far behind the goal.
OBSTACLE_MARGIN = 0.3
FARTHEST_OBSTACLE = 1.0  # metres from the robot within which an obstacle stopped it
NAMES = (
    *(
        "odometry",
        "tf",
        "image",
        "depth",
        "navigate",
        "spin",
        "costmap",
        "speed_limit",
    ),
    *("heartbeat", "battery", "emergency_stop"),
)
"""Settings that name a topic or an action."""
USED_WITH: Mapping[str, tuple[str, str]] = {
    **dict.fromkeys(("depth_unit", "tilt"), ("depth_from", "image")),
    **dict.fromkeys(("scan_turn", "scan_flipped", "no_return"), ("depth_from", "scan")),
    **dict.fromkeys(("map_frame", "body_frame"), ("pose_from", "tf")),
}
"""Setting -> the setting that it needs, and its value. With another one it would have no effect."""
REQUIRED_NAMES = ("depth", "navigate", "spin")
"""Topics and actions that every search needs; that of poses depends on its type."""
OVERCHARGED = 1.1
"""Fraction of a full battery above which a percentage counts to 100: drivers that compute it from
the voltage send a little more than 1 for a full one."""
CHARGED_LEAST = 0.5
"""Fraction of the capacity (Ah) below which a percentage of 1 is 1%. A full battery that has aged
holds four fifths of its capacity; one at 1% holds a hundredth."""
# Age of a frame at most, by its stamp and the pose's, beyond ``settle``: an older one may show what
# was seen during the motion. Lasers and compression take some of it.
MOST_LAG = 0.3
# Seconds: a larger difference is one of clocks, as of sensors that count from their own start.
OTHER_CLOCK = 60.0


@dataclass(frozen=True)
class RosSettings(Checked):
    """The connection to a robot, and its topics, actions, sensors and time limits.

    A name that begins with a slash is absolute, as in ROS; others are in ``namespace``. Empty
    topics are not used. A token is read from ``$WAYWORD_ROBOT_TOKEN``.
    """

    url: str = "ws://127.0.0.1:9090"
    """address of the rosbridge server"""
    plain: bool = False
    """permit unencrypted ``ws://`` to another machine"""
    namespace: str = ""
    """of all topics and actions without a leading slash: ``/robot1``"""
    odometry: str = "odom"
    """topic of poses, of the type in ``pose_from``"""
    pose_from: Literal["odometry", "pose", "pose_with_covariance", "tf"] = "odometry"
    """type of ``odometry``; with ``tf``, transforms from ``body_frame`` to ``map_frame`` instead"""
    tf: str = "tf"
    """topic of transforms; fixed ones come on this name with the suffix ``_static``"""
    map_frame: str = "map"
    """frame of poses and goals, with ``pose_from=tf``"""
    body_frame: str = "base_link"
    """the robot's own frame, with ``pose_from=tf``"""
    image: str = "camera/image_raw/compressed"
    """topic of pictures, ``sensor_msgs/CompressedImage``; empty for none"""
    depth: str = "scan"
    """topic of distances, of the type in ``depth_from``"""
    depth_from: Literal["scan", "image"] = "scan"
    """type of ``depth``: a laser, or a depth camera at the camera's own position"""
    navigate: str = "navigate_to_pose"
    """action ``NavigateToPose``"""
    spin: str = "spin"
    """action ``Spin``"""
    costmap: str = ""
    """topic of the robot's own map, ``nav_msgs/OccupancyGrid`` in the frame of the poses, on which
    searchers then plan"""
    farthest: Annotated[float, Ge(0.1), Le(2)] = 2.0
    """metres to a goal at most; longer paths have several goals"""
    speed: Annotated[float, Ge(0), Le(5)] = 0.0
    """metres a second at most, sent to Nav2 before each goal; 0: not sent"""
    speed_limit: str = "speed_limit"
    """topic on which ``speed`` is sent"""
    heartbeat: str = "wayword/heartbeat"
    """topic for a watchdog on the robot, five messages a second"""
    battery: str = ""
    """topic of ``sensor_msgs/BatteryState``; a search ends below ``least_charge``"""
    least_charge: Annotated[float, Ge(0), Le(1)] = 0.2
    """fraction of a full battery"""
    emergency_stop: str = ""
    """topic of ``std_msgs/Bool``; a search ends when it is true"""
    field_of_view: Annotated[float, Ge(10), Lt(180)] = 69.0
    """width of the camera's picture in degrees"""
    eye: Annotated[float, Ge(0.05), Le(3)] = 0.9
    """height of the camera above the floor in metres"""
    reach: Annotated[float, Gt(0), Le(100)] = 5.0
    """metres up to which depth is used"""
    no_return: Literal["unknown", "free"] = "unknown"
    """a laser's readings that are no distance; ``free`` for drivers that send 0 or NaN where
    nothing is in range"""
    depth_unit: Annotated[float, Ge(0), Le(1)] = 0.0
    """unit of a depth image in metres, such as 0.001; 0: that of its encoding"""
    scan_turn: Annotated[float, Ge(-360), Le(360)] = 0.0
    """degrees clockwise from the robot's front to the laser's"""
    scan_flipped: bool = False
    """the laser is mounted upside down"""
    tilt: Annotated[float, Ge(-60), Le(60)] = 0.0
    """pitch of the depth camera in degrees, up is positive"""
    patience: Seconds = 30.0
    """seconds to connect, all attempts together; at most 3 if the first one is refused"""
    answer: Seconds = 10.0
    """seconds to wait for a message or a service"""
    motion: Seconds = 90.0
    """seconds for one motion"""
    settle: Annotated[float, Ge(0), Le(60)] = 0.3
    """seconds between the end of a motion and the next picture"""
    throttle: Annotated[int, Ge(0)] = 200
    """milliseconds between two messages of a sensor at least"""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_url(self.url, self.plain)
        for setting in ("namespace", *NAMES):
            name = getattr(self, setting)
            if not re.fullmatch(r"/*(?:[A-Za-z_][A-Za-z0-9_]*(?:/+|$))*", name):
                raise UsageError(
                    f"robot: {setting} must be a ROS name such as /robot1, got {name!r}"
                )
        pose_topic = "tf" if self.pose_from == "tf" else "odometry"
        for setting in (*REQUIRED_NAMES, pose_topic):
            if not getattr(self, setting).strip("/"):
                raise UsageError(
                    f"robot: {setting} must not be empty; leave it out for its default"
                )
        self._check_distinct(pose_topic)
        for field in fields(self):
            needed, value = USED_WITH.get(field.name, ("", ""))
            is_given = getattr(self, field.name) != field.default
            if needed and is_given and getattr(self, needed) != value:
                raise UsageError(
                    f"robot: {field.name} has no effect with {needed}={getattr(self, needed)}; "
                    f"add --set dataset.{needed}={value}, or remove it"
                )

    def _check_distinct(self, pose_topic: str) -> None:
        """Raise ``UsageError`` for two topics or actions of one name: each has its own type."""
        unused = {"odometry", "tf"} - {pose_topic}
        settings: dict[str, str] = {}
        for setting in NAMES:
            name = getattr(self, setting)
            if not name or setting in unused:
                continue
            if not name.startswith("/"):
                name = f"/{self.namespace.strip('/')}/{name}".replace("//", "/")
            if name in settings:
                raise UsageError(
                    f"robot: {settings[name]} and {setting} are both {name!r}, which has one type; "
                    "correct one of them"
                )
            settings[name] = setting

    @property
    def tf_topics(self) -> tuple[str, str]:
        """Names of the two topics of transforms: moving frames, and fixed ones."""
        return self.tf, f"{self.tf}_static"

    def resolved(self) -> Self:
        """The settings with absolute names: those without a leading slash are in ``namespace``.
        Frames have no slash."""
        space = self.namespace.strip("/")
        prefix = f"/{space}/" if space else "/"
        absolute_names = {}
        for setting in NAMES:
            name = getattr(self, setting)
            if name and not name.startswith("/"):
                absolute_names[setting] = prefix + name
        # ROS 1 wrote a slash before a frame's name, tf2 does not.
        for setting in ("map_frame", "body_frame"):
            absolute_names[setting] = getattr(self, setting).lstrip("/")
        return replace(self, **absolute_names)


def cancel_service(action: str) -> str:
    """Return the name of the service that cancels goals of an action."""
    return f"{action}/_action/cancel_goal"


class Topic(NamedTuple):
    """A topic to read: the setting that names it, its name, and its ROS type."""

    setting: str
    name: str
    kind: str


class RosBase:
    """A robot as a base. Raises ``RobotError`` if it cannot be reached, or a topic is silent."""

    def __init__(self, settings: RosSettings, link: Link | None = None) -> None:
        given: Any = settings
        if not isinstance(given, RosSettings):
            form = 'RosSettings(url="ws://127.0.0.1:9090")'
            problem = f"must be an instance such as {form}, got {given!r:.80}"
            raise UsageError(f"settings {problem}")
        self.settings = settings.resolved()
        token = os.environ.get(TOKEN_VARIABLE, "")
        self.link = link or Link(settings.url, token, settings.patience, settings.plain)
        self._place = (0.0, 0.0, 0.0)
        self._frame = "odom"
        self._stamp = 0.0  # of the pose
        self.transforms = Transforms()
        self._halted = ""
        self._full_charge = 1
        self._reported_breaks = 0
        self._metres = 0.0
        self._counts = dict.fromkeys(
            ("moves", "turns", "bumps", "refused", "cancelled", "lost"),
            0,
        )

    def topics(self) -> Iterator[Topic]:
        """Yield the topics to read: depth, poses, and the others that the settings name."""
        s = self.settings
        yield Topic("depth", s.depth, DEPTH_TYPES[s.depth_from])
        if s.pose_from == "tf":
            for name in s.tf_topics:
                yield Topic("tf", name, POSE_TYPES["tf"])
        else:
            yield Topic("odometry", s.odometry, POSE_TYPES[s.pose_from])
        for setting, kind in OTHER_TYPES.items():
            if name := getattr(s, setting):
                yield Topic(setting, name, kind)

    def start(self, episode: Episode) -> None:
        """Connect and stop any running motion; the robot starts from its current pose.

        Raises ``RobotError`` if the robot cannot be reached, if it lacks an action, or if its pose
        or a state that the settings name does not come within ``answer`` seconds.
        """
        s = self.settings
        # Each state must have come once, at any time, before the first motion.
        self.link.clear_interrupt()
        with self._cancel_on_interrupt():
            self.connect()
            if absent := self._with_retries(self.cancel):
                self.link.close()
                names = " and ".join(absent.values())
                settings = " and ".join(f"dataset.{setting}" for setting in absent)
                raise RobotError(
                    f"the robot at {s.url} has no action {names}; start Nav2, or correct {settings}"
                )
            states = filter(None, (s.battery, s.emergency_stop, s.costmap))
            any_time = dict.fromkeys(states, -math.inf)
            self._with_retries(lambda: self.link.latest(any_time, s.answer))
            self._with_retries(self.locate)

    def connect(self) -> None:
        """Connect and subscribe. Raises ``RobotError`` if the robot cannot be reached."""
        s = self.settings
        link = self.link
        link.close()  # a new subscription repeats the messages of topics that publish only once
        self._halted = ""
        link.listener = self._on_message
        link.heartbeat = s.heartbeat

        for topic in self.topics():
            # Every pose counts, and a message of transforms has only some of them.
            throttle = 0 if topic.setting in ("odometry", "tf") else s.throttle
            queue = 100 if topic.setting == "tf" else 1
            link.subscribe(topic.name, topic.kind, throttle, queue)

        # Topics to write.
        if s.heartbeat:
            link.advertise(s.heartbeat, "std_msgs/msg/Empty")
        if s.speed:
            link.advertise(s.speed_limit, "nav2_msgs/msg/SpeedLimit")

        # The counts are those of an episode.
        self._metres = 0.0
        self._counts = dict.fromkeys(self._counts, 0)
        link.open()
        self._reported_breaks = link.reconnections

    def _on_message(self, topic: str, message: Message) -> None:
        """Store transforms, and end the search at a low battery or a pressed emergency stop."""
        problem = ""
        s = self.settings
        if topic in s.tf_topics:
            self.transforms.add(message, topic)
        elif topic == s.battery:
            charge = self.charge_of(message)
            if charge is None:
                got = message.get("percentage")
                problem = (
                    f"{s.battery}: the percentage must be between 0 and 1, got {got!r}"
                )
                problem += "; to search without it, leave dataset.battery empty"
            elif charge < s.least_charge:
                problem = f"the battery is at {charge:.0%}, below {s.least_charge:.0%}: charge it"
        elif topic == s.emergency_stop and message.get("data") not in (False, 0):
            problem = "the emergency stop is pressed: release it and restart the search"
        if problem and not self._halted:
            self._halt(problem)

    def charge_of(self, message: Message) -> float | None:
        """Return the fraction of a full battery; None for a message that does not say it."""
        share = message.get("percentage")
        if not isinstance(share, int | float):
            return None
        # Some drivers send 0 to 100: their first values are above 1, or 1 for an empty battery.
        is_percent = share > OVERCHARGED
        if share == 1 and charged(message) < CHARGED_LEAST:
            is_percent = True
        if is_percent:
            self._full_charge = 100
        if not 0 <= share <= max(OVERCHARGED, self._full_charge):
            return None
        return share / self._full_charge

    def _halt(self, problem: str) -> None:
        """End the search."""
        self._halted = problem
        self.link.interrupt(problem)

    def capture(self) -> View:
        """Wait until the body is still, and return a view from one moment."""
        with self._cancel_on_interrupt():
            self.link.pause(self.settings.settle)
            return self._with_retries(self._read_view)

    def rotate(self, degrees: float) -> MotionResult:
        """Turn in place by degrees, positive to the right, by the action ``spin``.

        An aborted turn counts as ``blocked``. Counts a turn for every 30 degrees.
        """
        args = {
            "target_yaw": -math.radians(degrees),  # ROS turns counter-clockwise
            "time_allowance": {"sec": int(self.settings.motion), "nanosec": 0},
        }
        result = self._do_motion(self.settings.spin, "nav2_msgs/action/Spin", args)
        if result.status == "aborted":
            self._counts["bumps"] += 1
            result = replace(result, status="blocked")
        self._counts["turns"] += math.ceil(abs(degrees) / 30.0 - 1e-9)
        return result

    def go_to(self, x: float, y: float) -> MotionResult:
        """Send goals towards a point (metres), in legs of the farthest goal, until the body is
        there or a goal fails."""
        metres = 0.0
        while True:
            east, north, heading = self._place
            away = math.dist((east, north), (x, y))
            # At the point itself the bearing is undefined, and the heading stays.
            if away > 1e-3:
                heading = bearing((east, north), (x, y))
            # Without the margin, rounding errors would add a leg to an exact multiple.
            legs = max(1, math.ceil(away / self.settings.farthest - 1e-9))
            pose = ros_pose(
                east + (x - east) / legs,
                north + (y - north) / legs,
                heading,
            )
            header = {"stamp": LATEST, "frame_id": self._frame}
            goal = {"header": header, "pose": pose}
            args = {"pose": goal, "behavior_tree": ""}
            result = self._do_motion(self.settings.navigate, NAVIGATE_TYPE, args)
            if result.status == "aborted":
                result = self._explained(result, (x, y))
            self._counts["moves"] += max(1, math.ceil(result.metres / 0.25 - 1e-9))
            metres = round(metres + result.metres, 4)
            if legs == 1 or result.status != "ok":
                return MotionResult(result.status, metres, result.reason)
            # A planner may report success without motion: the loop has to end then.
            if math.dist(self._place[:2], (x, y)) > away - MIN_PROGRESS:
                return MotionResult(
                    "blocked",
                    metres,
                    "the robot gets no closer to the point",
                )

    def pose(self) -> JsonObject:
        """Return x and y (metres) and heading (degrees) as last located, rounded for records."""
        x, y, heading = self._place
        return {
            "x": round(x, 4),
            "y": round(y, 4),
            "heading": round(heading, 2) % 360.0,
        }

    def report(self) -> JsonObject:
        """Return the counts, without ``in_view``: the objects truly in view are unknown."""
        metres = round(self._metres, 4)
        reconnections = self.link.reconnections
        return {
            "metres": metres,
            **self._counts,
            "reconnections": reconnections,
        }

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
            with interrupts.listening(self.link.interrupt):
                yield
        except (InterruptedError, KeyboardInterrupt):
            self.link.clear_interrupt()
            # A second Ctrl-C ends this wait too, after all cancellations were sent.
            is_cancelled = False
            with suppress(InterruptedError):
                is_cancelled = self._cancel_quietly()
            if self._halted:
                self.link.close()
                raise RobotError(
                    f"the search ended, all goals cancelled: {self._halted}"
                ) from None
            # At Ctrl-C a person watches the robot, and has to know if it obeys.
            if is_cancelled:
                sys.stderr.write("robot: all goals cancelled\n")
            interrupts.end()

    def _do_motion(
        self,
        action: str,
        kind: str,
        args: JsonObject,
    ) -> MotionResult:
        """Send a goal of an action, wait for its end, and return the motion's result.

        ``kind`` is the action's type, ``args`` are the goal's fields. The status is that of the
        link's answer; ``lost`` if the connection broke. A goal without an answer after ``motion``
        seconds is cancelled: ``blocked`` if feedback or the pose shows that the robot tried, else
        ``lost``. Metres are measured straight from the pose before to the pose after.

        An interrupt cancels all goals and is raised again. Raises ``RobotError`` if the robot
        cannot be reached, or reports a problem that ends the search.
        """
        start = self._place
        s = self.settings
        with self._cancel_on_interrupt():
            try:
                if not self.link.connected:
                    raise LinkLost
                if s.speed:
                    limit = {"percentage": False, "speed_limit": s.speed}
                    self.link.publish(s.speed_limit, limit)
                status, reason = self.link.goal(action, kind, args, s.motion)
            except LinkLost:
                since = time.monotonic()
                self._reopen()
                away = f"{time.monotonic() - since:.1f} s"
                status = "lost"
                reason = (
                    f"the connection broke; restored after {away}, all goals cancelled"
                )
            except TimeoutError as error:
                # Its argument is true after feedback. Without it, only the pose shows any motion.
                self._cancel_quietly()
                status = "blocked" if error.args[:1] == (True,) else "silent"
                reason = f"cancelled after {s.motion:g} s"
                if status == "silent":
                    reason += (
                        f", without feedback: does {action} run, and rosbridge 2.0?"
                    )
            self._with_retries(self.locate)
        distance = math.dist(start[:2], self._place[:2])
        # A silent robot that moved by more than 5 cm or 3 degrees did receive the goal.
        if status == "silent":
            turn = abs(relative(self._place[2], start[2]))
            status = "blocked" if distance > 0.05 or turn > 3.0 else "lost"
        self._metres += distance

        # Breaks between two motions are reported with the next one.
        breaks = self.link.reconnections - self._reported_breaks
        self._reported_breaks += breaks
        if breaks and status != "lost":
            note = "before it, the connection broke and all goals were cancelled"
            reason = f"{reason}; {note}" if reason else note
        if status in self._counts:
            self._counts[status] += 1
        elif status == "blocked":
            self._counts["bumps"] += 1
        return MotionResult(status, round(distance, 4), reason)

    def _explained(
        self,
        aborted: MotionResult,
        goal: tuple[float, float],
    ) -> MotionResult:
        """Explain a motion that Nav2 aborted without a reason: ``blocked`` if depth shows an
        obstacle towards the goal, else ``cancelled``, as by a client whose goal preempted it."""
        view = self.capture()
        position = (view.x, view.y)
        side = relative(bearing(position, goal), view.heading)
        obstacle = observation.obstacle_ahead(view.depth, view.eye, side)
        limit = math.dist(position, goal) + OBSTACLE_MARGIN
        if obstacle <= min(limit, FARTHEST_OBSTACLE):
            self._counts["bumps"] += 1
            return replace(aborted, status="blocked")
        self._counts["cancelled"] += 1
        reason = (
            f"Nav2 ended the goal ({aborted.reason}) although nothing was in the way"
        )
        return replace(aborted, status="cancelled", reason=reason)

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

    @property
    def actions(self) -> dict[str, str]:
        """The robot's actions by the setting that names each."""
        return {"navigate": self.settings.navigate, "spin": self.settings.spin}

    def cancel(self) -> dict[str, str]:
        """Cancel all goals of both actions. Return those of ``actions`` that do not exist. Raises
        ``LinkLost`` and ``TimeoutError``."""
        services = [cancel_service(action) for action in self.actions.values()]
        answers = self.link.call_all(
            services, CANCEL_TYPE, ALL_GOALS, self.settings.answer
        )
        absent = {}
        for (setting, action), answer in zip(
            self.actions.items(), answers, strict=True
        ):
            # Each action of ROS 2 has this service, so the bridge knows whether there is one.
            if ABSENT_SERVICE in str(answer.get("values")):
                absent[setting] = action
        return absent

    def _cancel_quietly(self) -> bool:
        """Cancel goals, and return True if the bridge answered; if it breaks or is silent, the next
        request raises the error."""
        with suppress(LinkLost, TimeoutError):
            self.cancel()
            return True
        return False

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
                # A message of tf names its frames, and errors of the bridge their topic.
                silent = str(error).replace(",", " ").split()
                names = [
                    f"dataset.{t.setting}" for t in self.topics() if t.name in silent
                ]
                if malformed := self.link.malformed.get(str(error)):
                    problem += f"; it had sent a message that is ignored: {malformed}"
                elif names:
                    setting = " and ".join(dict.fromkeys(names))
                    problem += f"; check {setting} with `wayword robot`"
                break
        self.link.close()
        raise RobotError(f"the robot at {self.settings.url} {problem}")

    def locate(self, now: float | None = None) -> None:
        """Update the pose from messages received after ``now``."""
        s = self.settings
        now = time.monotonic() if now is None else now
        if s.pose_from == "tf":
            for frame in (s.map_frame, s.body_frame):
                check_axes(frame, s.tf)

            def missing() -> str:
                """Name what the body's place still needs; empty once it is known."""
                place = self.transforms.place(s.map_frame, s.body_frame, now)
                self._place = place or self._place
                return "" if place else f"{s.tf} from {s.body_frame} to {s.map_frame}"

            self.link.wait(missing, s.answer)
            self._frame = s.map_frame
            self._stamp = self.transforms.stamp
            return
        # A localizer publishes its pose only while the robot moves, and once to a new subscriber.
        after = -math.inf if s.pose_from == "pose_with_covariance" else now
        message = self.link.latest({s.odometry: after}, s.answer)[s.odometry]
        self._place = parse_place(message, s.odometry)
        self._stamp = stamp_of(message, s.odometry)
        self._frame = parse_frame(message) or self._frame
        check_axes(self._frame, s.odometry)

    def _read_view(self) -> View:
        """Return a view with depth. Raises ``NothingMeasured`` if frame after frame has none, and
        ``OldFrame`` if all come late."""
        deadline = time.monotonic() + UNMEASURED_SECONDS
        while True:
            try:
                return self._read_next_view()
            except (NothingMeasured, OldFrame):
                if time.monotonic() > deadline:
                    raise

    def _read_next_view(self) -> View:
        """Return a view from messages received from now on, except a map, which may be older.

        Raises ``NothingMeasured`` for a frame without depth, ``OldFrame`` for one from before the
        robot stood still, ``DataError`` for a message with a
        wrong field or a map in another frame than the poses, ``LinkLost``, and ``TimeoutError`` for
        a silent topic.
        """
        s = self.settings
        now = time.monotonic()
        after = dict.fromkeys(filter(None, (s.depth, s.image)), now)
        if s.costmap:
            after[s.costmap] = -math.inf
        latest = self.link.latest(after, s.answer)
        self.locate(now)
        for topic in filter(None, (s.depth, s.image)):
            stamp = stamp_of(latest[topic], topic)
            lag = self._stamp - stamp
            # A frame without a stamp has no age; a simulated clock begins at 0.
            if stamp and s.settle + MOST_LAG < lag < OTHER_CLOCK:
                problem = f"is {lag:.1f} s older than the pose"
                remedy = "set dataset.settle above it, or synchronize the clocks"
                raise OldFrame(topic, "field 'header.stamp'", problem, remedy)
        image = b""
        floor = None
        if s.image:
            image = self.picture_of(latest[s.image])
        if s.costmap:
            floor = self.floor_of(latest[s.costmap])
        depth = self.depth_of(latest[s.depth])
        return View(
            "robot",
            *self._place,
            s.eye,
            s.field_of_view,
            depth,
            None,
            image,
            floor,
        )

    def picture_of(self, message: Message) -> bytes:
        """Return the picture of a message on the topic ``image``. Raises ``DataError``."""
        topic = self.settings.image
        form = str(message.get("format"))
        kind = form.partition(";")[0].strip().lower()
        if kind in DEPTH_ENCODINGS and kind != "mono16":  # of an infrared camera
            problem = f"is {kind}: depth, not a picture"
            remedy = "set dataset.image to the topic of colors"
            raise DataError(topic, "field 'format'", problem, remedy)
        with naming_field(topic, "data"):
            image = image_bytes(message["data"])
        if not image:
            raise DataError(topic, "field 'data'", "is empty", "restart the camera")
        return image

    def floor_of(self, message: Message) -> FloorMap:
        """Return the map of a message on the topic ``costmap``. Raises ``DataError``, also for a
        map in another frame than the poses."""
        topic = self.settings.costmap
        frame = parse_frame(message)
        # It would put its walls where none are.
        if frame != self._frame:
            problem = f"is {frame!r}, but poses are in {self._frame!r}"
            remedy = f"set dataset.pose_from=tf and dataset.map_frame={frame}"
            raise DataError(topic, "field 'header.frame_id'", problem, remedy)
        return floor_map(message, topic)

    def depth_of(self, message: Message) -> DepthImage:
        """Return the depth of a message on the topic ``depth``. Raises ``DataError``."""
        s = self.settings
        if s.depth_from == "scan":
            mounting = (s.scan_turn, s.scan_flipped)
            return scan_depth(message, s.depth, s.eye, s.reach, *mounting, s.no_return)
        camera = (s.field_of_view, s.reach, s.tilt, s.depth_unit)
        return image_depth(message, s.depth, *camera)


# A robot that reports success without any motion is stuck, or its pose is; one that lags shows each
# motion with the next. Smaller motions may be within its tolerance.
MOST_IDLE = 3
# A motion that shows itself makes up for a quarter of an idle one of its kind: wheels slip now and
# then, and a long search has hundreds of motions. Below one slip in five, idle ones do not add up.
SHOWN = 0.25
LARGE_METRES, LARGE_DEGREES = 0.5, 20.0
STILL_METRES, STILL_DEGREES = 0.02, 1.0
# So is one that moves otherwise than it reports, as with a sign or two axes confused. A single
# motion may be that of someone who pushed it.
MOST_WRONG = 2
WRONG_METRES = 0.25
WRONG_DEGREES = 30.0
# How many times longer than a straight line, or shorter, a reported way may be: routes have
# detours, poses jump, and other units differ by more.
WRONG_FACTOR = 20.0


def _is_large(action: Action, pose: JsonObject) -> bool:
    """True for a motion that has to change the pose."""
    numbers = parse_numbers(action) or ()
    if action.name == "rotate":
        return abs(relative(numbers[0], 0.0)) >= LARGE_DEGREES
    return action.name == "goto" and (
        math.dist(numbers, (pose["x"], pose["y"])) >= LARGE_METRES
    )


def _wrong_motion(action: Action, before: JsonObject, after: JsonObject) -> str:
    """Return how the pose after a motion contradicts it; empty if it does not."""
    numbers = parse_numbers(action) or ()
    if action.name == "rotate":
        turned = relative(after["heading"], before["heading"])
        if abs(relative(turned, numbers[0])) <= WRONG_DEGREES:
            return ""
        problem = f"rotate({numbers[0]:g}) changed the heading by {turned:.0f} degrees"
        if abs(relative(turned, -numbers[0])) <= WRONG_DEGREES:
            problem += ", the wrong way"
        return (
            f"{problem}; degrees are clockwise (to the right), also those of headings"
        )
    away = math.dist(numbers, (before["x"], before["y"]))
    left = math.dist(numbers, (after["x"], after["y"]))
    if left <= away + WRONG_METRES:
        return ""
    return (
        f"go_to({numbers[0]:.2f}, {numbers[1]:.2f}) began {away:.2f} m from there and ended "
        f"{left:.2f} m from it; x is metres east, y north"
    )


def _wrong_report(driven: float, moved: float) -> str:
    """Return how the metres that a report added contradict a straight way between two poses."""
    if moved < WRONG_METRES or 1 / WRONG_FACTOR <= driven / moved <= WRONG_FACTOR:
        return ""
    return (
        f"report()['metres'] grew by {driven:.2f} where the pose has changed by {moved:.2f} m; "
        "it counts the metres traveled"
    )


class SharedRobotWorld(ObjectNavWorld):
    """A search with a robot that all episodes share.

    The episode that started last drives it: the only one in ``drivers``, a list that
    all worlds share. An earlier one fails at its next motion.
    """

    def __init__(self, base: Base, drivers: list[SharedRobotWorld]) -> None:
        super().__init__(base)
        self._drivers = drivers
        # motions that did not change what they should, less a part of those that did
        self._idle: dict[str, float] = {}
        self._wrong = 0  # that contradict the pose
        self._views = ViewCheck()

    def reset(self, episode: Episode) -> None:
        """Start an episode and take over the robot."""
        self._drivers[:] = [self]
        self._idle.clear()
        self._wrong = 0
        self._views = ViewCheck()
        super().reset(episode)

    def observe(self, actor: str) -> View:
        """Return the view. Raises ``RobotError`` if another episode took over, or if depth
        or bearings of objects contradict the motions."""
        self._check_driver()
        is_new = self._view is None
        view = super().observe(actor)
        if is_new and (problem := self._views.problem(view)):
            is_ros = isinstance(getattr(self.base, "base", self.base), RosBase)
            if is_ros and "depth" in problem:
                problem += "; check dataset.scan_flipped, scan_turn and depth_unit"
            self._fail("capture", f"capture {problem}")
        return view

    def step(self, actor: str, action: Action) -> Feedback:
        """Carry out a motion. Raises ``RobotError`` if another episode took over, or if the robot
        reports success but never moves, or moves otherwise."""
        self._check_driver()
        before = self.base.pose()
        reported = self.base.report()["metres"]
        feedback = super().step(actor, action)
        if not feedback.ok or not _is_large(action, before):
            return feedback
        after = self.base.pose()
        turned = abs(relative(after["heading"], before["heading"]))
        moved = math.dist((after["x"], after["y"]), (before["x"], before["y"]))
        # A drive that changes the heading alone is idle: x and y may be those of the start.
        is_idle = moved <= STILL_METRES
        part = "place"
        if action.name == "rotate":
            is_idle = turned <= STILL_DEGREES
            part = "heading"
        idle = self._idle.get(part, 0.0)
        self._idle[part] = max(0.0, idle - SHOWN)
        if is_idle:
            self._idle[part] = idle + 1
            if sum(self._idle.values()) >= MOST_IDLE:
                parts = " and ".join(sorted(filter(self._idle.get, self._idle)))
                self._fail(
                    "pose",
                    f"the robot reported ok for {MOST_IDLE} motions, but its pose has not changed "
                    f"in {parts}; does it move, and is its pose up to date?",
                )
            return feedback
        problem = _wrong_motion(action, before, after)
        method = "rotate" if action.name == "rotate" else "go_to"
        if not problem and method == "go_to":
            method = "report"
            driven = self.base.report()["metres"] - reported
            problem = _wrong_report(driven, moved)
        self._wrong = self._wrong + 1 if problem else 0
        if self._wrong == MOST_WRONG:
            self._fail(method, problem)
        return feedback

    def _fail(self, method: str, problem: str) -> NoReturn:
        """Stop the robot. Raises ``RobotError`` with the line of a method of a user's base; one
        behind rosbridge has none."""
        self.base.stop()
        own = getattr(self.base, "base", None)
        if own is not None:
            problem = f"{place_of(getattr(type(own), method))}: {problem}"
        raise RobotError(problem)

    def _check_driver(self) -> None:
        """Raise ``RobotError`` if another episode took over the robot."""
        if self._drivers != [self]:
            raise RobotError(
                "another episode took over the robot; only one can drive it"
            )
