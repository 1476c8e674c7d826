"""Carry a plan out: parts, run folder, episodes, scores.

from wayword.runs import Plan, run

result = run(Plan("navgpt", "houses", "local:smollm2", limit=20))
print(result.path, result.outcome.finished)
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from wayword.agents.parts.person import PERSON, Person, Terminal, Watching, answered_by
from wayword.core import registry
from wayword.core.agent import Shared
from wayword.core.dataset import Dataset, Task
from wayword.core.errors import RecordingError
from wayword.core.model import Model, lessons_of, prepare, warnings_of
from wayword.core.recording import Continued
from wayword.core.rollout import Outcome, Setup
from wayword.core.rollout import run as run_episodes
from wayword.core.trajectory import CLAUSES, FOLLOWED, STATE, VOTES, ModelCall, Step, Trajectory
from wayword.metrics import scoring
from wayword.models.middleware.budget import Account
from wayword.models.middleware.rate import Turns
from wayword.models.parts.opening import Options, open_model, wrap
from wayword.runs import remote
from wayword.runs.config import Checksums, Session, Spending, add_session, sessions
from wayword.runs.continuing import Continuation
from wayword.runs.episodes import Played, choose, made, setup_of, unfinished
from wayword.runs.folder import RunFolder
from wayword.runs.parts import (
    AgentParts,
    identity,
    model_choices,
    omitted,
    open_agent,
    open_dataset,
    split_name,
    versions,
)
from wayword.runs.plan import Plan, run_folder
from wayword.runs.progress import Reporter
from wayword.runs.remote import Store

# The models of a run, one a role, with the run's wrappers around them.

Choices = Mapping[str, tuple[str, Mapping[str, Any]]]
"""Role -> a model's name and settings."""


def open_models(
    plan: Plan,
    choices: Choices,
    account: Account | None = None,
    limiter: Callable[[str], Turns] | None = None,
) -> dict[str, Model]:
    """Role -> model, wrapped as the plan asks; roles with the same model share one.

    ``account`` adds up what is spent and holds the budget; ``limiter`` makes the rate limit of a
    model where not this process alone keeps it. Raises ``UsageError`` for a name or setting that
    does not exist.
    """
    options = Options(
        cache=plan.cache,
        retries=plan.retries,
        requests_per_minute=plan.requests_per_minute or 0,
        prices=plan.prices,
    )
    opened: dict[str, Model] = {}
    models: dict[str, Model] = {}
    for role, (name, settings) in choices.items():
        key = f"{name} {sorted(settings.items())!r}"
        if key not in opened:
            shared = limiter(key) if limiter else None
            opened[key] = wrap(open_model(name, settings, _recorded), options, account, shared)
        models[role] = opened[key]
    return models


def add_earlier(account: Account, run: RunFolder) -> Spending:
    """Count what earlier sessions of the run spent, and log what is spent from now on."""
    finished = run.columns()
    before = list(sessions(run.path))
    read, written, costs = map(finished.column, ("prompt_tokens", "completion_tokens", "cost"))
    tokens = int(np.nansum(read) + np.nansum(written))
    dollars = float(np.nansum(costs))
    account.expect(tokens, dollars, len(finished))
    tokens += sum(s.dropped_tokens for s in before)
    dollars += sum(s.dropped_dollars for s in before)
    spending = Spending(run.path, (tokens, dollars))
    account.tokens += spending.tokens
    account.dollars += spending.dollars
    account.on_spent = spending.add
    return spending


def tokens_of(scores: Mapping[str, float]) -> int:
    """All tokens of an episode, read and written."""
    return int(scores.get("prompt_tokens", 0) + scores.get("completion_tokens", 0))


def _recorded(folder: str) -> Iterable[ModelCall]:
    """The model calls of a run folder, for ``replay:RUN``."""
    for record in RunFolder.read(folder).records():
        yield from record.trajectory.calls()


OnProgress = Callable[[int, int, Mapping[str, float]], None]
"""Told after every step and episode: how many episodes are finished, of how many, and the last
one's scores, or ``{"steps_so_far": n}`` after a step.
"""
QUIET = {STATE, CLAUSES, FOLLOWED, VOTES, "lesson", "recorded_before"}
"""Notes that every step leaves by design; the others are told at the end of a run."""


