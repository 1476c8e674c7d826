"""One environment, many episodes: nothing of an earlier one is left in the next."""

from __future__ import annotations

import random
from typing import Any

import pytest

from wayword.envs import make
from wayword.envs.environment import Environment

WORLDS: dict[str, dict[str, Any]] = {
    "houses": {"houses": 1, "episodes": 2},
    "towns": {"towns": 1, "episodes": 2},
    "household": {"homes": 1, "episodes": 2},
    "ma_wah": {"homes": 1, "episodes": 2},
    "apartments": {"homes": 1, "episodes": 2, "rooms": 3},
    "grounding": {"episodes": 2},
    "two_phase": {},
}
STEPS = 5


def opened(name: str, view: str) -> Environment:
    return make(name, view=view, settings=WORLDS[name], max_steps=STEPS)


def walk(environment: Environment, episode: int, answer: str = "") -> list[Any]:
    """Observations, rewards and ends of an episode of random legal actions, or of one answer."""
    rng = random.Random(episode)
    observation, _ = environment.reset(episode=episode)
    course: list[Any] = [observation]
    while environment.game.ended is None:
        space = environment.game.space(environment.actor)
        action = answer or str(rng.choice(space.listed))
        observation, reward, terminated, truncated, _ = environment.step(action)
        course.append((action, observation, reward, terminated, truncated))
        if terminated or truncated:
            break
    return course


@pytest.mark.parametrize("view", ["text", "structured"])
@pytest.mark.parametrize("name", WORLDS)
def test_an_episode_is_the_same_after_others(name: str, view: str) -> None:
    alone = walk(opened(name, view), 0)
    environment = opened(name, view)
    assert walk(environment, 1) != alone
    assert walk(environment, 0) == alone, "after another episode"
    refused = walk(environment, 0, "fly[to the moon]")
    assert len(refused) == STEPS + 1
    assert walk(environment, 0) == alone, "after one of rejected answers"
    environment.reset(episode=1)
    assert walk(environment, 0) == alone, "after one that was left"
