"""Play episodes: a world and its actors' agents become a trajectory; many at once.

Agents that learn may play an episode several times: the world is reset, the agents are kept.
"""

from __future__ import annotations

import asyncio
import inspect
import random
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Set
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol

from wayword.core import interrupts
from wayword.core.action import (
    ActionSpace,
    Decision,
    Rejection,
    decision_problem,
    legal,
    nearest_legal,
)
from wayword.core.agent import Agent, Demonstrations, Shared, Toolkit, check_family
from wayword.core.blame import (
    CodeError,
    describe,
    is_shipped,
    of_users_data,
    place_of,
    returned,
    user_frame,
)
from wayword.core.dataset import Dataset, Task
from wayword.core.episode import Episode
from wayword.core.errors import (
    BudgetExhausted,
    DataError,
    ModelUnusable,
    RecordingError,
    UsageError,
    WaywordError,
)
from wayword.core.game import ActionPlan, Game, limited
from wayword.core.model import Model
from wayword.core.perceiver import WatchedPerceiver
from wayword.core.recording import Continued, Log, RecordedModel, retake
from wayword.core.sight import Eyes
from wayword.core.trajectory import Step, Trajectory, Verdict
from wayword.core.world import Observation, World

MakeAgent = Callable[[Toolkit, str], Agent]
"""Builds the agent of one actor for one episode."""

Judge = Callable[[Task, Trajectory], bool]
"""True if a trial succeeded."""


class SpendingGate(Protocol):
    """A budget, notified at each episode's start and end in the asyncio task that plays it."""

    def begin(self, *, episode: str) -> object:
        """Admit the episode with this ID. Raises ``BudgetExhausted`` if too little is left to
        finish it."""

    def end(self, complete: bool) -> None:
        """Record the end of an episode; ``complete`` is true if it was played to its end."""


@dataclass(frozen=True, slots=True)
class Setup:
    """Parts shared by all episodes of a run.

    ``max_steps`` counts turns per actor. ``on_step`` is called after every step, with the
    episode's id. ``shared`` holds what the agents of a run build once, such as examples. ``trials``
    limits how often learning agents play an episode, and ``judge`` stops them at a success; without
    it agents get no verdict. ``gate`` decides whether the budget allows another episode.
    ``demonstrations`` replaces the dataset's method of that name. ``continued`` maps an episode id
    to the recorded steps it continues from. ``turns`` ends an episode before ``max_steps``, the
    limit that agents know: a rehearsal sends the prompts of a run.
    """

    dataset: Dataset
    make_agent: MakeAgent
    models: Mapping[str, Model] = field(default_factory=dict)
    seed: int = 0
    max_steps: int = 30
    on_step: Callable[[str, Step], None] | None = None
    shared: Shared = field(default_factory=Shared)
    trials: int = 1
    judge: Judge | None = None
    gate: SpendingGate | None = None
    demonstrations: Demonstrations | None = None
    continued: Mapping[str, Continued] = field(default_factory=dict)
    turns: int | None = None


async def rollout(task: Task, setup: Setup) -> Trajectory:
    """Play one episode to its end.

    If a model fails permanently, or an agent or world raises, the episode ends as ``failed`` with
    the reason. Raises only ``BudgetExhausted``, ``ModelUnusable``, ``RecordingError`` and
    ``UsageError``, which concern the full run: a wrong key would fail every episode.
    """
    # Measured from outside, including the making of the world.
    began = time.perf_counter()
    play = _EpisodeRun(task, setup)
    try:
        await play.to_the_end()
    # Errors of the run pass; those of the episode end it as failed.
    except (BudgetExhausted, ModelUnusable, RecordingError):
        raise
    except UsageError as error:
        frame = user_frame(error)
        if frame is None or frame.filename in str(error):
            raise
        where = f"{frame.filename}:{frame.lineno}"
        raise UsageError(f"{error} ({where})") from error
    except DataError as error:
        play.fail(of_users_data(error, type(setup.dataset)))
    except WaywordError as error:
        play.fail(str(error))
    except asyncio.CancelledError as error:
        task_of_run = asyncio.current_task()
        # A user's code raised it and the run was not cancelled: it would end without a message.
        if task_of_run is None or task_of_run.cancelling() or interrupts.is_requested():
            raise
        play.fail(describe(error))
    # One episode's bug must not end a run of thousands, nor an exit() in a user's code.
    except (Exception, SystemExit) as error:  # noqa: BLE001
        problem = describe(error)
        if user_frame(error) is None:
            problem = of_users_data(problem, type(setup.dataset))
        play.fail(problem)
    *earlier, trajectory = play.trials
    trajectory.earlier = earlier
    trajectory.seconds = time.perf_counter() - began
    return trajectory


