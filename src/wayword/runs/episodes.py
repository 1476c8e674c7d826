"""Which episodes a plan plays, chosen by their numbers first and made only when they are played;
what comes back of one that has ended; and what all of them share."""

from __future__ import annotations

import random
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from wayword.core.dataset import Dataset, DrawnTasks, Task, task_id
from wayword.core.errors import UsageError, suggest
from wayword.core.model import Model
from wayword.core.rollout import Setup
from wayword.core.trajectory import Step, Trajectory
from wayword.metrics.scoring import judge, score
from wayword.runs.parts import AgentParts
from wayword.runs.plan import Plan
from wayword.runs.record import EpisodeRecord, FailedEpisode, Line
from wayword.runs.showing import demonstrations


def choose(
    plan: Plan, tasks: Sequence[Task], finished: Container[str] = frozenset()
) -> Sequence[int]:
    """Numbers of the plan's episodes: shuffled by its seed if asked, its shard, the first
    ``limit``; or those it names, in its order.

    Raises ``UsageError`` where there is none of a name.
    """
    if plan.episodes:
        return _all_named(plan, tasks)
    order: Sequence[int] = range(len(tasks))
    if plan.shuffle is not None:
        order = list(order)
        random.Random(plan.shuffle).shuffle(order)
    part, parts = plan.shard_of()
    chosen = order[part::parts][: plan.limit]
    return [_named(plan, tasks, chosen, finished)] if plan.episode else chosen


def unfinished(tasks: Sequence[Task], chosen: Sequence[int], finished: Container[str]) -> list[int]:
    """The chosen episodes that are not finished, in the order to play them: where not all scenes
    stay in memory, the episodes of one follow each other."""
    left = [number for number in chosen if task_id(tasks, number) not in finished]
    if isinstance(tasks, DrawnTasks) and tasks.scenes is not None:
        place: dict[str, int] = {}
        scenes = {number: tasks.scenes(number) for number in left}
        for scene in scenes.values():
            place.setdefault(scene, len(place))
        left.sort(key=lambda number: place[scenes[number]])  # stable: the first scenes first
    return left


def made(tasks: Sequence[Task], numbers: Sequence[int]) -> Iterator[Task]:
    """The tasks of these numbers, each made when its turn has come."""
    return (tasks[number] for number in numbers)


def _instead(name: str, tasks: Sequence[Task]) -> str:
    """The id that may be meant, or the first ones."""
    ids = [task_id(tasks, number) for number in range(len(tasks))[:2000]]
    if near := get_close_matches(name, ids, 1, 0.8):
        return f"did you mean {near[0]!r}?"
    more = f" … {len(tasks):,} in all" if len(tasks) > len(ids[:6]) else ""
    return f"there are: {', '.join(ids[:6])}{more}"


def _all_named(plan: Plan, tasks: Sequence[Task]) -> list[int]:
    wanted, found = set(plan.episodes), dict[str, int]()
    for number in range(len(tasks)):
        if len(found) == len(wanted):
            break
        if (name := task_id(tasks, number)) in wanted:
            found[name] = number
    for name in plan.episodes:
        if name not in found:
            raise UsageError(f"{plan.on} has no episode {name!r}; {_instead(name, tasks)}")
    return [found[name] for name in dict.fromkeys(plan.episodes)]


def _named(
    plan: Plan, tasks: Sequence[Task], chosen: Sequence[int], finished: Container[str]
) -> int:
    """The one episode: by its id, else by its number from 1, else the next that is not finished."""
    name, ids = plan.episode, [task_id(tasks, number) for number in chosen]
    if name == "next":
        left = (number for number, own in zip(chosen, ids, strict=True) if own not in finished)
        if (number := next(left, None)) is None:
            raise UsageError(f"all {len(ids)} episodes are finished; give another folder (--out)")
        return number
    if name in ids:
        return chosen[ids.index(name)]
    if name.isdecimal() and 1 <= int(name) <= len(ids):
        return chosen[int(name) - 1]
    remedy = suggest(name, ids) if len(ids) <= 40 else f"give a number from 1 to {len(ids)}"
    raise UsageError(f"{plan.on} has no episode {name!r}; {remedy}")


@dataclass(frozen=True, slots=True)
class Played:
    """An episode that has ended, as the process that played it hands it to the one that writes.

    ``line`` is what is written of it, ``error`` says why it failed, ``notes`` are the kinds of its
    notes, and ``steps`` how many it took.
    """

    episode: str
    line: Line
    error: str = ""
    notes: frozenset[str] = frozenset()
    steps: int = 0

    @staticmethod
    def of(dataset: Dataset, task: Task, trajectory: Trajectory) -> Played:
        """The episode, scored. Raises ``RecordingError`` for what cannot be written."""
        name, failed = task.episode.id, trajectory.ended == "failed"
        record: EpisodeRecord | FailedEpisode
        if failed:
            record = FailedEpisode(name, trajectory.error, trajectory)
        else:
            (scores,) = score(dataset, [(task, trajectory)])
            record = EpisodeRecord(name, scores, trajectory)
        notes = frozenset(note.kind for note in trajectory.notes())
        line = Line.of(record)
        return Played(name, line, trajectory.error if failed else "", notes, len(trajectory.steps))


# What all episodes of a run share, in whichever process they are played.


def setup_of(
    plan: Plan,
    dataset: Dataset,
    agent: AgentParts,
    models: Mapping[str, Model],
    on_step: Callable[[str, Step], None],
) -> Setup:
    """What a plan's episodes share, in whichever process they are played."""
    return Setup(
        dataset,
        agent.maker(),
        models,
        plan.seed,
        plan.max_steps or dataset.max_steps,
        on_step=on_step,
        demonstrations=demonstrations(dataset),
        **_trials(agent, dataset),
    )


def _trials(agent: AgentParts, dataset: Dataset) -> Mapping[str, Any]:
    """``trials`` and ``judge`` of a :class:`~wayword.core.rollout.Setup`, by the agents' settings.

    Of several agents the one that may try most often decides; there is a judge where one of them
    is told. Agents that do not learn try once, whatever their settings are called.
    """
    learners = [parts.settings for parts in agent.playing() if parts.cls.learns]
    most = max((settings.trials for settings in learners), default=1)
    told = any(settings.verdict == "told" for settings in learners)
    return {"trials": most, "judge": judge(dataset) if told and most > 1 else None}
