"""A recorded episode, played again by a strategy that is told what to answer."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from wayword.agents.person import answered
from wayword.agents.strategies.strategy import Strategy, StrategySettings
from wayword.core.action import Action, Decision
from wayword.core.agent import Shared, Toolkit
from wayword.core.dataset import Dataset, Task
from wayword.core.errors import UsageError
from wayword.core.game import Game
from wayword.core.model import Completion, Message, Prompt
from wayword.core.recording import Dictated
from wayword.core.trajectory import HISTORY_DROPPED, ModelCall, Trajectory
from wayword.core.world import Feedback
from wayword.runs.showing import demonstrations
from wayword.worlds.household.observation import Answerer

Written = dict[str, str]
"""A message as chat formats have it: ``{"role": …, "content": …}``."""


class Unfit(Exception):
    """Why an episode cannot be told again, in a few words."""


@dataclass(slots=True)
class Told:
    """One actor's episode: every prompt and the answer to it.

    ``whole`` is whether the strategy told all of it in its last prompt; else its context was too
    short, and it dropped old steps. ``unlisted`` counts actions that were legal, but not among
    those listed: a constrained model could not have chosen them.
    """

    actor: str
    prompts: list[list[Message]] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)
    users: list[str] = field(default_factory=list)
    whole: bool = True
    unlisted: int = 0

    def messages(self) -> list[Written]:
        """The whole conversation, its last answer included; nothing is dropped."""
        *before, _ = self.prompts[0]
        chat = [written(message) for message in before]
        for told, said in zip(self.users, self.answers, strict=True):
            chat += [{"role": "user", "content": told}, {"role": "assistant", "content": said}]
        return chat

    def pairs(self) -> Iterator[tuple[list[Written], list[Written]]]:
        """Each prompt as it was asked, and its answer."""
        for prompt, said in zip(self.prompts, self.answers, strict=True):
            asked = [written(message) for message in prompt]
            yield asked, [{"role": "assistant", "content": said}]


def written(message: Message) -> Written:
    """A message without pictures."""
    return {"role": message.role, "content": message.content}


class _Player:
    """One actor's strategy, and the model that dictates its answers."""

    def __init__(
        self, actor: str, cls: type[Strategy], settings: StrategySettings, tools: Mapping[str, Any]
    ) -> None:
        self.told, self._model = Told(actor), Dictated()
        toolkit = Toolkit(models={"main": self._model}, note=self._note, **tools)
        self.strategy = cls(settings, toolkit)

    def _note(self, kind: str, **details: Any) -> None:
        if kind == HISTORY_DROPPED:
            self.told.whole = False

    async def take(self, game: Game, action: Action, thought: str = "") -> Feedback:
        """Take an action as the strategy would have. Raises ``Unfit``."""
        told, actor = self.told, self.told.actor
        seen, space = game.observation(actor), game.space(actor)
        if action not in space:
            raise Unfit("not legal when replayed")
        text = self.strategy.answer(action, seen, space, thought)
        self._model.calls = [ModelCall("main", "", Completion((text,), ("stop",)))]
        try:
            decided = await self.strategy.act(seen, space)
        except UsageError as error:
            raise Unfit(str(error)) from None
        if not isinstance(decided, Decision) or decided.action != action:
            raise Unfit("not readable as the action")
        if not self._model.calls:  # else the dataset gave the step away
            told.prompts.append(list(_messages(self._model.prompts[-1])))
            told.answers.append(text)
            told.unlisted += (
                action not in list(space.listed) and action.name not in space.open_verbs
            )
        _, feedback = game.carry_out(actor, decided)
        self.strategy.on_feedback(decided, feedback)
        if len(told.users) < len(told.answers):
            first = len(told.users) == 0  # the task stands before the first observation
            now = told.prompts[-1][-1].content if first else self.strategy.turns[-1][0]
            told.users.append(now)
        return feedback


def _messages(prompt: Prompt) -> Sequence[Message]:
    if isinstance(prompt, str):
        raise Unfit("asked without messages")
    return prompt


async def retold(
    task: Task,
    trajectory: Trajectory,
    dataset: Dataset,
    cls: type[Strategy],
    settings: StrategySettings,
    shared: Shared,
    thoughts: bool = False,
) -> list[Told]:
    """What each actor was told and answered, those who were asked nothing left out.

    With ``thoughts`` an answer holds what was thought then, where the recording has it.

    Answers that were rejected in the run changed nothing, and are not told. Raises ``Unfit`` where
    the world does not answer as it did then, or the strategy does not take the action.
    """
    world = answered(dataset.world(task.episode), recorded_answers(trajectory))
    game = Game(world, task.episode)
    players = {
        actor: _Player(
            actor,
            cls,
            settings,
            {
                "perceiver": dataset.perceiver(),
                "rng": random.Random(f"{task.episode.id}/{actor}"),
                "shared": shared,
                "demonstrations": demonstrations(dataset),
            },
        )
        for actor in world.actors
    }
    for player in players.values():
        await player.strategy.begin(task.episode)
    for step in trajectory.steps:
        if isinstance(step.decision, Decision):
            thought = step.decision.thought if thoughts else ""
            feedback = await players[step.actor].take(game, step.decision.action, thought)
            if feedback.status != step.feedback.status:
                raise Unfit("answered otherwise when replayed")
    return [player.told for player in players.values() if player.told.prompts]


def recorded_answers(trajectory: Trajectory) -> Answerer | None:
    """An answerer that gives the answers of then, in order; None where nobody was asked.

    Where somebody answers, agents are told that they can ask: an episode in which nobody did is
    told again as it was.
    """
    asked = [
        step.feedback.details.get("answer") if step.feedback.ok else None
        for step in trajectory.steps
        if isinstance(step.decision, Decision) and step.decision.action.name == "ask"
    ]
    if not asked:
        return None
    given = iter(asked)
    return lambda actor, question: next(given, None)
