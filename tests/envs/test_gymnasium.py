"""The Gymnasium environment: its own checker, its names, its spaces."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import wayword.envs.gymnasium  # registers the id if wayword was imported before
from wayword.core.errors import UsageError
from wayword.envs import make

SMALL = {"homes": 1, "episodes": 2}


@pytest.fixture(scope="module")
def env() -> gymnasium.Env:
    return gymnasium.make(
        "wayword:Wayword-v0", dataset="household:generated_test", settings=SMALL, max_steps=30,
        include=["expert_action", "admissible_commands"],
    )  # fmt: skip


def test_an_open_dataset_is_a_dataset_of_gymnasium_s_make() -> None:
    opened = make("houses:train", episodes=2).dataset
    env = gymnasium.make("wayword.envs.gymnasium:Wayword-v0", dataset=opened)
    assert env.unwrapped.inner.dataset is opened


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


def test_options_of_a_reset_make_a_new_scene(env: gymnasium.Env) -> None:
    _, info = env.reset(seed=0, options={"rooms": 4})
    assert "-r4-" in info["episode_id"]
    assert env.reset(seed=0, options={"rooms": 4})[1] == info


def test_a_sample_of_actions_is_legal(env: gymnasium.Env) -> None:
    env.reset(seed=0)
    for _ in range(5):
        *_, info = env.step(env.action_space.sample())
        assert not info["rejected"]


def vector(**options: Any) -> gymnasium.vector.VectorEnv:
    return gymnasium.make_vec("wayword:Wayword-v0", dataset="two_phase", **options)


@pytest.mark.parametrize("parallel", [False, True])
def test_vectors_share_a_dataset_and_do_what_single_environments_do(
    parallel: bool,
) -> None:
    envs = vector(num_envs=3, parallel=parallel, include=["expert_action", "distance"])
    alone = [make("two_phase", include=["expert_action"]) for _ in range(3)]
    seen, infos = envs.reset(seed=4)
    episodes = [env.reset(seed=4 + number) for number, env in enumerate(alone)]
    assert list(seen) == [one for one, _ in episodes]
    assert infos["episode_id"].tolist() == [info["episode"] for _, info in episodes]
    assert infos["expert_action"].tolist() == ["go[hallway]"] * 3
    for messages in (("go[hallway]", "stop", "sing"), ("stop", "not read", "stop")):
        seen, rewards, ended, _, infos = envs.step(messages)
        for n, env in enumerate(alone):
            if (
                messages[n] == "not read"
            ):  # the step after an end begins the next episode
                assert (rewards[n], bool(ended[n]), infos["steps"][n]) == (
                    0.0,
                    False,
                    0,
                )
            else:
                own = env.step(messages[n])
                assert (seen[n], rewards[n], bool(ended[n])) == own[:3]
                assert infos["rejected"][n] == own[4]["rejected"]
    envs.close()


def test_an_open_dataset_is_shared() -> None:
    envs = vector(num_envs=3)
    assert len({id(env.inner.dataset) for env in envs.envs}) == 1


@pytest.mark.parametrize("parallel", [False, True])
def test_without_a_seed_no_two_play_the_same_episode(parallel: bool) -> None:
    names = [task.episode.id for task in make("two_phase").tasks]
    envs = vector(num_envs=3, parallel=parallel, autoreset_mode="SameStep")
    episodes = envs.reset()[1]["episode_id"].tolist()
    then = envs.step(("stop",) * 3)[4]["episode_id"].tolist()
    assert episodes + then == names[:6]
    envs.close()


IN_CHILDREN = """
import os, sys, traceback
# What both import is loaded once; each child then imports the two in an order of its own.
import aiohttp, jinja2, numpy, pydantic, rich, scipy.sparse, typer, yaml

