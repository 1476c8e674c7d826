"""Play one episode of the small house with an agent and given answers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from helpers.small_house import SmallHouse
from wayword.core.agent import Agent, Toolkit
from wayword.core.model import (
    Choice,
    Completion,
    Message,
    Model,
    Prompt,
    Sampling,
    Usage,
)
from wayword.core.rollout import Setup, rollout
from wayword.core.trajectory import Trajectory

Answers = Sequence[str] | Callable[[Prompt, Sampling], str]


class Scripted(Model):
    """Gives the answers in order and keeps every prompt; tokens are words."""

    name = "scripted"

    def __init__(self, answers: Answers) -> None:
        self._answers = answers
        self.prompts: list[str] = []

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        text = flat(prompt)
        self.prompts.append(text)
        request_count = len(self.prompts) - 1
        given = self._answers
        if callable(given):
            answer = given(prompt, sampling)
        else:
            answer = given[min(request_count, len(given) - 1)]
        return Completion(
            (answer,), ("stop",), Usage(len(text.split()), len(answer.split()))
        )

    async def choose(self, prompt: Prompt, options: Sequence[str]) -> Choice:
        raise AssertionError("no choice is asked for here")

    async def aclose(self) -> None:
        """Nothing to close."""


def flat(prompt: Prompt) -> str:
    """A prompt as one text."""
    if isinstance(prompt, str):
        return prompt
    return "\n".join(
        f"<{m.role}>\n{m.content}" for m in prompt if isinstance(m, Message)
    )


def play(
    agent: type[Any],
    settings: Any,
    models: Mapping[str, Any],
    episode: int = 0,
    max_steps: int = 8,
) -> Trajectory:
    """One episode of the small house."""
    house = SmallHouse()

    def build(toolkit: Toolkit, actor: str) -> Agent:
        made: Agent = agent(settings, toolkit)
        return made

    setup = Setup(house, build, models, seed=0, max_steps=max_steps)
    return asyncio.run(rollout(house.tasks[episode], setup))
