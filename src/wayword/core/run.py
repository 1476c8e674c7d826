"""Many episodes at once: a few workers draw tasks, and each finished episode is handed on at once.

Models are awaited, worlds are synchronous and fast, so one thread keeps hundreds of episodes in
the air.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from wayword.core.dataset import Task
from wayword.core.errors import BudgetExhausted
from wayword.core.rollout import Setup, rollout
from wayword.core.trajectory import Trajectory

OnEnd = Callable[[Task, Trajectory], None]
"""Called as soon as an episode ends, failed ones included. What it raises ends the run."""


@dataclass(slots=True)
class Outcome:
    """How a run ended. ``exhausted`` is the budget's message where one was spent."""

    finished: int = 0
    failed: int = 0
    exhausted: str = ""


async def run(tasks: Iterable[Task], setup: Setup, on_end: OnEnd, concurrency: int = 8) -> Outcome:
    """Play every task, ``concurrency`` episodes at a time.

    A failed episode is counted and the others go on. A spent budget ends the run in order:
    episodes under way are dropped (a resumed run plays them again), finished ones are kept.
    """
    outcome = Outcome()
    queue = iter(tasks)

    async def work() -> None:
        for task in queue:
            if outcome.exhausted:
                return
            try:
                trajectory = await rollout(task, setup)
            except BudgetExhausted as error:
                outcome.exhausted = str(error)
                return
            on_end(task, trajectory)
            if trajectory.ended == "failed":
                outcome.failed += 1
            else:
                outcome.finished += 1
            await asyncio.sleep(0)  # agents that never wait must let the others have their turn

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(max(1, concurrency)):
                group.create_task(work())
    except BaseExceptionGroup as errors:
        raise _first(errors) from None
    return outcome


def _first(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    """The error that ended the run, out of the group it came in."""
    error: BaseException = errors
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
