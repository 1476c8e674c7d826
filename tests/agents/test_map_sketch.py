"""The map of a person at the terminal: numbers on it are those that can be typed."""

from __future__ import annotations

import re

import pytest

from wayword.agents.human import MapSketch
from wayword.worlds.indoor.graph import Neighbor
from wayword.worlds.indoor.world import IndoorObservation


@pytest.mark.parametrize("first", [1, 9, 99])
@pytest.mark.parametrize("apart", [0.0, 0.25, 0.5])
def test_numbers_of_close_places_stay_apart(first: int, apart: float) -> None:
    # Listed from the farthest, so that a number is written before the one to its left.
    neighbors = [
        Neighbor(f"p{n}", heading=90.0, elevation=0.0, distance=3.0 + n * apart)
        for n in (3, 2, 1, 0)
    ]
    sketch = MapSketch()
    sketch.add(IndoorObservation("scene", "a", 0.0, 0.0, tuple(neighbors)))
    exits = {f"p{n}": first + n for n in range(4)}
    (line, _) = sketch.render(exits).split("\n")
    assert sorted(map(int, re.findall(r"\d+", line))) == sorted(exits.values())
    assert line.startswith("@ ")
