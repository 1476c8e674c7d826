"""A rosbridge server on loopback that drives a simulated base: the robot of the tests.

It speaks the protocol over a real websocket (subscribe, publish, send_action_goal with feedback and
result, cancel_action_goal, call_service), in ROS's frames and units. Faults are given by the number
of the goal they befall, counted from 1: ``drop`` hangs up half way, ``refuse`` turns the goal down,
``ignore`` never answers, ``stall`` gives feedback and never ends.
"""

from __future__ import annotations

import base64
import json
import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from websockets.exceptions import ConnectionClosed
from websockets.sync.server import ServerConnection, serve

from wayword.core.episode import Episode
from wayword.worlds.objectnav.simulated import SimulatedBase

PERIOD = 0.02
LASER = 0.2
"""Height of the laser above the floor, metres."""
Message = dict[str, Any]


class Robot:
    """What stands behind the bridge. ``log`` keeps every message that clients sent, ``published``
    those on topics instead, with the time they came. ``latched`` holds topics that are sent once to
    each new subscriber, ``extra`` others that are sent all the time, and
    ``complaints`` the errors that a subscription gets. ``results`` holds status and values of
    goals, by number, that end at once. All names are in the ``namespace``."""

    def __init__(
        self,
        base: SimulatedBase,
        faults: Mapping[int, str] | None = None,
        namespace: str = "",
    ) -> None:
        self.base = base
        self.faults = dict(faults or {})
        self.namespace = namespace
        self.results: dict[int, tuple[int, Message]] = {}
        self.goals = 0
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
        self._lock = threading.Lock()
        self._shown: tuple[tuple[float, ...], dict[str, Message]] | None = None

    def serve(self, connection: ServerConnection) -> None:
        """One client, until it hangs up or is hung up on."""
        self.connections += 1
        assert connection.request is not None
        self.headers.append(connection.request.headers)
        topics: set[str] = set()
        gone = threading.Event()
        publisher = threading.Thread(
            target=self._publish, args=(connection, topics, gone)
        )
        publisher.start()
        try:
            for text in connection:
                self._handle(connection, json.loads(text), topics)
        except ConnectionClosed:
            pass
        finally:
            gone.set()
            publisher.join()

    def _handle(
        self, connection: ServerConnection, said: Message, topics: set[str]
    ) -> None:
        if said["op"] == "publish":
            assert said["topic"] in self.advertised, "rosbridge knows no type for it"
            self.published.append((time.monotonic(), said["topic"], said["msg"]))
            return
        if said["op"] == "advertise":
            self.advertised[said["topic"]] = said["type"]
            return
        self.log.append(said)
        if said["op"] == "subscribe":
            topic = said["topic"]
            topics.add(topic)
            self.subscribed[topic] = said["type"]
            if topic in self.complaints:
                texts_by_key = {
                    "op": "status",
                    "level": "error",
                    "msg": self.complaints[topic],
                }
                send(connection, texts_by_key)
            if topic in self.latched:
                send(
                    connection,
                    {"op": "publish", "topic": topic, "msg": self.latched[topic]},
                )
        elif said["op"] == "call_service":
            answer = {
                "op": "service_response",
                "id": said["id"],
                "service": said["service"],
            }
            if said["service"] not in self.silent:
                send(
                    connection, {**answer, "values": {"return_code": 0}, "result": True}
                )
        elif said["op"] == "send_action_goal":
            self.goals += 1
            self._goal(connection, said, self.faults.get(self.goals, ""))

    def _goal(self, connection: ServerConnection, said: Message, fault: str) -> None:
        about = {"id": said["id"], "action": said["action"]}
        if fault == "ignore":
            return
        if fault == "refuse":
            words = "Action goal was rejected"
            answer = {"op": "action_result", **about, "values": words, "status": 0}
            send(connection, {**answer, "result": False})
            return
        send(connection, {"op": "action_feedback", **about, "values": {}})
        if fault == "stall":
            return
        if self.goals in self.results:
            ended_as, values = self.results[self.goals]
            answer = {"op": "action_result", **about, "values": values, "result": True}
            send(connection, {**answer, "status": ended_as})
            return
        share = 0.5 if fault == "drop" else 1.0
        with self._lock:
            there = self._carry_out(said["action"], said["args"], share)
        if fault == "drop":
            connection.close()
            return
        status = {True: 4, False: 6}[there]
        answer = {
            "op": "action_result",
            **about,
            "values": {"error_msg": ""},
            "result": True,
        }
        send(connection, {**answer, "status": status})

    def _carry_out(self, action: str, args: Message, share: float) -> bool:
        """Part of a motion; whether it got there."""
        if action == f"{self.namespace}/spin":
            return (
                self.base.rotate(-math.degrees(args["target_yaw"]) * share).status
                == "ok"
            )
        here = self.base.pose()
        to = args["pose"]["pose"]["position"]
        x = here["x"] + share * (to["x"] - here["x"])
        y = here["y"] + share * (to["y"] - here["y"])
        return self.base.go_to(x, y).status == "ok"

    def _publish(
        self, connection: ServerConnection, topics: set[str], gone: threading.Event
    ) -> None:
        try:
            while not gone.wait(PERIOD):
                messages = self._messages()
                for topic in [
                    t for t in messages if t in topics and t not in self.silent
                ]:
                    send(
                        connection,
                        {"op": "publish", "topic": topic, "msg": messages[topic]},
                    )
        except ConnectionClosed:
            return

    def _messages(self) -> dict[str, Message]:
        """The topics as of now; made anew where the robot has moved."""
        with self._lock:
            where = self.base.pose()
            place = (where["x"], where["y"], where["heading"])
            if self._shown is None or self._shown[0] != place:
                self._shown = (
                    place,
                    {
                        f"{self.namespace}/odom": odometry(*place),
                        f"{self.namespace}/scan": self._scan(*place),
                        f"{self.namespace}/camera/image_raw/compressed": self._image(),
                        f"{self.namespace}/tf": transforms(*place),
                    },
                )
            return {**self._shown[1], **self.extra}

    def _scan(self, x: float, y: float, heading: float) -> Message:
        step = 2.0
        bearings = np.arange(-90.0, 90.1, step)[::-1]  # ROS counts counter-clockwise
        across = np.radians(heading + bearings)
        rays = np.stack([np.sin(across), np.cos(across)], axis=1)
        eye = np.array((x, y, LASER))
        level = np.zeros((1, 1))
        metres = self.base.place.surfaces.ranges(eye, rays, level, 8.0)[0]
        return {
            "header": {"frame_id": "laser"},
            "angle_min": math.radians(-90.0),
            "angle_max": math.radians(90.0),
            "angle_increment": math.radians(step),
            "range_min": 0.05,
            "range_max": 8.0,
            "ranges": [float(m) if math.isfinite(m) else None for m in metres],
        }

    def _image(self) -> Message:
        """The picture's bytes say what is in view: only the tests' own detector reads them."""
        shown = [
            [getattr(s, name) for name in s.__slots__]
            for s in self.base.capture().shown
        ]
        data = base64.b64encode(json.dumps(shown).encode()).decode()
        return {"header": {"frame_id": "camera"}, "format": "jpeg", "data": data}


