"""Every registered agent: nothing of an earlier episode, trial or fault is left in the next one.

The model answers each prompt in its own way, so that a prompt that changed changes the walk.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import pytest

from helpers.reasoning_stub import answer_to, worded
from wayword.agents.person import PERSON
from wayword.core import registry
from wayword.core.agent import Agent, Shared, Toolkit
from wayword.core.dataset import Dataset, Task
from wayword.core.errors import ModelError
from wayword.core.game import Game
from wayword.core.model import Choice, Completion, Message, Model, Prompt, Sampling
from wayword.core.recording import Log
from wayword.core.rollout import Setup, rollout, seat
from wayword.models.scripted import smallest
from wayword.runs.opening import open_dataset
from wayword.runs.plan import Plan
from wayword.settings import make
from wayword.testing.contracts import NOISE, Typist

WORLDS: dict[str, tuple[str, dict[str, Any], int]] = {
    "indoor": ("houses", {"houses": 1, "episodes": 6, "rooms": 6}, 4),
    "street": ("towns", {"towns": 1, "episodes": 2}, 5),
    "household": ("household", {"homes": 1, "episodes": 2}, 4),
    "objectnav": ("apartments", {"homes": 1, "episodes": 2, "rooms": 3}, 30),
    "babyai": ("grounding", {"levels": "GoToLocal", "episodes": 2}, 4),
    "two_phase": ("two_phase", {}, 3),
}
"""Family -> a dataset without files, its settings, and steps that hold every kind of question."""
AGENTS = [
    (name, family)
    for name in registry.names("agent")
    for family in sorted(registry.load("agent", name).families or ("household",))
    if family in WORLDS
]
LEARNERS = [
    (name, family)
    for name, _ in AGENTS
    if registry.load("agent", name).learns
    for family in WORLDS
]
"""Only agents that learn play again with the same instance."""


class Answering(Model):
    """Answers by the prompt alone: a legal answer, noise, or an error at the second call."""

    name = "answering"
    identity = "answering"

    def __init__(self) -> None:
        self.mode = "legal"
        self.prompts: list[str] = []

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        rng = self._record(prompt)
        texts = [self._text(prompt, sampling, rng) for _ in range(sampling.n)]
        return Completion(tuple(texts), ("stop",) * sampling.n)

    async def choose(self, prompt: Prompt, options: Sequence[str]) -> Choice:
        rng = self._record(prompt)
        return Choice(tuple(options), tuple(-rng.random() for _ in options))

    def _record(self, prompt: Prompt) -> random.Random:
        self.prompts.append(str(prompt))
        if self.mode == "broken" and len(self.prompts) > 1:
            raise ModelError("out of order")
        return random.Random(str(prompt))

    def _text(self, prompt: Prompt, sampling: Sampling, rng: random.Random) -> str:
        if self.mode == "noise":
            return rng.choice(NOISE)
        if sampling.choices:
            return rng.choice(sampling.choices)
        if sampling.json_schema is not None:
            return json.dumps(worded(smallest(sampling.json_schema, rng)))
        if isinstance(prompt, str):
            return " forward"
        messages = [
            {"content": each.content} for each in prompt if isinstance(each, Message)
        ]
        return answer_to({"messages": messages})


@cache
def world_of(family: str) -> Dataset:
    """The family's dataset."""
    on, settings, _ = WORLDS[family]
    return open_dataset(Plan("any", on, settings={"dataset": settings}))


def setup(agent: type[Agent], family: str, model: Answering) -> Setup:
    """The parts of a run of the agent; its ``shared`` is empty."""
    settings = make(agent.Settings, {}, agent.__name__)

    def build(toolkit: Toolkit, actor: str) -> Agent:
        return agent(settings, toolkit)

    return Setup(
        world_of(family),
        build,
        {"main": model},
        max_steps=WORLDS[family][2],
        shared=Shared({PERSON: Typist()}),
    )


# Episodes of one run.


def played(task: Task, parts: Setup, model: Answering, mode: str = "legal") -> Any:
    """What is decided and asked in an episode of a run."""
    model.mode = mode
    model.prompts.clear()
    parts.shared[PERSON] = Typist()
    walk = asyncio.run(rollout(task, parts))
    decided = [
        (str(step.observation), step.decision, step.feedback, step.notes)
        for step in walk.steps
    ]
    return walk.ended, decided, walk.state, list(model.prompts)


@pytest.mark.parametrize(("name", "family"), AGENTS)
def test_an_episode_is_the_same_after_others_of_its_run(name: str, family: str) -> None:
    agent = registry.load("agent", name)
    model = Answering()
    parts = setup(agent, family, model)
    first, *_, second = world_of(family).tasks
    alone = played(first, parts, model)
    assert alone[0] != "failed"
    assert bool(alone[3]) == agent.needs_model, "the model is asked where one is needed"
    assert played(second, parts, model) != alone
    assert played(first, parts, model) == alone, "after another episode"
    if agent.needs_model:
        played(second, parts, model, "noise")
        played(second, parts, model, "broken")
        assert played(first, parts, model) == alone, "after one that failed"


# Trials of one agent.


class Stage:
    """The agents of one episode, kept between its trials, and its world."""

    def __init__(self, task: Task, parts: Setup) -> None:
        self.task = task
        self.parts = parts
        self.world = parts.dataset.world(task.episode)
        self.world.reset(task.episode)
        self.rngs = {actor: random.Random(0) for actor in self.world.actors}
        self.agents = {
            actor: seat(task, parts, self.world, actor, rng, Log())
            for actor, rng in self.rngs.items()
        }

    async def trial(self) -> Iterator[Any]:
        """Play from the start, with the same random numbers as before."""
        game = Game(self.world, self.task.episode, self.parts.max_steps)
        for actor, agent in self.agents.items():
            self.rngs[actor].seed(0)
            await agent.begin(self.task.episode.for_actor(actor))
        for actor in game.turns():
            agent = self.agents[actor]
            decision = await agent.act(game.observation(actor), game.space(actor))
            step = game.act(actor, decision)
            agent.on_feedback(step.decision, step.feedback)
        return [
            (str(step.observation), step.decision, step.feedback)
            for step in game.trajectory.steps
        ]


@pytest.mark.parametrize(("name", "family"), LEARNERS)
def test_a_trial_that_taught_nothing_is_played_again_alike(
    name: str, family: str
) -> None:
    agent = registry.load("agent", name)
    model = Answering()
    parts = setup(agent, family, model)

    def trial(mode: str = "legal") -> Any:
        model.mode = mode
        model.prompts.clear()
        parts.shared[PERSON]._calls = 0
        try:
            return asyncio.run(stage.trial()), list(model.prompts)
        except ModelError:
            assert mode == "broken"

    stage = Stage(world_of(family).tasks[0], parts)
    alone = trial()
    assert trial() == alone, "after a trial"
    trial("noise")
    assert trial() == alone, "after a trial with rejected answers"
    trial("broken")
    assert trial() == alone, "after a trial that failed"
