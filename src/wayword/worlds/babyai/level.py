"""One level of the package ``minigrid``: its own rules, steps and verdict, and what is in view.

Source: BabyAI (Chevalier-Boisvert et al. 2019, arXiv:1810.08272), as ``minigrid`` has it.
"""

from __future__ import annotations

import io
import re
from collections import deque
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

from wayword.core.errors import UsageError, needing, suggest
from wayword.core.world import Family, Observation
from wayword.worlds import babyai

# What is in view: the package's rule of sight, a row of squares at a time.
#
# The package copies, turns and encodes 7 x 7 objects at every step, which is most of a step's
# time. Here the grid is a string of bytes, and what a row shows and lets through is looked up by
# the row itself and what is seen of it from the row before. It is the package's view to the
# square, and the tests hold it to that.
#
# Source: ``Grid.process_vis`` of the package ``minigrid``.

SIDE = 7
"""The view's squares ahead (the actor's own row among them) and across."""
MIDDLE = SIDE // 2
UNSEEN, EMPTY, WALL, SHUT = 0, 1, 2, 20
"""Codes of squares; things have the package's numbers of kinds, from 4 on, and shut doors this."""
KINDS = {"wall": WALL, "floor": 3, "door": 4, "key": 5, "ball": 6, "box": 7, "goal": 8, "lava": 9}
_OPAQUE = (WALL, SHUT)


class GridSight:
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


LEFT, RIGHT, FORWARD, PICK_UP, DROP, TOGGLE, DONE = range(7)
"""The package's numbers of its actions."""
HANDS = (PICK_UP, DROP, TOGGLE)
"""Those that change the square right ahead, and no other."""
AHEAD = ((1, 0), (0, 1), (-1, 0), (0, -1))
"""Its directions as steps of x (to the east) and y (to the south)."""
HEADINGS = (90.0, 180.0, 270.0, 0.0)
"""... and as degrees clockwise from north."""
PREFIX, SUFFIX = "BabyAI-", "-v0"


class Level:
    """A level of BabyAI, played with the package's own actions.

        >>> level = Level("GoToObj")
        >>> level.start(0)
        >>> level.mission
        'go to the green key'

    ``kinds`` is what is in view after the last action (see ``sight``), ``reward`` the sum of the
    level's rewards, and ``over`` whether it has ended the episode. ``env`` is the environment
    itself; its steps bring no observation. Raises ``UsageError`` for a level that the package does
    not have, or where it is not installed.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.env: Any = _make(name)
        self.env.gen_obs = dict  # the package's own view is not asked for: sight has the same
        self.kinds = b""
        self.reward = 0.0
        self.over = False

    def start(self, seed: int) -> None:
        """Draw the level anew. The package draws again, and says so, what cannot be solved."""
        with redirect_stdout(io.StringIO()):
            self.env.reset(seed=seed)
        self.reward, self.over = 0.0, False
        self.look_anew()

    def act(self, code: int) -> None:
        """One action of the package's."""
        ahead = self._ahead()
        _, reward, ended, cut, _ = self.env.step(code)
        self.reward += float(reward)
        self.over = bool(ended or cut)
        if code in HANDS:
            self._sight.refresh(ahead)
        self._look()

    def look_anew(self) -> None:
        """Take in the whole grid, as at the start."""
        self._sight = GridSight(self.env.grid)
        self._look()

    def _look(self) -> None:
        env, facing = self.env, self.env.agent_dir
        (x, y), width = env.agent_pos, env.grid.width
        (dx, dy), (rx, ry) = AHEAD[facing], AHEAD[(facing + 1) % 4]
        here = int(y) * width + int(x)
        self.kinds = self._sight.view(here, dy * width + dx, ry * width + rx)

    def _ahead(self) -> int:
        """The number of the square right ahead in the grid's list."""
        (x, y), (dx, dy) = self.env.agent_pos, AHEAD[self.env.agent_dir]
        return (int(y) + dy) * int(self.env.grid.width) + int(x) + dx

    @property
    def mission(self) -> str:
        """The instruction."""
        return str(self.env.mission)

    @property
    def steps(self) -> int:
        """How many actions the level has carried out."""
        return int(self.env.step_count)

    @property
    def place(self) -> tuple[int, int]:
        """x and y of the actor."""
        x, y = self.env.agent_pos
        return int(x), int(y)

    @property
    def facing(self) -> int:
        """The package's direction: 0 east, 1 south, 2 west, 3 north."""
        return int(self.env.agent_dir)

    @property
    def heading(self) -> float:
        """Degrees clockwise from north."""
        return HEADINGS[self.env.agent_dir]

    @property
    def carried(self) -> Any:
        """The thing in the actor's hands, or None."""
        return self.env.carrying

    def at(self, x: int, y: int) -> Any:
        """The thing on a square (walls and doors are things), or None."""
        return self.env.grid.get(x, y)

    def front(self) -> Any:
        """The thing right in front of the actor, or None."""
        return self.env.grid.grid[self._ahead()]

    def find(self, thing: Any) -> tuple[int, int] | None:
        """Where a thing lies; None for what is carried or gone."""
        squares, width = self.env.grid.grid, self.env.grid.width
        number = next((n for n, there in enumerate(squares) if there is thing), None)
        return None if number is None else (number % width, number // width)

    def meant(self) -> list[tuple[int, int]]:
        """The squares of things that fit the instruction's words and lie somewhere."""
        things = (thing for part, _ in self._parts() for thing in _described(part))
        return sorted({place for thing in things if (place := self.find(thing)) is not None})

    def met(self) -> tuple[int, int]:
        """How many of the instruction's single parts are done, and how many there are."""
        done = [part_done for _, part_done in self._parts()]
        return len(done) if self.reward > 0 else sum(done), len(done)

    def _parts(self) -> list[tuple[Any, bool]]:
        """Each single instruction (``go to``, ``pick up``, …) and whether it is done."""
        found, left = [], [(self.env.instrs, False)]
        while left:
            part, done = left.pop()
            if hasattr(part, "instr_a"):  # one after the other, or both
                sides = (part.instr_a, part.a_done), (part.instr_b, part.b_done)
                left += [(side, done or how == "success") for side, how in sides]
            else:
                found.append((part, done))
        return found


def _described(part: Any) -> list[Any]:
    """The things that fit the words of a single instruction."""
    named = (getattr(part, key, None) for key in ("desc", "desc_move", "desc_fixed"))
    return [thing for words in named if words is not None for thing in words.obj_set]


def state_of(thing: Any) -> str:
    """``open``, ``closed`` or ``locked`` for doors, empty for all else."""
    if thing.type != "door":
        return ""
    return "open" if thing.is_open else "locked" if thing.is_locked else "closed"


def _make(name: str) -> Any:
    with needing("levels of BabyAI need the package minigrid", "babyai"):
        import gymnasium
        import minigrid
    if f"{PREFIX}{name}{SUFFIX}" not in gymnasium.registry:
        found = [key for key in gymnasium.registry if key.startswith(PREFIX)]
        known = [key.removeprefix(PREFIX).removesuffix(SUFFIX) for key in found]
        raise UsageError(
            f"minigrid {minigrid.__version__} has no level {name!r}; {suggest(name, known)}"
        )
    made = gymnasium.make(f"{PREFIX}{name}{SUFFIX}", disable_env_checker=True)
    return made.unwrapped


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
