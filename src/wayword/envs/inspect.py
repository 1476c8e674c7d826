"""Wayword's datasets as Inspect tasks: ``inspect eval wayword/houses --model openai/gpt-5-mini``.

A task is named for each dataset; ``split``, ``count`` and ``max_steps`` are its ``-T`` options.
The solver chats: the rules and the first observation, an action, what came of it, and so on; the
scorer gives the family's own metrics. ``-T data=FOLDER`` says where published data is.

Registered by the entry point ``inspect_ai``; source: Inspect's ``@task``, ``@solver``, ``@scorer``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, ChatMessageUser
from inspect_ai.scorer import Score, mean, scorer, stderr
from inspect_ai.solver import Generate, TaskState, solver

from wayword.core.dataset import Dataset
from wayword.envs.environment import Environment, make
from wayword.metrics.scoring import score


@solver
def play(name: str, options: dict[str, Any], dataset: Dataset) -> Any:
    """Chat until the episode is over."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        env = make(name, dataset=dataset, **options)
        seen, info = env.reset(episode=str(state.sample_id))
        state.messages = [ChatMessageSystem(content=info["rules"]), ChatMessageUser(content=seen)]
        over = False
        while not over:
            state = await generate(state)
            said = state.output.completion
            if not isinstance(state.messages[-1], ChatMessageAssistant):
                break
            seen, _, ended, cut, info = await asyncio.to_thread(env.step, said)
            over = ended or cut
            state.messages.append(ChatMessageUser(content=str(seen)))
        state.metadata["scores"] = await asyncio.to_thread(_scores, env)
        return state

    return solve


def _scores(env: Environment) -> dict[str, float]:
    (found,) = score(env.dataset, [(env.game.task, env.trajectory())])
    return found


@scorer(metrics={"*": [mean(), stderr()]})
def family(keys: Sequence[str], success: str) -> Any:
    """The family's metrics of the episode; ``success`` is the one that means success."""

    async def judge(state: TaskState, target: Any) -> Score:
        found = state.metadata.get("scores", {})
        value = {key: float(found[key]) for key in keys if key in found}
        return Score(value=value, answer=state.output.completion, explanation=f"by {success}")

    return judge


def opened(
    dataset: str,
    split: str = "",
    count: int = 50,
    max_steps: int | None = None,
    data: str | None = None,
) -> Task:
    """The task of a dataset and split: its first ``count`` episodes."""
    name = f"{dataset}:{split}" if split else dataset
    options: dict[str, Any] = {"episodes": count, "max_steps": max_steps, "data": data}
    env = make(name, **options)
    samples = [
        Sample(
            id=one.episode.id, input=one.episode.instruction, metadata={"scene": one.episode.scene}
        )
        for one in env.tasks
    ]
    success = env.dataset.family.success
    keys = [success, "steps", "rejected"]
    return Task(
        dataset=MemoryDataset(samples, name=name),
        solver=play(name, options, env.dataset),
        scorer=family(keys, success),
        name=f"wayword_{dataset}",
    )


@task
def r2r(split: str = "val_seen", **options: Any) -> Task:
    """Room-to-Room."""
    return opened("r2r", split, **options)


@task
def houses(split: str = "test", **options: Any) -> Task:
    """Routes through generated houses."""
    return opened("houses", split, **options)


@task
def towns(split: str = "test", **options: Any) -> Task:
    """Routes through generated towns."""
    return opened("towns", split, **options)


@task
def household(split: str = "generated_test", **options: Any) -> Task:
    """Household tasks of ALFRED's types."""
    return opened("household", split, **options)


@task
def rearrangement(split: str = "", **options: Any) -> Task:
    """Things to put back."""
    return opened("rearrangement", split, **options)


@task
def iqa(split: str = "", **options: Any) -> Task:
    """Questions about homes."""
    return opened("iqa", split, **options)


@task
def grounding(split: str = "test", **options: Any) -> Task:
    """Levels of BabyAI."""
    return opened("grounding", split, **options)


@task
def apartments(split: str = "test", **options: Any) -> Task:
    """A described thing to find."""
    return opened("apartments", split, **options)


@task
def two_phase(split: str = "test", **options: Any) -> Task:
    """LGX's two-phase test."""
    return opened("two_phase", split, **options)
