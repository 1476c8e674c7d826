"""A simulated robot behind a rosbridge server on loopback: ``wayword robot --fake``.

It speaks the protocol over a real websocket (subscribe, publish, send_action_goal with feedback and
result, call_service), in ROS's frames and units, so a search with it takes the same path through
the code as one with a robot. Motions take no time.

Its camera paints each object in the color that encodes its name, which the detector
``colors:names`` reads from the pixels; walls are gray.

Faults happen to goals by their number, counted from 1: ``drop`` closes the connection halfway,
``refuse`` rejects the goal, ``ignore`` never answers, ``stall`` sends feedback and never ends, and
``cancel`` ends it halfway as an operator does who cancels all goals. Until the client leaves,
``stop`` presses the emergency stop on ``emergency_stop``, ``battery`` empties the one on
``battery``, and with ``lag`` pose, laser and camera show the moment before the last drive.

Source: rosbridge v2 protocol, ROSBRIDGE_PROTOCOL.md of RobotWebTools/rosbridge_suite, branch ros2.
"""

from __future__ import annotations

import base64
import json
import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from wayword.core.errors import needing
from wayword.core.files import READER_ERRORS, describe_error
from wayword.core.loopback import binding, is_local_request
from wayword.core.sight import png
from wayword.core.visible import spaced
from wayword.perception.networks.colors import color_of
from wayword.render.parts import MeshBuilder, Paint
from wayword.render.raster import Mesh, PinholeCamera, draw
from wayword.worlds.household.scene import Scene
from wayword.worlds.objectnav.robot import (
    DEPTH_TYPES,
    OTHER_TYPES,
    POSE_TYPES,
    RosSettings,
    cancel_service,
)
from wayword.worlds.objectnav.robot_messages import ros_pose
from wayword.worlds.objectnav.rosbridge import ABORTED, CANCELLED, SUCCEEDED
from wayword.worlds.objectnav.simulated import SimulatedBase, surfaces_of

if TYPE_CHECKING:
    from websockets.http11 import Request, Response
    from websockets.sync.server import ServerConnection

Message = dict[str, Any]
STATES: Mapping[str, Message] = {
    "battery": {"percentage": 0.87},
    "emergency_stop": {"data": False},
}
"""Topics of the robot's state, and their messages without a fault."""
FAULTY_STATES: Mapping[str, tuple[str, Message]] = {
    "battery": ("battery", {"percentage": 0.12}),
    "stop": ("emergency_stop", {"data": True}),
}
"""Fault of a state -> its topic and message."""
FAULTS = ("drop", "refuse", "ignore", "stall", "cancel", "lag", *FAULTY_STATES)
PERIOD = 0.02
"""Seconds between two messages of a topic."""
LASER_HEIGHT = 0.2
"""Height of the laser above the floor, metres."""
LASER_STEP = 2.0
"""Degrees between two readings of the laser, which sees the half circle ahead."""
LASER_RANGE = 8.0
"""Farthest distance that the laser measures, metres."""
WALL_HEIGHT = 2.5
"""Height of walls in the camera's pictures, metres."""
WALL_PAINT: Paint = (((190.0, 190.0, 186.0),), (0.0, 0.0, 0.0))
MAP_SHIFT = (5.0, -2.0, 90.0)
"""Origin of odometry in the map frame: x and y in metres, degrees counterclockwise."""


KINDS: Mapping[str, str] = {
    "odom": POSE_TYPES["odometry"],
    "scan": DEPTH_TYPES["scan"],
    "camera/image_raw/compressed": OTHER_TYPES["image"],
    "tf": POSE_TYPES["tf"],
    "battery": OTHER_TYPES["battery"],
    "emergency_stop": OTHER_TYPES["emergency_stop"],
}
"""Topic -> its type."""
ACTIONS = ("navigate_to_pose", "spin")