def odometry(x: float, y: float, heading: float) -> Message:
    """``nav_msgs/Odometry``: yaw counter-clockwise from x."""
    yaw = math.radians(90.0 - heading)
    pose = {
        "position": {"x": x, "y": y, "z": 0.0},
        "orientation": {
            "x": 0.0,
            "y": 0.0,
            "z": math.sin(yaw / 2),
            "w": math.cos(yaw / 2),
        },
    }
    return {"header": {"frame_id": "odom"}, "pose": {"pose": pose}}


MAP_SHIFT = (5.0, -2.0, 90.0)
"""The origin of odometry in the map: x, y, and degrees counter-clockwise."""


def transforms(x: float, y: float, heading: float) -> Message:
    """``tf2_msgs/TFMessage``: map -> odom, odom -> base_footprint."""
    return {
        "transforms": [
            transform("map", "odom", *MAP_SHIFT),
            transform("odom", "base_footprint", x, y, 90.0 - heading),
        ]
    }


def transform(parent: str, child: str, x: float, y: float, yaw: float) -> Message:
    turn = math.radians(yaw) / 2
    shift = {"x": x, "y": y, "z": 0.1}
    rotation = {"x": 0.0, "y": 0.0, "z": math.sin(turn), "w": math.cos(turn)}
    header = {"stamp": {"sec": 0, "nanosec": 0}, "frame_id": parent}
    body = {"translation": shift, "rotation": rotation}
    return {"header": header, "child_frame_id": child, "transform": body}


def send(connection: ServerConnection, message: Message) -> None:
    connection.send(json.dumps(message))


@contextmanager
def running(robot: Robot) -> Iterator[str]:
    """The robot behind its bridge, and the bridge's address."""
    with serve(robot.serve, "127.0.0.1", 0) as server:
        port = server.socket.getsockname()[1]
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            robot.url = f"ws://127.0.0.1:{port}"
            yield robot.url
        finally:
            server.shutdown()
            thread.join()


def started(base: SimulatedBase, x: float, y: float, heading: float) -> SimulatedBase:
    base.start(
        Episode("robot", "Be there.", "here", {"x": x, "y": y, "heading": heading})
    )
    return base


def until(true: Callable[[], bool], seconds: float = 60.0) -> bool:
    """Whether it comes true in time."""
    end = time.monotonic() + seconds
    while not true() and time.monotonic() < end:
        time.sleep(0.01)
    return true()
