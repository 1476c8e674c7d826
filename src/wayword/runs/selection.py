"""The episodes of a plan, by their numbers, and the order to play them.

An episode is generated only when it is played, so that a plan of few episodes of many starts at
once.
"""

from __future__ import annotations

import random
import sys
import time
from collections import Counter
from collections.abc import Container, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path
from statistics import fmean

from wayword.core.dataset import Dataset, DrawnTasks, Task, of_ids, task_id
from wayword.core.errors import RecordingError, UsageError, suggest
from wayword.core.metric import is_solved
from wayword.runs.config import CALLS, read_config
from wayword.runs.index import EPISODES
from wayword.runs.plan import Plan
from wayword.runs.record import RecordedRun, is_run


def choose(
    plan: Plan,
    tasks: Sequence[Task],
    finished: Container[str] = frozenset(),
) -> Sequence[int]:
    """Numbers of the plan's episodes, in the order to play them: the plan's ``order``, then its
    shard, then the first ``limit``; or those that the plan names. Raises ``UsageError``."""
    # Named episodes need no order and no limit.
    if plan.episodes:
        return _named(plan, tasks)
    # Numbers only: reading an episode may generate it.
    order: Sequence[int] = range(len(tasks))
    if plan.order is not None:
        order = list(order)
        random.Random(plan.order).shuffle(order)
    # Every n-th episode, so that each shard is a sample of the whole.
    shard, shards = plan.shard_of()
    chosen = order[shard::shards][: plan.limit]
    if plan.episode:
        return [_single(plan, tasks, chosen, finished)]
    return chosen


def _named(plan: Plan, tasks: Sequence[Task]) -> list[int]:
    """The numbers of the ids in ``plan.episodes``."""
    requested = set(plan.episodes)
    numbers = dict[str, int]()
    for number in range(len(tasks)):  # reading an id may generate the episode
        # All are found, and the rest need not be generated.
        if len(numbers) == len(requested):
            break
        if (name := task_id(tasks, number)) in requested:
            numbers[name] = number
    for name in plan.episodes:
        if name not in numbers:
            # Reading an id may generate the episode, so not all are compared.
            ids = [task_id(tasks, n) for n in range(min(len(tasks), _MAX_SUGGESTED))]
            raise UsageError(f"{plan.on} has no episode {name!r}; {suggest(name, ids)}")
    return [numbers[name] for name in dict.fromkeys(plan.episodes)]


# Ids that are compared with a misspelled one: reading them may generate the episodes.
_MAX_SUGGESTED = 2000

# Ids that a message can still list; of more, it names the number.
_MAX_LISTED = 40


def _single(
    plan: Plan,
    tasks: Sequence[Task],
    chosen: Sequence[int],
    finished: Container[str],
) -> int:
    """Return the number of the task of ``plan.episode``, among the ``chosen`` ones.

    An episode is given by its id, by its number from 1 in the chosen order, or as ``next`` for the
    first one that is not ``finished``. Raises ``UsageError`` if there is none.
    """
    name = plan.episode
    # Of the chosen ones only: a number counts in the order that the person sees.
    ids = [task_id(tasks, number) for number in chosen]
    if name == "next":
        # The first one that has no result.
        for number, episode in zip(chosen, ids, strict=True):
            if episode not in finished:
                return number
        raise UsageError(
            f"all {len(ids)} episodes are finished; give another folder with --out to play them "
            "again"
        )
    # An id, else a number from 1.
    if name in ids:
        return chosen[ids.index(name)]
    if name.isdecimal() and 1 <= int(name) <= len(ids):
        return chosen[int(name) - 1]
    # Few ids can be compared with the given one.
    remedy = f"give a number from 1 to {len(ids)}"
    if len(ids) <= _MAX_LISTED:
        remedy = suggest(name, ids)
    raise UsageError(f"{plan.on} has no episode {name!r}; {remedy}")


def in_recorded_order(plan: Plan, path: Path) -> Plan:
    """The plan in the order of the run in a folder, which it resumes, unless it states another. So
    a sample can be extended to the full split, and a run of an older version resumes."""
    if plan.states_order or plan.episodes or not is_run(path):
        return plan
    # A call that was paid is a result too.
    logs = (path / EPISODES, path / CALLS)
    if not any(log.is_file() and log.stat().st_size for log in logs):
        return plan  # a run without results is replaced
    with suppress(RecordingError):  # opening the folder reports it
        shuffle = read_config(path)["identity"].get("shuffle")
        return replace(plan, shuffle=shuffle, first=shuffle is None)
    return plan


# The value of ``Plan.episode`` that selects an episode by ``at_level``.
LEVEL = "level"

# Unfinished episodes that are compared, and for how many seconds: the person waits.
_CANDIDATES = 16
_SECONDS = 2.0


def at_level(dataset: Dataset, folder: RecordedRun, success: str) -> str:
    """Return the id of a person's next episode: at first one of half the mean length, a longer one
    after each success, more so after a fast one, a shorter one after a failure; by the expert's
    actions, else by the instruction."""
    tasks = dataset.tasks
    end = time.monotonic() + _SECONDS

    def length(task: Task) -> int:
        """Sort key: length of the expert's solution, else of the instruction."""
        with suppress(UsageError):  # the answers of some test splits are not public
            if dataset.solutions:
                return dataset.expert_length(task) or sys.maxsize
        return len(task.episode.instruction.split())

    # Ids only, as the tasks may have to be generated.
    left = (n for n in range(len(tasks)) if task_id(tasks, n) not in folder.index)
    lengths = {}
    for number in islice(left, _CANDIDATES):
        # Each length may need a plan of the expert.
        if time.monotonic() < end:
            lengths[task_id(tasks, number)] = length(tasks[number])
    # Unsolvable episodes have no length and do not count.
    solvable = [n for n in lengths.values() if n < sys.maxsize] or [0]
    target = 0.5 * fmean(solvable)

    # The last episode sets the level. It was fast if the person took few actions more than the
    # expert: then the next one is a quarter longer, else by one action.
    for name, scores in folder.scores()[-1:]:
        reached = length(of_ids(tasks, {name})[name])
        more = 1.0
        if dataset.solutions:
            actions = scores.get("low_level") or scores["steps"]
            if reached >= 0.8 * actions:
                more = max(2, 0.25 * reached)
        if is_solved(scores.get(success)):
            target = max(target, reached + more)
        else:
            target = 0.75 * reached
    return min(
        lengths,
        key=lambda name: (lengths[name] < target, abs(lengths[name] - target)),
        default="next",
    )


def unfinished(
    tasks: Sequence[Task],
    chosen: Sequence[int],
    finished: Container[str],
) -> list[int]:
    """The chosen episodes that are not finished, in the order to play them.

    If not all scenes stay in memory, the episodes of a scene are played consecutively. Raises
    ``UsageError`` for two with one id: the second could not be recorded.
    """
    ids = [task_id(tasks, number) for number in chosen]
    if len(set(ids)) < len(ids):
        [(name, count)] = Counter(ids).most_common(1)
        problem = f"{count} episodes have the id {name!r}; each needs one of its own"
        raise UsageError(problem)
    numbered = zip(chosen, ids, strict=True)
    left = [number for number, name in numbered if name not in finished]
    if isinstance(tasks, DrawnTasks) and tasks.scenes is not None:
        # Each scene is loaded once, however many episodes are in it.
        scenes = {number: tasks.scenes(number) for number in left}
        order = {scene: n for n, scene in enumerate(dict.fromkeys(scenes.values()))}
        left.sort(key=lambda number: order[scenes[number]])  # stable within a scene
    return left
