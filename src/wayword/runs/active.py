"""State of an active run: its episodes, models and agents, and the counts for progress and notices.

Shared by both engines: the one in this process (:mod:`~wayword.runs.running`) and the one on a
cluster (:mod:`~wayword.runs.ray_engine`).
"""

from __future__ import annotations

import json
import os
import random
import re
import sys
import time
from collections import Counter, deque
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from statistics import fmean
from typing import Any, Protocol, runtime_checkable

from wayword.agents.person import Person
from wayword.core import registry
from wayword.core import trajectory as notes
from wayword.core.action import Action, Decision, Rejection
from wayword.core.agent import Demonstration, Demonstrations
from wayword.core.blame import describe
from wayword.core.dataset import (
    INDEPENDENT,
    Dataset,
    DrawnTasks,
    Task,
    of_ids,
    task_id,
)
from wayword.core.errors import RecordingError, UsageError, WaywordError, suggest
from wayword.core.model import Model
from wayword.core.recording import Continued
from wayword.core.rollout import Setup, finish, rollout
from wayword.core.trajectory import ModelCall, Step, Trajectory
from wayword.metrics import scoring
from wayword.models.middleware.budget import Account
from wayword.models.middleware.rate import RateLimit
from wayword.models.parts.opening import Options, open_model, wrap
from wayword.runs import plan as plans
from wayword.runs import remote
from wayword.runs.codec import plain
from wayword.runs.config import CALLS, Checksums, read_config
from wayword.runs.index import EPISODES
from wayword.runs.record import (
    EpisodeRecord,
    FailedEpisode,
    Line,
    RecordedRun,
    RunFolder,
    is_run,
)

CHOSEN = "chosen one by one"
"""Caveat of a run whose episodes were named. It says nothing about the other episodes."""

# Selection of episodes by number. An episode is generated only when it is played.


def choose(
    plan: plans.Plan, tasks: Sequence[Task], finished: Container[str] = frozenset()
) -> Sequence[int]:
    """Numbers of the plan's episodes, in the order to play them: the plan's ``order``, then its
    shard, then the first ``limit``; or those that the plan names. Raises ``UsageError``."""
    order: Sequence[int] = range(len(tasks))
    if plan.episodes:
        requested = set(plan.episodes)
        numbers = dict[str, int]()
        for number in order:  # reading an id may generate the episode
            if len(numbers) == len(requested):
                break
            if (name := task_id(tasks, number)) in requested:
                numbers[name] = number
        for name in plan.episodes:
            if name not in numbers:
                hint = suggest(
                    name, [task_id(tasks, number) for number in order[:2000]]
                )
                raise UsageError(f"{plan.on} has no episode {name!r}; {hint}")
        return [numbers[name] for name in dict.fromkeys(plan.episodes)]
    if plan.order is not None:
        order = list(order)
        random.Random(plan.order).shuffle(order)
    shard, shards = plan.shard_of()
    chosen = order[shard::shards][: plan.limit]
    if not plan.episode:
        return chosen
    name = plan.episode
    ids = [task_id(tasks, number) for number in chosen]
    if name == "next":
        if left := [
            n for n, episode in zip(chosen, ids, strict=True) if episode not in finished
        ]:
            return left[:1]
        raise UsageError(
            f"all {len(ids)} episodes are finished; give another folder with --out to play them "
            "again"
        )
    if name in ids:
        return [chosen[ids.index(name)]]
    if name.isdecimal() and 1 <= int(name) <= len(ids):
        return [chosen[int(name) - 1]]
    if len(ids) <= 40:
        remedy = suggest(name, ids)
    else:
        remedy = f"give a number from 1 to {len(ids)}"
    raise UsageError(f"{plan.on} has no episode {name!r}; {remedy}")


