"""An active run: which episodes, played with what, and the counts that progress and notices report.

Both engines stand on it: the one that plays in this process (:mod:`~wayword.runs.running`) and the
one that plays on a cluster (:mod:`~wayword.runs.ray_engine`).
"""

from __future__ import annotations

import json
import os
import random
import re
import time
from collections import Counter, deque
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import Any

from wayword.agents.person import Person
from wayword.core import registry
from wayword.core.action import Action, Decision, Rejection
from wayword.core.agent import Demonstration, Demonstrations
from wayword.core.dataset import Dataset, DrawnTasks, Task, task_id
from wayword.core.errors import RecordingError, UsageError, suggest
from wayword.core.model import Model
from wayword.core.recording import Continued
from wayword.core.rollout import Setup, rollout
from wayword.core.trajectory import (
    ASKED,
    CLAUSES,
    FOLLOWED,
    GROUNDED,
    SCENE_EXPERT,
    STATE,
    TURN,
    VOTES,
    ModelCall,
    Step,
    Trajectory,
)
from wayword.core.world import Feedback
from wayword.metrics import scoring
from wayword.models.middleware.budget import Account
from wayword.models.middleware.rate import Turns
from wayword.models.parts.opening import Options, open_model, wrap
from wayword.runs import remote
from wayword.runs.codec import plain
from wayword.runs.config import Checksums
from wayword.runs.plan import (
    AgentParts,
    Choices,
    Plan,
    caveats,
    identity,
    omitted,
    shown_split,
    versions,
)
from wayword.runs.record import EpisodeRecord, FailedEpisode, Line, RunFolder

# Which episodes: chosen by their numbers, made only when they are played.


def choose(
    plan: Plan, tasks: Sequence[Task], finished: Container[str] = frozenset()
) -> Sequence[int]:
    """Numbers of the plan's episodes: shuffled by its seed if asked, its shard, the first
    ``limit``; or those it names, in its order.

    Raises ``UsageError`` where none has the name.
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


def _all_named(plan: Plan, tasks: Sequence[Task]) -> list[int]:
    """The numbers of the episodes that the plan lists."""
    requested, numbers = set(plan.episodes), dict[str, int]()
    for number in range(len(tasks)):
        if len(numbers) == len(requested):
            break
        if (name := task_id(tasks, number)) in requested:
            numbers[name] = number
    for name in plan.episodes:
        if name not in numbers:
            ids = [task_id(tasks, number) for number in range(len(tasks))[:2000]]
            more = f" … {len(tasks):,} in all" if len(tasks) > len(ids[:6]) else ""
            hint = f"there are: {', '.join(ids[:6])}{more}"
            if near := get_close_matches(name, ids, 1, 0.8):
                hint = f"did you mean {near[0]!r}?"
            raise UsageError(f"{plan.on} has no episode {name!r}; {hint}")
    return [numbers[name] for name in dict.fromkeys(plan.episodes)]


def _named(
    plan: Plan, tasks: Sequence[Task], chosen: Sequence[int], finished: Container[str]
) -> int:
    """The one episode: by its id, else by its number from 1, else the next that is not finished."""
    name, ids = plan.episode, [task_id(tasks, number) for number in chosen]
    if name == "next":
        for number, episode in zip(chosen, ids, strict=True):
            if episode not in finished:
                return number
        raise UsageError(f"all {len(ids)} episodes are finished; give another folder (--out)")
    if name in ids:
        return chosen[ids.index(name)]
    if name.isdecimal() and 1 <= int(name) <= len(ids):
        return chosen[int(name) - 1]
    remedy = suggest(name, ids) if len(ids) <= 40 else f"give a number from 1 to {len(ids)}"
    raise UsageError(f"{plan.on} has no episode {name!r}; {remedy}")


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


# The same in whichever process an episode is played.


def open_models(
    plan: Plan,
    choices: Choices,
    account: Account | None = None,
    limiter: Callable[[str], Turns] | None = None,
) -> dict[str, Model]:
    """Role -> model, with the run's wrappers; roles with the same model share one.

    ``account`` adds up what is spent and enforces the budget; ``limiter`` makes the rate limit of a
    model that several processes share. Raises ``UsageError`` for a name or setting that does not
    exist.
    """

    def recorded(folder: str) -> Iterable[ModelCall]:  # for ``replay:RUN``
        for record in RunFolder.read(folder).records():
            yield from record.trajectory.calls()

    options = Options(plan.cache, plan.retries, plan.rpm or 0, prices=plan.prices)
    keys = {role: f"{name} {sorted(given.items())!r}" for role, (name, given) in choices.items()}
    unique = {key: choices[role] for role, key in keys.items()}
    # All are opened before any is wrapped: a wrong name must not leave another's cache open.
    bare = {key: open_model(name, given, recorded) for key, (name, given) in unique.items()}
    opened = {
        key: wrap(model, options, account, limiter(key) if limiter else None)
        for key, model in bare.items()
    }
    return {role: opened[key] for role, key in keys.items()}


def setup_of(
    plan: Plan,
    dataset: Dataset,
    agent: AgentParts,
    models: Mapping[str, Model],
    on_step: Callable[[str, Step], None],
) -> Setup:
    """The setup that all episodes of a plan share.

    Of several agents the one with the most trials decides how many there are; there is a judge
    where one of them learns the verdict. Agents that do not learn try once.
    """
    learners = [parts.settings for parts in agent.playing() if parts.cls.learns]
    trials = max((settings.trials for settings in learners), default=1)
    judged = trials > 1 and any(settings.verdict == "told" for settings in learners)
    return Setup(
        dataset,
        agent.maker(),
        models,
        plan.seed,
        plan.max_steps or dataset.max_steps,
        on_step=on_step,
        demonstrations=demonstrations(dataset),
        trials=trials,
        judge=scoring.judge(dataset) if judged else None,
    )


def line_of(dataset: Dataset, task: Task, trajectory: Trajectory) -> Line:
    """An episode that has ended, scored. Raises ``RecordingError`` for what cannot be written."""
    name = task.episode.id
    if trajectory.ended == "failed":
        return Line.of(FailedEpisode(name, trajectory.error, trajectory))
    (scores,) = scoring.score(dataset, [(task, trajectory)])
    return Line.of(EpisodeRecord(name, scores, trajectory))


def config_of(
    plan: Plan, dataset: Dataset, agent: AgentParts, models: Mapping[str, Model]
) -> dict[str, Any]:
    """The content of ``run.json``: the run's identity, and what readers should know."""
    checksums = Checksums()
    perceiver = dataset.perceiver()
    return {
        "identity": identity(plan, dataset, agent, models, checksums.combined(dataset.files)),
        "sees_answer": agent.sees_answer,
        "family": dataset.family.name,
        "success": dataset.family.success,
        "metrics": [asdict(metric) for metric in scoring.scorer(dataset.family).metrics],
        "split": shown_split(plan, dataset),
        "episodes_in_split": len(dataset.tasks),
        "left_out": omitted(dataset),
        "caveats": caveats(dataset, agent),
        "perception": perceiver.name if perceiver else "",
        "checksums": checksums.each(dataset.files),
        "versions": dict(versions()),
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
    }


