"""Execute a plan, and continue a recorded episode.

from wayword.runs import Plan, run

result = run(Plan("navgpt", "houses", "local:smollm2", limit=20))
print(result.path, result.outcome.finished)
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import numpy as np

from wayword.agents.person import (
    PERSON,
    AnsweredDataset,
    Person,
    Terminal,
)
from wayword.core import registry
from wayword.core.agent import Shared
from wayword.core.blocking import blocking
from wayword.core.dataset import Dataset
from wayword.core.episode import JsonObject
from wayword.core.errors import RecordingError, UsageError
from wayword.core.files import text_checksum
from wayword.core.model import Model
from wayword.core.recording import Continued
from wayword.core.rollout import Outcome
from wayword.core.rollout import run as run_episodes
from wayword.core.trajectory import Step
from wayword.core.visible import count, in_dollars
from wayword.models.middleware.budget import Account
from wayword.runs import remote, tours
from wayword.runs.active import (
    ActiveRun,
    OnProgress,
    Reporter,
    RunListener,
    config_of,
    setup_of,
)
from wayword.runs.cast import AgentParts
from wayword.runs.config import BATCHES, Session, Spending, add_session
from wayword.runs.identity import agents_identity, run_folder
from wayword.runs.opening import (
    model_choices,
    model_notices,
    named_files,
    open_agent,
    open_dataset,
    open_models,
    plan_of,
    trusted_files,
)
from wayword.runs.plan import Plan
from wayword.runs.record import (
    DROPPED,
    RecordedRun,
    RunFolder,
    check_changeable,
    drop,
    is_run,
)
from wayword.runs.results import RunResult
from wayword.runs.selection import (
    LEVEL,
    at_level,
    choose,
    in_recorded_order,
    unfinished,
)
from wayword.settings import merge

# Continue a recorded episode from one of its steps, with any agent or person, as a new run:
#
#     wayword run navgpt --model openai:NAME --continue runs/first:5593_0:4
#
# Steps 1 to 3 are replayed as recorded; the new agent decides from step 4.

_EXPECTED = "write RUN:EPISODE:STEP, for example runs/first:5593_0:4"


@dataclass(frozen=True)
class Continuation:
    """The recorded steps that a run starts with, and the identity of the run that recorded them.
    ``step`` counts from 1 and is the first one that the new agent decides."""

    run: Path
    episode: str
    step: int
    identity: Mapping[str, Any]
    steps: tuple[Step, ...]

    @classmethod
    def open(cls, text: str) -> Continuation:
        """Read ``runs/first:5593_0:4``. Folder names and ids may contain colons; the first prefix
        that is a run folder counts. Raises ``UsageError`` if it does not name a step."""
        # The step is the last part, and counts from 1.
        before, _, step = text.rpartition(":")
        if not step.isdecimal() or not 1 <= int(step) < 10**6:
            raise UsageError(f"--continue {text}: {_EXPECTED}")
        parts = before.split(":")
        # Every colon may be the end of the folder's name, so all are tried.
        splits = (
            (":".join(parts[:i]), ":".join(parts[i:])) for i in range(1, len(parts))
        )
        path, episode = next(
            (pair for pair in splits if is_run(Path(pair[0]))),
            ("", ""),
        )
        if not path:
            raise UsageError(f"--continue {text}: no such run folder; {_EXPECTED}")
        run = RecordedRun(path)
        if episode not in run.index:
            raise UsageError(f"--continue: {path} has no finished episode {episode!r}")
        steps = run.record(episode).trajectory.steps
        # The step after the last one is allowed: an episode that was cut off goes on.
        if int(step) > len(steps) + 1:
            problem = (
                f"cannot continue {episode} from step {step}: it has {len(steps)} steps"
            )
            raise UsageError(f"--continue: {problem}")
        # The steps before the given one.
        taken = tuple(steps[: int(step) - 1])
        return cls(Path(path), episode, int(step), run.config["identity"], taken)

    def plan(self, plan: Plan) -> Plan:
        """Return the plan of the continued run, with its recorded data and seed."""
        # The recorded data and seed, so that the steps can be replayed.
        recorded = plan_of(self.identity, plan.data, plan.trusted)
        settings = {name: recorded.group(name) for name in ("dataset", "perturb")}
        # Selections of episodes make no sense for a single one, so they are cleared.
        return replace(
            plan,
            on=recorded.on,
            settings=merge(plan.settings, settings),
            episodes=(self.episode,),
            episode="",
            limit=None,
            first=False,
            shuffle=None,
            shard="",
            seed=self.identity.get("seed") or 0,
            max_steps=plan.max_steps or self.identity.get("max_steps"),
        )

    def before(self, agent: AgentParts, actors: Sequence[str]) -> dict[str, Continued]:
        """The steps to replay, by episode id. Actors played by the same agent with the same
        settings as in the recorded run also get the recorded answers."""

        def agent_of(identity: JsonObject) -> str:
            """Return the part of an identity that names the agent."""
            keys = ("agent", "settings", "agent_checksum", "prompts_checksum")
            return json.dumps(
                [identity.get(key) for key in keys],
                sort_keys=True,
                default=str,
            )

        # Another agent gets no answers, because its prompts differ.
        # Actors with the recorded agent replay its answers, so that its memory is the
        # same.
        recorded = self.identity["actors"]
        same = frozenset(
            actor
            for actor in actors
            if agent_of(recorded.get(actor, self.identity))
            == agent_of(agents_identity(agent.others.get(actor, agent)))
        )
        return {self.episode: Continued(self.steps, same)}

    def marked(self, config: JsonObject) -> JsonObject:
        """The new run's config, with the replayed steps in its identity and as a caveat."""
        # The steps taken are part of the identity: what follows depends on them.
        taken = [
            [
                step.actor,
                str(getattr(step.decision, "action", "")),
                step.feedback.status,
            ]
            for step in self.steps
        ]
        before = text_checksum(json.dumps(taken), 16)
        continues = {"episode": self.episode, "step": self.step, "before": before}
        caveat = f"continues {self.run.name}: episode {self.episode} from the start"
        # A caveat, as the score is not the new agent's alone.
        if self.step > 1:
            caveat = (
                f"continues {self.run.name}: {self.identity['agent']} took steps 1 to "
                f"{self.step - 1} of episode {self.episode}"
            )
        return {
            **config,
            "identity": {**config["identity"], "continues": continues},
            "caveats": [*config["caveats"], caveat],
        }


