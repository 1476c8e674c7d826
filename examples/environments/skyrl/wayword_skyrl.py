"""Wayword as an environment of SkyRL Gym 0.4.

    python wayword_skyrl.py houses:train 512 train.parquet

writes rows to train on. The training script registers the class before it begins:

    import skyrl_gym
    skyrl_gym.register(id="wayword", entry_point="wayword_skyrl:WaywordEnv")

Set ``environment.env_class=wayword`` and ``generator.max_turns`` to the limit of steps below.
"""

import sys
from functools import cache
from typing import Any

from skyrl_gym.envs.base_text_env import BaseTextEnv, BaseTextEnvStepOutput

from wayword.core.dataset import Dataset
from wayword.envs import make
from wayword.envs.trl import prompts

MAX_STEPS = 30


@cache
def opened(name: str) -> Dataset:
    """Open a dataset once a process: all environments read it, and none writes."""
    return make(name).dataset


class WaywordEnv(BaseTextEnv):  # type: ignore[misc] - skyrl_gym has no types
    """One episode: the model answers each observation with an action in text."""

    def __init__(self, env_config: Any = None, extras: dict[str, Any] | None = None):
        super().__init__()
        row = extras or {}
        name = row["dataset"]
        self.max_turns = MAX_STEPS
        self._env = make(name, dataset=opened(name), max_steps=MAX_STEPS)
        self._env.reset(episode=row["episode"])

    def step(self, action: str) -> BaseTextEnvStepOutput:
        self.turns += 1
        observation, reward, terminated, truncated, info = self._env.step(action)
        done = terminated or truncated
        messages = [] if done else [{"role": "user", "content": str(observation)}]
        return BaseTextEnvStepOutput(
            observations=messages,
            reward=float(reward),
            done=done,
            metadata={"success": info["success"]},
        )


def rows(name: str, count: int) -> list[dict[str, Any]]:
    """Rows of SkyRL's dataset for the first episodes."""
    return [
        {**row, "env_class": "wayword", "dataset": name}
        for row in prompts(name, count, max_steps=MAX_STEPS)
    ]


if __name__ == "__main__":
    import pandas

    table = pandas.DataFrame(rows(sys.argv[1], int(sys.argv[2])))
    table.to_parquet(sys.argv[3])
