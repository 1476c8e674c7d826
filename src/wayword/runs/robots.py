"""A look at a robot without moving it, and a simulated robot in a generated home."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from wayword.core.episode import JsonObject
from wayword.core.errors import DataError, UsageError
from wayword.core.visible import spaced
from wayword.metrics.recorded import as_mapping
from wayword.worlds.objectnav.robot import RosBase, RosSettings, Topic
from wayword.worlds.objectnav.rosbridge import LinkLost, RobotError
from wayword.worlds.objectnav.simulated import SimulatedBase

# Metres of an example of a target: too high for a small object, and too far to stand next to it.
LEAST_HEIGHT = 0.4
LEAST_DISTANCE = 3.0


# Seconds for a list of the topics of a type, which not every bridge has.
LIST_SECONDS = 2.0
LIST_SERVICE = "/rosapi/topics_for_type"
MOST_LISTED = 8  # topics of a type that are shown


class _Probed(RosBase):
    """A robot that is looked at: a low battery and a pressed emergency stop are shown."""

    def _halt(self, problem: str) -> None:
        self._halted = problem

    @property
    def halted(self) -> str:
        """The problem that would end a search; empty without one."""
        return self._halted


class Probe(NamedTuple):
    """A look at a robot: a line for each topic and action, and the settings of those that send
    nothing that can be used."""

    text: str
    wrong: Sequence[str]


def inspect(settings: RosSettings) -> Probe:
    """Return what a robot sends on each topic that the settings name, and whether it has the
    actions.

    Connects, cancels all goals, and sends nothing else. Raises ``RobotError`` if the robot cannot
    be reached.
    """
    base = _Probed(settings)
    lines = [f"robot    {base.settings.url}"]
    wrong: dict[str, None] = {}
    try:
        base.connect()
        actions = _actions(base)
        deadline = time.monotonic() + base.settings.answer
        for topic in base.topics():
            # A robot without fixed frames sends nothing there.
            if topic.name.endswith("_static"):
                continue
            name = PROBED.get(topic.setting, topic.setting.replace("_", " "))
            try:
                left = max(0.1, deadline - time.monotonic())
                message = base.link.latest({topic.name: -math.inf}, left)[topic.name]
                text = _received(base, topic.setting, message)
            except TimeoutError:
                text = _silence(base, topic)
                wrong[topic.setting] = None
            except (DataError, UsageError) as error:
                text = str(error)
                wrong[topic.setting] = None
            lines.append(f"{name:8} {topic.name} (dataset.{topic.setting}): {text}")
        for setting, text in actions.items():
            if text != ANSWERS:
                wrong[setting] = None
            action = base.actions[setting]
            lines.append(f"{PROBED[setting]:8} {action} (dataset.{setting}): {text}")
    except LinkLost:
        raise RobotError(
            f"the robot at {base.settings.url} closed the connection"
        ) from None
    finally:
        base.stop()
    for setting, absent in ABSENT.items():
        if not getattr(base.settings, setting):
            name = PROBED.get(setting, setting)
            lines.append(f"{name:8} {absent}; dataset.{setting} is empty")
    if base.halted:
        lines.append(f"A search would not start: {base.halted}")
    lines.append(
        "Nothing was moved. wayword.testing.check_base turns and drives it (docs/robots.md)"
    )
    return Probe("\n".join(lines), [*wrong])


ANSWERS = "answers"
"""What is said of an action that exists."""


def _actions(base: RosBase) -> dict[str, str]:
    """Cancel all goals, and return what is known of each action, by its setting."""
    known = dict.fromkeys(base.actions, ANSWERS)
    # Topics can be read without actions.
    try:
        for setting, action in base.cancel().items():
            known[setting] = f"no action {action}; is it in `ros2 action list`?"
    except TimeoutError as error:
        for setting, action in base.actions.items():
            if action in str(error):
                known[setting] = f"silent for {base.settings.answer:g} s"
    return known


PROBED = {
    "navigate": "go",
    "spin": "turn",
    "odometry": "pose",
    "tf": "pose",
    "image": "picture",
    "emergency_stop": "stop",
}
"""Setting of a topic -> what it sends, where the two differ, or of an action -> what it does."""
ABSENT = {
    "image": "none",
    "battery": "not watched",
    "emergency_stop": "not watched",
}
"""Setting of a topic that a robot may lack -> what a search has without it."""


def _received(base: RosBase, setting: str, message: JsonObject) -> str:
    """Return a topic's message in words. Raises ``DataError`` if it cannot be read, and
    ``TimeoutError`` if transforms do not lead to the body."""
    from wayword.perception.detectors import pixels

    match setting:
        case "odometry" | "tf":
            base.locate(-math.inf)
            at = base.pose()
            return f"x {at['x']:.2f} m, y {at['y']:.2f} m, heading {at['heading']:.0f} degrees"
        case "image":
            rows, columns = pixels(base.picture_of(message)).shape[:2]
            return f"{columns} x {rows} pixels"
        case "depth":
            depth = base.depth_of(message)
            metres = depth.metres()
            measured = np.isfinite(metres)
            nearest = "nothing within reach"
            if measured.any():
                nearest = f"nearest {metres[measured].min():.2f} m"
            bearings = depth.bearings
            return f"from {min(bearings):.0f} to {max(bearings):.0f} degrees; {nearest}"
        case "battery":
            charge = base.charge_of(message)
            if charge is None:
                return f"no charge; its percentage is {message.get('percentage')!r}"
            return f"{charge:.0%} charged"
        case "emergency_stop":
            pressed = message.get("data")
            if pressed in (False, 0):
                return "not pressed"
            return (
                "pressed" if pressed in (True, 1) else f"taken as pressed: {pressed!r}"
            )
    # The costmap
    floor = base.floor_of(message)
    rows = len(message["data"]) // floor.columns
    return f"{floor.columns} x {rows} cells of {floor.cell:g} m"


def _silence(base: RosBase, topic: Topic) -> str:
    """Return why a topic is silent, as far as the bridge tells."""
    # The bridge refuses a type that differs from the publisher's.
    refused = [each for each in base.link.server_errors if topic.name in each]
    if refused:
        return f"refused: {refused[-1]}"
    if malformed := base.link.malformed.get(topic.name):
        return f"ignored: {malformed}"
    if topic.setting == "tf" and base.transforms.frames:
        s = base.settings
        frames = ", ".join(base.transforms.frames)
        problem = (
            f"no transforms from {s.body_frame} to {s.map_frame}; frames: {frames}"
        )
        for setting in ("map_frame", "body_frame"):
            name = getattr(s, setting)
            if name in base.transforms.frames:
                continue
            # Most robots name it base_link or base_footprint.
            near = [
                each for each in base.transforms.frames if each.startswith(name[:4])
            ]
            value = near[0] if len(near) == 1 else "FRAME"
            problem += f"; set dataset.{setting}={value}"
        return problem
    text = f"silent for {base.settings.answer:g} s"
    with suppress(TimeoutError, LinkLost):
        kind = {"type": topic.kind}
        answer = base.link.call(
            LIST_SERVICE, "rosapi/TopicsForType", kind, LIST_SECONDS
        )
        names = as_mapping(answer.get("values")).get("topics")
        if isinstance(names, list):
            listed = ", ".join(map(str, names[:MOST_LISTED])) or "none"
            return f"{text}; topics of {topic.kind}: {listed}"
    return f"{text}; is it in `ros2 topic list -t`, as {topic.kind}?"


@dataclass(frozen=True)
class SimulatedRobot:
    """A served robot: its ``url``, the ``names`` of objects in its home, and a ``command`` that
    searches for one of them."""

    url: str
    names: Sequence[str]
    command: str


@contextmanager
def simulated(
    home: int = 0,
    port: int = 0,
    faults: Sequence[str] = (),
    on_goal: Callable[[str], None] = lambda line: None,
) -> Iterator[SimulatedRobot]:
    """Serve a simulated robot in a generated home. ``on_goal`` is called with a line about each
    goal. Raises ``UsageError`` for a malformed fault."""
    from wayword.testing.fake_robot import FakeRobot, serving

    base = home_base(home)
    robot = FakeRobot(base, parse_faults(faults), on_goal=on_goal)
    names = sorted({spaced(item.type) for item in base.place.scene.objects})
    with serving(robot, port) as url:
        target = first_target(base)
        yield SimulatedRobot(url, names, search_command(url, target))


def home_base(home: int) -> SimulatedBase:
    """Return a simulated base at its start in a generated home. Raises ``UsageError``."""
    from wayword.datasets.apartments import Apartments

    if home < 0:
        raise UsageError(f"home must be 0 or more, got {home}")
    # Homes are drawn in order: number N exists in a set of N + 1.
    settings = Apartments.Settings(homes=home + 1, episodes=home + 1)
    apartments = Apartments("test", None, settings)
    episode = apartments.tasks[home].episode
    base = SimulatedBase(apartments.place(episode.scene), settings.camera)
    base.start(episode)
    return base


def first_target(base: SimulatedBase) -> str:
    """Return a piece of furniture near the start: an example that is found in a minute."""
    pose = base.pose()
    start = pose["x"], pose["y"]
    furniture = []
    for item in base.place.surfaces.objects:
        distance = math.dist(start, (item.x, item.y))
        if item.height >= LEAST_HEIGHT and distance >= LEAST_DISTANCE:
            furniture.append((distance, spaced(item.type)))
    return min(furniture)[1]


def search_command(url: str, target: str) -> str:
    """Return a command that searches with a simulated robot and needs no model. Pictures of a
    simulation need no time to settle."""
    return (
        f"wayword run frontier --on robot --set dataset.url={url} "
        f"--set dataset.target={target!r} --set grounding=colors:names "
        "--set dataset.settle=0 --set dataset.throttle=0"
    )


def parse_faults(texts: Sequence[str]) -> dict[int, str]:
    """Return the faults of goals by number. Raises ``UsageError``.

    >>> parse_faults(["3:drop"])
    {3: 'drop'}
    """
    from wayword.testing.fake_robot import FAULTS

    faults = {}
    for text in texts:
        goal, _, fault = text.partition(":")
        if not goal.isdecimal() or int(goal) < 1 or fault not in FAULTS:
            raise UsageError(
                f"fault {text!r}: write GOAL:FAULT, such as 3:drop; faults are {', '.join(FAULTS)}"
            )
        faults[int(goal)] = fault
    return faults
