"""The promises of an agent."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from wayword.agents.person import PERSON, Style
from wayword.core.agent import Agent, Toolkit
from wayword.core.dataset import Dataset
from wayword.core.decision import Decision, Rejection
from wayword.core.model import Choice, Completion, Model, Prompt, Sampling
from wayword.core.rollout import Setup, rollout
from wayword.core.trajectory import Trajectory
from wayword.settings import make

NOISE = (
    "",
    "   ",
    "I would rather not say.",
    "Action Input: \nAction Input: ",
    "{",
    "[" * 8000,
    '{"action": "\ud800"}',
    "\x00\ufffd" * 5000,
)


class Noise:
    """A model that answers anything but what it was asked, whatever the constraint."""

    name = "noise"

    def __init__(self) -> None:
        self._asked = 0

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        self._asked += 1
        texts = [NOISE[(self._asked + i) % len(NOISE)] for i in range(sampling.n)]
        return Completion(tuple(texts), ("stop",) * sampling.n)

    async def choose(self, prompt: Prompt, options: Sequence[str]) -> Choice:
        return Choice(tuple(options), (0.0,) * len(options))

    async def aclose(self) -> None:
        """Nothing to close."""


class Typist:
    """Somebody at the keyboard who types noise, and a legal action now and then."""

    def __init__(self) -> None:
        self._asked = 0

    def tell(self, text: str, style: Style = "") -> None:
        """Nobody reads it."""

    def ask(self, question: str) -> str:
        self._asked += 1
        return "1" if self._asked % 4 == 0 else NOISE[self._asked % len(NOISE)]

    def leave(self) -> None:
        """Nobody waits."""


def check_agent(agent: type[Agent], dataset: Dataset, model: Model | None = None) -> None:
    """Default settings work, the same seed plays the same, and noise never breaks an episode, nor
    another trial of it where the agent learns.

    ``model`` answers in the first two checks (a scripted one will do); without it, noise does.
    """
    settings = make(agent.Settings, {}, agent.__name__)
    sensible = model or Noise()
    first = _play(agent, settings, dataset, sensible)
    assert first.ended != "failed", f"an episode failed: {first.error}"
    assert first.steps, "an agent acts at least once"
    if model is None:
        again = _play(agent, settings, dataset, Noise())
        decided = [step.decision for step in first.steps]
        assert decided == [step.decision for step in again.steps], "same seed, same decisions"
    noisy = _play(agent, settings, dataset, Noise(), trials=3)
    assert noisy.ended != "failed", f"noise from a model ended the episode: {noisy.error}"
    for step in (step for trial in noisy.trials() for step in trial.steps):
        kind = type(step.decision).__name__
        assert isinstance(step.decision, Decision | Rejection), f"{kind} is no decision"
        _rejection_is_small(step.decision)


def _play(
    agent: type[Agent], settings: Any, dataset: Dataset, model: Model, trials: int = 1
) -> Trajectory:
    def build(toolkit: Toolkit, actor: str) -> Agent:
        made: Agent = agent(settings, toolkit)  # type: ignore[call-arg]
        return made

    shared: dict[str, Any] = {PERSON: Typist()}  # no test waits for a real one
    setup = Setup(dataset, build, {"main": model}, seed=1, max_steps=6, shared=shared)
    return asyncio.run(rollout(dataset.tasks[0], setup))


def _rejection_is_small(decision: Decision | Rejection) -> None:
    if isinstance(decision, Rejection):
        assert decision.reason, "a rejection says why"
        assert len(decision.said) <= 2000, "a rejected answer is kept in short form"
