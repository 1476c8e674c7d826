"""``final_info`` of a vector is about the episodes that ended, in each autoreset mode."""

from __future__ import annotations

import gymnasium
import pytest

import wayword  # noqa: F401 - registers the environment


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
