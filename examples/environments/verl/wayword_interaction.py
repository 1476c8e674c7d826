"""Wayword as an interaction for multi-turn rollouts in verl 0.7. Later releases have none.

    python wayword_interaction.py houses:train 512 train.jsonl

writes rows to train on, each with its episode; `interaction.yaml` names the class and the same
dataset. ``compute_score`` sums the rewards of a rollout's turns: set it as
``custom_reward_function``. Keep ``max_steps`` at or below verl's ``max_user_turns``: then every
episode ends by itself, and its environment is released.
"""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any
from uuid import uuid4

from verl.interactions.base import BaseInteraction

from wayword.envs import make
from wayword.envs.trl import prompts


class WaywordInteraction(BaseInteraction):
    """Every rollout has an environment of its own; all share one dataset."""

    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__(config)
        self._name = config["dataset"]
        self._options = dict(config.get("options") or {})
        if self._options.get("eyes", "words") != "words":
            raise ValueError("answers of an interaction are texts; remove eyes")
        self._options["dataset"] = make(self._name, **self._options).dataset
        self._environments: dict[str, Any] = {}

    async def start_interaction(
        self, instance_id: str | None = None, episode: str = "", **kwargs: Any
    ) -> str:
        instance_id = instance_id or str(uuid4())
        env = self._environments[instance_id] = make(self._name, **self._options)
        await asyncio.to_thread(env.reset, episode=episode)
        return instance_id

    async def generate_response(
        self, instance_id: str, messages: list[dict[str, Any]], **kwargs: Any
    ) -> tuple[bool, str, float, dict[str, Any]]:
        answer = next(
            m["content"] for m in reversed(messages) if m["role"] == "assistant"
        )
        env = self._environments[instance_id]
        observation, reward, terminated, truncated, info = await asyncio.to_thread(
            env.step, answer
        )
        over = terminated or truncated
        if over:
            await self.finalize_interaction(instance_id)
        return over, str(observation), float(reward), {"success": info["success"]}

    async def finalize_interaction(self, instance_id: str, **kwargs: Any) -> None:
        env = self._environments.pop(instance_id, None)
        if env is not None:
            env.close()


def compute_score(
    data_source: str, solution_str: str, ground_truth: Any, extra_info: dict[str, Any]
) -> float:
    """The rewards of all turns of a rollout."""
    return float(sum(extra_info["turn_scores"]))


def rows(name: str, count: int, **options: Any) -> list[dict[str, Any]]:
    """Rows of verl's dataset for the first episodes."""
    return [
        {
            "data_source": f"wayword/{name}",
            "prompt": row["prompt"],
            "agent_name": "tool_agent",
            "reward_model": {"style": "rule", "ground_truth": ""},
            "extra_info": {
                "interaction_kwargs": {"name": "wayword", "episode": row["episode"]}
            },
        }
        for row in prompts(name, count, **options)
    ]


if __name__ == "__main__":
    lines = (
        json.dumps(row) + "\n"
        for row in rows(sys.argv[1], int(sys.argv[2]), max_steps=30)
    )
    Path(sys.argv[3]).write_text("".join(lines), encoding="utf-8")