def in_recorded_order(plan: plans.Plan, path: Path) -> plans.Plan:
    """The plan in the order of the run in a folder, which it resumes, unless it states another. So
    a sample can be extended to the full split, and a run of an older version resumes."""
    if plan.states_order or plan.episodes or not is_run(path):
        return plan
    logs = (path / EPISODES, path / CALLS)
    if not any(log.is_file() and log.stat().st_size for log in logs):
        return plan  # a run without results is replaced
    with suppress(RecordingError):  # opening the folder reports it
        shuffle = read_config(path)["identity"].get("shuffle")
        return replace(plan, shuffle=shuffle, first=shuffle is None)
    return plan


LEVEL = "level"  # the value of ``Plan.episode`` that selects an episode by ``at_level``
# Unfinished episodes that are compared, and for how long
_CANDIDATES, _SECONDS = (
    16,
    2.0,
)


def at_level(dataset: Dataset, folder: RecordedRun, success: str) -> str:
    """Return the id of a person's next episode: at first one of half the mean length, a longer one
    after each success, more so after a fast one, a shorter one after a failure; by the expert's
    actions, else by the instruction."""
    tasks = dataset.tasks
    end = time.monotonic() + _SECONDS

    def length(task: Task) -> int:
        with suppress(UsageError):  # the answers of some test splits are not public
            if dataset.solutions:
                return dataset.expert_length(task) or sys.maxsize
        return len(task.episode.instruction.split())

    left = (n for n in range(len(tasks)) if task_id(tasks, n) not in folder.index)
    lengths = {
        task_id(tasks, n): length(tasks[n])
        for n in islice(left, _CANDIDATES) if time.monotonic() < end
    }  # fmt: skip
    wanted = 0.5 * fmean([n for n in lengths.values() if n < sys.maxsize] or [0])
    for name, scores in folder.scores()[-1:]:
        reached = length(of_ids(tasks, {name})[name])
        solved = scores.get(success, 0.0) > 0.5
        fast = dataset.solutions and reached >= 0.8 * (
            scores.get("low_level") or scores["steps"]
        )
        more = max(2, 0.25 * reached) if fast else 1
        wanted = max(wanted, reached + more) if solved else 0.75 * reached
    return min(
        lengths,
        key=lambda n: (lengths[n] < wanted, abs(lengths[n] - wanted)),
        default="next",
    )


def unfinished(
    tasks: Sequence[Task], chosen: Sequence[int], finished: Container[str]
) -> list[int]:
    """The chosen episodes that are not finished, in the order to play them.

    If not all scenes stay in memory, the episodes of a scene are played consecutively.
    """
    left = [number for number in chosen if task_id(tasks, number) not in finished]
    if isinstance(tasks, DrawnTasks) and tasks.scenes is not None:
        scenes = {number: tasks.scenes(number) for number in left}
        order = {
            scene: place for place, scene in enumerate(dict.fromkeys(scenes.values()))
        }
        left.sort(key=lambda number: order[scenes[number]])  # stable within a scene
    return left


# Setup of the parts, in whichever process plays the episodes.


def open_models(
    plan: plans.Plan,
    choices: plans.Choices,
    account: Account | None = None,
    limiter: Callable[[str], RateLimit] | None = None,
) -> dict[str, Model]:
    """Open the models by role, with the run's wrappers. Roles with the same model share it.
    ``account`` tracks spending and enforces the budget; ``limiter`` creates a rate limiter that
    several processes share. Raises ``UsageError`` for an unknown model or setting."""

    def recorded(folder: str) -> Iterable[ModelCall]:  # for ``replay:RUN``
        for record in RunFolder.read(folder).records():
            yield from record.trajectory.calls()

    options = Options(plan.cache, plan.retries, plan.rpm or 0, prices=plan.prices)
    keys = {
        role: f"{name} {sorted(given.items())!r}"
        for role, (name, given) in choices.items()
    }
    unique = {key: choices[role] for role, key in keys.items()}
    # Wrapping opens a cache file, so open all models first: a wrong name must not leave one open.
    bare = {
        key: open_model(name, given, recorded) for key, (name, given) in unique.items()
    }
    opened = {
        key: wrap(model, options, account, limiter(key) if limiter else None)
        for key, model in bare.items()
    }
    return {role: opened[key] for role, key in keys.items()}


