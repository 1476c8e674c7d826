"""A clone and its original share nothing that a step changes."""

from __future__ import annotations

from collections import deque
from typing import Any

import pytest

from wayword.envs import Environment, make

CHANGEABLE = (list, dict, set, deque)
VIEWS = ("text", "structured", "act")


def changeable(owner: object) -> dict[str, Any]:
    """The containers among an object's attributes that can be changed."""
    found = getattr(owner, "__dict__", {})
    return {name: each for name, each in found.items() if isinstance(each, CHANGEABLE)}


@pytest.fixture(params=VIEWS)
def env(request: pytest.FixtureRequest) -> Environment:
    settings = {"houses": 1, "episodes": 2}
    include = ["expert_action", "admissible_commands"]
    opened = make("houses", settings=settings, view=request.param, include=include)
    opened.reset(episode=0)
    opened.step("nonsense")
    return opened


def test_no_container_is_shared_with_a_clone(env: Environment) -> None:
    other = env.clone()
    for name, held in changeable(env).items():
        assert getattr(other, name) is not held or not held, name
    for name, held in changeable(env.game).items():
        assert getattr(other.game, name) is not held or not held, name


@pytest.mark.parametrize("plays", ["clone", "original"])
def test_answers_of_one_are_not_those_of_the_other(
    env: Environment, plays: str
) -> None:
    other = env.clone()
    player, onlooker = (other, env) if plays == "clone" else (env, other)
    answers = list(onlooker.answers)
    steps = len(onlooker.game.trajectory.steps)
    for answer in ("nonsense", "stop"):
        player.step(answer)
    assert onlooker.answers == answers == ["nonsense"]
    assert len(onlooker.game.trajectory.steps) == steps
    assert len(player.answers) == 3
    again = onlooker.clone()
    assert again.answers == answers
