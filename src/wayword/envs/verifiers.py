"""Wayword for verifiers: an environment with a dataset and a rubric.

    import verifiers as vf

    env = vf.load_environment("wayword-env", name="household:generated_train", count=64)

or ``from wayword.envs.verifiers import load_environment``. A rollout is a chat: the rules and the
first observation, then an action, what came of it, and so on. The rubric's reward is the
environment's (success, unless ``reward`` says otherwise); the other functions are metrics of weight
0. ``view`` stays ``text``.

Source: verifiers 0.1, ``MultiTurnEnv`` and ``Rubric``.
"""

from __future__ import annotations

import asyncio
from typing import Any

from wayword.core.errors import missing
from wayword.envs.environment import make
from wayword.envs.trl import prompts, text

try:
    import verifiers as vf

    from datasets import Dataset
except ModuleNotFoundError as error:
    raise missing(error, "verifiers") from None


class WaywordMultiTurnEnv(vf.MultiTurnEnv):
    """Chats that act in a world. ``state["wayword"]`` is the rollout's environment."""

    def __init__(self, name: str, options: dict[str, Any], **others: Any) -> None:
        super().__init__(**others)
        self._name = name
        self._options = {**options, "dataset": make(name, **options).dataset}

    async def setup_state(self, state: Any) -> None:
        """Begin the row's episode."""
        env = make(self._name, **self._options)
        env.reset(episode=state["info"]["episode"])
        state["wayword"], state["total"], state["told"] = env, 0.0, {}
        state["over"] = False

    async def env_response(self, messages: Any, state: Any, **others: Any) -> Any:
        """What came of the last action. The chat ends with the episode."""
        said = text([_plain(messages[-1])])
        env = state["wayword"]
        seen, reward, ended, cut, info = await asyncio.to_thread(env.step, said)
        state["total"] += reward
        state["told"] = info
        told = [vf.UserMessage(content=str(seen))]
        if ended or cut:
            state["over"], state["final_env_response"] = True, told
        return told


def _plain(message: Any) -> dict[str, Any]:
    return dict(message) if isinstance(message, dict) else message.model_dump()


async def reward(state: Any) -> float:
    """What the episode earned."""
    return float(state.get("total", 0.0))


async def success(state: Any) -> float:
    """Whether the episode was solved."""
    return float(bool(state.get("told", {}).get("success")))


async def rejected(state: Any) -> float:
    """How many answers were no legal action."""
    env = state.get("wayword")
    steps = env.game.trajectory.steps if env is not None else []
    return float(sum(step.feedback.status == "rejected" for step in steps))


def load_environment(
    name: str = "household:generated_train", count: int = 64, max_turns: int = 30, **options: Any
) -> vf.Environment:
    """The environment: ``count`` episodes of a dataset; options as in :func:`wayword.envs.make`.

    An episode is cut off after ``max_turns`` actions.
    """
    options = {**options, "max_steps": max_turns}
    rows = prompts(name, count, **options)
    dataset = Dataset.from_list(
        [{"prompt": r["prompt"], "info": {"episode": r["episode"]}, "answer": ""} for r in rows]
    )
    rubric = vf.Rubric(funcs=[reward, success, rejected], weights=[1.0, 0.0, 0.0])
    return WaywordMultiTurnEnv(
        name, options, dataset=dataset, eval_dataset=dataset, rubric=rubric, max_turns=max_turns + 1
    )
