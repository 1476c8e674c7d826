"""An environment that is dropped within a turn prints nothing."""

from __future__ import annotations

import gc
import logging

import pytest

from wayword.envs import make


@pytest.mark.parametrize("view", ["act", "navgpt", "discussnav"])
def test_a_dropped_environment_logs_no_error(
    view: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR, "asyncio"):
        for _ in range(2):
            env = make("houses", view=view, max_steps=4)
            env.reset()
            env.step("x")
            del env
            gc.collect()
    assert caplog.text == ""
