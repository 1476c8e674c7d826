"""A clone and its original share nothing that a step changes."""

from __future__ import annotations

import copy
import pickle
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


def draws(env: Environment, count: int = 5) -> list[str]:
    """The episodes of the next resets."""
    return [env.reset()[1]["episode"] for _ in range(count)]


COPIES = {
    "clone": Environment.clone,
    "deepcopy": copy.deepcopy,
    "pickle": lambda env: pickle.loads(pickle.dumps(env)),
}


@pytest.mark.parametrize("kind", COPIES)
@pytest.mark.parametrize("chosen", ["order", "number", "batch", "seed"])
def test_a_copy_goes_on_to_the_same_episodes(kind: str, chosen: str) -> None:
    env = make("houses", settings={"houses": 1, "episodes": 7})
    if chosen == "batch":  # the second of three environments
        env.partition(1, 3)
    first = {"number": {"episode": 4}, "seed": {"seed": 5}}.get(chosen, {})
    env.reset(**first)
    env.step("nonsense")
    other = COPIES[kind](env)
    expected = draws(env)
    assert draws(other) == expected
    if chosen == "batch":
        ids = [task.episode.id for task in env.tasks]
        assert expected == [ids[(1 + 3 * n) % 7] for n in range(1, 6)]
