"""PettingZoo's own tests, on tasks for two."""

from __future__ import annotations

import warnings

import pytest

from wayword.envs.pettingzoo import WaywordAEC, aec, parallel

with warnings.catch_warnings():  # its tests import games of its own by deprecated names
    warnings.simplefilter("ignore", DeprecationWarning)
    from pettingzoo.test import api_test, parallel_api_test

SMALL = {"settings": {"homes": 1, "episodes": 2, "task": "Coffee"}, "max_steps": 6}


@pytest.fixture(scope="module")
def turns() -> WaywordAEC:
    return aec("ma_household", **SMALL)


@pytest.mark.filterwarnings("ignore::UserWarning:pettingzoo")
def test_the_api_of_turns(turns: WaywordAEC) -> None:
    api_test(turns, num_cycles=20)


def test_the_api_of_playing_together() -> None:
    parallel_api_test(parallel("ma_household", **SMALL), num_cycles=15)


def test_each_actor_is_told_its_own(turns: WaywordAEC) -> None:
    turns.reset(seed=1)
    told = {actor: turns.observe(actor)["text"].splitlines()[0] for actor in turns.agents}
    assert told["commander"] != told["follower"]


def test_what_one_says_the_other_hears(turns: WaywordAEC) -> None:
    turns.reset()
    turns.step("chat[Fetch the mug.]")
    assert turns.agent_selection == "follower"
    assert "Fetch the mug." in turns.observe("follower")["text"]


def test_an_answer_that_is_no_action_is_rejected_and_told(turns: WaywordAEC) -> None:
    turns.reset()
    turns.step("sing me a song")
    assert turns.infos["commander"]["rejected"]
