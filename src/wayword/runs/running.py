"""Carry a plan out: parts, run folder, episodes, scores.

from wayword.runs import Plan, run

result = run(Plan("navgpt", "houses", "local:smollm2", limit=20))
print(result.path, result.outcome.finished)
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from wayword.agents.person import PERSON, Person, Terminal, answered_by
from wayword.core import registry
from wayword.core.agent import Shared
from wayword.core.dataset import Dataset
from wayword.core.model import Model
from wayword.core.rollout import Outcome, Setup
from wayword.core.rollout import run as run_episodes
from wayword.core.trajectory import (
    ASKED,
    CLAUSES,
    FOLLOWED,
    GROUNDED,
    SCENE_EXPERT,
    STATE,
    TURN,
    VOTES,
    Step,
)
from wayword.models.middleware.budget import Account
from wayword.runs import remote
from wayword.runs.active import ActiveRun, OnProgress, add_earlier, config_of, open_models
from wayword.runs.config import Session, add_session
from wayword.runs.continuing import Continuation
from wayword.runs.episodes import choose, made, setup_of, unfinished
from wayword.runs.parts import (
    AgentParts,
    model_choices,
    omitted,
    open_agent,
    open_dataset,
)
from wayword.runs.plan import Plan, run_folder
from wayword.runs.progress import Reporter
from wayword.runs.record import RunFolder

QUIET = {
    *(STATE, CLAUSES, FOLLOWED, VOTES, ASKED, GROUNDED, TURN, SCENE_EXPERT),
    *("blocked", "went_back", "lesson", "recorded_before"),
}
"""Notes of an agent's usual course; the others, that something went wrong or was left out, are
counted at the end of a run."""


@dataclass(frozen=True, slots=True)
class RunResult:
    """What a run left: its folder, how it ended, and what a user should know."""

    path: Path
    outcome: Outcome
    resumed: int
    notices: Sequence[str] = ()

    def _repr_html_(self) -> str:
        return registry.displayed(self)


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
            await model.prepare()
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
        account.on_retried = active.retried
        if going_on:
            active.continued = going_on.before(agent, dataset.tasks[chosen[0]].episode.actors)
        todo = unfinished(dataset.tasks, chosen, folder)
        active.store = store
        active.done = resumed = len(chosen) - len(todo)
        active.on_progress(resumed, len(chosen), {})
        outcome = await _play(active, todo, models, account) if todo else Outcome()
        if outcome.exhausted and account.used >= 1.0:  # by calls made since an episode was refused
            outcome = replace(outcome, exhausted=account.spent())
        learnt = [line for model in models.values() for line in model.lessons]
        told = [f"refused by the server and left out: {line}" for line in dict.fromkeys(learnt)]
        told += dict.fromkeys(line for model in models.values() for line in model.warnings)
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
        again = counted(account.retries, "request was", "requests were")
        told.append(f"{again} made again after a failure")
    if outcome.exhausted and account.calls:
        late = counted(account.late, "call was", "calls were")
        told.append(
            f"spent in all: {account.tokens:,} tokens, ${account.dollars:.4f}; "
            f"{late} under way when the budget was reached"
        )
    return told


async def _play(
    active: ActiveRun, todo: Sequence[int], models: Mapping[str, Model], account: Account
) -> Outcome:
    plan, person = active.plan, active.person
    spending = add_earlier(account, active.folder)
    session = _Session(active, account)
    most = account.turns = plan.max_steps or active.dataset.max_steps
    active.reporter = Reporter(active.folder.path, active.total, most)
    try:
        if plan.engine == "ray":
            from wayword.runs import ray_engine  # not for runs in this process

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

    def stepped(episode: str, step: Step) -> None:
        account.stepped()
        active.stepped(episode, step)

    setup = setup_of(active.plan, active.dataset, active.agent, models, stepped)
    return replace(
        setup,
        dataset=answered_by(active.dataset, person) if person else active.dataset,
        shared=Shared({PERSON: person} if person else {}),
        purse=account,
        continued=active.continued,
    )


def _notices(active: ActiveRun) -> list[str]:
    failed = [f"episode {name} failed: {reason}" for reason, name in active.reasons.items()]
    played = active.done + len(active.reasons)
    noted = [
        f"noted in {count} of {played} episodes: {kind.replace('_', ' ')}"
        for kind, count in sorted(active.noted.items())
        if kind not in QUIET
    ]
    if noted:
        noted[-1] += "; `wayword view` shows at which steps, and why"
    left = ", ".join(f"{n:,} {cause}" for cause, n in omitted(active.dataset).items())
    gone = [f"left out of the split: {left}"] if left else []
    gone += [f"note: {caveat}" for caveat in active.dataset.caveats]
    typed, now = active.plan.on.partition(":")[0], active.plan.dataset_name
    named = [f"the dataset {typed} is called {now} now"] if typed != now else []
    return [*named, *active.folder.notices, *gone, *failed[:5], *noted]


def counted(number: int, one: str, many: str) -> str:
    """``1 request was``, ``2 requests were``."""
    return f"{number:,} {one if number == 1 else many}"


def _silent(done: int, total: int, scores: Mapping[str, float]) -> None:
    return None
