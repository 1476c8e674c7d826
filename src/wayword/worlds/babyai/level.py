"""A level of the package ``minigrid``: its own rules, steps and success, and the actor's view.

Source: BabyAI (Chevalier-Boisvert et al. 2019, arXiv:1810.08272), as implemented in ``minigrid``.
"""

from __future__ import annotations

import io
import re
from collections import Counter, deque
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass
from itertools import product
from typing import Any

from wayword.core.errors import UsageError, needing, suggest
from wayword.core.world import Observation
from wayword.worlds import babyai

VIEW_SIZE = 7  # side of the package's square view; its last row is the actor's own
MIDDLE = VIEW_SIZE // 2  # the actor's column

# The package's action codes.
LEFT, RIGHT, FORWARD, PICK_UP, DROP, TOGGLE, DONE = range(7)
STEPS = ((1, 0), (0, 1), (-1, 0), (0, -1))
"""The package's direction -> a step in x (east) and y (south)."""
HEADINGS = (90.0, 180.0, 270.0, 0.0)
"""The package's direction -> degrees clockwise from north."""
_CONNECTIVE = re.compile(r",? then | after you | and ")
# Around a level's name in Gymnasium's registry.
PREFIX = "BabyAI-"
SUFFIX = "-v0"


class Level:
    """A BabyAI level, played with the package's own actions.

        >>> level = Level("GoToObj")
        >>> level.start(0)
        >>> level.mission
        'go to the green key'

    ``place`` is the actor's x and y, ``facing`` its direction (0 east, 1 south, 2 west, 3 north),
    ``carried`` the object it holds. ``visible`` (7, 7) is true for visible squares, indexed by
    column from the left and row from the farthest. ``reward`` is the sum of the level's rewards;
    ``over`` is true after the level has ended the episode. ``env`` is the environment; its steps
    return no observation. Raises ``UsageError`` for an unknown level, or without minigrid.
    """

    def __init__(self, name: str) -> None:
        with needing("BabyAI levels need the package minigrid", "babyai"):
            import gymnasium
            import minigrid
        # Checked before making it: Gymnasium's own error lists no names.
        if f"{PREFIX}{name}{SUFFIX}" not in gymnasium.registry:
            keys = [key for key in gymnasium.registry if key.startswith(PREFIX)]
            names = [key.removeprefix(PREFIX).removesuffix(SUFFIX) for key in keys]
            problem = f"minigrid {minigrid.__version__} has no level {name!r}"
            raise UsageError(f"{problem}; {suggest(name, names)}")
        self.name = name
        # The checker would test every observation.
        env: Any = gymnasium.make(f"{PREFIX}{name}{SUFFIX}", disable_env_checker=True)
        self.env: Any = env.unwrapped
        # The package's observations are pictures: slow to draw, and not used, since ``look``
        # reads the squares.
        self.env.gen_obs = dict

    def start(self, seed: int) -> None:
        """Generate the level of a seed, suppressing messages that the package prints
        when it retries.
        """
        # Some levels are drawn several times until they can be solved.
        with redirect_stdout(io.StringIO()):
            self.env.reset(seed=seed)
        self.reward = 0.0
        self.over = False
        self.look()

    def act(self, code: int) -> None:
        """Carry out an action of the package."""
        _, reward, ended, truncated, _ = self.env.step(code)
        self.reward += float(reward)
        # A level ends by success, by failure or by its limit of steps.
        self.over = bool(ended or truncated)
        self.look()

    def look(self) -> None:
        """Read the actor's position, direction and view."""
        env = self.env
        # The package computes visibility: walls and closed doors hide what is behind
        # them.
        self._view, self.visible = env.gen_obs_grid()
        self.mission = str(env.mission)
        self.steps = int(env.step_count)
        self.carried = env.carrying
        self.place = (int(env.agent_pos[0]), int(env.agent_pos[1]))
        self.facing = int(env.agent_dir)

    def view(self, ahead: int, right: int) -> Any:
        """Return the visible object at steps from the actor; None if empty or hidden.

        ``right`` is negative to the left. Both must be within the view of 7 x 7
        squares.
        """
        # The package counts rows from the farthest, columns from the left.
        return self._view.get(right + MIDDLE, VIEW_SIZE - 1 - ahead)

    def at(self, x: int, y: int) -> Any:
        """Return the object on a square (walls and doors included), or None."""
        return self.env.grid.get(x, y)

    def find(self, obj: Any) -> tuple[int, int] | None:
        """Return the square of an object; None if it is carried or no longer exists."""
        squares = self.env.grid.grid
        width = self.env.grid.width
        for number, other in enumerate(squares):
            if other is obj:  # not ==: two green keys are equal
                return number % width, number // width
        return None

    def target_squares(self) -> list[tuple[int, int]]:
        """Return the squares of the objects that match the instruction."""
        objects: list[Any] = []
        for part, _ in self._parts():
            # Descriptions of what to go to, to move, and to put it next to.
            for role in ("desc", "desc_move", "desc_fixed"):
                description = getattr(part, role, None)
                if description:
                    objects += description.obj_set
        squares = {self.find(obj) for obj in objects}
        # Carried objects have no square; sorted, so that callers get a fixed order.
        return sorted(square for square in squares if square is not None)

    def met(self) -> tuple[int, int]:
        """Return the numbers of completed parts and of all parts of the instruction."""
        done = [part_done for _, part_done in self._parts()]
        # The level's success counts for every part, since a sequence forgets its
        # finished ones.
        if self.reward > 0:
            return len(done), len(done)
        return sum(done), len(done)

    def conditions(self) -> list[tuple[str, int, int]]:
        """Return the words of each part of the instruction, 1 if it is done, and 1."""
        # From the text, because ``surface`` of a part fails for an object in hand.
        texts = _CONNECTIVE.split(self.mission)
        success = self.reward > 0
        # Parts and words have the same order, or the package has changed: strict finds
        # out.
        parts = zip(texts, self._parts(), strict=True)
        return [(text, int(done or success), 1) for text, (_, done) in parts]

    def _parts(self) -> list[tuple[Any, bool]]:
        """Return the single instructions (``go to``, ``pick up``, …), each with True if done."""
        instructions = []
        stack = [(self.env.instrs, False)]
        # Depth first, left before right: the order of the text.
        while stack:
            part, done = stack.pop()
            if hasattr(part, "instr_a"):  # "a then b" or "a and b"
                sides = (part.instr_b, part.b_done), (part.instr_a, part.a_done)
                # A part may be done while the whole instruction is not.
                stack += [(side, done or state == "success") for side, state in sides]
            else:
                instructions.append((part, done))
        return instructions


