"""RoboTHOR as published: every scene opens, and its things are found along its own paths."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wayword.agents.gold import GoldOracle, GoldSettings
from wayword.agents.oracle import OracleSettings, ShortestPathOracle
from wayword.core.agent import Toolkit
from wayword.core.dataset import Task
from wayword.core.rollout import Setup, rollout
from wayword.core.trajectory import Trajectory
from wayword.datasets.robothor import Robothor
from wayword.metrics.objectnav import scorer
from wayword.worlds.objectnav.world import ObjectNavReference

pytestmark = pytest.mark.real
SCENES = 60
"""The first sixty tasks are one of each training scene."""


@pytest.fixture(scope="module")
def train(data: Path) -> Robothor:
    return Robothor("train", data)


def play(dataset: Robothor, agent: type[Any], settings: Any, task: Task) -> Trajectory:
    def build(toolkit: Toolkit, actor: str) -> Any:
        return agent(settings, toolkit)

    return asyncio.run(rollout(task, Setup(dataset, build, max_steps=100)))


def test_every_published_episode_is_there(train: Robothor) -> None:
    assert len(train.tasks) == 108_000
    first = train.tasks[:SCENES]
    assert len({task.episode.scene for task in first}) == SCENES
    assert len({task.episode.extra["target"] for task in first}) == 12


def test_the_oracle_finds_things_in_all_scenes_about_as_far_as_published(train: Robothor) -> None:
    found, ratios = [], []
    for task in train.tasks[SCENES : 2 * SCENES]:
        trajectory = play(train, ShortestPathOracle, OracleSettings(), task)
        assert trajectory.ended == "stopped", trajectory.error
        scores = scorer.score(train, [(task, trajectory)])[0]
        found.append(scores["success_challenge"])
        assert isinstance(task.reference, ObjectNavReference)
        ratios.append(scores["tl"] / (task.reference.shortest or 1.0))
    assert np.mean(found) >= 0.98
    assert np.median(ratios) == pytest.approx(1.0, abs=0.05)


def test_published_paths_can_be_walked(train: Robothor) -> None:
    walked = 0
    for task in train.tasks[2 * SCENES : 3 * SCENES]:
        trajectory = play(train, GoldOracle, GoldSettings(), task)
        walked += all(step.feedback.ok for step in trajectory.steps)
    assert walked >= 0.95 * SCENES
