"""Checksums of episodes: equal where two machines draw the same scene, start, goal and instruction.

Rules and other prose of prompts do not count.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from wayword.core.dataset import Dataset, Task
from wayword.core.files import text_checksum
from wayword.runs.opening import open_dataset
from wayword.runs.plan import Plan
from wayword.worlds.indoor.graph import ViewpointGraph


def level_checksums(plan: Plan) -> list[str]:
    """Return the checksums of the first and the last episode of a level.

    Of the first alone if the plan does not play the last.
    """
    dataset = open_dataset(plan)
    tasks = [dataset.tasks[0]]
    if plan.limit is None:
        tasks.append(dataset.tasks[len(dataset.tasks) - 1])
    return checksums(dataset, tasks)


def checksums(dataset: Dataset, tasks: Sequence[Task]) -> list[str]:
    """Return 12 hexadecimal digits of the scene, start, goal and instruction of each task."""
    texts = [json.dumps(content(dataset, task)) for task in tasks]
    return [text_checksum(text, 12) for text in texts]


def content(dataset: Dataset, task: Task) -> Any:
    """Return what makes an episode, as JSON."""
    episode = task.episode
    world = dataset.world(task.episode)
    world.reset(episode)
    # A graph is its edges; other worlds are their state at the start.
    graph = getattr(world, "graph", None)
    scene = graph.edges if isinstance(graph, ViewpointGraph) else world.state()
    instructions = episode.instruction, episode.extra.get("instructions")
    return _plain(
        (
            episode.id,
            episode.scene,
            episode.start,
            instructions,
            asdict(task.reference),
            scene,
        )
    )


def _plain(value: Any) -> Any:
    """Return a value as JSON that is the same on every machine.

    Sets are sorted, numbers rounded. Mappings count by their values, so that a renamed
    field changes nothing.
    """
    if isinstance(value, Mapping):
        return sorted(map(_plain, value.values()), key=str)
    if isinstance(value, set | frozenset):
        return sorted(map(_plain, value), key=str)
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, float):
        return round(value, 3)
    return value if value is None or isinstance(value, int) else str(value)
