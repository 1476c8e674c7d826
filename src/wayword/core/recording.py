"""What an episode records while it is played, and recorded turns taken again.

A recorded episode can be continued from any of its steps: the turns before it are taken again in a
fresh world, and the agents get to know them as their own. One that took them itself is asked again
and hears the recorded answers, so that it is exactly where it was; another one recalls them, where
it knows how to.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from wayword.core.action import ActionSpace, Decision, Rejection, legal
from wayword.core.agent import Agent, needs_person
from wayword.core.episode import Json
from wayword.core.errors import ModelError, ModelUnusable, UsageError, WaywordError
from wayword.core.model import Choice, Completion, Model, Prompt, Sampling, window_of
from wayword.core.perceiver import Percept
from wayword.core.replay import carry_out
from wayword.core.trajectory import FOLLOWED, ModelCall, Note, Step
from wayword.core.world import Observation, World


class Log:
    """Collects the model calls, notes and percept of one episode until a step takes them."""

    def __init__(self) -> None:
        self.calls: list[ModelCall] = []
        self.notes: list[Note] = []
        self.percept: Percept | None = None
        self.dictated: Dictation | None = None
        """Answers that models are to give, while recorded turns are taken again."""

    def note(self, kind: str, **details: Json) -> None:
        """Record a visible event."""
        self.notes.append(Note(kind, details))

    def read(self, percept: Percept) -> None:
        """Keep the percept that an agent just read; of several in a turn, the last."""
        self.percept = percept

    def drain_percept(self) -> Percept | None:
        """Hand over the percept of this turn, and start anew."""
        taken, self.percept = self.percept, None
        return taken

    def drain(self) -> tuple[list[ModelCall], list[Note]]:
        """Hand over the calls and notes, and start anew."""
        taken = self.calls, self.notes
        self.calls, self.notes = [], []
        return taken


class RecordedModel:
    """A model whose every call lands in the episode's log, failed ones included.

    A fatal ``ModelError`` leaves as ``ModelUnusable``, which no agent catches.
    """

    def __init__(self, model: Model, role: str, log: Log) -> None:
        self._model, self._role, self._log = model, role, log

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def window(self) -> int:
        """Tokens that the model can hold: see :func:`~wayword.core.model.window_of`."""
        return window_of(self._model)

    def as_role(self, role: str) -> RecordedModel:
        """The same model, its calls recorded as those of a role that has no model of its own."""
        return RecordedModel(self._model, role, self._log)

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        if self._log.dictated is not None:
            told = self._log.dictated.next(self._role)
            if isinstance(told, Completion):
                return told
            raise UsageError("the agent writes, and ranked options when these steps were recorded")
        try:
            answer = await self._model.complete(prompt, sampling)
        except WaywordError as error:
            self._record(prompt, None, sampling, str(error))
            raise _for_the_run(error) from None
        self._record(prompt, answer, sampling)
        return answer

    async def choose(self, prompt: Prompt, options: Sequence[str]) -> Choice:
        if self._log.dictated is not None:
            told = self._log.dictated.next(self._role)
            if isinstance(told, Choice):
                return told
            raise UsageError("the agent ranks options, and wrote when these steps were recorded")
        try:
            answer = await self._model.choose(prompt, options)
        except WaywordError as error:
            self._record(prompt, None, None, str(error))
            raise _for_the_run(error) from None
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


def _for_the_run(error: WaywordError) -> WaywordError:
    fatal = isinstance(error, ModelError) and error.fatal
    return ModelUnusable(str(error)) if fatal else error


@dataclass(frozen=True, slots=True)
class Continued:
    """Recorded steps to go on from. ``same`` names the actors whose agent took these steps itself,
    with the settings that it has now."""

    steps: Sequence[Step]
    same: Collection[str] = ()


@runtime_checkable
class Recalling(Protocol):
    """An agent that can take over turns that somebody else took, as if they had been its own."""

    async def recall(
        self, observation: Observation, space: ActionSpace, decision: Decision | Rejection
    ) -> None:
        """What was seen and decided; ``on_feedback`` follows, as after ``act``."""
        ...


class Dictation:
    """The answers of one recorded turn, in the order of each role."""

    def __init__(self, calls: Sequence[ModelCall]) -> None:
        self._calls = list(calls)

    def next(self, role: str) -> Completion | Choice:
        """The role's next answer. Raises ``UsageError`` where it gave no other."""
        for number, call in enumerate(self._calls):
            if call.role == role and call.answer is not None:
                del self._calls[number]
                return call.answer
        raise UsageError("the agent asks what it did not ask when these steps were recorded")


async def retake(
    before: Continued,
    agents: Mapping[str, Agent],
    silent: Collection[str],
    world: World,
    log: Log,
) -> list[Step]:
    """Take recorded turns again, and give them as steps of the new episode.

    Agents of ``silent`` actors are told nothing. Model calls are those of the recorded run and not
    repeated; a note says where a step is from. Raises ``UsageError`` where the world does not
    answer as it did, or an agent cannot take over.
    """
    taken = []
    for number, step in enumerate(before.steps, 1):
        seen, space = world.observe(step.actor), world.action_space(step.actor)
        agent = None if step.actor in silent else agents[step.actor]
        if agent is not None:
            await _take_over(agent, seen, space, step, log, step.actor in before.same)
        feedback = carry_out(world, step.actor, legal(step.decision, space))
        if feedback.status != step.feedback.status:
            raise UsageError(
                f"step {number} cannot be taken again: the world answers {feedback.status}, "
                f"and answered {step.feedback.status}"
            )
        if agent is not None:
            agent.on_feedback(step.decision, feedback)
        _, noted = log.drain()
        percept = log.drain_percept() or step.percept
        followed = [note for note in noted if note.kind == FOLLOWED]
        notes = [Note("recorded_before", {"step": number}), *followed]
        pose = world.pose(step.actor)
        taken.append(Step(step.actor, seen, step.decision, feedback, pose, [], notes, 0.0, percept))
    return taken


async def _take_over(
    agent: Agent, seen: Observation, space: ActionSpace, step: Step, log: Log, same: bool
) -> None:
    """Make one recorded turn an agent's own."""
    if isinstance(agent, Recalling) and not same:
        await agent.recall(seen, space, step.decision)
        return
    if agent.needs_model and not same:
        raise UsageError(
            f"{type(agent).__name__} cannot go on from steps that another agent, or other settings,"
            " took; continue with the same agent, or one that can: act, react, react_emmem, navgpt,"
            " velma, human, or one without a model"
        )
    if needs_person(type(agent)):
        return
    log.dictated = Dictation(step.calls)
    try:
        decided = await agent.act(seen, space)
    finally:
        log.dictated = None
    if agent.needs_model and _action(decided) != _action(step.decision):
        raise UsageError(f"{type(agent).__name__} would have answered otherwise at a recorded step")


def _action(decided: Decision | Rejection) -> object:
    return decided.action if isinstance(decided, Decision) else None
