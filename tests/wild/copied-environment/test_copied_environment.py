"""A copy of an environment, deep or unpickled, continues as the original does."""

from __future__ import annotations

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import gymnasium
import numpy as np
import pytest

import wayword  # noqa: F401 - registers the environment
from wayword.core.errors import UsageError
from wayword.envs import make, pettingzoo


def deep_copied(env: Any) -> Any:
    return copy.deepcopy(env)


def unpickled(env: Any) -> Any:
    return pickle.loads(pickle.dumps(env))


def legal(env: Any) -> list[str]:
    inner = env.unwrapped.inner
    return list(inner.game.legal_actions(inner.actor))


@pytest.mark.parametrize("copier", [deep_copied, unpickled])
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("houses", {}),
        ("houses", {"actions": "menu"}),
        ("houses", {"view": "navgpt"}),
        ("household", {"include": ["expert_action", "conditions"]}),
        ("towns", {}),
        ("grounding", {}),
        ("ma_household", {}),
    ],
    ids=lambda value: str(value),
)
def test_a_copy_continues_as_the_original(
    copier: Any, name: str, options: dict[str, Any]
) -> None:
    env = gymnasium.make("wayword:Wayword-v0", dataset=name, **options)
    env.reset(seed=3)
    answers = {"houses menu": 0, "houses navgpt": "Action: 1"}
    fixed = answers.get(" ".join((name, *map(str, options.values()))))
    env.step(legal(env)[0] if fixed is None else fixed)
    answer = legal(env)[0] if fixed is None else fixed

    other = copier(env)

    assert other.unwrapped.inner is not env.unwrapped.inner
    expected = env.step(answer)
    np.testing.assert_equal(other.step(answer), expected)
    if not options:
        assert other.action_space.sample() in legal(other)
    assert other.reset()[0] == env.reset()[0], "the next draw is the same"


def test_copies_do_not_disturb_each_other() -> None:
    env = make("houses")
    env.reset(episode=0)
    kept = copy.deepcopy(env)
    before = kept.game.observation(kept.actor)
    env.step("stop")
    assert env.game.ended
    assert not kept.game.ended
    assert kept.game.observation(kept.actor) == before


def test_environments_before_their_first_reset_are_copied() -> None:
    for env in (deep_copied(make("houses")), unpickled(make("houses"))):
        assert env.reset(episode=1)[1]["episode"] == "test-s0-r9-0001_0_0"


def test_an_executor_stays_behind_in_a_pickle() -> None:
    with ThreadPoolExecutor(1) as executor:
        env = make("houses", new_scenes=True, executor=executor)
        env.reset(seed=1)
        other = unpickled(env)
        assert other.options.executor is None
        assert other.view.observe() == env.view.observe()
        assert other.reset()[0] == env.reset()[0]
        env.close()


@pytest.mark.parametrize("copier", [deep_copied, unpickled])
def test_pettingzoo_refuses_in_one_line(copier: Any) -> None:
    env = pettingzoo.parallel("ma_household")
    env.reset(seed=1)
    with pytest.raises(UsageError, match=r"not copied; .*clone\(\)"):
        copier(env)
