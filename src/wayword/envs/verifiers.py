"""Wayword for verifiers: a taskset of episodes, and the environment that plays them.

    vf-eval wayword-env -n 16 --env.taskset.dataset houses:train --env.taskset.max-turns 20

``wayword-env`` is the package in ``examples/environments/hub``; it exports the two classes below. A
rollout is a chat: the rules as the system prompt, the first observation as the user's, then an
action, its result, and so on. The world runs in the trainer's process and not in the agent's
sandbox, so that an agent cannot read it. A trace's ``reward`` is the episode's total: success,
unless the taskset says otherwise. ``success``, ``steps`` and ``rejected`` are metrics.

Format: verifiers 0.4, ``verifiers.v1``: ``Taskset``, ``Env`` and ``Agent.interaction``.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Literal

from pydantic import Field

from wayword.core.dataset import Dataset
from wayword.core.errors import missing
from wayword.core.sight import Mode
from wayword.envs.environment import Environment, make
from wayword.envs.trl import prompts

try:
    import verifiers.v1 as vf
except ModuleNotFoundError as error:
    raise missing(error, "verifiers") from None

__all__ = ["VerifiersEnv", "WaywordTaskset"]


class WaywordConfig(vf.TasksetConfig):
    """Which episodes are played. Set with ``--env.taskset.*``."""

    dataset: str = "household:generated_train"
    """Dataset and split, as ``wayword run --on`` takes it."""
    count: int = 64
    """Number of episodes."""
    first: int = 0
    """Number of the first episode; 64 keeps the episodes 0 to 63 for training."""
    max_turns: int = 30
    """Actions until an episode is cut off."""
    reward: str | dict[str, float] = "success"
    """Reward, or weights of its terms, as :func:`wayword.envs.make` takes it."""
    actions: Literal["text", "menu"] = "text"
    """``menu`` lists the legal actions and also accepts their numbers, from 0."""
    eyes: Mode = "words"
    """``pictures`` or ``both``: messages hold pictures as ``image_url`` parts."""
    picture_size: str = ""
    """Columns and rows of a picture, by default 480x360."""
    settings: dict[str, Any] = Field(default_factory=dict)
    """Settings of the dataset, such as ``rooms``."""
    data: str | None = None
    """Folder of published data, by default $WAYWORD_DATA."""


class WaywordData(vf.TaskData):
    """One episode. ``options`` are those of :func:`wayword.envs.make`."""

    dataset: str
    episode: str
    options: dict[str, Any]


class WaywordTask(vf.Task[WaywordData]):
    """An episode, known by its dataset and id."""

    @property
    def key(self) -> str:
        """Dataset and id: the same task has the same key in every process."""
        return f"{self.data.dataset}/{self.data.episode}"


class WaywordTaskset(vf.Taskset[WaywordTask, WaywordConfig]):
    """Episodes of one dataset, in its order."""

    def load(self) -> Iterator[WaywordTask]:
        """Yield the tasks from ``first`` on, each with the prompt that begins its episode."""
        config = self.config
        options = {
            "max_steps": config.max_turns,
            "reward": config.reward,
            "actions": config.actions,
            "eyes": config.eyes,
            "picture_size": config.picture_size,
            "settings": config.settings,
            "data": config.data,
        }
        # Prompts are made from the first episode on, and cut afterwards: ids follow the
        # dataset's order.
        last = config.first + config.count
        for row in prompts(config.dataset, last, **options)[config.first :]:
            *rules, observation = row["prompt"]
            data = WaywordData(
                id=str(row["episode"]),
                name=f"{config.dataset}/{row['episode']}",
                system_prompt=rules[0]["content"] if rules else None,
                prompt=_as_prompt(observation["content"]),
                dataset=config.dataset,
                episode=str(row["episode"]),
                options=options,
            )
            yield WaywordTask(data, config.task)


class WaywordEnvConfig(vf.EnvConfig):
    """The agents of an episode: one, which only writes."""

    player: vf.AgentConfig = vf.AgentConfig(harness={"id": "null"})


class VerifiersEnv(vf.Env[WaywordEnvConfig]):
    """A player's turns are actions, and the world answers them."""

    async def run(self, task: Any, agents: Any) -> None:
        """Play a task: the player's replies are actions, up to the end of the episode.

        Records the reward, success, steps and rejected answers in the trace.
        """
        # In threads: a reset or step may take seconds, while other rollouts share this loop
        env = await asyncio.to_thread(_begin, task.data)
        total = 0.0
        success = False
        async with agents.player.interaction(task) as interaction:
            # The player answers the prompt first, then each observation.
            segment = await interaction.turn()
            while not segment.terminated:
                answer = segment.last_reply
                result = await asyncio.to_thread(env.step, answer)
                observation, reward, terminated, truncated, info = result
                total += reward
                success = bool(info["success"])
                if terminated or truncated:
                    break
                content = await asyncio.to_thread(env.content, observation)
                segment = await interaction.turn(_as_prompt(content))
        # Counted from the game, not from the chat: openings and menus count right.
        steps = env.game.trajectory.steps
        rejected = [step for step in steps if step.feedback.status == "rejected"]
        trace = interaction.trace
        trace.record_reward("reward", total)
        trace.record_metric("success", float(success))
        trace.record_metric("steps", float(len(steps)))
        trace.record_metric("rejected", float(len(rejected)))


def _as_prompt(content: Any) -> Any:
    """A text as it is; a text with pictures as a list of one message."""
    if isinstance(content, str):
        return content
    return [{"role": "user", "content": content}]


def _begin(data: WaywordData) -> Environment:
    """An environment at the beginning of the task's episode."""
    dataset = _opened(data.dataset, json.dumps(data.options, sort_keys=True))
    env = make(data.dataset, dataset=dataset, **data.options)
    env.reset(episode=data.episode)
    return env


@lru_cache(maxsize=8)
def _opened(name: str, options: str) -> Dataset:
    """The dataset that all rollouts of a taskset share; a process plays few tasksets."""
    return make(name, **json.loads(options)).dataset
