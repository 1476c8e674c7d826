"""Rewards for TRL where a rollout has another environment, or a content of parts."""

from __future__ import annotations

import pytest

from wayword.core.errors import UsageError
from wayword.envs import make
from wayword.envs.trl import (
    completion_text,
    environment_factory,
    episode_reward,
    plan_reward,
)


def test_a_trainer_without_environments_is_named() -> None:
    with pytest.raises(UsageError, match="this trainer does not hand over"):
        episode_reward(completions=["stop"], prompts=["Go."])


def test_rollouts_of_other_environments_have_no_reward() -> None:
    environment = environment_factory("houses:train", episodes=1)()
    environment.reset()
    assert episode_reward([environment, None, object()]) == [0.0, None, None]
    assert episode_reward(environments=[environment], completions=["x"]) == [0.0]


def test_a_content_of_parts_is_its_text() -> None:
    parts = [{"type": "image"}, {"type": "text", "text": "goto[a]\nstop"}]
    message = {"role": "assistant", "content": parts}
    assert completion_text([message]) == "goto[a]\nstop"
    assert completion_text([{"role": "assistant", "content": None}]) == ""


def test_a_plan_in_parts_earns_what_it_earns_as_a_text() -> None:
    env = make("houses:train", episodes=1, include=["expert_action"])
    _, info = env.reset()
    plan = []
    while info["expert_action"]:
        plan.append(str(info["expert_action"]))
        *_, info = env.step(info["expert_action"])
    rewards = plan_reward("houses:train", episodes=1)
    text = "\n".join(plan)
    content = [{"type": "text", "text": text}]
    for completion in (text, [{"role": "assistant", "content": content}]):
        assert rewards([completion], episode=[env.tasks[0].episode.id]) == [1.0]
