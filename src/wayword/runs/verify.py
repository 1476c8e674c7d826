"""Play every recorded action again, and compute every score anew: ``wayword verify RUN``.

A figure that was changed, by a damaged disk or by hand, is found even where its record is whole:
the world answers the recorded actions, and the metrics follow from that. What only a model knows
(its answers, their tokens and cost) is taken as recorded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from wayword.agents.person import answered
from wayword.core.dataset import Dataset, Task, of_ids
from wayword.core.errors import WaywordError
from wayword.core.game import Game
from wayword.core.trajectory import Trajectory
from wayword.metrics.scoring import score
from wayword.runs.codec import plain
from wayword.runs.export import dataset_of
from wayword.runs.record import EpisodeRecord, RecordedRun
from wayword.runs.replaying import recorded_answers


def verify(run: RecordedRun, data: Path | None = None) -> Iterator[tuple[str, str]]:
    """Each finished episode's id, and the first difference from its replay; empty where there is
    none.

    Raises ``RecordingError`` for a damaged record, ``UsageError`` where the data are not the run's.
    """
    dataset = dataset_of(run, data)
    tasks = of_ids(dataset.tasks, set(run.index.ids()))
    for record in run.records():
        task = tasks.get(record.episode_id)
        if task is None:
            yield record.episode_id, "is not in the dataset"
            continue
        try:
            yield record.episode_id, _differs(dataset, task, record)
        except WaywordError as error:
            yield record.episode_id, f"cannot be played again: {error}"


def _differs(dataset: Dataset, task: Task, record: EpisodeRecord) -> str:
    if record.trajectory.episode_id != record.episode_id:
        return f"holds the trajectory of episode {record.trajectory.episode_id!r}"
    trials = record.trajectory.trials()
    for number, trial in enumerate(trials, 1):
        if found := _replayed(dataset, task, trial):
            return found if len(trials) == 1 else f"trial {number}: {found}"
    (scores,) = score(dataset, [(task, record.trajectory)])
    return _first(scores, record.scores, "score")


def _replayed(dataset: Dataset, task: Task, recorded: Trajectory) -> str:
    """The first difference between a trajectory and what its actions lead to."""
    world = answered(dataset.world(task.episode), recorded_answers(recorded))
    if unknown := {step.actor for step in recorded.steps} - set(world.actors):
        return f"there is no actor {min(unknown)!r}"
    game = Game(world, task.episode)
    if found := _first(game.trajectory.start, recorded.start, "start of"):
        return found
    for number, step in enumerate(recorded.steps, 1):
        now = game.act(step.actor, step.decision)
        for part in ("observation", "decision", "feedback", "pose"):
            if plain(getattr(now, part)) != plain(getattr(step, part)):
                return f"step {number}: the {part} is another"
    ended = "stopped" if all(map(world.done, world.actors)) else "step_limit"
    if ended != recorded.ended:
        return f"ends as {ended}, and is recorded as {recorded.ended}"
    return _first(world.state(), recorded.state, "final state of")


def _first(now: Mapping[str, Any], recorded: Mapping[str, Any], what: str) -> str:
    """The first entry that differs."""
    ours, theirs = plain(now), plain(recorded)
    for key in (*ours, *(key for key in theirs if key not in ours)):
        if ours.get(key) != theirs.get(key):
            return f"{what} {key!r} is {_short(ours.get(key))}, recorded {_short(theirs.get(key))}"
    return ""


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
