"""ALFWorld's games through Wayword, against its engine alone: seconds a step, and memory.

*Bare* is the engine in this process: a command is carried out, and the text and the commands that
are possible next are read. *Ours* is a world's ``step``: the same, through the pipe to a process,
with every command read as an action. Both play the walkthroughs of the same generated games, in
turns; each step's best time over the rounds counts.

``python -m benchmarks.alfworld`` exits with 1 where a bound is missed. Where ALFWorld is not
installed (`make extra-alfworld`) it says so and measures nothing.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks._rows import Rows
from wayword.core.dataset import Task
from wayword.datasets.alfworld import Alfworld
from wayword.worlds.alfworld.engine import TextWorldEngine
from wayword.worlds.alfworld.world import GameWorld, action_of

GAMES = 3
ROUNDS = 2


def seconds(call: Callable[[], object]) -> float:
    """Seconds that a call takes."""
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def lesser(before: list[float], now: list[float]) -> list[float]:
    """The lesser of two rounds, step by step; the second where there was none before."""
    return [min(pair) for pair in zip(before or now, now, strict=True)]


def bare_steps(
    engine: TextWorldEngine, game: object, commands: list[str]
) -> list[float]:
    """Seconds of each command in the engine alone."""
    engine.answer({"game": game})
    return [seconds(lambda: engine.answer({"command": each})) for each in commands]  # noqa: B023


def world_steps(world: GameWorld, task: Task, commands: list[str]) -> list[float]:
    """Seconds of each command as a step of a world."""
    world.reset(task.episode)
    spent = [
        seconds(lambda: world.step("agent", action_of(each)))  # noqa: B023
        for each in commands
    ]
    if not world.state()["won"]:
        raise AssertionError(f"{task.episode.id}: the walkthrough did not win")
    return spent


def megabytes_of_engine(world: Any) -> float:
    """The most memory that a world's engine had, from Linux's account of its process."""
    process = world._engine._process._process
    status = Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8")
    fields: Mapping[str, str] = dict(
        line.split(":", 1) for line in status.splitlines() if ":" in line
    )
    return float(fields["VmHWM"].split()[0]) / 1024


def main() -> int:
    """Print the rows; 1 where a bound is missed."""
    if not (find_spec("alfworld") and find_spec("textworld")):
        print("not measured: ALFWorld is not installed (make extra-alfworld)")
        return 0
    dataset = Alfworld(settings=Alfworld.Settings(episodes=GAMES))
    engine = TextWorldEngine()
    bare = list[float]()
    ours = list[float]()
    loads = list[float]()
    memory = 0.0
    for task in dataset.tasks:
        commands = list(dataset.walkthrough(task))
        world = dataset.world(task.episode)
        plain = list[float]()
        stepped = list[float]()
        least_load = math.inf
        for _ in range(ROUNDS):
            plain = lesser(plain, bare_steps(engine, world._game, commands))
            least_load = min(least_load, seconds(lambda: world.reset(task.episode)))  # noqa: B023
            stepped = lesser(stepped, world_steps(world, task, commands))
        bare += plain
        ours += stepped
        loads.append(least_load)
        memory = max(memory, megabytes_of_engine(world))
        print(f"{task.episode.id}: {len(commands)} steps, {least_load:.1f} s to load")
    rows = Rows("alfworld")
    rows.add("load_s", sum(loads) / len(loads))
    rows.add("step_ms", 1000 * sum(ours) / len(ours))
    rows.add("step_of_bare_engine", sum(ours) / sum(bare), at_most=1.1)
    rows.add("engine_mb", memory, at_most=200)
    return rows.exit_code()


if __name__ == "__main__":
    sys.exit(main())
