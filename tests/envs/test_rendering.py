"""Environments show what the actor sees: colors and depth, and pictures in an agent's prompts."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest

from wayword.core.errors import UsageError
from wayword.envs import make

SMALL: dict[str, Any] = {"settings": {"houses": 1, "episodes": 2}}


def opened(render_mode: str, **options: Any) -> Any:
    return gymnasium.make(
        "wayword.envs.gymnasium:Wayword-v0",
        render_mode=render_mode,
        include=["expert_action"],
        **SMALL,
        **options,
    )


def test_rgb_array_is_the_view_ahead_and_changes_with_each_move() -> None:
    env = opened("rgb_array")
    _, info = env.reset(seed=0)
    before = env.render()
    assert before.shape == (360, 480, 3)
    assert before.dtype == np.uint8
    assert np.array_equal(before, env.render())
    env.step(info["expert_action"])
    assert not np.array_equal(before, env.render())


def test_the_view_ahead_is_in_the_middle_of_a_wide_view() -> None:
    env = make("towns", settings={"towns": 1, "episodes": 2, "size": 3})
    env.reset(seed=0)
    painter = env.game.dataset.painter()
    assert painter is not None
    left, ahead, _ = painter.views(env.game.world, "agent")
    expected = painter.frame(env.game.world, "agent", ahead, (360, 480))
    assert left.label == "left"
    assert np.array_equal(env.frame().color, expected.color)


def test_depth_array_is_in_metres() -> None:
    env = opened("depth_array")
    env.reset(seed=0)
    depth = env.render()
    assert depth.shape == (360, 480)
    assert depth.dtype == np.float32
    # Rooms are closed: every pixel is a wall, a floor or a piece within the house.
    assert 0.05 < depth.min() < depth.max() < 40.0


def test_pictures_can_join_the_observation() -> None:
    env = gymnasium.wrappers.AddRenderObservation(
        opened("rgb_array", eyes="pictures", picture_size="64x48"),
        render_only=False,
    )
    observation, _ = env.reset(seed=0)
    assert observation["pixels"].shape == (48, 64, 3)
    assert env.observation_space.contains(observation)


def test_a_dataset_without_pictures_is_refused_in_one_line() -> None:
    env = gymnasium.make(
        "wayword.envs.gymnasium:Wayword-v0",
        dataset="apartments",
        render_mode="rgb_array",
    )
    env.reset(seed=0)
    with pytest.raises(UsageError, match="draws no pictures"):
        env.render()


def test_an_agents_prompt_holds_the_pictures() -> None:
    with make("houses", view="mapgpt", eyes="pictures", **SMALL) as env:
        observation, _ = env.reset()
    content = observation[-1]["content"]
    pictures = [part for part in content if part["type"] == "image_url"]
    assert len(pictures) == 4
    assert "image 1: ahead" in content[0]["text"]


def test_an_agent_without_eyes_is_no_view_of_pictures() -> None:
    with (
        make("houses", view="discussnav", eyes="pictures", **SMALL) as env,
        pytest.raises(UsageError, match="words alone"),
    ):
        env.reset()
