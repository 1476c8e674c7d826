"""One episode: a world, its actors' agents, and the trajectory they leave.

Agents that learn may try it several times: the world begins anew, the agents are the same.
"""

from __future__ import annotations

import asyncio
import random
import time
import traceback
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from wayword.core.agent import Agent, Demonstrations, Shared, Toolkit, check_family
from wayword.core.dataset import Dataset, Task
from wayword.core.errors import (
    BudgetExhausted,
    ModelUnusable,
    RecordingError,
    UsageError,
    WaywordError,
)
from wayword.core.game import Game
from wayword.core.model import Model
from wayword.core.perceiver import WatchedPerceiver
from wayword.core.recording import Continued, Log, RecordedModel, retake
from wayword.core.trajectory import Step, Trajectory, Verdict
from wayword.core.world import World

MakeAgent = Callable[[Toolkit, str], Agent]
"""Builds the agent of one actor for one episode."""

Judge = Callable[[Task, Trajectory], bool]
"""Whether a trial succeeded."""


class Purse(Protocol):
    """Whatever pays for episodes: told when one begins and ends, in the task that plays it."""

    def begin(self) -> None:
        """An episode begins. Raises ``BudgetExhausted`` where what is left would not see it
        through."""
        ...

    def end(self, whole: bool) -> None:
        """The episode has ended; ``whole`` says that it was played to its end."""
        ...


@dataclass(frozen=True, slots=True)
class Setup:
    """What all episodes of a run share.

    ``max_steps`` counts turns of each actor. ``on_step`` is told of every step at once, with its
    episode's id. ``shared`` is the agents' own memory over the run: see
    :class:`~wayword.core.agent.Toolkit`. ``trials`` is how often agents that learn may play an
    episode, and ``judge`` ends that at a success; with none they are told nothing. ``purse``
    decides whether another episode can be paid for.
    ``demonstrations`` replaces the dataset's own way of drawing solved examples. ``continued``
    holds the recorded steps that an episode goes on from, by its id.
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
    purse: Purse | None = None
    demonstrations: Demonstrations | None = None
    continued: Mapping[str, Continued] = field(default_factory=dict)


async def rollout(task: Task, setup: Setup) -> Trajectory:
    """Play one episode to its end.

    A model that fails for good, or an agent or world that raises, ends the episode as ``failed``
    with the reason; nothing else in the run is touched. Raises only ``BudgetExhausted``,
    ``ModelUnusable``, ``RecordingError`` and ``UsageError``, which concern the run as a whole: a
    setting that does not fit, or a wrong key, would fail every episode alike.
    """
    began = time.perf_counter()
    play = _Play(task, setup)
    try:
        await play.to_the_end()
    except (BudgetExhausted, ModelUnusable, RecordingError, UsageError):
        raise
    except WaywordError as error:
        play.fail(str(error))
    except Exception as error:  # noqa: BLE001 - one episode's bug must not end a run of thousands
        where = traceback.extract_tb(error.__traceback__)[-1]
        play.fail(f"{type(error).__name__}: {error} ({where.filename}:{where.lineno})")
    *earlier, trajectory = play.trials
    trajectory.earlier = earlier
    trajectory.seconds = time.perf_counter() - began
    return trajectory


class _Play:
    """One episode under way: a world, its actors' agents, and the trials up to now."""

    def __init__(self, task: Task, setup: Setup) -> None:
        self._task, self._setup, self._log = task, setup, Log()
        self._agents: dict[str, Agent] = {}
        self._rngs: dict[str, random.Random] = {}
        self.trials: list[Trajectory] = []

    async def to_the_end(self) -> None:
        """Trial after trial, until nobody asks for another or there were enough."""
        world = self._setup.dataset.world(self._task.episode)
        game = self._new_game(world)
        self._rngs = {actor: random.Random(self._seed(actor)) for actor in world.actors}
        self._agents = {actor: self._build(world, actor) for actor in world.actors}
        await self._trial(game)
        while await self._again(self.trials[-1]):
            for actor, rng in self._rngs.items():
                rng.seed(f"{self._seed(actor)}/{len(self.trials)}")
            await self._trial(self._new_game(world))

    def fail(self, reason: str) -> None:
        """End the current trial."""
        if not self.trials:  # there is no world
            self.trials.append(Trajectory(self._task.episode.id, start={}))
        trial = self.trials[-1]
        calls, notes = self._log.drain()
        trial.opening_calls += calls
        trial.opening_notes += notes
        trial.ended, trial.error = "failed", reason

    def _seed(self, actor: str) -> str:
        return actor_seed(self._setup.seed, self._task, actor)

    def _build(self, world: World, actor: str) -> Agent:
        return seat(self._task, self._setup, world, actor, self._rngs[actor], self._log)

    def _new_game(self, world: World) -> Game:
        game = Game(world, self._task.episode, self._setup.max_steps)
        self.trials.append(game.trajectory)
        return game

    async def _trial(self, game: Game) -> None:
        began, trial = time.perf_counter(), game.trajectory
        before = self._setup.continued.get(self._task.episode.id)
        late = {a for a, agent in self._agents.items() if before and agent.sees_answer}
        await self._begin(self._agents.keys() - late)
        trial.opening_calls, trial.opening_notes = self._log.drain()
        if before:
            await retake(game, before, self._agents, late, self._log)
            for step in trial.steps:
                self._show(step)
            await self._begin(late)  # oracles plan from where they begin
        for actor in game.turns():
            self._show(await self._turn(game, actor))
        game.finished()
        trial.seconds = time.perf_counter() - began

    async def _turn(self, game: Game, actor: str) -> Step:
        began, agent = time.perf_counter(), self._agents[actor]
        step = game.act(actor, await agent.act(game.observation(actor), game.space(actor)))
        agent.on_feedback(step.decision, step.feedback)
        step.calls, step.notes = self._log.drain()
        step.percept = self._log.drain_percept()
        step.seconds = time.perf_counter() - began
        return step

    def _show(self, step: Step) -> None:
        if self._setup.on_step:
            self._setup.on_step(self._task.episode.id, step)

    async def _begin(self, actors: Set[str]) -> None:
        for actor, agent in self._agents.items():
            if actor in actors:
                await agent.begin(self._task.episode.as_told(actor))

    async def _again(self, trial: Trajectory) -> bool:
        """Whether another trial follows; the agents that learn have then reflected on this one."""
        number, most, judge = len(self.trials), self._setup.trials, self._setup.judge
        if number >= most:
            return False
        learners = [agent for agent in self._agents.values() if agent.learns]
        if not learners:
            return False
        succeeded = None if judge is None else judge(self._task, trial)
        verdict = Verdict(number - 1, most, succeeded, trial.ended, len(trial.steps))
        trial.verdict = verdict
        if succeeded:
            return False
        wishes = [await agent.reflect(verdict) for agent in learners]
        trial.closing_calls, trial.closing_notes = self._log.drain()
        return any(wishes)


