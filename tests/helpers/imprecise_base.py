"""A base that moves as robots do: it halts short of where it was sent, and turns by a little more
or less. What it tells of its place is true."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping

from wayword.core.episode import Episode, Json
from wayword.worlds.objectnav.base import MotionResult
from wayword.worlds.objectnav.observation import View
from wayword.worlds.objectnav.simulated import SimulatedBase


class ImpreciseBase:
    """Over a simulated one. Halts ``short`` metres before a point at most, half of that at least,
    and does not go to points nearer than that; ``turning`` is the deviation of turns, degrees."""

    def __init__(
        self, base: SimulatedBase, short: float, turning: float, seed: int = 0
    ) -> None:
        self.base = base
        self.short = short
        self.turning = turning
        self._rng = random.Random(seed)

    def start(self, episode: Episode) -> None:
        self.base.start(episode)

    def capture(self) -> View:
        return self.base.capture()

    def rotate(self, degrees: float) -> MotionResult:
        return self.base.rotate(degrees + self._rng.gauss(0, self.turning))

    def go_to(self, x: float, y: float) -> MotionResult:
        here = self.base.pose()
        away = math.hypot(x - here["x"], y - here["y"])
        short = self._rng.uniform(0.5, 1.0) * self.short
        if away <= short:
            return MotionResult("ok")
        share = (away - short) / away
        return self.base.go_to(
            here["x"] + share * (x - here["x"]), here["y"] + share * (y - here["y"])
        )

    def pose(self) -> Mapping[str, Json]:
        return self.base.pose()

    def report(self) -> Mapping[str, Json]:
        return self.base.report()

    def stop(self) -> None:
        self.base.stop()