def _awaitable(value: Any, agent: Agent, method: str) -> Awaitable[Any]:
    """Return the awaitable. Raises ``UsageError`` if a method was declared without ``async``."""
    # Without this, a forgotten ``async`` would fail every episode with an obscure
    # message.
    if not inspect.isawaitable(value):
        expected = "must be declared with `async def`"
        if inspect.isasyncgen(value):
            expected = "must return its answer; write `return` in place of `yield`"
        place = place_of(getattr(type(agent), method))
        raise UsageError(f"{place}: {type(agent).__name__}.{method} {expected}")
    return value


async def begin_episode(agent: Agent, episode: Episode) -> None:
    """Let an agent begin an episode. Raises ``UsageError`` if it cannot be awaited."""
    await _awaitable(agent.begin(episode), agent, "begin")


async def decide(
    agent: Agent, observation: Observation, space: ActionSpace
) -> Decision | Rejection:
    """Return an agent's decision. Raises ``UsageError`` if it cannot be awaited, and ``CodeError``
    for anything that is no decision."""
    # Of a user's agent, anything.
    decision: Any = await _awaitable(agent.act(observation, space), agent, "act")
    if problem := decision_problem(decision):
        for value in (decision, getattr(decision, "action", None)):
            if inspect.iscoroutine(value):
                problem = "act returned a coroutine; write `await` before the call"
                value.close()
        raise CodeError(f"{place_of(type(agent).act)}: {problem}")
    accepted: Decision | Rejection = decision
    return accepted


def _with_nearest(decision: Decision, space: ActionSpace) -> Decision | Rejection:
    """Return a decision of a user's code; if it is illegal, a rejection with the nearest legal
    actions."""
    checked = legal(decision, space)
    if not isinstance(checked, Rejection):
        return checked
    hint = nearest_legal(decision.action, space)
    return replace(checked, reason=f"{checked.reason}; {hint}")


