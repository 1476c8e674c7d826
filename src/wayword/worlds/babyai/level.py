"""One level of the package ``minigrid``: the package's own rules, steps and verdict.

Source: BabyAI (Chevalier-Boisvert et al. 2019, arXiv:1810.08272), as ``minigrid`` has it.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from wayword.core.errors import UsageError, needing, suggest

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


class _Later(ModuleType):
    """Stands for a package that is imported when something of it is first used, if ever."""

    def __getattr__(self, name: str) -> Any:
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(import_module(self.__name__), name)


@contextmanager
def _later(package: str) -> Iterator[None]:
    """Whoever imports the package meanwhile gets a stand-in for it."""
    if package in sys.modules or find_spec(package) is None:
        yield
        return
    stand_in = sys.modules[package] = _Later(package)
    try:
        yield
    finally:
        if sys.modules.get(package) is stand_in:
            del sys.modules[package]


def _make(name: str) -> Any:
    with needing("levels of BabyAI need the package minigrid", "babyai"):
        import gymnasium

        with _later("networkx"):  # half a second, for levels that are none of BabyAI's
            import minigrid
    if f"{PREFIX}{name}{SUFFIX}" not in gymnasium.registry:
        found = [key for key in gymnasium.registry if key.startswith(PREFIX)]
        known = [key.removeprefix(PREFIX).removesuffix(SUFFIX) for key in found]
        raise UsageError(
            f"minigrid {minigrid.__version__} has no level {name!r}; {suggest(name, known)}"
        )
    made = gymnasium.make(f"{PREFIX}{name}{SUFFIX}", disable_env_checker=True)
    return made.unwrapped
