"""The cells of a scene on which one can stand, and what is inferred about narrow places.

The published cells of some scenes fall into parts with a gap of one cell between them, though tasks
lead through it. Such gaps are closed; wider ones are left.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from wayword.core.errors import DataError
from wayword.worlds.housework.scene import Point

GRID = 0.25
"""Metres between cells."""
GAP = 2
"""Two parts are joined where cells of them are at most this many cells apart, either way."""
Cell = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Cells:
    """``places``: x and y (metres) of every cell, published ones first. ``main``: those of the
    largest part that hangs together. ``added``: how many were inferred."""

    places: tuple[Point, ...]
    main: tuple[Point, ...]
    added: int


def read_cells(path: Path) -> Cells:
    """The cells of a ``layout.npy``: (P, 2) x and z on a grid of 0.25 m. Raises ``DataError``."""
    try:
        found = np.load(path, allow_pickle=False).astype(np.float64)
    except (OSError, ValueError, EOFError) as error:
        raise DataError(path, "", f"is no array of numbers ({error})", "fetch it again") from error
    if found.ndim != 2 or found.shape[1] != 2 or not len(found):
        raise DataError(path, "", f"is not (P, 2) but {found.shape}", "fetch it again")
    published = [(int(i), int(j)) for i, j in np.round(found / GRID).tolist()]
    joined = join(published)
    return Cells(
        tuple(map(_place, joined)),
        tuple(map(_place, sorted(parts(joined)[0]))),
        len(joined) - len(set(published)),
    )


def join(published: Iterable[Cell]) -> tuple[Cell, ...]:
    """The cells, and those that close gaps of one cell between the largest part and others."""
    cells = dict.fromkeys(published)
    while True:
        main, *others = parts(cells)
        bridge = min(
            (gap for other in others for gap in _gaps(main, other)),
            key=lambda gap: (len(gap), gap),
            default=None,
        )
        if bridge is None:
            return tuple(cells)
        cells |= dict.fromkeys(bridge)


def parts(cells: Iterable[Cell]) -> list[set[Cell]]:
    """The parts that hang together by steps to the four sides, the largest first."""
    left, found = set(cells), []
    while left:
        part, front = set[Cell](), [min(left)]
        while front:
            i, j = cell = front.pop()
            if cell in left:
                left.discard(cell)
                part.add(cell)
                front += [(i + 1, j), (i - 1, j), (i, j + 1), (i, j - 1)]
        found.append(part)
    return sorted(found, key=lambda part: (-len(part), min(part)))


def _gaps(one: set[Cell], other: set[Cell]) -> list[tuple[Cell, ...]]:
    """Cells that would join two parts, one list a way."""
    around = range(-GAP, GAP + 1)
    steps = [(di, dj) for di in around for dj in around if abs(di) + abs(dj) <= GAP + 1]
    return [
        _between((i, j), (i + di, j + dj))
        for i, j in other
        for di, dj in steps
        if (i + di, j + dj) in one
    ]


def _between(a: Cell, b: Cell) -> tuple[Cell, ...]:
    """The cells of a way from ``a`` along i, then along j, to ``b``, both left out."""
    (ai, aj), (bi, bj) = a, b
    way = [(i, aj) for i in range(min(ai, bi), max(ai, bi) + 1)]
    way += [(bi, j) for j in range(min(aj, bj), max(aj, bj) + 1)]
    return tuple(sorted(set(way) - {a, b}))


def _place(cell: Cell) -> Point:
    return cell[0] * GRID, cell[1] * GRID
