"""What an episode records while it is played, and recorded turns taken again.

A recorded episode can be continued from any of its steps: the turns before it are taken again in a
fresh world, and the agents get to know them as their own. One that took them itself is asked again
and hears the recorded answers, so that it is exactly where it was; another one recalls them, where
it knows how to.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from wayword.core.action import Decision, Rejection, legal
from wayword.core.agent import Agent
from wayword.core.episode import Json
from wayword.core.errors import ModelError, ModelUnusable, UsageError, WaywordError
from wayword.core.game import Game, ReplayDiffers, check_replayed
from wayword.core.model import Choice, Completion, Model, Prompt, Sampling
from wayword.core.perceiver import Percept
from wayword.core.trajectory import FOLLOWED, ModelCall, Note, Step


class Log:
    """Collects the model calls, notes and percept of one episode until a step takes them."""

    def __init__(self) -> None:
        self.calls: list[ModelCall] = []
        self.notes: list[Note] = []
        self.percept: Percept | None = None
        self.dictated: Dictated | None = None
        """Replaces every model while recorded turns are taken again."""

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


class Dictated(Model):
    """A model that gives listed answers, those of each role in their order, and keeps its prompts.

    Raises ``UsageError`` for a call beyond them, or one of the other kind.
    """

    name = "dictated"

    def __init__(self, calls: Iterable[ModelCall] = (), role: str = "main") -> None:
        self.calls, self.prompts = list(calls), list[Prompt]()
        self._role = role

    def as_role(self, role: str) -> Dictated:
        """The same model, asked in another role."""
        other = Dictated(role=role)
        other.calls, other.prompts = self.calls, self.prompts
        return other

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        answer = self._next(prompt)
        if isinstance(answer, Completion):
            return answer
        raise UsageError("the agent writes, and ranked options when these steps were recorded")

    async def choose(self, prompt: Prompt, options: Sequence[str]) -> Choice:
        answer = self._next(prompt)
        if isinstance(answer, Choice):
            return answer
        raise UsageError("the agent ranks options, and wrote when these steps were recorded")

    def _next(self, prompt: Prompt) -> Completion | Choice:
        for number, call in enumerate(self.calls):
            if call.role == self._role and call.answer is not None:
                del self.calls[number]
                self.prompts.append(_kept(prompt))
                return call.answer
        raise UsageError("the agent asks what it did not ask when these steps were recorded")


class RecordedModel(Model):
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
        return self._model.window

    def as_role(self, role: str) -> RecordedModel:
        """The same model, its calls recorded as those of a role that has no model of its own."""
        return RecordedModel(self._model, role, self._log)

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        if self._log.dictated is not None:
            return await self._log.dictated.as_role(self._role).complete(prompt, sampling)
        try:
            answer = await self._model.complete(prompt, sampling)
        except WaywordError as error:
            self._record(prompt, None, sampling, str(error))
            raise _for_the_run(error) from None
        self._record(prompt, answer, sampling)
        return answer

    async def choose(self, prompt: Prompt, options: Sequence[str]) -> Choice:
        if self._log.dictated is not None:
            return await self._log.dictated.as_role(self._role).choose(prompt, options)
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
        self._log.calls.append(ModelCall(self._role, _kept(prompt), answer, sampling, error))


def _kept(prompt: Prompt) -> Prompt:
    return prompt if isinstance(prompt, str) else tuple(prompt)  # the agent may extend its list


def _for_the_run(error: WaywordError) -> WaywordError:
    fatal = isinstance(error, ModelError) and error.fatal
    return ModelUnusable(str(error)) if fatal else error


@dataclass(frozen=True, slots=True)
class Continued:
    """Recorded steps to go on from. ``same`` names the actors whose agent took these steps itself,
    with the settings that it has now."""

    steps: Sequence[Step]
    same: Collection[str] = ()


async def retake(
    game: Game, before: Continued, agents: Mapping[str, Agent], silent: Collection[str], log: Log
) -> None:
    """Take recorded turns again, as steps of the new episode.

    Agents of ``silent`` actors are not notified. Model calls are those of the recorded run and not
    repeated; a note says where a step is from. Raises ``UsageError`` if the world responds
    differently, or an agent cannot take over.
    """
    for number, recorded in enumerate(before.steps, 1):
        actor = recorded.actor
        agent = None if actor in silent else agents[actor]
        if agent is not None:
            await _take_over(game, agent, recorded, log, actor in before.same)
        step = game.act(actor, recorded.decision)
        try:
            check_replayed(number, recorded, step.feedback)
        except ReplayDiffers as error:
            raise UsageError(str(error)) from None
        if agent is not None:
            agent.on_feedback(step.decision, step.feedback)
        _, noted = log.drain()
        step.percept = log.drain_percept() or recorded.percept
        followed = [note for note in noted if note.kind == FOLLOWED]
        step.notes = [Note("recorded_before", {"step": number}), *followed]


async def _take_over(game: Game, agent: Agent, step: Step, log: Log, same: bool) -> None:
    """Make one recorded turn an agent's own."""
    observation, space = game.observation(step.actor), game.space(step.actor)
    if not same:
        await agent.recall(observation, space, step.decision)
        return
    if agent.needs_person:
        return
    log.dictated = Dictated(step.calls)
    try:
        decided = legal(await agent.act(observation, space), space)
    finally:
        log.dictated = None
    if agent.needs_model and _action(decided) != _action(step.decision):
        raise UsageError(f"{type(agent).__name__} would have answered otherwise at a recorded step")


def _action(decided: Decision | Rejection) -> object:
    return decided.action if isinstance(decided, Decision) else None
