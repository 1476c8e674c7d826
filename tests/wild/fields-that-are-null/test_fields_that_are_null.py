"""Requests of clients that write all of their fields."""

from __future__ import annotations

from typing import Any

import pytest

from wayword.core.errors import UsageError
from wayword.envs import make
from wayword.envs.openenv_pages import reset, step

EMPTY = dict.fromkeys(("seed", "episode_id", "index", "options", "include", "split"))


def started(**fields: Any) -> str:
    """The id of the episode that a reset with these fields begins."""
    env = make("houses")
    reset(env, {**EMPTY, **fields})
    return env.game.task.episode.id


def test_an_index_next_to_null_names_the_episode() -> None:
    expected = [task.episode.id for task in make("houses").tasks]
    for index in (0, 5):
        assert started(index=index) == expected[index]
    assert started(episode_id=expected[7], index=5) == expected[7]
    assert started(episode=expected[3]) == expected[3]
    assert started() == expected[0]


def test_an_action_may_have_a_text_of_null() -> None:
    env = make("houses", actions="menu")
    reset(env, EMPTY)
    assert step(env, {"text": None, "index": 0})
    with pytest.raises(UsageError, match="an action is"):
        step(env, {"text": None, "index": None})


def test_another_split_is_still_refused() -> None:
    with pytest.raises(UsageError, match="this server has the split"):
        started(split="train")
