"""Success of players on the same episodes, and the interval of their difference."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayword.core import registry
from wayword.core.agent import Agent, Toolkit
from wayword.core.dataset import Dataset, Task
from wayword.core.rollout import Setup, run
from wayword.core.trajectory import Trajectory
from wayword.metrics.scoring import score

Z = 1.96  # of a 95% interval
Make = Callable[[Toolkit, str], Agent]


def success(
    dataset: Dataset,
    make: Make,
    episodes: int,
    metric: str = "sr",
    seed: int = 0,
    max_steps: int = 0,
) -> NDArray[np.float64]:
    """The success of each of the first episodes, 0 or 1."""
    tasks = [dataset.tasks[number] for number in range(episodes)]
    scores: dict[str, float] = {}

    def keep(task: Task, trajectory: Trajectory) -> None:
        assert trajectory.ended != "failed", trajectory.error
        scores[task.episode.id] = score(dataset, [(task, trajectory)])[0][metric]

    setup = Setup(dataset, make, {}, seed, max_steps or dataset.max_steps)
    asyncio.run(run(tasks, setup, keep, 1))
    return np.array([scores[task.episode.id] for task in tasks])


def chance(
    dataset: Dataset,
    episodes: int,
    seeds: int,
    metric: str = "sr",
    max_steps: int = 0,
    moves: int = 0,
) -> NDArray[np.float64]:
    """The mean success of the agent ``random`` on each episode.

    It stops after ``moves``; 0: after its usual number, which is best where only a stop ends an
    episode.
    """
    random: Any = registry.load("agent", "random")

    def make(toolkit: Toolkit, actor: str) -> Agent:
        agent: Agent = random(random.Settings(steps=moves), toolkit)
        return agent

    played = [
        success(dataset, make, episodes, metric, seed, max_steps)
        for seed in range(seeds)
    ]
    return np.asarray(np.mean(played, axis=0))


def interval(differences: NDArray[np.float64]) -> tuple[float, float]:
    """The 95% interval of a mean of paired differences."""
    half = Z * float(differences.std(ddof=1)) / math.sqrt(len(differences))
    mean = float(differences.mean())
    return mean - half, mean + half
