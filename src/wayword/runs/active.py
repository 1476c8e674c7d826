"""State of an active run: its setup, its records, and the counts for progress and notices.

Shared by both engines: the one in this process (:mod:`~wayword.runs.running`) and the one on a
cluster (:mod:`~wayword.runs.ray_engine`).
"""

from __future__ import annotations

import json
import os
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from wayword.agents.person import Person
from wayword.core import trajectory as notes
from wayword.core.action import Rejection
from wayword.core.blame import describe, is_own, is_shipped, place_of
from wayword.core.dataset import INDEPENDENT, Dataset, Task
from wayword.core.episode import JsonObject
from wayword.core.errors import RecordingError, WaywordError
from wayword.core.game import endless_problem
from wayword.core.metric import is_solved
from wayword.core.model import Model
from wayword.core.recording import Continued
from wayword.core.rollout import Setup
from wayword.core.trajectory import Step, Trajectory
from wayword.core.visible import count, spaced
from wayword.core.world import World
from wayword.metrics import scoring
from wayword.metrics.detector_reports import (
    bearings_note,
    failed_motions,
    search_outcome,
)
from wayword.models.middleware.budget import Account
from wayword.runs import remote
from wayword.runs.cast import AgentParts
from wayword.runs.codec import plain
from wayword.runs.config import Checksums
from wayword.runs.demonstrations import demonstrations
from wayword.runs.identity import (
    caveats,
    identity,
    local_servers,
    omitted,
    shown_split,
    stated_settings,
    versions,
)
from wayword.runs.plan import Plan
from wayword.runs.record import (
    EpisodeRecord,
    FailedEpisode,
    Line,
    RecordedRun,
    RunFolder,
    rejections,
)

# Caveat of a run whose episodes were named. It says nothing about the other episodes.
CHOSEN = "chosen one by one"


def setup_of(
    plan: Plan,
    dataset: Dataset,
    agent: AgentParts,
    models: Mapping[str, Model],
    on_step: Callable[[str, Step], None],
) -> Setup:
    """Return the setup shared by all episodes of a plan.

    It has as many trials as the plan's learning agents ask for, and a judge if one of
    them is shown its verdict. ``on_step`` is called with each episode id and step.
    """
    # Agents that learn play an episode in several trials, and may learn whether one succeeded.
    learners = [parts.settings for parts in agent.playing() if parts.cls.learns]
    trials = max((settings.trials for settings in learners), default=1)
    judge = None
    if any(settings.verdict == "judge" for settings in learners):
        judge = scoring.judge(dataset)
    return Setup(
        dataset,
        agent.make,
        models,
        plan.seed,
        plan.max_steps or dataset.max_steps,
        on_step=on_step,
        demonstrations=demonstrations(dataset),
        trials=trials,
        judge=judge,
    )


def line_of(dataset: Dataset, task: Task, trajectory: Trajectory) -> Line:
    """Score and encode a played episode.

    An error of the scorer fails only this episode. Raises ``RecordingError`` if it
    cannot be recorded.
    """
    name = task.episode.id
    if trajectory.ended != "failed":
        try:
            (scores,) = scoring.score(dataset, [(task, trajectory)])
        except Exception as error:  # noqa: BLE001 - one task's bug must not end a run
            problem = describe(error)
            if isinstance(error, WaywordError):
                problem = str(error)
            trajectory.error = f"scoring: {problem}"
            trajectory.ended = "failed"
    # A failed episode is recorded with its steps so far, without scores.
    record: FailedEpisode | EpisodeRecord
    if trajectory.ended == "failed":
        record = FailedEpisode(name, trajectory.error, trajectory)
    else:
        record = EpisodeRecord(name, scores, trajectory)
    try:
        return Line.of(record)
    except RecordingError as error:
        where = _source_of_unrecordable(type(dataset.world(task.episode)), trajectory)
        raise RecordingError(f"{where}{error}") from error


def _source_of_unrecordable(world: type[World], trajectory: Trajectory) -> str:
    """Return ``file:line: `` of the method that returned a value that cannot be recorded, or the
    kind of an agent's note; empty if it is none of them."""
    values: list[tuple[str, Any]] = []
    for step in trajectory.steps:
        values += [
            (place_of(world.observe), step.observation),
            (place_of(world.step), step.feedback),
            (place_of(world.pose), step.pose),
        ]
        values += [(f"note {note.kind!r} of an agent", note) for note in step.notes]
    for where, value in values:
        if not _is_recordable(value):
            return f"{where}: "
    return ""


