"""RoboTHOR as published: every scene opens, and its things are found along its own paths."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers.sampling import some
from wayword.agents.baselines.oracles import GoldOracle, ShortestPathOracle
from wayword.agents.search.frontier import FrontierAgent, FrontierSettings
from wayword.core.agent import Toolkit
from wayword.core.dataset import Task
from wayword.core.episode import NoSettings
from wayword.core.errors import DataError
from wayword.core.rollout import Setup, rollout
from wayword.core.trajectory import Trajectory
from wayword.datasets.robothor import Robothor
from wayword.metrics.objectnav import scorer
from wayword.perception.detectors import fits
from wayword.worlds.objectnav.observation import Shown
from wayword.worlds.objectnav.world import ObjectNavReference

pytestmark = pytest.mark.real
SCENES = 60
"""The first sixty tasks are one of each training scene."""


@pytest.fixture(scope="module")
def train(data: Path) -> Robothor:
    return Robothor("train", data)


def play(
    dataset: Robothor, agent: type[Any], settings: Any, task: Task, max_steps: int = 100
) -> Trajectory:
    def build(toolkit: Toolkit, actor: str) -> Any:
        return agent(settings, toolkit)

    return asyncio.run(rollout(task, Setup(dataset, build, max_steps=max_steps)))


def test_every_published_episode_is_there(train: Robothor) -> None:
    assert len(train.tasks) == 108_000
    first = train.tasks[:SCENES]
    assert len({task.episode.scene for task in first}) == SCENES
    assert len({task.episode.extra["target"] for task in first}) == 12


def test_the_oracle_finds_objects_in_all_scenes_about_as_far_as_published(
    train: Robothor,
) -> None:
    found = []
    ratios = []
    for task in some(train.tasks[SCENES : 2 * SCENES], 3):
        trajectory = play(train, ShortestPathOracle, NoSettings(), task)
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
        trajectory = play(train, GoldOracle, NoSettings(), task)
        walked += all(step.feedback.ok for step in trajectory.steps)
    assert walked >= 0.95 * SCENES


@pytest.mark.parametrize("split", Robothor.splits)
def test_every_target_type_can_be_grounded_in_its_scene(split: str, data: Path) -> None:
    """What an episode asks for names the things that count, and nothing else in the scene."""
    try:
        tasks = list(Robothor(split, data).tasks[:2400])
    except DataError:
        pytest.skip(f"no {split} episodes here")
    dataset = Robothor(split, data)
    checked = set()
    for task in tasks:
        reference = task.reference
        words = task.episode.extra["target"]
        assert isinstance(reference, ObjectNavReference)
        if (task.episode.scene, words) in checked or (
            split == "test" and not reference.targets
        ):
            continue
        checked.add((task.episode.scene, words))
        place = dataset.place(task.episode.scene)
        named = {
            obj.id
            for obj in place.surfaces.objects
            if fits(words, _shown(obj.id, obj.type, place.words[obj.id]))
        }
        assert named == reference.targets, (task.episode.id, words)
    assert split == "test" or checked


def _shown(name: str, kind: str, words: str) -> Shown:
    return Shown(name, kind, words, 0, 0, 1, 1, 5, 5, 1)


@pytest.mark.parametrize("split", ["train", "val", "debug"])
def test_frontier_with_a_perfect_detector_reaches_every_target_type(
    split: str, data: Path
) -> None:
    try:
        dataset = Robothor(split, data)
        tasks = list(dataset.tasks[:48])
    except DataError:
        pytest.skip(f"no {split} episodes here")
    settings = FrontierSettings(grounding="perfect")
    reached = set()
    sought = {task.episode.extra["target"] for task in tasks}
    assert len(sought) == {"train": 12, "val": 12, "debug": 1}[split]
    for task in tasks:
        if task.episode.extra["target"] not in reached:
            trajectory = play(dataset, FrontierAgent, settings, task, 500)
            scores = scorer.score(dataset, [(task, trajectory)])[0]
            if scores["success_challenge"]:
                reached.add(task.episode.extra["target"])
    assert reached == sought
