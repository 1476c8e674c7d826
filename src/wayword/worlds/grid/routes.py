"""What has been seen of a level, and the fewest actions that lead through it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from wayword.worlds.grid.level import AHEAD, FORWARD, LEFT, RIGHT, Level

Square = tuple[int, int]
"""x and y."""
Arrived = Callable[[Square, Square], bool]
"""Whether standing on one square, with another right ahead, is where one wants to be."""


def route(level: Level, arrived: Arrived, seen: set[Square] | None = None) -> list[int] | None:
    """The fewest turns and steps that lead there; None for no way.

    Only squares that are free or hold an open door are walked on, and of those only ``seen`` ones
    where that is given.
    """
    start = (*level.place, level.facing)
    before: dict[tuple[int, int, int], tuple[tuple[int, int, int], int]] = {}
    queue, known = deque([start]), {start}
    while queue:
        x, y, facing = state = queue.popleft()
        dx, dy = AHEAD[facing]
        front = x + dx, y + dy
        if arrived((x, y), front):
            return _actions(state, start, before)
        moves = [(LEFT, (x, y, (facing + 3) % 4)), (RIGHT, (x, y, (facing + 1) % 4))]
        if (seen is None or front in seen) and _free(level, front):
            moves.insert(0, (FORWARD, (*front, facing)))
        for code, then in moves:
            if then not in known:
                known.add(then)
                before[then] = state, code
                queue.append(then)
    return None


def beside(one: Square, other: Square) -> bool:
    """Whether two squares share a side."""
    return abs(one[0] - other[0]) + abs(one[1] - other[1]) == 1


def _free(level: Level, square: Square) -> bool:
    there = level.at(*square)
    return there is None or bool(there.can_overlap())


def _actions(
    state: tuple[int, int, int],
    start: tuple[int, int, int],
    before: dict[tuple[int, int, int], tuple[tuple[int, int, int], int]],
) -> list[int]:
    codes = []
    while state != start:
        state, code = before[state]
        codes.append(code)
    return codes[::-1]
