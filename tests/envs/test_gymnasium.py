"""The Gymnasium environment: its own checker, its names, its spaces."""

from __future__ import annotations

import subprocess
import sys

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from wayword.core.errors import UsageError
from wayword.envs.gymnasium import stacked

SMALL = {"homes": 1, "episodes": 2}


@pytest.fixture(scope="module")
def env() -> gymnasium.Env:
    return gymnasium.make(
        "wayword:Wayword-v0", dataset="household:generated_test", settings=SMALL, max_steps=30
    )


def test_its_own_checker_finds_nothing(env: gymnasium.Env) -> None:
    check_env(env.unwrapped, skip_render_check=True)


@pytest.mark.parametrize(
    "options",
    [
        {"view": "structured"},
        {"view": "act"},
        {"actions": "menu"},
    ],
)
def test_other_views_pass_the_checker_too(options: dict[str, str]) -> None:
    env = gymnasium.make("wayword:Wayword-v0", dataset="two_phase", **options)
    check_env(env.unwrapped, skip_render_check=True)
    env.close()


def test_infos_hold_what_was_promised(env: gymnasium.Env) -> None:
    _, info = env.reset(seed=0, options={"episode": 0})
    assert {"expert_action", "admissible_commands", "success"} <= set(info)
    assert info["expert_action"] in info["admissible_commands"]
    assert info["success"] is False


def test_a_sample_of_actions_is_legal(env: gymnasium.Env) -> None:
    env.reset(seed=0)
    for _ in range(5):
        *_, info = env.step(env.action_space.sample())
        assert not info["rejected"]


@pytest.mark.parametrize("workers", [0, 2])
def test_vectors_share_a_dataset_and_stack_rewards(workers: int) -> None:
    envs = gymnasium.make_vec(
        "wayword:Wayword-v0", num_envs=3, dataset="two_phase", workers=workers
    )
    seen, infos = envs.reset(seed=0)
    assert len(seen) == len(infos["episode_id"]) == 3
    _, rewards, ended, _, _ = envs.step(("stop",) * 3)
    assert rewards.shape == (3,)
    assert ended.all()
    envs.close()


@pytest.mark.parametrize("order", ["import wayword, gymnasium", "import gymnasium, wayword"])
def test_the_id_is_there_in_whatever_order_they_are_imported(order: str) -> None:
    code = f"{order}; gymnasium.make('wayword:Wayword-v0', dataset='two_phase').reset()"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("workers", [0, 2])
def test_a_vector_with_menus_takes_numbers_and_tells_which_are_listed(workers: int) -> None:
    envs = gymnasium.make_vec(
        "wayword:Wayword-v0", num_envs=3, dataset="two_phase", actions="menu", workers=workers
    )
    _, infos = envs.reset(seed=0)
    for _ in range(6):  # across the ends of episodes
        numbers = envs.action_space.sample()
        assert numbers.shape == (3,)
        assert envs.action_space.contains(numbers)
        masks = infos["action_mask"]
        assert masks.shape == (3, 1000)
        assert all(mask[number] for mask, number in zip(masks, numbers, strict=True))
        *_, infos = envs.step(numbers)
        assert not infos["rejected"].any()
    envs.close()


def test_a_menu_has_a_mask_and_samples_keep_to_it() -> None:
    env = gymnasium.make("wayword:Wayword-v0", dataset="two_phase", actions="menu")
    _, info = env.reset(seed=0)
    listed = len(info["admissible_commands"])
    assert info["action_mask"].sum() == env.unwrapped.action_masks().sum() == listed
    assert max(int(env.action_space.sample()) for _ in range(50)) == listed - 1
    *_, terminated, _, info = env.step(listed - 1)  # stop
    assert terminated
    assert info["action_mask"].all(), "a softmax over nothing is no distribution"


def test_infos_leave_gymnasium_its_own_key() -> None:
    """Trainers read ``info["episode"]`` as Gymnasium's statistics of an episode."""
    from gymnasium.wrappers import RecordEpisodeStatistics
    from gymnasium.wrappers.vector import RecordEpisodeStatistics as Together

    env = RecordEpisodeStatistics(gymnasium.make("wayword:Wayword-v0", dataset="two_phase"))
    _, info = env.reset(seed=0)
    name = info["episode_id"]
    *_, info = env.step("stop")
    assert (info["episode"]["l"], info["episode_id"]) == (1, name)

    envs = Together(gymnasium.make_vec("wayword:Wayword-v0", num_envs=2, dataset="two_phase"))
    envs.reset(seed=0)
    *_, infos = envs.step(["stop", "sing"])
    assert infos["episode"]["l"].tolist() == [1, 0]
    assert infos["_episode"].tolist() == [True, False]


def test_a_vector_that_resets_in_the_same_step_keeps_what_was_last_seen() -> None:
    envs = gymnasium.make_vec(
        "wayword:Wayword-v0", num_envs=2, dataset="two_phase", autoreset="same"
    )
    assert envs.metadata["autoreset_mode"] == gymnasium.vector.AutoresetMode.SAME_STEP
    _, before = envs.reset(seed=0)
    seen, _, ended, _, infos = envs.step(["sing", "stop"])
    assert ended.tolist() == infos["_final_obs"].tolist() == [False, True]
    assert infos["final_obs"][1].startswith("You stopped.")
    assert seen[1].startswith("Task:")
    assert infos["final_info"]["episode_id"][1] == before["episode_id"][1]
    assert infos["final_info"]["steps"].tolist() == [0, 1]


def test_vectors_take_a_seed_for_each_and_no_options() -> None:
    envs = gymnasium.make_vec("wayword:Wayword-v0", num_envs=2, dataset="two_phase")
    both = [envs.reset(seed=seed)[1]["episode_id"].tolist() for seed in (4, [4, 5])]
    assert both[0] == both[1]
    with pytest.raises(UsageError, match="3 seeds for 2 environments"):
        envs.reset(seed=[1, 2, 3])
    with pytest.raises(UsageError, match="no reset options, got 'episode'"):
        envs.reset(options={"episode": 0})
    with pytest.raises(UsageError, match="autoreset='off' must be 'next' or 'same'"):
        gymnasium.make_vec("wayword:Wayword-v0", num_envs=2, autoreset="off")


def test_stacked_infos_keep_numbers_whole_where_some_are_missing() -> None:
    infos = stacked([{"distance": 3}, {"distance": 2.5}, {"distance": None}, {}])
    assert infos["distance"].tolist() == [3, 2.5, None, None]
    assert infos["_distance"].tolist() == [True, True, True, False]
    assert stacked([{"steps": 2}, {}])["steps"].dtype == np.int64
