"""A*: shortest ways over the open cells of a grid, by eighths of a turn.

    >>> import numpy as np
    >>> open_ = np.array([[1, 1, 1], [1, 0, 1], [1, 1, 1]], dtype=bool)
    >>> shortest(open_, (0, 0), (2, 2))
    [(0, 0), (0, 1), (0, 2), (1, 2), (2, 2)]

A diagonal step needs both of the cells that it passes between, so that no corner is cut.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Bools = NDArray[np.bool_]
Cell = tuple[int, int]
DIAGONAL = math.sqrt(2)
STRAIGHT = ((0, 1), (1, 0), (0, -1), (-1, 0))
SLANTED = ((1, 1), (1, -1), (-1, -1), (-1, 1))


def shortest(open_: Bools, start: Cell, goal: Cell) -> list[Cell] | None:
    """The cells of a shortest way, both ends included; None where there is none.

    The start may be closed (a body that stands too near to something must get away); every other
    cell of the way is open.
    """
    if not open_[goal] and goal != start:
        return None
    best: dict[Cell, float] = {start: 0.0}
    before: dict[Cell, Cell] = {}
    front = [(_octile(start, goal), 0.0, start)]
    while front:
        _, gone, here = heapq.heappop(front)
        if here == goal:
            return _back(before, goal)
        if gone > best[here]:
            continue
        for cell, cost in neighbours(open_, here):
            total = gone + cost
            if total < best.get(cell, math.inf) - 1e-12:
                best[cell], before[cell] = total, here
                heapq.heappush(front, (total + _octile(cell, goal), total, cell))
    return None


def neighbours(open_: Bools, here: Cell) -> Iterator[tuple[Cell, float]]:
    """The open cells one step away, with the step's length in cells."""
    high, wide = open_.shape
    j, i = here

    def free(dj: int, di: int) -> bool:
        return 0 <= j + dj < high and 0 <= i + di < wide and bool(open_[j + dj, i + di])

    for dj, di in STRAIGHT:
        if free(dj, di):
            yield (j + dj, i + di), 1.0
    for dj, di in SLANTED:
        if free(dj, di) and free(dj, 0) and free(0, di):
            yield (j + dj, i + di), DIAGONAL


def distances(open_: Bools, start: Cell) -> NDArray[np.float64]:
    """(H, W) length in cells of a shortest way from the start; infinite where there is none."""
    from scipy.sparse.csgraph import dijkstra

    from wayword.worlds.search.ground import grid_graph

    usable = open_.copy()
    usable[start] = True
    number = start[0] * open_.shape[1] + start[1]
    found = dijkstra(grid_graph(usable, 1.0), indices=number)
    return np.asarray(found.reshape(open_.shape))


def cost(way: Sequence[Cell]) -> float:
    """Length in cells of a way of single steps."""
    return sum(math.dist(a, b) for a, b in pairwise(way))


def taut(way: Sequence[Cell], clear: Callable[[Cell, Cell], bool]) -> list[Cell]:
    """The way with every corner left out that can be: ``clear`` says whether a body gets straight
    from one cell to another."""
    kept, here = [way[0]], 0
    while here < len(way) - 1:
        step = len(way) - 1 - here
        while step > 1 and not clear(way[here], way[here + step]):
            step -= 1
        here += step
        kept.append(way[here])
    return kept


def _octile(a: Cell, b: Cell) -> float:
    down, across = abs(a[0] - b[0]), abs(a[1] - b[1])
    return max(down, across) + (DIAGONAL - 1) * min(down, across)


def _back(before: dict[Cell, Cell], goal: Cell) -> list[Cell]:
    way = [goal]
    while way[-1] in before:
        way.append(before[way[-1]])
    return way[::-1]
