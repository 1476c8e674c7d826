"""A five-viewpoint house for tests: small enough to work everything out by hand.

    d (0, 4)
    |
a---b---c        a (-3, 2)   b (0, 2)   c (2, 2)
    |
    s (0, 0)     the start, facing north
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from wayword.core.dataset import SolvableWalks, Task
from wayword.core.episode import Episode, PathReference
from wayword.core.perceiver import Perceiver, Percept, Sector, Sighting
from wayword.core.world import Family
from wayword.worlds import indoor
from wayword.worlds.indoor.graph import ViewpointGraph, build
from wayword.worlds.indoor.world import IndoorWorld

PLACES = {
    "s": (0, 0, 1.5),
    "b": (0, 2, 1.5),
    "a": (-3, 2, 1.5),
    "c": (2, 2, 1.5),
    "d": (0, 4, 1.5),
}
EDGES = (("s", "b"), ("b", "a"), ("b", "c"), ("b", "d"))


def small_graph() -> ViewpointGraph:
    """The graph of the picture above; positions in metres."""
    ids = tuple(PLACES)
    both = [
        (ids.index(x), ids.index(y)) for x, y in (*EDGES, *((y, x) for x, y in EDGES))
    ]
    return build(
        "small",
        ids,
        np.array([PLACES[i] for i in ids], dtype=np.float64),
        np.array(sorted(both), dtype=np.int32),
    )


class SmallPerceiver(Perceiver):
    """Says ``{place} to the {compass}`` in each direction, with a lamp to the east of b."""

    name = "symbolic:small"

    def perceive(self, scene: str, place: str) -> Percept:
        compass = ("north", "north-east", "east", "south-east", "south")
        compass += ("south-west", "west", "north-west")
        lamp = (Sighting("lamp", 80.0, 1.25),)
        sectors = tuple(
            Sector(
                i * 45.0,
                45.0,
                f"{place} to the {name}",
                lamp if (place, i) == ("b", 2) else (),
            )
            for i, name in enumerate(compass)
        )
        return Percept(
            sectors,
            f"The scene from the viewpoint is a view of the place called {place}.",
        )


@dataclass(frozen=True)
class SmallSettings:
    """Nothing to set."""


class SmallHouse(SolvableWalks):
    """Two episodes from s: to c, and to d."""

    Settings: ClassVar[type[Any]] = SmallSettings
    family: ClassVar[Family] = indoor.family
    splits: ClassVar[tuple[str, ...]] = ("all",)
    max_steps: ClassVar[int] = 8
    caveats: tuple[str, ...] = ()

    def __init__(self) -> None:
        self.split = "all"
        self.shared = small_graph()
        self.files: Mapping[str, Path] = {}
        self.tasks: Sequence[Task] = [
            self._task("to_c", "Go ahead and turn right.", ("s", "b", "c")),
            self._task("to_d", "Go straight on until the end.", ("s", "b", "d")),
        ]

    def _task(self, name: str, words: str, path: tuple[str, ...]) -> Task:
        start = {"viewpoint": "s", "heading": 0.0}
        return Task(Episode(name, words, "small", start), PathReference(name, path))

    def graph(self, scene: str) -> ViewpointGraph:
        return self.shared

    def world(self, episode: Episode) -> IndoorWorld:
        return IndoorWorld(self.shared)

    def perceiver(self) -> SmallPerceiver:
        return SmallPerceiver()
