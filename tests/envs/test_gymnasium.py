"""The Gymnasium environment: its own checker, its names, its spaces."""

from __future__ import annotations

import subprocess
import sys

import gymnasium
import pytest
from gymnasium.utils.env_checker import check_env

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
    assert len(seen) == len(infos["episode"]) == 3
    _, rewards, ended, _, _ = envs.step(("stop",) * 3)
    assert rewards.shape == (3,)
    assert ended.all()
    envs.close()


@pytest.mark.parametrize("order", ["import wayword, gymnasium", "import gymnasium, wayword"])
def test_the_id_is_there_in_whatever_order_they_are_imported(order: str) -> None:
    code = f"{order}; gymnasium.make('wayword:Wayword-v0', dataset='two_phase').reset()"
    subprocess.run([sys.executable, "-c", code], check=True)
