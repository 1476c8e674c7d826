"""A look at a robot without moving it, and a simulated robot in a generated home."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from wayword.core.episode import Episode, JsonObject
from wayword.core.errors import UsageError
from wayword.core.visible import spaced
from wayword.settings import make
from wayword.worlds.objectnav.robot import RosBase, RosSettings
from wayword.worlds.objectnav.simulated import SimulatedBase

# Metres of an example of a target: too high for a small object, and too far to stand next to it.
LEAST_HEIGHT = 0.4
LEAST_DISTANCE = 3.0


def inspect(settings: JsonObject) -> str:
    """Return what a robot sends: its pose, how much depth measures, and its picture's size.

    Connects, cancels all goals, and sends nothing else. Raises ``UsageError`` for a wrong setting,
    ``RobotError`` if the robot cannot be reached, and ``DataError`` for a malformed message.
    """
    from wayword.perception.detectors import pixels

    base = RosBase(make(RosSettings, settings, "robot"))
    try:
        base.start(Episode("look", "Stay.", "robot", {}))
        view = base.capture()
    finally:
        base.stop()
    metres = view.depth.metres()
    measured = np.isfinite(metres)
    picture = "none; dataset.image is empty"
    if view.image:
        rows, columns = pixels(view.image).shape[:2]
        picture = f"{columns} x {rows} pixels"
    nearest = "nothing within reach"
    if measured.any():
        nearest = f"nearest {metres[measured].min():.2f} m"
    bearings = view.depth.bearings
    lines = (
        f"robot    {base.settings.url}",
        f"pose     x {view.x:.2f} m, y {view.y:.2f} m, heading {view.heading:.0f} degrees",
        f"depth    from {min(bearings):.0f} to {max(bearings):.0f} degrees; {nearest}",
        f"picture  {picture}",
        "Nothing was moved. wayword.testing.check_base turns and drives it (docs/robots.md)",
    )
    return "\n".join(lines)


@dataclass(frozen=True)
class SimulatedRobot:
    """A served robot: its ``url``, the ``names`` of objects in its home, and a ``command`` that
    searches for one of them."""

    url: str
    names: Sequence[str]
    command: str


@contextmanager
def simulated(
    home: int = 0, port: int = 0, faults: Sequence[str] = ()
) -> Iterator[SimulatedRobot]:
    """Serve a simulated robot in a generated home. Raises ``UsageError`` for a malformed fault."""
    from wayword.datasets.apartments import Apartments
    from wayword.testing.fake_robot import FakeRobot, serving

    if home < 0:
        raise UsageError(f"home must be 0 or more, got {home}")
    # Homes are drawn in order: number N exists in a set of N + 1.
    settings = Apartments.Settings(homes=home + 1, episodes=home + 1)
    apartments = Apartments("test", None, settings)
    episode = apartments.tasks[home].episode
    place = apartments.place(episode.scene)
    base = SimulatedBase(place, settings.camera)
    base.start(episode)
    robot = FakeRobot(base, parse_faults(faults))
    names = sorted({spaced(item.type) for item in place.scene.objects})
    with serving(robot, port) as url:
        target = first_target(base)
        yield SimulatedRobot(url, names, search_command(url, target))


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
        f"wayword run frontier --on robot --concurrency 1 --set dataset.url={url} "
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
