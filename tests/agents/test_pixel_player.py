"""Pictures suffice to find the way: a player that sees pixels alone beats chance, and with a blank
picture, or that of another place, it does not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from helpers.paired import chance, interval, success
from helpers.pixel_player import Blank, Elsewhere, PixelPlayer
from helpers.sampling import LONG
from wayword.core.agent import Agent, Toolkit
from wayword.core.dataset import Dataset
from wayword.core.sight import Painter
from wayword.runs.opening import open_dataset
from wayword.runs.plan import Plan
from wayword.runs.record import RunFolder
from wayword.runs.running import run as play

# The portraits of 200 names take half a minute; the player of the grid is in the short form.
pytestmark = pytest.mark.skipif(not LONG, reason="half a minute: WAYWORD_CHAOS=long")

EPISODES = 40
SIZE = {"houses": 20, "episodes": 60}
SEEDS = 20  # of the agent ``random``, whose mean is the chance of an episode


@cache
def houses() -> Dataset:
    settings: Mapping[str, Any] = {
        "eyes": "pictures",
        "picture_size": "160x120",
        "dataset": SIZE,
    }
    return open_dataset(Plan("random", "houses", settings=settings))


@cache
def by_chance() -> NDArray[np.float64]:
    return chance(houses(), EPISODES, SEEDS)


@cache
def seeing(painter: Painter | None = None) -> NDArray[np.float64]:
    """The player's success with pictures of a painter, by default the dataset's own."""

    def make(toolkit: Toolkit, actor: str) -> Agent:
        if painter is not None and toolkit.eyes is not None:
            toolkit = replace(toolkit, eyes=replace(toolkit.eyes, painter=painter))
        return PixelPlayer(None, toolkit)

    return success(houses(), make, EPISODES)


def test_a_player_that_sees_pixels_alone_beats_chance() -> None:
    low, _ = interval(seeing() - by_chance())
    assert low > 0.0


def test_it_loses_to_an_agent_that_reads_words(tmp_path: Path) -> None:
    settings = {"dataset": SIZE}
    reader = Plan("walker", "houses", "regression:walker", settings, out=tmp_path)
    play(replace(reader, limit=EPISODES, first=True))
    scores = dict(RunFolder.read(tmp_path).scores())
    names = [houses().tasks[number].episode.id for number in range(EPISODES)]
    in_words = np.array([scores[name]["sr"] for name in names])
    _, high = interval(seeing() - in_words)
    assert high < 0.0


def test_a_blank_picture_leaves_it_to_chance() -> None:
    own = houses().painter()
    assert own is not None
    low, high = interval(seeing(Blank(own)) - by_chance())
    assert low <= 0.0 <= high


def test_the_picture_of_another_place_leaves_it_to_chance() -> None:
    own = houses().painter()
    assert own is not None
    other = houses().tasks[EPISODES + 7].episode
    world = houses().world(other)
    world.reset(other)
    low, high = interval(seeing(Elsewhere(own, world)) - by_chance())
    assert low <= 0.0 <= high
