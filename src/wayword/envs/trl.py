"""Wayword for TRL's ``GRPOTrainer``: environments as tools, or whole plans rewarded.

    from trl import GRPOTrainer
    from wayword.envs.trl import environment_factory, episode_reward, prompts

    name, options = "household:generated_train", {"reward": "conditions"}
    trainer = GRPOTrainer(
        model="Qwen/Qwen3-0.6B",
        reward_funcs=episode_reward,
        train_dataset=Dataset.from_list(prompts(name, 64, **options)),
        environment_factory=environment_factory(name, **options),
    )

With ``environment_factory`` the model acts by calling the tool ``act`` as often as it likes, and
each rollout has an environment of its own. Models without tool calls (tiny ones above all) can
write a plan instead, one action a line, which :func:`plan_reward` carries out.

Nothing here imports TRL: these are the plain classes and functions that it takes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from wayword.core.dataset import Dataset
from wayword.core.episode import Json
from wayword.envs.environment import Environment, make

MOST = 12
"""Actions of a written plan that are carried out."""


def prompts(
    name: str, count: int, opening: Sequence[str] = (), **options: Any
) -> list[dict[str, Json]]:
    """A training row for each of the first episodes: ``prompt`` (the rules as a system message, the
    first observation as the user's) and ``episode``, its id.

    ``opening`` are actions that are taken beforehand, with what came of them in the prompt.
    """
    env = make(name, episodes=count, **options)
    rows = []
    for task in env.tasks:
        told = [str(env.reset(episode=task.episode.id)[0])]
        rules = env.view.rules()
        for action in opening:
            told += [f"> {action}", str(env.step(action)[0])]
        messages = [{"role": "system", "content": rules}] if rules else []
        messages.append({"role": "user", "content": "\n".join(told)})
        rows.append({"prompt": messages, "episode": task.episode.id})
    return rows


class ToolEnvironment:
    """One rollout's environment, as TRL expects it: ``reset``, and the tool ``act``.

    Every other public method would be a tool too, so that the reward is private; trainers get it by
    :func:`episode_reward`.
    """

    _name = "houses"
    _options: dict[str, Any] = {}  # noqa: RUF012 - set by the factory, and only read
    _shared: Dataset | None = None
    _opening: Sequence[str] = ()

    def __init__(self) -> None:
        self._env: Environment = make(self._name, dataset=self._shared, **self._options)
        self._total, self._over = 0.0, True

    def reset(self, **row: Any) -> str | None:
        """Begin the row's ``episode``, else the next one. The prompt tells the observation already
        where the row has an episode; else what is seen is returned."""
        episode = row.get("episode")
        seen, _ = self._env.reset(episode=episode)
        self._total, self._over = 0.0, False
        for action in self._opening:
            seen = self.act(action)
        return None if episode is not None else str(seen)

    def act(self, action: str) -> str:
        """Take one action in the world, and see what comes of it.

        Args:
            action: The action, written as the rules say, for example: goto[kitchen]

        Returns:
            What came of the action and what you perceive now.
        """
        if self._over:
            return "The episode is over."
        seen, reward, ended, cut, _ = self._env.step(action)
        self._total += reward
        self._over = ended or cut
        return f"{seen}\nThe episode is over." if self._over else str(seen)

    def _earned(self) -> float:
        """What the rollout earned; one that was left before its end is stopped first."""
        if not self._over:
            self.act("stop")
        return self._total


def environment_factory(
    name: str, opening: Sequence[str] = (), **options: Any
) -> Callable[[], ToolEnvironment]:
    """A class for ``GRPOTrainer(environment_factory=...)``; its instances share one dataset.

    ``opening`` are the actions that the prompts were made with.
    """
    shared = make(name, **options).dataset
    body = {"_name": name, "_options": options, "_shared": shared, "_opening": tuple(opening)}
    return type("WaywordEnvironment", (ToolEnvironment,), body | {"__doc__": f"wayword {name}"})


def episode_reward(environments: Sequence[Any], **others: Any) -> list[float]:
    """The reward function beside ``environment_factory``: what each rollout's episode earned."""
    return [one._earned() for one in environments]


def plan_reward(
    name: str, opening: Sequence[str] = (), most: int = MOST, **options: Any
) -> Callable[..., list[float]]:
    """A reward function for completions that are plans: one action a line, carried out in the
    row's ``episode`` after the ``opening``, then a stop. A plan that was carried out before earns
    what it did then: worlds are deterministic."""
    env = make(name, **options)

    @lru_cache(maxsize=100_000)
    def earned(one: str, plan: str) -> float:
        return carried_out(env, one, plan, opening, most)

    def wayword(completions: Sequence[Any], episode: Sequence[str], **others: Any) -> list[float]:
        plans = zip(episode, map(text, completions), strict=True)
        return [earned(one, plan) for one, plan in plans]

    wayword.__name__ = "_".join(env.reward.weights)  # what logs call it
    return wayword


def carried_out(
    env: Environment, episode: str, plan: str, opening: Sequence[str] = (), most: int = MOST
) -> float:
    """What a plan earns in an episode."""
    env.reset(episode=episode)
    lines = [line.strip() for line in plan.splitlines() if line.strip()][:most]
    total, over = 0.0, False
    for action in (*opening, *lines, "stop"):
        _, reward, ended, cut, _ = env.step(action)
        total, over = total + reward, ended or cut
        if over:
            break
    return total


def text(completion: Any) -> str:
    """A completion as one text, whether it is plain or chat."""
    if isinstance(completion, str):
        return completion
    return "\n".join(str(message.get("content") or "") for message in completion)