def door_state(obj: Any) -> str:
    """Return ``open``, ``closed`` or ``locked`` for a door, else an empty string."""
    if obj.type != "door":
        return ""
    if obj.is_open:
        return "open"
    return "locked" if obj.is_locked else "closed"


@dataclass(frozen=True, slots=True)
class GridObject:
    """An object in view.

    ``name`` has a number in order of first sight: ``red_ball_1``. ``ahead`` and
    ``right`` are steps ahead and to the right (negative: left). ``state`` is ``open``,
    ``closed`` or ``locked`` for doors, else empty.
    """

    name: str
    color: str
    kind: str
    ahead: int
    right: int
    state: str


@dataclass(frozen=True, slots=True)
class GridHeld:
    """The object that the actor holds."""

    name: str
    color: str
    kind: str


@dataclass(frozen=True, slots=True)
class BabyAIObservation(Observation):
    """The view of ``actor``: the unobstructed part of the 7 x 7 squares ahead and to its sides.

    ``heading`` is degrees clockwise from north. ``objects`` are nearest first. ``walls``: steps to
    the wall straight ahead, to the left and to the right; None if no wall is visible there.
    """

    family = babyai.family

    actor: str
    heading: float
    holding: tuple[GridHeld, ...]
    objects: tuple[GridObject, ...]
    walls: tuple[int | None, int | None, int | None]


# Sorted once at import: every observation walks them in this order.
VIEW_SQUARES = tuple(
    sorted(
        product(range(VIEW_SIZE), range(-MIDDLE, MIDDLE + 1)),
        key=lambda square: (square[0] + abs(square[1]), square[1]),
    )
)
"""All squares of the view as (ahead, right), nearest first. The first is the actor's own."""


