"""What PettingZoo's conversion and its actions may rely on."""

from __future__ import annotations

import pytest

from wayword.core.errors import UsageError
from wayword.envs.pettingzoo import WaywordAEC, WaywordParallel, aec, parallel


def test_only_the_parallel_interface_is_parallelizable() -> None:
    assert WaywordAEC.metadata["is_parallelizable"] is False
    assert WaywordParallel.metadata["is_parallelizable"] is True


def test_actions_are_a_mapping() -> None:
    env = parallel("ma_household", max_steps=3)
    env.reset(seed=0)
    with pytest.raises(UsageError, match="step takes actions by agent"):
        env.step(["stop", "stop"])  # type: ignore[arg-type]


def test_an_actor_with_a_turn_needs_an_action() -> None:
    env = aec("ma_household", max_steps=1)
    env.reset(seed=0)
    with pytest.raises(UsageError, match="no action for 'commander', whose turn it is"):
        env.step(None)
    assert not env.game.trajectory.steps, "no turn was taken"


def test_each_actor_leaves_by_one_step_without_an_action() -> None:
    env = aec("ma_household", max_steps=3)
    env.reset(seed=0)
    left = []
    for actor in env.agent_iter():
        *_, terminated, truncated, _ = env.last()
        over = terminated or truncated
        left += [actor] * over
        env.step(None if over else "wait")
    assert sorted(left) == sorted(env.possible_agents)
    assert env.agents == []
    with pytest.raises(UsageError, match=r"the episode is over; call reset\(\)"):
        env.step(None)


def test_before_a_reset_the_message_names_it() -> None:
    env = aec("ma_household")
    for act in (env.last, lambda: env.step("wait")):
        with pytest.raises(AttributeError, match=r"call reset\(\) first"):
            act()
    assert not hasattr(env, "rewards")
