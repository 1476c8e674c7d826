"""A recorded episode, played again by a strategy that is told what to answer."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wayword.agents.person import answered
from wayword.agents.strategies.strategy import Strategy, StrategySettings
from wayword.core.action import Action, Decision
from wayword.core.agent import Shared, Toolkit
from wayword.core.dataset import Dataset, Task, of_ids
from wayword.core.errors import UsageError, WaywordError
from wayword.core.game import Game
from wayword.core.model import Completion, Message, Prompt
from wayword.core.recording import Dictated
from wayword.core.trajectory import HISTORY_DROPPED, ModelCall, Trajectory
from wayword.core.world import Feedback
from wayword.metrics.scoring import score
from wayword.runs.active import demonstrations
from wayword.runs.codec import plain
from wayword.runs.config import Checksums
from wayword.runs.plan import Plan, open_dataset
from wayword.runs.record import EpisodeRecord, RecordedRun
from wayword.worlds.household.observation import Answerer

Written = dict[str, str]
"""A message as chat formats have it: ``{"role": …, "content": …}``."""


def dataset_of(run: RecordedRun, data: Path | None) -> Dataset:
    """The dataset of a run, with the run's own settings and data."""
    identity = run.config["identity"]
    settings = {"dataset": identity.get("dataset_settings") or {}}
    dataset = open_dataset(Plan("export", identity["dataset"], settings=settings, data=data))
    found = Checksums().combined(dataset.files)
    if found != identity.get("data_checksum"):
        raise UsageError(
            f"{run.path}: the data here are not the run's ({found}, and the run had "
            f"{identity.get('data_checksum')}); give the run's own with --data"
        )
    return dataset


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


# Play every recorded action again, and compute every score anew: ``wayword verify RUN``.
#
# A figure that was changed, by a damaged disk or by hand, is found even where its record is whole:
# the world answers the recorded actions, and the metrics follow from that. What only a model knows
# (its answers, their tokens and cost) is taken as recorded.


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
            yield record.episode_id, _differs(dataset, task, record)
        except WaywordError as error:
            yield record.episode_id, f"cannot be played again: {error}"


def _differs(dataset: Dataset, task: Task, record: EpisodeRecord) -> str:
    if record.trajectory.episode_id != record.episode_id:
        return f"holds the trajectory of episode {record.trajectory.episode_id!r}"
    trials = record.trajectory.trials()
    for number, trial in enumerate(trials, 1):
        if found := _replayed(dataset, task, trial):
            return found if len(trials) == 1 else f"trial {number}: {found}"
    (scores,) = score(dataset, [(task, record.trajectory)])
    return _first(scores, record.scores, "score")


def _replayed(dataset: Dataset, task: Task, recorded: Trajectory) -> str:
    """The first difference between a trajectory and what its actions lead to."""
    world = answered(dataset.world(task.episode), recorded_answers(recorded))
    if unknown := {step.actor for step in recorded.steps} - set(world.actors):
        return f"there is no actor {min(unknown)!r}"
    game = Game(world, task.episode)
    if found := _first(game.trajectory.start, recorded.start, "start of"):
        return found
    for number, step in enumerate(recorded.steps, 1):
        now = game.act(step.actor, step.decision)
        for part in ("observation", "decision", "feedback", "pose"):
            if plain(getattr(now, part)) != plain(getattr(step, part)):
                return f"step {number}: the {part} is another"
    ended = "stopped" if all(map(world.done, world.actors)) else "step_limit"
    if ended != recorded.ended:
        return f"ends as {ended}, and is recorded as {recorded.ended}"
    return _first(world.state(), recorded.state, "final state of")


def _first(now: Mapping[str, Any], recorded: Mapping[str, Any], what: str) -> str:
    """The first entry that differs."""
    ours, theirs = plain(now), plain(recorded)
    for key in (*ours, *(key for key in theirs if key not in ours)):
        if ours.get(key) != theirs.get(key):
            return f"{what} {key!r} is {_short(ours.get(key))}, recorded {_short(theirs.get(key))}"
    return ""


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