class LevelNames:
    """An actor's names for the objects of a level, numbered in the order of first sight."""

    def __init__(self) -> None:
        self.objects: dict[str, Any] = {}
        self._names: dict[Any, str] = {}
        self._counts: Counter[str] = Counter()

    def name_of(self, obj: Any) -> str:
        """Return an object's name; a new object gets a new one, walls have none."""
        if obj.type == "wall":
            return "a wall"
        # Objects are compared by identity, as the package does not define equality.
        if obj not in self._names:
            kind = f"{obj.color}_{obj.type}"
            self._counts[kind] += 1
            name = f"{kind}_{self._counts[kind]}"
            self._names[obj] = name
            self.objects[name] = obj
        return self._names[obj]


def observe_level(
    level: Level,
    names: LevelNames,
    actor: str,
) -> BabyAIObservation:
    """Return the actor's observation; objects seen for the first time get names."""
    objects = []
    held = level.carried
    # In its own square, the package shows what the actor holds.
    for ahead, right in VIEW_SQUARES[1:]:
        obj = level.view(ahead, right)
        if obj is not None and obj.type not in ("wall", "floor"):
            name = names.name_of(obj)
            state = door_state(obj)
            objects.append(
                GridObject(
                    name,
                    obj.color,
                    obj.type,
                    ahead,
                    right,
                    state,
                )
            )
    # One hand, so one object at most.
    holding: tuple[GridHeld, ...] = ()
    if held is not None:
        holding = (
            GridHeld(
                names.name_of(held),
                held.color,
                held.type,
            ),
        )

    def wall(step_ahead: int, step_right: int, reach: int) -> int | None:
        """Return the steps to the first wall in a direction, of ``reach`` in view; None without."""
        for steps in range(1, reach + 1):
            obj = level.view(steps * step_ahead, steps * step_right)
            if obj is not None and obj.type == "wall":
                return steps
        return None

    walls = (
        wall(1, 0, VIEW_SIZE - 1),
        wall(0, -1, MIDDLE),
        wall(0, 1, MIDDLE),
    )
    return BabyAIObservation(
        actor,
        HEADINGS[level.facing],
        holding,
        tuple(objects),
        walls,
    )


def visible_squares(level: Level) -> list[tuple[int, int]]:
    """Return x and y of every visible square, including the actor's own."""
    x, y = level.place
    dx, dy = STEPS[level.facing]
    # (dx, dy) is one step ahead, and (-dy, dx) one step to the right.
    return [
        (x + ahead * dx - right * dy, y + ahead * dy + right * dx)
        for ahead, right in VIEW_SQUARES
        if level.visible[right + MIDDLE, VIEW_SIZE - 1 - ahead]
    ]


Square = tuple[int, int]  # x and y
IsGoal = Callable[[Square, Square], bool]
"""True if standing on one square, with another right ahead, is the goal."""


def route(
    level: Level,
    is_goal: IsGoal,
    explored: set[Square] | None = None,
) -> list[int] | None:
    """Return the codes of the shortest sequence of turns and steps to the goal.

    Over free squares and open doors, only ``explored`` ones if given. None without a
    path; empty if the actor is there already.
    """
    # Breadth-first over states (x, y, direction), each with the codes that lead to it.
    start = (*level.place, level.facing)
    queue: deque[tuple[tuple[int, int, int], list[int]]] = deque([(start, [])])
    reached = {start}
    while queue:
        (x, y, facing), codes = queue.popleft()
        dx, dy = STEPS[facing]
        front = x + dx, y + dy
        if is_goal((x, y), front):
            return codes
        # A step before the turns: of equally short paths, the one that walks first.
        moves = [(LEFT, (x, y, (facing + 3) % 4)), (RIGHT, (x, y, (facing + 1) % 4))]
        if explored is None or front in explored:
            ahead = level.at(*front)
            # Goals and open doors can be stood on.
            if ahead is None or ahead.can_overlap():
                moves.insert(0, (FORWARD, (*front, facing)))
        for code, after in moves:
            if after not in reached:
                reached.add(after)
                queue.append((after, [*codes, code]))
    return None
