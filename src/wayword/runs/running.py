"""Carry a plan out: parts, run folder, episodes, scores; and verify what was recorded.

from wayword.runs import Plan, run

result = run(Plan("navgpt", "houses", "local:smollm2", limit=20))
print(result.path, result.outcome.finished)
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from wayword.agents.person import PERSON, Person, Terminal, with_answerer, with_person
from wayword.core.action import Decision
from wayword.core.agent import Shared
from wayword.core.dataset import Dataset, Task, of_ids
from wayword.core.errors import UsageError, WaywordError
from wayword.core.game import Game
from wayword.core.model import Model
from wayword.core.recording import Continued
from wayword.core.rollout import Outcome
from wayword.core.rollout import run as run_episodes
from wayword.core.trajectory import Step, Trajectory
from wayword.metrics import scoring
from wayword.models.middleware.budget import Account
from wayword.runs import remote, tours
from wayword.runs.active import (
    ActiveRun,
    OnProgress,
    Reporter,
    choose,
    config_of,
    open_models,
    setup_of,
    unfinished,
)
from wayword.runs.codec import plain
from wayword.runs.config import Session, Spending, add_session
from wayword.runs.plan import (
    AgentParts,
    Plan,
    dataset_of,
    model_choices,
    open_agent,
    open_dataset,
    run_folder,
)
from wayword.runs.record import EpisodeRecord, RecordedRun, RunFolder, is_run
from wayword.runs.results import RunResult
from wayword.settings import merge
from wayword.worlds.household.observation import Answerer

# Continue a recorded episode from one of its steps, by any agent or person, as a new run:
#
#     wayword run navgpt --model openai:NAME --continue runs/first:5593_0:4
#
# The steps before the fourth are replayed as recorded; from there on the new agent decides.

_FORM = "write RUN:EPISODE:STEP, for example runs/first:5593_0:4"


@dataclass(frozen=True, slots=True)
class Place:
    """A step of a recorded episode, from 1: the first one that the new agent decides."""

    run: Path
    episode: str
    step: int

    @classmethod
    def read(cls, text: str) -> Place:
        """``runs/first:5593_0:4``. An episode's id may hold colons; the folder ends where a run
        folder is. Raises ``UsageError``."""
        before, _, step = text.rpartition(":")
        if not step.isdecimal() or not 1 <= int(step) < 10**6:
            raise UsageError(f"--continue {text}: {_FORM}")
        parts = before.split(":")
        for end in range(1, len(parts)):
            folder = Path(":".join(parts[:end]))
            if is_run(folder):
                return cls(folder, ":".join(parts[end:]), int(step))
        raise UsageError(f"--continue {text}: there is no run folder; {_FORM}")


@dataclass(frozen=True, slots=True)
class Continuation:
    """The recorded steps that a run starts from, and the identity of the run that took them."""

    place: Place
    identity: Mapping[str, Any]
    steps: tuple[Step, ...]

    @classmethod
    def open(cls, text: str) -> Continuation:
        """Raises ``UsageError`` for an episode or a step that does not exist."""
        place = Place.read(text)
        run = RunFolder.read(place.run)
        if place.episode not in run.index:
            raise UsageError(f"--continue: {place.run} has no finished episode {place.episode!r}")
        steps = run.record(place.episode).trajectory.steps
        if place.step > len(steps) + 1:
            raise UsageError(
                f"--continue: {place.episode} has {len(steps)} steps; there is no step "
                f"{place.step} to continue from"
            )
        return cls(place, run.config["identity"], tuple(steps[: place.step - 1]))

    def plan(self, plan: Plan) -> Plan:
        """The plan on the recorded run's episode, data and seed."""
        recorded = {"dataset": dict(self.identity.get("dataset_settings") or {})}
        return replace(
            plan,
            on=str(self.identity["dataset"]),
            settings=merge(plan.settings, recorded),
            episodes=(self.place.episode,),
            episode="",
            limit=None,
            shuffle=None,
            shard="",
            seed=int(self.identity.get("seed") or 0),
            max_steps=plan.max_steps or self.identity.get("max_steps"),
        )

    def before(self, agent: AgentParts, actors: Sequence[str]) -> dict[str, Continued]:
        """The steps to replay, by their episode's id. An actor whose agent took its steps itself,
        with the same settings, gets the recorded answers."""

        def agent_of(identity: Mapping[str, Any]) -> str:
            keys = ("agent", "settings", "agent_checksum", "prompts_checksum")
            return json.dumps([identity.get(key) for key in keys], sort_keys=True, default=str)

        same = set()
        for actor in actors:
            then = (self.identity.get("actors") or {}).get(actor, self.identity)
            if agent_of(then) == agent_of(agent.others.get(actor, agent).identity()):
                same.add(actor)
        return {self.place.episode: Continued(self.steps, frozenset(same))}

    def marked(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """The new run's config with the steps in its identity, and a caveat for all figures."""
        place = self.place
        taken = [
            [step.actor, str(getattr(step.decision, "action", "")), step.feedback.status]
            for step in self.steps
        ]
        before = hashlib.sha256(json.dumps(taken).encode()).hexdigest()[:16]
        continues = {"episode": place.episode, "step": place.step, "before": before}
        caveat = f"continues {place.run.name}: episode {place.episode} from the start"
        if place.step > 1:
            caveat = (
                f"continues {place.run.name}: steps 1 to {place.step - 1} of episode "
                f"{place.episode} were taken by {self.identity.get('agent', '')}"
            )
        return {
            **config,
            "identity": {**config["identity"], "continues": continues},
            "caveats": [*config["caveats"], caveat],
        }


# The run.


def add_earlier(account: Account, run: RunFolder) -> Spending:
    """Count what earlier sessions of the run spent, and log what is spent from now on."""
    columns = map(run.index.column, ("prompt_tokens", "completion_tokens", "cost"))
    read, written, costs = (np.nan_to_num(column) for column in columns)
    account.expect(zip((read + written).tolist(), costs.tolist(), strict=True))
    spending = Spending(run.path)
    account.tokens += spending.tokens
    account.dollars += spending.dollars
    account.ledger = spending
    return spending


def run(
    plan: Plan, on_progress: OnProgress | None = None, person: Person | None = None
) -> RunResult:
    """Play the plan's episodes, except those finished before. Blocks; see ``run_async``."""
    return asyncio.run(run_async(plan, on_progress, person))


async def run_async(
    plan: Plan, on_progress: OnProgress | None = None, person: Person | None = None
) -> RunResult:
    """Play the plan's episodes, except those finished before.

    Where a person plays or answers, it is ``person``, else the one at the terminal; episodes then
    come one after the other.
    Every finished episode is on disk at once; after a crash the same plan resumes.
    Raises ``UsageError``, ``DataError``, ``RecordingError`` before or instead of a broken run.
    """
    if not isinstance(plan, Plan):
        raise UsageError(f"a run takes a Plan, as in run(Plan('random', 'houses')), got {plan!r}")
    continued = Continuation.open(plan.continues) if plan.continues else None
    plan = continued.plan(plan) if continued else plan
    dataset = open_dataset(plan)
    agent = open_agent(plan, dataset)
    account = Account(plan.max_tokens, plan.max_dollars)
    models = open_models(plan, model_choices(plan, agent), account)  # before anything is written
    try:
        for model in models.values():
            await model.prepare()
        player = (person or Terminal()) if agent.needs_person or plan.ask else None
        config = config_of(plan, dataset, agent, models)
        config = continued.marked(config) if continued else config
        if plan.episodes:
            choose(plan, dataset.tasks)  # before a folder is made: a name may be mistyped
        out = plan.out or run_folder(plan, config["identity"])
        with remote.writing(out) as (path, store), RunFolder.open(path, config) as folder:
            chosen = choose(plan, dataset.tasks, folder)
            notify = on_progress or (lambda done, total, scores: None)
            active = ActiveRun(
                plan, dataset, agent, folder, len(chosen), notify, player, store=store
            )
            account.on_retried = active.retried
            if continued:
                actors = dataset.tasks[chosen[0]].episode.actors
                active.continued = continued.before(agent, actors)
            todo = unfinished(dataset.tasks, chosen, folder)
            active.done = resumed = len(chosen) - len(todo)
            active.on_progress(resumed, len(chosen), {})
            outcome = await _play(active, todo, models, account) if todo else Outcome()
            if outcome.exhausted and account.used >= 1.0:  # by calls made since the refusal
                outcome = replace(outcome, exhausted=account.spent())
            notices = [*active.all_notices(), *_bill(models, account, outcome)]
            return RunResult(out if store else path, outcome, resumed, notices, plan.data)
    finally:
        for model in models.values():
            await model.aclose()


async def _play(
    active: ActiveRun, todo: Sequence[int], models: Mapping[str, Model], account: Account
) -> Outcome:
    plan, person, path = active.plan, active.person, active.folder.path
    spending = add_earlier(account, active.folder)
    done, tokens, dollars = active.done, account.tokens, account.dollars
    began, started = time.perf_counter(), datetime.now(UTC).isoformat(timespec="seconds")
    account.estimate.limit = plan.max_steps or active.dataset.max_steps
    active.reporter = Reporter(path, active.total, account.estimate.limit, account, active.done)

    def stepped(episode: str, step: Step) -> None:
        account.stepped(step.decision)
        active.stepped(episode, step)

    try:
        if plan.engine == "ray":
            from wayword.runs import ray_engine  # not for runs in this process

            return await ray_engine.play(active, todo, account)
        setup = replace(
            setup_of(plan, active.dataset, active.agent, models, stepped),
            dataset=with_person(active.dataset, person) if person else active.dataset,
            shared=Shared({PERSON: person} if person else {}),
            gate=account,
            continued=active.continued,
        )
        if plan.remember:
            return await tours.play(active, todo, setup)
        tasks = (active.dataset.tasks[number] for number in todo)
        return await run_episodes(tasks, setup, active.ended, 1 if person else plan.concurrency)
    finally:
        active.reporter.write(active.done, over=True)
        try:
            spending.close()
        finally:
            session = Session(
                started,
                time.perf_counter() - began,
                active.done - done,
                max(0, account.tokens - tokens - active.finished_tokens),
                max(0.0, account.dollars - dollars - active.finished_dollars),
            )
            add_session(path, session)


def _bill(models: Mapping[str, Model], account: Account, outcome: Outcome) -> list[str]:
    """Notices: fields that servers refused, the models' warnings, requests repeated, the bill."""
    refused = dict.fromkeys(line for model in models.values() for line in model.lessons)
    notices = [f"refused by the server and left out: {line}" for line in refused]
    notices += dict.fromkeys(line for model in models.values() for line in model.warnings)
    if account.retries:
        again = counted(account.retries, "request was", "requests were")
        notices.append(f"{again} retried after a failure")
    if outcome.exhausted and account.calls:
        late = counted(account.late, "call was", "calls were")
        notices.append(
            f"spent in total: {account.tokens:,} tokens, ${account.dollars:.4f}; "
            f"{late} under way when the budget was reached"
        )
    return notices


def counted(number: int, one: str, many: str) -> str:
    """``1 request was``, ``2 requests were``."""
    return f"{number:,} {one if number == 1 else many}"


# Play every recorded action again, and compute every score again: ``wayword verify RUN``.
#
# A figure that was changed, by a damaged disk or by hand, is found even where its record is whole:
# the world answers the recorded actions, and the metrics follow from that. What only a model knows
# (its answers, their tokens and cost) is taken as recorded.


def recorded_answers(trajectory: Trajectory) -> Answerer | None:
    """An answerer that gives the answers of then, in order; None where no one was asked.

    Where someone answers, agents know that they can ask: an episode in which no one did is
    replayed as it was.
    """
    answers = [
        step.feedback.details.get("answer") if step.feedback.ok else None
        for step in trajectory.steps
        if isinstance(step.decision, Decision) and step.decision.action.name == "ask"
    ]
    given = iter(answers)
    return (lambda actor, question: next(given, None)) if answers else None


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
            yield record.episode_id, _difference(dataset, task, record)
        except WaywordError as error:
            yield record.episode_id, f"cannot be played again: {error}"


def _difference(dataset: Dataset, task: Task, record: EpisodeRecord) -> str:
    if record.trajectory.episode_id != record.episode_id:
        return f"holds the trajectory of episode {record.trajectory.episode_id!r}"
    trials = record.trajectory.trials()
    for number, trial in enumerate(trials, 1):
        if difference := _replayed(dataset, task, trial):
            return difference if len(trials) == 1 else f"trial {number}: {difference}"
    (scores,) = scoring.score(dataset, [(task, record.trajectory)])
    return _first(scores, record.scores, "score")


def _replayed(dataset: Dataset, task: Task, recorded: Trajectory) -> str:
    """The first difference between a trajectory and what its actions lead to."""
    world = with_answerer(dataset.world(task.episode), recorded_answers(recorded))
    if unknown := {step.actor for step in recorded.steps} - set(world.actors):
        return f"there is no actor {min(unknown)!r}"
    game = Game(world, task.episode)
    if difference := _first(game.trajectory.start, recorded.start, "start of"):
        return difference
    for number, step in enumerate(recorded.steps, 1):
        now = game.act(step.actor, step.decision)
        for part in ("observation", "decision", "feedback", "pose"):
            if plain(getattr(now, part)) != plain(getattr(step, part)):
                return f"step {number}: the {part} differs"
    ended = "stopped" if all(map(world.done, world.actors)) else "step_limit"
    if ended != recorded.ended:
        return f"ends as {ended}, and is recorded as {recorded.ended}"
    return _first(world.state(), recorded.state, "final state of")


def _first(now: Mapping[str, Any], recorded: Mapping[str, Any], what: str) -> str:
    """The first entry that differs."""
    ours, theirs = plain(now), plain(recorded)
    for key in {**ours, **theirs}:
        if ours.get(key) != theirs.get(key):
            new, old = (
                text if len(text := repr(each.get(key))) <= 60 else f"{text[:57]}..."
                for each in (ours, theirs)
            )
            return f"{what} {key!r} is {new}, recorded {old}"
    return ""
