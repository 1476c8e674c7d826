"""Predictions of another system as a run folder, for ``table``, ``compare``, ``plot`` and ``view``.

A step has the place that was predicted and nothing else: no observation, no call of a model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from wayword.core.agent import Agent
from wayword.core.dataset import Dataset
from wayword.metrics.predictions import Predictions
from wayword.runs.active import config_of
from wayword.runs.cast import AgentParts
from wayword.runs.config import Checksums
from wayword.runs.plan import Plan
from wayword.runs.record import EpisodeRecord, RunFolder

CAVEAT = "predictions of another system, which are not replayed"


@dataclass(frozen=True)
class _PredictionSettings:
    """The SHA-256 of the predictions: other predictions are another run."""

    predictions: str


class _OtherSystem(Agent):
    """The system that made the predictions, in place of an agent's class."""

    Settings = _PredictionSettings


def name_of(file: Path) -> str:
    """Return the name of predictions without the endings of their file: ``walks`` for
    ``walks.jsonl.gz``."""
    return Path(file.name.removesuffix(".gz")).stem


def write_run(
    out: Path,
    name: str,
    file: Path,
    plan: Plan,
    dataset: Dataset,
    predicted: Predictions,
    scores: Sequence[Mapping[str, float]],
    label: str = "",
) -> None:
    """Write a run folder of predictions; ``name`` is its agent's, ``scores`` are parallel to them.

    ``label`` is the run's name in tables and figures, in place of its folder's.

    Raises ``RecordingError`` if the folder contains another run or other files.
    """
    settings = _PredictionSettings(Checksums().of(file))
    system = AgentParts(_OtherSystem, settings)  # type: ignore[type-abstract]
    config = dict(config_of(plan, dataset, system, {}))
    # Set afterwards: the name of an agent may be a path, whose file would be read.
    config["identity"] = {**config["identity"], "agent": name}
    config["caveats"] = [*config["caveats"], CAVEAT]
    if label:
        config["label"] = label
    with RunFolder.open(out, config) as folder:
        for (task, trajectory), each in zip(predicted.pairs, scores, strict=True):
            if task.episode.id not in folder:
                folder.append(EpisodeRecord(task.episode.id, each, trajectory))
