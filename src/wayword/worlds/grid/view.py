"""From what is in view to an observation: which thing is where, by what name."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from wayword.worlds.grid.level import AHEAD, HEADINGS, Level, state_of
from wayword.worlds.grid.observation import GridHeld, GridObservation, GridThing
from wayword.worlds.grid.sight import MIDDLE, SIDE, UNSEEN, WALL

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


class Names:
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


def look(level: Level, names: Names, actor: str) -> GridObservation:
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
    return GridObservation(actor, HEADINGS[facing], holding, things, walls)


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
