"""Recording of an episode while it is played, and replay of recorded turns.

A recorded episode can be continued from any step: the turns before it are replayed in a fresh
world, and the agents adopt them as their own. The agent that took them acts again with the recorded
model answers, which restores its exact state; any other agent adopts them with
:meth:`~wayword.core.agent.Agent.recall`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wayword.core.action import legal
from wayword.core.agent import Agent
from wayword.core.episode import Json
from wayword.core.errors import ModelError, ModelUnusable, UsageError, WaywordError
from wayword.core.game import Game, ReplayDiffers, check_replayed
from wayword.core.model import (
    Answer,
    Choice,
    Completion,
    Model,
    Prompt,
    Sampling,
    Wrapper,
    prompt_of,
)
from wayword.core.perceiver import Percept
from wayword.core.trajectory import FOLLOWED, ModelCall, Note, Step

GREEDY = Sampling()
"""Sampling of a call that gives none."""


class Log:
    """Buffer of the model calls, notes and percept of the current turn, drained into each step."""

    def __init__(self) -> None:
        self.calls: list[ModelCall] = []
        self.notes: list[Note] = []
        self.percept: Percept | None = None
        self.dictated: DictatedModel | None = None
        """Replaces every model while recorded turns are replayed."""

    def note(self, kind: str, **details: Json) -> None:
        """Append a note. Raises ``TypeError`` for a kind that is no text."""
        if not isinstance(kind, str):
            raise TypeError(f"the kind of a note must be text, got {kind!r:.60}")
        self.notes.append(Note(kind, details))

    def read(self, percept: Percept) -> None:
        """Store the percept that an agent just read, replacing an earlier one of this turn."""
        self.percept = percept

    def drain_percept(self) -> Percept | None:
        """Return and clear the percept of this turn."""
        # Each turn has its own percept, or none.
        percept = self.percept
        self.percept = None
        return percept

    def drain(self) -> tuple[list[ModelCall], list[Note]]:
        """Return and clear the calls and notes."""
        calls = self.calls
        notes = self.notes
        self.calls = []
        self.notes = []
        return calls, notes


class DictatedModel(Model):
    """A model that gives listed answers, in order for each role, and stores its prompts.

    Raises ``UsageError`` for a call after the last answer, or for a call of the wrong kind.
    """

    name = "dictated"

    def __init__(self, calls: Iterable[ModelCall] = (), role: str = "main") -> None:
        self.calls = list(calls)
        self.prompts = list[Prompt]()
        self._role = role

    def as_role(self, role: str) -> DictatedModel:
        """Return the model of another role, which takes its answers from the same
        recording."""
        # The lists are shared, not copied: all roles take from one recording.
        other = DictatedModel(role=role)
        other.calls = self.calls
        other.prompts = self.prompts
        return other

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        """Return the recorded completion. Raises ``UsageError`` if a choice was
        recorded."""
        return self._next(prompt, Completion, "writes text, but ranked options")

    async def choose(self, prompt: Prompt, options: Sequence[str]) -> Choice:
        """Return the recorded choice. Raises ``UsageError`` if a completion was
        recorded."""
        return self._next(prompt, Choice, "ranks options, but wrote text")

    def _next(self, prompt: Prompt, kind: type[Answer], change: str) -> Answer:
        """Return the next recorded answer of the role, and keep the prompt that asked
        for it."""
        # The first call of the role; other roles' calls stay for them.
        for number, call in enumerate(self.calls):
            if call.role == self._role and call.answer is not None:
                del self.calls[number]
                self.prompts.append(_freeze(prompt))
                if not isinstance(call.answer, kind):
                    raise UsageError(f"the agent now {change} in the recorded steps")
                return call.answer
        raise UsageError(
            "the agent makes a model call that the recorded steps do not contain"
        )


class RecordedModel(Wrapper):
    """A model whose calls are all recorded in the episode's log, including failed ones.

    Messages may be mappings as in OpenAI's interface, ``{"role": "user", "content": "…"}``, and a
    prompt may be text. A fatal ``ModelError`` is raised as ``ModelUnusable``, which no agent
    catches.
    """

    def __init__(self, model: Model, role: str, log: Log) -> None:
        super().__init__(model)
        self._role = role
        self._log = log

    def as_role(self, role: str) -> RecordedModel:
        """Return the model of another role, recorded into the same log."""
        return RecordedModel(self._inner, role, self._log)

    async def complete(self, prompt: Prompt, sampling: Sampling = GREEDY) -> Completion:
        """Return the model's answer, or the recorded one while recorded turns are replayed."""
        prompt = prompt_of(prompt)
        given: Any = sampling
        if not isinstance(given, Sampling):
            example = "Sampling(max_tokens=80)"
            raise TypeError(f"the second argument must be {example}, got {given!r:.80}")
        # Recorded turns are taken again without asking, or paying for, the model.
        if self._log.dictated is not None:
            dictated = self._log.dictated.as_role(self._role)
            return await dictated.complete(prompt, sampling)
        call = self._inner.complete(prompt, sampling)
        return await self._recorded(call, prompt, sampling)

    async def choose(self, prompt: Prompt, options: Sequence[str]) -> Choice:
        """Return the model's ranking, or the recorded one while recorded turns are replayed."""
        prompt = prompt_of(prompt)
        if self._log.dictated is not None:
            dictated = self._log.dictated.as_role(self._role)
            return await dictated.choose(prompt, options)
        return await self._recorded(self._inner.choose(prompt, options), prompt, None)

    async def aclose(self) -> None:
        """Do nothing: the run owns the model and closes it."""

    async def _recorded(
        self,
        call: Awaitable[Answer],
        prompt: Prompt,
        sampling: Sampling | None,
    ) -> Answer:
        """Await a call and record it, also if it fails: it may have cost money."""
        frozen = _freeze(prompt)
        try:
            answer = await call
        # A failed call is recorded with its error instead of an answer.
        except WaywordError as error:
            failed = ModelCall(self._role, frozen, None, sampling, str(error))
            self._log.calls.append(failed)
            if isinstance(error, ModelError) and error.fatal:
                raise ModelUnusable(str(error)) from None
            raise
        self._log.calls.append(ModelCall(self._role, frozen, answer, sampling))
        return answer


