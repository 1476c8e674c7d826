"""A lid that was in order and is left open is counted as misplaced."""

from __future__ import annotations

import pytest

from wayword.envs import make
from wayword.metrics.scoring import score


@pytest.mark.parametrize("number", [1, 3])
def test_a_lid_left_open_is_misplaced(number: int) -> None:
    env = make("rearrangement", include=["admissible_commands"], max_steps=300)
    _, info = env.reset(episode=number)
    places = [each for each in info["admissible_commands"] if each.startswith("goto")]
    opened = ""
    for place in places:
        info = env.step(place)[4]
        lid = f"open[{place[5:-1]}]"
        if lid in info["admissible_commands"]:
            env.step(lid)
            opened = lid
            break
    assert opened, "a lid is near"
    env.step("stop")

    (scores,) = score(env.dataset, [(env.game.task, env.trajectory())])

    assert scores["misplaced"] > 1
    assert scores["fixed_strict"] == 0
