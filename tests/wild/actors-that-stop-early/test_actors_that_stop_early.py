"""What PettingZoo's conversion and its actions may rely on."""

from __future__ import annotations

import pytest

from wayword.core.errors import UsageError
from wayword.envs.pettingzoo import WaywordAEC, WaywordParallel, parallel


def test_only_the_parallel_interface_is_parallelizable() -> None:
    assert WaywordAEC.metadata["is_parallelizable"] is False
    assert WaywordParallel.metadata["is_parallelizable"] is True


def test_actions_are_a_mapping() -> None:
    env = parallel("ma_household", max_steps=3)
    env.reset(seed=0)
    with pytest.raises(UsageError, match="step takes actions by agent"):
        env.step(["stop", "stop"])  # type: ignore[arg-type]