def model_notices(models: Mapping[str, Model]) -> list[str]:
    """Notices about how requests were adapted to servers, and warnings of models."""
    refused = dict.fromkeys(line for model in models.values() for line in model.lessons)
    warnings = dict.fromkeys(
        line for model in models.values() for line in model.warnings
    )
    notice = "requests were adapted to the server: "
    return [*(notice + line for line in refused), *warnings]


def setup_of(
    plan: plans.Plan,
    dataset: Dataset,
    agent: plans.AgentParts,
    models: Mapping[str, Model],
    on_step: Callable[[str, Step], None],
) -> Setup:
    """The setup shared by all episodes of a plan: with as many trials as its learning agents ask
    for, and a judge if one of them is shown its verdict."""
    learners = [parts.settings for parts in agent.playing() if parts.cls.learns]
    trials = max((settings.trials for settings in learners), default=1)
    judged = trials > 1 and any(settings.verdict == "judge" for settings in learners)
    return Setup(
        dataset,
        agent.make,
        models,
        plan.seed,
        plan.max_steps or dataset.max_steps,
        on_step=on_step,
        demonstrations=demonstrations(dataset),
        trials=trials,
        judge=scoring.judge(dataset) if judged else None,
    )


_MOST_REJECTED = 0.9
"""Share of rejected answers from which on a run names the commonest reason."""


def line_of(dataset: Dataset, task: Task, trajectory: Trajectory) -> Line:
    """Score and encode a played episode. An error of the scorer fails only this episode. Raises
    ``RecordingError`` if it cannot be recorded."""
    name = task.episode.id
    if trajectory.ended != "failed":
        try:
            (scores,) = scoring.score(dataset, [(task, trajectory)])
        except Exception as error:  # noqa: BLE001 - one task's bug must not end a run
            known = isinstance(error, WaywordError)
            trajectory.error = f"scoring: {error if known else describe(error)}"
            trajectory.ended = "failed"
    if trajectory.ended == "failed":
        return Line.of(FailedEpisode(name, trajectory.error, trajectory))
    return Line.of(EpisodeRecord(name, scores, trajectory))


def config_of(
    plan: plans.Plan,
    dataset: Dataset,
    agent: plans.AgentParts,
    models: Mapping[str, Model],
) -> dict[str, Any]:
    """Content of ``run.json``: the run's identity, and information for readers."""
    checksums = Checksums()
    perceiver = dataset.perceiver()
    chosen = [CHOSEN] if plan.episode or plan.episodes else []
    return {
        "identity": plans.identity(
            plan, dataset, agent, models, checksums.combined(dataset.files)
        ),
        "servers": plans.local_servers(models),
        "sees_answer": any(parts.cls.sees_answer for parts in agent.playing()),
        "family": dataset.family.name,
        "success": dataset.family.success,
        "metrics": [
            asdict(metric) for metric in scoring.scorer(dataset.family).metrics
        ],
        "split": plans.shown_split(plan, dataset),
        "episodes_in_split": len(dataset.tasks),
        "left_out": plans.omitted(dataset),
        "caveats": [*plans.caveats(dataset, agent), *chosen],
        "clusters": asdict(dataset.clusters or INDEPENDENT),
        "perception": perceiver.name if perceiver else "",
        "checksums": checksums.each(dataset.files),
        "versions": dict(plans.versions()),
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
    }


# Progress of an active run: ``.progress.json`` in its folder, for the viewer's live page.
#
#     {"process": 4711, "done": 3, "total": 20, "over": false, "began": 1767225600.0,
#      "before": 0, "calls": 4, "tokens": 81920, "dollars": 0.12, "max_dollars": 2.0,
#      "episodes": [{"id": "5593_0", "step": 4, "of": 15, "actor": "agent", "action": "goto[…]",
#                    "ok": true, "pose": {…},
#                    "moves": [{"actor": …, "action": …, "ok": …, "pose": …}]}]}

