"""One level of the package ``minigrid``: the package's own rules, steps and verdict.

Source: BabyAI (Chevalier-Boisvert et al. 2019, arXiv:1810.08272), as ``minigrid`` has it.
"""

from __future__ import annotations

import io
from contextlib import redirect_stdout
from typing import Any

from wayword.core.errors import UsageError, suggest

LEFT, RIGHT, FORWARD, PICK_UP, DROP, TOGGLE, DONE = range(7)
"""The package's numbers of its actions."""
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

    ``image`` is the package's view after the last action, ``reward`` the sum of its rewards, and
    ``over`` whether it has ended the episode. ``env`` is the environment itself. Raises
    ``UsageError`` for a level that the package does not have, or where it is not installed.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.env: Any = _make(name)
        self.image: Any = None
        self.reward = 0.0
        self.over = False

    def start(self, seed: int) -> None:
        """Draw the level anew. The package draws again, and says so, what cannot be solved."""
        with redirect_stdout(io.StringIO()):
            seen, _ = self.env.reset(seed=seed)
        self.image, self.reward, self.over = seen["image"], 0.0, False

    def act(self, code: int) -> None:
        """One action of the package's."""
        seen, reward, ended, cut, _ = self.env.step(code)
        self.image = seen["image"]
        self.reward += float(reward)
        self.over = bool(ended or cut)

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
        (x, y), (dx, dy) = self.env.agent_pos, AHEAD[self.env.agent_dir]
        grid = self.env.grid
        return grid.grid[(int(y) + dy) * grid.width + int(x) + dx]

    def find(self, thing: Any) -> tuple[int, int] | None:
        """Where a thing lies; None for what is carried or gone."""
        squares, width = self.env.grid.grid, self.env.grid.width
        number = next((n for n, there in enumerate(squares) if there is thing), None)
        return None if number is None else (number % width, number // width)


def state_of(thing: Any) -> str:
    """``open``, ``closed`` or ``locked`` for doors, empty for all else."""
    if thing.type != "door":
        return ""
    return "open" if thing.is_open else "locked" if thing.is_locked else "closed"


def _make(name: str) -> Any:
    try:
        import gymnasium
        import minigrid
    except ImportError as error:
        raise UsageError(
            "levels of BabyAI need the package minigrid; install wayword[babyai]"
        ) from error
    if f"{PREFIX}{name}{SUFFIX}" not in gymnasium.registry:
        found = [key for key in gymnasium.registry if key.startswith(PREFIX)]
        known = [key.removeprefix(PREFIX).removesuffix(SUFFIX) for key in found]
        raise UsageError(
            f"minigrid {minigrid.__version__} has no level {name!r}; {suggest(name, known)}"
        )
    made = gymnasium.make(f"{PREFIX}{name}{SUFFIX}", disable_env_checker=True)
    return made.unwrapped
