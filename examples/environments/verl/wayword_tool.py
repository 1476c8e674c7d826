"""Wayword as a tool for multi-turn rollouts in verl 0.8 and 0.9.

    python wayword_tool.py houses:train 512 train.jsonl

writes rows to train on, each with its episode; `tools.yaml` names the class and the same dataset.
``compute_score`` sums the rewards of a rollout's calls: set it as ``custom_reward_function``.

Set ``multi_turn.max_tool_response_length`` to 4000 or more: by default verl cuts the middle out of
results longer than 256 characters, and observations are longer.
"""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from verl.tools.base_tool import BaseTool
from verl.tools.schemas import OpenAIFunctionToolSchema, ToolResponse

from wayword.envs.trl import (
    ToolEnvironment,
    environment_factory,
    episode_reward,
    prompts,
)

TOOL = "act"
_SCHEMA = OpenAIFunctionToolSchema.model_validate(
    {
        "type": "function",
        "function": {
            "name": TOOL,
            "description": "Take one action in the world, and see the result.",
            "parameters": {
                "type": "object",
                "properties": {
                    "action": {
                        "type": "string",
                        "description": "The action, written as the rules say.",
                    }
                },
                "required": ["action"],
            },
        },
    }
)


class WaywordTool(BaseTool):
    """The tool ``act``. Every rollout has a world of its own; all share one dataset."""

    def __init__(
        self,
        config: dict[str, Any],
        tool_schema: OpenAIFunctionToolSchema | None = None,
    ) -> None:
        super().__init__(config, tool_schema or _SCHEMA)
        options = dict(config.get("options") or {})
        self._world = environment_factory(config["dataset"], **options)
        # verl makes and releases an instance for each call, so a world belongs to the data of its
        # rollout instead, and is forgotten with it: many rollouts are cut before their end.
        self._worlds = WeakKeyDictionary[Any, ToolEnvironment]()
        self._turns = WeakKeyDictionary[Any, asyncio.Lock]()

    async def create(
        self,
        instance_id: str | None = None,
        create_kwargs: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> tuple[str, ToolResponse]:
        """Name the instance by its episode, all that it stands for."""
        episode = (create_kwargs or {}).get("episode")
        if not episode:
            raise ValueError("extra_info.tools_kwargs.act.create_kwargs has no episode")
        return episode, ToolResponse()

    async def execute(
        self, instance_id: str, parameters: dict[str, Any], **kwargs: Any
    ) -> tuple[ToolResponse, float, dict[str, Any]]:
        """Take the action in the rollout's world; parallel calls follow one another."""
        rollout = kwargs["agent_data"]
        async with self._turns.setdefault(rollout, asyncio.Lock()):
            world = self._worlds.get(rollout)
            if world is None:
                world = self._worlds[rollout] = self._world()
                await asyncio.to_thread(world.reset, episode=instance_id)
            (before,) = episode_reward([world])
            action = str(parameters.get("action", ""))
            text = await asyncio.to_thread(world.act, action)
            (after,) = episode_reward([world])
            return ToolResponse(text=text), float(after - before), {}


def compute_score(
    data_source: str, solution_str: str, ground_truth: Any, extra_info: dict[str, Any]
) -> float:
    """The rewards of all calls of a rollout."""
    return float(sum(extra_info["tool_rewards"]))


def rows(name: str, count: int, **options: Any) -> list[dict[str, Any]]:
    """Rows of verl's dataset for the first episodes."""
    return [
        {
            "data_source": f"wayword/{name}",
            "prompt": row["prompt"],
            "agent_name": "tool_agent",
            "reward_model": {"style": "rule", "ground_truth": ""},
            "extra_info": {
                "need_tools_kwargs": True,
                "tools_kwargs": {TOOL: {"create_kwargs": {"episode": row["episode"]}}},
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
