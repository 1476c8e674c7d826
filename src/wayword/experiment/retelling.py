"""Instructions and drawings from a finished run (NavGPT, section 4.1)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from wayword.agents.retelling import Drawing, drawing, instruction
from wayword.agents.together import both
from wayword.core.dataset import Dataset, Task
from wayword.core.errors import UsageError
from wayword.core.model import Model
from wayword.core.trajectory import Trajectory
from wayword.experiment.models import open_models
from wayword.experiment.parts import open_dataset
from wayword.experiment.plan import Plan
from wayword.recording import RecordedRun, RunFolder


@dataclass(frozen=True, slots=True)
class Retold:
    """One episode told again: the instruction followed, the one written, and the drawing."""

    episode: str
    followed: str
    written: str
    drawing: Drawing

    def as_json(self) -> dict[str, Any]:
        """For JSON lines: points in metres, errors null where the answer held no drawing."""
        drawn = self.drawing
        return {
            "episode": self.episode,
            "instruction": self.followed,
            "generated": self.written,
            "points": None if drawn.points is None else drawn.points.round(3).tolist(),
            "truth": drawn.truth.round(3).tolist(),
            "mean_error_m": None if drawn.rejection else drawn.mean_error,
            "end_error_m": None if drawn.rejection else drawn.end_error,
            "rejected": drawn.rejection.reason if drawn.rejection else None,
        }


def retell(
    run: Path, model: str, limit: int, on_each: Callable[[Retold], None], data: Path | None = None
) -> None:
    """Retell the first ``limit`` finished episodes of an indoor run, each to ``on_each``."""
    if limit < 1:
        raise UsageError(f"limit must be at least 1, not {limit}")
    recorded = RunFolder.read(run)
    identity = recorded.config["identity"]
    settings = {"dataset": identity["dataset_settings"]}
    plan = Plan("retell", identity["dataset"], model, settings, data=data)
    dataset = open_dataset(plan)
    if dataset.family != "indoor":
        raise UsageError(f"{run} is a run in {dataset.family} worlds; retelling is for indoor ones")
    asyncio.run(_retell_all(recorded, dataset, plan, limit, on_each))


async def _retell_all(
    run: RecordedRun, dataset: Dataset, plan: Plan, limit: int, on_each: Callable[[Retold], None]
) -> None:
    tasks = {task.episode.id: task for task in dataset.tasks}
    model = open_models(plan, {"main": (plan.model, {})})["main"]
    try:
        for record in islice(run.records(), limit):
            on_each(await _retell(tasks[record.episode_id], record.trajectory, dataset, model))
    finally:
        await model.aclose()


async def _retell(task: Task, trajectory: Trajectory, dataset: Dataset, model: Model) -> Retold:
    perceiver, scene = dataset.perceiver(), task.episode.scene
    if perceiver is None:
        raise UsageError("this dataset does not say what its viewpoints look like")
    graph = dataset.graph(scene)  # type: ignore[attr-defined]  # indoor datasets have graphs
    told = instruction(trajectory, perceiver, scene, model)
    written, drawn = await both(told, drawing(trajectory, graph, model))
    return Retold(task.episode.id, task.episode.instruction, written, drawn)