class FakeRobot:
    """A simulated base as a robot with Nav2. All names are in the ``namespace``.

    ``faults``: number of a goal, from 1 -> one of ``FAULTS``. ``log`` holds all
    messages of clients except those on topics, which ``published`` holds with their
    time. ``latched`` topics are sent once to each new subscriber, ``extra`` ones
    continuously. ``complaints`` are errors that a subscription is answered with,
    ``silent`` are topics and services that answer nothing, and ``results`` are the
    status and values of goals, by number, that end at once without a motion.
    ``on_goal`` is called with a line about each goal: what is asked for, and its fault.
    """

    def __init__(
        self,
        base: SimulatedBase,
        faults: Mapping[int, str] | None = None,
        namespace: str = "",
        on_goal: Callable[[str], None] = lambda line: None,
    ) -> None:
        self.base = base
        self.on_goal = on_goal
        self.states = dict(STATES)
        self.faults = dict(faults or {})
        self.namespace = namespace
        self.results: dict[int, tuple[int, Message]] = {}
        self.goals = 0
        self._unfinished = False
        """True while a goal goes on, as after a fault; other motions take no time."""
        self.connections = 0
        self.headers: list[Mapping[str, str]] = []
        self.log: list[Message] = []
        self.published: list[tuple[float, str, Message]] = []
        self.advertised: dict[str, str] = {}
        self.subscribed: dict[str, str] = {}
        self.latched: dict[str, Message] = {}
        self.extra: dict[str, Message] = {}
        self.complaints: dict[str, str] = {}
        self.silent: set[str] = set()
        self.url = ""
        self._camera: PaintingCamera | None = None
        # The robot moves in the threads of its connections.
        self._lock = threading.Lock()
        # The pose, and the messages that describe the robot there.
        self._latest: tuple[tuple[float, ...], dict[str, Message]] | None = None
        self._lags = False
        # Messages from before the last drive, of a robot that lags; empty after a turn
        self._late: dict[str, Message] = {}

    def serve(self, connection: ServerConnection) -> None:
        """Serve one client until the connection closes; several may be connected at once."""
        from websockets.exceptions import ConnectionClosed
        from websockets.frames import CloseCode

        self.connections += 1
        assert connection.request is not None
        self.headers.append(connection.request.headers)
        topics: set[str] = set()
        closed = threading.Event()
        arguments = (connection, topics, closed)
        publisher = threading.Thread(target=self._publish, args=arguments)
        publisher.start()
        try:
            for text in connection:
                try:
                    self._handle(connection, json.loads(text), topics)
                except READER_ERRORS as error:
                    problem = f"malformed message ({describe_error(error)})"
                    send(
                        connection,
                        {
                            "op": "status",
                            "level": "error",
                            "msg": problem,
                        },
                    )
                    # Closed, so that a client cannot overlook it.
                    connection.close(CloseCode.INVALID_DATA)
        except ConnectionClosed:
            pass
        finally:
            closed.set()
            publisher.join()
            self.states.update(STATES)
            self._lags = False
            self._late = {}

    def picture(self) -> bytes:
        """Return the camera's picture, as a PNG or JPEG file."""
        if self._camera is None:
            self._camera = PaintingCamera(self.base.place.scene)
        pose = self.base.pose()
        return self._camera.picture(pose["x"], pose["y"], pose["heading"])

    def _handle(
        self,
        connection: ServerConnection,
        message: Message,
        topics: set[str],
    ) -> None:
        """Take a message of the bridge's protocol: record it, and answer as a robot would."""
        operation = message["op"]
        if operation == "publish":
            topic = message["topic"]
            assert topic in self.advertised, f"{topic} was not advertised"
            self.published.append((time.monotonic(), topic, message["msg"]))
            return
        if operation == "advertise":
            self.advertised[message["topic"]] = message["type"]
            return
        self.log.append(message)
        if operation == "subscribe":
            self._subscribe(connection, message, topics)
        elif operation == "call_service" and message["service"] not in self.silent:
            self._call(connection, message)
        elif operation == "send_action_goal":
            self.goals += 1
            self._run_goal(connection, message, self.faults.get(self.goals, ""))

    def _actions(self) -> list[str]:
        """Return the names of the actions."""
        return [f"{self.namespace}/{action}" for action in ACTIONS]

    def _call(self, connection: ServerConnection, message: Message) -> None:
        """Answer the call of a service: only those that cancel goals exist."""
        service = message["service"]
        about = {"op": "service_response", "id": message["id"], "service": service}
        if service not in map(cancel_service, self._actions()):
            problem = f"Service {service} does not exist"
            send(connection, {**about, "values": problem, "result": False})
            return
        if self._unfinished:
            self._unfinished = False
            self.on_goal("all goals cancelled")
        send(connection, {**about, "values": {"return_code": 0}, "result": True})

    def _subscribe(
        self,
        connection: ServerConnection,
        message: Message,
        topics: set[str],
    ) -> None:
        """Subscribe a connection to a topic, with the stored message of a latched one.

        Another type than the topic's is answered with an error, as by rosbridge.
        """
        topic = message["topic"]
        kind = KINDS.get(topic.removeprefix(f"{self.namespace}/"), "")
        is_own = topic not in self.extra and topic not in self.latched
        self.subscribed[topic] = message["type"]
        if kind and is_own and message["type"] != kind:
            conflict = (
                f"Tried to register topic {topic} with type {message['type']} but it is already "
                f"established with type {kind}"
            )
            send(connection, {"op": "status", "level": "error", "msg": conflict})
            return
        topics.add(topic)
        if topic in self.complaints:
            problem = {
                "op": "status",
                "level": "error",
                "msg": self.complaints[topic],
            }
            send(connection, problem)
        if topic in self.latched:
            content = {
                "op": "publish",
                "topic": topic,
                "msg": self.latched[topic],
            }
            send(connection, content)

    def _run_goal(
        self,
        connection: ServerConnection,
        message: Message,
        fault: str,
    ) -> None:
        """Carry out a goal of an action, with its planned fault, and send what a robot would.

        ``message`` is the client's goal, ``fault`` one of ``FAULTS`` or empty.
        """
        about = {"id": message["id"], "action": message["action"]}

        def answer(values: Any, status: int, accepted: bool = True) -> None:
            """Send the result of the goal, which the bridge may have refused itself."""
            result = {"op": "action_result", **about, "result": accepted}
            send(connection, {**result, "values": values, "status": status})

        if message["action"] not in self._actions():
            self.on_goal(f"goal {self.goals}: refused, no action {message['action']}")
            answer("No action server available", 0, accepted=False)
            return
        line = f"goal {self.goals}: {self._described(message)}"
        if fault:
            line += f"; fault: {fault}"
        self.on_goal(line)
        if fault in FAULTY_STATES:
            topic, state = FAULTY_STATES[fault]
            self.states[topic] = state
        self._lags |= fault == "lag"
        self._unfinished = fault in ("ignore", "stall")
        if fault == "ignore":
            return
        if fault == "refuse":
            answer("Action goal was rejected", 0, accepted=False)
            return
        send(connection, {"op": "action_feedback", **about, "values": {}})
        if fault == "stall":
            return
        # Planned results need no motion: they test how a client reads a status.
        if self.goals in self.results:
            status, values = self.results[self.goals]
            answer(values, status)
            return
        # Half of the way, as the client hears no more of it or has it cancelled.
        share = 0.5 if fault in ("drop", "cancel") else 1.0
        with self._lock:
            is_drive = message["action"] != f"{self.namespace}/spin"
            self._late = self._sensed() if self._lags and is_drive else {}
            has_arrived = self._move(message["action"], message["args"], share)
        if fault == "drop":
            connection.close()
            return
        status = SUCCEEDED if has_arrived else ABORTED
        if fault == "cancel":
            status = CANCELLED
        answer({"error_msg": ""}, status)

    def _described(self, message: Message) -> str:
        """Return a goal in words."""
        args = message["args"]
        if message["action"] == f"{self.namespace}/spin":
            # ROS turns counterclockwise.
            degrees = -math.degrees(args["target_yaw"])
            side = "left" if degrees < 0 else "right"
            return f"turn {side} {abs(degrees):.0f} degrees"
        end = args["pose"]["pose"]["position"]
        return f"go to x {end['x']:.2f} m, y {end['y']:.2f} m"

    def _move(self, action: str, args: Message, share: float) -> bool:
        """Carry out a share of a motion. Return True if it ended where it should.

        The motion is a turn for the action ``spin``, else a walk to the pose of ``args``.
        """
        if action == f"{self.namespace}/spin":
            # ROS turns counterclockwise.
            degrees = -math.degrees(args["target_yaw"])
            return self.base.rotate(degrees * share).status == "ok"
        start = self.base.pose()
        end = args["pose"]["pose"]["position"]
        x = start["x"] + share * (end["x"] - start["x"])
        y = start["y"] + share * (end["y"] - start["y"])
        return self.base.go_to(x, y).status == "ok"

    def _publish(
        self,
        connection: ServerConnection,
        topics: set[str],
        closed: threading.Event,
    ) -> None:
        """Publish the robot's messages to a connection, until it is closed.

        Every ``PERIOD`` seconds, on the ``topics`` that it subscribed to.
        """
        from websockets.exceptions import ConnectionClosed

        try:
            while not closed.wait(PERIOD):
                for topic, content in self._messages().items():
                    if topic in topics and topic not in self.silent:
                        message = {
                            "op": "publish",
                            "topic": topic,
                            "msg": content,
                        }
                        send(connection, message)
        except ConnectionClosed:
            return

    def _messages(self) -> dict[str, Message]:
        """Return the current messages by topic."""
        # The lock keeps ``_move`` from changing the pose in between, on which ``_image`` relies.
        with self._lock:
            states = {
                f"{self.namespace}/{topic}": state
                for topic, state in self.states.items()
            }
            return {**(self._late or self._sensed()), **states, **self.extra}

    def _sensed(self) -> dict[str, Message]:
        """Return the messages of pose, laser and camera by topic.

        They are made again only after a motion: painting and ray casting are too slow for
        every ``PERIOD``.
        """
        at = self.base.pose()
        pose = (at["x"], at["y"], at["heading"])
        if self._latest is None or self._latest[0] != pose:
            messages = {
                "odom": odometry(*pose),
                "scan": self._scan(*pose),
                "camera/image_raw/compressed": self._image(),
                "tf": transforms(*pose),
            }
            by_topic = {}
            for topic, message in messages.items():
                by_topic[f"{self.namespace}/{topic}"] = message
            self._latest = (pose, by_topic)
        return self._latest[1]

    def _scan(self, x: float, y: float, heading: float) -> Message:
        """Return a ``sensor_msgs/LaserScan``; readings are counted counterclockwise."""
        bearings = np.arange(-90.0, 90.1, LASER_STEP)[::-1]
        angles = np.radians(heading + bearings)
        rays = np.stack([np.sin(angles), np.cos(angles)], axis=1)
        eye = np.array((x, y, LASER_HEIGHT))
        level = np.zeros((1, 1))
        surfaces = self.base.place.surfaces
        metres = surfaces.ranges(eye, rays, level, LASER_RANGE)[0]
        # rosbridge writes null for numbers that are not finite.
        ranges = [float(m) if math.isfinite(m) else None for m in metres]
        return {
            "header": {"frame_id": "laser"},
            "angle_min": math.radians(-90.0),
            "angle_max": math.radians(90.0),
            "angle_increment": math.radians(LASER_STEP),
            "range_min": 0.05,
            "range_max": LASER_RANGE,
            "ranges": ranges,
        }

    def _image(self) -> Message:
        """Return a ``sensor_msgs/CompressedImage``."""
        data = base64.b64encode(self.picture()).decode()
        return {"header": {"frame_id": "camera"}, "format": "png", "data": data}