PROGRESS = ".progress.json"
_WRITE_EVERY = 0.5  # minimum seconds between two writes
_MAX_EPISODES = 64  # in the file
_MAX_MOVES = 400  # in the file, which then has about 60 kB
_MAX_ACTION = 200  # characters
# Fields of an observation that place it
_POSE = (
    "viewpoint",
    "panorama",
    "x",
    "y",
    "heading",
)


class Moves:
    """The latest moves of the episodes in progress, ``limit`` of them in total."""

    def __init__(self, max_steps: int, limit: int = _MAX_MOVES) -> None:
        self._max_steps = max_steps
        self._limit = limit
        self._counts: Counter[str] = Counter()
        self._trails: dict[str, deque[Step]] = {}

    def stepped(self, episode: str, step: Step) -> None:
        """Add a step. Formatting is left to ``current``, as most steps are never shown."""
        self._counts[episode] += 1
        self._trails.setdefault(episode, deque(maxlen=self._limit)).append(step)

    def ended(self, episode: str) -> None:
        self._counts.pop(episode, None)
        self._trails.pop(episode, None)

    def current(self) -> list[dict[str, Any]]:
        """The first episodes in progress, each with its latest moves."""
        shown = list(islice(self._trails.items(), _MAX_EPISODES))
        share = max(1, self._limit // max(1, len(shown)))
        episodes = []
        for episode, trail in shown:
            moves = []
            for step in list(trail)[-share:]:
                action = str(getattr(step.decision, "action", ""))
                if isinstance(step.decision, Rejection):
                    action = f"rejected: {step.decision.kind}"
                move: dict[str, Any] = {
                    "actor": step.actor,
                    "action": action[:_MAX_ACTION],
                }
                seen = {key: getattr(step.observation, key, None) for key in _POSE}
                start = plain(
                    {key: each for key, each in seen.items() if each is not None}
                )
                move |= {
                    "ok": step.feedback.ok,
                    "start": start,
                    "pose": plain(step.pose),
                }
                moves.append(move)
            entry = {
                "id": episode,
                "step": self._counts[episode],
                "of": self._max_steps,
            }
            episodes.append({**entry, **moves[-1], "moves": moves})
        return episodes


class Reporter:
    """Writer of the progress file. If the folder is not writable, only the live page is lost."""

    def __init__(
        self,
        run: Path,
        total: int,
        max_steps: int,
        account: Account | None = None,
        before: int = 0,
    ) -> None:
        self._path = run / PROGRESS
        self._total = total
        self._account = account
        self._start = {"began": time.time(), "before": before}
        self._tokens = account.tokens if account else 0  # spent by earlier sessions
        self.moves = Moves(max_steps)
        self._remote: dict[str, Any] = {}
        self._last_write = 0.0

    def show(self, done: int, moves: list[dict[str, Any]], workers: list[str]) -> None:
        """Show the episodes of other processes (``machine:number``) instead of this one's."""
        self._remote = {"episodes": moves[:_MAX_EPISODES], "workers": workers}
        self.write(done)

    def write(self, done: int, over: bool = False) -> None:
        """Write the file unless the last write was just now or, with ``over``, a last time."""
        now = time.monotonic()
        if now - self._last_write < _WRITE_EVERY and not over:
            return
        self._last_write = now
        state: dict[str, Any] = {
            "process": os.getpid(),
            "done": done,
            "total": self._total,
        }
        state["over"] = over
        if (account := self._account) is not None:
            state |= {"calls": account.pending, "tokens": account.tokens - self._tokens}
            state |= {"dollars": account.dollars, "max_dollars": account.max_dollars}
        episodes: Mapping[str, Any] = {"episodes": []}
        if not over:
            episodes = self._remote or {"episodes": self.moves.current()}
        new = self._path.with_name(f"{PROGRESS}.new")
        with suppress(OSError, TypeError, ValueError):
            new.write_text(
                json.dumps({**state, **self._start, **episodes}), encoding="utf-8"
            )
            os.replace(new, self._path)


# An active run, in this process or on a cluster.

OnProgress = Callable[[int, int, Mapping[str, float]], None]
"""Called after each step and episode with the number of finished episodes, their total, and the
scores of the episode just finished. After a step these are ``{"steps_so_far": n}``, with
``retries_so_far`` if a failed request is about to be repeated.
"""


@runtime_checkable
class RunListener(Protocol):
    """An ``OnProgress`` that is also called with the run folder before episodes are played."""

    def begin(self, run: RecordedRun) -> None: ...

    def __call__(self, done: int, total: int, scores: Mapping[str, float]) -> None: ...


QUIET = {
    *(
        notes.STATE,
        notes.CLAUSES,
        notes.FOLLOWED,
        notes.VOTES,
        notes.ASKED,
        notes.GROUNDED,
    ),
    *(notes.TURN, notes.SCENE_EXPERT),
    *("blocked", "went_back", "lesson", "recorded_before"),
}
"""Notes of normal operation. All others report a problem, and are counted at the end of a run."""


@dataclass(slots=True)
class ActiveRun:
    """A run in progress: its parts, its folder, and the counts for progress and notices."""

    plan: plans.Plan
    dataset: Dataset
    agent: plans.AgentParts
    folder: RunFolder
    total: int
    on_progress: OnProgress
    person: Person | None = None
    reporter: Reporter | None = None
    continued: Mapping[str, Continued] = field(default_factory=dict)
    done: int = 0
    steps: int = 0
    noted: Counter[str] = field(default_factory=Counter)
    rejected: Counter[str] = field(default_factory=Counter)
    """Number of rejected answers by kind and reason."""
    reasons: dict[str, str] = field(default_factory=dict)
    notices: list[str] = field(default_factory=list)
    store: remote.Store | None = None

    def stepped(self, episode: str, step: Step) -> None:
        """Report a step: with a slow model, the first episode takes a while to end."""
        self.steps += 1
        if isinstance(step.decision, Rejection):
            self.rejected[f"{step.decision.kind}: {step.decision.reason}"] += 1
        if self.reporter:
            self.reporter.moves.stepped(episode, step)
            self.reporter.write(self.done)
        if self.person is not None:
            self.person.stepped(step)
        self.on_progress(self.done, self.total, {"steps_so_far": self.steps})

    def retried(self, count: int) -> None:
        """Report a repeated request, the ``count``-th of the run."""
        so_far = {"steps_so_far": self.steps, "retries_so_far": count}
        self.on_progress(self.done, self.total, so_far)

    def ended(self, task: Task, trajectory: Trajectory) -> None:
        try:
            line = line_of(self.dataset, task, trajectory)
        except RecordingError as error:
            raise RecordingError(f"{self.folder.path}: {error}") from error
        self.record(line)

    def record(self, line: Line) -> None:
        if self.reporter:
            self.reporter.moves.ended(line.episode_id)
            self.reporter.write(self.done)
        self.noted.update(line.notes)
        if self.store:
            self.store.check()
        self.folder.write(line)
        if line.scores is None:
            self.reasons[line.reason] = line.episode_id
            return
        self.done += 1
        self.on_progress(self.done, self.total, line.scores)

    def all_notices(self) -> list[str]:
        """Notices for the user: repairs, omissions, caveats, failures, counts of notes."""
        notices = list(self.folder.notices)
        if left := ", ".join(
            f"{n:,} {cause}" for cause, n in plans.omitted(self.dataset).items()
        ):
            notices.append(f"left out of the split: {left}")
        notices += [
            f"note: {caveat}" for caveat in plans.caveats(self.dataset, self.agent)
        ]
        failed = [
            f"episode {name} failed: {reason}" for reason, name in self.reasons.items()
        ]
        del failed[5:]
        rejections = self.rejected.total()
        if rejections and rejections >= _MOST_REJECTED * self.steps:
            (reason, count), *_ = self.rejected.most_common(1)
            failed.append(
                f"{rejections:,} of {self.steps:,} answers were rejected and changed nothing; "
                f"{count:,} as {reason}"
            )
        played = self.done + len(self.reasons)
        noted = [
            f"noted in {count} of {played} episodes: {kind.replace('_', ' ')}"
            for kind, count in sorted(self.noted.items())
            if kind not in QUIET
        ]
        if noted:
            noted[-1] += "; `wayword view` shows the steps and reasons"
        return [*notices, *failed, *noted, *self.notices]


# Demonstrations for tasks with several actors: training episodes played by the scripted team.
#
# One actor's actions make no sense without the others', so the team plays the full episode, and a
# demonstration shows one actor's turns. Bodies without skills are shown the single motions that
# make up the team's skills.

_ACTION = re.compile(r"(\w+)(?:\[(.*)\])?", re.DOTALL)
_IDLE = (Action("turn_left"), Action("wait"))
"""Actions of a waiting commander. No other member of the team takes them."""


def demonstrations(dataset: Dataset) -> Demonstrations:
    """A function that draws solved training episodes, for one actor or several. The team plays each
    episode only once, for all actors."""
    if not dataset.solutions:
        return dataset.demonstrations
    played: dict[str, Demonstration | None] = {}

    def solved(trained: Dataset, task: Task) -> Demonstration | None:
        if len(task.episode.actors) == 1:
            return trained.demonstration(task)
        if task.episode.id not in played:
            played[task.episode.id] = _team_demonstration(trained, task)
        return played[task.episode.id]

    return lambda count, seed: dataset.demonstrations(count, seed, solved)


def _team_demonstration(dataset: Dataset, task: Task) -> Demonstration | None:
    """The team's solution of a task, in actions that its bodies support; None if it fails. Only the
    first of several consecutive idle turns of a commander is shown. Raises ``UsageError``."""
    # imported here because few runs need the household world and its expert
    from wayword.worlds.household.expert import with_able_bodies
    from wayword.worlds.household.goals import HouseholdReference

    try:
        played = _play_as_team(dataset, task)
        single_steps = False
    except UsageError:
        free = [
            a
            for a in task.episode.actors
            if a not in task.episode.start.get("bodies", {})
        ]
        able = Task(with_able_bodies(task.episode, free), task.reference)
        played = _play_as_team(dataset, able)
        single_steps = True
    reference = task.reference
    if not isinstance(reference, HouseholdReference) or played.ended != "stopped":
        return None
    if reference.met(played.state) < reference.parts():
        return None
    turns = list[tuple[str, Action]]()
    was_idle = dict[str, bool]()
    for step in played.steps:
        if not isinstance(step.decision, Decision):
            continue
        action = step.decision.action
        idle = action in _IDLE
        if not (idle and was_idle.get(step.actor)):
            motions = step.feedback.details.get("low_level")
            whole = action.name in ("chat", "stop") or (
                motions is None and step.feedback.ok
            )
            # a failed skill changed nothing, so it has no motions
            taken = [action]
            if single_steps and not whole:
                found = filter(None, map(_ACTION.fullmatch, motions or ()))
                taken = [
                    Action(m[1], tuple(m[2].split(", ")) if m[2] else ()) for m in found
                ]
            turns += [(step.actor, each) for each in taken]
        was_idle[step.actor] = idle
    first = tuple(action for actor, action in turns if actor == task.episode.actors[0])
    return Demonstration(
        task.episode, first, lambda: dataset.world(task.episode), tuple(turns)
    )


def _play_as_team(dataset: Dataset, task: Task) -> Trajectory:
    """An episode played by the scripted team, which never awaits a model."""
    team: Any = registry.load("agent", "team")
    setup = Setup(
        dataset,
        lambda toolkit, _: team(team.Settings(), toolkit),
        max_steps=dataset.max_steps,
    )
    played: Trajectory = finish(rollout(task, setup))
    return played
