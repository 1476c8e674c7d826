"""PettingZoo's own tests, on tasks for two."""

from __future__ import annotations

import warnings

import pytest

from wayword.core.errors import UsageError
from wayword.envs.pettingzoo import WaywordAEC, aec, parallel

with warnings.catch_warnings():  # its tests import games of its own by deprecated names
    warnings.simplefilter("ignore", DeprecationWarning)
    from pettingzoo.test import api_test, parallel_api_test

SMALL = {"settings": {"homes": 1, "episodes": 2, "task": "Coffee"}, "max_steps": 6}
ADVISED = {**SMALL, "max_steps": 200, "include": ["expert_action"]}


@pytest.fixture(scope="module")
def turns() -> WaywordAEC:
    return aec("ma_household", **SMALL)


@pytest.mark.filterwarnings("ignore::UserWarning:pettingzoo")
def test_the_api_of_turns(turns: WaywordAEC) -> None:
    api_test(turns, num_cycles=20)


def test_the_api_of_playing_together() -> None:
    parallel_api_test(parallel("ma_household", **SMALL), num_cycles=15)


def test_each_actor_is_shown_its_own(turns: WaywordAEC) -> None:
    turns.reset(seed=1)
    lines = {
        actor: turns.observe(actor)["text"].splitlines()[0] for actor in turns.agents
    }
    assert lines["commander"] != lines["follower"]


def test_what_one_says_the_other_hears(turns: WaywordAEC) -> None:
    turns.reset()
    turns.step("chat[Fetch the mug.]")
    assert turns.agent_selection == "follower"
    assert "Fetch the mug." in turns.observe("follower")["text"]


def test_an_answer_that_is_no_action_is_rejected_and_reported(
    turns: WaywordAEC,
) -> None:
    turns.reset()
    turns.step("sing me a song")
    assert turns.infos["commander"]["rejected"]


def test_the_last_info_of_each_actor_is_of_its_own_last_answer() -> None:
    """The answer that ends the episode, and the other actor's before it."""
    env = aec("ma_household", **{**SMALL, "max_steps": 1})
    for answers in (("sing", "sing"), ("sing", "wait"), ("chat[Hello.]", "sing")):
        env.reset()
        for answer in answers:
            env.step(answer)
        assert all(env.truncations.values())
        infos = [env.infos[actor] for actor in env.possible_agents]
        assert [info["rejected"] for info in infos] == [
            answer == "sing" for answer in answers
        ]
        assert [info["steps"] for info in infos] == [1, 1]
        assert [info["success"] for info in infos] == [False, False]


def test_who_stops_first_is_paid_for_the_teams_success() -> None:
    """The commander has told all it knows and stops; the follower solves the task."""
    env = parallel("ma_household", **ADVISED)
    _, infos = env.reset(seed=0)
    paid = dict.fromkeys(env.agents, 0.0)
    over = {}
    waiting = 0
    while env.agents:
        waiting += len(env.agents) == 2 and infos["commander"]["steps"] == 1
        actions = {actor: infos[actor]["expert_action"] for actor in env.agents}
        _, rewards, over, cut, infos = env.step({**actions, "commander": "stop"})
        paid = {actor: paid[actor] + rewards[actor] for actor in paid}
    assert waiting > 1
    assert infos["follower"]["success"]
    assert paid == {"commander": 1.0, "follower": 1.0}
    assert over == {"commander": True, "follower": True}
    assert not any(cut.values())


def test_in_turns_who_stops_first_is_paid_as_well(turns: WaywordAEC) -> None:
    env = aec("ma_household", **ADVISED)
    env.reset(seed=0)
    paid = dict.fromkeys(env.agents, 0.0)
    request_counts = dict.fromkeys(env.agents, 0)
    for actor in env.agent_iter():
        _, reward, over, cut, info = env.last()
        paid[actor] += reward
        request_counts[actor] += not (over or cut)
        actions = "stop" if actor == "commander" else info["expert_action"]
        env.step(None if over or cut else actions)
    assert paid == {"commander": 1.0, "follower": 1.0}
    assert request_counts["commander"] == 1, (
        "nobody is asked for an action that is not read"
    )


@pytest.mark.parametrize("is_solved", [True, False])
def test_once_the_episode_is_over_each_info_has_its_outcome(is_solved: bool) -> None:
    """Also those whose own turn was before the last one."""
    env = aec("ma_household", **ADVISED)
    env.reset(seed=0)
    while not any(env.terminations.values()):
        for actor in env.agents:
            info = env.infos[actor]
            assert info["success"] is False
        actor = env.agent_selection
        stops = actor == "commander" or not is_solved
        env.step("stop" if stops else env.infos[actor]["expert_action"])
    assert env.agents == ["commander", "follower"]
    assert {info["success"] for info in env.infos.values()} == {is_solved}


def test_at_the_limit_who_has_stopped_is_terminated_and_others_are_truncated() -> None:
    env = parallel("ma_household", **{**SMALL, "max_steps": 2})
    env.reset(seed=0)
    *_, over, cut, _ = env.step({"commander": "stop", "follower": "turn_left"})
    assert not any((*over.values(), *cut.values()))
    *_, over, cut, _ = env.step({"follower": "turn_left"})
    assert over == {"commander": True, "follower": False}
    assert cut == {"commander": False, "follower": True}
    assert env.agents == []


@pytest.mark.filterwarnings("ignore::UserWarning:pettingzoo")
def test_menus_have_masks_that_policies_and_the_api_test_draw_by() -> None:
    api_test(aec("ma_household", **SMALL, actions="menu"), num_cycles=20)
    env = parallel(
        "ma_household", **SMALL, actions="menu", include=["admissible_commands"]
    )
    seen, infos = env.reset(seed=0)
    for actor in env.agents:
        mask = seen[actor]["action_mask"]
        assert mask.sum() == len(infos[actor]["admissible_commands"])
        assert env.observation_space(actor).contains(seen[actor])
    *_, infos = env.step(
        {a: env.action_space(a).sample(seen[a]["action_mask"]) for a in seen}
    )
    assert not any(info["rejected"] for info in infos.values())


def test_what_cannot_be_played_together_is_stated(turns: WaywordAEC) -> None:
    with pytest.raises(UsageError, match="no episode 'nowhere'"):
        turns.reset(options={"episode": "nowhere"})
    with pytest.raises(UsageError, match="view='react' must be 'text' or 'structured'"):
        aec("ma_household", **SMALL, view="react")
    env = parallel("ma_household", **SMALL)
    env.reset(seed=0)
    with pytest.raises(UsageError, match="no action for 'follower'"):
        env.step({"commander": "stop"})


@pytest.mark.parametrize("action", [0, 1.5, ["stop", "stop"]])
def test_an_action_of_another_type_costs_no_turn(action: object) -> None:
    """As in an environment of one actor; none of a round is played."""
    expected = r"an action must be a text \(numbers need actions='menu'\), got"
    together = parallel("ma_household", **SMALL)
    together.reset()
    with pytest.raises(UsageError, match=expected):
        together.step({"commander": "stop", "follower": action})
    turns = aec("ma_household", **SMALL)
    turns.reset()
    with pytest.raises(UsageError, match=expected):
        turns.step(action)
    for env in (together, turns):
        assert not env.game.trajectory.steps