class PaintingCamera:
    """A camera in a scene, with the height and the field of view of ``RosSettings``.

    Objects are painted in the colors that encode their names, without shading.
    """

    def __init__(self, scene: Scene) -> None:
        self._mesh, names = mesh_of(scene)
        # Row 0 is the building, whose own colors stay.
        self._codes = np.array([color_of(name) for name in names], np.uint8)
        self._settings = RosSettings()

    def picture(self, x: float, y: float, heading: float) -> bytes:
        """Return the picture as a PNG file."""
        position = (x, y, self._settings.eye)
        camera = PinholeCamera(position, heading, 0.0, self._settings.field_of_view)
        frame = draw(self._mesh, camera)
        is_object = frame.ids > 0
        color = frame.color.copy()
        color[is_object] = self._codes[frame.ids[is_object]]
        return png(color)


def mesh_of(scene: Scene) -> tuple[Mesh, list[str]]:
    """Return walls and visible objects as boxes, and the objects' names by number.

    Number 0 is the building, which has no name.
    """
    builder = MeshBuilder()
    for wall in scene.walls:
        builder.add_wall(wall.a, wall.b, 0.0, WALL_HEIGHT, WALL_PAINT)
    for item in surfaces_of(scene).objects:
        number = builder.add_name(spaced(item.type))
        west, south, east, north = item.box
        low = (west, south, item.bottom)
        high = (east, north, item.bottom + item.height)
        builder.add_box(low, high, WALL_PAINT, number)
    return builder.mesh(), builder.names


