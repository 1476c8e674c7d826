"""Memory stays flat: what an environment keeps does not grow with its steps."""

from __future__ import annotations

import gc

import pytest

from wayword.envs import Environment, make

STEPS = 120
LEFT = 60
"""Objects that may be left over after ``STEPS`` steps: one a step would show. Measured over 10^5
and more steps by ``python -m benchmarks.environments``."""
ACTIONS = {
    "household:generated_train": ("turn_left", "turn_right"),
    "two_phase": ("stop", "stop"),
}
HOMES = {"homes": 1, "episodes": 2, "rooms": 1}


def play(env: Environment, actions: tuple[str, str], steps: int) -> int:
    """So many steps, a new episode whenever one is over; the objects that are there after them."""
    env.reset(seed=0)
    for number in range(steps):
        *_, ended, cut, _ = env.step(actions[number % 2])
        if ended or cut:
            env.reset()
    env.reset(seed=0)  # the same episode each time
    gc.collect()
    return len(gc.get_objects())


@pytest.mark.parametrize("name", ACTIONS)
def test_a_long_run_leaves_nothing_behind(name: str) -> None:
    settings = HOMES if name.startswith("household") else {}
    env = make(name, settings=settings, episodes=2, max_steps=20)
    play(env, ACTIONS[name], 30)  # what is made once and kept
    before = play(env, ACTIONS[name], 20)
    assert play(env, ACTIONS[name], STEPS) - before < LEFT
