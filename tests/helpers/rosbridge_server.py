"""The simulated robot of the package, with a camera whose pictures say what is in view.

Only the tests' own detector reads such pictures; the package's camera draws.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable

from wayword.core.episode import Episode
from wayword.testing.fake_robot import (
    MAP_SHIFT,
    FakeRobot,
    Message,
    odometry,
    send,
    serving,
    transform,
    transforms,
)
from wayword.worlds.objectnav.simulated import SimulatedBase

__all__ = [
    "MAP_SHIFT",
    "Message",
    "Robot",
    "odometry",
    "send",
    "serving",
    "started",
    "transform",
    "transforms",
    "until",
]


class Robot(FakeRobot):
    """A robot whose picture is the list of objects in view, as JSON."""

    def picture(self) -> bytes:
        shown = self.base.capture().shown or ()
        rows = [[getattr(each, name) for name in each.__slots__] for each in shown]
        return json.dumps(rows).encode()


def started(base: SimulatedBase, x: float, y: float, heading: float) -> SimulatedBase:
    """Return the base, at a pose."""
    start = {"x": x, "y": y, "heading": heading}
    base.start(Episode("robot", "Be there.", "here", start))
    return base


def until(true: Callable[[], bool], seconds: float = 60.0) -> bool:
    """Wait for a condition; False if it does not come true in time."""
    end = time.monotonic() + seconds
    while not true() and time.monotonic() < end:
        time.sleep(0.01)
    return true()
