"""Frontiers: where known free floor meets the unknown.

    >>> import numpy as np
    >>> free = np.array([[1, 1, 0, 0]], dtype=bool)
    >>> known = np.array([[1, 1, 1, 0]], dtype=bool)
    >>> frontiers(free, known), frontiers(free, free)
    ([], [[(0, 1)]])

Source: Yamauchi, "A frontier-based approach for autonomous exploration" (CIRA 1997).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wayword.agents.exploring.planning import Cell

Bools = NDArray[np.bool_]


def frontiers(free: Bools, known: Bools, least: int = 1) -> list[list[Cell]]:
    """Groups of neighbouring free cells that border on unknown ones (four-neighbours), of at
    least ``least`` cells, the largest first."""
    from scipy.ndimage import label

    unknown = np.pad(~known, 1)
    beside = unknown[:-2, 1:-1] | unknown[2:, 1:-1] | unknown[1:-1, :-2] | unknown[1:-1, 2:]
    parts, count = label(free & beside, structure=np.ones((3, 3)))
    found = [
        [(int(j), int(i)) for j, i in np.argwhere(parts == number)]
        for number in range(1, count + 1)
    ]
    kept = [group for group in found if len(group) >= least]
    return sorted(kept, key=lambda group: (-len(group), group[0]))