def _is_recordable(value: Any) -> bool:
    """True for a value that has a JSON form."""
    try:
        plain(value)
    except RecordingError:
        return False
    return True


def config_of(
    plan: Plan, dataset: Dataset, agent: AgentParts, models: Mapping[str, Model]
) -> JsonObject:
    """Return the content of ``run.json``: the run's identity, and information for readers.

    The identity decides which run it is; all else, such as versions and times, is for readers.
    """
    checksums = Checksums()
    checksum = checksums.combined(dataset.files)
    lines = caveats(dataset, agent, [model.name for model in models.values()])
    # Chosen episodes are no random sample: reports must say so.
    if plan.episode or plan.episodes:
        lines.append(CHOSEN)
    metrics = scoring.scorer(dataset.family).metrics
    perception = ""
    if perceiver := dataset.perceiver():
        perception = perceiver.name
    return {
        "identity": identity(plan, dataset, agent, models, checksum),
        "servers": local_servers(models),
        "sees_answer": any(parts.cls.sees_answer for parts in agent.playing()),
        "family": dataset.family.name,
        "success": dataset.family.success,
        "metrics": [asdict(metric) for metric in metrics],
        "split": shown_split(plan, dataset),
        "stated": stated_settings(plan, agent),
        "episodes_in_split": len(dataset.tasks),
        "left_out": omitted(dataset),
        "caveats": lines,
        "clusters": asdict(dataset.clusters or INDEPENDENT),
        "perception": perception,
        "checksums": checksums.each(dataset.files),
        "versions": dict(versions()),
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
    }


PROGRESS = ".progress.json"

# Most episodes in the file, and most moves, which then has about 60 kB, and with thoughts 140 kB.
_MAX_EPISODES = 64
_MAX_MOVES = 400


