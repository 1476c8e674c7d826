"""From what is in view to an observation: which thing is where, by what name."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

from wayword.core.world import Family, Observation
from wayword.worlds import babyai
from wayword.worlds.babyai.level import (
    AHEAD,
    FORWARD,
    HEADINGS,
    LEFT,
    MIDDLE,
    RIGHT,
    SIDE,
    UNSEEN,
    WALL,
    Level,
    state_of,
)

# BabyAIObservation: what an actor perceives on a grid.


@dataclass(frozen=True, slots=True)
class GridThing:
    """A thing in view.

    ``name`` is its colour, kind and a number, given in the order of first sight: ``red_ball_1``.
    ``ahead`` is how many steps before the actor it is, ``right`` how many to the right (to the left
    below zero). ``state`` is ``open``, ``closed`` or ``locked`` for doors, empty for all else.
    """

    name: str
    colour: str
    kind: str
    ahead: int
    right: int
    state: str


@dataclass(frozen=True, slots=True)
class GridHeld:
    """What is in the actor's hands."""

    name: str
    colour: str
    kind: str


@dataclass(frozen=True, slots=True)
class BabyAIObservation(Observation):
    """What ``actor`` perceives: the 7 x 7 squares before and beside it that nothing hides.

    ``heading`` is absolute (degrees clockwise from north: 0, 90, 180 or 270). ``things`` are
    nearest first. ``walls`` are the steps to the wall straight ahead, straight to the left and
    straight to the right; None where none is in view there.
    """

    family: ClassVar[Family | None] = babyai.family

    actor: str
    heading: float
    holding: tuple[GridHeld, ...]
    things: tuple[GridThing, ...]
    walls: tuple[int | None, int | None, int | None]


PLACES = tuple(
    sorted(
        ((ahead, right) for ahead in range(SIDE) for right in range(-MIDDLE, MIDDLE + 1)),
        key=lambda place: (place[0] + abs(place[1]), place[1]),
    )
)
"""Every square in view, nearest first: steps ahead and to the right. The first is the actor's."""
_NUMBER = {ahead * SIDE + right + MIDDLE: n for n, (ahead, right) in enumerate(PLACES)}
"""Where a square stands in the view's bytes -> its number among ``PLACES``."""
_RAYS = slice(MIDDLE + SIDE, None, SIDE), slice(MIDDLE - 1, None, -1), slice(MIDDLE + 1, SIDE)
"""Straight ahead, to the left, to the right."""
_STEPS = (*range(1, SIDE), None)
"""What ``bytes.find`` says on a ray, as steps; its -1 is the last."""
_WALL, _THINGS = bytes([WALL]), re.compile(rb"[\x04-\xff]")


class LevelNames:
    """What an actor calls the things of a level, in the order of first sight."""

    def __init__(self) -> None:
        self.of: dict[Any, str] = {}
        self.thing: dict[str, Any] = {}
        self._count: dict[str, int] = {}

    def call(self, thing: Any) -> str:
        """The thing's name, a new one where it has none yet."""
        name = self.of.get(thing)
        if name is None:
            kind = f"{thing.color}_{thing.type}"
            self._count[kind] = number = self._count.get(kind, 0) + 1
            name = self.of[thing] = f"{kind}_{number}"
            self.thing[name] = thing
        return name

    def tell(self, thing: Any, number: int) -> GridThing:
        """The thing at that one of ``PLACES``."""
        kind = thing.type
        state = state_of(thing) if kind == "door" else ""
        name = self.of.get(thing) or self.call(thing)
        return _thing(name, thing.color, kind, number, state)


def look(level: Level, names: LevelNames, actor: str) -> BabyAIObservation:
    """What the actor perceives now; things seen for the first time get their names."""
    kinds, env = level.kinds, level.env
    squares, width, facing, held = env.grid.grid, env.grid.width, env.agent_dir, env.carrying
    x, y = env.agent_pos
    here, offsets = int(y) * width + int(x), _offsets(facing, width)
    numbers = sorted([_NUMBER[found.start()] for found in _THINGS.finditer(kinds)])
    things = tuple([names.tell(squares[here + offsets[n]], n) for n in numbers if n])
    holding = () if held is None else (GridHeld(names.call(held), held.color, held.type),)
    ahead, left, right = _RAYS
    walls = (
        _STEPS[kinds[ahead].find(_WALL)],
        _STEPS[kinds[left].find(_WALL)],
        _STEPS[kinds[right].find(_WALL)],
    )
    return BabyAIObservation(actor, HEADINGS[facing], holding, things, walls)


def seen_squares(level: Level) -> list[tuple[int, int]]:
    """x and y of every square in view, the actor's own included."""
    (x, y), (dx, dy) = level.place, AHEAD[level.facing]
    found = [PLACES[number] for at, number in _NUMBER.items() if level.kinds[at] != UNSEEN]
    return [(x + ahead * dx - right * dy, y + ahead * dy + right * dx) for ahead, right in found]


@lru_cache(maxsize=8192)
def _thing(name: str, colour: str, kind: str, number: int, state: str) -> GridThing:
    """Names come again in every episode, so that most things in view were made before."""
    return GridThing(name, colour, kind, *PLACES[number], state)


@lru_cache(maxsize=256)
def _offsets(facing: int, width: int) -> tuple[int, ...]:
    """How far on in the grid's list of squares each place of the view is."""
    dx, dy = AHEAD[facing]
    return tuple(
        (ahead * dy + right * dx) * width + ahead * dx - right * dy for ahead, right in PLACES
    )


# What has been seen of a level, and the fewest actions that lead through it.

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
