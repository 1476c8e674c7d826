"""A map in characters of what a person at the terminal has seen: graph worlds alone.

    >>> from wayword.worlds.indoor.graph import Neighbor
    >>> way = Neighbor("b", heading=90.0, elevation=0.0, distance=2.0)
    >>> sketch = Sketch()
    >>> sketch.look(IndoorObservation("scene", "a", 0.0, 0.0, (way,)))
    >>> print(sketch.drawn({"b": 1}))
    @       1
    @ you, facing 0° (north); o where you were; numbers: the ways of goto; . seen before

Places are reckoned from the headings and lengths of the ways, north up.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from wayword.core.geometry import Point, unit
from wayword.core.world import Observation
from wayword.verbalize.generic import compass
from wayword.worlds.indoor.world import IndoorObservation

WIDE, TALL = 64, 20
_ASPECT = 2.0
"""A character is about twice as tall as it is wide."""
_LONGEST = 4.0
"""Columns a metre, at most: a short walk is not blown up."""


class Sketch:
    """What was seen of a graph, step by step."""

    def __init__(self) -> None:
        self._places: dict[str, Point] = {}
        self._visited: list[str] = []
        self._heading = 0.0

    def look(self, observation: Observation) -> None:
        """Add an observation; those of other worlds say nothing."""
        if not isinstance(observation, IndoorObservation):
            return
        x, y = self._places.setdefault(observation.viewpoint, (0.0, 0.0))
        self._visited.append(observation.viewpoint)
        self._heading = observation.heading
        for way in observation.neighbors:
            flat = way.distance * math.cos(math.radians(way.elevation))
            east, north = unit(way.heading)
            self._places.setdefault(way.viewpoint, (x + flat * east, y + flat * north))

    @property
    def known(self) -> bool:
        """Whether there is anything to draw."""
        return bool(self._visited)

    def drawn(self, ways: Mapping[str, int]) -> str:
        """The map, with the numbers of ``ways``; or a line that says why there is none."""
        if not self._visited:
            return "no map here: this world is no graph of places; what you see is in the text"
        xs, ys = zip(*self._places.values(), strict=True)
        span = max(max(xs) - min(xs), (max(ys) - min(ys)) * WIDE / (TALL * _ASPECT), 0.1)
        scale = min(_LONGEST, (WIDE - 1) / span)
        grid: dict[tuple[int, int], str] = {}
        marks = dict.fromkeys(self._places, ".") | dict.fromkeys(self._visited, "o")
        marks |= {name: str(number) for name, number in ways.items() if name in marks}
        marks[self._visited[-1]] = "@"
        for name, (x, y) in self._places.items():
            column, row = (x - min(xs)) * scale, (max(ys) - y) * scale / _ASPECT
            _put(grid, round(row), round(column), marks[name])
        last = max(row for row, _ in grid)
        lines = [
            "".join(grid.get((row, column), " ") for column in range(WIDE + 4)).rstrip()
            for row in range(last + 1)
        ]
        facing = compass(self._heading)
        told = f"@ you, facing {facing}; o where you were; numbers: the ways of goto; . seen before"
        return "\n".join([*lines, told])


def _put(grid: dict[tuple[int, int], str], row: int, column: int, mark: str) -> None:
    """A mark; what says more stays where two fall on one square."""
    order = ".o"
    for at, letter in enumerate(mark):
        old = grid.get((row, column + at), ".")
        if old == "." or (old in order and letter not in order) or letter == "@":
            grid[row, column + at] = letter