# The run.


def run(
    plan: Plan,
    on_progress: OnProgress | None = None,
    person: Person | None = None,
) -> RunResult:
    """Run ``run_async`` and wait for its result."""
    return blocking(run_async(plan, on_progress, person))


async def run_async(
    plan: Plan,
    on_progress: OnProgress | None = None,
    person: Person | None = None,
) -> RunResult:
    """Play the plan's episodes, except those that are already finished.

    Each episode is stored as soon as it is finished; after a crash, the same plan resumes. If a
    person plays or answers (``person``, by default the one at the terminal), episodes are played
    one at a time. Raises ``UsageError``, ``DataError`` or ``RecordingError``.
    """
    # A text instead of a plan is the most common mistake.
    if not isinstance(plan, Plan):
        raise UsageError(
            f"a run takes a Plan, as in run(Plan('random', 'houses')), got {plan!r}"
        )
    continued = None
    if plan.continues:
        continued = Continuation.open(plan.continues)
        plan = continued.plan(plan)

    # Open all parts before anything is written. A misspelled agent is named before what its
    # dataset lacks.
    registry.load("agent", plan.agent)
    dataset = open_dataset(plan)
    # A missing file is named before a missing key is asked for.
    _ = dataset.files
    agent = open_agent(plan, dataset)
    account = Account(plan.max_tokens, plan.max_dollars)
    models = open_models(plan, model_choices(plan, agent), account)
    try:
        # Every model is prepared before a folder is made.
        for model in models.values():
            await model.prepare()
        player = _player(plan, agent, person)
        config = config_of(plan, dataset, agent, models)
        if continued:
            config = continued.marked(config)
        if plan.episodes:
            choose(plan, dataset.tasks)  # checks the names before a folder is created
        # Resume the run in the folder, or begin one.
        out = plan.out or run_folder(plan, config["identity"])
        with ExitStack() as opened:
            path, store = opened.enter_context(remote.writing(out))
            _check_prices(plan, path, account)
            plan = in_recorded_order(plan, path)
            # Set after the folder is known: a resumed run keeps its order.
            config["identity"]["shuffle"] = plan.order
            redone = 0
            # Dropped records leave the file before it is opened for playing.
            if plan.redo:
                redone = _redo(out, path, config, plan.redo)
            folder = opened.enter_context(RunFolder.open(path, config))
            # The level is computed from the episodes played so far.
            if plan.episode == LEVEL:
                plan = replace(
                    plan,
                    episode=at_level(dataset, folder, config["success"]),
                )
            chosen = choose(plan, dataset.tasks, folder)
            notify = on_progress or (lambda done, total, scores: None)
            active = ActiveRun(
                plan,
                dataset,
                agent,
                folder,
                len(chosen),
                notify,
                player,
                store=store,
            )
            account.on_retried = active.retried
            if continued:
                actors = dataset.tasks[chosen[0]].episode.actors
                active.continued = continued.before(agent, actors)
            if redone:
                records = count(redone, "record")
                active.notices.append(f"{records} moved to {path / DROPPED}")
            # Play what is left.
            todo = unfinished(dataset.tasks, chosen, folder)
            # What is finished counts as done from the start.
            active.done = resumed = len(chosen) - len(todo)
            # Only a run that plays anything begins.
            if todo and isinstance(on_progress, RunListener):
                on_progress.begin(folder)
            active.on_progress(resumed, len(chosen), {})
            outcome = Outcome()
            if todo:
                # Nothing left: the outcome is empty, and the result is read from the
                # folder.
                outcome = await _play(active, todo, models, account)
            # Calls in flight spent more since
            if outcome.exhausted and account.used >= 1.0:
                outcome = replace(outcome, exhausted=account.spent())
            notices = [*active.all_notices(), *_bill(models, account, outcome)]
            # The caller named these files, so the result may open them.
            named = [Path(file).absolute() for file in named_files(plan)]
            return RunResult(
                out if store else path,
                outcome,
                resumed,
                notices,
                plan.data,
                trusted=(*trusted_files(plan.trusted), *named),
                chosen=len(chosen),
            )
    finally:
        # Models are closed however the run ended.
        for model in models.values():
            await model.aclose()