@dataclass(frozen=True, slots=True)
class RunResult:
    """What a run left: its folder, how it ended, and what a user should know."""

    path: Path
    outcome: Outcome
    resumed: int
    notices: Sequence[str] = ()

    def _repr_html_(self) -> str:
        return registry.displayed(self)


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
    store: Store | None = None

    def stepped(self, episode: str, step: Step) -> None:
        """A sign of life: with a slow model the first episode takes a while to end."""
        self.steps += 1
        if self.reporter:
            self.reporter.stepped(episode, step, self.done)
        watching: object = self.person
        if watching is not None and isinstance(watching, Watching):  # slow to ask, of a protocol
            watching.stepped(step)
        self.on_progress(self.done, self.total, {"steps_so_far": self.steps})

    def ended(self, task: Task, trajectory: Trajectory) -> None:
        """Put the episode on disk, then tell of it."""
        try:
            played = Played.of(self.dataset, task, trajectory)
        except RecordingError as error:
            raise RecordingError(f"{self.folder.path}: {error}") from error
        self.record(played)

    def record(self, played: Played) -> None:
        """As ``ended``, of an episode that may have been played elsewhere."""
        if self.reporter:
            self.reporter.ended(played.episode, self.done)
        self.noted.update(played.notes)
        if isinstance(played.line, bytes):
            self.folder.fail_line(played.episode, played.line)
            self.reasons[played.error] = played.episode
            return
        if self.store:
            self.store.check()
        self.folder.append_line(played.line)
        scores = played.line.scores
        self.done += 1
        self.finished_tokens += tokens_of(scores)
        self.finished_dollars += scores.get("cost", 0.0)
        self.on_progress(self.done, self.total, scores)


class _Session:
    """One start of a run, written down when it ends."""

    def __init__(self, active: ActiveRun, account: Account) -> None:
        self._active, self._account = active, account
        self._done, self._tokens, self._dollars = active.done, account.tokens, account.dollars
        self._began = time.perf_counter()
        self._started = datetime.now(UTC).isoformat(timespec="seconds")

    def end(self) -> None:
        """Append the session to the run folder."""
        active, account = self._active, self._account
        session = Session(
            self._started,
            time.perf_counter() - self._began,
            active.done - self._done,
            max(0, account.tokens - self._tokens - active.finished_tokens),
            max(0.0, account.dollars - self._dollars - active.finished_dollars),
        )
        add_session(active.folder.path, session)


def run(
    plan: Plan, on_progress: OnProgress | None = None, person: Person | None = None
) -> RunResult:
    """Play the plan's episodes, those finished before left out. Blocks; see ``run_async``."""
    return asyncio.run(run_async(plan, on_progress, person))


async def run_async(
    plan: Plan, on_progress: OnProgress | None = None, person: Person | None = None
) -> RunResult:
    """Play the plan's episodes, those finished before left out.

    Where a person plays or answers, it is ``person``, else the one at the terminal; episodes then
    come one after the other.
    Every finished episode is on disk at once; after a crash the same plan goes on where it was.
    Raises ``UsageError``, ``DataError``, ``RecordingError`` before or instead of a broken run.
    """
    going_on = Continuation.open(plan.continues) if plan.continues else None
    plan = going_on.plan(plan) if going_on else plan
    dataset = open_dataset(plan)
    agent = open_agent(plan, dataset)
    account = Account(plan.tokens, plan.dollars)
    models = open_models(plan, model_choices(plan, agent), account)  # before anything is written
    try:
        for model in models.values():
            await prepare(model)
        there = (person or Terminal()) if agent.needs_person or plan.ask else None
        tell = on_progress or _silent
        return await _run(plan, dataset, agent, models, account, tell, there, going_on)
    finally:
        for model in models.values():
            await model.aclose()