class Moves:
    """The latest moves of the episodes in progress, ``limit`` of them in total.

    Episodes are kept in the order in which they began.
    """

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
        """Forget an episode; one that had no step is no error."""
        self._counts.pop(episode, None)
        self._trails.pop(episode, None)

    def current(self) -> list[dict[str, Any]]:
        """Return the first episodes in progress, each with its latest moves, as JSON values.

        Read by :func:`wayword.viewer.library.progress_of`.
        """
        shown = list(islice(self._trails.items(), _MAX_EPISODES))
        # The moves in the file are shared by the episodes shown.
        share = max(1, self._limit // max(1, len(shown)))
        episodes = []
        for episode, trail in shown:
            moves = [_move(step) for step in list(trail)[-share:]]
            entry = {
                "id": episode,
                "step": self._counts[episode],
                "of": self._max_steps,
            }
            episodes.append({**entry, **moves[-1], "moves": moves})
        return episodes


# Most characters of an action or a thought: a chat may be long.
_MAX_TEXT = 200

# Fields of an observation that place it.
_POSE = ("viewpoint", "panorama", "x", "y", "heading")


def _move(step: Step) -> JsonObject:
    """Return a step in the file: who did what, and where it began and ended."""
    action = str(getattr(step.decision, "action", ""))
    if isinstance(step.decision, Rejection):
        action = f"rejected: {step.decision.kind}"
    # Only the fields that its kind of world has.
    start = {}
    for key in _POSE:
        value = getattr(step.observation, key, None)
        if value is not None:
            start[key] = value
    return {
        "actor": step.actor,
        "action": action[:_MAX_TEXT],
        # An agent from elsewhere may set anything.
        "thought": str(getattr(step.decision, "thought", None) or "")[:_MAX_TEXT],
        "ok": step.feedback.ok,
        # The episode's record names what cannot be recorded.
        "start": plain(start) if _is_recordable(start) else {},
        "pose": plain(step.pose) if _is_recordable(step.pose) else {},
    }


# Minimum seconds between two writes.
_WRITE_EVERY = 0.5


class Reporter:
    """Writer of the progress file. If the folder is not writable, only the live page is lost.

    ``total`` is the number of episodes of the run, ``before`` that of the episodes
    finished by earlier sessions. ``account`` has the spending, also of earlier
    sessions.
    """

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
        # Not the time of day, which clocks are set to during a run.
        self._began = time.monotonic()
        self._before = before
        self._tokens = 0  # spent by earlier sessions
        if account is not None:
            self._tokens = account.tokens
        self.moves = Moves(max_steps)
        self._remote: dict[str, Any] = {}
        self._last_write = 0.0

    def show(self, done: int, moves: list[dict[str, Any]], workers: list[str]) -> None:
        """Show the episodes of other processes (``machine:number``) instead of this one's."""
        self._remote = {"episodes": moves[:_MAX_EPISODES], "workers": workers}
        self.write(done)

    def write(self, done: int, over: bool = False) -> None:
        """Write the file, at most every ``_WRITE_EVERY`` seconds; with ``over``, a last time."""
        now = time.monotonic()
        if now - self._last_write < _WRITE_EVERY and not over:
            return
        self._last_write = now
        # The counts, the spending of this session, and the moves of episodes in progress.
        state: dict[str, Any] = {
            "process": os.getpid(),
            "done": done,
            "total": self._total,
            "over": over,
            "before": self._before,
            "took": now - self._began,
        }
        account = self._account
        if account is not None:
            state["calls"] = account.pending
            state["tokens"] = account.tokens - self._tokens
            state["dollars"] = account.dollars
            state["max_dollars"] = account.max_dollars
        # At the end, no episode is in progress.
        episodes: JsonObject = {"episodes": []}
        if not over:
            episodes = self._remote or {"episodes": self.moves.current()}
        # Renamed, so that readers never see half a file.
        new = self._path.with_name(f"{PROGRESS}.new")
        with suppress(OSError, TypeError, ValueError):
            text = json.dumps({**state, **episodes})
            new.write_text(text, encoding="utf-8")
            os.replace(new, self._path)


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


# Notes of normal operation. All others report a problem, and are counted at the end of a run.
QUIET = {
    notes.STATE,
    notes.CLAUSES,
    notes.FOLLOWED,
    notes.VOTES,
    notes.ASKED,
    notes.GROUNDED,
    notes.TURN,
    notes.SCENE_EXPERT,
    "blocked",
    "went_back",
    "lesson",
    "recorded_before",
}


NO_REFERENCE = "no success metric: the episodes have no reference to judge by"

# Share of rejected answers from which on a run names the commonest reason.
_MOST_REJECTED = 0.5

# Reasons of failures that are listed: one fault often has many.
_MAX_REASONS = 5

ABOVE_LIMIT = "more than the limit of"
"""Part of the notice on a folder that an earlier call filled further: Python logs it."""


@dataclass
class ActiveRun:
    """A run in progress: its parts, its folder, and the counts for progress and notices.

    The engine calls ``stepped`` and ``ended`` (or ``record``, for episodes played
    elsewhere) in one thread. ``done`` and ``total`` count finished episodes, earlier
    sessions included; ``played`` the finished and failed ones of this session.
    """

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
    played: int = 0
    steps: int = 0
    judged: set[bool] = field(default_factory=set)
    """Has True if an episode of this session has a success metric, False if one has none."""
    noted: Counter[str] = field(default_factory=Counter)
    rejected: Counter[str] = field(default_factory=Counter)
    """Number of rejected answers by kind and reason."""
    unsolved: list[str] = field(default_factory=list)
    """Finished episodes of this session without success."""
    cut: list[str] = field(default_factory=list)
    """Solved episodes of this session that the limit of steps ended."""
    limited: int = 0
    """Number of episodes of this session that the limit of steps ended."""
    reasons: dict[str, str] = field(default_factory=dict)
    notices: list[str] = field(default_factory=list)
    store: remote.Store | None = None

    def stepped(self, episode: str, step: Step) -> None:
        """Report a step: with a slow model, the first episode takes a while to end."""
        self.steps += 1
        self.rejected.update(rejections([step]))
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
        """Score and record a played episode. Raises ``RecordingError`` if that is impossible."""
        try:
            line = line_of(self.dataset, task, trajectory)
        except RecordingError as error:
            raise RecordingError(f"{self.folder.path}: {error}") from error
        if self.dataset.live and line.scores is not None:
            steps = len(trajectory.steps)
            ended = spaced(trajectory.ended)
            text = f"{trajectory.episode_id}: {ended} after {steps} steps"
            text += f"; {search_outcome(trajectory)}"
            if failed := failed_motions(trajectory):
                text += f"; motions that failed: {failed}"
            if note := bearings_note(trajectory):
                text += f"; {note}"
            self.notices.append(text)
        self.record(line)

    def record(self, line: Line) -> None:
        """Write an encoded episode to the run folder, and report it.

        Raises ``RecordingError`` if the folder has it already or another run writes to
        the store.
        """
        if self.reporter:
            self.reporter.moves.ended(line.episode_id)
            self.reporter.write(self.done)
        self.played += 1
        self.noted.update(line.notes)
        # Another writer of the same run in the store ends this one before it writes.
        if self.store:
            self.store.check()
        self.folder.write(line)
        if line.scores is None:
            self.reasons[line.reason] = line.episode_id
            return
        self.done += 1
        success = self.dataset.family.success
        self.judged.add(success in line.scores)
        self.limited += line.ended == "step_limit"
        if not is_solved(line.scores.get(success, 1.0)):
            self.unsolved.append(line.episode_id)
        elif line.ended == "step_limit":
            self.cut.append(line.episode_id)
        self.on_progress(self.done, self.total, line.scores)

    @property
    def _limit(self) -> int:
        """Maximum number of an actor's turns in an episode."""
        return self.plan.max_steps or self.dataset.max_steps

    def all_notices(self) -> list[str]:
        """Return notices for the user: repairs, omissions, caveats, failures, counts of notes.

        A reason of failure is given once, with one of its episodes, and at most
        ``_MAX_REASONS`` of them. Rejected answers are mentioned from a share of
        ``_MOST_REJECTED`` on.
        """
        notices = list(self.folder.notices)
        left = [f"{n:,} {cause}" for cause, n in omitted(self.dataset).items()]
        if left:
            notices.append(f"left out of the split: {', '.join(left)}")
        # Tables, figures and ``result.episodes`` are of the whole folder.
        held = len(self.folder.index)
        if self.plan.limit and held > self.total:
            notices.append(
                f"the folder has {held:,} finished episodes, {ABOVE_LIMIT} "
                f"{self.plan.limit:,}: its table and metrics are of all {held:,}; for fewer, use "
                "another folder"
            )
        models = self.folder.config["identity"]["models"].values()
        caveat_lines = caveats(self.dataset, self.agent, models)
        # Splits for challenges publish only the starts.
        if self.judged == {False} and not scoring.missing_success(self.dataset):
            judge = self.dataset.succeeded
            problem = NO_REFERENCE
            if is_own(judge):
                problem = (
                    f"{place_of(judge)}: no success metric: succeeded returned None"
                )
            caveat_lines.append(problem)
        notices += [f"note: {line}" for line in caveat_lines]

        reasons = list(self.reasons.items())[:_MAX_REASONS]
        notices += [f"episode {name} failed: {reason}" for reason, name in reasons]
        refused = self.rejected.total()
        if refused and refused >= _MOST_REJECTED * self.steps:
            (reason, times), *_ = self.rejected.most_common(1)
            notices.append(
                f"{refused:,} of {self.steps:,} answers were rejected and changed nothing; "
                f"{times:,} as {reason}{self._author(reason)}"
            )
        elif 0 < self.limited == self.played and is_own(type(self.dataset).world):
            where = place_of(type(self.dataset).world)
            notices.append(
                f"{where}: {count(self.limited, 'episode')} of {self.played:,} ended at the limit "
                f"of {self._limit} steps: no agent stopped, or done() stays False"
            )

        # Agents that all follow solutions of a user's own dataset are to solve it: check_dataset
        # asks the same.
        solutions = {parts.cls.follows for parts in self.agent.playing()}
        is_users = all(solutions) and not is_shipped(type(self.dataset))
        if is_users and self.cut:
            notices.append(
                f"{place_of(type(self.dataset).make_plan)}: in {len(self.cut):,} of "
                f"{self.played:,} episodes, such as {self.cut[0]!r}, {endless_problem(self._limit)}"
            )
        if is_users and self.unsolved:
            notices.append(
                f"{place_of(type(self.dataset).make_plan)}: the solution {solutions.pop()!r} does "
                f"not reach the goal in {len(self.unsolved):,} of {self.played:,} episodes, such "
                f"as {self.unsolved[0]!r}; correct it, the reference, or max_steps"
            )

        # Notes of problems, by their kind.
        noted = [
            f"noted in {count} of {self.played} episodes: {kind.replace('_', ' ')}"
            for kind, count in sorted(self.noted.items())
            if kind not in QUIET
        ]
        if noted:
            noted[-1] += "; `wayword view` shows the steps and reasons"
        return [*notices, *noted, *self.notices]

    def _author(self, reason: str) -> str:
        """Return the line of a user's code that chose illegal actions; empty for other reasons of a
        rejection, and without such code."""
        places: list[str] = []
        if not reason.startswith("illegal"):
            return ""
        for parts in self.agent.playing():
            if not is_shipped(parts.cls):
                places.append(place_of(parts.cls.act))
            elif parts.cls.follows and not is_shipped(type(self.dataset)):
                places.append(place_of(type(self.dataset).make_plan))
        return f" ({', '.join(dict.fromkeys(places))})" if places else ""
