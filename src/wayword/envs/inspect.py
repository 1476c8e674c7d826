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
        seen, _ = env.reset(episode=str(state.sample_id))
        rules = ChatMessageSystem(content=env.view.rules())
        state.messages = [rules, ChatMessageUser(content=seen)]
        over = False
        while not over:
            state = await generate(state)
            said = state.output.completion
            if not isinstance(state.messages[-1], ChatMessageAssistant):
                break
            seen, _, ended, cut, _ = await asyncio.to_thread(env.step, said)
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


def _task(dataset: str, split: str, about: str) -> Any:
    """The task of a dataset, under its name."""

    def made(split: str = split, **options: Any) -> Task:
        return opened(dataset, split, **options)

    made.__name__, made.__doc__ = dataset, about
    return task(made)


r2r = _task("r2r", "val_seen", "Room-to-Room.")
houses = _task("houses", "test", "Routes through generated houses.")
towns = _task("towns", "test", "Routes through generated towns.")
household = _task("household", "generated_test", "Household tasks of ALFRED's types.")
rearrangement = _task("rearrangement", "", "Things to put back.")
iqa = _task("iqa", "", "Questions about homes.")
grounding = _task("grounding", "test", "Levels of BabyAI.")
apartments = _task("apartments", "test", "A described thing to find.")
two_phase = _task("two_phase", "test", "LGX's two-phase test.")
