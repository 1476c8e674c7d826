"""Datasets that weights are fitted on, and the parts of them that are held out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wayword.core import dataset as core
from wayword.core import registry
from wayword.core.errors import UsageError
from wayword.settings import make


@dataclass(frozen=True, slots=True)
class Source:
    """A dataset to learn from: ``data`` is ``name:split``, ``settings`` its own.

    ``limit``: number of episodes, from the first (0: all). ``scenes`` keeps or, with ``leave_out``,
    drops scenes; ``area`` keeps the routes wholly in an area of a street graph (``seen``).
    ``skip`` leaves out every N-th episode, ``only`` keeps just these: a split in two parts.
    """

    data: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    limit: int = 0
    scenes: Sequence[str] = ()
    leave_out: Sequence[str] = ()
    area: str = ""
    skip: int = 0
    only: int = 0

    def open(self, folder: Path | None) -> tuple[core.Dataset, list[core.Task]]:
        """The dataset and the selected tasks. Raises ``UsageError``, ``DataError``."""
        name, _, split = self.data.partition(":")
        cls = registry.load("dataset", name)
        settings = make(cls.Settings, self.settings, name)
        dataset: core.Dataset = cls(split or cls.splits[0], folder, settings)
        listed: Sequence[core.Task] = dataset.tasks
        if self.area:
            if not hasattr(dataset, "in_area"):
                raise UsageError(f"{self.data}: has no areas")
            listed = dataset.in_area(self.area)
        tasks = []
        for number in range(len(listed)):
            if (self.skip and number % self.skip == 0) or (
                self.only and number % self.only
            ):
                continue  # before the task is looked at: some are made only then
            task = listed[number]
            scene = task.episode.scene
            if (
                not self.scenes or scene in self.scenes
            ) and scene not in self.leave_out:
                tasks.append(task)
        if not tasks:
            raise UsageError(f"{self.data}: no episodes left to learn from")
        return dataset, tasks[: self.limit or None]
