"""Gymnasium's wrappers that stack or delay observations, over texts."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from gymnasium.wrappers import DelayObservation, FrameStackObservation
from gymnasium.wrappers.utils import create_zero_array

from wayword.envs.gymnasium import FreeText

SEED = 1


def made() -> gymnasium.Env:
    return gymnasium.make(
        "wayword.envs.gymnasium:Wayword-v0",
        dataset="two_phase",
        include=["admissible_commands"],
    )


def texts(env: gymnasium.Env, steps: int) -> list[object]:
    """The observations of the first legal actions."""
    env.action_space.seed(SEED)
    first, info = env.reset(seed=SEED)
    found = [first]
    for _ in range(steps):
        action = info["admissible_commands"][0]
        observation, _, ends, cut, info = env.step(action)
        found.append(observation)
        if ends or cut:
            break
    return found


@pytest.mark.parametrize("padding", ["reset", "zero"])
def test_texts_are_stacked(padding: str) -> None:
    plain = texts(made(), 3)
    env = FrameStackObservation(made(), 3, padding_type=padding)
    stacked = texts(env, 3)
    start = {"reset": plain[0], "zero": ""}[padding]
    padded = [start, start, *plain]
    for number, stack in enumerate(stacked):
        assert stack == tuple(padded[number : number + 3])
        assert env.observation_space.contains(stack)


def test_texts_are_delayed() -> None:
    plain = texts(made(), 3)
    env = DelayObservation(made(), 2)
    delayed = texts(env, 3)
    assert delayed == ["", "", *plain][: len(delayed)]
    assert env.observation_space.contains(delayed[0])


def test_pictures_may_stand_next_to_the_text() -> None:
    picture = gymnasium.spaces.Box(0, 255, (2, 2, 3), np.uint8)
    for pictures in (picture, gymnasium.spaces.Sequence(picture, stack=True)):
        space = gymnasium.spaces.Dict(text=FreeText(), pictures=pictures)
        assert space.contains(create_zero_array(space))