def actor_seed(seed: int, task: Task, actor: str) -> str:
    """What seeds the ``rng`` of an actor's agent in one episode."""
    return f"{seed}/{task.episode.id}/{actor}"


def seat(task: Task, setup: Setup, world: World, actor: str, rng: random.Random, log: Log) -> Agent:
    """Build the agent of one actor, with its toolkit; an oracle is shown the answer."""
    dataset = setup.dataset
    perceiver = dataset.perceiver()
    toolkit = Toolkit(
        models={role: RecordedModel(model, role, log) for role, model in setup.models.items()},
        perceiver=WatchedPerceiver(perceiver, log.read) if perceiver else None,
        rng=rng,
        note=log.note,
        shared=setup.shared,
        demonstrations=setup.demonstrations or dataset.demonstrations,
    )
    agent = setup.make_agent(toolkit, actor)
    check_family(type(agent), dataset.family.name, type(dataset).__name__)
    if agent.sees_answer:
        agent.reveal(task.reference, world, partial(dataset.plan, task, world, actor))
    return agent


# Many episodes at once: a few workers draw tasks, and each finished episode is handed on at once.
#
# Models are awaited, worlds are synchronous and fast, so one thread keeps hundreds of episodes in
# the air.

OnEnd = Callable[[Task, Trajectory], None]
"""Called as soon as an episode ends, failed ones included. What it raises ends the run."""


@dataclass(slots=True)
class Outcome:
    """How a run ended.

    ``exhausted`` is the budget's message where one was spent; ``unusable`` that of a model which
    refuses every call. Either one ends the run before its last episode.
    """

    finished: int = 0
    failed: int = 0
    exhausted: str = ""
    unusable: str = ""

    @property
    def complete(self) -> bool:
        """Whether every episode was played to its end."""
        return not (self.failed or self.exhausted or self.unusable)


async def run(tasks: Iterable[Task], setup: Setup, on_end: OnEnd, concurrency: int = 8) -> Outcome:
    """Play every task, ``concurrency`` episodes at a time.

    A failed episode is counted and the others go on. A spent budget, or a model that refuses every
    call, ends the run in order: no other episode begins, those under way go on as far as they can
    be paid for, and the rest are dropped (a resumed run plays them again).
    """
    outcome = Outcome()
    queue = iter(tasks)

    async def work() -> None:
        for task in queue:
            if outcome.exhausted or outcome.unusable:
                return
            try:
                trajectory = await _paid(task, setup)
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
            await asyncio.sleep(0)  # agents that never wait must let the others have their turn

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(max(1, concurrency)):
                group.create_task(work())
    except BaseExceptionGroup as errors:
        raise first_error(errors) from None
    return outcome


async def _paid(task: Task, setup: Setup) -> Trajectory:
    """The episode's rollout, between the purse's two ends."""
    whole = False
    if setup.purse is not None:
        setup.purse.begin()
    try:
        trajectory = await rollout(task, setup)
        whole = trajectory.ended != "failed"
        return trajectory
    finally:
        if setup.purse is not None:
            setup.purse.end(whole)


def first_error(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    """The error that ended the run, out of the group it came in."""
    error: BaseException = errors
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