class _EpisodeRun:
    """A running episode: a world, its actors' agents, and the trials so far.

    ``trials`` has the trajectories; after ``to_the_end`` or ``fail`` there is at least
    one.
    """

    def __init__(self, task: Task, setup: Setup) -> None:
        self._task = task
        self._setup = setup
        self._log = Log()
        self._agents: dict[str, Agent] = {}
        self._rngs: dict[str, random.Random] = {}
        self.trials: list[Trajectory] = []

    async def to_the_end(self) -> None:
        """Play trials until no agent requests another or the limit is reached."""
        task = self._task
        setup = self._setup
        world = new_world(setup.dataset, task.episode)
        game = self._new_game(world)
        # A random generator per actor, so that one actor's draws never shift another's.
        for actor in world.actors:
            rng = random.Random(actor_seed(setup.seed, task, actor))
            self._rngs[actor] = rng
            self._agents[actor] = seat(task, setup, world, actor, rng, self._log)
        await self._trial(game)

        # Further trials with the same agents, as long as one that learns wants another.
        learners = [agent for agent in self._agents.values() if agent.learns]
        # Only learning agents play again, and only up to the limit.
        while learners and len(self.trials) < setup.trials:
            trial = self.trials[-1]
            number = len(self.trials)
            succeeded = None
            if setup.judge is not None:
                succeeded = setup.judge(task, trial)
            # Every actor's steps count, as the trial belongs to all.
            steps = len(trial.steps)
            trial.verdict = Verdict(
                number - 1,
                setup.trials,
                succeeded,
                trial.ended,
                steps,
            )
            # After a success there is nothing left to learn.
            if succeeded:
                break
            wishes = [await agent.reflect(trial.verdict) for agent in learners]
            # Reflection is billed and recorded with the trial that it looks back at.
            trial.closing_calls, trial.closing_notes = self._log.drain()
            if not any(wishes):
                break
            # Another seed per trial, so that a random agent does not repeat itself.
            for actor, rng in self._rngs.items():
                rng.seed(f"{actor_seed(setup.seed, task, actor)}/{number}")
            await self._trial(self._new_game(world))

    def fail(self, reason: str) -> None:
        """End the current trial with a reason; its steps so far, and unrecorded calls, are kept."""
        if not self.trials:  # no world exists yet
            self.trials.append(Trajectory(self._task.episode.id, start={}))
        trial = self.trials[-1]
        # Calls that belong to no step are kept, as they were paid.
        calls, notes = self._log.drain()
        trial.opening_calls += calls
        trial.opening_notes += notes
        trial.ended = "failed"
        trial.error = reason

    def _new_game(self, world: World) -> Game:
        """Start a trial: reset the world, and add its trajectory to the trials."""
        turns = self._setup.turns or self._setup.max_steps
        game = Game(world, self._task.episode, turns)
        self.trials.append(game.trajectory)
        return game

    async def _trial(self, game: Game) -> None:
        """Play one trial, after the recorded steps that it continues from, if there are any."""
        began = time.perf_counter()
        trial = game.trajectory
        earlier = self._setup.continued.get(self._task.episode.id)
        # Oracles plan from where they start, so they begin after the recorded steps.
        informed = {
            a for a, agent in self._agents.items() if earlier and agent.sees_answer
        }
        await self._begin(self._agents.keys() - informed)
        trial.opening_calls, trial.opening_notes = self._log.drain()
        if earlier:
            await retake(game, earlier, self._agents, informed, self._log)
            for step in trial.steps:
                self._report_step(step)
            await self._begin(informed)  # oracles plan from their start
        for actor in game.turns():
            self._report_step(await self._turn(game, actor))
        # The final state is read once the last actor is done.
        game.finished()
        trial.seconds = time.perf_counter() - began

    async def _turn(self, game: Game, actor: str) -> Step:
        """Play one turn; the step holds its model calls, notes, percept and duration."""
        began = time.perf_counter()
        agent = self._agents[actor]
        space = game.space(actor)
        decision = await decide(agent, game.observation(actor), space)
        if isinstance(decision, Decision) and self._is_users(agent):
            decision = _with_nearest(decision, space)
        # The game decides what is legal; the step holds the decision as carried out.
        step = game.act(actor, decision)
        agent.on_feedback(step.decision, step.feedback)
        # Drained after the step: what the agent noted belongs to its turn.
        step.calls, step.notes = self._log.drain()
        step.percept = self._log.drain_percept()
        step.seconds = time.perf_counter() - began
        return step

    def _is_users(self, agent: Agent) -> bool:
        """True if a user's code chooses the actions of an agent, or the plan that it follows."""
        is_plan = bool(agent.follows) and not is_shipped(type(self._setup.dataset))
        return is_plan or not is_shipped(type(agent))

    def _report_step(self, step: Step) -> None:
        """Report a step to the run, if it listens."""
        if self._setup.on_step:
            self._setup.on_step(self._task.episode.id, step)

    async def _begin(self, actors: Set[str]) -> None:
        """Let the agents of some actors begin the episode, in the world's order."""
        for actor, agent in self._agents.items():
            if actor in actors:
                await begin_episode(agent, self._task.episode.for_actor(actor))


def new_world(dataset: Dataset, episode: Episode) -> World:
    """Return the world of an episode. Raises ``CodeError`` if a user's dataset gives another
    object."""
    method = dataset.world
    world: World = returned(method, method(episode), World, "a World")
    return world


def actor_seed(seed: int, task: Task, actor: str) -> str:
    """Return the seed of the ``rng`` of an actor's agent in one episode."""
    return f"{seed}/{task.episode.id}/{actor}"


