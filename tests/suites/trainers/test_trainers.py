"""verl, SkyRL and ART run their examples by their own code, with an expert as the model."""

from __future__ import annotations

import asyncio
import gc
import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from wayword.envs import make

FOLDER = Path(__file__).parents[3] / "examples" / "environments"
NAME = "houses:train"
STEPS = 30


def expert_plan(episode: str, name: str = NAME) -> list[tuple[str, str]]:
    """The expert's actions in an episode, each with the observation that it leads to."""
    env = make(name, include=["expert_action"], max_steps=STEPS)
    _, info = env.reset(episode=episode)
    plan = list[tuple[str, str]]()
    over = False
    while not over:
        action = info["expert_action"]
        observation, _, terminated, truncated, info = env.step(action)
        plan.append((action, str(observation)))
        over = terminated or truncated
    return plan


class TestVerl:
    @pytest.fixture
    def module(self, monkeypatch: pytest.MonkeyPatch) -> Any:
        monkeypatch.syspath_prepend(str(FOLDER / "verl"))
        import wayword_tool

        return wayword_tool

    @pytest.fixture
    def loop(self, module: Any) -> Any:
        """verl's own loop of tool calls, without a model, with our tool from its registry."""
        from verl.experimental.agent_loop.tool_agent_loop import ToolAgentLoop
        from verl.tools.tool_registry import load_all_tools

        loop = object.__new__(ToolAgentLoop)
        tools = load_all_tools(str(FOLDER / "verl" / "tools.yaml"), None)
        loop.tools = {tool.name: tool for tool in tools}
        loop.max_tool_response_length = 4000
        loop.tool_response_truncate_side = "middle"
        return loop

    @staticmethod
    def data(row: dict[str, Any]) -> Any:
        from verl.experimental.agent_loop.tool_agent_loop import AgentData

        kwargs = row["extra_info"]["tools_kwargs"]
        return AgentData(row["prompt"], [], [], None, None, {}, "r", kwargs)

    @staticmethod
    async def act(loop: Any, data: Any, action: str) -> tuple[str, float]:
        from verl.experimental.agent_loop.tool_parser import FunctionCall

        call = FunctionCall(name="act", arguments=json.dumps({"action": action}))
        response, reward, _ = await loop._call_tool(call, data.tools_kwargs, data)
        return response.text, reward

    def test_rollouts_at_once_are_played_and_paid(self, module: Any, loop: Any) -> None:
        rows = module.rows(NAME, 3, max_steps=STEPS)

        async def rollout(row: dict[str, Any]) -> float:
            data = self.data(row)
            episode = row["extra_info"]["tools_kwargs"]["act"]["create_kwargs"]
            rewards = list[float]()
            for action, seen in expert_plan(episode["episode"]):
                text, reward = await self.act(loop, data, action)
                assert text.startswith(seen)
                rewards.append(reward)
            text, reward = await self.act(loop, data, "stop")
            assert text == "The episode is over."
            assert reward == 0
            extra = {"tool_rewards": rewards}
            return module.compute_score(row["data_source"], "", "", extra)

        async def play() -> list[float]:
            return await asyncio.gather(*map(rollout, rows))

        assert asyncio.run(play()) == [1.0, 1.0, 1.0]

    def test_parallel_calls_of_a_turn_follow_one_another(
        self, module: Any, loop: Any
    ) -> None:
        (row,) = module.rows(NAME, 1, max_steps=STEPS)
        episode = row["extra_info"]["tools_kwargs"]["act"]["create_kwargs"]["episode"]
        plan = expert_plan(episode)

        async def play() -> list[tuple[str, float]]:
            data = self.data(row)
            return await asyncio.gather(
                *(self.act(loop, data, action) for action, _ in plan)
            )

        results = asyncio.run(play())
        assert [text.split("\nThe episode")[0] for text, _ in results] == [
            seen for _, seen in plan
        ]
        assert sum(reward for _, reward in results) == 1

    def test_worlds_of_rollouts_that_were_cut_are_forgotten(
        self, module: Any, loop: Any
    ) -> None:
        (row,) = module.rows(NAME, 1, max_steps=STEPS)
        data = self.data(row)
        asyncio.run(self.act(loop, data, "goto[nowhere]"))
        (tool,) = loop.tools.values()
        assert len(tool._worlds) == 1
        del data
        gc.collect()
        assert len(tool._worlds) == 0

    def test_observations_are_longer_than_what_verl_keeps_by_default(
        self, module: Any, loop: Any
    ) -> None:
        from verl.workers.config.rollout import MultiTurnConfig

        loop.max_tool_response_length = MultiTurnConfig().max_tool_response_length
        (row,) = module.rows(NAME, 1, max_steps=STEPS)
        data = self.data(row)
        episode = row["extra_info"]["tools_kwargs"]["act"]["create_kwargs"]["episode"]
        action, _ = expert_plan(episode)[0]
        text, _ = asyncio.run(self.act(loop, data, action))
        assert "(truncated)" in text, "the module's advice can be removed"

    def test_a_row_without_an_episode_says_so(self, module: Any, loop: Any) -> None:
        data = SimpleNamespace(tools_kwargs={})
        text, _ = asyncio.run(self.act(loop, data, "stop"))
        assert "create_kwargs has no episode" in text


class TestSkyRL:
    def test_an_episode_is_played_and_paid(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.syspath_prepend(str(FOLDER / "skyrl"))
        import skyrl_gym
        import wayword_skyrl

        skyrl_gym.register(id="wayword", entry_point="wayword_skyrl:WaywordEnv")
        for row in wayword_skyrl.rows(NAME, 2):
            extras = {key: row[key] for key in ("dataset", "episode")}
            env = skyrl_gym.make(row["env_class"], env_config=None, extras=extras)
            prompt, _ = env.init(row["prompt"])
            assert prompt == row["prompt"]
            plan = expert_plan(row["episode"])
            paid = 0.0
            for action, seen in plan[:-1]:
                result = env.step(action)
                paid += result["reward"]
                assert not result["done"]
                assert result["observations"] == [{"role": "user", "content": seen}]
            result = env.step(plan[-1][0])
            assert result["done"]
            assert paid + result["reward"] == pytest.approx(1)
            assert result["metadata"] == {"success": True}


class TestART:
    def test_trajectories_of_a_group_are_gathered(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.syspath_prepend(str(FOLDER / "art"))
        sys.path.insert(0, str(Path(__file__).parents[1] / "envs"))
        import art
        import wayword_art
        from policies import served_policy

        episode = make(NAME, episodes=1).tasks[0].episode.id
        plan = [action for action, _ in expert_plan(episode)]

        def answer(messages: list[dict[str, Any]]) -> str:
            return plan[sum(each["role"] == "assistant" for each in messages)]

        with served_policy(answer) as url:
            model = art.Model(
                name="table",
                project="wayword",
                inference_api_key="key",
                inference_base_url=url,
                inference_model_name="table",
            )

            async def gathered() -> Any:
                group = art.TrajectoryGroup(
                    wayword_art.rollout(model, NAME, 0) for _ in range(2)
                )
                return await art.gather_trajectory_groups([group], pbar_desc=None)

            (group,) = asyncio.run(gathered())
        assert [walk.reward for walk in group.trajectories] == pytest.approx([1, 1])
        walk = group.trajectories[0]
        assert walk.metrics["success"] is True
        assert len(walk.messages()) == 1 + 2 * len(plan)
