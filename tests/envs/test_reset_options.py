"""``reset`` with options of any type: one error of ours."""

from __future__ import annotations

from typing import Any

import pytest

from helpers.looping import for_each
from wayword.core.errors import UsageError
from wayword.envs import make

WRONG: list[Any] = [
    5, "rooms", ["rooms"], True, {5: 1}, {None: 1}, {"rooms": "many"}, {"rooms": []}, {"rooms": {}},
    {"rooms": None}, {"rooms": float("inf")}, {"episode": []}, {"episode": {}}, {"episode": 1.5},
    {"episode": "none"}, {"episode": -1}, {"episode": 10**30}, {"episode": b"x"}, {"seed": 1},
    {"episode": 1, "rooms": 6}, {"unknown": 1}, {("a",): 1}, b"x", object(),
]  # fmt: skip


@for_each("options", WRONG, ids=repr)
def test_wrong_options_are_one_error(options: Any) -> None:
    with make("houses") as env, pytest.raises(UsageError) as raised:
        env.reset(options=options)
    assert "\n" not in str(raised.value)


@for_each("options", WRONG, ids=repr)
def test_the_other_interfaces_refuse_them_too(options: Any) -> None:
    gymnasium = pytest.importorskip("gymnasium")
    env = gymnasium.make(
        "wayword.envs.gymnasium:Wayword-v0", dataset="houses", disable_env_checker=True
    )
    with pytest.raises(UsageError):
        env.unwrapped.reset(options=options)
    pytest.importorskip("pettingzoo")
    from wayword.envs.pettingzoo import WaywordParallel

    with pytest.raises(UsageError):
        WaywordParallel("houses").reset(options=options)