async def _run(
    plan: Plan,
    dataset: Dataset,
    agent: AgentParts,
    models: Mapping[str, Model],
    account: Account,
    on_progress: OnProgress,
    person: Person | None,
    going_on: Continuation | None,
) -> RunResult:
    config = config_of(plan, dataset, agent, models)
    config = going_on.marked(config) if going_on else config
    if plan.episodes:
        choose(plan, dataset.tasks)  # before a folder is made: a name may be mistyped
    out = plan.out or run_folder(plan, config["identity"])
    with remote.writing(out) as (path, store), RunFolder.open(path, config) as folder:
        chosen = choose(plan, dataset.tasks, folder)
        active = ActiveRun(plan, dataset, agent, folder, len(chosen), on_progress, person)
        if going_on:
            active.continued = going_on.before(agent, dataset.tasks[chosen[0]].episode.actors)
        todo = unfinished(dataset.tasks, chosen, folder)
        active.store = store
        active.done = resumed = len(chosen) - len(todo)
        active.on_progress(resumed, len(chosen), {})
        outcome = await _play(active, todo, models, account) if todo else Outcome()
        learnt = [line for model in models.values() for line in lessons_of(model)]
        told = [f"refused by the server and left out: {line}" for line in dict.fromkeys(learnt)]
        told += dict.fromkeys(line for model in models.values() for line in warnings_of(model))
        spent = _spent(account, outcome)
        return RunResult(
            out if store else path,
            outcome,
            resumed,
            [*_notices(active), *active.notices, *told, *spent],
        )


def _spent(account: Account, outcome: Outcome) -> list[str]:
    """What a person should know of the bill."""
    told = []
    if account.retries:
        told.append(f"{account.retries:,} requests were made again after a failure")
    if outcome.exhausted and account.calls:
        told.append(
            f"spent in all: {account.tokens:,} tokens, ${account.dollars:.4f}; "
            f"{account.late} calls were under way when the budget was reached"
        )
    return told


async def _play(
    active: ActiveRun, todo: Sequence[int], models: Mapping[str, Model], account: Account
) -> Outcome:
    plan, person = active.plan, active.person
    spending = add_earlier(account, active.folder)
    session = _Session(active, account)
    most = plan.max_steps or active.dataset.max_steps
    active.reporter = Reporter(active.folder.path, active.total, most)
    try:
        if plan.engine == "ray":
            from wayword.runs import ray_engine  # of an extra

            return await ray_engine.play(active, todo, account)
        setup = _setup(active, models, account)
        tasks = made(active.dataset.tasks, todo)
        return await run_episodes(tasks, setup, active.ended, 1 if person else plan.concurrency)
    finally:
        active.reporter.over(active.done)
        try:
            spending.close()
        finally:
            session.end()


def _setup(active: ActiveRun, models: Mapping[str, Model], account: Account) -> Setup:
    person = active.person
    setup = setup_of(active.plan, active.dataset, active.agent, models, active.stepped)
    return replace(
        setup,
        dataset=answered_by(active.dataset, person) if person else active.dataset,
        shared=Shared({PERSON: person} if person else {}),
        purse=account,
        continued=active.continued,
    )


def config_of(
    plan: Plan, dataset: Dataset, agent: AgentParts, models: Mapping[str, Model]
) -> dict[str, Any]:
    """What a run folder is opened with: the run's identity, and what readers should know."""
    checksums = Checksums()
    perceiver = dataset.perceiver()
    return {
        "identity": identity(plan, dataset, agent, models, checksums.combined(dataset.files)),
        "sees_answer": agent.sees_answer,
        "family": dataset.family.name,
        "success": dataset.family.success,
        "metrics": [asdict(metric) for metric in scoring.scorer(dataset.family).metrics],
        "split": split_name(plan, dataset),
        "episodes_in_split": len(dataset.tasks),
        "left_out": omitted(dataset),
        "caveats": list(dataset.caveats),
        "perception": perceiver.name if perceiver else "",
        "checksums": checksums.each(dataset.files),
        "versions": dict(versions()),
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _notices(active: ActiveRun) -> list[str]:
    failed = [f"episode {name} failed: {reason}" for reason, name in active.reasons.items()]
    played = active.done + len(active.reasons)
    noted = [
        f"noted in {count} of {played} episodes: {kind.replace('_', ' ')}"
        for kind, count in sorted(active.noted.items())
        if kind not in QUIET
    ]
    left = ", ".join(f"{n:,} {cause}" for cause, n in omitted(active.dataset).items())
    gone = [f"left out of the split: {left}"] if left else []
    gone += [f"note: {caveat}" for caveat in active.dataset.caveats]
    typed, now = active.plan.on.partition(":")[0], active.plan.dataset_name
    named = [f"the dataset {typed} is called {now} now"] if typed != now else []
    return [*named, *active.folder.notices, *gone, *failed[:5], *noted]


def _silent(done: int, total: int, scores: Mapping[str, float]) -> None:
    return None
