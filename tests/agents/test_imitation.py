"""The trained policy plays generated houses with the weights it is shipped with."""

from __future__ import annotations

import asyncio
import subprocess
import sys

import pytest

from wayword.agents.baselines.imitation import (
    FEATURES,
    WEIGHTS,
    ImitationAgent,
    ImitationSettings,
    Walk,
    encode,
    tokenize,
)
from wayword.core.agent import Agent, Toolkit
from wayword.core.errors import UsageError
from wayword.core.rollout import Setup, rollout
from wayword.core.trajectory import Trajectory
from wayword.datasets.houses import Houses
from wayword.metrics.scoring import scorer

LIMIT = 6_000_000
"""Bytes that the weights and their vocabulary may take together."""


def make(toolkit: Toolkit, actor: str) -> Agent:
    return ImitationAgent(ImitationSettings(), toolkit)


def walk(houses: Houses, number: int) -> Trajectory:
    return asyncio.run(rollout(houses.tasks[number], Setup(houses, make, max_steps=15)))


def test_it_finds_six_goals_in_ten_in_houses_it_never_saw() -> None:
    """Three of four when the weights were made; the random walker finds few."""
    houses = Houses("test", None, Houses.Settings())
    pairs = [(houses.tasks[number], walk(houses, number)) for number in range(60)]
    assert not [played.error for _, played in pairs if played.error]
    scores = scorer("indoor").score(houses, pairs)
    assert sum(score["sr"] for score in scores) >= 36


def test_it_repeats_itself() -> None:
    houses = Houses("test", None, Houses.Settings())
    first, again = walk(houses, 7), walk(houses, 7)
    assert first.actions("agent") == again.actions("agent")


def test_it_plays_without_torch() -> None:
    code = "import sys, wayword.agents.baselines.imitation as i"
    opened = f"{code}; i.load_network(i.WEIGHTS / 'imitation.onnx')"
    run = f"{opened}; assert not [m for m in sys.modules if m.split('.')[0] == 'torch']"
    subprocess.run([sys.executable, "-c", run], check=True)


def test_its_files_are_small() -> None:
    parts = [WEIGHTS / f"imitation.{end}" for end in ("onnx", "json")]
    assert sum(part.stat().st_size for part in parts) < LIMIT


def test_missing_weights_are_named() -> None:
    with pytest.raises(UsageError, match=r"nowhere\.onnx"):
        ImitationAgent(ImitationSettings(weights="nowhere.onnx"), Toolkit())


def test_an_empty_text_still_has_a_number() -> None:
    assert encode(tokenize("..."), {"": 0, "?": 1}, "caption") == [0]


def test_features_of_stopping_hold_no_direction() -> None:
    houses = Houses("test", None, Houses.Settings(houses=1, episodes=1))
    task = houses.tasks[0]
    world = houses.world(task.episode)
    world.reset(task.episode)
    seen = world.observe("agent")
    steps = Walk()
    steps.arrive(seen)
    table = steps.geometry(seen)
    assert table.shape == (1 + len(seen.neighbors), FEATURES)
    assert not table[0].any()  # at the start: no turn, no length, no distance walked
