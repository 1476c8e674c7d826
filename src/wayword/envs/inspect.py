"""Wayword's datasets as Inspect tasks: ``inspect eval wayword/houses --model openai/gpt-5-mini``.

A task is named for each dataset. Its ``-T`` options are ``split``, ``count``, ``max_steps``,
``data`` (the folder of published data) and ``eyes`` (``pictures`` or ``both``: image content). The
solver chats: the rules and the first observation, an action, its result, and so on; the scorer
gives the family's own metrics.

Registered by the entry point ``inspect_ai``; source: Inspect's ``@task``, ``@solver``, ``@scorer``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import anyio
from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import (
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    ContentImage,
    ContentText,
)
from inspect_ai.scorer import Score, mean, scorer, stderr
from inspect_ai.solver import Generate, TaskState, solver

from wayword.core.dataset import Dataset
from wayword.core.sight import Mode
from wayword.envs.environment import Environment, make
from wayword.metrics.scoring import score


def message(env: Environment, observation: str) -> ChatMessageUser:
    """An observation as a user's message, with the pictures that come with it."""
    images = env.pictures()
    if not images:
        return ChatMessageUser(content=observation)
    pictures = [ContentImage(image=image.url) for image in images]
    return ChatMessageUser(content=[ContentText(text=observation), *pictures])


@solver
def play(name: str, options: dict[str, Any], dataset: Dataset) -> Any:
    """Chat until the episode is over, or a limit of Inspect's is reached.

    ``name`` and ``options`` are those of :func:`wayword.envs.make`. The episode's scores are left
    in the sample's metadata, for the scorer.
    """

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        """Play the episode of a sample."""
        # One environment per sample; the dataset is shared.
        env = make(name, dataset=dataset, **options)
        observation, _ = env.reset(episode=str(state.sample_id))
        rules = ChatMessageSystem(content=env.view.rules())
        state.messages = [rules, message(env, str(observation))]
        # Some limits of Inspect's end the solver by an error, others by a missing answer: such an
        # episode counts, too.
        try:
            return await _chat(env, state, generate)
        finally:
            # Scoring may replay the expert, so it runs in a thread, also after a cancellation.
            with anyio.CancelScope(shield=True):
                pairs = [(env.game.task, env.trajectory())]
                scores = await asyncio.to_thread(score, env.dataset, pairs)
            # Inspect's generate returns the state that it was given.
            (state.metadata["scores"],) = scores

    return solve


async def _chat(env: Environment, state: TaskState, generate: Generate) -> TaskState:
    """Chat until the episode is over, or a model's answer is missing."""
    terminated = truncated = False
    while not (terminated or truncated):
        state = await generate(state)
        answer = state.output.completion
        # Without an answer at the end of the chat, a limit of Inspect's was reached.
        if not isinstance(state.messages[-1], ChatMessageAssistant):
            break
        # In a thread: a step may take seconds, and other samples wait in this loop.
        step = await asyncio.to_thread(env.step, answer)
        observation, _, terminated, truncated, _ = step
        state.messages.append(message(env, str(observation)))
    return state


@scorer(metrics={"*": [mean(), stderr()]})
def family(keys: Sequence[str], success: str) -> Any:
    """Score by the family's metrics; ``success`` is the one that means success."""

    async def judge(state: TaskState, target: Any) -> Score:
        """Return the scores that the solver left in the sample."""
        scores = state.metadata.get("scores", {})
        # Only the metrics that the episode has.
        value = {key: float(scores[key]) for key in keys if key in scores}
        return Score(
            value=value,
            answer=state.output.completion,
            explanation=f"by {success}",
        )

    return judge


def episodes_task(
    dataset: str,
    split: str,
    count: int,
    max_steps: int | None,
    data: str | None,
    eyes: Mode,
) -> Task:
    """The first ``count`` episodes of a split, by default the dataset's default split."""
    name = f"{dataset}:{split}" if split else dataset
    options: dict[str, Any] = {
        "episodes": count,
        "max_steps": max_steps,
        "data": data,
        "eyes": eyes,
        "reward": None,  # the family's metrics score the episode
    }
    env = make(name, **options)
    episodes = [task.episode for task in env.tasks]
    samples = [
        Sample(
            id=episode.id,
            input=episode.instruction,
            metadata={"scene": episode.scene},
        )
        for episode in episodes
    ]
    success = env.dataset.family.success
    return Task(
        dataset=MemoryDataset(samples, name=name),
        solver=play(name, options, env.dataset),
        scorer=family([success, "steps", "rejections"], success),
        name=f"wayword_{dataset}",
    )


# Each task is written out: Inspect lists the tasks of a file by reading it, without running it.


@task
def r2r(
    split: str = "",
    count: int = 50,
    max_steps: int | None = None,
    data: str | None = None,
    eyes: Mode = "words",
) -> Task:
    """Follow an instruction through a building (Room-to-Room)."""
    return episodes_task("r2r", split, count, max_steps, data, eyes)


@task
def houses(
    split: str = "",
    count: int = 50,
    max_steps: int | None = None,
    data: str | None = None,
    eyes: Mode = "words",
) -> Task:
    """Follow an instruction through a generated house."""
    return episodes_task("houses", split, count, max_steps, data, eyes)


@task
def towns(
    split: str = "",
    count: int = 50,
    max_steps: int | None = None,
    data: str | None = None,
    eyes: Mode = "words",
) -> Task:
    """Follow a route through the streets of a generated town."""
    return episodes_task("towns", split, count, max_steps, data, eyes)


@task
def household(
    split: str = "",
    count: int = 50,
    max_steps: int | None = None,
    data: str | None = None,
    eyes: Mode = "words",
) -> Task:
    """Do a household task, such as putting a clean mug on a desk."""
    return episodes_task("household", split, count, max_steps, data, eyes)


@task
def rearrangement(
    split: str = "",
    count: int = 50,
    max_steps: int | None = None,
    data: str | None = None,
    eyes: Mode = "words",
) -> Task:
    """Put the objects of a home where a description says."""
    return episodes_task("rearrangement", split, count, max_steps, data, eyes)


@task
def iqa(
    split: str = "",
    count: int = 50,
    max_steps: int | None = None,
    data: str | None = None,
    eyes: Mode = "words",
) -> Task:
    """Answer a question about a home by looking."""
    return episodes_task("iqa", split, count, max_steps, data, eyes)


@task
def grounding(
    split: str = "",
    count: int = 50,
    max_steps: int | None = None,
    data: str | None = None,
    eyes: Mode = "words",
) -> Task:
    """Take the object of a home that a description means."""
    return episodes_task("grounding", split, count, max_steps, data, eyes)


@task
def apartments(
    split: str = "",
    count: int = 50,
    max_steps: int | None = None,
    data: str | None = None,
    eyes: Mode = "words",
) -> Task:
    """Find an object in a generated apartment."""
    return episodes_task("apartments", split, count, max_steps, data, eyes)


@task
def two_phase(
    split: str = "",
    count: int = 50,
    max_steps: int | None = None,
    data: str | None = None,
    eyes: Mode = "words",
) -> Task:
    """Find a place, then an object there, on a small map."""
    return episodes_task("two_phase", split, count, max_steps, data, eyes)
