"""Whole numbers of numpy are seeds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

from wayword.core.errors import UsageError
from wayword.runs import Plan, RunFolder, run

NAME = "wayword.envs.gymnasium:Wayword-v0"


def test_a_seed_of_numpy_draws_the_same_episode() -> None:
    env = gymnasium.make(NAME, dataset="houses")
    drawn = env.reset(seed=3)[1]["episode_id"]
    for seed in (np.int64(3), np.uint32(3), np.array(3)):
        assert env.reset(seed=seed)[1]["episode_id"] == drawn  # type: ignore[arg-type]


def test_the_seeds_of_a_vector_may_be_an_array() -> None:
    envs = gymnasium.make_vec(NAME, num_envs=2, dataset="houses")
    drawn = list(envs.reset(seed=[5, 6])[1]["episode_id"])
    seeds: Any = np.array([5, 6])
    assert list(envs.reset(seed=seeds)[1]["episode_id"]) == drawn
    envs.close()


def test_a_seed_of_numpy_begins_a_vector() -> None:
    envs = gymnasium.make_vec(NAME, num_envs=2, dataset="houses")
    drawn = list(envs.reset(seed=5)[1]["episode_id"])
    seed: Any = np.int64(5)
    assert list(envs.reset(seed=seed)[1]["episode_id"]) == drawn
    envs.close()


@pytest.mark.parametrize("seed", [3.0, "3", [3]])
def test_another_seed_is_one_line(seed: Any) -> None:
    env = gymnasium.make(NAME, dataset="houses")
    with pytest.raises(UsageError, match="seed must be a whole number") as error:
        env.reset(seed=seed)
    assert "\n" not in str(error.value)


def test_a_run_with_a_seed_of_128_bits_is_refused_before_it_is_written(
    tmp_path: Path,
) -> None:
    entropy = 2**127 + 1  # as numpy's SeedSequence().entropy
    for settings in ({}, {"dataset": {"seed": entropy}}):
        seed = 0 if settings else entropy
        with pytest.raises(UsageError, match=r"seed must be below 2\*\*63"):
            run(Plan("oracle", "houses", "", settings, seed=seed, out=tmp_path / "run"))
    assert not (tmp_path / "run").exists()
    plan = Plan("oracle", "houses", limit=1, seed=2**63 - 1, out=tmp_path / "run")
    run(plan)
    assert RunFolder.read(tmp_path / "run").config["identity"]["seed"] == 2**63 - 1