def _freeze(prompt: Prompt) -> Prompt:
    """Return the prompt as it is now: the agent may extend its list."""
    return prompt if isinstance(prompt, str) else tuple(prompt)


@dataclass(frozen=True, slots=True)
class Continued:
    """Recorded steps to continue from. ``same`` names the actors whose agent and settings are the
    same as in the recording."""

    steps: Sequence[Step]
    same: Collection[str] = ()


async def retake(
    game: Game,
    before: Continued,
    agents: Mapping[str, Agent],
    silent: Collection[str],
    log: Log,
) -> None:
    """Replay recorded turns as steps of the new episode, with the recorded model answers.

    Agents of ``silent`` actors are not notified. A note on each step gives its number in the
    recording. Raises ``UsageError`` if the world responds differently, or an agent cannot adopt a
    turn.
    """
    for number, recorded in enumerate(before.steps, 1):
        actor = recorded.actor
        # Silent actors have no agent to inform.
        agent = None if actor in silent else agents[actor]
        if agent is not None:
            await _take_over(game, agent, recorded, log, actor in before.same)
        # The world takes the recorded action, whatever the agent would do now.
        step = game.act(actor, recorded.decision)
        try:
            check_replayed(number, recorded, step.feedback)
        except ReplayDiffers as error:
            raise UsageError(str(error)) from None
        if agent is not None:
            agent.on_feedback(step.decision, step.feedback)
        # Calls of the recording are not recorded again: they were paid for there.
        _, noted = log.drain()
        step.percept = log.drain_percept() or recorded.percept
        followed = [note for note in noted if note.kind == FOLLOWED]
        step.notes = [Note("recorded_before", {"step": number}), *followed]


async def _take_over(
    game: Game,
    agent: Agent,
    step: Step,
    log: Log,
    same: bool,
) -> None:
    """Pass one recorded turn to an agent as if it had taken it."""
    observation = game.observation(step.actor)
    space = game.space(step.actor)
    # Another agent only learns what happened.
    if not same:
        await agent.recall(observation, space, step.decision)
        return
    # A person has seen the turn and is not asked again.
    if agent.needs_person:
        return
    # The same agent thinks again with the recorded answers, which restores its state.
    log.dictated = DictatedModel(step.calls)
    try:
        decided = legal(await agent.act(observation, space), space)
    # Later calls must reach the real model again.
    finally:
        log.dictated = None
    if agent.needs_model:
        now, before = (
            getattr(each, "action", None) for each in (decided, step.decision)
        )
        if now != before:
            name = type(agent).__name__
            raise UsageError(
                f"{name} would have answered differently at a recorded step"
            )
