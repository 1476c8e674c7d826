"""Wayword for verifiers: an environment with a dataset and a rubric.

    import verifiers as vf

    env = vf.load_environment("wayword-env", name="household:generated_train", count=64)

or ``from wayword.envs.verifiers import load_environment``. A rollout is a chat: the rules and the
first observation, then an action, its result, and so on. The rubric's reward is the environment's
(success, unless ``reward`` says otherwise); the other functions are metrics of weight 0. The view
is always ``text``.

Source: verifiers 0.1, ``MultiTurnEnv`` and ``Rubric``.
"""

from __future__ import annotations

import asyncio
from typing import Any

from wayword.core.errors import missing
from wayword.envs.environment import make
from wayword.envs.trl import completion_text, prompts

try:
    import verifiers as vf

    from datasets import Dataset
except ModuleNotFoundError as error:
    raise missing(error, "verifiers") from None


class WaywordMultiTurnEnv(vf.MultiTurnEnv):
    """Chats that act in a world. ``state["wayword"]`` is the rollout's environment."""

    def __init__(
        self, name: str, options: dict[str, Any], **verifiers_options: Any
    ) -> None:
        super().__init__(**verifiers_options)
        self._name = name
        self._options = {**options, "dataset": make(name, **options).dataset}

    async def setup_state(self, state: Any) -> None:
        env = make(self._name, **self._options)
        env.reset(episode=state["info"]["episode"])
        state["wayword"] = env
        state["total"] = 0.0
        state["last_info"] = {}

    async def env_response(self, messages: Any, state: Any, **others: Any) -> Any:
        """Result of the last action. The chat ends with the episode."""
        last = messages[-1]
        if not isinstance(last, dict):
            last = last.model_dump()
        # In a thread: a step may take seconds, and other rollouts wait in this loop.
        result = await asyncio.to_thread(state["wayword"].step, completion_text([last]))
        observation, reward, terminated, truncated, state["last_info"] = result
        state["total"] += reward
        response = [vf.UserMessage(content=str(observation))]
        if terminated or truncated:
            state["final_env_response"] = response
        return response


async def reward(state: Any) -> float:
    """Total reward of the episode."""
    return float(state.get("total", 0.0))


async def success(state: Any) -> float:
    """1 if the episode was solved, else 0."""
    return float(bool(state.get("last_info", {}).get("success")))


async def rejected(state: Any) -> float:
    """Number of answers that were no legal action."""
    env = state.get("wayword")
    if env is None:
        return 0.0
    steps = env.game.trajectory.steps
    return float(sum(step.feedback.status == "rejected" for step in steps))


def load_environment(
    name: str = "household:generated_train",
    count: int = 64,
    max_turns: int = 30,
    eval_count: int = 16,
    **options: Any,
) -> vf.Environment:
    """An environment of ``count`` episodes to train on; options as in :func:`wayword.envs.make`. It
    is evaluated on the ``eval_count`` episodes after these; if the dataset has no more, on the
    same. An episode is cut off after ``max_turns`` actions."""
    options = {**options, "max_steps": max_turns}
    rows = [
        {"prompt": row["prompt"], "info": {"episode": row["episode"]}, "answer": ""}
        for row in prompts(name, count + eval_count, **options)
    ]
    train = Dataset.from_list(rows[:count])
    held_out = Dataset.from_list(rows[count:] or rows)
    rubric = vf.Rubric(funcs=[reward, success, rejected], weights=[1.0, 0.0, 0.0])
    return WaywordMultiTurnEnv(
        name,
        options,
        dataset=train,
        eval_dataset=held_out,
        rubric=rubric,
        max_turns=max_turns + 1,
    )
