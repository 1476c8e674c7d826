"""What is in view: the package's rule of sight, a row of squares at a time.

The package copies, turns and encodes 7 x 7 objects at every step, which is most of a step's time.
Here the grid is a string of bytes, and what a row shows and lets through is looked up by the row
itself and what is seen of it from the row before. It is the package's view to the square, and the
tests hold it to that.

Source: ``Grid.process_vis`` of the package ``minigrid``.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

SIDE = 7
"""The view's squares ahead (the actor's own row among them) and across."""
MIDDLE = SIDE // 2
UNSEEN, EMPTY, WALL, SHUT = 0, 1, 2, 20
"""Codes of squares; things have the package's numbers of kinds, from 4 on, and shut doors this."""
KINDS = {"wall": WALL, "floor": 3, "door": 4, "key": 5, "ball": 6, "box": 7, "goal": 8, "lava": 9}
_OPAQUE = (WALL, SHUT)


class Sight:
    """The squares of a grid as bytes, a code each, with walls before the first and after the last.

    No row's end needs care: a level has walls all around, so that nothing beyond is ever in view.
    """

    def __init__(self, grid: Any) -> None:
        self._squares, self._width = grid.grid, grid.width
        self._margin = SIDE * grid.width
        walls = bytes([WALL]) * self._margin
        self._codes = walls + bytes(map(code, self._squares)) + walls

    def refresh(self, square: int) -> None:
        """Take in what has become of a square, by its number in the grid's list."""
        at, now = square + self._margin, code(self._squares[square])
        if self._codes[at] != now:
            self._codes = self._codes[:at] + bytes([now]) + self._codes[at + 1 :]

    def view(self, here: int, forward: int, right: int) -> bytes:
        """7 x 7 codes, nearest row first, each from left to right; 0 for what is not in view.

        ``here`` is the actor's square; ``forward`` and ``right`` are what a step adds to it.
        """
        codes, mask, rows = self._codes, 1 << MIDDLE, []
        start = here + self._margin - MIDDLE * right
        for _ in range(SIDE):
            shown, mask = _row(codes[start : start + SIDE * right : right], mask)
            rows.append(shown)
            start += forward
        return b"".join(rows)


def code(thing: Any) -> int:
    """The code of what lies on a square."""
    if thing is None:
        return EMPTY
    if thing.type == "door" and not thing.is_open:
        return SHUT
    return KINDS[thing.type]


@lru_cache(maxsize=65536)
def _row(cells: bytes, mask: int) -> tuple[bytes, int]:
    """What is seen of a row, and of the next one through it; bits of ``mask`` count from the left.

    Sight spreads along the row, first to the right and then to the left, over what can be seen
    through, and from each such square to the next row, straight and aslant.
    """
    clear = [cell not in _OPAQUE for cell in cells]
    beyond = 0
    for order, side in ((range(SIDE - 1), 1), (range(SIDE - 1, 0, -1), -1)):
        for i in order:
            if mask >> i & 1 and clear[i]:
                mask |= 1 << (i + side)
                beyond |= 1 << i | 1 << (i + side)
    return bytes(cell if mask >> i & 1 else UNSEEN for i, cell in enumerate(cells)), beyond
