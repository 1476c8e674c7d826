"""Draw the pictures of docs/eyes.md: ``python tools/eyes.py``.

What an agent sees at the start of two episodes of ``houses``: ahead, right, behind, left.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from wayword.core.sight import Eyes, EyesSettings, png
from wayword.datasets.houses import dataset

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


if __name__ == "__main__":
    for name, number in EPISODES.items():
        (PICTURES / name).write_bytes(draw(number))
