"""Draw the pictures of docs/eyes.md: ``python tools/eyes.py``.

What an agent sees at the start of two episodes of ``houses``: ahead, right, behind, left; and of
one of ``grounding``, from above; in a kitchen of ``household``; and at a junction of ``towns``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from wayword.core.action import Action
from wayword.core.sight import Eyes, EyesSettings, png
from wayword.datasets.grounding import Grounding
from wayword.datasets.household import Household
from wayword.datasets.houses import dataset
from wayword.datasets.towns import Towns

PICTURES = Path(__file__).parents[1] / "docs" / "pictures"
EPISODES = {"eyes_kitchen.png": 11, "eyes_library.png": 6}
"""File -> number of the episode in ``houses:test``."""
GAP = 4  # white pixels between views


def draw(number: int) -> bytes:
    """Draw the four views of an episode's start side by side, as a PNG file."""
    houses = dataset("test", None, dataset.Settings())
    task = houses.tasks[number]
    world = houses.world(task.episode)
    world.reset(task.episode)
    settings = EyesSettings("pictures", "240x180")
    eyes = Eyes(settings, houses.painter(), world, "agent")
    views = []
    for _, frame in eyes.frames():
        views.append(frame.color)
        views.append(np.full((frame.color.shape[0], GAP, 3), 255, np.uint8))
    return png(np.hstack(views[:-1]))


def draw_grid() -> bytes:
    """Draw the start of an episode of ``grounding`` as an agent sees it, with marks."""
    grounding = Grounding(settings=Grounding.Settings(episodes=5))
    task = grounding.tasks[4]
    world = grounding.world(task.episode)
    world.reset(task.episode)
    settings = EyesSettings("pictures", "360x360")
    eyes = Eyes(settings, grounding.painter(), world, "agent")
    ((_, frame),) = eyes.frames()
    return png(frame.color)


def draw_home() -> bytes:
    """Draw the view of an agent in the kitchen of an episode of ``household``, with marks."""
    household = Household(settings=Household.Settings(homes=3, episodes=1))
    (task,) = household.tasks
    world = household.world(task.episode)
    world.reset(task.episode)
    world.step("agent", Action("go_explore", ("kitchen",)))
    world.step("agent", Action("go_check", ("cabinet_1",)))
    painter = household.painter()
    assert painter is not None
    eyes = Eyes(EyesSettings("pictures", "360x270"), painter, world, "agent")
    views = []
    for _, frame in eyes.frames():
        views.append(frame.color)
        views.append(np.full((frame.color.shape[0], GAP, 3), 255, np.uint8))
    return png(np.hstack(views[:-1]))


def draw_town() -> bytes:
    """Draw the view of a walker at a junction of ``towns``."""
    towns = Towns(settings=Towns.Settings(towns=3, episodes=3))
    task = towns.tasks[2]
    world = towns.world(task.episode)
    world.reset(task.episode)
    reference: Any = task.reference  # of a street, with a path
    for action in world.along("agent", reference.path)[:8]:
        world.step("agent", action)
    eyes = Eyes(EyesSettings("pictures", "360x270"), towns.painter(), world, "agent")
    views = []
    for _, frame in eyes.frames():
        views.append(frame.color)
        views.append(np.full((frame.color.shape[0], GAP, 3), 255, np.uint8))
    return png(np.hstack(views[:-1]))


if __name__ == "__main__":
    (PICTURES / "eyes_town.png").write_bytes(draw_town())
    (PICTURES / "eyes_home.png").write_bytes(draw_home())
    (PICTURES / "eyes_grid.png").write_bytes(draw_grid())
    for name, number in EPISODES.items():
        (PICTURES / name).write_bytes(draw(number))
