"""From the package's view to an observation: which thing is where, by what name.

The package tells kind, colour and state of each of 7 x 7 squares, the actor in the middle of the
nearest row. Which of several red balls a red ball is, is read off the grid itself.
"""

from __future__ import annotations

from functools import lru_cache
from operator import itemgetter
from typing import Any

from wayword.worlds.grid.level import AHEAD, Level, state_of
from wayword.worlds.grid.observation import GridHeld, GridObservation, GridThing

SIDE = 7
_MIDDLE, _NEAREST = SIDE // 2, SIDE - 1
_UNSEEN, _WALL, _FLOOR = 0, 2, 3
"""The package's numbers; 1 is an empty square, and things come after the floor."""

PLACES = tuple(
    sorted(
        ((_NEAREST - j, i - _MIDDLE) for i in range(SIDE) for j in range(SIDE)),
        key=lambda place: (place[0] + abs(place[1]), place[1]),
    )[1:]
)
"""Every square in view but the actor's own: steps ahead and to the right, nearest first."""


def _byte(ahead: int, right: int) -> int:
    """Where a square's kind stands in the view's bytes."""
    return ((right + _MIDDLE) * SIDE + _NEAREST - ahead) * 3


_KINDS = itemgetter(*(_byte(ahead, right) for ahead, right in PLACES))
_RAYS = (
    tuple(_byte(n, 0) for n in range(1, SIDE)),
    tuple(_byte(0, -n) for n in range(1, _MIDDLE + 1)),
    tuple(_byte(0, n) for n in range(1, _MIDDLE + 1)),
)
"""Straight ahead, to the left, to the right."""


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


def look(level: Level, names: Names, actor: str) -> GridObservation:
    """What the actor perceives now; things seen for the first time get their names."""
    raw = level.image.tobytes()
    env = level.env
    squares, width, facing = env.grid.grid, env.grid.width, env.agent_dir
    x, y = env.agent_pos
    here = int(y * width + x)
    offsets, call = _offsets(facing, width), names.call
    seen = []
    for n, kind in enumerate(_KINDS(raw)):
        if kind > _FLOOR:
            thing = squares[here + offsets[n]]
            ahead, right = PLACES[n]
            name, colour, type_ = call(thing), thing.color, thing.type
            seen.append(_thing(name, colour, type_, ahead, right, state_of(thing)))
    held = level.carried
    holding = () if held is None else (GridHeld(call(held), held.color, held.type),)
    ahead_, left_, right_ = _RAYS
    walls = (_until(raw, ahead_), _until(raw, left_), _until(raw, right_))
    return GridObservation(actor, level.heading, holding, tuple(seen), walls)


def seen_squares(level: Level) -> list[tuple[int, int]]:
    """x and y of every square in view, the actor's own included."""
    (x, y), (dx, dy) = level.place, AHEAD[level.facing]
    raw = level.image.tobytes()
    found = [
        (x + ahead * dx - right * dy, y + ahead * dy + right * dx)
        for (ahead, right), kind in zip(PLACES, _KINDS(raw), strict=True)
        if kind != _UNSEEN
    ]
    return [(x, y), *found]


def _until(raw: bytes, ray: tuple[int, ...]) -> int | None:
    """Steps to the first wall on a ray."""
    for steps, at in enumerate(ray, 1):
        if raw[at] == _WALL:
            return steps
    return None


@lru_cache(maxsize=256)
def _offsets(facing: int, width: int) -> tuple[int, ...]:
    """How far on in the grid's list of squares each place of the view is."""
    dx, dy = AHEAD[facing]
    return tuple(
        (ahead * dy + right * dx) * width + ahead * dx - right * dy for ahead, right in PLACES
    )


@lru_cache(maxsize=8192)
def _thing(name: str, colour: str, kind: str, ahead: int, right: int, state: str) -> GridThing:
    return GridThing(name, colour, kind, ahead, right, state)
