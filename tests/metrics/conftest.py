"""A small flat to walk in, so that every metric can be worked out by hand."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from wayword.core.dataset import Task
from wayword.core.episode import Episode, PathReference
from wayword.worlds import indoor
from wayword.worlds.indoor import graph as viewpoints
from wayword.worlds.indoor.graph import ViewpointGraph
from wayword.worlds.indoor.world import IndoorWorld

PLACES = {
    "A": (0, 0),
    "B": (4, 0),
    "C": (8, 0),
    "D": (10, 0),
    "E": (16, 0),
    "X": (4, 3),
    "U": (9, 9),
}
EDGES = ("AB", "BC", "CD", "DE", "BX")


@pytest.fixture(scope="session")
def flat() -> ViewpointGraph:
    """Metres along a corridor, an alcove X beside B, and a room U that no way leads to.

        X
        |3                       U
    A --4-- B --4-- C -2- D --6-- E
    (X hangs off B)
    """
    names = tuple(PLACES)
    pairs = [(names.index(a), names.index(b)) for a, b in EDGES]
    edges = np.array([*pairs, *((b, a) for a, b in pairs)], dtype=np.int32)
    positions = np.array([(x, y, 0.0) for x, y in PLACES.values()])
    return viewpoints.build("flat", names, positions, edges)


@pytest.fixture
def split(flat: ViewpointGraph) -> Callable[..., Any]:
    """``split("7_0", "ABCD", …)``: a dataset of the family indoor with these reference paths."""

    def make(*references: tuple[str, str]) -> Any:
        tasks = [
            Task(
                Episode(
                    name,
                    "Go to the end.",
                    "flat",
                    {"viewpoint": path[0], "heading": 0.0},
                ),
                PathReference(name, tuple(path)),
            )
            for name, path in references
        ]
        return SimpleNamespace(
            family=indoor.family,
            split="made",
            tasks=tasks,
            graph=lambda scene: flat,
            world=lambda episode: IndoorWorld(flat),
        )

    return make