# The progress of an active run: ``.progress.json`` in its folder, which viewers read.
#
#     {"process": 4711, "done": 3, "total": 20, "over": false, "began": 1767225600.0,
#      "before": 0, "calls": 4, "tokens": 81920, "dollars": 0.12, "max_dollars": 2.0,
#      "episodes": [{"id": "5593_0", "step": 4, "of": 15, "actor": "agent", "action": "goto[…]",
#                    "ok": true, "pose": {…},
#                    "moves": [{"actor": …, "action": …, "ok": …, "pose": …}]}]}

PROGRESS = ".progress.json"
_EVERY = 0.5  # seconds between two writes, at least
_MOST = 64  # episodes in the file
_LONG = 200  # characters of an action
_TRAIL = 400  # moves in the file: about 60 kB at each write


class Moves:
    """The latest moves of the episodes under way, ``trail`` of them in all."""

    def __init__(self, max_steps: int, trail: int = _TRAIL) -> None:
        self._most, self._trail = max_steps, trail
        self._counts: Counter[str] = Counter()
        self._trails: dict[str, deque[Step]] = {}

    def stepped(self, episode: str, step: Step) -> None:
        """Add a step. Most are never shown, so little is done here."""
        self._counts[episode] += 1
        self._trails.setdefault(episode, deque(maxlen=self._trail)).append(step)

    def ended(self, episode: str) -> None:
        """Drop an episode that is over."""
        self._counts.pop(episode, None)
        self._trails.pop(episode, None)

    def now(self) -> list[dict[str, Any]]:
        """The first episodes, each with its latest moves."""
        shown = list(islice(self._trails.items(), _MOST))
        most = max(1, self._trail // max(1, len(shown)))
        episodes = []
        for episode, trail in shown:
            moves = [_move(step) for step in list(trail)[-most:]]
            place = {"id": episode, "step": self._counts[episode], "of": self._most}
            episodes.append({**place, **moves[-1], "moves": moves})
        return episodes


def _move(step: Step) -> dict[str, Any]:
    decision, ok, pose = step.decision, step.feedback.ok, plain(step.pose)
    action = f"rejected: {decision.kind}" if isinstance(decision, Rejection) else decision.action
    return {"actor": step.actor, "action": str(action)[:_LONG], "ok": ok, "pose": pose}


class Reporter:
    """Keeps the file up to date, written whole. A folder that cannot be written costs the viewer
    its live view only."""

    def __init__(
        self, run: Path, total: int, max_steps: int, account: Account | None = None, before: int = 0
    ) -> None:
        self._path, self._total, self._account = run / PROGRESS, total, account
        self._start = {"began": time.time(), "before": before}
        self._tokens = account.tokens if account else 0  # spent by earlier sessions
        self.moves = Moves(max_steps)
        self._elsewhere: dict[str, Any] = {}
        self._written = 0.0

    def show(self, done: int, moves: list[dict[str, Any]], workers: list[str]) -> None:
        """Show what other processes (``machine:number``) play, until called again."""
        self._elsewhere = {"episodes": moves[:_MOST], "workers": workers}
        self.write(done)

    def write(self, done: int, over: bool = False) -> None:
        """Write the file unless it was written just now; ``over``: for the last time."""
        now = time.monotonic()
        if now - self._written < _EVERY and not over:
            return
        self._written = now
        state: dict[str, Any] = {
            "process": os.getpid(),
            "done": done,
            "total": self._total,
            "over": over,
        }
        if (account := self._account) is not None:
            state |= {"calls": account.flying, "tokens": account.tokens - self._tokens}
            state |= {"dollars": account.dollars, "max_dollars": account.max_dollars}
        episodes = {"episodes": []} if over else self._elsewhere or {"episodes": self.moves.now()}
        new = self._path.with_name(f"{PROGRESS}.new")
        with suppress(OSError, TypeError, ValueError):
            new.write_text(json.dumps({**state, **self._start, **episodes}), encoding="utf-8")
            os.replace(new, self._path)


# A run under way, in this process or on a cluster.

OnProgress = Callable[[int, int, Mapping[str, float]], None]
"""Called after every step and episode: how many episodes are finished, of how many, and the last
one's scores, or ``{"steps_so_far": n}`` after a step, with ``retries_so_far`` when a request has
failed and is made again.
"""

QUIET = {
    *(STATE, CLAUSES, FOLLOWED, VOTES, ASKED, GROUNDED, TURN, SCENE_EXPERT),
    *("blocked", "went_back", "lesson", "recorded_before"),
}
"""Notes of an agent's usual course; the others, that something went wrong or was left out, are
counted at the end of a run."""


@dataclass(slots=True)
class ActiveRun:
    """A run under way: its parts, its folder, and the counts that progress and notices report."""

    plan: Plan
    dataset: Dataset
    agent: AgentParts
    folder: RunFolder
    total: int
    on_progress: OnProgress
    person: Person | None = None
    reporter: Reporter | None = None
    continued: Mapping[str, Continued] = field(default_factory=dict)
    done: int = 0
    finished_tokens: int = 0
    finished_dollars: float = 0.0
    steps: int = 0
    noted: Counter[str] = field(default_factory=Counter)
    reasons: dict[str, str] = field(default_factory=dict)
    notices: list[str] = field(default_factory=list)
    store: remote.Store | None = None

    def stepped(self, episode: str, step: Step) -> None:
        """A sign of life: with a slow model the first episode takes a while to end."""
        self.steps += 1
        if self.reporter:
            self.reporter.moves.stepped(episode, step)
            self.reporter.write(self.done)
        if self.person is not None:
            self.person.stepped(step)
        self.on_progress(self.done, self.total, {"steps_so_far": self.steps})

    def retried(self, count: int) -> None:
        """A request failed and is made again, the ``count``-th of the run."""
        so_far = {"steps_so_far": self.steps, "retries_so_far": count}
        self.on_progress(self.done, self.total, so_far)

    def ended(self, task: Task, trajectory: Trajectory) -> None:
        """Score an episode and put it on disk."""
        try:
            line = line_of(self.dataset, task, trajectory)
        except RecordingError as error:
            raise RecordingError(f"{self.folder.path}: {error}") from error
        self.record(line)

    def record(self, line: Line) -> None:
        """Put an episode on disk that this or another process has played."""
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
        self.finished_tokens += line.billed
        self.finished_dollars += line.scores.get("cost", 0.0)
        self.on_progress(self.done, self.total, line.scores)

    def all_notices(self) -> list[str]:
        """Lines for the user: renamed data, repairs, caveats, failures, counts of notes."""
        notices, typed, name = list[str](), self.plan.on.partition(":")[0], self.plan.dataset_name
        if typed != name:
            notices.append(f"the dataset {typed} is now called {name}")
        notices += self.folder.notices
        if left := ", ".join(f"{n:,} {cause}" for cause, n in omitted(self.dataset).items()):
            notices.append(f"left out of the split: {left}")
        notices += [f"note: {caveat}" for caveat in caveats(self.dataset, self.agent)]
        failed = [f"episode {name} failed: {reason}" for reason, name in self.reasons.items()]
        played = self.done + len(self.reasons)
        noted = [
            f"noted in {count} of {played} episodes: {kind.replace('_', ' ')}"
            for kind, count in sorted(self.noted.items())
            if kind not in QUIET
        ]
        if noted:
            noted[-1] += "; `wayword view` shows at which steps, and why"
        return [*notices, *failed[:5], *noted, *self.notices]


def tokens_of(scores: Mapping[str, float]) -> int:
    """All tokens of an episode, read and written."""
    return int(scores.get("prompt_tokens", 0) + scores.get("completion_tokens", 0))


# Examples for tasks with several actors: training episodes that the scripted team plays.
#
# No actor's part makes sense without the others', so the whole episode is played, and an example
# shows one actor's turns of it. Bodies that walk by single steps are shown the single steps that
# the team's skills are made of.

_ACTION = re.compile(r"(\w+)(?:\[(.*)\])?", re.DOTALL)
_IDLE = (Action("turn_left"), Action("wait"))
"""A commander's actions while it waits; no one else on the team takes either."""


def demonstrations(dataset: Dataset) -> Demonstrations:
    """Draws solved training episodes of a dataset, for one actor or several. The team plays an
    episode once, whichever actor asks for it."""
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
    """A task as the team solves it, by the actions that its own bodies have; None where it fails.
    Of a commander's idle turns in a row the first alone is shown.

    Raises ``UsageError`` for a task without goals in a house.
    """
    # not above: this package is loaded for every run, the house and its expert for few
    from wayword.worlds.household.expert import with_able_bodies
    from wayword.worlds.household.goals import HouseholdReference

    try:
        played, single_steps = _play_as_team(dataset, task), False
    except UsageError:
        free = [a for a in task.episode.actors if a not in task.episode.start.get("bodies", {})]
        able = Task(with_able_bodies(task.episode, free), task.reference)
        played, single_steps = _play_as_team(dataset, able), True
    reference = task.reference
    if not isinstance(reference, HouseholdReference) or played.ended != "stopped":
        return None
    if reference.met(played.state) < reference.parts():
        return None
    turns, idle = list[tuple[str, Action]](), dict[str, bool]()
    for step in played.steps:
        if isinstance(step.decision, Decision):
            action = step.decision.action
            waits = action in _IDLE
            if not (waits and idle.get(step.actor)):
                actions = _single_steps(action, step.feedback) if single_steps else [action]
                turns += [(step.actor, each) for each in actions]
            idle[step.actor] = waits
    first = tuple(action for actor, action in turns if actor == task.episode.actors[0])
    return Demonstration(task.episode, first, lambda: dataset.world(task.episode), tuple(turns))


def _play_as_team(dataset: Dataset, task: Task) -> Trajectory:
    """An episode of the scripted team. It asks no model, so it never waits, and an event loop may
    be running around it."""
    team: Any = registry.load("agent", "team")
    setup = Setup(
        dataset, lambda toolkit, _: team(team.Settings(), toolkit), max_steps=dataset.max_steps
    )
    try:
        rollout(task, setup).send(None)
    except StopIteration as end:
        played: Trajectory = end.value
        return played
    raise RuntimeError("the team waited for something")


def _single_steps(action: Action, feedback: Feedback) -> list[Action]:
    """The single steps of a skill; one that failed has none, as it changed nothing."""
    texts = feedback.details.get("low_level")
    if action.name in ("chat", "stop") or (texts is None and feedback.ok):
        return [action]
    matches = [match for text in texts or () if (match := _ACTION.fullmatch(text))]
    return [Action(m[1], tuple(m[2].split(", ")) if m[2] else ()) for m in matches]