def _check_prices(plan: Plan, path: Path, account: Account) -> None:
    """Raise ``UsageError`` for a new run with a limit of dollars and a model without a price: it
    would leave an empty folder. Cached answers need no price."""
    if plan.cache is None and not is_run(path):
        account.require_prices()


def _redo(out: Path, path: Path, config: JsonObject, episodes: Sequence[str]) -> int:
    """Drop the records of episodes, and return their number. Raises ``UsageError`` without a run or
    for a run in a store, and the errors of a folder with another one."""
    check_changeable(out)  # path is its working copy on this machine
    if not is_run(path):
        raise UsageError(f"--redo: {path} is not a run folder; leave --redo out")
    RunFolder.open(path, config).close()
    return drop(path, episodes)


def _player(plan: Plan, agent: AgentParts, person: Person | None) -> Person | None:
    """The person who plays or answers, by default at the terminal; None if none is needed."""
    # A person is needed to play, or to answer questions.
    if plan.ask or any(each.cls.needs_person for each in agent.playing()):
        return person or Terminal()
    return None


async def _play(
    active: ActiveRun,
    todo: Sequence[int],
    models: Mapping[str, Model],
    account: Account,
) -> Outcome:
    """Play the remaining episodes within the account.

    ``todo`` are numbers of the dataset's tasks. Earlier sessions count towards the account. Status,
    bill and session are written however the run ends.
    """
    plan = active.plan
    person = active.person
    path = active.folder.path
    # Add the cost of earlier sessions, and open the log of new costs. Both come before the first
    # call, which the budget may have to refuse.
    columns = map(
        active.folder.index.column,
        ("prompt_tokens", "completion_tokens", "cost"),
    )
    # Costs of finished episodes predict those of the next ones. Missing numbers count as 0.
    prompt, completion, costs = (np.nan_to_num(column) for column in columns)
    account.expect(zip((prompt + completion).tolist(), costs.tolist(), strict=True))
    spending = Spending(path)
    account.resume(spending, spending.totals)
    for model in models.values():
        model.keep_in(path / BATCHES)
    active.notices += account.keep_prices(spending.prices)
    spending.use_prices(account.prices)
    done = active.done
    began = time.perf_counter()
    started = datetime.now(UTC).isoformat(timespec="seconds")
    # The longest episode bounds the estimate of the next one's cost.
    account.estimate.limit = plan.max_steps or active.dataset.max_steps
    active.reporter = Reporter(
        path,
        active.total,
        account.estimate.limit,
        account,
        active.done,
    )

    def stepped(episode: str, step: Step) -> None:
        """Count a step in the account and in the run."""
        account.stepped(step.decision)
        active.stepped(episode, step)

    try:
        # Imported here, as Ray takes seconds.
        if plan.engine == "ray":
            from wayword.runs import ray_engine  # not for runs in this process

            return await ray_engine.play(active, todo, account)
        setup = replace(
            setup_of(plan, active.dataset, active.agent, models, stepped),
            gate=account,
            continued=active.continued,
        )
        # One episode at a time: a person cannot play two, and there is only one robot.
        concurrency = plan.concurrency
        if active.dataset.live:
            if min(concurrency, len(todo)) > 1:
                active.notices.append("one episode at a time, as they share the robot")
            concurrency = 1
        if person:
            concurrency = 1
            answered = cast(Dataset, AnsweredDataset(active.dataset, person))
            setup = replace(setup, dataset=answered, shared=Shared({PERSON: person}))
        # Agents that remember play their episodes in order.
        if plan.remember:
            return await tours.play(active, todo, setup)
        tasks = (active.dataset.tasks[number] for number in todo)
        return await run_episodes(tasks, setup, active.ended, concurrency)
    # Written however the run ends: status, bill and session.
    finally:
        active.reporter.write(active.done, over=True)
        seconds = time.perf_counter() - began
        try:
            spending.close()
            add_session(path, Session(started, seconds, active.done - done))
        except RecordingError as error:
            # the episodes are stored: only a table's wall time needs this file
            active.notices.append(f"the session's wall time was not recorded: {error}")


def _bill(models: Mapping[str, Model], account: Account, outcome: Outcome) -> list[str]:
    """Notices about the models, retries, and an exhausted budget."""
    notices = model_notices(models)
    # Retries are reported, since they cost time and perhaps money.
    if account.retries:
        requests = were(account.retries, "request")
        notices.append(f"{requests} retried after a failure")
    if outcome.exhausted and account.calls:
        late = were(account.late, "call")
        dollars = in_dollars(account.dollars)
        if account.unpriced:
            dollars = "cost unknown"
        notices.append(
            f"spent in total: {account.tokens:,} tokens, {dollars}; "
            f"{late} in progress when the budget was reached"
        )
    return notices


def were(number: int, noun: str) -> str:
    """``1 request was``, ``2 requests were``."""
    return f"{count(number, noun)} {'was' if number == 1 else 'were'}"
