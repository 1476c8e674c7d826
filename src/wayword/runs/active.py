"""A run under way: its models, what its folder is opened with, and the counts it keeps.

Both engines stand on it: the one that plays in this process (:mod:`~wayword.runs.running`) and the
one that plays on a cluster (:mod:`~wayword.runs.ray_engine`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any

import numpy as np

from wayword.agents.person import Person, Watching
from wayword.core.dataset import Dataset, Task
from wayword.core.errors import RecordingError
from wayword.core.model import Model
from wayword.core.recording import Continued
from wayword.core.trajectory import ModelCall, Step, Trajectory
from wayword.metrics import scoring
from wayword.models.middleware.budget import Account
from wayword.models.middleware.rate import Turns
from wayword.models.parts.opening import Options, open_model, wrap
from wayword.runs.config import Checksums, Spending, sessions
from wayword.runs.episodes import Played
from wayword.runs.parts import AgentParts, identity, omitted, split_name, versions
from wayword.runs.plan import Plan
from wayword.runs.progress import Reporter
from wayword.runs.record import RunFolder
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
    keys = {role: f"{name} {sorted(own.items())!r}" for role, (name, own) in choices.items()}
    asked = {key: choices[role] for role, key in keys.items()}
    # All are opened before any is wrapped: a wrong name must not leave another's cache open.
    bare = {key: open_model(name, own, _recorded) for key, (name, own) in asked.items()}
    opened = {
        key: wrap(model, options, account, limiter(key) if limiter else None)
        for key, model in bare.items()
    }
    return {role: opened[key] for role, key in keys.items()}


def add_earlier(account: Account, run: RunFolder) -> Spending:
    """Count what earlier sessions of the run spent, and log what is spent from now on."""
    finished = run.index
    before = list(sessions(run.path))
    columns = map(finished.column, ("prompt_tokens", "completion_tokens", "cost"))
    read, written, costs = (np.nan_to_num(column) for column in columns)
    tokens, dollars = int(read.sum() + written.sum()), float(costs.sum())
    account.expect(zip((read + written).tolist(), costs.tolist(), strict=True))
    tokens += sum(s.dropped_tokens for s in before)
    dollars += sum(s.dropped_dollars for s in before)
    spending = Spending(run.path, (tokens, dollars))
    account.tokens += spending.tokens
    account.dollars += spending.dollars
    account.ledger = spending
    return spending


def tokens_of(scores: Mapping[str, float]) -> int:
    """All tokens of an episode, read and written."""
    return int(scores.get("prompt_tokens", 0) + scores.get("completion_tokens", 0))


def _recorded(folder: str) -> Iterable[ModelCall]:
    """The model calls of a run folder, for ``replay:RUN``."""
    for record in RunFolder.read(folder).records():
        yield from record.trajectory.calls()


# The run itself.

OnProgress = Callable[[int, int, Mapping[str, float]], None]
"""Told after every step and episode: how many episodes are finished, of how many, and the last
one's scores, or ``{"steps_so_far": n}`` after a step, with ``retries_so_far`` when a request has
failed and is made again.
"""


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

    def retried(self, count: int) -> None:
        """A request failed and is made again, the ``count``-th of the run."""
        told = {"steps_so_far": self.steps, "retries_so_far": count}
        self.on_progress(self.done, self.total, told)

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
        if self.store:
            self.store.check()
        self.folder.write(played.line)
        scores = played.line.scores
        if scores is None:
            self.reasons[played.error] = played.episode
            return
        self.done += 1
        self.finished_tokens += tokens_of(scores)
        self.finished_dollars += scores.get("cost", 0.0)
        self.on_progress(self.done, self.total, scores)


# What its folder is opened with.


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
