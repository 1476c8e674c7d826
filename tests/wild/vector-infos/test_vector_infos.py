"""Infos, lengths and ends of the episodes of a vector, in each autoreset mode."""

from __future__ import annotations

import gymnasium
import pytest

import wayword.envs.gymnasium  # noqa: F401 - registers the environment


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_final_infos_are_of_the_ended_episodes(mode: str) -> None:
    envs = gymnasium.make_vec(
        "wayword:Wayword-v0",
        num_envs=3,
        dataset="houses",
        include=["conditions", "distance"],
        max_steps=3,
        autoreset_mode=mode,
    )
    _, info = envs.reset(seed=0)
    before = list(info["episode_id"])
    _, _, ended, cut, info = envs.step(["stop", "look", "look"])
    assert (ended | cut).tolist() == [True, False, False]
    if mode == "SameStep":
        assert info["final_info"]["episode_id"][0] == before[0]
        assert info["_final_info"].tolist() == [True, False, False]
    else:
        assert info["episode_id"][0] == before[0]
    envs.close()
    envs.close()


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_all_episodes_have_their_length(mode: str) -> None:
    envs = gymnasium.make_vec(
        "wayword:Wayword-v0",
        num_envs=2,
        dataset="houses",
        max_steps=3,
        autoreset_mode=mode,
    )
    counted = gymnasium.wrappers.vector.RecordEpisodeStatistics(envs)
    counted.reset(seed=0)
    lengths = []
    for _ in range(11):
        *_, info = counted.step(["look", "look"])
        if "episode" in info:
            lengths.append(info["episode"]["l"].tolist())
    assert len(lengths) == 3
    assert lengths == [[3, 3]] * 3
    counted.close()


def test_a_stop_in_the_last_step_is_no_cut() -> None:
    env = gymnasium.make("wayword:Wayword-v0", dataset="houses", max_steps=2)
    env.reset(seed=0)
    env.step("look")
    _, _, terminated, truncated, _ = env.step("stop")
    assert (terminated, truncated) == (True, False)
    env.close()