assert not {"wayword", "gymnasium"} & set(sys.modules)
for code in sys.argv[1:]:
    child = os.fork()
    if not child:
        try:
            exec(code, {})
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        sys.exit(f"failed: {code}")
"""
ORDERS = {
    "wayword.envs.gymnasium:Wayword-v0": (
        "import wayword, gymnasium",
        "import gymnasium, wayword",
        "import gymnasium",
    ),
    # The short id is registered where Gymnasium is imported first.
    "wayword:Wayword-v0": ("import gymnasium, wayword", "import gymnasium"),
    "Wayword-v0": (
        "import wayword.envs.gymnasium, gymnasium",
        "import gymnasium, wayword",
    ),
}


def test_an_id_is_registered_in_any_order_of_imports() -> None:
    codes = [
        f"{order}; gymnasium.make('{name}', dataset='two_phase').reset()"
        for name, orders in ORDERS.items()
        for order in orders
    ]
    done = subprocess.run(
        [sys.executable, "-c", IN_CHILDREN, *codes], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_importing_wayword_changes_nothing_about_imports() -> None:
    code = "import sys; old = list(sys.meta_path); import wayword; assert sys.meta_path == old"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("parallel", [False, True])
def test_a_vector_with_menus_takes_numbers_and_tells_which_are_listed(
    parallel: bool,
) -> None:
    envs = vector(num_envs=3, actions="menu", parallel=parallel)
    _, infos = envs.reset(seed=0)
    for _ in range(6):  # across the ends of episodes
        numbers = envs.action_space.sample(tuple(infos["action_mask"]))
        assert numbers.shape == (3,)
        assert infos["action_mask"].shape == (3, 1000)
        *_, infos = envs.step(numbers)
        assert not infos["rejected"].any()
    envs.close()


def test_samples_of_a_vector_are_legal_in_each_environment() -> None:
    envs = vector(num_envs=3)
    envs.reset(seed=0)
    *_, infos = envs.step(envs.action_space.sample())
    assert not infos["rejected"].any()


def test_a_menu_has_a_mask_and_samples_keep_to_it() -> None:
    include = ["admissible_commands"]
    env = gymnasium.make(
        "wayword:Wayword-v0", dataset="two_phase", actions="menu", include=include
    )
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

    env = RecordEpisodeStatistics(
        gymnasium.make("wayword:Wayword-v0", dataset="two_phase")
    )
    _, info = env.reset(seed=0)
    name = info["episode_id"]
    *_, info = env.step("stop")
    assert (info["episode"]["l"], info["episode_id"]) == (1, name)

    envs = Together(vector(num_envs=2))
    envs.reset(seed=0)
    *_, infos = envs.step(["stop", "sing"])
    assert infos["episode"]["l"].tolist() == [1, 0]
    assert infos["_episode"].tolist() == [True, False]


def test_a_vector_that_resets_in_the_same_step_keeps_what_was_last_seen() -> None:
    envs = vector(num_envs=2, autoreset_mode="SameStep")
    assert envs.metadata["autoreset_mode"] == gymnasium.vector.AutoresetMode.SAME_STEP
    _, before = envs.reset(seed=0)
    seen, _, ended, _, infos = envs.step(["sing", "stop"])
    assert ended.tolist() == infos["_final_obs"].tolist() == [False, True]
    assert infos["final_obs"][1].startswith("You stopped.")
    assert seen[1].startswith("Task:")
    assert infos["final_info"]["episode_id"][1] == before["episode_id"][1]
    assert infos["final_info"]["steps"].tolist() == [0, 1]


def test_vectors_take_a_seed_for_each_and_refuse_wrong_modes() -> None:
    envs = vector(num_envs=2)
    both = [envs.reset(seed=seed)[1]["episode_id"].tolist() for seed in (4, [4, 5])]
    assert both[0] == both[1]
    with pytest.raises(UsageError, match=r"'NextStep' or .*, got 'off'"):
        vector(num_envs=2, autoreset_mode="off")


def test_distances_of_a_vector_keep_their_fractions() -> None:
    envs = gymnasium.make_vec(
        "wayword:Wayword-v0", num_envs=2, dataset="houses", include=["distance"]
    )
    _, infos = envs.reset(seed=0)
    assert infos["distance"].dtype == np.float64
    alone = [
        make("houses", include=["distance"]).reset(seed=seed)[1] for seed in (0, 1)
    ]
    assert infos["distance"].tolist() == [info["distance"] for info in alone]


def test_parallel_environments_share_no_executor() -> None:
    with pytest.raises(UsageError, match="cannot share it; remove it"):
        vector(num_envs=2, parallel=True, executor=ThreadPoolExecutor(1))


@pytest.mark.parametrize("parallel", [False, True])
def test_a_batch_with_too_few_or_many_actions_is_one_line(parallel: bool) -> None:
    envs = vector(num_envs=3, parallel=parallel)
    envs.reset(seed=0)
    wrong: list[Any] = [["stop"], ["stop"] * 4, "stop", None]
    for actions in wrong:
        with pytest.raises(
            UsageError, match="step takes 3 actions, one for each"
        ) as caught:
            envs.step(actions)
        assert "\n" not in str(caught.value)
    envs.close()


def test_the_default_dataset_is_for_training() -> None:
    from wayword.envs.gymnasium import WaywordEnv, vector

    assert WaywordEnv().inner.options.name == "houses:train"
    envs = vector(2)
    _, infos = envs.reset()
    assert all(each.startswith("train-") for each in infos["episode_id"])
    envs.close()


def test_arguments_of_the_doors_have_their_names_and_types() -> None:
    name = "wayword.envs.gymnasium:Wayword-v0"
    with pytest.raises(UsageError, match="no option 'name'; did you mean 'dataset'"):
        gymnasium.make(name, name="houses")
    with pytest.raises(UsageError, match="parallel must be true or false, got 'yes'"):
        gymnasium.make_vec(name, num_envs=2, parallel="yes")


@pytest.mark.parametrize(
    ("option", "problem"),
    [
        (
            {"autoreset_mode": "same_step"},
            "autoreset_mode must be 'NextStep' or 'SameStep' or 'Disabled', got 'same_step'",
        ),
        ({"autoreset": "NextStep"}, "'autoreset'; did you mean 'autoreset_mode'"),
        ({"paralel": True}, "'paralel'; did you mean 'parallel'"),
    ],
)
def test_make_vec_names_the_options_that_are_allowed(
    option: dict[str, Any], problem: str
) -> None:
    with pytest.raises(UsageError, match=problem):
        gymnasium.make_vec("wayword:Wayword-v0", num_envs=2, **option)


def test_make_vec_takes_a_member_of_autoreset_mode() -> None:
    mode = gymnasium.vector.AutoresetMode.SAME_STEP
    envs = gymnasium.make_vec("wayword:Wayword-v0", num_envs=2, autoreset_mode=mode)
    assert envs.metadata["autoreset_mode"] == mode
    envs.close()


def test_a_missing_argument_is_named_next_to_options_of_the_environment() -> None:
    with pytest.raises(
        UsageError, match="vector: missing a required argument: 'num_envs'"
    ):
        wayword.envs.gymnasium.vector(include=["distance"])  # type: ignore[call-arg]
    with pytest.raises(UsageError, match="vector: too many positional arguments"):
        wayword.envs.gymnasium.vector(
            3, "houses", False, "NextStep", None, 5, include=[]
        )  # type: ignore[call-arg]
