"""A step of a BabyAI level in words, against a step of the bare package.

The bare side is ``minigrid`` alone: ``env.step`` with its own 7 x 7 view, through no wrapper. Ours
is all that a run pays for: is the action on the menu, carry it out in the same package, say what
came of it, find and name what is in view, and put both into sentences. Both take the same actions
from the same start, and must stand on the same square in the end.

The package's rules, verdict and view are used as they are; its observation, a picture and a text,
is not drawn: the squares in view are read once and put into words.

The two take turns, block by block of steps, so that a busy machine blurs both alike; each block's
best time over the rounds counts. ``python -m benchmarks.gridworld`` prints the ratio for each level
and exits with 1 where one is over 1.5 times a bare step, words included.
"""

from __future__ import annotations

import io
import math
import random
import sys
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from typing import Any

from benchmarks._rows import Rows
from wayword.core.action import Action
from wayword.core.episode import Episode
from wayword.verbalize.babyai import describe, feedback
from wayword.worlds.babyai.world import CODES, BabyAIWorld

LEVELS = (
    "GoToObj",
    "GoToLocalS8N7",
    "GoToObjMaze",
    "PutNextLocalS6N4",
    "UnblockPickup",
    "Synth",
)
STEPS = 400
BLOCK = 20
ROUNDS = 25
VERBS = ("move_ahead",) * 5 + ("turn_left", "turn_right", "pick_up", "drop", "toggle")


def bare(level: str) -> Any:
    """The package's level at its start, as the package makes it, without its limit of steps."""
    import gymnasium
    import minigrid  # noqa: F401 - registers the levels

    env: Any = gymnasium.make(f"BabyAI-{level}-v0", disable_env_checker=True).unwrapped
    with redirect_stdout(io.StringIO()):
        env.reset(seed=0)
    env.max_steps = 10**9
    return env


def walk(level: str) -> list[str]:
    """Actions that do not end the level."""
    rng = random.Random(level)
    found = []
    env = bare(level)
    while len(found) < STEPS:
        found.append(rng.choice(VERBS))
        if env.step(CODES[found[-1]])[2]:  # begin again without what fulfilled the task
            found.pop()
            env = bare(level)
            for verb in found:
                env.step(CODES[verb])
    return found


def ours(level: str) -> BabyAIWorld:
    """The same in words."""
    world = BabyAIWorld(level)
    world.reset(Episode("bench", "", level, {"seed": 0}))
    world.level.env.max_steps = 10**9
    return world


def in_words(world: BabyAIWorld, action: Action) -> str:
    """What a run pays for a step."""
    if action not in world.action_space("agent"):
        raise ValueError(str(action))
    result = world.step("agent", action)
    return f"{feedback(result)}\n{describe(world.observe('agent'))}"


def timed(step: Callable[[int], object], block: range) -> float:
    """Seconds that a block of steps takes."""
    began = time.perf_counter()
    for k in block:
        step(k)
    return time.perf_counter() - began


def measure(level: str) -> tuple[float, float]:
    """Microseconds a step: bare, and in words."""
    verbs = walk(level)
    codes = [CODES[verb] for verb in verbs]
    actions = [Action(verb) for verb in verbs]
    blocks = [range(first, first + BLOCK) for first in range(0, STEPS, BLOCK)]
    plain, worded = ([math.inf] * len(blocks) for _ in range(2))
    for _ in range(ROUNDS):
        env = bare(level)
        world = ours(level)
        for n, block in enumerate(blocks):
            plain[n] = min(plain[n], timed(lambda k: env.step(codes[k]), block))  # noqa: B023
            spent = timed(lambda k: in_words(world, actions[k]), block)  # noqa: B023
            worded[n] = min(worded[n], spent)
        if tuple(map(int, env.agent_pos)) != world.level.place:
            raise AssertionError(f"{level}: the two went different ways")
    return sum(plain) / STEPS * 1e6, sum(worded) / STEPS * 1e6


def main() -> int:
    """Print the table; 1 where the bound is missed."""
    print("level               bare us   in words us   ratio")
    ratios = []
    for level in LEVELS:
        plain, worded = measure(level)
        ratios.append(worded / plain)
        print(f"{level:18s} {plain:8.1f} {worded:13.1f} {ratios[-1]:7.2f}")
    rows = Rows("gridworld")
    rows.add("worst_level_of_bare", max(ratios), at_most=1.5)
    return rows.exit_code()


if __name__ == "__main__":
    sys.exit(main())
