"""Actions in the types of numpy and of learning libraries."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from wayword.core.errors import UsageError
from wayword.envs.gymnasium import WaywordEnv, plain_answer, vector
from wayword.envs.pettingzoo import aec


class Tensor:
    """A tensor of one number, as far as anyone reads it."""

    def item(self) -> int:
        return 3


THREES = (
    3,
    np.int64(3),
    np.array(3),
    np.array([3]),
    np.array([[3]]),
    3.0,
    np.float32(3),
    Tensor(),
)


@pytest.mark.parametrize("action", THREES)
def test_one_number_is_that_number(action: Any) -> None:
    assert plain_answer(action) == 3


@pytest.mark.parametrize(
    "action",
    ["stop", np.str_("stop"), np.array(["stop"]), ["stop"], ("stop",), b"stop"],
)
def test_one_text_is_that_text(action: Any) -> None:
    assert plain_answer(action) == "stop"


@pytest.mark.parametrize("action", [None, 2.5, np.array([1, 2]), [3]])
def test_anything_else_is_refused_and_costs_no_turn(action: Any) -> None:
    env = WaywordEnv("houses", max_steps=3)
    env.reset(seed=0)
    with pytest.raises(UsageError):
        env.step(action)


def test_an_array_of_one_number_selects_from_the_menu() -> None:
    env = WaywordEnv("houses", actions="menu", max_steps=3)
    _, info = env.reset(seed=0)
    legal = int(info["action_mask"].sum())
    _, _, _, _, info = env.step(np.array(0))
    assert not info["rejected"]
    _, _, _, _, info = env.step(np.array([legal + 900]))
    assert info["rejected"]


def test_a_text_in_place_of_a_number_is_a_rejection_in_pettingzoo() -> None:
    env: Any = aec("ma_household", actions="menu", max_steps=4)
    env.reset(seed=0)
    env.step("fly away")
    assert env.infos[env.agents[0]]["rejected"]


def test_no_environments_are_refused_in_one_line() -> None:
    with pytest.raises(UsageError, match="num_envs must be at least 1, got 0"):
        vector(0, "houses")


MENU_ANSWERS = {
    "0": True,
    "Action: 0": True,
    "Thought: it is near.\nAction: 0": True,
    "option 0": True,
    "0.0": True,
    "-1": False,
    "999": False,
    "the first": False,
    "0 or 1": False,
}


@pytest.mark.parametrize("answer", MENU_ANSWERS)
def test_a_number_of_the_menu_may_be_a_text(answer: str) -> None:
    env = WaywordEnv("houses", actions="menu", max_steps=3)
    env.reset(seed=0)
    first = env.inner.game.legal_actions(env.inner.actor)[0]
    _, _, _, _, info = env.step(answer)
    assert info["rejected"] is not MENU_ANSWERS[answer]
    if MENU_ANSWERS[answer]:
        last = env.inner.trajectory().steps[-1].decision
        assert str(getattr(last, "action", "")) == first
