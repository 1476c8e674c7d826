"""Pictures suffice to find an object: a searcher that sees pixels alone beats chance."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from helpers.paired import interval
from helpers.pixel_searcher import LIKE, PixelDetector, PixelSearcher, matches, parse
from helpers.sampling import LONG
from wayword.agents.search.frontier import FrontierAgent, FrontierSettings
from wayword.core import registry
from wayword.core.agent import Agent, Toolkit
from wayword.core.dataset import Dataset, Task
from wayword.core.rollout import Setup, run
from wayword.core.sight import BlankPainter, ElsewherePainter, Eyes, Painter
from wayword.core.trajectory import Trajectory
from wayword.metrics.scoring import score
from wayword.render.raster import PinholeCamera
from wayword.runs.opening import open_dataset
from wayword.runs.plan import Plan
from wayword.worlds.objectnav.world import ObjectNavReference, ObjectNavWorld

EPISODES = 12
STEPS = 150

Make = Callable[[Toolkit, str], Agent]


@cache
def apartments(homes: int) -> Dataset:
    settings: dict[str, Any] = {
        "eyes": "pictures",
        "dataset": {"homes": homes, "episodes": homes},
    }
    return open_dataset(Plan("random", "apartments:paintable", settings=settings))


def at_the_target() -> tuple[ObjectNavWorld, Eyes, Task]:
    """A robot at the end of the shortest path of an episode, which faces the target."""
    dataset = apartments(1)
    task = dataset.tasks[0]
    world = dataset.world(task.episode)
    world.reset(task.episode)
    assert isinstance(world, ObjectNavWorld)
    assert isinstance(task.reference, ObjectNavReference)
    actions, _ = world.find(task.reference.targets, task.reference.within)
    for action in actions[:-1]:
        world.step("agent", action)
    painter = dataset.painter()
    assert painter is not None
    assert dataset.eyes is not None
    return world, Eyes(dataset.eyes, painter, world, "agent"), task


def test_the_target_is_recognized_by_its_pixels_and_placed_by_its_depth() -> None:
    world, eyes, task = at_the_target()
    view = world.observe("agent")
    found = PixelDetector(eyes).ground(view, str(task.episode.extra["target"]))
    assert found is not None
    ((x, y),) = task.reference.middles  # type: ignore[attr-defined]
    assert found.distance is not None
    assert abs(found.distance - math.dist((view.x, view.y), (x, y))) < 0.05


def test_another_kind_of_the_same_look_is_not_the_target() -> None:
    world, eyes, task = at_the_target()
    view = world.observe("agent")
    target = parse(str(task.episode.extra["target"]))
    kinds = {"mug", "bowl", "pillow", "basket_ball", "vase", "tomato"} - {target.kind}
    best = 0.0
    for picture, frame in eyes.frames():
        place = view.x, view.y, view.eye
        camera = PinholeCamera(place, picture.heading, picture.elevation, picture.width)
        for kind in kinds:
            scores = matches(frame, camera, replace(target, kind=kind))
            best = max([best, *(each for each, _ in scores)])
    assert best < LIKE


def test_a_blank_picture_shows_no_target() -> None:
    world, eyes, task = at_the_target()
    blank = replace(eyes, painter=BlankPainter(eyes.painter))
    view = world.observe("agent")
    phrase = str(task.episode.extra["target"])
    assert PixelDetector(blank).ground(view, phrase) is None


def success(make: Make) -> NDArray[np.float64]:
    """The success of each episode, 0 or 1."""
    dataset = apartments(EPISODES)
    scores: dict[str, float] = {}

    def keep(task: Task, trajectory: Trajectory) -> None:
        assert trajectory.ended != "failed", trajectory.error
        (found,) = score(dataset, [(task, trajectory)])
        scores[task.episode.id] = found[dataset.family.success]

    tasks = list(dataset.tasks)
    asyncio.run(run(tasks, Setup(dataset, make, {}, 0, STEPS), keep, 1))
    return np.array([scores[task.episode.id] for task in tasks])


def chance() -> NDArray[np.float64]:
    random: Any = registry.load("agent", "random")
    return success(lambda toolkit, actor: random(random.Settings(), toolkit))


def seeing(painter: Painter | None = None) -> NDArray[np.float64]:
    """The searcher's success with pictures of a painter, by default the dataset's own."""

    def make(toolkit: Toolkit, actor: str) -> Agent:
        if painter is not None and toolkit.eyes is not None:
            toolkit = replace(toolkit, eyes=replace(toolkit.eyes, painter=painter))
        return PixelSearcher(None, toolkit)

    return success(make)


def in_words() -> NDArray[np.float64]:
    """The success of the same searcher with a detector that reads the truth."""
    settings = FrontierSettings(grounding="perfect")
    return success(lambda toolkit, actor: FrontierAgent(settings, toolkit))


@pytest.mark.skipif(not LONG, reason="minutes: set WAYWORD_CHAOS=long")
def test_a_searcher_that_sees_pixels_alone_beats_chance_but_not_words() -> None:
    pixels = seeing()
    low, _ = interval(pixels - chance())
    assert low > 0.0
    assert pixels.mean() <= in_words().mean()


@pytest.mark.skipif(not LONG, reason="minutes: set WAYWORD_CHAOS=long")
@pytest.mark.parametrize("control", ["blank", "elsewhere"])
def test_other_pictures_leave_it_to_chance(control: str) -> None:
    dataset = apartments(EPISODES)
    own = dataset.painter()
    assert own is not None
    painter: Painter = BlankPainter(own)
    if control == "elsewhere":
        worlds = []
        for task in dataset.tasks[:4]:
            world = dataset.world(task.episode)
            world.reset(task.episode)
            worlds.append(world)
        painter = ElsewherePainter(own, worlds)
    low, high = interval(seeing(painter) - chance())
    assert low <= 0.0 <= high