def seat(
    task: Task,
    setup: Setup,
    world: World,
    actor: str,
    rng: random.Random,
    log: Log,
) -> Agent:
    """Build the agent of one actor with its toolkit, and reveal the answer to an oracle.

    Calls, notes and percepts of the agent are recorded in ``log``. Raises
    ``UsageError`` if it does not play the dataset's family.
    """
    dataset = setup.dataset
    perceiver = dataset.perceiver()
    # Pictures only for datasets that can draw them, in runs that ask for them.
    eyes = None
    if dataset.eyes is not None and (painter := dataset.painter()):
        eyes = Eyes(dataset.eyes, painter, world, actor)
    toolkit = Toolkit(
        models={
            role: RecordedModel(model, role, log)
            for role, model in setup.models.items()
        },
        perceiver=WatchedPerceiver(perceiver, log.read) if perceiver else None,
        rng=rng,
        note=log.note,
        shared=setup.shared,
        demonstrations=setup.demonstrations or dataset.demonstrations,
        max_steps=setup.max_steps,
        needs_stop=setup.dataset.needs_stop,
        eyes=eyes,
    )
    agent = setup.make_agent(toolkit, actor)
    follows = type(agent).follows
    if not follows or follows not in dataset.solutions:
        check_family(type(agent), dataset.family.name, type(dataset).__name__)
    # Only agents that say so see the answer.
    if agent.sees_answer:
        plan = partial(_plan_within, setup.max_steps, dataset, task, world, actor)
        agent.reveal(task.reference, world, plan)
    return agent


def _plan_within(max_steps: int, dataset: Dataset, *of: Any) -> ActionPlan:
    """Return a dataset's plan with the limit of a run, which may be longer than the dataset's."""
    return limited(dataset.plan(*of), max_steps)


def finish(coroutine: Any) -> Any:
    """Return the result of a coroutine that never waits, even inside an event loop.

    Raises ``UsageError`` if it does wait.
    """
    # A coroutine that never waits ends at its first step.
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    coroutine.close()
    raise UsageError(
        "the other actors' agent awaits a result; use one that needs no model"
    )


# Models are awaited, worlds are synchronous and fast: one thread runs hundreds of episodes at once.

OnEnd = Callable[[Task, Trajectory], None]
"""Called as soon as an episode ends, also a failed one. An exception from it ends the run."""


@dataclass(slots=True)
class Outcome:
    """Outcome of a run.

    ``exhausted`` is the error message if the budget was spent, ``unusable`` if a model
    refuses every call; both end it early.
    """

    finished: int = 0
    failed: int = 0
    exhausted: str = ""
    unusable: str = ""

    @property
    def complete(self) -> bool:
        """True if every episode was played to its end."""
        return not (self.failed or self.exhausted or self.unusable)


async def run(
    tasks: Iterable[Task],
    setup: Setup,
    on_end: OnEnd,
    concurrency: int = 8,
) -> Outcome:
    """Play every task, ``concurrency`` episodes at a time.

    A failed episode is counted and the rest continue. A spent budget, or a model that refuses every
    call, ends the run: no new episode starts, and running ones continue as far as they can.
    """
    outcome = Outcome()
    gate = setup.gate
    queue = iter(tasks)

    async def play(task: Task) -> Trajectory:
        """Play one episode, with its begin and end reported to the gate."""
        complete = False
        if gate is not None:
            gate.begin(episode=task.episode.id)
        try:
            trajectory = await rollout(task, setup)
            complete = trajectory.ended != "failed"
            return trajectory
        finally:
            if gate is not None:
                gate.end(complete)

    async def work() -> None:
        """Play episodes from the shared queue until it is empty or the run has to end."""
        for task in queue:
            if outcome.exhausted or outcome.unusable:
                return
            try:
                trajectory = await play(task)
            except BudgetExhausted as error:
                outcome.exhausted = outcome.exhausted or str(error)
                return
            except ModelUnusable as error:
                outcome.unusable = outcome.unusable or str(error)
                return
            on_end(task, trajectory)
            if trajectory.ended == "failed":
                outcome.failed += 1
            else:
                outcome.finished += 1
            # Agents that never wait must yield to the other episodes.
            await asyncio.sleep(0)

    try:
        with interrupts.listening():
            async with asyncio.TaskGroup() as group:
                for _ in range(max(1, concurrency)):
                    group.create_task(work())
    except BaseExceptionGroup as errors:
        raise first_error(errors) from None
    return outcome


def first_error(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the error that ended the run, from its exception group."""
    error: BaseException = errors
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
