"""Draw the pictures of docs/eyes.md and the README: ``python tools/eyes.py``.

What an agent sees at the start of two episodes of ``houses``: ahead, right, behind, left; of one
of ``grounding``, from above; in a kitchen of ``household``; at a junction of ``towns``; twelve
single views; and one step of ``houses`` in words and in pictures.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from wayword.core.action import Action
from wayword.core.dataset import Dataset
from wayword.core.sight import Eyes, EyesSettings, png
from wayword.core.world import World
from wayword.datasets.apartments import Apartments
from wayword.datasets.grounding import Grounding
from wayword.datasets.household import Household
from wayword.datasets.houses import dataset
from wayword.datasets.towns import Towns
from wayword.envs import make

PICTURES = Path(__file__).parents[1] / "docs" / "pictures"
EPISODES = {"eyes_kitchen.png": 11, "eyes_library.png": 6}
"""File -> number of the episode in ``houses:test``."""
GAP = 4  # white pixels between views
SHOT = (240, 320)  # rows and columns of a single view


@dataclass(frozen=True)
class Shot:
    """A single view: the number of the episode in its dataset, how far the actor has come (the
    name of a room, or a number of actions of the shortest path), and the direction in degrees to
    the right of the one ahead."""

    on: str
    episode: int
    way: str | int = 0
    turn: float = 0.0


SHOTS = {
    "bedroom": Shot("houses", 4, turn=120.0),
    "library": Shot("houses", 6, turn=60.0),
    "playroom": Shot("houses", 10, turn=270.0),
    "kitchen": Shot("houses", 11, turn=150.0),
    "hall": Shot("houses", 2),
    "dining_room": Shot("houses", 1, turn=270.0),
    "counter": Shot("household", 0, "kitchen", -14.0),
    "bed": Shot("apartments", 1, -1, 60.0),
    "washroom": Shot("apartments", 0, -1, 245.0),
    "flower_shop": Shot("towns", 0, 10, -60.0),
    "bakery": Shot("towns", 0, 15, -40.0),
    "fountain": Shot("towns", 2, 10, -72.0),
}
"""File -> what it shows."""


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


def opened(on: str) -> Dataset:
    """The dataset of a shot."""
    datasets: dict[str, Any] = {
        "houses": dataset("test", None, dataset.Settings()),
        "household": Household(settings=Household.Settings(homes=3, episodes=3)),
        "towns": Towns(settings=Towns.Settings(towns=3, episodes=3)),
        "apartments": Apartments(
            "paintable", settings=Apartments.Settings(homes=3, episodes=3)
        ),
    }
    chosen: Dataset = datasets[on]
    return chosen


def go(world: World, reference: Any, way: str | int) -> None:
    """Walk to a room, or along the shortest path; -1 is all of it but the stop."""
    if isinstance(way, str):
        world.step("agent", Action("go_explore", (way,)))
        return
    walker: Any = world
    if hasattr(world, "find"):
        actions, _ = walker.find(reference.targets, reference.within)
    else:
        actions = list(walker.along("agent", reference.path))
    for action in actions[:way]:
        world.step("agent", action)


def draw_shot(shot: Shot) -> bytes:
    """Draw a single view as a PNG file."""
    chosen = opened(shot.on)
    task = chosen.tasks[shot.episode]
    world = chosen.world(task.episode)
    world.reset(task.episode)
    if shot.way:
        go(world, task.reference, shot.way)
    painter = chosen.painter()
    assert painter is not None
    views = [*painter.views(world, "agent"), *painter.around(world, "agent")]
    (ahead, *_) = [view for view in views if view.label == "ahead"]
    view = replace(ahead, heading=(ahead.heading + shot.turn) % 360.0)
    return png(painter.frame(world, "agent", view, SHOT).color)


STEP_SIZE = (1280, 560)
"""Columns and rows of the picture of a step."""
TEXT_COLUMNS = 60
"""Characters of a line of its text."""


def draw_step() -> Image.Image:
    """Draw one step of ``houses``, in words on the left and in pictures on the right."""
    number = 6
    page = Image.new("RGB", STEP_SIZE, "white")
    drawing = ImageDraw.Draw(page)
    font = ImageFont.load_default(17)
    title = ImageFont.load_default(20)
    words = str(make("houses").reset(episode=number)[0])
    lines = []
    for paragraph in words.splitlines():
        lines += textwrap.wrap(paragraph, TEXT_COLUMNS)
    drawing.text((16, 12), "One step in words", "black", title)
    drawing.multiline_text((16, 48), "\n".join(lines), "#333333", font, spacing=5)
    drawing.text((604, 12), "and in pixels", "black", title)
    env = make("houses", eyes="pictures", picture_size="320x240")
    env.reset(episode=number)
    eyes = env.game.eyes("agent")
    assert eyes is not None
    for index, (view, frame) in enumerate(eyes.frames()):
        left = 604 + 334 * (index % 2)
        top = 44 + 256 * (index // 2)
        picture = Image.fromarray(frame.color).resize(
            (300, 225), Image.Resampling.LANCZOS
        )
        page.paste(picture, (left, top))
        drawing.text((left, top + 226), view.label, "black", font)
    return page


if __name__ == "__main__":
    for file, shot in SHOTS.items():
        (PICTURES / "eyes" / f"{file}.png").write_bytes(draw_shot(shot))
    draw_step().quantize(256, dither=Image.Dither.NONE).save(
        PICTURES / "eyes_step.png", optimize=True
    )
    (PICTURES / "eyes_town.png").write_bytes(draw_town())
    (PICTURES / "eyes_home.png").write_bytes(draw_home())
    (PICTURES / "eyes_grid.png").write_bytes(draw_grid())
    for name, number in EPISODES.items():
        (PICTURES / name).write_bytes(draw(number))
