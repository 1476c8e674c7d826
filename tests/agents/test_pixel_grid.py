"""Pictures of a grid suffice to go to an object: a player that sees pixels alone beats chance,
loses to one that reads words, and is left to chance by pictures of no use."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from helpers.paired import chance, interval, success
from helpers.pixel_grid import GridPlayer
from helpers.sampling import LONG
from wayword.core.agent import Agent, Toolkit
from wayword.core.dataset import Dataset
from wayword.runs.opening import open_dataset
from wayword.runs.plan import Plan

pytest.importorskip("minigrid")
EPISODES = 400 if LONG else 12
SEEDS = 8 if LONG else 3  # of the agent ``random``
STEPS = 12  # within which chance seldom comes to the target


@cache
def grids(eyes: str = "words", control: str = "") -> Dataset:
    settings: dict[str, Any] = {
        "eyes": eyes,
        "dataset": {"levels": "GoToLocalS8N7", "episodes": EPISODES, "actions": "low"},
    }
    if eyes != "words":
        settings["picture_size"] = "112x112"
    if control:
        settings["picture_control"] = control
    return open_dataset(Plan("random", "grounding", settings=settings))


@cache
def played(eyes: str = "words", control: str = "") -> NDArray[np.float64]:
    def make(toolkit: Toolkit, actor: str) -> Agent:
        return GridPlayer(None, toolkit)

    return success(grids(eyes, control), make, EPISODES, max_steps=STEPS)


@cache
def by_chance() -> NDArray[np.float64]:
    # In as many moves as the player: with its usual five, pictures of no use would beat it.
    return chance(grids(), EPISODES, SEEDS, max_steps=STEPS, moves=STEPS)


def test_a_player_that_sees_pixels_alone_beats_chance() -> None:
    low, _ = interval(played("pictures") - by_chance())
    assert low > 0.0


def test_it_is_no_better_than_the_player_of_words() -> None:
    assert played("pictures").mean() <= played().mean()
    low, _ = interval(played() - by_chance())
    assert low > 0.0


@pytest.mark.skipif(not LONG, reason="minutes: set WAYWORD_CHAOS=long")
def test_it_loses_to_the_player_of_words() -> None:
    """The two players differ in their sight alone."""
    _, high = interval(played("pictures") - played())
    assert high < 0.0


@pytest.mark.parametrize("control", ["blank", "elsewhere"])
def test_pictures_of_no_use_leave_it_to_chance(control: str) -> None:
    low, _ = interval(played("pictures", control) - by_chance())
    assert low <= 0.0
