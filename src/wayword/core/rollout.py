"""One episode: a world, its actors' agents, and the trajectory they leave."""

from __future__ import annotations

import random
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from wayword.core.action import Menu
from wayword.core.agent import Agent, Oracle, Toolkit
from wayword.core.dataset import Dataset, Task
from wayword.core.decision import Decision, Rejection
from wayword.core.episode import Json
from wayword.core.errors import BudgetExhausted, RecordingError, UsageError, WaywordError
from wayword.core.model import Choice, Completion, Model, Prompt, Sampling
from wayword.core.trajectory import ModelCall, Note, Step, Trajectory
from wayword.core.world import Feedback, World

MakeAgent = Callable[[Toolkit, str], Agent]
"""Builds the agent of one actor for one episode."""


@dataclass(frozen=True, slots=True)
class Setup:
    """What all episodes of a run share.

    ``max_steps`` counts turns of each actor. ``on_step`` is told of every step at once. ``shared``
    is the agents' own memory over the run: see :class:`~wayword.core.agent.Toolkit`.
    """

    dataset: Dataset
    make_agent: MakeAgent
    models: Mapping[str, Model] = field(default_factory=dict)
    seed: int = 0
    max_steps: int = 30
    on_step: Callable[[Step], None] | None = None
    shared: dict[str, Any] = field(default_factory=dict)


class Log:
    """Collects the model calls and notes of one episode until a step takes them."""

    def __init__(self) -> None:
        self.calls: list[ModelCall] = []
        self.notes: list[Note] = []

    def note(self, kind: str, **details: Json) -> None:
        """Record a visible event."""
        self.notes.append(Note(kind, details))

    def take(self) -> tuple[list[ModelCall], list[Note]]:
        """Hand over what has gathered, and start anew."""
        taken = self.calls, self.notes
        self.calls, self.notes = [], []
        return taken


class RecordedModel:
    """A model whose every call lands in the episode's log, failed ones included."""

    def __init__(self, model: Model, role: str, log: Log) -> None:
        self._model, self._role, self._log = model, role, log

    @property
    def name(self) -> str:
        return self._model.name

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        try:
            answer = await self._model.complete(prompt, sampling)
        except WaywordError as error:
            self._record(prompt, None, sampling, str(error))
            raise
        self._record(prompt, answer, sampling)
        return answer

    async def choose(self, prompt: Prompt, options: Sequence[str]) -> Choice:
        try:
            answer = await self._model.choose(prompt, options)
        except WaywordError as error:
            self._record(prompt, None, None, str(error))
            raise
        self._record(prompt, answer, None)
        return answer

    async def aclose(self) -> None:
        """The run owns the model, so an episode closes nothing."""

    def _record(
        self,
        prompt: Prompt,
        answer: Completion | Choice | None,
        sampling: Sampling | None,
        error: str = "",
    ) -> None:
        kept = (
            prompt if isinstance(prompt, str) else tuple(prompt)
        )  # the agent may go on with its list
        self._log.calls.append(ModelCall(self._role, kept, answer, sampling, error))


async def rollout(task: Task, setup: Setup) -> Trajectory:
    """Play one episode to its end.

    A model that fails for good, or an agent or world that raises, ends the episode as ``failed``
    with the reason; nothing else in the run is touched. Raises only ``BudgetExhausted``,
    ``RecordingError`` and ``UsageError``, which concern the run as a whole: a setting that does not
    fit would fail every episode alike.
    """
    began = time.perf_counter()
    log = Log()
    trajectory = Trajectory(task.episode.id, start={})
    try:
        await _play(task, setup, log, trajectory)
    except (BudgetExhausted, RecordingError, UsageError):
        raise
    except WaywordError as error:
        _fail(trajectory, log, str(error))
    except Exception as error:  # noqa: BLE001 - one episode's bug must not end a run of thousands
        where = traceback.extract_tb(error.__traceback__)[-1]
        line = f"{type(error).__name__}: {error} ({where.filename}:{where.lineno})"
        _fail(trajectory, log, line)
    trajectory.seconds = time.perf_counter() - began
    return trajectory


def _fail(trajectory: Trajectory, log: Log, reason: str) -> None:
    calls, notes = log.take()
    trajectory.opening_calls += calls
    trajectory.opening_notes += notes
    trajectory.ended, trajectory.error = "failed", reason


async def _play(task: Task, setup: Setup, log: Log, trajectory: Trajectory) -> None:
    world = setup.dataset.world(task.episode)
    world.reset(task.episode)
    trajectory.start = {actor: world.where(actor) for actor in world.actors}
    agents = {actor: _build(task, setup, log, world, actor) for actor in world.actors}
    for agent in agents.values():
        await agent.begin(task.episode)
    trajectory.opening_calls, trajectory.opening_notes = log.take()
    trajectory.ended = "step_limit"
    for _ in range(setup.max_steps):
        for actor, agent in agents.items():
            if not world.done(actor):
                trajectory.steps.append(await _turn(actor, agent, world, log))
                if setup.on_step:
                    setup.on_step(trajectory.steps[-1])
        if all(world.done(actor) for actor in agents):
            trajectory.ended = "stopped"
            break
    trajectory.state = world.state()


def _build(task: Task, setup: Setup, log: Log, world: World, actor: str) -> Agent:
    dataset = setup.dataset
    toolkit = Toolkit(
        models={role: RecordedModel(model, role, log) for role, model in setup.models.items()},
        perceiver=dataset.perceiver(),
        rng=random.Random(f"{setup.seed}/{task.episode.id}/{actor}"),
        note=log.note,
        shared=setup.shared,
        demonstrations=dataset.demonstrations,
    )
    agent = setup.make_agent(toolkit, actor)
    if sees_answer(agent):
        cast(Oracle, agent).reveal(task.reference, world)
    return agent


def sees_answer(agent: object) -> bool:
    """Whether an agent, or its class, is declared to be shown the reference."""
    return getattr(agent, "sees_answer", False) is True


async def _turn(actor: str, agent: Agent, world: World, log: Log) -> Step:
    began = time.perf_counter()
    observation, menu = world.observe(actor), world.menu(actor)
    decision = _on_the_menu(await agent.act(observation, menu), menu)
    if isinstance(decision, Decision):
        feedback = world.step(actor, decision.action)
    else:
        feedback = Feedback("rejected", {"kind": decision.kind, "reason": decision.reason})
    agent.told(decision, feedback)
    calls, notes = log.take()
    seconds = time.perf_counter() - began
    return Step(actor, observation, decision, feedback, world.where(actor), calls, notes, seconds)


def _on_the_menu(decision: Decision | Rejection, menu: Menu) -> Decision | Rejection:
    """No agent, however written, can carry out what is not legal now."""
    if isinstance(decision, Rejection) or decision.action in menu:
        return decision
    reason = f"{decision.action} is not a legal action here"
    return Rejection("illegal", reason, str(decision.action), decision.thought)
