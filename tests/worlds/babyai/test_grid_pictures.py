"""Pictures of BabyAI's levels: what words name is on its square, and nothing else is."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from helpers.golden import check_golden
from wayword.core.action import Action
from wayword.core.sight import Eyes, EyesSettings, Frame, pixel_hash
from wayword.datasets.grounding import dataset
from wayword.worlds.babyai.world import BabyAIWorld

pytest.importorskip("minigrid")
GOLDEN = Path(__file__).parents[2] / "golden" / "pictures_grounding.json"
TILE = 51  # pixels of a square in a picture of 480 x 360
COLORS = {
    "red": (True, False, False),
    "green": (False, True, False),
    "blue": (False, False, True),
    "purple": (True, False, True),
    "yellow": (True, True, False),
}
"""Color -> which of red, green and blue are strong. Grey objects are told by their shape."""


def poses(count: int) -> list[tuple[BabyAIWorld, Eyes, Frame]]:
    """The view of several levels after some turns, without marks."""
    grounding = dataset(settings=dataset.Settings(episodes=count))
    found = []
    for number, task in enumerate(grounding.tasks):
        world = grounding.world(task.episode)
        world.reset(task.episode)
        for _ in range(number % 4):
            world.step("agent", Action("turn_left"))
        eyes = Eyes(EyesSettings("both"), grounding.painter(), world, "agent")
        ((_, frame),) = eyes.frames()
        found.append((world, eyes, frame))
    return found


def test_objects_in_words_are_on_their_squares_and_no_others() -> None:
    named = 0
    for world, eyes, frame in poses(64):
        names = list(world.names.objects)
        squares = np.zeros((7, 7), np.int32)
        for seen in world.observe("agent").objects:
            named += 1
            number = names.index(seen.name) + 1
            squares[6 - seen.ahead, seen.right + 3] = number
            pixels = frame.color[frame.ids == number].astype(int)
            if seen.color != "grey":
                strong = COLORS[seen.color]
                is_of_color = [
                    (pixels[:, channel] > 140) == strong[channel]
                    for channel in range(3)
                ]
                count = int(np.logical_and.reduce(is_of_color).sum())
                assert count > 100, (seen, count)
        middles = frame.ids[27 : 27 + 7 * TILE : TILE, 87 : 87 + 7 * TILE : TILE]
        assert (middles == squares).all()
        assert eyes.marks == {}
    assert named > 80


def test_six_poses_have_the_golden_pixels() -> None:
    grounding = dataset(settings=dataset.Settings(episodes=6))
    hashes = [pixel_hash(frame.color) for _, _, frame in poses(6)]
    values = {"painter": grounding.painter().name, "pixels": hashes}
    check_golden(GOLDEN, json.dumps(values, indent=1) + "\n")


def test_an_object_keeps_its_mark_while_the_actor_turns() -> None:
    grounding = dataset(settings=dataset.Settings(levels="GoToLocalS8N7", episodes=1))
    (task,) = grounding.tasks
    world = grounding.world(task.episode)
    world.reset(task.episode)
    eyes = Eyes(EyesSettings("pictures"), grounding.painter(), world, "agent")
    before = eyes.marks
    assert before
    for _ in range(3):
        world.step("agent", Action("turn_left"))
    assert before.items() <= eyes.marks.items()
