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

With ``environment_factory`` the model acts by calling the tool ``act``, any number of times, and
each rollout has its own environment. Success is rewarded only if the model itself acts ``stop``.
Models without tool calls can write a plan instead, one action per line, ended by the stop, which
:func:`plan_reward` carries out.

Nothing here imports TRL: these are the plain classes and functions that it takes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from wayword.core.dataset import Dataset
from wayword.core.episode import Json
from wayword.core.errors import UsageError
from wayword.envs.environment import Environment, make

MAX_PLAN_ACTIONS = 12
"""Actions of a written plan that are carried out; the plan ends there."""


def prompts(
    name: str,
    count: int,
    opening: Sequence[str] = (),
    **options: Any,
) -> list[dict[str, Json]]:
    """Training rows of the first episodes: ``prompt`` (the rules as a system message, the first
    observation as the user's, with eyes in parts with its pictures) and ``episode``, the id. The
    actions in ``opening`` are taken first, with their results in the prompt."""
    if count < 1:
        raise UsageError(f"prompts: count must be at least 1, got {count}")
    # One environment for all rows, which hold no reward: it is reset to each episode.
    env = make(name, episodes=count, **{"reward": None, **options})
    rows = []
    for task in env.tasks:
        texts = [str(env.reset(episode=task.episode.id)[0])]
        rules = env.view.rules()
        # Opening actions stand in the prompt as if the model had taken them.
        for action in opening:
            texts += [f"> {action}", str(env.step(action)[0])]
        messages: list[dict[str, Json]] = []
        # Some views have no rules.
        if rules:
            messages.append({"role": "system", "content": rules})
        messages.append({"role": "user", "content": env.content("\n".join(texts))})
        rows.append({"prompt": messages, "episode": task.episode.id})
    return rows


class ToolEnvironment:
    """Environment of a rollout, as TRL expects it: ``reset``, and the tool ``act``. TRL offers
    every other public method as a tool, so :func:`episode_reward` reads a private reward."""

    _name = "houses"
    _options: dict[str, Any] = {}  # noqa: RUF012 - set by the factory, and only read
    _shared: Dataset | None = None
    _opening: Sequence[str] = ()

    def __init__(self) -> None:
        self._env: Environment = make(self._name, dataset=self._shared, **self._options)
        self._total = 0.0
        # Before the first reset, the environment says that it needs one.
        self._over = False

    def reset(self, **row: Any) -> str | None:
        """Begin the row's ``episode``, else the next one. Returns the observation unless the row
        has an episode, as its prompt then holds the observation."""
        episode = row.get("episode")
        observation, _ = self._env.reset(episode=episode)
        self._total = 0.0
        self._over = False
        for action in self._opening:
            observation = self.act(action)
        return None if episode is not None else str(observation)

    def act(self, action: str) -> str:
        """Take one action in the world, and see the result.

        Args:
            action: The action, written as the rules say, for example: goto[kitchen]

        Returns:
            The result of the action and the new observation.
        """
        if self._over:
            return "The episode is over."
        observation, reward, terminated, truncated, _ = self._env.step(action)
        self._total += reward
        self._over = terminated or truncated
        if self._over:
            return f"{observation}\nThe episode is over."
        return str(observation)


def environment_factory(
    name: str,
    opening: Sequence[str] = (),
    **options: Any,
) -> Callable[[], ToolEnvironment]:
    """A class for ``GRPOTrainer(environment_factory=...)``; its instances share one dataset.
    ``opening``: the actions that :func:`prompts` was called with. The reward is ``success`` unless
    ``reward`` is given, as a rollout is paid as a whole."""
    if options.get("eyes", "words") != "words":
        raise UsageError("the tool act returns texts; remove eyes, or use verifiers")
    options = {"reward": "success", **options}
    # Opened once: the instances are many, and the dataset is read-only.
    shared = make(name, **options).dataset
    body = {
        "_name": name,
        "_options": options,
        "_shared": shared,
        "_opening": tuple(opening),
    }
    # A class, because TRL makes the instances itself.
    return type(
        "WaywordEnvironment",
        (ToolEnvironment,),
        body | {"__doc__": f"wayword {name}"},
    )


def episode_reward(
    environments: Sequence[Any] | None = None, **others: Any
) -> list[float | None]:
    """Reward function for ``environment_factory``: each rollout's total reward; None for a rollout
    of another environment, as of several factories. Raises ``UsageError`` for a trainer that hands
    over no environments."""
    if environments is None:
        raise UsageError(
            "episode_reward needs the environments, which this trainer does not hand over; use "
            "GRPOTrainer with environment_factory, or plan_reward"
        )
    return [
        each._total if isinstance(each, ToolEnvironment) else None
        for each in environments
    ]


def plan_reward(
    name: str,
    opening: Sequence[str] = (),
    max_actions: int = MAX_PLAN_ACTIONS,
    **options: Any,
) -> Callable[..., list[float]]:
    """Return a reward function for plans as completions: one action per line, carried out in the
    row's ``episode`` after the ``opening``, then a stop. Rewards of repeated plans are cached, as
    worlds are deterministic. The reward is ``success`` unless ``reward`` is given."""
    env = make(name, **{"reward": "success", **options})

    @lru_cache(maxsize=100_000)
    def total_reward(episode: str, plan: str) -> float:
        """Play a plan and return the sum of its rewards."""
        env.reset(episode=episode)
        # Blank lines separate thoughts, not actions.
        lines = [line.strip() for line in plan.splitlines() if line.strip()]
        total = 0.0
        # The plan is cut at the limit, and always ends in a stop.
        for action in (*opening, *lines[:max_actions], "stop"):
            _, reward, terminated, truncated, _ = env.step(action)
            total += reward
            if terminated or truncated:
                break
        return total

    def rewards(
        completions: Sequence[Any],
        episode: Sequence[str],
        **others: Any,
    ) -> list[float]:
        """Return the reward of each completion, as TRL calls it."""
        if len(completions) != len(episode):
            raise UsageError(
                f"plan_reward needs an episode for each completion, got {len(completions)} "
                f"completions and {len(episode)} episodes"
            )
        plans = map(completion_text, completions)
        return [total_reward(*pair) for pair in zip(episode, plans, strict=True)]

    rewards.__name__ = "_".join(env.reward.weights)  # its name in TRL's logs
    return rewards


def completion_text(completion: Any) -> str:
    """A completion as one text, whether it is plain or chat."""
    if isinstance(completion, str):
        return completion
    texts = []
    for message in completion:
        content = message.get("content") or ""
        # Models that see pictures have a list of parts, also for a text alone.
        if not isinstance(content, str):
            content = "".join(part.get("text") or "" for part in content)
        texts.append(content)
    return "\n".join(texts)