def odometry(x: float, y: float, heading: float) -> Message:
    """Return a ``nav_msgs/Odometry``.

    ``x`` and ``y`` in metres, ``heading`` in degrees clockwise from north, as
    everywhere here.
    """
    pose = {"pose": ros_pose(x, y, heading)}
    return {"header": {"frame_id": "odom"}, "pose": pose}


def transforms(x: float, y: float, heading: float) -> Message:
    """Return a ``tf2_msgs/TFMessage``: map to odom, odom to base_footprint.

    The map's frame is shifted and turned, so that a client that mixes up frames is noticed.
    """
    map_to_odom = transform("map", "odom", *MAP_SHIFT)
    odom_to_base = transform("odom", "base_footprint", x, y, 90.0 - heading)
    return {"transforms": [map_to_odom, odom_to_base]}


def transform(
    parent: str,
    child: str,
    x: float,
    y: float,
    yaw: float,
) -> Message:
    """Return a ``geometry_msgs/TransformStamped``; ``yaw`` is in degrees, counterclockwise."""
    half_yaw = math.radians(yaw) / 2
    shift = {"x": x, "y": y, "z": 0.1}
    rotation = {
        "x": 0.0,
        "y": 0.0,
        "z": math.sin(half_yaw),
        "w": math.cos(half_yaw),
    }
    header = {"stamp": {"sec": 0, "nanosec": 0}, "frame_id": parent}
    body = {"translation": shift, "rotation": rotation}
    return {"header": header, "child_frame_id": child, "transform": body}


def send(connection: ServerConnection, message: Message) -> None:
    """Send a message as JSON."""
    connection.send(json.dumps(message))


def refuse_pages(connection: ServerConnection, request: Request) -> Response | None:
    """Refuse a web page from elsewhere, which reaches loopback addresses as programs do."""
    host = request.headers.get("Host", "")
    if is_local_request(host, request.headers.get("Origin")):
        return None
    return connection.respond(403, "Web pages from elsewhere are refused.\n")


@contextmanager
def serving(robot: FakeRobot, port: int = 0) -> Iterator[str]:
    """Serve a robot in a thread, and yield the server's address; port 0 is any free one.

    The server stops when the ``with`` block ends. Raises ``UsageError`` for a port that
    is not free.
    """
    with needing("a rosbridge server needs websockets", "ros"):
        from websockets.sync.server import serve

    with binding(port):
        bound = serve(
            robot.serve,
            "127.0.0.1",
            port,
            # Any web page in a browser could reach loopback.
            process_request=refuse_pages,
        )
    with bound as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            robot.url = f"ws://127.0.0.1:{server.socket.getsockname()[1]}"
            yield robot.url
        finally:
            server.shutdown()
            thread.join()
