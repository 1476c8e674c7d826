"""Dynamic time warping is exact, and the same for a walk alone and among others."""

from __future__ import annotations

import numpy as np
import pytest

from wayword.metrics import paths

PLACES = 30
LENGTHS = (1, 2, 7, 40, 4_000)


def plain_dtw(costs: list[list[float]]) -> float:
    """The table of Ilharco et al. 2019, a cell at a time."""
    above = [float("inf")] * len(costs[0])
    for number, row in enumerate(costs):
        cells: list[float] = []
        for column, cost in enumerate(row):
            before = [above[column]]
            if column:
                before += [above[column - 1], cells[-1]]
            is_first = number == 0 and column == 0
            cells.append(cost + (0.0 if is_first else min(before)))
        above = cells
    return above[-1]


def test_walks_of_all_lengths_are_aligned_exactly() -> None:
    rng = np.random.default_rng(7)
    points = rng.uniform(0, 20, (PLACES, 2))
    metres = np.linalg.norm(points[:, None] - points, axis=2)
    walks = [rng.integers(0, PLACES, length).tolist() for length in LENGTHS]
    golds = [rng.integers(0, PLACES, 6).tolist() for _ in LENGTHS]
    which = [0] * len(LENGTHS)
    together = paths.align([metres], which, paths.join(walks), paths.join(golds))
    for number, (walk, gold) in enumerate(zip(walks, golds, strict=True)):
        alone = paths.align_one(metres, walk, gold)
        for field in ("dtw", "nearest", "final", "traveled", "gold", "shortest"):
            one = getattr(alone, field)[0]
            assert np.array_equal(one, getattr(together, field)[number]), field
        assert alone.dtw[0] == pytest.approx(plain_dtw(metres[walk][:, gold].tolist()))
