"""Iterative navigation: agents that keep what they learned from one episode to the next.

A tour is the episodes of a scene in the order in which they are finished, each path once. Tours
run concurrently, the episodes of one in sequence; each new agent receives the agent of the last
finished episode. A failed episode leaves no memory. A resumed run rebuilds memory from the record:
new agents replay the finished episodes with the recorded answers, without a model call.

Source: Krantz et al. 2023, "Iterative Vision-and-Language Navigation". Unlike in the paper, agents
start each episode at its start and do not watch an oracle walk between episodes.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path

import numpy as np

from wayword.core.agent import Agent, Toolkit
from wayword.core.dataset import Dataset, of_ids
from wayword.core.errors import UsageError
from wayword.core.recording import Continued
from wayword.core.rollout import Outcome, Setup, first_error, rollout
from wayword.core.rollout import run as run_episodes
from wayword.metrics import accounting
from wayword.metrics import compare as comparing
from wayword.metrics.intervals import rate_interval
from wayword.metrics.table import label, number
from wayword.metrics.tours import (
    TOUR_NDTW,
    Tour,
    compare_gains,
    halves_of,
    tour_means,
    tour_ndtw,
    tours_of,
)
from wayword.runs.active import ActiveRun
from wayword.runs.config import metrics_of, success_of
from wayword.runs.differences import differing_fields
from wayword.runs.opening import Trusted, dataset_of
from wayword.runs.record import RecordedRun, RunFolder
from wayword.runs.reports import Report


async def play(active: ActiveRun, todo: Iterable[int], setup: Setup) -> Outcome:
    """Play episodes by tours, as many tours at a time as the plan's ``concurrency``.

    ``todo`` are numbers of the dataset's tasks. Within a tour, finished episodes are replayed from
    the record first, and then the others are played in the order of ``todo``. The total counts
    played episodes only; once the budget is exhausted or a model unusable, no episode is begun.
    Raises ``UsageError`` if a finished episode cannot be replayed.
    """
    tasks = active.dataset.tasks
    tour_of = tours_of(tasks)
    unfinished = defaultdict[Tour, list[int]](list)
    for task_number in todo:
        unfinished[tour_of[tasks[task_number].episode.id]].append(task_number)
    finished = _in_tours(active.folder, tour_of)
    slots = asyncio.Semaphore(active.plan.concurrency)
    total = Outcome()

    async def play_tour(tour: Tour) -> None:
        """Play the episodes of a tour in order."""
        # By actor: the agents of the running episode, and those of the last finished one. Only
        # after an episode has finished do its agents become the last ones: a failed episode leaves
        # no memory.
        current = dict[str, Agent]()
        last = dict[str, Agent]()

        def make(toolkit: Toolkit, actor: str) -> Agent:
            """Return an agent that remembers the last episode."""
            agent = current[actor] = setup.make_agent(toolkit, actor)
            if actor in last:
                agent.remember(last[actor])
            return agent

        async with slots:
            tour_setup = replace(setup, make_agent=make)
            for name in finished.get(tour, ()):
                # Take new agents through a finished episode, with the recorded answers. It is not
                # reported again.
                task = of_ids(tasks, {name})[name]
                steps = active.folder.record(name).trajectory.steps
                recorded = {name: Continued(steps, task.episode.actors)}
                replayed = await rollout(
                    task,
                    replace(tour_setup, continued=recorded, on_step=None),
                )
                if replayed.ended == "failed":
                    problem = f"episode {name} cannot be replayed: {replayed.error}"
                    raise UsageError(f"--remember: {problem}")
                last.update(current)
            for task_number in unfinished[tour]:
                # Another tour may have spent the budget.
                if total.exhausted or total.unusable:
                    return
                task = tasks[task_number]
                outcome = await run_episodes([task], tour_setup, active.ended, 1)
                if outcome.finished:  # a failed episode leaves no memory
                    last.update(current)
                total.finished += outcome.finished
                total.failed += outcome.failed
                total.exhausted = total.exhausted or outcome.exhausted
                total.unusable = total.unusable or outcome.unusable

    try:
        async with asyncio.TaskGroup() as group:
            for tour in unfinished:
                group.create_task(play_tour(tour))
    except BaseExceptionGroup as errors:
        raise first_error(errors) from None
    return total


def _in_tours(run: RecordedRun, tour_of: Mapping[str, Tour]) -> dict[Tour, list[str]]:
    """The ids of the finished episodes of each tour, in the order in which they were finished.
    Raises ``UsageError`` for an episode that the dataset does not have."""
    tours = defaultdict[Tour, list[str]](list)
    for name in run.index.ids():
        if name not in tour_of:
            raise UsageError(f"{run.path}: episode {name!r} is not in the dataset")
        tours[tour_of[name]].append(name)
    return tours


# The report: ``wayword tours RUN [OTHER]``.


def report(
    path: Path,
    other: Path | None = None,
    keys: Sequence[str] = (),
    form: str = "rich",
    data: Path | None = None,
    trusted: Trusted = (),
) -> Report:
    """Compare the second half of a run's tours with the first and, given a run that forgets, both
    runs in each half, and the gains of both from half to half. Raises ``UsageError`` if no scene
    has two finished episodes, or if both runs are the same."""
    if path == other:
        raise UsageError(
            f"{path}: a run cannot be compared with itself; name one without --remember"
        )
    runs = {str(each): RunFolder.read(each) for each in (path, other) if each}
    run = runs[str(path)]
    dataset = dataset_of(runs[str(path)], data, trusted)
    tour_of = tours_of(dataset.tasks)
    scenes = {name: scene for name, (scene, _) in tour_of.items()}
    # Tours are compared as items of their own, and their scene is their cluster.
    scenes |= {str(tour): tour[0] for tour in tour_of.values()}
    tours = {tour: ids for tour, ids in _in_tours(run, tour_of).items() if len(ids) > 1}
    if not tours:
        raise UsageError(
            f"{path}: no scene has two finished episodes; play more (--limit)"
        )
    metrics = (*metrics_of(run.config), *accounting.METRICS)
    compare = partial(
        comparing.compare,
        family=run.config["family"],
        metrics=metrics,
        clusters=scenes,
        unit="scene",
    )
    chosen = keys or (success_of(run.config), "spl", "ndtw")
    scored: dict[str, dict[str, dict[str, float]]] = {}
    for name, each in runs.items():
        scored[name] = {}
        for episode, row in each.scores():
            scored[name][episode] = {key: row[key] for key in chosen if key in row}
    halves = dict(zip(("first half", "second half"), halves_of(tours), strict=True))
    tables = []
    for name, scores in scored.items():
        before, after = (tour_means(scores, half) for half in halves.values())
        if not before.keys() & after.keys():
            raise UsageError(
                f"{name}: no tour has finished episodes in both halves; play more (--limit)"
            )
        first, second = (f"{name}, {half}" for half in halves)
        tables.append(compare(first, before, second, after, items="tours"))
    notices = [f"{len(tours)} tours with {sum(map(len, tours.values()))} episodes"]
    if run.config["identity"].get("shuffle") is None:
        notices.append(
            "the episodes are in the order of the split, so later ones may be easier: only the "
            "gain over a run that forgets is learning"
        )
    if other is None:
        notices.append(
            "this is no test of memory: compare with the same run without --remember, which gives "
            "the gain over forgetting"
        )
    else:
        configs = (each.config for each in runs.values())
        # A difference of players or episodes is no effect of memory.
        if differ := [key for key in differing_fields(*configs) if key != "remember"]:
            notices.append(f"the runs also differ in: {', '.join(differ)}")
        remembering, forgetting = scored.items()
        for half, by_tour in halves.items():
            ids = list(chain.from_iterable(by_tour.values()))
            kept, forgot = (
                {name: scores[name] for name in ids if name in scores}
                for scores in scored.values()
            )
            tables.append(compare(f"{other}, {half}", forgot, f"{path}, {half}", kept))
        family = run.config["family"]
        tables.append(compare_gains(forgetting, remembering, tours, family, metrics))
    # Streets have graphs too, and no published tours.
    if dataset.family.name == "indoor":
        notices += [
            f"{name}: {_tour_ndtw(dataset, each, tours)}" for name, each in runs.items()
        ]
    return Report(comparing.render(tables, form), tuple(notices))


def _tour_ndtw(
    dataset: Dataset,
    run: RecordedRun,
    tours: Mapping[Tour, Sequence[str]],
) -> str:
    """t-nDTW with its interval over scenes; a tour counts by its number of episodes."""
    tasks = of_ids(dataset.tasks, run.index.ids())
    values = list[float]()
    scenes = list[str]()
    for (scene, _), ids in tours.items():
        pairs = [
            (tasks[name], run.record(name).trajectory) for name in ids if name in tasks
        ]
        values += [tour_ndtw(dataset, pairs)] * len(pairs)
        scenes += [scene] * len(pairs)
    interval = rate_interval(np.array(values), scenes)
    ends = f"{number(TOUR_NDTW, interval.low)}, {number(TOUR_NDTW, interval.high)}"
    mean = number(TOUR_NDTW, interval.mean)
    return f"{label(TOUR_NDTW)} {mean} [{ends}], with scenes as units"
